//! Outputs as text: the rows of the summary, which end in `sender` and `receiver`.

use super::{Direction, MAX_WORD, Side, Test};
use crate::figures::LeftOut;
use crate::figures::line::number;
use jiff::fmt::rfc2822;
use model::num::round_to_u64;
use model::units::UnixNanos;
use std::collections::BTreeSet;

/// The longest line that is read: a row has some 100 letters.
const MAX_LINE: usize = 1000;

/// How many streams iperf3 can have; more names are not of it.
const MAX_STREAMS: usize = 1024;

/// The direction of a row of `--bidir`, as `TX-C`: sent by the client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Role {
    /// No `--bidir`.
    #[default]
    One,
    ToServer,
    ToClient,
}

/// Who counted what a row of the summary says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Counted {
    Sender,
    Receiver,
    /// Up to 3.1 the one row of UDP names nobody: the bytes are those of the side that prints, the losses those of the
    /// receiver.
    Unnamed,
}

/// A row of rates.
struct Row<'a> {
    /// `None` for `[SUM]`.
    stream: Option<&'a str>,
    role: Role,
    end_s: f64,
    bits_per_s: f64,
    retransmits: Option<f64>,
    jitter_ms: Option<f64>,
    lost: Option<(f64, f64)>,
    counted: Option<Counted>,
}

/// What is known of the output that is being read.
#[derive(Default)]
struct Reading<'a> {
    line: usize,
    test: Test,
    is_reverse: bool,
    duration_s: Option<f64>,
    streams: BTreeSet<(Role, &'a str)>,
    /// The rows of the summary: role, whether of all streams, and what they say together.
    summary: Vec<(Role, bool, Direction)>,
    in_summary: bool,
    /// Whether the server's own output follows, which tells the same test again.
    of_server: bool,
}

/// Reads the tests of a text that begins at this line, each with its line.
pub(super) fn read(text: &str, first: usize, left_out: &mut Vec<LeftOut>) -> Vec<(usize, Test)> {
    let mut tests = Vec::new();
    let mut reading = Reading::default();
    for (at, line) in (first..).zip(text.split_inclusive('\n')) {
        if line.len() > MAX_LINE {
            continue;
        }
        let is_whole = line.ends_with('\n');
        let line = line.trim_end();
        if begins(line, &reading) {
            tests.extend(reading.finish(left_out));
            reading = reading.next();
        }
        if reading.of_server {
            reading.of_server = !line.contains("iperf Done.");
            continue;
        }
        if let Some(row) = row(line) {
            reading.row(at, &row, is_whole);
        } else {
            reading.line(at, line, left_out);
        }
    }
    tests.extend(reading.finish(left_out));
    tests
}

/// Whether this line begins another output.
fn begins(line: &str, reading: &Reading<'_>) -> bool {
    if line.contains("Connecting to host ") || line.contains("Server listening on ") {
        return true;
    }
    // Where the first lines are missing, streams or headings after a summary begin the next one.
    let again = line.contains("Accepted connection from ")
        || line.trim_start().starts_with("iperf 3.")
        || is_connected(line)
        || is_headings(line);
    again && !reading.summary.is_empty() && !reading.of_server
}

/// `[  5] local 192.0.2.1 port 5000 connected to 192.0.2.2 port 5201`.
fn is_connected(line: &str) -> bool {
    line.contains("] local ") && line.contains(" connected to ")
}

fn is_headings(line: &str) -> bool {
    line.contains("[ ID]") && line.contains("Interval") && line.contains("Transfer")
}

impl<'a> Reading<'a> {
    /// The next output. What the version and the time stand before is the line that begins it.
    fn next(self) -> Self {
        let mut next = Self::default();
        if self.streams.is_empty() {
            next.test.version = self.test.version;
            next.test.when = self.test.when;
        }
        next
    }

