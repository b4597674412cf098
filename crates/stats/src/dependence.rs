//! How far neighbouring rounds of a run depend on one another, seen by all of its cases together.
//!
//! A machine's slow changes move rounds that lie a pass apart alike, so that nine of them know less than nine that have
//! nothing in common. One case has too few rounds to show it; all cases of a run do. The rounds of each are taken for a
//! series in which every value keeps the share `rho` of the distance from the mean that the one before it had (AR(1)),
//! with a mean and a scatter of its own and one `rho` for all. Its likelihood is the restricted one (Patterson and
//! Thompson, Biometrika 58 (1971) 545-554), which is not biased by means that are estimated from few values. A run of
//! few cases leans on a chosen value ([`USUAL`]); of what is likely the upper part is taken ([`CAUTION`]), because too
//! little dependence makes false claims and too much only costs rounds.

use model::num::count;

/// The dependence that runs usually show, and how far they lie around it: what a run of few cases leans on. Chosen with
/// [`CAUTION`] so that `cargo lab verdicts` keeps its bounds at 0, 0.5 and 0.8.
const USUAL: (f64, f64) = (0.1, 0.3);

/// The share of what is likely that lies below the value that is taken.
const CAUTION: f64 = 0.65;

/// The values that are looked at: so many multiples of this from 0 on. The last one is 0.95.
const STEP: f64 = 0.025;
const STEPS: u32 = 39;

/// The fewest values that make a series.
const VALUES_MIN: usize = 6;

/// How far neighbouring rounds depend on one another: 0 for not at all, below 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dependence {
    rho: f64,
}

impl Dependence {
    /// Values that have nothing to do with one another.
    pub(crate) const NONE: Self = Self { rho: 0.0 };

    /// That of a run, of each of whose cases `series` holds the logarithms of the rounds in the order in which they
    /// ran. Those of fewer than six rounds, or without any scatter, say nothing.
    pub(crate) fn of(series: &[Vec<f64>]) -> Self {
        let telling: Vec<&Vec<f64>> = series.iter().filter(|one| tells(one)).collect();
        let grid = (0..STEPS).map(|step| STEP * f64::from(step));
        let likely: Vec<(f64, f64)> = grid
            .map(|rho| {
                let (usual, around) = USUAL;
                let prior = -((rho - usual) / around).powi(2) / 2.0;
                let mut norm = Norm::of(0, rho);
                let likelihoods = telling.iter().map(|one| {
                    if norm.n != one.len() {
                        norm = Norm::of(one.len(), rho);
                    }
                    norm.log_likelihood(one)
                });
                let seen: f64 = likelihoods.sum();
                (rho, prior + seen)
            })
            .collect();
        let most = likely
            .iter()
            .fold(f64::MIN, |most, &(_, log)| most.max(log));
        let weights = || likely.iter().map(|&(rho, log)| (rho, (log - most).exp()));
        let whole: f64 = weights().map(|(_, weight)| weight).sum();
        let mut below = 0.0;
        let taken = weights().find(|&(_, weight)| {
            below += weight / whole;
            below >= CAUTION
        });
        Self {
            rho: taken.map_or(0.0, |(rho, _)| rho),
        }
    }

    /// The share of its distance from the mean that a round hands on to the next one.
    pub(crate) const fn rho(self) -> f64 {
        self.rho
    }

    /// How many times larger than that of `n` independent values the variance of their mean is, which is estimated from
    /// values that depend as much on one another and so lie closer together than they should.
    pub(crate) fn inflation(self, n: usize) -> f64 {
        let (rho, n) = (self.rho, count(n));
        if rho <= 0.0 || n < 2.0 {
            return 1.0;
        }
        let ends = 2.0 * rho * (1.0 - rho.powf(n)) / (n * (1.0 - rho).powi(2));
        let of_mean = (1.0 + rho) / (1.0 - rho) - ends;
        of_mean * (n - 1.0) / (n - of_mean)
    }

    /// The share of the degrees of freedom that is left: what depends on one another tells less of its scatter too. The
    /// square root of what holds for long series, which in simulation covers as promised from 6 to 28 rounds.
    pub(crate) fn freedom(self) -> f64 {
        let square = self.rho.powi(2);
        ((1.0 - square) / (1.0 + square)).sqrt()
    }
}

