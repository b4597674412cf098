//! Two runs against each other, or two groups of runs: a ratio, an interval and a verdict for each metric, categories,
//! what the conclusions are about, and what differs in the set-up.
//!
//! Whatever would make a ratio misleading is refused and named instead: another version of the workload, other
//! parameters, values without a ratio. Nothing is estimated from fewer than six rounds (or five runs) on a side; the
//! plain ratio is then given without an interval, and the verdict is `unclear`.

use crate::calibration::{self, Calibration};
use crate::contrast::{Contrast, ERROR_RATE, Method, centres, contrast};
use crate::side::{self, Point, described};
use crate::sides::{Candidate, Sides, adjusted};
use crate::verdict;
use crate::yuen::RatioInterval;
use crate::{category, difference, family, hopeless, needed, rounds, scope, setting, warnings};
use model::comparison::{
    Both, Comparison, FloorComparison, MetricComparison, Refusal, RoundsNeeded, Verdict,
};
use model::params::ParamValue;
use model::plan::{MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::{Better, MetricClass};

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// The margin of every metric, as a share; `None` for the defaults by class of metric.
    pub margin: Option<f64>,
}

/// Compares `other` with `base`.
pub fn compare(base: &Run, other: &Run, options: &CompareOptions) -> Comparison {
    compare_groups(&[base], &[other], options)
}

/// Compares a group of runs with another. With one run on each side the sample is the round; otherwise it is the run,
/// each counting once with its median.
///
/// # Panics
/// Where a side has no run.
pub fn compare_groups(base: &[&Run], other: &[&Run], options: &CompareOptions) -> Comparison {
    compare_with(base, other, options, calibration::embedded())
}

/// Compares with the noise floors of `calibration`.
pub(crate) fn compare_with(
    base: &[&Run],
    other: &[&Run],
    options: &CompareOptions,
    calibration: &Calibration,
) -> Comparison {
    let sides = Sides::new(base, other);
    let mut candidates = pair_up(&sides, options, calibration);
    adjust(&mut candidates, &sides);
    for candidate in &mut candidates {
        candidate.result.hopeless = hopeless::of(&sides, candidate);
    }
    Comparison {
        categories: category::compare(&sides, &candidates),
        metrics: candidates
            .into_iter()
            .map(|candidate| candidate.result)
            .collect(),
        differences: [
            difference::between_groups(base, other),
            setting::differences(&sides),
        ]
        .concat(),
        paired: sides.method == Method::Pairs,
        estimator: sides.method.estimator(),
        looked: sides.looked(),
        disturbed: Both {
            base: warnings::disturbed(base),
            other: warnings::disturbed(other),
        },
        scope: scope::of_comparison(base, other, sides.method),
        repeats: scope::repeats(base, other),
    }
}

/// Every metric of either side that was measured: the base's in its order, then those that only the other side has.
fn pair_up<'a>(
    sides: &Sides<'a>,
    options: &CompareOptions,
    calibration: &Calibration,
) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for case in sides.base.cases() {
        for (index, metric) in case.metrics.iter().enumerate() {
            if metric.is_setting() {
                continue;
            }
            let mut candidate = Candidate::new(case, metric, index == 0, options, calibration);
            match sides.other.case(&case.id) {
                Some(there) if sides.other.metric(&case.id, &metric.quantity).is_some() => {
                    candidate.judge(sides, there);
                }
                _ => candidate.one_side_only(sides, true),
            }
            candidates.push(candidate);
        }
    }
    for case in sides.other.cases() {
        for (index, metric) in case.metrics.iter().enumerate() {
            let new = sides.base.metric(&case.id, &metric.quantity).is_none();
            if new && !metric.is_setting() {
                let mut candidate = Candidate::new(case, metric, index == 0, options, calibration);
                candidate.one_side_only(sides, false);
                candidates.push(candidate);
            }
        }
    }
    candidates
}

impl<'a> Candidate<'a> {
    fn new(
        case: &'a PlannedCase,
        metric: &'a PlannedMetric,
        leads: bool,
        options: &CompareOptions,
        calibration: &Calibration,
    ) -> Self {
        let id = MetricId {
            case: case.id.clone(),
            quantity: metric.quantity.clone(),
        };
        let (margin, margin_source) = calibration.margin(&id, metric.class, options.margin);
        Self {
            case,
            metric,
            leads,
            found: None,
            floor: None,
            result: MetricComparison {
                id,
                title: case.title.clone(),
                ratio: None,
                interval: None,
                margin,
                margin_source,
                verdict: Verdict::Unclear,
                adjusted: Verdict::Unclear,
                needed: None,
                hopeless: None,
                refused: None,
                n: Both::default(),
                values: Both::default(),
                medians: Both::default(),
                states: Both::default(),
                floor: None,
            },
        }
    }

    fn one_side_only(&mut self, sides: &Sides<'_>, base_has_it: bool) {
        self.describe(sides);
        let result = &mut self.result;
        result.refused = Some(Refusal::OneSideOnly { base_has_it });
    }

