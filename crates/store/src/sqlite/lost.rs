//! Whether the file is still the store that was opened, while a run is kept in it.
//!
//! Who restores a backup with `cp` writes into the very file that is open: its name and number stay, and no reading
//! shows it, because pages that are in the log are read there. So before a run measures, a mark is put into the file
//! itself, past the log: the run, and a number of the schema that no earlier copy has. From then on only folding logs
//! in writes to the file, which keeps the mark, whoever does it. Where the file's times say that it was written to, it
//! is read without its log.
//!
//! Who restores a backup through SQLite, or removes the run, changes the log as we do: what is read through the log
//! shows that, and the log is then theirs.

use super::link::Link;
use super::{Stamp, Store};
use crate::error::StoreError;
use crate::gate::{APPLICATION_ID, SCHEMA_VERSION};
use crate::held::Identity;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use std::fs::Metadata;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::sqlite::{INDEX, LOG, beside};

/// How often is looked whether the mark is in the file, and how long is waited in between: somebody who reads keeps it
/// out of there, and somebody who folds a log in may have come half-way.
const LOOKS: usize = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// The schema's number, which every change of the schema makes larger.
const SCHEMA_NUMBER: &str = "schema_version";

/// A number that a commit of any other connection changes, and nothing else does.
const OTHERS_COMMITS: &str = "data_version";

/// A run that is kept.
#[derive(Debug)]
struct Going {
    id: String,
    /// Its last round when all was well.
    seen: Option<u32>,
    /// Its last round.
    last: Option<u32>,
}

/// What is known of the file while runs are kept in it.
#[derive(Debug)]
pub(super) struct Mark {
    /// They are in the file.
    runs: Vec<Going>,
    /// What [`OTHERS_COMMITS`] was when all was well.
    commits: i64,
    /// What is wrong came through SQLite: so is what is in the log.
    is_theirs: bool,
    /// The schema's number is no smaller.
    schema: i64,
    /// When the mark was last seen; `None` where somebody reads all the time, so that it is only in the log.
    seen: Option<Stamp>,
    /// The log and its index, as far as there are any.
    log: Option<Identity>,
    index: Option<Identity>,
}

impl Store {
    /// Marks the file as the one in which `runs`, which are begun, will be kept. Folds the log in.
    pub fn mark(&self, runs: &[&str]) -> Result<(), StoreError> {
        let change = || -> rusqlite::Result<i64> {
            let transaction = self.transaction(TransactionBehavior::Immediate)?;
            let last: i64 =
                transaction.pragma_query_value(None, SCHEMA_NUMBER, |row| row.get(0))?;
            // It may be any number of 31 bits; what comes after the last one is of no interest to anybody.
            let next = if last == i64::from(i32::MAX) {
                1
            } else {
                last + 1
            };
            transaction.pragma_update(None, SCHEMA_NUMBER, next)?;
            transaction.commit()?;
            Ok(next)
        };
        let schema = change().map_err(|error| self.failed("mark the file", &error))?;
        let going = |run: &&str| -> rusqlite::Result<Going> {
            let last =
                "SELECT max(seq) FROM rounds WHERE run = (SELECT key FROM runs WHERE id = ?1)";
            let last = self.conn().query_row(last, [run], |row| row.get(0))?;
            Ok(Going {
                id: (*run).to_owned(),
                seen: last,
                last,
            })
        };
        let runs: rusqlite::Result<Vec<Going>> = runs.iter().map(going).collect();
        let failed = |error| self.failed("mark the file", &error);
        let mut mark = Mark {
            runs: runs.map_err(failed)?,
            commits: self.number(OTHERS_COMMITS).map_err(failed)?,
            is_theirs: false,
            schema,
            seen: None,
            log: Identity::at(&beside(&self.path, LOG)).ok(),
            index: Identity::at(&beside(&self.path, INDEX)).ok(),
        };
        for _ in 0..LOOKS {
            // Where somebody is just reading it, a part stays for the next time.
            let _ = self.conn().pragma_query(None, "wal_checkpoint", |_| Ok(()));
            let now = Stamp::at(&self.path).ok();
            if self.has(&mark) {
                mark.seen = now;
                break;
            }
            std::thread::sleep(PAUSE);
        }
        self.mark.replace(Some(mark));
        Ok(())
    }

