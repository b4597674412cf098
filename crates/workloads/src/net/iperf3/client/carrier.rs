//! What carries the flows of a direction: connections of TCP, or sockets of UDP with a thread for each.
//!
//! The loops of datagrams are those that the server has too. Nothing in them is told of what is omitted: an interval is
//! what was counted at its end without what was counted at its beginning.

use super::Direction;
use crate::net::block::Block;
use crate::net::iperf3::datagram::Width;
use crate::net::iperf3::datagrams::{Sending, receive};
use crate::net::iperf3::pace::Pace;
use crate::net::iperf3::tally::{Shown, Tally};
use crate::net::tcp::flows::{Flows, How, Rate};
use model::flows::Datagrams;
use std::cell::Cell;
use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::monotonic;
use sys::datagrams::{Batch, By, room, room_to_receive};
use sys::loops::team::{Member, Team};
use sys::tcp::Info;

/// So long a call waits at most before its thread looks whether the test is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Flows at work, or waiting for it.
pub(super) enum Carrier {
    Tcp(Flows),
    Udp(Sockets),
}

/// What is known of a flow at an instant, since it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) bytes: u64,
    /// What the kernel knows of a connection.
    pub(super) info: Option<Info>,
    pub(super) datagrams: Option<Datagrams>,
}

impl Carrier {
    /// Lets the data flow.
    pub(super) fn go(&self) {
        match self {
            Self::Tcp(flows) => flows.go(),
            Self::Udp(sockets) => sockets.go(),
        }
    }

    /// Bytes of all flows so far.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Tcp(flows) => flows.bytes(),
            Self::Udp(sockets) => sockets.team.done(),
        }
    }

    pub(super) fn looks(&self) -> Vec<Look> {
        match self {
            Self::Tcp(flows) => {
                let infos = flows.infos().map(Result::ok);
                let look = |(bytes, info)| Look {
                    bytes,
                    info,
                    datagrams: None,
                };
                flows.each().zip(infos).map(look).collect()
            }
            Self::Udp(sockets) => sockets.looks(),
        }
    }

    /// The congestion control of our side.
    pub(super) fn congestion(&self) -> Option<String> {
        match self {
            Self::Tcp(flows) => flows.congestion(),
            Self::Udp(_) => None,
        }
    }

    /// Whether a flow has ended by itself.
    pub(super) fn anybody_ended(&self) -> bool {
        match self {
            Self::Tcp(flows) => flows.anybody_ended(),
            Self::Udp(sockets) => sockets.team.anybody_ended(),
        }
    }

    /// Ends all of them; the first error that one had before.
    pub(super) fn end(&mut self) -> io::Result<()> {
        match self {
            Self::Tcp(flows) => flows.end(),
            Self::Udp(sockets) => sockets.team.end().into_iter().collect(),
        }
    }
}

impl Direction {
    /// Since when it was enough, where that ends the test.
    pub(super) fn reached(&self, now: u64) -> Option<u64> {
        let enough = self.enough.as_ref()?;
        match &self.flows {
            // Those who send end one after the other.
            Carrier::Tcp(flows) => enough
                .reached()
                .filter(|_| !self.sends || flows.everybody_ended()),
            // A sender rests behind its last datagram before it ends.
            Carrier::Udp(_) => (self.flows.bytes() >= enough.wanted()).then_some(now),
        }
    }

    /// Whether a flow has ended by itself, and not because it was enough.
    pub(super) fn has_failed(&self) -> bool {
        // In this order: a sender says that it was enough before it ends.
        let has_ended = self.flows.anybody_ended();
        let is_enough = self.enough.as_ref().and_then(|enough| enough.reached());
        has_ended && is_enough.is_none()
    }
}

/// Sockets of UDP at work.
pub(super) struct Sockets {
    team: Team<io::Result<()>>,
    paces: Vec<Arc<Pace>>,
    /// What each receiver has counted.
    shown: Vec<Arc<Shown>>,
    /// Bytes of a datagram.
    size: usize,
    up: bool,
    /// Open until the results are exchanged.
    _open: Arc<[UdpSocket]>,
}

impl Sockets {
    /// A thread for each socket, which waits until [`Carrier::go`].
    pub(super) fn start(sockets: Vec<UdpSocket>, how: &How, width: Width) -> io::Result<Self> {
        for socket in &sockets {
            socket.set_read_timeout(Some(LOOK_EVERY))?;
            socket.set_write_timeout(Some(LOOK_EVERY))?;
        }
        let sockets: Arc<[UdpSocket]> = sockets.into();
        let rate = how.rate.unwrap_or(Rate {
            bits_per_s: u64::MAX,
            burst: 1,
        });
        let paces = sockets.iter().map(|_| Arc::new(Pace::new(rate.bits_per_s)));
        let paces: Vec<Arc<Pace>> = paces.collect();
        let shown = sockets.iter().map(|_| Arc::new(Shown::default()));
        let shown: Vec<Arc<Shown>> = shown.collect();
        let works = (0..sockets.len()).map(|place| {
            let (sockets, pace) = (Arc::clone(&sockets), Arc::clone(&paces[place]));
            let (how, shown) = (how.clone(), Arc::clone(&shown[place]));
            move |member: &Member| {
                let socket = &sockets[place];
                if how.up {
                    let sending = Sending {
                        socket,
                        width,
                        pace: &pace,
                        burst: usize::try_from(rate.burst).unwrap_or(1),
                    };
                    send(&sending, &how, member)
                } else {
                    let mut tally = Tally::shown(shown);
                    let mut room = vec![0; room_to_receive(how.size, By::One)];
                    let mut batch = Batch::to_receive(&mut room, how.size, By::One);
                    member.wait();
                    receive(socket, width, &mut batch, member, &mut tally, false)
                }
            }
        });
        let team = Team::start(works.collect())?;
        Ok(Self {
            team,
            paces,
            shown,
            size: how.size,
            up: how.up,
            _open: sockets,
        })
    }

    fn go(&self) {
        let now = monotonic();
        for pace in &self.paces {
            pace.begin(now);
        }
        self.team.next_part();
    }

    fn looks(&self) -> Vec<Look> {
        let size = (self.size as u64).max(1);
        let look = |(bytes, shown): (u64, &Arc<Shown>)| {
            let sent = Datagrams {
                packets: bytes / size,
                ..Datagrams::default()
            };
            Look {
                bytes,
                info: None,
                datagrams: Some(if self.up { sent } else { shown.seen() }),
            }
        };
        self.team.each().zip(&self.shown).map(look).collect()
    }
}

fn send(sending: &Sending<'_>, how: &How, member: &Member) -> io::Result<()> {
    // Bytes that nothing on the way makes smaller, others for each.
    let seed = monotonic().wrapping_add(member.index() as u64);
    // Where a number of bytes ends it, each goes by itself: no more of them are sent.
    let room = match &how.enough {
        Some(_) => how.size,
        None => room(how.size, By::One),
    };
    let mut room = Block::random(seed, room);
    let mut batch = Batch::to_send(room.bytes_mut(), how.size, By::One);
    member.wait();
    let counted = Cell::new(0);
    let is_over = || {
        how.enough.as_ref().is_some_and(|enough| {
            let done = member.done();
            let sent = done - counted.replace(done);
            enough.counts(usize::try_from(sent).unwrap_or(usize::MAX));
            enough.reached().is_some()
        })
    };
    let mut tally = Tally::default();
    sending.send(&mut batch, member, &is_over, &mut tally, None)
}
