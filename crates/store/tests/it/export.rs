//! The export file: what was written reads back equal, and whatever else is read is refused by its name.

use crate::fixture;
use model::soak::{Soak, Stretch, StretchKind};
use model::units::Nanos;
use store::Store;

/// The id of the runs here: exports travel with those that a command makes.
const ID: &str = "20261121-004311-9f3c";

fn run(rounds: u32) -> model::record::Run {
    fixture::run(ID, rounds)
}
use store::export::{Export, ImportError, read, write};

#[test]
fn an_exported_run_reads_back_equal_and_can_be_imported_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let here = Store::open(&dir.path().join("here.db")).unwrap();
    let there = Store::open(&dir.path().join("there.db")).unwrap();
    let original = run(30);
    here.import(&original).unwrap();
    let text = write(&here.load(ID).unwrap()).unwrap();
    let travelled = read(&text).unwrap();
    assert_eq!(travelled, original);
    assert!(there.import(&travelled).unwrap());
    assert_eq!(there.load(ID).unwrap(), original);
    assert_eq!(
        write(&travelled).unwrap(),
        text,
        "a second export is the same file"
    );
}

#[test]
fn the_document_has_a_line_for_each_round() {
    let text = write(&run(3)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "{\"format\":\"kurabe.record/3\",\"run\":{");
    let rounds = lines
        .iter()
        .filter(|line| line.starts_with("{\"case\":"))
        .count();
    assert_eq!((rounds, lines.len()), (3, 9), "{text}");
    assert!(text.ends_with("]}}\n"));
    let mut empty = run(1);
    empty.rounds.clear();
    assert_eq!(read(&write(&empty).unwrap()).unwrap(), empty);
}

#[test]
fn a_run_with_a_number_that_json_cannot_hold_is_not_written() {
    let mut bad = run(3);
    bad.rounds[1] = fixture::round(2, f64::NAN);
    let text = write(&bad).unwrap_err().to_string();
    assert!(text.contains("round 2"), "{text}");
    assert!(text.contains("`ops_per_s` is NaN"), "{text}");
}

#[test]
fn what_is_no_export_is_refused_by_what_it_is() {
    let check = |text: &str, expect: &str| {
        let error = read(text).unwrap_err();
        assert!(
            matches!(error, ImportError::NotAnExport(_)),
            "{text}: {error:?}"
        );
        let said = error.to_string();
        assert!(said.starts_with("no kurabe export: "), "{said}");
        assert!(said.contains(expect), "{text}: {said}");
    };
    check("", "no JSON document");
    check("BYTE UNIX Benchmarks", "no JSON document");
    check("{\"a\":", "no JSON document");
    check("[1,2,3]", "JSON without a format");
    check("42", "JSON without a format");
    check(
        "{\"fio version\":\"fio-3.33\",\"jobs\":[]}",
        "JSON without a format",
    );
    check("{\"format\":17}", "JSON without a format");
    check("{\"format\":\"geojson\"}", "its format is `geojson`");
    check(
        "{\"format\":\"kurabe.record/0\"}",
        "its format is `kurabe.record/0`",
    );
    check(
        "{\"format\":\"kurabe.record/x\"}",
        "its format is `kurabe.record/x`",
    );
    check(
        "{\"schema\":\"kurabe.run/1\",\"run\":{}}",
        "it is a report (`kurabe.run/1`)",
    );
}

#[test]
fn an_export_of_another_version_is_refused_whatever_is_in_it() {
    for (version, hint) in [
        (4, "use a newer kurabe"),
        (2, "measure again, or use the kurabe that measured it"),
    ] {
        let text =
            format!("{{\"format\":\"kurabe.record/{version}\",\"run\":{{\"unheard\":\"of\"}}}}");
        let error = read(&text).unwrap_err();
        let refused =
            |found| matches!(error, ImportError::OtherVersion { found: f, known: 3 } if f == found);
        assert!(refused(version), "{error:?}");
        assert_eq!(error.hint(), hint);
    }
}

