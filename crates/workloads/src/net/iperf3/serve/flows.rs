//! The loops of a test: a thread for each stream, which sends or receives until the test is over.
//!
//! Every call on a socket ends within [`LOOK`], whatever the peer does: a sender whose peer reads nothing any more, and
//! a receiver to whom nothing is sent, see the end as soon as those at work do. What comes after the end was told is
//! not counted. Loops allocate nothing.

use super::super::datagram::Width;
use super::super::datagrams::{Sending, receive};
use super::super::pace::Pace;
use super::super::tally::Tally;
use super::line::LOOK;
use super::order::{Direction, Order};
use crate::net::block::Block;
use crate::net::exchange::is_nothing_yet;
use crate::net::tcp::enough::Enough;
use crate::net::wake::Wake;
use model::units::{Bytes, Nanos};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};
use sys::clock::{monotonic, sleep};
use sys::datagrams::{self, Batch};
use sys::loops::team::{Member, Team};

/// What one read of TCP takes at most: there are few reads, and a thread for each stream has it.
const READ_BYTES: usize = 128 << 10;

/// What carries a stream.
#[derive(Debug)]
pub(super) enum Carrier {
    /// A connection.
    Tcp(TcpStream),
    /// A socket that is connected to the client's.
    Udp(UdpSocket, Width),
}

/// What a stream did.
#[derive(Debug, Default)]
pub(super) struct Flowed {
    /// Bytes without those of the beginning that is not counted; of datagrams too, those that were sent.
    pub(super) tally: Tally,
    /// Segments that were sent again, where TCP was sent.
    pub(super) retransmits: Option<u64>,
    /// Why it ended before the test did.
    pub(super) error: Option<io::Error>,
    /// Open until the results are exchanged, as it is with iperf3: a client may take an end of it for a failure.
    pub(super) carrier: Option<Carrier>,
}

/// Streams at work.
pub(super) struct Flows {
    team: Team<Flowed>,
    paces: Vec<Arc<Pace>>,
    send_until: Arc<AtomicU64>,
    omits: bool,
    /// The system's number for what ended a sender of datagrams, of which no client hears otherwise; 0 for none.
    failed: Arc<AtomicI32>,
}

/// The part of the team's work that counts, where the first is omitted.
const SECOND_PART: u32 = 2;

impl Flows {
    /// Starts a thread for each of `carriers`. They wait.
    pub(super) fn start(
        order: &Order,
        carriers: Vec<Carrier>,
        payload: &Arc<[u8]>,
    ) -> io::Result<Self> {
        let send_until = Arc::new(AtomicU64::new(u64::MAX));
        let failed = Arc::new(AtomicI32::new(0));
        // One for all streams.
        let most = order.bytes_max.map(|most| Enough::of(Bytes(most)));
        let mut paces = Vec::new();
        let mut works = Vec::with_capacity(carriers.len());
        for carrier in carriers {
            let pace = Arc::new(Pace::new(order.bits_per_s.unwrap_or(u64::MAX)));
            paces.push(Arc::clone(&pace));
            let flow = Flow {
                direction: order.direction,
                pace,
                payload: Arc::clone(payload),
                length: order.length,
                most: most.clone(),
                of: order.streams,
                counted_from: if order.omit.is_zero() { 1 } else { SECOND_PART },
                send_until: Arc::clone(&send_until),
                failed: Arc::clone(&failed),
            };
            works.push(move |member: &Member| flow.run(carrier, member));
        }
        Ok(Self {
            team: Team::start(works)?,
            paces,
            send_until,
            omits: !order.omit.is_zero(),
            failed,
        })
    }

    /// Data flows from now on. Nothing is sent after `send_until`.
    pub(super) fn go(&self, send_until: u64) {
        let now = monotonic();
        for pace in &self.paces {
            pace.begin(now);
        }
        self.send_until.store(send_until, Ordering::Relaxed);
        self.team.next_part();
    }

    /// What was to be omitted is over.
    pub(super) fn count(&self) {
        debug_assert!(self.omits, "everything counts from the beginning");
        self.team.next_part();
    }

    /// What ended a sender of datagrams before the test did.
    pub(super) fn failed(&self) -> Option<io::Error> {
        let number = self.failed.load(Ordering::Relaxed);
        (number != 0).then(|| io::Error::from_raw_os_error(number))
    }

    /// Ends all of them: when nothing was counted any more, and what each did, in their order.
    pub(super) fn end(mut self) -> (u64, Vec<Flowed>) {
        self.team.stop();
        let now = monotonic();
        (now, self.team.end())
    }
}

/// What a thread has of its stream.
struct Flow {
    direction: Direction,
    pace: Arc<Pace>,
    payload: Arc<[u8]>,
    length: usize,
    /// What all streams together may send.
    most: Option<Arc<Enough>>,
    /// So many streams there are.
    of: usize,
    counted_from: u32,
    send_until: Arc<AtomicU64>,
    failed: Arc<AtomicI32>,
}

