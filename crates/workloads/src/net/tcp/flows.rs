//! The connections over which data flows: a thread for each, which writes or reads without a pause.

use super::enough::Enough;
use super::zerocopy::{self, Said, Writes};
use crate::net::block::Block;
use crate::net::exchange::is_nothing_yet;
use crate::net::iperf3::pace::{Pace, rest};
use crate::net::wake::{Wake, is_paced};
use engine::workload::WorkError;
use std::io::{self, ErrorKind, Read};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
    said: Said,
}

/// How data flows.
#[derive(Clone, Debug, Default)]
pub(in crate::net) struct How {
    /// From here to the other end.
    pub(in crate::net) up: bool,
    /// Bytes of a write or read.
    pub(in crate::net) size: usize,
    /// The rate of each flow that sends; as fast as it goes where there is none.
    pub(in crate::net) rate: Option<Rate>,
    /// When all flows together have done enough; never where there is none.
    pub(in crate::net) enough: Option<Arc<Enough>>,
    /// Of TCP that is sent: without a copy, as long as the kernel makes none.
    pub(in crate::net) zerocopy: bool,
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
    up: bool,
    zerocopy: bool,
    team: Team<io::Result<()>>,
    /// Those that send stay on CPUs. Not where BBR paces them: over a veth pair one that stayed sent a seventh less.
    stays: bool,
    /// The CPU on which they were let go, where the kernel tells.
    begun: Arc<OnceLock<u32>>,
    /// What is sent, behind the sockets: of pages that the kernel has, nothing else is sent.
    _block: Arc<Block>,
}

impl Flows {
    /// A thread for each connection, which waits until [`Self::go`]. What is sent are random bytes that nothing on the
    /// way makes smaller. They end where all of them, and whoever else shares it, have moved `enough`.
    pub(in crate::net) fn start(
        streams: Vec<TcpStream>,
        up: bool,
        size: usize,
        seed: u64,
        enough: Option<Arc<Enough>>,
    ) -> Result<Self, WorkError> {
        let how = How {
            up,
            size,
            enough,
            ..How::default()
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
            said: Said::default(),
        };
        let all: Arc<[Flow]> = streams.into_iter().map(flow).collect();
        let own = Arc::new(Block::random(seed, if how.up { how.size } else { 0 }));
        let begun = Arc::new(OnceLock::new());
        let stays = how.up && !all.iter().any(|flow| is_paced(&flow.stream));
        let works = (0..all.len()).map(|place| {
            let (all, block, how) = (Arc::clone(&all), Arc::clone(&own), how.clone());
            let begun = Arc::clone(&begun);
            move |member: &Member| {
                let mut room = Block::zeros(if how.up { 0 } else { how.size });
                member.wait();
                if how.up {
                    if stays {
                        stay(place, all.len(), begun.get().copied());
                    }
                    send(&all[place], block.bytes(), &how, member)
                } else {
                    let enough = how.enough.as_deref();
                    receive(&all[place], all.len(), room.bytes_mut(), enough, member)
                }
            }
        });
        let team = Team::start(works.collect());
        let team = team.map_err(|error| WorkError::failed("start", "a thread", error))?;
        Ok(Self {
            all,
            up: how.up,
            zerocopy: how.zerocopy,
            team,
            stays,
            begun,
            _block: own,
        })
    }

    /// Lets the data flow.
    pub(in crate::net) fn go(&self) {
        if let Some(cpu) = sys::affinity::current_cpu() {
            // They go once.
            let _ = self.begun.set(cpu);
        }
        self.team.next_part();
    }

