//! The columns of a row: what their two lines of headings say, and which quantities they are.

use crate::figures::Figure;
use crate::figures::line::number;
use model::order::Keyed as _;
use model::spec::{Better, MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Bytes of what vdbench calls MB.
const MB: f64 = 1_048_576.0;

/// What a run definition works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Reads and writes of devices and large files.
    Storage,
    /// Operations on many files.
    Files,
}

impl Kind {
    pub(super) const fn nature(self) -> Nature {
        match self {
            Self::Storage => Nature::Storage,
            Self::Files => Nature::FileSystem,
        }
    }

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Storage => "I/O",
            Self::Files => "file operations",
        }
    }
}

/// A value by the name that the flat file gives it.
pub(super) type Value = (&'static str, f64);

/// Words of both lines of headings, and the flat file's name for the column.
const STORAGE: &[(&str, &str, &str)] = &[
    ("i/o", "rate", "rate"),
    ("MB/sec", "1024**2", "MB/sec"),
    ("bytes", "i/o", "bytes/io"),
    ("read", "pct", "read%"),
    ("resp", "time", "resp"),
    ("read", "resp", "read_resp"),
    ("write", "resp", "write_resp"),
    ("resp", "max", "resp_max"),
    ("read", "max", "read_max"),
    ("write", "max", "write_max"),
    ("resp", "stddev", "resp_std"),
    ("queue", "depth", "queue_depth"),
    ("cpu%", "sys+u", "cpu_used"),
    ("cpu%", "sys", "cpu_kernel"),
];

/// The second line of headings of file systems: thirteen columns, then rate and response time per operation.
const FILES: [(&str, &str); 13] = [
    ("rate", "rate"),
    ("resp", "resp"),
    ("total", "cpu_used"),
    ("sys", "cpu_kernel"),
    ("pct", "read%"),
    ("rate", "read_rate"),
    ("resp", "read_resp"),
    ("rate", "write_rate"),
    ("resp", "write_resp"),
    ("read", "mb_read"),
    ("write", "mb_write"),
    ("total", "MB/sec"),
    ("size", "xfer"),
];

/// The columns of the rows that follow.
#[derive(Debug)]
pub(super) struct Columns {
    pub(super) kind: Kind,
    /// A name per column; one whose headings are not known has none.
    names: Vec<Option<&'static str>>,
}

/// Whether this is the first line of headings: `Apr 11, 2019    interval        i/o   MB/sec ...`.
pub(super) fn is_headings(line: &str) -> bool {
    (line.contains(" interval ") && line.contains("MB/sec")) || line.contains("ReqstdOps")
}

impl Columns {
    /// The columns below these two lines.
    pub(super) fn of(first: &str, second: &str) -> Option<Self> {
        let below: Vec<&str> = second.split_whitespace().collect();
        if first.contains("ReqstdOps") {
            let operations = below.get(FILES.len()..)?;
            let begins = FILES
                .iter()
                .map(|(word, _)| *word)
                .eq(below[..FILES.len()].iter().copied());
            let is_even = operations.chunks(2).all(|pair| pair == ["rate", "resp"]);
            let names = FILES.iter().map(|(_, name)| Some(*name));
            let rest = operations.iter().map(|_| None);
            return (begins && is_even).then(|| Self {
                kind: Kind::Files,
                names: names.chain(rest).collect(),
            });
        }
        let (_, above) = first.split_once(" interval ")?;
        let above: Vec<&str> = above.split_whitespace().collect();
        let name = |(above, below): (&&str, &&str)| {
            let known = STORAGE.iter().find(|(a, b, _)| a == above && b == below);
            known.map(|(_, _, name)| *name)
        };
        (above.len() == below.len()).then(|| Self {
            kind: Kind::Storage,
            names: above.iter().zip(&below).map(name).collect(),
        })
    }

    /// The values of a row, where it has as many as there are columns; the last one only of a row that is whole.
    pub(super) fn values<'a>(
        &self,
        words: impl Iterator<Item = &'a str>,
        is_whole: bool,
    ) -> Option<Vec<Value>> {
        let words: Vec<&str> = words.take(self.names.len() + 1).collect();
        if words.len() != self.names.len() {
            return None;
        }
        // Java prints a comma where the country does: then it stands in every fraction of the row.
        let has = |c| words.iter().any(|word| word.contains(c));
        let (commas, points) = (has(','), has('.'));
        if commas && points {
            return None;
        }
        let kept = self.names.len() - usize::from(!is_whole);
        let value = |(name, word): (Option<&'static str>, &&str)| {
            let value = match word.to_ascii_lowercase().as_str() {
                "nan" | "n/a" => f64::NAN,
                word => exact(&word.replace(',', "."))?,
            };
            Some(name.map(|name| (name, value)))
        };
        let values: Option<Vec<_>> = self
            .names
            .iter()
            .copied()
            .zip(&words)
            .take(kept)
            .map(value)
            .collect();
        let known = values?.into_iter().flatten();
        Some(known.filter(|(_, value)| value.is_finite()).collect())
    }
}

