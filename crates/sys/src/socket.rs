//! Options of TCP sockets that std does not set.
#![expect(unsafe_code, reason = "std has no setsockopt")]

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// Seconds without a word after which the kernel asks the other end. Translators of clouds forget after 240 s (Azure's)
/// or 350 s (AWS's).
const IDLE_S: libc::c_int = 60;

/// Seconds between two questions that are not answered; so many of them end the connection.
const EVERY_S: libc::c_int = 10;
const QUESTIONS: libc::c_int = 6;

/// What keeps a connection alive. Source: socket(7), tcp(7).
const ALIVE: [(libc::c_int, libc::c_int, libc::c_int); 4] = [
    (libc::SOL_SOCKET, libc::SO_KEEPALIVE, 1),
    (libc::IPPROTO_TCP, libc::TCP_KEEPIDLE, IDLE_S),
    (libc::IPPROTO_TCP, libc::TCP_KEEPINTVL, EVERY_S),
    (libc::IPPROTO_TCP, libc::TCP_KEEPCNT, QUESTIONS),
];

/// From now on the kernel asks the other end of this TCP connection where nothing is said for long: what translates
/// addresses between two networks forgets such a connection, and tells neither end.
pub fn keep_alive(socket: BorrowedFd<'_>) -> io::Result<()> {
    let mut all = ALIVE.iter();
    all.try_for_each(|(level, name, value)| set(socket, (*level, *name), value))
}

/// From now on this connection ends with an error (`ETIMEDOUT`) where what was sent is not acknowledged for so long.
/// While all goes well it costs nothing, and a time-out on each read does. Who acknowledges but answers nothing is
/// waited for. Source: tcp(7), `TCP_USER_TIMEOUT`.
pub fn give_up_after(socket: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    let millis = libc::c_uint::try_from(time.as_millis()).map_err(io::Error::other)?;
    set(socket, (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT), &millis)
}

/// From now on closing this socket of TCP is a reset (RST), which takes the other side's half of the connection away
/// and leaves nothing in `TIME_WAIT`; what was not sent yet is lost. Sockets that are accepted from it take this over.
/// Source: socket(7), `SO_LINGER`; that it is taken over is Linux' way.
pub fn reset_at_close(socket: BorrowedFd<'_>) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set(socket, (libc::SOL_SOCKET, libc::SO_LINGER), &linger)
}

/// Sets an option, whose value the kernel knows as a plain type of C.
pub(crate) fn set<T: Copy>(
    socket: BorrowedFd<'_>,
    (level, name): (libc::c_int, libc::c_int),
    value: &T,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<T>()).map_err(io::Error::other)?;
    // SAFETY: `value` is valid to read for its length.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const *value).cast(),
            length,
        )
    };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Reads an option into `bytes`: how many of them there are.
pub(crate) fn get(
    socket: BorrowedFd<'_>,
    (level, name): (libc::c_int, libc::c_int),
    bytes: &mut [u8],
) -> io::Result<usize> {
    let mut length = libc::socklen_t::try_from(bytes.len()).map_err(io::Error::other)?;
    // SAFETY: `bytes` has room for `length` bytes, and both are valid to write to.
    let done = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            level,
            name,
            bytes.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(usize::try_from(length).unwrap_or(0).min(bytes.len()))
}

/// An address as C has it.
pub(crate) enum Name {
    /// IPv4.
    V4(libc::sockaddr_in),
    /// IPv6.
    V6(libc::sockaddr_in6),
}

impl Name {
    /// Of this address.
    pub(crate) fn of(at: SocketAddr) -> io::Result<Self> {
        let family = libc::sa_family_t::try_from(family(at)).map_err(io::Error::other)?;
        Ok(match at {
            SocketAddr::V4(at) => Self::V4(libc::sockaddr_in {
                sin_family: family,
                sin_port: at.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(at.ip().octets()),
                },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(at) => Self::V6(libc::sockaddr_in6 {
                sin6_family: family,
                sin6_port: at.port().to_be(),
                sin6_flowinfo: at.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: at.ip().octets(),
                },
                sin6_scope_id: at.scope_id(),
            }),
        })
    }

    /// Where it is, and for how many bytes it is valid to read.
    pub(crate) fn raw(&self) -> io::Result<(*const libc::sockaddr, libc::socklen_t)> {
        let (name, bytes) = match self {
            Self::V4(name) => ((&raw const *name).cast(), size_of_val(name)),
            Self::V6(name) => ((&raw const *name).cast(), size_of_val(name)),
        };
        let length = libc::socklen_t::try_from(bytes).map_err(io::Error::other)?;
        Ok((name, length))
    }
}

fn family(at: SocketAddr) -> libc::c_int {
    if at.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    }
}

/// A new socket of this kind for addresses of this family.
pub(crate) fn opened(at: SocketAddr, kind: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes plain integers.
    let made = unsafe { libc::socket(family(at), kind | libc::SOCK_CLOEXEC, 0) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just opened, and nobody else knows it.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn the_kernel_asks_whoever_says_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        keep_alive(socket.as_fd()).unwrap();
        for (level, name, expected) in ALIVE {
            let mut value = [0xff; size_of::<libc::c_int>()];
            let length = get(socket.as_fd(), (level, name), &mut value).unwrap();
            let value = libc::c_int::from_ne_bytes(value);
            assert_eq!((length, value), (size_of::<libc::c_int>(), expected));
        }
        let (other, _end) = UnixStream::pair().unwrap();
        assert!(keep_alive(other.as_fd()).is_err(), "it is no TCP");
    }

    #[test]
    fn the_kernel_gives_up_after_the_time_that_was_set() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        give_up_after(socket.as_fd(), Duration::from_secs(5)).unwrap();
        let mut value = [0xff; size_of::<libc::c_uint>()];
        let option = (libc::IPPROTO_TCP, libc::TCP_USER_TIMEOUT);
        get(socket.as_fd(), option, &mut value).unwrap();
        assert_eq!(libc::c_uint::from_ne_bytes(value), 5_000);
    }

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
