//! The parts of documents that tell what a duel is.

use super::failed::{FailedRoundPart, failed_rounds};
use crate::comparison::Party;
use crate::duel;
use schemars::JsonSchema;
use serde::Serialize;

/// What is known of a duel beside its figures.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct AgainstPart {
    /// True where the sides differ in nothing that could be asked for (an A/A duel).
    same_sides: bool,
    /// The rounds of the base that failed: pairs that lack one do not count.
    base_failed_rounds: Vec<FailedRoundPart>,
    /// The same of the other side.
    other_failed_rounds: Vec<FailedRoundPart>,
}

/// Fills the part about both sides; `None` where the two are not the sides of one duel.
pub(super) fn against_part(base: &Party<'_>, other: &Party<'_>) -> Option<AgainstPart> {
    let [(base, _), (other, _)] = duel::sides(base, other)?;
    Some(AgainstPart {
        same_sides: duel::is_same(base, other),
        base_failed_rounds: failed_rounds(base),
        other_failed_rounds: failed_rounds(other),
    })
}
