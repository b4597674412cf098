//! Buffers from one file to another through the page cache, and what goes before: writing the first file and reading
//! it.

#![expect(
    unsafe_code,
    reason = "lseek and syncfs as single calls; std's seek does the same, but not for a borrowed descriptor"
)]

use super::failure::Failure;
use super::transfer::{read_full, write_full};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// Reads a buffer of `from` and writes it to `to`, `buffers` times. At the end of `from` both go back to their
/// beginnings. The file behind `from` is a whole number of buffers long.
pub fn copy(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    buffer: &mut [u8],
    buffers: u64,
) -> Result<(), Failure> {
    let (from, to) = (from.as_raw_fd(), to.as_raw_fd());
    for done in 0..buffers {
        if !read_full(from, buffer, done)? {
            seek_to_start(from, done)?;
            seek_to_start(to, done)?;
            if !read_full(from, buffer, done)? {
                return Err(Failure::kind("read", done, io::ErrorKind::UnexpectedEof));
            }
        }
        write_full(to, buffer, done)?;
    }
    Ok(())
}

/// Writes `buffer` `buffers` times and goes back to the beginning of the file.
pub fn write(to: BorrowedFd<'_>, buffer: &[u8], buffers: u64) -> Result<(), Failure> {
    let to = to.as_raw_fd();
    for done in 0..buffers {
        write_full(to, buffer, done)?;
    }
    seek_to_start(to, buffers)
}

/// Reads to the end of the file, goes back to its beginning, and returns how many buffers there were.
pub fn read(from: BorrowedFd<'_>, buffer: &mut [u8]) -> Result<u64, Failure> {
    let from = from.as_raw_fd();
    let mut done = 0;
    while read_full(from, buffer, done)? {
        done += 1;
    }
    seek_to_start(from, done)?;
    Ok(done)
}

/// Writes back what is dirty in the file system that holds `file`, and waits for it.
pub fn sync_file_system(file: BorrowedFd<'_>) -> Result<(), Failure> {
    // SAFETY: syncfs takes a plain integer, an open descriptor.
    if unsafe { libc::syncfs(file.as_raw_fd()) } != 0 {
        return Err(Failure::last("syncfs", 0));
    }
    Ok(())
}

#[inline]
fn seek_to_start(fd: RawFd, done: u64) -> Result<(), Failure> {
    // SAFETY: lseek takes plain integers.
    if unsafe { libc::lseek(fd, 0, libc::SEEK_SET) } != 0 {
        return Err(Failure::last("lseek", done));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{File, OpenOptions};
    use std::io::Read;
    use std::os::fd::AsFd;

    fn unnamed() -> File {
        // SAFETY: the name is a C string; the flags are plain integers.
        let fd = unsafe { libc::memfd_create(c"copy-test".as_ptr(), libc::MFD_CLOEXEC) };
        assert!(fd >= 0);
        // SAFETY: the descriptor is new and nobody else's.
        unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(fd) }
    }

    #[test]
    fn copies_every_byte_over_several_ends_of_file() {
        let (source, target) = (unnamed(), unnamed());
        let mut buffer: Vec<u8> = (0..=255).collect();
        write(source.as_fd(), &buffer, 10).unwrap();
        buffer.fill(0);
        assert_eq!(read(source.as_fd(), &mut buffer).unwrap(), 10);
        copy(source.as_fd(), target.as_fd(), &mut buffer, 7).unwrap();
        assert_eq!(target.metadata().unwrap().len(), 7 * 256);
        copy(source.as_fd(), target.as_fd(), &mut buffer, 26).unwrap();
        assert_eq!(target.metadata().unwrap().len(), 10 * 256);
        let mut all = Vec::new();
        // 33 buffers are three passes of ten and three more, so seven are left to read.
        (&target).read_to_end(&mut all).unwrap();
        assert_eq!(all, buffer.repeat(all.len() / 256));
        assert_eq!(all.len(), 7 * 256);
    }

    #[test]
    fn a_full_disk_is_named_by_the_write() {
        let source = unnamed();
        let mut buffer = [1; 512];
        write(source.as_fd(), &buffer, 3).unwrap();
        let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let failure = copy(source.as_fd(), full.as_fd(), &mut buffer, 3).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("write", 0));
        assert_eq!(failure.error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn an_empty_source_is_an_error_and_not_an_endless_loop() {
        let failure = copy(unnamed().as_fd(), unnamed().as_fd(), &mut [0; 64], 3).unwrap_err();
        assert_eq!(failure.error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
