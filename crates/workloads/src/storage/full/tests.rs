//! Whole jobs on real files and real engines.

use super::*;
use crate::storage::job::EngineChoice;
use crate::storage::job::{
    Batching, Blocks, Contents, ContinueOn, Directions, End, FileOrder, Files, JobSpec,
    LatencyTarget, Pacing, Pattern, Rate, SteadyQuantity, SteadyState, Steps, VerifyJob,
};
use crate::storage::open;
use crate::storage::tests::place;
use crate::storage::verify::Verify;
use engine::workload::Place;
use model::num::round_to_u64;
use model::units::Nanos;
use std::path::Path;

const K: u64 = 1 << 10;

/// A job of 256 KiB in blocks of 4 KiB that ends when all of it is done.
fn job(rw: &str) -> JobSpec {
    JobSpec {
        pattern: Pattern::from_word(rw).unwrap(),
        size: Some(256 * K),
        direct: false,
        end: End {
            time_based: false,
            ..End::default()
        },
        ..JobSpec::default()
    }
}

fn on(engine: EngineChoice, depth: u32, job: JobSpec) -> JobSpec {
    JobSpec {
        engine,
        depth,
        ..job
    }
}

const ENGINES: [(EngineChoice, u32); 4] = [
    (EngineChoice::Psync, 1),
    (EngineChoice::Pvsync2, 1),
    (EngineChoice::IoUring, 8),
    (EngineChoice::Libaio, 8),
];

/// Runs the job to its end, in batches of seven; operations, and what it hands over.
fn outcome(job: &JobSpec, place: &Place) -> Result<(u64, Finish), WorkError> {
    let mut body = open(job, place)?;
    let mut ops = 0;
    loop {
        let done = body.batch(7, &mut Recorder::off())?;
        ops += done;
        if done < 7 {
            return Ok((ops, body.finish()?));
        }
    }
}

fn run(job: &JobSpec, place: &Place) -> (u64, Finish) {
    outcome(job, place).unwrap()
}

fn value(finish: &Finish, name: &str) -> u64 {
    round_to_u64(*finish.reported.get(name).unwrap_or(&0.0))
}

fn data_file(place: &Place) -> PathBuf {
    place.run_dir.join("data-262144-c0-d0")
}

fn end(change: impl FnOnce(&mut End)) -> End {
    let mut end = End {
        time_based: false,
        ..End::default()
    };
    change(&mut end);
    end
}

#[test]
fn jobs_end_to_the_operation() {
    let blocks = |min_bytes, max_bytes| {
        Directions::all(Some(Blocks::Range {
            min_bytes,
            max_bytes,
        }))
    };
    for (engine, depth) in ENGINES {
        for rw in ["read", "randread", "write", "randwrite", "rw", "randrw"] {
            let check = |change: &dyn Fn(&mut JobSpec), ops: Option<u64>, bytes: u64| {
                let (_root, place) = place();
                let mut job = on(engine, depth, job(rw));
                change(&mut job);
                let (done, finish) = run(&job, &place);
                let case = format!("{engine:?} {rw} {:?}", job.end);
                assert_eq!(done, ops.unwrap_or(done), "{case}");
                assert_eq!(value(&finish, "bytes"), bytes, "{case}");
                let counted = value(&finish, "reads") + value(&finish, "writes");
                assert_eq!(counted, done, "{case}");
            };
            check(&|_| (), Some(64), 256 * K);
            check(&|job| job.end.loops = 3, Some(192), 768 * K);
            check(
                &|job| job.end = end(|end| end.bytes = Some(10_240)),
                Some(3),
                12 * K,
            );
            check(
                &|job| job.end = end(|end| end.ops = Some(37)),
                Some(37),
                148 * K,
            );
            // Every block once, whatever the sizes are, as far as the region goes.
            if rw.starts_with("rand") || rw == "read" {
                check(&|job| job.blocks = blocks(4 * K, 16 * K), None, 256 * K);
            }
        }
    }
}

