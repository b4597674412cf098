//! iperf3's client: one test against a server, told as it goes on to whoever looks on.
//!
//! It is no round of a workload: `kurabe iperf3` stands in for a program whose users know what it does, so that a test
//! begins at once, ends when its time or its bytes are over, and is tried once.
//!
//! Streams are of TCP, or of UDP where [`Order::parameters`] say so.

mod carrier;
mod course;
mod series;
mod stopped;
#[cfg(test)]
mod tests;

pub use stopped::Stopped;

use super::control::{Control, Trouble};
use super::parameters::{BLOCK_DEFAULT, DATAGRAM_MAX, DATAGRAM_MIN, Parameters};
use crate::connect::{NotConnected, connect_where};
use crate::net::peer::{Peer, SAYS_WITHIN};
use crate::net::tcp::enough::Enough;
use crate::net::tcp::flows::{Flows, How, Rate};
use crate::net::udp;
use crate::net::udp::greet::{self, NotHeard};
use carrier::Carrier;
use course::Course;
use model::flows::{Begun, Ended, Flow, Greeted, Interval};
use model::units::{Bytes, Nanos};
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use sys::tuning::{buffers, set_buffers, set_congestion, set_mss};
use sys::until::Until;

/// What is to be done.
#[derive(Clone, Debug)]
pub struct Order {
    /// With whom.
    pub peer: Peer,
    /// Over which of its addresses; any where not said.
    pub family: Option<Family>,
    /// How long may be asked for its name and connected.
    pub connect_within: Option<Duration>,
    /// How often an interval ends; one for all where not said.
    pub interval: Option<Duration>,
    /// What the server is asked for, and we do too.
    pub parameters: Parameters,
}

/// Which addresses are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

impl Family {
    fn has(self, at: &SocketAddr) -> bool {
        at.is_ipv4() == (self == Self::V4)
    }
}

/// Whoever looks on.
pub trait Onlooker {
    /// The server has no other test.
    fn greeted(&mut self, greeted: &Greeted);
    /// Data flows from now on.
    fn begun(&mut self, begun: &Begun);
    /// An interval is over.
    fn interval(&mut self, interval: &Interval);
    /// Whether the test is to end at once.
    fn stops(&self) -> bool;
}

/// Does a test.
pub fn run(order: &Order, onlooker: &mut dyn Onlooker) -> Result<Ended, Stopped> {
    let stopped = |why: Trouble| Stopped::of(&why, order, None);
    let started = (sys::clock::monotonic(), sys::process::usage_self());
    let control = greet(order).map_err(stopped)?;
    let mss = control
        .mss()
        .map_err(Stopped::system("ask for the control connection"))?;
    let sized = order.sized(mss);
    let order = &sized;
    onlooker.greeted(&Greeted {
        cookie: control.cookie(),
        mss,
        block: Bytes(size(&order.parameters) as u64),
    });
    let stopped = |why: Trouble| Stopped::of(&why, order, None);
    let until = Until::after(SAYS_WITHIN);
    control.agree(&order.parameters, until).map_err(stopped)?;
    let (streams, begun) = streams(order, &control)?;
    control.begin(Until::after(SAYS_WITHIN)).map_err(stopped)?;
    onlooker.begun(&begun);
    let (up, down) = flows(order, streams)?;
    Course::new(order, control, [up, down], started).run(onlooker)
}

/// A datagram where nobody says another size and a segment of the control connection fits none. Source: iperf3's
/// `--help`, `-l`.
const DATAGRAM_DEFAULT: i64 = 1460;

impl Order {
    /// Blocks have a size: datagrams without one are as long as a segment of the control connection, so that they go
    /// whole.
    fn sized(&self, mss: u32) -> Self {
        let mut sized = self.clone();
        let asked = &mut sized.parameters;
        let mss = i64::from(mss);
        asked.len = match (asked.len, asked.udp) {
            (1.., _) => asked.len,
            (_, false) => BLOCK_DEFAULT,
            (_, true) if (DATAGRAM_MIN..=DATAGRAM_MAX).contains(&mss) => mss,
            (_, true) => DATAGRAM_DEFAULT,
        };
        sized
    }
}

