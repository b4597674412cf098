//! fio's JSON: every object in a text that has a version and jobs.
//!
//! What a number means is told by the keys that are there, not by the version: `clat_ns` is in nanoseconds and `clat`
//! in microseconds; `io_bytes` is in bytes where `io_kbytes` stands beside it and in KiB elsewhere.

use super::{Format, Job, Output, params};
use crate::figures::LeftOut;
use crate::figures::objects::{Object, objects};
use crate::fio::result::{Direction, JobResult, Latency, LatencyShares, SHARE_ENDS};
use model::num::round_to_u64;
use model::order::Order as _;
use model::units::UnixNanos;
use serde_json::Value;

/// The first keys of the whole; tools that sort keys put others than the version first.
const FIRST_KEYS: &[&str] = &[
    VERSION,
    "client_stats",
    "disk_util",
    "global options",
    "jobs",
];

const VERSION: &str = "fio version";

/// The outputs, and the text without them, with as many lines as before.
pub(super) fn outputs(text: &str, left_out: &mut Vec<LeftOut>) -> (Vec<Output>, String) {
    let objects = objects(text, VERSION, FIRST_KEYS);
    let broken = objects.broken.into_iter();
    left_out.extend(broken.map(|(line, error)| LeftOut {
        line,
        what: format!("JSON of fio that is cut or broken: {error}"),
    }));
    let found = objects.found.iter();
    let outputs = found
        .filter_map(|(line, root)| output(root, *line))
        .collect();
    (outputs, objects.rest)
}

fn output(root: &Object, line: usize) -> Option<Output> {
    let version = root.get(VERSION)?.as_str()?;
    let millis = root.get("timestamp_ms").and_then(Value::as_u64);
    let seconds = root.get("timestamp").and_then(Value::as_u64);
    let nanos = millis
        .and_then(|at| at.checked_mul(1_000_000))
        .or_else(|| seconds.and_then(|at| at.checked_mul(1_000_000_000)))
        .filter(|at| *at > 0);
    let jobs = ["jobs", "client_stats"];
    let jobs = jobs.iter().filter_map(|key| root.get(*key)?.as_array());
    let global = root.get("global options").and_then(Value::as_object);
    let jobs: Vec<Job> = jobs
        .flatten()
        .filter_map(|value| job(value.as_object()?, global, line))
        .collect();
    (!jobs.is_empty()).then(|| Output {
        line,
        format: Format::Json,
        version: Some(version.strip_prefix("fio-").unwrap_or(version).to_owned()),
        when: nanos.map(UnixNanos),
        pid: None,
        jobs,
    })
}

fn job(object: &Object, global: Option<&Object>, line: usize) -> Option<Job> {
    let whole = |key: &str| object.get(key).and_then(Value::as_u64);
    let own = object.get("job options").and_then(Value::as_object);
    let given = [global, own].into_iter().flatten().flatten();
    let given = given.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()));
    // Options are printed since 2.3; before, nothing is known of them.
    let options = own.map_or_else(Vec::new, |_| params::with_defaults(given));
    let direction = |key: &str| direction(object.get(key)?.as_object()?);
    let sync = object.get("sync").and_then(Value::as_object);
    let sync = sync.and_then(|sync| latency(sync, "lat"));
    let result = JobResult {
        name: object.get("jobname")?.as_str()?.to_owned(),
        group: whole("groupid").and_then(|id| u32::try_from(id).ok())?,
        error: object
            .get("error")
            .and_then(Value::as_i64)
            .map_or(0, |error| i32::try_from(error).unwrap_or(i32::MAX)),
        options,
        read: direction("read"),
        write: direction("write"),
        trim: direction("trim"),
        mixed: direction("mixed"),
        sync,
        shares: shares(object),
        ..JobResult::default()
    };
    let is_whole = true;
    Some(Job {
        line,
        result,
        is_whole,
    })
}

fn direction(object: &Object) -> Option<Direction> {
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    let whole = |key: &str| object.get(key).and_then(Value::as_u64);
    let unit = if object.contains_key("io_kbytes") {
        1
    } else {
        1024
    };
    let io_bytes = whole("io_bytes")?.checked_mul(unit)?;
    let iops = number("iops")?;
    (io_bytes > 0 || iops > 0.0).then_some(())?;
    Some(Direction {
        io_bytes,
        bw_bytes_per_s: number("bw_bytes").or_else(|| Some(number("bw")? * 1024.0))?,
        iops,
        runtime_ms: whole("runtime")?,
        total_ios: whole("total_ios"),
        slat: latency(object, "slat"),
        clat: latency(object, "clat"),
        lat: latency(object, "lat"),
        ..Direction::default()
    })
}

/// The latency of this name, in nanoseconds or in microseconds as the key says; `None` without samples.
fn latency(object: &Object, name: &str) -> Option<Latency> {
    let keys = [(format!("{name}_ns"), 1.0), (name.to_owned(), 1e3)];
    let (found, unit) = keys
        .iter()
        .find_map(|(key, unit)| Some((object.get(key)?.as_object()?, *unit)))?;
    let number = |key: &str| found.get(key).and_then(Value::as_f64);
    let (min, max, mean) = (number("min")?, number("max")?, number("mean")?);
    let count = found.get("N").and_then(Value::as_u64);
    (count.map_or(max > 0.0, |count| count > 0)).then_some(())?;
    let percentiles = found.get("percentile").and_then(Value::as_object);
    let mut percentiles: Vec<(f64, u64)> = percentiles
        .into_iter()
        .flatten()
        .filter_map(|(percent, value)| {
            let percent: f64 = percent.parse().ok()?;
            // Places that are not in use have the key 0.00.
            let is_used = percent > 0.0 && percent <= 100.0;
            is_used.then_some((percent, round_to_u64(value.as_f64()? * unit)))
        })
        .collect();
    percentiles.order_by(|a, b| a.0.total_cmp(&b.0));
    Some(Latency {
        min_ns: round_to_u64(min * unit),
        max_ns: round_to_u64(max * unit),
        mean_ns: mean * unit,
        stddev_ns: number("stddev")? * unit,
        count,
        percentiles,
        bins: Vec::new(),
    })
}

fn shares(object: &Object) -> Option<LatencyShares> {
    let mut shares = LatencyShares::default();
    let class = |key: &str| object.get(key).and_then(Value::as_object);
    let fill = |cells: &mut [f64], object: &Object| {
        let ends = SHARE_ENDS.into_iter().chain([2000]);
        let keys = ends.map(|end| end.to_string());
        let keys = keys.chain([">=2000".to_owned()]);
        for (cell, key) in cells.iter_mut().zip(keys) {
            *cell = object.get(&key).and_then(Value::as_f64).unwrap_or(0.0);
        }
    };
    if let Some(object) = class("latency_ns") {
        fill(shares.ns.insert([0.0; 10]), object);
    }
    fill(&mut shares.us, class("latency_us")?);
    fill(&mut shares.ms, class("latency_ms")?);
    Some(shares)
}