#[test]
fn a_time_ends_a_job_and_a_time_alone_goes_through_the_file_again() {
    for (engine, depth) in [(EngineChoice::Psync, 1), (EngineChoice::Null, 4)] {
        let (_root, place) = place();
        let time = Nanos::from_millis(30);
        let job = JobSpec {
            end: End {
                time: Some(time),
                ..End::default()
            },
            start_delay: Nanos::from_millis(5),
            ramp: Nanos::from_millis(10),
            samples: Some(Nanos::from_millis(5)),
            ..on(engine, depth, job("randread"))
        };
        let start = sys::clock::monotonic();
        let (ops, finish) = run(&job, &place);
        let took = sys::clock::monotonic() - start;
        assert!(took >= 45_000_000, "{took}");
        assert!(ops > 64, "{ops}");
        let reads = value(&finish, "reads");
        assert!(
            reads < ops,
            "what the ramp did is not reported: {reads} of {ops}"
        );
        let worked = value(&finish, "read_runtime_ns");
        assert!((20_000_000..took).contains(&worked), "{worked} of {took}");
        assert!(value(&finish, "read_iops_window_samples") >= 2);
    }
}

#[test]
fn everything_written_is_read_back_and_right() {
    let pattern = Verify::Pattern(vec![0xde, 0xad, 0xbe]);
    for method in [Verify::Crc32c, Verify::Md5, Verify::Sha256, pattern] {
        for (engine, depth) in ENGINES {
            for rw in ["write", "randwrite", "randrw"] {
                for change in [
                    (|_| ()) as fn(&mut JobSpec),
                    |job| job.repeat_blocks = true,
                    |job| job.end.loops = 2,
                    |job| {
                        job.blocks.write = Some(Blocks::Split(vec![(4096, 50.0), (12_288, 50.0)]))
                    },
                    |job| job.contents = Contents::Zero,
                    |job| job.verify.as_mut().unwrap().backlog = Some(10),
                    |job| {
                        let verify = job.verify.as_mut().unwrap();
                        (verify.backlog, verify.backlog_batch) = (Some(10), Some(3));
                    },
                    |job| {
                        let verify = job.verify.as_mut().unwrap();
                        (verify.interval_bytes, verify.offset_bytes) = (Some(512), 64);
                    },
                ] {
                    let (_root, place) = place();
                    let mut job = on(engine, depth, job(rw));
                    job.verify = Some(VerifyJob::new(method.clone()));
                    change(&mut job);
                    let (_, finish) = run(&job, &place);
                    let case = format!("{engine:?} {rw} {:?}", job.verify);
                    assert_eq!(value(&finish, "verify_errors"), 0, "{case}");
                    let verified = value(&finish, "verified");
                    let writes = value(&finish, "writes");
                    assert!(verified > 0 && writes > 0, "{case}");
                    if rw == "randwrite"
                        && !job.repeat_blocks
                        && job.end.loops == 1
                        && job.blocks.write.is_none()
                    {
                        let per_block =
                            4096 / job.verify.as_ref().unwrap().interval_bytes.unwrap_or(4096);
                        assert_eq!((writes, verified), (64, 64 * per_block), "{case}");
                    }
                }
            }
        }
    }
}

