//! A session of those who have the token: one request, carried out until the client ends it, its time is over or the
//! server ends.

use super::super::Cookie;
use super::super::cookie::COOKIE_BYTES;
use super::super::words::Span;
use super::Serving;
use super::active::{Arrival, Claim};
use super::ending::Ending;
use super::line::{LOOK, Line};
use super::streams::{ACCEPT, STRAY_MAX, listening, plain};
use super::test::{self, Control};
use crate::net::exchange::{Link, answer, is_nothing_yet};
use crate::net::own::clock::OfClock;
use crate::net::own::hello::Hello;
use crate::net::own::proof::TAKEN;
use crate::net::own::{Answer, Messages, Protocol, Request, SessionKey};
use crate::net::tcp::enough::Enough;
use crate::net::tcp::flows::Flows;
use model::units::{Bytes, Nanos};
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use sys::clock::monotonic;
use sys::until::Until;

/// How long a client may take for what it has ready.
const ANSWER: Duration = Duration::from_secs(10);

/// How much longer than it said a client is served: its clock begins later than the server's.
const GRACE: Duration = Duration::from_secs(10);

/// Bytes of a write or read of a flow of load, as `net.tcp` has them.
const BLOCK_BYTES: usize = 128 << 10;

/// A client that has the token, and what belongs to it.
pub(super) struct Client<'a> {
    pub(super) stream: TcpStream,
    pub(super) peer: SocketAddr,
    /// By which its first datagram is known.
    pub(super) key: SessionKey,
    /// Its further connections.
    pub(super) streams: Receiver<Arrival>,
    /// That it is the one who is served.
    pub(super) claim: Claim<'a>,
}

/// Serves a session, and logs what came of it.
pub(super) fn serve(serving: &Serving<'_>, client: Client<'_>) {
    let Client {
        stream,
        peer,
        key,
        streams,
        claim,
    } = client;
    let failed = |error: &dyn std::fmt::Display| {
        serving.log.refusal(&format!("{peer} failed: {error}"));
    };
    let mut line = match Line::new(stream, serving) {
        Ok(line) => line,
        Err(error) => return failed(&error),
    };
    let request = match Request::read(line.within(ANSWER)) {
        Ok(request) => request,
        Err(error) => return failed(&Ending::from(error)),
    };
    if matches!(request, Request::Iperf3 {}) {
        match Cookie::read(line.within(ANSWER)) {
            Ok(cookie) => claim.by_cookie(cookie),
            Err(error) => return failed(&Ending::from(error)),
        }
        let control = Control {
            stream: line.into_stream(),
            peer,
            streams,
            claim: &claim,
        };
        return test::serve(serving, control);
    }
    let mut session = Session {
        serving,
        line: &mut line,
        peer,
        key,
        streams: &streams,
        claim: &claim,
    };
    let ended = session.carry_out(request);
    match ended {
        Ok(report) => serving.log.line(&format!("{peer} done: {report}")),
        Err(ending) => {
            let ending = if serving.ends() {
                Ending::ServerEnds
            } else {
                ending
            };
            if let Ending::System { what, error } = &ending {
                let why = format!("{what}: {error}");
                let _ = Answer::Failed { why }.write(line.within(LOOK));
            }
            serving.log.line(&format!("{peer} ended early, {ending}"));
        }
    }
    line.leave();
}

/// One that is on.
struct Session<'a, 'b> {
    serving: &'a Serving<'a>,
    line: &'b mut Line<'a>,
    peer: SocketAddr,
    key: SessionKey,
    streams: &'b Receiver<Arrival>,
    claim: &'b Claim<'b>,
}

impl Session<'_, '_> {
    fn carry_out(&mut self, request: Request) -> Result<String, Ending> {
        match request {
            Request::Iperf3 {} => Ok("nothing more".to_owned()),
            Request::Facts { seconds } => self.facts(seconds),
            Request::Connect { seconds } => self.connections(seconds),
            Request::Rr(asked) => self.messages(asked),
        }
    }

    /// Refuses what would last longer than this server does; what was said, where it does.
    fn is_short(&mut self, seconds: u32) -> Result<Option<String>, Ending> {
        let (left, wanted) = (self.serving.left(), Duration::from_secs(seconds.into()));
        if wanted <= left {
            return Ok(None);
        }
        let gone = self.serving.span.saturating_sub(left);
        let whole = |seconds: u64| u32::try_from(seconds).unwrap_or(u32::MAX);
        let needs_s = whole((gone + wanted).as_secs() + 1);
        let left_s = whole(left.as_secs());
        Answer::Short { left_s, needs_s }.write(self.line.within(ANSWER))?;
        let (wanted, left) = (Span(wanted), Span(Duration::from_secs(left_s.into())));
        Ok(Some(format!(
            "refused: {wanted} are more than the {left} that are left of `--for`"
        )))
    }

    /// What this machine is.
    fn facts(&mut self, seconds: u32) -> Result<String, Ending> {
        if let Some(refused) = self.is_short(seconds)? {
            return Ok(refused);
        }
        let machine = self.serving.offer.machine.clone();
        Answer::Facts(machine).write(self.line.within(ANSWER))?;
        Ok(match seconds {
            0 => "it looked whether this server is there".to_owned(),
            _ => format!("it begins a run of {seconds} s"),
        })
    }

