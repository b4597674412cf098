//! Reading rounds out of a run.

use model::plan::{CaseId, MetricId};
use model::record::{Measured, Outcome, Run};
use std::collections::BTreeMap;

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

/// Whether the rounds of both runs were measured in pairs.
pub(crate) fn paired(base: &Run, other: &Run) -> bool {
    match (&base.plan.duel, &other.plan.duel) {
        (Some(base), Some(other)) => base.id == other.id && base.side != other.side,
        _ => false,
    }
}

/// The metric's values on both sides in the passes in which both have one: base first.
pub(crate) fn pairs(base: &Run, other: &Run, id: &MetricId) -> Vec<(f64, f64)> {
    let by_pass = |run: &Run| -> BTreeMap<u32, f64> {
        run.rounds_of(&id.case)
            .filter_map(|round| match &round.outcome {
                Outcome::Done(measured) => Some((round.pass, *measured.values.get(&id.quantity)?)),
                Outcome::Failed(_) => None,
            })
            .collect()
    };
    let there = by_pass(other);
    by_pass(base)
        .into_iter()
        .filter_map(|(pass, value)| Some((value, *there.get(&pass)?)))
        .collect()
}

/// A number of rounds as the model counts them.
pub(crate) fn whole(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}