/// Flips one bit of the data file.
fn flip(path: &Path, byte: usize) {
    let mut data = std::fs::read(path).unwrap();
    data[byte] ^= 0x10;
    std::fs::write(path, data).unwrap();
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    for method in [
        Verify::Crc32c,
        Verify::Md5,
        Verify::Sha256,
        Verify::Pattern(vec![1, 2, 3, 4]),
    ] {
        for (engine, depth) in ENGINES {
            let (_root, place) = place();
            let written = JobSpec {
                verify: Some(VerifyJob {
                    reads_back: false,
                    ..VerifyJob::new(method.clone())
                }),
                ..on(engine, depth, job("randwrite"))
            };
            run(&written, &place);
            let only = JobSpec {
                verify: Some(VerifyJob {
                    only_checks: true,
                    ..VerifyJob::new(method.clone())
                }),
                ..written.clone()
            };
            let (_, finish) = run(&only, &place);
            assert_eq!(
                (value(&finish, "verified"), value(&finish, "writes")),
                (64, 0),
                "{method:?}"
            );

            flip(&data_file(&place), 5 * 4096 + 1234);
            let reading = JobSpec {
                pattern: Pattern::from_word("read").unwrap(),
                ..only.clone()
            };
            for job in [&only, &reading] {
                let Err(WorkError::Wrong(words)) = outcome(job, &place) else {
                    panic!("{method:?} on {engine:?}: the flipped bit was not found")
                };
                let place_of = if matches!(method, Verify::Pattern(_)) {
                    "byte 1234 is"
                } else {
                    "checksum"
                };
                for part in ["data-262144-c0-d0` at offset 20480", place_of, "and not"] {
                    assert!(words.contains(part), "{words}");
                }
            }
            // It may be let pass, and is counted; or end the job where it is found.
            let passing = JobSpec {
                continue_on: ContinueOn {
                    verify: true,
                    ..ContinueOn::default()
                },
                ..only.clone()
            };
            let (ops, finish) = run(&passing, &place);
            assert_eq!(
                (
                    ops,
                    value(&finish, "verified"),
                    value(&finish, "verify_errors")
                ),
                (64, 63, 1)
            );
            let mut fatal = only;
            fatal.verify.as_mut().unwrap().is_fatal = true;
            assert!(matches!(outcome(&fatal, &place), Err(WorkError::Wrong(_))));
        }
    }
}

#[test]
fn what_a_time_left_unchecked_is_checked_in_the_end() {
    let (_root, place) = place();
    let job = JobSpec {
        verify: Some(VerifyJob::new(Verify::Crc32c)),
        end: End::default(),
        ..on(EngineChoice::IoUring, 4, job("randwrite"))
    };
    let mut body = open(&job, &place).unwrap();
    assert_eq!(body.batch(40, &mut Recorder::off()).unwrap(), 40);
    let finish = body.finish().unwrap();
    let verified = value(&finish, "verified");
    assert!(
        (40..=44).contains(&verified),
        "those under way are checked too: {verified}"
    );
    // Going on it is checked after every pass.
    let mut body = open(&job, &place).unwrap();
    assert_eq!(body.batch(300, &mut Recorder::off()).unwrap(), 300);
    let finish = body.finish().unwrap();
    assert!(value(&finish, "reads") >= 128, "{:?}", finish.reported);
}

#[test]
fn trimmed_blocks_are_written_again() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let mut job = on(engine, depth, job("randwrite"));
        job.pattern.mix = crate::storage::job::Mix::TrimWrite;
        job.verify = Some(VerifyJob::new(Verify::Crc32c));
        let (_, finish) = run(&job, &place);
        let all = ["trims", "writes", "verified"].map(|name| value(&finish, name));
        assert_eq!(all, [64, 64, 64], "{engine:?}");
    }
}

#[test]
fn several_files_are_worked_on_in_their_order() {
    for order in [
        FileOrder::RoundRobin,
        FileOrder::Sequential,
        FileOrder::Random,
    ] {
        let (_root, place) = place();
        let job = JobSpec {
            files: Files {
                count: 4,
                order,
                ..Files::default()
            },
            verify: Some(VerifyJob::new(Verify::Crc32c)),
            ..on(EngineChoice::IoUring, 4, job("randwrite"))
        };
        let (_, finish) = run(&job, &place);
        assert_eq!(value(&finish, "writes"), 64, "{order:?}");
        let in_file = |number: u32| {
            let dir = match number {
                0 => place.run_dir.clone(),
                _ => place.run_dir.join(format!("file-{number}")),
            };
            let data = std::fs::read(dir.join("data-65536-c0-d0")).unwrap();
            data.chunks(4096)
                .filter(|block| block.starts_with(b"kurabe1"))
                .count()
        };
        let found = [0, 1, 2, 3].map(in_file);
        if order == FileOrder::Random {
            // 16 each, and no file has more blocks than 16.
            assert!(found.iter().all(|&blocks| blocks > 2), "{found:?}");
        } else {
            assert_eq!(found, [16; 4], "{order:?}");
        }
    }
}

