//! One direction of a job, or of jobs that are reported as one: amounts, latencies, and rates over time.

use super::{Piece, merged, reported};
use dialects::fio::job::{Blocks, Job};
use dialects::fio::result::{Direction, Latency, Samples};
use model::num::{approx, round_to_u64};
use model::record::CopyRecord;

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Write,
    Trim,
}

impl Kind {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Write, Self::Trim];

    /// What begins the names of its latencies and amounts.
    const fn prefix(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Trim => "trim",
        }
    }

    /// Bytes of one operation of the job, where they are all alike.
    fn block(self, job: &Job) -> u64 {
        let blocks = match self {
            Self::Read => &job.does.blocks.read,
            Self::Write => &job.does.blocks.write,
            Self::Trim => &job.does.blocks.trim,
        };
        blocks.as_ref().map_or(0, Blocks::max_bytes)
    }
}

/// What the jobs did of these kinds together.
pub(super) fn direction(piece: &Piece<'_>, kinds: &[Kind]) -> Direction {
    let reporting = &piece.first().reporting;
    let pairs = || piece.jobs.iter().zip(&piece.copies);
    let sum = |of: &dyn Fn(Kind, &Job, &CopyRecord) -> f64| -> f64 {
        let of_all = |kind: &Kind| -> f64 { pairs().map(|(job, copy)| of(*kind, job, copy)).sum() };
        kinds.iter().map(of_all).sum()
    };
    let whole = |what: &str| {
        let named =
            |kind: Kind, copy: &CopyRecord| reported(copy, &format!("{}_{what}", kind.prefix()));
        round_to_u64(sum(&|kind, _, copy| named(kind, copy)))
    };
    let ios = sum(&|kind, _, copy| done(kind, copy));
    let bytes = sum(&bytes_of);
    let wall_ns = runtime_ns(piece, kinds);
    let seconds = (wall_ns / 1e9).max(1e-9);
    let [slat, clat, lat] = latencies(piece, kinds);
    let samples = |what: &str| {
        let found = samples(piece, kinds, what);
        found.filter(|_| !reporting.no_bw)
    };
    Direction {
        io_bytes: round_to_u64(bytes),
        bw_bytes_per_s: bytes / seconds,
        iops: ios / seconds,
        runtime_ms: if ios > 0.0 { whole_ms(wall_ns) } else { 0 },
        total_ios: Some(round_to_u64(ios)),
        short_ios: Some(whole("short")),
        dropped_ios: Some(0),
        slat,
        clat,
        lat,
        bw_samples: samples("bw"),
        iops_samples: samples("iops"),
    }
}

/// A time in whole milliseconds, as fio tells it: what was done took one at least.
fn whole_ms(ns: f64) -> u64 {
    round_to_u64((ns / 1e6).ceil()).max(1)
}

/// Operations of a kind.
fn done(kind: Kind, copy: &CopyRecord) -> f64 {
    reported(copy, &format!("{}s", kind.prefix()))
}

/// Bytes of a kind that a copy transferred: as it says, or its operations times their size.
fn bytes_of(kind: Kind, job: &Job, copy: &CopyRecord) -> f64 {
    let own = format!("{}_bytes", kind.prefix());
    let plain = || done(kind, copy) * approx(kind.block(job));
    copy.reported.get(&own).copied().unwrap_or_else(plain)
}

/// The time from the first to the last operation of these kinds, of the job that took longest.
fn runtime_ns(piece: &Piece<'_>, kinds: &[Kind]) -> f64 {
    let of = |copy: &CopyRecord| {
        let own = kinds
            .iter()
            .map(|kind| format!("{}_runtime_ns", kind.prefix()));
        let own = own.filter_map(|name| copy.reported.get(&name).copied());
        let longest = own.fold(0.0, f64::max);
        if longest > 0.0 {
            longest
        } else {
            reported(copy, "runtime_ns")
        }
    };
    piece.copies.iter().map(|copy| of(copy)).fold(0.0, f64::max)
}

/// Latencies of submission, completion, and both, with the percentiles that are asked for.
fn latencies(piece: &Piece<'_>, kinds: &[Kind]) -> [Option<Latency>; 3] {
    let job = piece.first();
    let reporting = &job.reporting;
    let of = |names: &[&str]| {
        let of_kind = |kind: &Kind| -> Vec<String> {
            let named = |name: &&str| format!("{}_{name}", kind.prefix());
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

/// What is told of rates over time. Jobs at the same time add up: their means exactly, their deviations as those of
/// jobs that do not know of each other, their ranges at the widest.
fn samples(piece: &Piece<'_>, kinds: &[Kind], what: &str) -> Option<Samples> {
    let mut all: Option<Samples> = None;
    for copy in &piece.copies {
        for kind in kinds {
            let name = format!("{}_{what}_window", kind.prefix());
            let of = |value: &str| copy.reported.get(&format!("{name}_{value}")).copied();
            let Some(count) = of("samples") else { continue };
            let value = |name: &str| of(name).unwrap_or(0.0);
            let sum = all.get_or_insert_with(Samples::default);
            sum.min += value("min");
            sum.max += value("max");
            sum.mean += value("mean");
            sum.stddev = sum.stddev.hypot(value("stddev"));
            sum.count = Some(sum.count.unwrap_or(0) + round_to_u64(count));
        }
    }
    all
}
