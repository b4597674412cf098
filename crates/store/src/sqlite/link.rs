//! The connection of a store to its file, and how a file is read without writing to it or beside it.
//!
//! Who writes has SQLite make its files beside the store. Who reads makes none and opens none for writing; what is
//! there decides how it reads:
//!
//! * A log and its index: as SQLite does for a user who may only read. It takes the locks of a reader, so that a run
//!   that is being measured goes on and what it has kept is seen.
//! * A log without an index, or with one that is another user's: the file and the log are read into memory
//!   ([`super::log`]).
//! * No log: the file alone, without locks. It is held against what it was after each reading, and where it changed,
//!   all is read again by a new connection.
//!
//! The log and the journal beside a store are looked at before anything is opened, and again when SQLite opens them
//! ([`sys::sqlite`]).

use super::log::{self, Laid};
use super::{BUSY_TIMEOUT, Stamp, access, is_empty, length, without_log};
use crate::error::{StoreError, could_not_look};
use crate::gate::{self, Found};
use crate::held::{Held, Hold, How, Identity};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::cell::OnceCell;
use std::fs::Metadata;
use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::sqlite::{self, Access, Guard, INDEX, JOURNAL, LOG, Wrong, beside, open_beside};

/// How often a reader begins anew where the file changes under it, and how long it waits in between.
const TRIES: usize = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// The first bytes of a journal that has to be looked at.
const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// A connection to a store.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) conn: Connection,
    /// Behind `conn`, so that it is given back when the connection is gone.
    hold: Option<Hold>,
    #[expect(dead_code, reason = "it is there for as long as the connection")]
    guard: Option<Guard>,
    /// Which file it is.
    pub(super) file: Identity,
    /// Set where the file is read without locks: what it must still be after each reading.
    unlocked: Option<Stamp>,
    /// The one that took over where the file changed.
    next: OnceCell<Box<Self>>,
}

/// How a store is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum As {
    /// For writing.
    Writer,
    /// For reading, through the connection for writing that this process has already.
    ReaderBesideWriter,
    /// For reading, with SQLite's locks.
    Reader,
    /// For reading, without locks and without a log.
    ReaderOfFileAlone,
}

impl Link {
    /// The connection that reads now.
    pub(super) fn last(&self) -> &Self {
        self.next.get().map_or(self, |next| next.last())
    }

    /// Connects for writing to the file that is at `path`.
    pub(super) fn to_write(
        path: &Path,
        patience: Duration,
        held: &mut Held,
    ) -> Result<Self, StoreError> {
        let real = resolved(path)?;
        let look = || Around::look(path, &real).and_then(|around| around.refuse_index(path));
        look()?;
        Self::connect(path, &real, As::Writer, patience, held).map_err(|error| match look() {
            // Something came to be there meanwhile, and was not opened.
            Err(why) => why,
            Ok(()) => error,
        })
    }

    /// Connects for reading, and looks for damage; refuses as [`super::Store::open_read_only`] does.
    pub(super) fn to_read(path: &Path) -> Result<Self, StoreError> {
        let mut tries = 1;
        loop {
            let before = situation(path);
            match Self::try_to_read(path) {
                Err(StoreError::Changed { .. }) if tries < TRIES => {}
                Err(StoreError::Access { .. } | StoreError::Damaged { .. })
                    if tries < TRIES && situation(path) != before => {}
                done => return done,
            }
            tries += 1;
            std::thread::sleep(PAUSE);
        }
    }

    fn try_to_read(path: &Path) -> Result<Self, StoreError> {
        let mut held = Held::lock();
        let missing = || StoreError::Missing {
            path: path.to_owned(),
        };
        let Found::Ours { logged } = gate::inspect(path, &held)? else {
            return Err(missing());
        };
        let real = resolved(path)?;
        let file = Identity::at(&real).map_err(|error| access("open", path, &error))?;
        let around = Around::look(path, &real)?;
        let held_for_writing = held.writes(file);
        let mut connect = |how| Self::connect(path, &real, how, BUSY_TIMEOUT, &mut held);
        let link = if held_for_writing {
            connect(As::ReaderBesideWriter)?
        } else if around.journal || around.log && around.index == Index::Usable {
            connect(As::Reader)?
        } else if around.log {
            Self::in_memory(path, &real, &held)?
        } else if logged {
            connect(As::ReaderOfFileAlone)?
        } else {
            connect(As::Reader)?
        };
        drop(held);
        link.for_reading(path)?;
        match link.reading_once(path, || link.check(path)) {
            Some(Ok(())) => Ok(link),
            Some(Err(StoreError::BrokenOff { .. })) if began_empty(&real) => Err(missing()),
            Some(Err(StoreError::Damaged { .. })) if is_empty(path) => Err(missing()),
            Some(Err(error)) => Err(error),
            None => Err(changed("open", path)),
        }
    }

