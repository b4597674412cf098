//! What the copies of a run did, as vdbench's report.

use super::cases::Case;
use crate::cmd::fio::results::middle_pass_of;
use dialects::vdbench::language::Rate;
use dialects::vdbench::output::rows::{self, Moments};
use dialects::vdbench::output::{AnyRow, Execution, Label, Report, filerows};
use model::job::Task;
use model::latency::quantile;
use model::num::count;
use model::record::{CopyRecord, Outcome, Round, Run};
use model::units::{Nanos, UnixNanos};

/// The pass that is reported: the one with the median rate.
pub(super) fn middle_pass(cases: &[Case<'_>], run: &Run) -> u32 {
    let rate = cases.first().map_or("iops", Case::rate);
    middle_pass_of(cases.iter().map(|case| &case.id), rate, run)
}

/// The report of one pass.
pub(super) fn report<'a>(cases: &'a [Case<'a>], run: &Run, pass: u32) -> Report<'a> {
    let cpus = run.host.limits.copies_all();
    let of = |case: &'a Case<'a>| {
        let round = run.rounds_of(&case.id).find(|round| round.pass == pass)?;
        Some(execution(case, round, cpus))
    };
    Report {
        version: env!("CARGO_PKG_VERSION"),
        zone: jiff::tz::TimeZone::system(),
        executions: cases.iter().filter_map(of).collect(),
    }
}

/// What came of a round.
pub(super) fn execution<'a>(case: &Case<'a>, round: &Round, cpus: u32) -> Execution<'a> {
    let copies = round.told().map_or(&[][..], |told| &told.copies);
    let times = case.run.times;
    let (first, last) = averaged(case, copies);
    let after = |intervals: u64| {
        UnixNanos(
            round
                .started
                .0
                .saturating_add(intervals.saturating_mul(times.interval) * 1_000_000_000),
        )
    };
    let series = round.told().map(|told| &told.series);
    let (average, intervals): (AnyRow, Vec<AnyRow>) = if case.files.is_some() {
        let intervals = series.map(filerows::intervals).unwrap_or_default();
        let intervals = intervals.into_iter().map(AnyRow::Files);
        (
            AnyRow::Files(filerows::whole(copies, cpus)),
            intervals.collect(),
        )
    } else {
        let intervals = rows::intervals(copies).into_iter().map(AnyRow::Raw);
        (AnyRow::Raw(rows::whole(copies, cpus)), intervals.collect())
    };
    let intervals = intervals.into_iter().zip(first..);
    Execution {
        run: case.run,
        began: round.started,
        intervals: intervals
            .filter(|(_, number)| *number <= last)
            .map(|(row, number)| (Label::Interval(number), after(number), row))
            .collect(),
        average: (average.per_s() > 0.0)
            .then(|| (Label::Average(first, last), after(last), average)),
        requested_per_s: requested(case, round),
        from_start: from_start(round),
        storage_bytes: storage_bytes(&case.tasks).filter(|_| !case.tasks.is_empty()),
        failed: match &round.outcome {
            Outcome::Done(_) => None,
            Outcome::Failed(failure) => Some(failure.to_string()),
        },
    }
}

/// The intervals that figures are of: fewer where the run was over before its time.
fn averaged(case: &Case<'_>, copies: &[CopyRecord]) -> (u64, u64) {
    let (first, last) = case.run.times.averaged();
    let counted = copies.iter().map(|copy| {
        let told = copy.apart.as_ref().and_then(|apart| apart.job.as_ref());
        told.map_or(copy.wall, |job| job.runtime)
    });
    let seconds = counted.max().unwrap_or_default().as_secs_f64();
    let intervals = seconds / model::num::approx(case.run.times.interval.max(1));
    (
        first,
        last.min(first - 1 + model::num::round_to_u64(intervals).max(1)),
    )
}

/// The rate that all workloads together were given.
fn requested(case: &Case<'_>, round: &Round) -> Option<f64> {
    match case.run.rate {
        Rate::Max => None,
        Rate::Fixed(rate) => Some(model::num::approx(rate)),
        Rate::OfMax { .. } => {
            // What is kept is the mean of the copies.
            let mean = round.told()?.values.get("arriving_iops")?;
            Some(mean * count(case.tasks.len()))
        }
    }
}

/// The times of all operations from their intended starts, where a rate gave them one.
fn from_start(round: &Round) -> Option<(Moments, u64, u64)> {
    let told = round.told()?;
    let copies = &told.copies;
    // Threads of one process tell together.
    if let (Some(pairs), true) = (
        told.latencies.get("lat"),
        told.latencies.contains_key("late"),
    ) {
        return Some((
            Moments::of(pairs)?,
            quantile(pairs, 0.5)?,
            quantile(pairs, 0.99)?,
        ));
    }
    let has_late = |copy: &CopyRecord| {
        copy.apart
            .as_ref()
            .is_some_and(|one| one.latencies.contains_key("late"))
    };
    if copies.is_empty() || !copies.iter().all(has_late) {
        return None;
    }
    let all = ["read_lat", "write_lat"].map(|name| rows::latencies(copies, name));
    let pairs = model::latency::merged(all.iter().map(Vec::as_slice));
    Some((
        Moments::of(&pairs)?,
        quantile(&pairs, 0.5)?,
        quantile(&pairs, 0.99)?,
    ))
}

/// The bytes of all storages, each once.
fn storage_bytes(tasks: &[Task]) -> Option<u64> {
    let mut seen = Vec::new();
    let mut all = 0_u64;
    for task in tasks {
        if !seen.contains(&&task.job.target) {
            seen.push(&task.job.target);
            all = all.saturating_add(task.job.size?);
        }
    }
    Some(all)
}

/// What a look at a round that goes on shows since the one before, and the interval that ends with it.
pub(super) fn between(
    case: &Case<'_>,
    (before, now): (&[CopyRecord], &[CopyRecord]),
    cpus: u32,
) -> (u64, AnyRow) {
    let times = case.run.times;
    let warmup = case.files.as_ref().map_or(Nanos::ZERO, |work| work.warmup);
    let ramp = case.tasks.first().map_or(warmup, Task::before);
    let grid = rows::Grid {
        interval: Nanos::from_secs(times.interval),
        counts_from: ramp,
        cpus,
    };
    if case.files.is_some() {
        let (number, row) = filerows::between(before, now, grid);
        return (number, AnyRow::Files(row));
    }
    let (number, row) = rows::between(before, now, grid);
    (number, AnyRow::Raw(row))
}
