//! What else than the storage may have set the limit, and what the workload noted: warnings of one case.
//!
//! The thresholds are those of the method page, "What limited it". They say where to look and correct nothing.

use super::{has, median_value, operations, whole_param};
use crate::rounds::CaseRounds;
use crate::{quantile, scaling};
use model::host::HostFacts;
use model::latency;
use model::limit::Limit;
use model::num::approx;
use model::params::ParamValue;
use model::plan::PlannedCase;
use model::record::Measured;
use model::units::Nanos;
use model::warning::Warning;

/// The share of a CPU above which it limits what one copy can ask for.
const CPU_MAX: f64 = 0.70;
/// Lateness of this program over the latency above which the latency is partly its own.
const LATE_MAX: f64 = 0.05;
/// The share of bytes read that may come out of a cache unsaid.
const CACHED_MAX: f64 = 0.01;
/// The share of time with something to do below which a device was not the limit, although operations were waiting.
const BUSY_MIN: f64 = 0.70;

/// The quantity that cases have whose operations reach a device.
const BUSY: &str = "device_busy_share";

/// What else than the storage may have limited a case, as far as its figures say, and what its workload noted.
pub fn remarks(rounds: &CaseRounds<'_>, host: &HostFacts) -> Vec<Warning> {
    let limits = limits(rounds.case, host, &rounds.done);
    let limits = limits.into_iter().flatten().map(Warning::Limited);
    limits.chain(noted(&rounds.done)).collect()
}

/// What limited `case`, as far as its figures say.
fn limits(case: &PlannedCase, host: &HostFacts, done: &[&Measured]) -> [Option<Limit>; 4] {
    if !super::is_storage(case) || done.is_empty() {
        return [None; 4];
    }
    [
        cpu(case, host, done),
        late(done),
        cached(case, done),
        idle(case, done),
    ]
}

/// What the workload noted in any round, each sentence once, in the order in which they first came.
fn noted(done: &[&Measured]) -> Vec<Warning> {
    let mut notes: Vec<&str> = Vec::new();
    for note in done.iter().flat_map(|measured| &measured.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    let warning = |note: &str| Warning::Other(note.to_owned());
    notes.into_iter().map(warning).collect()
}

/// Operations under way at the same time, of all copies.
fn in_flight(case: &PlannedCase) -> f64 {
    approx(whole_param(case, "iodepth").unwrap_or(1)) * f64::from(case.id.copies)
}

fn cpu(case: &PlannedCase, host: &HostFacts, done: &[&Measured]) -> Option<Limit> {
    if !has(case, BUSY) {
        // Without a device there is nothing else that could be the limit.
        return None;
    }
    let cpus = f64::from(scaling::Cpus::of(host).allowed.max(1));
    let at_most = f64::from(case.id.copies).min(cpus);
    let shares: Vec<f64> = done
        .iter()
        .filter_map(|measured| {
            let wall = measured.copies.iter().map(|copy| copy.wall.0).max()?;
            let used: u64 = measured
                .copies
                .iter()
                .map(|copy| copy.user.0 + copy.system.0)
                .sum();
            (wall > 0).then(|| Nanos(used).as_secs_f64() / Nanos(wall).as_secs_f64() / at_most)
        })
        .collect();
    let share = quantile::median(&shares).filter(|&share| share > CPU_MAX)?;
    Some(Limit::Cpu {
        share: share.min(1.0),
        copies: case.id.copies,
        one_at_a_time: in_flight(case) < 1.5,
    })
}

fn late(done: &[&Measured]) -> Option<Limit> {
    let shares: Vec<f64> = done
        .iter()
        .filter_map(|measured| lateness(measured))
        .collect();
    let share = quantile::median(&shares).filter(|&share| share > LATE_MAX)?;
    Some(Limit::Late { share })
}

/// The program's own mean lateness over the mean latency of all operations.
fn lateness(measured: &Measured) -> Option<f64> {
    let late = measured.latencies.get("late")?;
    let lat = measured
        .latencies
        .iter()
        .filter(|(name, _)| name.rsplit('_').next() == Some("lat"));
    let lat = latency::merged(lat.map(|(_, pairs)| pairs.as_slice()));
    let mean = |pairs| latency::mean(pairs).filter(|&ns| ns > 0.0);
    Some(mean(late)? / mean(&lat)?)
}

fn cached(case: &PlannedCase, done: &[&Measured]) -> Option<Limit> {
    let share = median_value(done, "cached_share")?;
    let ops: Vec<f64> = done
        .iter()
        .map(|measured| operations(&measured.copies))
        .collect();
    // Operations under way when the measured part begins were fetched before it.
    let straddling = in_flight(case) / quantile::median(&ops)?.max(1.0);
    let direct = matches!(case.params.get("direct"), Some(ParamValue::Switch(true)));
    (share > CACHED_MAX.max(straddling)).then_some(Limit::Cached { share, direct })
}

fn idle(case: &PlannedCase, done: &[&Measured]) -> Option<Limit> {
    let positive = |name| whole_param(case, name).is_some_and(|n| n > 0);
    let pauses =
        matches!(case.params.get("thinktime"), Some(ParamValue::Duration(time)) if time.0 > 0);
    if in_flight(case) < 1.5 || positive("rate_iops") || pauses {
        return None;
    }
    let busy_share = median_value(done, BUSY).filter(|&share| share < BUSY_MIN)?;
    Some(Limit::DeviceIdle { busy_share })
}
