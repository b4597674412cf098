//! Latencies as a run keeps them: pairs of nanoseconds and count on a grid that is coarser than the recorder's.
//!
//! A round's values are computed from what was recorded (0.1 %); the pairs stay for what is asked later: the shape of
//! the distribution, other quantiles, other programs' formats. For that 128 buckets to the factor of two are enough:
//! each is at most 1/128 (0.8 %) of its value wide, as wide as those of the tools that people compare with, and holds a
//! tenth of the text. A bucket stands at the mean of what is in it, so that no mean moves and no quantile moves by more
//! than the width of its bucket. The smallest and the largest latency stay as they were recorded. Variable-length
//! integers were rejected: pairs in plain JSON can be read by anybody, and by every earlier version.

/// Buckets to the factor of two, as a power of two: 128.
const PER_OCTAVE_BITS: u32 = 7;

/// The widest bucket of kept latencies, as a share of its value.
pub const WIDTH_MAX: f64 = 1.0 / 128.0;

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
    kept.extend(joined.map(mean));
    kept.push(*last);
    kept
}

/// All of `pairs` as one, at their mean.
fn mean(pairs: &[(u64, u64)]) -> (u64, u64) {
    let count: u64 = pairs.iter().map(|pair| pair.1).sum();
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
    use crate::num::{approx, round_to_u64};
    use crate::rng::Rng;
    use std::collections::BTreeMap;

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

    fn quantile(pairs: &[(u64, u64)], q: f64) -> f64 {
        let total: u64 = pairs.iter().map(|pair| pair.1).sum();
        let rank = round_to_u64((approx(total) * q).ceil()).max(1);
        let mut seen = 0;
        for &(nanos, count) in pairs {
            seen += count;
            if seen >= rank {
                return approx(nanos);
            }
        }
        panic!("no pair")
    }

    fn sum(pairs: &[(u64, u64)]) -> f64 {
        pairs
            .iter()
            .map(|&(nanos, n)| approx(nanos) * approx(n))
            .sum()
    }

    #[test]
    fn no_quantile_moves_by_more_than_a_bucket_and_no_mean_moves() {
        let mut rng = Rng::new(17);
        for (median, deviation) in [(1e2, 1.0), (9e4, 0.05), (9e4, 0.4), (2e6, 2.0), (1e9, 0.7)] {
            let before = recorded(&mut rng, 20_000, median, deviation);
            let after = coarsened(&before);
            let count = |pairs: &[(u64, u64)]| pairs.iter().map(|pair| pair.1).sum::<u64>();
            assert_eq!(count(&before), count(&after));
            assert!(
                after.windows(2).all(|pair| pair[0].0 < pair[1].0),
                "ascending"
            );
            assert_eq!(
                (before[0].0, before.last().unwrap().0),
                (after[0].0, after.last().unwrap().0)
            );
            let moved = (sum(&after) - sum(&before)).abs() / approx(count(&before));
            assert!(moved <= 0.5, "{moved} ns");
            for permille in 1_u32..=1000 {
                let q = f64::from(permille) / 1000.0;
                let (a, b) = (quantile(&before, q), quantile(&after, q));
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
