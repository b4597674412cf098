//! Latency under load: what a load takes beside streams, of every case that tells how much load there was
//! ([`Role::Load`]).

use crate::quantile;
use model::estimate::MetricSummary;
use model::order::Order as _;
use model::plan::{CaseId, Plan};
use model::spec::Role;

/// What a load takes beside so many streams.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    /// The case.
    pub case: CaseId,
    /// What a load takes, in nanoseconds.
    pub ns: f64,
    /// What the streams read, in bytes per second; `None` without streams.
    pub load: Option<f64>,
}

/// What was measured of a plan, the least load first.
pub fn levels(plan: &Plan, metrics: &[MetricSummary]) -> Vec<Level> {
    let value = |case: &CaseId, quantity: &str| {
        let mut of_case = metrics.iter().filter(|metric| metric.id.case == *case);
        figure(of_case.find(|metric| metric.id.quantity == quantity)?)
    };
    let level = |case: &model::plan::PlannedCase| {
        let load = case.acting(Role::Load)?;
        Some(Level {
            case: case.id.clone(),
            ns: value(&case.id, &case.metrics.first()?.quantity)?,
            load: value(&case.id, &load.quantity),
        })
    };
    let mut levels: Vec<Level> = plan.cases.iter().filter_map(level).collect();
    let load = |level: &Level| level.load.unwrap_or(0.0);
    levels.order_by(|a, b| load(a).total_cmp(&load(b)));
    levels
}

/// The estimate, or the median of rounds that one number does not describe.
fn figure(metric: &MetricSummary) -> Option<f64> {
    let estimate = metric.estimate.map(|estimate| estimate.value);
    estimate.or_else(|| quantile::median(&metric.rounds))
}
