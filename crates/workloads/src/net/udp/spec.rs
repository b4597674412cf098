//! What `net.udp` and `net.udp-max` declare.

use crate::net::figures::{CPU, PEER_CPU, less, time};
use crate::net::tcp::{DIRECTION, TIME};
use model::latency::LATE;
use model::spec::{
    Amount, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, Stat,
    TestDef, Time,
};
use model::units::Unit;

pub(super) const RATE: &str = "bytes_per_s";
pub(super) const PACKETS: &str = "packets_per_s";
pub(super) const LOST: &str = "lost_share";
pub(super) const REORDERED: &str = "reordered_share";
pub(super) const DOUBLED: &str = "doubled_share";
pub(super) const JITTER: &str = "jitter_ns";
pub(super) const SENT: &str = "sent_bytes_per_s";
pub(super) const ABOVE: &str = "above_bytes_per_s";
const LATE_MEAN: &str = "late_ns_mean";
const LATE_P99: &str = "late_ns_p99";

/// What a receiver tells nobody, and what a sender does not.
pub(super) const OF_RECEIVERS: [&str; 2] = [REORDERED, DOUBLED];
pub(super) const OF_SENDERS: [&str; 2] = [LATE_MEAN, LATE_P99];

/// A rate that the body reports.
const fn rate(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(quantity, unit, MetricClass::Throughput, how, doc)
}

const fn late(
    quantity: &'static str,
    class: MetricClass,
    stat: Stat,
    doc: &'static str,
) -> MetricDef {
    MetricDef::time(quantity, class, How::Of(LATE, stat), doc)
}

const SIZE: ParamDef = ParamDef {
    name: "size",
    kind: ParamKind::Size,
    default: "1400",
    doc: "Bytes of a datagram without the headers of UDP and IP (iperf3's `-l`); from 16 to 65507. What is too long \
          for the way is not cut up: it is an error.",
};

const OFFLOAD: ParamDef = ParamDef {
    name: "offload",
    kind: ParamKind::Choice(&["off", "on"]),
    default: "off",
    doc: "`on`: what is due at once is sent as a train of up to 64 datagrams, which the card cuts or the kernel in \
          front of it (`UDP_SEGMENT`), and taken as one (`UDP_GRO`), a call for each train. The peer's part takes \
          `kurabe net serve`. A link within a machine (`lo`, `veth`) cuts none: a note says so.",
};

