//! `net.local-tcp`: as many bytes as go one way over loopback.
//!
//! The caller receives, because what has arrived is what counts; another thread sends. A read that finds less than
//! the buffer takes what is there. Every byte has its place in a pattern: what is still on its way when the round is
//! over is looked at, and all that was sent must have come.

use super::{Call, IP, connected, cpu_ns, failed, gone, loopback};
use crate::net::exchange::{PATIENCE, again};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::num::approx;
use model::params::Params;
use model::rng::Rng;
use model::spec::{
    Amount, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::Unit;
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::loops::team::{Member, Team};
use sys::process::{Usage, usage_self, usage_thread};

/// The workload.
pub(crate) static LOCAL_TCP: LocalTcp = LocalTcp;

/// A flow of TCP.
#[derive(Debug)]
pub(crate) struct LocalTcp;

/// The largest write.
const SIZE_MAX: u64 = 4 << 20;

/// CPU time over bytes, in a round's own values.
const fn cpu_per_gb(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Mean);
    MetricDef::time(quantity, MetricClass::System, how, doc)
}

static SPEC: Spec = Spec {
    name: "net.local-tcp",
    version: 1,
    nature: Nature::Network,
    title: "bytes one way over loopback by TCP",
    doc: "One side writes `size` bytes at a time, without a pause, and the other side reads as much as is there, up to \
          as many. One operation is one read. Each copy is a flow: a connection, with a process of two threads, one \
          for each side, on CPUs that the scheduler chooses. Buffers are as the kernel sizes them.\n\n\
          Both sides are on this machine: it copies every byte twice, and no network card is in it. Loopback passes \
          packets of up to 64 KiB that are never cut, so that it says what the stack can do at best, and nothing of \
          packets per second.",
    params: &[
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "128k",
            doc: "Bytes of a write, and of a read at most; from 64 bytes to 4M (iperf3's `-l`).",
        },
        IP,
    ],
    metrics: &[
        MetricDef::rate(
            "bytes_per_s",
            Unit::NetBytesPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Work, Time::Wall),
            "Bytes that the receivers of all copies have read, over the wall time of the measured part.",
        ),
        cpu_per_gb(
            "cpu_ns_per_gb",
            "CPU time, user and system, of both sides for 1,000,000,000 bytes received, mean over the copies. What the \
             kernel does outside of both, as in ksoftirqd, is not in it.",
        ),
        cpu_per_gb(
            "send_cpu_ns_per_gb",
            "The sender's part of it. On loopback the kernel hands packets to the receiver's socket mostly while it \
             sends, in the sender's time.",
        ),
        cpu_per_gb("recv_cpu_ns_per_gb", "The receiver's part of it."),
    ],
    tests: &[TestDef::new(
        "net.local-tcp",
        "TCP over loopback: one way, writes of 128 KiB",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for LocalTcp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if (64..=SIZE_MAX).contains(&params.size("size").0) {
            return Ok(());
        }
        Err(BadValue::new("size", "from 64 bytes to 4M"))
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let words = ["TCP on loopback", "ループバックの TCP"];
        Some(Headline::new(Topic::Network, words).and_all())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let size = usize::try_from(params.size("size").0).unwrap_or(usize::MAX);
        let (sender, receiver, at) = connected(loopback(params))?;
        let pattern = pattern(place.seed, size);
        Ok(Box::new(Flow::start(sender, receiver, at, pattern)?))
    }
}

/// Bytes by which a stream is told that has lost some, or has them twice.
fn pattern(seed: u64, size: usize) -> Vec<u8> {
    let mut rng = Rng::stream(seed, 4000);
    let byte = |_| u8::try_from(rng.below(256)).unwrap_or(0);
    (0..size).map(byte).collect()
}

