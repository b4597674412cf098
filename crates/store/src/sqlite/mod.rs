//! The store on SQLite: opening it without harm, its schema, and its settings. All SQL is in this folder.
//!
//! Why a write-ahead log with `synchronous = NORMAL`: a committed round survives the death of the process at once, and
//! the loss of power once the log is synced; the file is consistent at all times, readers never make the measuring
//! process wait, and appending a round syncs nothing. The last one decides: an fsync between rounds would write back
//! what a file-system test left dirty, and so would be part of what the next round measures. A rollback journal needs
//! two or three of them per round. For the same reason the log is folded into the file when a run is finished, or
//! when the store is closed, and never in between. Where the file system has no shared memory (some network file
//! systems), SQLite stays with the journal, which is slower and just as safe.

mod dirs;
mod files;
mod find;
mod imports;
mod lines;
mod link;
mod log;
mod lost;
mod owned;
mod runs;

use crate::error::StoreError;
use crate::gate::{self, APPLICATION_ID, Found, SCHEMA_VERSION};
use crate::held::{Held, Identity};
use link::Link;
use rusqlite::{Connection, ErrorCode, Transaction, TransactionBehavior};
use std::cell::RefCell;
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long we wait for another process. Our own transactions last milliseconds; whoever holds the store for
/// longer is stuck.
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Up to this size the whole structure is checked at each opening (`PRAGMA quick_check`: measured about 1 ms per
/// MiB from the page cache); damage in larger files is met when the damaged page is read.
const QUICK_CHECK_MAX_BYTES: u64 = 16 << 20;

/// What SQLite keeps of a file in memory, as it does by itself.
const CACHE_BYTES: u64 = 2_000 << 10;

/// Version 3. `rounds` of a run may be megabytes: what lists show is therefore in columns of `runs`, in front of
/// the long texts, and runs are found by indexes, however many there are. The texts are JSON of the model's types;
/// `digest` covers them (see `codec`). `duel` is a part of the plan once more, `machine` of the host facts, `failed` of
/// a round, and `tail` of the id: what stands behind its last `-`. `brief` is what is concluded from the rounds. A
/// store that was made without `runs_offer` finds the runs of offers more slowly.
const SCHEMA: &str = "
CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    label TEXT,
    started INTEGER NOT NULL,
    finished INTEGER,
    ending TEXT NOT NULL,
    what TEXT NOT NULL,
    cases INTEGER NOT NULL,
    duel TEXT,
    tail TEXT NOT NULL,
    machine TEXT NOT NULL,
    brief TEXT,
    record_version INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    meta TEXT NOT NULL,
    plan TEXT NOT NULL,
    host TEXT NOT NULL
) STRICT;
CREATE INDEX runs_started ON runs (started, id);
CREATE INDEX runs_machine ON runs (machine, started);
CREATE INDEX runs_tail ON runs (tail, id);
CREATE INDEX runs_label ON runs (label, started, id) WHERE label IS NOT NULL;
CREATE INDEX runs_offer ON runs (iif(json_valid(meta), meta ->> 'offer', NULL), started, id)
    WHERE iif(json_valid(meta), meta ->> 'offer', NULL) IS NOT NULL;
CREATE TABLE rounds (
    run INTEGER NOT NULL REFERENCES runs (key) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    round TEXT NOT NULL,
    UNIQUE (run, seq)
) STRICT;
CREATE INDEX rounds_failed ON rounds (run) WHERE failed = 1;
CREATE TABLE work_dirs (
    path BLOB PRIMARY KEY,
    run TEXT NOT NULL
) STRICT;
CREATE TABLE files (
    path BLOB PRIMARY KEY,
    id TEXT NOT NULL,
    changed TEXT NOT NULL
) STRICT;
CREATE INDEX files_id ON files (id);
";

/// The tables of [`SCHEMA`].
const TABLES: u32 = 4;

