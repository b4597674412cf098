//! The listener: connections that have not said yet whose they are, and what becomes of them.
//!
//! A connection shows 37 bytes first, by which it is a new client, or one of the session that is on. A client then
//! proves that it has the token. Until that is done, it costs a place and no thread, and places are few: where one more
//! comes, the oldest of the address that has the most of them goes, so that connections that say nothing keep out no
//! client that speaks at once.

use super::super::cookie::COOKIE_BYTES;
use super::super::parameters::STREAMS_MAX;
use super::super::{Cookie, State};
use super::active::{Active, Shown};
use super::line::LOOK;
use super::log::{Log, Write as LogWrite};
use super::session::{self, Client};
use super::streams::plain;
use super::{Offer, Serving};
use crate::net::own::hello::Kind;
use crate::net::own::proof::{
    BUSY, CHALLENGE_BYTES, CHALLENGES, NOT_KNOWN_MS, PROOF_BYTES, TAKEN, UNKNOWN, WELCOME, WRONG,
};
use crate::net::own::{Challenge, Hello};
use model::units::Nanos;
use std::collections::{HashMap, VecDeque};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope};
use std::time::Duration;
use sys::clock::monotonic;
use sys::limits::is_out_of_files;
use sys::ready::{Ready, is_readable_within};

/// Connections that have not said whose they are, at a time: all streams of a test, which may come before the first
/// word of any, and 64 others.
const PLACES: usize = STREAMS_MAX as usize + 64;

/// How long a connection has for its cookie, or for all of its proof.
const COOKIE: Duration = Duration::from_secs(10);

/// A stream has shown its cookie by then.
const SPEAKS_WITHIN_NS: u64 = 200_000_000;

/// So many are accepted before somebody else is looked at.
const ACCEPTED_AT_ONCE: usize = 64;

/// The listener, among what is waited for.
const LISTENER: usize = 0;

/// The stack of a test's thread: results of 8 MiB are on the heap.
const STACK_BYTES: usize = 512 << 10;

/// A port at which no client is served yet.
#[derive(Debug)]
pub struct Listener {
    listener: TcpListener,
    ready: Ready,
}

impl Listener {
    /// Binds to this address.
    pub fn bind(at: SocketAddr) -> io::Result<Self> {
        let listener = TcpListener::bind(at)?;
        listener.set_nonblocking(true)?;
        let ready = Ready::new([listener.as_fd()])?;
        Ok(Self { listener, ready })
    }

    /// Where that is.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Whether it is sure that nobody waits to be let in.
    fn nobody_is_there(&self) -> bool {
        let is_somebody = is_readable_within(self.listener.as_fd(), Duration::ZERO);
        is_somebody.is_ok_and(|is_somebody| !is_somebody)
    }

    /// Serves the clients that have the token, one at a time, for so long, or until `stop` says so, which is asked
    /// every tenth of a second; a test that is on then is ended with a word to its client. `write` takes a line for
    /// each that came: where it fails, the server ends with that error.
    pub fn serve(
        mut self,
        offer: &Offer,
        span: Duration,
        stop: &(dyn Fn() -> bool + Sync),
        write: &LogWrite<'_>,
    ) -> io::Result<()> {
        let serving = Serving {
            offer,
            span,
            until: monotonic().saturating_add(Nanos::from(span).0),
            stop,
            log: Log::new(write),
            failed: AtomicBool::new(false),
        };
        let active = Active::default();
        std::thread::scope(|scope| {
            let mut unproven = Unproven {
                serving: &serving,
                active: &active,
                waiting: VecDeque::new(),
                next: LISTENER + 1,
            };
            let served = unproven.receive(&mut self, scope);
            // A test that is on ends too.
            serving.failed.store(served.is_err(), Ordering::Relaxed);
            served
        })?;
        serving.log.turn(u64::MAX);
        serving.log.failed().map_or(Ok(()), Err)
    }
}

/// A connection that has not said whose it is.
struct Waiting {
    place: usize,
    stream: TcpStream,
    peer: SocketAddr,
    since: u64,
    step: Step,
    bytes: [u8; COOKIE_BYTES],
    got: usize,
}

/// What it is to say next.
enum Step {
    /// A cookie, or a hello of ours.
    First,
    /// That it has the token.
    Proof(Challenge),
    /// Nothing more: it was answered, and is to go.
    End,
}

impl Step {
    const fn bytes(&self) -> usize {
        match self {
            Self::First => COOKIE_BYTES,
            Self::Proof(_) => PROOF_BYTES,
            Self::End => 1,
        }
    }
}

/// The connections that have not proved yet that they have the token.
struct Unproven<'a> {
    serving: &'a Serving<'a>,
    active: &'a Active,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    next: usize,
}

