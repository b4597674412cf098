//! Jobs on a small file: what they do, what they leave, and what they report.

use super::pace::Pace;
use super::*;
use crate::os::testing;
use engine::recorder::Recorder;
use engine::workload::Finish;
use model::job::{Arrivals, Mix, Pattern, Redundancy};
use model::num::approx;
use std::path::PathBuf;
use tempfile::TempDir;

/// In memory: a nearly full disk has no room for a test file, and that is no reason for a test to fail.
pub(super) fn place() -> (TempDir, Place) {
    let root = tempfile::tempdir_in("/dev/shm")
        .or_else(|_| tempfile::tempdir())
        .unwrap();
    let place = testing::place_in(&root);
    (root, place)
}

pub(super) fn job(overrides: &[(&str, &str)]) -> Job {
    let mut all = vec![("size", "1M"), ("direct", "no")];
    all.extend_from_slice(overrides);
    from_params(&testing::params(&IO, &all))
}

/// Does `ops` operations after a warm-up of half as many.
fn run(job: &Job, place: &Place, ops: u64) -> Finish {
    let mut body = open(job, place).unwrap();
    let mut recorder = Recorder::off();
    assert_eq!(body.batch(ops / 2, &mut recorder).unwrap(), ops / 2);
    body.measured_part_begins();
    assert_eq!(body.batch(ops, &mut recorder).unwrap(), ops);
    body.finish().unwrap()
}

fn data_file(place: &Place) -> PathBuf {
    place.run_dir.join("data-1048576-c0-d0")
}

#[test]
fn every_pattern_on_every_engine_does_and_records_what_it_says() {
    const OPS: u64 = 400;
    for engine in job::ENGINES {
        let depth = match *engine {
            "psync" | "pvsync2" => "1",
            _ => "8",
        };
        for rw in job::PATTERNS {
            let (_root, place) = place();
            let job = job(&[("rw", rw), ("ioengine", engine), ("iodepth", depth)]);
            let finish = run(&job, &place, OPS);
            let case = format!("{engine} {rw}");
            let [reads, writes, bytes] =
                ["reads", "writes", "bytes"].map(|name| finish.reported[name]);
            assert!((bytes - approx(OPS * 4096)).abs() < 0.5, "{case}: {bytes}");
            let (some_reads, some_writes) = match job.pattern.mix {
                Mix::Read => (true, false),
                Mix::Write => (false, true),
                Mix::ReadWrite => (true, true),
                Mix::Trim | Mix::TrimWrite => (false, false),
            };
            assert_eq!(
                (reads > 0.0, writes > 0.0),
                (some_reads, some_writes),
                "{case}"
            );
            let recorded: u64 = finish
                .latencies
                .iter()
                .filter(|(name, _)| name.ends_with("clat"))
                .map(|(_, latencies)| latencies.count())
                .sum();
            assert_eq!(recorded, OPS, "{case}");
            // The metrics that this job is said to have are those that it has.
            for metric in spec::metrics(&job) {
                if let model::spec::How::Of(name, _) = metric.how {
                    assert!(finish.latencies.contains_key(name), "{case}: {name}");
                }
            }
        }
    }
}

