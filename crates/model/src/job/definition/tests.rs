//! Definitions of jobs: what decides a figure, what does not, and what is not known.

use super::super::{
    Batching, Contents, FileOrder, Files, IoEngine, IoPriority, Job, LatencyTarget, MemoryMode,
    MemoryPolicy, OrderHint, Pattern, Priorities, Process, Rate, Steps, SyncOn, Target, Verify,
    VerifyMethod, Zones,
};
use super::*;
use crate::pattern::{Blocks, Directions, Distribution};
use crate::units::Nanos;

fn task(change: impl FnOnce(&mut Job)) -> Task {
    let mut job = Job {
        engine: IoEngine::Libaio,
        depth: 16,
        size: Some(1 << 26),
        ..Job::default()
    };
    change(&mut job);
    Task {
        job,
        ..Task::default()
    }
}

fn one(change: impl FnOnce(&mut Job)) -> Definition {
    Definition::of(&[task(change)]).unwrap()
}

/// The facts in which two jobs differ.
fn differing(change: impl FnOnce(&mut Job)) -> Vec<&'static str> {
    match one(|_| ()).against(&one(change)) {
        Agreement::Same(unknown) => {
            assert!(unknown.is_empty(), "{unknown:?}");
            Vec::new()
        }
        Agreement::Differ(facts) => facts.into_iter().map(|(name, ..)| name).collect(),
    }
}

#[test]
fn what_decides_a_figure_is_told_by_its_name() {
    let check = |name: &str, change: fn(&mut Job)| assert_eq!(differing(change), [name]);
    check("rw", |job| {
        job.pattern = Pattern::from_word("read").unwrap();
    });
    check("bs", |job| job.block_bytes = 8192);
    check("iodepth", |job| job.depth = 32);
    check("ioengine", |job| {
        job.engine = IoEngine::IoUring;
        (job.register_files, job.register_buffers) = (false, false);
    });
    check("direct", |job| job.direct = false);
    check("size", |job| job.size = Some(1 << 27));
    check("rate_iops", |job| job.rate_iops = Some(1000));
    check("rate", |job| {
        job.pacing.rates.read = Rate {
            bytes_per_s: Some(1 << 20),
            ..Rate::default()
        };
    });
    check("thinktime", |job| job.think = Nanos::from_millis(1));
    check("norandommap", |job| job.repeat_blocks = true);
    check("offset", |job| job.offset_bytes = 4096);
    check("nrfiles", |job| job.files.count = 4);
    check("io_size", |job| job.end.bytes = Some(1 << 20));
    check("io_size", |job| job.end.bytes = Some(1 << 30));
    check("number_ios", |job| job.end.ops = Some(5));
    check("loops", |job| {
        (job.end.time_based, job.end.loops) = (false, 2);
    });
    check("continue_on_error", |job| job.continue_on.read = true);
    check("target", |job| {
        let path = "/dev/a".into();
        job.target = Target::Device { path, fill: false };
    });
    check("target", |job| {
        let path = "/dev/a".into();
        job.more_targets = vec![Target::Device { path, fill: false }];
    });
}

#[test]
fn what_decides_none_is_no_part_of_it() {
    let check = |change: fn(&mut Job)| assert_eq!(differing(change), [""; 0]);
    check(|job| {
        job.target = Target::File {
            path: "/a/file".into(),
            create: true,
        };
    });
    check(|job| job.seed = Some(7));
    check(|job| job.end.time = Some(Nanos::from_secs(60)));
    check(|job| job.ramp = Nanos::from_secs(1));
    // All of it once, or what fits of it in whole blocks; and time ends what is done again and again.
    check(|job| job.end.bytes = Some(1 << 26));
    check(|job| job.end.bytes = Some((1 << 26) - 100));
    check(|job| job.end.loops = 3);
    // Of a job that only reads nothing is said of writes.
    check(|job| job.contents = Contents::Zero);
    check(|job| job.fsync_every = 8);
    check(|job| job.read_percent = 70);
    // Past the cache nothing is forgotten by it, and only io_uring registers anything.
    check(|job| job.invalidate = true);
    check(|job| job.register_files = false);
}

#[test]
fn an_engine_that_waits_has_one_operation_under_way() {
    let waits = |depth: u32, engine: IoEngine| one(|job| (job.depth, job.engine) = (depth, engine));
    let psync = waits(1, IoEngine::Psync);
    assert_eq!(psync, waits(32, IoEngine::Psync));
    assert_eq!(psync, waits(1, IoEngine::Auto));
    assert_ne!(psync, waits(32, IoEngine::Auto));
}

