//! One of fio's jobs as a job of the storage engine.
//!
//! What the language leaves to the machine (shares of a file, a region without a size) is settled here. What the engine
//! does not do was refused before, by the table of limits; what it refuses itself is said with the job's place.

mod region;

use super::files;
use crate::exit::{Exit, failure};
use dialects::fio::job::{
    self, Blocks, Directions, EngineKind, Extent, Job, Mix, Order, VerifyMethod,
};
use model::job as spec;
use model::job::{Language, Redundancy, Target, Task};
use model::rng::Rng;
use model::units::Nanos;
use region::{Region, portion, region, whole_blocks};

/// What is known of a job's file: its length, where it is there.
pub(super) type Length<'a> = &'a dyn Fn(&str) -> Option<u64>;

/// The job, ready for the engine.
pub(super) fn task(job: &Job, length: Length<'_>) -> anyhow::Result<Task> {
    let refused = |why: String| {
        let text = format!("{}: job `{}`: {why}", job.place, job.name);
        failure(Exit::Usage, text, None)
    };
    let region = region(job, length).map_err(refused)?;
    let mut targets = targets(job).map_err(refused)?.into_iter();
    let spec = spec::Job {
        target: targets.next().unwrap_or_default(),
        more_targets: targets.collect(),
        ..spec(job, &region)
    };
    spec.check().map_err(refused)?;
    Ok(Task {
        name: job.name.clone(),
        job: spec,
        cpus: cpus(job),
        only_prepares: job.target.creates_only,
        looks_at_file: job.clone == 0,
        unlinks: job.target.unlinks,
        ..Task::default()
    })
}

/// On what the job works: files that are made where they are not there, or devices that are.
fn targets(job: &Job) -> Result<Vec<Target>, String> {
    let used = job.target.files.iter();
    let used = used.filter(|_| job.engine.kind != EngineKind::Null);
    used.map(|name| {
        let path = std::path::absolute(name).map_err(|error| format!("use `{name}`: {error}"))?;
        Ok(if files::is_device(name) {
            Target::Device { path, fill: false }
        } else {
            // What is read back to be judged must be there: no checksum fits what was written just now instead.
            let create = job.target.may_create && !files::only_checks(job);
            Target::File { path, create }
        })
    })
    .collect()
}

/// When the job ends: with its amount, or with its time.
fn end(job: &Job, region: &Region) -> spec::End {
    let amount = &job.amount;
    let bytes = match amount.io_size {
        Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
        Some(Extent::Percent(percent)) => portion(region.size, percent),
        // Beside the size of the files, `size` is how much of them is done.
        _ => match (amount.file_size_bytes, amount.size) {
            (Some(_), Some(Extent::Bytes(size))) if size > 0 => size.min(whole_blocks(job, region)),
            (Some(_), Some(Extent::Percent(percent))) => portion(region.size, percent),
            _ => whole_blocks(job, region),
        },
    };
    spec::End {
        time: job.life.runtime_ns.map(Nanos),
        bytes: Some(bytes),
        ops: amount.ios.filter(|ios| *ios > 0),
        loops: amount.loops.max(1),
        time_based: job.life.is_time_based,
    }
}

