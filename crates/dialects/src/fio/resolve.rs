//! A job of fio as one of the engine's.
//!
//! What the language leaves to the machine (shares of a file, a region without a size) is settled here, and what only
//! several options together say. What the engine does not do was refused before, by the table of limits; what no job
//! can be is said with the job's place.

mod names;
mod region;

use super::error::Error;
use super::job::{Blocks, Directions, Extent, Job};
use super::jobfile::Found;
use model::job::{
    Batching, Behind, Contents, End, Files, IoEngine, Log, Process, Program, Rate, Target, Task,
    Verify, VerifyMethod,
};
use model::rng::Rng;
use model::units::Nanos;
use region::{Region, portion, region, whole_blocks};

/// The job, ready for the engine, with its files as they are, or will be, where `find` looks.
pub fn resolve(job: &Job, find: impl Fn(&str) -> Result<Found, String>) -> Result<Task, Error> {
    settled(job, find).map_err(|what| Error::Conflict {
        place: job.place.clone(),
        job: job.name.clone(),
        what,
    })
}

fn settled(job: &Job, find: impl Fn(&str) -> Result<Found, String>) -> Result<Task, String> {
    if job.does.engine == IoEngine::Exec {
        return executing(job, &find);
    }
    let files = job.target.files.iter();
    // Those on names are not the user's.
    let files = files.filter(|_| !job.does.engine.is_on_names());
    let found = files.map(|name| find(name).map_err(|why| format!("use `{name}`: {why}")));
    let found: Result<Vec<Found>, String> = found.collect();
    found.and_then(|found| task(job, &found))
}

fn task(job: &Job, found: &[Found]) -> Result<Task, String> {
    if job.does.engine.is_on_names() {
        return names::task(job);
    }
    if job.does.engine == IoEngine::Cpu {
        return burning(job);
    }
    let region = region(job, found)?;
    let used = found.iter();
    let used = used.filter(|_| job.does.engine.has_data());
    let mut targets = used.map(|found| target(job, found));
    let does = model::job::Job {
        target: targets.next().unwrap_or_default(),
        more_targets: targets.collect(),
        size: Some(region.size),
        offset_bytes: region.offset,
        end: End {
            bytes: Some(bytes(job, &region)),
            behind: behind(job),
            ..job.does.end
        },
        layout: job.layout(),
        file_sizes: region.sizes,
        ..whole(job)
    };
    does.check()?;
    Ok(with_name(job, does))
}

/// A job that keeps a CPU busy: of all that was said of files nothing concerns it.
fn burning(job: &Job) -> Result<Task, String> {
    let does = model::job::Job {
        burn: job.does.burn,
        end: End {
            time: job.does.end.time,
            time_based: true,
            ..End::default()
        },
        ..resting(job)
    };
    does.check()?;
    Ok(with_name(job, does))
}

/// A job that executes a program: likewise.
fn executing(job: &Job, find: &dyn Fn(&str) -> Result<Found, String>) -> Result<Task, String> {
    let time = job.does.end.time;
    let seconds = time.map_or(0, |time| time.0 / 1_000_000_000);
    let expanded = |word: &str| {
        let word = word.replace("%r", &seconds.to_string());
        word.replace("%n", &job.name)
    };
    let output = |stream: &str| {
        let name = match job.clone {
            0 => format!("{}.{stream}", job.name),
            clone => format!("{}.{clone}.{stream}", job.name),
        };
        find(&name).map(|found| found.path)
    };
    let outputs = if job.exec.redirects {
        Some([output("stdout")?, output("stderr")?])
    } else {
        None
    };
    let program = Program {
        name: job.exec.program.clone(),
        arguments: job
            .exec
            .arguments
            .split_whitespace()
            .map(expanded)
            .collect(),
        dir: find(".")?.path,
        outputs,
        grace: job.exec.grace,
    };
    let does = model::job::Job {
        program: Some(program),
        end: End {
            time,
            time_based: job.does.end.time_based,
            ..End::default()
        },
        ..resting(job)
    };
    does.check()?;
    Ok(with_name(job, does))
}

