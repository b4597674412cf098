//! What comparisons of which the truth is known were right and wrong about.

use super::kind::{Kind, Truth};
use model::comparison::{Comparison, MetricComparison, ScatterSource, Verdict};
use model::num::count;
use stats::quantile;
use std::collections::BTreeSet;

/// The heading of the table that rows of tallies make.
pub(super) const HEADING: &str = "\
    | kind | calls | any, % | better or worse, % | false of those told, % | covered, % | same, % | found, % \
    | categories: any, better or worse, % | slow moments: any, better or worse, % | scatter from | remark | bounds |\n\
    |---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// Where the scatter between runs comes from, as rows have it.
pub(super) const GIVEN: &str = "the runs";
pub(super) const EARLIER: &str = "earlier runs";
pub(super) const SHIPPED: &str = "shipped";
pub(super) const CLASS: &str = "class";
pub(super) const ASKED: &str = "asked";

/// What is broken where the scatter came from elsewhere.
pub(super) const SOURCE: &str = "scatter from";

/// So many standard errors away is what chance brings in one of a hundred experiments.
const RARE: f64 = 2.326;

/// The most calls that may have something wrong, in percent.
#[derive(Clone, Copy, Debug)]
struct Most {
    /// Any false direction.
    any: Option<f64>,
    /// A false `better` or `worse`.
    sure: Option<f64>,
}

/// What is promised, in percent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Of calls, about metrics, categories and slow moments.
    metrics: Most,
    categories: Most,
    floors: Most,
    /// Mean share of false ones among the directions of a call.
    discovery: Option<f64>,
    /// Intervals that hold the truth, at least and at most.
    covered: (Option<f64>, Option<f64>),
    /// Metrics that differ called the same.
    same: Option<f64>,
    /// Metrics that differ called so, at least.
    found: Option<f64>,
}

impl Bounds {
    pub(super) const NONE: Self = Self {
        metrics: Most::NOTHING,
        categories: Most::NOTHING,
        floors: Most::NOTHING,
        discovery: None,
        covered: (None, None),
        same: None,
        found: None,
    };

    /// Independent rounds: one call in twenty may have a false direction, one in a hundred a false `better` or `worse`.
    pub(super) const INDEPENDENT: Self = Self {
        metrics: Most {
            any: Some(5.0),
            sure: Some(1.0),
        },
        categories: Most::ANY,
        floors: Most::ANY,
        ..Self::NONE
    };

    /// One call in twenty may have a false `better` or `worse`.
    pub(super) const SURE: Self = Self {
        metrics: Most::SURE,
        categories: Most::SURE,
        floors: Most::SURE,
        ..Self::NONE
    };

    pub(super) const FALSE_DISCOVERIES: Self = Self {
        discovery: Some(5.0),
        ..Self::NONE
    };

    /// Metrics that differ by the margin are rarely called the same.
    pub(super) const AT_THE_MARGIN: Self = Self {
        same: Some(3.0),
        ..Self::NONE
    };

    pub(super) const POWER: Self = Self {
        found: Some(95.0),
        ..Self::NONE
    };

    pub(super) const fn covering(self, least: f64) -> Self {
        Self {
            covered: (Some(least), self.covered.1),
            ..self
        }
    }

    pub(super) const fn covering_at_most(self, most: f64) -> Self {
        Self {
            covered: (self.covered.0, Some(most)),
            ..self
        }
    }

    /// Whether anything is promised.
    pub(super) fn has_any(&self) -> bool {
        let most = [self.metrics, self.categories, self.floors];
        let (least, highest) = self.covered;
        most.iter()
            .flat_map(|most| [most.any, most.sure])
            .chain([self.discovery, least, highest, self.same, self.found])
            .any(|bound| bound.is_some())
    }
}

impl Most {
    const NOTHING: Self = Self {
        any: None,
        sure: None,
    };
    const ANY: Self = Self {
        any: Some(5.0),
        sure: None,
    };
    const SURE: Self = Self {
        any: None,
        sure: Some(5.0),
    };
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    hits: u32,
    of: u32,
}

impl Rate {
    fn add(&mut self, hit: bool) {
        self.hits += u32::from(hit);
        self.of += 1;
    }

    fn share(self) -> Option<f64> {
        (self.of > 0).then(|| f64::from(self.hits) / f64::from(self.of))
    }

    /// Whether so many hits would be rarer than one in a hundred at this true rate.
    fn is_above(self, percent: f64) -> bool {
        let p = percent / 100.0;
        if p >= 1.0 || self.hits == 0 {
            return false;
        }
        let n = self.of;
        // The chance of fewer hits, term by term on logarithms.
        let mut term = f64::from(n) * (1.0 - p).ln();
        let mut below = 0.0;
        for hits in 0..self.hits {
            below += term.exp();
            term += ((f64::from(n) - f64::from(hits)) / f64::from(hits + 1) * p / (1.0 - p)).ln();
        }
        1.0 - below < 0.01
    }
}

