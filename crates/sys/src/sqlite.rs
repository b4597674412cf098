//! The files beside a database of SQLite: the log (`-wal`), its index (`-shm`) and the journal (`-journal`).
//!
//! SQLite makes their names from the name of the database, opens them whatever they are, and takes in what they hold.
//! Where another user may make files in the directory, that user could put a log or a journal there, and so write into
//! the database, or a second name of another file, which would be written over. So a file beside a database counts only
//! where it is a regular file of one name, which no user made who may not write to the database ([`wrong`]).
//!
//! A look before SQLite opens a file is not enough: the file may be another one by then. So the system call by which
//! SQLite opens files is replaced by one of ours, which looks at the file that it has opened
//! (`xSetSystemCall` of <https://www.sqlite.org/c3ref/vfs.html>). For a database that is only read it also refuses to
//! open anything for writing, as the kernel does for a user who may only read: SQLite then reads, and makes nothing.
//! Files of databases that nothing was said about are opened as ever. Rejected: a VFS of our own, which does not see
//! the index of the log.

#![expect(
    unsafe_code,
    reason = "SQLite calls it, and std opens no file by flags"
)]

use libsqlite3_sys as ffi;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The log of what was committed and is not in the database yet.
pub const LOG: &str = "-wal";
/// The index of the log, which the processes that have the database open share in memory.
pub const INDEX: &str = "-shm";
/// What a change that was broken off has to be undone with.
pub const JOURNAL: &str = "-journal";

/// The name beside `database` that ends in this.
pub fn beside(database: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(database);
    name.push(end);
    name.into()
}

/// Why a file beside a database is not taken for one of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    /// It is a link, a directory, a pipe, a device.
    NoFile,
    /// It has so many names: what is written into it is written into another file.
    Names(u64),
    /// It is this user's, who may not write to the database.
    Owner(u32),
    /// Others than those who may write to the database may write to it (its mode).
    Mode(u32),
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile => write!(f, "it is no regular file"),
            Self::Names(names) => write!(f, "it has {names} names (hard links)"),
            Self::Owner(user) => write!(f, "it belongs to user {user}"),
            Self::Mode(mode) => write!(f, "others may write to it (mode {mode:o})"),
        }
    }
}

/// Writing by the group and by others, in a mode.
const OTHERS_WRITE: u32 = 0o022;

/// Writing by the group alone.
const GROUP_WRITES: u32 = 0o020;

/// Why a file beside a database is not taken for one of it; `None` where it is.
pub fn wrong(found: &Metadata, database: &Metadata) -> Option<Wrong> {
    // SAFETY: geteuid takes nothing and cannot fail.
    let me = unsafe { libc::geteuid() };
    let others = database.mode() & OTHERS_WRITE;
    let more = found.mode() & OTHERS_WRITE & !others;
    // Who is in a group cannot be told. Root takes the word of the file, and all others work together in groups.
    let of_group = others & GROUP_WRITES != 0 && (me != 0 || found.gid() == database.gid());
    let may_write = of_group || others & !GROUP_WRITES != 0;
    if !found.is_file() {
        Some(Wrong::NoFile)
    } else if found.nlink() > 1 {
        Some(Wrong::Names(found.nlink()))
    } else if !may_write && ![0, me, database.uid()].contains(&found.uid()) {
        Some(Wrong::Owner(found.uid()))
    } else if more != 0 {
        Some(Wrong::Mode(found.mode() & 0o7777))
    } else {
        None
    }
}

/// A database that this process has open.
#[derive(Debug)]
struct Rule {
    number: u64,
    /// As SQLite names it: absolute and without links.
    path: PathBuf,
    /// What it was when it was opened.
    database: Metadata,
    writes: bool,
}

/// All of them, and the number of the next one.
static RULES: Mutex<(Vec<Rule>, u64)> = Mutex::new((Vec::new(), 0));

fn rules() -> MutexGuard<'static, (Vec<Rule>, u64)> {
    RULES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For as long as it is there, the files beside a database are looked at when SQLite opens them.
#[derive(Debug)]
pub struct Guard(u64);

/// Has the files beside the database at `path` looked at from now on. The path is absolute and without links, as
/// SQLite names the database. Unless one of those who have it open in this process `writes`, none of them is opened for
/// writing, and none made.
pub fn guard(path: &Path, writes: bool) -> io::Result<Guard> {
    replace_calls()?;
    let database = path.metadata()?;
    let mut rules = rules();
    let number = rules.1;
    rules.1 += 1;
    rules.0.push(Rule {
        number,
        path: path.to_owned(),
        database,
        writes,
    });
    Ok(Guard(number))
}