#[test]
fn an_offset_leaves_what_is_before_it_alone() {
    let (_root, place) = place();
    let job = JobSpec {
        offset_bytes: 64 * K,
        contents: Contents::Pattern(b"abcd".to_vec()),
        ..job("randwrite")
    };
    let (ops, _) = run(&job, &place);
    assert_eq!(ops, 64);
    let data = std::fs::read(place.run_dir.join("data-327680-c0-d0")).unwrap();
    let is_pattern = |block: &&[u8]| block.chunks(4).all(|part| part == b"abcd");
    let written = data.chunks(4096).map(|block| is_pattern(&block));
    let (before, behind) = (written.clone().take(16), written.skip(16));
    assert_eq!(
        (before.filter(|&w| w).count(), behind.filter(|&w| w).count()),
        (0, 64)
    );
}

#[test]
fn contents_are_what_was_asked_for() {
    let written = |contents: &Contents| {
        let (_root, place) = place();
        let job = JobSpec {
            contents: contents.clone(),
            ..on(EngineChoice::IoUring, 4, job("randwrite"))
        };
        run(&job, &place);
        std::fs::read(data_file(&place)).unwrap()
    };
    assert!(written(&Contents::Zero).iter().all(|&byte| byte == 0));
    let pattern = written(&Contents::Pattern(b"xyz!".to_vec()));
    assert!(pattern.chunks(4).all(|part| part == b"xyz!"));
    for contents in [Contents::Refilled, Contents::Stamped] {
        let data = written(&contents);
        let mut parts: Vec<&[u8]> = data.chunks(4096).collect();
        parts.sort_unstable();
        parts.dedup();
        assert_eq!(parts.len(), 64, "{contents:?}");
    }
}

#[test]
fn threads_together_do_the_sum_and_fail_together() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let one = on(engine, depth, job("randread"));
        let job = JobSpec {
            threads: 4,
            samples: Some(Nanos::from_millis(1)),
            ..one
        };
        let (ops, finish) = run(&job, &place);
        assert!(ops <= 256);
        let all = ["reads", "bytes", "read_bytes"].map(|name| value(&finish, name));
        assert_eq!(all, [256, 1024 * K, 1024 * K], "{engine:?}");
        assert_eq!(finish.latencies["clat"].count(), 256);
        let levels: u64 = (0..7)
            .map(|class| value(&finish, &format!("depth_level_{class}")))
            .sum();
        assert_eq!(levels, 256);
        let failing = JobSpec {
            pacing: Pacing {
                max_latency: Some(Nanos(1)),
                ..Pacing::default()
            },
            ..job
        };
        let words = outcome(&failing, &place).unwrap_err().to_string();
        assert!(words.contains("longer than the 1 ns"), "{words}");
    }
}

#[test]
fn plain_jobs_in_threads_go_on_until_they_are_stopped() {
    let (_root, place) = place();
    let job = JobSpec {
        threads: 3,
        end: End::default(),
        ..on(EngineChoice::Psync, 1, job("randread"))
    };
    let mut body = open(&job, &place).unwrap();
    let mut recorder = Recorder::off();
    let warm = body.batch(100, &mut recorder).unwrap();
    assert!(warm >= 100);
    body.measured_part_begins();
    let done = body.batch(2000, &mut recorder).unwrap();
    assert!(done >= 2000, "{done}");
    let finish = body.finish().unwrap();
    assert!(value(&finish, "reads") >= 1000, "{:?}", finish.reported);
}