/// A store of runs. Any number of processes may have the same one open.
#[derive(Debug)]
pub struct Store {
    link: Link,
    path: PathBuf,
    /// The file's size when it was opened; it never becomes smaller.
    len: u64,
    /// Set while runs are kept in it.
    mark: RefCell<Option<lost::Mark>>,
}

impl Store {
    /// Opens the store at `path` for reading and writing; makes it, and the directories above it, where there is
    /// none. A file that is not ours, damaged, or of another schema is refused and not touched.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::open_waiting(path, BUSY_TIMEOUT)
    }

    /// Like [`Self::open`], waiting up to `patience` for other processes, here and in every later call.
    pub fn open_waiting(path: &Path, patience: Duration) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let mut held = Held::lock();
        let found = gate::inspect(&path, &held)?;
        touch(&path, found, &held)?;
        let link = Link::to_write(&path, patience, &mut held)?;
        drop(held);
        let mut store = Self::of(link, path);
        match found {
            Found::Nothing | Found::Empty => store.create_schema()?,
            Found::Ours { .. } => match store.link.check(&store.path) {
                // Whoever made it was killed before the first transaction was through; the first read has rolled it
                // back to nothing.
                Err(StoreError::Damaged { .. }) if is_empty(&store.path) => {
                    store.create_schema()?;
                }
                checked => checked?,
            },
        }
        store.tune()?;
        store.len = length(&store.path);
        Ok(store)
    }

    /// Opens the store at `path` for reading: nothing is written to it or beside it, and nothing opened for writing.
    /// A file that is missing or empty is [`StoreError::Missing`]; else refuses what [`Self::open`] refuses.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        Ok(Self::of(Link::to_read(&path)?, path))
    }

    /// Refuses a store that is missing or empty, or no store of ours, with a look at its first bytes alone.
    pub fn require(path: &Path) -> Result<(), StoreError> {
        let path = absolute(path)?;
        match gate::inspect(&path, &Held::lock())? {
            Found::Ours { .. } => Ok(()),
            Found::Nothing | Found::Empty => Err(StoreError::Missing { path }),
        }
    }

    fn of(link: Link, path: PathBuf) -> Self {
        Self {
            len: length(&path),
            link,
            path,
            mark: RefCell::new(None),
        }
    }

    /// Where the store is; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which file it is, whatever its path leads to by now.
    pub fn file(&self) -> Identity {
        self.link.file
    }

    /// The connection.
    fn conn(&self) -> &Connection {
        &self.link.last().conn
    }

    /// What `read` says, of a file that did not change under it.
    fn reading<T>(
        &self,
        operation: &str,
        read: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        self.link.reading((operation, &self.path), read)
    }

    /// Makes the tables, unless another process was faster.
    fn create_schema(&self) -> Result<(), StoreError> {
        let create = || -> rusqlite::Result<()> {
            let transaction = self.transaction(TransactionBehavior::Immediate)?;
            let version: u32 =
                transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
            if version == 0 {
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
                transaction.pragma_update(None, "user_version", SCHEMA_VERSION)?;
            }
            transaction.commit()
        };
        create().map_err(|error| self.failed("create the tables", &error))
    }

    /// Switches to the write-ahead log. That another process is just doing the same is no error.
    fn tune(&self) -> Result<(), StoreError> {
        let log = self
            .conn()
            .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        match log {
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(self.failed("open", &error));
            }
            _ => {}
        }
        self.conn()
            .pragma_update(None, "synchronous", "NORMAL")
            .and_then(|()| self.conn().pragma_update(None, "wal_autocheckpoint", 0))
            .map_err(|error| self.failed("open", &error))
    }

    /// A transaction that is rolled back unless committed.
    fn transaction(&self, behavior: TransactionBehavior) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(self.conn(), behavior)
    }

    fn failed(&self, operation: &str, error: &rusqlite::Error) -> StoreError {
        StoreError::from_sqlite(operation, &self.path, error)
    }
}

/// The path from the root: it keeps its meaning when the process changes directory, and never reads as one of
/// SQLite's special names such as `:memory:`.
fn absolute(path: &Path) -> Result<PathBuf, StoreError> {
    std::path::absolute(path).map_err(|error| access("open", path, &error))
}