/// Shares of the metrics of each call.
///
/// Metrics of one call have a run in common, with the dependence that was estimated for it and, in some kinds, a shift
/// of all of them: they are off together. So a call is one experiment, and what chance brings is seen between calls;
/// to count each metric as an experiment would make a bound look broken, or kept, by chance alone.
#[derive(Clone, Debug, Default)]
struct Shares(Vec<Rate>);

impl Shares {
    fn add(&mut self, of_call: Rate) {
        if of_call.of > 0 {
            self.0.push(of_call);
        }
    }

    fn all(&self) -> Vec<f64> {
        self.0.iter().filter_map(|rate| rate.share()).collect()
    }

    fn mean(&self) -> Option<f64> {
        quantile::mean(&self.all())
    }

    /// How far the mean may be from a true share by chance: what calls scatter by, and no less than what metrics would
    /// bring that have nothing in common.
    fn off(&self, share: f64) -> f64 {
        let seen = quantile::variance(&self.all()).unwrap_or_default();
        let metrics: f64 = self.0.iter().map(|rate| f64::from(rate.of)).sum();
        let calls = count(self.0.len());
        let alone = share * (1.0 - share) / (metrics / calls);
        RARE * (seen.max(alone) / calls).sqrt()
    }

    fn is_above(&self, percent: f64) -> bool {
        let share = percent / 100.0;
        self.mean()
            .is_some_and(|mean| mean > share + self.off(share))
    }

    fn is_below(&self, percent: f64) -> bool {
        let share = percent / 100.0;
        self.mean()
            .is_some_and(|mean| mean < share - self.off(share))
    }
}

/// Calls in which something is wrong.
#[derive(Clone, Copy, Debug, Default)]
struct Wrong {
    any: Rate,
    sure: Rate,
}

impl Wrong {
    /// The verdicts of a call, each with the true ratio; how many directions were told, and how many of them are false.
    fn add(&mut self, told: &[(Verdict, f64)]) -> Rate {
        let mut directions = Rate::default();
        let mut sure = false;
        for &(verdict, ratio) in told {
            let wrong = match verdict.without_doubt() {
                Verdict::Better => ratio <= 1.0,
                Verdict::Worse => ratio >= 1.0,
                _ => continue,
            };
            directions.add(wrong);
            sure |= wrong && verdict == verdict.without_doubt();
        }
        if !told.is_empty() {
            self.any.add(directions.hits > 0);
            self.sure.add(sure);
        }
        directions
    }

    fn is_above(self, most: Most) -> [bool; 2] {
        let above = |rate: Rate, most: Option<f64>| most.is_some_and(|most| rate.is_above(most));
        [above(self.any, most.any), above(self.sure, most.sure)]
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    metrics: Wrong,
    categories: Wrong,
    floors: Wrong,
    /// The share of false ones among the directions of each call.
    discovery: Shares,
    covered: Shares,
    same: Shares,
    found: Shares,
    sources: BTreeSet<&'static str>,
}

impl Tally {
    /// One comparison.
    pub(super) fn add(&mut self, comparison: &Comparison, truth: Truth) {
        let metrics = || {
            let metrics = comparison.metrics.iter().enumerate();
            metrics.map(|(at, metric)| (metric, truth.of(at)))
        };
        let told: Vec<_> = metrics()
            .map(|(metric, ratio)| (metric.adjusted, ratio))
            .collect();
        let mut directions = self.metrics.add(&told);
        // Nothing told is nothing told falsely.
        directions.of = directions.of.max(1);
        self.discovery.add(directions);
        let categories = comparison.categories.iter();
        let told: Vec<_> = categories
            .map(|one| (one.verdict, truth.of_category(&one.category)))
            .collect();
        self.categories.add(&told);
        let floors = metrics().filter_map(|(metric, ratio)| Some((metric.floor?.adjusted, ratio)));
        self.floors.add(&floors.collect::<Vec<_>>());
        let (mut covered, mut same, mut found) =
            (Rate::default(), Rate::default(), Rate::default());
        for (metric, ratio) in metrics() {
            add_metric(metric, ratio, (&mut covered, &mut same, &mut found));
            let sources = [metric.scatter.base, metric.scatter.other].into_iter();
            self.sources
                .extend(sources.flatten().map(|one| word(one.source)));
        }
        self.covered.add(covered);
        self.same.add(same);
        self.found.add(found);
    }

