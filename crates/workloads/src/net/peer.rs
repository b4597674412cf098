//! The machine at the other end, as users type it: `HOST`, `HOST:PORT`, or an address of IPv6 in brackets.

use super::iperf3::control::{Control, Trouble};
use super::iperf3::{PORT, words};
use super::own::client::Session;
use super::own::{BadToken, Token};
use engine::consent::{Permits, Touch};
use engine::workload::{Place, StandIn, WorkError};
use model::named::{NamedKind, ServerFact};
use model::num::{approx, round_to_u64};
use model::units::Nanos;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;
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

    /// What stands in for the other end of tests: one that a token opens, where there is one.
    pub fn stand_in(&self, has_token: bool) -> StandIn {
        StandIn {
            path: self.to_string().into(),
            kind: if has_token {
                NamedKind::TokenPeer
            } else {
                NamedKind::Peer
            },
        }
    }
}

/// The machine that a worker was given, and what it is to prove there.
#[derive(Clone, Debug)]
pub(crate) struct Other {
    /// Where.
    pub(crate) peer: Peer,
    /// Of `kurabe net serve`; iperf3 has none.
    pub(crate) token: Option<Token>,
}

/// How long a server has for each part of a talk.
pub(crate) const SAYS_WITHIN: Duration = Duration::from_secs(10);

/// A server may be busy with the end of an earlier test, ours or another's. Where it says for how long, it is waited
/// for until then and a moment more, in which its client goes, unless that is too long.
const BUSY_MAX: Duration = Duration::from_secs(3);
const BUSY_LONGER: Duration = Duration::from_secs(1);
const BUSY_SAID_MAX: Duration = Duration::from_secs(15);

/// From one try to the next: what it says is a most, and who asks often fills its log.
const BUSY_AGAIN: [Duration; 2] = [Duration::from_millis(100), Duration::from_secs(1)];

/// iperf3 listens anew after each test by UDP: who comes at once is refused.
pub(super) const LISTENS_WITHIN: Duration = Duration::from_millis(500);
pub(super) const LISTENS_AGAIN_NS: u64 = 10_000_000;

impl Other {
    /// Where the run may speak to it.
    pub(crate) fn permitted(path: &Path, permits: &Permits) -> Result<Self, WorkError> {
        let refused = |why: &dyn fmt::Display| WorkError::Unsupported(why.to_string());
        let permit = permits.of(path).map_err(|why| refused(&why))?;
        let text = path.to_string_lossy();
        let peer = text.parse().map_err(|why: BadPeer| refused(&why))?;
        let token = permit.secret().map(|secret| secret.reveal().parse());
        let token = token.transpose();
        Ok(Self {
            peer,
            token: token.map_err(|why: BadToken| refused(&why))?,
        })
    }

    /// By iperf3's protocol, with a server that is free, or becomes so soon.
    pub(crate) fn control(&self) -> Result<Control, Trouble> {
        when_free(|until| Control::open(&self.peer, self.token.as_ref(), until))
    }

    /// By our own.
    pub(crate) fn session(&self) -> Result<Session, Trouble> {
        // Plans without a token have no case that comes here.
        let token = self.token.as_ref().ok_or(Trouble::WrongToken)?;
        when_free(|until| Session::open(&self.peer, token, until))
    }
}

fn when_free<T>(open: impl Fn(Until) -> Result<T, Trouble>) -> Result<T, Trouble> {
    let (listens, some) = (Until::after(LISTENS_WITHIN), Until::after(BUSY_MAX));
    // What it says first: of a test that begins or ends it knows nothing, and whoever is next has another time.
    let mut is_free = None;
    loop {
        match open(Until::after(SAYS_WITHIN)) {
            Err(Trouble::Busy(said)) => {
                let tells = said.filter(|said| is_free.is_none() && !said.is_zero());
                if let Some(said) = tells {
                    is_free = Some(Until::after(busy_for(said)));
                }
                if is_free.unwrap_or(some).left().is_none() {
                    return Err(Trouble::Busy(said));
                }
                let [often, seldom] = BUSY_AGAIN;
                let rest = (said.unwrap_or_default() / 4).clamp(often, seldom);
                sys::clock::sleep(Nanos::from(rest).0);
            }
            Err(why) if why.is_refused() && listens.left().is_some() => {
                sys::clock::sleep(LISTENS_AGAIN_NS);
            }
            other => return other,
        }
    }
}

