//! What storage tests say beside their metrics, in documents.

use crate::lang::Lang;
use crate::page::storage::{about_all, sentences};
use schemars::JsonSchema;
use serde::Serialize;
use stats::storage::{StorageCase, StorageSummary};

/// What the storage tests of a run say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoragePart<'a> {
    /// One entry for each storage case with a finished round.
    cases: Vec<StorageCasePart<'a>>,
    #[serde(flatten)]
    summary: &'a StorageSummary,
    /// What is said about all of them, in English.
    sentences: Vec<String>,
}

/// One storage case.
#[derive(Debug, Serialize, JsonSchema)]
struct StorageCasePart<'a> {
    #[serde(flatten)]
    case: &'a StorageCase,
    /// What is said about it, in English.
    sentences: Vec<String>,
}

impl<'a> StoragePart<'a> {
    /// The part of a run.
    pub(super) fn of(summary: &'a StorageSummary) -> Self {
        let part = |case| StorageCasePart {
            case,
            sentences: sentences(case, true, Lang::En),
        };
        Self {
            cases: summary.cases.iter().map(part).collect(),
            summary,
            sentences: about_all(summary, Lang::En),
        }
    }
}
