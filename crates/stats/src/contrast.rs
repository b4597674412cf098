//! Two sides' values against each other, by the method that their origin asks for.

use crate::dependence::Dependence;
use crate::permutation::Exchange;
use crate::quantile;
use crate::scatter::{self, OfSide, Spread};
use crate::side::{self, Point};
use crate::thresholds::{CONFIDENCE, ROUNDS_MIN, RUNS_MIN};
use crate::visits::Visits;
use crate::yuen::{self, RatioInterval, Trim};
use model::comparison::{Both, Estimator};
use model::num::{approx, count};
use model::order::Order as _;

/// The share of false claims that is accepted, in each family of metrics and over the categories.
pub(crate) const ERROR_RATE: f64 = 1.0 - CONFIDENCE;

/// Where the values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Rounds of runs, those of a side on one machine.
    Rounds,
    /// Rounds that were measured in pairs.
    Pairs,
    /// Runs of instances.
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

    /// How each side is trimmed where it has so many values, base first; a side of pairs that has no partner is one of
    /// rounds.
    const fn trims(self, base: usize, other: usize) -> (Trim, Trim) {
        match self {
            Self::Rounds | Self::Pairs => Trim::of(base, other),
            Self::Runs => (Trim::Nothing, Trim::Nothing),
        }
    }
}

/// One side's values of a metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Values {
    /// Those of each run that has any, of instances one list of all runs; never an empty one.
    pub(crate) runs: Vec<OfRun>,
}

/// The values of one run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OfRun {
    /// In the order in which they were measured.
    pub(crate) points: Vec<Point>,
    /// How far they depend on one another.
    pub(crate) dependence: Dependence,
    /// When the round of each began; not known of instances.
    pub(crate) times: Vec<u64>,
}

impl Values {
    /// Those of one run, a pass each, that have nothing to do with one another.
    pub(crate) fn of_one(values: &[f64]) -> Self {
        let points: Vec<Point> = (1..).zip(values.iter().copied()).collect();
        let runs = (!points.is_empty()).then_some(OfRun {
            points,
            dependence: Dependence::NONE,
            times: Vec::new(),
        });
        Self {
            runs: runs.into_iter().collect(),
        }
    }

    /// Every value.
    pub(crate) fn all(&self) -> Vec<f64> {
        let runs = self.runs.iter();
        runs.flat_map(|run| side::values(&run.points)).collect()
    }

    /// Every value with its pass; of several runs they follow one another.
    pub(crate) fn points(&self) -> Vec<Point> {
        let runs = self.runs.iter();
        runs.flat_map(|run| run.points.iter().copied()).collect()
    }

    /// Whether there is no value.
    pub(crate) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How they saw their machine.
    pub(crate) fn visits(&self) -> Visits {
        let times: Vec<&[u64]> = self.runs.iter().map(|run| run.times.as_slice()).collect();
        Visits::of(&times)
    }

    /// The fewest values of a run.
    pub(crate) fn fewest(&self) -> usize {
        let lengths = self.runs.iter().map(|run| run.points.len());
        lengths.min().unwrap_or_default()
    }

    /// Each run's logarithms; `None` where a value has none.
    fn logs(&self) -> Option<Vec<Vec<f64>>> {
        let runs = self.runs.iter();
        runs.map(|run| quantile::logs(&side::values(&run.points)))
            .collect()
    }

    /// Each run's mean, of the logarithms that [`Values::logs`] gave.
    fn means(&self, logs: &[Vec<f64>], trim: Trim) -> Vec<yuen::Side> {
        let runs = logs.iter().zip(&self.runs);
        runs.filter_map(|(logs, run)| Some(yuen::trimmed(logs, trim)?.with(run.dependence)))
            .collect()
    }
}

/// What two lists of values say about their ratio, other over base.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Contrast {
    /// A ratio with its interval.
    Found(Evidence),
    /// Too few values for an interval; the logarithm of the ratio, where each side has a value at all.
    TooFew(Option<f64>),
    /// A value is zero, negative or not finite.
    NoRatio,
}

impl Contrast {
    /// The logarithm of the ratio, with an interval or without.
    pub(crate) const fn ln_ratio(&self) -> Option<f64> {
        match self {
            Self::Found(found) => Some(found.interval.ln_ratio),
            Self::TooFew(ln_ratio) => *ln_ratio,
            Self::NoRatio => None,
        }
    }

    /// The ratio with its interval, where there is one.
    pub(crate) fn found(self) -> Option<Evidence> {
        match self {
            Self::Found(found) => Some(found),
            Self::TooFew(_) | Self::NoRatio => None,
        }
    }
}

/// A ratio with its interval, and what it takes to ask how sure a claim about it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Evidence {
    /// The ratio and its interval, with the scatter between runs where the sides are runs of their own.
    pub(crate) interval: RatioInterval,
    /// What the runs of either side differ by, where they show that themselves.
    pub(crate) shown: Both<Option<f64>>,
    /// The two sides, whose rounds can be exchanged; `None` for pairs, instances and several runs.
    exchange: Option<Exchange>,
}

impl Evidence {
    /// The ratio base / other.
    pub(crate) fn reversed(self) -> Self {
        Self {
            interval: self.interval.reversed(),
            shown: self.shown,
            exchange: self.exchange.map(Exchange::reversed),
        }
    }

    /// How sure it is that there is a difference: the larger of what Student's t says and of what an exchange of rounds
    /// says. The latter is asked only where the former leaves a chance.
    pub(crate) fn p_value(&self) -> f64 {
        let student = self.interval.p_value();
        if student > ERROR_RATE {
            return student;
        }
        student.max(self.exchanged(0.0))
    }

