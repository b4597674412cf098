//! What `net.rr` declares.

use crate::arrivals::{self, LAG_MAX, LAG_MEAN, LATE_MEAN};
use crate::net::exchange::{MESSAGE_SIZE, UNANSWERED, ops_per_s};
use crate::net::figures::time;
use crate::net::own::words::FLOWS_MAX;
use crate::storage::{mean, p50, p99, p999};
use crate::sysbench::LAT_MAX;
use model::latency::LAT;
use model::spec::{Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use model::units::Unit;

pub(super) const LOAD_UP: &str = "load_up_bytes_per_s";
pub(super) const LOAD_DOWN: &str = "load_down_bytes_per_s";

/// The way there, and the way back.
pub(super) const UP: [&str; 3] = ["delay_up_ns_mean", "delay_up_ns_p50", "delay_up_ns_p99"];
pub(super) const DOWN: [&str; 3] = [
    "delay_down_ns_mean",
    "delay_down_ns_p50",
    "delay_down_ns_p99",
];

/// What only UDP has.
pub(super) const OF_UDP: [&str; 7] = [
    UNANSWERED.quantity,
    UP[0],
    UP[1],
    UP[2],
    DOWN[0],
    DOWN[1],
    DOWN[2],
];

/// What the round trips were beside.
const fn load(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Mean);
    MetricDef::rate(
        quantity,
        Unit::NetBytesPerSecond,
        MetricClass::System,
        how,
        doc,
    )
}

pub(super) static SPEC: Spec = Spec {
    name: "net.rr",
    version: 1,
    nature: Nature::Network,
    title: "round trips of small messages to another machine",
    doc: "One operation is one round trip over an open connection: a message of `size` bytes goes to the machine that \
          `--peer` names, the same bytes come back and are checked, and then the next one goes (netperf's TCP_RR and \
          UDP_RR; connecting is not in it). TCP sends at once (TCP_NODELAY). A datagram that is not answered within \
          0.2 s is sent again.\n\n\
          `kurabe net serve` listens there, and its token is known here (`KURABE_TOKEN` or `--token-file`). The time \
          is that of the way there and back, of both kernels and of two wake-ups. With `load` flows of TCP fill the \
          way meanwhile, as those of `net.tcp`: latency under load, which is what others on the same line wait. With a \
          `rate` messages arrive by themselves, and wait for the answer before them.",
    params: &[
        ParamDef {
            name: "protocol",
            kind: ParamKind::Choice(&["tcp", "udp"]),
            default: "tcp",
            doc: "Over a connection of TCP, or by datagrams between the server's port and one of ours.",
        },
        MESSAGE_SIZE,
        ParamDef {
            name: "load",
            kind: ParamKind::Choice(&["none", "up", "down", "both"]),
            default: "none",
            doc: "Which way flows of TCP go meanwhile, as fast as they can: to the peer, from it, or both.",
        },
        ParamDef {
            name: "flows",
            kind: ParamKind::Count {
                min: 1,
                max: FLOWS_MAX as u64,
            },
            default: "4",
            doc: "How many each way, where there is load.",
        },
        ParamDef {
            name: "time",
            kind: ParamKind::Duration,
            // A p99.9 takes some thousand round trips; a way of 1 ms has them in this time.
            default: "2s",
            doc: "How long a round measures; from 1s to 1h.",
        },
        arrivals::RATE,
        arrivals::ARRIVALS,
    ],
    metrics: &[
        ops_per_s(
            "Round trips, over the wall time from before the first message is sent until the last answer is there.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Mean time of a round trip: from the answer before it, after which its message is sent at once, to its \
             own answer; with a `rate`, from the instant at which the message arrived. A message that was lost is in \
             it with its wait.",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        p999("lat_ns_p999", LAT),
        LAT_MAX,
        LAG_MEAN,
        LAG_MAX,
        LATE_MEAN,
        UNANSWERED,
        time(
            UP[0],
            MetricClass::LatencyTypical,
            "Over UDP: the mean time of the way there alone, from before a message is sent here until the peer has it, \
             of 1000 messages of 16 bytes behind the measured part (those of a second, where they are fewer), whose \
             answers have the peer's times. It is told where both clocks may be off by less than a tenth of it \
             together (maxerror of adjtimex; on one machine they are one).",
        ),
        time(UP[1], MetricClass::LatencyTypical, "Its median."),
        time(UP[2], MetricClass::LatencyExtreme, "Its p99."),
        time(
            DOWN[0],
            MetricClass::LatencyTypical,
            "The same of the way back: from before the peer answers until the answer is here.",
        ),
        time(DOWN[1], MetricClass::LatencyTypical, "Its median."),
        time(DOWN[2], MetricClass::LatencyExtreme, "Its p99."),
        load(
            LOAD_UP,
            "Bytes that the flows of load to the peer wrote in the measured part, over its time: what the round trips \
             were beside, and no figure of the network's rate.",
        ),
        load(
            LOAD_DOWN,
            "Bytes that came by the flows of load from the peer in the measured part, over its time.",
        ),
    ],
    tests: &[
        TestDef::new("net.rr", "TCP to the peer: 1 byte there and back", &[]),
        TestDef::new(
            "net.rr-udp",
            "UDP to the peer: 1 byte there and back",
            &[("protocol", "udp")],
        ),
        TestDef::new(
            "net.rr-loaded",
            "TCP to the peer: 1 byte there and back, both ways full",
            &[("load", "both")],
        ),
    ],
    simulated: false,
    on_disk: false,
};
