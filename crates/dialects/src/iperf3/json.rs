//! The reports of `--json`, anywhere in a text.

use super::{Direction, MAX_WORD, Side, Test};
use model::units::UnixNanos;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// A part of a text.
pub(super) enum Part<'a> {
    /// Lines without a report.
    Text { line: usize, text: &'a str },
    /// A report.
    Json { line: usize, report: Report },
    /// The beginning of a report.
    Cut { line: usize },
}

/// What is read of a report: its intervals are not kept.
#[derive(Deserialize)]
pub(super) struct Report {
    start: Option<Value>,
    end: Option<Value>,
    error: Option<Value>,
    /// Which line of `--json-stream` it is.
    event: Option<Value>,
    data: Option<Value>,
}

/// Takes a text apart. Every line is parsed at most twice, whatever it holds: after a failure the search goes on at the
/// line that failed.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut at, mut line) = (0, 1);
    let (mut begin, mut begin_line) = (0, 1);
    let mut stream_start = None;
    while at < text.len() {
        let Some(brace) = brace(&text[at..end_of_lines(text, at, 1)]) else {
            at = end_of_lines(text, at, 1);
            line += 1;
            continue;
        };
        let rest = &text[at + brace..];
        let mut reports = serde_json::Deserializer::from_str(rest).into_iter::<Report>();
        let (part, lines) = match reports.next() {
            Some(Ok(report)) => {
                let lines = rest[..reports.byte_offset()].matches('\n').count() + 1;
                let report = streamed(report, &mut stream_start).filter(Report::is_one);
                (report.map(|report| Part::Json { line, report }), lines)
            }
            Some(Err(error)) => {
                let lines = error.line().saturating_sub(1).max(1);
                (is_begun(rest).then_some(Part::Cut { line }), lines)
            }
            None => (None, 1),
        };
        let after = end_of_lines(text, at, lines);
        if let Some(part) = part {
            parts.push(Part::Text {
                line: begin_line,
                text: &text[begin..at],
            });
            parts.push(part);
            (begin, begin_line) = (after, line + lines);
        }
        at = after;
        line += lines;
    }
    parts.push(Part::Text {
        line: begin_line,
        text: &text[begin..],
    });
    parts
}

/// Where so many lines from here end.
fn end_of_lines(text: &str, at: usize, lines: usize) -> usize {
    let mut ends = text[at..].match_indices('\n');
    ends.nth(lines - 1)
        .map_or(text.len(), |(end, _)| at + end + 1)
}

/// A report of `--json-stream` is complete at its last event.
fn streamed(report: Report, start: &mut Option<Value>) -> Option<Report> {
    match report.event.as_ref().and_then(Value::as_str) {
        None => Some(report),
        Some("start") => {
            *start = report.data;
            None
        }
        Some("end") => Some(Report {
            start: start.take(),
            end: report.data,
            data: None,
            ..report
        }),
        Some("error") => Some(Report {
            start: start.take(),
            error: report.data,
            data: None,
            ..report
        }),
        Some(_) => None,
    }
}

impl Report {
    /// Whether this is one of iperf3: other programs' objects have other parts.
    fn is_one(&self) -> bool {
        self.start.as_ref().is_some_and(Value::is_object)
            && (self.end.is_some() || self.error.is_some())
    }
}

/// Where an object begins on this line: at its start, or after a prompt and a command.
fn brace(line: &str) -> Option<usize> {
    let at = line.find('{')?;
    let rest = line[at + 1..].trim_start();
    (rest.is_empty() || rest.starts_with('"')).then_some(at)
}

/// Whether a text that is no whole object began as a report of iperf3.
fn is_begun(text: &str) -> bool {
    let head = text.as_bytes()[1..].trim_ascii_start();
    let near = &head[..head.len().min(60)];
    head.starts_with(b"\"start\"") && near.windows(11).any(|word| word == b"\"connected\"")
}