#[test]
fn clones_are_one_definition_and_other_jobs_are_none() {
    let both = Definition::of(&[task(|_| ()), task(|job| job.offset_bytes = 1 << 26)]).unwrap();
    assert_eq!(both, one(|_| ()).times(2));
    assert_eq!(
        (both.copies(), one(|job| job.threads = 2).times(3).copies()),
        (2, 6)
    );
    let on = |path: &str| {
        let path = path.into();
        task(|job| job.target = Target::File { path, create: true })
    };
    let apart = Definition::of(&[on("/a"), on("/b")]).unwrap();
    let same = Definition::of(&[on("/a"), on("/a")]).unwrap();
    assert!(matches!(apart.against(&same), Agreement::Differ(facts) if facts[0].0 == "filename"));
    assert_eq!(
        apart.against(&same.without_files()),
        Agreement::Same(vec!["filename", "target"])
    );
    let other = Definition::of(&[task(|_| ()), task(|job| job.block_bytes = 512)]);
    assert_eq!((other, Definition::of(&[])), (None, None));
}

#[test]
fn what_one_side_does_not_know_is_told_and_no_difference() {
    let whole = one(|job| job.rate_iops = Some(5));
    let Agreement::Same(unknown) = whole.against(&whole.clone().partial()) else {
        panic!("they agree in what both know");
    };
    assert_eq!(unknown, ["direct", "rate_iops", "size", "target"]);
    let sizeless = whole.clone().without_size();
    assert_eq!(sizeless.against(&whole), Agreement::Same(vec!["size"]));
    let deeper = one(|job| job.depth = 64).partial();
    assert!(matches!(whole.against(&deeper), Agreement::Differ(facts) if facts[0].0 == "iodepth"));
    let text = |name: &str| sizeless.params().get(name).map(ParamValue::readable);
    assert_eq!(text("size").as_deref(), Some("not known"));
    assert_eq!(text("direct").as_deref(), Some("yes"));
}

#[test]
fn other_jobs_at_the_same_time_are_a_difference_where_both_are_known() {
    let alone = one(|_| ());
    let beside = alone.clone().beside(2);
    assert!(matches!(alone.against(&beside), Agreement::Differ(_)));
    let perhaps = alone.clone().perhaps_beside_others();
    // Where one side knows it, that is told, and where neither does there is nothing to tell.
    assert_eq!(perhaps.against(&beside), Agreement::Same(vec![BESIDE]));
    assert_eq!(alone.against(&perhaps), Agreement::Same(vec![BESIDE]));
    assert_eq!(perhaps.against(&perhaps), Agreement::Same(Vec::new()));
    assert_eq!(
        (beside.told(BESIDE), perhaps.told(BESIDE)),
        ("2".to_owned(), "not known".to_owned())
    );
}

/// Jobs of which all that is written here is set, in two ways that differ in everything.
fn set(other: bool) -> Vec<Task> {
    let n = if other { 3_u64 } else { 2 };
    let small = if other { 3_u8 } else { 2 };
    let each = Directions::all(Some(n));
    let rate = Rate {
        iops: Some(n),
        bytes_per_s: Some(n),
        min_iops: Some(n),
        min_bytes_per_s: Some(n),
    };
    let distributions = [
        Distribution::Zipf {
            theta: 1.5,
            center: other.then_some(0.5),
        },
        Distribution::Pareto {
            power: 0.25,
            center: other.then_some(0.5),
        },
        Distribution::Normal {
            deviation_percent: f64::from(small),
        },
        Distribution::Zoned(Directions::all(vec![(small, small)])),
        Distribution::ZonedAbsolute(Directions::all(vec![(small, n)])),
    ];
    let base = task(|job| {
        job.pattern = Pattern::from_word("randrw").unwrap();
        job.blocks = Directions {
            read: Some(Blocks::Range {
                min_bytes: 512,
                max_bytes: 512 * n,
            }),
            write: Some(Blocks::Split(vec![(4096 * n, 100.0)])),
            trim: None,
        };
        (job.depth, job.read_percent) = (small.into(), small.into());
        (job.direct, job.pre_read, job.repeat_blocks) = (false, true, true);
        job.sync = if other { SyncOn::Sync } else { SyncOn::Dsync };
        (job.fsync_every, job.fdatasync_every) = (n, n);
        job.steps = Steps {
            skip_bytes: n.cast_signed(),
            ops_per_offset: n,
            repeats_offset: true,
            random_percent: Directions::all(small),
            align_bytes: each,
            is_unaligned: true,
        };
        job.zones = Some(Zones {
            work_bytes: n,
            range_bytes: n,
            skip_bytes: n,
        });
        job.pacing.rates = Directions::all(rate);
        job.pacing.max_latency = Some(Nanos(n));
        job.redundancy.dedupe_percent = small.into();
        job.contents = Contents::Pattern(vec![small; usize::from(small) * 6]);
        job.verify = Some(Verify {
            backlog: Some(n),
            interval_bytes: Some(n),
            ..Verify::new(VerifyMethod::Pattern(vec![small]))
        });
        job.latency_target = Some(LatencyTarget {
            latency: Nanos(n),
            window: Nanos(n),
            percentile: 90.0,
            run: other,
        });
        job.batching = Batching::of(small.into());
        job.batching.submit = Some(small.into());
        job.priorities = Some(Priorities {
            tells_whole: other,
            ..Priorities::default()
        });
        job.files = Files {
            count: small.into(),
            order: FileOrder::Favours(distributions[0].clone()),
            ops_per_file: n,
        };
        job.file_sizes = vec![n, 100];
        job.burn.percent = small.into();
        job.names.count = n;
        job.continue_on.only.read = vec![small.into()];
        job.end.bytes = Some(n);
        job.order_hint = OrderHint::Random;
    });
    let base = Task {
        cpus: vec![0, small.into()],
        process: Process {
            nice: 5,
            io_priority: Some(IoPriority::of(small, 1)),
            memory: Some(MemoryPolicy {
                mode: MemoryMode::Bind,
                nodes: vec![0, small.into()],
            }),
        },
        rate_share: Some(f64::from(small)),
        ..base
    };
    let with = |distribution: &Distribution| {
        let mut task = base.clone();
        task.job.distribution = distribution.clone();
        task
    };
    distributions.iter().map(with).collect()
}

