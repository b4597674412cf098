//! Documents for programs: `kurabe.run/1`, `kurabe.comparison/1`, `kurabe.plan/1`, `kurabe.list/1`, `kurabe.offers/1`,
//! `kurabe.ranking/1` and the host facts by themselves.
//!
//! What is concluded stands in them as `model` and `stats` have it: those types are never stored, and their keys are
//! the published format. What is stored has a form of its own, so that here are types for it, filled from the model:
//! that form may change without breaking anybody's script. Every key is always there, but for the figures of a word,
//! which are there with it; what is missing is `null` with its reason in the key `missing` beside it. Keys carry their
//! unit, units are base units, numbers are finite and have every
//! digit. Characters that act on a terminal are escaped. Texts are English in every language. The schemas in
//! docs/schema are made from these types.

mod comparison;
mod failed;
pub mod list;
mod plan;
mod run;
mod said;
pub mod schema;
mod series;
mod soak;
mod storage;

pub(crate) use run::metric_part;

use crate::comparison::ComparisonView;
use crate::view::RunView;
use dialects::printable;
use model::host::HostFacts;
use serde::Serialize;

/// The name of the document that [`run`] makes.
pub const RUN_SCHEMA: &str = "kurabe.run/1";

/// The name of the document that [`comparison`] makes.
pub const COMPARISON_SCHEMA: &str = "kurabe.comparison/1";

/// The name of the document that [`plan()`] makes.
pub const PLAN_SCHEMA: &str = "kurabe.plan/1";

/// The name of the document that [`list()`] makes.
pub const LIST_SCHEMA: &str = "kurabe.list/1";

/// The name of the document that [`offers()`] makes.
pub const OFFERS_SCHEMA: &str = "kurabe.offers/1";

/// The name of the document that [`ranking()`] makes.
pub const RANKING_SCHEMA: &str = "kurabe.ranking/1";

/// What is known of offers as a `kurabe.offers/1` document.
pub fn offers(view: &crate::offers::OffersView) -> String {
    text(view)
}

/// The ranks of runs as a `kurabe.ranking/1` document.
pub fn ranking(view: &crate::ranking::RankingView) -> String {
    text(view)
}

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

/// The word for a state, as documents have it.
pub(crate) fn state_word(state: &model::estimate::State) -> String {
    let told = serde_json::to_value(state).ok();
    let word = told.as_ref().and_then(|told| told["state"].as_str());
    word.unwrap_or("unknown").to_owned()
}

fn text(document: &impl Serialize) -> String {
    let text = serde_json::to_string_pretty(document)
        .expect("the types have string keys and derived serialization, which cannot fail");
    printable::json(text) + "\n"
}

#[cfg(test)]
pub(crate) mod tests;
