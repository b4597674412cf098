//! The work directories of what is measured, held for longer than it is: as long as they are, nobody takes a run that
//! the store has open for one that was killed.

use super::{RunError, Side};
use crate::workdir::{WorkDir, WorkDirError};

/// The work directories of all sides. They are removed with it.
#[derive(Debug)]
pub struct Places(pub(super) Vec<WorkDir>);

impl Places {
    /// Makes them. Root refuses one that belongs to somebody else, unless `of_others` says that this is meant.
    pub fn make(sides: &[Side<'_>], of_others: bool) -> Result<Self, RunError> {
        let make = |side: &Side<'_>| WorkDir::make_or_take_up(side.dir, side.run, of_others);
        Ok(Self(sides.iter().map(make).collect::<Result<_, _>>()?))
    }

    /// Gives the room back that they take, and holds them on.
    pub(super) fn empty(&self) {
        for dir in &self.0 {
            dir.empty();
        }
    }

    /// Removes them now, and says what went wrong where one stays.
    pub fn remove(self) -> Result<(), WorkDirError> {
        let removed: Vec<_> = self.0.into_iter().map(WorkDir::remove).collect();
        removed.into_iter().collect()
    }
}