#[test]
fn damage_is_named_with_line_and_column() {
    let text = write(&run(3)).unwrap();
    let cut = &text[..text.len() / 2];
    let last_line = cut.lines().count();
    let error = read(cut).unwrap_err();
    let ImportError::Damaged { line, column, .. } = &error else {
        panic!("{error:?}");
    };
    assert_eq!(
        (*line, *column),
        (last_line, cut.lines().last().unwrap().len())
    );
    let said = error.to_string();
    assert!(
        said.starts_with(&format!("damaged at line {line}, column {column}: EOF")),
        "{said}"
    );

    let error = read(&text.replace("\"pass\":2", "\"pass\":\"two\"")).unwrap_err();
    assert!(
        matches!(error, ImportError::Damaged { line: 7, .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("expected u32"), "{error}");
}

#[test]
fn a_document_that_contradicts_itself_is_refused() {
    let check = |change: fn(&mut model::record::Run), expect: &str| {
        let mut forged = run(3);
        change(&mut forged);
        let said = read(&write(&forged).unwrap()).unwrap_err().to_string();
        assert_eq!(said, format!("damaged: {expect}"));
    };
    check(|run| run.rounds.swap(0, 1), "round 1 comes after round 2");
    check(|run| run.rounds[1].seq = 1, "round 1 comes after round 1");
    check(
        |run| run.plan.cases.clear(),
        "round 1 is of case `selftest.replay@2`, which is not in the plan",
    );
}

#[test]
fn no_cut_of_a_document_is_taken_for_a_run() {
    let text = write(&run(2)).unwrap();
    // Without its final newline it is whole.
    for end in (0..text.len() - 1).filter(|&end| text.is_char_boundary(end)) {
        assert!(read(&text[..end]).is_err(), "cut at {end}");
    }
    assert!(read(text.trim_end()).is_ok());
}

#[test]
fn a_soak_travels_with_its_stretches() {
    let mut original = run(3);
    original.plan.soak = Some(Soak {
        span: Nanos::from_secs(86_400),
        every: Some(Nanos::from_secs(600)),
        opening: Nanos::from_secs(2_400),
    });
    let rest = Nanos::from_secs(120);
    let kinds = [
        StretchKind::Opening,
        StretchKind::Refill { rest },
        StretchKind::Sample,
    ];
    for (round, kind) in original.rounds.iter_mut().zip(kinds) {
        round.stretch = Some(Stretch {
            kind,
            began: round.started,
            elapsed: Nanos(u64::from(round.seq)),
            suspended_before: None,
        });
    }
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("s.db")).unwrap();
    store.import(&original).unwrap();
    let kept = store.load(ID).unwrap();
    assert_eq!(kept, original);
    assert_eq!(read(&write(&kept).unwrap()).unwrap(), original);
}

#[test]
fn an_export_is_kept_round_by_round_as_it_is_read_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("s.db")).unwrap();
    let original = run(30);
    let text = write(&original).unwrap();
    let export = Export::of(text.clone()).unwrap();
    assert_eq!(export.rounds(), 30);
    assert!(store.import_export(&export).unwrap());
    assert_eq!(store.load(ID).unwrap(), original);
    assert!(!store.import_export(&export).unwrap(), "kept already");
    // The parts of a run in another order, as other programs write them.
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    let sorted = format!(
        "{{\"run\":{{\"rounds\":{},\"host\":{},\"meta\":{},\"plan\":{}}},\"format\":\"kurabe.record/3\"}}",
        value["run"]["rounds"], value["run"]["host"], value["run"]["meta"], value["run"]["plan"]
    );
    assert_eq!(read(&sorted).unwrap(), original);
    for other in [run(29), {
        let mut other = original.clone();
        other.rounds[7] = fixture::round(8, 0.5);
        other
    }] {
        let other = Export::of(write(&other).unwrap()).unwrap();
        let error = store.import_export(&other).unwrap_err();
        assert!(matches!(error, store::StoreError::Taken { .. }), "{error}");
    }
}

#[test]
fn what_is_beyond_a_limit_is_named_with_its_round() {
    let mut long = run(3);
    if let model::record::Outcome::Done(done) = &mut long.rounds[1].outcome {
        done.values.insert("y".repeat(1001), 1.0);
    }
    let said = read(&write(&long).unwrap()).unwrap_err().to_string();
    assert!(
        said.starts_with("refused: round 2: a quantity `yyy"),
        "{said}"
    );
}
