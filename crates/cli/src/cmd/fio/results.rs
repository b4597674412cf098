//! What the copies of a run did, as fio's report.
//!
//! A copy is a job; with `group_reporting` the jobs of a group are one. Everything comes from the kept run, so that a
//! number in fio's words is the same as in ours.

mod direction;
mod idle;
mod looks;

use super::help;
use super::phases::Phase;
use dialects::fio::Plan;
use dialects::fio::job::{Job, Unified};
use dialects::fio::result::{Cpu, DiskUse, Finished, JobResult, Latency, Report};
use direction::direction;
use idle::Idle;
pub(super) use idle::micros;
use model::job::{self, Direction, Directions, Mix};
use model::num::{approx, round_to_u64};
use model::order::Order as _;
use model::plan::CaseId;
use model::record::{CopyRecord, Failure, Measured, Outcome, Round, Run};
use model::units::{Nanos, UnixNanos};
use std::collections::{BTreeMap, BTreeSet};

/// The report of one pass.
pub(super) fn report(plan: &Plan, phases: &[Phase<'_>], run: &Run, pass: u32) -> Report {
    of_pass(plan, phases, run, (pass, false))
}

/// The report of a pass that goes on: jobs that have done nothing yet have their place in it.
pub(super) fn so_far(plan: &Plan, phases: &[Phase<'_>], run: &Run, pass: u32) -> Report {
    of_pass(plan, phases, run, (pass, true))
}

fn of_pass(plan: &Plan, phases: &[Phase<'_>], run: &Run, (pass, goes_on): (u32, bool)) -> Report {
    let ended = run.meta.finished.unwrap_or(UnixNanos(sys::clock::wall()));
    let (mut disks, mut idle) = (Disks::default(), Idle::default());
    let mut jobs = Vec::new();
    for phase in phases {
        let Some(round) = run.rounds_of(&phase.case).find(|round| round.pass == pass) else {
            let waiting = phase.jobs.iter().filter(|_| goes_on);
            jobs.extend(waiting.map(|(group, job)| waits(*group, job)));
            continue;
        };
        jobs.extend(results(plan, phase, round, (run.meta.started, goes_on)));
        if let Some(told) = round.told() {
            disks.add(told);
            idle.add(told);
        }
    }
    shares_of_groups(&mut jobs);
    Report {
        version: Some(help::version()),
        finished: Finished::of(ended, jiff::tz::TimeZone::system()),
        global_options: plan.global_options.clone(),
        jobs,
        disks: disks.uses(),
        idleness: plan.output.idleness.and_then(|told| idle.told(told)),
        kept: None,
    }
}

/// The pass whose rate, summed over the phases, is the median of the passes, the slower one of two in the middle;
/// passes with a phase that failed only where there are no others.
pub(super) fn middle_pass(phases: &[Phase<'_>], run: &Run) -> u32 {
    middle_pass_of(phases.iter().map(|phase| &phase.case), "iops", run)
}

/// The same of cases whose rates have this name.
pub(crate) fn middle_pass_of<'a>(
    cases: impl Iterator<Item = &'a CaseId>,
    rate: &str,
    run: &Run,
) -> u32 {
    let mut rates: BTreeMap<u32, f64> = BTreeMap::new();
    let mut failed = BTreeSet::new();
    for case in cases {
        for round in run.rounds_of(case) {
            let rate = match &round.outcome {
                Outcome::Done(done) => done.values.get(rate).copied().unwrap_or(0.0),
                Outcome::Failed(_) => {
                    failed.insert(round.pass);
                    0.0
                }
            };
            *rates.entry(round.pass).or_default() += rate;
        }
    }
    if failed.len() < rates.len() {
        rates.retain(|pass, _| !failed.contains(pass));
    }
    let mut sorted: Vec<(u32, f64)> = rates.into_iter().collect();
    sorted.order_by(|a, b| a.1.total_cmp(&b.1));
    let middle = sorted.len().saturating_sub(1) / 2;
    sorted.get(middle).map_or(1, |(pass, _)| *pass)
}

/// Jobs that are reported as one.
struct Piece<'a> {
    group: u32,
    parts: Vec<Part<'a>>,
}

/// A job with what its copy did, and what it told of that.
struct Part<'a> {
    job: &'a Job,
    copy: &'a CopyRecord,
    told: job::Report,
}

impl<'a> Part<'a> {
    fn new(job: &'a Job, copy: &'a CopyRecord) -> Self {
        let told = copy.apart.as_ref().and_then(|detail| detail.job.as_deref());
        Self {
            job,
            copy,
            told: told.cloned().unwrap_or_default(),
        }
    }
}

impl<'a> Piece<'a> {
    fn first(&self) -> &'a Job {
        self.parts[0].job
    }

    /// What each of them told.
    fn told(&self) -> impl Iterator<Item = &job::Report> {
        self.parts.iter().map(|part| &part.told)
    }
}

