//! What a client asks for, held against what the server gives: an order that can be carried out, or a refusal.

use super::super::datagram::Width;
use super::super::error_numbers::{BLOCK_SIZE, DURATION, DURATION_MAX, STREAMS, TOTAL_RATE};
use super::super::parameters::{BLOCK_DEFAULT, Parameters};
use super::super::words::{Bits, Span};
use std::fmt;
use std::time::Duration;

/// What a stranger may use of this machine and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bits per second in each direction, all streams together.
    pub bits_per_s: u64,
    /// How long a test may last, with the beginning that is not counted.
    pub time: Duration,
}

impl Limits {
    /// For those who have the token: what iperf3 itself has at most, and a rate that no link has.
    pub(super) const NONE: Self = Self {
        bits_per_s: 1_000_000_000_000_000,
        time: Duration::from_secs(86_400 + 600),
    };
}

/// A datagram where nobody says another size: what a frame of Ethernet holds of it.
const DATAGRAM_DEFAULT: usize = 1460;

/// Blocks that are sent at once, at most. Source: iperf3's limit of `-b RATE/BLOCKS`.
const BURST_MAX: i64 = 1000;

/// A moment is this part of a second.
const MOMENTS_PER_S: usize = 10;

/// Who sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    /// The client.
    Up,
    /// The server.
    Down,
}

/// A test that is to be served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Order {
    /// UDP, with the width of its counts; otherwise TCP.
    pub(super) udp: Option<Width>,
    /// One for each stream, in the order in which they are connected.
    pub(super) directions: Vec<Direction>,
    /// Bytes of a block or datagram that the server sends.
    pub(super) length: usize,
    /// Bits per second of each stream that the server sends; `None` for as fast as the limit allows.
    pub(super) bits_per_s: Option<u64>,
    /// Blocks at once.
    pub(super) burst: usize,
    /// Not counted, from the beginning.
    pub(super) omit: Duration,
    /// How long it lasts after that, at most.
    pub(super) time: Duration,
    /// Whether it ends with that, and not with a number of bytes.
    pub(super) by_time: bool,
    /// How much is asked for, in words.
    amount: String,
}

/// Why there is no test, with iperf3's number for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(super) struct Refusal {
    pub(super) number: i32,
    words: String,
}

impl Refusal {
    fn new(number: i32, words: impl Into<String>) -> Self {
        let words = words.into();
        Self { number, words }
    }
}

/// The order of these parameters, for a server that is there for so long yet.
pub(super) fn order(asked: &Parameters, limits: Limits, left: Duration) -> Result<Order, Refusal> {
    asked.check().map_err(|error| unknown(error.number))?;
    let omit = seconds(asked.omit);
    let time = time(asked, limits, left)?;
    let bits_per_s = rate(asked, limits)?;
    let count = usize::try_from(asked.streams()).unwrap_or(1);
    let directions = match (asked.bidirectional, asked.reverse) {
        // The first half is the client's.
        (true, _) => [vec![Direction::Up; count], vec![Direction::Down; count]].concat(),
        (false, true) => vec![Direction::Down; count],
        (false, false) => vec![Direction::Up; count],
    };
    let default = if asked.udp {
        DATAGRAM_DEFAULT
    } else {
        usize::try_from(BLOCK_DEFAULT).unwrap_or(DATAGRAM_DEFAULT)
    };
    let length = usize::try_from(asked.len).ok();
    let length = length.filter(|&length| length > 0).unwrap_or(default);
    // What goes at once is a block of each stream, or what passes in a moment at the rate that is allowed.
    let allowed = usize::try_from(limits.bits_per_s / 8).unwrap_or(usize::MAX);
    if asked.udp && count * length > allowed {
        let words = "a datagram of each stream is more than `--max-rate` allows in a second";
        return Err(Refusal::new(TOTAL_RATE, words));
    }
    let burst = usize::try_from(asked.burst.clamp(1, BURST_MAX)).unwrap_or(1);
    Ok(Order {
        udp: asked.udp.then(|| asked.width()),
        directions,
        length,
        bits_per_s,
        burst: burst.min(allowed / MOMENTS_PER_S / (count * length)).max(1),
        omit,
        time,
        by_time: !asked.ends_by_bytes(),
        amount: amount(asked),
    })
}