    /// Connects to the file at `path`, which SQLite knows as `real`.
    fn connect(
        path: &Path,
        real: &Path,
        how: As,
        patience: Duration,
        held: &mut Held,
    ) -> Result<Self, StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, &error);
        let denied = |error: std::io::Error| access("open", path, &error);
        let writes = matches!(how, As::Writer | As::ReaderBesideWriter);
        let alone = how == As::ReaderOfFileAlone;
        let flags = if writes {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
        let (name, flags) = if alone {
            (without_log(real), flags | OpenFlags::SQLITE_OPEN_URI)
        } else {
            (real.to_owned(), flags)
        };
        let before = Stamp::at(real).map_err(denied)?;
        let guard = sqlite::guard(real, writes).map_err(denied)?;
        let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(name, flags).map_err(failed)?;
        conn.busy_timeout(patience).map_err(failed)?;
        conn.pragma_update(None, "foreign_keys", true)
            .map_err(failed)?;
        let file = before.file();
        if Identity::at(real).map_err(denied)? != file {
            return Err(changed("open", path));
        }
        let hold = held.hold(
            file,
            match how {
                As::Writer | As::ReaderBesideWriter => How::Writes,
                As::Reader => How::Locks,
                As::ReaderOfFileAlone => How::Reads,
            },
        );
        Ok(Self {
            conn,
            hold: Some(hold),
            guard: Some(guard),
            file,
            unlocked: alone.then_some(before),
            next: OnceCell::new(),
        })
    }

    /// The file alone, whatever its log holds: a look at what is in it by now. `path` leads to the file.
    pub(super) fn to_file_alone(path: &Path) -> Result<Self, StoreError> {
        let real = resolved(path)?;
        let how = As::ReaderOfFileAlone;
        Self::connect(path, &real, how, BUSY_TIMEOUT, &mut Held::lock())
    }

    /// The file and its log, read into memory.
    fn in_memory(path: &Path, real: &Path, held: &Held) -> Result<Self, StoreError> {
        let denied = |error: std::io::Error| access("open", path, &error);
        let before = Stamp::at(real).map_err(denied)?;
        // To open and close it would drop the locks that this process has on it.
        if held.locks(before.file()) {
            let why = "this process reads it under locks already, and the index of its log is gone or another user's";
            return Err(access("open", path, &std::io::Error::other(why)));
        }
        let (mut header, mut log) = (Vec::new(), Vec::new());
        let who = Access::of(real).map_err(denied)?;
        let mut file = open_beside(real).map_err(denied)?;
        file.by_ref()
            .take(100)
            .read_to_end(&mut header)
            .map_err(denied)?;
        file.rewind().map_err(denied)?;
        let page = log::page_bytes(&header).ok_or_else(|| StoreError::Damaged {
            operation: "open".to_owned(),
            path: path.to_owned(),
            what: "its pages have no size".to_owned(),
        })?;
        let mut beside_it = open_beside(&beside(real, LOG)).map_err(denied)?;
        let found = beside_it.metadata().map_err(denied)?;
        let database = file.metadata().map_err(denied)?;
        if let Some(wrong) = who.wrong(&found) {
            return Err(not_of_it(path, &beside(real, LOG), wrong));
        }
        let room = usize::try_from(found.len()).unwrap_or(usize::MAX);
        log.try_reserve(room).map_err(|_| no_memory(path))?;
        beside_it.read_to_end(&mut log).map_err(denied)?;
        let added = log::added(&log, page);
        let laid = Laid::over(file, &log, added, page);
        let bytes = laid.len(database.len()).ok_or_else(|| no_memory(path))?;
        let failed = |error| StoreError::from_sqlite("open", path, &error);
        let mut conn = Connection::open_in_memory().map_err(failed)?;
        conn.deserialize_read_exact("main", laid, bytes, true)
            .map_err(failed)?;
        // A log that begins anew does so after its pages were written to the file.
        let mut again = [0; log::HEADER];
        let is_same = beside_it.rewind().is_ok()
            && (log.len() < again.len()
                || beside_it.read_exact(&mut again).is_ok() && log.starts_with(&again));
        if !is_same || Stamp::at(real).ok().as_ref() != Some(&before) {
            return Err(changed("open", path));
        }
        Ok(Self {
            conn,
            hold: None,
            guard: None,
            file: before.file(),
            unlocked: None,
            next: OnceCell::new(),
        })
    }

    /// Nothing is written from now on, nor folded in when the connection ends.
    fn for_reading(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, &error);
        self.conn
            .pragma_update(None, "query_only", true)
            .and_then(|()| self.conn.pragma_update(None, "temp_store", "MEMORY"))
            .map_err(failed)
    }

    /// What `read` says, where the file did not change under it.
    fn reading_once<T>(&self, path: &Path, read: impl FnOnce() -> T) -> Option<T> {
        let found = read();
        let Some(stamp) = &self.unlocked else {
            return Some(found);
        };
        // A change has its log or journal beside the file for as long as it goes on, and its own time once it is over.
        // Only a whole change within one tick of the file system's clock would be missed.
        let is_same = Stamp::at(path).ok().as_ref() == Some(stamp);
        let (log, journal) = resolved(path).map_or((true, true), |real| {
            (has_log(&real), is_live_journal(&beside(&real, JOURNAL)))
        });
        (is_same && !log && !journal).then_some(found)
    }

    /// The same; where it changed, by a new connection.
    pub(super) fn reading<T>(
        &self,
        (operation, path): (&str, &Path),
        read: impl Fn() -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        for _ in 0..TRIES {
            let link = self.last();
            if let Some(found) = link.reading_once(path, &read) {
                return found;
            }
            // It may have been followed within `read` already.
            if link.next.get().is_none() {
                let next = Box::new(Self::to_read(path)?);
                let _ = link.next.set(next);
            }
        }
        Err(changed(operation, path))
    }

    /// Looks for damage, with reads alone. A log that a killed process left stays as it is where damage is found.
    pub(super) fn check(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |error| StoreError::from_sqlite("open", path, &error);
        let damaged = |what: String| StoreError::Damaged {
            operation: "open".to_owned(),
            path: path.to_owned(),
            what,
        };
        let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        let was = resolved(path).is_ok_and(|real| has_log(&real));
        self.conn.set_db_config(keep_log, was).map_err(failed)?;
        let tables: u32 = self
            .conn
            .query_row(
                "SELECT count(*) FROM sqlite_schema WHERE type = 'table' \
                 AND name IN ('runs', 'rounds', 'work_dirs', 'files')",
                [],
                |row| row.get(0),
            )
            .map_err(failed)?;
        if tables != super::TABLES {
            let all = super::TABLES;
            return Err(damaged(format!("{tables} of its {all} tables are left")));
        }
        if length(path) <= super::QUICK_CHECK_MAX_BYTES {
            // It goes over every page twice; with the room that SQLite takes by itself it would read each twice, too.
            self.cache(2 * super::QUICK_CHECK_MAX_BYTES)
                .map_err(failed)?;
            let verdict: String = self
                .conn
                .query_row("PRAGMA quick_check(1)", [], |row| row.get(0))
                .map_err(failed)?;
            self.cache(super::CACHE_BYTES).map_err(failed)?;
            let what = verdict.replace('\n', "; ");
            if could_not_look(&verdict) {
                return Err(StoreError::Memory {
                    operation: "open".to_owned(),
                    path: path.to_owned(),
                    reason: format!("out of memory, or a disk that cannot be read: {what}"),
                });
            }
            if verdict != "ok" {
                return Err(damaged(what));
            }
        }
        let reads = matches!(self.hold.as_ref().map(Hold::how), Some(How::Locks));
        self.conn.set_db_config(keep_log, reads).map_err(failed)?;
        Ok(())
    }

    /// Has SQLite keep so much of the file in memory, and give the rest back.
    fn cache(&self, bytes: u64) -> rusqlite::Result<()> {
        // Below zero it is KiB.
        let kib = i64::try_from(bytes >> 10).unwrap_or(i64::MAX);
        self.conn.pragma_update(None, "cache_size", -kib)
    }
}

