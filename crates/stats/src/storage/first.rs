//! What the first write of a place costs, where a case measures exactly that.
//!
//! Each round of such a case writes a fresh part twice; the pair is one place, and rounds are places of their own. Read
//! off anything else it would be a guess: the test file of the other cases is written before their first round.

use crate::first_write::{self, Penalty};
use model::plan::{PlannedCase, PlannedMetric};
use model::record::Measured;
use model::spec::Role;
use schemars::JsonSchema;
use serde::Serialize;

/// What the first write of a place costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FirstWrite {
    /// The penalty with its interval; `None` for fewer than six places.
    pub penalty: Option<Penalty>,
    /// How many places there are.
    pub places: usize,
}

pub(super) fn of_case(case: &PlannedCase, done: &[&Measured]) -> Option<FirstWrite> {
    let first = case.acting(Role::FirstWrites)?;
    let second = case.acting(Role::SecondWrites)?;
    let places: Vec<(f64, f64)> = done
        .iter()
        .filter_map(|measured| {
            let value = |metric: &PlannedMetric| measured.values.get(&metric.quantity).copied();
            Some((value(first)?, value(second)?))
        })
        .collect();
    Some(FirstWrite {
        penalty: first_write::penalty(&places, first.class.margin()).ok(),
        places: places.len(),
    })
}
