//! Rounds without a value, in documents of runs and of duels.

use model::record::{Outcome, Run};
use schemars::JsonSchema;
use serde::Serialize;

/// A round without a value.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FailedRoundPart {
    case: String,
    pass: u32,
    /// Its position in the run, from 1.
    seq: u32,
    reason: String,
}

/// Every round of a run that failed.
pub(super) fn failed_rounds(run: &Run) -> Vec<FailedRoundPart> {
    run.rounds
        .iter()
        .filter_map(|round| match &round.outcome {
            Outcome::Done(_) => None,
            Outcome::Failed(failure) => Some(FailedRoundPart {
                case: round.case.to_string(),
                pass: round.pass,
                seq: round.seq,
                reason: failure.to_string(),
            }),
        })
        .collect()
}
