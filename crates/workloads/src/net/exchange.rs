//! Round trips over an open connection: a message goes there, the same one comes back, and then the next one goes, as
//! netperf's `TCP_RR` and `UDP_RR` define them.
//!
//! An answer is what was asked, so that a wrong one is found by whoever asked, and the other side needs to know
//! nothing. A stream loses nothing: no answer in time is an error. A datagram without an answer is sent again and
//! counted: it may be lost by nature. Nothing is allocated for an exchange, and no time is taken, which is the
//! caller's.

use model::spec::{
    Amount, Better, Fold, How, MetricClass, MetricDef, ParamDef, ParamKind, Role, Time,
};
use model::units::Unit;
use std::cell::Cell;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::clock::wall;
use sys::socket::give_up_after;
use sys::until::Until;

/// Bytes of a message, as tests of round trips have it.
pub(super) const MESSAGE_SIZE: ParamDef = ParamDef {
    name: "size",
    kind: ParamKind::Size,
    default: "1",
    doc: "Bytes of a message, the same each way (netperf's `-r SIZE,SIZE`); from 1 to 32k.",
};

/// Messages that were lost, which UDP alone has.
pub(super) const UNANSWERED: MetricDef = MetricDef {
    quantity: "lost_share",
    unit: Unit::Share,
    better: Better::Lower,
    class: MetricClass::System,
    how: How::Reported(Fold::Mean),
    role: Role::Plain,
    doc: "Over UDP: messages without an answer within 0.2 s, which were sent again, over all that were sent.",
};

/// How many operations a second.
pub(super) const fn ops_per_s(doc: &'static str) -> MetricDef {
    let how = How::Per(Amount::Work, Time::Wall);
    MetricDef::rate(
        "ops_per_s",
        Unit::OpsPerSecond,
        MetricClass::Throughput,
        how,
        doc,
    )
}

/// A socket of UDP between the addresses that this connection has, which hears nobody else: from a port of its own.
pub(super) fn datagrams_beside(stream: &TcpStream, to: SocketAddr) -> io::Result<UdpSocket> {
    let mut here = stream.local_addr()?;
    here.set_port(0);
    let socket = UdpSocket::bind(here)?;
    socket.connect(to)?;
    Ok(socket)
}

/// How long a message may stay without an answer until the other side is given up.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// So often a datagram is sent in that time: one counts as lost after 0.2 s, the least after which TCP of Linux sends
/// again (`TCP_RTO_MIN`).
const TRIES: u32 = 25;

/// One end of a connection. A datagram socket is connected too: it hears its peer alone.
#[derive(Debug)]
pub(crate) enum Link {
    Tcp(TcpStream),
    Udp(UdpSocket),
}

/// Whether a call that may only take so long has taken that.
pub(crate) fn is_time_out(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Nothing came, or nothing was taken, in the time that a call may take: it may be made again.
pub(super) fn is_nothing_yet(error: &io::Error) -> bool {
    is_time_out(error) || error.kind() == ErrorKind::Interrupted
}

/// Calls again where a signal came between.
pub(crate) fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The side that asks.
#[derive(Debug)]
pub(crate) struct Asker {
    link: Link,
    message: Vec<u8>,
    answer: Vec<u8>,
    done: u64,
    /// Datagrams whose answers did not come in time.
    lost: u64,
    /// Messages that asked for times and got none.
    stamps: u64,
}

/// When a message was where, in nanoseconds of the clocks of the day of either side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamped {
    /// Here.
    pub(crate) sent: u64,
    /// There.
    pub(crate) received: u64,
    /// There.
    pub(crate) answered: u64,
    /// Here.
    pub(crate) came: u64,
}

/// How long a message is that asks for times, where messages have so many bytes: small, and none of them.
const fn asks(bytes: usize) -> usize {
    if bytes == 16 { 17 } else { 16 }
}

/// Its answer is longer by two instants.
const STAMP_BYTES: usize = 16;

/// So many without times, and the other side gives none.
const UNANSWERED_MAX: u64 = 3;