    /// Notes that a round was kept.
    pub(super) fn kept(&self, run: &str, seq: u32) {
        let mut mark = self.mark.borrow_mut();
        let runs = mark.iter_mut().flat_map(|mark| &mut mark.runs);
        for going in runs.filter(|going| going.id == run) {
            going.last = Some(seq);
        }
    }

    /// What became of the file meanwhile, in words, where it is not the one that was opened, or has lost something:
    /// nothing that is written here will then be found there.
    pub fn lost(&self) -> Option<String> {
        let how = match self.look() {
            Err(error) if error.kind() == ErrorKind::NotFound => "was removed",
            Err(error) => return Some(format!("can no longer be reached ({error})")),
            Ok(now) if Identity::of(&now) != self.link.file => "was replaced by another",
            Ok(now) if now.len() < self.len => "was cut short",
            Ok(_) => match self.fault() {
                Some(fault) if self.is_theirs() => fault,
                Some(_) => "was written over",
                None if self.is_written_over() => "was written over",
                None => return None,
            },
        };
        Some(how.to_owned())
    }

    /// What is at the path. Where that cannot be said, it may be for a moment only, as with a server that is busy.
    fn look(&self) -> std::io::Result<Metadata> {
        let look = || std::fs::metadata(&self.path);
        for _ in 1..LOOKS {
            match look() {
                Err(error) if error.kind() != ErrorKind::NotFound => std::thread::sleep(PAUSE),
                found => return found,
            }
        }
        look()
    }