/// What data flows over.
enum Streams {
    Tcp(Vec<TcpStream>),
    Udp(Vec<UdpSocket>),
}

/// The control connection to a server that has no other test.
fn greet(order: &Order) -> Result<Control, Trouble> {
    let until = Until::after(order.connect_within.unwrap_or(SAYS_WITHIN));
    let peer = &order.peer;
    let wanted = |at: &SocketAddr| order.family.is_none_or(|family| family.has(at));
    let stream = connect_where(peer.host(), peer.port(), until, wanted);
    let stops = || sys::signal::interrupted().is_some();
    let stream = stream.map_err(Trouble::Connect)?;
    Control::over(stream, Until::after(SAYS_WITHIN), stops)
}

impl Streams {
    const fn is_empty(&self) -> bool {
        match self {
            Self::Tcp(all) => all.is_empty(),
            Self::Udp(all) => all.is_empty(),
        }
    }

    /// The first ones, so many at most, and the others.
    fn split(self, first: usize) -> (Self, Self) {
        fn parts<T>(mut all: Vec<T>, first: usize) -> (Vec<T>, Vec<T>) {
            let rest = all.split_off(first.min(all.len()));
            (all, rest)
        }
        match self {
            Self::Tcp(all) => {
                let (first, rest) = parts(all, first);
                (Self::Tcp(first), Self::Tcp(rest))
            }
            Self::Udp(all) => {
                let (first, rest) = parts(all, first);
                (Self::Udp(first), Self::Udp(rest))
            }
        }
    }
}

/// Every stream of the test, one after the other: both ends must see the same order.
fn streams(order: &Order, control: &Control) -> Result<(Streams, Begun), Stopped> {
    let asked = &order.parameters;
    let sends = |place: u32| {
        if asked.bidirectional {
            place < asked.streams()
        } else {
            !asked.reverse
        }
    };
    let (mut connections, mut sockets, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    let mut first_buffers = None;
    for place in 0..asked.all_streams() {
        let mut unset = None;
        let mut set = |socket: BorrowedFd<'_>| {
            let done = tune(socket, asked).map_err(|(what, error)| {
                unset = Some(what);
                error
            });
            let own = done.and_then(|()| buffers(socket))?;
            first_buffers.get_or_insert(own);
            Ok(())
        };
        let addresses = if asked.udp {
            let whole = asked.dont_fragment != 0;
            let opened = greet::open(control, &order.peer, |socket| {
                set(socket.as_fd())?;
                if whole { greet::whole(socket) } else { Ok(()) }
            });
            let socket = opened.map_err(|why| match why {
                NotHeard::Ended(why) => Stopped::of(&why, order, None),
                NotHeard::Failed(why) => Stopped::told(&why.to_string()),
            })?;
            let addresses = (socket.local_addr(), socket.peer_addr());
            sockets.push(socket);
            addresses
        } else {
            let until = Until::after(SAYS_WITHIN);
            let connected = sys::stream::connected(control.at(), SAYS_WITHIN, set);
            let stream = connected.map_err(|error| match unset {
                Some(what) => Stopped::unset(what, &error),
                None => Stopped::of(&Trouble::Connect(NotConnected::Refused(error)), order, None),
            })?;
            control
                .join(&stream, until)
                .map_err(|why| Stopped::of(&why, order, None))?;
            let set = stream.set_nodelay(asked.nodelay);
            let addresses = (set.and_then(|()| stream.local_addr()), stream.peer_addr());
            connections.push(stream);
            addresses
        };
        let failed = Stopped::system("set a stream");
        flows.push(Flow {
            sends: sends(place),
            local: addresses.0.map_err(&failed)?,
            remote: addresses.1.map_err(&failed)?,
        });
    }
    let buffers = first_buffers
        .unwrap_or_default()
        .map(|bytes| Bytes(bytes.into()));
    let streams = if asked.udp {
        Streams::Udp(sockets)
    } else {
        Streams::Tcp(connections)
    };
    Ok((streams, Begun { flows, buffers }))
}

