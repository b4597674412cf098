//! A run on storages as jobs of the storage engine: one for each workload on each storage.
//!
//! Threads become places in a queue: so many operations are under way at the same time, and what arrives at a rate
//! waits for the first place that is free, as it waits for a thread.

use super::error::Error;
use super::raw::Part;
use super::runs::{Rate, Run, Work};
use super::value::apportioned;
use crate::fio::{Surroundings, names_device};
use model::job::{
    Blocks, Directions, End, Job, Language, Log, Mix, Pattern, Redundancy, Steps, SyncOn, Target,
    Task,
};
use model::num::{approx, round_to_u64};
use model::units::Nanos;

/// The figures begin so much later than an interval ends, so that its own report is told before.
const BEHIND: Nanos = Nanos::from_millis(50);

/// The jobs of a run on storages; none of a run on file sets.
pub fn tasks(run: &Run, surroundings: &dyn Surroundings) -> Result<Vec<Task>, Error> {
    let Work::Raw(parts) = &run.work else {
        return Ok(Vec::new());
    };
    let shares: Vec<f64> = parts.iter().map(|part| part.share).collect();
    let rates = match run.rate {
        Rate::Fixed(rate) => Some(rate_of_each(run, rate, &shares)?),
        Rate::Max | Rate::OfMax { .. } => None,
    };
    let mut seen: Vec<&str> = Vec::new();
    let mut tasks = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        let mut task = task(run, part, surroundings)?;
        task.looks_at_file = !seen.contains(&part.lun.as_str());
        seen.push(&part.lun);
        if let Rate::OfMax { percent, .. } = run.rate {
            task.rate_share = Some(f64::from(percent) / 100.0 * part.share);
            // What it comes to is known when the round begins.
            task.job.rate_iops = Some(1);
        }
        if let Some(rates) = &rates {
            task.job.rate_iops = rates.get(at).copied();
        }
        task.job.check().map_err(|what| conflict(part, what))?;
        tasks.push(task);
    }
    Ok(tasks)
}

fn rate_of_each(run: &Run, rate: u64, shares: &[f64]) -> Result<Vec<u64>, Error> {
    let rates = apportioned(rate, shares);
    if rates.contains(&0) {
        return Err(Error::Definition {
            place: run.place.clone(),
            definition: format!("rd={}", run.name),
            what: format!(
                "{rate} operations a second are less than one for each of its {} workloads on storages",
                shares.len()
            ),
        });
    }
    Ok(rates)
}

fn conflict(part: &Part, what: String) -> Error {
    Error::Definition {
        place: part.place.clone(),
        definition: format!("sd={}", part.storage),
        what,
    }
}

fn task(run: &Run, part: &Part, surroundings: &dyn Surroundings) -> Result<Task, Error> {
    let found = surroundings
        .find(&part.lun)
        .map_err(|why| conflict(part, format!("use `{}`: {why}", part.lun)))?;
    if found.is_other {
        let what = format!("`{}` is neither a file nor a block device", part.lun);
        return Err(conflict(part, what));
    }
    if found.length_bytes.is_none() && names_device(&part.lun) {
        let what = format!(
            "`{}` is not there, and no file is made below /dev",
            part.lun
        );
        return Err(conflict(part, what));
    }
    let length = match (part.size, found.length_bytes) {
        (Some(size), Some(length)) if found.is_device => size.min(length),
        (Some(size), _) => size,
        (None, Some(length)) => length,
        (None, None) => {
            let what = format!(
                "`{}` is not there, and nobody says how large it shall be\nhint: `size=10g`",
                part.lun
            );
            return Err(conflict(part, what));
        }
    };
    let (offset, bytes) = part.region(length);
    if bytes == 0 {
        let what = format!(
            "no operation of {} bytes of workload `{}` fits into its part of the {length} bytes of `{}`\nhint: a \
             larger `size`, a smaller `xfersize`, or another `range`",
            part.transfers.max_bytes(),
            part.workload,
            part.lun
        );
        return Err(conflict(part, what));
    }
    let path = found.path;
    let target = if found.is_device {
        Target::Device { path, fill: false }
    } else {
        Target::File { path, create: true }
    };
    Ok(Task {
        name: part.name(),
        file_bytes: if found.is_device {
            Vec::new()
        } else {
            vec![length]
        },
        job: Job {
            target,
            size: Some(bytes),
            offset_bytes: offset,
            ..job(run, part)
        },
        ..Task::default()
    })
}

fn job(run: &Run, part: &Part) -> Job {
    let mix = match part.reads_percent {
        100 => Mix::Read,
        0 => Mix::Write,
        _ => Mix::ReadWrite,
    };
    let random = part.random_percent > 0;
    let is_fixed = matches!(part.transfers, Blocks::Fixed(_));
    let times = run.times;
    let max_data = run
        .max_data
        .map(|bytes| round_to_u64(approx(bytes) * part.share).max(1));
    Job {
        pattern: Pattern { mix, random },
        block_bytes: part.transfers.max_bytes(),
        blocks: Directions::all((!is_fixed).then(|| part.transfers.clone())),
        depth: part.threads,
        direct: part.flags.direct,
        sync: part.flags.sync.unwrap_or(SyncOn::None),
        fsync_on_close: part.flags.syncs_on_close,
        read_percent: part.reads_percent,
        repeat_blocks: random,
        arrivals: run.arrivals,
        steps: Steps {
            random_percent: Directions::all(if random { part.random_percent } else { 100 }),
            align_bytes: Directions::all(part.align.filter(|_| random)),
            ..Steps::default()
        },
        redundancy: Redundancy {
            compress_percent: part.compress_percent,
            ..Redundancy::default()
        },
        end: End {
            time: Some(Nanos::from_secs(times.counted())),
            bytes: max_data,
            time_based: max_data.is_none(),
            ..End::default()
        },
        ramp: Nanos::from_secs(times.before()).plus(BEHIND),
        log: Some(Log {
            window: Nanos::from_secs(times.interval),
            rates: true,
            latencies: true,
            longest: false,
        }),
        language: Language::Vdbench,
        ..Job::default()
    }
}
