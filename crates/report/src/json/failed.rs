//! Rounds without a value, in documents of runs and of duels.

use model::plan::CaseId;
use model::record::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A round without a value.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FailedRoundPart<'a> {
    case: &'a CaseId,
    pass: u32,
    /// Its position in the run, from 1.
    seq: u32,
    reason: String,
    /// What it had come to when it failed, by quantity, where that is known: it is no sample, and in no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    until_then: Option<&'a BTreeMap<String, f64>>,
}

/// Every round of a run that failed.
pub(super) fn failed_rounds(run: &Run) -> Vec<FailedRoundPart<'_>> {
    let rounds = run.rounds.iter();
    let parts = rounds.filter_map(|round| {
        Some(FailedRoundPart {
            case: &round.case,
            pass: round.pass,
            seq: round.seq,
            reason: round.failure()?.to_string(),
            until_then: round.partial.as_ref().map(|told| &told.values),
        })
    });
    parts.collect()
}