    /// Until when it is served, from now.
    fn lasts(&self, seconds: u32) -> u64 {
        let span = Duration::from_secs(seconds.into());
        self.claim.lasts(span);
        monotonic().saturating_add(Nanos::from(span + GRACE).0)
    }

    /// Connections, which the listener answers.
    fn connections(&mut self, seconds: u32) -> Result<String, Ending> {
        if let Some(refused) = self.is_short(seconds)? {
            return Ok(refused);
        }
        self.asks("connections, one after the other", seconds);
        let until = self.lasts(seconds);
        self.claim.answer_all();
        Answer::Ready {}.write(self.line.within(ANSWER))?;
        loop {
            if self.serving.ends() {
                return Err(Ending::ServerEnds);
            }
            if monotonic() >= until {
                return Err(Ending::Expired);
            }
            let readable = self.line.is_readable_within(LOOK);
            if readable.map_err(|error| Ending::system("wait for the client", error))? {
                break;
            }
        }
        self.is_end()?;
        let count = self.claim.answered();
        let clock = None;
        Answer::Done { count, clock }.write(self.line.within(ANSWER))?;
        Ok(format!("{count} connections"))
    }

    /// Messages, which come back.
    fn messages(&mut self, asked: Messages) -> Result<String, Ending> {
        let Messages {
            protocol,
            size,
            seconds,
            up,
            down,
            down_bytes_max,
        } = asked;
        let size = usize::try_from(size).unwrap_or(1);
        if let Some(refused) = self.is_short(seconds)? {
            return Ok(refused);
        }
        let by = match protocol {
            Protocol::Tcp => "TCP",
            Protocol::Udp => "UDP",
        };
        let load = match (up, down) {
            (0, 0) => String::new(),
            _ => format!(" beside {up} flows to here and {down} from here"),
        };
        self.asks(&format!("round trips of {size} B by {by}{load}"), seconds);
        let until = self.lasts(seconds);
        let socket = match protocol {
            Protocol::Tcp => None,
            Protocol::Udp => {
                let at = self.line.stream().local_addr();
                let socket = at.and_then(|at| listening(plain(at)));
                Some(socket.map_err(|error| Ending::system("open a socket of UDP", error))?)
            }
        };
        self.claim.expect(usize::try_from(up + down).unwrap_or(0));
        Answer::Ready {}.write(self.line.within(ANSWER))?;
        // Held until the end, by which they end.
        let most = down_bytes_max.map(|most| Enough::of(Bytes(most)));
        let _load = [self.load(up, false, None)?, self.load(down, true, most)?];
        let watch = Watch::new(self.serving, until);
        let (count, clock) = if let Some(socket) = socket {
            self.meet(&socket)?;
            let link = Link::Udp(socket);
            let line = &*self.line;
            let (before, stamps) = (OfClock::now(), Cell::new(0));
            let is_over = || watch.is_over() || watch.is_gone(line);
            let count = answer(&link, size, Some(&stamps), is_over);
            let count = count.map_err(|error| Ending::system("answer datagrams", error))?;
            watch.why()?;
            self.line.within(ANSWER);
            self.is_end()?;
            (count, (stamps.get() > 0).then(|| before.until_now()))
        } else {
            let stream = self.line.stream().try_clone();
            let stream = stream.map_err(|error| Ending::system("make a socket", error))?;
            let count = answer(&Link::Tcp(stream), size, None, || watch.is_over());
            let count = count.map_err(said)?;
            watch.why()?;
            (count, None)
        };
        Answer::Done { count, clock }.write(self.line.within(ANSWER))?;
        Ok(format!("{count} messages answered"))
    }

    fn asks(&self, what: &str, seconds: u32) {
        let peer = self.peer;
        let journal = &self.serving.log;
        journal.line(&format!("{peer} asks: {what}, for {seconds} s at most"));
    }

    /// Whether the client's connection has ended. What it says next is not taken.
    fn has_gone(&self) -> bool {
        let ended = || matches!(self.line.stream().peek(&mut [0]), Ok(0) | Err(_));
        self.line.is_readable_within(Duration::ZERO).unwrap_or(true) && ended()
    }

