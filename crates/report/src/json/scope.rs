//! What conclusions are about, in documents of runs and of comparisons.

use crate::lang::Lang;
use crate::scope;
use model::comparison::{Place, Scope, Watched};
use schemars::JsonSchema;
use serde::Serialize;

/// What conclusions are about: which machines, and for how long they were watched.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScopePart {
    /// Which machines.
    #[schemars(extend("enum" = [
        "this_instance", "these_two_instances", "these_two_runs", "this_plan", "these_runs"
    ]))]
    place: &'static str,
    /// For how long was watched: from start to end of a run, or of runs that overlap; otherwise of the shortest one.
    span_ns: u64,
    /// The same of the base and of the other run, where they do not overlap; null otherwise.
    base_span_ns: Option<u64>,
    other_span_ns: Option<u64>,
    /// How long after one of them the other began, where they do not overlap.
    apart_ns: Option<u64>,
    /// Runs on the base side and on the other side, where groups are compared; null otherwise.
    base_runs: Option<u32>,
    other_runs: Option<u32>,
    /// The label in English, such as `this instance, these 12 minutes`.
    pub(super) text: String,
}

/// Fills the part about a scope.
pub(super) fn scope_part(scope: &Scope) -> ScopePart {
    let runs = match scope.place {
        Place::Plan { base, other } | Place::Runs { base, other } => Some((base, other)),
        Place::OneInstance | Place::TwoInstances | Place::TwoRuns => None,
    };
    let (span, twice) = match scope.watched {
        Watched::Once(span) => (span, None),
        Watched::Twice { base, other, apart } => (base.min(other), Some((base, other, apart))),
    };
    ScopePart {
        place: scope.place.word(),
        span_ns: span.0,
        base_span_ns: twice.map(|(base, ..)| base.0),
        other_span_ns: twice.map(|(_, other, _)| other.0),
        apart_ns: twice.map(|(.., apart)| apart.0),
        base_runs: runs.map(|runs| runs.0),
        other_runs: runs.map(|runs| runs.1),
        text: scope::text(scope, Lang::En),
    }
}
