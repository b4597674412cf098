//! The ratio of two servers, with its interval: Yuen's trimmed means with Welch's degrees of freedom, on logarithms.
//!
//! Of the methods that were tried by simulation it keeps nearest to its 95 % with as many rounds on either side: equal
//! and unequal spread, heavy tails, slow outliers (the table of the method page). A short side against a long one is
//! not trimmed ([`Trim`]), because six rounds of two levels may look as if they had no scatter. Rank methods are
//! narrower on two quiet servers but break when a quiet one is held against a noisy one; resampling is dearer and no
//! better at six rounds. Trimming must not hide stalls, which is why the floor is published beside it. Source: Yuen,
//! Biometrika 61 (1974) 165-170; Welch, Biometrika 34 (1947) 28-35.

use crate::dependence::Dependence;
use crate::dist;
use crate::quantile;
use crate::thresholds::ROUNDS_MIN;
use model::estimate::Interval;
use model::num::count;

/// The trimmed mean of one side's logarithms, and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    /// How many rounds.
    pub n: usize,
    /// The trimmed mean of the logarithms.
    pub mean: f64,
    /// The square of its standard error, from the winsorised variance; 0 for a single value.
    pub se_squared: f64,
    /// Its degrees of freedom: the values left after trimming, minus 1.
    pub df: f64,
}

impl Side {
    /// As much of another side's scatter. Chosen so that runs that ended at a target cover the truth in 93.5 to 98.5 %
    /// of cases both where rounds lie on two levels and where one side is five times noisier (`cargo lab verdicts`).
    const ABOUT: f64 = 0.75;

    /// The standard deviation of a round that would give this standard error in an untrimmed mean.
    pub fn deviation(&self) -> f64 {
        (self.se_squared * count(self.n)).sqrt()
    }

    /// The same with rounds that scatter about as much as those of `other` ([`Self::ABOUT`]) where they scatter less,
    /// and are known no better.
    #[must_use]
    pub(crate) fn not_much_quieter_than(self, other: &Self) -> Self {
        let least = Self::ABOUT * other.deviation();
        if self.deviation() >= least {
            return self;
        }
        Self {
            se_squared: least.powi(2) / count(self.n),
            df: self.df.min(other.df),
            ..self
        }
    }

    /// The same of rounds that depend on one another so far.
    #[must_use]
    pub(crate) fn with(self, dependence: Dependence) -> Self {
        Self {
            se_squared: self.se_squared * dependence.inflation(self.n),
            df: (self.df * dependence.freedom()).max(1.0),
            ..self
        }
    }

    /// The mean of several sides that count the same: the runs of one machine. `None` for none.
    pub(crate) fn mean_of(sides: &[Self]) -> Option<Self> {
        let runs = count(sides.len());
        let parts: Vec<Part> = sides
            .iter()
            .map(|side| (side.se_squared, side.df))
            .collect();
        let (sum, df) = together(&parts);
        Some(Self {
            n: sides.iter().map(|side| side.n).sum(),
            mean: quantile::mean(&sides.iter().map(|side| side.mean).collect::<Vec<_>>())?,
            se_squared: sum / (runs * runs),
            df,
        })
    }
}

/// The ratio other / base with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioInterval {
    /// The natural logarithm of the ratio.
    pub ln_ratio: f64,
    /// The standard error of `ln_ratio`.
    pub se: f64,
    /// Welch's degrees of freedom.
    pub df: f64,
    /// The chance of missing the true ratio that the interval allows.
    pub alpha: f64,
    /// The base's side.
    pub base: Side,
    /// The other side.
    pub other: Side,
    /// What part of the square of `se` comes from the scatter between runs, which no number of rounds makes smaller,
    /// with its degrees of freedom.
    pub between: Part,
}

/// A variance, and the degrees of freedom to which it is known.
pub type Part = (f64, f64);

/// The sum of variances (Satterthwaite, Biometrics 2 (1946) 110-114).
pub(crate) fn together(parts: &[Part]) -> Part {
    let variance: f64 = parts.iter().map(|(variance, _)| variance).sum();
    let known = parts.iter().filter(|(variance, _)| *variance > 0.0);
    let squares: f64 = known.map(|(variance, df)| variance * variance / df).sum();
    let df = if squares > 0.0 {
        variance * variance / squares
    } else if variance > 0.0 {
        f64::INFINITY
    } else {
        parts.iter().map(|(_, df)| df).sum()
    };
    (variance, df)
}

/// No variance.
const NOTHING: Part = (0.0, f64::INFINITY);

/// Why there is no ratio or no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoInterval {
    /// A side has fewer rounds than an interval needs.
    TooFewRounds,
    /// A value is zero, negative or not finite: it has no logarithm.
    NotPositive,
}

impl RatioInterval {
    /// The ratio.
    pub fn ratio(&self) -> f64 {
        self.ln_ratio.exp()
    }

