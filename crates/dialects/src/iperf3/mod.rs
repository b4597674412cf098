//! Outputs of iperf3 as text and as JSON: one test per direction, by what the receiver counted.
//!
//! What the sender counts has entered its socket, not the network: it is kept apart as `sent_bytes_per_s`. Rates are
//! printed in bits with prefixes of 1000; `MBytes/sec` of `--format` has 1024. Parallel streams count by their `[SUM]`
//! line. The two directions of `--bidir` are two tests and never added up. An error is no result, and so is a test of
//! which nothing arrived, whatever share of the nothing was lost.
//!
//! The other way round: [`arguments`] reads what is typed behind `iperf3`, and [`output`] prints a test of ours as
//! iperf3 does.

pub mod arguments;
mod json;
pub mod output;
#[cfg(test)]
mod tests;
mod text;

use crate::figures::{Figure, Figures, Found, LeftOut, Reader};
use model::spec::{Better, MetricClass, Nature};
use model::units::{Unit, UnixNanos};
use std::collections::BTreeMap;

/// Reads outputs of iperf3.
pub(crate) const READER: Reader = Reader {
    program: "iperf3",
    marks: &[
        "its/sec",
        "ytes/sec",
        "iperf",
        "bits_per_second",
        "\"intervals\"",
    ],
    read,
};

/// What is longer is no word of iperf3.
const MAX_WORD: usize = 80;

/// Which of both hosts wrote the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Client,
    Server,
}

/// What a direction did.
#[derive(Clone, Debug, Default, PartialEq)]
struct Direction {
    streams: u32,
    /// From the server to the client.
    is_reverse: bool,
    received_bits_per_s: Option<f64>,
    sent_bits_per_s: Option<f64>,
    retransmits: Option<f64>,
    jitter_ms: Option<f64>,
    /// Lost datagrams and all of them.
    lost: Option<(f64, f64)>,
    /// Percent of one CPU of this host and of the other.
    cpu_percent: Option<(f64, f64)>,
}

/// One execution.
#[derive(Clone, Debug, Default, PartialEq)]
struct Test {
    version: Option<String>,
    when: Option<UnixNanos>,
    protocol: String,
    side: Option<Side>,
    params: BTreeMap<String, String>,
    directions: Vec<Direction>,
}

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut output = 0;
    // Sources of web pages have entities for quotes.
    let text = text.replace("&quot;", "\"");
    for part in json::parts(&text) {
        let tests = match part {
            json::Part::Text { line, text } => text::read(text, line, &mut found.left_out),
            json::Part::Json { line, report } => match json::test(&report) {
                Ok(test) => vec![(line, test)],
                Err(what) => {
                    found.left_out.push(LeftOut { line, what });
                    continue;
                }
            },
            json::Part::Cut { line } => {
                let what = "a JSON report that is cut or changed".to_owned();
                found.left_out.push(LeftOut { line, what });
                continue;
            }
        };
        for (line, test) in tests {
            let before = found.figures.len();
            for direction in &test.directions {
                match figures(output, &test, direction) {
                    Some(figures) => found.figures.push(figures),
                    None => found.left_out.push(LeftOut {
                        line,
                        what: "nothing arrived at the receiver: no result".to_owned(),
                    }),
                }
            }
            output += usize::from(found.figures.len() > before);
        }
    }
    found
}

fn figures(output: usize, test: &Test, direction: &Direction) -> Option<Figures> {
    let moved = |bits: Option<f64>| bits.filter(|bits| *bits > 0.0);
    let (received, sent) = (
        moved(direction.received_bits_per_s),
        moved(direction.sent_bits_per_s),
    );
    // A sender on a server knows nothing of the receiver, and its zeros say nothing. A client is told by the server.
    let is_unknown = direction.received_bits_per_s.is_none() || test.side == Some(Side::Server);
    if received.is_none() && !(is_unknown && sent.is_some()) {
        return None;
    }
    let class = MetricClass::Throughput;
    let rate = |quantity, bits: Option<f64>| {
        bits.map(|bits| Figure::rate(quantity, Unit::NetBytesPerSecond, class, bits / 8.0))
    };
    let lower = |quantity, unit, value: Option<f64>| {
        let better = Better::Lower;
        value.map(|value| Figure {
            better,
            ..Figure::rate(quantity, unit, MetricClass::System, value)
        })
    };
    // Datagrams that never came have no jitter and no share of losses.
    let lost = direction
        .lost
        .filter(|(lost, all)| *all > 0.0 && *lost >= 0.0 && lost <= all);
    let jitter = direction
        .jitter_ms
        .filter(|ms| *ms > 0.0 && direction.lost.is_none_or(|(_, all)| all > 0.0));
    let cpu = direction.cpu_percent;
    let share = |percent: f64| Some(percent / 100.0).filter(|share| *share > 0.0);
    let values = [
        rate("bytes_per_s", received),
        rate("sent_bytes_per_s", sent),
        lower("retransmits", Unit::Number, direction.retransmits),
        jitter.map(|ms| Figure::time("jitter_ns", MetricClass::LatencyTypical, ms * 1e6)),
        lower(
            "lost_share",
            Unit::Share,
            lost.map(|(lost, all)| lost / all),
        ),
        lower(
            "cpu_share",
            Unit::Share,
            cpu.and_then(|(here, _)| share(here)),
        ),
        lower(
            "remote_cpu_share",
            Unit::Share,
            cpu.and_then(|(_, there)| share(there)),
        ),
    ];
    let reverse = if direction.is_reverse { "-reverse" } else { "" };
    let way = if direction.is_reverse {
        "server to client"
    } else {
        "client to server"
    };
    Some(Figures {
        cut_short: None,
        output,
        version: test.version.clone(),
        when: test.when,
        test: format!("iperf3.{}{reverse}", test.protocol),
        title: format!("{}, {way}", test.protocol.to_uppercase()),
        copies: direction.streams,
        nature: Nature::Network,
        params: test.params.clone(),
        values: values.into_iter().flatten().collect(),
        ours: None,
    })
}
