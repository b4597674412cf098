//! What is kept comes back as it was, and what cannot come back is refused.

use crate::fixture::{failed_round, host, keep, meta, plan, round, run};
use model::line::Machine;
use model::plan::Duel;
use model::record::{CopyRecord, End, Outcome};
use model::units::UnixNanos;
use model::warning::Warning;
use proptest::prelude::*;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use store::{RunLine, Store, StoreError, WorkDir};
use tempfile::TempDir;

fn fresh() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("a/b/kurabe.db")).unwrap();
    (dir, store)
}

#[test]
fn a_kept_run_reads_back_equal_in_a_new_process_view() {
    let (_dir, store) = fresh();
    let original = run("20261121-090000-a0a0", 20);
    keep(&store, &original).unwrap();
    assert_eq!(store.load("20261121-090000-a0a0").unwrap(), original);
    let path = store.path().to_owned();
    drop(store);
    assert!(
        !path.with_extension("db-wal").exists(),
        "the log is folded in at the end"
    );
    let again = Store::open(&path).unwrap();
    assert_eq!(again.load("20261121-090000-a0a0").unwrap(), original);
    let reader = Store::open_read_only(&path).unwrap();
    assert_eq!(reader.load("20261121-090000-a0a0").unwrap(), original);
}

#[test]
fn a_run_that_is_going_on_is_seen_with_the_rounds_so_far() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
    store.append("r1", &round(1, 10.0)).unwrap();
    store.append("r1", &failed_round(2)).unwrap();
    let other = Store::open_read_only(store.path()).unwrap();
    let half = other.load("r1").unwrap();
    assert_eq!((half.meta.end, half.meta.finished), (End::Open, None));
    assert_eq!(half.rounds, [round(1, 10.0), failed_round(2)]);
    store
        .finish(
            "r1",
            UnixNanos(9),
            End::Interrupted,
            &[Warning::BudgetShort],
        )
        .unwrap();
    let whole = other.load("r1").unwrap();
    assert_eq!(whole.meta.finished, Some(UnixNanos(9)));
    assert_eq!(whole.meta.end, End::Interrupted);
    assert_eq!(
        whole.meta.warnings,
        [Warning::DebugBuild, Warning::BudgetShort]
    );
}

#[test]
fn a_finished_run_takes_no_change() {
    let (_dir, store) = fresh();
    let kept = run("r1", 3);
    keep(&store, &kept).unwrap();
    let refusals = [
        store.append("r1", &round(4, 1.0)),
        store
            .finish("r1", UnixNanos(9), End::Complete, &[])
            .map(drop),
    ];
    for refusal in refusals {
        assert!(
            matches!(refusal, Err(StoreError::Finished { .. })),
            "{refusal:?}"
        );
    }
    let begun = store.begin(&kept.meta, &kept.plan, &kept.host);
    assert!(matches!(begun, Err(StoreError::Taken { .. })), "{begun:?}");
    assert_eq!(store.load("r1").unwrap(), kept);
}

#[test]
fn a_warning_of_both_parts_of_a_run_is_kept_once() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 1), &plan(), &host()).unwrap();
    let warnings = [Warning::BudgetShort, Warning::DebugBuild];
    for end in [End::Interrupted, End::Complete] {
        store.finish("r1", UnixNanos(9), end, &warnings).unwrap();
        if end == End::Interrupted {
            store.reopen("r1", &[]).unwrap();
        }
    }
    let kept = store.load("r1").unwrap().meta.warnings;
    assert_eq!(kept, [Warning::DebugBuild, Warning::BudgetShort]);
}

#[test]
fn a_round_number_is_kept_once() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
    store.append("r1", &round(1, 10.0)).unwrap();
    let text = store.append("r1", &round(1, 11.0)).unwrap_err().to_string();
    assert_eq!(
        text,
        "keep round 1 of run `r1`: a round with this number is kept already"
    );
    assert_eq!(store.load("r1").unwrap().rounds, [round(1, 10.0)]);
}

#[test]
fn rounds_come_back_in_order_whatever_order_they_came_in() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
    for seq in [3, 1, 10, 2] {
        store.append("r1", &round(seq, 1.0)).unwrap();
    }
    let order: Vec<u32> = store
        .load("r1")
        .unwrap()
        .rounds
        .iter()
        .map(|round| round.seq)
        .collect();
    assert_eq!(order, [1, 2, 3, 10]);
}

