//! Jobs as `storage.io` describes them, and what the engine asks of every job.

use engine::consent::Touch;
use engine::workload::StandIn;
use model::job::{
    Arrivals, Batching, Directions, IoEngine, Job, Mix, Pattern, Redundancy, SyncOn, Target,
};
use model::named::NamedKind;
use model::params::Params;
use model::units::Nanos;
use std::path::PathBuf;
use sys::io::Kind;

/// The words of the parameter `rw`, in the words of fio.
pub(super) const PATTERNS: &[&str] = &[
    "read",
    "write",
    "rw",
    "randread",
    "randwrite",
    "randrw",
    "trim",
    "randtrim",
];

/// The words of the parameter `ioengine`.
pub(super) const ENGINES: &[&str] = &["auto", "io_uring", "libaio", "psync", "pvsync2", "null"];

/// The engine of this name.
pub(super) fn engine(word: &str) -> Option<IoEngine> {
    Some(match word {
        "auto" => IoEngine::Auto,
        "io_uring" => IoEngine::IoUring,
        "libaio" => IoEngine::Libaio,
        "psync" => IoEngine::Psync,
        "pvsync2" => IoEngine::Pvsync2,
        "null" => IoEngine::Null,
        _ => return None,
    })
}

/// The job that the parameters of `storage.io` describe.
pub(super) fn from_params(params: &Params) -> Job {
    let positive = |n: u64| (n > 0).then_some(n);
    let small = |name: &str| u32::try_from(params.count(name)).unwrap_or(u32::MAX);
    Job {
        // The choices are the words above.
        pattern: Pattern::from_word(params.text("rw")).unwrap_or(Pattern {
            mix: Mix::Read,
            random: true,
        }),
        block_bytes: params.size("bs").0,
        size: positive(params.size("size").0),
        depth: small("iodepth"),
        engine: engine(params.text("ioengine")).unwrap_or(IoEngine::Auto),
        direct: params.switch("direct"),
        sync: match params.text("sync") {
            "dsync" => SyncOn::Dsync,
            "sync" => SyncOn::Sync,
            _ => SyncOn::None,
        },
        fsync_every: params.count("fsync"),
        fdatasync_every: params.count("fdatasync"),
        read_percent: small("rwmixread"),
        repeat_blocks: params.switch("norandommap"),
        // A share of something is a rate that is known when a round begins.
        rate_iops: positive(params.count("rate_iops"))
            .or_else(|| positive(params.count("rate_percent")).map(|_| 1)),
        arrivals: match params.text("rate_process") {
            "poisson" => Arrivals::Poisson,
            _ => Arrivals::Linear,
        },
        think: params.duration("thinktime"),
        think_blocks: params.count("thinktime_blocks"),
        redundancy: Redundancy {
            compress_percent: small("buffer_compress_percentage"),
            dedupe_percent: small("dedupe_percentage"),
            ..Redundancy::default()
        },
        poll_device: params.switch("hipri"),
        poll_submissions: params.switch("sqthread_poll"),
        register_files: params.switch("registerfiles"),
        register_buffers: params.switch("fixedbufs"),
        batching: Batching::of(small("batch")),
        ..Job::default()
    }
}

/// The kinds of operations that a job is made of.
pub(super) const fn kinds(job: &Job) -> &'static [Kind] {
    match job.pattern.mix {
        _ if job.engine.has_no_operations() => &[],
        Mix::Read => &[Kind::Read],
        Mix::Write => &[Kind::Write],
        Mix::ReadWrite => &[Kind::Read, Kind::Write],
        Mix::Trim => &[Kind::Trim],
        Mix::TrimWrite => &[Kind::Trim, Kind::Write],
    }
}

/// Whether a job asks for more than the plain loop does.
pub(super) fn asks_for_more(job: &Job) -> bool {
    let plain = Job::default();
    let has_places_apart = job.pattern.mix == Mix::ReadWrite && !job.pattern.random;
    let syncs = job.fsync_every > 0 || job.fdatasync_every > 0;
    let ends = job.end != plain.end || job.samples.is_some() || job.ramp > Nanos::ZERO;
    let differs = [
        job.blocks != plain.blocks,
        job.distribution != plain.distribution,
        job.steps != plain.steps,
        job.zones != plain.zones,
        !job.offset_bytes.is_multiple_of(job.block_bytes.max(1)),
        job.files != plain.files,
        job.pacing != plain.pacing,
        job.flow.weight > 0,
        !job.batching.only_takes(),
        job.priorities.is_some(),
        job.latency_target != plain.latency_target,
        job.steady_state != plain.steady_state,
        job.contents != plain.contents,
        job.redundancy.working_set_percent > 0,
        job.log.is_some(),
        job.verify != plain.verify,
        job.fsync_at_end || job.fsync_on_close,
        job.continue_on != plain.continue_on,
        job.forgets_again(),
    ];
    has_places_apart
        || job.pattern.mix == Mix::TrimWrite
        || (job.fsync_every > 0 && job.fdatasync_every > 0)
        || (syncs && ends)
        || differs.contains(&true)
}

/// The value for this kind of operation; syncs, which have none of their own, go with writes.
pub(super) const fn of_kind<T>(directions: &Directions<T>, kind: Kind) -> &T {
    match kind {
        Kind::Read => &directions.read,
        Kind::Write | Kind::Sync | Kind::DataSync => &directions.write,
        Kind::Trim => &directions.trim,
    }
}

/// The same job on what stands in for the test file, if anything does.
pub(super) fn on(job: Job, stand_in: Option<&StandIn>) -> Job {
    let target = match (&job.target, stand_in) {
        (Target::TestFile, Some(StandIn { path, kind })) => match kind {
            NamedKind::Device => Target::Device {
                path: path.clone(),
                fill: true,
            },
            NamedKind::File | NamedKind::Load | NamedKind::Output => Target::File {
                path: path.clone(),
                create: false,
            },
            // It has no files.
            NamedKind::Server | NamedKind::Peer | NamedKind::TokenPeer => return job,
        },
        _ => return job,
    };
    Job { target, ..job }
}

/// What a job touches beside the run's own directory.
pub(super) fn touches(job: &Job) -> Vec<Touch> {
    let touch = |path: &PathBuf, kind, creates| Touch {
        path: path.clone(),
        kind,
        writes: job.writes(),
        creates,
    };
    let outputs = || job.program.iter().flat_map(|program| &program.outputs);
    if !job.engine.has_data() {
        let touch = |path| Touch {
            writes: true,
            ..touch(path, NamedKind::Output, true)
        };
        return outputs().flatten().map(touch).collect();
    }
    let of = |target: &Target| match target {
        Target::TestFile => None,
        Target::File { path, create } => Some(touch(path, NamedKind::File, *create)),
        Target::Device { path, .. } => Some(touch(path, NamedKind::Device, false)),
    };
    let all = std::iter::once(&job.target).chain(&job.more_targets);
    all.filter_map(of).collect()
}
