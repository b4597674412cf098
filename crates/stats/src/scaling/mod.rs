//! Does it scale? What more copies of a test do together, step by step.
//!
//! Ratios to one copy are taken within each pass and their interval over the passes, so that what slowed the whole
//! machine down in a pass does not widen them. The fit is made per pass too. Steps above the usable CPUs are shown
//! and never fitted: there copies take turns, which is the scheduler's law and not the program's.
//!
//! The words and thresholds are on docs/method/cpu.md.

mod finding;
pub mod usl;

pub use finding::{Finding, SCALES_MIN};
use model::order::{Keyed as _, Order as _};

use crate::rounds::{CaseRounds, RunRounds, whole};
use crate::thresholds::{CONFIDENCE, ROUNDS_MIN};
use crate::{composite, order, quantile};
use model::document::in_document;
use model::estimate::{Estimate, Interval};
use model::host::HostFacts;
use model::noise::Noise;
use model::num::{approx, count};
use model::plan::{CaseId, PlannedMetric};
use model::record::{Measured, Run};
use model::spec::{Better, Nature};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use usl::Law;

/// Distinct concurrencies that a fit of three unknowns needs.
pub const STEPS_MIN: usize = 3;

/// How far a step may be from the fitted law, as a share, before the law does not describe the data. Below it are the
/// usual effects that the law does not know: clock rates that fall with the number of busy cores, turbo bins.
pub const DESCRIBES_MAX: f64 = 0.05;

/// The quantity of the average time of an event.
pub const EVENT_MEAN: &str = "lat_ns_mean";

/// The quantity of the time that 95 % of the events did not exceed.
pub const EVENT_P95: &str = "lat_ns_p95";

/// How one test does at several concurrencies.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scaling {
    /// The test.
    pub test: String,
    /// Its leading rate.
    #[serde(skip)]
    pub metric: PlannedMetric,
    /// The steps by concurrency; the first is one copy.
    pub steps: Vec<Step>,
    /// CPUs that may be used at the same time.
    pub cpus: Cpus,
    /// The fitted law.
    #[serde(serialize_with = "in_document::<_, Told, _>")]
    #[schemars(with = "Told")]
    pub fit: Result<Fit, Refused>,
    /// What all hardware threads do over what as many copies as cores do, minus 1; where the machine has several
    /// threads a core and both were measured.
    #[serde(rename = "second_thread_gain")]
    pub second_thread: Option<Estimate>,
    /// What is concluded.
    #[serde(flatten)]
    pub finding: Finding,
}

/// What of the machine is there for the copies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Cpus {
    /// Logical CPUs that may be used.
    pub allowed: u32,
    /// Of them at the same time, where a quota allows less than all.
    pub quota: Option<f64>,
    /// Cores behind them, where those are known to have several threads and all of them may be used.
    pub smt_cores: Option<u32>,
}

/// One concurrency.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// Copies.
    #[serde(rename = "concurrency")]
    pub copies: u32,
    /// True for more copies than CPUs that may be used.
    pub oversubscribed: bool,
    /// The rate of all copies together.
    pub rate: Option<Estimate>,
    /// The rate over that of one copy.
    pub speedup: Option<Estimate>,
    /// The speed-up over copies, or over CPUs where those are fewer: 1 is perfect.
    pub efficiency: Option<Estimate>,
    /// Work per CPU second, over that of one copy: below 1 where copies slow each other down while they run.
    #[serde(rename = "cpu_second_worth")]
    pub cpu_worth: Option<Estimate>,
    /// The mean time of an event, in nanoseconds, where the test tells it.
    #[serde(rename = "event_mean_ns")]
    pub event_mean: Option<Estimate>,
    /// The 95th percentile of the times of events, likewise.
    #[serde(rename = "event_p95_ns")]
    pub event_p95: Option<Estimate>,
    /// Share of the wall time in which the copies were on a CPU, 0 to 1; median over the rounds.
    #[serde(rename = "on_cpu_share")]
    pub on_cpu: Option<f64>,
    /// Share of the demanded time that the host took away; median over the rounds.
    #[serde(rename = "steal_share")]
    pub steal: Option<f64>,
    /// CPU time of other processes of this machine, as a share of one CPU; median over the rounds.
    #[serde(rename = "foreign_cpu_share")]
    pub foreign: Option<f64>,
    /// Time held back by a quota over wall time; median over the rounds.
    #[serde(rename = "throttled_share")]
    pub throttled: Option<f64>,
}

