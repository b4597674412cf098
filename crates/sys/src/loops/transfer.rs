//! read(2) and write(2) of a whole buffer, as the measured loops need them: one call where all goes well, and the
//! truth where it does not.

#![expect(
    unsafe_code,
    reason = "std's File hides how many calls a transfer takes; here one transfer is one call"
)]

use super::failure::Failure;
use std::io;
use std::os::fd::RawFd;

/// Reads until `buffer` is full. An end of file before the first byte gives `Ok(false)`; one in the middle is an
/// error.
#[inline]
pub(super) fn read_full(fd: RawFd, buffer: &mut [u8], done: u64) -> Result<bool, Failure> {
    // SAFETY: `buffer` is valid to write to for its length.
    let got = unsafe { libc::read(fd, buffer.as_mut_ptr().cast(), buffer.len()) };
    if usize::try_from(got) == Ok(buffer.len()) {
        return Ok(true);
    }
    read_rest(fd, buffer, got, done)
}

#[cold]
fn read_rest(
    fd: RawFd,
    buffer: &mut [u8],
    mut got: libc::ssize_t,
    done: u64,
) -> Result<bool, Failure> {
    let mut have = 0;
    loop {
        match usize::try_from(got) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(Failure::kind("read", done, io::ErrorKind::UnexpectedEof)),
            Ok(bytes) => have += bytes,
            Err(_) => interrupted_or("read", done)?,
        }
        let Some(rest) = buffer.get_mut(have..).filter(|rest| !rest.is_empty()) else {
            return Ok(true);
        };
        // SAFETY: `rest` is valid to write to for its length.
        got = unsafe { libc::read(fd, rest.as_mut_ptr().cast(), rest.len()) };
    }
}

/// Writes all of `buffer`. Where the kernel takes only a part, as on a disk that fills up, the rest is written in
/// further calls until all is written or the kernel says why not.
#[inline]
pub(super) fn write_full(fd: RawFd, buffer: &[u8], done: u64) -> Result<(), Failure> {
    // SAFETY: `buffer` is valid to read from for its length.
    let put = unsafe { libc::write(fd, buffer.as_ptr().cast(), buffer.len()) };
    if usize::try_from(put) == Ok(buffer.len()) {
        return Ok(());
    }
    write_rest(fd, buffer, put, done)
}

#[cold]
fn write_rest(fd: RawFd, buffer: &[u8], mut put: libc::ssize_t, done: u64) -> Result<(), Failure> {
    let mut have = 0;
    loop {
        match usize::try_from(put) {
            Ok(0) => return Err(Failure::kind("write", done, io::ErrorKind::WriteZero)),
            Ok(bytes) => have += bytes,
            Err(_) => interrupted_or("write", done)?,
        }
        let Some(rest) = buffer.get(have..).filter(|rest| !rest.is_empty()) else {
            return Ok(());
        };
        // SAFETY: `rest` is valid to read from for its length.
        put = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
    }
}

fn interrupted_or(operation: &'static str, done: u64) -> Result<(), Failure> {
    let failure = Failure::last(operation, done);
    if failure.error.kind() == io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(failure)
    }
}
