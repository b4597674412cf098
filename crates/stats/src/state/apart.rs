//! Rounds that lie apart from the others: few of them, so that nobody can say whether there are two levels.
//!
//! Three things are looked for, each only where noise hardly ever makes it. Rounds that are many times what the others
//! are, whatever these do. A first round that is unlike all others, as where something was cold: it has a place of its
//! own, so that it is held against one distance and not against the largest of many. And two groups of rounds, where
//! there are too few for [`two_state`]: the t test between the groups, at a level divided by the number of ways to part
//! the rounds in two. A single round that is not the first is no group: heavy tails make such rounds. Every threshold
//! comes from the simulation in `rates`, which holds all words together to what the method page promises.

use super::{PRACTICAL_STEP, two_state};
use crate::{dist, quantile};
use model::num::count;

/// Rounds that lie apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Apart {
    /// How many they are.
    pub rounds: usize,
    /// Their level over that of the others, as a logarithm; of rounds far off on both sides that of the farthest.
    pub ln_change: f64,
}

/// The chance with which normal noise may part the rounds in two groups; other noise does so about as often.
const ALPHA: f64 = 0.012;
/// How far the first round must be from the mean of the others, in standard deviations of theirs: it is for 1 % of six
/// rounds with the tails of t with three degrees of freedom, and for fewer of more rounds or of other noise.
const FIRST_DEVIATIONS: f64 = 7.0;
/// How many times the median, or less than which part of it, a round is that lies apart whatever the others do. Of 60
/// rounds with these tails and a standard deviation of 5 % one in 15,000 is.
const FAR: f64 = 2.5;
/// The fewest rounds of a group, and of two of them: of fewer every order of noise has two groups.
const GROUP_MIN: usize = 2;
const ROUNDS_MIN: usize = 9;

/// The rounds that lie apart in `logs`, the logarithms of the rounds in the order in which they ran; groups only where
/// there are fewer than `states_from` of them.
pub fn find(logs: &[f64], states_from: usize) -> Option<Apart> {
    far_off(logs)
        .or_else(|| first(logs))
        .or_else(|| groups(logs).filter(|_| logs.len() < states_from))
}

/// Rounds that are many times the median, or a small part of it.
fn far_off(logs: &[f64]) -> Option<Apart> {
    let median = quantile::median(logs)?;
    let far = || {
        let distances = logs.iter().map(|log| log - median);
        distances.filter(|distance| distance.abs() >= FAR.ln())
    };
    Some(Apart {
        rounds: far().count(),
        ln_change: far().max_by(|a, b| a.abs().total_cmp(&b.abs()))?,
    })
}

/// A first round that is unlike all others.
fn first(logs: &[f64]) -> Option<Apart> {
    let (first, others) = logs.split_first()?;
    let ln_change = first - quantile::mean(others)?;
    let deviation = quantile::variance(others)?.sqrt();
    let is_apart = ln_change.abs() > (FIRST_DEVIATIONS * deviation).max(PRACTICAL_STEP.ln_1p());
    is_apart.then_some(Apart {
        rounds: 1,
        ln_change,
    })
}

/// The rounds of the smaller of two groups.
fn groups(logs: &[f64]) -> Option<Apart> {
    let n = logs.len();
    let sorted = quantile::sorted(logs);
    let (cut, explained) = two_state::best_cut(&sorted)?;
    let (low, high) = sorted.split_at(cut);
    let gap = quantile::mean(high)? - quantile::mean(low)?;
    let rounds = low.len().min(high.len());
    if n < ROUNDS_MIN || rounds < GROUP_MIN || gap < PRACTICAL_STEP.ln_1p() {
        return None;
    }
    // Of the two-sample t test t^2 / df is what is explained over what is not; two exact levels explain all.
    let df = count(n - 2);
    let t = (df * explained / (1.0 - explained).max(0.0)).sqrt();
    let ways = 2_f64.powi(i32::try_from(n).ok()? - 1);
    (dist::t_two_sided(t, df) * ways < ALPHA).then_some(Apart {
        rounds,
        ln_change: if low.len() < high.len() { -gap } else { gap },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds found to lie apart, and their change in per cent; groups in fewer than 20 rounds.
    fn check(rounds: &[f64], expect: Option<(usize, i32)>) {
        let found = find(&quantile::logs(rounds).unwrap(), 20);
        let found = found.map(|apart| (apart.rounds, percent(apart.ln_change)));
        assert_eq!(found, expect, "{rounds:?}");
    }

    #[expect(clippy::cast_possible_truncation, reason = "per cent")]
    fn percent(ln_change: f64) -> i32 {
        (100.0 * ln_change.exp_m1()).round() as i32
    }

    #[test]
    fn rounds_far_from_the_median_are_apart_wherever_they_are() {
        let usual = [3000.0, 3111.0, 2950.0, 3050.0, 3010.0];
        check(&[&usual[..], &[250.0]].concat(), Some((1, -92)));
        check(&[&[250.0], &usual[..]].concat(), Some((1, -92)));
        check(&[&usual[..], &[1300.0]].concat(), None);
        let both = [&usual[..], &usual[..], &[1000.0, 9100.0]].concat();
        check(&both, Some((2, 202)));
        check(&[5.0; 6], None);
    }

    #[test]
    fn a_first_round_is_apart_where_it_is_unlike_all_others() {
        let after = [90.2, 89.1, 90.7, 90.0, 89.6, 90.9, 88.9, 90.3];
        for n in 5..=8 {
            check(&[&[100.0], &after[..n]].concat(), Some((1, 11)));
            check(&[&[92.0], &after[..n]].concat(), None);
            check(&[&after[..n], &[100.0]].concat(), None);
        }
        // As far, and as unlike, but too little to matter.
        check(&[92.0, 90.0, 90.01, 89.99, 90.0, 90.01], None);
    }

    #[test]
    fn the_smaller_of_two_groups_is_apart_where_there_are_enough_rounds() {
        let low = [92.3, 91.7, 92.0, 91.9];
        let high = [100.0, 99.2, 100.9, 100.3, 99.5, 100.6];
        let mixed = |lows: usize, highs: usize| -> Vec<f64> {
            let mut rounds = [&high[..highs], &low[..lows]].concat();
            // The first round is one of the larger group.
            rounds[1..].reverse();
            rounds
        };
        check(&mixed(3, 6), Some((3, -8)));
        check(&mixed(4, 5), Some((4, -8)));
        check(&mixed(2, 6), None);
        check(&[&low[..], &low[..], &high[..2]].concat(), Some((2, 8)));
        // Between the groups nothing is far from anything.
        check(
            &[92.0, 93.0, 94.0, 95.0, 96.0, 97.0, 98.0, 99.0, 100.0],
            None,
        );
        check(&[low, low, low, low, [100.0; 4]].concat(), None);
    }
}
