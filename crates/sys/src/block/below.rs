//! Files as storage: what is known of one that a loop device lies on, or that is written to itself.

use super::device::CLASS;
use super::identity::{Thing, thing};
use crate::io::file::{self, Access};
use crate::mounts;
use crate::tree::{Tree, TreeError};
use std::fs::TryLockError;

/// The paths of all swap areas, devices and files, and what they lead to from here.
pub(super) fn swaps(tree: &Tree) -> Result<Vec<(String, Option<Thing>)>, TreeError> {
    let swaps = match tree.read("/proc/swaps") {
        // A kernel without swap.
        Err(error) if error.absent => return Ok(Vec::new()),
        other => other?,
    };
    let paths = swaps.lines().skip(1).map(|line| {
        let path = mounts::unescape(line.split_whitespace().next().unwrap_or_default());
        let found = thing(&tree.place(&path)).ok();
        (path, found)
    });
    Ok(paths.collect())
}

/// Whether somebody has an exclusive lock (flock(2)) on the file below a loop device, wherever he is. False where no
/// path leads to the file from here. Only a shared lock is tried, so that looks do not see each other.
pub(super) fn is_locked(tree: &Tree, name: &str, below: Thing) -> bool {
    let opened = || {
        let path = tree.read_trimmed(&format!("{CLASS}/{name}/loop/backing_file"));
        let found = file::find(&tree.place(&path.ok()?), true).ok()?;
        let is_same = thing(&file::handle_path(&found)).is_ok_and(|found| found == below);
        is_same.then(|| file::reopen(&found, Access::default()).ok())?
    };
    opened().is_some_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
}