/// What iperf3 itself does not take.
fn unknown(number: i32) -> Refusal {
    let words = match number {
        DURATION => "no version of iperf3 takes this duration",
        STREAMS => "no version of iperf3 takes so many streams",
        BLOCK_SIZE => "no version of iperf3 takes blocks of this size",
        _ => "SCTP, several paths of TCP, or values that no version of iperf3 takes",
    };
    Refusal::new(number, words)
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

/// How long the test may last: what was asked for, or as long as the limit allows where bytes or blocks are to end it.
fn time(asked: &Parameters, limits: Limits, left: Duration) -> Result<Duration, Refusal> {
    let refused = |words| Err(Refusal::new(DURATION_MAX, words));
    let (time, omit) = (seconds(asked.time), seconds(asked.omit));
    let ends_by_itself = asked.ends_by_bytes();
    if time.is_zero() && !ends_by_itself {
        return refused("a test without an end".to_owned());
    }
    let most = limits.time;
    if time + omit > most || (time.is_zero() && omit >= most) {
        return refused(format!(
            "{} are more than `--max-time {}` allows",
            Span(time + omit),
            Span(most)
        ));
    }
    if time + omit > left {
        return refused(format!(
            "{} are more than the {} that are left of `--for`",
            Span(time + omit),
            Span(left)
        ));
    }
    Ok(if ends_by_itself && time.is_zero() {
        most.saturating_sub(omit)
    } else {
        time
    })
}

/// Bits per second of each stream.
fn rate(asked: &Parameters, limits: Limits) -> Result<Option<u64>, Refusal> {
    let of_one = u64::try_from(asked.bandwidth).unwrap_or(0);
    if of_one == 0 {
        // TCP is held back by a receiver that reads no faster; what sends datagrams hears nothing of that.
        if asked.udp {
            let words = "UDP without a rate, which nothing would hold back";
            return Err(Refusal::new(TOTAL_RATE, words));
        }
        return Ok(None);
    }
    let of_all = of_one.saturating_mul(asked.streams().into());
    if of_all > limits.bits_per_s {
        let words = format!(
            "{} are more than `--max-rate` allows, {}",
            Bits(of_all),
            Bits(limits.bits_per_s)
        );
        return Err(Refusal::new(TOTAL_RATE, words));
    }
    Ok(Some(of_one))
}

fn amount(asked: &Parameters) -> String {
    let text = match (asked.num, asked.blockcount) {
        (1.., _) => format!("{} bytes", asked.num),
        (_, 1..) => format!("{} blocks", asked.blockcount),
        _ => Span(seconds(asked.time)).to_string(),
    };
    match asked.omit {
        0 => text,
        omit => format!("{text} after {} that do not count", Span(seconds(omit))),
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.udp.is_some() { "UDP" } else { "TCP" };
        let up = self.count(Direction::Up);
        let down = self.count(Direction::Down);
        let way = match (up, down) {
            (_, 0) => format!("{} to here", streams(up)),
            (0, _) => format!("{} from here", streams(down)),
            _ => format!("{} each way", streams(up)),
        };
        write!(f, "{protocol}, {way}")?;
        if let Some(bits) = self.bits_per_s {
            write!(f, " of {}", Bits(bits))?;
        }
        write!(f, ", {}", self.amount)
    }
}

fn streams(count: usize) -> String {
    match count {
        1 => "1 stream".to_owned(),
        _ => format!("{count} streams"),
    }
}

impl Order {
    /// How many streams go this way.
    pub(super) fn count(&self, direction: Direction) -> usize {
        let same = |other: &&Direction| **other == direction;
        self.directions.iter().filter(same).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        bits_per_s: 1_000_000_000,
        time: Duration::from_secs(60),
    };

    fn asked(text: &str) -> Result<Order, Refusal> {
        let left = Duration::from_secs(100);
        order(&Parameters::of(text.as_bytes()).unwrap(), LIMITS, left)
    }

    #[test]
    fn orders_are_told_in_words_and_their_streams_have_directions() {
        let check = |text: &str, words: &str| {
            assert_eq!(asked(text).unwrap().to_string(), words, "{text}");
        };
        check(r#"{"tcp":true,"time":10}"#, "TCP, 1 stream to here, 10 s");
        check(
            r#"{"tcp":true,"time":10,"omit":2,"parallel":4,"reverse":true,"bandwidth":1000000}"#,
            "TCP, 4 streams from here of 1.00 Mbit/s, 10 s after 2 s that do not count",
        );
        check(
            r#"{"udp":true,"time":10,"parallel":2,"bidirectional":true,"bandwidth":1048576}"#,
            "UDP, 2 streams each way of 1.05 Mbit/s, 10 s",
        );
        check(
            r#"{"tcp":true,"num":262144}"#,
            "TCP, 1 stream to here, 262144 bytes",
        );
        let both = asked(r#"{"tcp":true,"time":1,"parallel":2,"bidirectional":true}"#).unwrap();
        assert_eq!(
            both.directions,
            [
                Direction::Up,
                Direction::Up,
                Direction::Down,
                Direction::Down
            ]
        );
    }

    #[test]
    fn sizes_and_times_that_are_not_said_are_the_usual_ones() {
        let tcp = asked(r#"{"tcp":true,"num":5,"omit":2}"#).unwrap();
        assert_eq!((tcp.length, tcp.burst), (131_072, 1));
        assert_eq!(tcp.time, Duration::from_secs(58), "what the limit leaves");
        let udp = asked(r#"{"udp":true,"time":3,"bandwidth":8000,"burst":5000}"#).unwrap();
        assert_eq!((udp.length, udp.burst), (1460, 1000));
        assert_eq!(udp.udp, Some(Width::Bits32));
        // 12.5 MB are what may pass in a moment, all streams together.
        let many = r#"{"udp":true,"time":3,"bandwidth":1,"burst":1000,"len":62500,"parallel":20}"#;
        assert_eq!(asked(many).unwrap().burst, 10);
        let wide = r#"{"udp":true,"time":3,"bandwidth":8000,"udp_counters_64bit":1}"#;
        assert_eq!(asked(wide).unwrap().udp, Some(Width::Bits64));
    }

    #[test]
    fn more_than_the_limits_is_refused_by_iperf3_s_numbers() {
        let check = |text: &str, expected: i32, says: &str| {
            let refusal = asked(text).unwrap_err();
            assert_eq!(refusal.number, expected, "{text}");
            assert!(refusal.to_string().contains(says), "{refusal}");
        };
        check(r#"{"tcp":true,"time":61}"#, 37, "61 s are more than");
        check(
            r#"{"tcp":true,"time":59,"omit":2}"#,
            37,
            "`--max-time 60 s`",
        );
        check(r#"{"tcp":true,"num":5,"omit":60}"#, 37, "60 s are more");
        check(r#"{"tcp":true}"#, 37, "without an end");
        check(
            r#"{"tcp":true,"time":1,"parallel":2,"bandwidth":500000001}"#,
            27,
            "1.00 Gbit/s are more",
        );
        check(r#"{"udp":true,"time":1}"#, 27, "UDP without a rate");
        check(
            r#"{"udp":true,"time":1,"bandwidth":9223372036854775807,"parallel":128}"#,
            27,
            "--max-rate",
        );
        check(r#"{"sctp":true,"time":1}"#, 114, "SCTP");
        check(r#"{"tcp":true,"time":1,"parallel":200}"#, 6, "streams");
        // As much as is allowed, in both directions.
        asked(r#"{"tcp":true,"time":60,"bandwidth":1000000000,"bidirectional":true}"#).unwrap();
        let slow = Limits {
            bits_per_s: 80_000,
            ..LIMITS
        };
        let datagrams = |text: &[u8]| order(&Parameters::of(text).unwrap(), slow, LIMITS.time);
        datagrams(br#"{"udp":true,"time":1,"bandwidth":1,"parallel":10,"len":1000}"#).unwrap();
        let refusal = datagrams(br#"{"udp":true,"time":1,"bandwidth":1,"len":10001}"#).unwrap_err();
        assert_eq!(refusal.number, 27);
        assert!(refusal.to_string().contains("each stream"), "{refusal}");
        let left = Duration::from_secs(5);
        let long = Parameters::of(br#"{"tcp":true,"time":6}"#).unwrap();
        let refusal = order(&long, LIMITS, left).unwrap_err();
        assert_eq!(refusal.number, 37);
        assert!(refusal.to_string().contains("left of `--for`"), "{refusal}");
    }
}
