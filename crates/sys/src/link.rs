//! The interface that packets leave by, as the kernel and its driver tell of it.
#![expect(unsafe_code, reason = "std knows no interfaces")]

use std::ffi::CStr;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;
use std::ptr;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Its name: `eth0`.
    pub name: String,
    /// Its driver: `virtio_net`, `ena`, `gve`; `None` where the kernel names none, as for loopback.
    pub driver: Option<String>,
}

/// The interface that has this address; `None` where none has it.
pub fn of_address(address: IpAddr) -> io::Result<Option<Link>> {
    let mut first = ptr::null_mut();
    // SAFETY: `first` is valid to write to.
    if unsafe { libc::getifaddrs(&raw mut first) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let all = Addresses(first);
    let found = all.iter().find(|one| address_of(one) == Some(address));
    let Some(one) = found else { return Ok(None) };
    // SAFETY: the name is a string that ends in NUL and lives as long as the list. Source: getifaddrs(3).
    let name = unsafe { CStr::from_ptr(one.ifa_name) };
    let name = name.to_string_lossy().into_owned();
    let driver = driver(&name).ok().map(|(driver, _)| driver);
    let driver = driver.filter(|driver| !driver.is_empty());
    Ok(Some(Link { name, driver }))
}

/// Bits per second of an interface, as its driver tells it; `None` where it does not know, as most virtual ones.
pub fn bits_per_s(name: &str) -> Option<u64> {
    // In Mbit/s; -1, which older kernels print without its sign, is unknown. Source: Linux, sysfs-class-net.
    let text = std::fs::read_to_string(format!("/sys/class/net/{name}/speed")).ok()?;
    let megabits: u32 = text.trim().parse().ok()?;
    let is_known = !matches!(megabits, 0 | u32::MAX);
    is_known.then(|| u64::from(megabits) * 1_000_000)
}

/// The addresses of this machine.
struct Addresses(*mut libc::ifaddrs);

impl Addresses {
    fn iter(&self) -> impl Iterator<Item = &libc::ifaddrs> {
        // SAFETY: it is the first element of the list, or none where that is empty.
        let first = unsafe { self.0.as_ref() };
        // SAFETY: every element points to the next one or to none, and all live until the list is freed.
        std::iter::successors(first, |one| unsafe { one.ifa_next.as_ref() })
    }
}

impl Drop for Addresses {
    fn drop(&mut self) {
        // SAFETY: the list is getifaddrs' own and nobody has it any more.
        unsafe { libc::freeifaddrs(self.0) };
    }
}

fn address_of(one: &libc::ifaddrs) -> Option<IpAddr> {
    // SAFETY: an address is none, or one whose family says how long it is.
    let family = i32::from(unsafe { one.ifa_addr.as_ref() }?.sa_family);
    match family {
        libc::AF_INET => {
            // SAFETY: its family says that it is one of IPv4; it need not be aligned.
            let read = unsafe { one.ifa_addr.cast::<libc::sockaddr_in>().read_unaligned() };
            Some(Ipv4Addr::from(read.sin_addr.s_addr.to_ne_bytes()).into())
        }
        libc::AF_INET6 => {
            // SAFETY: its family says that it is one of IPv6; it need not be aligned.
            let read = unsafe { one.ifa_addr.cast::<libc::sockaddr_in6>().read_unaligned() };
            Some(Ipv6Addr::from(read.sin6_addr.s6_addr).into())
        }
        _ => None,
    }
}

/// Source: linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Commands, and the set of names that belong to counters. Source: linux/ethtool.h.
const GET_DRIVER: u32 = 0x03;
const GET_STRINGS: u32 = 0x1b;
const GET_STATS: u32 = 0x1d;
const SET_OF_STATS: u32 = 1;

/// Bytes of a counter's name, with its NUL.
const NAME: usize = 32;

/// `struct ethtool_drvinfo` in words, and where in its bytes the driver's name and the number of counters are.
const DRIVER_WORDS: usize = 25;
const DRIVER_NAME: usize = 4;
const DRIVER_STATS: usize = 180;

/// More counters than this no driver has.
const STATS_MAX: usize = 1 << 14;

/// A driver whose counters become more between two questions has room for them.
const ROOM: usize = 2;

/// The counters of an interface whose names end so, as the driver has them (`ethtool -S`).
pub fn counters(name: &str, ending: &str) -> io::Result<Vec<(String, u64)>> {
    let (_, count) = driver(name)?;
    if count == 0 {
        return Ok(Vec::new());
    }
    if count > STATS_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    // Three numbers of 32 bits, and the names.
    let mut names = vec![0; (12 + ROOM * count * NAME).div_ceil(8)];
    let length = u32::try_from(count).map_err(io::Error::other)?;
    names[0] = pair(GET_STRINGS, SET_OF_STATS);
    names[1] = pair(length, 0);
    ask(name, &mut names)?;
    let mut values = vec![0; 1 + ROOM * count];
    values[0] = pair(GET_STATS, length);
    ask(name, &mut values)?;
    let names: Vec<u8> = names.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let names = names[12..].chunks_exact(NAME).take(count).map(text);
    let all = names.zip(values[1..].iter().copied());
    Ok(all.filter(|(name, _)| name.ends_with(ending)).collect())
}

/// The driver of an interface, and how many counters it has.
fn driver(name: &str) -> io::Result<(String, usize)> {
    let mut words = vec![0; DRIVER_WORDS];
    words[0] = pair(GET_DRIVER, 0);
    ask(name, &mut words)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let count = bytes[DRIVER_STATS..].first_chunk().copied();
    let count = u32::from_ne_bytes(count.unwrap_or_default());
    let count = usize::try_from(count).map_err(io::Error::other)?;
    Ok((text(&bytes[DRIVER_NAME..][..NAME]), count))
}

/// Two numbers of 32 bits, one behind the other.
fn pair(first: u32, second: u32) -> u64 {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_ne_bytes());
    bytes[4..].copy_from_slice(&second.to_ne_bytes());
    u64::from_ne_bytes(bytes)
}

/// Up to the NUL.
fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}

/// Asks a driver, which answers into `words`: they hold the command, and room for as much as it answers.
fn ask(name: &str, words: &mut [u64]) -> io::Result<()> {
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
    // SAFETY: all bits zero are a request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays a NUL.
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_data = words.as_mut_ptr().cast();
    // SAFETY: `words` has room for the answers to the three commands above, and more for counters that came meanwhile.
    let done = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
    if done == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_known_by_its_address_and_has_no_driver() {
        let found = of_address(Ipv4Addr::LOCALHOST.into()).unwrap();
        let expected = Link {
            name: "lo".to_owned(),
            driver: None,
        };
        assert_eq!(found, Some(expected));
        // Of a network for documentation (RFC 5737).
        let nobody = of_address(Ipv4Addr::new(192, 0, 2, 7).into()).unwrap();
        assert_eq!(nobody, None);
        assert!(counters("lo", "").is_err(), "it has no driver");
        assert!(counters("no-such-link", "").is_err());
        assert!(counters("a name that is too long for one", "").is_err());
    }
}