/// The law, with intervals over the passes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Fit {
    /// The serial share; never below 0.
    #[serde(rename = "serial_share")]
    pub sigma: Estimate,
    /// The cost of each pair of copies; never below 0.
    #[serde(rename = "pair_cost")]
    pub kappa: Estimate,
    /// How many copies do most together, where the cost of pairs is sure to be above 0.
    #[serde(rename = "peak_concurrency")]
    pub peak: Option<f64>,
    /// Up to how many copies were fitted: all usable CPUs, or one copy per core where threads of a core bend the curve.
    pub up_to: u32,
    /// Distinct concurrencies fitted. Three are always met exactly, so that only a fourth can contradict.
    pub steps: u32,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "refused", rename_all = "snake_case")]
pub enum Refused {
    /// Fewer distinct concurrencies within the usable CPUs than unknowns.
    TooFewSteps {
        /// How many there are.
        have: u32,
    },
    /// Fewer passes with every step than an interval needs.
    TooFewPasses {
        /// How many there are.
        have: u32,
    },
    /// A step is further from the law than [`DESCRIBES_MAX`] and its own interval.
    DoesNotDescribe {
        /// The step.
        copies: u32,
        /// Measured over fitted, minus 1.
        off: f64,
    },
}

/// The fit in a document, or why there is none.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
enum Told {
    Fit(Fit),
    Refused(Refused),
}

impl From<Result<Fit, Refused>> for Told {
    fn from(fit: Result<Fit, Refused>) -> Self {
        fit.map_or_else(Self::Refused, Self::Fit)
    }
}

/// Every test of `run` that was measured at one copy and at other concurrencies, where the run asks how it scales: at
/// least three concurrencies, or more copies than CPUs. Of what another program measured, how many CPUs there were is
/// not known.
pub fn scaling(run: &Run) -> Vec<Scaling> {
    if run.meta.origin.is_some() {
        return Vec::new();
    }
    let rounds = RunRounds::of(run);
    let mut tests: Vec<&str> = Vec::new();
    let mut cases: HashMap<&str, Vec<&CaseRounds<'_>>> = HashMap::new();
    for case in rounds.cases() {
        let test = case.case.id.test.as_str();
        let of_test = cases.entry(test).or_default();
        if of_test.is_empty() {
            tests.push(test);
        }
        of_test.push(case);
    }
    tests
        .into_iter()
        .filter_map(|test| of_test(&run.host, cases.remove(test)?))
        .collect()
}

/// Work per CPU second of a case over that of one copy of the same test, within passes; `None` where either was not
/// measured.
pub(crate) fn cpu_worth(rounds: &CaseRounds<'_>, run: &RunRounds<'_>) -> Option<Estimate> {
    let alone = run.case(&CaseId {
        copies: 1,
        ..rounds.case.id.clone()
    })?;
    composite::estimate(&ratios(&per_cpu_s(rounds), &per_cpu_s(alone)))
}

impl Cpus {
    /// Reads them off the host's facts.
    pub fn of(host: &HostFacts) -> Self {
        let allowed = host
            .limits
            .cpus_allowed
            .known()
            .copied()
            .unwrap_or(1)
            .max(1);
        let quota = host.limits.cpu_quota.known().copied().flatten();
        let smt = host.cpu.threads_per_core.known().is_some_and(|&n| n > 1);
        let all = host.cpu.online.known() == Some(&allowed);
        Self {
            allowed,
            quota: quota.filter(|&quota| quota < f64::from(allowed)),
            smt_cores: host
                .cpu
                .cores
                .known()
                .copied()
                .filter(|&cores| smt && all && cores < allowed),
        }
    }
}