/// Whether a series says anything about dependence.
fn tells(series: &[f64]) -> bool {
    let first = series.first().copied().unwrap_or_default();
    series.len() >= VALUES_MIN && series.iter().any(|value| (value - first).abs() > 0.0)
}

/// What of the likelihood of `rho` is the same for all series of `n` values.
struct Norm {
    n: usize,
    rho: f64,
    /// The variance of a value, once the one before it is known, as a share of its own.
    own: f64,
    ln_own: f64,
    weights: f64,
    ln_weights: f64,
}

impl Norm {
    fn of(n: usize, rho: f64) -> Self {
        let own = 1.0 - rho * rho;
        let weights: f64 = (0..n).map(|at| weight(at, n, rho)).sum();
        Self {
            n,
            rho,
            own,
            ln_own: own.ln(),
            weights,
            ln_weights: (weights / (1.0 + rho)).ln(),
        }
    }

    /// The restricted log-likelihood, mean and scatter taken out, but for what does not depend on `rho`.
    fn log_likelihood(&self, series: &[f64]) -> f64 {
        let (n, rho) = (self.n, self.rho);
        let weighted = series
            .iter()
            .enumerate()
            .map(|(at, value)| weight(at, n, rho) * value);
        let mean = weighted.sum::<f64>() / self.weights;
        let steps = series
            .windows(2)
            .map(|pair| ((pair[1] - mean) - rho * (pair[0] - mean)).powi(2));
        let squares = (series[0] - mean).powi(2) + steps.sum::<f64>() / self.own;
        let n = count(n);
        -0.5 * ((n - 1.0) * self.ln_own + self.ln_weights + (n - 1.0) * squares.ln())
    }
}

/// What a value of `n` counts in their mean. Those in between know it less surely than the two at the ends: both
/// neighbours told it already.
fn weight(at: usize, n: usize, rho: f64) -> f64 {
    if at == 0 || at + 1 == n {
        1.0
    } else {
        1.0 - rho
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::dependent;
    use crate::quantile;
    use model::rng::Rng;

    /// The mean of what is found in runs of so many cases and rounds.
    fn found(cases: usize, rounds: usize, rho: f64) -> f64 {
        let mut rng = Rng::new(7);
        let all: Vec<f64> = (0..60)
            .map(|_| {
                let series: Vec<Vec<f64>> = (0..cases)
                    .map(|_| dependent(&mut rng, rounds, rho))
                    .collect();
                Dependence::of(&series).rho()
            })
            .collect();
        quantile::mean(&all).unwrap()
    }

    #[test]
    fn many_cases_of_few_rounds_show_how_far_these_depend_on_one_another() {
        for rounds in [6, 9, 28] {
            for rho in [0.0, 0.5, 0.8] {
                let found = found(100, rounds, rho);
                assert!((found - rho).abs() < 0.09, "{rounds} {rho}: {found}");
            }
        }
    }

    #[test]
    fn a_run_of_one_case_leans_on_what_is_usual() {
        assert!(
            (0.25..0.40).contains(&found(1, 9, 0.0)),
            "{}",
            found(1, 9, 0.0)
        );
        assert!(
            (0.40..0.60).contains(&found(1, 9, 0.8)),
            "{}",
            found(1, 9, 0.8)
        );
        let nothing = Dependence::of(&[vec![1.0; 9], vec![2.0, 3.0]]);
        assert_eq!(nothing, Dependence::of(&[]));
    }

    #[test]
    fn the_inflation_is_what_the_scatter_of_means_is_beyond_that_of_their_values() {
        let mut rng = Rng::new(11);
        for (rho, n) in [(0.5, 9), (0.8, 9), (0.8, 28)] {
            let series: Vec<Vec<f64>> = (0..20_000).map(|_| dependent(&mut rng, n, rho)).collect();
            let means: Vec<f64> = series
                .iter()
                .filter_map(|one| quantile::mean(one))
                .collect();
            let inside = series.iter().filter_map(|one| quantile::variance(one));
            let expected = inside.sum::<f64>() / 20_000.0 / count(n);
            let ratio = quantile::variance(&means).unwrap() / expected;
            let told = Dependence { rho }.inflation(n);
            assert!(
                (ratio / told - 1.0).abs() < 0.05,
                "{rho} {n}: {ratio} {told}"
            );
        }
        assert!(Dependence::NONE.inflation(9) <= 1.0);
    }
}