fn spec(job: &Job, region: &Region) -> spec::Job {
    let (work, engine) = (&job.work, &job.engine);
    let depth = if engine.kind.is_synchronous() {
        1
    } else {
        engine.depth
    };
    spec::Job {
        pattern: pattern(job),
        block_bytes: largest(job),
        size: Some(region.size),
        depth,
        engine: engine_kind(engine.kind),
        direct: engine.is_direct,
        sync: match job.durability.sync {
            job::SyncMode::None => spec::SyncOn::None,
            job::SyncMode::Sync => spec::SyncOn::Sync,
            job::SyncMode::Dsync => spec::SyncOn::Dsync,
        },
        fsync_every: job.durability.fsync_every,
        fdatasync_every: job.durability.fdatasync_every,
        read_percent: u32::from(work.read_percent),
        repeat_blocks: work.may_repeat_blocks,
        rate_iops: only_rate(job),
        arrivals: match job.pace.arrivals {
            job::Arrivals::Linear => spec::Arrivals::Linear,
            job::Arrivals::Poisson => spec::Arrivals::Poisson,
        },
        think: Nanos(job.pace.think_ns),
        think_blocks: job.pace.think_blocks.max(1),
        redundancy: Redundancy {
            compress_percent: u32::from(job.data.compress_percent.unwrap_or(0)),
            dedupe_percent: u32::from(job.data.dedupe_percent.unwrap_or(0)),
        },
        poll_device: engine.polls,
        poll_submissions: engine.polls_submissions,
        register_files: engine.registers_files,
        register_buffers: engine.fixed_buffers,
        blocks: blocks(job),
        distribution: work.distribution.clone(),
        steps: steps(job),
        zones: work.zones.map(|zones| spec::Zones {
            work_bytes: zones.size_bytes,
            range_bytes: zones.range_bytes.unwrap_or(zones.size_bytes),
            skip_bytes: zones.skip_bytes,
        }),
        offset_bytes: region.offset,
        seed: Some(seed(job)).filter(|_| work.is_repeatable),
        files: spread(job),
        file_sizes: region.sizes.clone(),
        end: end(job, region),
        start_delay: Nanos(start_delay(job)),
        ramp: Nanos(job.life.ramp_ns),
        pacing: pacing(job),
        batching: batching(job),
        latency_target: job
            .pace
            .latency_target_ns
            .map(|target| spec::LatencyTarget {
                latency: Nanos(target),
                window: Nanos(job.pace.latency_window_ns),
                percentile: job.pace.latency_percentile,
                run: job.pace.latency_run,
            }),
        steady_state: steady_state(job),
        contents: contents(job),
        verify: verify(job),
        fsync_at_end: job.durability.fsyncs_at_end,
        fsync_on_close: job.durability.fsyncs_on_close,
        continue_on: spec::ContinueOn {
            read: job.life.continues_on.read,
            write: job.life.continues_on.write,
            verify: job.life.continues_on.verify,
        },
        invalidate: job.target.invalidates,
        order_hint: order_hint(job),
        pre_read: job.target.pre_reads,
        samples: Some(Nanos(window(job))),
        language: Language::Fio,
        ..spec::Job::default()
    }
}

fn pattern(job: &Job) -> spec::Pattern {
    spec::Pattern {
        mix: match job.work.mix {
            Mix::Read => spec::Mix::Read,
            Mix::Write => spec::Mix::Write,
            Mix::Trim => spec::Mix::Trim,
            Mix::ReadWrite => spec::Mix::ReadWrite,
            Mix::TrimWrite => spec::Mix::TrimWrite,
        },
        random: matches!(job.work.order, Order::Random { .. }),
    }
}

const fn engine_kind(kind: EngineKind) -> spec::IoEngine {
    match kind {
        EngineKind::Sync | EngineKind::Psync => spec::IoEngine::Psync,
        EngineKind::Vsync | EngineKind::Pvsync | EngineKind::Pvsync2 => spec::IoEngine::Pvsync2,
        EngineKind::Libaio => spec::IoEngine::Libaio,
        EngineKind::IoUring => spec::IoEngine::IoUring,
        EngineKind::Null => spec::IoEngine::Null,
    }
}

/// The directions that the job has.
fn used<'a, T>(job: &Job, values: &'a Directions<T>) -> Vec<&'a T> {
    let mix = job.work.mix;
    let read = mix.reads().then_some(&values.read);
    let write = mix.writes().then_some(&values.write);
    let trim = mix.trims().then_some(&values.trim);
    [read, write, trim].into_iter().flatten().collect()
}

/// The largest operation of the job.
fn largest(job: &Job) -> u64 {
    let sizes = used(job, &job.work.blocks);
    sizes
        .into_iter()
        .map(Blocks::max_bytes)
        .max()
        .unwrap_or(4096)
}

