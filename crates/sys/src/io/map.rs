//! A file in memory (mmap(2)), read and written by copying, and synced as a whole.

#![expect(unsafe_code, reason = "std maps no files")]

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::ptr::NonNull;

/// A shared mapping of the first bytes of a file. Whoever makes the file shorter meanwhile ends the process.
#[derive(Debug)]
pub struct Map {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: it owns its mapping alone, and what is in it is only ever copied: nobody holds a reference into it.
unsafe impl Send for Map {}
// SAFETY: likewise; threads that copy the same bytes at the same time get the one or the other, as with a file.
unsafe impl Sync for Map {}

impl Map {
    /// The first `bytes` of a file that was opened to read and write.
    pub fn new(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping; nothing of ours is replaced without MAP_FIXED.
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
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, bytes })
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
        let to = self.at(offset, from.len());
        // SAFETY: `to` is mapped for the length of `from`, which is no part of it.
        unsafe { to.copy_from_nonoverlapping(from.as_ptr(), from.len()) };
    }

    /// msync(2) of all of it: what was written is on the device afterwards.
    pub fn sync(&self) -> io::Result<()> {
        let flags = libc::MS_SYNC | libc::MS_INVALIDATE;
        // SAFETY: the range is our own mapping.
        if unsafe { libc::msync(self.start.as_ptr().cast(), self.bytes, flags) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: the range is our own mapping, and nobody has a reference into it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
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
        let map = Map::new(&file, 8192).unwrap();
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
        Map::new(&file, 4096).unwrap().read(4090, &mut [0; 7]);
    }
}
