//! The sockets over which datagrams flow: a thread for each, which sends by its schedule or receives.

use crate::net::block::Block;
use crate::net::iperf3::datagram::Width;
use crate::net::iperf3::datagrams::{Sending, receive};
use crate::net::iperf3::pace::Pace;
use crate::net::iperf3::tally::Tally;
use engine::recorder::Latencies;
use engine::workload::WorkError;
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

/// Counts have 64 bits, which every version can have.
const WIDTH: Width = Width::Bits64;

/// What a flow did.
#[derive(Debug)]
pub(super) struct Flowed {
    /// Of a sender: what it sent.
    pub(super) tally: Tally,
    /// How often several datagrams went or came in a train.
    pub(super) trains: u64,
    /// Of a sender: how late each datagram was.
    pub(super) late: Latencies,
    /// Why it ended before the test did.
    pub(super) error: Option<io::Error>,
}

/// All of them.
#[derive(Debug)]
pub(super) struct Flows {
    team: Team<Flowed>,
    paces: Vec<Arc<Pace>>,
    /// Open until the results are exchanged.
    sockets: Arc<[UdpSocket]>,
}

impl Flows {
    /// A thread for each socket, which waits until [`Self::go`]; those that send have so many bits per second each, in
    /// datagrams of `size` random bytes.
    pub(super) fn start(
        sockets: Vec<UdpSocket>,
        (up, bits_per_s): (bool, u64),
        size: usize,
        seed: u64,
    ) -> Result<Self, WorkError> {
        let failed = |error: io::Error| WorkError::failed("prepare", "the sockets", error);
        for socket in &sockets {
            socket.set_read_timeout(Some(LOOK_EVERY)).map_err(failed)?;
            socket.set_write_timeout(Some(LOOK_EVERY)).map_err(failed)?;
        }
        let sockets: Arc<[UdpSocket]> = sockets.into();
        let paces: Vec<_> = sockets
            .iter()
            .map(|_| Arc::new(Pace::new(bits_per_s)))
            .collect();
        let works = (0..sockets.len()).map(|place| {
            let (sockets, pace) = (Arc::clone(&sockets), Arc::clone(&paces[place]));
            move |member: &Member| {
                let socket = &sockets[place];
                if up {
                    send(
                        socket,
                        &pace,
                        (size, seed.wrapping_add(place as u64)),
                        member,
                    )
                } else {
                    take(socket, size, member)
                }
            }
        });
        let team = Team::start(works.collect());
        let team = team.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self {
            team,
            paces,
            sockets,
        })
    }

    /// Lets the data flow.
    pub(super) fn go(&self) {
        let now = monotonic();
        for pace in &self.paces {
            pace.begin(now);
        }
        self.team.next_part();
    }

    /// What was counted so far is forgotten.
    pub(super) fn forget(&self) {
        self.team.next_part();
    }

    /// Bytes of all flows so far, whatever was forgotten.
    pub(super) fn bytes(&self) -> u64 {
        self.team.done()
    }

    /// One of the sockets.
    pub(super) fn first(&self) -> Option<&UdpSocket> {
        self.sockets.first()
    }

    /// Whether a flow has ended by itself.
    pub(super) fn anybody_ended(&self) -> bool {
        self.team.anybody_ended()
    }

    /// From now on nothing is counted.
    pub(super) fn stop(&self) {
        self.team.stop();
    }

    /// Ends all of them: what each did, in their order.
    pub(super) fn end(&mut self) -> Vec<Flowed> {
        self.team.end()
    }
}

fn send(socket: &UdpSocket, pace: &Pace, (size, seed): (usize, u64), member: &Member) -> Flowed {
    let (mut tally, mut late) = (Tally::default(), Latencies::default());
    let by = datagrams::sent(socket.as_fd());
    // Others for each flow, so that none of them is a copy.
    let mut block = Block::random(seed, datagrams::room(size, by));
    let mut batch = Batch::to_send(block.bytes_mut(), size, by);
    let sending = Sending {
        socket,
        width: WIDTH,
        pace,
        burst: 1,
    };
    member.wait();
    let done = sending.send(&mut batch, member, &|| false, &mut tally, Some(&mut late));
    Flowed {
        tally,
        trains: batch.trains(),
        late,
        error: done.err(),
    }
}

fn take(socket: &UdpSocket, size: usize, member: &Member) -> Flowed {
    let mut tally = Tally::default();
    let by = datagrams::received(socket.as_fd());
    let mut block = Block::zeros(datagrams::room_to_receive(size, by));
    let mut batch = Batch::to_receive(block.bytes_mut(), size, by);
    member.wait();
    let done = receive(socket, WIDTH, &mut batch, member, &mut tally, false);
    Flowed {
        tally,
        trains: batch.trains(),
        late: Latencies::default(),
        error: done.err(),
    }
}
