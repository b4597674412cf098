//! Files that a run was writing to when it was killed.

use super::mark;
use std::path::Path;
use sys::io::file;

/// Whether a run that was killed was writing to this file: it is ours no more, and nobody else's as far as anybody
/// knows. A run that goes on holds its lock.
pub fn was_left_by_killed(path: &Path) -> bool {
    // Nothing else is opened: neither what may wait for a writer, nor what this process has locks on.
    if !sys::owned::is_marked(path) {
        return false;
    }
    let found = file::find(path, false).ok();
    let found = found.filter(|found| found.metadata().is_ok_and(|found| found.is_file()));
    let opened = found.and_then(|found| file::reopen(&found, file::Access::default()).ok());
    opened.is_some_and(|file| {
        let is_killed = matches!(mark::standing(&file, &|_| None), Ok(mark::Standing::Killed));
        is_killed && file.try_lock().is_ok()
    })
}