#[test]
fn a_file_that_ends_early_is_an_error_or_counted() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let job = on(engine, depth, job("read"));
        let cut = |job: &JobSpec| {
            let mut body = open(job, &place).unwrap();
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(data_file(&place))
                .unwrap();
            file.set_len(130_000).unwrap();
            let mut done = 0;
            loop {
                match body.batch(7, &mut Recorder::off()) {
                    Ok(7) => done += 7,
                    Ok(last) => break Ok((done + last, body.finish().unwrap())),
                    Err(error) => break Err(error.to_string()),
                }
            }
        };
        let words = cut(&job).unwrap_err();
        // 31 blocks and a part of the next are left; with many under way a later one may be seen first.
        assert!(words.contains("data-262144-c0-d0` at offset"), "{words}");
        assert!(words.contains("of 4096 bytes were transferred"), "{words}");
        let (ops, finish) = cut(&JobSpec {
            continue_on: ContinueOn {
                read: true,
                ..ContinueOn::default()
            },
            ..job
        })
        .unwrap();
        let counts =
            ["reads", "read_errors", "read_short", "bytes"].map(|name| value(&finish, name));
        assert_eq!((ops, counts), (64, [31, 33, 33, 31 * 4 * K]), "{engine:?}");
        assert!(
            finish
                .notes
                .iter()
                .any(|note| note.contains("33 operations failed")),
            "{:?}",
            finish.notes
        );
    }
}

#[test]
fn batches_are_as_large_as_asked_and_everything_is_done() {
    let check = |batching: Batching, words: &[(&str, bool)]| {
        for engine in [
            EngineChoice::IoUring,
            EngineChoice::Libaio,
            EngineChoice::Null,
        ] {
            let (_root, place) = place();
            let job = JobSpec {
                batching,
                samples: Some(Nanos::from_millis(10)),
                ..on(engine, 16, job("randread"))
            };
            let (ops, finish) = run(&job, &place);
            assert_eq!(ops, 64, "{engine:?} {batching:?}");
            for (name, some) in words {
                assert_eq!(
                    value(&finish, name) > 0,
                    *some,
                    "{engine:?} {batching:?} {name}"
                );
            }
        }
    };
    let plain = Batching::default();
    // Classes: 1 is up to 4, 2 up to 8, 3 up to 16.
    check(plain, &[("depth_submit_3", true)]);
    let one = Batching {
        submit: Some(1),
        ..plain
    };
    check(
        one,
        &[
            ("depth_submit_1", true),
            ("depth_submit_2", false),
            ("depth_submit_3", false),
        ],
    );
    let least = Batching {
        complete_min: 8,
        complete_max: Some(8),
        ..plain
    };
    check(
        least,
        &[("depth_complete_3", false), ("depth_complete_4", false)],
    );
    check(
        Batching {
            complete_min: 0,
            ..plain
        },
        &[],
    );
    check(
        Batching {
            low: Some(4),
            ..plain
        },
        &[],
    );
    check(
        Batching {
            serializes_overlap: true,
            ..plain
        },
        &[],
    );
}

#[test]
fn rates_and_pauses_take_the_time_that_they_must() {
    let iops = |read, write| {
        let rate = |iops| Rate {
            iops: Some(iops),
            ..Rate::default()
        };
        let rates = Directions {
            read: rate(read),
            write: rate(write),
            trim: Rate::default(),
        };
        Pacing {
            rates,
            ..Pacing::default()
        }
    };
    let check = |change: &dyn Fn(&mut JobSpec), rw: &str, least_ms: u64| {
        for (engine, depth) in [(EngineChoice::Psync, 1), (EngineChoice::IoUring, 4)] {
            let (_root, place) = place();
            let mut job = on(engine, depth, job(rw));
            change(&mut job);
            let mut body = open(&job, &place).unwrap();
            let start = sys::clock::monotonic();
            let mut ops = 0;
            loop {
                let done = body.batch(64, &mut Recorder::off()).unwrap();
                ops += done;
                if done < 64 {
                    break;
                }
            }
            let took = sys::clock::monotonic() - start;
            assert_eq!(ops, 64, "{rw}");
            assert!(
                took >= least_ms * 1_000_000,
                "{rw}: {took} ns are less than {least_ms} ms"
            );
            body.finish().unwrap();
        }
    };
    // 64 operations are 63 gaps; with both directions each waits for its own.
    check(&|job| job.pacing = iops(2000, 1), "randread", 31);
    check(&|job| job.pacing = iops(1, 2000), "randwrite", 31);
    let bytes = |job: &mut JobSpec| {
        job.pacing.rates.read = Rate {
            bytes_per_s: Some(4096 * 2000),
            ..Rate::default()
        };
    };
    check(&bytes, "randread", 31);
    let think = |job: &mut JobSpec| (job.think, job.think_blocks) = (Nanos::from_millis(2), 4);
    check(&think, "randread", 28);
    let spin = |job: &mut JobSpec| {
        think(job);
        job.pacing.think_spin = Nanos::from_millis(1);
        job.pacing.think_counts_begun = true;
    };
    check(&spin, "randread", 28);
}

