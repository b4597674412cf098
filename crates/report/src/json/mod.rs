//! Documents for programs: `kurabe.run/1`, `kurabe.comparison/1`, `kurabe.plan/1`, `kurabe.list/1` and the host facts
//! by themselves.
//!
//! The types here are the published format and nothing else: they are filled from the model, so that the model may
//! change without breaking anybody's script. Every key is always there; what is missing is `null` with its reason in
//! the key `missing` beside it. Keys carry their unit, units are base units, numbers are finite and have every
//! digit. Characters that act on a terminal are escaped. Texts are English in every language. The schemas in
//! docs/schema are made from these types.

mod comparison;
mod duel;
mod failed;
pub mod list;
mod memory;
mod metric;
mod plan;
mod run;
mod scaling;
pub mod schema;
mod scope;
mod series;
mod soak;
mod storage;
mod warning;
mod word;

pub(crate) use warning::warning_kind;
pub(crate) use word::state_word;
pub use word::{COMPARISON_SCHEMA, LIST_SCHEMA, PLAN_SCHEMA, RUN_SCHEMA};

use crate::comparison::ComparisonView;
use crate::view::RunView;
use dialects::printable;
use model::host::HostFacts;
use serde::Serialize;

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

/// The list as a `kurabe.list/1` document.
pub fn list(list: &list::List) -> String {
    text(&list::document(list))
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

#[cfg(test)]
pub(crate) use comparison::refusal_word;

#[cfg(test)]
pub(crate) mod tests;