    /// What is beyond its bound.
    pub(super) fn broken(&self, kind: &Kind) -> Vec<&'static str> {
        let bounds = &kind.bounds;
        let above = |shares: &Shares, most: Option<f64>| most.is_some_and(|m| shares.is_above(m));
        let below = |shares: &Shares, least: Option<f64>| least.is_some_and(|l| shares.is_below(l));
        let [any, sure] = self.metrics.is_above(bounds.metrics);
        let [category, category_sure] = self.categories.is_above(bounds.categories);
        let [floor, floor_sure] = self.floors.is_above(bounds.floors);
        let checks = [
            ("any", any),
            ("better or worse", sure),
            ("categories: any", category),
            ("categories: better or worse", category_sure),
            ("slow moments: any", floor),
            ("slow moments: better or worse", floor_sure),
            (
                "false of those told",
                above(&self.discovery, bounds.discovery),
            ),
            ("covered too little", below(&self.covered, bounds.covered.0)),
            ("covered too much", above(&self.covered, bounds.covered.1)),
            ("same", above(&self.same, bounds.same)),
            ("found", below(&self.found, bounds.found)),
            (SOURCE, !self.sources.iter().eq(&kind.source)),
        ];
        let broken = checks.into_iter().filter(|(_, broken)| *broken);
        broken.map(|(what, _)| what).collect()
    }

    /// A row of the table.
    pub(super) fn row(&self, kind: &Kind, broken: &[&str]) -> String {
        let percent = |share: Option<f64>| {
            share.map_or_else(|| "-".to_owned(), |share| format!("{:.1}", 100.0 * share))
        };
        let wrong = |of: Wrong| match of.any.of {
            0 => "-".to_owned(),
            _ => format!("{}, {}", percent(of.any.share()), percent(of.sure.share())),
        };
        let sources: Vec<&str> = self.sources.iter().copied().collect();
        let cells = [
            kind.name.clone(),
            self.metrics.any.of.to_string(),
            percent(self.metrics.any.share()),
            percent(self.metrics.sure.share()),
            percent(self.discovery.mean()),
            percent(self.covered.mean()),
            percent(self.same.mean()),
            percent(self.found.mean()),
            wrong(self.categories),
            wrong(self.floors),
            sources.join(", "),
            kind.remark.to_owned(),
            match broken {
                [] if !kind.bounds.has_any() => "-".to_owned(),
                [] => "met".to_owned(),
                _ => format!("NOT: {}", broken.join(", ")),
            },
        ];
        format!("| {} |", cells.join(" | "))
    }
}

/// Whether the interval of a metric holds the truth, and what a metric that differs was called.
fn add_metric(
    metric: &MetricComparison,
    ratio: f64,
    (covered, same, found): (&mut Rate, &mut Rate, &mut Rate),
) {
    if let Some(interval) = metric.interval {
        covered.add((interval.lo..=interval.hi).contains(&ratio));
    }
    let right = if ratio > 1.0 {
        Verdict::Better
    } else if ratio < 1.0 {
        Verdict::Worse
    } else {
        return;
    };
    same.add(metric.adjusted == Verdict::Same);
    found.add(metric.adjusted == right);
}

const fn word(source: ScatterSource) -> &'static str {
    match source {
        ScatterSource::Given => GIVEN,
        ScatterSource::Earlier { .. } => EARLIER,
        ScatterSource::Shipped { .. } => SHIPPED,
        ScatterSource::Class => CLASS,
        ScatterSource::Asked => ASKED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_above_its_bound_where_chance_would_hardly_do_that() {
        let rate = |hits, of| Rate { hits, of };
        // Of 1,000 at 5 %: 67 or more in 1 % of experiments.
        assert!(!rate(60, 1000).is_above(5.0));
        assert!(rate(70, 1000).is_above(5.0));
    }

    #[test]
    fn metrics_of_a_call_that_are_off_together_are_one_experiment() {
        let calls =
            |hits: &[u32]| Shares(hits.iter().map(|&hits| Rate { hits, of: 100 }).collect());
        // Two calls of twenty in which a shift of all metrics is missed; and the same share, a few in each.
        let mut together = vec![100; 18];
        together.extend([0, 0]);
        assert!(!calls(&together).is_below(95.0));
        assert!(calls(&[90; 20]).is_below(95.0));
        // No call scatters, and few metrics say little.
        let few = Shares(vec![Rate { hits: 6, of: 6 }; 10]);
        assert!(!few.is_above(98.5) && calls(&[100; 100]).is_above(98.5));
        assert!(!Shares::default().is_above(5.0) && !Shares::default().is_below(95.0));
    }

    #[test]
    fn a_direction_is_false_where_the_truth_has_another_or_none() {
        let check = |verdict, ratio, any: u32, sure: u32| {
            let mut wrong = Wrong::default();
            wrong.add(&[(Verdict::Same, 1.0), (verdict, ratio)]);
            assert_eq!(
                (wrong.any.hits, wrong.sure.hits),
                (any, sure),
                "{verdict:?} {ratio}"
            );
        };
        check(Verdict::Better, 1.0, 1, 1);
        check(Verdict::WorseMaybe, 1.0, 1, 0);
        check(Verdict::Worse, 1.05, 1, 1);
        check(Verdict::Worse, 0.95, 0, 0);
        check(Verdict::BetterMaybe, 1.05, 0, 0);
        check(Verdict::Unclear, 1.05, 0, 0);
    }
}
