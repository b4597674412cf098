//! Two lists of values against each other, by the method that their origin asks for.

use crate::side::{self, Point};
use crate::yuen::{self, RatioInterval};
use crate::{CONFIDENCE, ROUNDS_MIN, RUNS_MIN, quantile};
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
        None => Contrast::TooFew(quantile::mean(&differences)),
    }
}

fn apart(method: Method, base: &[f64], other: &[f64]) -> Contrast {
    let (Some(base), Some(other)) = (quantile::logs(base), quantile::logs(other)) else {
        return Contrast::NoRatio;
    };
    let fewest = count(base.len().min(other.len()));
    let reduce = match method {
        Method::Rounds | Method::Pairs => yuen::side,
        Method::Runs => yuen::untrimmed_side,
    };
    let (Some(base), Some(other)) = (reduce(&base), reduce(&other)) else {
        return Contrast::TooFew(None);
    };
    let found = yuen::between(base, other, ERROR_RATE);
    if fewest < approx(u64::from(method.fewest())) {
        Contrast::TooFew(Some(found.ln_ratio))
    } else {
        Contrast::Found(found)
    }
}
