//! Latencies as a run keeps them: pairs of nanoseconds and count on a grid that is coarser than the recorder's.
//!
//! A round's values are computed from what was recorded (0.1 %); the pairs stay for what is asked later: the shape of
//! the distribution, other quantiles, other programs' formats. For that 128 buckets to the factor of two are enough:
//! each is at most 1/128 (0.8 %) of its value wide, as wide as those of the tools that people compare with, and holds a
//! tenth of the text. A bucket stands at the mean of what is in it, so that no mean moves and no quantile moves by more
//! than the width of its bucket. The smallest and the largest latency stay as they were recorded. Variable-length
//! integers were rejected: pairs in plain JSON can be read by anybody, and by every earlier version.

use crate::num::{approx, round_to_u64};
use std::collections::BTreeMap;

/// The name of the latency of whole operations, from beginning to end: the one that the engine records where a body
/// asks for it.
pub const LAT: &str = "lat";

/// The name under which a workload whose operations arrive by themselves records how late the program itself was: from
/// when an operation could have started to when it did.
pub const LATE: &str = "late";

/// The name under which such a workload records how long operations waited before they began, for whatever reason.
pub const LAG: &str = "lag";

/// Buckets to the factor of two, as a power of two: 128.
const PER_OCTAVE_BITS: u32 = 7;

/// The widest bucket of kept latencies, as a share of its value.
pub const WIDTH_MAX: f64 = 1.0 / 128.0;

/// The pairs of several rounds or copies as one ascending list, in which each latency stands once.
pub fn merged<'a>(lists: impl IntoIterator<Item = &'a [(u64, u64)]>) -> Vec<(u64, u64)> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for &(nanos, count) in lists.into_iter().flatten().filter(|pair| pair.1 > 0) {
        let sum = counts.entry(nanos).or_default();
        *sum = sum.saturating_add(count);
    }
    counts.into_iter().collect()
}

/// How many operations `pairs` are of.
pub fn operations(pairs: &[(u64, u64)]) -> u64 {
    let counts = pairs.iter().map(|pair| pair.1);
    counts.fold(0, u64::saturating_add)
}

/// The smallest latency that a share `q` (0 to 1) of the operations in `pairs` (ascending) do not exceed; `None` where
/// there are none.
pub fn quantile(pairs: &[(u64, u64)], q: f64) -> Option<u64> {
    let total = operations(pairs);
    let rank = round_to_u64((approx(total) * q).ceil()).clamp(1, total.max(1));
    let mut seen = 0_u64;
    pairs.iter().find_map(|&(nanos, count)| {
        seen = seen.saturating_add(count);
        (seen >= rank).then_some(nanos)
    })
}

/// The mean of the latencies in `pairs` in nanoseconds; `None` where there are none.
pub fn mean(pairs: &[(u64, u64)]) -> Option<f64> {
    let total = operations(pairs);
    let times = pairs
        .iter()
        .map(|&(nanos, count)| approx(nanos) * approx(count));
    (total > 0).then(|| times.sum::<f64>() / approx(total))
}

/// The standard deviation of the latencies in `pairs` from their mean in nanoseconds; `None` where there are none. All
/// operations are there, so that it is divided by their number.
pub fn deviation(pairs: &[(u64, u64)]) -> Option<f64> {
    let mean = mean(pairs)?;
    let squares = pairs
        .iter()
        .map(|&(nanos, count)| (approx(nanos) - mean).powi(2) * approx(count));
    Some((squares.sum::<f64>() / approx(operations(pairs))).sqrt())
}

/// `pairs` (ascending in nanoseconds) with those of one bucket taken together. Ascending as well, with the same sum of
/// counts, the same ends, and the same mean to half a nanosecond. What is coarse already stays as it is.
pub fn coarsened(pairs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let Some((first, rest)) = pairs.split_first() else {
        return Vec::new();
    };
    let Some((last, middle)) = rest.split_last() else {
        return vec![*first];
    };
    let mut kept = vec![*first];
    let joined = middle.chunk_by(|a, b| bucket(a.0) == bucket(b.0));
    kept.extend(joined.map(as_one));
    kept.push(*last);
    kept
}

/// All of `pairs` as one, at their mean.
fn as_one(pairs: &[(u64, u64)]) -> (u64, u64) {
    let count = operations(pairs);
    let sum: u128 = pairs
        .iter()
        .map(|&(nanos, count)| u128::from(nanos) * u128::from(count))
        .sum();
    let half = u128::from(count / 2);
    let mean = (sum + half) / u128::from(count.max(1));
    (u64::try_from(mean).unwrap_or(u64::MAX), count)
}