    /// The interval's ends as ratios.
    pub fn interval(&self) -> Interval {
        self.interval_of(self.ln_ends(self.alpha))
    }

    /// The interval with these ends, which [`RatioInterval::ln_ends`] gave at its own `alpha`.
    pub(crate) fn interval_of(&self, (lo, hi): (f64, f64)) -> Interval {
        Interval {
            lo: lo.exp(),
            hi: hi.exp(),
            confidence: 1.0 - self.alpha,
        }
    }

    /// The ends, as logarithms, of the interval that misses with chance `alpha`.
    pub fn ln_ends(&self, alpha: f64) -> (f64, f64) {
        let half = self.half_width(alpha);
        (self.ln_ratio - half, self.ln_ratio + half)
    }

    /// Half the width, as a logarithm, of the interval that misses with chance `alpha`.
    pub fn half_width(&self, alpha: f64) -> f64 {
        let all = half_width(self.se, self.df, alpha);
        self.surer_than_minutes().map_or(all, |minutes| {
            all.max(half_width(minutes.se, minutes.df, alpha))
        })
    }

    /// The two-sided p-value of "there is no difference".
    pub fn p_value(&self) -> f64 {
        let all = p_value(self.ln_ratio, self.se, self.df);
        self.surer_than_minutes().map_or(all, |minutes| {
            all.max(p_value(self.ln_ratio, minutes.se, minutes.df))
        })
    }

    /// The minutes alone, where what was added to them is known so much better that the sum may seem surer than they
    /// are (Satterthwaite's degrees of freedom grow): nothing that is added makes a claim surer.
    fn surer_than_minutes(&self) -> Option<Self> {
        (self.between.0 > 0.0)
            .then(|| self.minutes())
            .filter(|minutes| minutes.df < self.df)
    }

    /// The same made of these variances, some of which come from the scatter between runs.
    #[must_use]
    pub(crate) fn with_scatter(self, all: &[Part], between: &[Part]) -> Self {
        let (variance, df) = together(all);
        Self {
            se: variance.sqrt(),
            df,
            between: together(between),
            ..self
        }
    }

    /// Without the scatter between runs: what holds for the minutes that were measured.
    #[must_use]
    pub(crate) fn minutes(&self) -> Self {
        between(self.base, self.other, self.alpha)
    }

    /// The ratio base / other.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self {
            ln_ratio: -self.ln_ratio,
            base: self.other,
            other: self.base,
            ..self
        }
    }
}

/// The ratio `other` / `base` of two servers' rounds and its interval, which misses the true ratio with chance
/// `alpha`. Needs [`ROUNDS_MIN`] positive values on each side.
#[cfg(test)]
pub(crate) fn log_ratio(
    base: &[f64],
    other: &[f64],
    alpha: f64,
) -> Result<RatioInterval, NoInterval> {
    let (Some(base), Some(other)) = (quantile::logs(base), quantile::logs(other)) else {
        return Err(NoInterval::NotPositive);
    };
    if crate::rounds::whole(base.len().min(other.len())) < ROUNDS_MIN {
        return Err(NoInterval::TooFewRounds);
    }
    match (side(&base), side(&other)) {
        (Some(base), Some(other)) => Ok(between(base, other, alpha)),
        _ => Err(NoInterval::TooFewRounds),
    }
}

/// The ratio of two sides that are already reduced.
pub fn between(base: Side, other: Side, alpha: f64) -> RatioInterval {
    let (variance, df) = together(&[(base.se_squared, base.df), (other.se_squared, other.df)]);
    RatioInterval {
        ln_ratio: other.mean - base.mean,
        se: variance.sqrt(),
        df,
        alpha,
        base,
        other,
        between: NOTHING,
    }
}

/// The ratio behind the differences of paired logarithms (other minus base): what a pair shares, such as a busy
/// minute of the machine, drops out of it. `None` below [`ROUNDS_MIN`] pairs.
pub fn paired(differences: &[f64], alpha: f64) -> Option<RatioInterval> {
    if crate::rounds::whole(differences.len()) < ROUNDS_MIN {
        return None;
    }
    let found = side(differences)?;
    let nothing = Side {
        mean: 0.0,
        se_squared: 0.0,
        ..found
    };
    Some(RatioInterval {
        ln_ratio: found.mean,
        se: found.se_squared.sqrt(),
        df: found.df,
        alpha,
        base: nothing,
        other: found,
        between: NOTHING,
    })
}

/// Half the relative width of the interval of one server's typical value: what stopping rules compare with a
/// target. `None` below [`ROUNDS_MIN`] values or where one is not positive.
pub fn one_sample_half_width(values: &[f64], alpha: f64) -> Option<f64> {
    if crate::rounds::whole(values.len()) < ROUNDS_MIN {
        return None;
    }
    let side = side(&quantile::logs(values)?)?;
    Some(half_width(side.se_squared.sqrt(), side.df, alpha))
}

