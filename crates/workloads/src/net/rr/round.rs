//! A round of messages: the talk before, the load beside, and the count behind.

use super::delay;
use super::spec::{LOAD_DOWN, LOAD_UP};
use crate::arrivals::{Queue, Schedule};
use crate::net::deadline::Timed;
use crate::net::exchange::{Asker, Link, PATIENCE, UNANSWERED, datagrams_beside, is_time_out};
use crate::net::iperf3::control::Trouble;
use crate::net::iperf3::wire_error::{Part, WireError, fill};
use crate::net::iperf3::words;
use crate::net::own::client::Session;
use crate::net::own::clock::OfClock;
use crate::net::own::proof::TAKEN;
use crate::net::own::{Messages, Protocol, Request};
use crate::net::peer::{Other, Peer, SAYS_WITHIN, spent};
use crate::net::tcp::enough::Enough;
use crate::net::tcp::flows::Flows;
use crate::open_loop::{Open, locked};
use crate::sysbench::Events;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::digest::Digest;
use model::num::approx;
use model::units::{Bytes, Nanos};
use std::io::{self, ErrorKind, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::time::Duration;
use sys::clock::monotonic;
use sys::limits::with_hint;
use sys::loops::failure::Failure;
use sys::until::Until;

/// So often the first datagram is sent, and how long each is waited for.
const HELLOS: u32 = 25;
const HELLO_WITHIN: Duration = Duration::from_millis(200);

/// Messages with the peer's times behind the measured part.
const STAMPED_MAX: usize = 1000;
const STAMPED_WITHIN: Duration = Duration::from_secs(1);

/// Bytes of a write or read of a flow of load, as `net.tcp` has them.
const BLOCK_BYTES: usize = 128 << 10;

/// A round at work.
pub(super) struct Round {
    peer: Peer,
    /// Gone once the count is known.
    session: Option<Session>,
    trips: Trips,
    /// Where messages arrive by themselves.
    open: Option<Open>,
    size: u32,
    limit: Option<Limit>,
    /// To the peer, and from it.
    load: [Option<Flows>; 2],
    /// Exchanges, and lost messages, when the measured part began.
    began: (u64, u64),
    /// Bytes of load then, and when that was.
    loaded: ([u64; 2], u64),
}

impl Round {
    /// Agrees with the server, lets the load flow, and exchanges one message.
    pub(super) fn begin(
        other: Other,
        asked: Messages,
        place: &Place,
        schedule: Option<Schedule>,
    ) -> Result<Self, WorkError> {
        let told = |why: Trouble| why.told(&other.peer, "begin round trips with");
        let mut session = other.session().map_err(told)?;
        let Messages {
            protocol,
            size,
            up,
            down,
            ..
        } = asked;
        let until = Until::after(SAYS_WITHIN);
        let limit = place.bytes_left.map(|left| Limit::of(left, down > 0));
        let asked = Messages {
            down_bytes_max: limit.as_ref().map(|limit| limit.load_down.wanted()),
            ..asked
        };
        session.begin(Request::Rr(asked), until).map_err(told)?;
        // Those that we send are connected first: the server counts them so.
        let of = |enough: fn(&Limit) -> &Arc<Enough>| (place.seed, limit.as_ref().map(enough));
        let up = load(&mut session, up, true, of(|limit| &limit.sent), until).map_err(told)?;
        let of = of(|limit| &limit.load_down);
        let down = load(&mut session, down, false, of, until).map_err(told)?;
        let link = match protocol {
            Protocol::Tcp => session.stream().try_clone().map(Link::Tcp),
            Protocol::Udp => Ok(Link::Udp(meet(&mut session).map_err(told)?)),
        };
        let bytes = usize::try_from(size).unwrap_or(1);
        let asker = link.and_then(|link| Asker::new(link, bytes, PATIENCE));
        let peer = other.peer;
        let asker = asker.map_err(|error| failed(&peer, &error))?;
        let mut round = Self {
            peer,
            session: Some(session),
            trips: Trips(asker),
            open: schedule.map(|schedule| Open::new(Queue::new(Some(schedule)))),
            size,
            limit,
            load: [up, down],
            began: (0, 0),
            loaded: ([0; 2], 0),
        };
        round.may(1)?;
        // Not before it is sure that messages get there.
        for flows in round.load.iter().flatten() {
            flows.go();
        }
        let first = round.trips.0.exchange();
        first.map_err(|error| failed(&round.peer, &error))?;
        if round.open.is_some() {
            sys::clock::sleep_exactly();
        }
        Ok(round)
    }

    /// Bytes of load so far.
    fn load_bytes(&self) -> [u64; 2] {
        let [up, down] = &self.load;
        [up, down].map(|flows| flows.as_ref().map_or(0, Flows::bytes))
    }

    /// Bytes of load and of messages so far, both ways.
    fn moved_so_far(&self) -> u64 {
        let lost = self.trips.0.lost() * u64::from(self.size);
        lost + self.limit.as_ref().map_or_else(
            || self.load_bytes().iter().sum::<u64>() + self.bytes_of(self.trips.0.done()),
            |limit| limit.sent.taken() + limit.load_down.taken(),
        )
    }

    /// Bytes of so many round trips.
    fn bytes_of(&self, trips: u64) -> u64 {
        trips.saturating_mul(2 * u64::from(self.size))
    }

    /// Whether so many round trips may begin: all of them, or none.
    fn may(&self, trips: u64) -> Result<(), WorkError> {
        let Some(limit) = &self.limit else {
            return Ok(());
        };
        let lost = self.trips.0.lost() * u64::from(self.size);
        let is_left = limit.sent.takes(self.bytes_of(trips), lost);
        if is_left && !limit.is_reached() {
            return Ok(());
        }
        Err(limit.spent())
    }

    /// Why load does not flow any more.
    #[cold]
    fn load_ended(&mut self) -> WorkError {
        if let Some(limit) = self.limit.as_ref().filter(|limit| limit.is_reached()) {
            return limit.spent();
        }
        let mut ended = self.load.iter_mut().flatten();
        let why = ended.find_map(|flows| flows.end().err());
        let why = why.unwrap_or_else(|| ErrorKind::UnexpectedEof.into());
        WorkError::Failed(format!("load the way to `{}`: {why}", self.peer))
    }
}

/// What may be moved: by what the peer sends as load, which it must know before, and by all else.
struct Limit {
    left: u64,
    sent: Arc<Enough>,
    load_down: Arc<Enough>,
}

impl Limit {
    /// Where the peer sends load, a half is for that.
    fn of(left: Bytes, has_load_down: bool) -> Self {
        let down = if has_load_down { left.0 / 2 } else { 0 };
        Self {
            left: left.0,
            sent: Enough::of(Bytes(left.0 - down)),
            load_down: Enough::of(Bytes(down)),
        }
    }

    /// Whether load ends by it.
    fn is_reached(&self) -> bool {
        let both = [&self.sent, &self.load_down];
        both.into_iter().any(|enough| enough.reached().is_some())
    }

    /// Why a round ends that would move more.
    #[cold]
    fn spent(&self) -> WorkError {
        if self.load_down.wanted() == 0 {
            return spent(self.left);
        }
        let left = words::Bytes(self.left);
        WorkError::Failed(format!(
            "end the round: of the {left} that were left of `--max-bytes` one half is for load from the peer, and one \
             half has passed\nhint: a larger `--max-bytes`"
        ))
    }
}

/// Round trips, one after the other.
struct Trips(Asker);

impl Events for Trips {
    fn event(&mut self) -> Result<(), Failure> {
        let done = self.0.done();
        self.0.exchange().map_err(|error| Failure {
            operation: "exchange",
            done,
            error,
        })
    }
}

/// So many flows at work, which we send or receive.
fn load(
    session: &mut Session,
    count: u32,
    sends: bool,
    (seed, enough): (u64, Option<&Arc<Enough>>),
    until: Until,
) -> Result<Option<Flows>, Trouble> {
    if count == 0 {
        return Ok(None);
    }
    let streams = (0..count).map(|_| session.connect(until));
    let streams: Result<Vec<TcpStream>, _> = streams.collect();
    let streams = streams.map_err(|why| session.instead(why))?;
    let flows = Flows::start(streams, sends, BLOCK_BYTES, seed, enough.cloned());
    let flows = flows.map_err(|error| Trouble::Here(error.to_string()))?;
    Ok(Some(flows))
}

/// A socket that hears nobody but the server, which knows it too.
fn meet(session: &mut Session) -> Result<UdpSocket, Trouble> {
    let failed =
        |error: io::Error| Trouble::Here(format!("open a socket of UDP: {}", with_hint(&error)));
    let socket = datagrams_beside(session.stream(), session.at()).map_err(failed)?;
    socket
        .set_read_timeout(Some(HELLO_WITHIN))
        .map_err(failed)?;
    let hello = session.hello();
    let is_answered = (0..HELLOS).any(|_| {
        // A filter may refuse it, here or by a message of ICMP; the next one may get through.
        let sent = socket.send(&hello.0);
        let heard = sent.and_then(|_| socket.recv(&mut [0; 64]));
        if heard.as_ref().is_err_and(|error| !is_time_out(error)) {
            sys::clock::sleep(Nanos::from(HELLO_WITHIN).0);
        }
        heard.is_ok()
    });
    if !is_answered {
        return Err(Trouble::Blocked);
    }
    let until = Until::after(SAYS_WITHIN);
    let mut line = Timed::new(session.stream(), until);
    let said = line.write_all(&[TAKEN]);
    said.map_err(|error| WireError::Unsent(Part::Proof, error))?;
    let mut word = [0];
    fill(&mut line, &mut word, Part::Answer)?;
    // Answers to hellos that were sent twice; a network may double them.
    socket.set_nonblocking(true).map_err(failed)?;
    let _ = (0..2 * HELLOS).find(|_| socket.recv(&mut [0; 64]).is_err());
    socket.set_nonblocking(false).map_err(failed)?;
    Ok(socket)
}

/// Why messages do not come back.
#[cold]
pub(super) fn failed(peer: &Peer, error: &io::Error) -> WorkError {
    let said = format!("send to and receive from `{peer}`");
    let port = peer.port();
    match error.kind() {
        ErrorKind::InvalidData => {
            WorkError::Wrong(format!("{said}: another answer came than what was sent"))
        }
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            WorkError::Failed(format!(
                "{said}: the server closed the connection in the middle of the test\nhint: its own output says why"
            ))
        }
        _ if is_time_out(error) => WorkError::Failed(format!(
            "{said}: nothing came back for {} s\nhint: the peer stands still, a link is down, or a packet filter drops \
             what goes to port {port} there, or what comes back from it",
            PATIENCE.as_secs()
        )),
        _ => WorkError::Failed(format!("{said}: {error}")),
    }
}

