//! What a client asks for: JSON, of which every version knows other keys.

use super::datagram::Width;
use super::error_numbers::{BLOCK_SIZE, DURATION, PARAMETERS, STREAMS, ServerError};
use super::frame::{self, PARAMETERS_MAX};
use super::number;
use super::wire_error::{Part, WireError};
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// The most streams of one test in one direction.
pub const STREAMS_MAX: u8 = 128;
/// The longest test, in seconds.
pub const TIME_MAX: i64 = 86_400;
/// The longest beginning that is not counted, in seconds: 60 before 3.18.
pub const OMIT_MAX: i64 = 600;
/// The largest block of TCP.
pub const BLOCK_MAX: i64 = 1 << 20;
/// The largest datagram.
pub const DATAGRAM_MAX: i64 = 65_507;
/// The smallest datagram.
pub const DATAGRAM_MIN: i64 = 16;
/// The largest `MSS`: 9216 in older versions.
pub const MSS_MAX: i64 = 32_767;
/// A block of TCP where nobody says another size.
pub const BLOCK_DEFAULT: i64 = 128 << 10;

/// The keys as they are on the wire. A number that is not there is 0, which means that it is off; so is a negative one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a key of its own on the wire"
)]
pub struct Parameters {
    /// TCP: one of the three stands there.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub tcp: bool,
    /// UDP.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub udp: bool,
    /// SCTP, which kurabe does not speak.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub sctp: bool,
    /// Seconds at the beginning that are not counted.
    #[serde(deserialize_with = "number::int")]
    pub omit: i64,
    /// Seconds that are counted; 0 where bytes or blocks say how much.
    #[serde(deserialize_with = "number::int")]
    pub time: i64,
    /// Bytes of all streams.
    #[serde(deserialize_with = "number::int")]
    pub num: i64,
    /// Blocks of all streams.
    #[serde(deserialize_with = "number::int")]
    pub blockcount: i64,
    /// Streams in each direction: 0 is one.
    #[serde(deserialize_with = "number::int")]
    pub parallel: i64,
    /// Bytes of a block or datagram: 0 is the default.
    #[serde(deserialize_with = "number::int")]
    pub len: i64,
    /// Microseconds between two looks of a sender whose rate is limited.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub pacing_timer: i64,
    /// The server sends.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub reverse: bool,
    /// Both send.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub bidirectional: bool,
    /// The largest segment of TCP.
    #[serde(rename = "MSS")]
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub mss: i64,
    /// TCP does not wait for more (`TCP_NODELAY`).
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub nodelay: bool,
    /// Bytes of both socket buffers.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub window: i64,
    /// Bits per second of each stream.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub bandwidth: i64,
    /// The same, kept by the kernel.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub fqrate: i64,
    /// Blocks that a sender whose rate is limited writes at once.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub burst: i64,
    /// The byte of that name in the header of IP.
    #[serde(rename = "TOS")]
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub tos: i64,
    /// The label of flows of IPv6.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub flowlabel: i64,
    /// The CPU that the server is asked to use.
    #[serde(
        skip_serializing_if = "Option::is_none",
        deserialize_with = "number::some_int"
    )]
    pub server_affinity: Option<i64>,
    /// Whatever the user wants to read in the report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extra_data: Option<String>,
    /// The congestion control that both ends are asked to use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// The one that the client uses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// The client wants the server's own report with the results.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub get_server_output: i64,
    /// Counts of datagrams have 64 bits.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub udp_counters_64bit: i64,
    /// What is sent is a pattern and not random.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub repeating_payload: i64,
    /// No datagram of UDP over IPv4 is cut on its way.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub dont_fragment: i64,
    /// The sender spares itself a copy.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub zerocopy: i64,
    /// The receiver throws away without a copy.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub skip_rx_copy: i64,
    /// Several paths of TCP.
    #[serde(skip_serializing_if = "is_off", deserialize_with = "number::flag")]
    pub mptcp: bool,
    /// Datagrams that the sender's kernel or card cuts.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub gso: i64,
    /// Datagrams that the receiver's kernel puts together.
    #[serde(skip_serializing_if = "is_none", deserialize_with = "number::int")]
    pub gro: i64,
    /// Whether the client says who it is; what it says is not kept.
    #[serde(rename = "authtoken")]
    #[serde(skip_serializing, deserialize_with = "number::is_there")]
    pub has_authtoken: bool,
    /// The client's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_off(flag: &bool) -> bool {
    !*flag
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_none(value: &i64) -> bool {
    *value == 0
}