/// What is set aside at each end before a side's mean is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trim {
    /// A fifth: one stalled round does not move the mean.
    Fifth,
    /// Nothing: Welch's side.
    Nothing,
}

impl Trim {
    /// Those of two sides of so many rounds. Six rounds of two levels of which five happen to lie in one look as if
    /// they had no scatter, once the sixth is set aside. Where the other side is as short, that is rare enough and
    /// its own error is as large; where it is long, nothing makes up for it, and the short side keeps its rounds.
    pub const fn of(base: usize, other: usize) -> (Self, Self) {
        const fn one(n: usize, against: usize) -> Trim {
            if n < 9 && 2 * against > 3 * n {
                Trim::Nothing
            } else {
                Trim::Fifth
            }
        }
        (one(base, other), one(other, base))
    }
}

/// Reduces logarithms to their trimmed mean; `None` for an empty list. A single value has no standard error: 0.
pub fn side(logs: &[f64]) -> Option<Side> {
    trimmed(logs, Trim::Fifth)
}

/// Reduces logarithms to their mean; `None` for an empty list.
pub(crate) fn trimmed(logs: &[f64], trim: Trim) -> Option<Side> {
    (!logs.is_empty()).then(|| of_sorted(&quantile::sorted(logs), trim))
}

/// The same of logarithms that are ascending, of which there is at least one.
pub(crate) fn of_sorted(sorted: &[f64], trim: Trim) -> Side {
    let n = sorted.len();
    let cut = match trim {
        Trim::Fifth => trimmed_each_end(n),
        Trim::Nothing => 0,
    };
    let kept = &sorted[cut..n - cut];
    let (h, ends) = (count(kept.len()), count(cut));
    let (lo, hi) = (kept[0], kept[kept.len() - 1]);
    let sum: f64 = kept.iter().sum();
    // What is set aside counts in the variance as the outermost values that are kept.
    let winsorised = (sum + ends * (lo + hi)) / count(n);
    let square = |value: f64| (value - winsorised).powi(2);
    let inner: f64 = kept.iter().map(|&value| square(value)).sum();
    let squares = inner + ends * (square(lo) + square(hi));
    Side {
        n,
        mean: sum / h,
        se_squared: if kept.len() > 1 {
            squares / (h * (h - 1.0))
        } else {
            0.0
        },
        df: (h - 1.0).max(1.0),
    }
}

/// How many of `n` values are set aside at each end: a fifth, rounded down.
pub const fn trimmed_each_end(n: usize) -> usize {
    n / 5
}

/// Half the width of the interval of this standard error that misses with chance `alpha`.
pub(crate) fn half_width(se: f64, df: f64, alpha: f64) -> f64 {
    if se > 0.0 {
        dist::t_quantile(1.0 - alpha / 2.0, df) * se
    } else {
        0.0
    }
}

