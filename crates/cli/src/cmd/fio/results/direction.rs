//! One direction of a job, or of jobs that are reported as one: amounts, latencies, and rates over time.

use super::{Part, Piece, merged};
use dialects::fio::result::{self, Latency, Prioritized, Samples};
use model::job::{Direction, Done, IoPriority, Spread, prioritized};
use model::num::approx;
use std::iter;

/// What the jobs did of these kinds together.
pub(super) fn direction(piece: &Piece<'_>, kinds: &[Direction]) -> result::Direction {
    let each = || {
        piece
            .told()
            .flat_map(|told| kinds.iter().map(|kind| told.done.of(*kind)))
    };
    let sum = |of: fn(&Done) -> u64| -> u64 { each().map(of).sum() };
    let (ios, bytes) = (sum(|done| done.ops), sum(|done| done.bytes));
    let wall_ns = runtime_ns(piece, kinds);
    let seconds = (approx(wall_ns) / 1e9).max(1e-9);
    let [slat, clat, lat] = latencies(piece, kinds);
    let priorities = by_priority(piece, kinds);
    let samples = |of: fn(&Done) -> Option<Spread>| {
        let mut spreads = each().filter_map(of);
        let mut all = spreads.next()?;
        spreads.for_each(|spread| all.add(spread));
        Some(Samples {
            min: all.min,
            max: all.max,
            mean: all.mean,
            stddev: all.stddev,
            count: Some(all.count),
            ..Samples::default()
        })
        .filter(|_| !piece.first().reporting.no_bw)
    };
    result::Direction {
        io_bytes: bytes,
        bw_bytes_per_s: approx(bytes) / seconds,
        iops: approx(ios) / seconds,
        // As fio tells it: what was done took a millisecond at least.
        runtime_ms: if ios > 0 {
            wall_ns.div_ceil(1_000_000).max(1)
        } else {
            0
        },
        total_ios: Some(ios),
        short_ios: Some(sum(|done| done.short)),
        dropped_ios: Some(0),
        slat,
        clat,
        lat,
        priorities,
        bw_samples: samples(|done| done.bytes_per_s),
        iops_samples: samples(|done| done.iops),
    }
}

/// The time from the first to the last operation of these kinds, of the job that took longest.
fn runtime_ns(piece: &Piece<'_>, kinds: &[Direction]) -> u64 {
    let of = |part: &Part<'_>| {
        let own = kinds
            .iter()
            .filter_map(|kind| part.told.done.of(*kind).runtime);
        let longest = own.max().map_or(0, |time| time.0);
        if longest > 0 {
            longest
        } else {
            part.told.runtime.0
        }
    };
    piece.parts.iter().map(of).max().unwrap_or(0)
}

/// What operations of each priority took, those of the usual one first; nothing where all had the same.
fn by_priority(piece: &Piece<'_>, kinds: &[Direction]) -> Vec<Prioritized> {
    let reporting = &piece.first().reporting;
    let is_whole = reporting.tells_whole();
    if !is_whole && reporting.no_clat {
        return Vec::new();
    }
    let mut all: Vec<IoPriority> = Vec::new();
    for part in &piece.parts {
        let priorities = part.job.does.priorities.iter();
        let own = priorities.flat_map(|own| own.read.iter().chain(&own.write));
        for priority in iter::once(usual(part)).chain(own.map(|own| own.priority)) {
            if !all.contains(&priority) {
                all.push(priority);
            }
        }
    }
    let of = |priority: IoPriority| {
        let names = if is_whole {
            &["lat", "clat"][..]
        } else {
            &["clat"]
        };
        let named = |part: &Part<'_>| {
            let of_kind = |kind: &Direction| at_priority(part, *kind, names, priority);
            kinds.iter().map(of_kind).collect()
        };
        let latency = merged(piece, named)?;
        let is_listed = is_whole || reporting.clat_percentiles;
        let list: &[f64] = if is_listed {
            &reporting.percentiles
        } else {
            &[]
        };
        Some(Prioritized {
            priority,
            is_whole,
            latency: latency.with_percentiles(list),
        })
    };
    let found: Vec<Prioritized> = all.into_iter().filter_map(of).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// The priority of the process.
fn usual(part: &Part<'_>) -> IoPriority {
    part.job.life.io_priority().unwrap_or_default()
}

/// What the latencies of these names are called for operations of this kind and priority; nothing where there are none.
fn at_priority(
    part: &Part<'_>,
    kind: Direction,
    names: &[&str],
    priority: IoPriority,
) -> Vec<String> {
    let word = kind.word();
    if part.job.does.priorities.is_some() && kind != Direction::Trim {
        return vec![prioritized(word, names[0], priority)];
    }
    let is_usual = usual(part) == priority;
    let names = names.iter().filter(|_| is_usual);
    names.map(|name| format!("{word}_{name}")).collect()
}

/// Latencies of submission, completion, and both, with the percentiles that are asked for.
fn latencies(piece: &Piece<'_>, kinds: &[Direction]) -> [Option<Latency>; 3] {
    let reporting = &piece.first().reporting;
    let of = |names: &[&str]| {
        let of_kind = |kind: &Direction| -> Vec<String> {
            let named = |name: &&str| format!("{}_{name}", kind.word());
            names.iter().map(named).collect()
        };
        let kinds: Vec<Vec<String>> = kinds.iter().map(of_kind).collect();
        merged(piece, |_| kinds.clone())
    };
    let listed = |latency: Option<Latency>, wanted: bool| {
        let list: &[f64] = if wanted { &reporting.percentiles } else { &[] };
        latency.map(|latency| latency.with_percentiles(list))
    };
    // Where one call does it all, its time is the whole: for each job by itself, because not all need do it that way.
    let (slat, clat, lat) = (of(&["slat"]), of(&["clat"]), of(&["lat", "clat"]));
    [
        listed(slat, reporting.slat_percentiles).filter(|_| !reporting.no_slat),
        listed(clat, reporting.clat_percentiles).filter(|_| !reporting.no_clat),
        listed(lat, reporting.lat_percentiles).filter(|_| !reporting.no_lat),
    ]
}