#[test]
fn a_number_that_json_cannot_hold_is_refused_by_name() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
    let check = |bad: f64, expect: &str| {
        let text = store.append("r1", &round(1, bad)).unwrap_err().to_string();
        assert_eq!(text, expect);
    };
    let round_1 = "keep round 1 of `selftest.replay@2`";
    check(
        f64::NAN,
        &format!("{round_1}: `ops_per_s` is NaN, which is no number that can be kept"),
    );
    check(
        f64::NEG_INFINITY,
        &format!("{round_1}: `ops_per_s` is -inf, which is no number that can be kept"),
    );
    let mut odd = round(1, 1.0);
    if let Outcome::Done(done) = &mut odd.outcome {
        let queue = done.series.get_mut("queue").unwrap();
        queue.values[1] = Some(f64::NAN);
    }
    let text = store.append("r1", &odd).unwrap_err().to_string();
    assert_eq!(
        text,
        format!("{round_1}: `queue` is NaN, which is no number that can be kept")
    );
    let mut noisy = round(1, 1.0);
    noisy.noise.psi_cpu_share = Some(f64::NAN);
    let text = store.append("r1", &noisy).unwrap_err().to_string();
    assert_eq!(
        text,
        format!("{round_1}: a number in it is NaN or infinite")
    );
    let mut odd = host();
    odd.cpu.mhz = model::host::Fact::Known(f64::INFINITY);
    let text = store
        .begin(&meta("r2", None, 5), &plan(), &odd)
        .unwrap_err()
        .to_string();
    assert_eq!(
        text,
        "keep the host facts of run `r2`: a number in it is NaN or infinite"
    );
    assert_eq!(store.load("r1").unwrap().rounds, []);
    assert_eq!(store.list().unwrap().len(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn every_finite_number_comes_back_bit_for_bit(
        values in proptest::collection::vec(proptest::num::f64::ANY.prop_filter("finite", |x| x.is_finite()), 1..50)
    ) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("kurabe.db")).unwrap();
        store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
        let mut sent = round(1, 1.0);
        if let Outcome::Done(measured) = &mut sent.outcome {
            measured.windows.clone_from(&values);
        }
        store.append("r1", &sent).unwrap();
        let back = store.load("r1").unwrap();
        let bits = |xs: &[f64]| xs.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        let Outcome::Done(measured) = &back.rounds[0].outcome else { panic!("not done") };
        prop_assert_eq!(bits(&measured.windows), bits(&values));
    }
}

#[test]
fn lists_show_the_latest_first_with_what_was_asked() {
    let (_dir, store) = fresh();
    assert_eq!(store.list().unwrap(), []);
    for (id, started) in [("b", 20), ("a", 10), ("c", 20)] {
        store
            .begin(&meta(id, None, started), &plan(), &host())
            .unwrap();
    }
    store.append("a", &round(1, 1.0)).unwrap();
    store
        .finish("a", UnixNanos(15), End::Complete, &[])
        .unwrap();
    let lines = store.list().unwrap();
    let ids: Vec<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
    assert_eq!(
        lines[2],
        RunLine {
            id: "a".to_owned(),
            short: "a".to_owned(),
            label: None,
            offer: None,
            started: UnixNanos(10),
            finished: Some(UnixNanos(15)),
            end: End::Complete,
            what: vec!["quick".to_owned(), "selftest.*".to_owned()],
            cases: 1,
            rounds: 1,
            failed: 0,
            duel: None,
            machine: Machine::of(&host()),
            brief: None,
        }
    );
    assert_eq!(
        (lines[0].end, lines[0].finished, lines[0].rounds),
        (End::Open, None, 0)
    );
    assert_eq!(store.latest(2).unwrap(), lines[..2]);
    assert_eq!(store.latest(9).unwrap(), lines);
    assert_eq!(store.count().unwrap(), 3);
}

