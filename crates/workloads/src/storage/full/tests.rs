//! Whole jobs on real files and real engines.

use super::*;
use crate::storage::open;
use crate::storage::tests::place;
use engine::workload::Place;
use model::job::{
    Batching, Blocks, Contents, ContinueOn, Depths, Directions, Distribution, End, ErrorNumbers,
    FileOrder, Files, IoEngine, Job, LatencyTarget, Pacing, Pattern, Rate, Report, SteadyQuantity,
    SteadyState, Steps, Verify, VerifyMethod,
};
use model::num::round_to_u64;
use model::units::Nanos;
use std::path::Path;

const K: u64 = 1 << 10;

/// A job of 256 KiB in blocks of 4 KiB that ends when all of it is done.
fn job(rw: &str) -> Job {
    Job {
        pattern: Pattern::from_word(rw).unwrap(),
        size: Some(256 * K),
        direct: false,
        end: End {
            time_based: false,
            ..End::default()
        },
        ..Job::default()
    }
}

fn on(engine: IoEngine, depth: u32, job: Job) -> Job {
    Job {
        depth,
        engine,
        ..job
    }
}

/// What a block that is checked begins with.
const MAGIC: [u8; 2] = [0xca, 0xac];

const ENGINES: [(IoEngine, u32); 5] = [
    (IoEngine::Psync, 1),
    (IoEngine::Pvsync2, 1),
    (IoEngine::Mmap, 1),
    (IoEngine::IoUring, 8),
    (IoEngine::Libaio, 8),
];

/// Those that call the kernel for each operation: what is in memory and no longer there is a signal, and nobody is left
/// to tell.
fn calling() -> impl Iterator<Item = (IoEngine, u32)> {
    ENGINES
        .into_iter()
        .filter(|(engine, _)| *engine != IoEngine::Mmap)
}

/// Runs the job to its end, in batches of seven; operations, and what it hands over.
fn outcome(job: &Job, place: &Place) -> Result<(u64, Finish), WorkError> {
    let mut body = open(job, place)?;
    let mut ops = 0;
    loop {
        let done = body.batch(7, &mut Recorder::off())?;
        ops += done;
        if done < 7 {
            let mut finish = body.finish()?;
            return match finish.failed.take() {
                Some(error) => Err(error),
                None => Ok((ops, finish)),
            };
        }
    }
}

fn run(job: &Job, place: &Place) -> (u64, Finish) {
    outcome(job, place).unwrap()
}

fn told(finish: &Finish) -> &Report {
    finish.job.as_ref().unwrap()
}

