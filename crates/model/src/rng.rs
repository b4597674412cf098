//! A seeded sequence of numbers: the same seed gives the same order, layout, data and resampling on every machine.
//!
//! `SplitMix64`: one addition and three multiplications a number, passes `BigCrush`, and any seed is a good seed.
//! It is no source of secrets. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators",
//! OOPSLA 2014, doi 10.1145/2660193.2660195.

/// The sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    /// The sequence of this seed.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A sequence of its own for each `stream` of the same seed.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03));
        rng.0 = rng.next();
        rng
    }

    /// The next number, all 64 bits random.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number from 0 to `bound` - 1; 0 for a bound of 0. The bias is below `bound` in 2^64.
    pub fn below(&mut self, bound: u64) -> u64 {
        let wide = u128::from(self.next()) * u128::from(bound);
        u64::try_from(wide >> 64).unwrap_or(0)
    }

    /// A number from 0 (included) to 1 (excluded).
    pub fn unit(&mut self) -> f64 {
        crate::num::approx(self.next() >> 11) / 9_007_199_254_740_992.0
    }

    /// An index below `n`; 0 for an `n` of 0.
    pub fn index(&mut self, n: usize) -> usize {
        usize::try_from(self.below(n as u64)).unwrap_or(0)
    }

    /// A number from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// A number from the standard normal distribution (Box and Muller, Ann. Math. Statist. 29 (1958) 610).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.index(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_sequence() {
        // The first numbers for seed 1234567, as in the reference implementation's documentation.
        let mut rng = Rng::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([(); 3].map(|()| rng.next()), expected);
    }

    #[test]
    fn shuffles_are_permutations_and_differ_by_seed() {
        let shuffled = |seed| {
            let mut items: Vec<u32> = (0..50).collect();
            Rng::new(seed).shuffle(&mut items);
            items
        };
        let mut sorted = shuffled(1);
        sorted.sort_unstable();
        assert_eq!(sorted, (0..50).collect::<Vec<_>>());
        assert_eq!(shuffled(1), shuffled(1));
        assert_ne!(shuffled(1), shuffled(2));
    }

    #[test]
    fn numbers_stay_below_their_bound() {
        let mut rng = Rng::stream(7, 3);
        assert!((0..1000).all(|_| rng.below(10) < 10 && (0.0..1.0).contains(&rng.unit())));
        assert_eq!((rng.below(0), rng.index(0)), (0, 0));
    }

    #[test]
    fn moments_are_right() {
        let mut rng = Rng::new(7);
        let moments = |draw: &mut dyn FnMut() -> f64| {
            let values: Vec<f64> = (0..100_000).map(|_| draw()).collect();
            let mean = values.iter().sum::<f64>() / 1e5;
            let squares: f64 = values.iter().map(|x| (x - mean).powi(2)).sum();
            (mean, squares / 1e5)
        };
        // Five standard errors of each.
        let (mean, variance) = moments(&mut || rng.normal());
        assert!(mean.abs() < 0.016 && (variance - 1.0).abs() < 0.023);
        let (mean, variance) = moments(&mut || rng.exponential());
        assert!((mean - 1.0).abs() < 0.016 && (variance - 1.0).abs() < 0.045);
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[rng.index(6)] += 1;
        }
        assert!(
            seen.iter().all(|hits| (9_500..10_500).contains(hits)),
            "{seen:?}"
        );
    }
}