#[test]
fn what_is_noted_of_a_run_is_listed_until_it_goes_on() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 1), &plan(), &host()).unwrap();
    let brief = |store: &Store| store.line("r1").unwrap().brief;
    assert!(store.note_brief("r1", "early").is_err());
    store
        .finish("r1", UnixNanos(9), End::Interrupted, &[])
        .unwrap();
    assert_eq!(brief(&store), None);
    store.note_brief("r1", "{\"x\":1}").unwrap();
    assert_eq!(brief(&store).as_deref(), Some("{\"x\":1}"));
    store.reopen("r1", &[]).unwrap();
    assert_eq!(brief(&store), None);
}

#[test]
fn lists_say_which_run_is_a_side_of_a_duel_and_how_many_rounds_failed() {
    let (_dir, store) = fresh();
    let side = |letter: &str| Duel {
        id: "d".to_owned(),
        side: letter.to_owned(),
        prepare: Some("echo 'A'".to_owned()),
        traits: vec!["dir=/mnt/x".to_owned()],
    };
    for (id, letter) in [("d-a", "a"), ("d-b", "b")] {
        let mut kept = run(id, 4);
        kept.plan.duel = Some(side(letter));
        // One as it is measured, one as it is brought in.
        if letter == "a" {
            keep(&store, &kept).unwrap();
        } else {
            store.import(&kept).unwrap();
        }
    }
    keep(&store, &run("r1", 3)).unwrap();
    let found: Vec<(String, Option<Duel>, u32)> = store
        .list()
        .unwrap()
        .into_iter()
        .map(|line| (line.id, line.duel, line.failed))
        .collect();
    let expect = [
        ("r1".to_owned(), None, 1),
        ("d-b".to_owned(), Some(side("b")), 1),
        ("d-a".to_owned(), Some(side("a")), 1),
    ];
    assert_eq!(found, expect);
}

#[test]
fn runs_are_found_by_label_prefix_and_age() {
    let (_dir, store) = fresh();
    let labels = ["新プラン 🚀", "base", "base"];
    for (index, label) in labels.iter().enumerate() {
        let id = format!("2026112{index}-000000-aaaa");
        let started = 100 + u64::try_from(index).unwrap();
        store
            .begin(&meta(&id, Some(label), started), &plan(), &host())
            .unwrap();
    }
    let check = |text: &str, expect: &str| assert_eq!(store.resolve(text).unwrap(), expect);
    check("新プラン 🚀", "20261120-000000-aaaa");
    check("base", "20261122-000000-aaaa");
    check("latest~1", "20261121-000000-aaaa");
    check("20261120", "20261120-000000-aaaa");
    assert!(matches!(
        store.resolve("2026"),
        Err(StoreError::Ambiguous { .. })
    ));
    let text = store.resolve("新プラン").unwrap_err().to_string();
    assert!(
        text.starts_with("no run is called `新プラン`; nearest: `新プラン 🚀`"),
        "{text}"
    );
}

#[test]
fn unknown_runs_are_refused_everywhere() {
    let (_dir, store) = fresh();
    let refusals = [
        store.append("nope", &round(1, 1.0)),
        store
            .finish("nope", UnixNanos(1), End::Complete, &[])
            .map(drop),
        store.load("nope").map(drop),
        store.line("nope").map(drop),
        store.set_label("nope", None),
        store.resolve("nope").map(drop),
    ];
    for refusal in refusals {
        assert!(
            matches!(refusal, Err(StoreError::Unknown { .. })),
            "{refusal:?}"
        );
    }
}

#[test]
fn importing_twice_changes_nothing_and_a_different_run_is_refused() {
    let (_dir, store) = fresh();
    let original = run("r1", 5);
    assert!(store.import(&original).unwrap());
    assert!(!store.import(&original).unwrap());
    let mut forged = original.clone();
    forged.rounds[0] = round(1, 2.0);
    assert!(matches!(
        store.import(&forged),
        Err(StoreError::Taken { .. })
    ));
    assert_eq!(store.load("r1").unwrap(), original);
    assert_eq!(store.list().unwrap()[0].rounds, 5);
    let mut shuffled = run("r2", 5);
    shuffled.rounds.swap(0, 1);
    let text = store.import(&shuffled).unwrap_err().to_string();
    assert_eq!(text, "keep run `r2`: its round 1 is not in order");
    assert_eq!(
        store.list().unwrap().len(),
        1,
        "nothing of a refused run is kept"
    );
}

