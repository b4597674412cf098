//! Series of rounds, in the document of a run: quantities over the time of a round.

use model::plan::CaseId;
use model::record::{Run, Series};
use model::spec::Role;
use model::units::{Nanos, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A quantity over the time of one round.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SeriesPart<'a> {
    case: &'a CaseId,
    pass: u32,
    /// The round's position in the run, from 1.
    seq: u32,
    /// The copy whose series it is, from 0, where copies do different things; null for all copies together.
    copy: Option<usize>,
    quantity: &'a str,
    unit: Unit,
    /// From one value to the next; the first is of the step with which the measured part of the round or copy begins.
    step_ns: Nanos,
    /// In time order; null where nothing happened in the step that has a value.
    values: &'a [Option<f64>],
}

/// Every series of a run, in the order in which its rounds ran.
pub(super) fn series(run: &Run) -> Vec<SeriesPart<'_>> {
    let mut parts = Vec::new();
    for round in &run.rounds {
        let (Some(told), Some(case)) = (round.told(), run.plan.case(&round.case)) else {
            continue;
        };
        let copies = told.copies.iter().enumerate();
        let apart = copies.filter_map(|(copy, of)| Some((Some(copy), &of.apart.as_ref()?.series)));
        for (copy, named) in std::iter::once((None, &told.series)).chain(apart) {
            let named: &BTreeMap<String, Series> = named;
            let declared = case.pictures.iter().filter(|def| def.role == Role::Series);
            parts.extend(declared.filter_map(|def| {
                let series = named.get(&def.quantity)?;
                Some(SeriesPart {
                    case: &round.case,
                    pass: round.pass,
                    seq: round.seq,
                    copy,
                    quantity: &def.quantity,
                    unit: def.unit,
                    step_ns: series.step,
                    values: &series.values,
                })
            }));
        }
    }
    parts
}