    /// What either side has, whatever comes of it.
    fn describe(&mut self, sides: &Sides<'_>) -> (Vec<Point>, Vec<Point>) {
        let result = &mut self.result;
        let (base, other) = (
            sides.base.typical(&result.id),
            sides.other.typical(&result.id),
        );
        let (on_base, on_other) = (described(&base), described(&other));
        result.n = (on_base.0, on_other.0).into();
        result.medians = (on_base.1, on_other.1).into();
        result.values = centres(sides.method, &base, &other);
        result.states = Both {
            base: sides.base.states(&result.id),
            other: sides.other.states(&result.id),
        };
        (base, other)
    }

    /// Draws the conclusion for a metric that both sides have.
    fn judge(&mut self, sides: &Sides<'_>, there: &PlannedCase) {
        let (on_base, on_other) = self.describe(sides);
        // Parameters of a duel's sides may differ: they may be what it is about.
        if sides.method != Method::Pairs {
            self.result.refused = self.not_comparable(sides, there);
            if self.result.refused.is_some() {
                return;
            }
        }
        if on_base.is_empty() || on_other.is_empty() {
            self.no_value(sides);
            return;
        }
        let found = contrast(sides.method, &on_base, &on_other);
        if let Some(soak) = sides.soak() {
            // How many stretches there are does not matter: no number of them gives an interval.
            self.result.ratio = found.ln_ratio().map(|ln_ratio| self.turned(ln_ratio).exp());
            self.result.refused = Some(soak);
            return;
        }
        match found {
            Contrast::Found(found) => self.conclude(found, sides),
            Contrast::TooFew(ln_ratio) => {
                self.result.ratio = ln_ratio.map(|ln_ratio| self.turned(ln_ratio).exp());
                self.too_few(sides, side::pairs(&on_base, &on_other).len());
            }
            Contrast::NoRatio => {
                self.result.refused = Some(Refusal::NoRatio {
                    base_is_zero: all_zero(&on_base),
                    other_is_zero: all_zero(&on_other),
                });
            }
        }
        if self.leads && self.metric.unit.is_rate() {
            self.judge_floor(sides);
        }
    }

    /// Why the metric does not compare, where it does not.
    fn not_comparable(&self, sides: &Sides<'_>, there: &PlannedCase) -> Option<Refusal> {
        let id = &self.case.id;
        sides
            .base
            .disagreement(id, true, not_alike)
            .or_else(|| sides.other.disagreement(id, false, not_alike))
            .or_else(|| not_alike(self.case, there))
    }

    /// A logarithm of a ratio, turned so that above 0 is better.
    fn turned(&self, ln_ratio: f64) -> f64 {
        match self.metric.better {
            Better::Higher => ln_ratio,
            Better::Lower => -ln_ratio,
        }
    }

    /// Both sides planned it, and one of them has nothing: more rounds alone would not change that.
    fn no_value(&mut self, sides: &Sides<'_>) {
        let (base, other) = (self.result.n.base == 0, self.result.n.other == 0);
        let side = if base { &sides.base } else { &sides.other };
        self.result.refused = Some(Refusal::NoValue {
            base,
            other,
            why: side.why_no_value(&self.result.id).unwrap_or_default(),
        });
    }

    fn too_few(&mut self, sides: &Sides<'_>, pairs: usize) {
        let Both { base, other } = self.result.n;
        let need = sides.method.fewest();
        let (refused, needed) = match sides.method {
            Method::Runs => {
                let refused = Refusal::TooFewRuns { base, other, need };
                (refused, RoundsNeeded::InstancesAtLeast(need))
            }
            Method::Rounds => {
                let refused = Refusal::TooFewRounds { base, other, need };
                (refused, RoundsNeeded::RoundsAtLeast(need))
            }
            Method::Pairs => {
                let refused = Refusal::TooFewPairs {
                    pairs: rounds::whole(pairs),
                    need,
                    resume: sides.base.unfinished().map(ToOwned::to_owned),
                };
                (refused, RoundsNeeded::PairsAtLeast(need))
            }
        };
        self.result.refused = Some(refused);
        self.result.needed = Some(needed);
    }

    /// The verdict from an interval.
    fn conclude(&mut self, found: RatioInterval, sides: &Sides<'_>) {
        let found = match self.metric.better {
            Better::Higher => found,
            Better::Lower => found.reversed(),
        };
        let result = &mut self.result;
        result.ratio = Some(found.ratio());
        result.interval = Some(found.interval_of(found.ln_ends(ERROR_RATE)));
        result.verdict = verdict::of_ratio(&found, sides.levels, result.margin);
        result.adjusted = result.verdict;
        if !verdict::is_final(result.verdict) {
            result.needed = Some(needed_of(&found, result.margin, sides));
        }
        self.found = Some(found);
    }

