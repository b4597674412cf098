//! Whether the file is still the store that was opened, while a run is kept in it.
//!
//! Who restores a backup with `cp` writes into the very file that is open: its name and number stay, and no reading
//! shows it, because pages that are in the log are read there. So before a run measures, a mark is put into the file
//! itself, past the log: the run, and a number of the schema that no earlier copy has. From then on only folding logs
//! in writes to the file, which keeps the mark, whoever does it. Where the file's times say that it was written to, it
//! is read without its log.

use super::{BUSY_TIMEOUT, Stamp, Store, beside, without_log};
use crate::error::StoreError;
use crate::held::{Held, Identity};
use rusqlite::config::DbConfig;
use rusqlite::{OpenFlags, TransactionBehavior};
use std::path::PathBuf;
use std::time::Duration;

/// How often is looked whether the mark is in the file, and how long is waited in between: somebody who reads keeps it
/// out of there, and somebody who folds a log in may have come half-way.
const LOOKS: usize = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// The schema's number, which every change of the schema makes larger.
const SCHEMA_NUMBER: &str = "schema_version";

/// What is known of the file while runs are kept in it.
#[derive(Debug)]
pub(super) struct Mark {
    /// They are in the file.
    runs: Vec<String>,
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
        let mut mark = Mark {
            runs: runs.iter().map(|&run| run.to_owned()).collect(),
            schema,
            seen: None,
            log: Identity::at(&beside(&self.path, "-wal")).ok(),
            index: Identity::at(&beside(&self.path, "-shm")).ok(),
        };
        for _ in 0..LOOKS {
            // Where somebody is just reading it, a part stays for the next time.
            let _ = self.conn.pragma_query(None, "wal_checkpoint", |_| Ok(()));
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

    /// What became of the file meanwhile, in words, where it is not the one that was opened, or has lost something:
    /// nothing that is written here will then be found there.
    pub fn lost(&self) -> Option<&'static str> {
        match std::fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("was removed"),
            Ok(now) if Identity::of(&now) != self.hold.file() => Some("was replaced by another"),
            Ok(now) if now.len() < self.len => Some("was cut short"),
            Ok(_) if self.is_written_over() => Some("was written over"),
            _ => None,
        }
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
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            let name = without_log(&self.path);
            let file = Self::connect(&self.path, &name, flags, BUSY_TIMEOUT, &mut Held::lock())?;
            let read = || -> rusqlite::Result<bool> {
                let schema: i64 = file
                    .conn
                    .pragma_query_value(None, SCHEMA_NUMBER, |row| row.get(0))?;
                let mut known = file
                    .conn
                    .prepare("SELECT count(*) FROM runs WHERE id = ?1")?;
                let mut all = schema >= mark.schema;
                for run in &mark.runs {
                    all &= known.query_row([run], |row| row.get::<_, u32>(0))? == 1;
                }
                Ok(all)
            };
            read().map_err(|error| file.failed("look at the file", &error))
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
        self.conn
            .execute_batch("PRAGMA shrink_memory")
            .map_err(|error| self.failed("look through the file", &error))?;
        self.check()
    }

    /// Leaves the file as it is from now on, also when the store is closed: it is somebody else's. The log is ours: put
    /// aside, it is not taken for that of the file which is there now. Gives the name that it then has.
    pub fn leave(&self) -> Option<PathBuf> {
        let keep_log = DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE;
        // Setting a flag of an open connection does not fail.
        let _ = self.conn.set_db_config(keep_log, true);
        let mark = self.mark.take()?;
        let own = |end: &str, own: Option<Identity>| {
            let path = beside(&self.path, end);
            (own.is_some() && Identity::at(&path).ok() == own).then_some(path)
        };
        // Nobody finds the log by its index then; it holds nothing else.
        if let Some(index) = own("-shm", mark.index) {
            let _ = std::fs::remove_file(index);
        }
        let aside = beside(&self.path, &format!("-wal-of-{}", mark.runs.join("-")));
        std::fs::rename(own("-wal", mark.log)?, &aside).ok()?;
        Some(aside)
    }
}
