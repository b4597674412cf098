//! What a run says about storage beside its metrics: where latencies lie, how the rate goes on, whether it is steady,
//! whether a burst shows, what the first write of a place costs, and what else than the storage set the limit.
//!
//! Everything is read off the rounds that are kept. A run is short, so that some of it can only be a suspicion: a
//! bucket of credit is claimed by a soak alone, which rests and looks again. Cases are known by what they declare to be
//! and to ask for, and not by their workload, so that jobs of other programs are treated alike.

mod fall;
mod first;
mod limits;
mod shape;
mod steady;

pub use fall::{Fall, Load};
pub use first::FirstWrite;
pub use limits::remarks;
pub(crate) use shape::leading_latency;
pub use shape::{Cause, LatencyShape, Of, PICTURE_COLUMNS, Picture, Together};
pub use steady::Steady;

use crate::quantile;
use crate::rounds::{CaseRounds, RunRounds};
use model::num::approx;
use model::plan::{CaseId, PlannedCase};
use model::record::{CopyRecord, Measured, Run};
use model::spec::{Nature, Role};
use model::units::Unit;
use schemars::JsonSchema;
use serde::Serialize;

/// What the storage tests of a run say.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StorageSummary {
    /// One entry for each storage case with a finished round, in the order of the plan.
    #[serde(skip)]
    pub cases: Vec<StorageCase>,
    /// The load of all of them together: what a bucket of credit must hold at least where none was seen.
    pub load: Load,
}

/// One storage case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct StorageCase {
    /// Which.
    pub case: CaseId,
    /// The shapes of its latencies, those to be said first.
    pub latencies: Vec<LatencyShape>,
    /// Its rate over time.
    #[serde(skip)]
    pub course: Course,
    /// Whether it is steady by the rule of preconditioning; `None` for cases that do not write a file laid out before.
    pub steady: Option<Steady>,
    /// A fall that may be the end of a burst.
    pub fall: Option<Fall>,
    /// What the first write of a place costs, where that is what the case measures.
    pub first_write: Option<FirstWrite>,
}

/// The rate of a case over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Course {
    /// The quantity of the windows.
    pub quantity: String,
    /// Their unit.
    pub unit: Unit,
    /// The windows of each finished round, in the order in which they ran; rounds without windows are left out.
    pub rounds: Vec<Vec<f64>>,
}

/// What the storage tests of `run` say; `None` where it has none. A soak has a course of its own and is left out.
pub fn summarize(run: &Run) -> Option<StorageSummary> {
    if run.plan.soak.is_some() {
        return None;
    }
    let rounds = RunRounds::of(run);
    let written = steady::written(&rounds);
    let mut load = Load::default();
    let mut cases = Vec::new();
    for rounds in rounds.cases() {
        let (case, done) = (rounds.case, &rounds.done);
        if case.nature != Nature::Storage || done.is_empty() {
            continue;
        }
        load.add(done);
        cases.push(StorageCase {
            case: case.id.clone(),
            latencies: shape::of_case(rounds),
            course: course(case, done),
            steady: steady::of_case(rounds, &written),
            fall: fall::of_case(case, done),
            first_write: first::of_case(case, done),
        });
    }
    (!cases.is_empty()).then_some(StorageSummary { cases, load })
}

fn course(case: &PlannedCase, done: &[&Measured]) -> Course {
    let leading = case.metrics.first();
    let windows = done.iter().map(|measured| measured.windows.clone());
    Course {
        quantity: leading.map_or_else(String::new, |metric| metric.quantity.clone()),
        unit: leading.map_or(Unit::OpsPerSecond, |metric| metric.unit),
        rounds: windows.filter(|windows| !windows.is_empty()).collect(),
    }
}

/// The median over the rounds of the case's metric in this role, where it has one and some of them have a value.
fn median_value(rounds: &CaseRounds<'_>, role: Role) -> Option<f64> {
    let metric = rounds.case.acting(role)?;
    let values = rounds.values(&metric.quantity).map(|(_, value)| value);
    quantile::median(&values.collect::<Vec<f64>>())
}

/// An amount that the copies report, all together; 0 where none does.
fn reported(measured: &Measured, name: &str) -> f64 {
    let amounts = measured
        .copies
        .iter()
        .filter_map(|copy| copy.reported.get(name));
    amounts.sum()
}

/// Operations of all copies.
fn operations(copies: &[CopyRecord]) -> f64 {
    copies.iter().map(|copy| approx(copy.ops)).sum()
}

#[cfg(test)]
mod tests;
