//! YABS (Yet Another Bench Script): the tables that it prints ([`text`]), and the JSON of `yabs.sh -j` and `-w`.
//!
//! The script is not measured by itself: it runs fio, iperf3 and Geekbench and passes on what they say. Its runs of
//! fio are always the same, so that kurabe's own test of the same definition is known; of Geekbench's scores and of
//! iperf3's rates against public servers there is none, and they keep their own names. Speeds of fio are in KiB/s in
//! the JSON, although `speed_units` calls them `KBps`; those of the tables have a unit of their own.

#[cfg(test)]
mod tests;
mod text;
mod write;

pub use write::{has_report, report_json};

use crate::familiar::{YABS, YABS_JOBS, YABS_TIME};
use crate::figures::line::number;
use crate::figures::objects::{Object, objects};
use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader, tell_apart};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::order::Keyed as _;
use model::spec::{MetricClass, Nature};
use model::units::{Unit, UnixNanos};
use serde_json::Value;
use std::collections::BTreeMap;

/// The reader of YABS' outputs.
pub(crate) const READER: Reader = Reader {
    program: "yabs",
    marks: &[
        "\"version\"",
        "Yet-Another-Bench-Script",
        text::BLOCKS,
        text::PLACES,
        text::SCORES,
        text::DD,
    ],
    read,
};

/// The first key, as printed and where a tool has sorted the keys.
const FIRST_KEYS: &[&str] = &["version", "cpu"];

/// Streams of its runs of iperf3.
const STREAMS: u32 = 8;

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let objects = objects(text, "version", FIRST_KEYS).found;
    let ours = objects.iter().filter_map(|(line, root)| {
        let version = root.get("version")?.as_str()?;
        is_version(version).then_some((*line, root, version))
    });
    for (output, (line, root, version)) in ours.enumerate() {
        let time = root.get("time").and_then(Value::as_str);
        let other = root.get("measured_by").and_then(Value::as_str);
        let version = other.map_or_else(|| version.to_owned(), |by| format!("{version}, by {by}"));
        let report = Report {
            line,
            root,
            blank: Figures {
                cut_short: None,
                output,
                version: Some(version),
                when: time.and_then(when),
                test: String::new(),
                title: String::new(),
                copies: 1,
                nature: Nature::Storage,
                params: BTreeMap::new(),
                values: Vec::new(),
                ours: None,
            },
        };
        let first = found.figures.len();
        report.disks(&mut found);
        report.networks(&mut found);
        report.scores(&mut found);
        tell_apart(&mut found.figures[first..]);
    }
    text::read(text, &mut found);
    found
}

/// `v2022-08-17`.
fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_number =
        |part: &str, digits| part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
    matches!(parts[..], [year, month, day] if is_number(year.strip_prefix('v').unwrap_or(""), 4)
        && is_number(month, 2) && is_number(day, 2))
}

/// `20220817-035033`, taken as UTC.
fn when(text: &str) -> Option<UnixNanos> {
    let at = DateTime::strptime("%Y%m%d-%H%M%S", text).ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    u64::try_from(at).ok().map(UnixNanos)
}

struct Report<'a> {
    line: usize,
    root: &'a Object,
    /// What all figures of the output have in common.
    blank: Figures,
}

impl Report<'_> {
    /// The objects of a list, or the only one.
    fn parts(&self, key: &str) -> impl Iterator<Item = &Object> {
        let value = self.root.get(key);
        let one = value.and_then(Value::as_object);
        let all = value.and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_object).chain(one)
    }

    fn leave(&self, what: String, found: &mut Found) {
        let line = self.line;
        found.left_out.push(LeftOut { line, what });
    }

    fn disks(&self, found: &mut Found) {
        let os = self.root.get("os").and_then(Value::as_object);
        let arch = os.and_then(|os| os.get("arch")?.as_str());
        for part in self.parts("fio") {
            let bs = part.get("bs").and_then(Value::as_str).unwrap_or_default();
            let units = part.get("speed_units").and_then(Value::as_str);
            if !YABS.iter().any(|(of, ..)| *of == bs) || units.is_some_and(|of| of != "KBps") {
                let bs = bs.chars().take(20).collect::<String>();
                self.leave(format!("a run of fio of another kind: bs `{bs}`"), found);
                continue;
            }
            let number = |key: &str| part.get(key).and_then(positive);
            let rates = [number("iops_rw"), number("iops_r"), number("iops_w")];
            let kib = |key: &str| number(key).map(|kib| kib * 1024.0);
            let speeds = [kib("speed_rw"), kib("speed_r"), kib("speed_w")];
            // On ARM its file is smaller. Ours says what it had.
            let said = part.get("size").and_then(Value::as_str);
            let size = said.filter(|size| size.len() < 20).or(match arch {
                Some("x64" | "x86") => Some("2G"),
                Some("aarch64" | "arm") => Some("512M"),
                _ => None,
            });
            let runtime = part.get("runtime").and_then(positive);
            let runtime = runtime.unwrap_or(YABS_TIME.as_secs_f64());
            found.push(disk(&self.blank, bs, &rates, &speeds, size, runtime));
        }
    }

    fn networks(&self, found: &mut Found) {
        for part in self.parts("iperf") {
            let text = |key: &str| part.get(key).and_then(Value::as_str).unwrap_or_default();
            let (mode, provider, place) = (text("mode"), text("provider"), text("loc"));
            let mut values = Vec::new();
            for (key, quantity) in [("send", "send_bytes_per_s"), ("recv", "recv_bytes_per_s")] {
                match bytes_per_s(text(key)) {
                    Some(value) => values.push(transfer(quantity, value)),
                    None => self.leave(
                        format!("iperf3, {}, {key}: {}", short(provider), short(text(key))),
                        found,
                    ),
                }
            }
            if let Some(ns) = milliseconds(text("latency")) {
                values.push(Figure::time("ping_ns", MetricClass::LatencyTypical, ns));
            }
            found.push(network(&self.blank, [mode, provider, place], values));
        }
    }

    fn scores(&self, found: &mut Found) {
        let cpu = self.root.get("cpu").and_then(Value::as_object);
        let cores = cpu.and_then(|cpu| cpu.get("cores").and_then(positive));
        let cores = cores.and_then(|cores| u32::try_from(model::num::round_to_u64(cores)).ok());
        for part in self.parts("geekbench") {
            let Some(version) = part.get("version").and_then(positive) else {
                continue;
            };
            for (key, copies) in [("single", Some(1)), ("multi", cores)] {
                let value = part.get(key).and_then(positive);
                let (Some(value), Some(copies)) = (value, copies) else {
                    self.leave(format!("Geekbench {version}: no `{key}` score"), found);
                    continue;
                };
                found.push(score(&self.blank, &version.to_string(), key, copies, value));
            }
        }
    }
}

