//! The calls that a file server makes for its clients: by path and by handle, one function each.
//!
//! Nothing here allocates: names stand in buffers of the caller. A function is one system call, but for reading
//! directories.

#![expect(
    unsafe_code,
    reason = "std copies names for every call and opens files in its own way; here a function is the call that is \
              measured"
)]

use crate::dirents;
use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// To read and write one that is there.
    Existing,
    /// The same, or it is made.
    Make,
    /// The same, and it is emptied.
    MakeEmpty,
    /// A directory.
    Directory,
}

fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

fn counted(bytes: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(bytes).map_err(|_| io::Error::last_os_error())
}

fn signed(offset: u64) -> io::Result<libc::off_t> {
    libc::off_t::try_from(offset).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// stat(2), for nothing but whether the name is there.
pub fn stat(path: &CStr) -> io::Result<()> {
    let mut found = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `path` ends in a zero byte, and `found` has room for the answer.
    checked(unsafe { libc::stat(path.as_ptr(), found.as_mut_ptr()) })
}

/// fstat(2): access and change of content, in seconds.
pub fn stat_handle(file: &OwnedFd) -> io::Result<[i64; 2]> {
    let mut found = MaybeUninit::<libc::stat>::zeroed();
    // SAFETY: `found` has room for the answer.
    checked(unsafe { libc::fstat(file.as_raw_fd(), found.as_mut_ptr()) })?;
    // SAFETY: it was filled, and zeros are a value of it too.
    let found = unsafe { found.assume_init() };
    Ok([found.st_atime, found.st_mtime])
}

/// statfs(2).
pub fn stat_file_system(path: &CStr) -> io::Result<()> {
    let mut found = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: `path` ends in a zero byte, and `found` has room for the answer.
    checked(unsafe { libc::statfs(path.as_ptr(), found.as_mut_ptr()) })
}

/// utimensat(2), in whole seconds.
pub fn set_times(path: &CStr, times: [i64; 2]) -> io::Result<()> {
    let times = times.map(|tv_sec| libc::timespec { tv_sec, tv_nsec: 0 });
    // SAFETY: `path` ends in a zero byte, and `times` are the two that the call reads.
    checked(unsafe { libc::utimensat(libc::AT_FDCWD, path.as_ptr(), times.as_ptr(), 0) })
}

/// open(2).
pub fn open(path: &CStr, how: Opening) -> io::Result<OwnedFd> {
    let flags = match how {
        Opening::Existing => libc::O_RDWR,
        Opening::Make => libc::O_RDWR | libc::O_CREAT,
        Opening::MakeEmpty => libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
        Opening::Directory => libc::O_RDONLY | libc::O_DIRECTORY,
    };
    // SAFETY: `path` ends in a zero byte.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
    owned(fd)
}

fn owned(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given it to nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// close(2), whose error may be that of a write.
pub fn close(file: OwnedFd) -> io::Result<()> {
    // SAFETY: it was owned, and is given away here.
    checked(unsafe { libc::close(file.into_raw_fd()) })
}

/// pread(2).
pub fn read_at(file: &OwnedFd, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let offset = signed(offset)?;
    // SAFETY: `buffer` is valid to write to for its length.
    counted(unsafe {
        libc::pread(
            file.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            offset,
        )
    })
}

/// pwrite(2).
pub fn write_at(file: &OwnedFd, buffer: &[u8], offset: u64) -> io::Result<usize> {
    let offset = signed(offset)?;
    // SAFETY: `buffer` is valid to read from for its length.
    counted(unsafe {
        libc::pwrite(
            file.as_raw_fd(),
            buffer.as_ptr().cast(),
            buffer.len(),
            offset,
        )
    })
}

/// fsync(2).
pub fn sync(file: &OwnedFd) -> io::Result<()> {
    // SAFETY: fsync takes an open descriptor.
    checked(unsafe { libc::fsync(file.as_raw_fd()) })
}

/// fcntl(2): takes a part of a file for oneself, or gives it back.
pub fn lock(file: &OwnedFd, offset: u64, length: u64, take: bool) -> io::Result<()> {
    let kind = if take { libc::F_WRLCK } else { libc::F_UNLCK };
    let [Ok(kind), Ok(whence)] = [kind, libc::SEEK_SET].map(libc::c_short::try_from) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let part = libc::flock {
        l_type: kind,
        l_whence: whence,
        l_start: signed(offset)?,
        l_len: signed(length)?,
        l_pid: 0,
    };
    // SAFETY: the call reads `part`, a whole flock.
    checked(unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLKW, &raw const part) })
}

