//! What iperf3 3.12 prints of a test: its lines, and its JSON.

pub mod json;
mod scale;
#[cfg(test)]
mod tests;
pub mod text;

use model::flows::{Carried, Counted, Datagrams};
use model::units::Nanos;

/// Who prints, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// `iperf 3.12`, whose forms these are, and who made them.
    pub version: String,
    /// The system, as uname(1) says it.
    pub system: String,
    /// `Fri, 27 Nov 2026 13:47:09 GMT`, when the test began.
    pub time: String,
    /// The same in seconds since 1970.
    pub time_s: u64,
}

/// The number by which lines and documents name a stream: as iperf3's sockets have it as a rule, which scripts look
/// for.
const fn socket(place: usize) -> usize {
    let gap = if place < 3 { 0 } else { 1 };
    5 + 2 * place + gap
}

/// Bits per second.
fn bits_per_s(counted: Counted) -> f64 {
    let seconds = counted.span.as_secs_f64();
    if seconds > 0.0 {
        model::num::approx(counted.bytes.0) * 8.0 / seconds
    } else {
        0.0
    }
}

/// All flows of one direction together; `None` where one of them is not known.
fn sum(flows: &[&Carried], of: impl Fn(&Carried) -> Option<Counted>) -> Option<Counted> {
    let all: Option<Vec<Counted>> = flows.iter().map(|flow| of(flow)).collect();
    let mut all = all?.into_iter();
    let first = all.next()?;
    Some(all.fold(first, |sum, one| Counted {
        bytes: model::units::Bytes(sum.bytes.0.saturating_add(one.bytes.0)),
        span: Nanos(sum.span.0.max(one.span.0)),
    }))
}

/// Datagrams of all flows, as one end has them: their jitter is the mean. `None` where one of them is not known.
fn datagrams(all: impl Iterator<Item = Option<Datagrams>>) -> Option<Datagrams> {
    let all: Vec<Datagrams> = all.collect::<Option<_>>()?;
    let flows = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let sum = |of: fn(&Datagrams) -> u64| all.iter().map(of).fold(0, u64::saturating_add);
    (flows > 0).then(|| Datagrams {
        packets: sum(|one| one.packets),
        lost: sum(|one| one.lost),
        out_of_order: sum(|one| one.out_of_order),
        jitter: Nanos(sum(|one| one.jitter.0) / flows),
    })
}

/// As the sender has them: it knows of no loss.
fn sent(flow: &Carried) -> Option<Datagrams> {
    let packets = flow.sent_packets?;
    Some(Datagrams {
        packets,
        ..Datagrams::default()
    })
}

/// What was lost, in per cent.
fn lost_percent(datagrams: Datagrams) -> f64 {
    let all = model::num::approx(datagrams.packets.max(1));
    100.0 * model::num::approx(datagrams.lost) / all
}

/// Segments of all flows that were sent again, where each is known.
fn retransmits(flows: &[&Carried]) -> Option<u64> {
    let mut all = flows.iter().map(|flow| flow.retransmits);
    all.try_fold(0, |sum: u64, of_one| Some(sum.saturating_add(of_one?)))
}

/// The flows of each direction that there is, those that send first.
fn by_direction(flows: &[Carried]) -> impl Iterator<Item = (bool, Vec<(usize, &Carried)>)> {
    [true, false].into_iter().filter_map(move |sends| {
        let all = (0..).zip(flows).filter(|(_, flow)| flow.sends == sends);
        let all: Vec<(usize, &Carried)> = all.collect();
        (!all.is_empty()).then_some((sends, all))
    })
}
