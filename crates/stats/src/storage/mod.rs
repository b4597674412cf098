//! What a run says about storage beside its metrics: where latencies lie, how the rate goes on, whether it is steady,
//! whether a burst shows, what the first write of a place costs, and what else than the storage set the limit.
//!
//! Everything is read off the rounds that are kept. A run is short, so that some of it can only be a suspicion: a
//! bucket of credit is claimed by a soak alone, which rests and looks again. Cases are known by their quantities and
//! not by their workload, so that jobs of other programs are treated alike.

mod fall;
mod first;
mod limits;
mod shape;
mod steady;

pub use fall::{Fall, Load};
pub use first::FirstWrite;
pub use limits::remarks;
pub use shape::{Cause, LatencyShape, Of, PICTURE_COLUMNS, Picture, Together};
pub use steady::Steady;

use crate::quantile;
use crate::rounds::RunRounds;
use model::num::approx;
use model::params::ParamValue;
use model::plan::{CaseId, PlannedCase};
use model::record::{CopyRecord, Measured, Run};
use model::units::Unit;

/// What the storage tests of a run say.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageSummary {
    /// One entry for each storage case with a finished round, in the order of the plan.
    pub cases: Vec<StorageCase>,
    /// The load of all of them together: what a bucket of credit must hold at least where none was seen.
    pub load: Load,
}

/// One storage case.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageCase {
    /// Which.
    pub case: CaseId,
    /// The shapes of its latencies, those to be said first.
    pub latencies: Vec<LatencyShape>,
    /// Its rate over time.
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

/// The quantity by which a storage case is known.
const IOPS: &str = "iops";

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
        if !is_storage(case) || done.is_empty() {
            continue;
        }
        load.add(done);
        cases.push(StorageCase {
            case: case.id.clone(),
            latencies: shape::of_case(done),
            course: course(case, done),
            steady: steady::of_case(rounds, &written),
            fall: fall::of_case(case, done),
            first_write: first::of_case(case, done),
        });
    }
    (!cases.is_empty()).then_some(StorageSummary { cases, load })
}

/// Whether a case reads or writes storage.
pub(crate) fn is_storage(case: &PlannedCase) -> bool {
    has(case, IOPS) || first::is_first_write(case)
}

fn has(case: &PlannedCase, quantity: &str) -> bool {
    let mut metrics = case.metrics.iter();
    metrics.any(|metric| metric.quantity == quantity)
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

/// The median over the rounds of a value that some of them have.
fn median_value(done: &[&Measured], quantity: &str) -> Option<f64> {
    let values: Vec<f64> = done
        .iter()
        .filter_map(|measured| measured.values.get(quantity).copied())
        .collect();
    quantile::median(&values)
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

/// A whole number among the parameters.
fn whole_param(case: &PlannedCase, name: &str) -> Option<u64> {
    match case.params.get(name)? {
        ParamValue::Count(n) => Some(*n),
        ParamValue::Size(bytes) => Some(bytes.0),
        ParamValue::Duration(_) | ParamValue::Text(_) | ParamValue::Switch(_) => None,
    }
}

#[cfg(test)]
mod tests;
