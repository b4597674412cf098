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
mod lost;
mod owned;
mod runs;

use crate::error::{StoreError, could_not_look};
use crate::gate::{self, APPLICATION_ID, Found, SCHEMA_VERSION};
use crate::held::{Held, Hold, Identity};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, Transaction, TransactionBehavior};
use std::cell::RefCell;
use std::ffi::OsString;
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
    conn: Connection,
    path: PathBuf,
    /// Behind `conn`, so that it is given back when the connection is gone.
    hold: Hold,
    /// The file's size when it was opened; it never becomes smaller.
    len: u64,
    /// Set where the file is read without locks: what it must still be after each reading.
    unlocked: Option<Stamp>,
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
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let mut store = Self::connect(&path, &path, flags, patience, &mut held)?;
        drop(held);
        match found {
            Found::Nothing | Found::Empty => store.create_schema()?,
            Found::Ours { .. } => match store.check() {
                // Whoever made it was killed before the first transaction was through; the first read has rolled it
                // back to nothing.
                Err(StoreError::Damaged { .. }) if is_empty(&path) => store.create_schema()?,
                checked => checked?,
            },
        }
        store.tune()?;
        store.len = length(&path);
        Ok(store)
    }

    /// Opens the store at `path` for reading, also where nothing can be written, such as on read-only media.
    /// A file that is missing or empty is [`StoreError::Missing`]; else refuses what [`Self::open`] refuses.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let path = absolute(path)?;
        let mut held = Held::lock();
        let Found::Ours { logged } = gate::inspect(&path, &held)? else {
            return Err(StoreError::Missing { path });
        };
        // SQLite falls back to reading where it may not write. Where it may, the connection can make the log's side
        // files and remove them again when it closes.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE;
        let store = Self::connect(&path, &path, flags, BUSY_TIMEOUT, &mut held)?;
        drop(held);
        let store = match store.check() {
            Ok(()) => store,
            // The log's side files cannot be made here, or there is no room for them, and there is no log to read:
            // what is in the file is all there is.
            Err(StoreError::Access { .. } | StoreError::Full { .. })
                if logged && !has_log(&path) =>
            {
                drop(store);
                Self::connect_unlocked(&path)?
            }
            Err(StoreError::Damaged { .. }) if is_empty(&path) => {
                return Err(StoreError::Missing { path });
            }
            Err(error) => return Err(error),
        };
        store
            .conn
            .pragma_update(None, "query_only", true)
            .map_err(|error| store.failed("open", &error))?;
        Ok(store)
    }

    /// Where the store is; absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Which file it is, whatever its path leads to by now.
    pub fn file(&self) -> Identity {
        self.hold.file()
    }

    /// Connects to the file at `path`, which SQLite is given as `name`.
    fn connect(
        path: &Path,
        name: &Path,
        flags: OpenFlags,
        patience: Duration,
        held: &mut Held,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, &error);
        let identity = || Identity::at(path).map_err(|error| access("open", path, &error));
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let before = identity()?;
        let conn = Connection::open_with_flags(name, flags).map_err(failed)?;
        conn.busy_timeout(patience).map_err(failed)?;
        conn.pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        if identity()? != before {
            return Err(StoreError::Changed {
                operation: "open".to_owned(),
                path: path.to_owned(),
            });
        }
        Ok(Self {
            conn,
            path: path.to_owned(),
            hold: held.hold(before),
            len: length(path),
            unlocked: None,
            mark: RefCell::new(None),
        })
    }

    /// Connects without locks and without the log's side files, where they cannot be had. SQLite then takes for granted
    /// that nobody changes the file (`immutable`), which its owner may do all the same: so the file is held against
    /// what it was after each reading.
    fn connect_unlocked(path: &Path) -> Result<Self, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let stamp = Stamp::at(path).map_err(|error| access("open", path, &error))?;
        let name = without_log(path);
        let mut store = Self::connect(path, &name, flags, BUSY_TIMEOUT, &mut Held::lock())?;
        store.unlocked = Some(stamp);
        store.reading("open", || store.check())?;
        Ok(store)
    }

    /// What `read` says, where the file did not change under it.
    fn reading<T>(
        &self,
        operation: &str,
        read: impl FnOnce() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let found = read();
        let Some(stamp) = &self.unlocked else {
            return found;
        };
        // A change has its log beside the file for as long as it goes on, and its own time once it is over. Only a
        // whole change within one tick of the file system's clock would be missed.
        if has_log(&self.path) || Stamp::at(&self.path).ok().as_ref() != Some(stamp) {
            return Err(StoreError::Changed {
                operation: operation.to_owned(),
                path: self.path.clone(),
            });
        }
        found
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

    /// Looks for damage, with reads alone. A log that a killed process left stays as it is where damage is found.
    fn check(&self) -> Result<(), StoreError> {
        let failed = |error| self.failed("open", &error);
        let damaged = |what: String| StoreError::Damaged {
            operation: "open".to_owned(),
            path: self.path.clone(),
            what,
        };
        let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        self.conn
            .set_db_config(keep_log, has_log(&self.path))
            .map_err(failed)?;
        let tables: u32 = self
            .conn
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' \
                 AND name IN ('runs', 'rounds', 'work_dirs', 'files')",
                [],
                |row| row.get(0),
            )
            .map_err(failed)?;
        if tables != TABLES {
            return Err(damaged(format!("{tables} of its {TABLES} tables are left")));
        }
        if length(&self.path) <= QUICK_CHECK_MAX_BYTES {
            // It goes over every page twice; with the room that SQLite takes by itself it would read each twice, too.
            self.cache(2 * QUICK_CHECK_MAX_BYTES).map_err(failed)?;
            let verdict: String = self
                .conn
                .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
                .map_err(failed)?;
            self.cache(CACHE_BYTES).map_err(failed)?;
            let what = verdict.replace('\n', "; ");
            if could_not_look(&verdict) {
                return Err(StoreError::Memory {
                    operation: "open".to_owned(),
                    path: self.path.clone(),
                    reason: format!("out of memory, or a disk that cannot be read: {what}"),
                });
            }
            if verdict != "ok" {
                return Err(damaged(what));
            }
        }
        self.conn.set_db_config(keep_log, false).map_err(failed)?;
        Ok(())
    }

    /// Has SQLite keep so much of the file in memory, and give the rest back.
    fn cache(&self, bytes: u64) -> rusqlite::Result<()> {
        // Below zero it is KiB.
        let kib = i64::try_from(bytes >> 10).unwrap_or(i64::MAX);
        self.conn.pragma_update(None, "cache_size", -kib)
    }

    /// Switches to the write-ahead log. That another process is just doing the same is no error.
    fn tune(&self) -> Result<(), StoreError> {
        let log = self
            .conn
            .pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()));
        match log {
            Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
                return Err(self.failed("open", &error));
            }
            _ => {}
        }
        self.conn
            .pragma_update(None, "synchronous", "NORMAL")
            .and_then(|()| self.conn.pragma_update(None, "wal_autocheckpoint", 0))
            .map_err(|error| self.failed("open", &error))
    }

    /// A transaction that is rolled back unless committed.
    fn transaction(&self, behavior: TransactionBehavior) -> rusqlite::Result<Transaction<'_>> {
        Transaction::new_unchecked(&self.conn, behavior)
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
    if Identity::at(path).is_ok_and(|file| held.has(file)) {
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
#[derive(Debug, PartialEq, Eq)]
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

/// The file beside the store whose name ends in this.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

/// True where the write-ahead log holds something that may not be in the file yet.
fn has_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).is_ok_and(|metadata| metadata.len() > 0)
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
            .conn
            .pragma_query_value(None, "page_count", |row| row.get(0))
            .unwrap();
        // SQLite reports its own limit as it reports a full disk.
        store
            .conn
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
    fn what_is_read_without_locks_and_changes_meanwhile_is_not_believed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kurabe.db");
        let owner = Store::open(&path).unwrap();
        owner.note_work_dir("r1", Path::new("/a")).unwrap();
        drop(owner);
        let reader = Store::connect_unlocked(&path).unwrap();
        assert_eq!(reader.work_dirs().unwrap().len(), 1);
        let owner = Store::open(&path).unwrap();
        owner.note_work_dir("r1", Path::new("/b")).unwrap();
        let refused = |read: Result<usize, StoreError>| {
            assert!(matches!(read, Err(StoreError::Changed { .. })), "{read:?}");
        };
        // In the log, and folded in.
        refused(reader.work_dirs().map(|dirs| dirs.len()));
        drop(owner);
        refused(reader.work_dirs().map(|dirs| dirs.len()));
        refused(reader.list().map(|runs| runs.len()));
        refused(reader.latest(1).map(|runs| runs.len()));
        refused(reader.resolve("latest").map(|id| id.len()));
        refused(reader.load("r1").map(|run| run.rounds.len()));
        refused(reader.load_to_compare("r1").map(|run| run.rounds.len()));
        refused(
            reader
                .file_changed("x")
                .map(|changed| usize::from(changed.is_some())),
        );
        let again = Store::connect_unlocked(&path).unwrap();
        assert_eq!(again.work_dirs().unwrap().len(), 2);
    }
}
