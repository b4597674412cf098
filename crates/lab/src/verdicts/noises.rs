//! The noise of made runs: logarithms of rounds around their level.

use model::rng::Rng;

/// One round.
pub(super) type Noise = fn(&mut Rng) -> f64;

/// Noise by itself.
mod independent {
    use super::Noise;

    pub(super) const ONE_PERCENT: Noise = |rng| 0.01 * rng.normal();
    pub(super) const TWO_PERCENT: Noise = |rng| 0.02 * rng.normal();
    pub(super) const FIVE_PERCENT: Noise = |rng| 0.05 * rng.normal();
    /// A lognormal delay on top of each round: skewed.
    pub(super) const LOGNORMAL: Noise = |rng| -0.02 * (0.8 * rng.normal()).exp();
    pub(super) const HEAVY: Noise = |rng| {
        let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
        0.01 * rng.normal() / (squares / 3.0).sqrt()
    };
    pub(super) const OUTLIERS: Noise = |rng| {
        let far = if rng.unit() < 0.1 {
            0.2_f64.ln_1p()
        } else {
            0.0
        };
        far + 0.01 * rng.normal()
    };
    pub(super) const TWO_EVEN: Noise = |rng| two_levels(rng, 0.5);
    pub(super) const TWO_ODD: Noise = |rng| two_levels(rng, 0.3);

    fn two_levels(rng: &mut model::rng::Rng, share: f64) -> f64 {
        let level = if rng.unit() < share {
            0.08_f64.ln_1p()
        } else {
            0.0
        };
        level + 0.01 * rng.normal()
    }
}

use independent::{
    FIVE_PERCENT, HEAVY, LOGNORMAL, ONE_PERCENT, OUTLIERS, TWO_EVEN, TWO_ODD, TWO_PERCENT,
};

/// The noise of either side where it is the same and normal, 1 and 2 %.
pub(super) const BOTH_ONE_PERCENT: (Noise, Noise) = (ONE_PERCENT, ONE_PERCENT);
pub(super) const BOTH_TWO_PERCENT: (Noise, Noise) = (TWO_PERCENT, TWO_PERCENT);

/// The kinds of noise on either side, base first.
pub(super) const PAIRS: [(&str, (Noise, Noise)); 9] = [
    ("normal 1 %", BOTH_ONE_PERCENT),
    ("normal 5 %", (FIVE_PERCENT, FIVE_PERCENT)),
    ("lognormal", (LOGNORMAL, LOGNORMAL)),
    ("heavy tails", (HEAVY, HEAVY)),
    ("outliers", (OUTLIERS, OUTLIERS)),
    ("two levels, p .5", (TWO_EVEN, TWO_EVEN)),
    ("two levels, p .3", (TWO_ODD, TWO_ODD)),
    ("1 % against 5 %", (ONE_PERCENT, FIVE_PERCENT)),
    ("5 % against 1 %", (FIVE_PERCENT, ONE_PERCENT)),
];

/// How the rounds of a run depend on one another.
#[derive(Clone, Copy)]
pub(super) enum Course {
    /// Each metric's by themselves: a round keeps this share of what the one before it was.
    Own(f64),
    /// Half of the variance is a course that all metrics share and that keeps this share; the other half is each
    /// round's own.
    HalfShared(f64),
}

impl Course {
    /// `n` rounds of each metric of a run.
    pub(super) fn of_run(
        self,
        rng: &mut Rng,
        metrics: usize,
        n: usize,
        noise: Noise,
    ) -> Vec<Vec<f64>> {
        match self {
            Self::Own(rho) => (0..metrics).map(|_| series(rng, n, noise, rho)).collect(),
            Self::HalfShared(rho) => {
                let shared = series(rng, n, noise, rho);
                let mut round = |shared: &f64| 0.5_f64.sqrt() * (shared + noise(rng));
                let mut of_metric = || shared.iter().map(&mut round).collect();
                (0..metrics).map(|_| of_metric()).collect()
            }
        }
    }
}

/// `n` rounds, each of which keeps the share `rho` of what the one before it was.
fn series(rng: &mut Rng, n: usize, noise: Noise, rho: f64) -> Vec<f64> {
    let mut last = noise(rng);
    let fresh = (1.0 - rho * rho).sqrt();
    (0..n)
        .map(|_| {
            last = rho * last + fresh * noise(rng);
            last
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::num::count;

    /// The correlation of two lists around a mean of 0.
    fn correlation(a: &[f64], b: &[f64]) -> f64 {
        let sum = |a: &[f64], b: &[f64]| -> f64 { a.iter().zip(b).map(|(a, b)| a * b).sum() };
        sum(a, b) / (sum(a, a) * sum(b, b)).sqrt()
    }

    #[test]
    fn a_course_is_what_it_says() {
        let mut rng = Rng::new(3);
        let (n, rho) = (100_000, 0.8);
        let own = Course::Own(rho).of_run(&mut rng, 2, n, TWO_PERCENT);
        let shared = Course::HalfShared(rho).of_run(&mut rng, 2, n, TWO_PERCENT);
        let near = |found: f64, expect: f64| {
            assert!((found - expect).abs() < 0.02, "{found} {expect}");
        };
        near(correlation(&own[0][1..], &own[0][..n - 1]), rho);
        near(correlation(&own[0], &own[1]), 0.0);
        near(correlation(&shared[0][1..], &shared[0][..n - 1]), rho / 2.0);
        near(correlation(&shared[0], &shared[1]), 0.5);
        let square: f64 = shared[1].iter().map(|value| value * value).sum();
        near((square / count(n)).sqrt() / 0.02, 1.0);
    }
}
