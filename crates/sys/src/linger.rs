//! Connections that end by a reset.

#![expect(unsafe_code, reason = "std does not set SO_LINGER yet")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// From now on closing this socket of TCP is a reset (RST), which takes the other side's half of the connection away
/// and leaves nothing in `TIME_WAIT`; what was not sent yet is lost. Sockets that are accepted from it take this over.
/// Source: socket(7), `SO_LINGER`; that it is taken over is Linux' way.
pub fn reset_at_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    let size = size_of::<libc::linger>();
    let length = libc::socklen_t::try_from(size).map_err(io::Error::other)?;
    // SAFETY: `linger` is valid to read from for `length`.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_LINGER,
            (&raw const linger).cast(),
            length,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn what_is_accepted_ends_by_a_reset_too() {
        for resets in [false, true] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
            if resets {
                reset_at_close(listener.as_fd()).unwrap();
            }
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            drop(listener.accept().unwrap());
            let end = client.read(&mut [0]).map_err(|error| error.kind());
            let expected = if resets {
                Err(io::ErrorKind::ConnectionReset)
            } else {
                Ok(0)
            };
            assert_eq!(end, expected);
        }
    }
}
