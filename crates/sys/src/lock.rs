//! One process at a time: a name that a process holds for as long as it lives.
//!
//! The name is that of an abstract Unix socket (unix(7)). The kernel gives it to one process, whoever that is, takes it
//! back however that process ends, and tells everybody else which process it is. There is no file: none that is left
//! behind, that another user could not open, that a link could lead elsewhere, or that a read-only system has no place
//! for; flock(2) on a file in a shared directory has all four. Names are those of a network namespace: processes in
//! another one have names of their own ([`is_of_first_namespace`]).

#![expect(
    unsafe_code,
    reason = "std asks no socket for credentials, and waits where a queue is full"
)]

use crate::peer::credentials;
use crate::tree::Tree;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

/// A name that this process holds.
#[derive(Debug)]
pub struct Held {
    /// Nobody is ever answered: that somebody listens says enough.
    _socket: UnixListener,
}

/// Who holds a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Its process id; `None` where it is in a PID namespace that we do not see, or the kernel does not say.
    pub pid: Option<u32>,
    /// Its user, as we see users; `None` where the kernel does not say.
    pub user: Option<u32>,
}

/// Takes a name of at most 100 bytes; `None` where another process has it.
pub fn hold(name: &str) -> io::Result<Option<Held>> {
    let address = SocketAddr::from_abstract_name(name)?;
    match UnixListener::bind_addr(&address) {
        Ok(socket) => Ok(Some(Held { _socket: socket })),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Ok(None),
        Err(error) => Err(error),
    }
}

/// Who holds a name; `None` where nobody does.
pub fn holder(name: &str) -> io::Result<Option<Holder>> {
    let socket = socket()?;
    let (address, length) = address_of(name)?;
    // SAFETY: `address` is a valid socket address of `length` bytes.
    let done = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    if done == 0 {
        return Ok(Some(peer(&socket)));
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => Ok(None),
        // So many have asked already that the kernel notes no more of them.
        Some(libc::EAGAIN) => Ok(Some(Holder::default())),
        _ => Err(error),
    }
}

fn socket() -> io::Result<OwnedFd> {
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket takes plain integers.
    let fd = unsafe { libc::socket(libc::AF_UNIX, kind, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us `fd`, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// The address behind an abstract name: a zero byte, and the name without an end.
fn address_of(name: &str) -> io::Result<(libc::sockaddr_un, libc::socklen_t)> {
    // SAFETY: an all-zero address is a valid value of this plain C struct.
    let mut address: libc::sockaddr_un = unsafe { std::mem::zeroed() };
    address.sun_family = libc::sa_family_t::try_from(libc::AF_UNIX).map_err(io::Error::other)?;
    let length = std::mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
    let places = address.sun_path.get_mut(1..=name.len());
    let places = places.ok_or(io::ErrorKind::InvalidInput)?;
    for (place, byte) in places.iter_mut().zip(name.bytes()) {
        *place = libc::c_char::from_ne_bytes([byte]);
    }
    let length = libc::socklen_t::try_from(length).map_err(io::Error::other)?;
    Ok((address, length))
}

/// The process that listens at the other end, as it was when it began to.
fn peer(socket: &OwnedFd) -> Holder {
    let (pid, user) = credentials(socket.as_fd()).unwrap_or_default();
    Holder { pid, user }
}

/// Whether names taken here are those of the whole machine: those of the kernel's first network namespace. `None` where
/// /proc does not tell.
pub fn is_of_first_namespace(tree: &Tree) -> Option<bool> {
    // Of the settings of the network core each namespace has some of its own, and the first one has all of them
    // (net/core/sysctl_net_core.c). The namespace's own number is not the same on all kernels.
    let has = |setting: &str| tree.exists(&format!("/proc/sys/net/core/{setting}"));
    has("somaxconn").then(|| has("netdev_max_backlog"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(test: &str) -> String {
        format!("kurabe-test-{test}-{}", std::process::id())
    }

    #[test]
    fn a_name_has_one_holder_who_is_told_to_everybody_else() {
        let name = name("holder");
        assert_eq!(holder(&name).unwrap(), None);
        let held = hold(&name).unwrap();
        assert!(held.is_some() && hold(&name).unwrap().is_none());
        let found = holder(&name).unwrap().unwrap();
        assert_eq!(found.pid, Some(std::process::id()));
        assert!(found.user.is_some());
        // Another name is another lock, also where it begins alike.
        assert!(hold(&format!("{name}-2")).unwrap().is_some());
        drop(held);
        assert_eq!(holder(&name).unwrap(), None);
        assert!(hold(&name).unwrap().is_some());
    }

    #[test]
    fn who_asks_too_often_still_gets_an_answer() {
        let name = name("queue");
        let held = hold(&name).unwrap();
        let most: u32 = std::fs::read_to_string("/proc/sys/net/core/somaxconn")
            .unwrap()
            .trim()
            .parse()
            .unwrap();
        let answers: Vec<Holder> = (0..most + 8)
            .map(|_| holder(&name).unwrap().unwrap())
            .collect();
        assert!(answers[0].pid.is_some());
        assert_eq!(answers.last(), Some(&Holder::default()));
        drop(held);
    }

    #[test]
    fn a_name_that_is_too_long_is_refused() {
        let long = "x".repeat(200);
        assert!(hold(&long).is_err() && holder(&long).is_err());
    }

    #[test]
    fn the_first_namespace_is_known_by_its_settings() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        let core = root.path().join("proc/sys/net/core");
        assert_eq!(is_of_first_namespace(&tree), None);
        std::fs::create_dir_all(&core).unwrap();
        std::fs::write(core.join("somaxconn"), "4096").unwrap();
        assert_eq!(is_of_first_namespace(&tree), Some(false));
        std::fs::write(core.join("netdev_max_backlog"), "1000").unwrap();
        assert_eq!(is_of_first_namespace(&tree), Some(true));
    }
}
