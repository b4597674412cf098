//! Reading rounds out of a run.

use model::plan::{CaseId, MetricId};
use model::record::{Measured, Outcome, Run};

/// What the finished rounds of `case` measured, in the order in which they ran.
pub fn done<'a>(run: &'a Run, case: &'a CaseId) -> Vec<&'a Measured> {
    run.rounds_of(case)
        .filter_map(|round| match &round.outcome {
            Outcome::Done(measured) => Some(measured),
            Outcome::Failed(_) => None,
        })
        .collect()
}

/// The metric's value in each finished round that has one, in the order in which they ran; it need not be finite.
pub fn values(run: &Run, id: &MetricId) -> Vec<f64> {
    done(run, &id.case)
        .into_iter()
        .filter_map(|measured| measured.values.get(&id.quantity).copied())
        .collect()
}

/// A number of rounds as the model counts them.
pub(crate) fn whole(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
