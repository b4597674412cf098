//! The files beside a database of SQLite: the log (`-wal`), its index (`-shm`) and the journal (`-journal`).
//!
//! SQLite makes their names from the name of the database, opens them whatever they are, and takes in what they hold.
//! Where another user may make files in the directory, that user could put a log or a journal there, and so write into
//! the database, or a second name of another file, which would be written over. So a file beside a database counts only
//! where it is a regular file of one name, which no user made who may not write to the database ([`Access::wrong`]).
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

use crate::tree::Tree;
use libsqlite3_sys as ffi;
use std::ffi::{CStr, OsStr, OsString, c_char, c_int};
use std::fmt;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
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

/// Who may write to a database, and who may make files beside it.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    owner: u32,
    group: u32,
    mode: u32,
    dir_owner: u32,
    dir_group: u32,
    dir_mode: u32,
}

impl Access {
    /// Of the database at this path, which is absolute and without links.
    pub fn of(path: &Path) -> io::Result<Self> {
        let database = path.metadata()?;
        let dir = path.parent().unwrap_or(path).metadata()?;
        Ok(Self {
            owner: database.uid(),
            group: database.gid(),
            mode: database.mode(),
            dir_owner: dir.uid(),
            dir_group: dir.gid(),
            dir_mode: dir.mode(),
        })
    }

    /// Why a file beside the database is not taken for one of it; `None` where it is.
    pub fn wrong(&self, found: &Metadata) -> Option<Wrong> {
        // SAFETY: geteuid takes nothing and cannot fail.
        let me = unsafe { libc::geteuid() };
        let more = found.mode() & OTHERS_WRITE & !self.mode;
        let (owner, group) = (found.uid(), found.gid());
        if !found.is_file() {
            Some(Wrong::NoFile)
        } else if found.nlink() > 1 {
            Some(Wrong::Names(found.nlink()))
        } else if !self.may_write(&Tree::real(), (owner, group), me) {
            Some(Wrong::Owner(owner))
        } else if more != 0 {
            Some(Wrong::Mode(found.mode() & 0o7777))
        } else {
            None
        }
    }

    /// Whether the owner of a file beside the database may write to the database too, as far as `me` can tell. Of its
    /// group are those that the machine's own lists name; and where none but the group may make files in the directory
    /// the others who did: users and groups may come from elsewhere (LDAP). Root then takes the word of the file alone.
    fn may_write(&self, tree: &Tree, (owner, group): (u32, u32), me: u32) -> bool {
        let writes = self.mode & OTHERS_WRITE;
        let dir_writes = self.dir_mode & OTHERS_WRITE;
        let of_group = |user| {
            let is_one = [0, me, self.owner].contains(&user);
            is_one || writes != 0 && is_member(tree, user, self.group)
        };
        let is_closed = of_group(self.dir_owner)
            && (dir_writes == 0 || dir_writes == GROUP_WRITES && self.dir_group == self.group);
        let made_by_group = writes != 0 && is_closed && (me != 0 || group == self.group);
        writes & !GROUP_WRITES != 0 || of_group(owner) || made_by_group
    }
}

/// Whether /etc/passwd or /etc/group has the user in the group (passwd(5), group(5)).
fn is_member(tree: &Tree, user: u32, group: u32) -> bool {
    let (users, groups) = ["/etc/passwd", "/etc/group"]
        .map(|path| tree.read(path).unwrap_or_default())
        .into();
    let fields = |line: &str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let has = |fields: &[String], at: usize, number: u32| {
        fields
            .get(at)
            .is_some_and(|field| field.parse() == Ok(number))
    };
    let own = users.lines().map(fields).filter(|line| has(line, 2, user));
    let own: Vec<Vec<String>> = own.collect();
    let of_group = groups
        .lines()
        .map(fields)
        .filter(|line| has(line, 2, group));
    let named: Vec<String> = of_group.filter_map(|line| line.get(3).cloned()).collect();
    own.iter().any(|line| {
        let mut names = named.iter().flat_map(|names| names.split(','));
        has(line, 3, group) || names.any(|name| name == line[0])
    })
}

/// A database that this process has open.
#[derive(Debug)]
struct Rule {
    number: u64,
    /// As SQLite names it: absolute and without links.
    path: PathBuf,
    /// Who might write to it when it was opened.
    access: Access,
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
    let access = Access::of(path)?;
    let mut rules = rules();
    let number = rules.1;
    rules.1 += 1;
    rules.0.push(Rule {
        number,
        path: path.to_owned(),
        access,
        writes,
    });
    Ok(Guard(number))
}

impl Drop for Guard {
    fn drop(&mut self) {
        rules().0.retain(|rule| rule.number != self.0);
    }
}