/// How the test of these cases scales.
fn of_test(host: &HostFacts, mut cases: Vec<&CaseRounds<'_>>) -> Option<Scaling> {
    cases.order_by_key(|rounds| rounds.case.id.copies);
    let (alone, most) = (*cases.first()?, cases.last()?.case.id.copies);
    let usable = host.limits.copies_all();
    // 64 processes on a disk ask what the disk does with many, not what CPUs do.
    let beyond = most > usable && alone.case.nature != Nature::Storage;
    let asked = cases.len() >= STEPS_MIN || beyond;
    // 1, 16 and 50 connections on two CPUs: nothing says what the second CPU is worth.
    let is_within = |case: &&CaseRounds<'_>| (2..=usable).contains(&case.case.id.copies);
    let says_nothing = usable > 1 && !cases.iter().any(is_within);
    if !asked || says_nothing || cases.len() < 2 || alone.case.id.copies != 1 {
        return None;
    }
    let metric = alone
        .case
        .metrics
        .iter()
        .find(|metric| is_rate(metric) && !is_nothing(alone, &metric.quantity))?
        .clone();
    let cpus = Cpus::of(host);
    let per_step: Vec<PerPass> = cases
        .iter()
        .map(|rounds| PerPass::of(rounds, &metric.quantity))
        .collect();
    let one = per_step.first()?;
    let steps: Vec<Step> = per_step
        .iter()
        .zip(&cases)
        .map(|(step, rounds)| step.against(one, rounds, cpus, usable))
        .collect();
    let second_thread = second_thread(&per_step, cpus);
    Some(Scaling {
        test: alone.case.id.test.clone(),
        finding: finding::of(&steps, cpus, second_thread, alone.case.shape.threads),
        fit: fitted(&per_step, &steps, cpus, usable),
        metric,
        steps,
        cpus,
        second_thread,
    })
}

fn is_rate(metric: &PlannedMetric) -> bool {
    metric.better == Better::Higher && metric.unit.is_rate()
}

/// Whether one copy was measured and did none of it, such as the load beside a chain that is alone: nothing can be
/// held against that.
fn is_nothing(one: &CaseRounds<'_>, quantity: &str) -> bool {
    let mut values = one.pass_values(quantity).into_values();
    !one.done.is_empty() && !values.any(|value| value > 0.0)
}

/// What one concurrency did in each pass.
struct PerPass {
    copies: u32,
    rate: BTreeMap<u32, f64>,
    per_cpu_s: BTreeMap<u32, f64>,
}

impl PerPass {
    fn of(rounds: &CaseRounds<'_>, quantity: &str) -> Self {
        Self {
            copies: rounds.case.id.copies,
            rate: rounds.pass_values(quantity),
            per_cpu_s: per_cpu_s(rounds),
        }
    }

    fn against(&self, one: &Self, rounds: &CaseRounds<'_>, cpus: Cpus, usable: u32) -> Step {
        let copies = self.copies;
        let each = rounds.case.cpus_of_each();
        let on_cpu = rounds.done.iter().filter_map(|m| on_cpu(m, each));
        let on_cpu: Vec<f64> = on_cpu.collect();
        let over_passes = |quantity| {
            let values = rounds.pass_values(quantity).into_values();
            composite::estimate(&values.collect::<Vec<f64>>())
        };
        let noise = |share: fn(&Noise) -> Option<f64>| {
            let shares = rounds.all.iter().filter_map(|round| share(&round.noise));
            quantile::median(&shares.collect::<Vec<f64>>())
        };
        let speedup = composite::estimate(&ratios(&self.rate, &one.rate));
        let rates: Vec<f64> = self.rate.values().copied().collect();
        Step {
            copies,
            oversubscribed: copies > usable,
            event_mean: over_passes(EVENT_MEAN),
            event_p95: over_passes(EVENT_P95),
            rate: composite::estimate(&rates),
            efficiency: speedup.map(|speedup| divided(speedup, copies.min(cpus.allowed))),
            speedup,
            cpu_worth: composite::estimate(&ratios(&self.per_cpu_s, &one.per_cpu_s)),
            on_cpu: quantile::median(&on_cpu),
            steal: noise(|noise| noise.steal_share),
            foreign: noise(|noise| noise.foreign_cpu_share),
            throttled: noise(|noise| noise.throttled_share),
        }
    }
}

