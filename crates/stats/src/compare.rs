//! Two runs against each other, or two groups of runs: a ratio, an interval and a verdict for each metric, categories,
//! what the conclusions are about, and what differs in the set-up.
//!
//! Whatever would make a ratio misleading is refused and named instead: another version of the workload, other
//! parameters, values without a ratio. Nothing is estimated from fewer than six rounds (or five runs) on a side; the
//! plain ratio is then given without an interval, and the verdict is `unclear`.

use crate::contrast::{Contrast, Evidence, Method, Values, centres};
use crate::history::Kept;
use crate::judged::{self, Judged};
use crate::scatter::Spread;
use crate::side::{self, Side, described};
use crate::sides::{Candidate, Sides};
use crate::verdict;
use crate::yuen::RatioInterval;
use crate::{category, difference, family, hopeless, needed, rounds, scope, setting, warnings};
use model::comparison::{
    Both, Comparison, FloorComparison, MarginSource, MetricComparison, Refusal, RoundsNeeded,
    Scatter, ScatterSource, Verdict,
};
use model::params::ParamValue;
use model::plan::{MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::{Better, MetricClass};
use std::fmt::Debug;

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompareOptions<'a> {
    /// The margin of every metric, as a share; `None` for the defaults by class of metric.
    pub margin: Option<f64>,
    /// Earlier runs of the machines that are compared, which show what runs of theirs differ by.
    pub earlier: &'a [Run],
    /// What runs of one machine are to be taken to differ by, as a share, whatever else is known.
    pub scatter: Option<f64>,
}

/// Compares `other` with `base`.
pub fn compare(base: &Run, other: &Run, options: &CompareOptions<'_>) -> Comparison {
    compare_groups(&[base], &[other], options)
}

/// Compares a group of runs with another. Where the runs of either side come from one machine, the sample is the round;
/// otherwise it is the run, each counting once with its median.
///
/// # Panics
/// Where a side has no run.
pub fn compare_groups(base: &[&Run], other: &[&Run], options: &CompareOptions<'_>) -> Comparison {
    With::new(base, options).compare(other)
}

/// Compares each of `others` with `base`, as [`compare_groups`] does; what they share is sorted out once.
///
/// # Panics
/// Where a side has no run.
pub fn compare_each(
    base: &[&Run],
    others: &[Vec<&Run>],
    options: &CompareOptions<'_>,
) -> Vec<Comparison> {
    let with = With::new(base, options);
    others.iter().map(|other| with.compare(other)).collect()
}

/// What every comparison with one base shares.
struct With<'a> {
    base: &'a [&'a Run],
    side: Side<'a>,
    earlier: Kept<'a>,
    options: &'a CompareOptions<'a>,
}

impl<'a> With<'a> {
    fn new(base: &'a [&'a Run], options: &'a CompareOptions<'a>) -> Self {
        Self {
            base,
            side: Side::new(base),
            earlier: Kept::new(options.earlier),
            options,
        }
    }

    fn compare(&self, other: &[&'a Run]) -> Comparison {
        let base = self.base;
        let sides = Sides::new((base, &self.side), other, &self.earlier);
        let mut candidates = pair_up(&sides, self.options);
        decide(&mut candidates, &sides);
        for candidate in &mut candidates {
            candidate.result.hopeless = hopeless::of(&sides, candidate);
        }
        Comparison {
            categories: category::compare(&sides, &candidates),
            left_out: category::left_out(&sides, &candidates),
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
            joined: Vec::new(),
            not_joined: Vec::new(),
            earlier: sides.earlier(),
            dependence: (sides.base.dependence(), sides.other.dependence()).into(),
        }
    }
}

