//! A client that does what it is told, and a server for it.

use super::super::super::{Parameters, Results, ServerError, State};
use super::super::{Listener, Offer};
use crate::net::iperf3::control::Trouble;
use crate::net::own::client::Session;
use crate::net::own::{Machine, Request, Token};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::until::Until;

/// Nothing here takes so long; it is an end for what would hang.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// A server, for as long as `work` takes: what it said in its lines.
pub(super) fn serving(work: impl FnOnce(SocketAddr)) -> Vec<String> {
    serving_own(|at, _| work(at))
}

/// What lets clients of ours in.
pub(in crate::net) fn token() -> Token {
    "0123456789abcdef".repeat(2).parse().unwrap()
}

/// A server, which `work` may stop.
pub(in crate::net) fn serving_own(work: impl FnOnce(SocketAddr, &AtomicBool)) -> Vec<String> {
    serving_for(LONG, work)
}

/// The same for so long.
pub(super) fn serving_for(
    span: Duration,
    work: impl FnOnce(SocketAddr, &AtomicBool),
) -> Vec<String> {
    let offer = Offer {
        token: token(),
        machine: Machine::default(),
    };
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
    let at = listener.address().unwrap();
    let stops = AtomicBool::new(false);
    let lines = Mutex::new(Vec::new());
    let write = |line: &str| {
        lines.lock().unwrap().push(line.to_owned());
        Ok(())
    };
    let stop = || stops.load(Ordering::Relaxed);
    std::thread::scope(|scope| {
        let server = scope.spawn(|| listener.serve(&offer, span, &stop, &write));
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

/// A session that is let in, where no other client is served any more.
pub(super) fn session(at: SocketAddr) -> Session {
    let peer = at.to_string().parse().unwrap();
    let until = Until::after(LONG);
    loop {
        match Session::open(&peer, &token(), Until::after(LONG)) {
            Err(Trouble::Busy(_)) if until.left().is_some() => sys::clock::sleep(5_000_000),
            other => return other.unwrap(),
        }
    }
}

impl Client {
    /// Shows the token, where no other client is served any more, and then a cookie.
    pub(super) fn new(at: SocketAddr, cookie: &[u8; 37]) -> Self {
        let session = session(at);
        session.say(Request::Iperf3 {}, Until::after(LONG)).unwrap();
        let mut control = session.into_parts().0;
        control.set_read_timeout(Some(LONG)).unwrap();
        control.set_write_timeout(Some(LONG)).unwrap();
        control.write_all(cookie).unwrap();
        Self {
            at,
            cookie: *cookie,
            control,
        }
    }

    /// Comes as far as the server's word for streams.
    pub(super) fn asking(at: SocketAddr, cookie: &[u8; 37], parameters: &str) -> Self {
        let mut client = Self::new(at, cookie);
        client.hears(&[State::ParamExchange]);
        // Nothing here is said that the other half does not read.
        Parameters::of(parameters.as_bytes()).unwrap();
        client.json(parameters);
        client
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