/// Pages and documents show these: no text may be of the kind that Rust makes of a value for its programmers.
#[test]
fn facts_are_words_and_numbers_and_tell_what_differs() {
    let is_internal = |text: &str| {
        let marks = [
            "{", "}", "[", "]", "Some", "None", "(", "::", "\"", "true", "false",
        ];
        text.is_empty() || marks.iter().any(|mark| text.contains(mark))
    };
    for (one, other) in set(false).into_iter().zip(set(true)) {
        let [one, other] = [one, other].map(|task| Definition::of(&[task]).unwrap());
        for (name, text) in &one.facts {
            assert!(!is_internal(text), "{name}: {text}");
        }
        let Agreement::Differ(facts) = one.against(&other) else {
            panic!("they differ: {one:?}");
        };
        let differ: Vec<&str> = facts.iter().map(|(name, ..)| *name).collect();
        for name in [
            "bs",
            "blockalign",
            "buffer_pattern",
            "cmdprio",
            "cpus_allowed",
            "file_service_type",
            "filesize",
            "ignore_error",
            "iodepth_batch",
            "latency_run",
            "numa_mem_policy",
            "random_distribution",
            "rate",
            "rate_iops_min",
            "sync",
            "verify_backlog",
            "verify_pattern",
            "zonerange",
        ] {
            assert!(differ.contains(&name), "{name}: {differ:?}");
        }
    }
}

/// A new field of a job stops here, until it is said whether it decides a figure: in one of the lists of
/// [`super::facts`], or below.
#[test]
fn every_field_of_a_job_is_a_fact_or_named_here() {
    let Job {
        // Where, with what before, for how long, and what is told of it: but for the kind of target, and for how much
        // is done.
        target: _,
        more_targets: _,
        layout: _,
        seed: _,
        end: _,
        steady_state: _,
        start_delay: _,
        ramp: _,
        samples: _,
        log: _,
        language: _,
        // Facts of every job, and with clones.
        pattern: _,
        block_bytes: _,
        blocks: _,
        engine: _,
        depth: _,
        threads: _,
        offset_bytes: _,
        // The lists.
        continue_on: _,
        read_percent: _,
        repeat_blocks: _,
        distribution: _,
        steps: _,
        zones: _,
        sync: _,
        fsync_every: _,
        fdatasync_every: _,
        fsync_at_end: _,
        fsync_on_close: _,
        redundancy: _,
        contents: _,
        verify: _,
        rate_iops: _,
        arrivals: _,
        think: _,
        think_blocks: _,
        pacing: _,
        flow: _,
        latency_target: _,
        poll_device: _,
        poll_submissions: _,
        register_files: _,
        register_buffers: _,
        batching: _,
        priorities: _,
        names: _,
        burn: _,
        program: _,
        direct: _,
        size: _,
        files: _,
        file_sizes: _,
        invalidate: _,
        order_hint: _,
        pre_read: _,
    } = Job::default();
}