    fn line(&mut self, at: usize, line: &'a str, left_out: &mut Vec<LeftOut>) {
        let params = &mut self.test.params;
        if line.contains("iperf Done.") {
            self.in_summary = false;
        } else if line.contains("Connecting to host ") {
            self.test.side = Some(Side::Client);
        } else if line.contains("Server listening on ")
            || line.contains("Accepted connection from ")
        {
            self.test.side = Some(Side::Server);
        } else if line.contains("Reverse mode, remote host ") {
            self.is_reverse = true;
        } else if line.trim_start().starts_with("Server output") {
            self.of_server = true;
        } else if is_connected(line) {
            if let Some((_, stream, _, _)) = head(line) {
                self.add_stream(Role::One, stream);
            }
        } else if self.in_summary && begins_a_row(line) {
            let what = line.trim().chars().take(MAX_WORD).collect();
            left_out.push(LeftOut { line: at, what });
        } else if is_headings(line) {
            self.in_summary |= !self.streams.is_empty() && self.duration_s.is_some();
        } else if let Some(version) = line.trim_start().strip_prefix("iperf 3.") {
            let version = version.split_whitespace().next().unwrap_or_default();
            let is_version =
                version.len() <= 20 && version.starts_with(|c: char| c.is_ascii_digit());
            self.test.version = is_version
                .then(|| format!("3.{version}"))
                .or(self.test.version.take());
        } else if let Some((_, time)) = line.split_once("Time: ") {
            self.test.when = when(time).or(self.test.when);
        } else if let Some((_, bits)) = line.split_once("Target Bitrate: ") {
            if !bits.is_empty()
                && bits.len() <= 20
                && bits.bytes().all(|b| b.is_ascii_digit())
                && bits != "0"
            {
                params.insert("target_bits_per_s".to_owned(), bits.to_owned());
            }
        } else if let Some((_, asked)) = line.split_once("Starting Test: protocol: ") {
            self.asked(asked);
        } else if let Some((_, error)) = line.split_once("iperf3: error - ") {
            let error: String = error.chars().take(MAX_WORD).collect();
            let what = format!("iperf3 failed: {error}");
            left_out.push(LeftOut { line: at, what });
            // What came before the failure is not the whole test.
            self.summary.clear();
        }
    }

    /// `TCP, 1 streams, 131072 byte blocks, omitting 0 seconds, 10 second test, tos 0`.
    fn asked(&mut self, asked: &str) {
        let mut parts = asked.split(", ");
        let protocol = parts.next().unwrap_or_default();
        if let "TCP" | "UDP" | "SCTP" = protocol {
            self.test.protocol = protocol.to_lowercase();
        }
        for part in parts.take(8) {
            let mut set = |name: &str, value: &str, default: &str| {
                if value.len() <= 20
                    && value.bytes().all(|b| b.is_ascii_digit())
                    && value != default
                {
                    self.test.params.insert(name.to_owned(), value.to_owned());
                }
            };
            let default = if protocol == "TCP" { "131072" } else { "" };
            match part.split_whitespace().collect::<Vec<_>>()[..] {
                [bytes, "byte", "blocks"] => set("block_bytes", bytes, default),
                ["omitting", seconds, "seconds"] => set("omit_s", seconds, "0"),
                [seconds, "second", "test"] => set("duration_s", seconds, ""),
                ["tos", tos] => set("tos", tos, "0"),
                _ => {}
            }
        }
    }

    fn add_stream(&mut self, role: Role, stream: &'a str) {
        if self.streams.len() < MAX_STREAMS {
            self.streams.insert((role, stream));
        }
    }

