//! What is printed, against what fio 3.33 printed: texts are equal to the last byte.
//!
//! The files in `testdata/fio` were printed by the installed fio 3.33 for jobs of a second each. Reading one and
//! printing it again must give the same text; only `eta`, which fio leaves at whatever it last guessed, is put aside.

use crate::fio::output::{json, terse, text};
use crate::fio::result::*;
use crate::fio::tests::printed;
use model::units::UnixNanos;

macro_rules! data {
    ($name:literal) => {
        (
            $name,
            include_str!(concat!("../../../testdata/fio/", $name)),
        )
    };
}

fn without_eta(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.trim_start().starts_with("\"eta\"") {
                "eta"
            } else {
                line
            }
        })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Compares line by line, so that a difference is readable.
fn same(name: &str, ours: &str, theirs: &str) {
    for (number, (ours, theirs)) in ours.lines().zip(theirs.lines()).enumerate() {
        assert_eq!(ours, theirs, "{name}, line {}", number + 1);
    }
    assert_eq!(ours.lines().count(), theirs.lines().count(), "{name}");
}

fn read(text: &str) -> Report {
    printed::read(text).unwrap()
}

#[test]
fn json_is_what_fio_prints() {
    for (name, printed) in [
        data!("null.json"),
        data!("globals.json"),
        data!("percentiles.json"),
        data!("mixed.json"),
        data!("both.json"),
        data!("reduced.json"),
        data!("steady.json"),
        data!("fsync.json"),
        data!("target.json"),
    ] {
        same(
            name,
            &without_eta(&json(&read(printed), true)),
            &without_eta(printed),
        );
    }
    let (name, plain) = data!("plain.json");
    same(
        name,
        &without_eta(&json(&read(plain), false)),
        &without_eta(plain),
    );
}

#[test]
fn histograms_are_printed_only_where_asked_for() {
    let (_, printed) = data!("null.json");
    let report = read(printed);
    assert!(json(&report, true).contains("\"bins\""));
    assert!(!json(&report, false).contains("\"bins\""));
}

#[test]
fn all_directions_together_stand_behind_each_of_them() {
    // Numbers of fields as of fio 3.33 with `unified_rw_reporting=both`, and where the sum of the bytes stands.
    for (version, fields, place) in [(3, 162, 87), (4, 203, 128), (5, 227, 146)] {
        let bytes = |n: u64| {
            Some(Direction {
                io_bytes: n << 10,
                ..Direction::default()
            })
        };
        let job = JobResult {
            read: bytes(116),
            write: bytes(140),
            mixed: bytes(256),
            ..JobResult::default()
        };
        let report = Report {
            jobs: vec![job],
            ..Report::default()
        };
        let line = terse(&report, version);
        let found: Vec<&str> = line.trim_end().split(';').collect();
        assert_eq!((found.len(), found[place]), (fields, "256"), "{version}");
    }
}

#[test]
fn terse_lines_are_what_fio_prints() {
    for (version, (name, printed)) in [
        (3, data!("terse3.txt")),
        (4, data!("terse4.txt")),
        (5, data!("terse5.txt")),
        (3, data!("terse3mixed.txt")),
    ] {
        let fields = |text: &str| {
            text.replace(
                ';', "
",
            )
        };
        same(
            name,
            &fields(&terse(&read(printed), version)),
            &fields(printed),
        );
    }
}

/// A report as this program makes it: histograms and no shares.
fn ours() -> Report {
    let pairs: Vec<(u64, u64)> = (1..=1000).map(|n| (n * 1000, 2)).collect();
    let latency = Latency::of_pairs(&pairs).unwrap();
    let read = Direction {
        io_bytes: 8_192_000,
        bw_bytes_per_s: 8_192_000.0,
        iops: 2000.0,
        runtime_ms: 1000,
        total_ios: Some(2000),
        clat: Some(latency.clone().with_percentiles(&[50.0, 99.0])),
        lat: Some(latency),
        ..Direction::default()
    };
    let job = JobResult {
        name: "our;s\u{1b}".to_owned(),
        members: Some(2),
        read: Some(read),
        ..JobResult::default()
    };
    let finished = Finished::of(
        UnixNanos(1_795_219_010_489_000_000),
        jiff::tz::TimeZone::UTC,
    );
    Report {
        version: Some("fio-3.33".to_owned()),
        finished,
        jobs: vec![job],
        ..Report::default()
    }
}

