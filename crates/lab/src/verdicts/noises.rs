//! The noise of made runs: logarithms of rounds around their level.

use model::rng::Rng;

/// One round.
pub(super) type Noise = fn(&mut Rng) -> f64;

/// Noise by itself.
pub(super) mod independent {
    use super::Noise;

    pub(in crate::verdicts) const ONE_PERCENT: Noise = |rng| 0.01 * rng.normal();
    pub(in crate::verdicts) const FIVE_PERCENT: Noise = |rng| 0.05 * rng.normal();
    /// A lognormal delay on top of each round: skewed.
    pub(in crate::verdicts) const LOGNORMAL: Noise = |rng| -0.02 * (0.8 * rng.normal()).exp();
    pub(in crate::verdicts) const HEAVY: Noise = |rng| {
        let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
        0.01 * rng.normal() / (squares / 3.0).sqrt()
    };
    pub(in crate::verdicts) const OUTLIERS: Noise = |rng| {
        let far = if rng.unit() < 0.1 {
            0.2_f64.ln_1p()
        } else {
            0.0
        };
        far + 0.01 * rng.normal()
    };
    pub(in crate::verdicts) const TWO_EVEN: Noise = |rng| two_levels(rng, 0.5);
    pub(in crate::verdicts) const TWO_ODD: Noise = |rng| two_levels(rng, 0.3);

    fn two_levels(rng: &mut model::rng::Rng, share: f64) -> f64 {
        let level = if rng.unit() < share {
            0.08_f64.ln_1p()
        } else {
            0.0
        };
        level + 0.01 * rng.normal()
    }
}

/// What dependent rounds scatter by.
pub(super) const TWO_PERCENT: Noise = |rng| 0.02 * rng.normal();

/// The kinds of noise on either side.
pub(super) const PAIRS: [(&str, Noise, Noise); 8] = [
    (
        "normal 1 %",
        independent::ONE_PERCENT,
        independent::ONE_PERCENT,
    ),
    (
        "normal 5 %",
        independent::FIVE_PERCENT,
        independent::FIVE_PERCENT,
    ),
    ("lognormal", independent::LOGNORMAL, independent::LOGNORMAL),
    ("heavy tails", independent::HEAVY, independent::HEAVY),
    ("outliers", independent::OUTLIERS, independent::OUTLIERS),
    (
        "two levels, p .5",
        independent::TWO_EVEN,
        independent::TWO_EVEN,
    ),
    (
        "two levels, p .3",
        independent::TWO_ODD,
        independent::TWO_ODD,
    ),
    (
        "1 % against 5 %",
        independent::ONE_PERCENT,
        independent::FIVE_PERCENT,
    ),
];

/// `n` rounds, each of which keeps the share `rho` of what the one before it was.
pub(super) fn series(rng: &mut Rng, n: usize, noise: Noise, rho: f64) -> Vec<f64> {
    let mut last = noise(rng);
    let fresh = (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            last = rho * last + fresh * noise(rng);
            last
        })
        .collect()
}