    fn row(&mut self, at: usize, row: &Row<'a>, is_whole: bool) {
        if let Some(stream) = row.stream {
            self.add_stream(row.role, stream);
        }
        self.duration_s = Some(self.duration_s.map_or(row.end_s, |end| end.max(row.end_s)));
        let counted = match row.counted {
            // A line that was cut may have lost the word.
            None if self.in_summary && row.lost.is_some() && is_whole => Counted::Unnamed,
            None => return,
            Some(counted) => counted,
        };
        let is_sum = row.stream.is_none();
        if self.summary.is_empty() {
            self.line = at;
        }
        let found = self
            .summary
            .iter()
            .position(|(role, sum, _)| (*role, *sum) == (row.role, is_sum));
        let at = found.unwrap_or(self.summary.len());
        if found.is_none() {
            self.summary.push((row.role, is_sum, Direction::default()));
        }
        let direction = &mut self.summary[at].2;
        if row.lost.is_some() {
            "udp".clone_into(&mut self.test.protocol);
        }
        match (counted, self.test.side) {
            (Counted::Sender, _) => {
                direction.sent_bits_per_s = Some(row.bits_per_s);
                direction.retransmits = row.retransmits;
                return;
            }
            (Counted::Receiver, _) | (Counted::Unnamed, Some(Side::Server)) => {
                direction.received_bits_per_s = Some(row.bits_per_s);
            }
            (Counted::Unnamed, Some(Side::Client)) => {
                direction.sent_bits_per_s = Some(row.bits_per_s);
            }
            (Counted::Unnamed, None) => {}
        }
        direction.jitter_ms = row.jitter_ms;
        direction.lost = row.lost;
    }

    /// The test, where there is a summary that can be read.
    fn finish(&mut self, left_out: &mut Vec<LeftOut>) -> Option<(usize, Test)> {
        if self.summary.is_empty() {
            return None;
        }
        let mut test = std::mem::take(&mut self.test);
        if test.protocol.is_empty() {
            "tcp".clone_into(&mut test.protocol);
        }
        let roles: BTreeSet<Role> = self.summary.iter().map(|(role, _, _)| *role).collect();
        for role in roles {
            let streams = self.streams.iter().filter(|(of, _)| *of == role).count();
            let of = |sum| self.summary.iter().find(|of| (of.0, of.1) == (role, sum));
            let chosen = match (of(true), streams) {
                (Some(sum), 2..) => Ok(sum),
                (Some(_), _) => Err("a [SUM] line without its streams: their number is not known"),
                (None, 1) => of(false).ok_or("a summary without its rows"),
                (None, _) => Err("parallel streams without their [SUM] line"),
            };
            let direction = match chosen {
                Ok((_, _, direction)) => direction,
                Err(why) => {
                    let what = why.to_owned();
                    let line = self.line;
                    left_out.push(LeftOut { line, what });
                    continue;
                }
            };
            let is_server = test.side == Some(Side::Server);
            // A server that sends does so because the client asked for it.
            let is_sender = is_server && direction.received_bits_per_s.is_none();
            test.directions.push(Direction {
                streams: u32::try_from(streams).unwrap_or(u32::MAX),
                is_reverse: role == Role::ToClient
                    || self.is_reverse
                    || (role == Role::One && is_sender),
                ..direction.clone()
            });
            if role != Role::One {
                test.params.insert("bidir".to_owned(), "yes".to_owned());
            }
        }
        // Where the text does not say how long it was asked to be, the rows do, to the second.
        if let Some(end) = self.duration_s.filter(|end| *end >= 0.5) {
            let seconds = || round_to_u64(end).to_string();
            test.params
                .entry("duration_s".to_owned())
                .or_insert_with(seconds);
        }
        (!test.directions.is_empty()).then_some((self.line, test))
    }
}

/// `Mon, 23 Nov 2026 20:10:06 GMT`.
fn when(time: &str) -> Option<UnixNanos> {
    let at = rfc2822::DateTimeParser::new()
        .parse_timestamp(time.trim())
        .ok()?;
    u64::try_from(at.as_nanosecond()).ok().map(UnixNanos)
}