/// Sets what the first segment tells the other end, and what else was asked for: what could not be.
fn tune(socket: BorrowedFd<'_>, asked: &Parameters) -> Result<(), (&'static str, io::Error)> {
    if let Some(name) = &asked.congestion {
        set_congestion(socket, name).map_err(|error| ("TCP_CONGESTION", error))?;
    }
    if let Ok(bytes @ 1..) = u32::try_from(asked.mss) {
        set_mss(socket, bytes).map_err(|error| ("MSS", error))?;
    }
    if let Ok(bytes @ 1..) = u32::try_from(asked.window) {
        set_buffers(socket, bytes).map_err(|error| ("socket buffer size", error))?;
    }
    Ok(())
}

/// Bytes that end the test, where bytes or blocks do.
fn bytes(asked: &Parameters) -> Option<u64> {
    let block = u64::try_from(size(asked)).unwrap_or(u64::MAX);
    match (u64::try_from(asked.num), u64::try_from(asked.blockcount)) {
        (Ok(bytes @ 1..), _) => Some(bytes),
        (_, Ok(blocks @ 1..)) => Some(blocks.saturating_mul(block)),
        _ => None,
    }
}

/// Bytes of a block.
fn size(asked: &Parameters) -> usize {
    usize::try_from(asked.len).unwrap_or(usize::MAX)
}

/// Flows of one direction, and when they have done enough.
struct Direction {
    /// From here.
    sends: bool,
    flows: Carrier,
    enough: Option<Arc<Enough>>,
}

/// Threads for the streams, which wait: those that send, and those that receive.
fn flows(
    order: &Order,
    streams: Streams,
) -> Result<(Option<Direction>, Option<Direction>), Stopped> {
    let asked = &order.parameters;
    let rate = |bits_per_s: i64| {
        let burst = u32::try_from(asked.burst).unwrap_or(1).max(1);
        let bits_per_s = u64::try_from(bits_per_s).ok().filter(|&bits| bits > 0)?;
        Some(Rate { bits_per_s, burst })
    };
    let width = asked.width();
    let direction = |up: bool, streams: Streams| -> Result<_, Stopped> {
        if streams.is_empty() {
            return Ok(None);
        }
        let enough = bytes(asked).map(|_| Arc::new(Enough::new()));
        let how = How {
            up,
            size: size(asked),
            rate: rate(asked.bandwidth).filter(|_| up),
            enough: enough.clone(),
            ..How::default()
        };
        let flows = match streams {
            Streams::Tcp(streams) => {
                let flows = Flows::start_as(streams, &how, sys::clock::wall());
                Carrier::Tcp(flows.map_err(|error| Stopped::failed(error.to_string()))?)
            }
            Streams::Udp(sockets) => {
                let flows = udp::flows::Flows::start(sockets, &how, width, sys::clock::wall());
                Carrier::Udp(flows.map_err(|error| Stopped::failed(error.to_string()))?)
            }
        };
        Ok(Some(Direction {
            sends: up,
            flows,
            enough,
        }))
    };
    let up = match (asked.bidirectional, asked.reverse) {
        (true, _) => usize::try_from(asked.streams()).unwrap_or(usize::MAX),
        (false, true) => 0,
        (false, false) => usize::MAX,
    };
    let (up, down) = streams.split(up);
    Ok((direction(true, up)?, direction(false, down)?))
}

/// Whole seconds of parameters.
fn seconds(count: i64) -> Nanos {
    Nanos::from_secs(u64::try_from(count).unwrap_or(0))
}
