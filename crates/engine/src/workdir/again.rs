//! A work directory that an earlier part of a run left when it was killed, taken up again: what all rounds share may
//! still be whole, and whoever made it knows how to tell.

use super::{
    Found, Held, MARKER, NO_LOCKS, RUN_DIR, WorkDir, WorkDirError, empty_but_for, find_marker,
    look_at, place, refuse_mounts,
};
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use sys::io::file::{self, Access, find_directory};

impl WorkDir {
    /// The same, or the one that an earlier part of the run left when it was killed, with what all rounds share.
    pub fn make_or_take_up(
        parent: &Path,
        run: &str,
        of_others: bool,
    ) -> Result<Self, WorkDirError> {
        let path = place(parent, run);
        match Self::take_up(&path, run, of_others) {
            Ok(Some(left)) => Ok(left),
            Ok(None) => Self::create(parent, run, of_others),
            Err(error) => Err(WorkDirError {
                operation: "take up the work directory",
                path,
                error,
            }),
        }
    }

    /// What an earlier part of the run left; `None` where there is nothing of this run's whose maker is gone.
    fn take_up(path: &Path, run: &str, of_others: bool) -> io::Result<Option<Self>> {
        match look_at(path)? {
            Found::Left(stale) if stale.run == run && stale.is_sure => {}
            Found::Left(stale) if stale.run == run => return Err(io::Error::other(NO_LOCKS)),
            _ => return Ok(None),
        }
        let parent = find_directory(path.parent().unwrap_or(Path::new("/")))?;
        let held = Held::of(parent, path, run)?;
        let Some(marker) = held.take_marker()? else {
            return Ok(None);
        };
        held.refuse_others(&marker, of_others)?;
        refuse_mounts(&held.here())?;
        empty_but_for(&held.here(), &[MARKER, RUN_DIR])?;
        let shared = held.here().join(RUN_DIR);
        match shared.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => {
                return Err(io::Error::other(format!(
                    "`{RUN_DIR}` in it is no directory"
                )));
            }
            // Its maker was killed before it was made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => fs::create_dir(shared)?,
            Err(error) => return Err(error),
        }
        Ok(Some(Self {
            held,
            marker: Some(marker),
            is_locked: true,
            is_taken_up: true,
        }))
    }

    /// Whether an earlier part of the run may have left something in it.
    pub(crate) fn is_taken_up(&self) -> bool {
        self.is_taken_up
    }
}

impl Held {
    /// The marker of whoever is gone, locked; `None` where it has gone too, or where somebody else was faster.
    fn take_marker(&self) -> io::Result<Option<File>> {
        let Some(found) = find_marker(&self.here())? else {
            return Ok(None);
        };
        let access = Access {
            write: true,
            ..Access::default()
        };
        let marker = file::reopen(&found, access)?;
        match marker.try_lock() {
            Ok(()) => Ok(Some(marker)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}