impl Drop for Guard {
    fn drop(&mut self) {
        rules().0.retain(|rule| rule.number != self.0);
    }
}

/// What is to be kept to in opening this file beside a database: what that was, and whether this process writes to it.
fn rule_of(name: &Path) -> Option<(Metadata, bool)> {
    let name = name.as_os_str().as_bytes();
    let ends = [LOG, INDEX, JOURNAL];
    let base = ends
        .iter()
        .find_map(|end| name.strip_suffix(end.as_bytes()))?;
    let rules = rules();
    let of_it = || {
        rules
            .0
            .iter()
            .filter(|rule| rule.path.as_os_str().as_bytes() == base)
    };
    let database = of_it().next()?.database.clone();
    Some((database, of_it().any(|rule| rule.writes)))
}

/// Opens a file for SQLite.
fn opened(name: &CStr, flags: c_int, mode: c_int) -> io::Result<OwnedFd> {
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let Some((database, writes)) = rule_of(path) else {
        return open_as_it_is(name, flags, mode);
    };
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let check = |found: &Metadata| match wrong(found, &database) {
        None => Ok(()),
        Some(_) => Err(denied()),
    };
    if !writes && flags & (libc::O_ACCMODE | libc::O_CREAT) != libc::O_RDONLY {
        return Err(denied());
    }
    // What is wrong already is not opened at all: closing it might drop locks of this process.
    if let Ok(found) = path.symlink_metadata() {
        check(&found)?;
    }
    // It waits for no other end of a pipe.
    let safe = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let file = File::from(open_as_it_is(name, flags | safe, mode)?);
    check(&file.metadata()?)?;
    Ok(file.into())
}

