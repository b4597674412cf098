//! The end of a document: what both ends have counted, of each stream and of all.

use super::super::text::congestions;
use super::super::{by_direction, datagrams, lost_percent, retransmits, sent, socket, sum};
use super::{Came, DatagramsOfPart, Real, Span, Sum, micros, seconds};
use model::flows::{Carried, Counted, Cpu, Datagrams, Ended};
use model::units::Nanos;
use serde::Serialize;

/// The end; empty where it did not come so far.
#[derive(Default, Serialize)]
pub(super) struct End<'a> {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    streams: Vec<Stream>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_sent: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_received: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_bidir_reverse: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_sent_bidir_reverse: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sum_received_bidir_reverse: Option<Sum>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu_utilization_percent: Option<Used>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender_tcp_congestion: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver_tcp_congestion: Option<&'a str>,
}

#[derive(Serialize)]
struct Stream {
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<OfDatagrams>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sender: Option<Sending>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receiver: Option<Receiving>,
}

#[derive(Serialize)]
struct Sending {
    socket: usize,
    #[serde(flatten)]
    span: Span,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmits: Option<u64>,
    #[serde(flatten)]
    peaks: Option<PeaksOfSender>,
    sender: bool,
}

#[derive(Serialize)]
struct PeaksOfSender {
    max_snd_cwnd: u64,
    max_snd_wnd: u64,
    max_rtt: u64,
    min_rtt: u64,
    mean_rtt: u64,
}

/// A flow of UDP, of both ends in one.
#[derive(Serialize)]
struct OfDatagrams {
    socket: usize,
    #[serde(flatten)]
    span: Span,
    #[serde(flatten)]
    came: Came,
    packets: u64,
    lost_percent: Real,
    out_of_order: u64,
    sender: bool,
}

#[derive(Serialize)]
struct Receiving {
    socket: usize,
    #[serde(flatten)]
    span: Span,
    sender: bool,
}

#[derive(Serialize)]
struct Used {
    host_total: Real,
    host_user: Real,
    host_system: Real,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_total: Option<Real>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_user: Option<Real>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_system: Option<Real>,
}

impl Used {
    fn of(here: Cpu, there: Cpu) -> Option<Self> {
        Some(Self {
            host_total: Real(here.total_percent?),
            host_user: Real(here.user_percent?),
            host_system: Real(here.system_percent?),
            remote_total: there.total_percent.map(Real),
            remote_user: there.user_percent.map(Real),
            remote_system: there.system_percent.map(Real),
        })
    }
}

impl Stream {
    fn of((place, flow): (usize, &Carried)) -> Self {
        let (socket, sender) = (socket(place), flow.sends);
        let span = |counted| Span::of(Nanos::ZERO, counted);
        if let Some(both) = both(flow.sent.or(flow.received), sent(flow), flow.datagrams) {
            let (counted, own) = both;
            let udp = OfDatagrams {
                socket,
                span: span(counted),
                came: Came::of(own),
                packets: own.packets,
                lost_percent: Real(lost_percent(own)),
                out_of_order: own.out_of_order,
                sender,
            };
            return Self {
                udp: Some(udp),
                sender: None,
                receiver: None,
            };
        }
        let peaks = flow.peaks.map(|peaks| PeaksOfSender {
            max_snd_cwnd: peaks.snd_cwnd.0,
            max_snd_wnd: peaks.snd_wnd.0,
            max_rtt: micros(peaks.rtt_max),
            min_rtt: micros(peaks.rtt_min),
            mean_rtt: micros(peaks.rtt_mean),
        });
        Self {
            udp: None,
            sender: flow.sent.map(|sent| Sending {
                socket,
                span: span(sent),
                retransmits: flow.retransmits,
                peaks,
                sender,
            }),
            receiver: flow.received.map(|received| Receiving {
                socket,
                span: span(received),
                sender,
            }),
        }
    }
}

/// What was sent, by what was lost of it; of an end that is not known, as the other one has it.
fn both(
    counted: Option<Counted>,
    sent: Option<Datagrams>,
    received: Option<Datagrams>,
) -> Option<(Counted, Datagrams)> {
    let own = received.or(sent)?;
    let packets = sent.map_or(own.packets, |sent| sent.packets);
    Some((counted?, Datagrams { packets, ..own }))
}

/// All flows of a direction.
struct Sums {
    sends: bool,
    sum: Option<Sum>,
    sent: Option<Sum>,
    received: Option<Sum>,
}

impl Sums {
    fn of(sends: bool, flows: &[&Carried]) -> Self {
        let all =
            |of: fn(&Carried) -> Option<Datagrams>| datagrams(flows.iter().map(|flow| of(flow)));
        let (by_sender, by_receiver) = (all(sent), all(|flow| flow.datagrams));
        let (sent, received) = (
            sum(flows, |flow| flow.sent),
            sum(flows, |flow| flow.received),
        );
        let is_udp = by_sender.is_some() || by_receiver.is_some();
        let part = |own| DatagramsOfPart::of(own, false);
        let of = |counted: Option<Counted>, retransmits, datagrams: Option<Datagrams>, sender| {
            Some(Sum {
                span: Span::of(Nanos::ZERO, counted?),
                retransmits,
                datagrams: datagrams.map(part),
                omitted: None,
                // Of UDP it says whose figures these are, of TCP which way they went.
                sender: if is_udp { sender } else { sends },
            })
        };
        // The receiver's time, and the sender's bytes and rate: so iperf3 has it.
        let both = both(sent.or(received), by_sender, by_receiver).map(|(counted, own)| {
            let end = received.unwrap_or(counted).span;
            let mut span = Span::of(Nanos::ZERO, counted);
            (span.end, span.seconds) = (seconds(end), seconds(end));
            Sum {
                span,
                retransmits: None,
                datagrams: Some(part(own)),
                omitted: None,
                sender: sends,
            }
        });
        Self {
            sends,
            sum: both,
            sent: of(sent, retransmits(flows), by_sender, true),
            received: of(received, None, by_receiver, false),
        }
    }
}

impl<'a> End<'a> {
    pub(super) fn of(ended: &'a Ended) -> Self {
        let mut sums = by_direction(&ended.flows).map(|(sends, flows)| {
            let flows: Vec<&Carried> = flows.into_iter().map(|(_, flow)| flow).collect();
            Sums::of(sends, &flows)
        });
        let first = sums.next().unwrap_or_else(|| Sums::of(true, &[]));
        let other = sums.next().unwrap_or_else(|| Sums::of(false, &[]));
        let sends = first.sends;
        let [sender_tcp_congestion, receiver_tcp_congestion] = congestions(ended, sends);
        Self {
            streams: ended.flows.iter().enumerate().map(Stream::of).collect(),
            sum: first.sum,
            sum_sent: first.sent,
            sum_received: first.received,
            sum_bidir_reverse: other.sum,
            sum_sent_bidir_reverse: other.sent,
            sum_received_bidir_reverse: other.received,
            cpu_utilization_percent: Used::of(ended.cpu, ended.remote_cpu),
            sender_tcp_congestion,
            receiver_tcp_congestion,
        }
    }
}
