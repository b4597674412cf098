//! What came of a test: as iperf3's results, as a text for its client, and as a line.

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
    /// In the order of the directions.
    pub(super) flowed: Vec<Flowed>,
    /// How long was counted.
    pub(super) nanos: u64,
    /// The same, with the beginning that is not counted.
    pub(super) all_nanos: u64,
    /// CPU time of all of it.
    pub(super) used: Usage,
}

impl Tested {
    fn streams(&self) -> impl Iterator<Item = (i64, Direction, &Flowed)> {
        let directions = self.order.directions.iter().zip(&self.flowed);
        (0..)
            .zip(directions)
            .map(|(place, (direction, flowed))| (stream_id(place), *direction, flowed))
    }

    fn seconds(&self) -> f64 {
        approx(self.nanos) / 1e9
    }

    /// As the client reads it.
    pub(super) fn results(&self) -> Results {
        let percent = |nanos: u64| Some(100.0 * approx(nanos) / approx(self.all_nanos.max(1)));
        let sends_tcp = self.order.udp.is_none() && self.order.count(Direction::Down) > 0;
        Results {
            cpu_util_total: percent(self.used.user + self.used.system),
            cpu_util_user: percent(self.used.user),
            cpu_util_system: percent(self.used.system),
            sender_has_retransmits: match (sends_tcp, self.order.count(Direction::Down)) {
                (true, _) => 1,
                (false, 0) => NONE,
                (false, _) => 0,
            },
            congestion_used: congestion(&self.flowed),
            streams: self.streams().map(|stream| self.result(stream)).collect(),
            server_output_text: None,
            server_output_json: None,
        }
    }

    fn result(&self, (id, direction, flowed): (i64, Direction, &Flowed)) -> StreamResults {
        let tally = &flowed.tally;
        let receives = direction == Direction::Up;
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

    /// What a client that asked for the server's own words gets.
    pub(super) fn text(&self) -> String {
        let mut text = format!("kurabe {}: {}\n", env!("CARGO_PKG_VERSION"), self.order);
        for (id, direction, flowed) in self.streams() {
            let verb = match direction {
                Direction::Up => "received",
                Direction::Down => "sent",
            };
            let bytes = flowed.tally.bytes;
            let rate = Bits(rate(bytes, self.seconds()));
            let _ = write!(text, "[{id:3}] {verb} {}, {rate}", Bytes(bytes));
            if self.order.udp.is_some() && direction == Direction::Up {
                let (lost, packets) = counted(flowed);
                let jitter = flowed.tally.jitter_us / 1e3;
                let late = flowed.tally.out_of_order;
                let _ = write!(
                    text,
                    ", jitter {jitter:.3} ms, lost {lost} of {packets}, out of order {late}"
                );
            }
            if let Some(again) = flowed.retransmits {
                let _ = write!(text, ", {again} segments again");
            }
            text.push('\n');
        }
        text
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
    let of = |wanted: Direction| {
        tested
            .streams()
            .filter(move |(_, direction, _)| *direction == wanted)
    };
    if tested.order.count(Direction::Up) > 0 {
        let bytes = of(Direction::Up)
            .map(|(_, _, flowed)| flowed.tally.bytes)
            .sum();
        let _ = write!(text, ", received {}", amount(bytes, seconds));
        if tested.order.udp.is_some() {
            let all = of(Direction::Up).map(|(_, _, flowed)| counted(flowed));
            let (lost, packets) = all.fold((0_u64, 0_u64), |sum, one| {
                (sum.0.saturating_add(one.0), sum.1.saturating_add(one.1))
            });
            let _ = write!(text, ", lost {lost} of {packets} datagrams");
        }
    }
    if tested.order.count(Direction::Down) > 0 {
        let bytes = of(Direction::Down)
            .map(|(_, _, flowed)| flowed.tally.bytes)
            .sum();
        let _ = write!(text, ", sent {}", amount(bytes, seconds));
        if let Some(theirs) = theirs {
            let received = of(Direction::Down)
                .filter_map(|(id, _, _)| theirs.stream(id))
                .map(|stream| u64::try_from(stream.bytes).unwrap_or(0))
                .fold(0, u64::saturating_add);
            let received = Bytes(received);
            let _ = write!(text, " (the client says that {received} came)");
        }
    }
    for (id, _, flowed) in tested.streams() {
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
