//! Latencies over the time of a soak: those of whole stretches, of which each keeps its distribution.

use super::Past;
use crate::rounds::RunRounds;
use crate::storage;
use model::latency;
use model::num::{approx, count, round_to_usize};
use model::record::Run;

/// The latencies of a piece of time, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyAt {
    /// When its first stretch began, in seconds since the beginning of the soak.
    pub from: f64,
    /// When its last one ended, likewise.
    pub to: f64,
    /// The median.
    pub median: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The slowest one.
    pub slowest: f64,
}

/// What the storage took, over time, in so many pieces at most; empty where no stretch kept latencies.
pub fn latencies(run: &Run, pieces_max: usize) -> Vec<LatencyAt> {
    let rounds = RunRounds::of(run);
    let Some(case) = rounds.cases().first() else {
        return Vec::new();
    };
    let Some(name) = storage::leading_latency(case) else {
        return Vec::new();
    };
    let stretches: Vec<(Past, &[(u64, u64)])> = case
        .finished()
        .filter_map(|(round, measured)| {
            Some((Past::of(round)?, measured.latencies.get(&name)?.as_slice()))
        })
        .collect();
    let of_piece = (count(stretches.len()) / count(pieces_max.max(1))).ceil();
    let pieces = stretches.chunks(round_to_usize(of_piece).max(1));
    let at = |piece: &[(Past, &[(u64, u64)])]| {
        let pairs = latency::merged(piece.iter().map(|(_, pairs)| *pairs));
        let quantile = |q| latency::quantile(&pairs, q).map(approx);
        let (first, last) = (&piece.first()?.0, &piece.last()?.0);
        Some(LatencyAt {
            from: first.began.as_secs_f64(),
            to: last.ended.as_secs_f64(),
            median: quantile(0.5)?,
            p99: quantile(0.99)?,
            slowest: quantile(1.0)?,
        })
    };
    pieces.filter_map(at).collect()
}
