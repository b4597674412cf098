//! A test of flows of TCP or UDP between two machines, as whoever looks on sees it: when it begins, of each interval,
//! and in the end. `workloads` makes it, and `dialects` tells it in another program's words.

use crate::units::{Bytes, Nanos};
use std::net::SocketAddr;

/// A connection over which data flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Data goes from here to the other end.
    pub sends: bool,
    /// Our end of it.
    pub local: SocketAddr,
    /// The other one.
    pub remote: SocketAddr,
}

/// There is a connection, and a server that listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeted {
    /// What all connections of this test show.
    pub cookie: String,
    /// Bytes of a segment of the control connection.
    pub mss: u32,
    /// Bytes of a block, or of a datagram.
    pub block: Bytes,
}

/// Data flows from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begun {
    /// In the order in which they were connected; those that send are the first.
    pub flows: Vec<Flow>,
    /// The buffers of the first, as they were before it was connected: to send, and to receive.
    pub buffers: [Bytes; 2],
}

/// A part of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Since what is counted began; of what is not counted, since the test began.
    pub start: Nanos,
    /// The same.
    pub end: Nanos,
    /// It is not counted.
    pub is_omitted: bool,
    /// Each flow.
    pub moved: Vec<Moved>,
}

impl Interval {
    /// How long it was.
    pub fn span(&self) -> Nanos {
        self.end.since(self.start)
    }
}

/// What a flow did in an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Data goes from here to the other end.
    pub sends: bool,
    /// What was sent, or received.
    pub bytes: Bytes,
    /// What the kernel knows of it, where it tells.
    pub kernel: Option<Kernel>,
    /// Of UDP: what was sent here, or received.
    pub datagrams: Option<Datagrams>,
}

/// Datagrams, as one end counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Datagrams {
    /// All of them: of a receiver, with those that were lost.
    pub packets: u64,
    /// Those that did not come, of a receiver.
    pub lost: u64,
    /// Those that came behind later ones; a receiver elsewhere does not tell.
    pub out_of_order: u64,
    /// The smoothed mean of how much the way's time changes from one to the next, of a receiver.
    pub jitter: Nanos,
}

/// What the kernel knows of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Segments that were sent again in this interval.
    pub retransmits: u32,
    /// The congestion window.
    pub snd_cwnd: Bytes,
    /// The window that the other end offers; since Linux 5.4.
    pub snd_wnd: Option<Bytes>,
    /// The smoothed round-trip time.
    pub rtt: Nanos,
    /// How much it varies.
    pub rttvar: Nanos,
    /// The path's MTU.
    pub pmtu: Bytes,
}

/// The end of a test.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// What was counted, by our clock.
    pub span: Nanos,
    /// Each flow.
    pub flows: Vec<Carried>,
    /// CPU time of this process over the whole test.
    pub cpu: Cpu,
    /// The other end's.
    pub remote_cpu: Cpu,
    /// The congestion control here.
    pub congestion: Option<String>,
    /// The other end's.
    pub remote_congestion: Option<String>,
    /// The other end's own report, where it was asked for.
    pub remote_report: Option<RemoteReport>,
}

/// What the other end says of the test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoteReport {
    /// For people.
    Text(String),
    /// For programs.
    Json(String),
}

/// What a flow did in all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Carried {
    /// Data went from here to the other end.
    pub sends: bool,
    /// As the sender has it; of the other end where that told.
    pub sent: Option<Counted>,
    /// As the receiver has it.
    pub received: Option<Counted>,
    /// Segments that were sent again, where the sender counts them.
    pub retransmits: Option<u64>,
    /// Of this end's kernel, over the counted intervals.
    pub peaks: Option<Peaks>,
    /// Of UDP, datagrams as the sender has them.
    pub sent_packets: Option<u64>,
    /// And as the receiver has them.
    pub datagrams: Option<Datagrams>,
}

/// What one end has counted of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// All of it.
    pub bytes: Bytes,
    /// Over this time of its own clock.
    pub span: Nanos,
}

/// What was seen at the ends of the counted intervals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peaks {
    /// The largest congestion window.
    pub snd_cwnd: Bytes,
    /// The largest window of the other end.
    pub snd_wnd: Bytes,
    /// The longest round trip.
    pub rtt_max: Nanos,
    /// The shortest.
    pub rtt_min: Nanos,
    /// The mean.
    pub rtt_mean: Nanos,
}

/// CPU time as a share of one CPU; `None` where an end does not say.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// All of it, in per cent.
    pub total_percent: Option<f64>,
    /// The part in user mode.
    pub user_percent: Option<f64>,
    /// The part in kernel mode.
    pub system_percent: Option<f64>,
}
