//! One file gone through byte by byte, chunk by chunk and in jumps, with the longest single operation.
//!
//! One system call and one look at the clock per operation. A chunk carries its number at the head of each of its
//! pages, so that no two of them are alike and a reader knows at once whether it has what was written. That costs a
//! store per page and a comparison per chunk; comparing all bytes would be part of what is measured.

#![expect(
    unsafe_code,
    reason = "single calls on borrowed descriptors; std's File hides how many a transfer takes"
)]

use super::failure::Failure;
use super::transfer::{read_full, write_full};
use crate::clock::Clock;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};

/// What a loop did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// Operations.
    pub ops: u64,
    /// The longest of them, in nanoseconds.
    pub longest_ns: u64,
}

/// The longest time between two looks at the clock: one look per operation.
pub(super) struct Laps {
    clock: Clock,
    last: u64,
    longest: u64,
}

impl Laps {
    pub(super) fn begin(clock: Clock) -> Self {
        Self {
            clock,
            last: clock.tick(),
            longest: 0,
        }
    }

    /// An operation begins that does not follow the last one at once.
    #[inline]
    fn start(&mut self) {
        self.last = self.clock.tick_unordered();
    }

    #[inline]
    pub(super) fn lap(&mut self) {
        let now = self.clock.tick_unordered();
        self.longest = self.longest.max(now.saturating_sub(self.last));
        self.last = now;
    }

    pub(super) fn done(self, ops: u64) -> Done {
        Done {
            ops,
            longest_ns: self.clock.nanos(0, self.longest),
        }
    }
}

/// Bytes of a page, whose head carries a number.
const PAGE: usize = 4096;
/// Bytes of a number.
const WORD: usize = 8;
/// The bits of a number that say which chunk it is; those above say how often it was written.
const NUMBER: u64 = (1 << 48) - 1;
/// Written for the first time.
const FIRST: u64 = 1 << 48;
/// Written again.
const AGAIN: u64 = 2 << 48;
/// In a ticket: the chunk is to be written back as well.
pub const DIRTY: u32 = 1 << 31;
/// The ticket behind which there is no other one.
pub const NO_MORE: u32 = u32::MAX;

/// Writes `word` at the head of each page.
#[inline]
fn stamp(chunk: &mut [u8], word: u64) {
    for page in chunk.chunks_mut(PAGE) {
        if let Some(head) = page.first_chunk_mut::<WORD>() {
            *head = word.to_le_bytes();
        }
    }
}

/// Refuses a chunk that is not the one of this number.
#[inline]
fn check(chunk: &[u8], number: u64, done: u64) -> Result<(), Failure> {
    match chunk.first_chunk::<WORD>() {
        Some(head) if u64::from_le_bytes(*head) & NUMBER == number & NUMBER => Ok(()),
        _ => Err(Failure::kind("check", done, io::ErrorKind::InvalidData)),
    }
}

/// Does so many operations, which get the number of those before them.
#[inline]
fn each(
    count: u64,
    clock: Clock,
    mut operation: impl FnMut(u64) -> Result<(), Failure>,
) -> Result<Done, Failure> {
    let mut laps = Laps::begin(clock);
    for done in 0..count {
        operation(done)?;
        laps.lap();
    }
    Ok(laps.done(count))
}

/// Writes so many bytes, each by a call of its own.
pub fn write_bytes(file: BorrowedFd<'_>, bytes: u64, clock: Clock) -> Result<Done, Failure> {
    each(bytes, clock, |done| {
        let [byte, ..] = done.to_le_bytes();
        write_full(file.as_raw_fd(), &[byte], done)
    })
}

/// Reads so many bytes, each by a call of its own.
pub fn read_bytes(file: BorrowedFd<'_>, bytes: u64, clock: Clock) -> Result<Done, Failure> {
    let mut byte = [0];
    each(bytes, clock, |done| {
        read_all(file.as_raw_fd(), &mut byte, done)
    })
}

