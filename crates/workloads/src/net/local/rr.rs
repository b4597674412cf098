//! `net.local-rr`: small messages there and back over loopback, one at a time.
//!
//! What is timed is netperf's `TCP_RR` or `UDP_RR`. There the two sides are two processes; here they are two threads
//! of one, so that a switch from one to the other keeps its address space, and both sides' CPU time is that of one
//! process.

use super::{CPU_PER_OP, Call, IP, connected, failed, gone, loopback};
use crate::net::exchange::{Asker, Link, MESSAGE_SIZE, PATIENCE, UNANSWERED, answer, ops_per_s};
use crate::storage::{mean, p50, p99, p999};
use crate::sysbench::LAT_MAX;
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::latency::LAT;
use model::num::approx;
use model::params::Params;
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use sys::loops::team::{Member, Team};

/// The workload.
pub(crate) static LOCAL_RR: LocalRr = LocalRr;

/// Round trips.
#[derive(Debug)]
pub(crate) struct LocalRr;

/// Bytes of a message at most: what fits into one datagram of loopback, whose largest packet is 64 KiB.
const SIZE_MAX: u64 = 32 << 10;

static SPEC: Spec = Spec {
    name: "net.local-rr",
    version: 2,
    nature: Nature::Network,
    title: "round trips of small messages over loopback",
    doc: "One operation is one round trip over an open connection: a message of `size` bytes goes there, the same \
          bytes come back and are checked, and then the next one goes (netperf's TCP_RR and UDP_RR; connecting is not \
          in it). TCP sends at once (TCP_NODELAY). A datagram that is not answered within 0.2 s is sent again.\n\n\
          Both sides are on this machine: two threads of one process for each copy, on CPUs that the scheduler \
          chooses. The figure is what the kernel's network stack and two wake-ups cost; no network card is in it. With \
          one copy on a machine with idle CPUs most of the time may be that of waking a CPU.",
    params: &[
        ParamDef {
            name: "protocol",
            kind: ParamKind::Choice(&["tcp", "udp"]),
            default: "tcp",
            doc: "Over a connection of TCP, or between two sockets of UDP that know each other.",
        },
        MESSAGE_SIZE,
        IP,
    ],
    metrics: &[
        ops_per_s(
            "Round trips of all copies, over the wall time from before the first message is sent until the last answer \
             is there.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Mean time of a round trip: from the answer before it, after which its message is sent at once, to its \
             own answer. A message that was lost is in it with its wait.",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        p999("lat_ns_p999", LAT),
        LAT_MAX,
        CPU_PER_OP,
        UNANSWERED,
    ],
    tests: &[
        TestDef::new(
            "net.local-rr",
            "TCP over loopback: 1 byte there and back",
            &[],
        ),
        TestDef::new(
            "net.local-rr-udp",
            "UDP over loopback: 1 byte there and back",
            &[("protocol", "udp")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

fn is_udp(params: &Params) -> bool {
    params.text("protocol") == "udp"
}

impl Workload for LocalRr {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if (1..=SIZE_MAX).contains(&params.size("size").0) {
            return Ok(());
        }
        Err(BadValue::new("size", "from 1 byte to 32k"))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let metrics = SPEC.metrics.iter();
        metrics
            .filter(|metric| is_udp(params) || metric.quantity != UNANSWERED.quantity)
            .collect()
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = if is_udp(params) {
            ["UDP round trips on loopback", "ループバックの UDP 往復"]
        } else {
            ["TCP round trips on loopback", "ループバックの TCP 往復"]
        };
        Some(Headline::new(Topic::Network, words).beside("lat_ns_p99"))
    }

    fn hands_over(&self) -> bool {
        true
    }

    fn prepare(&self, params: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let size = usize::try_from(params.size("size").0).unwrap_or(usize::MAX);
        let ip = loopback(params);
        let (client, server, at) = if is_udp(params) {
            let (client, server, at) = sockets(ip)?;
            (Link::Udp(client), Link::Udp(server), at)
        } else {
            let (client, server, at) = connected(ip)?;
            (Link::Tcp(client), Link::Tcp(server), at)
        };
        Ok(Box::new(RoundTrips::start(client, server, size, at)?))
    }
}

/// Two sockets that hear nobody but each other, and where the second is.
fn sockets(ip: IpAddr) -> Result<(UdpSocket, UdpSocket, SocketAddr), WorkError> {
    let any = SocketAddr::new(ip, 0);
    let bound = || -> io::Result<(UdpSocket, SocketAddr)> {
        let socket = UdpSocket::bind(any)?;
        let at = socket.local_addr()?;
        Ok((socket, at))
    };
    let told = |error: io::Error| failed(Call::Bind, any, &error);
    let (client, from) = bound().map_err(told)?;
    let (server, at) = bound().map_err(told)?;
    client
        .connect(at)
        .and_then(|()| server.connect(from))
        .map_err(|error| failed(Call::Connect, at, &error))?;
    Ok((client, server, at))
}

/// A connection at work.
struct RoundTrips {
    /// Before the team: where it is dropped, the other side of a stream ends, for which the team waits.
    asker: Asker,
    team: Team<io::Result<u64>>,
    at: SocketAddr,
    size: usize,
    /// Exchanges, and lost messages, when the measured part began.
    began: (u64, u64),
}

impl RoundTrips {
    /// Starts the side that answers, and exchanges one message with it.
    fn start(client: Link, server: Link, size: usize, at: SocketAddr) -> Result<Self, WorkError> {
        let talk = |error: io::Error| failed(Call::Talk, at, &error);
        let mut asker = Asker::new(client, size, PATIENCE).map_err(talk)?;
        let work = move |member: &Member| {
            member.wait();
            answer(&server, size, None, || member.stopped())
        };
        let team = Team::start(vec![work])
            .map_err(|error| WorkError::failed("start", "a thread", error))?;
        team.next_part();
        asker.exchange().map_err(talk)?;
        asker.trust(PATIENCE).map_err(talk)?;
        Ok(Self {
            asker,
            team,
            at,
            size,
            began: (0, 0),
        })
    }

    /// The other side must have answered every message, and those that were lost at most twice.
    fn check(&self, answered: u64) -> Result<(), WorkError> {
        let (done, lost) = (self.asker.done(), self.asker.lost());
        if self.asker.fits(answered) {
            return Ok(());
        }
        Err(WorkError::Wrong(format!(
            "`{}` answered {answered} messages, and {done} answers came, with {lost} lost",
            self.at
        )))
    }
}

impl Body for RoundTrips {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let Self { asker, at, .. } = self;
        let mut laps = recorder.laps();
        for _ in 0..ops {
            laps.lap(|| asker.exchange())
                .map_err(|error| failed(Call::Talk, *at, &error))?;
        }
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn measured_part_begins(&mut self) {
        self.began = (self.asker.done(), self.asker.lost());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let talk = |error: io::Error| failed(Call::Talk, self.at, &error);
        self.asker.end().map_err(talk)?;
        let answered = self.team.end().pop().ok_or_else(|| gone(self.at))?;
        self.check(answered.map_err(talk)?)?;
        let mut finish = Finish {
            digest: Digest::EMPTY.word(self.size as u64),
            ..Finish::default()
        };
        let (done, lost) = self.began;
        let (done, lost) = (self.asker.done() - done, self.asker.lost() - lost);
        if self.asker.loses() && done > 0 {
            let share = approx(lost) / approx(done + lost);
            finish
                .reported
                .insert(UNANSWERED.quantity.to_owned(), share);
        }
        Ok(finish)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;
    use std::time::Duration;

    #[test]
    fn messages_have_a_size_and_udp_alone_tells_what_was_lost() {
        for (size, fits) in [("0", false), ("1", true), ("32k", true), ("32769", false)] {
            let params = testing::params(&LOCAL_RR, &[("size", size)]);
            assert_eq!(LOCAL_RR.check_params(&params).is_ok(), fits, "{size}");
        }
        for (protocol, tells) in [("tcp", false), ("udp", true)] {
            let params = testing::params(&LOCAL_RR, &[("protocol", protocol)]);
            let metrics = LOCAL_RR.metrics(&params);
            let found = metrics.iter().any(|metric| metric.quantity == "lost_share");
            assert_eq!(found, tells, "{protocol}");
        }
    }

    #[test]
    fn large_messages_are_exchanged_over_both() {
        for protocol in ["tcp", "udp"] {
            let (_root, place) = testing::place();
            let params = [("protocol", protocol), ("size", "32k")];
            let mut body = testing::prepare(&LOCAL_RR, &params, &place).unwrap();
            body.batch(50, &mut Recorder::off()).unwrap();
            body.finish().unwrap();
        }
    }

    #[test]
    fn what_was_lost_is_told_of_the_measured_part_and_answers_are_counted() {
        let (client, server, at) = sockets(std::net::Ipv4Addr::LOCALHOST.into()).unwrap();
        let [client, server] = [client, server].map(Link::Udp);
        let mut body = RoundTrips::start(client, server, 1, at).unwrap();
        body.batch(9, &mut Recorder::off()).unwrap();
        body.measured_part_begins();
        body.batch(10, &mut Recorder::off()).unwrap();
        let finish = body.finish().unwrap();
        assert_eq!(finish.reported.get("lost_share"), Some(&0.0));
        assert!(body.check(20).is_ok());
        for answered in [19, 41] {
            let error = body.check(answered).unwrap_err();
            assert!(matches!(error, WorkError::Wrong(_)), "{error}");
        }
    }

    #[test]
    fn another_side_that_answers_nothing_fails_the_set_up() {
        let (client, server, at) = connected(std::net::Ipv4Addr::LOCALHOST.into()).unwrap();
        drop(server);
        let mut asker = Asker::new(Link::Tcp(client), 1, Duration::from_secs(1)).unwrap();
        let error = asker
            .exchange()
            .map_err(|error| failed(Call::Talk, at, &error));
        assert!(matches!(error, Err(WorkError::Failed(_))), "{error:?}");
    }
}
