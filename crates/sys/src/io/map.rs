//! A file in memory (mmap(2)), read and written by copying, and synced as a whole.

#![expect(unsafe_code, reason = "std maps no files")]

use super::file::ReadOrder;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A shared mapping of the first bytes of a file; of none, nothing is mapped. Whoever makes the file shorter meanwhile
/// ends the process.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    bytes: usize,
    writes: bool,
}

// SAFETY: it owns its mapping alone, and what is in it is only ever copied: nobody holds a reference into it.
unsafe impl Send for Map {}
// SAFETY: likewise; threads that copy the same bytes at the same time get the one or the other, as with a file.
unsafe impl Sync for Map {}

impl Map {
    /// The first `bytes` of a file that was opened to read, and to write where the mapping is written to.
    pub fn new(file: &File, bytes: usize, writes: bool) -> io::Result<Self> {
        if bytes == 0 {
            let start = NonNull::dangling();
            return Ok(Self {
                start,
                bytes,
                writes,
            });
        }
        let write = if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping; nothing of ours is replaced without MAP_FIXED.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | write,
                libc::MAP_SHARED,
                file.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self {
            start,
            bytes,
            writes,
        })
    }

    /// Tells the kernel in which order it will be read.
    pub(super) fn tell_order(&self, order: ReadOrder) -> io::Result<()> {
        self.advise(match order {
            ReadOrder::Random => libc::MADV_RANDOM,
            ReadOrder::Sequential => libc::MADV_SEQUENTIAL,
        })
    }

    /// Its pages are mapped again when they are touched; what was written stays in the file.
    pub(super) fn let_go(&self) -> io::Result<()> {
        self.advise(libc::MADV_DONTNEED)
    }

    fn advise(&self, advice: libc::c_int) -> io::Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: the whole of a shared mapping of ours, into which nothing refers.
        if self.bytes > 0 && unsafe { libc::madvise(start, self.bytes, advice) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Where `length` bytes from `offset` on are, and how many of them there are before the end.
    #[inline]
    pub(super) fn part(&self, offset: u64, length: usize) -> (*mut u8, usize) {
        let first = usize::try_from(offset).unwrap_or(usize::MAX);
        let first = first.min(self.bytes);
        let length = length.min(self.bytes - first);
        (self.start.as_ptr().wrapping_add(first), length)
    }

    /// Panics where it was mapped to be read: a bug of the caller.
    #[inline]
    pub(super) fn check_writes(&self) {
        assert!(self.writes, "a write to a file that is mapped to be read");
    }

    fn at(&self, offset: usize, length: usize) -> *mut u8 {
        let end = offset.checked_add(length);
        assert!(
            end.is_some_and(|end| end <= self.bytes),
            "beyond the end of a mapping"
        );
        self.start.as_ptr().wrapping_add(offset)
    }

    /// Copies from it. Panics beyond its end: a bug of the caller.
    pub fn read(&self, offset: usize, into: &mut [u8]) {
        let from = self.at(offset, into.len());
        // SAFETY: `from` is mapped for the length of `into`, which is no part of it.
        unsafe { from.copy_to_nonoverlapping(into.as_mut_ptr(), into.len()) };
    }

    /// Copies to it. Panics like [`Self::read`].
    pub fn write(&self, offset: usize, from: &[u8]) {
        self.check_writes();
        let to = self.at(offset, from.len());
        // SAFETY: `to` is mapped for the length of `from`, which is no part of it.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// msync(2) of all of it: what was written is on the device afterwards.
    pub fn sync(&self) -> io::Result<()> {
        let start = self.start.as_ptr().cast();
        // SAFETY: the range is our own mapping.
        if self.bytes > 0 && unsafe { libc::msync(start, self.bytes, libc::MS_SYNC) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: the range is our own mapping, and nobody has a reference into it.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_copied_to_it_is_in_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, [7; 8192]).unwrap();
        let file = File::options().read(true).write(true).open(&path).unwrap();
        let map = Map::new(&file, 8192, true).unwrap();
        map.write(4096, b"hello");
        let mut room = [0; 7];
        map.read(4095, &mut room);
        assert_eq!(&room, b"\x07hello\x07");
        map.sync().unwrap();
        assert_eq!(&std::fs::read(&path).unwrap()[4096..4101], b"hello");
    }

    #[test]
    #[should_panic(expected = "beyond the end")]
    fn nothing_is_read_beyond_its_end() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        Map::new(&file, 4096, true).unwrap().read(4090, &mut [0; 7]);
    }
}
