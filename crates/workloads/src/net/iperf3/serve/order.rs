//! What a client with the token asks for by iperf3's protocol: a test that can be carried out, or a refusal.
//!
//! Asked is what `net.tcp` and `net.udp` ask, and nothing else is taken: an option that this server does not carry out
//! would be a figure of another test than the client believes.

use super::super::datagram::Width;
use super::super::error_numbers::{
    BLOCK_SIZE, DURATION, DURATION_MAX, PARAMETERS, STREAMS, TOTAL_RATE,
};
use super::super::parameters::Parameters;
use super::super::words::{Bits, Bytes, Span};
use std::fmt;
use std::time::Duration;

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
    pub(super) direction: Direction,
    pub(super) streams: usize,
    /// Bytes of a block or datagram that the server sends.
    pub(super) length: usize,
    /// Bits per second of each stream of datagrams; TCP goes as fast as it can.
    pub(super) bits_per_s: Option<u64>,
    /// The server sends no more bytes than this, in all streams together.
    pub(super) bytes_max: Option<u64>,
    /// Not counted, from the beginning.
    pub(super) omit: Duration,
    /// How long it lasts after that, at most.
    pub(super) time: Duration,
}

/// Why there is no test, with iperf3's number for it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{words}")]
pub(super) struct Refusal {
    pub(super) number: i32,
    words: String,
}

fn refused<T>(number: i32, words: impl Into<String>) -> Result<T, Refusal> {
    let words = words.into();
    Err(Refusal { number, words })
}

/// The order of these parameters, for a server that is there for so long yet.
pub(super) fn order(asked: &Parameters, left: Duration) -> Result<Order, Refusal> {
    if let Err(error) = asked.check() {
        return refused(error.number, unknown(error.number));
    }
    let rate = u64::try_from(asked.bandwidth).ok().filter(|&rate| rate > 0);
    if asked.udp && rate.is_none() {
        return refused(
            TOTAL_RATE,
            "UDP without a rate, which nothing would hold back",
        );
    }
    if *asked != known(asked) || asked.len <= 0 {
        return refused(PARAMETERS, "it asks for more than `kurabe run net` does");
    }
    Ok(Order {
        udp: asked.udp.then(|| asked.width()),
        direction: if asked.reverse {
            Direction::Down
        } else {
            Direction::Up
        },
        streams: usize::try_from(asked.streams()).unwrap_or(1),
        length: usize::try_from(asked.len).unwrap_or(1),
        bits_per_s: rate,
        bytes_max: u64::try_from(asked.num).ok().filter(|&bytes| bytes > 0),
        omit: seconds(asked.omit),
        time: time(asked, left)?,
    })
}

/// Of these parameters, what is carried out.
fn known(asked: &Parameters) -> Parameters {
    let by_udp = |value| if asked.udp { value } else { 0 };
    Parameters {
        tcp: asked.tcp,
        udp: asked.udp,
        omit: asked.omit,
        time: asked.time,
        num: if asked.reverse && !asked.udp {
            asked.num
        } else {
            0
        },
        parallel: asked.parallel,
        len: asked.len,
        pacing_timer: asked.pacing_timer,
        reverse: asked.reverse,
        bandwidth: by_udp(asked.bandwidth),
        udp_counters_64bit: by_udp(asked.udp_counters_64bit),
        dont_fragment: by_udp(asked.dont_fragment),
        gso: by_udp(asked.gso),
        gro: by_udp(asked.gro),
        client_version: asked.client_version.clone(),
        ..Parameters::default()
    }
}

/// What iperf3 itself does not take.
const fn unknown(number: i32) -> &'static str {
    match number {
        DURATION => "no version of iperf3 takes this duration",
        STREAMS => "no version of iperf3 takes so many streams",
        BLOCK_SIZE => "no version of iperf3 takes blocks of this size",
        _ => "SCTP, several paths of TCP, or values that no version of iperf3 takes",
    }
}

fn seconds(count: i64) -> Duration {
    Duration::from_secs(u64::try_from(count).unwrap_or(0))
}