impl Parameters {
    /// Reads a frame.
    pub fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let bytes = frame::read(from, Part::Parameters, PARAMETERS_MAX)?;
        Self::of(&bytes)
    }

    /// Of JSON.
    pub fn of(bytes: &[u8]) -> Result<Self, WireError> {
        frame::object(bytes, Part::Parameters)
    }

    /// Writes a frame.
    pub fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        frame::write(to, Part::Parameters, self, PARAMETERS_MAX)
    }

    /// What a server says to values that no version of iperf3 takes, and to protocols that are not spoken here.
    pub fn check(&self) -> Result<(), ServerError> {
        let refused = |number| Err(ServerError { number, errno: 0 });
        let protocols = [self.tcp, self.udp, self.sctp];
        let is_one = protocols.into_iter().filter(|is| *is).count() <= 1;
        if !is_one || self.sctp || self.mptcp || (self.reverse && self.bidirectional) {
            return refused(PARAMETERS);
        }
        if !(0..=TIME_MAX).contains(&self.time) || !(0..=OMIT_MAX).contains(&self.omit) {
            return refused(DURATION);
        }
        if !(0..=STREAMS_MAX.into()).contains(&self.parallel) {
            return refused(STREAMS);
        }
        let fits = if self.udp {
            self.len == 0 || (DATAGRAM_MIN..=DATAGRAM_MAX).contains(&self.len)
        } else {
            (0..=BLOCK_MAX).contains(&self.len)
        };
        if !fits {
            return refused(BLOCK_SIZE);
        }
        if self.mss > MSS_MAX || self.tos > 255 {
            return refused(PARAMETERS);
        }
        Ok(())
    }

    /// Streams in each direction.
    pub fn streams(&self) -> u32 {
        u32::try_from(self.parallel).unwrap_or(1).max(1)
    }

    /// How wide the counts of datagrams are.
    pub(crate) const fn width(&self) -> Width {
        match self.udp_counters_64bit {
            1.. => Width::Bits64,
            _ => Width::Bits32,
        }
    }

    /// Streams of the test: connections, or sockets.
    pub fn all_streams(&self) -> u32 {
        self.streams() * if self.bidirectional { 2 } else { 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_to_nothing_is_enough() {
        let least = Parameters::of(b"{\"tcp\":true}").unwrap();
        least.check().unwrap();
        assert_eq!((least.streams(), least.all_streams()), (1, 1));
        let both = Parameters::of(b"{\"tcp\":1,\"parallel\":2,\"bidirectional\":true}").unwrap();
        assert_eq!((both.streams(), both.all_streams()), (2, 4));
    }

    #[test]
    fn what_is_not_known_is_left_out_and_a_token_is_not_kept() {
        let text = br#"{"tcp":true,"time":3,"later":{"a":[1,{}]},"authtoken":"c2VjcmV0","num":18446744073709551615}"#;
        let read = Parameters::of(text).unwrap();
        assert!(read.has_authtoken && read.num == -1 && read.time == 3);
        assert!(!format!("{read:?}").contains("c2VjcmV0"));
        let mut sent = Vec::new();
        read.write(&mut sent).unwrap();
        let text = String::from_utf8_lossy(&sent[4..]).into_owned();
        assert!(
            !text.contains("authtoken") && !text.contains("later"),
            "{text}"
        );
    }

    #[test]
    fn other_types_are_refused_with_the_place() {
        for wrong in [
            r#"{"tcp":"yes"}"#,
            r#"{"tcp":true,"time":"3"}"#,
            r#"{"tcp":true,"parallel":[1]}"#,
            r#"{"tcp":true,"title":7}"#,
            r#"{"tcp":true,"len":{}}"#,
            "[true]",
            "7",
            "",
            "{\"tcp\":true",
            "{\"tcp\":true}{",
        ] {
            let why = Parameters::of(wrong.as_bytes()).unwrap_err().to_string();
            assert!(why.starts_with("its parameters cannot be read: "), "{why}");
            assert!(why.contains("line 1 column"), "{wrong}: {why}");
        }
        let long = format!("{{\"time\":\"{}\u{1b}\"}}", "x".repeat(4000));
        let why = Parameters::of(long.as_bytes()).unwrap_err().to_string();
        assert!(why.len() < 300 && !why.contains('\u{1b}'), "{why}");
    }

    #[test]
    fn limits_are_those_of_iperf3() {
        let check = |text: &str, expected: Option<i32>| {
            let parameters = Parameters::of(text.as_bytes()).unwrap();
            let refused = parameters.check().err().map(|error| error.number);
            assert_eq!(refused, expected, "{text}");
        };
        check(
            r#"{"tcp":true,"time":86400,"omit":600,"parallel":128,"len":1048576}"#,
            None,
        );
        check(r#"{"tcp":true,"time":86401}"#, Some(5));
        check(r#"{"tcp":true,"time":-1}"#, Some(5));
        check(r#"{"tcp":true,"omit":601}"#, Some(5));
        check(r#"{"tcp":true,"parallel":129}"#, Some(6));
        check(r#"{"tcp":true,"parallel":-1}"#, Some(6));
        check(r#"{"tcp":true,"len":1048577}"#, Some(7));
        check(r#"{"tcp":true,"len":-1}"#, Some(7));
        check(r#"{"udp":true,"len":65507}"#, None);
        check(r#"{"udp":true,"len":65508}"#, Some(7));
        check(r#"{"udp":true,"len":15}"#, Some(7));
        check(r#"{"udp":true}"#, None);
        check(r#"{"tcp":true,"MSS":40000}"#, Some(114));
        check(r#"{"sctp":true}"#, Some(114));
        check(r#"{"tcp":true,"udp":true}"#, Some(114));
        check(
            r#"{"tcp":true,"reverse":true,"bidirectional":true}"#,
            Some(114),
        );
    }
}