/// `other / base` in each pass in which both are positive.
fn ratios(other: &BTreeMap<u32, f64>, base: &BTreeMap<u32, f64>) -> Vec<f64> {
    other
        .iter()
        .filter_map(|(pass, &value)| Some((value, *base.get(pass)?)))
        .filter(|&(value, base)| value > 0.0 && base > 0.0)
        .map(|(value, base)| value / base)
        .collect()
}

fn divided(estimate: Estimate, by: u32) -> Estimate {
    mapped(estimate, |x| x / f64::from(by.max(1)))
}

/// The estimate with a rising function of its figures.
fn mapped(estimate: Estimate, f: impl Fn(f64) -> f64) -> Estimate {
    Estimate {
        value: f(estimate.value),
        interval: estimate.interval.map(|interval| Interval {
            lo: f(interval.lo),
            hi: f(interval.hi),
            ..interval
        }),
        n: estimate.n,
    }
}

/// CPU time of all copies over their wall time, 0 to 1, where `each` record is of so many; `None` where the kernel
/// counted none.
fn on_cpu(measured: &Measured, each: u32) -> Option<f64> {
    let used: u64 = measured.copies.iter().map(|c| c.user.0 + c.system.0).sum();
    let wall: u64 = measured.copies.iter().map(|c| c.wall.0).sum();
    (used > 0 && wall > 0).then(|| approx(used) / approx(wall) / f64::from(each.max(1)))
}

/// Work over CPU time in each pass.
fn per_cpu_s(rounds: &CaseRounds<'_>) -> BTreeMap<u32, f64> {
    let of_round = |measured: &Measured| {
        let used: u64 = measured.copies.iter().map(|c| c.user.0 + c.system.0).sum();
        let work: f64 = measured.copies.iter().map(|c| c.work).sum();
        (used > 0 && work > 0.0).then(|| work / approx(used))
    };
    rounds
        .finished()
        .filter_map(|(round, measured)| Some((round.pass, of_round(measured)?)))
        .into_map()
}

fn second_thread(steps: &[PerPass], cpus: Cpus) -> Option<Estimate> {
    let at = |copies: u32| steps.iter().find(|step| step.copies == copies);
    let (cores, threads) = (at(cpus.smt_cores?)?, at(cpus.allowed)?);
    let gain = composite::estimate(&ratios(&threads.rate, &cores.rate))?;
    Some(mapped(gain, |ratio| ratio - 1.0))
}

/// The fit over all usable CPUs; where that does not describe the data and threads share cores, over the cores alone.
fn fitted(per_step: &[PerPass], steps: &[Step], cpus: Cpus, usable: u32) -> Result<Fit, Refused> {
    let whole = fit_up_to(per_step, steps, usable);
    match (whole, cpus.smt_cores) {
        (Err(Refused::DoesNotDescribe { .. }), Some(cores)) if cores < usable => {
            fit_up_to(per_step, steps, cores).or(whole)
        }
        _ => whole,
    }
}