fn open_as_it_is(name: &CStr, flags: c_int, mode: c_int) -> io::Result<OwnedFd> {
    // SAFETY: the name ends in NUL, and open(2) reads the mode only where it makes a file.
    let fd = unsafe { libc::open(name.as_ptr(), flags, mode) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us `fd`, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// In the place of open(2).
unsafe extern "C" fn open_for_sqlite(name: *const c_char, flags: c_int, mode: c_int) -> c_int {
    // SAFETY: SQLite gives a name that ends in NUL and stays for as long as the call.
    let name = unsafe { CStr::from_ptr(name) };
    match opened(name, flags, mode) {
        Ok(fd) => fd.into_raw_fd(),
        Err(error) => fails_with(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// In the place of fchown(2), by which SQLite gives the files that it makes as root to the owner of the database: also
/// those that it only reads, which stay as they are.
unsafe extern "C" fn own_for_sqlite(fd: c_int, user: libc::uid_t, group: libc::gid_t) -> c_int {
    // SAFETY: F_GETFL takes no argument; `fd` is SQLite's, and open.
    let flags = unsafe { libc::fcntl(fd, libc::F_GETFL) };
    if flags >= 0 && flags & libc::O_ACCMODE == libc::O_RDONLY {
        return 0;
    }
    // SAFETY: `fd` is SQLite's, and open for as long as the call.
    let file = unsafe { BorrowedFd::borrow_raw(fd) };
    match std::os::unix::fs::fchown(file, Some(user), Some(group)) {
        Ok(()) => 0,
        Err(error) => fails_with(error.raw_os_error().unwrap_or(libc::EIO)),
    }
}

/// What a system call gives back that failed.
fn fails_with(number: c_int) -> c_int {
    // SAFETY: the place of this thread's error number is always there.
    let place = unsafe { libc::__errno_location() };
    // SAFETY: it is this thread's alone.
    unsafe { *place = number };
    -1
}

/// Puts our calls in the place of SQLite's, once.
fn replace_calls() -> io::Result<()> {
    static DONE: OnceLock<c_int> = OnceLock::new();
    let status = *DONE.get_or_init(|| {
        let open: unsafe extern "C" fn(*const c_char, c_int, c_int) -> c_int = open_for_sqlite;
        // SAFETY: SQLite calls it with these very arguments: its own call of this name has them.
        let open: unsafe extern "C" fn() = unsafe { std::mem::transmute(open) };
        let own: unsafe extern "C" fn(c_int, libc::uid_t, libc::gid_t) -> c_int = own_for_sqlite;
        // SAFETY: as above.
        let own: unsafe extern "C" fn() = unsafe { std::mem::transmute(own) };
        replaced(c"open", open).max(replaced(c"fchown", own))
    });
    if status == ffi::SQLITE_OK {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "SQLite takes no calls of ours (error {status})"
        )))
    }
}

/// Has SQLite's files on this system call `call` where it would make the system call of this name.
fn replaced(name: &CStr, call: unsafe extern "C" fn()) -> c_int {
    // SAFETY: without a name it is the default one, which SQLite makes first where it has none yet.
    let vfs = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
    // SAFETY: it is null or lives for as long as the process.
    let set = unsafe { vfs.as_ref() }.and_then(|vfs| vfs.xSetSystemCall);
    let Some(set) = set else {
        return ffi::SQLITE_NOTFOUND;
    };
    // SAFETY: `vfs` is the one that the function is of, and the name ends in NUL.
    unsafe { set(vfs, name.as_ptr(), Some(call)) }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test makes a pipe")]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    fn open_at(path: &Path, flags: c_int) -> Result<(), c_int> {
        let name = CString::new(path.as_os_str().as_bytes()).unwrap();
        let file = opened(&name, flags, 0o644);
        file.map(drop)
            .map_err(|error| error.raw_os_error().unwrap())
    }

    const BOTH: c_int = libc::O_RDWR | libc::O_CREAT;

    #[test]
    fn what_is_beside_a_database_that_is_read_is_neither_made_nor_opened_for_writing() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let database = dir.join("a.db");
        fs::write(&database, "x").unwrap();
        let guarded = guard(&database, false).unwrap();
        for end in [LOG, INDEX, JOURNAL] {
            let name = beside(&database, end);
            assert_eq!(open_at(&name, libc::O_RDONLY), Err(libc::ENOENT));
            for flags in [
                BOTH,
                libc::O_RDWR,
                libc::O_WRONLY,
                libc::O_RDONLY | libc::O_CREAT,
            ] {
                assert_eq!(open_at(&name, flags), Err(libc::EACCES), "{end} {flags:o}");
            }
            assert!(!name.exists());
            // Another name, and the database itself, are opened as ever.
            open_at(&beside(&dir.join("b.db"), end), BOTH).unwrap();
            open_at(&database, libc::O_RDWR).unwrap();
        }
        // Who writes in the same process may.
        let writes = guard(&database, true).unwrap();
        open_at(&beside(&database, LOG), BOTH).unwrap();
        drop(writes);
        assert_eq!(open_at(&beside(&database, LOG), BOTH), Err(libc::EACCES));
        open_at(&beside(&database, LOG), libc::O_RDONLY).unwrap();
        drop(guarded);
        open_at(&beside(&database, LOG), BOTH).unwrap();
    }

    #[test]
    fn what_is_not_the_databases_own_is_not_opened() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let (database, other) = (dir.join("a.db"), dir.join("other"));
        let name = beside(&database, INDEX);
        for path in [&database, &other] {
            fs::write(path, "x").unwrap();
        }
        let guarded = guard(&database, true).unwrap();
        let check = |expect, put: &dyn Fn()| {
            put();
            let found = name.symlink_metadata().unwrap();
            let database = database.metadata().unwrap();
            assert_eq!(wrong(&found, &database), expect);
            let denied = expect.map_or(Ok(()), |_| Err(libc::EACCES));
            for flags in [BOTH, libc::O_RDONLY] {
                assert_eq!(open_at(&name, flags), denied, "{expect:?}");
            }
            fs::remove_file(&name)
                .or_else(|_| fs::remove_dir(&name))
                .unwrap();
        };
        let mode = |mode| {
            fs::write(&name, "x").unwrap();
            fs::set_permissions(&name, fs::Permissions::from_mode(mode)).unwrap();
        };
        check(None, &|| mode(0o644));
        check(None, &|| mode(0o600));
        check(Some(Wrong::Mode(0o664)), &|| mode(0o664));
        check(Some(Wrong::Mode(0o602)), &|| mode(0o602));
        check(Some(Wrong::Names(2)), &|| {
            fs::hard_link(&other, &name).unwrap();
        });
        check(Some(Wrong::NoFile), &|| symlink(&other, &name).unwrap());
        check(Some(Wrong::NoFile), &|| fs::create_dir(&name).unwrap());
        check(Some(Wrong::NoFile), &|| {
            let made = Command::new("mkfifo").arg(&name).status().unwrap();
            assert!(made.success());
        });
        assert_eq!(fs::read(&other).unwrap(), b"x");
        // Who may write to the database may write beside it.
        drop(guarded);
        fs::set_permissions(&database, fs::Permissions::from_mode(0o664)).unwrap();
        let _guard = guard(&database, true).unwrap();
        check(None, &|| mode(0o664));
        check(Some(Wrong::Mode(0o666)), &|| mode(0o666));
    }
}
