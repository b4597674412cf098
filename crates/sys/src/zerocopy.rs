//! Sending without a copy: the kernel sends the caller's own pages, and says later that it needs them no more, and
//! whether it had to copy them after all. Source: `Documentation/networking/msg_zerocopy.rst`; since 4.14.

#![expect(unsafe_code, reason = "std has no MSG_ZEROCOPY and no error queue")]

use crate::socket::set;
use std::io;
use std::mem::{MaybeUninit, offset_of};
use std::os::fd::{AsRawFd, BorrowedFd};

/// Of `sock_extended_err`. Source: linux/errqueue.h.
const ORIGIN: u8 = 5;
const COPIED: u8 = 1;

/// What the kernel has said of sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Done {
    /// So many are done with.
    pub sends: u64,
    /// So many of them were copied after all.
    pub copied: u64,
}

/// `struct cmsghdr` with what is behind it in the queue of errors.
#[repr(C)]
struct Control {
    bytes: usize,
    level: libc::c_int,
    kind: libc::c_int,
    error: libc::sock_extended_err,
    /// Whose error it is: nobody's.
    _offender: [u8; 32],
}

/// From now on this connected socket may [`send`] without a copy.
pub fn allow(socket: BorrowedFd<'_>) -> io::Result<()> {
    let yes: libc::c_int = 1;
    set(socket, (libc::SOL_SOCKET, libc::SO_ZEROCOPY), &yes)
}

/// Sends what the socket takes of `bytes`: how many those were. What they hold may go to the peer until [`done`] says
/// otherwise, or the socket is closed: whatever is written there meanwhile goes too. `ENOBUFS` where so many are under
/// way that the kernel does not keep account of another.
pub fn send(socket: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_ZEROCOPY | libc::MSG_NOSIGNAL;
    // SAFETY: `bytes` is valid to read for its length; the kernel keeps the pages as long as it needs them.
    let sent = unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Takes all that the kernel has said since the last time; waits for nothing.
pub fn done(socket: BorrowedFd<'_>) -> io::Result<Done> {
    let mut all = Done::default();
    while let Some(error) = next(socket)? {
        if (error.ee_errno, error.ee_origin) != (0, ORIGIN) {
            continue;
        }
        // From the first to the last of them, by their numbers, which begin anew behind the largest.
        let sends = u64::from(error.ee_data.wrapping_sub(error.ee_info)) + 1;
        all.sends += sends;
        if error.ee_code & COPIED != 0 {
            all.copied += sends;
        }
    }
    Ok(all)
}

/// What is first in the queue of errors.
fn next(socket: BorrowedFd<'_>) -> io::Result<Option<libc::sock_extended_err>> {
    loop {
        let mut control = MaybeUninit::<Control>::zeroed();
        // SAFETY: zeros are a message without an address and without data.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = size_of::<Control>() as _;
        let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        // SAFETY: the kernel writes into `message` and into `control`, which has room for as much as is said.
        let got = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut message, flags) };
        if got < 0 {
            let error = io::Error::last_os_error();
            match error.kind() {
                io::ErrorKind::WouldBlock => return Ok(None),
                io::ErrorKind::Interrupted => continue,
                _ => return Err(error),
            }
        }
        // SAFETY: numbers, which zeros are too where the kernel has written nothing.
        let control = unsafe { control.assume_init() };
        let is_error = matches!(
            (control.level, control.kind),
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR)
        );
        if is_error && control.bytes >= offset_of!(Control, _offender) {
            return Ok(Some(control.error));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_sent_arrives_and_the_kernel_says_that_loopback_copies() {
        let all: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        for at in all {
            let Ok(listener) = TcpListener::bind((at, 0)) else {
                continue;
            };
            let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (mut theirs, _) = listener.accept().unwrap();
            allow(ours.as_fd()).unwrap();
            assert_eq!(done(ours.as_fd()).unwrap(), Done::default());
            let block: Vec<u8> = (0..=u8::MAX).cycle().take(40_000).collect();
            let mut sends = 0;
            for _ in 0..3 {
                let mut at = 0;
                while at < block.len() {
                    at += send(ours.as_fd(), &block[at..]).unwrap();
                    sends += 1;
                }
                let mut came = vec![0; block.len()];
                theirs.read_exact(&mut came).unwrap();
                assert_eq!(came, block);
            }
            let mut told = Done::default();
            let until = crate::until::Until::after(std::time::Duration::from_secs(10));
            while told.sends < sends && until.left().is_some() {
                let more = done(ours.as_fd()).unwrap();
                told = Done {
                    sends: told.sends + more.sends,
                    copied: told.copied + more.copied,
                };
                crate::clock::sleep(1_000_000);
            }
            assert_eq!(
                told,
                Done {
                    sends,
                    copied: sends
                },
                "{at}"
            );
        }
    }

    #[test]
    fn a_socket_that_was_not_asked_copies_and_says_nothing() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        assert_eq!(send(ours.as_fd(), b"abc").unwrap(), 3);
        let mut came = [0; 3];
        theirs.read_exact(&mut came).unwrap();
        assert_eq!(done(ours.as_fd()).unwrap(), Done::default());
    }
}
