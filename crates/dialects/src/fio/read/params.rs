//! Options of a job in one way of writing, whatever the format, and kurabe's own test of the same definition.

use crate::figures::Ours;
use model::num::approx;
use model::order::Keyed as _;
use std::collections::BTreeMap;

/// Names that mean the same.
const ALIASES: &[(&str, &str)] = &[("readwrite", "rw"), ("blocksize", "bs")];

/// fio's defaults on Linux.
const DEFAULTS: &[(&str, &str)] = &[
    ("rw", "read"),
    ("bs", "4k"),
    ("ioengine", "psync"),
    ("iodepth", "1"),
    ("direct", "0"),
    ("numjobs", "1"),
];

/// Options that say where and under which name, not how.
const NAMES: &[&str] = &[
    "name",
    "description",
    "filename",
    "directory",
    "group_reporting",
    "stonewall",
    "numjobs",
];

/// The options that were given, over fio's defaults; the last of a name counts.
pub(super) fn with_defaults<'a>(
    given: impl Iterator<Item = (&'a str, &'a str)>,
) -> Vec<(String, String)> {
    let mut all: BTreeMap<&str, String> = BTreeMap::new();
    for (key, value) in DEFAULTS.iter().copied().chain(given) {
        let alias = ALIASES.iter().find(|(other, _)| *other == key);
        let key = alias.map_or(key, |(_, name)| name);
        let value = match key {
            "bs" => blocks(value),
            "size" => size(value),
            // A switch without a value is on.
            _ if value.is_empty() => "1".to_owned(),
            _ => value.to_owned(),
        };
        all.insert(key, value);
    }
    all.into_iter()
        .map(|(key, value)| (key.to_owned(), value))
        .collect()
}

/// What says how a job measured.
pub(super) fn told(options: &[(String, String)]) -> BTreeMap<String, String> {
    let how = options
        .iter()
        .filter(|(key, _)| !NAMES.contains(&key.as_str()));
    how.cloned().into_map()
}

/// The value of an option.
pub(super) fn value<'a>(options: &'a [(String, String)], key: &str) -> Option<&'a str> {
    let found = options.iter().find(|(name, _)| name == key);
    found.map(|(_, value)| value.as_str())
}

/// Block sizes, however they are written, as short as they can be: one size where all are equal, `512-1k` for a range,
/// reads, writes and trims with commas between.
pub(super) fn blocks(text: &str) -> String {
    let separator = if text.contains(',') { ',' } else { '/' };
    let parts: Vec<String> = text.split(separator).map(of_one_direction).collect();
    match parts.first() {
        Some(first) if parts.iter().all(|part| part == first) => first.clone(),
        _ => parts.join(","),
    }
}

/// `(R) 4096B-4096B`, `4K-4K`, `512-1K`, `4k`.
fn of_one_direction(text: &str) -> String {
    let text = text
        .trim()
        .trim_start_matches(['(', 'R', 'W', 'T', ')', ' ']);
    match text.split_once('-') {
        Some((low, high)) if size(low) == size(high) => size(low),
        Some((low, high)) => format!("{}-{}", size(low), size(high)),
        None => size(text),
    }
}

/// A size in the largest unit of 1024 that divides it; what is no size stays as it is.
pub(super) fn size(text: &str) -> String {
    bytes(text).map_or_else(|| text.trim().to_owned(), word)
}

/// The size of every block, where all have one.
pub(super) fn block(options: &[(String, String)]) -> Option<f64> {
    let splits = ["bssplit", "bsrange", "bs_unaligned", "blocksize_range"];
    if splits.iter().any(|key| value(options, key).is_some()) {
        return None;
    }
    bytes(value(options, "bs")?).map(approx)
}

/// `4k`, `4KB`, `4.0KiB`, `4096B`, `4096`.
fn bytes(text: &str) -> Option<u64> {
    let (value, unit) = crate::figures::line::number(text.trim())?;
    let unit = unit.to_ascii_lowercase();
    let power = match unit.trim_end_matches('b').trim_end_matches('i') {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        _ => return None,
    };
    let bytes = value * 1024.0_f64.powi(power);
    let is_whole = bytes.fract() == 0.0 && (0.0..1e18).contains(&bytes);
    is_whole.then(|| model::num::round_to_u64(bytes))
}

fn word(bytes: u64) -> String {
    let units = [
        (1_u64 << 40, "t"),
        (1 << 30, "g"),
        (1 << 20, "m"),
        (1 << 10, "k"),
    ];
    let unit = units
        .iter()
        .find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(
        || bytes.to_string(),
        |(unit, letter)| format!("{}{letter}", bytes / unit),
    )
}

/// Options that do not change what is measured, or are looked at below. Any other makes it a test of its own.
const KNOWN: &[&str] = &[
    "name",
    "description",
    "rw",
    "bs",
    "ioengine",
    "iodepth",
    "direct",
    "numjobs",
    "size",
    "filename",
    "directory",
    "runtime",
    "time_based",
    "ramp_time",
    "group_reporting",
    "stonewall",
    "thread",
    "randrepeat",
    "norandommap",
    "rwmixread",
    "gtod_reduce",
    "refill_buffers",
];

/// Tests of the family `storage`: pattern, block size, depth, share of reads.
const OURS: &[(&str, &str, &str, &str)] = &[
    ("storage.randread-4k", "randread", "4k", "1"),
    ("storage.randread-4k-qd32", "randread", "4k", "32"),
    ("storage.randwrite-4k", "randwrite", "4k", "1"),
    ("storage.randwrite-4k-qd32", "randwrite", "4k", "32"),
    ("storage.read-4k", "read", "4k", "1"),
    ("storage.read-4k-qd32", "read", "4k", "32"),
    ("storage.write-4k", "write", "4k", "1"),
    ("storage.write-4k-qd32", "write", "4k", "32"),
    ("storage.read-1m", "read", "1m", "8"),
    ("storage.write-1m", "write", "1m", "8"),
];

/// kurabe's own test with the parameters that differ, where all options are shown and each is understood.
pub(super) fn ours(options: &[(String, String)], copies: u32) -> Option<Ours> {
    let value = |key: &str| value(options, key);
    let is_known = options.iter().all(|(key, _)| KNOWN.contains(&key.as_str()));
    let (engine, depth) = (value("ioengine")?, value("iodepth")?);
    // Jobs without a file name have a file each; the copies of ours share one.
    let is_shared = copies == 1 || value("filename").is_some();
    let has_depth = matches!(engine, "libaio" | "io_uring");
    let is_ours = is_known
        && is_shared
        && value("direct") == Some("1")
        && (has_depth || (matches!(engine, "psync" | "pvsync2") && depth == "1"));
    is_ours.then_some(())?;
    let (test, ..) = OURS.iter().find(|(_, rw, bs, iodepth)| {
        value("rw") == Some(rw) && value("bs") == Some(bs) && depth == *iodepth
    })?;
    let mut set = Vec::new();
    if let Some(size) = value("size") {
        // A share of a device is no size.
        bytes(size)?;
        set.push(("size", size.to_owned()));
    }
    set.push(("ioengine", engine.to_owned()));
    if value("norandommap").is_some_and(|value| value != "0") {
        set.push(("norandommap", "yes".to_owned()));
    }
    if engine == "io_uring" {
        // fio registers nothing unless it is told to.
        set.push(("registerfiles", "no".to_owned()));
        set.push(("fixedbufs", "no".to_owned()));
    }
    Some(Ours {
        test: (*test).into(),
        set,
        server: None,
    })
}
