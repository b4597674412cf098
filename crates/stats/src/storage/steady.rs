//! Whether a test that writes has reached a steady state, by SNIA's rule over the rounds of the run.
//!
//! Devices are fast while there are erased blocks or empty caches, and slow down as they fill. The rule looks at the
//! last five rounds, and only when the test file has been written twice: once before the first round, when it was
//! made, and once more by the tests of this run. What has not been written says nothing about the state, and that is
//! said instead. It is a rule for whole devices; on a file it speaks of the file.

use super::reported;
use crate::rounds::{CaseRounds, RunRounds, whole};
use crate::state::gate::{self, Gate};
use model::num::{approx, round_to_u64};
use model::plan::{PlannedCase, TestFile};
use model::record::Outcome;
use model::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// How often the file must have been written, its making included. Source: the method page, "Steady state".
const TIMES: u64 = 2;

/// What the rule says about a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Steady {
    /// The rule after the last round.
    #[serde(rename = "result")]
    pub gate: Gate,
    /// The round of this case, from 1, from which on the rule has been met until the end.
    #[serde(rename = "since_round")]
    pub since: Option<u32>,
    /// What had been written to the file when the last round ended, its making included.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// What must have been written: twice the file, or twice the largest that it may have had.
    #[serde(rename = "needed_bytes")]
    pub needed: Bytes,
}

/// Bytes written to each file up to each round, by the round's number in the run.
pub(super) type Written<'a> = BTreeMap<(&'a str, u32), u64>;

/// What the rounds of a run have written to their files. Tests may share a file.
pub(super) fn written<'a>(run: &RunRounds<'a>) -> Written<'a> {
    let mut so_far: BTreeMap<&str, f64> = BTreeMap::new();
    let mut written = Written::new();
    for round in &run.run.rounds {
        let case = run.case(&round.case).map(|rounds| rounds.case);
        let Some(file) = case.and_then(file) else {
            continue;
        };
        let sum = so_far.entry(&file.name).or_default();
        if let Outcome::Done(measured) = &round.outcome {
            *sum += reported(measured, "writes") * approx(file.block.0);
        }
        written.insert((&file.name, round.seq), round_to_u64(*sum));
    }
    written
}

fn file(case: &PlannedCase) -> Option<&TestFile> {
    case.load.as_ref()?.file.as_ref()
}

/// The rule for a case; `None` where it writes nothing or its file is not known.
pub(super) fn of_case(rounds: &CaseRounds<'_>, written: &Written<'_>) -> Option<Steady> {
    let case = rounds.case;
    let file = file(case)?;
    let size = file.size_max.0;
    let needed = Bytes(size.saturating_mul(TIMES));
    let quantity = &case.metrics.first()?.quantity;
    let mut values = Vec::new();
    let mut after = Vec::new();
    let mut writes = false;
    for (round, measured) in rounds.finished() {
        let Some(&value) = measured.values.get(quantity) else {
            continue;
        };
        writes |= reported(measured, "writes") > 0.0;
        values.push(value);
        let by_tests = written
            .get(&(file.name.as_str(), round.seq))
            .copied()
            .unwrap_or(0);
        after.push(Bytes(size.saturating_add(by_tests)));
    }
    if !writes {
        return None;
    }
    let gates: Vec<Gate> = (1..=values.len())
        .map(|n| gate::of(&values[..n], after[n - 1], needed))
        .collect();
    let shut = gates.iter().rposition(|gate| *gate != Gate::Open);
    let first_open = shut.map_or(0, |last| last + 1);
    Some(Steady {
        gate: gates.last().copied()?,
        since: (first_open < gates.len()).then(|| whole(first_open + 1)),
        written: after.last().copied()?,
        needed,
    })
}
