//! A flag that processes share: the first byte of a file, mapped into each of them.
//!
//! Raising it and looking at it are a store and a load: no system call, no memory, no name that must still be there. A
//! file system that maps no file for several processes refuses it when it is opened.

#![expect(unsafe_code, reason = "mmap, and a byte that others change")]

use super::file::reserve;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering};

/// A flag of several processes, down until one of them raises it.
#[derive(Debug)]
pub struct SharedFlag(NonNull<AtomicU8>);

// SAFETY: the byte is changed by atomic operations alone, from any thread.
unsafe impl Send for SharedFlag {}

impl SharedFlag {
    /// The flag of this name, which is made where it is not there. Opened by all before one may raise it.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(mapped(path, 1)?.cast()))
    }

    fn byte(&self) -> &AtomicU8 {
        // SAFETY: the mapping has a byte, is aligned to a page, and lives as long as `self`.
        unsafe { self.0.as_ref() }
    }

    /// Raises it, for good.
    pub fn raise(&self) {
        self.byte().store(1, Ordering::Release);
    }

    /// Whether one of those who share it has raised it.
    #[inline]
    pub fn is_raised(&self) -> bool {
        self.byte().load(Ordering::Acquire) > 0
    }
}

impl Drop for SharedFlag {
    fn drop(&mut self) {
        unmap(self.0.cast(), 1);
    }
}

/// The first bytes of the file of this name, which is made where it is not there, with zeros. All who open it share
/// them.
pub(super) fn mapped(path: &Path, bytes: usize) -> io::Result<NonNull<u8>> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)?;
    if file.metadata()?.len() == 0 {
        // Its block is asked for now: a hole could find none when it is written to. What others wrote stays.
        let bytes = bytes as u64;
        match reserve(&file, bytes) {
            Err(error) if error.kind() == io::ErrorKind::Unsupported => file.set_len(bytes)?,
            done => done?,
        }
    }
    // SAFETY: a new shared mapping of our file; nothing of ours is replaced without MAP_FIXED.
    let start = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            file.as_raw_fd(),
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    NonNull::new(start.cast()).ok_or_else(|| io::ErrorKind::OutOfMemory.into())
}

/// Gives back what [`mapped`] gave; nothing may refer to it any more.
pub(super) fn unmap(start: NonNull<u8>, bytes: usize) {
    // SAFETY: the mapping was made by `mapped` with this length, and its one owner gives it back.
    unsafe { libc::munmap(start.as_ptr().cast(), bytes) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_raises_all_see_without_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flag");
        let [one, other] = [&path, &path].map(|path| SharedFlag::open(path).unwrap());
        std::fs::remove_file(&path).unwrap();
        assert!(!one.is_raised() && !other.is_raised());
        one.raise();
        assert!(one.is_raised() && other.is_raised());
    }

    #[test]
    fn it_stays_raised_for_those_who_come_later() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flag");
        SharedFlag::open(&path).unwrap().raise();
        assert!(SharedFlag::open(&path).unwrap().is_raised());
        let nowhere = SharedFlag::open(&dir.path().join("no/flag"));
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
