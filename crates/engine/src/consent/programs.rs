//! Programs that jobs execute: only where the user has said on the command line that they may.

use super::{Consent, Refusal};
use crate::workload::Workload;
use model::plan::{Plan, PlannedCase};

/// Every job of the plans that executes a program, with the program.
pub(super) fn programs(
    plans: &[&Plan],
    find: fn(&str) -> Option<&'static dyn Workload>,
) -> Vec<(String, String)> {
    let cases = plans.iter().flat_map(|plan| &plan.cases);
    let of = |case: &PlannedCase| Some(find(&case.workload)?.programs(&case.params));
    cases.filter_map(of).flatten().collect()
}

/// Whether there is anything to execute, given as jobs with their programs; refused where the user has not said that it
/// may be.
pub fn may_execute(programs: &[(String, String)], consent: &Consent) -> Result<bool, Refusal> {
    match programs.first() {
        Some((job, program)) if !consent.executes => Err(Refusal::NotAllowed {
            job: job.clone(),
            program: program.clone(),
        }),
        first => Ok(first.is_some()),
    }
}