/// Figures of a run of fio: operations and bytes a second of both directions together, of reads, and of writes.
fn disk(
    blank: &Figures,
    bs: &str,
    iops: &[Option<f64>; 3],
    bytes_per_s: &[Option<f64>; 3],
    size: Option<&str>,
    runtime: f64,
) -> Figures {
    let named = |what: &'static str, unit: Unit, values: &[Option<f64>; 3]| {
        let ways = ["", "read_", "write_"].into_iter().zip(*values);
        let known = ways.filter_map(move |(way, value)| Some((format!("{way}{what}"), value?)));
        let of = move |(key, value)| Figure::rate(key, unit, MetricClass::Throughput, value);
        known.map(of).collect::<Vec<Figure>>()
    };
    let rates = named("iops", Unit::OpsPerSecond, iops);
    let speeds = named("bw_bytes_per_s", Unit::BytesPerSecond, bytes_per_s);
    let runtime = runtime.to_string();
    let always = [
        ("bs", bs),
        ("iodepth", "64"),
        ("rwmixread", "50"),
        ("ioengine", "libaio"),
        ("rw", "randrw"),
        ("direct", "1"),
        ("runtime", &runtime),
        ("gtod_reduce", "1"),
    ];
    let all = always.into_iter().chain(size.map(|size| ("size", size)));
    let params: BTreeMap<String, String> = all
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into_map();
    let mut tests = YABS.iter();
    let test = tests.find(|(of, ..)| *of == bs).map(|(_, test, _)| *test);
    let ours = test.zip(size).map(|(test, size)| Ours {
        test: test.into(),
        set: vec![
            ("size", size.to_owned()),
            ("runtime", format!("{runtime}s")),
        ],
        server: None,
    });
    Figures {
        test: format!("yabs.fio-{bs}"),
        title: format!("random reads and writes of {bs}, half and half, 64 at a time"),
        copies: YABS_JOBS,
        params,
        values: rates.into_iter().chain(speeds).collect(),
        ours,
        ..blank.clone()
    }
}

/// Figures of a run of iperf3: the kind of addresses, the provider, and the place.
fn network(blank: &Figures, names: [&str; 3], values: Vec<Figure>) -> Figures {
    let names = names.map(short);
    let known: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !name.is_empty())
        .collect();
    let title = known.join(", ");
    Figures {
        test: format!("yabs.iperf3-{}", slug(&title)),
        title: format!("iperf3: {title}"),
        copies: STREAMS,
        nature: Nature::Network,
        values,
        ..blank.clone()
    }
}

fn transfer(quantity: &str, bytes_per_s: f64) -> Figure {
    Figure::rate(
        quantity,
        Unit::NetBytesPerSecond,
        MetricClass::Throughput,
        bytes_per_s,
    )
}

/// A score of Geekbench: `single` or `multi`.
fn score(blank: &Figures, version: &str, key: &str, copies: u32, value: f64) -> Figures {
    Figures {
        test: format!("yabs.geekbench{version}-{key}"),
        title: format!("Geekbench {version}, {key}-core score"),
        copies,
        nature: Nature::Compute,
        values: vec![Figure::rate(
            "score",
            Unit::Number,
            MetricClass::Compute,
            value,
        )],
        ..blank.clone()
    }
}

impl Found {
    fn push(&mut self, figures: Figures) {
        if !figures.values.is_empty() {
            self.figures.push(figures);
        }
    }
}

/// A number above zero, also where it is printed as a text; zero stands for a test that failed.
fn positive(value: &Value) -> Option<f64> {
    let text = value.as_str().and_then(|text| text.trim().parse().ok());
    let value: f64 = value.as_f64().or(text)?;
    (value > 0.0 && value < 1e18).then_some(value)
}

/// `122 Mbits/sec`.
fn bytes_per_s(text: &str) -> Option<f64> {
    let (value, unit) = number(text.trim())?;
    let bits = match unit.trim() {
        "bits/sec" => 1.0,
        "Kbits/sec" => 1e3,
        "Mbits/sec" => 1e6,
        "Gbits/sec" => 1e9,
        _ => return None,
    };
    (value > 0.0).then_some(value * bits / 8.0)
}

/// `72.0 ms`.
fn milliseconds(text: &str) -> Option<f64> {
    let (value, unit) = number(text.trim())?;
    (value > 0.0 && unit.trim() == "ms").then_some(value * 1e6)
}

fn short(text: &str) -> String {
    let shown = text.trim().chars().take(40);
    shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

/// Lowercase letters, digits and `-`.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}
