//! Who is at the other end of a Unix socket.

#![expect(unsafe_code, reason = "std does not tell the peer of a socket yet")]

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

/// The process that listens at the other end, as this machine calls it: whoever called listen(2), which serves by
/// children in some programs. `None` where it is none of ours to see, such as on the other side of a container's wall.
pub fn listener(socket: &UnixStream) -> io::Result<Option<u32>> {
    credentials(socket.as_fd()).map(|(pid, _)| pid)
}

/// The process at the other end, and its user, as they were when it began to listen; `None` for what is not to be seen
/// from here. Source: unix(7), `SO_PEERCRED`.
pub(crate) fn credentials(socket: BorrowedFd<'_>) -> io::Result<(Option<u32>, Option<u32>)> {
    let mut found = libc::ucred {
        pid: 0,
        uid: u32::MAX,
        gid: u32::MAX,
    };
    let size = size_of::<libc::ucred>();
    let mut length = libc::socklen_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: `found` and `length` are valid to write to, and `length` is the size of `found`.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut found).cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    let pid = u32::try_from(found.pid).ok().filter(|pid| *pid > 0);
    Ok((pid, (found.uid != u32::MAX).then_some(found.uid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_are_at_both_ends_of_a_pair() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert_eq!(listener(&one).unwrap(), Some(std::process::id()));
    }
}
