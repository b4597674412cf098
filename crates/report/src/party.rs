//! One side of a comparison, as its pages name it.

use model::record::Run;

/// One side of a comparison: a run, or several runs of a group.
#[derive(Clone, Debug)]
pub struct Party<'a> {
    first: &'a Run,
    rest: Vec<&'a Run>,
    latest_of: Vec<LatestOf>,
}

/// A run that was named by a label that other runs have too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatestOf {
    /// The id of the run that was taken: the latest one.
    pub run: String,
    /// How many runs have the label, this one among them.
    pub runs: usize,
}

impl<'a> Party<'a> {
    /// One run.
    pub const fn one(run: &'a Run) -> Self {
        Self {
            first: run,
            rest: Vec::new(),
            latest_of: Vec::new(),
        }
    }

    /// A group; `None` for no run at all.
    pub fn group(runs: &'a [Run]) -> Option<Self> {
        let (first, rest) = runs.split_first()?;
        Some(Self {
            first,
            rest: rest.iter().collect(),
            latest_of: Vec::new(),
        })
    }

    /// The same side, of whose runs these were named by labels that others have too.
    #[must_use]
    pub fn with_latest_of(self, latest_of: Vec<LatestOf>) -> Self {
        Self { latest_of, ..self }
    }

    /// Those of its runs that were named by labels that others have too.
    pub(crate) fn latest_of(&self) -> &[LatestOf] {
        &self.latest_of
    }

    /// The first run, or the only one.
    pub(crate) const fn first(&self) -> &'a Run {
        self.first
    }

    /// Every run.
    pub(crate) fn runs(&self) -> Vec<&'a Run> {
        std::iter::once(self.first)
            .chain(self.rest.iter().copied())
            .collect()
    }

    /// True for more than one run.
    pub(crate) const fn is_group(&self) -> bool {
        !self.rest.is_empty()
    }
}
