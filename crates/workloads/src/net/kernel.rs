//! What the kernel counts of the network while a round measures: of every second, in the record as series; and in
//! words, where something was dropped or held up.
//!
//! The counters are those of the whole network namespace, and of `softnet_stat` of the whole machine: whoever else uses
//! the network meanwhile is in them.

use engine::workload::Finish;
use model::num::approx;
use model::record::Series;
use model::spec::{Better, Fold, How, MetricClass, MetricDef, Role};
use model::units::{Nanos, Unit};
use sys::counters::network::{COUNTERS, Counts, Network};

/// From one look to the next.
const STEP_NS: u64 = 1_000_000_000;

/// Looks for which there is room: what a longer round counts behind them is in the last one.
const LOOKS_MAX: usize = 4096;

const fn series(place: usize, doc: &'static str) -> MetricDef {
    MetricDef {
        quantity: COUNTERS[place],
        unit: Unit::Number,
        better: Better::Lower,
        class: MetricClass::System,
        how: How::Reported(Fold::Sum),
        role: Role::Series,
        doc,
    }
}

/// A series for each counter; a round has those of them that grew.
pub(super) static SERIES: [MetricDef; COUNTERS.len()] = [
    series(0, "Packets that no CPU had room for (softnet_stat)."),
    series(1, "How often a CPU left packets for later (softnet_stat)."),
    series(2, "Segments of TCP that came (Tcp InSegs)."),
    series(3, "Segments of TCP that were sent (Tcp OutSegs)."),
    series(4, "Segments that were sent again (Tcp RetransSegs)."),
    series(5, "Datagrams that came and were dropped (Udp InErrors)."),
    series(
        6,
        "Those for which a socket had no room (Udp RcvbufErrors).",
    ),
    series(
        7,
        "How often there was no room for a datagram to be sent (Udp SndbufErrors).",
    ),
    series(8, "Datagrams that came damaged (Udp InCsumErrors)."),
    series(
        9,
        "How often TCP waited out its time-out (TcpExt TCPTimeouts).",
    ),
    series(
        10,
        "Connections that a listener dropped (TcpExt ListenDrops).",
    ),
    series(
        11,
        "How often TCP threw away what had come (TcpExt RcvPruned).",
    ),
];

/// What it means where one grew, in the same words in every round.
const MEANS: [(&str, &str); 7] = [
    (
        "softnet_dropped",
        "packets were dropped before a CPU of this machine looked at them: `net.core.netdev_max_backlog` is small, or \
         the CPUs are the limit",
    ),
    (
        "udp_receive_buffer_errors",
        "datagrams that had come were dropped on this machine, because a socket's buffer was full: its program was too \
         slow, or `net.core.rmem_default` is small",
    ),
    (
        "udp_send_buffer_errors",
        "a sender of this machine found a socket's buffer full: it waited, or a datagram was not sent: \
         `net.core.wmem_default` is small, or the link is the limit",
    ),
    (
        "udp_checksum_errors",
        "datagrams came damaged: a card or the way changes bytes",
    ),
    (
        "tcp_timeouts",
        "TCP of this machine waited for answers until its time-out (0.2 s at least): a flow stood still",
    ),
    (
        "tcp_listen_drops",
        "connections to this machine were dropped, because a listener's queue was full",
    ),
    (
        "tcp_pruned",
        "TCP of this machine threw away what had come, because a buffer was full: `net.ipv4.tcp_rmem` is small",
    ),
];

/// Counters of a round.
#[derive(Debug)]
pub(super) struct Kernel {
    network: Network,
    last: Counts,
    /// When a step ends; 0 before the first one begins.
    next: u64,
    steps: Vec<Counts>,
}

impl Kernel {
    /// Opens what is read later: looks take no memory.
    pub(super) fn new() -> Self {
        Self {
            network: Network::open(),
            last: [None; COUNTERS.len()],
            next: 0,
            steps: Vec::with_capacity(LOOKS_MAX),
        }
    }

    /// From now on.
    pub(super) fn begins(&mut self, now: u64) {
        self.last = self.network.read();
        self.next = now.saturating_add(STEP_NS);
        self.steps.clear();
    }

