//! What programs do to the names in a directory, each one system call relative to a handle of the directory: the kernel
//! looks up one name and not a whole path, and nothing above the directory can be changed under it. No operation
//! allocates, and none but [`Folder::access`] follows a link in the place of the name.
//!
//! Reading, writing and syncing an open file are std's own single calls ([`std::os::unix::fs::FileExt`],
//! [`File::sync_all`]); here they only get the name of their operation.

#![expect(unsafe_code, reason = "std has no calls relative to a directory")]

use crate::dirents::{self, Records};
use crate::loops::failure::Failure;
use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// A directory that is open.
#[derive(Debug)]
pub struct Folder(File);

/// How a file of a directory is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of open(2) of its own"
)]
pub struct How {
    /// For writing alone; else for reading alone, unless [`Self::both`].
    pub write: bool,
    /// For reading and writing.
    pub both: bool,
    /// It is made where it is not there.
    pub create: bool,
    /// It must not have been there (`O_EXCL`, with [`Self::create`]).
    pub new: bool,
    /// What it holds is cut off.
    pub cut: bool,
    /// Past the page cache (`O_DIRECT`).
    pub direct: bool,
    /// Writes return when data and attributes are on the device (`O_SYNC`).
    pub sync: bool,
    /// Writes return when the data is on the device (`O_DSYNC`).
    pub data_sync: bool,
}

impl How {
    /// For reading.
    pub const READ: Self = Self {
        write: false,
        both: false,
        create: false,
        new: false,
        cut: false,
        direct: false,
        sync: false,
        data_sync: false,
    };
    /// For writing, what is there.
    pub const WRITE: Self = Self {
        write: true,
        ..Self::READ
    };
    /// For writing, a file that nothing may be in the place of.
    pub const CREATE: Self = Self {
        create: true,
        new: true,
        ..Self::WRITE
    };

    fn flags(self) -> libc::c_int {
        let direction = match (self.both, self.write) {
            (true, _) => libc::O_RDWR,
            (false, true) => libc::O_WRONLY,
            (false, false) => libc::O_RDONLY,
        };
        [
            (self.create, libc::O_CREAT),
            (self.new, libc::O_EXCL),
            (self.cut, libc::O_TRUNC),
            (self.direct, libc::O_DIRECT),
            (self.sync, libc::O_SYNC),
            (self.data_sync, libc::O_DSYNC),
        ]
        .iter()
        .filter(|(on, _)| *on)
        .fold(
            direction | libc::O_CLOEXEC | libc::O_NOFOLLOW,
            |all, (_, flag)| all | flag,
        )
    }
}

/// What stat(2) says of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its length in bytes.
    pub bytes: u64,
    /// Its number on its file system.
    pub inode: u64,
    /// Whether it is a directory.
    pub is_dir: bool,
    /// Whether it is a regular file.
    pub is_file: bool,
}

/// Rights of what is made, less those that the process takes away from all (umask(2)).
const FILE_MODE: libc::c_uint = 0o644;
const DIR_MODE: libc::mode_t = 0o755;

fn done(operation: &'static str, status: libc::c_int) -> Result<(), Failure> {
    if status == 0 {
        Ok(())
    } else {
        Err(Failure::last(operation, 0))
    }
}