impl Body for Round {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        self.may(ops)?;
        if self.load.iter().flatten().any(Flows::anybody_ended) {
            return Err(self.load_ended());
        }
        let Self {
            trips, open, peer, ..
        } = self;
        if let Some(open) = open {
            let mut done = 0;
            while done < ops {
                let is_done = open.one(trips);
                done += u64::from(is_done.map_err(|why| failed(peer, &why.error))?);
            }
            return Ok(ops);
        }
        let asker = &mut trips.0;
        let mut laps = recorder.laps();
        for _ in 0..ops {
            laps.lap(|| asker.exchange())
                .map_err(|error| failed(peer, &error))?;
        }
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        self.open.is_none()
    }

    fn moved(&self) -> Option<Bytes> {
        Some(Bytes(self.moved_so_far()))
    }

    fn measured_part_begins(&mut self) {
        let asker = &mut self.trips.0;
        self.began = (asker.done(), asker.lost());
        if let Some(open) = &self.open {
            locked(&open.tally()).clear();
        }
        self.loaded = (self.load_bytes(), monotonic());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let (bytes, now) = (self.load_bytes(), monotonic());
        let clock = OfClock::now();
        let mut notes = Vec::new();
        if let Some(open) = &mut self.open {
            notes.extend(open.queue.behind(now));
            open.give_up(now);
        }
        let peer = &self.peer;
        let told = |why: Trouble| why.told(peer, "end round trips with");
        let asker = &mut self.trips.0;
        let stamped = asker.stamped(STAMPED_MAX, STAMPED_WITHIN);
        asker.end().map_err(|error| failed(peer, &error))?;
        let over = || WorkError::Failed("end a test that is over".to_owned());
        let session = self.session.take().ok_or_else(over)?;
        let ended = session.ends(Until::after(SAYS_WITHIN));
        let (answered, theirs) = ended.map_err(told)?;
        if !asker.fits(answered) {
            return Err(WorkError::Wrong(format!(
                "`{peer}` answered {answered} messages, and {} answers came, with {} lost",
                asker.done(),
                asker.lost()
            )));
        }
        let mut finish = Finish {
            digest: Digest::EMPTY.word(u64::from(self.size)),
            notes,
            ..Finish::default()
        };
        let (done, lost) = self.began;
        let (done, lost) = (asker.done() - done, asker.lost() - lost);
        if let Some(open) = &self.open {
            finish.latencies = locked(&open.tally()).named();
        }
        if asker.loses() && done > 0 {
            let share = approx(lost) / approx(done + lost);
            finish
                .reported
                .insert(UNANSWERED.quantity.to_owned(), share);
        }
        if asker.loses() {
            let bound = delay::bound(&clock.until_now(), theirs.as_ref());
            delay::put(&mut finish, &stamped, bound);
        }
        let (before, then) = self.loaded;
        let span = Duration::from_nanos(now.saturating_sub(then)).as_secs_f64();
        for (place, quantity) in [LOAD_UP, LOAD_DOWN].into_iter().enumerate() {
            if let Some(flows) = &mut self.load[place] {
                // The server may have closed them first.
                let _ = flows.end();
                let passed = approx(bytes[place].saturating_sub(before[place]));
                if passed == 0.0 {
                    let what = "no byte of load passed in the measured part";
                    return Err(WorkError::Failed(format!(
                        "load the way to `{peer}`: {what}"
                    )));
                }
                finish.reported.insert(quantity.to_owned(), passed / span);
            }
        }
        Ok(finish)
    }
}