    /// The same of the slow end: rates, so that more is better.
    fn judge_floor(&mut self, sides: &Sides<'_>) {
        let id = &self.case.id;
        let (on_base, on_other) = (sides.base.floors(id), sides.other.floors(id));
        if on_base.is_empty() && on_other.is_empty() {
            return;
        }
        let contrast = contrast(sides.method, &on_base, &on_other);
        self.floor = contrast.found();
        let verdict = self.floor.map_or(Verdict::Unclear, |found| {
            verdict::of_ratio(&found, sides.levels, self.result.margin)
        });
        let metric = &self.result.id;
        self.result.floor = Some(FloorComparison {
            ratio: contrast.ln_ratio().map(f64::exp),
            interval: self
                .floor
                .map(|found| found.interval_of(found.ln_ends(ERROR_RATE))),
            verdict,
            adjusted: verdict,
            values: centres(sides.method, &on_base, &on_other),
            medians: (described(&on_base).1, described(&on_other).1).into(),
            slow_shares: Both {
                base: sides.base.slow_share(metric),
                other: sides.other.slow_share(metric),
            },
        });
    }
}

/// Whether there are values and all of them are 0.
fn all_zero(points: &[Point]) -> bool {
    let zero = |&(_, value): &Point| value.to_bits() << 1 == 0;
    !points.is_empty() && points.iter().all(zero)
}

/// What it would take to tell, in what the method counts.
fn needed_of(found: &RatioInterval, margin: f64, sides: &Sides<'_>) -> RoundsNeeded {
    match (
        needed::rounds_needed(found, margin, sides.levels),
        sides.method,
    ) {
        (RoundsNeeded::Rounds(n), Method::Runs) => RoundsNeeded::Instances(n),
        (RoundsNeeded::Rounds(n), Method::Pairs) => RoundsNeeded::Pairs(n),
        (needed, _) => needed,
    }
}

/// Corrects the verdicts for the number of metrics, separately for throughput, latency and slow moments.
fn adjust(candidates: &mut [Candidate<'_>], sides: &Sides<'_>) {
    for latency in [false, true] {
        let members: Vec<(usize, RatioInterval)> = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| is_latency(candidate.metric.class) == latency)
            .filter_map(|(index, candidate)| Some((index, candidate.found?)))
            .collect();
        for (index, found, level) in levels(members) {
            let result = &mut candidates[index].result;
            let levels = level.map(|level| sides.levels.difference_at_most(level));
            result.adjusted = adjusted(result.verdict, &found, levels, result.margin);
            // What the correction takes away, more rounds may give back.
            if result.needed.is_none() && !verdict::is_final(result.adjusted) {
                result.needed = Some(needed_of(&found, result.margin, sides));
            }
        }
    }
    let floors: Vec<(usize, RatioInterval)> = candidates
        .iter()
        .enumerate()
        .filter_map(|(index, candidate)| Some((index, candidate.floor?)))
        .collect();
    for (index, found, level) in levels(floors) {
        let levels = level.map(|level| sides.levels.difference_at_most(level));
        let result = &mut candidates[index].result;
        if let Some(floor) = &mut result.floor {
            floor.adjusted = adjusted(floor.verdict, &found, levels, result.margin);
        }
    }
}

/// The level at which each member of a family may claim a difference, if it may.
fn levels(
    members: Vec<(usize, RatioInterval)>,
) -> impl Iterator<Item = (usize, RatioInterval, Option<f64>)> {
    let p_values: Vec<f64> = members.iter().map(|(_, found)| found.p_value()).collect();
    let levels = family::benjamini_hochberg(&p_values, ERROR_RATE);
    members
        .into_iter()
        .zip(levels)
        .map(|((index, found), level)| (index, found, level))
}

const fn is_latency(class: MetricClass) -> bool {
    matches!(
        class,
        MetricClass::LatencyTypical | MetricClass::LatencyTail | MetricClass::LatencyExtreme
    )
}

/// Why two cases of the same name are not the same measurement.
fn not_alike(base: &PlannedCase, other: &PlannedCase) -> Option<Refusal> {
    let mut differing = Vec::new();
    if base.workload != other.workload {
        differing.push((
            "workload".to_owned(),
            base.workload.clone(),
            other.workload.clone(),
        ));
    } else if base.workload_version != other.workload_version {
        return Some(Refusal::WorkloadVersion {
            base: base.workload_version,
            other: other.workload_version,
        });
    }
    let text = |case: &PlannedCase, name: &str| {
        let value = case.params.get(name);
        value.map_or_else(|| "not set".to_owned(), ParamValue::readable)
    };
    let only_there = other
        .params
        .iter()
        .filter(|(name, _)| base.params.get(name).is_none());
    for (name, _) in base.params.iter().chain(only_there) {
        if base.params.get(name) != other.params.get(name) {
            differing.push((name.to_owned(), text(base, name), text(other, name)));
        }
    }
    (!differing.is_empty()).then_some(Refusal::Parameters(differing))
}

#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