#[test]
fn reading_leaves_the_file_as_it_was_and_writing_replaces_all_of_it() {
    let (_root, place) = place();
    run(&job(&[("rw", "randread")]), &place, 10);
    let laid_out = std::fs::read(data_file(&place)).unwrap();
    let note = std::fs::read(data_file(&place).with_extension("complete")).unwrap();
    let note: serde_json::Value = serde_json::from_slice(&note).unwrap();
    let mut expected = vec![0; laid_out.len()];
    Redundancy::default().fill(note["seed"].as_u64().unwrap(), 0, &mut expected);
    assert!(laid_out == expected, "the file holds what its seed says");
    for (rw, engine, depth) in [
        ("randread", "io_uring", "16"),
        ("read", "libaio", "4"),
        ("randread", "null", "1"),
        ("randwrite", "null", "4"),
    ] {
        let job = job(&[("rw", rw), ("ioengine", engine), ("iodepth", depth)]);
        run(&job, &place, 300);
        assert!(
            std::fs::read(data_file(&place)).unwrap() == laid_out,
            "{rw} {engine}"
        );
    }
    for (round, (rw, engine, depth)) in (1..).zip([
        ("randwrite", "io_uring", "16"),
        ("write", "libaio", "4"),
        ("randwrite", "psync", "1"),
        ("write", "pvsync2", "1"),
    ]) {
        // Another round writes other data.
        let place = Place {
            seed: 1000 + round,
            ..place.clone()
        };
        let before = std::fs::read(data_file(&place)).unwrap();
        // 256 blocks: after as many operations every one of them was written once, in whatever order.
        let job = job(&[("rw", rw), ("ioengine", engine), ("iodepth", depth)]);
        let mut body = open(&job, &place).unwrap();
        body.batch(256, &mut Recorder::off()).unwrap();
        body.finish().unwrap();
        let after = std::fs::read(data_file(&place)).unwrap();
        let pairs = before.chunks(4096).zip(after.chunks(4096));
        let kept = pairs.filter(|(before, after)| before == after).count();
        assert_eq!((kept, after.len()), (0, 1 << 20), "{rw} {engine}");
        let mut blocks: Vec<&[u8]> = after.chunks(4096).collect();
        blocks.sort_unstable();
        blocks.dedup();
        assert_eq!(blocks.len(), 256, "{rw} {engine}: no two blocks are equal");
    }
}

#[test]
fn a_file_is_written_once_and_a_damaged_one_again() {
    let (_root, place) = place();
    let job = job(&[]);
    let path = data_file(&place);
    let note = path.with_extension("complete");
    let number = || {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(&path).unwrap().ino()
    };
    let ready = |place: &Place| file::ensure(&job, place).unwrap().seed;
    let seed = ready(&place);
    let other_round = Place {
        seed: 77,
        ..place.clone()
    };
    let first = number();
    assert_eq!(
        (ready(&other_round), number()),
        (seed, first),
        "it is used again"
    );

    // A worker that died while writing leaves no note; somebody may cut the file; and a link leads elsewhere.
    let elsewhere = place.dir.join("precious");
    let spoilers: [&dyn Fn(); 4] = [
        &|| std::fs::remove_file(&note).unwrap(),
        &|| std::fs::write(&note, "{").unwrap(),
        &|| std::fs::write(&path, "short").unwrap(),
        &|| {
            std::fs::write(&elsewhere, vec![1; 1 << 20]).unwrap();
            std::fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(&elsewhere, &path).unwrap();
        },
    ];
    for (at, spoil) in spoilers.iter().enumerate() {
        spoil();
        assert_eq!(ready(&other_round), 77, "{at}: it is written anew");
        assert_eq!(
            std::fs::symlink_metadata(&path).unwrap().len(),
            1 << 20,
            "{at}"
        );
        std::fs::remove_file(&note).unwrap();
        ready(&place);
    }
    assert_eq!(std::fs::read(&elsewhere).unwrap(), vec![1; 1 << 20]);
}

#[test]
fn copies_that_come_at_the_same_time_write_the_file_once() {
    let (_root, place) = place();
    let seeds: Vec<u64> = std::thread::scope(|scope| {
        let copies: Vec<_> = (0..6)
            .map(|copy| {
                let place = Place {
                    copy,
                    seed: u64::from(copy) + 100,
                    ..place.clone()
                };
                scope.spawn(move || file::ensure(&job(&[]), &place).unwrap().seed)
            })
            .collect();
        copies
            .into_iter()
            .map(|copy| copy.join().unwrap())
            .collect()
    });
    assert!(seeds.iter().all(|&seed| seed == seeds[0]), "{seeds:?}");
}