fn results(
    plan: &Plan,
    phase: &Phase<'_>,
    round: &Round,
    (began, goes_on): (UnixNanos, bool),
) -> Vec<JobResult> {
    let done = match (round.told(), &round.outcome) {
        (Some(told), _) => told,
        (None, Outcome::Failed(failure)) => return failed(phase, failure),
        (None, Outcome::Done(_)) => return Vec::new(),
    };
    let as_one = |id: u32| {
        plan.groups
            .iter()
            .any(|group| group.id == id && group.is_reported_as_one())
    };
    let mut pieces: Vec<Piece<'_>> = Vec::new();
    for ((group, job), copy) in phase.jobs.iter().zip(&done.copies) {
        match pieces.last_mut() {
            Some(last) if last.group == *group && as_one(*group) => {
                last.parts.push(Part::new(job, copy));
            }
            _ => pieces.push(Piece {
                group: *group,
                parts: vec![Part::new(job, copy)],
            }),
        }
    }
    let before_s = approx(round.started.0.saturating_sub(began.0)) / 1e9;
    let each = pieces.iter().map(|piece| {
        let mut kinds = piece.told().flat_map(|told| told.done.iter());
        if goes_on && kinds.all(|done| done.ops == 0) {
            waits(piece.group, piece.first())
        } else {
            result(piece, before_s)
        }
    });
    each.collect()
}

/// A job that has done nothing yet.
fn waits(group: u32, job: &Job) -> JobResult {
    JobResult {
        is_waiting: true,
        ..nothing(group, job)
    }
}

/// A job of which nothing is known.
fn nothing(group: u32, job: &Job) -> JobResult {
    JobResult {
        name: job.name.clone(),
        description: job.description.clone(),
        group,
        options: options(job),
        ..JobResult::default()
    }
}

/// The jobs of a phase of which nothing is known but why: nothing but the error.
fn failed(phase: &Phase<'_>, failure: &Failure) -> Vec<JobResult> {
    let error = looks::number(failure);
    let each = phase.jobs.iter().map(|(group, job)| JobResult {
        error,
        ..nothing(*group, job)
    });
    each.collect()
}

/// The options of the section itself, as fio lists them: those that were given a value.
fn options(job: &Job) -> Vec<(String, String)> {
    let own = job.settings.iter().filter(|setting| !setting.is_global);
    own.filter_map(|setting| Some((setting.name.to_owned(), setting.value.as_ref()?.to_string())))
        .collect()
}

fn result(piece: &Piece<'_>, before_s: f64) -> JobResult {
    let job = piece.first();
    let unified = job.reporting.unified;
    let mix = job_mix(piece);
    let is_apart = unified != Unified::Mixed;
    let apart = |kind| (is_apart && *mix.of(kind)).then(|| direction(piece, &[kind]));
    let walls = piece.parts.iter().map(|part| part.copy.wall.0);
    let wall_ns = walls.max().unwrap_or(0);
    let let_pass = looks::let_pass(piece);
    JobResult {
        name: job.name.clone(),
        description: job.description.clone(),
        group: piece.group,
        members: job
            .reporting
            .by_group
            .then(|| piece.parts.iter().map(|part| part.job.members()).sum()),
        pid: piece.parts[0]
            .copy
            .apart
            .as_ref()
            .and_then(|detail| detail.pid),
        error: looks::error(piece)
            .or(let_pass.map(|(_, first)| first))
            .unwrap_or(0),
        elapsed_s: Some(round_to_u64((before_s + approx(wall_ns) / 1e9).ceil())),
        options: options(job),
        read: apart(Direction::Read),
        write: apart(Direction::Write),
        trim: apart(Direction::Trim),
        mixed: (unified != Unified::Apart).then(|| direction(piece, &Direction::ALL)),
        is_mixed_only: unified == Unified::Mixed,
        sync: sync(piece),
        runtime_ms: Some(round_to_u64(runtime_ns(piece) / 1e6)),
        cpu: Some(cpu(piece)),
        depths: looks::depths(piece),
        shares: None,
        target: Some(looks::target(piece)),
        steady_state: looks::steady_state(piece),
        let_pass,
        is_waiting: false,
    }
}

/// Whether any job reads, writes, trims: by its pattern, or because it read back what it had written.
fn job_mix(piece: &Piece<'_>) -> Directions<bool> {
    let any = |does: fn(Mix) -> bool| {
        let mut parts = piece.parts.iter();
        parts.any(|part| does(part.job.does.pattern.mix))
    };
    Directions {
        read: any(Mix::reads) || piece.told().any(|told| told.done.read.ops > 0),
        write: any(Mix::writes),
        trim: any(Mix::trims),
    }
}

/// The time of all jobs, summed as fio does.
fn runtime_ns(piece: &Piece<'_>) -> f64 {
    let each = piece.parts.iter();
    each.map(|part| approx(part.told.runtime.0) * f64::from(part.job.members()))
        .sum()
}