/// The index of a log, to a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Index {
    /// SQLite may read it.
    Usable,
    /// There is none, or it is another user's, who may cut it short while it is in memory.
    Unusable,
    /// It is none of this store.
    Wrong(Wrong),
}

/// What is beside a store.
struct Around {
    /// The log holds something that may not be in the file yet.
    log: bool,
    index: Index,
    /// The journal tells of a change that goes on, or was broken off.
    journal: bool,
    real: PathBuf,
}

impl Around {
    /// Looks at what is beside the store `real`, called `path`; refuses a log or journal that is not its own.
    fn look(path: &Path, real: &Path) -> Result<Self, StoreError> {
        let denied = |error: std::io::Error| access("open", path, &error);
        let who = Access::of(real).map_err(denied)?;
        let look = |end: &str| -> Result<Option<(Metadata, Option<Wrong>)>, StoreError> {
            match beside(real, end).symlink_metadata() {
                Ok(found) => {
                    let wrong = who.wrong(&found);
                    Ok(Some((found, wrong)))
                }
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(denied(error)),
            }
        };
        let own = |end: &str| match look(end)? {
            Some((_, Some(wrong))) => Err(not_of_it(path, &beside(real, end), wrong)),
            found => Ok(found.is_some_and(|(found, _)| found.len() > 0)),
        };
        let (log, journal) = (own(LOG)?, own(JOURNAL)?);
        let index = match look(INDEX)? {
            Some((_, Some(wrong))) => Index::Wrong(wrong),
            Some((found, None)) if found.len() > 0 && may_share(&found) => Index::Usable,
            _ => Index::Unusable,
        };
        Ok(Self {
            log,
            index,
            journal: journal && is_live_journal(&beside(real, JOURNAL)),
            real: real.to_owned(),
        })
    }

