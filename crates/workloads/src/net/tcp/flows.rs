//! The connections over which data flows: a thread for each, which writes or reads without a pause.

use crate::net::exchange::is_nothing_yet;
use engine::workload::WorkError;
use model::rng::Rng;
use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
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

/// All of them.
#[derive(Debug)]
pub(super) struct Flows {
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
        let block: Arc<[u8]> = if up {
            random(seed, size)
        } else {
            Arc::default()
        };
        let works = (0..all.len()).map(|place| {
            let (all, block) = (Arc::clone(&all), Arc::clone(&block));
            move |member: &Member| {
                let mut room = if up { Vec::new() } else { vec![0; size] };
                member.wait();
                if up {
                    send(&all[place], &block, member)
                } else {
                    receive(&all[place], &mut room, member)
                }
            }
        });
        let team = Team::start(works.collect());
        let team = team.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self { all, team })
    }

    /// Lets the data flow.
    pub(super) fn go(&self) {
        self.team.next_part();
    }

    /// Bytes of all flows so far.
    pub(super) fn bytes(&self) -> u64 {
        self.each().sum()
    }

    /// Bytes of each flow so far.
    pub(super) fn each(&self) -> impl Iterator<Item = u64> {
        self.all
            .iter()
            .map(|flow| flow.bytes.load(Ordering::Relaxed))
    }

    /// What the kernel knows of each flow.
    pub(super) fn infos(&self) -> impl Iterator<Item = io::Result<Info>> {
        self.all.iter().map(|flow| info(flow.stream.as_fd()))
    }

    /// The congestion control of our side.
    pub(super) fn congestion(&self) -> Option<String> {
        let first = self.all.first()?;
        sys::tcp::congestion(first.stream.as_fd()).ok()
    }

    /// Whether a flow has ended by itself.
    pub(super) fn anybody_ended(&self) -> bool {
        self.team.anybody_ended()
    }

    /// Ends all of them; the first error that one had before.
    pub(super) fn end(&mut self) -> io::Result<()> {
        self.team.end().into_iter().collect()
    }
}

/// Bytes that do not compress.
pub(in crate::net) fn random(seed: u64, size: usize) -> Arc<[u8]> {
    let mut rng = Rng::stream(seed, 5201);
    let words = (0..size.div_ceil(8)).flat_map(|_| rng.next().to_le_bytes());
    words.take(size).collect()
}

fn send(flow: &Flow, block: &[u8], member: &Member) -> io::Result<()> {
    let mut stream = &flow.stream;
    let mut sent = 0;
    while !member.stopped() {
        match stream.write(block) {
            Ok(bytes) => {
                sent += bytes as u64;
                // Nobody else writes it.
                flow.bytes.store(sent, Ordering::Relaxed);
            }
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn receive(flow: &Flow, room: &mut [u8], member: &Member) -> io::Result<()> {
    let mut stream = &flow.stream;
    let mut received = 0;
    while !member.stopped() {
        match stream.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
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