impl<'a> Unproven<'a> {
    /// Serves those that come, until the server ends.
    fn receive<'scope>(
        &mut self,
        listener: &mut Listener,
        scope: &'scope Scope<'scope, 'a>,
    ) -> io::Result<()> {
        while !self.serving.closes() {
            if let Some(place) = listener.ready.next(LOOK)? {
                if place == LISTENER {
                    self.accept(listener)?;
                } else {
                    self.hear(place, &listener.ready, scope);
                }
            }
            let now = monotonic();
            self.expire(now);
            self.serving.log.turn(now);
            if let Some(error) = self.serving.log.failed() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes what is in the backlog.
    fn accept(&mut self, from: &Listener) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            match from.listener.accept() {
                Ok((stream, peer)) => self.add(stream, plain(peer), &from.ready)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_their_own(&error) => {}
                // A descriptor is taken before it is seen that nobody is there.
                Err(_) if from.nobody_is_there() => return Ok(()),
                // No descriptor, or no memory, is left.
                Err(error) => {
                    self.serving.log.refusal(&format!("accept: {error}"));
                    self.give_way(&error);
                    sys::clock::sleep(1_000_000);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// The oldest who has had time to speak gives its place. Where nobody waits, a test has all there are, and gets no
    /// more.
    fn give_way(&mut self, error: &io::Error) {
        let Some(oldest) = self.waiting.front() else {
            if is_out_of_files(error) {
                self.active.fails(error);
            }
            return;
        };
        if monotonic().saturating_sub(oldest.since) >= SPEAKS_WITHIN_NS {
            self.waiting.pop_front();
        }
    }

    fn add(&mut self, stream: TcpStream, peer: SocketAddr, ready: &Ready) -> io::Result<()> {
        if self.waiting.len() == PLACES
            && let Some(one) = self.waiting.remove(self.of_most())
        {
            let peer = one.peer;
            let text = format!("{peer} refused: it said nothing, and others came");
            self.serving.log.refusal(&text);
        }
        stream.set_nonblocking(true)?;
        let place = self.next;
        self.next += 1;
        if let Err(error) = ready.add(stream.as_fd(), place) {
            let text = format!("{peer} failed: {error}");
            self.serving.log.refusal(&text);
            return Ok(());
        }
        self.waiting.push_back(Waiting {
            place,
            stream,
            peer,
            since: monotonic(),
            step: Step::First,
            bytes: [0; COOKIE_BYTES],
            got: 0,
        });
        Ok(())
    }

    /// The oldest of the address that has the most places: one that takes all of them keeps out nobody else.
    fn of_most(&self) -> usize {
        let mut places: HashMap<IpAddr, usize> = HashMap::new();
        for one in &self.waiting {
            *places.entry(one.peer.ip()).or_default() += 1;
        }
        // Of several with the most, the last that is looked at.
        let all = (0..self.waiting.len()).rev();
        all.max_by_key(|&index| places[&self.waiting[index].peer.ip()])
            .unwrap_or_default()
    }

    /// Throws out those whose time is over.
    fn expire(&mut self, now: u64) {
        let limit = Nanos::from(COOKIE).0;
        while let Some(oldest) = self.waiting.front()
            && now.saturating_sub(oldest.since) >= limit
        {
            let (peer, seconds) = (oldest.peer, COOKIE.as_secs());
            let what = match oldest.step {
                Step::First => "cookie",
                Step::Proof(_) => "proof of the token",
                Step::End => "end",
            };
            let text = format!("{peer} refused: no {what} within {seconds} s");
            self.serving.log.refusal(&text);
            self.waiting.pop_front();
        }
    }

    /// Reads what one of them says. Its place may be of one who has left.
    fn hear<'scope>(&mut self, place: usize, ready: &Ready, scope: &'scope Scope<'scope, 'a>) {
        let Some(index) = self.waiting.iter().position(|one| one.place == place) else {
            return;
        };
        let one = &mut self.waiting[index];
        let wanted = one.step.bytes();
        match one.stream.read(&mut one.bytes[one.got..wanted]) {
            Ok(got @ 1..) => one.got += got,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return;
            }
            Ok(0) | Err(_) => {
                if !matches!(one.step, Step::End) {
                    let text = format!("{} left without a word", one.peer);
                    self.serving.log.refusal(&text);
                }
                self.waiting.remove(index);
                return;
            }
        }
        if one.got < wanted {
            return;
        }
        let Some(one) = self.waiting.remove(index) else {
            return;
        };
        let said = match one.step {
            Step::First => self.first(one, ready),
            Step::Proof(challenge) => self.proved(one, &challenge, ready, scope),
            // It goes on to speak.
            Step::End => Ok(()),
        };
        if let Err((peer, error)) = said {
            self.serving.log.refusal(&format!("{peer} failed: {error}"));
        }
    }

    /// Its first bytes are complete.
    fn first(&mut self, one: Waiting, ready: &Ready) -> Result<(), Failed> {
        match Hello::of(one.bytes) {
            Some(hello) => match hello.kind() {
                Kind::Control => self.challenge(one, hello),
                Kind::Data(_) => self.further(one, &hello, ready),
                Kind::Unknown => {
                    self.refuse(&one, "it speaks another version");
                    tell(&one.stream, &[UNKNOWN]);
                    Ok(())
                }
            },
            None => self.cookie(one, ready),
        }
    }

    /// A stream of the test that is on, or a client of iperf3, which has no token.
    fn cookie(&self, one: Waiting, ready: &Ready) -> Result<(), Failed> {
        let peer = one.peer;
        let Ok(cookie) = Cookie::read(&mut one.bytes.as_slice()) else {
            return Ok(());
        };
        // What it says next is for others to hear.
        ready
            .remove(one.stream.as_fd())
            .map_err(|error| (peer, error))?;
        if let Err(stream) = self.active.stream(&cookie, one.stream) {
            let text = format!("{peer} refused: no token; `iperf3 -s` serves clients of iperf3");
            self.serving.log.refusal(&text);
            deny(&stream);
        }
        Ok(())
    }

    /// A new client is asked for a proof of the token.
    fn challenge(&mut self, one: Waiting, hello: Hello) -> Result<(), Failed> {
        let challenge = Challenge::new(hello).map_err(|error| (one.peer, error))?;
        let mut word = [CHALLENGES; 1 + CHALLENGE_BYTES];
        word[1..].copy_from_slice(challenge.number());
        tell(&one.stream, &word);
        self.goes_on(one, Step::Proof(challenge));
        Ok(())
    }

    /// It has its place again, for its next step. Its time began when it came, so that it is among the oldest still.
    fn goes_on(&mut self, mut one: Waiting, step: Step) {
        (one.step, one.got) = (step, 0);
        let behind = self
            .waiting
            .partition_point(|other| other.since < one.since);
        self.waiting.insert(behind, one);
    }

    /// Its proof is complete.
    fn proved<'scope>(
        &self,
        one: Waiting,
        challenge: &Challenge,
        ready: &Ready,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Result<(), Failed> {
        let (peer, token) = (one.peer, &self.serving.offer.token);
        if !challenge.is_client(token, &one.bytes[..PROOF_BYTES]) {
            self.refuse(&one, "its token is wrong");
            tell(&one.stream, &[WRONG]);
            return Ok(());
        }
        ready
            .remove(one.stream.as_fd())
            .map_err(|error| (peer, error))?;
        let key = challenge.session(token);
        let Some((streams, claim)) = self.active.claim(key.clone()) else {
            self.refuse(&one, "another client is served");
            let left = self
                .active
                .left()
                .map(|left| u32::try_from(left.as_millis()));
            let left = left.and_then(Result::ok).unwrap_or(NOT_KNOWN_MS);
            let mut word = [BUSY; 5];
            word[1..].copy_from_slice(&left.to_be_bytes());
            tell(&one.stream, &word);
            return Ok(());
        };
        let mut word = [WELCOME; 1 + PROOF_BYTES];
        word[1..].copy_from_slice(&challenge.of_server(token));
        tell(&one.stream, &word);
        let serving = self.serving;
        self.start(peer, scope, move || {
            let client = Client {
                stream: one.stream,
                peer,
                key,
                streams,
                claim,
            };
            session::serve(serving, client);
        });
        Ok(())
    }

    /// A further connection of ours.
    fn further(&mut self, one: Waiting, hello: &Hello, ready: &Ready) -> Result<(), Failed> {
        match self.active.shown(hello) {
            Shown::Unexpected => self.refuse(&one, "no test waits for this connection"),
            Shown::Taken(streams) => {
                let removed = ready.remove(one.stream.as_fd());
                removed.map_err(|error| (one.peer, error))?;
                tell(&one.stream, &[TAKEN]);
                // A test that has ended meanwhile takes no client.
                let _ = streams.send(Ok(one.stream));
            }
            Shown::Answered => {
                // As over loopback: a pair of ports that waits for a minute would be in the way of the next ones.
                let resets = sys::socket::reset_at_close(one.stream.as_fd());
                resets.map_err(|error| (one.peer, error))?;
                tell(&one.stream, &[TAKEN]);
                self.goes_on(one, Step::End);
            }
        }
        Ok(())
    }

    fn refuse(&self, one: &Waiting, why: &str) {
        let text = format!("{} refused: {why}", one.peer);
        self.serving.log.refusal(&text);
    }

    /// A client is served by a thread of its own.
    fn start<'scope>(
        &self,
        peer: SocketAddr,
        scope: &'scope Scope<'scope, 'a>,
        work: impl FnOnce() + Send + 'scope,
    ) {
        let builder = Builder::new().stack_size(STACK_BYTES);
        if let Err(error) = builder.spawn_scoped(scope, work) {
            let text = format!("{peer} failed: start a thread: {error}");
            self.serving.log.refusal(&text);
        }
    }
}

/// Whose connection, and why it did not go on.
type Failed = (SocketAddr, io::Error);

/// Says a few bytes: a connection that is new takes them at once, or its other end has gone.
fn tell(mut stream: &TcpStream, word: &[u8]) {
    let _ = stream.write(word);
}

/// Says to a client of iperf3, in the one word that its protocol has for it, that it is not served. What the client has
/// said beyond its cookie is thrown away first: a connection that is closed over unread bytes takes the word along.
fn deny(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
    tell(stream, &[State::AccessDenied.byte()]);
}

/// Whoever came has left before it was let in. Source: accept(2), "Error handling".
fn is_their_own(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::Interrupted
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    )
}
