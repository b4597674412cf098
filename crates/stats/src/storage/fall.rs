//! A rate that falls once and then stays exactly where it is: what the end of a burst looks like in a short run.
//!
//! A run has rounds of a second or two, spread over minutes and mixed with other tests that may draw on the same
//! credit, so that it can suspect a bucket of credit and never claim one. Two places are looked at: between rounds,
//! where a bucket of minutes runs dry, and within rounds, where one of about a second does, in every round again. Only
//! a soak rests and looks whether the burst comes back.

use super::operations;
use crate::quantile;
use crate::rounds::{whole, work};
use crate::thresholds::ROUNDS_MIN;
use model::num::count;
use model::plan::PlannedCase;
use model::record::Measured;
use model::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;

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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind")]
pub enum Fall {
    /// The first rounds are fast, all later ones slow and alike.
    #[serde(rename = "between_rounds")]
    Between {
        /// How many rounds are fast.
        fast_rounds: usize,
        /// The median of the fast ones.
        from: f64,
        /// The median of the slow ones.
        to: f64,
    },
    /// Every round begins fast and is slow from then on.
    #[serde(rename = "within_rounds")]
    Within {
        /// For how long a round is fast, in seconds, the discarded warm-up not counted.
        #[serde(rename = "fast_seconds")]
        seconds: f64,
        /// The fast level.
        from: f64,
        /// The slow level.
        to: f64,
    },
}

/// What was asked of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
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
    let least = least_so_far(rates);
    let rest = ends_from(rates);
    splits.into_iter().find_map(|split| {
        let least = least[split - 1];
        if !may_be_exact(rest[split]) || least < RATIO_MIN * rest[split].0 {
            return None;
        }
        let (fast, slow) = rates.split_at(split);
        let (from, to) = (median(fast)?, median(slow)?);
        (is_exact(rest[split], to) && least >= RATIO_MIN * to).then_some(Fall::Between {
            fast_rounds: split,
            from,
            to,
        })
    })
}

/// The median of a part of the values. Every split has two parts, so that only those are sorted whose ends allow a
/// fall: behind a value of the slow level no split can be one any more, and a few are left.
fn median(values: &[f64]) -> Option<f64> {
    work::visit_all(values.len());
    quantile::median(values)
}

/// The least of each value and those before it.
fn least_so_far(values: &[f64]) -> Vec<f64> {
    let least = values.iter().scan(f64::INFINITY, |least, &value| {
        *least = least.min(value);
        Some(*least)
    });
    least.collect()
}

/// The smallest and the largest of each value and those behind it.
fn ends_from(values: &[f64]) -> Vec<(f64, f64)> {
    let mut ends = vec![(f64::INFINITY, f64::NEG_INFINITY); values.len()];
    let mut so_far = (f64::INFINITY, f64::NEG_INFINITY);
    for (at, &value) in values.iter().enumerate().rev() {
        so_far = (so_far.0.min(value), so_far.1.max(value));
        ends[at] = so_far;
    }
    ends
}

/// Whether all values lie within a narrow range around their level.
fn is_exact((lo, hi): (f64, f64), level: f64) -> bool {
    level > 0.0 && hi - lo <= EXACT_MAX * level
}

/// Whether values with these ends can be: their level is none above the largest.
fn may_be_exact(ends: (f64, f64)) -> bool {
    is_exact(ends, ends.1)
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
    let least = least_so_far(&medians);
    let rest = ends_from(&medians);
    // How many windows are fast from the beginning on, if the slow ones lie at this level.
    let fast_above = |level: f64, split: usize| {
        least[..split].partition_point(|&rate| rate >= RATIO_MIN * level)
    };
    let is_abrupt = |fast: usize, split: usize| fast > 0 && split - fast <= BETWEEN_MAX;
    let (fast, slow) = splits.into_iter().find_map(|split| {
        let ends = rest[split];
        if !may_be_exact(ends) || !is_abrupt(fast_above(ends.0, split), split) {
            return None;
        }
        let to = median(&medians[split..])?;
        let fast = fast_above(to, split);
        (is_abrupt(fast, split) && is_exact(ends, to)).then_some((fast, split))
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    /// Every split tried out, as the rule is written.
    fn each_split(rates: &[f64]) -> Option<Fall> {
        (1..=rates.len().saturating_sub(SLOW_ROUNDS_MIN)).find_map(|split| {
            let (fast, slow) = rates.split_at_checked(split)?;
            let (from, to) = (quantile::median(fast)?, quantile::median(slow)?);
            let all_fast = fast.iter().all(|&rate| rate >= RATIO_MIN * to);
            let lo = slow.iter().copied().fold(f64::INFINITY, f64::min);
            let hi = slow.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            (slow.len() >= SLOW_ROUNDS_MIN && is_exact((lo, hi), to) && all_fast).then_some(
                Fall::Between {
                    fast_rounds: split,
                    from,
                    to,
                },
            )
        })
    }

    #[test]
    fn splits_that_are_passed_over_are_none() {
        let mut rng = Rng::new(7);
        let mut found = 0;
        for length in (0..10_000).map(|turn| turn % 12) {
            // Few levels, so that there are falls, and with a scatter about as wide as the rule allows.
            let level = [100.0, 100.0, 114.0, 116.0, 300.0, 0.0, -5.0];
            let pick = |rng: &mut Rng| level[rng.index(7)];
            let (fast, slow) = (pick(&mut rng), pick(&mut rng));
            let at = rng.index(12);
            let rates: Vec<f64> = (0..length)
                .map(|place| {
                    let level = if place < at { fast } else { slow };
                    level + [0.0, 1.0, 2.9, 3.1][rng.index(4)]
                })
                .collect();
            let expect = each_split(&rates);
            found += u32::from(expect.is_some());
            assert_eq!(between(&rates), expect, "{rates:?}");
        }
        assert!(found > 50, "{found}");
    }

    #[test]
    fn the_work_grows_with_the_rounds_and_not_with_their_square() {
        let step = |rounds: u32, at: u32, rest: f64| -> Vec<f64> {
            (0..rounds)
                .map(|round| if round < at { 300.0 } else { rest })
                .collect()
        };
        for rounds in [100, 10_000] {
            let rising = (0..rounds).map(|round| 1000.0 + f64::from(round));
            for (rates, most) in [
                (step(rounds, 0, 100.0), 0),
                (rising.clone().collect(), 0),
                (rising.rev().collect(), 0),
                (step(rounds, rounds / 2, 100.0), 1),
                (step(rounds, rounds / 2, 299.0), 0),
            ] {
                let visits = work::of(|| {
                    between(&rates);
                });
                assert!(visits <= most * rates.len(), "{rounds} rounds: {visits}");
            }
        }
    }
}