#[test]
fn work_directories_are_remembered_until_forgotten() {
    let (_dir, store) = fresh();
    let odd = Path::new(OsStr::from_bytes(b"/data/\xff\xfe dir"));
    store.note_work_dir("r1", odd).unwrap();
    store.note_work_dir("r0", Path::new("/srv/仕事")).unwrap();
    store.note_work_dir("r2", Path::new("/srv/仕事")).unwrap();
    let dirs = |store: &Store| store.work_dirs().unwrap();
    let noted = |run: &str, path: &Path| WorkDir {
        run: run.to_owned(),
        path: PathBuf::from(path),
    };
    assert_eq!(
        dirs(&store),
        [noted("r1", odd), noted("r2", Path::new("/srv/仕事"))]
    );
    store.forget_work_dir(odd).unwrap();
    store.forget_work_dir(Path::new("/never/noted")).unwrap();
    let reader = Store::open_read_only(store.path()).unwrap();
    assert_eq!(dirs(&reader), [noted("r2", Path::new("/srv/仕事"))]);
}

#[test]
fn the_log_is_folded_in_when_a_run_ends_and_never_while_it_measures() {
    let (_dir, store) = fresh();
    store.begin(&meta("r1", None, 5), &plan(), &host()).unwrap();
    let len = |path: &Path| std::fs::metadata(path).unwrap().len();
    let file = len(store.path());
    let log = store.path().with_extension("db-wal");
    let mut big = round(1, 1.0);
    if let Outcome::Done(measured) = &mut big.outcome {
        measured.windows = vec![1.0 / 3.0; 50_000];
    }
    // SQLite by itself would fold the log in after 1,000 pages of 4 KiB.
    while len(&log) < 6 << 20 {
        store.append("r1", &big).unwrap();
        big.seq += 1;
    }
    assert_eq!(len(store.path()), file);
    store
        .finish("r1", UnixNanos(9), End::Complete, &[])
        .unwrap();
    assert!(len(store.path()) > 4 << 20);
}

#[test]
fn a_reader_writes_nothing() {
    let (_dir, store) = fresh();
    store.import(&run("r1", 2)).unwrap();
    let path = store.path().to_owned();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    let reader = Store::open_read_only(&path).unwrap();
    assert!(
        reader
            .begin(&meta("r2", None, 1), &plan(), &host())
            .is_err()
    );
    let lines = reader.list().unwrap();
    assert!(reader.remove(&lines).is_err());
    assert!(reader.set_label("r1", None).is_err());
    assert_eq!(reader.list().unwrap(), lines);
    drop(reader);
    assert_eq!(std::fs::read(&path).unwrap(), before);
    let left: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "no side files are left: {left:?}");
}

#[test]
fn a_thousand_rounds_load_complete_and_lists_do_not_read_them() {
    let (_dir, store) = fresh();
    let big = run("r1", 1_000);
    store.import(&big).unwrap();
    assert_eq!(store.load("r1").unwrap(), big);
    // Spoil the text of every round: a list that reads one of them would fail.
    let raw = rusqlite::Connection::open(store.path()).unwrap();
    raw.execute("UPDATE rounds SET round = 'spoilt'", [])
        .unwrap();
    assert_eq!(store.list().unwrap()[0].rounds, 1_000);
    assert!(matches!(store.load("r1"), Err(StoreError::Damaged { .. })));
}

#[test]
fn a_run_read_for_a_comparison_lacks_only_what_none_looks_at() {
    let (_dir, store) = fresh();
    let kept = run("20261121-090000-c0c0", 9);
    store.import(&kept).unwrap();
    let lean = store.load_to_compare(&kept.meta.id).unwrap();
    let mut expect = kept;
    for round in &mut expect.rounds {
        let noise = &mut round.noise;
        *noise = model::noise::Noise {
            steal_share: noise.steal_share,
            clock_jump: noise.clock_jump,
            suspended: noise.suspended,
            before: noise.before,
            after: noise.after,
            ..model::noise::Noise::default()
        };
        if let Outcome::Done(done) = &mut round.outcome {
            assert!(!done.copies.is_empty(), "nothing is passed over here");
            for copy in &mut done.copies {
                *copy = CopyRecord::of_operations(copy.ops);
            }
            done.latencies.clear();
            done.series.clear();
            done.notes.clear();
            done.series.clear();
        }
    }
    assert_eq!(lean, expect);
}