fn p_value(ln_ratio: f64, se: f64, df: f64) -> f64 {
    if se > 0.0 {
        dist::t_two_sided(ln_ratio / se, df)
    } else if ln_ratio.abs() > 0.0 {
        0.0
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounds() -> impl Strategy<Value = Vec<f64>> {
        prop::collection::vec(0.001..1e9_f64, 6..30)
    }

    #[test]
    fn agrees_with_a_published_example() {
        // The example in the documentation of SciPy's `ttest_ind`, with `trim=0.2, equal_var=False`.
        let a = [56.0, 128.6, 12.0, 123.8, 64.34, 78.0, 763.3];
        let b = [1.1, 2.9, 4.2];
        let found = between(side(&b).unwrap(), side(&a).unwrap(), 0.05);
        assert!((found.ln_ratio / found.se - 4.591_598_691_181_999).abs() < 1e-12);
        assert!((found.df - 4.017_849_270_599_219).abs() < 1e-12);
        assert!((found.p_value() - 0.009_989_092_520_784_214).abs() < 1e-12);
    }

    #[test]
    fn the_quieter_side_takes_most_of_the_scatter_of_the_other_one() {
        let of = |n, se_squared, df| Side {
            n,
            mean: 1.0,
            se_squared,
            df,
        };
        let (quiet, wild) = (of(6, 1e-6, 3.0), of(28, 1e-4, 17.0));
        assert_eq!(wild.not_much_quieter_than(&quiet), wild);
        let taken = quiet.not_much_quieter_than(&wild);
        assert!((taken.deviation() / wild.deviation() - 0.75).abs() < 1e-12);
        assert_eq!((taken.n, taken.mean.to_bits()), (6, quiet.mean.to_bits()));
        assert!((taken.df - 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_added_makes_no_claim_surer() {
        let of = |mean, se_squared| Side {
            n: 6,
            mean,
            se_squared,
            df: 3.0,
        };
        let minutes = between(of(0.0, 1e-4), of(0.05, 1e-8), 0.05);
        for added in [0.0, 1e-9, 3e-5, 1e-4] {
            let wider =
                minutes.with_scatter(&[(1e-4, 3.0), (1e-8, 3.0), (added, 20.0)], &[(added, 20.0)]);
            for alpha in [0.05, 1e-3, 1e-6] {
                assert!(wider.half_width(alpha) >= minutes.half_width(alpha));
            }
            assert!(wider.p_value() >= minutes.p_value());
        }
    }

    #[test]
    fn pairs_cancel_what_both_sides_share() {
        let mut rng = model::rng::Rng::new(11);
        let weather: Vec<f64> = (0..12).map(|_| 0.3 * rng.normal()).collect();
        let noise = |rng: &mut model::rng::Rng| 0.005 * rng.normal();
        let base: Vec<f64> = weather.iter().map(|w| w + noise(&mut rng)).collect();
        let other: Vec<f64> = weather.iter().map(|w| w + 0.05 + noise(&mut rng)).collect();
        let differences: Vec<f64> = other.iter().zip(&base).map(|(o, b)| o - b).collect();
        let pairs = paired(&differences, 0.05).unwrap();
        let (lo, hi) = pairs.ln_ends(0.05);
        assert!(lo > 0.03 && hi < 0.07, "{lo} {hi}");
        let alone = between(side(&base).unwrap(), side(&other).unwrap(), 0.05);
        assert!(alone.half_width(0.05) > 5.0 * pairs.half_width(0.05));
        assert_eq!(paired(&differences[..5], 0.05), None);
    }

    #[test]
    fn refuses_what_has_no_ratio_or_no_interval() {
        let good = [1.0, 1.1, 1.2, 1.3, 1.4, 1.5];
        let check = |base: &[f64], other: &[f64], expect| {
            assert_eq!(log_ratio(base, other, 0.05).map(|_| ()), expect);
        };
        check(&good, &good, Ok(()));
        check(&good[..5], &good, Err(NoInterval::TooFewRounds));
        check(&good, &[], Err(NoInterval::TooFewRounds));
        check(
            &good,
            &[1.0, 1.0, 1.0, 1.0, 1.0, 0.0],
            Err(NoInterval::NotPositive),
        );
        check(&[-1.0; 6], &good, Err(NoInterval::NotPositive));
        check(&[f64::NAN; 6], &good, Err(NoInterval::NotPositive));
        assert_eq!(one_sample_half_width(&good[..5], 0.05), None);
    }

    #[test]
    fn values_without_scatter_have_an_interval_without_width() {
        let found = log_ratio(&[2.0; 6], &[4.0; 6], 0.05).unwrap();
        let interval = found.interval();
        assert!((interval.lo - 2.0).abs() < 1e-12 && (interval.hi - 2.0).abs() < 1e-12);
        assert!(found.p_value() <= 0.0);
        assert!(log_ratio(&[2.0; 6], &[2.0; 6], 0.05).unwrap().p_value() >= 1.0);
    }

    #[test]
    fn one_slow_outlier_is_set_aside() {
        let quiet = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2];
        let stalled = [100.0, 101.0, 99.0, 100.5, 99.5, 10.0];
        let found = log_ratio(&quiet, &stalled, 0.05).unwrap();
        assert!(found.ratio() > 0.98, "{}", found.ratio());
    }

    proptest! {
        #[test]
        fn exchanging_the_sides_inverts_the_ratio(base in rounds(), other in rounds()) {
            let there = log_ratio(&base, &other, 0.05).unwrap();
            let back = log_ratio(&other, &base, 0.05).unwrap();
            prop_assert_eq!(there.reversed(), back);
            let (a, b) = (there.interval(), back.interval());
            prop_assert!((a.lo * b.hi - 1.0).abs() < 1e-9 || a.lo <= 0.0 || !b.hi.is_finite());
        }

        #[test]
        fn the_unit_does_not_matter(base in rounds(), other in rounds(), factor in 0.001..1000.0_f64) {
            let scale = |values: &[f64]| values.iter().map(|value| value * factor).collect::<Vec<_>>();
            let plain = log_ratio(&base, &other, 0.05).unwrap();
            let scaled = log_ratio(&scale(&base), &scale(&other), 0.05).unwrap();
            prop_assert!((plain.ln_ratio - scaled.ln_ratio).abs() < 1e-9);
            prop_assert!((plain.se - scaled.se).abs() < 1e-9);
        }

        #[test]
        fn more_confidence_is_wider(base in rounds(), other in rounds()) {
            let found = log_ratio(&base, &other, 0.05).unwrap();
            prop_assert!(found.half_width(0.0158) >= found.half_width(0.05));
        }
    }
}
