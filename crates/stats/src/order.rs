//! The interval of a median, from ranks alone.
//!
//! The number of values below the true median is binomial with chance one half whatever the distribution is, so that
//! two order statistics enclose the median with a chance that is known exactly. Nothing is assumed but that the
//! rounds are independent. Source: Le Boudec, Performance Evaluation of Computer and Communication Systems (2010),
//! theorem 2.1 and table A.1; the same table is in the tests. Below six values no 95 % interval exists.

use crate::quantile;
use model::estimate::Interval;
use model::num::{count, round_to_usize};

/// Above this many values 0.5^n underflows, and the normal approximation of the binomial is exact to the rank.
const EXACT_MAX: usize = 1000;

/// The interval of the median of `values` with at least `confidence` (such as 0.95). `None` where there are too few
/// values for it (below six at 95 %) or one is not finite.
pub fn median_interval(values: &[f64], confidence: f64) -> Option<Interval> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let rank = lower_rank(values.len(), confidence)?;
    let sorted = quantile::sorted(values);
    Some(Interval {
        lo: sorted[rank - 1],
        hi: sorted[sorted.len() - rank],
        confidence,
    })
}

/// The rank, from 1, of the lower end among `n` ascending values; the upper end has the same rank from above.
/// `None` where even the smallest and the largest value do not enclose the median often enough.
pub fn lower_rank(n: usize, confidence: f64) -> Option<usize> {
    let allowed = (1.0 - confidence) / 2.0;
    if !(allowed > 0.0 && allowed < 0.5) || n == 0 {
        return None;
    }
    if n > EXACT_MAX {
        let z = crate::dist::normal_quantile(1.0 - allowed);
        return Some(round_to_usize(((count(n) - z * count(n).sqrt()) / 2.0).floor()).max(1));
    }
    // The chance that fewer than `rank` of n values lie below the median, one rank at a time.
    let mut term = (-count(n) * std::f64::consts::LN_2).exp();
    let mut below = 0.0;
    let mut rank = 0;
    while below + term <= allowed {
        below += term;
        term *= count(n - rank) / count(rank + 1);
        rank += 1;
    }
    (rank > 0).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ranks_follow_the_published_table_at_95_percent() {
        let table: &[(usize, Option<usize>)] = &[
            (0, None),
            (1, None),
            (5, None),
            (6, Some(1)),
            (8, Some(1)),
            (9, Some(2)),
            (11, Some(2)),
            (12, Some(3)),
            (14, Some(3)),
            (15, Some(4)),
            (16, Some(4)),
            (17, Some(5)),
            (19, Some(5)),
            (20, Some(6)),
            (22, Some(6)),
            (25, Some(8)),
            (27, Some(8)),
            (30, Some(10)),
            (70, Some(27)),
        ];
        for &(n, expect) in table {
            assert_eq!(lower_rank(n, 0.95), expect, "n = {n}");
        }
        assert_eq!(lower_rank(10, 1.0), None);
        assert_eq!(lower_rank(10, -0.5), None);
    }

    #[test]
    fn the_approximation_joins_the_exact_ranks() {
        let exact = lower_rank(EXACT_MAX, 0.95).unwrap();
        let approximate = lower_rank(EXACT_MAX + 1, 0.95).unwrap();
        assert!(approximate >= exact - 1 && approximate <= exact + 1);
    }

    #[test]
    fn ends_are_values_that_were_seen() {
        let values = [5.0, 1.0, 9.0, 3.0, 7.0, 2.0];
        let interval = median_interval(&values, 0.95).unwrap();
        assert_eq!((interval.lo, interval.hi), (1.0, 9.0));
        assert_eq!(median_interval(&values[..5], 0.95), None);
        assert_eq!(median_interval(&[f64::NAN; 10], 0.95), None);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median_and_scales(
            values in prop::collection::vec(0.001..1e9_f64, 6..60), factor in 0.001..1000.0_f64,
        ) {
            let interval = median_interval(&values, 0.95).unwrap();
            let median = quantile::median(&values).unwrap();
            prop_assert!(interval.lo <= median && median <= interval.hi);
            let scaled: Vec<f64> = values.iter().map(|value| value * factor).collect();
            let scaled = median_interval(&scaled, 0.95).unwrap();
            prop_assert!((scaled.lo / interval.lo / factor - 1.0).abs() < 1e-12);
            prop_assert!((scaled.hi / interval.hi / factor - 1.0).abs() < 1e-12);
        }
    }
}