#[test]
fn syncs_are_done_as_often_as_asked_and_counted_apart() {
    for (param, every, rw, expected) in [
        ("fsync", "1", "randwrite", 100),
        ("fsync", "4", "write", 25),
        ("fdatasync", "10", "randwrite", 10),
        ("fsync", "1", "randread", 0),
    ] {
        let (_root, place) = place();
        let job = job(&[("rw", rw), (param, every), ("direct", "no")]);
        let mut body = open(&job, &place).unwrap();
        // One more, because a sync comes before the write that follows it.
        body.batch(101, &mut Recorder::off()).unwrap();
        let finish = body.finish().unwrap();
        assert!(
            finish
                .job
                .is_some_and(|job| job.syncs == u64::try_from(expected).unwrap()),
            "{param} {every}"
        );
        assert_eq!(
            finish.latencies["sync"].count(),
            u64::try_from(expected).unwrap()
        );
        assert!((finish.reported["bytes"] - 101.0 * 4096.0).abs() < 0.5);
    }
}

#[test]
fn with_a_rate_every_operation_has_a_lateness_and_a_latency_from_its_intended_start() {
    for (engine, depth) in [("psync", "1"), ("io_uring", "4"), ("libaio", "4")] {
        let (_root, place) = place();
        let job = job(&[
            ("rate_iops", "2000"),
            ("rate_process", "poisson"),
            ("ioengine", engine),
            ("iodepth", depth),
        ]);
        let finish = run(&job, &place, 100);
        for name in ["lat", "clat"] {
            assert_eq!(finish.latencies[name].count(), 100, "{engine} {name}");
        }
        // Lateness is known when an operation starts, and some were under way at both ends.
        let late = finish.latencies["late"].count();
        assert!(late.abs_diff(100) <= 4, "{engine} {late}");
        let mean = |name: &str| model::latency::mean(&finish.latencies[name].pairs()).unwrap();
        assert!(mean("lat") >= mean("clat"), "{engine}");
    }
}

#[test]
fn arrivals_keep_their_rate_whatever_becomes_of_the_operations() {
    let arrivals = |process: &str| {
        let job = job(&[("rate_iops", "1000"), ("rate_process", process)]);
        let mut pace = Pace::new(&job, 1);
        // Nobody has time before second 100: all of them arrived meanwhile.
        assert_eq!(pace.take(5), 5, "the first arrival is the start");
        (0..20_000)
            .map(|_| {
                let next = pace.next(100_000_000_000);
                assert_eq!(pace.take(100_000_000_000), next);
                next
            })
            .collect::<Vec<u64>>()
    };
    let linear = arrivals("linear");
    assert!(
        linear
            .iter()
            .zip(1..)
            .all(|(&at, n)| at == 5 + n * 1_000_000)
    );
    let poisson = arrivals("poisson");
    let gaps: Vec<f64> = poisson
        .windows(2)
        .map(|pair| approx(pair[1] - pair[0]))
        .collect();
    let count = approx(gaps.len() as u64);
    let mean = gaps.iter().sum::<f64>() / count;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / count;
    // The standard deviation of exponential gaps is their mean; five standard errors of each.
    assert!((mean / 1e6 - 1.0).abs() < 0.036, "{mean}");
    assert!((variance.sqrt() / 1e6 - 1.0).abs() < 0.06, "{variance}");
}

#[test]
fn a_pause_follows_every_so_many_operations() {
    let job = job(&[("thinktime", "10ms"), ("thinktime_blocks", "3")]);
    let mut pace = Pace::new(&job, 1);
    for round in 0..3 {
        let now = round * 50_000_000;
        for _ in 0..3 {
            assert!(pace.next(now) <= now, "{round}");
            assert_eq!(pace.take(now), now);
            pace.ended(now);
        }
        assert_eq!(pace.next(now), now + 10_000_000, "{round}");
    }
}

