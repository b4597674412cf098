//! The connections over which data flows: a thread for each, which writes or reads without a pause.

use super::enough::Enough;
use crate::net::exchange::is_nothing_yet;
use crate::net::iperf3::serve::pace::{Pace, rest};
use engine::workload::WorkError;
use model::rng::Rng;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use sys::clock::monotonic;
use sys::loops::team::{Member, Team};
use sys::tcp::{Info, info};

/// So long a write or read waits at most before its thread looks whether the test is over.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A connection and what has passed: on cache lines of its own, because another thread adds all of them up.
#[derive(Debug)]
#[repr(align(128))]
struct Flow {
    stream: TcpStream,
    bytes: AtomicU64,
}

/// How data flows.
#[derive(Clone, Debug)]
pub(in crate::net) struct How {
    /// From here to the other end.
    pub(in crate::net) up: bool,
    /// Bytes of a write or read.
    pub(in crate::net) size: usize,
    /// The rate of each flow that sends; as fast as it goes where there is none.
    pub(in crate::net) rate: Option<Rate>,
    /// When all flows together have done enough; never where there is none.
    pub(in crate::net) enough: Option<Arc<Enough>>,
}

/// A rate, and how evenly it is kept.
#[derive(Clone, Copy, Debug)]
pub(in crate::net) struct Rate {
    pub(in crate::net) bits_per_s: u64,
    /// Blocks that go at once.
    pub(in crate::net) burst: u32,
}

/// All of them.
#[derive(Debug)]
pub(in crate::net) struct Flows {
    all: Arc<[Flow]>,
    team: Team<io::Result<()>>,
}

impl Flows {
    /// A thread for each connection, which waits until [`Self::go`]. What is sent are random bytes that nothing on the
    /// way makes smaller.
    pub(super) fn start(
        streams: Vec<TcpStream>,
        up: bool,
        size: usize,
        seed: u64,
    ) -> Result<Self, WorkError> {
        let how = How {
            up,
            size,
            rate: None,
            enough: None,
        };
        Self::start_as(streams, &how, seed)
    }

    /// The same, within bounds.
    pub(in crate::net) fn start_as(
        streams: Vec<TcpStream>,
        how: &How,
        seed: u64,
    ) -> Result<Self, WorkError> {
        let failed = |error: io::Error| WorkError::failed("prepare", "the streams", error);
        for stream in &streams {
            stream.set_read_timeout(Some(LOOK_EVERY)).map_err(failed)?;
            stream.set_write_timeout(Some(LOOK_EVERY)).map_err(failed)?;
        }
        let flow = |stream| Flow {
            stream,
            bytes: AtomicU64::new(0),
        };
        let all: Arc<[Flow]> = streams.into_iter().map(flow).collect();
        let block: Arc<[u8]> = if how.up {
            random(seed, how.size)
        } else {
            Arc::default()
        };
        let works = (0..all.len()).map(|place| {
            let (all, block, how) = (Arc::clone(&all), Arc::clone(&block), how.clone());
            move |member: &Member| {
                let mut room = if how.up {
                    Vec::new()
                } else {
                    vec![0; how.size]
                };
                member.wait();
                if how.up {
                    send(&all[place], &block, &how, member)
                } else {
                    receive(&all[place], &mut room, how.enough.as_deref(), member)
                }
            }
        });
        let team = Team::start(works.collect());
        let team = team.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self { all, team })
    }

    /// Lets the data flow.
    pub(in crate::net) fn go(&self) {
        self.team.next_part();
    }

    /// Bytes of all flows so far.
    pub(in crate::net) fn bytes(&self) -> u64 {
        self.each().sum()
    }

    /// Bytes of each flow so far.
    pub(in crate::net) fn each(&self) -> impl Iterator<Item = u64> {
        self.all
            .iter()
            .map(|flow| flow.bytes.load(Ordering::Relaxed))
    }

    /// What the kernel knows of each flow.
    pub(in crate::net) fn infos(&self) -> impl Iterator<Item = io::Result<Info>> {
        self.all.iter().map(|flow| info(flow.stream.as_fd()))
    }

    /// The congestion control of our side.
    pub(in crate::net) fn congestion(&self) -> Option<String> {
        let first = self.all.first()?;
        sys::tcp::congestion(first.stream.as_fd()).ok()
    }

    /// Whether a flow has ended by itself.
    pub(in crate::net) fn anybody_ended(&self) -> bool {
        self.team.anybody_ended()
    }

    /// Whether all flows have ended by themselves: they have done enough, or failed.
    pub(in crate::net) fn everybody_ended(&self) -> bool {
        self.team.everybody_ended()
    }

    /// Ends all of them; the first error that one had before.
    pub(in crate::net) fn end(&mut self) -> io::Result<()> {
        self.team.end().into_iter().collect()
    }
}

/// Bytes that do not compress.
fn random(seed: u64, size: usize) -> Arc<[u8]> {
    let mut rng = Rng::stream(seed, 5201);
    let words = (0..size.div_ceil(8)).flat_map(|_| rng.next().to_le_bytes());
    words.take(size).collect()
}

fn send(flow: &Flow, block: &[u8], how: &How, member: &Member) -> io::Result<()> {
    let mut stream = &flow.stream;
    let pace = how
        .rate
        .map(|rate| (Pace::new(rate.bits_per_s), rate.burst));
    if pace.is_some() {
        sys::clock::sleep_exactly();
    }
    // Of all; of this block, whose rest follows where it was taken in part; and blocks since the last rest.
    let (mut sent, mut at, mut blocks) = (0, 0, 0);
    while !member.stopped() {
        if at == 0
            && how
                .enough
                .as_ref()
                .is_some_and(|enough| !enough.may_send(block.len()))
        {
            return Ok(());
        }
        match stream.write(&block[at..]) {
            Ok(bytes) => {
                sent += bytes as u64;
                // Nobody else writes it.
                flow.bytes.store(sent, Ordering::Relaxed);
                at = (at + bytes) % block.len();
            }
            Err(error) if is_nothing_yet(&error) => continue,
            Err(error) => return Err(error),
        }
        if let Some((pace, burst)) = pace.as_ref().filter(|_| at == 0) {
            blocks += 1;
            let after = pace.after(block.len(), monotonic());
            if blocks >= *burst {
                blocks = 0;
                rest(after, member);
            }
        }
    }
    Ok(())
}

fn receive(
    flow: &Flow,
    room: &mut [u8],
    enough: Option<&Enough>,
    member: &Member,
) -> io::Result<()> {
    let mut stream = &flow.stream;
    let mut received = 0;
    while !member.stopped() {
        match stream.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            // Whoever sends goes on until it has heard of the end.
            Ok(bytes) if enough.is_some_and(|enough| !enough.counts(bytes)) => {}
            Ok(bytes) => {
                received += bytes as u64;
                flow.bytes.store(received, Ordering::Relaxed);
            }
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
