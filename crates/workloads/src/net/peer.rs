//! The machine at the other end, as users type it: `HOST`, `HOST:PORT`, or an address of IPv6 in brackets.

use super::iperf3::PORT;
use super::iperf3::control::{Control, Trouble};
use engine::consent::Permits;
use engine::workload::{StandIn, WorkError};
use model::named::NamedKind;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use sys::until::Until;

/// A host and a port there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    host: String,
    port: u16,
}

/// Why a text is no peer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadPeer {
    /// No name and no address.
    #[error(
        "`{0}` is no host: a name, an address of IPv4 or IPv6, or one of these with a port: `HOST:5201`, `[::1]:5201`"
    )]
    Host(String),
    /// A port that there is not.
    #[error("`{0}` is no port from 1 to 65535")]
    Port(String),
}

/// The longest name (RFC 1035) with an interface behind it.
const HOST_MAX: usize = 300;

impl FromStr for Peer {
    type Err = BadPeer;

    fn from_str(text: &str) -> Result<Self, BadPeer> {
        let bad = || BadPeer::Host(text.to_owned());
        let (host, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (host, behind) = rest.split_once(']').ok_or_else(bad)?;
                let port = match behind {
                    "" => None,
                    _ => Some(behind.strip_prefix(':').ok_or_else(bad)?),
                };
                if !host.contains(':') {
                    return Err(bad());
                }
                (host, port)
            }
            // Several colons are those of an address.
            None => match text.split_once(':') {
                Some((host, port)) if !port.contains(':') => (host, Some(port)),
                _ => (text, None),
            },
        };
        let is_of_host = |c: char| c.is_ascii_alphanumeric() || ".-_:%".contains(c);
        if host.is_empty() || host.len() > HOST_MAX || !host.chars().all(is_of_host) {
            return Err(bad());
        }
        let number = |port: &str| match port.parse() {
            Ok(number) if number > 0 && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(number)
            }
            _ => Err(BadPeer::Port(port.to_owned())),
        };
        Ok(Self {
            host: host.to_owned(),
            port: port.map_or(Ok(PORT), number)?,
        })
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') {
            write!(f, "[{host}]:{port}")
        } else {
            write!(f, "{host}:{port}")
        }
    }
}

impl Peer {
    /// The name or address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// What stands in for the other end of tests.
    pub fn stand_in(&self) -> StandIn {
        StandIn {
            path: self.to_string().into(),
            kind: NamedKind::Peer,
        }
    }

    /// The peer that a worker was given, where the run may speak to it.
    pub(crate) fn permitted(path: &Path, permits: &Permits) -> Result<Self, WorkError> {
        let permit = permits.of(path);
        permit.map_err(|why| WorkError::Unsupported(why.to_string()))?;
        let text = path.to_string_lossy();
        text.parse()
            .map_err(|why: BadPeer| WorkError::Unsupported(why.to_string()))
    }
}

/// What stands in, where that is a peer.
pub(crate) fn peer_of(stand_in: Option<&StandIn>) -> Option<&StandIn> {
    stand_in.filter(|named| named.kind == NamedKind::Peer)
}

/// Looks whether the peer at this address listens, speaks iperf3's protocol and has no other test. It sees a client
/// that goes away before it says what it wants.
pub fn reach(path: &Path, permits: &Permits) -> Result<(), WorkError> {
    let peer = Peer::permitted(path, permits)?;
    let until = Until::after(super::talk::SAYS_WITHIN);
    let opened = Control::open(&peer, until);
    let told = |why: Trouble| why.told(&peer, "begin a test with");
    opened.map_err(told).map(Control::leave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_read_and_told_in_one_way() {
        let check = |text: &str, expected: &str| {
            let peer: Peer = text.parse().unwrap();
            assert_eq!(peer.to_string(), expected, "{text}");
            assert_eq!(expected.parse(), Ok(peer), "{text}");
        };
        check("db.example", "db.example:5201");
        check("db.example:80", "db.example:80");
        check("192.0.2.7", "192.0.2.7:5201");
        check("[2001:db8::1]:5202", "[2001:db8::1]:5202");
        check("[2001:db8::1]", "[2001:db8::1]:5201");
        check("2001:db8::1", "[2001:db8::1]:5201");
        check("fe80::1%eth0", "[fe80::1%eth0]:5201");
        check("[fe80::1%eth0.7]:1", "[fe80::1%eth0.7]:1");
    }

    #[test]
    fn what_is_no_peer_is_refused() {
        for (text, says) in [
            ("", "no host"),
            (":5201", "no host"),
            ("a b", "no host"),
            ("http://x", "no port"),
            ("user@x", "no host"),
            ("[::1", "no host"),
            ("[::1]x", "no host"),
            ("[host]:1", "no host"),
            ("x:", "no port"),
            ("x:0", "no port"),
            ("x:65536", "no port"),
            ("x:+5", "no port"),
            ("x:iperf3", "no port"),
        ] {
            let why = text.parse::<Peer>().unwrap_err().to_string();
            assert!(why.contains(says), "{text}: {why}");
        }
        assert!("x".repeat(400).parse::<Peer>().is_err());
    }
}
