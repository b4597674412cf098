//! A line that is written, and read again.

use super::super::READER;
use super::*;
use crate::figures::testkit::one;
use model::record::Measured;
use model::spec::Better;
use model::units::Unit;

/// Figures of phases, each other than the ones before it.
fn values(phases: std::ops::Range<usize>) -> Vec<(String, f64)> {
    let mut all = Vec::new();
    for at in phases {
        let n = f64::from(u32::try_from(at).unwrap() + 1);
        all.push((quantity_of(at, rate(at)), 1_234_567.0 * n * scale(at)));
        all.push((quantity_of(at, "cpu_share"), 0.07 * n));
        all.push((quantity_of(at, "lat_ns_max"), 12_345_000.0 * n));
    }
    all
}

fn case(id: &str, params: &[(&str, ParamValue)]) -> PlannedCase {
    let metric = testkit::metric("any", Unit::OpsPerSecond, Better::Higher);
    let params = params
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.clone()));
    PlannedCase {
        params: params.collect(),
        ..testkit::case(id, vec![metric])
    }
}

fn round(run: &mut Run, test: &str, pass: u32, values: &[(String, f64)]) {
    let id: CaseId = test.parse().unwrap();
    let measured = Measured {
        values: values.iter().cloned().collect(),
        ..testkit::measured(&[])
    };
    run.rounds
        .push(testkit::round(&id, pass, Outcome::Done(measured)));
}

/// A run of both workloads, in which the second pass lacks one of them.
fn both(char_size: u64) -> Run {
    let large = [
        ("char_size", ParamValue::Size(Bytes(char_size))),
        ("seeks", ParamValue::Count(8192)),
        ("seekers", ParamValue::Count(5)),
    ];
    let files = [("files", ParamValue::Count(16))];
    let mut run = testkit::run(vec![
        case("fs.bonnie@1", &large),
        case("fs.bonnie-files@1", &files),
    ]);
    run.rounds.clear();
    let mut of_file = values(0..6);
    of_file.push(("size_bytes".to_owned(), f64::from(64 << 20)));
    round(&mut run, "fs.bonnie@1", 1, &of_file);
    round(&mut run, "fs.bonnie-files@1", 1, &values(6..12));
    round(&mut run, "fs.bonnie@1", 2, &of_file);
    run
}

#[test]
fn a_line_per_round_has_fifty_fields_and_is_read_to_the_same_figures() {
    let run = both(3 << 20);
    assert!(has_lines(&run));
    let text = csv_lines(&run);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(
        lines.iter().all(|line| line.split(',').count() == 50),
        "{text}"
    );
    assert!(
        lines[0].contains(",64M,8192,8192,5,1234567,7,2469134,14,"),
        "{text}"
    );
    assert!(
        lines[1].contains(",,,,,,,,,,,,"),
        "the second pass has no files: {text}"
    );
    let found = (READER.read)(&text);
    assert_eq!(found.left_out, []);
    let mut checked = 0;
    for (at, phase) in PHASES.iter().enumerate() {
        let figures = one(&found, 0, &format!("bonnie.{}", phase.0)).unwrap();
        let ours = figures.ours.as_ref().unwrap();
        let test = if at < 6 { OF_FILE[0] } else { OF_FILES };
        assert_eq!(ours.test, test);
        let expected: Values = values(at..at + 1).into_iter().collect();
        for figure in &figures.values {
            // Of seeks bonnie++ means another share.
            let quantity = match figure.quantity.as_str() {
                "cpu_share" => quantity_of(at, "cpu_share"),
                other => other.to_owned(),
            };
            let ratio = figure.value / expected[&quantity];
            assert!((ratio - 1.0).abs() < 1e-6, "{quantity}: {ratio}");
            checked += 1;
        }
    }
    assert_eq!(checked, 36);
}

#[test]
fn what_a_line_cannot_say_is_left_out_of_it() {
    let text = csv_lines(&both(512 << 10));
    assert!(text.contains(",64M,8192,8192,5,,,2469134,14,"), "{text}");
    let mut run = both(3 << 20);
    run.meta.label = Some("a,#b<c>\nd".to_owned());
    assert!(csv_lines(&run).contains(",a__b_c__d,1,"));
    run.meta.origin = Some(Box::new(testkit::origin()));
    assert_eq!(csv_lines(&run), "");
    run.plan.cases.clear();
    assert!(!has_lines(&run));
    assert_eq!(short(f64::from(1536 << 10)), "1536k");
}
