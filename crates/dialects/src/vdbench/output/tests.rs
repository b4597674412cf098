//! What is written is read back to the same figures by the reader of vdbench's own outputs.

use super::filerows::{Calls, FileRow};
use super::rows::Flow;
use super::*;
use crate::figures::testkit::{is_same, value};
use crate::fio::testkit::Files;
use crate::vdbench::READER;
use crate::vdbench::language::{Plan, Request, parse};
use model::fileset::FileOperation;

fn plan(words: &[&str]) -> Plan {
    let request = Request {
        files: Vec::new(),
        words: words.iter().map(|&word| word.to_owned()).collect(),
    };
    parse(&request, &Files::default()).unwrap()
}

fn raw() -> Plan {
    plan(&[
        "sd=sd1,lun=/d/one,size=1g,threads=16",
        "wd=wd1,sd=sd1,rdpct=70,xfersize=8k",
        "rd=mix-A,wd=wd1,elapsed=4,interval=1,forxfersize=(8k)",
    ])
}

/// Reads of 1.25 ms and writes of 2 ms, on average.
fn row() -> Row {
    let flow = |per_s: f64, mean_ns, longest| Flow {
        per_s,
        bytes_per_s: per_s * 8192.0,
        calls: Some(Moments {
            count: per_s * 3.0,
            mean_ns,
            spread_ns: Some((0.5e6, longest)),
        }),
    };
    Row {
        reads: flow(1400.0, 1.25e6, 9.75e6),
        writes: flow(600.0, 2e6, 12.5e6),
        cpu: Some((0.125, 0.045)),
    }
}

/// 2024-02-03 10:15:00 UTC.
const BEGAN: UnixNanos = UnixNanos(1_706_955_300_000_000_000);

fn report<'a>(plan: &'a Plan, row: &AnyRow) -> Report<'a> {
    let after = |seconds: u64| UnixNanos(BEGAN.0 + seconds * 1_000_000_000);
    let one = |run| Execution {
        run,
        began: BEGAN,
        intervals: vec![(Label::Interval(2), after(2), row.clone())],
        average: Some((Label::Average(2, 4), after(4), row.clone())),
        requested_per_s: None,
        from_start: None,
        storage_bytes: Some(1 << 30),
        failed: None,
    };
    Report {
        version: "0.1.0",
        zone: TimeZone::UTC,
        executions: plan.runs.iter().map(one).collect(),
    }
}

#[test]
fn the_flat_file_is_read_back_to_the_same_figures() {
    let plan = raw();
    let text = flatfile(&report(&plan, &AnyRow::Raw(row())));
    let found = (READER.read)(&text);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}\n{text}")
    };
    assert_eq!(
        (figures.test.as_str(), figures.copies),
        ("vdbench.mix-a", 16)
    );
    let row = row();
    let same = |quantity: &str, expect: f64| {
        assert!(
            is_same(value(figures, quantity), Some(expect)),
            "{quantity}: {figures:?}"
        );
    };
    same("iops", row.per_s());
    same("bytes_per_s", row.bytes_per_s());
    same("resp_ns_mean", row.calls().unwrap().mean_ns);
    same("read_resp_ns_mean", 1.25e6);
    same("write_resp_ns_mean", 2e6);
    same("resp_ns_max", 12.5e6);
    same("read_resp_ns_max", 9.75e6);
    same("read_resp_ns_stddev", 0.5e6);
    same("resp_ns_stddev", row.calls().unwrap().spread_ns.unwrap().0);
    same("cpu_share", 0.125);
    same("cpu_system_share", 0.045);
    let param = |name: &str| figures.params[name].as_str();
    let told = ["xfersize", "threads", "rdpct", "seekpct", "averaged"].map(param);
    assert_eq!(told, ["8192", "16", "70", "100", "avg_2-4"]);
}

