//! A rate that falls once and then stays exactly where it is: what the end of a burst looks like in a short run.
//!
//! A run has rounds of a second or two, spread over minutes and mixed with other tests that may draw on the same
//! credit, so that it can suspect a bucket of credit and never claim one. Two places are looked at: between rounds,
//! where a bucket of minutes runs dry, and within rounds, where one of about a second does, in every round again. Only
//! a soak rests and looks whether the burst comes back.

use super::operations;
use crate::quantile;
use crate::rounds::whole;
use crate::thresholds::ROUNDS_MIN;
use model::num::count;
use model::plan::PlannedCase;
use model::record::Measured;
use model::units::Nanos;

/// The least ratio of the fast level to the slow one; that of bursts in soaks.
const RATIO_MIN: f64 = 1.15;
/// The widest range of the slow level, as a share of it: limiters are exact.
const EXACT_MAX: f64 = 0.03;
/// The fewest slow rounds.
const SLOW_ROUNDS_MIN: usize = 4;
/// The fewest slow windows of a round: eight tenths of a second.
const SLOW_WINDOWS_MIN: usize = 8;
/// The most windows between the levels.
const BETWEEN_MAX: usize = 2;
/// The share of the rounds that must show the fall, each by itself.
const ROUNDS_SHARE: f64 = 0.8;
/// Operations in a window below which whole operations decide how windows differ.
const OPS_PER_WINDOW_MIN: f64 = 30.0;

/// A fall that may be the end of a burst. Rates are in the unit of the case's leading metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fall {
    /// The first rounds are fast, all later ones slow and alike.
    Between {
        /// How many rounds are fast.
        fast_rounds: usize,
        /// The median of the fast ones.
        from: f64,
        /// The median of the slow ones.
        to: f64,
    },
    /// Every round begins fast and is slow from then on.
    Within {
        /// For how long a round is fast, in seconds, the discarded warm-up not counted.
        seconds: f64,
        /// The fast level.
        from: f64,
        /// The slow level.
        to: f64,
    },
}

/// What was asked of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// The measured time of all rounds, in seconds.
    pub seconds: f64,
    /// Operations done in it.
    pub operations: f64,
}

impl Load {
    /// Adds finished rounds.
    pub(super) fn add(&mut self, done: &[&Measured]) {
        for measured in done {
            let wall = measured.copies.iter().map(|copy| copy.wall.0).max();
            self.seconds += Nanos(wall.unwrap_or(0)).as_secs_f64();
            self.operations += operations(&measured.copies);
        }
    }
}

/// The fall of `case`, where there is one.
pub(super) fn of_case(case: &PlannedCase, done: &[&Measured]) -> Option<Fall> {
    let quantity = &case.metrics.first()?.quantity;
    let rates: Vec<f64> = done
        .iter()
        .filter_map(|measured| measured.values.get(quantity).copied())
        .collect();
    between(&rates).or_else(|| within(done, case.shape.window))
}

/// The first split that leaves only slow and exact rounds behind it.
fn between(rates: &[f64]) -> Option<Fall> {
    let splits = 1..(rates.len() + 1).checked_sub(SLOW_ROUNDS_MIN)?.max(1);
    splits.into_iter().find_map(|split| {
        let (fast, slow) = rates.split_at(split);
        let (from, to) = (quantile::median(fast)?, quantile::median(slow)?);
        let least = fast.iter().copied().fold(f64::INFINITY, f64::min);
        (is_exact(slow, to) && least >= RATIO_MIN * to).then_some(Fall::Between {
            fast_rounds: split,
            from,
            to,
        })
    })
}

/// Whether all values lie within a narrow range around their level.
fn is_exact(values: &[f64], level: f64) -> bool {
    let (lo, hi) = ends(values);
    level > 0.0 && hi - lo <= EXACT_MAX * level
}

fn ends(values: &[f64]) -> (f64, f64) {
    let lo = values.iter().copied().fold(f64::INFINITY, f64::min);
    let hi = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (lo, hi)
}

/// The same fall in most rounds, read off the medians of their windows.
fn within(done: &[&Measured], window: Nanos) -> Option<Fall> {
    let rounds: Vec<&Vec<f64>> = done.iter().map(|measured| &measured.windows).collect();
    let length = rounds.iter().map(|windows| windows.len()).min()?;
    let ops: f64 = done
        .iter()
        .map(|measured| operations(&measured.copies))
        .sum();
    let all: usize = rounds.iter().map(|windows| windows.len()).sum();
    if whole(rounds.len()) < ROUNDS_MIN || ops < OPS_PER_WINDOW_MIN * count(all) {
        return None;
    }
    let medians: Vec<f64> = (0..length)
        .map(|at| quantile::median(&rounds.iter().map(|windows| windows[at]).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    let splits = 1..(length + 1).checked_sub(SLOW_WINDOWS_MIN)?.max(1);
    let (fast, slow) = splits.into_iter().find_map(|split| {
        let to = quantile::median(&medians[split..])?;
        let limit = RATIO_MIN * to;
        let fast = medians[..split]
            .iter()
            .take_while(|&&rate| rate >= limit)
            .count();
        let abrupt = fast > 0 && split - fast <= BETWEEN_MAX;
        (abrupt && is_exact(&medians[split..], to)).then_some((fast, split))
    })?;
    let levels = |windows: &[f64]| {
        Some((
            quantile::median(&windows[..fast])?,
            quantile::median(&windows[slow..])?,
        ))
    };
    let falls = rounds
        .iter()
        .filter(|windows| levels(windows).is_some_and(|(from, to)| from >= RATIO_MIN * to));
    let (from, to) = levels(&medians)?;
    (count(falls.count()) >= ROUNDS_SHARE * count(rounds.len())).then(|| Fall::Within {
        seconds: count(fast) * window.as_secs_f64(),
        from,
        to,
    })
}