#[test]
fn our_own_results_have_the_keys_of_fio_s() {
    let (_, printed) = data!("null.json");
    let theirs: serde_json::Value = serde_json::from_str(printed).unwrap();
    let ours: serde_json::Value = serde_json::from_str(&json(&ours(), true)).unwrap();
    let keys = |value: &serde_json::Value, at: &str| -> Vec<String> {
        value
            .pointer(at)
            .unwrap()
            .as_object()
            .unwrap()
            .keys()
            .cloned()
            .collect()
    };
    for at in [
        "",
        "/jobs/0",
        "/jobs/0/read",
        "/jobs/0/write",
        "/jobs/0/read/clat_ns",
        "/jobs/0/read/lat_ns",
        "/jobs/0/sync",
    ] {
        assert_eq!(keys(&ours, at), keys(&theirs, at), "{at}");
    }
    let job = &ours["jobs"][0];
    assert_eq!(job["read"]["clat_ns"]["percentile"]["50.000000"], 500_000);
    // 2 of 2000 samples lie below 2 microseconds, 18 from 20 to 49 is 30 of 1000.
    assert!((job["latency_us"]["2"].as_f64().unwrap() - 0.1).abs() < 1e-9);
    assert!((job["latency_us"]["50"].as_f64().unwrap() - 3.0).abs() < 1e-9);
}

#[test]
fn a_name_cannot_shift_the_fields_of_a_line() {
    let line = terse(&ours(), 3);
    assert_eq!(line.trim_end().split(';').count(), 121);
    assert_eq!(line.split(';').nth(2), Some("our_s\u{1b}"));
}

#[test]
fn text_for_people_has_the_words_they_look_for() {
    insta_like(
        &text(&ours(), false),
        &[
            "our;s?: (groupid=0, jobs=2): err=0: Fri Nov 20 23:56:50 2026",
            "  read: IOPS=2000.0, BW=7.812MiB/s (8.192MB/s) (7.812MiB in 1000 msec)",
            "    clat (nsec): min=1000.00, max=1000000.00, avg=500500.00, stdev=288747.19",
            "     lat (nsec): min=1000.00, max=1000000.00, avg=500500.00, stdev=288747.19",
            "    clat percentiles (usec):",
            "      50.00th=500.00     99.00th=990.00",
            "    issued: total=2000",
            "  latencies below (usec): 2=0.10%, 4=0.20%, 10=0.60%, 20=1.00%, 50=3.00%, 100=5.00%, 250=15.00%, 500=25.00%, 750=25.00%, 1000=25.00%",
            "  latencies below (msec): 2=0.10%",
            "",
            "Run status group 0 (all jobs):",
            "   READ: bw=7.812MiB/s (8.192MB/s), 7.812MiB/s (8.192MB/s) to 7.812MiB/s (8.192MB/s) a job, io=7.812MiB, run=1000-1000msec",
        ],
    );
    assert!(text(&ours(), true).contains("BW=65.54Mbit/s"));
}

fn insta_like(text: &str, expect: &[&str]) {
    assert_eq!(text.lines().collect::<Vec<_>>(), expect);
}

#[test]
fn everything_that_a_report_has_is_in_the_text() {
    for (printed, words) in [
        (
            data!("fsync.json").1,
            [
                "fsync/fdatasync:",
                "sync percentiles",
                "Disk stats",
                "IO depths:",
            ],
        ),
        (
            data!("globals.json").1,
            [
                "description: hello",
                "write: IOPS=",
                "Run status group 1",
                "cpu: usr=",
            ],
        ),
        (
            data!("steady.json").1,
            [
                "steady state: iops:50.000000%, ",
                "bw (KiB/s): min=",
                "iops: min=",
                "ctx=",
            ],
        ),
        (
            data!("target.json").1,
            [
                "latency target: 1000.00 usec for 99.00%",
                "read: IOPS=",
                "issued: total=",
                "clat (",
            ],
        ),
    ] {
        let text = text(&read(printed), false);
        for word in words {
            assert!(text.contains(word), "{word}\n{text}");
        }
    }
}
