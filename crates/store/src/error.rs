//! What can go wrong in the store: one variant for each decision a caller makes.
//!
//! Every text names the file or the run, and ends in a `hint:` line where something helps.

use std::path::{Path, PathBuf};

/// Why the store could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no file; only reading insists on one.
    #[error("open the store `{}`: it does not exist\nhint: `kurabe run` makes one; name another with `--store FILE`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// The file is not a store of ours, and was left alone.
    #[error("open the store `{}`: {what}; the file was not touched\nhint: name another file with `--store FILE` or KURABE_STORE", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        what: String,
    },
    /// An older program wrote the file, which was left alone.
    #[error("open the store `{}`: its schema is version {found} and this program reads and writes version {known}; the file was not touched\nhint: measure again into another file (`--store FILE` or KURABE_STORE), or look at it with the kurabe that wrote it", path.display())]
    Older {
        /// The file.
        path: PathBuf,
        /// The schema version in the file.
        found: u32,
        /// The schema version of this program.
        known: u32,
    },
    /// A newer program wrote the file, which was left alone.
    #[error("open the store `{}`: its schema is version {found} and this program reads and writes version {known}; the file was not touched\nhint: use a newer kurabe, or name another file with `--store FILE`", path.display())]
    Newer {
        /// The file.
        path: PathBuf,
        /// The schema version in the file.
        found: u32,
        /// The schema version of this program.
        known: u32,
    },
    /// The file is damaged; nothing is written to it.
    #[error("{operation} in the store `{}`: the file is damaged: {what}\nhint: move it away and begin anew; `sqlite3 FILE .recover` may save what is readable", path.display())]
    Damaged {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
        /// What was found.
        what: String,
    },
    /// The file or its directory cannot be written, or not be read.
    #[error("{operation} in the store `{}`: {reason}\nhint: check its permissions and those of its directory, or name another file with `--store FILE`", path.display())]
    Access {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
        /// What the system said.
        reason: String,
    },
    /// A file beside it has a name that is SQLite's for this store, and is none of it.
    #[error("open the store `{}`: `{}` beside it is not its own: {why}; neither was touched\nhint: `ls -l` shows whose it is: if it is the store's own, give it the store's owner and mode (`chown`, `chmod`), else move it away", path.display(), file.display())]
    Beside {
        /// The store.
        path: PathBuf,
        /// The file beside it.
        file: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// A change was broken off, and has to be undone by a command that writes.
    #[error("open the store `{}`: a change of it was broken off, and reading does not undo it\nhint: `kurabe clean` undoes it", path.display())]
    BrokenOff {
        /// The store.
        path: PathBuf,
    },
    /// The file became another, or was written to without a lock that could be seen, while it was read.
    #[error("{operation} in the store `{}`: it was changed meanwhile\nhint: try again", path.display())]
    Changed {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
    },
    /// The system gave no memory to read with, or could not read; nothing is known to be wrong with the file.
    #[error("{operation} in the store `{}`: {reason}; nothing wrong was found in the file\nhint: try again with more memory: `ulimit -d` and `ulimit -v` show the limits of this shell", path.display())]
    Memory {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
        /// What the database said.
        reason: String,
    },
    /// The file system under the store is full.
    #[error("{operation} in the store `{}`: no space left on its file system\nhint: free some space, or name a file elsewhere with `--store FILE`", path.display())]
    Full {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
    },
    /// Another process held the store for longer than we wait.
    #[error("{operation} in the store `{}`: another process has it locked\nhint: `fuser FILE` names the process; try again when it is done", path.display())]
    Locked {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
    },
    /// The system could not read or write the file, and not for want of room.
    #[error("{operation} in the store `{}`: {reason}\nhint: a limit on files (`ulimit -f`), a quota or the disk may be why: `dmesg` shows what the kernel says", path.display())]
    Disk {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
        /// What the database said.
        reason: String,
    },
    /// The database failed in a way that none of the others names.
    #[error("{operation} in the store `{}`: {reason}", path.display())]
    Database {
        /// What was being done.
        operation: String,
        /// The file.
        path: PathBuf,
        /// What the database said.
        reason: String,
    },
    /// No run is meant by this text.
    #[error("no run is called `{text}`{}\nhint: `kurabe list --all` shows every run", suggestions(.nearest))]
    Unknown {
        /// What the user wrote.
        text: String,
        /// The labels and ids nearest to it, the nearest first; empty in an empty store.
        nearest: Vec<String>,
    },
    /// The store does not go back that far.
    #[error(
        "`{text}` goes back too far: the store holds {runs} runs\nhint: `kurabe list --all` shows every run"
    )]
    TooFarBack {
        /// What the user wrote.
        text: String,
        /// How many runs there are.
        runs: usize,
    },
    /// More than one run is meant by this text.
    #[error("`{text}` may mean {}{}\nhint: type more of the id", listed(.candidates), and_more(*.runs, .candidates))]
    Ambiguous {
        /// What the user wrote.
        text: String,
        /// The ids it may mean, from the last in their order; not all where there are many.
        candidates: Vec<String>,
        /// How many there are.
        runs: usize,
    },
    /// Another run has this id.
    #[error(
        "keep run `{id}`: the store has a different run with this id\nhint: `kurabe export {id}` saves the kept one; name another store with `--store FILE`"
    )]
    Taken {
        /// The id.
        id: String,
    },
    /// The run is no longer as it was when it was asked about.
    #[error(
        "remove run `{id}`: it went on meanwhile; nothing was removed\nhint: `kurabe list` shows what it is by now"
    )]
    GoesOn {
        /// The id.
        id: String,
    },
    /// The run is finished, and finished runs are never changed.
    #[error("{operation} run `{id}`: it is finished and is never changed again")]
    Finished {
        /// What was being done.
        operation: String,
        /// The id.
        id: String,
    },
    /// Another version of the program kept this run in a way that this one would misread.
    #[error(
        "read run `{id}`: its record is version {found} and this program reads version {known}\nhint: {}",
        other_version(*found, *known)
    )]
    OtherVersion {
        /// The id.
        id: String,
        /// The record version of the run.
        found: u32,
        /// The record version that this program reads.
        known: u32,
    },
    /// It could not be given back as it is.
    #[error("keep {what}: {why}")]
    Unkeepable {
        /// What was to be kept.
        what: String,
        /// Why it cannot be.
        why: String,
    },
}

