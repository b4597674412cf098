//! Who comes in: connections that have not said yet whose they are, and what becomes of them.
//!
//! A connection shows 37 bytes first, by which it is a new client, a stream of the test that is on, or somebody who is
//! told that this server is busy. A client of ours then proves that it has the token. Until that is done, it costs a
//! place and no thread, and places are few: where one more comes, the oldest of the address that has the most of them
//! goes, so that connections that say nothing keep out nobody who speaks at once, as iperf3 does.

use super::super::cookie::COOKIE_BYTES;
use super::super::parameters::STREAMS_MAX;
use super::super::{Cookie, State};
use super::desk::{Desk, Shown};
use super::journal::{Journal, Write as JournalWrite};
use super::line::LOOK;
use super::order::Limits;
use super::own::{self, Guest};
use super::streams::plain;
use super::test::{self, Client};
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
/// word of any, and 64 strangers.
const PLACES: usize = 2 * STREAMS_MAX as usize + 64;

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

/// A port at which nobody is served yet.
#[derive(Debug)]
pub struct Door {
    listener: TcpListener,
    ready: Ready,
}

impl Door {
    /// Binds to this address.
    pub fn open(at: SocketAddr) -> io::Result<Self> {
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

    /// Serves whoever comes, one at a time, for so long, or until `stop` says so, which is asked every tenth of a
    /// second; a test that is on then is ended with a word to its client. `write` takes a line for everybody who came:
    /// where it fails, the server ends with that error.
    pub fn serve(
        mut self,
        offer: &Offer,
        span: Duration,
        stop: &(dyn Fn() -> bool + Sync),
        write: &JournalWrite<'_>,
    ) -> io::Result<()> {
        let serving = Serving {
            offer,
            span,
            until: monotonic().saturating_add(Nanos::from(span).0),
            stop,
            journal: Journal::new(write),
            failed: AtomicBool::new(false),
        };
        let desk = Desk::default();
        std::thread::scope(|scope| {
            let mut hall = Hall {
                serving: &serving,
                desk: &desk,
                waiting: VecDeque::new(),
                followers: Vec::new(),
                next: LISTENER + 1,
            };
            let served = hall.receive(&mut self, scope);
            // A test that is on ends too.
            serving.failed.store(served.is_err(), Ordering::Relaxed);
            served
        })?;
        serving.journal.turn(u64::MAX);
        serving.journal.failed().map_or(Ok(()), Err)
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

/// Clients of iperf3 that may wait for one that is about to go, and how soon it is looked whether it has.
const FOLLOWERS: usize = 8;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A client of iperf3 that has said its cookie.
struct Follower {
    stream: TcpStream,
    peer: SocketAddr,
    cookie: Cookie,
    limits: Limits,
}

/// Where they wait.
struct Hall<'a> {
    serving: &'a Serving<'a>,
    desk: &'a Desk,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    followers: Vec<Follower>,
    next: usize,
}

impl<'a> Hall<'a> {
    /// Serves whoever comes, until nobody is to be served any more.
    fn receive<'scope>(
        &mut self,
        door: &mut Door,
        scope: &'scope Scope<'scope, 'a>,
    ) -> io::Result<()> {
        while !self.serving.closes() {
            let look = if self.followers.is_empty() {
                LOOK
            } else {
                LOOK_AGAIN
            };
            if let Some(place) = door.ready.next(look)? {
                if place == LISTENER {
                    self.accept(door)?;
                } else {
                    self.hear(place, &door.ready, scope);
                }
            }
            for follower in std::mem::take(&mut self.followers) {
                self.sit(follower, scope);
            }
            let now = monotonic();
            self.expire(now);
            self.serving.journal.turn(now);
            if let Some(error) = self.serving.journal.failed() {
                return Err(error);
            }
        }
        Ok(())
    }

    /// Takes in those who are at the door.
    fn accept(&mut self, door: &Door) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            match door.listener.accept() {
                Ok((stream, peer)) => self.seat(stream, plain(peer), &door.ready)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_their_own(&error) => {}
                // A descriptor is taken before it is seen that nobody is there.
                Err(_) if door.nobody_is_there() => return Ok(()),
                // No descriptor, or no memory, is left.
                Err(error) => {
                    self.serving.journal.refusal(&format!("accept: {error}"));
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
                self.desk.fails(error);
            }
            return;
        };
        if monotonic().saturating_sub(oldest.since) >= SPEAKS_WITHIN_NS {
            self.waiting.pop_front();
        }
    }

