//! Definitions of jobs: what decides a figure, what does not, and what is not known.

use super::super::{Pattern, Rate, Target};
use super::*;

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
    check("pacing", |job| {
        job.pacing.rates.read = Rate {
            bytes_per_s: Some(1 << 20),
            ..Rate::default()
        };
    });
    check("thinktime", |job| job.think = Nanos::from_millis(1));
    check("norandommap", |job| job.repeat_blocks = true);
    check("offset", |job| job.offset_bytes = 4096);
    check("nrfiles", |job| job.files.count = 4);
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
        Agreement::Same(vec!["filename"])
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
    assert_eq!(unknown, ["direct", "rate_iops", "size"]);
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
    assert_eq!(perhaps.against(&beside), Agreement::Same(Vec::new()));
}

/// A new field of a job stops here, until it is said whether it decides a figure: in one of the lists of
/// [`super::facts`], or below.
#[test]
fn every_field_of_a_job_is_a_fact_or_named_here() {
    let Job {
        // Where, with what before, for how long, and what is told of it.
        target: _,
        more_targets: _,
        layout: _,
        seed: _,
        end: _,
        steady_state: _,
        continue_on: _,
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
