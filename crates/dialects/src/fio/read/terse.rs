//! fio's terse form, versions 3, 4 and 5: a line a job, fields with `;` between.
//!
//! Bandwidth is in KiB/s and latencies are in whole microseconds. How many directions a line has is seen at the
//! percentiles, which no other fields look like.

use super::{Format, Job, Output};
use crate::figures::LeftOut;
use crate::fio::result::{Direction, JobResult, Latency, LatencyShares};
use model::num::{approx, round_to_u64};

/// Fields before the first direction: versions, name, group and error.
const HEAD: usize = 5;
/// Fields of a direction in versions 3 and 4; version 5 adds samples of operations.
const DIRECTION: usize = 41;
const DIRECTION_5: usize = 47;
/// The percentiles lie here in a direction.
const PERCENTILES: std::ops::Range<usize> = 12..32;
/// Behind the directions: processes (5), depths (7) and classes of latencies (22).
const REST: usize = 34;

/// The outputs. Lines one under the other are of one execution where their counters of disks are equal, for these are
/// of the whole of it.
pub(super) fn outputs(text: &str, left_out: &mut Vec<LeftOut>) -> Vec<Output> {
    let mut outputs: Vec<Output> = Vec::new();
    let (mut last, mut disks) = (0, "");
    for (line, text) in (1..).zip(text.lines()) {
        let Some((version, result, tail)) = job(text) else {
            if begins(text).is_some() {
                let what = "a line of fio's terse form that is cut or changed".to_owned();
                left_out.push(LeftOut { line, what });
            }
            continue;
        };
        let job = Job {
            line,
            result,
            is_whole: true,
        };
        let version = Some(version.to_owned());
        let continued = outputs.last_mut().filter(|output| {
            let before = output.jobs.last().map(|job| &job.result);
            let is_next = before.is_some_and(|before| before.group <= job.result.group);
            last + 1 == line && disks == tail && output.version == version && is_next
        });
        (last, disks) = (line, tail);
        match continued {
            Some(output) => output.jobs.push(job),
            None => outputs.push(Output {
                line,
                format: Format::Terse,
                version,
                when: None,
                pid: None,
                jobs: vec![job],
            }),
        }
    }
    outputs
}

/// Where a line of these versions begins; a prompt may stand before it.
fn begins(line: &str) -> Option<usize> {
    let at = line.find(";fio-")?.checked_sub(1)?;
    matches!(line.get(at..=at)?, "3" | "4" | "5").then_some(at)
}

/// The version, the job, and what stands behind the classes of latencies.
fn job(line: &str) -> Option<(&str, JobResult, &str)> {
    let at = begins(line)?;
    let (size, names): (usize, &[&str]) = match &line[at..=at] {
        "3" => (DIRECTION, &["read", "write", "mixed"]),
        "4" => (DIRECTION, &["read", "write", "trim", "mixed"]),
        _ => (DIRECTION_5, &["read", "write", "trim", "mixed"]),
    };
    let fields: Vec<&str> = line[at..].split(';').collect();
    let of = |index: usize| fields.get(HEAD + index * size..HEAD + (index + 1) * size);
    let count = (0..names.len())
        .take_while(|index| {
            let percentiles = of(*index).and_then(|fields| fields.get(PERCENTILES));
            percentiles.is_some_and(|fields| fields.iter().all(|field| field.contains("%=")))
        })
        .count();
    let end = HEAD + count * size + REST;
    let rest = fields.get(end - REST..end)?;
    // A line that is cut has no sign of per cent at its end.
    (count > 0 && rest[REST - 1].trim_end().ends_with('%')).then_some(())?;
    let mut result = JobResult {
        name: fields[2].to_owned(),
        group: fields[3].parse().ok()?,
        error: fields[4].parse().ok()?,
        shares: shares(&rest[12..]),
        ..JobResult::default()
    };
    let names = if count == 1 { &["mixed"] } else { names };
    for (index, name) in names.iter().enumerate().take(count) {
        let found = direction(of(index)?)?;
        let found = (found.io_bytes > 0 || found.iops > 0.0).then_some(found);
        match *name {
            "read" => result.read = found,
            "write" => result.write = found,
            "trim" => result.trim = found,
            _ => result.mixed = found,
        }
    }
    let tail = line[at..].splitn(end + 1, ';').nth(end).unwrap_or_default();
    Some((fields[1].strip_prefix("fio-")?, result, tail))
}

fn direction(fields: &[&str]) -> Option<Direction> {
    let whole = |at: usize| fields[at].parse::<u64>().ok();
    let kib = |at: usize| whole(at)?.checked_mul(1024);
    let mut clat = latency(&fields[8..12])?;
    for field in &fields[PERCENTILES] {
        let (percent, micros) = field.split_once("%=")?;
        let (percent, micros): (f64, f64) = (percent.parse().ok()?, micros.parse().ok()?);
        if percent > 0.0 && percent <= 100.0 {
            clat.percentiles.push((percent, round_to_u64(micros * 1e3)));
        }
    }
    let any = |latency: Latency| (latency.max_ns > 0).then_some(latency);
    Some(Direction {
        io_bytes: kib(0)?,
        bw_bytes_per_s: approx(kib(1)?),
        iops: fields[2].parse().ok()?,
        runtime_ms: whole(3)?,
        slat: any(latency(&fields[4..8])?),
        clat: any(clat),
        lat: any(latency(&fields[32..36])?),
        ..Direction::default()
    })
}

fn latency(fields: &[&str]) -> Option<Latency> {
    let ns = |at: usize| -> Option<f64> { Some(fields[at].parse::<f64>().ok()? * 1e3) };
    Some(Latency {
        min_ns: round_to_u64(ns(0)?),
        max_ns: round_to_u64(ns(1)?),
        mean_ns: ns(2)?,
        stddev_ns: ns(3)?,
        ..Latency::default()
    })
}

/// The classes; nanoseconds are counted in the first of microseconds.
fn shares(fields: &[&str]) -> Option<LatencyShares> {
    let mut shares = LatencyShares::default();
    let cells = shares.us.iter_mut().chain(&mut shares.ms);
    for (cell, field) in cells.zip(fields) {
        *cell = field.trim_end().strip_suffix('%')?.parse().ok()?;
    }
    Some(shares)
}