impl Flow {
    fn run(&self, carrier: Carrier, member: &Member) -> Flowed {
        // Before the wait: memory is part of no rate.
        let mut flowed = Flowed::default();
        let done = match (&carrier, self.direction) {
            (Carrier::Tcp(stream), Direction::Up) => {
                let mut buffer = vec![0; READ_BYTES];
                member.wait();
                self.receive(stream, &mut buffer, member, &mut flowed)
            }
            (Carrier::Tcp(stream), Direction::Down) => {
                member.wait();
                self.send(stream, member, &mut flowed)
            }
            (Carrier::Udp(socket, width), Direction::Up) => {
                let by = datagrams::received(socket.as_fd());
                let mut block = Block::zeros(datagrams::room_to_receive(self.length, by));
                let mut batch = Batch::to_receive(block.bytes_mut(), self.length, by);
                member.wait();
                receive(socket, *width, &mut batch, member, &mut flowed.tally, true)
            }
            (Carrier::Udp(socket, width), Direction::Down) => {
                let by = datagrams::sent(socket.as_fd());
                let mut block = Block::zeros(datagrams::room(self.length, by));
                let mut batch = Batch::to_send(block.bytes_mut(), self.length, by);
                for place in 0..batch.most() {
                    batch
                        .at(place)
                        .copy_from_slice(&self.payload[..self.length]);
                }
                member.wait();
                let sending = Sending {
                    socket,
                    width: *width,
                    pace: &self.pace,
                    burst: 1,
                };
                let is_over = || self.is_over();
                let sent = sending.send(&mut batch, member, &is_over, &mut flowed.tally, None);
                if let Err(Some(number)) = sent.as_ref().map_err(io::Error::raw_os_error) {
                    self.failed.store(number, Ordering::Relaxed);
                }
                sent
            }
        };
        flowed.error = done.err();
        flowed.carrier = Some(carrier);
        flowed
    }

    #[inline]
    fn counts(&self, member: &Member) -> bool {
        member.part() >= self.counted_from
    }

    fn receive(
        &self,
        mut stream: &TcpStream,
        buffer: &mut [u8],
        member: &Member,
        flowed: &mut Flowed,
    ) -> io::Result<()> {
        let mut wake = Wake::new(stream, buffer.len(), self.of, monotonic());
        while !member.stopped() {
            let got = match stream.read(buffer) {
                Ok(0) => break,
                Ok(got) => got,
                Err(error) if is_nothing_yet(&error) => continue,
                Err(error) => return Err(error),
            };
            if member.stopped() {
                break;
            }
            if self.counts(member) {
                flowed.tally.bytes += got as u64;
            }
            wake.read(got, monotonic());
        }
        Ok(())
    }

    fn send(&self, mut stream: &TcpStream, member: &Member, flowed: &mut Flowed) -> io::Result<()> {
        let block = &self.payload[..self.length];
        // Of the beginning that is not counted.
        let mut before = None;
        let mut done = Ok(());
        // Within a block, whose last is cut to what may be sent: what was taken of it only in part goes on there.
        let (mut at, mut end) = (0, 0);
        while !member.stopped() && !self.is_over() {
            if at == end {
                let may = self.most.as_ref().map(|most| most.may_send(block.len()));
                (at, end) = (0, may.unwrap_or(block.len()));
            }
            if end == 0 {
                // The client says when the test is over.
                sleep(Nanos::from(LOOK).0);
                continue;
            }
            let bytes = match stream.write(&block[at..end]) {
                Ok(bytes) => bytes,
                Err(error) if is_nothing_yet(&error) => continue,
                Err(error) => {
                    done = Err(error);
                    break;
                }
            };
            at += bytes;
            // A peer that reads slowly makes each of them last.
            if member.stopped() {
                break;
            }
            if self.counts(member) {
                if before.is_none() {
                    before = retransmitted(stream);
                }
                flowed.tally.bytes += bytes as u64;
            }
        }
        let before = match self.counted_from {
            SECOND_PART => before,
            _ => Some(0),
        };
        flowed.retransmits = retransmitted(stream)
            .zip(before)
            .map(|(all, before)| all.saturating_sub(before));
        // A client waits for the rest of a block before it sends its results; this tells it that there is none. That
        // the connection is gone already is no failure.
        let _ = stream.shutdown(Shutdown::Write);
        done
    }

    /// Whether the client should have ended the test by now.
    fn is_over(&self) -> bool {
        monotonic() >= self.send_until.load(Ordering::Relaxed)
    }
}

fn retransmitted(stream: &TcpStream) -> Option<u64> {
    let known = sys::tcp::info(stream.as_fd()).ok()?;
    Some(known.total_retrans.into())
}

impl Carrier {
    /// No call on it lasts longer than a look.
    pub(super) fn bounded(self) -> io::Result<Self> {
        match &self {
            Self::Tcp(stream) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(LOOK))?;
                stream.set_write_timeout(Some(LOOK))?;
            }
            Self::Udp(socket, _) => {
                socket.set_nonblocking(false)?;
                socket.set_read_timeout(Some(LOOK))?;
                socket.set_write_timeout(Some(LOOK))?;
            }
        }
        Ok(self)
    }
}