impl Folder {
    /// The directory that `path` names; a link is refused.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        std::fs::OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
            .open(path)
            .map(Self)
            .map_err(|error| Failure {
                operation: "open",
                done: 0,
                error,
            })
    }

    /// A directory in it.
    pub fn child(&self, name: &CStr) -> Result<Self, Failure> {
        self.open_with(name, libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC)
            .map(Self)
    }

    /// The handle, to sync what is known of its names, or to ask for the file system.
    pub const fn handle(&self) -> &File {
        &self.0
    }

    /// Opens a file, or makes it.
    #[inline]
    pub fn file(&self, name: &CStr, how: How) -> Result<File, Failure> {
        self.open_with(name, how.flags())
    }

    #[inline]
    fn open_with(&self, name: &CStr, flags: libc::c_int) -> Result<File, Failure> {
        // SAFETY: the directory is open, the name ends in NUL, and the kernel keeps none of it.
        let fd = unsafe { libc::openat(self.0.as_raw_fd(), name.as_ptr(), flags, FILE_MODE) };
        if fd < 0 {
            let makes = flags & libc::O_CREAT != 0;
            return Err(Failure::last(if makes { "create" } else { "open" }, 0));
        }
        // SAFETY: the descriptor is new and nobody else's.
        Ok(unsafe { File::from_raw_fd(fd) })
    }

    /// What is known of a name; of a link itself, and not of what it leads to.
    #[inline]
    pub fn stat(&self, name: &CStr) -> Result<Attributes, Failure> {
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        let (fd, at) = (self.0.as_raw_fd(), found.as_mut_ptr());
        // SAFETY: the directory is open, the name ends in NUL, and `found` is valid to write to.
        let status = unsafe { libc::fstatat(fd, name.as_ptr(), at, libc::AT_SYMLINK_NOFOLLOW) };
        done("stat", status)?;
        // SAFETY: the call succeeded and has filled it.
        let found = unsafe { found.assume_init() };
        Ok(Attributes {
            bytes: u64::try_from(found.st_size).unwrap_or(0),
            inode: found.st_ino,
            is_dir: found.st_mode & libc::S_IFMT == libc::S_IFDIR,
            is_file: found.st_mode & libc::S_IFMT == libc::S_IFREG,
        })
    }

    /// Whether the process may read and write what a name leads to.
    #[inline]
    pub fn access(&self, name: &CStr) -> Result<(), Failure> {
        let rights = libc::R_OK | libc::W_OK;
        // SAFETY: the directory is open, and the name ends in NUL.
        let status = unsafe { libc::faccessat(self.0.as_raw_fd(), name.as_ptr(), rights, 0) };
        done("access", status)
    }

    /// Sets when it was last changed, in seconds since 1970; the time of the last reading stays.
    #[inline]
    pub fn set_modified(&self, name: &CStr, seconds: i64) -> Result<(), Failure> {
        let times = [
            libc::timespec {
                tv_sec: 0,
                tv_nsec: libc::UTIME_OMIT,
            },
            libc::timespec {
                tv_sec: seconds,
                tv_nsec: 0,
            },
        ];
        let (fd, at) = (self.0.as_raw_fd(), times.as_ptr());
        // SAFETY: the directory is open, the name ends in NUL, and `times` has the two values that the call reads.
        let status = unsafe { libc::utimensat(fd, name.as_ptr(), at, libc::AT_SYMLINK_NOFOLLOW) };
        done("setattr", status)
    }

    /// Gives a name of this directory another one in `to`; what had that is gone.
    #[inline]
    pub fn rename(&self, name: &CStr, to: &Self, new: &CStr) -> Result<(), Failure> {
        let (from, target) = (self.0.as_raw_fd(), to.0.as_raw_fd());
        // SAFETY: both directories are open, and both names end in NUL.
        let status = unsafe { libc::renameat(from, name.as_ptr(), target, new.as_ptr()) };
        done("rename", status)
    }

    /// Takes a file's name away.
    #[inline]
    pub fn unlink(&self, name: &CStr) -> Result<(), Failure> {
        // SAFETY: the directory is open, and the name ends in NUL.
        let status = unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) };
        done("unlink", status)
    }

    /// Makes a directory.
    #[inline]
    pub fn mkdir(&self, name: &CStr) -> Result<(), Failure> {
        // SAFETY: the directory is open, and the name ends in NUL.
        let status = unsafe { libc::mkdirat(self.0.as_raw_fd(), name.as_ptr(), DIR_MODE) };
        done("mkdir", status)
    }

    /// Takes an empty directory away.
    #[inline]
    pub fn rmdir(&self, name: &CStr) -> Result<(), Failure> {
        let flags = libc::AT_REMOVEDIR;
        // SAFETY: the directory is open, and the name ends in NUL.
        let status = unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), flags) };
        done("rmdir", status)
    }

    /// Goes back to the first of its names, for [`Self::read`].
    pub fn rewind(&self) -> Result<(), Failure> {
        // SAFETY: lseek takes plain integers.
        if unsafe { libc::lseek(self.0.as_raw_fd(), 0, libc::SEEK_SET) } == 0 {
            Ok(())
        } else {
            Err(Failure::last("lseek", 0))
        }
    }

    /// Reads the next names (getdents64(2)), as many as fit into `entries`: none at the end.
    pub fn read<'a>(&self, entries: &'a mut Entries) -> Result<Names<'a>, Failure> {
        match dirents::next(self.0.as_fd(), &mut entries.0) {
            Ok(records) => Ok(Names(records)),
            Err(error) => named("readdir", Err(error)),
        }
    }
}

/// Room for the names that one call reads: 32 KiB, as the C library takes.
#[derive(Debug)]
pub struct Entries(Vec<u64>);

impl Default for Entries {
    fn default() -> Self {
        Self(vec![0; (32 << 10) / 8])
    }
}

/// Names that were read, those of the directory itself (`.`, `..`) among them.
#[derive(Debug)]
pub struct Names<'a>(Records<'a>);

impl<'a> Iterator for Names<'a> {
    type Item = &'a CStr;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(_, name)| name)
    }
}

fn named<T>(operation: &'static str, result: io::Result<T>) -> Result<T, Failure> {
    result.map_err(|error| Failure {
        operation,
        done: 0,
        error,
    })
}

