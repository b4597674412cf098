//! One side of a comparison, as its pages name it.

use dialects::printable::quoted;
use model::plan::{CaseId, PlannedCase};
use model::record::Run;
use schemars::JsonSchema;
use serde::Serialize;
use std::cell::OnceCell;
use std::collections::HashMap;

/// One side of a comparison: a run, or several runs of a group.
#[derive(Clone, Debug)]
pub struct Party<'a> {
    /// At least one.
    runs: Vec<&'a Run>,
    latest_of: Vec<LatestOf>,
    /// What was typed for it, where a file is among its runs.
    path: Option<String>,
    /// Where each case stands: the first run that has it, and its place there. Sorted out when somebody asks.
    places: OnceCell<HashMap<CaseId, (usize, usize)>>,
}

/// A run that was named by a label that other runs have too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LatestOf {
    /// The id of the run that was taken: the latest one.
    pub run: String,
    /// How many runs have the label, this one among them.
    pub runs: usize,
}

impl<'a> Party<'a> {
    /// One run.
    pub fn one(run: &'a Run) -> Self {
        Self::of(vec![run])
    }

    /// A group; `None` for no run at all.
    pub fn group(runs: &'a [Run]) -> Option<Self> {
        (!runs.is_empty()).then(|| Self::of(runs.iter().collect()))
    }

    fn of(runs: Vec<&'a Run>) -> Self {
        Self {
            runs,
            latest_of: Vec::new(),
            path: None,
            places: OnceCell::new(),
        }
    }

    /// The same side, of whose runs these were named by labels that others have too.
    #[must_use]
    pub fn with_latest_of(self, latest_of: Vec<LatestOf>) -> Self {
        Self { latest_of, ..self }
    }

    /// The same side, that was typed so because a file is among its runs.
    #[must_use]
    pub fn with_path(self, path: Option<String>) -> Self {
        Self { path, ..self }
    }

    /// What one types for it: the ids of its runs, or what was typed where a file is among them.
    pub(crate) fn typed(&self) -> String {
        let ids = self.runs.iter().map(|run| run.meta.id.as_str());
        let ids = || ids.collect::<Vec<_>>().join(",");
        self.path.as_deref().map_or_else(ids, quoted)
    }

    /// Those of its runs that were named by labels that others have too.
    pub(crate) fn latest_of(&self) -> &[LatestOf] {
        &self.latest_of
    }

    /// The first run, or the only one.
    pub(crate) fn first(&self) -> &'a Run {
        self.runs[0]
    }

    /// Every run.
    pub(crate) fn runs(&self) -> Vec<&'a Run> {
        self.runs.clone()
    }

    /// A case as the first of its runs planned it that has it.
    pub(crate) fn planned(&self, case: &CaseId) -> Option<&'a PlannedCase> {
        let runs = &self.runs;
        let places = self.places.get_or_init(|| {
            let mut places = HashMap::new();
            for (run, of) in runs.iter().enumerate() {
                for (place, case) in of.plan.cases.iter().enumerate() {
                    places.entry(case.id.clone()).or_insert((run, place));
                }
            }
            places
        });
        let &(run, place) = places.get(case)?;
        Some(&runs[run].plan.cases[place])
    }

    /// True for more than one run.
    pub(crate) fn is_group(&self) -> bool {
        self.runs.len() > 1
    }
}
