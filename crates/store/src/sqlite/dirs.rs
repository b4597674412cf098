//! The registry of work directories, by which `kurabe clean` finds what a killed run left behind.
//!
//! An entry says only that a directory may be there. Whether it is, and whether its run still needs it, is for the
//! caller to find out from the directory's own marker file; the store removes nothing from the disk.

use super::Store;
use crate::WorkDir;
use crate::error::StoreError;
use rusqlite::TransactionBehavior;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

impl Store {
    /// Notes that `run` is about to make the directory `path`; a second note replaces the first.
    pub fn note_work_dir(&self, run: &str, path: &Path) -> Result<(), StoreError> {
        self.conn()
            .execute(
                "INSERT INTO work_dirs (path, run) VALUES (?1, ?2) \
                 ON CONFLICT (path) DO UPDATE SET run = excluded.run",
                (path.as_os_str().as_bytes(), run),
            )
            .map_err(|error| self.failed("note a work directory", &error))?;
        Ok(())
    }

    /// Notes that the directory `path` is gone; no error where it was never noted.
    pub fn forget_work_dir(&self, path: &Path) -> Result<(), StoreError> {
        self.conn()
            .execute(
                "DELETE FROM work_dirs WHERE path = ?1",
                [path.as_os_str().as_bytes()],
            )
            .map_err(|error| self.failed("forget a work directory", &error))?;
        Ok(())
    }

    /// Forgets the directories of which `is_gone` says so. Whoever notes one meanwhile does so afterwards.
    pub fn forget_work_dirs(&self, is_gone: impl Fn(&Path) -> bool) -> Result<(), StoreError> {
        let failed = |error| self.failed("forget work directories", &error);
        let transaction = self
            .transaction(TransactionBehavior::Immediate)
            .map_err(failed)?;
        for dir in self.work_dirs()? {
            if is_gone(&dir.path) {
                self.forget_work_dir(&dir.path)?;
            }
        }
        transaction.commit().map_err(failed)
    }

    /// Every directory that was noted and not forgotten, by path.
    pub fn work_dirs(&self) -> Result<Vec<WorkDir>, StoreError> {
        let read = || -> rusqlite::Result<Vec<WorkDir>> {
            let mut statement = self
                .conn()
                .prepare("SELECT run, path FROM work_dirs ORDER BY path")?;
            let rows = statement.query_map([], |row| {
                Ok(WorkDir {
                    run: row.get(0)?,
                    path: PathBuf::from(OsString::from_vec(row.get(1)?)),
                })
            })?;
            rows.collect()
        };
        self.reading("list the work directories", || {
            read().map_err(|error| self.failed("list the work directories", &error))
        })
    }
}