    /// Who writes needs the index too.
    fn refuse_index(self, path: &Path) -> Result<(), StoreError> {
        match self.index {
            Index::Wrong(wrong) => Err(not_of_it(path, &beside(&self.real, INDEX), wrong)),
            Index::Usable | Index::Unusable => Ok(()),
        }
    }
}

/// Whether a file may be shared in memory with the one who owns it.
fn may_share(found: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    !sys::probe::is_root() || found.uid() == 0
}

/// What is there at `path` and beside it, as far as it decides how it is read.
fn situation(path: &Path) -> [Option<Stamp>; 4] {
    let real = resolved(path).unwrap_or_else(|_| path.to_owned());
    ["", LOG, INDEX, JOURNAL].map(|end| Stamp::at(&beside(&real, end)).ok())
}

/// The file that `path` leads to, which SQLite names the files beside it after.
fn resolved(path: &Path) -> Result<PathBuf, StoreError> {
    path.canonicalize()
        .map_err(|error| access("open", path, &error))
}

/// True where the log of the store `real` holds something that may not be in the file yet, or cannot be looked at.
fn has_log(real: &Path) -> bool {
    match std::fs::metadata(beside(real, LOG)) {
        Ok(found) => found.len() > 0,
        Err(error) => error.kind() != ErrorKind::NotFound,
    }
}

/// Whether a journal tells of a change: its beginning is wiped out when the change is through. One that is there and
/// cannot be read may tell of one.
fn is_live_journal(journal: &Path) -> bool {
    let mut magic = [0; JOURNAL_MAGIC.len()];
    match open_beside(journal).and_then(|mut file| file.read_exact(&mut magic)) {
        Ok(()) => magic == JOURNAL_MAGIC,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::UnexpectedEof),
    }
}

/// Whether the file beside this journal had no byte before the change that it tells of.
fn began_empty(real: &Path) -> bool {
    let mut begin = [0; 20];
    let mut read = || open_beside(&beside(real, JOURNAL))?.read_exact(&mut begin);
    // The number of pages before.
    read().is_ok() && begin[16..] == [0; 4]
}

fn changed(operation: &str, path: &Path) -> StoreError {
    StoreError::Changed {
        operation: operation.to_owned(),
        path: path.to_owned(),
    }
}

fn no_memory(path: &Path) -> StoreError {
    StoreError::Memory {
        operation: "open".to_owned(),
        path: path.to_owned(),
        reason: "out of memory".to_owned(),
    }
}

fn not_of_it(path: &Path, file: &Path, wrong: Wrong) -> StoreError {
    StoreError::Beside {
        path: path.to_owned(),
        file: file.to_owned(),
        why: wrong.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_journal_that_is_there_and_cannot_be_read_may_tell_of_a_change() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("live"), [&JOURNAL_MAGIC[..], &[0; 9]].concat()).unwrap();
        std::fs::write(path("done"), [0; 17]).unwrap();
        std::fs::write(path("empty"), "").unwrap();
        std::fs::create_dir(path("unreadable")).unwrap();
        symlink("done", path("link")).unwrap();
        for (name, expect) in [
            ("live", true),
            ("done", false),
            ("empty", false),
            ("none", false),
            ("unreadable", true),
            ("link", true),
        ] {
            assert_eq!(is_live_journal(&path(name)), expect, "{name}");
        }
        // Likewise a log.
        let log = |name: &str| has_log(&path(name));
        assert!(!log("none"));
        std::fs::write(path("a-wal"), "").unwrap();
        assert!(!log("a"));
        std::fs::write(path("a-wal"), "x").unwrap();
        assert!(log("a"));
        symlink("b-wal", path("b-wal")).unwrap();
        assert!(log("b"), "its name leads round in a circle");
    }
}
