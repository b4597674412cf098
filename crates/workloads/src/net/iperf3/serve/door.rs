//! Who comes in: connections that have not said yet whose they are, and what becomes of them.
//!
//! A connection shows 37 bytes first, by which it is a new client, a stream of the test that is on, or somebody who is
//! told that this server is busy. Until it has, it costs a place, of which there are few: the oldest goes where one
//! more comes, so that connections that say nothing keep out nobody who speaks at once, as iperf3 does.

use super::super::cookie::COOKIE_BYTES;
use super::super::{Cookie, State};
use super::Serving;
use super::journal::{Journal, Write as JournalWrite};
use super::line::LOOK;
use super::order::Limits;
use super::streams::plain;
use super::test::{self, Client};
use model::units::Nanos;
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;
use sys::clock::monotonic;
use sys::ready::Ready;

/// Connections without a cookie at a time.
const PLACES: usize = 64;

/// How long a connection has for its cookie.
const COOKIE: Duration = Duration::from_secs(10);

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

    /// Serves whoever comes, one at a time, for so long, or until `stop` says so, which is asked every tenth of a
    /// second; a test that is on then is ended with a word to its client. `write` takes a line for everybody who came:
    /// where it fails, the server ends with that error.
    pub fn serve(
        mut self,
        limits: Limits,
        span: Duration,
        stop: &(dyn Fn() -> bool + Sync),
        write: &JournalWrite<'_>,
    ) -> io::Result<()> {
        let serving = Serving {
            limits,
            until: monotonic().saturating_add(Nanos::from(span).0),
            stop,
            journal: Journal::new(write),
        };
        let desk = Desk::default();
        std::thread::scope(|scope| {
            let mut hall = Hall {
                serving: &serving,
                desk: &desk,
                waiting: VecDeque::new(),
                next: LISTENER + 1,
            };
            while !serving.closes() {
                if let Some(place) = self.ready.next(LOOK)? {
                    if place == LISTENER {
                        hall.accept(&self)?;
                    } else {
                        hall.hear(place, &self.ready, scope);
                    }
                }
                let now = monotonic();
                hall.expire(now);
                serving.journal.turn(now);
                if let Some(error) = serving.journal.failed() {
                    return Err(error);
                }
            }
            Ok(())
        })?;
        serving.journal.turn(u64::MAX);
        serving.journal.failed().map_or(Ok(()), Err)
    }
}

/// The test that is on.
#[derive(Default)]
struct Desk(Mutex<Option<Busy>>);

struct Busy {
    cookie: Cookie,
    /// Connections that are expected yet.
    expected: usize,
    streams: Sender<TcpStream>,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Option<Busy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, count: usize) {
        if let Some(busy) = self.lock().as_mut() {
            busy.expected = count;
        }
    }
}

/// Makes the desk free, however a test ends.
struct Leaves<'a>(&'a Desk);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

/// A connection that has not shown its cookie.
struct Waiting {
    place: usize,
    stream: TcpStream,
    peer: SocketAddr,
    since: u64,
    cookie: [u8; COOKIE_BYTES],
    got: usize,
}

/// Where they wait.
struct Hall<'a> {
    serving: &'a Serving<'a>,
    desk: &'a Desk,
    /// The oldest first.
    waiting: VecDeque<Waiting>,
    next: usize,
}

