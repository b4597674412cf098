//! What the files were like that jobs made and left: with it a later run knows them again.
//!
//! The proof is on the files themselves; the store has what no attribute of a file can say, the exact time of the
//! change that set the attribute. The table is made when the first file is noted, so that a store without one is a
//! store of the same version.

use super::Store;
use crate::error::StoreError;
use rusqlite::OptionalExtension as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const TABLE: &str = "
CREATE TABLE IF NOT EXISTS files (
    path BLOB PRIMARY KEY,
    id TEXT NOT NULL,
    changed TEXT NOT NULL
) STRICT;
";

impl Store {
    /// Notes that the file at `path` was left with this id in its mark, last changed at this time. A second note
    /// replaces the first.
    pub fn note_file(&self, path: &Path, id: &str, changed: &str) -> Result<(), StoreError> {
        self.conn
            .execute_batch(TABLE)
            .and_then(|()| {
                self.conn.execute(
                    "INSERT INTO files (path, id, changed) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (path) DO UPDATE SET id = excluded.id, changed = excluded.changed",
                    (path.as_os_str().as_bytes(), id, changed),
                )
            })
            .map_err(|error| self.failed("note a file", &error))?;
        Ok(())
    }

    /// Notes that the file at `path` is gone; no error where it was never noted.
    pub fn forget_file(&self, path: &Path) -> Result<(), StoreError> {
        let forget = || -> rusqlite::Result<()> {
            if self.has_files()? {
                let path = path.as_os_str().as_bytes();
                self.conn
                    .execute("DELETE FROM files WHERE path = ?1", [path])?;
            }
            Ok(())
        };
        forget().map_err(|error| self.failed("forget a file", &error))
    }

    /// When the file of this id was last changed, as it was noted; `None` for an id that the store does not know.
    pub fn file_changed(&self, id: &str) -> Result<Option<String>, StoreError> {
        let read = || -> rusqlite::Result<Option<String>> {
            if !self.has_files()? {
                return Ok(None);
            }
            let query = "SELECT changed FROM files WHERE id = ?1";
            self.conn
                .query_row(query, [id], |row| row.get(0))
                .optional()
        };
        self.reading("look a file up", || {
            read().map_err(|error| self.failed("look a file up", &error))
        })
    }

    fn has_files(&self) -> rusqlite::Result<bool> {
        let query = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'files'";
        let tables: u32 = self.conn.query_row(query, [], |row| row.get(0))?;
        Ok(tables > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_known_by_their_last_note() {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("kurabe.db")).unwrap();
        let path = Path::new("/data/file");
        assert_eq!(store.file_changed("a").unwrap(), None);
        store.forget_file(path).unwrap();
        store.note_file(path, "a", "1").unwrap();
        store.note_file(path, "b", "2").unwrap();
        let again = Store::open_read_only(store.path()).unwrap();
        assert_eq!(again.file_changed("a").unwrap(), None);
        assert_eq!(again.file_changed("b").unwrap().as_deref(), Some("2"));
        store.forget_file(path).unwrap();
        assert_eq!(again.file_changed("b").unwrap(), None);
    }
}