/// Makes the file, or opens it for writing without writing: the system's own reason is clearer than SQLite's. A file
/// that this process has open is left alone.
fn touch(path: &Path, found: Found, held: &Held) -> Result<(), StoreError> {
    if Identity::at(path).is_ok_and(|file| held.locks(file)) {
        return Ok(());
    }
    if let (Found::Nothing, Some(parent)) = (found, path.parent()) {
        std::fs::create_dir_all(parent)
            .map_err(|error| access("create the directory", path, &error))?;
    }
    std::fs::OpenOptions::new()
        .append(true)
        .create(true)
        .open(path)
        .map(drop)
        .map_err(|error| access("open for writing", path, &error))
}

fn access(operation: &str, path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Access {
        operation: operation.to_owned(),
        path: path.to_owned(),
        reason: error.to_string(),
    }
}

/// The size of the file; 0 where there is none.
fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// True for a file without a byte in it.
fn is_empty(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.len() == 0)
}

/// What changes with every change of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    file: Identity,
    len: u64,
    /// Seconds and nanoseconds of the last change of the content, and of the inode.
    changed: [i64; 4],
}

impl Stamp {
    fn at(path: &Path) -> std::io::Result<Self> {
        let now = std::fs::metadata(path)?;
        Ok(Self {
            file: Identity::of(&now),
            len: now.len(),
            changed: [now.mtime(), now.mtime_nsec(), now.ctime(), now.ctime_nsec()],
        })
    }

    const fn file(&self) -> Identity {
        self.file
    }
}

/// SQLite's name for the file alone: it is read without locks and without its log.
fn without_log(path: &Path) -> PathBuf {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte));
            }
            _ => write!(uri, "%{byte:02x}").expect("writing to a string cannot fail"),
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_file_system_is_named_and_what_was_kept_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kurabe.db");
        let store = Store::open(&path).unwrap();
        let pages: u32 = store
            .conn()
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        // SQLite reports its own limit as it reports a full disk.
        store
            .conn()
            .pragma_update(None, "max_page_count", pages + 1)
            .unwrap();
        let mut noted = 0;
        let error = loop {
            let work_dir = PathBuf::from(format!("/{noted}/{}", "x".repeat(500)));
            match store.note_work_dir("r1", &work_dir) {
                Ok(()) => noted += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(error, StoreError::Full { .. }), "{error:?}");
        assert!(
            error.to_string().contains(path.to_str().unwrap()),
            "{error}"
        );
        drop(store);
        let again = Store::open(&path).unwrap();
        assert_eq!(again.work_dirs().unwrap().len(), noted);
        assert!(noted > 0);
    }

    #[test]
    fn what_is_read_without_locks_and_changes_meanwhile_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kurabe.db");
        let owner = Store::open(&path).unwrap();
        owner.note_work_dir("r1", Path::new("/a")).unwrap();
        drop(owner);
        let reader = Store::open_read_only(&path).unwrap();
        let dirs = |reader: &Store| reader.work_dirs().unwrap().len();
        assert_eq!(dirs(&reader), 1);
        let owner = Store::open(&path).unwrap();
        owner.note_work_dir("r1", Path::new("/b")).unwrap();
        // In the log, and folded in.
        assert_eq!(dirs(&reader), 2);
        drop(owner);
        assert_eq!(dirs(&reader), 2);
        let owner = Store::open(&path).unwrap();
        owner.note_work_dir("r1", Path::new("/c")).unwrap();
        assert_eq!(dirs(&reader), 3);
        drop(owner);
        assert_eq!(reader.list().unwrap(), []);
        // What became of it that is no store is said.
        drop(reader);
        let reader = Store::open_read_only(&path).unwrap();
        std::fs::write(&path, "no store").unwrap();
        assert!(matches!(
            reader.work_dirs(),
            Err(StoreError::Foreign { .. })
        ));
    }
}
