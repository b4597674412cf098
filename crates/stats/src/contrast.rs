//! Two lists of values against each other, by the method that their origin asks for.

use crate::quantile;
use crate::side::{self, Point};
use crate::thresholds::{CONFIDENCE, ROUNDS_MIN, RUNS_MIN};
use crate::yuen::{self, RatioInterval};
use model::comparison::{Both, Estimator};
use model::num::{approx, count};

/// The share of false claims that is accepted, in each family of metrics and over the categories.
pub(crate) const ERROR_RATE: f64 = 1.0 - CONFIDENCE;

/// Where the values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Rounds of two runs.
    Rounds,
    /// Rounds that were measured in pairs.
    Pairs,
    /// Runs of two groups.
    Runs,
}

impl Method {
    /// The fewest values on a side that give an interval.
    pub(crate) const fn fewest(self) -> u32 {
        match self {
            Self::Rounds | Self::Pairs => ROUNDS_MIN,
            Self::Runs => RUNS_MIN,
        }
    }

    /// What its ratios are ratios of.
    pub(crate) const fn estimator(self) -> Estimator {
        match self {
            Self::Rounds => Estimator::Rounds,
            Self::Pairs => Estimator::Pairs,
            Self::Runs => Estimator::Runs,
        }
    }

    /// One side's logarithms as their mean; a side of pairs that has no partner is one of rounds.
    fn reduce(self, logs: &[f64]) -> Option<yuen::Side> {
        match self {
            Self::Rounds | Self::Pairs => yuen::side(logs),
            Self::Runs => yuen::untrimmed_side(logs),
        }
    }
}

/// What two lists of values say about their ratio, other over base.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Contrast {
    /// A ratio with its interval.
    Found(RatioInterval),
    /// Too few values for an interval; the logarithm of the ratio, where each side has a value at all.
    TooFew(Option<f64>),
    /// A value is zero, negative or not finite.
    NoRatio,
}

impl Contrast {
    /// The logarithm of the ratio, with an interval or without.
    pub(crate) const fn ln_ratio(self) -> Option<f64> {
        match self {
            Self::Found(found) => Some(found.ln_ratio),
            Self::TooFew(ln_ratio) => ln_ratio,
            Self::NoRatio => None,
        }
    }

    /// The ratio with its interval, where there is one.
    pub(crate) const fn found(self) -> Option<RatioInterval> {
        match self {
            Self::Found(found) => Some(found),
            Self::TooFew(_) | Self::NoRatio => None,
        }
    }
}

/// Holds `other` against `base`.
pub(crate) fn contrast(method: Method, base: &[Point], other: &[Point]) -> Contrast {
    match method {
        Method::Pairs => in_pairs(&side::pairs(base, other)),
        Method::Rounds | Method::Runs => apart(method, &side::values(base), &side::values(other)),
    }
}

fn in_pairs(pairs: &[(f64, f64)]) -> Contrast {
    let (base, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (Some(base), Some(other)) = (quantile::logs(&base), quantile::logs(&other)) else {
        return Contrast::NoRatio;
    };
    let differences: Vec<f64> = other.iter().zip(&base).map(|(o, b)| o - b).collect();
    match yuen::paired(&differences, ERROR_RATE) {
        Some(found) => Contrast::Found(found),
        None => Contrast::TooFew(yuen::side(&differences).map(|side| side.mean)),
    }
}

/// The central value of each side, base first: the ratio of [`contrast`] is one over the other. A side whose values
/// have no logarithms has none.
pub(crate) fn centres(method: Method, base: &[Point], other: &[Point]) -> Both<Option<f64>> {
    let of_pairs = || centres_of_pairs(&side::pairs(base, other));
    match (method == Method::Pairs).then(of_pairs).flatten() {
        Some((base, other)) => (Some(base), Some(other)),
        None => (centre(method, base), centre(method, other)),
    }
    .into()
}

fn centre(method: Method, points: &[Point]) -> Option<f64> {
    let values = side::values(points);
    let logs = quantile::logs(&values)?;
    // Values that are all alike come back to the last bit.
    let first = *values.first()?;
    let alike = values
        .iter()
        .all(|value| value.to_bits() == first.to_bits());
    if alike {
        return Some(first);
    }
    Some(method.reduce(&logs)?.mean.exp())
}

/// The means of either side over the pairs whose differences the trimming keeps: their difference is the trimmed mean
/// of the differences.
fn centres_of_pairs(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (base, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (base, other) = (quantile::logs(&base)?, quantile::logs(&other)?);
    let mut logs: Vec<(f64, f64)> = base.into_iter().zip(other).collect();
    logs.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let cut = yuen::trimmed_each_end(logs.len());
    let (base, other): (Vec<f64>, Vec<f64>) = logs[cut..logs.len() - cut].iter().copied().unzip();
    Some((quantile::mean(&base)?.exp(), quantile::mean(&other)?.exp()))
}

fn apart(method: Method, base: &[f64], other: &[f64]) -> Contrast {
    let (Some(base), Some(other)) = (quantile::logs(base), quantile::logs(other)) else {
        return Contrast::NoRatio;
    };
    let fewest = count(base.len().min(other.len()));
    let (Some(base), Some(other)) = (method.reduce(&base), method.reduce(&other)) else {
        return Contrast::TooFew(None);
    };
    let found = yuen::between(base, other, ERROR_RATE);
    if fewest < approx(u64::from(method.fewest())) {
        Contrast::TooFew(Some(found.ln_ratio))
    } else {
        Contrast::Found(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    fn points(values: &[f64]) -> Vec<Point> {
        (1..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn one_central_value_over_the_other_is_the_ratio_whatever_the_method_and_the_number() {
        let mut rng = Rng::new(29);
        for n in 1..=14 {
            // Heavy tails on one side: there the medians and the ratio part.
            let mut values = |deviation: f64| -> Vec<f64> {
                let shares = (0..n).map(|_| deviation * rng.normal().powi(3));
                shares.map(|share| 100.0 * share.exp()).collect()
            };
            let (base, other) = (points(&values(0.01)), points(&values(0.3)));
            for method in [Method::Rounds, Method::Pairs, Method::Runs] {
                let ln_ratio = match contrast(method, &base, &other) {
                    Contrast::Found(found) => found.ln_ratio,
                    Contrast::TooFew(ln_ratio) => ln_ratio.unwrap(),
                    Contrast::NoRatio => panic!("{method:?} {n}"),
                };
                let Both { base: a, other: b } = centres(method, &base, &other);
                let quotient = (b.unwrap() / a.unwrap()).ln();
                assert!((quotient - ln_ratio).abs() < 1e-12, "{method:?} {n}");
            }
        }
    }

    #[test]
    fn a_side_without_logarithms_has_no_central_value_and_the_other_keeps_its_own() {
        let check = |base: &[f64], expect: Option<f64>| {
            for method in [Method::Rounds, Method::Pairs, Method::Runs] {
                let found = centres(method, &points(base), &points(&[3.0; 4]));
                assert_eq!(found, (expect, Some(3.0)).into(), "{method:?} {base:?}");
            }
        };
        check(&[], None);
        check(&[1.0, 0.0], None);
        check(&[-1.0], None);
        check(&[f64::NAN], None);
    }
}