    /// So many flows of load at work, which are sent from here, or come here; of all of them so many bytes at most.
    fn load(
        &mut self,
        count: u32,
        sends: bool,
        most: Option<Arc<Enough>>,
    ) -> Result<Option<Load>, Ending> {
        if count == 0 {
            return Ok(None);
        }
        let until = Until::after(ANSWER);
        let mut found = Vec::new();
        while found.len() < usize::try_from(count).unwrap_or(0) {
            match self.streams.recv_timeout(LOOK) {
                Ok(stream) => {
                    let stream = stream.map_err(|error| Ending::system(ACCEPT, error))?;
                    let blocks = stream.set_nonblocking(false);
                    blocks.map_err(|error| Ending::system("set a socket", error))?;
                    found.push(stream);
                }
                Err(RecvTimeoutError::Disconnected) => return Err(Ending::ServerEnds),
                Err(RecvTimeoutError::Timeout) if self.serving.ends() => {
                    return Err(Ending::ServerEnds);
                }
                Err(RecvTimeoutError::Timeout) if until.left().is_none() => {
                    return Err(Ending::NoStreams);
                }
                Err(RecvTimeoutError::Timeout) if self.has_gone() => return Err(Ending::Gone),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let flows = Flows::start(found, sends, BLOCK_BYTES, monotonic(), most);
        let flows = flows.map_err(|error| {
            Ending::system("start threads", io::Error::other(error.to_string()))
        })?;
        flows.go();
        Ok(Some(Load(flows)))
    }

    /// The address from which the client's hello comes: nobody else is sent anything, or heard, from then on.
    fn meet(&mut self, socket: &UdpSocket) -> Result<(), Ending> {
        let failed = |error| Ending::system("wait for a datagram", error);
        let here: IpAddr = plain(self.peer).ip();
        let until = Until::after(ANSWER);
        let mut word = [0; COOKIE_BYTES + 1];
        let mut known = None;
        loop {
            if self.serving.ends() {
                return Err(Ending::ServerEnds);
            }
            if until.left().is_none() {
                return Err(Ending::NoStreams);
            }
            match socket.recv_from(&mut word) {
                Ok((COOKIE_BYTES, from)) if plain(from).ip() == here => {
                    let mut bytes = [0; COOKIE_BYTES];
                    bytes.copy_from_slice(&word[..COOKIE_BYTES]);
                    let hello = Hello::of(bytes).filter(|hello| hello.is_of(&self.key));
                    if hello.is_some() && *known.get_or_insert(from) == from {
                        // Where this is lost, the hello comes again.
                        let _ = socket.send_to(&[TAKEN], from);
                    }
                }
                // Of another sender, or of a client that has closed its socket.
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) if is_nothing_yet(&error) => {}
                Err(error) => return Err(failed(error)),
            }
            if !self
                .line
                .is_readable_within(Duration::ZERO)
                .map_err(failed)?
            {
                continue;
            }
            // It has got an answer, or goes.
            let mut byte = [0];
            if self.line.within(LOOK).read(&mut byte).map_err(said)? == 0 {
                return Err(Ending::Gone);
            }
            let Some(from) = known else {
                return Err(Ending::NoStreams);
            };
            socket.connect(from).map_err(failed)?;
            drain(socket).map_err(failed)?;
            let answered = self.line.within(LOOK).write_all(&[TAKEN]);
            return answered.map_err(said);
        }
    }

    /// The client has ended its half of the connection, as it should.
    fn is_end(&mut self) -> Result<(), Ending> {
        let mut byte = [0];
        match self.line.within(ANSWER).read(&mut byte) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Ending::Talks),
            Err(error) => Err(said(error)),
        }
    }
}

/// By what a read or write of the control connection said.
fn said(error: io::Error) -> Ending {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof => {
            Ending::Gone
        }
        _ => Ending::system("talk to the client", error),
    }
}

/// Hellos that were on their way: the client waits meanwhile.
fn drain(socket: &UdpSocket) -> io::Result<()> {
    socket.set_nonblocking(true)?;
    let mut rest = (0..STRAY_MAX).take_while(|_| socket.recv(&mut [0; 64]).is_ok());
    while rest.next().is_some() {}
    socket.set_nonblocking(false)
}

/// Flows, which end with it.
struct Load(Flows);

impl Drop for Load {
    fn drop(&mut self) {
        // That the client closed them first is how they end.
        let _ = self.0.end();
    }
}

/// Whether a session is to end that does not end by itself.
struct Watch<'a> {
    serving: &'a Serving<'a>,
    until: u64,
    next_look: Cell<u64>,
    why: Cell<Option<Why>>,
}

#[derive(Clone, Copy)]
enum Why {
    ServerEnds,
    Expired,
}

impl<'a> Watch<'a> {
    const fn new(serving: &'a Serving<'a>, until: u64) -> Self {
        Self {
            serving,
            until,
            next_look: Cell::new(0),
            why: Cell::new(None),
        }
    }

    /// Whether its time is over, or the server's.
    #[inline]
    fn is_over(&self) -> bool {
        if monotonic() >= self.until {
            self.why.set(Some(Why::Expired));
        } else if self.serving.ends() {
            self.why.set(Some(Why::ServerEnds));
        }
        self.why.get().is_some()
    }

    /// Whether the client has something to say, its end too: looked at now and then.
    #[inline]
    fn is_gone(&self, line: &Line<'_>) -> bool {
        let now = monotonic();
        if now < self.next_look.get() {
            return false;
        }
        self.next_look.set(now.saturating_add(Nanos::from(LOOK).0));
        line.is_readable_within(Duration::ZERO).unwrap_or(true)
    }

    fn why(&self) -> Result<(), Ending> {
        match self.why.get() {
            None => Ok(()),
            Some(Why::ServerEnds) => Err(Ending::ServerEnds),
            Some(Why::Expired) => Err(Ending::Expired),
        }
    }
}