impl StoreError {
    /// Sorts a database failure by what the caller can do about it.
    pub(crate) fn from_sqlite(operation: &str, path: &Path, error: &rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let operation = operation.to_owned();
        let path = path.to_owned();
        let reason = error.to_string();
        match error.sqlite_error_code() {
            _ if is_broken_off(error) => Self::BrokenOff { path },
            Some(Code::DatabaseBusy | Code::DatabaseLocked) => Self::Locked { operation, path },
            Some(Code::DiskFull) => Self::Full { operation, path },
            _ if is_without_room(error) => Self::Full { operation, path },
            _ if is_out_of_memory(error) => Self::Memory {
                operation,
                path,
                reason,
            },
            Some(Code::DatabaseCorrupt | Code::NotADatabase) => Self::Damaged {
                operation,
                path,
                what: reason,
            },
            Some(Code::ReadOnly | Code::CannotOpen | Code::PermissionDenied) => Self::Access {
                operation,
                path,
                reason,
            },
            Some(Code::SystemIoFailure) => Self::Disk {
                operation,
                path,
                reason,
            },
            _ if shape_is_wrong(error) => Self::Damaged {
                operation,
                path,
                what: reason,
            },
            _ => Self::Database {
                operation,
                path,
                reason,
            },
        }
    }
}

/// True where SQLite asked for memory and got none, by itself or below a read or a write.
fn is_out_of_memory(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(
        code,
        Some(rusqlite::ffi::SQLITE_NOMEM | rusqlite::ffi::SQLITE_IOERR_NOMEM)
    )
}

/// True where there is no room for the file that readers of the log share: SQLite calls it an error of the disk.
fn is_without_room(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}

/// True where a journal has to be played back, which takes writing.
fn is_broken_off(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    code == Some(rusqlite::ffi::SQLITE_READONLY_ROLLBACK)
}

/// What the check of the structure says of a page that it could not look at: a number that leads nowhere it calls
/// invalid, so that what failed is memory (7, `SQLITE_NOMEM`) or the reading itself, and not what is in the page.
pub(crate) fn could_not_look(verdict: &str) -> bool {
    verdict.contains("failed to get page") || verdict.ends_with("error code=7")
}

/// True where a value in the file is not of the type that the schema promises: only damage makes it so.
fn shape_is_wrong(error: &rusqlite::Error) -> bool {
    use rusqlite::Error as E;
    matches!(
        error,
        E::InvalidColumnType(..)
            | E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
    )
}

fn suggestions(names: &[String]) -> String {
    if names.is_empty() {
        "; the store is empty".to_owned()
    } else {
        format!("; nearest: {}", listed(names))
    }
}

fn and_more(runs: usize, named: &[String]) -> String {
    match runs.saturating_sub(named.len()) {
        0 => String::new(),
        more => format!(" and {more} more"),
    }
}

fn listed(names: &[String]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// What helps where a record is of another version than the one that is read.
pub(crate) const fn other_version(found: u32, known: u32) -> &'static str {
    if found > known {
        "use a newer kurabe"
    } else {
        "measure again, or use the kurabe that measured it"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;

    #[test]
    fn what_sqlite_calls_an_error_of_the_disk_says_what_helps() {
        for (code, hint) in [
            (ffi::SQLITE_IOERR_SHMSIZE, "free some space"),
            (ffi::SQLITE_IOERR_READ, "the disk may be why"),
            (ffi::SQLITE_IOERR_NOMEM, "more memory"),
        ] {
            let error = rusqlite::Error::SqliteFailure(ffi::Error::new(code), None);
            let said = StoreError::from_sqlite("open", Path::new("/s"), &error).to_string();
            let (_, said) = said.split_once("\nhint: ").unwrap();
            assert!(said.contains(hint), "{code}: {said}");
        }
    }
}