/// Whether these are the bytes of an endless repetition of the pattern from this place on.
fn continues(pattern: &[u8], mut place: u64, mut bytes: &[u8]) -> bool {
    let length = pattern.len() as u64;
    while !bytes.is_empty() {
        let rest = &pattern[usize::try_from(place % length).unwrap_or(0)..];
        let (now, later) = bytes.split_at(bytes.len().min(rest.len()));
        if !rest.starts_with(now) {
            return false;
        }
        place += now.len() as u64;
        bytes = later;
    }
    true
}

/// What the sender has sent, and why no more.
type Sent = (u64, io::Result<()>);

/// Sends the pattern over and over until it is told to stop.
fn send(mut stream: &TcpStream, pattern: &[u8], stop: &AtomicBool) -> Sent {
    let mut sent = 0;
    let mut at = 0;
    while !stop.load(Ordering::Relaxed) {
        match again(|| stream.write(&pattern[at..])) {
            Ok(bytes) => {
                sent += bytes as u64;
                at = (at + bytes) % pattern.len();
            }
            Err(error) => return (sent, Err(error)),
        }
    }
    (sent, stream.shutdown(Shutdown::Write))
}

/// CPU time of the process, and of the thread that receives.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    all: Usage,
    own: Usage,
}

impl Used {
    fn now() -> Self {
        Self {
            own: usage_thread(),
            all: usage_self(),
        }
    }

    /// What the sender and the receiver have used since then, in nanoseconds.
    fn sides_since(self, earlier: Self) -> [u64; 2] {
        let own = cpu_ns(self.own.since(earlier.own));
        let all = cpu_ns(self.all.since(earlier.all));
        [all.saturating_sub(own), own]
    }
}

/// A connection at work.
struct Flow {
    /// Before the team: where it is dropped, the sender's next write fails, for which the team waits.
    stream: TcpStream,
    team: Team<Sent>,
    stop: Arc<AtomicBool>,
    at: SocketAddr,
    pattern: Arc<[u8]>,
    buffer: Vec<u8>,
    received: u64,
    /// Bytes, and CPU time, when the measured part began.
    began: (u64, Used),
}

impl Flow {
    /// Starts the side that sends.
    fn start(
        sender: TcpStream,
        receiver: TcpStream,
        at: SocketAddr,
        pattern: Vec<u8>,
    ) -> Result<Self, WorkError> {
        receiver
            .set_read_timeout(Some(PATIENCE))
            .map_err(|error| failed(Call::Talk, at, &error))?;
        let buffer = vec![0; pattern.len()];
        let pattern: Arc<[u8]> = pattern.into();
        let stop = Arc::new(AtomicBool::new(false));
        let (sends, stops) = (Arc::clone(&pattern), Arc::clone(&stop));
        let work = move |member: &Member| {
            member.wait();
            send(&sender, &sends, &stops)
        };
        let team = Team::start(vec![work])
            .map_err(|error| WorkError::failed("start", "a thread", error))?;
        team.next_part();
        Ok(Self {
            stream: receiver,
            team,
            stop,
            at,
            pattern,
            buffer,
            received: 0,
            began: (0, Used::now()),
        })
    }

    /// One read. No bytes are the end.
    #[inline]
    fn receive(&mut self) -> Result<usize, WorkError> {
        let Self { stream, buffer, .. } = self;
        let got =
            again(|| stream.read(buffer)).map_err(|error| failed(Call::Talk, self.at, &error))?;
        self.received += got as u64;
        Ok(got)
    }

    /// Takes what is on its way, and looks whether it is what was to come and all that was sent.
    fn drain(&mut self) -> Result<(), WorkError> {
        self.stop.store(true, Ordering::Relaxed);
        loop {
            let place = self.received;
            match self.receive()? {
                0 => break,
                got if continues(&self.pattern, place, &self.buffer[..got]) => {}
                _ => return Err(self.wrong("other bytes came than were sent")),
            }
        }
        let (sent, ended) = self.team.end().pop().ok_or_else(|| gone(self.at))?;
        ended.map_err(|error| failed(Call::Talk, self.at, &error))?;
        if sent == self.received {
            return Ok(());
        }
        let received = self.received;
        Err(self.wrong(&format!("{sent} bytes were sent, and {received} came")))
    }