impl Asker {
    /// Asks over this link by messages of so many bytes, one at least, and waits for each answer no longer than this.
    pub(crate) fn new(link: Link, bytes: usize, patience: Duration) -> io::Result<Self> {
        match &link {
            Link::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(patience))?;
                stream.set_write_timeout(Some(patience))?;
            }
            Link::Udp(socket) => socket.set_read_timeout(Some(patience / TRIES))?,
        }
        let bytes = bytes.max(1);
        let message: Vec<u8> = (0..=u8::MAX).cycle().take(bytes).collect();
        Ok(Self {
            link,
            answer: vec![0; bytes],
            message,
            done: 0,
            lost: 0,
            stamps: 0,
        })
    }

    /// From now on nobody waits with a time-out, and the kernel ends a stream on which what is sent is not acknowledged
    /// for so long: for another side that is known to answer what it gets. A time-out on each wait takes 1 % of a round
    /// trip over loopback.
    pub(crate) fn trust(&self, patience: Duration) -> io::Result<()> {
        let Link::Tcp(stream) = &self.link else {
            return Ok(());
        };
        stream.set_read_timeout(None)?;
        stream.set_write_timeout(None)?;
        give_up_after(stream.as_fd(), patience)
    }

    /// One exchange.
    #[inline]
    pub(crate) fn exchange(&mut self) -> io::Result<()> {
        // By its number an answer is told from the one before it; of one byte, by the end of the number.
        let number = self.done.to_le_bytes();
        let stamped = number.len().min(self.message.len());
        self.message[..stamped].copy_from_slice(&number[..stamped]);
        let (message, answer) = (&self.message, &mut self.answer);
        match &self.link {
            Link::Tcp(stream) => over_tcp(stream, message, answer)?,
            Link::Udp(socket) => over_udp(socket, (message, self.done), answer, &mut self.lost)?,
        }
        self.done += 1;
        Ok(())
    }

    /// Exchanges so far.
    pub(crate) const fn done(&self) -> u64 {
        self.done
    }

    /// Whether the other side may have answered so many: each message once, or twice where it was lost or a network
    /// doubled it.
    pub(crate) fn fits(&self, answered: u64) -> bool {
        let sent = self.done + self.lost + self.stamps;
        let most = if self.loses() { 2 * sent } else { sent };
        (self.done..=most).contains(&answered)
    }

    /// Whether messages can be lost.
    pub(crate) const fn loses(&self) -> bool {
        matches!(self.link, Link::Udp(_))
    }

    /// Datagrams so far that were not answered in time.
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Messages that come back with the other side's times: so many at most, for so long at most. Nothing where it
    /// gives none, and none behind an error: they are no exchanges, and what was measured stands all the same.
    pub(crate) fn stamped(&mut self, count: usize, within: Duration) -> Vec<Stamped> {
        let Link::Udp(socket) = &self.link else {
            return Vec::new();
        };
        let asked = asks(self.message.len());
        let (mut message, mut answer) = (vec![0; asked], vec![0; asked + STAMP_BYTES]);
        let (mut all, mut unanswered) = (Vec::new(), 0);
        let until = Until::after(within);
        'all: for number in 0..count as u64 {
            if until.left().is_none() || (all.is_empty() && unanswered >= UNANSWERED_MAX) {
                break;
            }
            message[..8].copy_from_slice(&number.to_le_bytes());
            let sent = wall();
            if again(|| socket.send(&message)).is_err() {
                break;
            }
            // Others are late, or of a side that knows of no times.
            let came = loop {
                match again(|| socket.recv(&mut answer)) {
                    Ok(got) if got == answer.len() && answer.starts_with(&message) => {
                        break Some(wall());
                    }
                    Ok(_) if until.left().is_some() => {}
                    Ok(_) => break None,
                    Err(error) if is_time_out(&error) => break None,
                    Err(_) => {
                        unanswered += 1;
                        break 'all;
                    }
                }
            };
            let Some(came) = came else {
                unanswered += 1;
                continue;
            };
            let instant = |at: usize| {
                let bytes = answer[asked + at..].first_chunk();
                u64::from_le_bytes(bytes.copied().unwrap_or_default())
            };
            all.push(Stamped {
                sent,
                received: instant(0),
                answered: instant(8),
                came,
            });
        }
        // One that knows of no times took them for messages.
        self.stamps += unanswered;
        all
    }

    /// Tells the other side that nothing more comes. A datagram that says so may be lost.
    pub(crate) fn end(&self) -> io::Result<()> {
        match &self.link {
            Link::Tcp(stream) => stream.shutdown(std::net::Shutdown::Write),
            Link::Udp(socket) => again(|| socket.send(&[])).map(drop),
        }
    }
}

#[inline]
fn over_tcp(mut stream: &TcpStream, message: &[u8], answer: &mut [u8]) -> io::Result<()> {
    stream.write_all(message)?;
    stream.read_exact(answer)?;
    if answer == message {
        Ok(())
    } else {
        Err(ErrorKind::InvalidData.into())
    }
}

