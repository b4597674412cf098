//! Documents for programs: `kurabe.run/1`, `kurabe.comparison/1`, `kurabe.plan/1` and the host facts by themselves.
//!
//! The types here are the published format and nothing else: they are filled from the model, so that the model may
//! change without breaking anybody's script. Every key is always there; what is missing is `null` with its reason in
//! the key `missing` beside it. Keys carry their unit, units are base units, numbers are finite and have every
//! digit. Characters that act on a terminal are escaped. Texts are English in every language. The schemas in
//! docs/schema are made from these types.

mod comparison;
mod duel;
mod failed;
mod memory;
mod metric;
mod plan;
mod run;
mod scaling;
pub mod schema;
mod scope;
mod soak;
mod storage;
mod warning;

pub(crate) use warning::warning_kind;

use crate::comparison::ComparisonView;
use crate::view::RunView;
use dialects::printable;
use model::estimate::State;
use model::host::HostFacts;
use serde::Serialize;

/// The name of the document that [`run`] makes.
pub const RUN_SCHEMA: &str = "kurabe.run/1";

/// The name of the document that [`comparison`] makes.
pub const COMPARISON_SCHEMA: &str = "kurabe.comparison/1";

/// The name of the document that [`plan()`] makes.
pub const PLAN_SCHEMA: &str = "kurabe.plan/1";

/// The run as a `kurabe.run/1` document.
pub fn run(view: &RunView<'_>) -> String {
    text(&run::document(view))
}

/// The comparison as a `kurabe.comparison/1` document.
pub fn comparison(view: &ComparisonView<'_>) -> String {
    text(&comparison::document(view))
}

/// The plan as a `kurabe.plan/1` document.
pub fn plan(view: &crate::page::plan::PlanView<'_>) -> String {
    text(&plan::document(view))
}

/// The host facts as a document: the same object as `run.host` of a `kurabe.run/1` document.
pub fn host(host: &HostFacts) -> String {
    text(host)
}

fn text(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document)
        .expect("the types have string keys and derived serialization, which cannot fail");
    printable::json(text) + "\n"
}

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

#[cfg(test)]
pub(crate) use comparison::refusal_word;

#[cfg(test)]
pub(crate) mod tests;