/// Writes `chunk`, numbered anew, so many times.
pub fn write_chunks(
    file: BorrowedFd<'_>,
    chunk: &mut [u8],
    chunks: u64,
    clock: Clock,
) -> Result<Done, Failure> {
    each(chunks, clock, |done| {
        stamp(chunk, FIRST | done);
        write_full(file.as_raw_fd(), chunk, done)
    })
}

/// Reads each chunk, changes it, and writes it back to its place. An operation is all of that.
pub fn rewrite_chunks(
    file: BorrowedFd<'_>,
    chunk: &mut [u8],
    chunks: u64,
    clock: Clock,
) -> Result<Done, Failure> {
    let fd = file.as_raw_fd();
    each(chunks, clock, |done| {
        read_all(fd, chunk, done)?;
        check(chunk, done, done)?;
        stamp(chunk, AGAIN | done);
        write_at(fd, chunk, done, done)
    })
}

/// Reads so many chunks, one behind the other.
pub fn read_chunks(
    file: BorrowedFd<'_>,
    chunk: &mut [u8],
    chunks: u64,
    clock: Clock,
) -> Result<Done, Failure> {
    each(chunks, clock, |done| {
        read_all(file.as_raw_fd(), chunk, done)?;
        check(chunk, done, done)
    })
}

/// Takes tickets, reads the chunk that each names, and writes it back changed where the ticket says so, until there is
/// no more. Taking a ticket is no part of an operation.
pub fn seek_chunks(
    tickets: BorrowedFd<'_>,
    file: BorrowedFd<'_>,
    chunk: &mut [u8],
    clock: Clock,
) -> Result<Done, Failure> {
    let (tickets, fd) = (tickets.as_raw_fd(), file.as_raw_fd());
    let mut laps = Laps::begin(clock);
    let mut done = 0;
    loop {
        let ticket = ticket(tickets, done)?;
        if ticket == NO_MORE {
            return Ok(laps.done(done));
        }
        laps.start();
        let number = u64::from(ticket & !DIRTY);
        read_at(fd, chunk, number, done)?;
        check(chunk, number, done)?;
        if ticket & DIRTY != 0 {
            stamp(chunk, AGAIN | number);
            write_at(fd, chunk, number, done)?;
        }
        laps.lap();
        done += 1;
    }
}

/// Takes tickets and does nothing for them: whoever hands them out must not wait for one that cannot go on.
pub fn drain(tickets: BorrowedFd<'_>) {
    while matches!(ticket(tickets.as_raw_fd(), 0), Ok(ticket) if ticket != NO_MORE) {}
}

#[inline]
fn ticket(fd: RawFd, done: u64) -> Result<u32, Failure> {
    let mut ticket = [0; 4];
    if read_full(fd, &mut ticket, done)? {
        Ok(u32::from_le_bytes(ticket))
    } else {
        Ok(NO_MORE)
    }
}

#[inline]
fn read_all(fd: RawFd, buffer: &mut [u8], done: u64) -> Result<(), Failure> {
    if read_full(fd, buffer, done)? {
        Ok(())
    } else {
        Err(Failure::kind("read", done, io::ErrorKind::UnexpectedEof))
    }
}

/// Where the chunk of this number begins.
#[inline]
fn offset(chunk: &[u8], number: u64) -> libc::off64_t {
    let offset = number.saturating_mul(chunk.len() as u64);
    libc::off64_t::try_from(offset).unwrap_or(libc::off64_t::MAX)
}

#[inline]
fn read_at(fd: RawFd, chunk: &mut [u8], number: u64, done: u64) -> Result<(), Failure> {
    let at = offset(chunk, number);
    // SAFETY: `chunk` is valid to write to for its length.
    let got = unsafe { libc::pread64(fd, chunk.as_mut_ptr().cast(), chunk.len(), at) };
    whole("read", got, chunk.len(), done)
}

#[inline]
fn write_at(fd: RawFd, chunk: &[u8], number: u64, done: u64) -> Result<(), Failure> {
    let at = offset(chunk, number);
    // SAFETY: `chunk` is valid to read from for its length.
    let put = unsafe { libc::pwrite64(fd, chunk.as_ptr().cast(), chunk.len(), at) };
    whole("write", put, chunk.len(), done)
}