    fn wrong(&self, what: &str) -> WorkError {
        WorkError::Wrong(format!("receive from `{}`: {what}", self.at))
    }

    /// Why a stream ended that nobody had told to.
    #[cold]
    fn ended(&mut self) -> WorkError {
        match self.team.end().pop() {
            Some((_, Err(error))) => failed(Call::Talk, self.at, &error),
            _ => gone(self.at),
        }
    }
}

impl Body for Flow {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            if self.receive()? == 0 {
                return Err(self.ended());
            }
        }
        Ok(ops)
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.received))
    }

    fn measured_part_begins(&mut self) {
        self.began = (self.received, Used::now());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        // First of all: the sender goes on.
        let used = Used::now();
        let (received, began) = self.began;
        let received = self.received - received;
        self.drain()?;
        let mut finish = Finish {
            digest: Digest::EMPTY.word(self.pattern.len() as u64),
            ..Finish::default()
        };
        if received > 0 {
            let [send, recv] = used.sides_since(began);
            let per_gb = |ns: u64| approx(ns) * 1e9 / approx(received);
            for (quantity, ns) in [
                ("cpu_ns_per_gb", send + recv),
                ("send_cpu_ns_per_gb", send),
                ("recv_cpu_ns_per_gb", recv),
            ] {
                finish.reported.insert(quantity.to_owned(), per_gb(ns));
            }
        }
        Ok(finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn started(pattern: Vec<u8>) -> Flow {
        let (sender, receiver, at) = connected(Ipv4Addr::LOCALHOST.into()).unwrap();
        Flow::start(sender, receiver, at, pattern).unwrap()
    }

    #[test]
    fn a_pattern_goes_on_wherever_a_read_begins() {
        let check = |place, bytes: &[u8], goes_on| {
            assert_eq!(
                continues(b"abc", place, bytes),
                goes_on,
                "{place} {bytes:?}"
            );
        };
        check(0, b"", true);
        check(0, b"abcabca", true);
        check(1, b"bcab", true);
        check(5, b"cabc", true);
        check(3, b"abd", false);
        check(0, b"bc", false);
        check(2, b"cabb", false);
    }

    #[test]
    fn all_that_was_sent_is_counted_once() {
        let mut flow = started(pattern(7, 4096));
        flow.batch(200, &mut Recorder::off()).unwrap();
        flow.measured_part_begins();
        let before = flow.work().unwrap();
        flow.batch(200, &mut Recorder::off()).unwrap();
        let during = flow.work().unwrap() - before;
        assert!(during > 0.0 && during <= 200.0 * 4096.0, "{during}");
        let reported = flow.finish().unwrap().reported;
        let of = |quantity: &str| reported[quantity];
        let sides = of("send_cpu_ns_per_gb") + of("recv_cpu_ns_per_gb");
        assert!((sides / of("cpu_ns_per_gb") - 1.0).abs() < 1e-9);
        assert!(of("cpu_ns_per_gb") > 0.0);
    }

    #[test]
    fn bytes_that_are_missing_or_others_are_found() {
        let mut flow = started(pattern(7, 4096));
        flow.batch(20, &mut Recorder::off()).unwrap();
        // As if one of them had been counted twice.
        flow.received += 1;
        let error = flow.finish().unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{error}");
        // Of a pattern of one byte all places are alike: only the number is wrong.
        let mut flow = started(vec![5; 4096]);
        flow.batch(20, &mut Recorder::off()).unwrap();
        flow.received += 1;
        let error = flow.finish().unwrap_err().to_string();
        assert!(error.contains("bytes were sent, and "), "{error}");
    }

    #[test]
    fn a_sender_that_ends_by_itself_is_named() {
        let mut flow = started(pattern(7, 4096));
        flow.stop.store(true, Ordering::Relaxed);
        let ended = flow.batch(1 << 20, &mut Recorder::off()).unwrap_err();
        assert!(matches!(ended, WorkError::Failed(_)), "{ended}");
    }
}
