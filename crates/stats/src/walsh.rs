//! The ratio from pairs of rounds that were measured close together, as in an A/B test on one machine.
//!
//! What the pair has in common cancels. The estimate is the median of all pairwise means of the logarithms' differences
//! (Hodges and Lehmann, Ann. Math. Statist. 34 (1963) 598-611), the interval comes from the exact distribution of the
//! signed-rank statistic: it assumes that differences are symmetric, which those of two rounds of the same case are.
//! It is never used for two servers, where nothing is paired and spreads differ.

use crate::rounds::whole;
use crate::yuen::NoInterval;
use crate::{dist, quantile};
use model::estimate::{Estimate, Interval};
use model::num::{count, round_to_usize};
use schemars::JsonSchema;
use serde::Serialize;

/// A ratio from pairs, with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "Estimate")]
pub struct PairedRatio {
    /// The natural logarithm of the ratio.
    pub ln_ratio: f64,
    /// The lower end, as a logarithm.
    pub ln_lo: f64,
    /// The upper end, as a logarithm.
    pub ln_hi: f64,
    /// The chance of missing the true ratio that the interval allows.
    pub alpha: f64,
    /// How many pairs.
    pub n: usize,
}

impl PairedRatio {
    /// The ratio.
    pub fn ratio(&self) -> f64 {
        self.ln_ratio.exp()
    }

    /// The interval's ends as ratios.
    pub fn interval(&self) -> Interval {
        Interval {
            lo: self.ln_lo.exp(),
            hi: self.ln_hi.exp(),
            confidence: 1.0 - self.alpha,
        }
    }
}

impl From<PairedRatio> for Estimate {
    fn from(found: PairedRatio) -> Self {
        Self {
            value: found.ratio(),
            interval: Some(found.interval()),
            n: whole(found.n),
        }
    }
}

/// The exact distribution is used up to this many pairs, the normal approximation above.
const EXACT_MAX: usize = 50;

/// The ratio second / first over `pairs`, with an interval that misses with a chance of at most `alpha`. Too few
/// pairs (below six at 0.05) have none.
pub fn log_ratio(pairs: &[(f64, f64)], alpha: f64) -> Result<PairedRatio, NoInterval> {
    let (first, second): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (Some(first), Some(second)) = (quantile::logs(&first), quantile::logs(&second)) else {
        return Err(NoInterval::NotPositive);
    };
    let differences: Vec<f64> = first.iter().zip(&second).map(|(a, b)| b - a).collect();
    let averages = walsh_averages(&differences);
    let rank = lower_rank(pairs.len(), alpha).ok_or(NoInterval::TooFewRounds)?;
    let ln_ratio = quantile::of_sorted(&averages, 0.5).ok_or(NoInterval::TooFewRounds)?;
    Ok(PairedRatio {
        ln_ratio,
        ln_lo: averages[rank - 1],
        ln_hi: averages[averages.len() - rank],
        alpha,
        n: pairs.len(),
    })
}

/// The means of all pairs of values, each with itself included, ascending.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(values.len() * (values.len() + 1) / 2);
    for (i, &a) in values.iter().enumerate() {
        averages.extend(values[i..].iter().map(|&b| f64::midpoint(a, b)));
    }
    averages.sort_by(f64::total_cmp);
    averages
}

/// The rank, from 1, of the lower end among the ascending averages of `n` differences; `None` where even the whole
/// range misses too often.
fn lower_rank(n: usize, alpha: f64) -> Option<usize> {
    if n == 0 {
        return None;
    }
    if n > EXACT_MAX {
        let mean = count(n) * count(n + 1) / 4.0;
        let deviation = (mean * (2.0 * count(n) + 1.0) / 6.0).sqrt();
        let z = dist::normal_quantile(1.0 - alpha / 2.0);
        return Some(round_to_usize((mean - z * deviation).floor()).max(1));
    }
    let mut below = 0.0;
    let mut rank = 0;
    for chance in signed_rank_chances(n) {
        below += chance;
        if below > alpha / 2.0 {
            break;
        }
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

/// The chance of each sum of signed ranks, from 0 to n (n + 1) / 2.
fn signed_rank_chances(n: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for rank in 1..=n {
        let mut next = vec![0.0; chances.len() + rank];
        for (sum, chance) in chances.iter().enumerate() {
            next[sum] += chance / 2.0;
            next[sum + rank] += chance / 2.0;
        }
        chances = next;
    }
    chances
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_follow_the_published_table() {
        // Hollander and Wolfe, Nonparametric Statistical Methods, table A.4: the critical sums at 2.5 % a side.
        let table = [
            (5, None),
            (6, Some(1)),
            (7, Some(3)),
            (8, Some(4)),
            (9, Some(6)),
            (10, Some(9)),
            (12, Some(14)),
            (15, Some(26)),
            (20, Some(53)),
        ];
        for (n, expect) in table {
            assert_eq!(lower_rank(n, 0.05), expect, "n = {n}");
        }
        let (exact, approximate) = (lower_rank(50, 0.05).unwrap(), lower_rank(51, 0.05).unwrap());
        assert!(
            approximate > exact && approximate < exact + 30,
            "{exact} {approximate}"
        );
    }

    #[test]
    fn what_a_pair_has_in_common_cancels() {
        let levels = [1.0, 100.0, 3.0, 0.1, 50.0, 7.0, 20.0];
        let pairs: Vec<(f64, f64)> = levels.iter().map(|&level| (level, 1.5 * level)).collect();
        let found = log_ratio(&pairs, 0.05).unwrap();
        let interval = found.interval();
        assert!((found.ratio() - 1.5).abs() < 1e-12);
        assert!((interval.lo - 1.5).abs() < 1e-12 && (interval.hi - 1.5).abs() < 1e-12);
        assert_eq!(log_ratio(&pairs[..5], 0.05), Err(NoInterval::TooFewRounds));
        assert_eq!(log_ratio(&[], 0.05), Err(NoInterval::TooFewRounds));
        assert_eq!(
            log_ratio(&[(1.0, 0.0); 9], 0.05),
            Err(NoInterval::NotPositive)
        );
    }

    proptest! {
        #[test]
        fn exchanging_the_sides_inverts_the_ratio(
            pairs in prop::collection::vec((0.01..100.0_f64, 0.01..100.0_f64), 6..20),
        ) {
            let there = log_ratio(&pairs, 0.05).unwrap();
            let swapped: Vec<(f64, f64)> = pairs.iter().map(|&(a, b)| (b, a)).collect();
            let back = log_ratio(&swapped, 0.05).unwrap();
            prop_assert!((there.ln_ratio + back.ln_ratio).abs() < 1e-12);
            prop_assert!((there.ln_lo + back.ln_hi).abs() < 1e-12);
            prop_assert!(there.ln_lo <= there.ln_ratio && there.ln_ratio <= there.ln_hi);
        }
    }
}
