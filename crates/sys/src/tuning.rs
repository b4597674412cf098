//! How a socket that carries a test's data is set.

#![expect(unsafe_code, reason = "std has no setsockopt")]

use crate::socket::{Name, get, opened, set};
use crate::tcp::NAME_BYTES;
use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

/// A UDP socket at an address that other sockets, which are connected by then, may have too: what comes from their
/// peers is theirs, and the rest is this one's. All of them are made here. Source: socket(7), `SO_REUSEADDR`.
pub fn shared_udp(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = opened(at, libc::SOCK_DGRAM)?;
    let one: libc::c_int = 1;
    set(socket.as_fd(), (libc::SOL_SOCKET, libc::SO_REUSEADDR), &one)?;
    bind(socket.as_fd(), &Name::of(at)?)?;
    Ok(socket.into())
}

fn bind(socket: BorrowedFd<'_>, name: &Name) -> io::Result<()> {
    let (name, length) = name.raw()?;
    // SAFETY: `name` is valid to read for its length.
    let done = unsafe { libc::bind(socket.as_raw_fd(), name, length) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// Buffers of so many bytes each way, which the kernel doubles, and cuts at its own limits without a word. It does not
/// size them by itself any more.
pub fn set_buffers(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let sent = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, (libc::SOL_SOCKET, libc::SO_SNDBUF), &sent)?;
    set_receive_buffer(socket, bytes)
}

/// Room for so many bytes that have come, which the kernel doubles, and cuts at its own limit without a word.
pub fn set_receive_buffer(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, (libc::SOL_SOCKET, libc::SO_RCVBUF), &bytes)
}

/// The buffers as the kernel has them: for what is sent, and for what is received.
pub fn buffers(socket: BorrowedFd<'_>) -> io::Result<[u32; 2]> {
    let of = |name| -> io::Result<u32> {
        let mut bytes = [0; size_of::<u32>()];
        get(socket, (libc::SOL_SOCKET, name), &mut bytes)?;
        Ok(u32::from_ne_bytes(bytes))
    };
    Ok([of(libc::SO_SNDBUF)?, of(libc::SO_RCVBUF)?])
}

/// Whoever waits to read sleeps until so many bytes are there, or its time is over. More than a quarter of the buffer
/// makes the kernel change buffer and window. Source: socket(7), `SO_RCVLOWAT`.
pub fn wake_from(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, (libc::SOL_SOCKET, libc::SO_RCVLOWAT), &bytes)
}

/// No segment of TCP has more bytes; set before the connection is made, the other end is told.
pub fn set_mss(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    set(socket, (libc::IPPROTO_TCP, libc::TCP_MAXSEG), &bytes)
}

/// The type of service of what is sent, a byte: DSCP and ECN.
pub fn set_service(socket: BorrowedFd<'_>, is_ipv6: bool, service: u8) -> io::Result<()> {
    let option = if is_ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_TCLASS)
    } else {
        (libc::IPPROTO_IP, libc::IP_TOS)
    };
    set(socket, option, &libc::c_int::from(service))
}

/// Datagrams are not cut up on their way: what is too long is an error (`EMSGSIZE`), or does not come.
pub fn refuse_fragments(socket: BorrowedFd<'_>, is_ipv6: bool) -> io::Result<()> {
    if is_ipv6 {
        let option = (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER);
        set(socket, option, &libc::IPV6_PMTUDISC_DO)
    } else {
        let option = (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER);
        set(socket, option, &libc::IP_PMTUDISC_DO)
    }
}

/// Bytes of the largest packet, with its headers of IP and above, that the kernel believes to pass on the way of this
/// connected socket. Source: ip(7), `IP_MTU`.
pub fn path_mtu(socket: BorrowedFd<'_>, is_ipv6: bool) -> io::Result<u32> {
    let option = if is_ipv6 {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU)
    } else {
        (libc::IPPROTO_IP, libc::IP_MTU)
    };
    let mut bytes = [0; size_of::<libc::c_int>()];
    get(socket, option, &mut bytes)?;
    u32::try_from(libc::c_int::from_ne_bytes(bytes)).map_err(io::Error::other)
}

/// The kernel sends no faster than so many bytes a second. Source: tc-fq(8), `SO_MAX_PACING_RATE`, of 64 bits
/// since 4.20.
pub fn set_pacing(socket: BorrowedFd<'_>, bytes_per_s: u64) -> io::Result<()> {
    let option = (libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE);
    set(socket, option, &bytes_per_s)
}

/// Congestion control by this algorithm, which the kernel must have and allow to this user.
pub fn set_congestion(socket: BorrowedFd<'_>, algorithm: &str) -> io::Result<()> {
    let mut name = [0_u8; NAME_BYTES];
    let room = &mut name[..NAME_BYTES - 1];
    let Some(room) = room.get_mut(..algorithm.len()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    room.copy_from_slice(algorithm.as_bytes());
    set(socket, (libc::IPPROTO_TCP, libc::TCP_CONGESTION), &name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, TcpStream};
    use std::time::Duration;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let one = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (one, listener.accept().unwrap().0)
    }

    #[test]
    fn what_comes_from_a_peer_is_for_the_socket_that_is_connected_to_it() {
        for ip in [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()] {
            let Ok(first) = shared_udp(SocketAddr::new(ip, 0)) else {
                assert!(ip.is_ipv6(), "IPv4 is everywhere");
                continue;
            };
            let at = first.local_addr().unwrap();
            let peer = UdpSocket::bind(SocketAddr::new(ip, 0)).unwrap();
            first.connect(peer.local_addr().unwrap()).unwrap();
            let second = shared_udp(at).unwrap();
            let other = UdpSocket::bind(SocketAddr::new(ip, 0)).unwrap();
            peer.send_to(b"a", at).unwrap();
            other.send_to(b"bc", at).unwrap();
            for (socket, length) in [(first, 1), (second, 2)] {
                socket
                    .set_read_timeout(Some(Duration::from_secs(60)))
                    .unwrap();
                assert_eq!(socket.recv(&mut [0; 8]).unwrap(), length);
            }
        }
    }

    #[test]
    fn sockets_take_what_is_set() {
        let (one, _other) = pair();
        set_buffers(one.as_fd(), 64 << 10).unwrap();
        set_service(one.as_fd(), false, 0x10).unwrap();
        set_pacing(one.as_fd(), 1_000_000).unwrap();
        let name = crate::tcp::congestion(one.as_fd()).unwrap();
        set_congestion(one.as_fd(), &name).unwrap();
        assert!(set_congestion(one.as_fd(), "no-such-thing").is_err());
        assert!(set_congestion(one.as_fd(), "a-name-that-is-too-long").is_err());
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        refuse_fragments(udp.as_fd(), false).unwrap();
        assert!(path_mtu(udp.as_fd(), false).is_err(), "it has no way");
        udp.connect((Ipv4Addr::LOCALHOST, 1)).unwrap();
        assert!(path_mtu(udp.as_fd(), false).unwrap() >= 1500);
        assert!(crate::tcp::info(udp.as_fd()).is_err(), "it is no TCP");
    }
}