/// Which bucket a latency falls into: how far its digits are cut, and what is left of them.
const fn bucket(nanos: u64) -> (u32, u64) {
    let bits = u64::BITS - nanos.leading_zeros();
    let cut = bits.saturating_sub(PER_OCTAVE_BITS + 1);
    (cut, nanos >> cut)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// What a recorder of three figures would hand over of `n` latencies.
    fn recorded(rng: &mut Rng, n: usize, median: f64, deviation: f64) -> Vec<(u64, u64)> {
        let mut counts = BTreeMap::new();
        for _ in 0..n {
            let nanos = round_to_u64(median * (deviation * rng.normal()).exp());
            let cut = (u64::BITS - nanos.leading_zeros()).saturating_sub(11);
            *counts.entry(((nanos >> cut) + 1) << cut).or_insert(0_u64) += 1;
        }
        counts.into_iter().collect()
    }

    #[test]
    fn quantiles_are_values_of_the_sample_by_rank() {
        let pairs = [(10, 2), (20, 1), (30, 1)];
        for (q, expected) in [
            (0.0, 10),
            (0.5, 10),
            (0.51, 20),
            (0.75, 20),
            (0.76, 30),
            (1.0, 30),
        ] {
            assert_eq!(quantile(&pairs, q), Some(expected), "{q}");
        }
        // 100 values 1..=100: p99 is the 99th, not the maximum.
        let hundred: Vec<_> = (1..=100).map(|n| (n, 1)).collect();
        assert_eq!(quantile(&hundred, 0.99), Some(99));
        assert_eq!((mean(&pairs), operations(&pairs)), (Some(17.5), 4));
        // Two of 10, one of 20 and one of 30: the squares add up to 275.
        let expected = (275.0_f64 / 4.0).sqrt();
        assert!((deviation(&pairs).unwrap() - expected).abs() < 1e-9);
        assert_eq!(deviation(&[(7, 3)]), Some(0.0));
    }

    #[test]
    fn of_no_operation_there_is_neither_quantile_nor_mean() {
        for none in [&[][..], &[(7, 0)]] {
            assert_eq!((quantile(none, 0.5), mean(none)), (None, None));
            assert_eq!(deviation(none), None);
            assert!(merged([none]).is_empty());
        }
    }

    #[test]
    fn lists_are_merged_in_order_with_each_latency_once() {
        let lists = [&[(30, 1), (10, 2)][..], &[], &[(10, 1), (20, u64::MAX)]];
        assert_eq!(merged(lists), [(10, 3), (20, u64::MAX), (30, 1)]);
        assert_eq!(operations(&merged(lists)), u64::MAX, "and no more");
    }

    #[test]
    fn no_quantile_moves_by_more_than_a_bucket_and_no_mean_moves() {
        let mut rng = Rng::new(17);
        for (median, deviation) in [(1e2, 1.0), (9e4, 0.05), (9e4, 0.4), (2e6, 2.0), (1e9, 0.7)] {
            let before = recorded(&mut rng, 20_000, median, deviation);
            let after = coarsened(&before);
            assert_eq!(operations(&before), operations(&after));
            assert!(
                after.windows(2).all(|pair| pair[0].0 < pair[1].0),
                "ascending"
            );
            assert_eq!(
                (before[0].0, before.last().unwrap().0),
                (after[0].0, after.last().unwrap().0)
            );
            let moved = (mean(&after).unwrap() - mean(&before).unwrap()).abs();
            assert!(moved <= 0.5, "{moved} ns");
            for permille in 1_u32..=1000 {
                let q = f64::from(permille) / 1000.0;
                let [a, b] = [&before, &after].map(|pairs| approx(quantile(pairs, q).unwrap()));
                assert!(
                    (a - b).abs() <= WIDTH_MAX * a.max(b),
                    "{median} {deviation} {q}: {a} {b}"
                );
            }
            assert_eq!(coarsened(&after), after, "coarse already");
        }
    }

    #[test]
    fn wide_distributions_shrink_most() {
        let before = recorded(&mut Rng::new(5), 200_000, 1e5, 0.5);
        let after = coarsened(&before);
        assert!(
            after.len() * 5 < before.len(),
            "{} of {}",
            after.len(),
            before.len()
        );
    }

    #[test]
    fn the_ends_stand_alone_and_what_is_short_stays() {
        assert!(coarsened(&[]).is_empty());
        assert_eq!(coarsened(&[(7, 2)]), [(7, 2)]);
        assert_eq!(
            coarsened(&[(0, 1), (3, 2), (4, 5)]),
            [(0, 1), (3, 2), (4, 5)]
        );
        let dense = [(100_000, 1), (100_050, 1), (100_100, 3), (100_200, 1)];
        assert_eq!(
            coarsened(&dense),
            [(100_000, 1), (100_088, 4), (100_200, 1)]
        );
        assert_eq!(coarsened(&[(u64::MAX - 1, 1), (u64::MAX, 1)]).len(), 2);
    }
}
