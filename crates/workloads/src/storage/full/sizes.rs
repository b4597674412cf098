//! How large the next operation is: always the same, any multiple of the smallest, or one of several sizes with shares.

use model::job::Blocks;
use model::num::{approx, round_to_u64};
use model::rng::Rng;

/// Draws sizes.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    rng: Rng,
    how: How,
}

#[derive(Clone, Debug)]
enum How {
    Fixed(u64),
    /// From `min` on, so many multiples of `grain`.
    Range {
        min: u64,
        grain: u64,
        count: u64,
    },
    /// Sizes, each with the end of its part of 2^32.
    Split(Vec<(u64, u64)>),
}

impl Sizes {
    /// Sizes as `blocks` says; those of a range go by single bytes where they need not be aligned.
    pub(super) fn new(blocks: &Blocks, unaligned: bool, seed: u64) -> Self {
        let how = match blocks {
            Blocks::Fixed(bytes) => How::Fixed(*bytes),
            Blocks::Range {
                min_bytes,
                max_bytes,
            } => {
                let grain = if unaligned { 1 } else { (*min_bytes).max(1) };
                How::Range {
                    min: *min_bytes,
                    grain,
                    count: (max_bytes - min_bytes) / grain + 1,
                }
            }
            Blocks::Split(parts) => How::Split(ends(parts)),
        };
        Self {
            rng: Rng::stream(seed, 17),
            how,
        }
    }

    /// The next size in bytes.
    #[inline]
    pub(super) fn next(&mut self) -> u64 {
        match &self.how {
            How::Fixed(bytes) => *bytes,
            How::Range { min, grain, count } => min + self.rng.below(*count) * grain,
            How::Split(ends) => {
                let drawn = self.rng.next() >> 32;
                let found = ends.iter().find(|(_, end)| drawn < *end).or(ends.last());
                found.map_or(0, |(bytes, _)| *bytes)
            }
        }
    }
}

/// The end of each size's part of 2^32.
fn ends(parts: &[(u64, f64)]) -> Vec<(u64, u64)> {
    let all: f64 = parts.iter().map(|(_, share)| share).sum();
    let mut sum = 0.0;
    parts
        .iter()
        .map(|&(bytes, share)| {
            sum += share;
            (bytes, round_to_u64(sum / all * approx(1 << 32)))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn drawn(blocks: &Blocks, unaligned: bool, count: usize) -> BTreeMap<u64, f64> {
        blocks.check().unwrap();
        let mut sizes = Sizes::new(blocks, unaligned, 3);
        let mut seen = BTreeMap::new();
        for _ in 0..count {
            *seen.entry(sizes.next()).or_insert(0.0) += 1.0;
        }
        seen
    }

    #[test]
    fn ranges_are_uniform_over_the_multiples_of_the_smallest() {
        let range = Blocks::Range {
            min_bytes: 4096,
            max_bytes: 20_000,
        };
        let seen = drawn(&range, false, 40_000);
        let sizes: Vec<u64> = seen.keys().copied().collect();
        assert_eq!(sizes, [4096, 8192, 12_288, 16_384]);
        // Binomial: 10,000 expected, standard deviation 87; five of them.
        assert!(
            seen.values().all(|n| (n - 10_000.0).abs() < 435.0),
            "{seen:?}"
        );
        let unaligned = drawn(&range, true, 40_000);
        assert!(unaligned.len() > 10_000, "single bytes");
        assert!(*unaligned.keys().next().unwrap() >= 4096);
        assert!(*unaligned.keys().next_back().unwrap() <= 20_000);
    }

    #[test]
    fn shares_of_sizes_are_within_binomial_bounds() {
        let parts = vec![(4096, 60.0), (65_536, 30.0), (8192, 9.0), (1 << 20, 1.0)];
        let split = Blocks::Split(parts.clone());
        let seen = drawn(&split, false, 100_000);
        for (bytes, percent) in parts {
            let (expected, share) = (percent * 1000.0, percent / 100.0);
            let deviation = (expected * (1.0 - share)).sqrt();
            let found = seen[&bytes];
            assert!(
                (found - expected).abs() < 5.0 * deviation,
                "{bytes}: {found}"
            );
        }
    }
}