/// What a job without operations has of what was said, but for its end.
fn resting(job: &Job) -> model::job::Job {
    model::job::Job {
        engine: job.does.engine,
        start_delay: Nanos(start_delay(job)),
        ramp: job.does.ramp,
        language: job.does.language,
        ..model::job::Job::default()
    }
}

/// The job among others.
fn with_name(job: &Job, does: model::job::Job) -> Task {
    Task {
        name: job.name.clone(),
        job: does,
        cpus: cpus(job),
        process: process(job),
        only_prepares: job.target.creates_only,
        looks_at_file: job.clone == 0,
        unlinks: job.target.unlinks,
        ..Task::default()
    }
}

/// On what the job works: a file that is made where it is not there, or a device that is.
fn target(job: &Job, found: &Found) -> Target {
    let path = found.path.clone();
    if found.is_device {
        Target::Device { path, fill: false }
    } else {
        // What is read back to be judged must be there: no checksum fits what was written just now instead.
        let create = job.target.may_create && !job.only_checks();
        Target::File { path, create }
    }
}

/// How much is done before the job ends.
fn bytes(job: &Job, region: &Region) -> u64 {
    let amount = &job.amount;
    match amount.io_size {
        Some(Extent::Bytes(bytes)) if bytes > 0 => bytes,
        Some(Extent::Percent(percent)) => portion(region.size, percent),
        // Beside the size of the files, `size` is how much of them is done.
        _ => match (amount.file_size_bytes, amount.size) {
            (Some(_), Some(Extent::Bytes(size))) if size > 0 => size.min(whole_blocks(job, region)),
            (Some(_), Some(Extent::Percent(percent))) => portion(region.size, percent),
            _ => whole_blocks(job, region),
        },
    }
}

/// The options that say how operations go in and come out.
const BATCHES: [&str; 4] = [
    "iodepth_batch",
    "iodepth_batch_complete_min",
    "iodepth_batch_complete_max",
    "iodepth_low",
];

/// The engine takes a few of a full queue and hands over as many. Where a job says anything of it, the rest is as in
/// fio: one operation goes in, and as many come out as are waited for.
fn as_said(job: &Job, batching: &mut Batching) {
    if !job.has("iodepth_batch") {
        batching.submit = Some(1);
    }
    let most = batching
        .complete_max
        .unwrap_or(0)
        .max(batching.complete_min);
    batching.complete_max = Some(most.max(1));
}

/// What comes when the region has been gone through: with `io_size` more of it, and else the end.
fn behind(job: &Job) -> Behind {
    let more = match job.amount.io_size {
        None | Some(Extent::Bytes(0)) => Behind::Ends,
        Some(_) => Behind::Again,
    };
    // Blocks that come at any time make no round, and time knows no end but its own.
    let comes_round = whole(job).comes_round() && !job.does.end.time_based;
    if comes_round { more } else { Behind::GoesOn }
}

