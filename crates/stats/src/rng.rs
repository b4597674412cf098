//! Reproducible randomness for resampling.
//!
//! The same seed gives the same result on every machine and in every version, because a stored run must be judged
//! the same way each time it is shown. xoshiro256++ seeded by splitmix64: Blackman and Vigna, ACM Trans. Math. Softw.
//! 47 (2021) 36; public domain, <https://prng.di.unimi.it>. Not for secrets.

use model::num::{approx, round_to_usize};

/// A generator.
#[derive(Clone, Debug)]
pub struct Rng([u64; 4]);

impl Rng {
    /// A generator whose stream depends on nothing but `seed`.
    pub fn new(seed: u64) -> Self {
        let mut state = seed;
        Self([(); 4].map(|()| splitmix(&mut state)))
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number from 0 (included) to 1 (excluded), in steps of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        approx(self.bits() >> 11) / approx(1 << 53)
    }

    /// An index below `n`; 0 for an `n` of 0. The bias of one part in 2^53 is accepted.
    pub fn index(&mut self, n: usize) -> usize {
        let scaled = self.uniform() * model::num::count(n);
        round_to_usize(scaled.floor()).min(n.saturating_sub(1))
    }

    /// A number from the exponential distribution with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }

    /// A number from the standard normal distribution (Box and Muller, Ann. Math. Statist. 29 (1958) 610).
    pub fn normal(&mut self) -> f64 {
        let radius = (2.0 * self.exponential()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_published_vectors() {
        // The reference outputs of splitmix64 for seed 1234567.
        let mut state = 1_234_567;
        let found = [(); 3].map(|()| splitmix(&mut state));
        assert_eq!(
            found,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
        // The reference outputs of xoshiro256++ for the state 1, 2, 3, 4.
        let mut rng = Rng([1, 2, 3, 4]);
        let found = [(); 4].map(|()| rng.bits());
        assert_eq!(
            found,
            [
                41_943_041,
                58_720_359,
                3_588_806_011_781_223,
                3_591_011_842_654_386
            ]
        );
    }

    #[test]
    fn moments_are_right() {
        let mut rng = Rng::new(7);
        let n = 100_000;
        let normal: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let mean = crate::quantile::mean(&normal).unwrap();
        let variance = crate::quantile::variance(&normal).unwrap();
        assert!(
            mean.abs() < 0.015 && (variance - 1.0).abs() < 0.025,
            "{mean} {variance}"
        );
        let mut seen = [0_u32; 6];
        for _ in 0..60_000 {
            seen[rng.index(6)] += 1;
        }
        assert!(
            seen.iter().all(|&hits| (9_500..10_500).contains(&hits)),
            "{seen:?}"
        );
        assert_eq!(rng.index(0), 0);
    }
}