/// The latencies of all copies together: of each copy, and of each kind, those of the first name that it has.
fn merged(piece: &Piece<'_>, kinds: impl Fn(&Part<'_>) -> Vec<Vec<String>>) -> Option<Latency> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for part in &piece.parts {
        let Some(detail) = part.copy.apart.as_deref() else {
            continue;
        };
        let of_kind = |names: &Vec<String>| {
            let mut found = names.iter().filter_map(|name| detail.latencies.get(name));
            found.next()
        };
        for (ns, count) in kinds(part).iter().filter_map(of_kind).flatten() {
            *counts.entry(*ns).or_default() += count;
        }
    }
    let pairs: Vec<(u64, u64)> = counts.into_iter().collect();
    Latency::of_pairs(&pairs)
}

fn sync(piece: &Piece<'_>) -> Option<Latency> {
    let latency = merged(piece, |_| vec![vec!["sync".to_owned()]])?;
    Some(latency.with_percentiles(&piece.first().reporting.percentiles))
}

fn cpu(piece: &Piece<'_>) -> Cpu {
    let parts = || piece.parts.iter();
    let sum = |of: fn(&CopyRecord) -> u64| approx(parts().map(|part| of(part.copy)).sum());
    let wall: f64 = parts()
        .map(|part| approx(part.copy.wall.0) * f64::from(part.job.members()))
        .sum();
    // A job that failed before its first operation spent CPU time on getting ready, and no time at work.
    let worked = piece
        .told()
        .any(|told| told.done.iter().any(|done| done.ops > 0))
        || piece.first().does.engine.has_no_operations();
    let share = |ns: f64| (worked && wall > 0.0).then(|| 100.0 * ns / wall);
    let details = || parts().filter_map(|part| part.copy.apart.as_deref());
    Cpu {
        user_percent: share(sum(|copy| copy.user.0)),
        system_percent: share(sum(|copy| copy.system.0)),
        context_switches: details()
            .map(|detail| detail.voluntary_switches + detail.involuntary_switches)
            .sum(),
        major_faults: details().map(|detail| detail.major_faults).sum(),
        minor_faults: details().map(|detail| detail.minor_faults).sum(),
    }
}

/// Each job's share of the bandwidth of its group, where it was looked at over time.
fn shares_of_groups(jobs: &mut [JobResult]) {
    let pick = |job: &JobResult| -> [Option<f64>; 4] {
        [&job.read, &job.write, &job.trim, &job.mixed].map(|direction| {
            let direction = direction.as_ref()?;
            Some(direction.bw_bytes_per_s)
        })
    };
    let all: Vec<(u32, [Option<f64>; 4])> = jobs.iter().map(|job| (job.group, pick(job))).collect();
    for job in jobs {
        let group = job.group;
        let own = [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed];
        for (kind, direction) in own.into_iter().enumerate() {
            let of_group = all.iter().filter(|(id, _)| *id == group);
            let total: f64 = of_group.filter_map(|(_, kinds)| kinds[kind]).sum();
            if let Some(samples) = direction.as_mut().and_then(|d| d.bw_samples.as_mut())
                && total > 0.0
            {
                samples.share_percent = Some((100.0 * samples.mean / total).min(100.0));
            }
        }
    }
}

/// The disks of all phases: of the jobs of a phase, which all see the same disk, the one that looked longest counts.
#[derive(Debug, Default)]
struct Disks {
    /// By name, with the time in which they were counted.
    seen: BTreeMap<String, (job::DiskUse, Nanos)>,
}

impl Disks {
    fn add(&mut self, done: &Measured) {
        let mut phase: BTreeMap<&str, (&job::DiskUse, Nanos)> = BTreeMap::new();
        let details = done.copies.iter().filter_map(|copy| copy.apart.as_ref());
        for told in details.filter_map(|detail| detail.job.as_ref()) {
            if let Some(disk) = &told.disk {
                let longest = phase.entry(&disk.name).or_insert((disk, Nanos::ZERO));
                if told.runtime >= longest.1 {
                    *longest = (disk, told.runtime);
                }
            }
        }
        for (name, (disk, time)) in phase {
            let (all, wall) = self.seen.entry(name.to_owned()).or_default();
            all.add(disk);
            *wall = wall.plus(time);
        }
    }

    fn uses(self) -> Vec<DiskUse> {
        let ms = |time: Nanos| time.0 / 1_000_000;
        let of = |(name, (disk, wall)): (String, (job::DiskUse, Nanos))| DiskUse {
            name,
            ios: disk.ops,
            merges: disk.merges,
            ticks_ms: (ms(disk.took.0), ms(disk.took.1)),
            in_queue_ms: ms(disk.queued),
            util_percent: (100.0 * approx(disk.busy.0) / approx(wall.0.max(1))).min(100.0),
        };
        self.seen.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests;
