//! Cases that take something from others: those come into the plan, before the ones that need them.

use super::{Catalog, Choice, PlanError, Request, leave_out, sets};
use crate::workload::{BadValue, Need};
use model::plan::{CaseId, Dropped, MetricId, PlannedCase};

/// What was chosen, with each test that another one needs before that.
pub(super) fn with_needed<'a>(
    request: &Request,
    catalog: Catalog<'a>,
    chosen: Vec<Choice<'a>>,
) -> Result<Vec<Choice<'a>>, PlanError> {
    let mut all: Vec<Choice<'a>> = Vec::new();
    for choice in chosen {
        let params = sets::parameters(request, catalog, &choice)?;
        if let Some(need) = choice.entry.workload.needs(&params) {
            let bad = |expected: &str| {
                let bad = BadValue::new(need.param, expected);
                sets::bad_value(request, catalog, &choice, &params, bad)
            };
            let mut entries = catalog.entries();
            let entry = entries.find(|entry| entry.test.name == need.test);
            let entry = entry.ok_or_else(|| bad("the name of a test"))?;
            let needed = Choice { entry, ..choice };
            let own = sets::parameters(request, catalog, &needed)?;
            if entry.workload.needs(&own).is_some() {
                return Err(bad("the name of a test that needs no other"));
            }
            let metrics = entry.workload.metrics(&own);
            if metrics.iter().all(|def| def.quantity != need.quantity) {
                return Err(bad(&format!(
                    "the name of a test that has `{}`",
                    need.quantity
                )));
            }
            all.push(needed);
        }
        all.push(choice);
    }
    Ok(all)
}

/// What a case of so many copies takes.
pub(super) fn metric(need: &Need, copies: u32) -> MetricId {
    MetricId {
        case: CaseId {
            test: need.test.clone(),
            copies,
        },
        quantity: need.quantity.to_owned(),
    }
}

/// Leaves those out that need what no case of the plan yields.
pub(super) fn leave_out_without(cases: &mut Vec<PlannedCase>, dropped: &mut Vec<Dropped>) {
    let yields = |case: &PlannedCase, need: &MetricId| {
        let mut metrics = case.metrics.iter();
        case.id == need.case && metrics.any(|metric| metric.quantity == need.quantity)
    };
    let all = cases.clone();
    cases.retain(|case| {
        let missing = case.needs.as_ref();
        let missing = missing.filter(|need| !all.iter().any(|other| yields(other, need)));
        if let Some(need) = missing {
            let why = format!("it needs `{need}`, which the plan has not");
            leave_out(dropped, case.id.to_string(), why);
        }
        missing.is_none()
    });
}
