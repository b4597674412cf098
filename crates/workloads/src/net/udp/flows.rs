//! The sockets over which datagrams flow: a thread for each, which sends by its schedule or receives.

use crate::net::block::Block;
use crate::net::iperf3::datagram::Width;
use crate::net::iperf3::datagrams::{Sending, receive};
use crate::net::iperf3::pace::Pace;
use crate::net::iperf3::tally::{Shown, Tally};
use crate::net::tcp::flows::{How, Rate};
use engine::recorder::Latencies;
use engine::workload::WorkError;
use model::flows::Datagrams;
use std::cell::Cell;
use std::io;
use std::net::UdpSocket;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::monotonic;
use sys::datagrams::{self, Batch};
use sys::loops::team::{Member, Team};

/// So long a call waits at most before its thread looks whether the test is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What a flow did.
#[derive(Debug)]
pub(in crate::net) struct Flowed {
    /// Of a sender: what it sent.
    pub(in crate::net) tally: Tally,
    /// How often several datagrams went or came in a train.
    pub(in crate::net) trains: u64,
    /// Of a sender: how late each datagram was.
    pub(in crate::net) late: Latencies,
    /// Why it ended before the test did.
    pub(in crate::net) error: Option<io::Error>,
}

/// All of them.
#[derive(Debug)]
pub(in crate::net) struct Flows {
    team: Team<Flowed>,
    paces: Vec<Arc<Pace>>,
    /// What each receiver has counted.
    shown: Vec<Arc<Shown>>,
    up: bool,
    /// Bytes of a datagram.
    size: usize,
    /// Open until the results are exchanged.
    sockets: Arc<[UdpSocket]>,
}

impl Flows {
    /// A thread for each socket, which waits until [`Self::go`]. What is sent are random bytes, others for each.
    pub(in crate::net) fn start(
        sockets: Vec<UdpSocket>,
        how: &How,
        width: Width,
        seed: u64,
    ) -> Result<Self, WorkError> {
        let failed = |error: io::Error| WorkError::failed("prepare", "the sockets", error);
        for socket in &sockets {
            socket.set_read_timeout(Some(LOOK_EVERY)).map_err(failed)?;
            socket.set_write_timeout(Some(LOOK_EVERY)).map_err(failed)?;
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
                    send(&sending, &how, seed.wrapping_add(place as u64), member)
                } else {
                    take(socket, width, how.size, Tally::shown(shown), member)
                }
            }
        });
        let team = Team::start(works.collect());
        let team = team.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self {
            team,
            paces,
            shown,
            up: how.up,
            size: how.size,
            sockets,
        })
    }

    /// Lets the data flow.
    pub(in crate::net) fn go(&self) {
        let now = monotonic();
        for pace in &self.paces {
            pace.begin(now);
        }
        self.team.next_part();
    }

    /// What was counted so far is forgotten.
    pub(in crate::net) fn forget(&self) {
        self.team.next_part();
    }

    /// Bytes of all flows so far, whatever was forgotten.
    pub(in crate::net) fn bytes(&self) -> u64 {
        self.team.done()
    }

    /// The same of each, and its datagrams.
    pub(in crate::net) fn each(&self) -> impl Iterator<Item = (u64, Datagrams)> {
        let size = (self.size as u64).max(1);
        let all = self.team.each().zip(&self.shown);
        all.map(move |(bytes, shown)| {
            let sent = Datagrams {
                packets: bytes / size,
                ..Datagrams::default()
            };
            (bytes, if self.up { sent } else { shown.seen() })
        })
    }

    /// One of the sockets.
    pub(in crate::net) fn first(&self) -> Option<&UdpSocket> {
        self.sockets.first()
    }

    /// Whether a flow has ended by itself.
    pub(in crate::net) fn anybody_ended(&self) -> bool {
        self.team.anybody_ended()
    }

    /// From now on nothing is counted.
    pub(in crate::net) fn stop(&self) {
        self.team.stop();
    }

    /// Ends all of them: what each did, in their order.
    pub(in crate::net) fn end(&mut self) -> Vec<Flowed> {
        self.team.end()
    }
}

fn send(sending: &Sending<'_>, how: &How, seed: u64, member: &Member) -> Flowed {
    let (mut tally, mut late) = (Tally::default(), Latencies::default());
    let by = datagrams::sent(sending.socket.as_fd());
    // Where a number of bytes ends it, each goes by itself: no more of them are sent.
    let room = match &how.enough {
        Some(_) => how.size,
        None => datagrams::room(how.size, by),
    };
    let mut block = Block::random(seed, room);
    let mut batch = Batch::to_send(block.bytes_mut(), how.size, by);
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
    let done = sending.send(&mut batch, member, &is_over, &mut tally, Some(&mut late));
    Flowed {
        tally,
        trains: batch.trains(),
        late,
        error: done.err(),
    }
}

fn take(
    socket: &UdpSocket,
    width: Width,
    size: usize,
    mut tally: Tally,
    member: &Member,
) -> Flowed {
    let by = datagrams::received(socket.as_fd());
    let mut block = Block::zeros(datagrams::room_to_receive(size, by));
    let mut batch = Batch::to_receive(block.bytes_mut(), size, by);
    member.wait();
    let done = receive(socket, width, &mut batch, member, &mut tally, false);
    Flowed {
        tally,
        trains: batch.trains(),
        late: Latencies::default(),
        error: done.err(),
    }
}