    /// Whether an exchange of rounds, too, says at this level that the difference is beyond the margin.
    pub(crate) fn is_beyond(&self, margin: f64, level: f64) -> bool {
        let shift = margin.ln_1p() * self.interval.ln_ratio.signum();
        self.exchanged(shift) <= level
    }

    fn exchanged(&self, shift: f64) -> f64 {
        let exchange = self.exchange.as_ref();
        let found = exchange.and_then(|sides| sides.p_value(shift));
        found.unwrap_or(0.0)
    }
}

/// Holds `other` against `base`; `spread` is what runs of either machine differ by.
///
/// Where a look ended a side (`looked`), its rounds were perhaps alike by chance, as those are that lie on one of two
/// levels: either side is then taken to scatter about as much as the other one.
pub(crate) fn contrast(
    method: Method,
    base: &Values,
    other: &Values,
    spread: &Both<Spread>,
    looked: bool,
) -> Contrast {
    if method == Method::Pairs {
        return in_pairs(&side::pairs(&base.points(), &other.points()));
    }
    let (Some(base_logs), Some(other_logs)) = (base.logs(), other.logs()) else {
        return Contrast::NoRatio;
    };
    let trims = method.trims(base.fewest(), other.fewest());
    let means = (
        base.means(&base_logs, trims.0),
        other.means(&other_logs, trims.1),
    );
    let (Some(here), Some(there)) = (yuen::Side::mean_of(&means.0), yuen::Side::mean_of(&means.1))
    else {
        return Contrast::TooFew(None);
    };
    let (here, there) = if looked {
        (
            here.not_much_quieter_than(&there),
            there.not_much_quieter_than(&here),
        )
    } else {
        (here, there)
    };
    let interval = yuen::between(here, there, ERROR_RATE);
    let fewest = count(base.fewest().min(other.fewest()));
    if fewest < approx(u64::from(method.fewest())) {
        return Contrast::TooFew(Some(interval.ln_ratio));
    }
    let of = |mean, runs, values: &Values| OfSide {
        mean,
        runs,
        visits: values.visits(),
    };
    let parts = scatter::parts(
        spread,
        &of(here, &means.0, base),
        &of(there, &means.1, other),
    );
    Contrast::Found(Evidence {
        interval: interval.with_scatter(&parts.all, &parts.between),
        shown: parts.shown,
        exchange: match (&base.runs[..], &other.runs[..]) {
            ([_], [_]) if method == Method::Rounds => Some(Exchange {
                base: base_logs.concat(),
                other: other_logs.concat(),
            }),
            _ => None,
        },
    })
}

fn in_pairs(pairs: &[(f64, f64)]) -> Contrast {
    let (base, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (Some(base), Some(other)) = (quantile::logs(&base), quantile::logs(&other)) else {
        return Contrast::NoRatio;
    };
    let differences: Vec<f64> = other.iter().zip(&base).map(|(o, b)| o - b).collect();
    match yuen::paired(&differences, ERROR_RATE) {
        Some(interval) => Contrast::Found(Evidence {
            interval,
            shown: Both::default(),
            exchange: None,
        }),
        None => Contrast::TooFew(yuen::side(&differences).map(|side| side.mean)),
    }
}

/// The central value of each side, base first: the ratio of [`contrast`] is one over the other. A side whose values
/// have no logarithms has none.
pub(crate) fn centres(method: Method, base: &Values, other: &Values) -> Both<Option<f64>> {
    let of_pairs = || centres_of_pairs(&side::pairs(&base.points(), &other.points()));
    let trims = method.trims(base.fewest(), other.fewest());
    match (method == Method::Pairs).then(of_pairs).flatten() {
        Some((base, other)) => (Some(base), Some(other)),
        None => (centre(base, trims.0), centre(other, trims.1)),
    }
    .into()
}

/// The value that a comparison has of these rounds where it holds them against as many others: the mean of their
/// logarithms without the fifth at either end. `None` where one has no logarithm.
pub fn central_value(rounds: &[f64]) -> Option<f64> {
    let trim = Method::Rounds.trims(rounds.len(), rounds.len()).0;
    centre(&Values::of_one(rounds), trim)
}

fn centre(values: &Values, trim: Trim) -> Option<f64> {
    let logs = values.logs()?;
    // Values that are all alike come back to the last bit.
    let all = values.all();
    let first = *all.first()?;
    if all.iter().all(|value| value.to_bits() == first.to_bits()) {
        return Some(first);
    }
    Some(yuen::Side::mean_of(&values.means(&logs, trim))?.mean.exp())
}

/// The means of either side over the pairs whose differences the trimming keeps: their difference is the trimmed mean
/// of the differences.
fn centres_of_pairs(pairs: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (base, other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let (base, other) = (quantile::logs(&base)?, quantile::logs(&other)?);
    let mut logs: Vec<(f64, f64)> = base.into_iter().zip(other).collect();
    logs.order_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let cut = yuen::trimmed_each_end(logs.len());
    let (base, other): (Vec<f64>, Vec<f64>) = logs[cut..logs.len() - cut].iter().copied().unzip();
    Some((quantile::mean(&base)?.exp(), quantile::mean(&other)?.exp()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    fn points(values: &[f64]) -> Values {
        Values::of_one(values)
    }

    const QUIET: Both<Spread> = Both {
        base: Spread::NONE,
        other: Spread::NONE,
    };

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
                let ln_ratio = match contrast(method, &base, &other, &QUIET, false) {
                    Contrast::Found(found) => found.interval.ln_ratio,
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
