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

/// From this part of what is allowed on, a rate that nobody asked for was held to it: pacing is exact to a percent, and
/// the first and the last moment of a test have less.
const HELD_FROM: f64 = 0.95;
const HELD_FOR_S: f64 = 0.5;

/// What was counted here.
pub(super) struct Tested {
    pub(super) order: Order,
    /// Bits per second that were allowed in each direction.
    pub(super) limit: u64,
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

    fn bytes(&self, wanted: Direction) -> u64 {
        let streams = self.streams();
        let of = streams.filter(|(_, direction, _)| *direction == wanted);
        of.map(|(_, _, flowed)| flowed.tally.bytes).sum()
    }

    /// That the rate is what is allowed, where the client asked for none and it is.
    fn held(&self) -> Option<Bits> {
        let least = HELD_FROM * approx(self.limit);
        let is_held = |way| approx(rate(self.bytes(way), self.seconds())) >= least;
        let any = [Direction::Up, Direction::Down].into_iter().any(is_held);
        // What is over at once was not held up.
        let is_free = self.order.bits_per_s.is_none() && self.seconds() >= HELD_FOR_S;
        (is_free && any).then_some(Bits(self.limit))
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
            held_to: self.held().and_then(|Bits(held)| i64::try_from(held).ok()),
            ..Results::default()
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
        if let Some(held) = self.held() {
            let _ = writeln!(
                text,
                "the rate was held to {held} by `--max-rate` of this server"
            );
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
        let bytes = tested.bytes(Direction::Up);
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
        let bytes = tested.bytes(Direction::Down);
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
    if let Some(held) = tested.held() {
        let _ = write!(text, "; held to {held} by `--max-rate`");
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

#[cfg(test)]
mod tests {
    use super::super::super::Parameters;
    use super::super::order::{Limits, order};
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_rate_that_the_limit_decided_is_told_to_both() {
        let held = |asked: &str, bytes: u64| {
            let limits = Limits {
                bits_per_s: 80_000_000,
                time: Duration::from_secs(60),
            };
            let asked = Parameters::of(asked.as_bytes()).unwrap();
            let order = order(&asked, limits, limits.time).unwrap();
            let streams = order.directions.iter();
            let flowed = streams.map(|_| {
                let mut one = Flowed::default();
                one.tally.bytes = bytes;
                one
            });
            let tested = Tested {
                flowed: flowed.collect(),
                order,
                limit: limits.bits_per_s,
                nanos: 2_000_000_000,
                all_nanos: 2_000_000_000,
                used: Usage::default(),
            };
            let [text, line] = [tested.text(), told(&tested, None)];
            let says = |text: &str| text.contains("held to 80.00 Mbit/s by `--max-rate`");
            assert_eq!(says(&text), says(&line), "{text} {line}");
            says(&text)
        };
        // 10 MB are what may pass in a second, all streams of a direction together.
        assert!(held(r#"{"tcp":true,"time":2}"#, 19_900_000));
        assert!(held(
            r#"{"tcp":true,"time":2,"parallel":2,"reverse":true}"#,
            9_900_000
        ));
        assert!(held(
            r#"{"tcp":true,"time":2,"bidirectional":true}"#,
            19_900_000
        ));
        assert!(!held(r#"{"tcp":true,"time":2}"#, 15_000_000));
        assert!(!held(
            r#"{"tcp":true,"time":2,"bidirectional":true}"#,
            9_900_000
        ));
        // Whoever asked for it has what it asked for.
        let asked = r#"{"tcp":true,"time":2,"bandwidth":80000000}"#;
        assert!(!held(asked, 19_900_000));
    }
}