/// mkdir(2).
pub fn make_directory(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` ends in a zero byte.
    checked(unsafe { libc::mkdir(path.as_ptr(), 0o700) })
}

/// rmdir(2).
pub fn remove_directory(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` ends in a zero byte.
    checked(unsafe { libc::rmdir(path.as_ptr()) })
}

/// unlink(2).
pub fn unlink(path: &CStr) -> io::Result<()> {
    // SAFETY: `path` ends in a zero byte.
    checked(unsafe { libc::unlink(path.as_ptr()) })
}

/// rename(2).
pub fn rename(from: &CStr, to: &CStr) -> io::Result<()> {
    // SAFETY: both end in a zero byte.
    checked(unsafe { libc::rename(from.as_ptr(), to.as_ptr()) })
}

/// What one call reads of a directory, as much as glibc's readdir asks for.
const NAMES_BYTES: usize = 32 << 10;

/// Room for the names of a directory.
#[derive(Debug)]
pub struct Names(Box<[u64]>);

impl Default for Names {
    fn default() -> Self {
        Self(vec![0; NAMES_BYTES / 8].into_boxed_slice())
    }
}

impl Names {
    /// Reads the names in a directory, until `is_enough` says that one of them is: the calls of opendir, readdir and
    /// closedir.
    pub fn read(
        &mut self,
        path: &CStr,
        mut is_enough: impl FnMut(&[u8]) -> bool,
    ) -> io::Result<()> {
        let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_DIRECTORY | libc::O_CLOEXEC;
        // SAFETY: `path` ends in a zero byte.
        let directory = owned(unsafe { libc::open(path.as_ptr(), flags) })?;
        stat_handle(&directory)?;
        loop {
            let records = dirents::next(directory.as_fd(), &mut self.0)?;
            if records.is_empty() {
                return Ok(());
            }
            for (_, name) in records {
                if is_enough(name.to_bytes()) {
                    return Ok(());
                }
            }
        }
    }
}

/// Directories inside of each other that are removed; deeper ones are an error.
const DEPTH_MAX: u32 = 64;

/// Removes a directory with all that is in it, or a file; links are not followed. What is not there is removed
/// already.
pub fn remove_tree(path: &CStr) -> io::Result<()> {
    match remove_below(libc::AT_FDCWD, path, 0) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => unlink(path),
        other => other,
    }
}

fn remove_below(at: RawFd, name: &CStr, depth: u32) -> io::Result<()> {
    if depth > DEPTH_MAX {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_CLOEXEC;
    // SAFETY: `name` ends in a zero byte.
    let directory = owned(unsafe { libc::openat(at, name.as_ptr(), flags) })?;
    let mut room = [0_u64; 512];
    loop {
        let records = dirents::next(directory.as_fd(), &mut room)?;
        if records.is_empty() {
            break;
        }
        for (kind, name) in records {
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            if kind == libc::DT_DIR {
                remove_below(directory.as_raw_fd(), name, depth + 1)?;
                continue;
            }
            // SAFETY: `name` ends in a zero byte.
            checked(unsafe { libc::unlinkat(directory.as_raw_fd(), name.as_ptr(), 0) })?;
        }
    }
    // SAFETY: `name` ends in a zero byte.
    checked(unsafe { libc::unlinkat(at, name.as_ptr(), libc::AT_REMOVEDIR) })
}

#[cfg(test)]
#[path = "file_server_tests.rs"]
mod tests;