/// How long the test may last.
fn time(asked: &Parameters, left: Duration) -> Result<Duration, Refusal> {
    let (time, omit) = (seconds(asked.time), seconds(asked.omit));
    if time.is_zero() {
        return refused(DURATION_MAX, "a test without an end");
    }
    if time + omit > left {
        let (asked, left) = (Span(time + omit), Span(left));
        let words = format!("{asked} are more than the {left} that are left of `--for`");
        return refused(DURATION_MAX, words);
    }
    Ok(time)
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let protocol = if self.udp.is_some() { "UDP" } else { "TCP" };
        let streams = match self.streams {
            1 => "1 stream".to_owned(),
            count => format!("{count} streams"),
        };
        let way = match self.direction {
            Direction::Up => "to",
            Direction::Down => "from",
        };
        write!(f, "{protocol}, {streams} {way} here")?;
        if let Some(bits) = self.bits_per_s {
            write!(f, " of {}", Bits(bits))?;
        }
        write!(f, ", {}", Span(self.time))?;
        if let Some(bytes) = self.bytes_max {
            write!(f, " and {} at most", Bytes(bytes))?;
        }
        if !self.omit.is_zero() {
            write!(f, " after {} that do not count", Span(self.omit))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Result<Order, Refusal> {
        let left = Duration::from_secs(100);
        order(&Parameters::of(text.as_bytes()).unwrap(), left)
    }

    #[test]
    fn orders_are_told_in_words() {
        let check = |text: &str, words: &str| {
            assert_eq!(asked(text).unwrap().to_string(), words, "{text}");
        };
        check(
            r#"{"tcp":true,"time":10,"len":9}"#,
            "TCP, 1 stream to here, 10 s",
        );
        check(
            r#"{"tcp":true,"time":10,"omit":2,"len":9,"parallel":4,"reverse":true,"num":5000000}"#,
            "TCP, 4 streams from here, 10 s and 5.00 MB at most after 2 s that do not count",
        );
        check(
            r#"{"udp":true,"time":10,"len":1400,"parallel":2,"bandwidth":1048576}"#,
            "UDP, 2 streams to here of 1.05 Mbit/s, 10 s",
        );
        let wide =
            r#"{"udp":true,"time":3,"len":16,"bandwidth":8000,"udp_counters_64bit":1,"gso":1}"#;
        assert_eq!(asked(wide).unwrap().udp, Some(Width::Bits64));
    }

    #[test]
    fn what_run_net_does_not_ask_is_refused_by_iperf3_s_numbers() {
        let check = |more: &str, expected: i32, says: &str| {
            let text = format!(r#"{{"tcp":true,"time":9,"len":9,{more}}}"#);
            let refusal = asked(&text).unwrap_err();
            assert_eq!(refusal.number, expected, "{text}");
            assert!(refusal.to_string().contains(says), "{refusal}");
        };
        for more in [
            r#""bidirectional":true"#,
            r#""num":5"#,
            r#""blockcount":5,"reverse":true"#,
            r#""bandwidth":1000000"#,
            r#""burst":10"#,
            r#""fqrate":10"#,
            r#""nodelay":true"#,
            r#""window":65536"#,
            r#""MSS":1000"#,
            r#""TOS":16"#,
            r#""congestion":"reno""#,
            r#""zerocopy":1"#,
            r#""get_server_output":1"#,
            r#""repeating_payload":1"#,
            r#""flowlabel":1"#,
            r#""server_affinity":0"#,
            r#""udp_counters_64bit":1"#,
        ] {
            check(more, PARAMETERS, "than `kurabe run net` does");
        }
        check(r#""sctp":true"#, PARAMETERS, "SCTP");
        check(r#""parallel":200"#, STREAMS, "streams");
        check(r#""omit":92"#, DURATION_MAX, "left of `--for`");
        for (text, number) in [
            (r#"{"tcp":true,"time":9}"#, PARAMETERS),
            (r#"{"tcp":true,"len":9}"#, DURATION_MAX),
            (r#"{"udp":true,"time":1,"len":100}"#, TOTAL_RATE),
            (
                r#"{"udp":true,"time":1,"len":99,"bandwidth":8,"num":7,"reverse":true}"#,
                PARAMETERS,
            ),
        ] {
            assert_eq!(asked(text).unwrap_err().number, number, "{text}");
        }
    }
}
