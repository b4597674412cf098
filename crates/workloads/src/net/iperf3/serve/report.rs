//! What came of a test: as iperf3's results, and as a line.

use super::super::stream_id;
use super::super::words::{Bits, Bytes};
use super::super::{Results, StreamResults};
use super::flows::{Carrier, Flowed};
use super::order::{Direction, Order};
use model::num::{approx, round_to_u64};
use std::fmt::Write as _;
use std::os::fd::AsFd;
use sys::process::Usage;

/// Not a sender, or not known.
const NONE: i64 = -1;

/// What was counted here.
pub(super) struct Tested {
    pub(super) order: Order,
    /// In the order in which the streams were connected.
    pub(super) flowed: Vec<Flowed>,
    /// How long was counted.
    pub(super) nanos: u64,
    /// The same, with the beginning that is not counted.
    pub(super) all_nanos: u64,
    /// CPU time of all of it.
    pub(super) used: Usage,
}

impl Tested {
    fn streams(&self) -> impl Iterator<Item = (i64, &Flowed)> {
        let places = (0..).zip(&self.flowed);
        places.map(|(place, flowed)| (stream_id(place), flowed))
    }

    fn seconds(&self) -> f64 {
        approx(self.nanos) / 1e9
    }

    fn bytes(&self) -> u64 {
        self.flowed.iter().map(|flowed| flowed.tally.bytes).sum()
    }

    /// As the client reads it.
    pub(super) fn results(&self) -> Results {
        let percent = |nanos: u64| Some(100.0 * approx(nanos) / approx(self.all_nanos.max(1)));
        let sends = self.order.direction == Direction::Down;
        Results {
            cpu_util_total: percent(self.used.user + self.used.system),
            cpu_util_user: percent(self.used.user),
            cpu_util_system: percent(self.used.system),
            sender_has_retransmits: match (sends, self.order.udp) {
                (true, None) => 1,
                (true, Some(_)) => 0,
                (false, _) => NONE,
            },
            congestion_used: congestion(&self.flowed),
            streams: self.streams().map(|stream| self.result(stream)).collect(),
            ..Results::default()
        }
    }

    fn result(&self, (id, flowed): (i64, &Flowed)) -> StreamResults {
        let tally = &flowed.tally;
        let receives = self.order.direction == Direction::Up;
        StreamResults {
            id,
            bytes: whole(tally.bytes),
            retransmits: flowed.retransmits.map_or(NONE, whole),
            jitter: Some(if receives { tally.jitter_us / 1e6 } else { 0.0 }),
            errors: whole(tally.lost),
            packets: whole(tally.packets),
            omitted_errors: Some(whole(tally.omitted_lost)),
            omitted_packets: Some(whole(tally.omitted_packets)),
            start_time: Some(0.0),
            end_time: Some(self.seconds()),
        }
    }
}

/// Datagrams that were lost and all of them, without those of the beginning that is not counted.
const fn counted(flowed: &Flowed) -> (u64, u64) {
    (flowed.tally.counted_lost(), flowed.tally.counted())
}

/// The congestion control of the first connection of TCP.
fn congestion(flowed: &[Flowed]) -> Option<String> {
    match flowed.first()?.carrier.as_ref()? {
        Carrier::Tcp(stream) => sys::tcp::congestion(stream.as_fd()).ok(),
        Carrier::Udp(..) => None,
    }
}

/// iperf3 reads integers of 64 bits with a sign.
fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn rate(bytes: u64, seconds: f64) -> u64 {
    if seconds > 0.0 {
        round_to_u64(approx(bytes) * 8.0 / seconds)
    } else {
        0
    }
}

/// A line of what was counted here, and by the client, whose bytes decide what it received.
pub(super) fn told(tested: &Tested, theirs: Option<&Results>) -> String {
    let seconds = tested.seconds();
    let mut text = format!("{seconds:.2} s");
    let bytes = amount(tested.bytes(), seconds);
    match tested.order.direction {
        Direction::Up => {
            let _ = write!(text, ", received {bytes}");
            if tested.order.udp.is_some() {
                let all = tested.flowed.iter().map(counted);
                let (lost, packets) = all.fold((0_u64, 0_u64), |sum, one| {
                    (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
                });
                let _ = write!(text, ", lost {lost} of {packets} datagrams");
            }
        }
        Direction::Down => {
            let _ = write!(text, ", sent {bytes}");
            if let Some(theirs) = theirs {
                let streams = tested.streams();
                let received = streams.filter_map(|(id, _)| theirs.stream(id));
                let received = received.map(|stream| u64::try_from(stream.bytes).unwrap_or(0));
                let received = Bytes(received.fold(0, u64::saturating_add));
                let _ = write!(text, " (the client says that {received} came)");
            }
        }
    }
    for (id, flowed) in tested.streams() {
        if let Some(error) = &flowed.error {
            let _ = write!(text, "; stream {id} failed: {error}");
            break;
        }
    }
    text
}

fn amount(bytes: u64, seconds: f64) -> String {
    format!("{} ({})", Bytes(bytes), Bits(rate(bytes, seconds)))
}
