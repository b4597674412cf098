//! The names in a directory as the kernel hands them over: getdents64(2) and its records.

#![expect(
    unsafe_code,
    reason = "std has no reading of names into room of one's own"
)]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The next records of a directory, as many as there is room for: none behind the last.
#[inline]
pub(crate) fn next<'a>(directory: BorrowedFd<'_>, room: &'a mut [u64]) -> io::Result<Records<'a>> {
    let (fd, bytes) = (directory.as_raw_fd(), room.len() * 8);
    // SAFETY: `room` is valid to write to for `bytes`, and aligned as the kernel's records are.
    let got = unsafe { libc::syscall(libc::SYS_getdents64, fd, room.as_mut_ptr(), bytes) };
    let got = usize::try_from(got).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: all of `room` is initialized, and this is no more of it.
    let records = unsafe { std::slice::from_raw_parts(room.as_ptr().cast::<u8>(), got.min(bytes)) };
    Ok(Records(records))
}

/// Records as the kernel wrote them: the kind of what has the name, and the name.
#[derive(Debug)]
pub(crate) struct Records<'a>(&'a [u8]);

impl Records<'_> {
    /// Whether none is left.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Where the length, the kind and the name of a record stand (`struct linux_dirent64`, getdents64(2)).
const LENGTH: usize = 16;
const KIND: usize = 18;
const NAME: usize = 19;

impl<'a> Iterator for Records<'a> {
    type Item = (u8, &'a CStr);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let length = self.0.get(LENGTH..LENGTH + 2)?;
        let length = usize::from(u16::from_ne_bytes([length[0], length[1]]));
        let (record, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        let name = CStr::from_bytes_until_nul(record.get(NAME..)?).ok()?;
        Some((record[KIND], name))
    }
}