/// The test that a report tells, or why there is none.
pub(super) fn test(report: &Report) -> Result<Test, String> {
    if let Some(error) = &report.error {
        let error: String = error
            .as_str()
            .unwrap_or("unknown")
            .chars()
            .take(MAX_WORD)
            .collect();
        return Err(format!("iperf3 failed: {error}"));
    }
    let unread = || "a JSON report without its parts".to_owned();
    let start = report
        .start
        .as_ref()
        .and_then(Value::as_object)
        .ok_or_else(unread)?;
    let asked = start
        .get("test_start")
        .and_then(Value::as_object)
        .ok_or_else(unread)?;
    let end = report
        .end
        .as_ref()
        .and_then(Value::as_object)
        .ok_or_else(unread)?;
    let protocol = match asked.get("protocol").and_then(Value::as_str) {
        Some(name @ ("TCP" | "UDP" | "SCTP")) => name.to_lowercase(),
        _ => return Err(unread()),
    };
    let streams = asked.get("num_streams").and_then(Value::as_u64);
    let streams = streams
        .and_then(|n| u32::try_from(n).ok())
        .filter(|n| *n > 0)
        .ok_or_else(unread)?;
    let side = if start.contains_key("accepted_connection") {
        Side::Server
    } else {
        Side::Client
    };
    let is_reverse = asked.get("reverse").and_then(Value::as_u64) == Some(1);
    let both = end.contains_key("sum_sent_bidir_reverse")
        || end.contains_key("sum_received_bidir_reverse");
    let mut params = params(start, asked);
    if both {
        params.insert("bidir".to_owned(), "yes".to_owned());
    }
    let suffixes: &[(&str, bool)] = if both {
        &[("", false), ("_bidir_reverse", true)]
    } else {
        &[("", is_reverse)]
    };
    let direction = |(suffix, is_reverse): &(&str, bool)| Direction {
        streams,
        is_reverse: *is_reverse,
        ..direction(end, suffix, &protocol, side)
    };
    Ok(Test {
        version: version(start),
        when: when(start),
        side: Some(side),
        params,
        directions: suffixes.iter().map(direction).collect(),
        protocol,
    })
}

fn direction(end: &Map<String, Value>, suffix: &str, protocol: &str, side: Side) -> Direction {
    let sum = |name: &str| end.get(&format!("{name}{suffix}"));
    let of = |sum: Option<&Value>, key: &str| sum?.get(key)?.as_f64().filter(|value| *value >= 0.0);
    let (sent, received) = (sum("sum_sent"), sum("sum_received"));
    let bits = |sum| of(sum, "bits_per_second");
    let mut direction = Direction {
        received_bits_per_s: bits(received),
        sent_bits_per_s: bits(sent),
        ..Direction::default()
    };
    let cpu = end.get("cpu_utilization_percent");
    direction.cpu_percent = of(cpu, "host_total").zip(of(cpu, "remote_total"));
    if protocol == "udp" {
        // Before 3.11 there is only a sum, which mixes the sender's bytes with the receiver's losses.
        let counted = received.or(sum("sum"));
        if received.is_none() && side == Side::Client {
            direction.sent_bits_per_s = bits(sum("sum"));
        }
        direction.jitter_ms = of(counted, "jitter_ms");
        direction.lost = of(counted, "lost_packets").zip(of(counted, "packets"));
    } else {
        direction.retransmits = of(sent, "retransmits");
    }
    direction
}

/// `iperf 3.12`.
fn version(start: &Map<String, Value>) -> Option<String> {
    let version = start.get("version")?.as_str()?.strip_prefix("iperf ")?;
    (version.len() <= MAX_WORD).then(|| version.to_owned())
}

fn when(start: &Map<String, Value>) -> Option<UnixNanos> {
    let seconds = start.get("timestamp")?.get("timesecs")?.as_u64()?;
    seconds
        .checked_mul(1_000_000_000)
        .filter(|_| seconds > 0)
        .map(UnixNanos)
}

/// What was asked for, where it is not the default: texts name only that.
fn params(start: &Map<String, Value>, asked: &Map<String, Value>) -> BTreeMap<String, String> {
    let named = [
        ("duration", "duration_s"),
        ("bytes", "bytes"),
        ("blocks", "blocks"),
        ("omit", "omit_s"),
        ("tos", "tos"),
        ("blksize", "block_bytes"),
    ];
    let mut params = BTreeMap::new();
    let mut set = |name: &str, value: Option<u64>, default| {
        if let Some(value) = value.filter(|value| *value != default) {
            params.insert(name.to_owned(), value.to_string());
        }
    };
    for (key, name) in named {
        let is_tcp = asked.get("protocol").and_then(Value::as_str) == Some("TCP");
        let default = if key == "blksize" && is_tcp {
            131_072
        } else {
            0
        };
        set(name, asked.get(key).and_then(Value::as_u64), default);
    }
    let target = asked
        .get("target_bitrate")
        .or_else(|| start.get("target_bitrate"));
    set("target_bits_per_s", target.and_then(Value::as_u64), 0);
    set(
        "window_bytes",
        start.get("sock_bufsize").and_then(Value::as_u64),
        0,
    );
    params
}
