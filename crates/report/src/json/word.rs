//! Words and figures that parts of several documents have.

use model::estimate::State;

/// The name of the document that [`super::run`] makes.
pub const RUN_SCHEMA: &str = "kurabe.run/1";

/// The name of the document that [`super::comparison`] makes.
pub const COMPARISON_SCHEMA: &str = "kurabe.comparison/1";

/// The name of the document that [`super::plan()`] makes.
pub const PLAN_SCHEMA: &str = "kurabe.plan/1";

/// The name of the document that [`super::list()`] makes.
pub const LIST_SCHEMA: &str = "kurabe.list/1";

/// A finite number, or null.
pub(crate) fn finite(x: f64) -> Option<f64> {
    x.is_finite().then_some(x)
}

/// The word for a state.
pub(crate) const fn state_word(state: &State) -> &'static str {
    match state {
        State::Unknown => "unknown",
        State::Steady => "steady",
        State::Drifting { .. } => "drifting",
        State::PossibleDrift { .. } => "possible_drift",
        State::Step { .. } => "step",
        State::TwoState { .. } => "two_state",
        State::Series => "series",
        State::Unstable { .. } => "unstable",
        State::Setting { .. } => "setting",
    }
}