#[test]
fn summary_and_totals_are_read_back_as_printed() {
    let plan = raw();
    let report = report(&plan, &AnyRow::Raw(row()));
    for text in [summary(&report), totals(&report)] {
        let found = (READER.read)(&text);
        let [figures] = &found.figures[..] else {
            panic!("{found:?}\n{text}")
        };
        assert_eq!(figures.test, "vdbench.mix-a.xfersize-8k");
        assert_eq!(value(figures, "iops"), Some(2000.0));
        assert_eq!(value(figures, "read_resp_ns_mean"), Some(1.25e6));
        assert_eq!(value(figures, "write_resp_ns_max"), Some(12.5e6));
        assert_eq!(value(figures, "cpu_share"), Some(0.125));
        assert_eq!(
            figures.when.unwrap().rfc3339(),
            "2024-02-03T10:15:04.000000000Z"
        );
    }
    assert!(
        summary(&report).contains("\n10:15:02.000           2     2000.0    15.62    8192  70.00")
    );
    assert!(!totals(&report).contains("10:15:02.000"));
}

#[test]
fn runs_on_file_sets_have_columns_of_their_own_that_are_read_back() {
    let plan = plan(&[
        "fsd=fsd1,anchor=/a",
        "fwd=fwd1,fsd=fsd1,operations=(read,create)",
        "rd=open,fwd=fwd1,elapsed=30,format=yes",
    ]);
    let calls = |per_s, ns| Calls {
        per_s,
        ns_mean: Some(ns),
    };
    let row = FileRow {
        asked: calls(1300.0, 260e3),
        each: vec![
            (FileOperation::Create, calls(100.0, 40e3)),
            (FileOperation::Read, calls(1200.0, 250e3)),
        ],
        bytes_per_s: (1200.0 * 4096.0, 0.0),
        cpu: Some((0.055, 0.025)),
    };
    let report = report(&plan, &AnyRow::Files(row));
    let text = totals(&report);
    let found = (READER.read)(&text);
    let [figures] = &found.figures[..] else {
        panic!("{found:?}\n{text}")
    };
    assert_eq!(figures.test, "vdbench.open");
    assert_eq!(value(figures, "ops_per_s"), Some(1300.0));
    assert_eq!(value(figures, "resp_ns_mean"), Some(260e3));
    assert_eq!(value(figures, "read_ops_per_s"), Some(1200.0));
    assert_eq!(value(figures, "cpu_share"), Some(0.055));
    let document: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    let average = &document["runs"][0]["average"];
    assert_eq!(average["operations"]["create"]["ops_per_s"], 100.0);
    assert_eq!(average["intervals"], "avg_2-4");
}

#[test]
fn what_nobody_kept_is_no_number() {
    let mut kept = row();
    for flow in [&mut kept.reads, &mut kept.writes] {
        flow.calls = flow.calls.map(|calls| Moments {
            spread_ns: None,
            ..calls
        });
    }
    kept.cpu = None;
    let line = line(
        Label::Interval(3),
        BEGAN,
        &AnyRow::Raw(kept.clone()),
        &TimeZone::UTC,
    );
    assert_eq!(line.matches("n/a").count(), 5, "{line}");
    let plan = raw();
    let document = json(&report(&plan, &AnyRow::Raw(kept)));
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    assert!(document["runs"][0]["average"]["resp_ns_max"].is_null());
    assert!(document["runs"][0]["average"]["resp_ns_mean"].is_number());
}

#[test]
fn moments_of_both_are_those_of_all() {
    let (a, b) = ([(10, 2), (20, 1)], [(30, 1)]);
    let all = Moments::of(&[(10, 2), (20, 1), (30, 1)]).unwrap();
    let joined = Moments::joined(Moments::of(&a), Moments::of(&b)).unwrap();
    assert!((joined.mean_ns - all.mean_ns).abs() < 1e-9);
    let (one, other) = (joined.spread_ns.unwrap(), all.spread_ns.unwrap());
    assert!((one.0 - other.0).abs() < 1e-9 && (one.1 - other.1).abs() < 1e-9);
    assert_eq!(Moments::of(&[]), None);
}
