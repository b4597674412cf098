//! What a test comes to: from what was counted here, and from what the server says.

use super::flows::Flowed;
use super::test::Order;
use crate::net::figures::{self, Moment, queued, seconds_of, streams_of, wrong};
use crate::net::iperf3::{Results, StreamResults, stream_id};
use crate::net::peer::Peer;
use engine::recorder::Latencies;
use engine::workload::WorkError;
use model::num::{approx, count};
use sys::process::Usage;

/// A network may double datagrams; no more than all of them once, or the server counts something else.
const TWICE: u64 = 2;

/// When a test was what.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) started: Moment,
    pub(super) began: Moment,
    pub(super) ended: Moment,
    /// Whether the server leaves out a beginning.
    pub(super) omits: bool,
}

impl Span {
    /// Seconds, and CPU time here, of the part that counts.
    fn counted(&self) -> (f64, Usage) {
        let (seconds, used) = self.ended.since(self.began);
        (seconds.max(f64::MIN_POSITIVE), used)
    }
}

/// What a test came to.
#[derive(Debug)]
pub(super) struct Outcome {
    /// Bytes per second that the receiver received, and that the sender sent.
    pub(super) rate: f64,
    pub(super) sent: f64,
    pub(super) lost_share: f64,
    /// Where this side received: what came out of order, and what came twice.
    pub(super) order: Option<(f64, f64)>,
    pub(super) jitter_ns: Option<f64>,
    /// Where this side sent.
    pub(super) late: Latencies,
    /// Of how many seconds, at the end, nothing has arrived of what was sent.
    pub(super) unseen: f64,
    /// Whether what was lost of the beginning that does not count is in it.
    pub(super) with_omitted: bool,
    /// That a queue on the way held what was sent here.
    pub(super) queued: Option<String>,
    /// What is to be said of trains of datagrams.
    pub(super) of_trains: Option<String>,
    /// Bytes that went through this side, and what it used for them.
    pub(super) here: (u64, Usage),
    pub(super) theirs: Results,
}

fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What the server is told of our side.
pub(super) fn ours(span: &Span, flowed: &[Flowed], up: bool) -> Results {
    let (seconds, _) = span.counted();
    let stream = |(place, flow): (u32, &Flowed)| {
        let tally = &flow.tally;
        StreamResults {
            id: stream_id(place),
            bytes: whole(tally.bytes),
            retransmits: -1,
            jitter: Some(tally.jitter_us / 1e6),
            errors: whole(tally.lost),
            packets: whole(tally.packets),
            omitted_errors: Some(whole(tally.omitted_lost)),
            omitted_packets: Some(whole(tally.omitted_packets)),
            start_time: Some(0.0),
            end_time: Some(seconds),
        }
    };
    let streams = (0..).zip(flowed).map(stream).collect();
    Results {
        sender_has_retransmits: if up { 0 } else { -1 },
        ..figures::ours(span.started, span.ended, streams)
    }
}

/// What the test came to; of one in which data came here, also where the server does not say its part.
pub(super) fn outcome(
    span: &Span,
    flowed: &[Flowed],
    theirs: Option<Results>,
    order: &Order,
    peer: &Peer,
) -> Result<Outcome, WorkError> {
    let said = theirs
        .as_ref()
        .map(|theirs| streams_of(theirs, flowed.len(), peer));
    let said = said.transpose()?.unwrap_or_default();
    let (seconds, used) = span.counted();
    let bytes = flowed.iter().map(|flow| flow.tally.bytes).sum();
    let mut outcome = Outcome {
        rate: 0.0,
        sent: 0.0,
        lost_share: 0.0,
        order: None,
        jitter_ns: None,
        late: Latencies::default(),
        unseen: 0.0,
        with_omitted: false,
        queued: None,
        of_trains: None,
        here: (bytes, used),
        theirs: Results::default(),
    };
    if order.up {
        there(&mut outcome, span, flowed, &said, (order, peer))?;
    } else {
        here(&mut outcome, seconds, flowed, &said, peer)?;
    }
    for flow in flowed {
        outcome.late.absorb(&flow.late);
    }
    let a_second = approx(order.bits_per_s) / 8.0 / count(order.size) * count(flowed.len());
    outcome.unseen /= a_second.max(f64::MIN_POSITIVE);
    outcome.theirs = theirs.unwrap_or_default();
    if outcome.rate <= 0.0 {
        return Err(nothing_came(order, peer));
    }
    Ok(outcome)
}