/// How long a server is waited for that says so of its client.
fn busy_for(said: Duration) -> Duration {
    let whole = said.saturating_add(BUSY_LONGER);
    if whole > BUSY_SAID_MAX {
        return BUSY_MAX;
    }
    whole.max(BUSY_MAX)
}

/// What stands in, where that is a peer.
pub(crate) fn peer_of(stand_in: Option<&StandIn>) -> Option<&StandIn> {
    stand_in.filter(|named| named.kind.is_peer())
}

/// That it is spoken to.
pub(crate) fn touch(peer: &StandIn) -> Touch {
    Touch {
        path: peer.path.clone(),
        kind: peer.kind,
        writes: false,
        creates: false,
    }
}

/// Refuses a round that could move more than is left of `--max-bytes`, at these bits per second or, where nobody knows
/// how fast it is, with nothing left at all.
pub(super) fn within(place: &Place, bits_per_s: u64) -> Result<(), WorkError> {
    /// What goes by a schedule ends with the look behind its end.
    const LONGER: f64 = 1.02;
    let Some(left) = place.bytes_left else {
        return Ok(());
    };
    let span = place.warmup.plus(place.measure).as_secs_f64() * LONGER;
    let needs = round_to_u64(approx(bits_per_s) / 8.0 * span).max(1);
    if needs <= left.0 {
        return Ok(());
    }
    let (left, needs) = (words::Bytes(left.0), words::Bytes(needs));
    Err(WorkError::Unsupported(format!(
        "of `--max-bytes` {left} are left, and a round moves {needs} at least\nhint: a larger `--max-bytes`"
    )))
}

/// Why a round ends where so many bytes had been left.
pub(super) fn spent(left: u64) -> WorkError {
    let left = words::Bytes(left);
    WorkError::Failed(format!(
        "end the round: the {left} that were left of `--max-bytes` have passed\nhint: a larger `--max-bytes`"
    ))
}

/// Looks whether the peer at this address listens, lets us in, has no other test and is there for so long: what it says
/// of itself. A server of iperf3 says nothing, and sees a client that goes away before it says what it wants.
pub fn ask(path: &Path, permits: &Permits, span: Duration) -> Result<Vec<ServerFact>, WorkError> {
    let other = Other::permitted(path, permits)?;
    let told = |why: Trouble| why.told(&other.peer, "begin a test with");
    if other.token.is_none() {
        let opened = Control::open(&other.peer, None, Until::after(SAYS_WITHIN));
        opened.map_err(told)?.leave();
        return Ok(Vec::new());
    }
    let session = other.session().map_err(told)?;
    let seconds = u32::try_from(span.as_millis().div_ceil(1000)).unwrap_or(u32::MAX);
    let machine = session.facts(seconds, Until::after(SAYS_WITHIN));
    Ok(machine.map_err(told)?.facts())
}

/// Looks whether it is there.
pub(crate) fn reach(path: &Path, permits: &Permits) -> Result<(), WorkError> {
    ask(path, permits, Duration::ZERO).map(drop)
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
    fn a_busy_server_is_waited_for_as_long_as_it_says_unless_that_is_long() {
        let seconds = Duration::from_secs;
        let of = |said| busy_for(seconds(said));
        assert_eq!(of(7), seconds(8));
        assert_eq!(of(14), seconds(15));
        assert_eq!([of(0), of(15)], [BUSY_MAX; 2]);
        // Longer than one that does not say it.
        let opened = |after: Duration, says: bool| {
            let free = Until::after(after);
            when_free(|_| match free.left() {
                Some(left) => Err(Trouble::Busy(says.then_some(left))),
                None => Ok(7),
            })
        };
        let moment = Duration::from_millis(300);
        std::thread::scope(|scope| {
            let silent = scope.spawn(|| opened(BUSY_MAX.saturating_sub(moment), false));
            let too_long = scope.spawn(|| opened(2 * BUSY_MAX, false));
            assert_eq!(opened(BUSY_MAX + moment, true).unwrap(), 7);
            assert_eq!(silent.join().unwrap().unwrap(), 7);
            assert!(matches!(too_long.join().unwrap(), Err(Trouble::Busy(None))));
        });
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