    /// Looks where a second is over; the first look begins one.
    #[inline]
    pub(super) fn look(&mut self, now: u64) {
        if self.next == 0 {
            self.begins(now);
        } else if now >= self.next && self.steps.len() + 1 < LOOKS_MAX {
            let counts = self.network.read();
            self.step(counts);
            // In seconds in which nobody looked nothing is known to have happened.
            self.next = self.next.saturating_add(STEP_NS);
            while now >= self.next && self.steps.len() + 1 < LOOKS_MAX {
                self.steps.push([None; COUNTERS.len()]);
                self.next = self.next.saturating_add(STEP_NS);
            }
        }
    }

    fn step(&mut self, counts: Counts) {
        let mut grew = counts;
        for (grew, last) in grew.iter_mut().zip(self.last) {
            *grew = grew.zip(last).map(|(now, last)| now.saturating_sub(last));
        }
        self.last = counts;
        self.steps.push(grew);
    }

    /// The end, before anything stops: who stops to receive drops what still comes.
    pub(super) fn ends(&mut self) {
        let counts = self.network.read();
        self.step(counts);
    }

    /// Tells what grew. The last value of a series may be of a shorter time than the others.
    pub(super) fn tell(&self, finish: &mut Finish) {
        tell(&self.steps, finish);
    }
}

fn tell(steps: &[Counts], finish: &mut Finish) {
    for (place, name) in COUNTERS.iter().enumerate() {
        let own = || steps.iter().map(|step| step[place]);
        if own().flatten().all(|count| count == 0) {
            continue;
        }
        let series = Series {
            step: Nanos(STEP_NS),
            values: own().map(|count| count.map(approx)).collect(),
        };
        finish.series.insert((*name).to_owned(), series);
        let means = MEANS.iter().find(|(of, _)| of == name);
        finish
            .notes
            .extend(means.map(|(_, words)| format!("{words} (series `{name}`)")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told where these counters grew so, second by second.
    fn told(grew: &[&[(&str, u64)]]) -> Finish {
        let mut finish = Finish::default();
        let step = |grew: &&[(&str, u64)]| {
            let of = |name: &str| grew.iter().find(|(own, _)| *own == name);
            COUNTERS.map(|name| Some(of(name).map_or(0, |(_, count)| *count)))
        };
        let steps: Vec<Counts> = grew.iter().map(step).collect();
        tell(&steps, &mut finish);
        finish
    }

    #[test]
    fn what_grew_is_a_series_and_what_means_something_is_said_once() {
        let quiet = told(&[&[], &[]]);
        assert!(quiet.series.is_empty() && quiet.notes.is_empty());
        let finish = told(&[
            &[("udp_receive_buffer_errors", 12), ("tcp_in_segments", 5)],
            &[],
            &[("udp_receive_buffer_errors", 1)],
        ]);
        let values = |name: &str| finish.series[name].values.clone();
        assert_eq!(
            values("udp_receive_buffer_errors"),
            [Some(12.0), Some(0.0), Some(1.0)]
        );
        assert_eq!(finish.series.len(), 2);
        assert_eq!(finish.notes.len(), 1, "{:?}", finish.notes);
        assert!(finish.notes[0].contains("`net.core.rmem_default`"));
    }

    #[test]
    fn a_counter_that_is_not_known_is_no_series() {
        let mut finish = Finish::default();
        tell(&[[None; COUNTERS.len()]], &mut finish);
        assert!(finish.series.is_empty() && finish.notes.is_empty());
    }

    #[test]
    fn every_meaning_is_of_a_counter() {
        for (name, _) in MEANS {
            assert!(COUNTERS.contains(&name), "{name}");
        }
        for (def, name) in SERIES.iter().zip(COUNTERS) {
            assert_eq!(def.quantity, name);
        }
    }

    #[test]
    fn seconds_are_counted_apart_and_a_look_before_one_is_over_reads_nothing() {
        let mut kernel = Kernel::new();
        let at = |seconds: u64| 7 + seconds * STEP_NS;
        kernel.look(at(0));
        kernel.look(at(1) - 1);
        assert!(kernel.steps.is_empty());
        kernel.look(at(1));
        // Nobody looked for two seconds.
        kernel.look(at(4));
        assert_eq!(kernel.steps.len(), 4);
        assert!(kernel.steps[2].iter().all(Option::is_none));
        let mut finish = Finish::default();
        kernel.ends();
        kernel.tell(&mut finish);
        let lengths = finish.series.values().map(|series| series.values.len());
        assert!(lengths.into_iter().all(|length| length == 5));
    }
}
