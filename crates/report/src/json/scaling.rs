//! How tests scale, and the clock rate, in documents.

use super::metric::{EstimatePart, estimate_part};
use super::word::finite;
use model::estimate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use stats::scaling::{ClockRate, Finding, Refused, Scaling, Step};

/// How one test does at several concurrencies.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScalingPart {
    test: String,
    /// The rate that is meant.
    quantity: String,
    /// Logical CPUs that may be used.
    cpus_allowed: u32,
    /// CPUs that a quota allows at the same time; null where it allows all.
    quota_cpus: Option<f64>,
    /// One entry for each concurrency, ascending.
    steps: Vec<StepPart>,
    /// What is concluded.
    #[schemars(extend("enum" = [
        "one_cpu", "scales", "shared_cores", "quota", "stolen", "foreign", "shared_resource", "waits", "falls", "unclear"
    ]))]
    finding: &'static str,
    /// The serial share (sigma) of the Universal Scalability Law; null where it was not fitted.
    serial_share: Option<EstimatePart>,
    /// The cost of each pair of copies (kappa).
    pair_cost: Option<EstimatePart>,
    /// The concurrency at which the law peaks; null without a sure peak.
    peak_concurrency: Option<f64>,
    /// The largest concurrency that was fitted.
    fitted_up_to: Option<u32>,
    /// How many concurrencies were fitted; three cannot contradict the law.
    fitted_steps: Option<u32>,
    /// Why nothing was fitted: `too_few_steps`, `too_few_passes`, `does_not_describe`.
    fit_refused: Option<&'static str>,
    /// What all hardware threads do over one copy per core, minus 1.
    second_thread_gain: Option<EstimatePart>,
}

/// One concurrency.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StepPart {
    concurrency: u32,
    /// True for more copies than CPUs that may be used.
    oversubscribed: bool,
    /// The rate over that of one copy, within passes.
    speedup: Option<EstimatePart>,
    /// The speed-up over copies, or over CPUs where those are fewer.
    efficiency: Option<EstimatePart>,
    /// Work per CPU second over that of one copy.
    cpu_second_worth: Option<EstimatePart>,
    /// The mean time of an event, in nanoseconds, median of the rounds; null where the test does not tell it.
    event_mean_ns: Option<EstimatePart>,
    /// The 95th percentile of the times of events, likewise.
    event_p95_ns: Option<EstimatePart>,
    /// Share of the wall time on a CPU, median.
    on_cpu_share: Option<f64>,
    /// Share of the demanded time that the host took away, median.
    steal_share: Option<f64>,
    /// CPU time of other processes, as a share of one CPU, median.
    foreign_cpu_share: Option<f64>,
    /// Time held back by a quota over wall time, median.
    throttled_share: Option<f64>,
}

/// The clock rate that probes before and after the rounds saw.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ClockRatePart {
    /// The 5th percentile.
    lo_hz: f64,
    median_hz: f64,
    /// The 95th percentile.
    hi_hz: f64,
    probes: u32,
}

/// Fills the part.
pub(super) fn scaling_part(scaling: &Scaling) -> ScalingPart {
    let fit = scaling.fit.as_ref().ok();
    ScalingPart {
        test: scaling.test.clone(),
        quantity: scaling.metric.quantity.clone(),
        cpus_allowed: scaling.cpus.allowed,
        quota_cpus: scaling.cpus.quota.and_then(finite),
        steps: scaling.steps.iter().map(step_part).collect(),
        finding: finding_word(&scaling.finding),
        serial_share: part(fit.map(|fit| fit.sigma)),
        pair_cost: part(fit.map(|fit| fit.kappa)),
        peak_concurrency: fit.and_then(|fit| fit.peak).and_then(finite),
        fitted_up_to: fit.map(|fit| fit.up_to),
        fitted_steps: fit.map(|fit| fit.steps),
        fit_refused: scaling.fit.as_ref().err().map(|refused| match refused {
            Refused::TooFewSteps { .. } => "too_few_steps",
            Refused::TooFewPasses { .. } => "too_few_passes",
            Refused::DoesNotDescribe { .. } => "does_not_describe",
        }),
        second_thread_gain: part(scaling.second_thread),
    }
}

fn step_part(step: &Step) -> StepPart {
    StepPart {
        concurrency: step.copies,
        oversubscribed: step.oversubscribed,
        speedup: part(step.speedup),
        efficiency: part(step.efficiency),
        cpu_second_worth: part(step.cpu_worth),
        event_mean_ns: part(step.event_mean),
        event_p95_ns: part(step.event_p95),
        on_cpu_share: step.on_cpu.and_then(finite),
        steal_share: step.steal.and_then(finite),
        foreign_cpu_share: step.foreign.and_then(finite),
        throttled_share: step.throttled.and_then(finite),
    }
}

fn part(estimate: Option<Estimate>) -> Option<EstimatePart> {
    estimate.map(|estimate| estimate_part(Some(&estimate)))
}

const fn finding_word(finding: &Finding) -> &'static str {
    match finding {
        Finding::OneCpu => "one_cpu",
        Finding::Scales => "scales",
        Finding::SharedCores => "shared_cores",
        Finding::Quota { .. } => "quota",
        Finding::Stolen { .. } => "stolen",
        Finding::Foreign { .. } => "foreign",
        Finding::SharedResource { .. } => "shared_resource",
        Finding::Waits { .. } => "waits",
        Finding::Falls { .. } => "falls",
        Finding::Unclear => "unclear",
    }
}

/// Fills the part.
pub(super) fn clock_rate_part(rate: &ClockRate) -> Option<ClockRatePart> {
    Some(ClockRatePart {
        lo_hz: finite(rate.lo)?,
        median_hz: finite(rate.median)?,
        hi_hz: finite(rate.hi)?,
        probes: rate.probes,
    })
}