impl<'a> Hall<'a> {
    /// Takes in those who are at the door.
    fn accept(&mut self, door: &Door) -> io::Result<()> {
        for _ in 0..ACCEPTED_AT_ONCE {
            match door.listener.accept() {
                Ok((stream, peer)) => self.seat(stream, plain(peer), &door.ready)?,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(error) if is_their_own(&error) => {}
                // No descriptor, or no memory, is left: one that waits gives its own.
                Err(error) => {
                    self.serving.journal.refusal(&format!("accept: {error}"));
                    self.waiting.pop_front();
                    sys::clock::sleep(1_000_000);
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn seat(&mut self, stream: TcpStream, peer: SocketAddr, ready: &Ready) -> io::Result<()> {
        if self.waiting.len() == PLACES
            && let Some(oldest) = self.waiting.pop_front()
        {
            let peer = oldest.peer;
            let text = format!("{peer} refused: it said nothing, and others came");
            self.serving.journal.refusal(&text);
        }
        stream.set_nonblocking(true)?;
        let place = self.next;
        self.next += 1;
        ready.add(stream.as_fd(), place)?;
        self.waiting.push_back(Waiting {
            place,
            stream,
            peer,
            since: monotonic(),
            cookie: [0; COOKIE_BYTES],
            got: 0,
        });
        Ok(())
    }

    /// Throws out those whose time is over.
    fn expire(&mut self, now: u64) {
        let limit = Nanos::from(COOKIE).0;
        while let Some(oldest) = self.waiting.front()
            && now.saturating_sub(oldest.since) >= limit
        {
            let peer = oldest.peer;
            let text = format!("{peer} refused: no cookie within {} s", COOKIE.as_secs());
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
        match one.stream.read(&mut one.cookie[one.got..]) {
            Ok(got @ 1..) => one.got += got,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return;
            }
            Ok(0) | Err(_) => {
                let text = format!("{} left without a word", one.peer);
                self.serving.journal.refusal(&text);
                self.waiting.remove(index);
                return;
            }
        }
        if one.got < COOKIE_BYTES {
            return;
        }
        let Some(one) = self.waiting.remove(index) else {
            return;
        };
        // What it says next is for others to hear.
        if let Err(error) = ready.remove(one.stream.as_fd()) {
            let text = format!("{} failed: {error}", one.peer);
            return self.serving.journal.refusal(&text);
        }
        self.seen(one, scope);
    }

    /// Its cookie is complete.
    fn seen<'scope>(&mut self, one: Waiting, scope: &'scope Scope<'scope, 'a>) {
        let Ok(cookie) = Cookie::read(&mut one.cookie.as_slice()) else {
            return;
        };
        let mut desk = self.desk.lock();
        match desk.as_mut() {
            None => {
                let (sender, streams) = channel();
                *desk = Some(Busy {
                    cookie,
                    expected: 0,
                    streams: sender,
                });
                drop(desk);
                self.test(one, streams, scope);
            }
            Some(busy) if busy.cookie == cookie && busy.expected > 0 => {
                busy.expected -= 1;
                // A test that has ended meanwhile takes nobody.
                let _ = busy.streams.send(one.stream);
            }
            Some(_) => {
                drop(desk);
                let text = format!("{} refused: another client is served", one.peer);
                self.serving.journal.refusal(&text);
                deny(&one.stream);
            }
        }
    }

    fn test<'scope>(
        &self,
        one: Waiting,
        streams: std::sync::mpsc::Receiver<TcpStream>,
        scope: &'scope Scope<'scope, 'a>,
    ) {
        let (serving, desk, peer) = (self.serving, self.desk, one.peer);
        let leaves = Leaves(desk);
        let work = move || {
            let _leaves = leaves;
            let client = Client {
                stream: one.stream,
                peer,
                streams,
                expect: &|count| desk.expect(count),
            };
            test::serve(serving, client);
        };
        let builder = Builder::new().stack_size(STACK_BYTES);
        if let Err(error) = builder.spawn_scoped(scope, work) {
            let text = format!("{peer} failed: start a thread: {error}");
            serving.journal.refusal(&text);
        }
    }
}

/// Says that somebody else is served. What the client has said beyond its cookie is thrown away first: a connection
/// that is closed over unread bytes takes the word along.
fn deny(mut stream: &TcpStream) {
    let _ = stream.read(&mut [0; 4096]);
    let _ = stream.write(&[State::AccessDenied.byte()]);
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
