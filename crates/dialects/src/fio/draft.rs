//! A job while its options are read: what has been said, in which units, and what is to be said about it.

use super::job::{Blocks, Directions, Job};
use super::options::CommandPriorities;
use super::value::{KbBase, Read};
use model::job::Zones;
use model::units::Nanos;

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
    /// Priorities of single operations.
    pub(super) cmdprio: CommandPriorities,
    /// The times of a steady state, which may come before its rule.
    pub(super) steady_duration: Nanos,
    pub(super) steady_ramp: Nanos,
    pub(super) steady_interval: Option<Nanos>,
    /// `zonesize` and its companions; 0 where not given.
    pub(super) zones: Zones,
    /// `zonemode=none`.
    pub(super) zones_off: bool,
    /// What most people would expect otherwise.
    pub(super) warnings: Vec<String>,
    /// What is worth a word.
    pub(super) notes: Vec<String>,
}

impl Draft {
    /// What `k` means for the values to come.
    pub(super) fn base(&self) -> KbBase {
        self.job.amount.kb_base
    }

    /// A value that was read, when what there is to say of it is kept.
    pub(super) fn take<T>(&mut self, read: Read<T>) -> T {
        self.warnings.extend(read.warning);
        self.notes.extend(read.note);
        read.value
    }

    pub(super) fn warn(&mut self, text: impl Into<String>) {
        self.warnings.push(text.into());
    }

    pub(super) fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}