    /// The same, for a thread that looks at them from now on: it stays where the first of those that send does. Woken
    /// on another CPU it would take the place of who may receive there, whom the scheduler then puts beside the sender.
    pub(super) fn go_and_look(&self) {
        if self.stays {
            stay(0, self.all.len(), sys::affinity::current_cpu());
        }
        self.go();
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

    /// What has passed as the other end sees it. Of what is sent, what its kernel has acknowledged: the rest still lies
    /// in our buffer, which holds seconds of a slow way. Where our kernel does not tell (before 4.1), what was written.
    pub(super) fn passed(&self) -> u64 {
        let acked = |flow: &Flow| info(flow.stream.as_fd()).ok()?.bytes_acked;
        let acked = self.up.then(|| self.all.iter().map(acked).sum());
        acked.flatten().unwrap_or_else(|| self.bytes())
    }

    /// What the kernel knows of each flow.
    pub(in crate::net) fn infos(&self) -> impl Iterator<Item = io::Result<Info>> {
        self.all.iter().map(|flow| info(flow.stream.as_fd()))
    }

    /// What is to be told of writes without a copy, where those were wanted.
    pub(super) fn of_zerocopy(&self) -> Option<String> {
        let all = self.all.iter().map(|flow| &flow.said);
        self.zerocopy.then(|| zerocopy::note(all))
    }

    /// The connection that was made first.
    pub(super) fn first(&self) -> Option<&TcpStream> {
        self.all.first().map(|flow| &flow.stream)
    }

    /// The congestion control of our side.
    pub(in crate::net) fn congestion(&self) -> Option<String> {
        sys::tcp::congestion(self.first()?.as_fd()).ok()
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

/// Keeps a thread that sends, the one at this place of so many, on one CPU, where there are more CPUs than flows. The
/// first one stays where they were let go, which is drawn anew for each round.
fn stay(place: usize, flows: usize, begun: Option<u32>) {
    // A kernel that tells nothing, or refuses, moves it as it likes.
    let cpus = sys::affinity::allowed_cpus().unwrap_or_default();
    if flows < cpus.len() {
        let begun = cpus.iter().position(|cpu| Some(*cpu) == begun).unwrap_or(0);
        let _ = sys::affinity::pin(cpus[(begun + place) % cpus.len()]);
    }
}

fn send(flow: &Flow, block: &[u8], how: &How, member: &Member) -> io::Result<()> {
    let mut writes = Writes::new(&flow.stream, how.zerocopy, &flow.said);
    let pace = how
        .rate
        .map(|rate| (Pace::new(rate.bits_per_s), rate.burst));
    if pace.is_some() {
        sys::clock::sleep_exactly();
    }
    // Of all; of this block, whose rest follows where it was taken in part, and of which a bound cuts the last; and
    // blocks since the last rest.
    let (mut sent, mut at, mut end, mut blocks) = (0, 0, 0, 0);
    while !member.stopped() {
        if at == end {
            let may = how.enough.as_ref();
            let may = may.map(|enough| enough.may_send(block.len()));
            (at, end) = (0, may.unwrap_or(block.len()));
            if end == 0 {
                return Ok(());
            }
        }
        match writes.write(&block[at..end]) {
            Ok(bytes) => {
                sent += bytes as u64;
                // Nobody else writes it.
                flow.bytes.store(sent, Ordering::Relaxed);
                at += bytes;
            }
            Err(error) if is_nothing_yet(&error) => continue,
            Err(error) => return Err(error),
        }
        if let Some((pace, burst)) = pace.as_ref().filter(|_| at == end) {
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
    flows: usize,
    room: &mut [u8],
    enough: Option<&Enough>,
    member: &Member,
) -> io::Result<()> {
    let mut stream = &flow.stream;
    let mut received = 0;
    // Where bytes end the test, the last of them are waited for and not a time.
    let mut wake = enough
        .is_none_or(Enough::is_bound)
        .then(|| Wake::new(stream, room.len(), flows, monotonic()));
    while !member.stopped() {
        match stream.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            // Whoever sends goes on until it has heard of the end.
            Ok(bytes) if enough.is_some_and(|enough| !enough.counts(bytes)) => {}
            Ok(bytes) => {
                received += bytes as u64;
                flow.bytes.store(received, Ordering::Relaxed);
                if let Some(wake) = &mut wake {
                    wake.read(bytes, monotonic());
                }
            }
            Err(error) if is_nothing_yet(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn who_sends_stays_on_one_cpu_where_there_are_more_than_flows() {
        let cpus = sys::affinity::allowed_cpus().unwrap();
        let after = |flows: usize| {
            let own = |place| {
                let begun = cpus.last().copied();
                std::thread::scope(|scope| {
                    let thread = scope.spawn(|| {
                        stay(place, flows, begun);
                        sys::affinity::allowed_cpus().unwrap()
                    });
                    thread.join().unwrap()
                })
            };
            (0..flows).map(own).collect::<Vec<_>>()
        };
        assert_eq!(after(cpus.len()), vec![cpus.clone(); cpus.len()]);
        let few = after(cpus.len() - 1);
        let mut all = few.concat();
        assert_eq!(all.first(), cpus.last().filter(|_| cpus.len() > 1));
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), few.len(), "each has one of its own");
    }

    /// Two ends, of which one is a flow that waits and that nobody paces.
    fn one(up: bool) -> (Flows, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        // The one that every kernel has, for everybody.
        sys::tuning::set_congestion(ours.as_fd(), "reno").unwrap();
        let flows = Flows::start(vec![ours], up, 1 << 17, 7, None).unwrap();
        (flows, theirs)
    }

    #[test]
    fn who_looks_stays_beside_the_first_that_sends_and_goes_where_it_likes_otherwise() {
        let cpus = sys::affinity::allowed_cpus().unwrap();
        let after = |up: bool| {
            let (mut flows, theirs) = one(up);
            flows.go_and_look();
            let stays = sys::affinity::allowed_cpus().unwrap();
            sys::affinity::keep_to(&cpus).unwrap();
            flows.end().unwrap();
            drop(theirs);
            (stays, flows.begun.get().copied())
        };
        assert_eq!(after(false).0, cpus);
        let (stays, begun) = after(true);
        let alone = Vec::from_iter(begun);
        assert_eq!(stays, if cpus.len() > 1 { alone } else { cpus });
    }

    #[test]
    fn what_lies_in_our_own_buffer_has_not_passed() {
        let (mut flows, mut theirs) = one(true);
        let opening = flows.passed();
        flows.go();
        // Nobody reads: both buffers fill up.
        let mut seen = 0;
        while seen == 0 || flows.bytes() != seen {
            seen = flows.bytes();
            sys::clock::sleep(300_000_000);
        }
        assert!(flows.passed() - opening < flows.bytes());
        flows.end().unwrap();
        let sent = flows.bytes();
        let mut left = vec![0; usize::try_from(sent).unwrap()];
        theirs.read_exact(&mut left).unwrap();
        // The last acknowledgement may be on its way.
        let until = sys::until::Until::after(Duration::from_secs(10));
        while flows.passed() - opening != sent && until.left().is_some() {
            sys::clock::sleep(1_000_000);
        }
        assert_eq!(flows.passed() - opening, sent);
    }
}