/// Sizes, where they are not all the same.
fn blocks(job: &Job) -> Directions<Option<Blocks>> {
    let sizes = used(job, &job.work.blocks);
    let plain = Blocks::Fixed(largest(job));
    if sizes.into_iter().all(|blocks| *blocks == plain) {
        return Directions::all(None);
    }
    job.work.blocks.map(|blocks| Some(blocks.clone()))
}

fn steps(job: &Job) -> spec::Steps {
    let work = &job.work;
    let (skip_bytes, ops_per_offset) = match work.order {
        Order::Sequential { skip_bytes } => (skip_bytes, 1),
        Order::Random { ios_per_offset } => (0, ios_per_offset),
    };
    spec::Steps {
        skip_bytes,
        ops_per_offset,
        repeats_offset: work.repeats_offset,
        random_percent: work.random_percent,
        align_bytes: work.align_bytes,
        is_unaligned: work.is_unaligned,
    }
}

fn spread(job: &Job) -> spec::Files {
    let count = u32::try_from(job.target.files.len())
        .unwrap_or(u32::MAX)
        .max(1);
    if count == 1 {
        return spec::Files::default();
    }
    spec::Files {
        count,
        order: match &job.target.order {
            job::FileOrder::RoundRobin => spec::FileOrder::RoundRobin,
            job::FileOrder::Sequential => spec::FileOrder::Sequential,
            job::FileOrder::Random => spec::FileOrder::Random,
            job::FileOrder::Favours(law) => spec::FileOrder::Favours(law.clone()),
        },
        ops_per_file: job.target.ios_per_file,
    }
}

/// What the kernel is told of the order to come.
const fn order_hint(job: &Job) -> spec::OrderHint {
    match (job.target.advice, job.work.order) {
        (job::Advice::None, _) => spec::OrderHint::None,
        (job::Advice::Random, _) | (job::Advice::AsPattern, Order::Random { .. }) => {
            spec::OrderHint::Random
        }
        (job::Advice::Sequential, _) | (job::Advice::AsPattern, Order::Sequential { .. }) => {
            spec::OrderHint::Sequential
        }
    }
}

/// The rate of a job with one kind of operation: it needs no schedule for each.
fn only_rate(job: &Job) -> Option<u64> {
    match used(job, &job.pace.iops)[..] {
        [Some(rate)] if *rate > 0 => Some(*rate),
        _ => None,
    }
}

fn pacing(job: &Job) -> spec::Pacing {
    let pace = &job.pace;
    let positive = |n: Option<u64>| n.filter(|n| *n > 0);
    let one_kind = only_rate(job).is_some();
    let rate = |pick: fn(&Directions<Option<u64>>) -> Option<u64>, has: bool| spec::Rate {
        iops: positive(pick(&pace.iops)).filter(|_| has && !one_kind),
        bytes_per_s: positive(pick(&pace.bytes_per_s)).filter(|_| has),
        min_iops: positive(pick(&pace.min_iops)).filter(|_| has),
        min_bytes_per_s: positive(pick(&pace.min_bytes_per_s)).filter(|_| has),
    };
    let mix = job.work.mix;
    spec::Pacing {
        rates: Directions {
            read: rate(|of| of.read, mix.reads()),
            write: rate(|of| of.write, mix.writes()),
            trim: rate(|of| of.trim, mix.trims()),
        },
        cycle: Nanos(pace.cycle_ns),
        ignores_think: pace.ignores_think,
        think_spin: Nanos(pace.think_spin_ns),
        think_counts_begun: pace.think_counts_issued,
        think_iotime: Nanos(pace.think_iotime_ns),
        max_latency: pace.max_latency_ns.map(Nanos),
    }
}

/// How many operations go and come together. fio takes one and hands over one unless told otherwise; the engine takes a
/// few of a full queue and hands over as many, unless the job says how many.
fn batching(job: &Job) -> spec::Batching {
    let engine = &job.engine;
    let plain = spec::Batching::default();
    if engine.kind.is_synchronous() {
        return plain;
    }
    let waits_for = engine.batch_complete_min;
    let just_that = job.has("iodepth_batch_complete_min") && waits_for > 0;
    spec::Batching {
        submit: Some(engine.batch_submit).filter(|n| *n > 0),
        complete_min: waits_for,
        complete_max: engine.batch_complete_max.or(just_that.then_some(waits_for)),
        low: engine.depth_low.filter(|low| *low != engine.depth),
        serializes_overlap: engine.serializes_overlap,
    }
}