fn fit_up_to(per_step: &[PerPass], steps: &[Step], up_to: u32) -> Result<Fit, Refused> {
    let within: Vec<&PerPass> = per_step
        .iter()
        .filter(|step| step.copies <= up_to && !step.rate.is_empty())
        .collect();
    if within.len() < STEPS_MIN {
        return Err(Refused::TooFewSteps {
            have: whole(within.len()),
        });
    }
    let passes: Vec<u32> = within.first().map_or_else(Vec::new, |first| {
        let everywhere = |pass: &&u32| within.iter().all(|step| step.rate.contains_key(pass));
        first.rate.keys().filter(everywhere).copied().collect()
    });
    let laws: Vec<Law> = passes
        .iter()
        .filter_map(|pass| usl::free(&points_of(&within, *pass)))
        .collect();
    if whole(laws.len()) < ROUNDS_MIN {
        return Err(Refused::TooFewPasses {
            have: whole(laws.len()),
        });
    }
    describes(steps, up_to)?;
    let figure = |f: fn(&Law) -> f64| not_negative(&laws.iter().map(f).collect::<Vec<_>>());
    let (sigma, kappa) = (figure(|law| law.sigma), figure(|law| law.kappa));
    let sure = kappa.interval.is_some_and(|interval| interval.lo > 0.0);
    let law = Law {
        one: 1.0,
        sigma: sigma.value,
        kappa: kappa.value,
    };
    Ok(Fit {
        sigma,
        kappa,
        peak: law.peak().filter(|_| sure),
        up_to: within.last().map_or(1, |step| step.copies),
        steps: whole(within.len()),
    })
}

fn points_of(within: &[&PerPass], pass: u32) -> Vec<(u32, f64)> {
    within
        .iter()
        .filter_map(|step| Some((step.copies, *step.rate.get(&pass)?)))
        .collect()
}

/// Whether the law with figures that make sense comes close to every step: to within [`DESCRIBES_MAX`] or the
/// half-width of the step's own interval.
fn describes(steps: &[Step], up_to: u32) -> Result<(), Refused> {
    let within: Vec<(u32, Estimate)> = steps
        .iter()
        .filter(|step| step.copies <= up_to)
        .filter_map(|step| Some((step.copies, step.speedup?)))
        .collect();
    let points: Vec<(u32, f64)> = within.iter().map(|&(n, s)| (n, s.value)).collect();
    let refused = || Refused::TooFewSteps {
        have: whole(points.len()),
    };
    let law = usl::bounded(&points).ok_or_else(refused)?;
    for (copies, speedup) in within {
        let off = speedup.value / law.rate(copies) - 1.0;
        let own = speedup
            .interval
            .and_then(|interval| interval.relative_half_width(speedup.value));
        if off.abs() > DESCRIBES_MAX.max(own.unwrap_or(0.0)) {
            return Err(Refused::DoesNotDescribe { copies, off });
        }
    }
    Ok(())
}

/// The median of a figure over the passes with its interval, cut off at 0: below is no law, only noise.
fn not_negative(values: &[f64]) -> Estimate {
    let interval = order::median_interval(values, CONFIDENCE);
    let estimate = Estimate {
        value: quantile::median(values).unwrap_or(f64::NAN),
        interval,
        n: whole(values.len()),
    };
    mapped(estimate, |x| x.max(0.0))
}

/// The range of the clock rate that the probes before and after the rounds saw, in Hz.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClockRate {
    /// The 5th percentile of the probes.
    #[serde(rename = "lo_hz")]
    pub lo: f64,
    /// The median.
    #[serde(rename = "median_hz")]
    pub median: f64,
    /// The 95th percentile.
    #[serde(rename = "hi_hz")]
    pub hi: f64,
    /// How many probes.
    pub probes: u32,
}

/// The clock rate while the run was measured: a chain of dependent additions does one a cycle. `None` without probes.
/// The outer twentieths are left out: a probe that was interrupted looks slow.
pub fn clock_rate(run: &Run) -> Option<ClockRate> {
    let rates: Vec<f64> = run
        .rounds
        .iter()
        .flat_map(|round| round.noise.before.iter().chain(&round.noise.after))
        .filter(|probe| probe.add_ns > 0.0)
        .map(|probe| 1e9 / probe.add_ns)
        .collect();
    let sorted = quantile::sorted(&rates);
    let last = count(sorted.len().checked_sub(1)?);
    let at = |share: f64| sorted[model::num::round_to_usize(last * share)];
    Some(ClockRate {
        lo: at(0.05),
        median: quantile::median(&rates)?,
        hi: at(0.95),
        probes: whole(rates.len()),
    })
}

#[cfg(test)]
mod tests;