#[test]
fn sequential_copies_read_parts_of_their_own() {
    let (_root, place) = place();
    let first = |copy: u32| {
        let job = job(&[("rw", "read")]);
        let place = Place {
            copy,
            copies: 4,
            ..place.clone()
        };
        let mut offsets = Parts::new(&job, &place, true).unwrap().offsets();
        (offsets.next(), offsets.next())
    };
    assert_eq!(
        [0, 1, 2, 3].map(first),
        [(0, 1), (64, 65), (128, 129), (192, 193)]
    );
}

#[test]
fn metrics_are_those_that_mean_something_and_the_telling_one_leads() {
    let check = |overrides: &[(&str, &str)], first: &str, has: &[&str], lacks: &[&str]| {
        let metrics = spec::metrics(&job(overrides));
        let names: Vec<&str> = metrics.iter().map(|metric| metric.quantity).collect();
        assert_eq!(names[0], first, "{overrides:?}");
        assert!(
            has.iter().all(|name| names.contains(name)),
            "{overrides:?}: {names:?}"
        );
        assert!(
            !lacks.iter().any(|name| names.contains(name)),
            "{overrides:?}: {names:?}"
        );
    };
    check(
        &[],
        "iops",
        &["clat_ns_p99", "cached_share", "cpu_ns_per_op"],
        &[
            "lat_ns_p99",
            "slat_ns_p99",
            "read_clat_ns_p99",
            "sync_ns_p99",
            "late_ns_p99",
            "read_iops",
        ],
    );
    check(
        &[("iodepth", "32"), ("rw", "randwrite")],
        "iops",
        &["clat_ns_p99", "lat_ns_p99", "slat_ns_mean"],
        &["cached_share", "write_clat_ns_p99"],
    );
    check(
        &[("rw", "randrw"), ("iodepth", "32")],
        "iops",
        &[
            "read_iops",
            "write_iops",
            "read_clat_ns_p99",
            "write_lat_ns_p999",
        ],
        &["clat_ns_p99"],
    );
    check(
        &[("bs", "1M"), ("size", "8M")],
        "bw_bytes_per_s",
        &["iops"],
        &[],
    );
    check(
        &[("fsync", "1"), ("rw", "write")],
        "iops",
        &["sync_ns_p99"],
        &[],
    );
    check(
        &[("rate_iops", "5")],
        "iops",
        &["late_ns_p99", "lat_ns_p50"],
        &["slat_ns_p50"],
    );
}

#[test]
fn impossible_jobs_are_refused_in_words() {
    for (overrides, words) in [
        (&[("bs", "0")][..], "a block of 0 bytes"),
        (&[("bs", "2G")], "a block of 2147483648 bytes"),
        (
            &[("size", "2k")],
            "2048 bytes of file hold no block of 4096 bytes",
        ),
        (
            &[("ioengine", "psync"), ("iodepth", "2")],
            "psync, pvsync2 and mmap do one operation at a time",
        ),
        (
            &[("bs", "1G"), ("size", "1G"), ("iodepth", "32")],
            "bytes of memory",
        ),
    ] {
        let why = job(overrides).check().unwrap_err();
        assert!(why.contains(words), "{why}");
    }
    let (_root, place) = place();
    let too_large = open(&job(&[("size", "4000T")]), &place)
        .err()
        .unwrap()
        .to_string();
    assert!(too_large.contains("at most half is used"), "{too_large}");
    assert!(!place.run_dir.join("data-4398046511104000-c0-d0").exists());
}

#[test]
fn a_job_keeps_its_meaning_in_json() {
    let job = job(&[
        ("rw", "randrw"),
        ("rate_iops", "7"),
        ("rate_process", "poisson"),
    ]);
    assert_eq!(job.arrivals, Arrivals::Poisson);
    let text = serde_json::to_string(&job).unwrap();
    assert_eq!(serde_json::from_str::<Job>(&text).unwrap(), job);
    for word in job::PATTERNS {
        assert!(Pattern::from_word(word).is_some(), "{word}");
    }
    for word in job::ENGINES {
        assert!(job::engine(word).is_some(), "{word}");
    }
}

mod kept;
mod named;
mod root;