/// Every metric of either side that was measured: the base's in its order, then those that only the other side has.
fn pair_up<'a>(sides: &Sides<'a>, options: &CompareOptions<'_>) -> Vec<Candidate<'a>> {
    let mut candidates = Vec::new();
    for case in sides.base.cases() {
        for (index, metric) in case.metrics.iter().enumerate() {
            if metric.is_setting() {
                continue;
            }
            let mut candidate = Candidate::new(case, metric, index == 0, options);
            match sides.other.case(&case.id) {
                Some(there) if sides.other.metric(&case.id, &metric.quantity).is_some() => {
                    candidate.judge(sides, there, options.scatter);
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
                let mut candidate = Candidate::new(case, metric, index == 0, options);
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
        options: &CompareOptions<'_>,
    ) -> Self {
        let id = MetricId {
            case: case.id.clone(),
            quantity: metric.quantity.clone(),
        };
        let (margin, margin_source) = match options.margin {
            Some(margin) => (margin, MarginSource::Given),
            None => (metric.class.margin(), MarginSource::Class),
        };
        Self {
            case,
            metric,
            leads,
            found: None,
            floor: None,
            spread: (Spread::NONE, Spread::NONE).into(),
            result: MetricComparison {
                id,
                title: case.title.clone(),
                ratio: None,
                interval: None,
                minutes: None,
                scatter: Both::default(),
                margin,
                margin_source,
                verdict: Verdict::Unclear,
                adjusted: Verdict::Unclear,
                doubt: None,
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
    fn describe(&mut self, sides: &Sides<'_>) -> (Values, Values) {
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
    fn judge(&mut self, sides: &Sides<'_>, there: &PlannedCase, asked: Option<f64>) {
        let (on_base, on_other) = self.describe(sides);
        self.result.refused = self.not_comparable(sides, there);
        if self.result.refused.is_some() {
            return;
        }
        if on_base.is_empty() || on_other.is_empty() {
            self.no_value(sides);
            return;
        }
        let case = self.case;
        let quantity = &self.metric.quantity;
        let alike = |earlier: &PlannedCase| {
            not_alike(case, earlier).is_none()
                && declared_otherwise(case, earlier, quantity).is_none()
        };
        self.spread = match asked {
            Some(asked) => sides.spread_asked(asked),
            None => sides.spread(case, self.metric, alike),
        };
        let found = sides.contrast(&on_base, &on_other, &self.spread);
        if let Some(soak) = sides.soak() {
            // How many stretches there are does not matter: no number of them gives an interval.
            self.result.ratio = found
                .ln_ratio()
                .and_then(|ln_ratio| ratio_of(self.turned(ln_ratio)));
            self.result.refused = Some(soak);
            return;
        }
        match found {
            Contrast::Found(found) => {
                let given = |deviation: f64| Scatter {
                    deviation: deviation.exp_m1(),
                    source: ScatterSource::Given,
                };
                self.result.scatter = Both {
                    base: found.shown.base.map(given).or(self.spread.base.told()),
                    other: found.shown.other.map(given).or(self.spread.other.told()),
                };
                self.conclude(found, sides);
            }
            Contrast::TooFew(ln_ratio) => {
                self.result.ratio = ln_ratio.and_then(|ln_ratio| ratio_of(self.turned(ln_ratio)));
                let pairs = side::pairs(&on_base.points(), &on_other.points());
                let fewest = [&on_base, &on_other].map(|values| rounds::whole(values.fewest()));
                self.too_few(sides, pairs.len(), fewest);
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

    /// Why the metric does not compare, where it does not. Parameters of a duel's sides may differ: they may be what it
    /// is about.
    fn not_comparable(&self, sides: &Sides<'_>, there: &PlannedCase) -> Option<Refusal> {
        let (id, paired) = (&self.case.id, sides.method == Method::Pairs);
        let quantity = &self.metric.quantity;
        let differ = |here: &PlannedCase, there: &PlannedCase| {
            let work = (!paired).then(|| not_alike(here, there)).flatten();
            work.or_else(|| declared_otherwise(here, there, quantity))
        };
        sides
            .base
            .disagreement(id, true, differ)
            .or_else(|| sides.other.disagreement(id, false, differ))
            .or_else(|| differ(self.case, there))
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

    /// Too few of them, where `fewest` are those of the run of either side that has the fewest.
    fn too_few(&mut self, sides: &Sides<'_>, pairs: usize, fewest: [u32; 2]) {
        let Both { base, other } = self.result.n;
        let need = sides.method.fewest();
        let (refused, needed) = match sides.method {
            Method::Runs => {
                let refused = Refusal::TooFewRuns { base, other, need };
                (refused, RoundsNeeded::InstancesAtLeast(need))
            }
            Method::Rounds => {
                let [base, other] = fewest;
                let lacks = |side: &Side<'_>, rounds| side.is_imported() && rounds < need;
                if lacks(&sides.base, base) || lacks(&sides.other, other) {
                    self.result.refused = Some(Refusal::TooFewImported { base, other, need });
                    return;
                }
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

    /// The evidence, turned so that above 1 is better.
    fn evidence(&self, found: Evidence) -> Evidence {
        match self.metric.better {
            Better::Higher => found,
            Better::Lower => found.reversed(),
        }
    }

    /// The verdict from an interval.
    fn conclude(&mut self, found: Evidence, sides: &Sides<'_>) {
        let found = self.evidence(found);
        let result = &mut self.result;
        let interval = &found.interval;
        let printed = interval.interval();
        result.ratio = ratio_of(interval.ln_ratio);
        if result.ratio.is_none() || !printed.hi.is_finite() {
            // Nobody measures that, and no number on a page could say it.
            result.ratio = None;
            result.scatter = Both::default();
            result.refused = Some(Refusal::BeyondNumbers);
            return;
        }
        result.interval = Some(printed);
        if result.scatter.base.is_some() {
            result.minutes = Some(interval.minutes().interval());
        }
        let found = Judged::of(found, sides.levels, result.margin);
        result.verdict = found.unadjusted;
        result.adjusted = result.verdict;
        if !verdict::is_final(result.verdict) {
            let interval = &found.evidence.interval;
            result.needed = Some(needed_of(interval, result.margin, sides));
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
        let contrast = sides.contrast(&on_base, &on_other, &of_floors(&self.spread));
        let ratio = contrast.ln_ratio().and_then(ratio_of);
        let margin = self.result.margin;
        let found = contrast.found();
        self.floor = found.map(|found| Judged::of(found, sides.levels, margin));
        let verdict = self.floor.as_ref();
        let verdict = verdict.map_or(Verdict::Unclear, |found| found.unadjusted);
        let found = self.floor.as_ref().map(|found| &found.evidence.interval);
        let metric = &self.result.id;
        self.result.floor = Some(FloorComparison {
            ratio,
            interval: found.map(RatioInterval::interval),
            verdict,
            adjusted: verdict,
            doubt: None,
            values: centres(sides.method, &on_base, &on_other),
            medians: (described(&on_base).1, described(&on_other).1).into(),
            slow_shares: Both {
                base: sides.base.slow_share(metric),
                other: sides.other.slow_share(metric),
            },
        });
    }

    /// The verdicts at the levels that the corrections left.
    fn decide(&mut self, sides: &Sides<'_>) {
        let (id, margin) = (&self.result.id, self.result.margin);
        let cause = sides.disturbed_inside(&id.case);
        let typical = self.found.as_ref().map(|found| {
            found.verdict(sides, margin, cause, |quiet| {
                let (base, other) = (quiet.base.typical(id), quiet.other.typical(id));
                let found = sides.contrast(&base, &other, &self.spread).found();
                found.map(|found| self.evidence(found))
            })
        });
        let slow = self.floor.as_ref().map(|found| {
            found.verdict(sides, margin, cause, |quiet| {
                let (base, other) = (quiet.base.floors(&id.case), quiet.other.floors(&id.case));
                let spread = of_floors(&self.spread);
                sides.contrast(&base, &other, &spread).found()
            })
        });
        let result = &mut self.result;
        if let (Some(found), Some((adjusted, doubt))) = (&self.found, typical) {
            (result.adjusted, result.doubt) = (adjusted, doubt);
            // What the correction takes away, more rounds may give back.
            if result.needed.is_none() && doubt.is_none() && !verdict::is_final(adjusted) {
                result.needed = Some(needed_of(&found.evidence.interval, margin, sides));
            }
        }
        if let (Some(floor), Some((adjusted, doubt))) = (&mut result.floor, slow) {
            (floor.adjusted, floor.doubt) = (adjusted, doubt);
        }
    }
}

/// The ratio of this logarithm, where a number can say it.
fn ratio_of(ln_ratio: f64) -> Option<f64> {
    Some(ln_ratio.exp()).filter(|ratio| ratio.is_normal())
}

/// Whether there are values and all of them are 0.
fn all_zero(values: &Values) -> bool {
    let zero = |value: f64| value.to_bits() << 1 == 0;
    !values.is_empty() && values.all().into_iter().all(zero)
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

/// The verdicts, corrected for the number of metrics, separately for throughput, latency and slow moments.
fn decide(candidates: &mut [Candidate<'_>], sides: &Sides<'_>) {
    for latency in [false, true] {
        let family = candidates
            .iter_mut()
            .filter(|candidate| is_latency(candidate.metric.class) == latency)
            .filter_map(|candidate| candidate.found.as_mut());
        judged::correct(family, family::benjamini_hochberg, sides);
    }
    let floors = candidates
        .iter_mut()
        .filter_map(|candidate| candidate.floor.as_mut());
    judged::correct(floors, family::benjamini_hochberg, sides);
    for candidate in candidates {
        candidate.decide(sides);
    }
}

/// What runs differ by in their slow moments: twice what they do typically, as the classes of latencies have it.
fn of_floors(typical: &Both<Spread>) -> Both<Spread> {
    (typical.base.times(2.0), typical.other.times(2.0)).into()
}

const fn is_latency(class: MetricClass) -> bool {
    matches!(
        class,
        MetricClass::LatencyTypical | MetricClass::LatencyTail | MetricClass::LatencyExtreme
    )
}

/// A document may call things by one name that are not the same.
fn declared_otherwise(here: &PlannedCase, there: &PlannedCase, quantity: &str) -> Option<Refusal> {
    let of = |case: &'_ PlannedCase| {
        let metrics = case.metrics.iter();
        let metric = metrics.clone().find(|metric| metric.quantity == quantity)?;
        Some((metric.unit, metric.better, metric.class))
    };
    let ((unit, better, class), there) = (of(here)?, of(there)?);
    let texts = |what: &str, here: &dyn Debug, there: &dyn Debug| {
        Refusal::Declared(what.to_owned(), format!("{here:?}"), format!("{there:?}"))
    };
    if unit != there.0 {
        Some(texts("unit", &unit, &there.0))
    } else if better != there.1 {
        Some(texts("better", &better, &there.1))
    } else {
        (class != there.2).then(|| texts("class", &class, &there.2))
    }
}

/// Why two cases of the same name are not the same measurement.
pub(crate) fn not_alike(base: &PlannedCase, other: &PlannedCase) -> Option<Refusal> {
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
mod scatter_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod value_tests;