/// What is to be kept to in opening this file beside a database: who may write to that, and whether this process
/// writes to it.
fn rule_of(name: &Path) -> Option<(Access, bool)> {
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
    let access = of_it().next()?.access;
    Some((access, of_it().any(|rule| rule.writes)))
}

/// Opens a file for SQLite.
fn opened(name: &CStr, flags: c_int, mode: c_int) -> io::Result<OwnedFd> {
    let path = Path::new(OsStr::from_bytes(name.to_bytes()));
    let Some((access, writes)) = rule_of(path) else {
        return open_as_it_is(name, flags, mode);
    };
    let denied = || io::Error::from_raw_os_error(libc::EACCES);
    let check = |found: &Metadata| match access.wrong(found) {
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

/// Opens a file beside a database for reading: no link, and without waiting for the other end of a pipe.
pub fn open_beside(path: &Path) -> io::Result<File> {
    let safe = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    File::options().read(true).custom_flags(safe).open(path)
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
            assert_eq!(Access::of(&database).unwrap().wrong(&found), expect);
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

    #[test]
    fn opening_what_is_beside_a_database_waits_for_nothing_and_follows_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        let made = Command::new("mkfifo").arg(path("pipe")).status().unwrap();
        assert!(made.success());
        assert!(
            !open_beside(&path("pipe"))
                .unwrap()
                .metadata()
                .unwrap()
                .is_file()
        );
        fs::write(path("file"), "x").unwrap();
        assert_eq!(
            io::read_to_string(open_beside(&path("file")).unwrap()).unwrap(),
            "x"
        );
        symlink("file", path("link")).unwrap();
        let error = open_beside(&path("link")).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ELOOP));
    }

    #[test]
    fn who_made_a_file_beside_a_database_of_a_group_has_to_be_of_the_group() {
        const ROOT: u32 = 0;
        const ALICE: u32 = 1001;
        const BOB: u32 = 1002;
        const CAROL: u32 = 1003;
        const MALLORY: u32 = 1004;
        const BENCH: u32 = 500;
        const FAR: u32 = 70_000;
        let etc = tempfile::tempdir().unwrap();
        fs::create_dir(etc.path().join("etc")).unwrap();
        let write = |name: &str, text: &str| fs::write(etc.path().join(name), text).unwrap();
        write(
            "etc/passwd",
            "root:x:0:0::/:/bin/sh\nalice:x:1001:1001::/:/bin/sh\nbob:x:1002:1002::/:/bin/sh\n\
             carol:x:1003:500::/:/bin/sh\nmallory:x:1004:1004::/:/bin/sh\nodd\n",
        );
        write(
            "etc/group",
            "bench:x:500:alice,bob\nbenchers:x:501:mallory\nodd\n",
        );
        let check = |mode: u32,
                     (dir_mode, dir_owner, dir_group): (u32, u32, u32),
                     owner,
                     group,
                     me,
                     expect: bool| {
            let access = Access {
                owner: ALICE,
                group: BENCH,
                mode: 0o100_000 | mode,
                dir_owner,
                dir_group,
                dir_mode: 0o040_000 | dir_mode,
            };
            let found = access.may_write(&Tree::at(etc.path()), (owner, group), me);
            let dir = format!("{dir_mode:o} {dir_owner}:{dir_group}");
            let case = format!("{mode:o} {dir} {owner}:{group} to {me}");
            assert_eq!(found, expect, "{case}");
        };
        // For all, with and without the sticky bit; with the group of the directory, which files then get; for another
        // group, and for another user.
        let open = [
            (0o777, ROOT, 0),
            (0o1777, ALICE, 0),
            (0o3777, ROOT, BENCH),
            (0o775, ROOT, 1004),
            (0o755, MALLORY, BENCH),
        ];
        for dir in open {
            for me in [BOB, ROOT] {
                for owner in [ALICE, BOB, CAROL, ROOT] {
                    check(0o664, dir, owner, 1, me, true);
                }
                for group in [1004, BENCH] {
                    check(0o664, dir, MALLORY, group, me, false);
                    check(0o664, dir, FAR, group, me, false);
                    check(0o666, dir, MALLORY, group, me, true);
                    check(0o644, dir, MALLORY, group, me, false);
                }
            }
            check(0o644, dir, CAROL, BENCH, BOB, false);
        }
        // For the group alone: no list needs to know who made it.
        for dir in [
            (0o755, ALICE, 0),
            (0o775, ROOT, BENCH),
            (0o2775, CAROL, BENCH),
        ] {
            check(0o664, dir, FAR, FAR, BOB, true);
            check(0o664, dir, FAR, BENCH, ROOT, true);
            check(0o664, dir, FAR, FAR, ROOT, false);
            check(0o644, dir, FAR, BENCH, BOB, false);
        }
    }
}