    /// What is wrong with the store as it is read through its log, in words.
    fn fault(&self) -> Option<&'static str> {
        let mut mark = self.mark.borrow_mut();
        let mark = mark.as_mut()?;
        let look = || -> rusqlite::Result<Option<&'static str>> {
            if self.number("application_id")? != i64::from(APPLICATION_ID) {
                return Ok(Some("is marked as the database of another program now"));
            }
            if self.number("user_version")? != i64::from(SCHEMA_VERSION) {
                return Ok(Some("is marked as a store of another version now"));
            }
            let mut known = self.conn().prepare_cached(
                "SELECT count(*) FROM runs WHERE id = ?1 AND ending = 'open' AND \
                 (?2 IS NULL OR EXISTS (SELECT 1 FROM rounds WHERE run = key AND seq = ?2))",
            )?;
            for Going { id, seen, .. } in &mark.runs {
                if known.query_row((id, seen), |row| row.get::<_, u32>(0))? == 0 {
                    return Ok(Some(
                        "holds the run no more, or not all of it (somebody restored a copy, or removed it)",
                    ));
                }
            }
            Ok(None)
        };
        match look() {
            Ok(None) => {
                if let Ok(commits) = self.number(OTHERS_COMMITS) {
                    mark.commits = commits;
                }
                for going in &mut mark.runs {
                    going.seen = going.last;
                }
                None
            }
            Ok(fault) => fault,
            // SQLITE_ERROR: what is asked for is not there.
            Err(error) if error.sqlite_error_code() == Some(ErrorCode::Unknown) => {
                Some("has lost its tables")
            }
            // Where it is just locked, the next look tells.
            Err(_) => None,
        }
    }

    /// Whether what is wrong was written through SQLite: nobody wrote to the file, or others committed something and
    /// all of it is sound.
    fn is_theirs(&self) -> bool {
        let mut mark = self.mark.borrow_mut();
        let Some(mark) = mark.as_mut() else {
            return false;
        };
        let is_sound = || {
            let verdict = "PRAGMA quick_check(1)";
            let verdict = self.conn().query_row(verdict, [], |row| row.get(0));
            verdict.is_ok_and(|verdict: String| verdict == "ok")
        };
        let is_untouched = mark.seen.is_some() && Stamp::at(&self.path).ok() == mark.seen;
        mark.is_theirs = is_untouched
            || self
                .number(OTHERS_COMMITS)
                .is_ok_and(|now| now != mark.commits)
                && is_sound();
        mark.is_theirs
    }

    fn number(&self, pragma: &str) -> rusqlite::Result<i64> {
        number_in(self.conn(), pragma)
    }

    /// Whether the file was written to, and the mark is not in it any more.
    fn is_written_over(&self) -> bool {
        let mut mark = self.mark.borrow_mut();
        let Some(mark) = mark.as_mut().filter(|mark| mark.seen.is_some()) else {
            return false;
        };
        let now = Stamp::at(&self.path).ok();
        if now == mark.seen {
            return false;
        }
        for _ in 0..LOOKS {
            if self.has(mark) {
                mark.seen = now;
                return false;
            }
            std::thread::sleep(PAUSE);
        }
        true
    }

    /// Whether the mark is in the file, past the log. What could not be looked at has it.
    fn has(&self, mark: &Mark) -> bool {
        let look = || -> Result<bool, StoreError> {
            let link = Link::to_file_alone(&self.path)?;
            let file = &link.conn;
            let read = || -> rusqlite::Result<bool> {
                let is_ours = number_in(file, "application_id")? == i64::from(APPLICATION_ID)
                    && number_in(file, "user_version")? == i64::from(SCHEMA_VERSION);
                let schema = number_in(file, SCHEMA_NUMBER)?;
                let mut known = file.prepare("SELECT count(*) FROM runs WHERE id = ?1")?;
                let mut all = is_ours && schema >= mark.schema;
                for run in &mark.runs {
                    all &= known.query_row([&run.id], |row| row.get::<_, u32>(0))? == 1;
                }
                Ok(all)
            };
            read().map_err(|error| self.failed("look at the file", &error))
        };
        match look() {
            Ok(has) => has,
            Err(error) => !matches!(
                error,
                StoreError::Damaged { .. } | StoreError::Database { .. }
            ),
        }
    }

    /// Looks through the file as an opening does, without what is remembered of it: what somebody wrote into it past
    /// the database shows. The log is not folded into a file in which something is wrong, nor removed.
    pub fn look_again(&self) -> Result<(), StoreError> {
        self.conn()
            .execute_batch("PRAGMA shrink_memory")
            .map_err(|error| self.failed("look through the file", &error))?;
        self.link.check(&self.path)
    }

    /// Leaves the file as it is from now on, also when the store is closed: it is somebody else's. The log is ours: put
    /// aside, it is not taken for that of the file which is there now. Gives the name that it then has. Where others
    /// changed the store through SQLite, the log is theirs too, and stays.
    pub fn leave(&self) -> Option<PathBuf> {
        let mark = self.mark.borrow();
        if mark.as_ref().is_some_and(|mark| mark.is_theirs) {
            // Setting it does not fail.
            let _ = self.conn().pragma_update(None, "query_only", true);
            return None;
        }
        drop(mark);
        let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        // Setting a flag of an open connection does not fail.
        let _ = self.conn().set_db_config(keep_log, true);
        let mark = self.mark.take()?;
        let own = |end: &str, own: Option<Identity>| {
            let path = beside(&self.path, end);
            (own.is_some() && Identity::at(&path).ok() == own).then_some(path)
        };
        // Nobody finds the log by its index then; it holds nothing else.
        if let Some(index) = own(INDEX, mark.index) {
            let _ = std::fs::remove_file(index);
        }
        let runs: Vec<&str> = mark.runs.iter().map(|run| run.id.as_str()).collect();
        let log = own(LOG, mark.log)?;
        let aside = beside(&self.path, &format!("-wal-of-{}", runs.join("-")));
        let asides = std::iter::once(aside.clone())
            .chain((2..=ASIDES_MAX).map(|number| beside(&aside, &format!("-{number}"))));
        for aside in asides {
            match put_aside(&log, &aside) {
                Ok(()) => return Some(aside),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(_) => return None,
            }
        }
        None
    }
}

/// How many names are tried for a log that is put aside.
const ASIDES_MAX: u32 = 100;

/// Gives the log another name, which nothing else has.
fn put_aside(log: &Path, aside: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(log, aside) {
        Ok(()) => std::fs::remove_file(log),
        // Some file systems have no second names.
        Err(error)
            if error.kind() != ErrorKind::AlreadyExists && aside.symlink_metadata().is_err() =>
        {
            std::fs::rename(log, aside)
        }
        Err(error) => Err(error),
    }
}

fn number_in(conn: &Connection, pragma: &str) -> rusqlite::Result<i64> {
    conn.pragma_query_value(None, pragma, |row| row.get(0))
}