#[inline]
fn over_udp(
    socket: &UdpSocket,
    (message, number): (&[u8], u64),
    answer: &mut [u8],
    lost: &mut u64,
) -> io::Result<()> {
    for _ in 0..TRIES {
        again(|| socket.send(message))?;
        match answered(socket, (message, number), answer) {
            Err(error) if is_time_out(&error) => *lost += 1,
            other => return other,
        }
    }
    Err(ErrorKind::TimedOut.into())
}

/// Waits for the answer to the message of this number; answers to earlier ones come late, or twice.
#[inline]
fn answered(
    socket: &UdpSocket,
    (message, number): (&[u8], u64),
    answer: &mut [u8],
) -> io::Result<()> {
    let mut until = None;
    loop {
        let got = again(|| socket.recv(answer))?;
        let came = answer.get(..got).unwrap_or_default();
        if came == message {
            return Ok(());
        }
        if !is_earlier(came, (message, number)) {
            return Err(ErrorKind::InvalidData.into());
        }
        // They hold up nobody for longer than silence does.
        let until = until.get_or_insert_with(|| Until::after(PATIENCE / TRIES));
        if until.left().is_none() {
            return Err(ErrorKind::TimedOut.into());
        }
    }
}

/// Whether this is the answer to a message before that of this number, of which short messages have the last bytes.
#[cold]
fn is_earlier(came: &[u8], (message, number): (&[u8], u64)) -> bool {
    let mut bytes = [0; 8];
    let stamped = bytes.len().min(message.len());
    let Some((told, rest)) = came.split_at_checked(stamped) else {
        return false;
    };
    bytes[..stamped].copy_from_slice(told);
    let known = u64::MAX >> (64 - 8 * stamped);
    let before = number.wrapping_sub(u64::from_le_bytes(bytes)) & known;
    *rest == message[stamped..] && (1..=number).contains(&before)
}

/// The side that answers: each message of so many bytes, until the other side ends or it is `stopped`, at which it
/// looks behind each answer, and where nothing came for a while: datagrams may be lost at the end too. A stream has the
/// time-out that its owner gave it. Returns how many it has answered.
///
/// Datagrams that ask for times get them where their count is wanted in `stamps`; they are no messages.
pub(crate) fn answer(
    link: &Link,
    bytes: usize,
    stamps: Option<&Cell<u64>>,
    stopped: impl Fn() -> bool,
) -> io::Result<u64> {
    let bytes = bytes.max(1);
    let mut message = vec![0; bytes];
    let mut answered = 0;
    match link {
        Link::Tcp(stream) => {
            stream.set_nodelay(true)?;
            let mut writer = stream;
            while take(stream, &mut message, &stopped)? {
                writer.write_all(&message)?;
                answered += 1;
                if stopped() {
                    break;
                }
            }
        }
        Link::Udp(socket) => {
            socket.set_read_timeout(Some(PATIENCE / TRIES))?;
            // What is longer than either is none of them.
            message.resize(bytes.max(asks(bytes)) + STAMP_BYTES, 0);
            loop {
                match again(|| socket.recv(&mut message)) {
                    Ok(0) => break,
                    Ok(got) => {
                        if let Some(stamps) = stamps.filter(|_| got == asks(bytes)) {
                            stamp(socket, &mut message[..got + STAMP_BYTES])?;
                            stamps.set(stamps.get() + 1);
                        } else {
                            again(|| socket.send(&message[..got.min(bytes)]))?;
                            answered += 1;
                        }
                        if stopped() {
                            break;
                        }
                    }
                    Err(error) if is_time_out(&error) && !stopped() => {}
                    Err(error) if is_time_out(&error) => break,
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(answered)
}

/// Sends a message back with the instants at which it came and goes.
fn stamp(socket: &UdpSocket, message: &mut [u8]) -> io::Result<()> {
    let received = wall().to_le_bytes();
    let begin = message.len() - STAMP_BYTES;
    let (came, goes) = message[begin..].split_at_mut(received.len());
    came.copy_from_slice(&received);
    goes.copy_from_slice(&wall().to_le_bytes());
    again(|| socket.send(message)).map(drop)
}

/// Reads a whole message. False where the stream has ended before it, or waiting for it.
#[inline]
fn take(
    mut stream: &TcpStream,
    message: &mut [u8],
    stopped: &impl Fn() -> bool,
) -> io::Result<bool> {
    let mut have = 0;
    while have < message.len() {
        match again(|| stream.read(&mut message[have..])) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(got) => {
                have += got;
                // Whoever sends a byte now and then does not hold it up either.
                if have < message.len() && stopped() {
                    return Ok(false);
                }
            }
            Err(error) if is_time_out(&error) && stopped() => return Ok(false),
            Err(error) if is_time_out(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