    fn seat(&mut self, stream: TcpStream, peer: SocketAddr, ready: &Ready) -> io::Result<()> {
        if self.waiting.len() == PLACES
            && let Some(one) = self.waiting.remove(self.of_most())
        {
            let peer = one.peer;
            let text = format!("{peer} refused: it said nothing, and others came");
            self.serving.journal.refusal(&text);
        }
        stream.set_nonblocking(true)?;
        let place = self.next;
        self.next += 1;
        if let Err(error) = ready.add(stream.as_fd(), place) {
            let text = format!("{peer} failed: {error}");
            self.serving.journal.refusal(&text);
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
            self.serving.journal.refusal(&text);
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
                    self.serving.journal.refusal(&text);
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
            Step::First => self.first(one, ready, scope),
            Step::Proof(challenge) => self.proved(one, &challenge, ready, scope),
            // It goes on to speak.
            Step::End => Ok(()),
        };
        if let Err((peer, error)) = said {
            self.serving
                .journal
                .refusal(&format!("{peer} failed: {error}"));
        }
    }

    /// Its first bytes are complete.
    fn first<'scope>(
        &mut self,
        one: Waiting,
        ready: &Ready,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Result<(), Failed> {
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
            None => self.cookie(one, ready, scope),
        }
    }

    /// A client of iperf3, or one of its streams.
    fn cookie<'scope>(
        &mut self,
        one: Waiting,
        ready: &Ready,
        scope: &'scope Scope<'scope, 'a>,
    ) -> Result<(), Failed> {
        let peer = one.peer;
        let Ok(cookie) = Cookie::read(&mut one.bytes.as_slice()) else {
            return Ok(());
        };
        // What it says next is for others to hear.
        ready
            .remove(one.stream.as_fd())
            .map_err(|error| (peer, error))?;
        let stream = match self.desk.stream(&cookie, one.stream) {
            Ok(()) => return Ok(()),
            Err(stream) => stream,
        };
        let Some(limits) = self.serving.offer.open else {
            self.turn_away(&stream, peer, "no token, and `--iperf3-open` was not given");
            return Ok(());
        };
        let follower = Follower {
            stream,
            peer,
            cookie,
            limits,
        };
        self.sit(follower, scope);
        Ok(())
    }

    /// Serves a client of iperf3, or lets it wait for one that is about to go: whoever follows another at once would be
    /// told that the server is busy, only because it was faster than the other's last word.
    fn sit<'scope>(&mut self, one: Follower, scope: &'scope Scope<'scope, 'a>) {
        let Some((streams, seat)) = self.desk.seat(Some(one.cookie), None) else {
            if self.desk.is_about_to_be_free() && self.followers.len() < FOLLOWERS {
                self.followers.push(one);
            } else {
                self.turn_away(&one.stream, one.peer, "another client is served");
            }
            return;
        };
        let (serving, peer) = (self.serving, one.peer);
        self.start(peer, scope, move || {
            let client = Client {
                stream: one.stream,
                peer,
                streams,
                seat: &seat,
                limits: one.limits,
            };
            test::serve(serving, client);
        });
    }

    fn turn_away(&self, stream: &TcpStream, peer: SocketAddr, why: &str) {
        let text = format!("{peer} refused: {why}");
        self.serving.journal.refusal(&text);
        deny(stream);
    }

    /// Whoever comes is asked for a proof of the token.
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
        let Some((streams, seat)) = self.desk.seat(None, Some(key.clone())) else {
            self.refuse(&one, "another client is served");
            let left = self.desk.left().map(|left| u32::try_from(left.as_millis()));
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
            let guest = Guest {
                stream: one.stream,
                peer,
                key,
                streams,
                seat,
            };
            own::serve(serving, guest);
        });
        Ok(())
    }

    /// A further connection of ours.
    fn further(&mut self, one: Waiting, hello: &Hello, ready: &Ready) -> Result<(), Failed> {
        match self.desk.shown(hello) {
            Shown::Nobody => self.refuse(&one, "nobody waits for this connection"),
            Shown::Taken(streams) => {
                let removed = ready.remove(one.stream.as_fd());
                removed.map_err(|error| (one.peer, error))?;
                tell(&one.stream, &[TAKEN]);
                // A test that has ended meanwhile takes nobody.
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
        self.serving.journal.refusal(&text);
    }

    /// Somebody is served by a thread of its own.
    fn start<'scope>(
        &self,
        peer: SocketAddr,
        scope: &'scope Scope<'scope, 'a>,
        work: impl FnOnce() + Send + 'scope,
    ) {
        let builder = Builder::new().stack_size(STACK_BYTES);
        if let Err(error) = builder.spawn_scoped(scope, work) {
            let text = format!("{peer} failed: start a thread: {error}");
            self.serving.journal.refusal(&text);
        }
    }
}

/// Whose connection, and why it did not go on.
type Failed = (SocketAddr, io::Error);

/// Says a few bytes: a connection that is new takes them at once, or its other end has gone.
fn tell(mut stream: &TcpStream, word: &[u8]) {
    let _ = stream.write(word);
}

/// Says that somebody else is served. What the client has said beyond its cookie is thrown away first: a connection
/// that is closed over unread bytes takes the word along.
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
