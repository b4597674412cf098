//! One direction of a job, or of jobs that are reported as one: amounts, latencies, and rates over time.

use super::{Part, Piece, merged};
use dialects::fio::result::{self, Latency, Samples};
use model::job::{Direction, Done, Spread};
use model::num::approx;

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

/// Latencies of submission, completion, and both, with the percentiles that are asked for.
fn latencies(piece: &Piece<'_>, kinds: &[Direction]) -> [Option<Latency>; 3] {
    let reporting = &piece.first().reporting;
    let of = |names: &[&str]| {
        let of_kind = |kind: &Direction| -> Vec<String> {
            let named = |name: &&str| format!("{}_{name}", kind.word());
            names.iter().map(named).collect()
        };
        let kinds: Vec<Vec<String>> = kinds.iter().map(of_kind).collect();
        merged(piece, &kinds)
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