fn bytes_of(finish: &Finish) -> u64 {
    round_to_u64(finish.reported["bytes"])
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
            let check = |change: &dyn Fn(&mut Job), ops: Option<u64>, bytes: u64| {
                let (_root, place) = place();
                let mut job = on(engine, depth, job(rw));
                change(&mut job);
                let (done, finish) = run(&job, &place);
                let case = format!("{engine:?} {rw} {:?}", job.end);
                assert_eq!(done, ops.unwrap_or(done), "{case}");
                assert_eq!(bytes_of(&finish), bytes, "{case}");
                let counted = told(&finish).done.read.ops + told(&finish).done.write.ops;
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
    for (engine, depth) in [(IoEngine::Psync, 1), (IoEngine::Null, 4)] {
        let (_root, place) = place();
        let time = Nanos::from_millis(30);
        let job = Job {
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
        let reads = told(&finish).done.read.ops;
        assert!(
            reads < ops,
            "what the ramp did is not reported: {reads} of {ops}"
        );
        let worked = told(&finish).done.read.runtime.unwrap().0;
        assert!((20_000_000..took).contains(&worked), "{worked} of {took}");
        assert!(told(&finish).done.read.iops.unwrap().count >= 1);
    }
}

#[test]
fn several_files_are_worked_on_in_their_order() {
    let second_first = Distribution::Zipf {
        theta: 1.2,
        center: Some(0.25),
    };
    for order in [
        FileOrder::RoundRobin,
        FileOrder::Sequential,
        FileOrder::Random,
        FileOrder::Favours(second_first),
    ] {
        let (_root, place) = place();
        let job = Job {
            files: Files {
                count: 4,
                order: order.clone(),
                ..Files::default()
            },
            verify: Some(Verify::new(VerifyMethod::Crc32c)),
            ..on(IoEngine::IoUring, 4, job("randwrite"))
        };
        let (_, finish) = run(&job, &place);
        assert_eq!(told(&finish).done.write.ops, 64, "{order:?}");
        let in_file = |number: u32| {
            let dir = match number {
                0 => place.run_dir.clone(),
                _ => place.run_dir.join(format!("file-{number}")),
            };
            let data = std::fs::read(dir.join("data-65536-c0-d0")).unwrap();
            data.chunks(4096)
                .filter(|block| block.starts_with(&MAGIC))
                .count()
        };
        let found = [0, 1, 2, 3].map(in_file);
        if order == FileOrder::Random {
            // 16 each, and no file has more blocks than 16.
            assert!(found.iter().all(|&blocks| blocks > 2), "{found:?}");
        } else if matches!(order, FileOrder::Favours(_)) {
            // Nine tenths of 64 go to the second file, over and over again.
            assert_eq!(found[1], 16, "{found:?}");
            assert!(found[0] + found[2] + found[3] < 32, "{found:?}");
        } else {
            assert_eq!(found, [16; 4], "{order:?}");
        }
    }
}

#[test]
fn files_of_different_sizes_are_each_gone_through_once() {
    for order in [
        FileOrder::RoundRobin,
        FileOrder::Sequential,
        FileOrder::Random,
    ] {
        for (engine, depth) in ENGINES {
            let (_root, place) = place();
            let sizes = [16, 4, 28].map(|blocks| blocks * 4 * K);
            let job = Job {
                size: Some(sizes.iter().sum()),
                files: Files {
                    count: 3,
                    order: order.clone(),
                    ..Files::default()
                },
                file_sizes: sizes.to_vec(),
                verify: Some(Verify::new(VerifyMethod::Crc32c)),
                ..on(engine, depth, job("randwrite"))
            };
            assert_eq!(job.check(), Ok(()));
            let (_, finish) = run(&job, &place);
            assert_eq!(told(&finish).done.write.ops, 48, "{order:?}");
            for (number, bytes) in sizes.into_iter().enumerate() {
                let dir = match number {
                    0 => place.run_dir.clone(),
                    _ => place.run_dir.join(format!("file-{number}")),
                };
                let data = std::fs::read(dir.join(format!("data-{bytes}-c0-d0"))).unwrap();
                let mut blocks = data.chunks(4096);
                assert!(
                    blocks.all(|block| block.starts_with(&MAGIC)),
                    "{order:?} {number}"
                );
            }
        }
    }
}

#[test]
fn an_offset_leaves_what_is_before_it_alone() {
    let (_root, place) = place();
    let job = Job {
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
fn what_was_read_into_a_buffer_is_not_written_from_it() {
    for (contents, byte) in [
        (Contents::Zero, 0),
        (Contents::Pattern(b"xx".to_vec()), b'x'),
    ] {
        for (engine, depth) in ENGINES {
            let (_root, place) = place();
            let both = Job {
                contents: contents.clone(),
                ..on(engine, depth, job("randrw"))
            };
            // Laid out by a job that only reads.
            run(&on(engine, depth, job("read")), &place);
            let before = std::fs::read(data_file(&place)).unwrap();
            let (_, finish) = run(&both, &place);
            let after = std::fs::read(data_file(&place)).unwrap();
            let blocks = before.chunks(4096).zip(after.chunks(4096));
            let changed: Vec<&[u8]> = blocks.filter(|(a, b)| a != b).map(|(_, b)| b).collect();
            assert_eq!(
                changed.len() as u64,
                told(&finish).done.write.ops,
                "{engine:?}"
            );
            assert!(changed.iter().all(|block| block.iter().all(|&b| b == byte)));
        }
    }
}

#[test]
fn a_pattern_fills_what_is_behind_the_header_of_a_checksum() {
    for (interval, offset) in [(None, 0), (Some(512), 0), (Some(1024), 200)] {
        let (_root, place) = place();
        let pattern = b"abcdefgh".to_vec();
        let checked = Job {
            contents: Contents::Pattern(pattern.clone()),
            verify: Some(Verify {
                interval_bytes: interval,
                offset_bytes: offset,
                ..Verify::new(VerifyMethod::Md5)
            }),
            end: end(|end| end.loops = 3),
            ..on(IoEngine::IoUring, 4, job("randwrite"))
        };
        let (_, finish) = run(&checked, &place);
        assert_eq!(told(&finish).verify_errors, 0);
        let data = std::fs::read(data_file(&place)).unwrap();
        let at = usize::try_from(offset).unwrap();
        for part in data.chunks(usize::try_from(interval.unwrap_or(4096)).unwrap()) {
            assert_eq!(part[at..at + 4], [0xca, 0xac, 2, 0]);
            let header = VerifyMethod::Md5.header();
            let behind = &part[at + header..];
            let expect = pattern.iter().cycle().skip((at + header) % 8);
            assert!(
                behind.iter().eq(expect.take(behind.len())),
                "{interval:?} {offset}"
            );
        }
    }
}

#[test]
fn contents_are_what_was_asked_for() {
    let written = |contents: &Contents| {
        let (_root, place) = place();
        let job = Job {
            contents: contents.clone(),
            ..on(IoEngine::IoUring, 4, job("randwrite"))
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
fn threads_together_do_the_sum_and_each_fails_for_itself() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let one = on(engine, depth, job("randread"));
        let job = Job {
            threads: 4,
            samples: Some(Nanos::from_millis(1)),
            ..one
        };
        let (ops, finish) = run(&job, &place);
        assert!(ops <= 256);
        let read = &told(&finish).done.read;
        assert_eq!((read.ops, read.bytes), (256, 1024 * K), "{engine:?}");
        assert_eq!(bytes_of(&finish), 1024 * K, "{engine:?}");
        assert_eq!(finish.latencies["clat"].count(), 256);
        let levels = told(&finish).depths.unwrap().level;
        assert_eq!(levels.iter().sum::<u64>(), 256);
        let failing = Job {
            pacing: Pacing {
                max_latency: Some(Nanos(1)),
                ..Pacing::default()
            },
            ..job
        };
        let words = outcome(&failing, &place).unwrap_err().to_string();
        assert!(words.contains("longer than the 1 ns"), "{words}");
        let mut body = open(&failing, &place).unwrap();
        while body.batch(7, &mut Recorder::off()).unwrap() == 7 {}
        let finish = body.finish().unwrap();
        let reads = told(&finish).done.read.ops;
        assert!((4..=4 * u64::from(depth)).contains(&reads), "{reads}");
        assert_eq!(told(&finish).errno, Some(110));
    }
}

#[test]
fn plain_jobs_in_threads_go_on_until_they_are_stopped() {
    let (_root, place) = place();
    let job = Job {
        threads: 3,
        end: End::default(),
        ..on(IoEngine::Psync, 1, job("randread"))
    };
    let mut body = open(&job, &place).unwrap();
    let mut recorder = Recorder::off();
    let warm = body.batch(100, &mut recorder).unwrap();
    assert!(warm >= 100);
    body.measured_part_begins();
    let done = body.batch(2000, &mut recorder).unwrap();
    assert!(done >= 2000, "{done}");
    let finish = body.finish().unwrap();
    assert!(told(&finish).done.read.ops >= 1000, "{:?}", finish.reported);
}

#[test]
fn a_file_that_ends_early_is_an_error_or_counted() {
    for (engine, depth) in calling() {
        let (_root, place) = place();
        let job = on(engine, depth, job("read"));
        let cut = |job: &Job| {
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
        assert!(
            words.contains("read `") && words.contains("data-262144-c0-d0`"),
            "{words}"
        );
        assert!(words.contains("of 4096 bytes were transferred"), "{words}");
        let with_offsets = Job {
            batching: Batching {
                submit: Some(1),
                ..Batching::default()
            },
            ..job.clone()
        };
        let words = cut(&with_offsets).unwrap_err();
        assert!(words.contains("data-262144-c0-d0` at offset"), "{words}");
        let (ops, finish) = cut(&Job {
            continue_on: ContinueOn {
                read: true,
                ..ContinueOn::default()
            },
            ..job.clone()
        })
        .unwrap();
        let read = &told(&finish).done.read;
        let counts = [read.ops, read.errors, read.short, read.bytes];
        assert_eq!((ops, counts), (64, [31, 33, 33, 31 * 4 * K]), "{engine:?}");
        // What ends early is EIO. Where numbers are named, no others are let pass.
        for (read, write, number, passes) in [
            (false, false, 5, true),
            (true, true, 28, false),
            (false, true, 28, false),
        ] {
            let rule = ContinueOn {
                read,
                write,
                only: ErrorNumbers {
                    read: vec![number],
                    write: vec![5],
                    ..ErrorNumbers::default()
                },
                ..ContinueOn::default()
            };
            let of = Job {
                continue_on: rule,
                ..job.clone()
            };
            assert_eq!(cut(&of).is_ok(), passes, "{engine:?} {number}");
        }
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
fn a_job_that_breaks_hands_over_what_it_did() {
    for (engine, depth) in calling() {
        // The plain loop, and the one for more.
        for verify in [false, true] {
            let (_root, place) = place();
            let mut job = on(engine, depth, job("read"));
            job.samples = Some(Nanos::from_millis(1));
            job.continue_on.verify = verify;
            let mut body = open(&job, &place).unwrap();
            let file = std::fs::OpenOptions::new()
                .write(true)
                .open(data_file(&place))
                .unwrap();
            file.set_len(130_000).unwrap();
            let words = loop {
                match body.batch(7, &mut Recorder::off()) {
                    Ok(done) => assert_eq!(done, 7),
                    Err(error) => break error.to_string(),
                }
            };
            let finish = body.finish().unwrap();
            assert_eq!(finish.failed.as_ref().unwrap().to_string(), words);
            let read = &told(&finish).done.read;
            let (reads, bytes, of_reads) = (read.ops, bytes_of(&finish), read.bytes);
            let errno = told(&finish).errno.unwrap_or(0);
            let case = format!("{engine:?} {verify} {reads}");
            // With many under way those of the same batch may come in together with the first that fails.
            assert!(
                reads == 31 || (depth > 1 && (24..31).contains(&reads)),
                "{case}"
            );
            assert_eq!(
                (bytes, of_reads, errno),
                (reads * 4 * K, reads * 4 * K, 5),
                "{case}"
            );
            assert_eq!(finish.latencies["clat"].count(), reads, "{case}");
        }
    }
}

#[test]
fn files_are_synced_at_the_end_where_asked() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let job = Job {
            fsync_at_end: true,
            fsync_every: 10,
            fdatasync_every: 32,
            ..on(engine, depth, job("write"))
        };
        let (ops, finish) = run(&job, &place);
        // Six after 10, 20 ... 60 writes, one after 32, one at the end; what is due at the very end is not.
        assert_eq!((ops, told(&finish).syncs), (64, 8), "{engine:?}");
        let on_close = Job {
            fsync_on_close: true,
            fsync_at_end: false,
            ..job
        };
        assert_eq!(told(&run(&on_close, &place).1).syncs, 7, "{engine:?}");
    }
}

#[test]
fn steps_and_seeds_repeat() {
    let offsets = |seed, copy| {
        let (_root, place) = place();
        let place = Place { copy, ..place };
        let job = Job {
            seed,
            steps: Steps {
                ops_per_offset: 4,
                ..Steps::default()
            },
            ..on(IoEngine::Null, 1, job("randread"))
        };
        let parts = crate::storage::Parts::new(&job, &place, true).unwrap();
        let (first, bytes) = parts.region();
        let mut course = Course::new(&job, first, &[bytes], &[bytes], parts.seed());
        (0..20)
            .map(|_| course.next(Kind::Read).offset)
            .collect::<Vec<u64>>()
    };
    assert_eq!(offsets(Some(7), 0), offsets(Some(7), 0));
    assert_ne!(offsets(Some(7), 0), offsets(Some(7), 1), "copies differ");
    assert_ne!(offsets(Some(7), 0), offsets(Some(8), 0));
}

mod again;
mod checks;
mod pace;
mod retraced;
