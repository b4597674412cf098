//! The client's end of a session: from the hello to the answer.

use super::clock::OfClock;
use super::proof::{
    BUSY, CHALLENGE_BYTES, CHALLENGES, NOT_KNOWN_MS, PROOF_BYTES, TAKEN, UNKNOWN, WELCOME, WRONG,
};
use super::{Answer, Challenge, Hello, Machine, Request, SessionKey, Token};
use crate::connect::{NotConnected, connect};
use crate::net::deadline::{Timed, is_readable_within, leave};
use crate::net::iperf3::State;
use crate::net::iperf3::control::{LEAVES_WITHIN, Trouble};
use crate::net::iperf3::wire_error::{Part, WireError, fill};
use crate::net::peer::Peer;
use crate::net::talk::WHY_WITHIN;
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;
use sys::until::Until;

/// A connection whose two ends know each other.
#[derive(Debug)]
pub(crate) struct Session {
    stream: TcpStream,
    at: SocketAddr,
    key: SessionKey,
    /// Of the next connection.
    next: u64,
}

fn refused(error: io::Error) -> Trouble {
    Trouble::Connect(NotConnected::Refused(error))
}

impl Session {
    /// Connects, and proves who we are to whoever proves the same.
    pub(crate) fn open(peer: &Peer, token: &Token, until: Until) -> Result<Self, Trouble> {
        let stream = connect(peer.host(), peer.port(), until).map_err(Trouble::Connect)?;
        stream.set_nodelay(true).map_err(refused)?;
        let at = stream.peer_addr().map_err(refused)?;
        let key = known(&mut Timed::new(&stream, until), token)?;
        Ok(Self {
            stream,
            at,
            key,
            next: 0,
        })
    }

    /// The connection, which goes on by another protocol, and where it leads.
    pub(crate) fn into_parts(self) -> (TcpStream, SocketAddr) {
        (self.stream, self.at)
    }

    /// The connection.
    pub(crate) const fn stream(&self) -> &TcpStream {
        &self.stream
    }

    /// Where it leads.
    pub(crate) const fn at(&self) -> SocketAddr {
        self.at
    }

    /// Asks for something, which needs no answer.
    pub(crate) fn say(&self, request: Request, until: Until) -> Result<(), Trouble> {
        Ok(request.write(&mut self.timed(until))?)
    }

    /// What the server says.
    pub(crate) fn answer(&self, until: Until) -> Result<Answer, Trouble> {
        match Answer::read(&mut self.timed(until))? {
            Answer::Short { left_s, needs_s } => Err(Trouble::Short { left_s, needs_s }),
            Answer::Failed { why } => Err(Trouble::Failed(super::words::line(&why))),
            other => Ok(other),
        }
    }

    /// Asks for something that begins now.
    pub(crate) fn begin(&self, request: Request, until: Until) -> Result<(), Trouble> {
        self.say(request, until)?;
        match self.answer(until)? {
            Answer::Ready {} => Ok(()),
            other => Err(Trouble::Odd(other)),
        }
    }

    /// Asks what the machine is, and whether it is there for so long.
    pub(crate) fn facts(self, seconds: u32, until: Until) -> Result<Machine, Trouble> {
        self.say(Request::Facts { seconds }, until)?;
        match self.answer(until)? {
            Answer::Facts(machine) => {
                self.leave();
                Ok(machine)
            }
            other => Err(Trouble::Odd(other)),
        }
    }

    /// Says that nothing more comes: how many messages or connections the server has answered, and what it says of its
    /// clock.
    pub(crate) fn ends(self, until: Until) -> Result<(u64, Option<OfClock>), Trouble> {
        // Who asks for messages may have said so already.
        let _ = self.stream.shutdown(Shutdown::Write);
        match self.answer(until)? {
            Answer::Done { count, clock } => {
                self.leave();
                Ok((count, clock))
            }
            other => Err(Trouble::Odd(other)),
        }
    }

    /// A number that was not used yet, as the first bytes of a connection or datagram.
    #[inline]
    pub(crate) fn hello(&mut self) -> Hello {
        let hello = Hello::data(self.next, &self.key);
        self.next += 1;
        hello
    }

    /// A further connection of this session, which the server has taken.
    pub(crate) fn connect(&mut self, until: Until) -> Result<TcpStream, Trouble> {
        let left = until.left().ok_or(NotConnected::Late);
        let left = left.map_err(Trouble::Connect)?;
        let stream = TcpStream::connect_timeout(&self.at, left).map_err(refused)?;
        let mut timed = Timed::new(&stream, until);
        let sent = timed.write_all(&self.hello().0);
        sent.map_err(|error| WireError::Unsent(Part::Proof, error))?;
        let mut word = [0];
        fill(&mut timed, &mut word, Part::Answer)?;
        if word == [TAKEN] {
            Ok(stream)
        } else {
            Err(Trouble::Stranger)
        }
    }

    /// Why a further connection was not taken: in the server's words, where it has some.
    pub(crate) fn instead(&self, why: Trouble) -> Trouble {
        let says = is_readable_within(&self.stream, WHY_WITHIN).unwrap_or(false);
        let said = says.then(|| self.answer(Until::after(WHY_WITHIN)));
        said.and_then(Result::err).unwrap_or(why)
    }

    /// Goes, and waits until the server has seen that.
    pub(crate) fn leave(self) {
        leave(&self.stream, LEAVES_WITHIN);
    }

    const fn timed(&self, until: Until) -> Timed<'_> {
        Timed::new(&self.stream, until)
    }
}

/// The talk by which both ends know each other.
fn known(line: &mut Timed<'_>, token: &Token) -> Result<SessionKey, Trouble> {
    let unsent = |error| Trouble::from(WireError::Unsent(Part::Proof, error));
    let hello = Hello::control().map_err(refused)?;
    line.write_all(&hello.0).map_err(unsent)?;
    match word(line)? {
        CHALLENGES => {}
        UNKNOWN => return Err(Trouble::Version),
        // A server of iperf3, which took it for a cookie.
        byte if State::of(byte).is_ok() => return Err(Trouble::OfIperf3),
        _ => return Err(Trouble::Stranger),
    }
    let mut number = [0; CHALLENGE_BYTES];
    fill(line, &mut number, Part::Proof)?;
    let challenge = Challenge::heard(hello, number);
    line.write_all(&challenge.of_client(token))
        .map_err(unsent)?;
    match word(line)? {
        WELCOME => {}
        WRONG => return Err(Trouble::WrongToken),
        BUSY => {
            let mut left = [0; 4];
            fill(line, &mut left, Part::Answer)?;
            let left = u32::from_be_bytes(left);
            let left = (left != NOT_KNOWN_MS).then(|| Duration::from_millis(left.into()));
            return Err(Trouble::Busy(left));
        }
        _ => return Err(Trouble::Stranger),
    }
    let mut proof = [0; PROOF_BYTES];
    fill(line, &mut proof, Part::Proof)?;
    if challenge.is_server(token, &proof) {
        Ok(challenge.session(token))
    } else {
        Err(Trouble::Impostor)
    }
}

fn word(line: &mut Timed<'_>) -> Result<u8, Trouble> {
    let mut byte = [0];
    fill(line, &mut byte, Part::State)?;
    Ok(byte[0])
}