/// Whether it is `[SUM]`, the name of the stream, its role and the rest of a line: `[  5][TX-C]   0.00-1.00 ...`.
fn head(line: &str) -> Option<(bool, &str, Role, &str)> {
    for (at, _) in line.match_indices('[') {
        let rest = &line[at + 1..];
        let Some(end) = rest.bytes().take(8).position(|b| b == b']') else {
            continue;
        };
        let (name, rest) = (rest[..end].trim(), &rest[end + 1..]);
        let is_sum = name == "SUM";
        if !is_sum && (name.is_empty() || !name.bytes().all(|b| b.is_ascii_digit())) {
            continue;
        }
        let roles = [
            ("[TX-C]", Role::ToServer),
            ("[RX-S]", Role::ToServer),
            ("[RX-C]", Role::ToClient),
            ("[TX-S]", Role::ToClient),
        ];
        let role = roles
            .into_iter()
            .find_map(|(word, role)| Some((role, rest.strip_prefix(word)?)));
        let (role, rest) = role.unwrap_or((Role::One, rest));
        return Some((is_sum, name, role, rest));
    }
    None
}

/// Whether it begins as a row of the summary does, with the number of a stream or the sum, whatever follows; those of
/// the warm-up do not count, and neither does how many datagrams were sent.
fn begins_a_row(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix('[') else {
        return false;
    };
    let name = rest.split(']').next().unwrap_or_default().trim();
    let is_stream = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    (is_stream || name == "SUM") && !line.contains("(omitted)") && !line.ends_with(" datagrams")
}

/// `[  5]   0.00-10.00  sec  1.10 GBytes   945 Mbits/sec   12             sender`, with one blank or many between.
fn row(line: &str) -> Option<Row<'_>> {
    let (is_sum, name, role, rest) = head(line)?;
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    if words.contains(&"(omitted)") {
        return None;
    }
    // Blanks may be gone, and with them a part of these words.
    let counted = match *words.last()? {
        "sender" | "ser" => Some(Counted::Sender),
        "receiver" | "rer" => Some(Counted::Receiver),
        _ => None,
    };
    if counted.is_some() {
        words.pop();
    }
    let [interval, "sec", moved, unit, rate, rate_unit, rest @ ..] = &words[..] else {
        return None;
    };
    let (begin, end) = interval.split_once('-')?;
    let (begin_s, end_s) = (exact(begin)?, exact(end)?);
    exact(moved).filter(|_| unit.ends_with("Bytes"))?;
    let bits_per_s = exact(rate)? * scale(rate_unit)?;
    let (mut retransmits, mut jitter_ms, mut lost) = (None, None, None);
    match rest {
        [jitter, "ms", datagrams, _percent, ..] => {
            jitter_ms = Some(exact(jitter)?);
            lost = Some(
                datagrams
                    .split_once('/')
                    .and_then(|(lost, all)| exact(lost).zip(exact(all)))?,
            );
        }
        [count] if counted == Some(Counted::Sender) => {
            retransmits = Some(exact(count).filter(|n| n.fract() == 0.0)?);
        }
        [] => {}
        _ if counted.is_none() => {}
        _ => return None,
    }
    (begin_s <= end_s).then_some(Row {
        stream: (!is_sum).then_some(name),
        role,
        end_s,
        bits_per_s,
        retransmits,
        jitter_ms,
        lost,
        counted,
    })
}

/// A word that is one number from 0, as a whole.
fn exact(word: &str) -> Option<f64> {
    let digits = word.len() <= 20 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    number(word)
        .filter(|(_, rest)| digits && rest.is_empty())
        .map(|(value, _)| value)
}

/// Bits per second of a unit.
fn scale(unit: &str) -> Option<f64> {
    let amount = unit.strip_suffix("/sec")?;
    let (prefix, base, bits) = match amount.strip_suffix("Bytes") {
        Some(prefix) => (prefix, 1024.0_f64, 8.0),
        None => (amount.strip_suffix("bits")?, 1000.0, 1.0),
    };
    let power = ["", "K", "M", "G", "T"]
        .iter()
        .position(|of| *of == prefix)?;
    Some(base.powi(i32::try_from(power).ok()?) * bits)
}
