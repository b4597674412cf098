//! A connection of TCP whose socket is set before it is made: what the first segment tells the other end, the size of
//! segments and the scale of windows, is settled then. std sets nothing before.

#![expect(unsafe_code, reason = "std makes and connects a socket in one call")]

use crate::socket::{Name, opened};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

/// Connects within so long, by a socket that `set` has set.
pub fn connected(
    at: SocketAddr,
    within: Duration,
    set: impl FnOnce(BorrowedFd<'_>) -> io::Result<()>,
) -> io::Result<TcpStream> {
    let socket = opened(at, libc::SOCK_STREAM)?;
    set(socket.as_fd())?;
    let stream = TcpStream::from(socket);
    // Source: socket(7), `SO_SNDTIMEO`, which holds for connect(2) too.
    stream.set_write_timeout(Some(within))?;
    let name = Name::of(at)?;
    let (name, length) = name.raw()?;
    // SAFETY: `name` is valid to read for its length.
    let done = unsafe { libc::connect(stream.as_raw_fd(), name, length) };
    if done != 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EINPROGRESS) => io::ErrorKind::TimedOut.into(),
            _ => error,
        });
    }
    stream.set_write_timeout(None)?;
    Ok(stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::{buffers, set_buffers, set_mss};
    use std::io::{ErrorKind, Read, Write};
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    const SOON: Duration = Duration::from_secs(20);

    #[test]
    fn what_is_set_before_holds_for_the_connection() {
        for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            let Ok(listener) = TcpListener::bind(SocketAddr::new(ip, 0)) else {
                assert!(ip.is_ipv6(), "IPv4 is everywhere");
                continue;
            };
            let at = listener.local_addr().unwrap();
            let set = |socket: BorrowedFd<'_>| {
                set_mss(socket, 1000)?;
                set_buffers(socket, 50_000)
            };
            let mut ours = connected(at, SOON, set).unwrap();
            let (mut theirs, from) = listener.accept().unwrap();
            assert_eq!(ours.local_addr().unwrap(), from);
            // The kernel doubles them.
            assert_eq!(buffers(ours.as_fd()).unwrap(), [100_000; 2]);
            ours.write_all(&[7; 5000]).unwrap();
            theirs.read_exact(&mut [0; 5000]).unwrap();
            for end in [&ours, &theirs] {
                let mss = crate::tcp::mss(end.as_fd()).unwrap();
                assert!((900..=1000).contains(&mss), "{mss}");
            }
            drop(listener);
            let why = connected(at, SOON, |_| Ok(())).unwrap_err();
            assert_eq!(why.kind(), ErrorKind::ConnectionRefused);
        }
    }

    #[test]
    fn nobody_is_connected_whose_socket_was_not_set() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let at = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let refused = |_: BorrowedFd<'_>| Err(ErrorKind::InvalidInput.into());
        let why = connected(at, SOON, refused).unwrap_err();
        assert_eq!(why.kind(), ErrorKind::InvalidInput);
        let nobody = listener.accept().unwrap_err();
        assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
    }
}
