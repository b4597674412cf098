//! A trend in a short, independent series: whether there is one, and how large it is.
//!
//! Kendall's rank test says whether (its distribution is exact below 60 values and needs no normal noise); the slope
//! is Theil's and Sen's median of all pairwise slopes, which one wild round does not move. Sources: Mann,
//! Econometrica 13 (1945) 245-259; Sen, J. Am. Statist. Assoc. 63 (1968) 1379-1389.

use crate::{dist, quantile};
use model::num::{count, round_to_usize};

/// A trend of logarithms over the index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trend {
    /// The change of the logarithm from one value to the next.
    pub slope: f64,
    /// The two-sided p-value of "there is no trend".
    pub p_value: f64,
    /// The sum of squares that the best straight line leaves unexplained.
    pub unexplained: f64,
}

impl Trend {
    /// Last over first of `n` values on the trend, minus 1.
    pub fn change(&self, n: usize) -> f64 {
        change(self.slope, n)
    }
}

/// Above this many values the normal approximation of Kendall's statistic is used.
const EXACT_MAX: usize = 60;

/// The trend of `logs`, where it changes them from the first to the last by the share `least` at least; `None` for
/// fewer than three values.
pub fn of(logs: &[f64], least: f64) -> Option<Trend> {
    (logs.len() >= 3).then_some(())?;
    let slope = theil_sen(logs)?;
    (change(slope, logs.len()).abs() >= least).then_some(())?;
    Some(Trend {
        slope,
        p_value: kendall_p(logs),
        unexplained: line_residual(logs)?,
    })
}

fn change(slope: f64, n: usize) -> f64 {
    (slope * count(n.saturating_sub(1))).exp_m1()
}

/// The median slope over all pairs of values; `None` for fewer than two values.
pub fn theil_sen(values: &[f64]) -> Option<f64> {
    let n = values.len();
    let mut slopes = Vec::with_capacity(n * n.saturating_sub(1) / 2);
    for i in 0..n {
        for j in i + 1..n {
            slopes.push((values[j] - values[i]) / count(j - i));
        }
    }
    quantile::median(&slopes)
}

/// The chance that independent values in random order show a trend at least as strong in either direction. Ties
/// weaken the statistic, which errs towards no trend.
pub fn kendall_p(values: &[f64]) -> f64 {
    let n = values.len();
    let mut score = 0.0;
    for i in 0..n {
        for j in i + 1..n {
            if values[j] > values[i] {
                score += 1.0;
            } else if values[j] < values[i] {
                score -= 1.0;
            }
        }
    }
    let score: f64 = f64::abs(score);
    if n > EXACT_MAX {
        let variance = count(n) * count(n - 1) * (2.0 * count(n) + 5.0) / 18.0;
        return (2.0 * dist::normal_cdf(-(score - 1.0).max(0.0) / variance.sqrt())).min(1.0);
    }
    // score = pairs - 2 * inversions
    let pairs = count(n * n.saturating_sub(1) / 2);
    let most = round_to_usize(((pairs - score) / 2.0).floor());
    let below: f64 = inversions(n).iter().take(most + 1).sum();
    (2.0 * below).min(1.0)
}

/// The chance of 0, 1, 2... inversions in a random order of `n` values.
fn inversions(n: usize) -> Vec<f64> {
    let mut chances = vec![1.0];
    for k in 2..=n {
        // The k-th value adds 0 to k - 1 inversions with equal chance: a sliding sum over k neighbours.
        let mut next = Vec::with_capacity(chances.len() + k - 1);
        let mut sliding = 0.0;
        for total in 0..chances.len() + k - 1 {
            sliding += chances.get(total).unwrap_or(&0.0);
            if let Some(left) = total.checked_sub(k) {
                sliding -= chances.get(left).unwrap_or(&0.0);
            }
            next.push(f64::max(sliding, 0.0) / count(k));
        }
        chances = next;
    }
    chances
}

/// The sum of squares that the least-squares line leaves unexplained; `None` for an empty list.
pub(super) fn line_residual(values: &[f64]) -> Option<f64> {
    let mean = quantile::mean(values)?;
    let middle = count(values.len() - 1) / 2.0;
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        let (x, y) = (count(i) - middle, value - mean);
        xx += x * x;
        xy += x * y;
        yy += y * y;
    }
    Some((yy - xy * xy / xx).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kendall_is_exact_for_small_series() {
        let close = |found: f64, expect: f64| assert!((found - expect).abs() < 1e-12, "{found}");
        // Two of n! orders are as monotonous as a monotonous one.
        close(kendall_p(&[1.0, 2.0, 3.0, 4.0]), 2.0 / 24.0);
        close(kendall_p(&[6.0, 5.0, 4.0, 3.0, 2.0, 1.0]), 2.0 / 720.0);
        // One inversion: 1 + 5 orders of 720 from each end.
        close(kendall_p(&[2.0, 1.0, 3.0, 4.0, 5.0, 6.0]), 12.0 / 720.0);
        close(kendall_p(&[1.0, 1.0, 1.0, 1.0]), 1.0);
        close(inversions(8).iter().sum(), 1.0);
    }

    #[test]
    fn the_approximation_joins_the_exact_test() {
        let series = |n: usize| -> Vec<f64> {
            (0..n)
                .map(|i| count(i) + 40.0 * count(i * 37 % 11))
                .collect()
        };
        let (exact, approximate) = (kendall_p(&series(60)), kendall_p(&series(61)));
        assert!(
            exact > 1e-6 && (exact / approximate).ln().abs() < 0.7,
            "{exact} {approximate}"
        );
    }

    #[test]
    fn one_wild_value_does_not_turn_the_slope() {
        let mut values: Vec<f64> = (0..11).map(|i| 2.0 * f64::from(i)).collect();
        values[9] = -1000.0;
        assert!((theil_sen(&values).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(theil_sen(&[1.0]), None);
    }

    #[test]
    fn a_straight_line_explains_itself() {
        let trend = of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 0.03).unwrap();
        assert!(trend.unexplained < 1e-12);
        assert!((trend.change(6) - 5_f64.exp_m1()).abs() < 1e-9);
        assert_eq!(of(&[1.0, 2.0], 0.0), None);
        assert_eq!(
            of(&[0.001, 0.002, 0.003], 0.03),
            None,
            "smaller than asked for"
        );
    }
}
