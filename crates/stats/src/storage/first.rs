//! What the first write of a place costs, where a case measures exactly that.
//!
//! Each round of such a case writes a fresh part twice; the pair is one place, and rounds are places of their own. Read
//! off anything else it would be a guess: the test file of the other cases is written before their first round.

use super::has;
use crate::first_write::{self, Penalty};
use model::plan::PlannedCase;
use model::record::Measured;

/// The rate of the first writes.
const FIRST: &str = "first_bytes_per_s";
/// The rate of the second writes of the same places.
const AGAIN: &str = "again_bytes_per_s";

/// What the first write of a place costs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FirstWrite {
    /// The penalty with its interval; `None` for fewer than six places.
    pub penalty: Option<Penalty>,
    /// How many places there are.
    pub places: usize,
}

pub(super) fn is_first_write(case: &PlannedCase) -> bool {
    has(case, FIRST) && has(case, AGAIN)
}

pub(super) fn of_case(case: &PlannedCase, done: &[&Measured]) -> Option<FirstWrite> {
    if !is_first_write(case) {
        return None;
    }
    let margin = case.metrics.first()?.class.margin();
    let places: Vec<(f64, f64)> = done
        .iter()
        .filter_map(|measured| {
            let value = |quantity| measured.values.get(quantity).copied();
            Some((value(FIRST)?, value(AGAIN)?))
        })
        .collect();
    Some(FirstWrite {
        penalty: first_write::penalty(&places, margin).ok(),
        places: places.len(),
    })
}