fn steady_state(job: &Job) -> Option<spec::SteadyState> {
    let state = job.life.steady_state?;
    Some(spec::SteadyState {
        quantity: match state.quantity {
            job::SteadyQuantity::Iops => spec::SteadyQuantity::Iops,
            job::SteadyQuantity::Bandwidth => spec::SteadyQuantity::Bandwidth,
            job::SteadyQuantity::Latency => spec::SteadyQuantity::Latency,
        },
        by_slope: state.by_slope,
        limit: state.limit,
        is_percent: state.is_percent,
        duration: Nanos(state.duration_ns),
        ramp: Nanos(state.ramp_ns),
        interval: Nanos::from_secs(1),
    })
}

/// What is written. Blocks that are not to equal each other are different from all others in any case.
fn contents(job: &Job) -> spec::Contents {
    let data = &job.data;
    let checked = job.verify.pattern.as_ref();
    if let Some(pattern) = checked.filter(|_| job.verify.method.is_some()) {
        // What is checked is filled with its own pattern, whatever else was asked for.
        spec::Contents::Pattern(pattern.clone())
    } else if data.is_zero {
        spec::Contents::Zero
    } else if let Some(pattern) = &data.pattern {
        spec::Contents::Pattern(pattern.clone())
    } else if data.refills && data.dedupe_percent.is_none_or(|percent| percent == 0) {
        spec::Contents::Refilled
    } else if data.scrambles {
        spec::Contents::Stamped
    } else {
        spec::Contents::Constant
    }
}

fn verify(job: &Job) -> Option<spec::Verify> {
    let of = &job.verify;
    let method = match of.method? {
        VerifyMethod::Crc32c => spec::VerifyMethod::Crc32c,
        VerifyMethod::Md5 => spec::VerifyMethod::Md5,
        VerifyMethod::Sha256 => spec::VerifyMethod::Sha256,
        VerifyMethod::Pattern => {
            spec::VerifyMethod::Pattern(of.pattern.clone().unwrap_or_default())
        }
    };
    Some(spec::Verify {
        reads_back: of.reads_back,
        only_checks: of.only_checks,
        is_fatal: of.is_fatal,
        backlog: of.backlog,
        backlog_batch: of.backlog_batch,
        interval_bytes: of.interval_bytes,
        offset_bytes: of.offset_bytes,
        ..spec::Verify::new(method)
    })
}

/// The seed of a clone: its own, and the same in every run.
fn seed(job: &Job) -> u64 {
    Rng::stream(job.work.seed, u64::from(job.number)).next()
}

/// The time until the start; from a range it is drawn, always the same for the same seed.
fn start_delay(job: &Job) -> u64 {
    let (low, high) = job.life.start_delay_ns;
    let mut rng = Rng::stream(job.work.seed, u64::from(job.number) + (1 << 32));
    low + rng.below((high - low).saturating_add(1))
}

/// The window of bandwidth and rate: the one that is given, the shorter one of two.
fn window(job: &Job) -> u64 {
    let reporting = &job.reporting;
    match (job.has("bwavgtime"), job.has("iopsavgtime")) {
        (true, false) => reporting.bw_window_ns,
        (false, true) => reporting.iops_window_ns,
        _ => reporting.bw_window_ns.min(reporting.iops_window_ns),
    }
}

/// The CPUs of a clone.
fn cpus(job: &Job) -> Vec<u32> {
    let all: Vec<u32> = job.life.cpus.iter().copied().collect();
    if !job.life.splits_cpus || all.is_empty() {
        return all;
    }
    let turn = usize::try_from(job.clone).unwrap_or(0) % all.len();
    vec![all[turn]]
}

#[cfg(test)]
mod tests;
