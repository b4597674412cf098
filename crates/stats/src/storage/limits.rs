//! What else than the storage may have set the limit, and what the workload noted: warnings of one case.
//!
//! The thresholds are those of the method page, "What limited it". They say where to look and correct nothing.

use super::{median_value, operations};
use crate::rounds::CaseRounds;
use crate::{quantile, scaling};
use model::host::{Fact, HostFacts};
use model::latency;
use model::limit::Limit;
use model::named::Named;
use model::num::approx;
use model::plan::PlannedCase;
use model::record::{Measured, Run};
use model::spec::{Nature, Role};
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

/// What else than what it asks may have limited a case, as far as its figures say, and what its workload noted: the
/// storage, or whatever operations ask that arrive by themselves.
pub fn remarks(rounds: &CaseRounds<'_>, run: &Run) -> Vec<Warning> {
    let limits = limits(rounds, &run.host).into_iter().flatten();
    let limits = limits.chain(of_devices(rounds, run));
    let limits = limits.map(Warning::Limited);
    limits.chain(noted(&rounds.done)).collect()
}

/// What is known beforehand to limit the devices that a case works on, or to stand in for them.
fn of_devices(rounds: &CaseRounds<'_>, run: &Run) -> Vec<Limit> {
    if rounds.case.nature != Nature::Storage || rounds.done.is_empty() {
        return Vec::new();
    }
    let named: Vec<&Named> = run.plan.measured().collect();
    // Which case works on what a single job names is not kept, so that it may be any of them.
    let own = (!named.iter().any(|named| named.stands_in)).then_some(&run.host.storage.devices);
    let chains = named.iter().map(|named| &named.devices).chain(own);
    let mut found: Vec<Limit> = Vec::new();
    for device in chains.filter_map(Fact::known).flatten() {
        let name = &device.name;
        let throttled = device.throttle.known().copied().flatten();
        let throttled = throttled.map(|throttle| Limit::Throttled {
            device: name.clone(),
            throttle,
        });
        let buffered = device.buffered.known() == Some(&true);
        let buffered = buffered.then(|| Limit::Buffered {
            device: name.clone(),
        });
        for limit in [throttled, buffered].into_iter().flatten() {
            if !found.contains(&limit) {
                found.push(limit);
            }
        }
    }
    found
}

/// What limited a case, as far as its figures say.
fn limits(rounds: &CaseRounds<'_>, host: &HostFacts) -> [Option<Limit>; 4] {
    let late = late(&rounds.done);
    if rounds.case.nature != Nature::Storage || rounds.done.is_empty() {
        return [None, late, None, None];
    }
    [cpu(rounds, host), late, cached(rounds), idle(rounds)]
}

/// What the workload noted in any round, each sentence once, in the order in which they first came.
fn noted(done: &[&Measured]) -> Vec<Warning> {
    let mut notes: Vec<&str> = Vec::new();
    for note in done.iter().flat_map(|measured| &measured.notes) {
        if !notes.contains(&note.as_str()) {
            notes.push(note);
        }
    }
    let warning = |note: &str| Warning::Other {
        what: note.to_owned(),
    };
    notes.into_iter().map(warning).collect()
}

/// Operations under way at the same time, of all copies.
fn in_flight(case: &PlannedCase) -> f64 {
    let each = case.load.as_ref().map_or(1, |load| load.depth);
    approx(each) * f64::from(case.id.copies)
}

fn cpu(rounds: &CaseRounds<'_>, host: &HostFacts) -> Option<Limit> {
    let case = rounds.case;
    // Without a device there is nothing else that could be the limit.
    case.acting(Role::DeviceBusy)?;
    let cpus = f64::from(scaling::Cpus::of(host).allowed.max(1));
    let at_most = f64::from(case.id.copies).min(cpus);
    let shares: Vec<f64> = rounds
        .done
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
    let late = measured.latencies.get(latency::LATE)?;
    let lat = measured
        .latencies
        .iter()
        .filter(|(name, _)| name.rsplit('_').next() == Some("lat"));
    let lat = latency::merged(lat.map(|(_, pairs)| pairs.as_slice()));
    let mean = |pairs| latency::mean(pairs).filter(|&ns| ns > 0.0);
    Some(mean(late)? / mean(&lat)?)
}

fn cached(rounds: &CaseRounds<'_>) -> Option<Limit> {
    let share = median_value(rounds, Role::Cached)?;
    let done = rounds.done.iter();
    let ops: Vec<f64> = done.map(|measured| operations(&measured.copies)).collect();
    // Operations under way when the measured part begins were fetched before it.
    let straddling = in_flight(rounds.case) / quantile::median(&ops)?.max(1.0);
    let direct = rounds.case.load.as_ref().is_some_and(|load| load.direct);
    (share > CACHED_MAX.max(straddling)).then_some(Limit::Cached { share, direct })
}

fn idle(rounds: &CaseRounds<'_>) -> Option<Limit> {
    let paced = rounds.case.load.as_ref().is_some_and(|load| load.paced);
    if in_flight(rounds.case) < 1.5 || paced {
        return None;
    }
    let busy_share = median_value(rounds, Role::DeviceBusy).filter(|&share| share < BUSY_MIN)?;
    Some(Limit::DeviceIdle { busy_share })
}
