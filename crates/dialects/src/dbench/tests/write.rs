//! A run of `fs.dbench` in dbench's lines, and back.

use super::super::{READER, has_report, report_text};
use crate::figures::testkit::{one, value};
use model::params::ParamValue;
use model::plan::PlannedCase;
use model::record::Outcome;
use model::spec::Better;
use model::units::{Nanos, Unit};
use testkit::{case, measured, metric, round};

fn clients(copies: u32) -> PlannedCase {
    let rate = metric("bytes_per_s", Unit::BytesPerSecond, Better::Higher);
    let mut case = case(&format!("fs.dbench@{copies}"), vec![rate]);
    "fs.dbench".clone_into(&mut case.workload);
    case.shape.measure = Nanos::from_secs(8);
    case.shape.warmup = Nanos::from_secs(2);
    let load = ParamValue::Text("own".to_owned());
    case.params = [("load".to_owned(), load)].into_iter().collect();
    case
}

#[test]
fn the_lines_are_read_back_to_the_same_figures() {
    let mut run = testkit::run(vec![clients(1), clients(16)]);
    for (number, rate) in (1..).zip([120.5e6, 123.456_789e6, 130e6]) {
        let mut done = measured(&[("bytes_per_s", rate)]);
        done.latencies = [
            ("flush", vec![(3_000_000, 2), (9_000_000, 1)]),
            ("close", vec![(2_000, 10)]),
            (
                "lat",
                vec![(2_000, 10), (3_000_000, 2), (9_000_000 + number, 1)],
            ),
        ]
        .map(|(name, pairs)| (name.to_owned(), pairs))
        .into();
        let id = run.plan.cases[1].id.clone();
        run.rounds.push(round(
            &id,
            u32::try_from(number).unwrap(),
            Outcome::Done(done),
        ));
    }
    assert!(has_report(&run));
    let text = report_text(&run);
    let expected = "
rounds: 3; Running for 8 seconds with load 'kurabe' and minimum warmup 2 secs

 Operation      Count    AvgLat    MaxLat
 ----------------------------------------
 Close             30     0.002     0.002
 Flush              9     5.000     9.000

Throughput 123.457 MB/sec  16 clients  16 procs  max_latency=9.000 ms
";
    assert!(text.ends_with(expected), "{text}");
    assert!(
        text.contains("\n1 clients: nothing was measured\n"),
        "{text}"
    );
    let found = (READER.read)(&text);
    assert_eq!(found.left_out, []);
    let total = one(&found, 0, "dbench.throughput").unwrap();
    assert_eq!(
        (total.copies, value(total, "bytes_per_s")),
        (16, Some(123.457e6))
    );
    assert_eq!(value(total, "lat_ns_max"), Some(9e6));
    // kurabe's own trace is not the file of dbench.
    assert_eq!((total.ours.as_ref(), total.version.as_ref()), (None, None));
    let flush = one(&found, 0, "dbench.flush").unwrap();
    let values = ["count", "lat_ns_mean", "lat_ns_max"].map(|quantity| value(flush, quantity));
    assert_eq!(values, [Some(9.0), Some(5e6), Some(9e6)]);
}

#[test]
fn a_run_without_it_has_no_lines() {
    assert!(!has_report(&testkit::run(vec![case(
        "os.pipe@1",
        Vec::new()
    )])));
}

#[test]
fn rates_have_six_digits() {
    for (rate, expected) in [
        (0.123_456_78, "0.123457"),
        (12.5, "12.5"),
        (136.366_96, "136.367"),
        (1_234.567_8, "1234.57"),
        (123_456.78, "123457"),
        (200.0, "200"),
    ] {
        assert_eq!(super::super::write::significant(rate), expected);
    }
}
