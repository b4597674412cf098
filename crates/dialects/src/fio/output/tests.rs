//! What is printed, against what fio 3.33 printed: texts are equal to the last byte.
//!
//! The files in `testdata/fio` were printed by the installed fio 3.33 for jobs of a second each. Reading one and
//! printing it again must give the same text; only `eta`, which fio leaves at whatever it last guessed, is put aside.

use crate::fio::output::{head, json, terse, text};
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

/// What fio 3.33 printed of these jobs, as JSON and as text.
fn words() -> [(&'static str, &'static str, &'static str); 10] {
    let of = |line, (name, printed)| (line, name, printed);
    [
        of(
            "--name=a --rw=randrw --size=2m --numjobs=2 --group_reporting --ioengine=libaio --iodepth=4",
            data!("words-mixed.txt"),
        ),
        of(
            "--name=a --rw=write --size=256k --fdatasync=1 --bs=2300",
            data!("words-sync.txt"),
        ),
        of(
            "--name=a --rw=randtrim --size=1m --ioengine=null --name=b --stonewall --rw=trimwrite --size=1m \
             --ioengine=null",
            data!("words-trims.txt"),
        ),
        of(
            "--name=a --rw=randread --size=4m --ioengine=libaio --iodepth=8",
            data!("words-target.txt"),
        ),
        of(
            "--ioengine=null --name=a --size=100g --bs=1m --thread",
            data!("words-bits.txt"),
        ),
        of(
            "--ioengine=null --name=a --size=1g",
            data!("words-steady.txt"),
        ),
        of(
            "--name=a --rw=write --size=64m --bs=4m --ioengine=libaio --iodepth=8",
            data!("words-slow.txt"),
        ),
        of(
            "--name=a --rw=randrw --size=2m",
            data!("words-together.txt"),
        ),
        of("--name=a --rw=trim --size=2m", data!("words-failed.txt")),
        of(
            "--name=a --rw=randrw --size=4m --ioengine=libaio --iodepth=4 --cmdprio_percentage=30 --prioclass=2 \
             --prio=4",
            data!("words-priorities.txt"),
        ),
    ]
}

/// The JSON, and the text before and behind it.
fn parts(printed: &str) -> (&str, &str, String) {
    let (head, rest) = printed.split_once("{\n").unwrap();
    let (json, text) = rest.split_once("\n}\n").unwrap();
    (head, text, format!("{{\n{json}\n}}"))
}

/// A line of fio's text without what its JSON does not tell: the process, how many jobs a group has, where in fio's
/// source an error came up, and syncs, of which its text and its JSON have different numbers.
fn told(line: &str) -> String {
    let cut = |line: &str, from: &str, to: &str| match line.split_once(from) {
        Some((before, behind)) => {
            let rest = behind.find(to).map_or("", |at| &behind[at..]);
            format!("{before}{from}{rest}")
        }
        None => line.to_owned(),
    };
    let line = cut(
        &cut(&cut(line, " pid=", ":"), "jobs=", ")"),
        " (file:",
        "error=",
    );
    let line = line.replace(" (file:error=", " (error=");
    match line.split_once(" short=") {
        Some((total, rest)) => {
            let (rwt, _) = total.rsplit_once(',').unwrap();
            format!("{rwt} short={rest}")
        }
        None => line,
    }
}

#[test]
fn text_is_what_fio_prints() {
    for (_, name, printed) in words() {
        let (_, theirs, json) = parts(printed);
        let in_bits = name == "words-bits.txt";
        let ours = text(&read(&json), in_bits);
        let all = |text: &str| text.lines().map(told).collect::<Vec<_>>().join("\n");
        // fio writes the kilobytes of 1024 bytes of a steady state as such of 1000.
        let theirs = theirs
            .replace("bw=4004KiB/s (4004kB/s)", "bw=4004KiB/s (4100kB/s)")
            // And syncs as short reads, in the text alone.
            .replace("short=113,", "short=0,")
            // Its JSON rounds this one up.
            .replace("avg=36.37,", "avg=36.38,");
        same(name, &all(&ours), &all(&theirs));
    }
}

#[test]
fn what_stands_before_the_jobs_is_what_fio_says() {
    for (line, name, printed) in words() {
        let (theirs, _, _) = parts(printed);
        let lines = theirs
            .lines()
            .filter(|line| !line.contains("Laying out") && !line.starts_with("fio: "));
        let theirs: Vec<&str> = lines.collect();
        let theirs = theirs
            .join("\n")
            .replace("Starting 1 process\nfio", "Starting 1 process");
        let plan = crate::fio::testkit::line(line).unwrap();
        let ours = head(&plan, "fio-3.33");
        let ours = if line.contains("--thread") {
            assert!(ours.ends_with("\nStarting 1 thread\n"), "{ours}");
            ours.replace("thread", "process")
        } else {
            ours
        };
        same(name, &ours, &theirs);
    }
}

#[test]
fn our_text_is_read_back_to_the_figures_that_the_json_has() {
    let figures = |text: &str| {
        let found = (crate::fio::read::READER.read)(text);
        assert_eq!(found.left_out, []);
        let of = |part: &crate::figures::Figures| {
            let version = part.version.clone();
            let values = part.values.iter();
            let values = values.map(|figure| (figure.quantity.clone(), figure.value));
            (part.test.clone(), version, values.collect::<Vec<_>>())
        };
        found.figures.iter().map(of).collect::<Vec<_>>()
    };
    // A job that failed has no figures.
    let done = words()
        .into_iter()
        .filter(|(_, name, _)| *name != "words-failed.txt");
    for (line, name, printed) in done {
        let version = "fio-3.33 (kurabe 0.1.0)";
        let mut report = read(&parts(printed).2);
        report.version = Some(version.to_owned());
        let plan = crate::fio::testkit::line(line).unwrap();
        let shown = figures(&(head(&plan, version) + &text(&report, false)));
        let exact = figures(&json(&report, false));
        assert_eq!(shown.len(), exact.len(), "{name}");
        for (shown, exact) in shown.iter().zip(&exact) {
            assert_eq!((&shown.0, &shown.1), (&exact.0, &exact.1), "{name}");
            assert_eq!(shown.1.as_deref(), Some("3.33 (kurabe 0.1.0)"));
            let mut found = 0;
            for (quantity, value) in &shown.2 {
                let Some((_, exact)) = exact.2.iter().find(|(other, _)| other == quantity) else {
                    continue;
                };
                // Rates have three digits, and latencies whole units.
                let is_near = (value - exact).abs() <= 0.012 * exact + 1_000.0;
                assert!(is_near, "{name} {quantity}: {value} {exact}");
                found += 1;
            }
            assert!(found >= 2, "{name}: {shown:?} {exact:?}");
        }
    }
}

#[test]
fn idleness_and_what_is_ours_stand_behind_everything_else() {
    let report = Report {
        idleness: Some(Idleness {
            system_percent: 49.628,
            cpus: vec![(0, 96.16), (1, 3.1)],
            unit_us: (26.333, 3.331),
        }),
        kept: Some(Kept {
            run: "x".to_owned(),
            pass: 1,
            passes: 1,
            notes: vec!["n".to_owned()],
            ..Kept::default()
        }),
        ..ours()
    };
    let shown = text(&report, false);
    let expect = "\nCPU idleness:\n  system: 49.63%\n  percpu: 96.16%, 3.10%\n  unit work: mean=26.33us, stddev=3.33\n";
    assert!(shown.ends_with(expect), "{shown}");
    let document: serde_json::Value = serde_json::from_str(&json(&report, false)).unwrap();
    assert_eq!(document["cpu_idleness"]["cpu-1"], 3.1);
    assert_eq!(document["kurabe"]["notes"][0], "n");
}