/// A number of a stream that may not be negative.
fn number(value: i64, what: &str, peer: &Peer) -> Result<u64, WorkError> {
    u64::try_from(value).map_err(|_| wrong(peer, format!("it says that {what} are {value}")))
}

/// What the server received.
fn there(
    outcome: &mut Outcome,
    span: &Span,
    flowed: &[Flowed],
    said: &[&StreamResults],
    (order, peer): (&Order, &Peer),
) -> Result<(), WorkError> {
    let (seconds, _) = span.counted();
    let (mut all, mut lost, mut jitter) = (0_u64, 0_u64, Some(0.0));
    outcome.queued = queued(said, seconds);
    for (flow, stream) in flowed.iter().zip(said) {
        let sent = flow.tally.packets;
        let packets = number(stream.packets, "datagrams", peer)?;
        let errors = number(stream.errors, "losses", peer)?;
        let bytes = number(stream.bytes, "bytes", peer)?;
        if packets > sent || errors > packets {
            let what = format!(
                "it says that {packets} datagrams came or were lost, {errors} of them lost, and {sent} were sent"
            );
            return Err(wrong(peer, what));
        }
        let most = sent.saturating_mul(order.size as u64).saturating_mul(TWICE);
        if bytes > most {
            let what = format!(
                "it says that it received {bytes} bytes, and {sent} datagrams of {} were sent",
                order.size
            );
            return Err(wrong(peer, what));
        }
        let own = seconds_of(stream, seconds, peer)?;
        // What came in a test without `omit` was sent in our time; the server's begins sooner.
        let is_own = span.omits || outcome.queued.is_some();
        outcome.rate += approx(bytes) / if is_own { own } else { seconds };
        outcome.sent += approx(flow.tally.bytes) / seconds;
        outcome.unseen += approx(sent - packets);
        let omitted = |told: Option<i64>| u64::try_from(told.unwrap_or(0)).unwrap_or(0);
        outcome.with_omitted |= span.omits && stream.omitted_packets.is_none();
        all += packets.saturating_sub(omitted(stream.omitted_packets));
        lost += errors.saturating_sub(omitted(stream.omitted_errors));
        // None is longer than the test.
        let own = stream.jitter.filter(|jitter| (0.0..=own).contains(jitter));
        jitter = jitter.zip(own).map(|(sum, own)| sum + own);
    }
    outcome.lost_share = share(lost, all);
    outcome.jitter_ns = jitter.map(|sum| sum * 1e9 / count(said.len()));
    Ok(())
}

/// What was received here.
fn here(
    outcome: &mut Outcome,
    seconds: f64,
    flowed: &[Flowed],
    said: &[&StreamResults],
    peer: &Peer,
) -> Result<(), WorkError> {
    let (mut all, mut lost, mut late, mut doubled, mut jitter) = (0, 0, 0, 0, 0.0);
    for (place, flow) in flowed.iter().enumerate() {
        let tally = &flow.tally;
        outcome.rate += approx(tally.bytes) / seconds;
        all = tally.counted().saturating_add(all);
        lost = tally.counted_missing().saturating_add(lost);
        late += tally.out_of_order - tally.doubled;
        doubled += tally.doubled;
        jitter += tally.jitter_us;
        let Some(stream) = said.get(place) else {
            continue;
        };
        let sent = number(stream.packets, "datagrams", peer)?;
        if tally.packets > sent {
            let what = format!(
                "it says that it sent {sent} datagrams, and number {} came",
                tally.packets
            );
            return Err(wrong(peer, what));
        }
        let own = seconds_of(stream, seconds, peer)?;
        outcome.sent += approx(number(stream.bytes, "bytes", peer)?) / own;
        outcome.unseen += approx(sent - tally.packets);
    }
    outcome.lost_share = share(lost, all);
    outcome.order = Some((share(late, all), share(doubled, all)));
    outcome.jitter_ns = Some(jitter * 1e3 / count(flowed.len()));
    Ok(())
}

fn share(part: u64, all: u64) -> f64 {
    approx(part) / approx(all.max(1))
}

fn nothing_came(order: &Order, peer: &Peer) -> WorkError {
    let port = peer.port();
    let (doing, direction) = if order.up {
        ("send to", "to")
    } else {
        ("receive from", "from")
    };
    WorkError::Failed(format!(
        "{doing} `{peer}`: of {order} none has arrived, though the first word by UDP has\nhint: they may be too long \
         for the way, which does not say so: `--set 'net.udp*.size=1200'`; or a packet filter drops what goes \
         {direction} UDP port {port} there"
    ))
}