/// A word that is one number, as a whole.
pub(super) fn exact(word: &str) -> Option<f64> {
    number(word)
        .filter(|(_, rest)| rest.is_empty())
        .map(|(value, _)| value)
}

/// The quantities of a row; `None` where it moved nothing.
pub(super) fn quantities(kind: Kind, values: &[Value]) -> Option<Vec<Figure>> {
    // What was rounded to nothing, or did not occur, is no value.
    let get = |name: &str| {
        values
            .iter()
            .find(|(n, v)| *n == name && *v > 0.0)
            .map(|(_, value)| *value)
    };
    let rate = |name: &str, quantity: &str, unit, scale: f64| {
        let class = MetricClass::Throughput;
        get(name).map(|value| Figure::rate(quantity, unit, class, value * scale))
    };
    let time = |name: &str, quantity: &str, class| {
        get(name).map(|ms| Figure::time(quantity, class, ms * 1e6))
    };
    let share = |name: &str, quantity: &str| {
        let better = Better::Lower;
        get(name).map(|percent| Figure {
            better,
            ..Figure::rate(quantity, Unit::Share, MetricClass::System, percent / 100.0)
        })
    };
    let (typical, extreme) = (MetricClass::LatencyTypical, MetricClass::LatencyExtreme);
    let (operations, iops) = match kind {
        Kind::Storage => (Unit::OpsPerSecond, "iops"),
        Kind::Files => (Unit::OpsPerSecond, "ops_per_s"),
    };
    let first = rate("rate", iops, operations, 1.0)?;
    let rest = [
        rate("MB/sec", "bytes_per_s", Unit::BytesPerSecond, MB),
        rate("read_rate", "read_ops_per_s", operations, 1.0),
        rate("write_rate", "write_ops_per_s", operations, 1.0),
        rate("mb_read", "read_bytes_per_s", Unit::BytesPerSecond, MB),
        rate("mb_write", "write_bytes_per_s", Unit::BytesPerSecond, MB),
        time("resp", "resp_ns_mean", typical),
        time("read_resp", "read_resp_ns_mean", typical),
        time("write_resp", "write_resp_ns_mean", typical),
        time("resp_max", "resp_ns_max", extreme),
        time("read_max", "read_resp_ns_max", extreme),
        time("write_max", "write_resp_ns_max", extreme),
        time("resp_std", "resp_ns_stddev", MetricClass::LatencyTail),
        time("read_std", "read_resp_ns_stddev", MetricClass::LatencyTail),
        time(
            "write_std",
            "write_resp_ns_stddev",
            MetricClass::LatencyTail,
        ),
        share("cpu_used", "cpu_share"),
        share("cpu_kernel", "cpu_system_share"),
    ];
    Some(
        std::iter::once(first)
            .chain(rest.into_iter().flatten())
            .collect(),
    )
}

/// What a row says of how it was measured: the size of its I/Os where all have one size, the share of reads where it
/// was not drawn by lot. A mean of several sizes differs from run to run, and is a parameter of none.
pub(super) fn params(values: &[Value]) -> BTreeMap<String, String> {
    let get = |name: &str| {
        values
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, value)| *value)
    };
    let size = get("bytes/io").filter(|bytes| *bytes > 0.0 && bytes % 512.0 == 0.0);
    let reads = get("read%").filter(|percent| *percent <= 0.0 || *percent >= 100.0);
    let named = [("bytes_per_io", size), ("read_pct", reads)];
    let named = named
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?.to_string())));
    named.into_map()
}
