//! TCP connections over which nothing is said for long: what translates addresses between two networks forgets those,
//! and tells neither end.
#![expect(unsafe_code, reason = "std sets no keepalive")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Seconds without a word after which the kernel asks the other end. Translators of clouds forget after 240 s (Azure's)
/// or 350 s (AWS's).
const IDLE_S: libc::c_int = 60;

/// Seconds between two questions that are not answered; so many of them end the connection.
const EVERY_S: libc::c_int = 10;
const QUESTIONS: libc::c_int = 6;

/// What is set. Source: socket(7), tcp(7).
const OPTIONS: [(libc::c_int, libc::c_int, libc::c_int); 4] = [
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, IDLE_S),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, EVERY_S),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, QUESTIONS),
];

/// From now on the kernel asks the other end of this TCP connection where nothing is said.
pub fn keep_alive(socket: BorrowedFd<'_>) -> io::Result<()> {
    for (level, name, value) in OPTIONS {
        let length = libc::socklen_t::try_from(size_of_val(&value)).unwrap_or(0);
        // SAFETY: `value` is valid to read for its length.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                name,
                (&raw const value).cast(),
                length,
            )
        };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_kernel_asks_whoever_says_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_alive(socket.as_fd()).unwrap();
        for (level, name, expected) in OPTIONS {
            let mut value: libc::c_int = -1;
            let mut length = libc::socklen_t::try_from(size_of_val(&value)).unwrap();
            // SAFETY: `value` has room for `length` bytes.
            let done = unsafe {
                libc::getsockopt(
                    socket.as_raw_fd(),
                    level,
                    name,
                    (&raw mut value).cast(),
                    &raw mut length,
                )
            };
            assert_eq!((done, value), (0, expected));
        }
        let (other, _end) = UnixStream::pair().unwrap();
        assert!(keep_alive(other.as_fd()).is_err(), "it is no TCP");
    }
}