/// Whether a call moved the whole chunk: of a file that is there in whole, the kernel moves less only where it fails.
#[inline]
fn whole(
    operation: &'static str,
    moved: libc::ssize_t,
    wanted: usize,
    done: u64,
) -> Result<(), Failure> {
    match usize::try_from(moved) {
        Ok(moved) if moved == wanted => Ok(()),
        Ok(_) => Err(Failure::kind(operation, done, io::ErrorKind::UnexpectedEof)),
        Err(_) => Err(Failure::last(operation, done)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsFd;

    const CHUNK: usize = 8192;

    fn written(chunks: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        let mut chunk = [7; CHUNK];
        let done = write_chunks(file.as_fd(), &mut chunk, chunks, Clock::Kernel).unwrap();
        assert_eq!(done.ops, chunks);
        assert!(done.longest_ns > 0);
        file
    }

    #[test]
    fn chunks_are_read_as_they_were_written_rewritten_and_jumped_to() {
        let mut file = written(5);
        let mut chunk = [0; CHUNK];
        for _ in 0..2 {
            file.rewind().unwrap();
            let done = rewrite_chunks(file.as_fd(), &mut chunk, 5, Clock::Kernel).unwrap();
            assert_eq!(done.ops, 5);
        }
        file.rewind().unwrap();
        let done = read_chunks(file.as_fd(), &mut chunk, 5, Clock::Kernel).unwrap();
        assert_eq!((done.ops, chunk[8], chunk[CHUNK - 1]), (5, 7, 7));
        assert_eq!(chunk[..8], (AGAIN | 4).to_le_bytes());
        assert_eq!(chunk[PAGE..PAGE + 8], (AGAIN | 4).to_le_bytes());
        let (tickets, mut giver) = io::pipe().unwrap();
        for ticket in [3, DIRTY, 4, NO_MORE] {
            giver.write_all(&u32::to_le_bytes(ticket)).unwrap();
        }
        let done = seek_chunks(tickets.as_fd(), file.as_fd(), &mut chunk, Clock::Kernel).unwrap();
        assert_eq!(done.ops, 3);
        assert_eq!(file.metadata().unwrap().len(), 5 * 8192);
    }

    #[test]
    fn a_chunk_that_is_another_one_or_missing_is_told() {
        let mut file = written(3);
        let mut chunk = [0; CHUNK];
        file.rewind().unwrap();
        let short = read_chunks(file.as_fd(), &mut chunk, 4, Clock::Kernel).unwrap_err();
        assert_eq!((short.operation, short.done), ("read", 3));
        file.seek(io::SeekFrom::Start(CHUNK as u64)).unwrap();
        let wrong = read_chunks(file.as_fd(), &mut chunk, 1, Clock::Kernel).unwrap_err();
        assert_eq!((wrong.operation, wrong.done), ("check", 0));
        let (tickets, mut giver) = io::pipe().unwrap();
        giver.write_all(&9_u32.to_le_bytes()).unwrap();
        let beyond = seek_chunks(tickets.as_fd(), file.as_fd(), &mut chunk, Clock::Kernel);
        let beyond = beyond.unwrap_err();
        assert_eq!(beyond.error.kind(), io::ErrorKind::UnexpectedEof);
        giver.write_all(&1_u32.to_le_bytes()).unwrap();
        drop(giver);
        drain(tickets.as_fd());
    }

    #[test]
    fn bytes_are_written_and_read_one_by_one() {
        let mut file = tempfile::tempfile().unwrap();
        assert_eq!(
            write_bytes(file.as_fd(), 300, Clock::Kernel).unwrap().ops,
            300
        );
        assert_eq!(file.metadata().unwrap().len(), 300);
        file.rewind().unwrap();
        assert_eq!(
            read_bytes(file.as_fd(), 300, Clock::Kernel).unwrap().ops,
            300
        );
        let over = read_bytes(file.as_fd(), 1, Clock::Kernel).unwrap_err();
        assert_eq!(over.error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
