//! The cheapest system calls there are: what entering and leaving the kernel costs.

#![expect(
    unsafe_code,
    reason = "std has no dup without close-on-exec, no getuid and no umask"
)]

use super::failure::Failure;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Five system calls per operation: dup of `fd`, close of the copy, getpid, getuid, umask(022). The process's umask
/// is 022 afterwards; [`set_umask`] brings the old one back.
pub fn five(fd: BorrowedFd<'_>, ops: u64) -> Result<(), Failure> {
    let fd = fd.as_raw_fd();
    for done in 0..ops {
        // SAFETY: dup takes a plain integer; `fd` is borrowed, so it is open.
        let copy = unsafe { libc::dup(fd) };
        if copy < 0 {
            return Err(Failure::last("dup", done));
        }
        // SAFETY: `copy` was made here and nobody else knows it.
        if unsafe { libc::close(copy) } != 0 {
            return Err(Failure::last("close", done));
        }
        // SAFETY: getpid takes nothing. The raw call, because libc's was cached before glibc 2.25.
        unsafe { libc::syscall(libc::SYS_getpid) };
        // SAFETY: getuid takes nothing and cannot fail.
        unsafe { libc::getuid() };
        // SAFETY: umask takes a plain integer and cannot fail.
        unsafe { libc::umask(0o022) };
    }
    Ok(())
}

/// Sets the process's umask and returns the one before.
pub fn set_umask(mask: u32) -> u32 {
    // SAFETY: umask takes a plain integer and cannot fail.
    unsafe { libc::umask(mask) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn leaves_no_descriptor_behind_and_sets_the_umask() {
        let (reader, _writer) = std::io::pipe().unwrap();
        let before = set_umask(0o077);
        // More than any usual limit of open files: a leaked copy per operation would end in EMFILE.
        five(reader.as_fd(), 70_000).unwrap();
        assert_eq!(set_umask(before), 0o022);
    }

    #[test]
    fn a_failing_dup_is_reported_with_what_was_done() {
        // SAFETY: no such descriptor exists, and the loop only passes the number to dup.
        let fd = unsafe { BorrowedFd::borrow_raw(1_000_000_000) };
        let failure = five(fd, 10).unwrap_err();
        assert_eq!((failure.operation, failure.done), ("dup", 0));
        assert_eq!(failure.error.raw_os_error(), Some(libc::EBADF));
    }
}
