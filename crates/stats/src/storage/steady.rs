//! Whether a test that writes has reached a steady state, by SNIA's rule over the rounds of the run.
//!
//! Devices are fast while there are erased blocks or empty caches, and slow down as they fill. The rule looks at the
//! last five rounds, and only when the test file has been written twice: once before the first round, when it was
//! made, and once more by the tests of this run. What has not been written says nothing about the state, and that is
//! said instead. It is a rule for whole devices; on a file it speaks of the file.

use super::{reported, whole_param};
use crate::rounds::{CaseRounds, RunRounds, whole};
use crate::state::gate::{self, Gate};
use model::num::{approx, round_to_u64};
use model::params::ParamValue;
use model::plan::PlannedCase;
use model::record::Outcome;
use model::units::Bytes;
use std::collections::BTreeMap;

/// The largest file that is chosen where no size is asked for (`storage.io`: twice the memory, from 1 to 2 GiB).
const SIZE_AUTO_MAX: u64 = 2 << 30;
/// How often the file must have been written, its making included. Source: the method page, "Steady state".
const TIMES: u64 = 2;

/// What the rule says about a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// The rule after the last round.
    pub gate: Gate,
    /// The round of this case, from 1, from which on the rule has been met until the end.
    pub since: Option<u32>,
    /// What had been written to the file when the last round ended, its making included.
    pub written: Bytes,
    /// What must have been written: twice the file, or twice the largest that it may have had.
    pub needed: Bytes,
}

/// Bytes written to each file up to each round, by the round's number in the run.
pub(super) type Written = BTreeMap<(String, u32), u64>;

/// What the rounds of a run have written to their files. Tests share a file where they ask for the same size.
pub(super) fn written(run: &RunRounds<'_>) -> Written {
    let mut so_far: BTreeMap<String, f64> = BTreeMap::new();
    let mut written = Written::new();
    for round in &run.run.rounds {
        let case = run.case(&round.case).map(|rounds| rounds.case);
        let Some((file, block)) = case.and_then(|case| Some((file(case)?, block(case)?))) else {
            continue;
        };
        let sum = so_far.entry(file.clone()).or_default();
        if let Outcome::Done(measured) = &round.outcome {
            *sum += reported(measured, "writes") * block;
        }
        written.insert((file, round.seq), round_to_u64(*sum));
    }
    written
}

/// What tells one test file from another; `None` for a case without a file of a declared size.
fn file(case: &PlannedCase) -> Option<String> {
    let gives_back =
        matches!(case.params.get("rw"), Some(ParamValue::Text(rw)) if rw.contains("trim"));
    let param = |name: &str| {
        case.params
            .get(name)
            .map(ToString::to_string)
            .unwrap_or_default()
    };
    let content = [
        param("buffer_compress_percentage"),
        param("dedupe_percentage"),
    ]
    .join(" ");
    let size = whole_param(case, "size")?;
    (!gives_back).then(|| format!("{size} {content}"))
}

fn block(case: &PlannedCase) -> Option<f64> {
    whole_param(case, "bs").map(approx)
}

/// The rule for a case; `None` where it writes nothing or its file is not known.
pub(super) fn of_case(rounds: &CaseRounds<'_>, written: &Written) -> Option<Steady> {
    let case = rounds.case;
    let file = file(case)?;
    let size = whole_param(case, "size")
        .filter(|&size| size > 0)
        .unwrap_or(SIZE_AUTO_MAX);
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
            .get(&(file.clone(), round.seq))
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
