//! What either end has counted: JSON, the client's first.

use super::frame::{self, RESULTS_MAX};
use super::number;
use super::parameters::STREAMS_MAX;
use super::wire_error::{Part, WireError};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use std::fmt;
use std::io::{Read, Write};

/// The keys as they are on the wire.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Results {
    /// CPU time of the whole process over the whole test, in percent of one CPU.
    #[serde(deserialize_with = "number::fraction")]
    pub cpu_util_total: Option<f64>,
    /// The part in the process itself.
    #[serde(deserialize_with = "number::fraction")]
    pub cpu_util_user: Option<f64>,
    /// The part in the kernel.
    #[serde(deserialize_with = "number::fraction")]
    pub cpu_util_system: Option<f64>,
    /// 1 where retransmits are counted, 0 where not, -1 where nothing was sent.
    #[serde(deserialize_with = "number::int")]
    pub sender_has_retransmits: i64,
    /// The congestion control that this end used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion_used: Option<String>,
    /// Every stream, in the order in which they were connected.
    #[serde(deserialize_with = "streams")]
    pub streams: Vec<StreamResults>,
    /// The server's own report, where the client asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_output_text: Option<String>,
    /// The same of a server that reports for programs, as JSON: where somebody [asks for it](Self::read_with_report),
    /// because its parts take a hundred times the memory of its text.
    #[serde(skip)]
    pub server_output_json: Option<String>,
}

/// What one end has counted of a stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamResults {
    /// See [`super::stream_id`].
    #[serde(deserialize_with = "number::int")]
    pub id: i64,
    /// Sent, or received before the end was told.
    #[serde(deserialize_with = "number::int")]
    pub bytes: i64,
    /// Segments that were sent again; -1 where that is not known.
    #[serde(default, deserialize_with = "number::int")]
    pub retransmits: i64,
    /// Jitter at the receiver, in seconds.
    #[serde(default, deserialize_with = "number::fraction")]
    pub jitter: Option<f64>,
    /// Datagrams that were lost.
    #[serde(default, deserialize_with = "number::int")]
    pub errors: i64,
    /// Datagrams.
    #[serde(default, deserialize_with = "number::int")]
    pub packets: i64,
    /// Those of the beginning that is not counted; since 3.14.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number::some_int")]
    pub omitted_errors: Option<i64>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number::some_int")]
    pub omitted_packets: Option<i64>,
    /// Seconds of this end's own clock; since 3.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number::fraction")]
    pub start_time: Option<f64>,
    /// The same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "number::fraction")]
    pub end_time: Option<f64>,
}

impl StreamResults {
    /// Seconds that were counted, where this end says so.
    pub fn seconds(&self) -> Option<f64> {
        let seconds = self.end_time? - self.start_time?;
        (seconds.is_finite() && seconds > 0.0).then_some(seconds)
    }
}

impl Results {
    /// Reads a frame.
    pub fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let bytes = frame::read(from, Part::Results, RESULTS_MAX)?;
        Self::of(&bytes)
    }

    /// The same with the server's own report, which the client has asked for.
    pub fn read_with_report(from: &mut impl Read) -> Result<Self, WireError> {
        let bytes = frame::read(from, Part::Results, RESULTS_MAX)?;
        let report: WithReport = frame::object(&bytes, Part::Results)?;
        Ok(Self {
            server_output_json: report.server_output_json.map(|json| json.to_string()),
            ..Self::of(&bytes)?
        })
    }

    /// Of JSON.
    pub fn of(bytes: &[u8]) -> Result<Self, WireError> {
        let read: Self = frame::object(bytes, Part::Results)?;
        match read.streams.iter().find(|stream| stream.bytes < 0) {
            None => Ok(read),
            Some(stream) => {
                let what = format!("stream {} has {} bytes", stream.id, stream.bytes);
                Err(WireError::Json(Part::Results, what))
            }
        }
    }

    /// Writes a frame.
    pub fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        frame::write(to, Part::Results, self, RESULTS_MAX)
    }

    /// The stream of this id.
    pub fn stream(&self, id: i64) -> Option<&StreamResults> {
        self.streams.iter().find(|stream| stream.id == id)
    }
}

/// What else is in the frame.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WithReport {
    server_output_json: Option<Value>,
}

/// No more of them than a test in both directions has.
fn streams<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<StreamResults>, D::Error> {
    from.deserialize_seq(Streams)
}

struct Streams;

impl<'de> Visitor<'de> for Streams {
    type Value = Vec<StreamResults>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of streams")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Self::Value, A::Error> {
        let most = 2 * usize::from(STREAMS_MAX);
        let mut found = Vec::new();
        while let Some(stream) = all.next_element()? {
            if found.len() == most {
                return Err(A::Error::custom(format!("more than {most} streams")));
            }
            found.push(stream);
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_is_enough_and_what_is_missing_is_none() {
        let read = Results::of(br#"{"streams":[{"id":1,"bytes":5}]}"#).unwrap();
        let stream = read.stream(1).unwrap();
        assert_eq!((stream.bytes, stream.seconds()), (5, None));
        assert_eq!((read.cpu_util_total, read.stream(2)), (None, None));
        let times =
            br#"{"streams":[{"id":1,"bytes":5,"jitter":null,"start_time":1,"end_time":3.5}]}"#;
        assert_eq!(Results::of(times).unwrap().streams[0].seconds(), Some(2.5));
        let report = br#"{"streams":[],"server_output_json":{"b":[1, 2],"a":{}}}"#;
        assert_eq!(Results::of(report).unwrap().server_output_json, None);
        let length = u32::try_from(report.len()).unwrap().to_be_bytes();
        let frame = [&length[..], report].concat();
        let read = Results::read_with_report(&mut frame.as_slice()).unwrap();
        assert_eq!(read.server_output_json.unwrap(), r#"{"a":{},"b":[1,2]}"#);
        let backwards = br#"{"streams":[{"id":1,"bytes":5,"start_time":2,"end_time":1}]}"#;
        assert_eq!(Results::of(backwards).unwrap().streams[0].seconds(), None);
    }

    #[test]
    fn other_types_missing_keys_and_too_many_streams_are_refused() {
        let many = format!(
            "{{\"streams\":[{}{{}}]}}",
            "{\"id\":1,\"bytes\":1},".repeat(256)
        );
        let more = many.replace("{}]", "{\"id\":1,\"bytes\":1}]");
        for (wrong, says) in [
            (r#"{"streams":{}}"#, "a list of streams"),
            (r#"{"streams":[{"bytes":5}]}"#, "missing field `id`"),
            (r#"{"streams":[{"id":1}]}"#, "missing field `bytes`"),
            (r#"{"streams":[{"id":1,"bytes":"5"}]}"#, "a whole number"),
            (
                r#"{"streams":[{"id":1,"bytes":-5}]}"#,
                "stream 1 has -5 bytes",
            ),
            (r#"{"cpu_util_total":"much"}"#, "a number"),
            (more.as_str(), "more than 256 streams"),
        ] {
            let why = Results::of(wrong.as_bytes()).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }
}
