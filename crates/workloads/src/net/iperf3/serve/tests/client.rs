//! A client that does what it is told, and a server for it.

use super::super::super::{Parameters, Results, ServerError, State};
use super::super::{Door, Limits, Offer};
use crate::net::own::{Machine, Token};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Nothing here takes so long; it is an end for what would hang.
pub(super) const LONG: Duration = Duration::from_secs(60);

const LIMITS: Limits = Limits {
    bits_per_s: 1_000_000_000_000,
    time: Duration::from_secs(60),
};

/// A server, for as long as `work` takes: what it said in its lines.
pub(super) fn serving(work: impl FnOnce(SocketAddr)) -> Vec<String> {
    serving_with(LIMITS, |at, _| work(at))
}

/// The same within limits; `work` may stop it.
pub(in crate::net) fn serving_with(
    limits: Limits,
    work: impl FnOnce(SocketAddr, &AtomicBool),
) -> Vec<String> {
    serving_for(Some(limits), LONG, work)
}

/// What lets clients of ours in.
pub(in crate::net) fn token() -> Token {
    "0123456789abcdef".repeat(2).parse().unwrap()
}

/// A server of those who have the token alone.
pub(in crate::net) fn serving_own(work: impl FnOnce(SocketAddr, &AtomicBool)) -> Vec<String> {
    serving_for(None, LONG, work)
}

/// The same for so long, and for strangers within limits.
pub(super) fn serving_for(
    open: Option<Limits>,
    span: Duration,
    work: impl FnOnce(SocketAddr, &AtomicBool),
) -> Vec<String> {
    let offer = Offer {
        token: token(),
        machine: Machine::default(),
        open,
    };
    let door = Door::open((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let at = door.address().unwrap();
    let stops = AtomicBool::new(false);
    let lines = Mutex::new(Vec::new());
    let write = |line: &str| {
        lines.lock().unwrap().push(line.to_owned());
        Ok(())
    };
    let stop = || stops.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| door.serve(&offer, span, &stop, &write));
        // A test that fails ends the server too.
        let _ends = Ends(&stops);
        work(at, &stops);
        stops.store(true, Ordering::Relaxed);
        server.join().unwrap().unwrap();
    });
    lines.into_inner().unwrap()
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A control connection, and what belongs to it.
pub(super) struct Client {
    at: SocketAddr,
    cookie: [u8; 37],
    pub(super) control: TcpStream,
}

/// A connection that does not wait for ever.
pub(super) fn connect(at: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

impl Client {
    /// Shows a cookie; the server may be busy.
    pub(super) fn new(at: SocketAddr, cookie: &[u8; 37]) -> Self {
        let mut control = connect(at);
        control.write_all(cookie).unwrap();
        Self {
            at,
            cookie: *cookie,
            control,
        }
    }

    /// Comes as far as the server's word for streams, where nobody else is served any more.
    pub(super) fn asking(at: SocketAddr, cookie: &[u8; 37], parameters: &str) -> Self {
        let deadline = sys::until::Until::after(LONG);
        loop {
            let mut client = Self::new(at, cookie);
            match client.hear() {
                State::AccessDenied if deadline.left().is_some() => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                state => {
                    assert_eq!(state, State::ParamExchange);
                    // Nothing here is said that the other half does not read.
                    Parameters::of(parameters.as_bytes()).unwrap();
                    client.json(parameters);
                    return client;
                }
            }
        }
    }

    pub(super) fn hear(&mut self) -> State {
        State::read(&mut self.control).unwrap()
    }

    #[track_caller]
    pub(super) fn hears(&mut self, states: &[State]) {
        for state in states {
            assert_eq!(self.hear(), *state);
        }
    }

    pub(super) fn say(&mut self, state: State) {
        state.write(&mut self.control).unwrap();
    }

    pub(super) fn json(&mut self, text: &str) {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        self.control.write_all(&length).unwrap();
        self.control.write_all(text.as_bytes()).unwrap();
    }

    /// The number behind `SERVER_ERROR`.
    #[track_caller]
    pub(super) fn refused(&mut self) -> i32 {
        assert_eq!(self.hear(), State::ServerError);
        ServerError::read(&mut self.control).unwrap().number
    }

    /// A stream of TCP.
    pub(super) fn stream(&self) -> TcpStream {
        let mut stream = connect(self.at);
        stream.write_all(&self.cookie).unwrap();
        stream
    }

    /// Ends the test, with these results: the server's.
    pub(super) fn ends(&mut self, results: &str) -> Results {
        self.say(State::TestEnd);
        self.hears(&[State::ExchangeResults]);
        self.json(results);
        let theirs = Results::read(&mut self.control).unwrap();
        self.hears(&[State::DisplayResults]);
        self.say(State::IperfDone);
        theirs
    }

    /// Whether the server closes the connection.
    pub(super) fn is_left(&mut self) -> bool {
        !matches!(self.control.read(&mut [0]), Ok(1..))
    }

    pub(super) fn ip(&self) -> IpAddr {
        self.at.ip()
    }

    pub(super) fn at(&self) -> SocketAddr {
        self.at
    }
}
