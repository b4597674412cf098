//! iperf3's client: one test against a server, told as it goes on to whoever looks on.
//!
//! It is no round of a workload: `kurabe iperf3` stands in for a program whose users know what it does, so that a test
//! begins at once, ends when its time or its bytes are over, and is tried once.
//!
//! UDP has no place here yet: [`Order::parameters`] say `udp` then, and [`run`] is to choose by that.

mod course;
mod series;
mod stopped;
#[cfg(test)]
mod tests;

pub use stopped::Stopped;

use super::control::{Control, Trouble};
use super::parameters::{BLOCK_DEFAULT, Parameters};
use crate::connect::{NotConnected, connect_where};
use crate::net::peer::{Peer, SAYS_WITHIN};
use crate::net::tcp::enough::Enough;
use crate::net::tcp::flows::{Flows, How, Rate};
use course::Course;
use model::flows::{Begun, Ended, Flow, Greeted, Interval};
use model::units::{Bytes, Nanos};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::BorrowedFd;
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
    let greeted = control
        .greeted()
        .map_err(Stopped::system("ask for the control connection"))?;
    onlooker.greeted(&greeted);
    let until = Until::after(SAYS_WITHIN);
    control.agree(&order.parameters, until).map_err(stopped)?;
    let (streams, begun) = streams(order, &control)?;
    control.begin(Until::after(SAYS_WITHIN)).map_err(stopped)?;
    onlooker.begun(&begun);
    let (up, down) = flows(order, streams)?;
    Course::new(order, control, [up, down], started).run(onlooker)
}

/// The control connection to a server that has no other test.
fn greet(order: &Order) -> Result<Control, Trouble> {
    let until = Until::after(order.connect_within.unwrap_or(SAYS_WITHIN));
    let peer = &order.peer;
    let wanted = |at: &SocketAddr| order.family.is_none_or(|family| family.has(at));
    let stream = connect_where(peer.host(), peer.port(), until, wanted);
    Control::over(stream.map_err(Trouble::Connect)?, Until::after(SAYS_WITHIN))
}

/// Every stream of the test, one after the other: both ends must see the same order.
fn streams(order: &Order, control: &Control) -> Result<(Vec<TcpStream>, Begun), Stopped> {
    let asked = &order.parameters;
    let sends = |place: u32| {
        if asked.bidirectional {
            place < asked.streams()
        } else {
            !asked.reverse
        }
    };
    let (mut streams, mut flows) = (Vec::new(), Vec::new());
    let mut first_buffers = None;
    for place in 0..asked.all_streams() {
        let until = Until::after(SAYS_WITHIN);
        let mut unset = None;
        let set = |socket: BorrowedFd<'_>| {
            let done = tune(socket, asked).map_err(|(what, error)| {
                unset = Some(what);
                error
            });
            let own = done.and_then(|()| buffers(socket))?;
            first_buffers.get_or_insert(own);
            Ok(())
        };
        let connected = sys::stream::connected(control.at(), SAYS_WITHIN, set);
        let stream = connected.map_err(|error| match unset {
            Some(what) => Stopped::unset(what, &error),
            None => Stopped::of(&Trouble::Connect(NotConnected::Refused(error)), order, None),
        })?;
        control
            .join(&stream, until)
            .map_err(|why| Stopped::of(&why, order, None))?;
        let addresses = || -> io::Result<(SocketAddr, SocketAddr)> {
            stream.set_nodelay(asked.nodelay)?;
            Ok((stream.local_addr()?, stream.peer_addr()?))
        };
        let (local, remote) = addresses().map_err(Stopped::system("set a stream"))?;
        let sends = sends(place);
        flows.push(Flow {
            sends,
            local,
            remote,
        });
        streams.push(stream);
    }
    let buffers = first_buffers
        .unwrap_or_default()
        .map(|bytes| Bytes(bytes.into()));
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
    let size = if asked.len > 0 {
        asked.len
    } else {
        BLOCK_DEFAULT
    };
    usize::try_from(size).unwrap_or(usize::MAX)
}

/// Flows of one direction, and when they have done enough.
struct Direction {
    /// From here.
    sends: bool,
    flows: Flows,
    enough: Option<Arc<Enough>>,
}

/// Threads for the streams, which wait: those that send, and those that receive.
fn flows(
    order: &Order,
    mut streams: Vec<TcpStream>,
) -> Result<(Option<Direction>, Option<Direction>), Stopped> {
    let asked = &order.parameters;
    let rate = |bits_per_s: i64| {
        let burst = u32::try_from(asked.burst).unwrap_or(1).max(1);
        let bits_per_s = u64::try_from(bits_per_s).ok().filter(|&bits| bits > 0)?;
        Some(Rate { bits_per_s, burst })
    };
    let direction = |up: bool, streams: Vec<TcpStream>| -> Result<_, Stopped> {
        if streams.is_empty() {
            return Ok(None);
        }
        let enough = bytes(asked).map(|_| Arc::new(Enough::new()));
        let how = How {
            up,
            size: size(asked),
            rate: rate(asked.bandwidth).filter(|_| up),
            enough: enough.clone(),
        };
        let flows = Flows::start_as(streams, &how, sys::clock::wall());
        let flows = flows.map_err(|error| Stopped::failed(error.to_string()))?;
        Ok(Some(Direction {
            sends: up,
            flows,
            enough,
        }))
    };
    let up = match (asked.bidirectional, asked.reverse) {
        (true, _) => streams.len() / 2,
        (false, true) => 0,
        (false, false) => streams.len(),
    };
    let rest = streams.split_off(up);
    Ok((direction(true, streams)?, direction(false, rest)?))
}

/// Whole seconds of parameters.
fn seconds(count: i64) -> Nanos {
    Nanos::from_secs(u64::try_from(count).unwrap_or(0))
}