pub(super) static SPEC: Spec = Spec {
    name: "net.udp",
    version: 1,
    nature: Nature::Network,
    title: "datagrams one way to or from another machine at a given rate",
    doc: "Datagrams at the rate that was asked for, between this machine and the one that `--peer` names, where \
          `kurabe net serve` or an iperf3 server listens (3.1 to 3.21; `iperf3 -s`). A round is one test of iperf3's \
          protocol. Each copy is a flow: a socket with a thread of its own here, which sends by a schedule of \
          instants. One operation is a look at the flows, every millisecond.\n\n\
          Judged is what the receiver received: of `up` the server says it when the test is over, of `down` it is \
          counted here. Datagrams that have come are taken by one system call, and where they are less than 50 us \
          apart, those that are due are sent by one. UDP that is filtered while TCP passes fails the round with that \
          word.",
    params: &[
        DIRECTION,
        ParamDef {
            name: "rate",
            kind: ParamKind::Text,
            default: "100M",
            doc: "Bits per second of each flow, of the datagrams' own bytes (iperf3's `-b`): `800k`, `100M`, `2.5G`, \
                  in powers of 1000; a datagram in a second at least.",
        },
        SIZE,
        OFFLOAD,
        TIME,
        ParamDef {
            name: "omit",
            kind: ParamKind::Duration,
            default: "0s",
            doc: "How long data flows before that (iperf3's `-O`): whole seconds, up to 60s. A server before 3.14 does \
                  not tell apart what of that was lost.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            RATE,
            Unit::NetBytesPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Work, Time::Wall),
            "Bytes of datagrams, without the headers of UDP and IP, that the receiver received on all flows, over the \
             time in which they were sent; with `omit`, over the receiver's own time.",
        ),
        rate(
            PACKETS,
            Unit::OpsPerSecond,
            "Datagrams that the receiver received, from the same bytes.",
        ),
        less(
            LOST,
            Unit::Share,
            "The part of the datagrams up to the last one that arrived, by their numbers, that the receiver did not \
             get before the end. `up`: by iperf3's rules, in which one that came twice hides a loss.",
        ),
        less(
            REORDERED,
            Unit::Share,
            "The part of them that came after one that was sent later. `down` alone: a server does not tell.",
        ),
        less(
            DOUBLED,
            Unit::Share,
            "The part of them that came once more. `down` alone.",
        ),
        time(
            JITTER,
            MetricClass::LatencyExtreme,
            "Jitter of RFC 3550 at the end, the mean over the flows: a sixteenth of the change of the transit time \
             from one datagram to the next is added and a sixteenth of what was there taken away. The sender's own \
             unevenness is in it, and where more than 160,000 datagrams a second come, the sleep of up to 100 us after \
             which a receiver takes several of them at once.",
        ),
        rate(
            SENT,
            Unit::NetBytesPerSecond,
            "Bytes of datagrams that the sender sent. Less than `rate` where it could not, or where a queue of its own \
             was full.",
        )
        .acting(Role::Below),
        late(
            LATE_MEAN,
            MetricClass::LatencyTypical,
            Stat::Mean,
            "How much later than its schedule a datagram was sent, from the instant at which it was due to the one at \
             which it was given to the kernel. A schedule that is more than 100 ms behind is put off. `up` alone.",
        ),
        late(
            LATE_P99,
            MetricClass::LatencyTail,
            Stat::Quantile(0.99),
            "The same: 99 % of the datagrams were no later.",
        ),
        CPU,
        PEER_CPU,
    ],
    tests: &[
        TestDef::new("net.udp", "UDP to the peer at a given rate", &[]),
        TestDef::new(
            "net.udp-down",
            "UDP from the peer at a given rate",
            &[("direction", "down")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

pub(super) static MOST: Spec = Spec {
    name: "net.udp-max",
    version: 1,
    nature: Nature::Network,
    title: "the highest rate of datagrams to or from another machine at which next to none is lost",
    doc: "A round searches the highest rate of `net.udp` at which less than `loss_max` is lost: rates double from 100 \
          Mbit/s on while they hold, and then the distance between the last one that held and the first that did not \
          is halved until it is 5 %. Each rate is tried for `time`, in a test of iperf3's protocol of its own. A rate \
          does not hold either where less than 98 % of it was sent, or of what was not lost arrived, or where nothing \
          of the last half second did: a sender that cannot send so fast loses nothing.\n\n\
          The figure is what was received at the highest rate that held. Where the sender was the limit, and not a \
          loss, a note says so. Copies are flows, which share the \
          rate.",
    params: &[
        DIRECTION,
        ParamDef {
            name: "loss_max",
            kind: ParamKind::Text,
            default: "0.1%",
            doc: "Less than this part of the datagrams is to be lost: up to `50%`.",
        },
        SIZE,
        OFFLOAD,
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            default: "1s",
            doc: "How long a rate is tried; from 1s to 1h. Buckets of credit hold for seconds.",
        },
    ],
    metrics: &[
        rate(
            RATE,
            Unit::NetBytesPerSecond,
            "Bytes of datagrams that the receiver received on all flows, at the highest rate that was tried and held.",
        ),
        rate(
            PACKETS,
            Unit::OpsPerSecond,
            "Datagrams that it received then.",
        ),
        rate(
            ABOVE,
            Unit::NetBytesPerSecond,
            "The lowest rate that was tried and did not hold, as it was asked for: what holds is between the two.",
        )
        .acting(Role::Below),
        less(
            LOST,
            Unit::Share,
            "What was lost at the highest rate that held, as `net.udp` has it.",
        ),
        CPU,
        PEER_CPU,
    ],
    tests: &[
        TestDef::new(
            "net.udp-max",
            "UDP to the peer, the highest rate with less than 0.1 % lost",
            &[],
        ),
        TestDef::new(
            "net.udp-max-down",
            "UDP from the peer, the highest rate with less than 0.1 % lost",
            &[("direction", "down")],
        ),
    ],
    simulated: false,
    on_disk: false,
};
