//! What the files were like that jobs made and left: with it a later run knows them again.
//!
//! The proof is on the files themselves; the store has what no attribute of a file can say, the exact time of the
//! change that set the attribute.

use super::Store;
use crate::error::StoreError;
use rusqlite::OptionalExtension as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

impl Store {
    /// Notes that the file at `path` was left with this id in its mark, last changed at this time. A second note
    /// replaces the first.
    pub fn note_file(&self, path: &Path, id: &str, changed: &str) -> Result<(), StoreError> {
        self.conn()
            .execute(
                "INSERT INTO files (path, id, changed) VALUES (?1, ?2, ?3) \
                 ON CONFLICT (path) DO UPDATE SET id = excluded.id, changed = excluded.changed",
                (path.as_os_str().as_bytes(), id, changed),
            )
            .map_err(|error| self.failed("note a file", &error))?;
        Ok(())
    }

    /// Notes that the file at `path` is gone; no error where it was never noted.
    pub fn forget_file(&self, path: &Path) -> Result<(), StoreError> {
        let path = path.as_os_str().as_bytes();
        self.conn()
            .execute("DELETE FROM files WHERE path = ?1", [path])
            .map_err(|error| self.failed("forget a file", &error))?;
        Ok(())
    }

    /// When the file of this id was last changed, as it was noted; `None` for an id that the store does not know.
    pub fn file_changed(&self, id: &str) -> Result<Option<String>, StoreError> {
        let query = "SELECT changed FROM files WHERE id = ?1";
        self.reading("look a file up", || {
            self.conn()
                .query_row(query, [id], |row| row.get(0))
                .optional()
                .map_err(|error| self.failed("look a file up", &error))
        })
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
