//! What `net.tcp` declares.

use crate::net::figures::{CPU, PEER_CPU, less, time};
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::Unit;

pub(super) const RATE: &str = "bytes_per_s";
pub(super) const RETRANSMITS: &str = "retransmits_per_gb";
pub(super) const RTT_MEAN: &str = "rtt_ns_mean";
pub(super) const RTT_MIN: &str = "rtt_ns_min";
pub(super) const RWND_LIMITED: &str = "rwnd_limited_share";
pub(super) const SNDBUF_LIMITED: &str = "sndbuf_limited_share";

/// What only a sender's kernel knows.
pub(super) const OF_SENDERS: [&str; 3] = [RTT_MEAN, RWND_LIMITED, SNDBUF_LIMITED];

/// Which way bytes go.
pub(in crate::net) const DIRECTION: ParamDef = ParamDef {
    name: "direction",
    kind: ParamKind::Choice(&["up", "down"]),
    default: "up",
    doc: "`up`: from here to the peer; `down`: from the peer to here (iperf3's `-R`).",
};

/// How long a round is.
pub(in crate::net) const TIME: ParamDef = ParamDef {
    name: "time",
    kind: ParamKind::Duration,
    default: "3s",
    doc: "How long a round measures (iperf3's `-t`); from 1s to 1h.",
};

pub(super) static SPEC: Spec = Spec {
    name: "net.tcp",
    version: 3,
    nature: Nature::Network,
    title: "bytes one way to or from another machine by TCP",
    doc: "As many bytes as the network takes, between this machine and the one that `--peer` names, where an iperf3 \
          server listens (3.1 to 3.21; `iperf3 -s`). A round is one test of iperf3's protocol. Each copy is a flow: a \
          connection with a thread of its own here, which writes or reads `size` bytes at a time. One operation is a \
          millisecond of the round. Buffers are as the kernels size them.\n\n\
          Judged is what the receiver received: of `up` the server says it when the test is over, of `down` it is \
          counted here. The windows of a round show what our side read, or what the peer's kernel has \
          acknowledged.",
    params: &[
        DIRECTION,
        TIME,
        ParamDef {
            name: "omit",
            kind: ParamKind::Duration,
            default: "1s",
            doc: "How long data flows before that, while TCP finds its pace (iperf3's `-O`): whole seconds, up to 60s. \
                  A soak has none.",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "128k",
            doc: "Bytes of a write, and of a read at most, at both ends (iperf3's `-l`); from 1k to 1M.",
        },
        ParamDef {
            name: "zerocopy",
            kind: ParamKind::Choice(&["off", "on"]),
            default: "off",
            doc: "`on`: what is sent is not copied into the kernel (`MSG_ZEROCOPY`, since Linux 4.14), unless it says \
                  of the first writes that it copied them after all, as on `lo` and `veth`: then plain writes go on, \
                  and a note says so. `up` alone.",
        },
    ],
    metrics: &[
        MetricDef::rate(
            RATE,
            Unit::NetBytesPerSecond,
            MetricClass::Throughput,
            How::Per(Amount::Work, Time::Wall),
            "Bytes that the receiver received on all flows, over its time: from the end of `omit` until it heard that \
             the test was over. `up`: as the server says it; of a server before 3.2, which says no time, over ours. \
             `down`: as counted here.",
        ),
        less(
            RETRANSMITS,
            Unit::Number,
            "Segments that the sender sent again in the measured part, on all flows, for 1,000,000,000 bytes: `up` \
             from our kernel (tcpi_total_retrans), `down` as the server says.",
        ),
        CPU,
        PEER_CPU,
        time(
            RTT_MEAN,
            MetricClass::LatencyTypical,
            "Mean of the kernel's smoothed round-trip times (tcpi_rtt) under this load, of all flows every 100 ms. \
             `up` alone: who only receives does not see them.",
        ),
        time(
            RTT_MIN,
            MetricClass::LatencyTypical,
            "The shortest round trip that the kernel has seen (tcpi_min_rtt), the mean over the flows: from the \
             connection's beginning, with the least load.",
        ),
        less(
            RWND_LIMITED,
            Unit::Share,
            "The part of the time with something to send in which the receiver's window was full \
             (tcpi_rwnd_limited / tcpi_busy_time), of all flows: the receiver, or its buffer, was the limit. `up` \
             alone.",
        ),
        less(
            SNDBUF_LIMITED,
            Unit::Share,
            "The part of it in which our own send buffer was too small (tcpi_sndbuf_limited). What neither explains \
             was limited by the network, or by the CPU of one of both ends.",
        ),
    ],
    tests: &[
        TestDef::new("net.tcp", "TCP to the peer", &[]),
        TestDef::new(
            "net.tcp-down",
            "TCP from the peer",
            &[("direction", "down")],
        ),
    ],
    simulated: false,
    on_disk: false,
};