#[test]
fn a_rate_that_is_not_kept_and_a_latency_that_is_too_long_are_errors() {
    let (_root, place) = place();
    let least = JobSpec {
        pacing: Pacing {
            rates: Directions::all(Rate {
                iops: Some(1000),
                min_iops: Some(100_000),
                ..Rate::default()
            }),
            cycle: Nanos::from_millis(10),
            ..Pacing::default()
        },
        ..job("randread")
    };
    let words = outcome(&least, &place).unwrap_err().to_string();
    assert!(words.contains("fewer than the 100000"), "{words}");
    let slow = JobSpec {
        pacing: Pacing {
            max_latency: Some(Nanos(1)),
            ..Pacing::default()
        },
        ..job("randread")
    };
    let words = outcome(&slow, &place).unwrap_err().to_string();
    assert!(
        words.contains("longer than the 1 ns of `max_latency`"),
        "{words}"
    );
}

#[test]
fn a_search_and_a_steady_state_end_the_job_and_say_what_was_found() {
    let (_root, place) = place();
    let endless = JobSpec {
        end: End::default(),
        ..on(EngineChoice::Null, 16, job("randread"))
    };
    let target = JobSpec {
        latency_target: Some(LatencyTarget {
            latency: Nanos::from_secs(1),
            window: Nanos::from_millis(1),
            percentile: 99.0,
            run: false,
        }),
        ..endless.clone()
    };
    let (_, finish) = run(&target, &place);
    assert_eq!(value(&finish, "latency_target_depth"), 16);
    let steady = JobSpec {
        steady_state: Some(SteadyState {
            quantity: SteadyQuantity::Iops,
            by_slope: false,
            limit: 1e6,
            is_percent: true,
            duration: Nanos::from_millis(4),
            ramp: Nanos::from_millis(1),
            interval: Nanos::from_millis(1),
        }),
        ..endless
    };
    let (_, finish) = run(&steady, &place);
    assert_eq!(value(&finish, "steady_attained"), 1);
    assert!(finish.reported.contains_key("steady_iops_00003"));
}

#[test]
fn files_are_synced_at_the_end_where_asked() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let job = JobSpec {
            fsync_at_end: true,
            fsync_every: 10,
            fdatasync_every: 32,
            ..on(engine, depth, job("write"))
        };
        let (ops, finish) = run(&job, &place);
        // Six after 10, 20 ... 60 writes, one after 32, one at the end; what is due at the very end is not.
        assert_eq!((ops, value(&finish, "syncs")), (64, 8), "{engine:?}");
        let on_close = JobSpec {
            fsync_on_close: true,
            fsync_at_end: false,
            ..job
        };
        assert_eq!(value(&run(&on_close, &place).1, "syncs"), 7, "{engine:?}");
    }
}

#[test]
fn steps_and_seeds_repeat() {
    let offsets = |seed, copy| {
        let (_root, place) = place();
        let place = Place { copy, ..place };
        let job = JobSpec {
            seed,
            steps: Steps {
                ops_per_offset: 4,
                ..Steps::default()
            },
            ..on(EngineChoice::Null, 1, job("randread"))
        };
        let parts = crate::storage::Parts::new(&job, &place, true).unwrap();
        let (first, bytes) = parts.region();
        let mut course = Course::new(&job, first, bytes, parts.seed());
        (0..20)
            .map(|_| course.next(Kind::Read).offset)
            .collect::<Vec<u64>>()
    };
    assert_eq!(offsets(Some(7), 0), offsets(Some(7), 0));
    assert_ne!(offsets(Some(7), 0), offsets(Some(7), 1), "copies differ");
    assert_ne!(offsets(Some(7), 0), offsets(Some(8), 0));
}