/// Fills `buffer` from a place of the file; a file that ends before is an error.
#[inline]
pub fn read(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Failure> {
    named("read", file.read_exact_at(buffer, offset))
}

/// Writes all of `buffer` to a place of the file.
#[inline]
pub fn write(file: &File, buffer: &[u8], offset: u64) -> Result<(), Failure> {
    named("write", file.write_all_at(buffer, offset))
}

/// Waits until what the file holds, and what is known of it, is on the device: fsync(2).
#[inline]
pub fn sync(file: &File) -> Result<(), Failure> {
    named("fsync", file.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind<T: std::fmt::Debug>(result: Result<T, Failure>) -> (&'static str, io::ErrorKind) {
        let failure = result.unwrap_err();
        (failure.operation, failure.error.kind())
    }

    #[test]
    fn each_operation_does_what_it_is_called_and_names_itself_where_it_fails() {
        use io::ErrorKind::{AlreadyExists, DirectoryNotEmpty, NotFound, UnexpectedEof};
        let root = tempfile::tempdir().unwrap();
        let top = Folder::open(root.path()).unwrap();
        top.mkdir(c"d").unwrap();
        assert_eq!(kind(top.mkdir(c"d")), ("mkdir", AlreadyExists));
        let inner = top.child(c"d").unwrap();
        let file = inner.file(c"a", How::CREATE).unwrap();
        assert_eq!(
            kind(inner.file(c"a", How::CREATE)),
            ("create", AlreadyExists)
        );
        write(&file, b"abc", 2).unwrap();
        sync(&file).unwrap();
        sync(inner.handle()).unwrap();
        let found = inner.stat(c"a").unwrap();
        assert_eq!((found.bytes, found.is_file, found.is_dir), (5, true, false));
        assert!(top.stat(c"d").unwrap().is_dir);
        let opened = inner.file(c"a", How::READ).unwrap();
        let mut buffer = [9; 5];
        read(&opened, &mut buffer, 0).unwrap();
        assert_eq!(&buffer, b"\0\0abc");
        assert_eq!(kind(read(&opened, &mut buffer, 1)), ("read", UnexpectedEof));
        inner.access(c"a").unwrap();
        inner.set_modified(c"a", 7).unwrap();
        let modified = opened.metadata().unwrap().modified().unwrap();
        let since = modified.duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(since.as_secs(), 7);
        inner.rename(c"a", &top, c"b").unwrap();
        for failed in [
            kind(inner.stat(c"a")),
            kind(inner.access(c"a")),
            kind(inner.set_modified(c"a", 7)),
            kind(inner.unlink(c"a")),
            kind(inner.file(c"a", How::READ)),
            kind(inner.rename(c"a", &top, c"b")),
        ] {
            assert_eq!(failed.1, NotFound, "{}", failed.0);
        }
        let cut = How {
            cut: true,
            ..How::WRITE
        };
        top.file(c"b", cut).unwrap();
        assert_eq!(top.stat(c"b").unwrap().bytes, 0);
        inner.file(c"x", How::CREATE).unwrap();
        assert_eq!(kind(top.rmdir(c"d")), ("rmdir", DirectoryNotEmpty));
        inner.unlink(c"x").unwrap();
        top.rmdir(c"d").unwrap();
        top.unlink(c"b").unwrap();
        assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
    }

    #[test]
    fn no_operation_follows_a_link() {
        let root = tempfile::tempdir().unwrap();
        std::fs::write(root.path().join("precious"), "precious").unwrap();
        std::os::unix::fs::symlink("precious", root.path().join("link")).unwrap();
        std::os::unix::fs::symlink(".", root.path().join("here")).unwrap();
        let top = Folder::open(root.path()).unwrap();
        let cut = How {
            cut: true,
            create: true,
            ..How::WRITE
        };
        assert!(top.file(c"link", cut).is_err());
        assert!(top.child(c"here").is_err());
        assert!(Folder::open(&root.path().join("here")).is_err());
        assert!(!top.stat(c"link").unwrap().is_file);
        top.set_modified(c"link", 7).unwrap();
        top.unlink(c"link").unwrap();
        let kept = std::fs::read(root.path().join("precious")).unwrap();
        assert_eq!(kept, b"precious");
    }

    #[test]
    fn all_names_are_read_over_several_calls_and_again() {
        let root = tempfile::tempdir().unwrap();
        for number in 0..700 {
            std::fs::write(root.path().join(format!("{number:040}")), "").unwrap();
        }
        let top = Folder::open(root.path()).unwrap();
        let mut entries = Entries(vec![0; 100]);
        for _ in 0..2 {
            top.rewind().unwrap();
            let (mut found, mut calls) = (std::collections::BTreeSet::new(), 0);
            loop {
                let mut names = top.read(&mut entries).unwrap().peekable();
                if names.peek().is_none() {
                    break;
                }
                calls += 1;
                found.extend(names.map(CStr::to_owned));
            }
            assert!(calls > 10, "{calls}");
            assert_eq!(found.len(), 702);
            assert!(found.contains(c".."), "and the directory's own");
        }
    }
}
