//! Addresses in numbers: those that a user writes, and those of /etc/hosts and /etc/resolv.conf.
//!
//! IPv4 is four decimal numbers and nothing else. The forms of `inet_aton(3)` (`127.1`, octal with a leading zero) mean
//! different machines to different programs, so that what looks like one of them is refused and never asked for.

#![expect(unsafe_code, reason = "if_nametoindex has no interface in std")]

use super::host::Refusal;
use std::ffi::CString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};

/// The address that is written here; `None` where this is not meant as one.
pub(super) fn read(text: &str, port: u16) -> Option<Result<SocketAddr, Refusal>> {
    if let Some(rest) = text.strip_prefix('[') {
        let inside = rest.strip_suffix(']').unwrap_or(text);
        return Some(ipv6(inside, port));
    }
    if text.contains(':') {
        return Some(ipv6(text, port));
    }
    let in_numbers = text.contains(|c: char| c.is_ascii_digit())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    in_numbers.then(|| ipv4(text, port))
}

fn ipv4(text: &str, port: u16) -> Result<SocketAddr, Refusal> {
    let address: Ipv4Addr = text.parse().map_err(|_| {
        Refusal::new(
            "it is no IPv4 address",
            "an IPv4 address is four numbers of 0 to 255 without leading zeros, such as `192.0.2.7`",
        )
    })?;
    Ok(SocketAddr::from((address, port)))
}

fn ipv6(text: &str, port: u16) -> Result<SocketAddr, Refusal> {
    let (address, interface) = match text.split_once('%') {
        Some((address, interface)) => (address, Some(interface)),
        None => (text, None),
    };
    let address: Ipv6Addr = address.parse().map_err(|_| {
        Refusal::new(
            "it is no IPv6 address",
            "a colon stands in IPv6 addresses alone, such as `2001:db8::7`; a port is not part of the host",
        )
    })?;
    let scope = match (address.is_unicast_link_local(), interface) {
        (false, None) => 0,
        (true, Some(interface)) => index(interface)?,
        (true, None) => {
            return Err(Refusal::new(
                "it is link-local, and does not say on which interface",
                "write the interface behind it, `fe80::1%eth0`; `ip link` lists them",
            ));
        }
        (false, Some(_)) => {
            return Err(Refusal::new(
                "it names an interface and is not link-local",
                "leave out the `%` and what follows",
            ));
        }
    };
    Ok(SocketAddr::V6(SocketAddrV6::new(address, port, 0, scope)))
}

/// The number of an interface, which may be written as one (RFC 4007, section 11.2).
fn index(interface: &str) -> Result<u32, Refusal> {
    if let Ok(number @ 1..) = interface.parse() {
        return Ok(number);
    }
    let found = CString::new(interface).map_or(0, |name| {
        // SAFETY: `name` ends in NUL.
        unsafe { libc::if_nametoindex(name.as_ptr()) }
    });
    if found == 0 {
        return Err(Refusal::new(
            "there is no such interface here",
            "`ip link` lists them",
        ));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `None` for a name, an empty text for a refusal.
    fn check(text: &str, expect: Option<&str>) {
        let found = read(text, 80).map(|address| {
            let address = address.map(|address| address.to_string());
            address.unwrap_or_default()
        });
        assert_eq!(found.as_deref(), expect, "{text}");
    }

    #[test]
    fn addresses_are_told_from_names_and_from_what_resembles_them() {
        for (text, expect) in [
            ("192.0.2.7", Some("192.0.2.7:80")),
            ("0.0.0.0", Some("0.0.0.0:80")),
            ("255.255.255.255", Some("255.255.255.255:80")),
            ("256.0.0.1", Some("")),
            ("127.1", Some("")),
            ("010.0.0.1", Some("")),
            ("2130706433", Some("")),
            ("192.0.2.7.", Some("")),
            ("1.2.3.4.5", Some("")),
            ("::1", Some("[::1]:80")),
            ("[::1]", Some("[::1]:80")),
            ("2001:DB8::7", Some("[2001:db8::7]:80")),
            ("::ffff:192.0.2.7", Some("[::ffff:192.0.2.7]:80")),
            ("fe80::1%1", Some("[fe80::1%1]:80")),
            ("[fe80::1%1]", Some("[fe80::1%1]:80")),
            ("fe80::1%lo", Some("[fe80::1%1]:80")),
            ("fe80::1", Some("")),
            ("fe80::1%", Some("")),
            ("fe80::1%0", Some("")),
            ("fe80::1%no such one", Some("")),
            ("fe80::1%a\0b", Some("")),
            ("2001:db8::7%lo", Some("")),
            ("[::1", Some("")),
            ("::1]", Some("")),
            ("[192.0.2.7]", Some("")),
            ("[]", Some("")),
            ("[", Some("")),
            (":", Some("")),
            ("db.example:3306", Some("")),
            ("::1::2", Some("")),
            ("db.example", None),
            ("7", Some("")),
            ("7up", None),
            ("a.7", None),
            (".", None),
            ("", None),
            ("fe80", None),
            ("дб", None),
        ] {
            check(text, expect);
        }
    }

    #[test]
    fn the_loopback_interface_has_a_number() {
        // The one interface that every network namespace has, and its first.
        assert_eq!(index("lo").ok(), Some(1));
        assert_eq!(index("7").ok(), Some(7));
    }
}
