//! Metrics and estimates in documents.

use super::warning::{WarningPart, warning_part, warning_part_of_soak};
use super::word::{finite, state_word};
use crate::view::better_word;
use model::estimate::{Estimate, MetricSummary, NoiseShares, State};
use schemars::JsonSchema;
use serde::Serialize;

/// One quantity of a case and what is concluded about it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MetricPart {
    /// `TEST@CONCURRENCY:QUANTITY`.
    id: String,
    case: String,
    test: String,
    concurrency: u32,
    quantity: String,
    title: String,
    workload_version: u32,
    /// The base unit of every figure of this metric.
    #[schemars(extend("enum" = ["ops_per_s", "bytes_per_s", "ns", "bytes", "share", "number"]))]
    unit: &'static str,
    /// Which direction is good.
    #[schemars(extend("enum" = ["higher", "lower"]))]
    better: &'static str,
    #[serde(flatten)]
    value: EstimatePart,
    /// Why there is no estimate; null where there is one.
    missing: Option<String>,
    /// The slow end: the median over rounds of each round's 10th percentile window. Rates only.
    floor: Option<EstimatePart>,
    /// What the series of rounds looks like.
    #[schemars(extend("enum" = STATES))]
    state: &'static str,
    /// The figures of that state.
    state_figures: StatePart,
    /// The value of each round that has one, in the order in which they ran.
    rounds: Vec<f64>,
    /// In which share of the rounds each kind of noise was seen.
    noise: NoiseShares,
    /// What makes the figures doubtful.
    warnings: Vec<WarningPart>,
}

/// A value with its interval.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct EstimatePart {
    /// The median.
    estimate: Option<f64>,
    /// The lower end of the interval; null where the rounds allow none.
    lo: Option<f64>,
    /// The upper end.
    hi: Option<f64>,
    /// The nominal confidence of the interval, such as 0.95.
    confidence: Option<f64>,
    /// How many rounds (for an index: passes) stand behind it; 0 for what describes the set-up (`setting`).
    n: u32,
}

/// The words for what a series looks like.
pub(super) const STATES: [&str; 9] = [
    "unknown",
    "steady",
    "drifting",
    "possible_drift",
    "step",
    "two_state",
    "unstable",
    "series",
    "setting",
];

/// The figures of a state; null where the state has no such figure.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct StatePart {
    /// Last level over first, minus 1 (`drifting`, `possible_drift`, `step`).
    change: Option<f64>,
    /// Rounds before the step (`step`).
    after_rounds: Option<u32>,
    /// The lower level in the metric's unit (`two_state`).
    low: Option<f64>,
    /// The upper level in the metric's unit (`two_state`).
    high: Option<f64>,
    /// Share of rounds at the lower level (`two_state`).
    low_share: Option<f64>,
    /// Largest minus smallest round over the median (`unstable`).
    spread: Option<f64>,
}

/// Fills the part.
pub(super) fn metric_part(metric: &MetricSummary) -> MetricPart {
    MetricPart {
        id: metric.id.to_string(),
        case: metric.id.case.to_string(),
        test: metric.id.case.test.clone(),
        concurrency: metric.id.case.copies,
        quantity: metric.id.quantity.clone(),
        title: metric.title.clone(),
        workload_version: metric.workload_version,
        unit: metric.metric.unit.key(),
        better: better_word(metric.metric.better),
        value: estimate_part(metric.estimate.as_ref()),
        missing: missing(metric.estimate.as_ref(), metric.missing.as_deref()),
        floor: metric
            .floor
            .as_ref()
            .map(|floor| estimate_part(Some(floor))),
        state: state_word(&metric.state),
        state_figures: state_part(&metric.state),
        rounds: metric
            .rounds
            .iter()
            .copied()
            .filter(|x| x.is_finite())
            .collect(),
        noise: metric.noise,
        warnings: metric
            .warnings
            .iter()
            .map(if metric.state == State::Series {
                warning_part_of_soak
            } else {
                warning_part
            })
            .collect(),
    }
}

pub(super) fn estimate_part(estimate: Option<&Estimate>) -> EstimatePart {
    let interval = estimate.and_then(|estimate| estimate.interval);
    EstimatePart {
        estimate: estimate.and_then(|estimate| finite(estimate.value)),
        lo: interval.and_then(|interval| finite(interval.lo)),
        hi: interval.and_then(|interval| finite(interval.hi)),
        confidence: interval.and_then(|interval| finite(interval.confidence)),
        n: estimate.map_or(0, |estimate| estimate.n),
    }
}

/// Why there is no estimate; null exactly where there is one.
pub(super) fn missing(estimate: Option<&Estimate>, why: Option<&str>) -> Option<String> {
    match estimate {
        Some(estimate) if estimate.value.is_finite() => None,
        Some(_) => Some("the value is not a finite number".to_owned()),
        None => Some(why.unwrap_or("the reason was not recorded").to_owned()),
    }
}

pub(super) fn state_part(state: &State) -> StatePart {
    let none = StatePart::default();
    match *state {
        State::Unknown | State::Steady | State::Series | State::Setting { .. } => none,
        State::Drifting { change } | State::PossibleDrift { change } => StatePart {
            change: finite(change),
            ..none
        },
        State::Step { after, change } => StatePart {
            change: finite(change),
            after_rounds: Some(after),
            ..none
        },
        State::TwoState {
            low,
            high,
            low_share,
        } => StatePart {
            low: finite(low),
            high: finite(high),
            low_share: finite(low_share),
            ..none
        },
        State::Unstable { spread } => StatePart {
            spread: finite(spread),
            ..none
        },
    }
}
