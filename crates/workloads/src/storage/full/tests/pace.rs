//! How fast a job goes, in which company, and what it looks for.

use super::*;

#[test]
fn batches_are_as_large_as_asked_and_everything_is_done() {
    type Class = (fn(&Depths) -> [u64; 7], usize, bool);
    let submit = |depths: &Depths| depths.submit;
    let complete = |depths: &Depths| depths.complete;
    let check = |batching: Batching, classes: &[Class]| {
        for engine in [IoEngine::IoUring, IoEngine::Libaio, IoEngine::Null] {
            let (_root, place) = place();
            let job = Job {
                batching,
                samples: Some(Nanos::from_millis(10)),
                ..on(engine, 16, job("randread"))
            };
            let (ops, finish) = run(&job, &place);
            assert_eq!(ops, 64, "{engine:?} {batching:?}");
            let depths = told(&finish).depths.unwrap();
            for (of, class, some) in classes {
                let count = of(&depths)[*class];
                assert_eq!(count > 0, *some, "{engine:?} {batching:?} {class}");
            }
        }
    };
    let plain = Batching::default();
    // Classes: 1 is up to 4, 2 up to 8, 3 up to 16.
    check(plain, &[(submit, 3, true)]);
    let one = Batching {
        submit: Some(1),
        ..plain
    };
    check(
        one,
        &[(submit, 1, true), (submit, 2, false), (submit, 3, false)],
    );
    let least = Batching {
        complete_min: 8,
        complete_max: Some(8),
        ..plain
    };
    check(least, &[(complete, 3, false), (complete, 4, false)]);
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
    let check = |change: &dyn Fn(&mut Job), rw: &str, least_ms: u64| {
        for (engine, depth) in [(IoEngine::Psync, 1), (IoEngine::IoUring, 4)] {
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
    let bytes = |job: &mut Job| {
        job.pacing.rates.read = Rate {
            bytes_per_s: Some(4096 * 2000),
            ..Rate::default()
        };
    };
    check(&bytes, "randread", 31);
    let think = |job: &mut Job| (job.think, job.think_blocks) = (Nanos::from_millis(2), 4);
    check(&think, "randread", 28);
    let spin = |job: &mut Job| {
        think(job);
        job.pacing.think_spin = Nanos::from_millis(1);
        job.pacing.think_counts_begun = true;
    };
    check(&spin, "randread", 28);
}

#[test]
fn a_rate_that_is_not_kept_and_a_latency_that_is_too_long_are_errors() {
    let (_root, place) = place();
    let least = Job {
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
    let slow = Job {
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
    let endless = Job {
        end: End::default(),
        ..on(IoEngine::Null, 16, job("randread"))
    };
    let target = Job {
        latency_target: Some(LatencyTarget {
            latency: Nanos::from_secs(1),
            window: Nanos::from_millis(1),
            percentile: 99.0,
            run: false,
        }),
        ..endless.clone()
    };
    let (_, finish) = run(&target, &place);
    assert_eq!(told(&finish).latency_depth, Some(16));
    let steady = Job {
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
    let steady = told(&finish).steady.as_ref().unwrap();
    assert!(steady.attained && steady.iops.len() >= 4);
}