/// The job with what its options say together, but for its region.
fn whole(job: &Job) -> model::job::Job {
    let mut does = job.does.clone();
    let mix = does.pattern.mix;
    does.block_bytes = does.size_range().1;
    let plain = Some(Blocks::Fixed(does.block_bytes));
    if mix.used(&does.blocks).all(|blocks| *blocks == plain) {
        does.blocks = Directions::all(None);
    }
    if does.is_synchronous() {
        does.depth = 1;
        does.batching = Batching::default();
    }
    if BATCHES.iter().any(|name| job.has(name)) && !job.does.is_synchronous() {
        as_said(job, &mut does.batching);
    }
    does.batching.low = does.batching.low.filter(|low| *low != does.depth);
    does.files = match u32::try_from(job.target.files.len()) {
        Ok(0 | 1) => Files::default(),
        count => Files {
            count: count.unwrap_or(u32::MAX),
            ..does.files
        },
    };
    if does.engine == IoEngine::Defrag && job.target.moves_in_place {
        does.engine = IoEngine::DefragInPlace;
    }
    rates(&mut does);
    does.seed = (job.is_repeatable() || job.verify.is_on).then(|| stream(job, 0).next());
    does.start_delay = Nanos(start_delay(job));
    does.samples = Some(Nanos(window(job)));
    let logs = &job.reporting.logs;
    does.log = logs.any().then(|| Log {
        window: Nanos::from_millis(logs.window_ms()),
        rates: logs.bw.is_some() || logs.iops.is_some(),
        latencies: logs.lat.is_some(),
        longest: logs.longest,
    });
    does.latency_target = Some(job.latency).filter(|target| target.latency > Nanos::ZERO);
    does.contents = contents(job);
    let equal = job.data.equal;
    if equal.is_set {
        does.redundancy.working_set_percent = equal.percent;
        does.redundancy.working_set_seed = equal.is_shared.then_some(job.seed);
    }
    does.verify = job.verify.is_on.then(|| Verify {
        method: match (&job.verify.how.method, &job.verify.pattern) {
            (VerifyMethod::Pattern(_), Some(pattern)) => VerifyMethod::Pattern(pattern.clone()),
            (method, _) => method.clone(),
        },
        ..job.verify.how.clone()
    });
    does
}

/// Rates of 0 are none, and those of directions that the job does not have mean nothing. A job with one kind of
/// operation needs no schedule for each.
fn rates(does: &mut model::job::Job) {
    let mix = does.pattern.mix;
    let positive = |n: Option<u64>| n.filter(|n| *n > 0);
    let of = |rate: Rate, has: bool| Rate {
        iops: positive(rate.iops).filter(|_| has),
        bytes_per_s: positive(rate.bytes_per_s).filter(|_| has),
        min_iops: positive(rate.min_iops).filter(|_| has),
        min_bytes_per_s: positive(rate.min_bytes_per_s).filter(|_| has),
    };
    let rates = does.pacing.rates;
    does.pacing.rates = Directions {
        read: of(rates.read, mix.reads()),
        write: of(rates.write, mix.writes()),
        trim: of(rates.trim, mix.trims()),
    };
    let mut used = mix.used(&rates).map(|rate| positive(rate.iops));
    if let (Some(only @ Some(_)), None) = (used.next(), used.next()) {
        does.rate_iops = only;
        does.pacing.rates = does.pacing.rates.map(|rate| Rate {
            iops: None,
            ..*rate
        });
    }
}

/// What is written. Blocks that are not to equal each other are different from all others in any case.
fn contents(job: &Job) -> Contents {
    let data = &job.data;
    // What is checked is filled with its own pattern, whatever else was asked for.
    let checked = job.verify.pattern.as_ref().filter(|_| job.verify.is_on);
    if let Some(pattern) = checked {
        Contents::Pattern(pattern.clone())
    } else if data.is_zero {
        Contents::Zero
    } else if let Some(pattern) = &data.pattern {
        Contents::Pattern(pattern.clone())
    } else if data.refills && job.does.redundancy.dedupe_percent == 0 {
        Contents::Refilled
    } else if data.scrambles {
        Contents::Stamped
    } else {
        Contents::Constant
    }
}

/// What is drawn for a clone, of the kind of this number: its own, and the same in every run.
fn stream(job: &Job, number: u64) -> Rng {
    Rng::stream(job.seed, u64::from(job.number) + (number << 32))
}

/// The time until the start; from a range it is drawn.
fn start_delay(job: &Job) -> u64 {
    let (low, high) = job.life.start_delay_ns;
    low + stream(job, 1).below((high - low).saturating_add(1))
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

/// What its process asks of the kernel.
fn process(job: &Job) -> Process {
    let life = &job.life;
    Process {
        nice: life.nice,
        io_priority: life.io_priority(),
        memory: life.memory.clone(),
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
