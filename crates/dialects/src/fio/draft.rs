//! A job while its options are read: what has been said, in which units, and what is to be said about it.

use super::job::{Blocks, Directions, Job};
use super::value::KbBase;

/// A job to which options are still added.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The job so far.
    pub(super) job: Job,
    /// `bs`: the sizes, where they were given.
    pub(super) bs: Directions<Option<u64>>,
    /// `bsrange`.
    pub(super) ranges: Directions<Option<(u64, u64)>>,
    /// `bssplit`.
    pub(super) splits: Directions<Option<Blocks>>,
    /// The words of `ss`, and its times, which may come in any order.
    pub(super) steady: Steady,
    /// `zonesize` and its companions.
    pub(super) zones: Zoned,
    /// What most people would expect otherwise.
    pub(super) warnings: Vec<String>,
    /// What is worth a word.
    pub(super) notes: Vec<String>,
}

/// The parts of a steady state.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Steady {
    pub(super) rule: Option<super::job::SteadyState>,
    pub(super) duration_ns: u64,
    pub(super) ramp_ns: u64,
}

/// The parts of zones.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Zoned {
    pub(super) is_off: bool,
    pub(super) size_bytes: u64,
    pub(super) range_bytes: u64,
    pub(super) skip_bytes: u64,
}

impl Draft {
    /// What `k` means for the values to come.
    pub(super) fn base(&self) -> KbBase {
        self.job.amount.kb_base
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}
