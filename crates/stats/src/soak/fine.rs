//! Something that comes back within minutes: looked for in the windows themselves, piece by piece.
//!
//! A piece is at most 720 windows of load without a pause, on a grid of time, so that what lies between two stretches
//! shifts no phase. The first and the last window of a stretch are left out: whatever they cost would come back with
//! every stretch. A period is named only where at least half of the pieces show the same one.

use super::past::{CHAIN_GAP, Past};
use crate::quantile;
use crate::state::{PRACTICAL_STEP, periodic, series};
use model::num::{count, round_to_usize};
use model::soak::StretchKind;
use model::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

/// The longest piece, in windows.
const PIECE_MAX: usize = 720;
/// The most pieces looked at, spread evenly: each takes milliseconds.
const PIECES_MAX: usize = 24;
/// How far the periods of two pieces may differ, as a share, and still be the same.
const SAME: f64 = 0.05;

/// A period that several pieces of the series agree on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FinePeriod {
    /// Its length in seconds.
    pub seconds: f64,
    /// How far the slowest phase lies below the fastest, as a share of the median.
    pub depth: f64,
    /// Pieces that show it.
    pub pieces: usize,
    /// Pieces looked at.
    pub of: usize,
}

/// The period that at least half of the pieces agree on.
pub(super) fn find(all: &[Past], window: Nanos) -> Option<FinePeriod> {
    let all_pieces = pieces(all, window.as_secs_f64());
    let every = all_pieces.len().div_ceil(PIECES_MAX).max(1);
    let looked_at: Vec<&Vec<f64>> = all_pieces.iter().step_by(every).collect();
    let found: Vec<periodic::Period> = looked_at
        .iter()
        .filter_map(|piece| periodic::find(&series::level(piece)?))
        .filter(|period| period.depth >= PRACTICAL_STEP)
        .collect();
    let lengths: Vec<f64> = found.iter().map(|period| period.windows).collect();
    let usual = quantile::median(&lengths)?;
    let agreeing: Vec<&periodic::Period> = found
        .iter()
        .filter(|period| (period.windows / usual - 1.0).abs() <= SAME)
        .collect();
    let depths: Vec<f64> = agreeing.iter().map(|period| period.depth).collect();
    (2 * agreeing.len() >= looked_at.len()).then_some(())?;
    Some(FinePeriod {
        seconds: usual * window.as_secs_f64(),
        depth: quantile::median(&depths)?,
        pieces: agreeing.len(),
        of: looked_at.len(),
    })
}

/// Load without a pause, on a grid of time, cut into pieces that are long enough to look at.
fn pieces(all: &[Past], window_seconds: f64) -> Vec<Vec<f64>> {
    let usable: Vec<&Past> = all
        .iter()
        .filter(|past| !matches!(past.kind, StretchKind::Refill { .. }) && past.windows.len() > 2)
        .collect();
    usable
        .chunk_by(|a, b| b.started.since(a.ended) <= CHAIN_GAP)
        .flat_map(|load| {
            let grid = on_grid(load, window_seconds);
            let parts: Vec<Vec<f64>> = grid
                .chunks(PIECE_MAX)
                .filter(|piece| piece.len() >= periodic::WINDOWS_MIN)
                .map(<[f64]>::to_vec)
                .collect();
            parts
        })
        .collect()
}

/// The windows at their places in time; places without a window get the level of the last one before.
fn on_grid(load: &[&Past], window_seconds: f64) -> Vec<f64> {
    let Some(first) = load.first() else {
        return Vec::new();
    };
    let mut grid: Vec<f64> = Vec::new();
    for past in load {
        let level = quantile::median(&past.windows).unwrap_or_default();
        let from = past.began.since(first.began).as_secs_f64();
        let last = past.windows.len() - 1;
        for (i, &value) in past.windows.iter().enumerate() {
            let place = round_to_usize((from + count(i) * past.step) / window_seconds);
            grid.resize(grid.len().max(place + 1), level);
            if i > 0 && i < last {
                grid[place] = value;
            }
        }
    }
    grid
}
