//! Two runs against each other: a ratio, an interval and a verdict for each metric, categories, and what differs in
//! the set-up.
//!
//! Whatever would make a ratio misleading is refused and named instead: another version of the workload, other
//! parameters, values without a ratio. Nothing is estimated from fewer than six rounds on a side; the plain ratio is
//! then given without an interval, and the verdict is `unclear`.

use crate::yuen::{self, RatioInterval};
use crate::{
    CONFIDENCE, ROUNDS_MIN, category, difference, family, needed, quantile, rounds, verdict,
};
use model::comparison::{Comparison, MetricComparison, Refusal, RoundsNeeded, Verdict};
use model::plan::{MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::{Better, MetricClass};

/// How to compare.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CompareOptions {
    /// The margin of every metric, as a share; `None` for the defaults by class of metric.
    pub margin: Option<f64>,
}

/// The share of false claims that is accepted, in each family of metrics and over the categories.
pub(crate) const ERROR_RATE: f64 = 1.0 - CONFIDENCE;

/// One metric on its way to a comparison.
pub(crate) struct Candidate<'a> {
    /// The case as the base planned it, or as the other run did where the base has none.
    pub(crate) case: &'a PlannedCase,
    /// The metric, likewise.
    pub(crate) metric: &'a PlannedMetric,
    /// True for the case's first, most telling metric.
    pub(crate) leads: bool,
    /// The ratio, turned so that above 1 is better, where it has an interval.
    pub(crate) found: Option<RatioInterval>,
    /// What will be handed out.
    pub(crate) result: MetricComparison,
}

/// Compares `other` with `base`.
pub fn compare(base: &Run, other: &Run, options: &CompareOptions) -> Comparison {
    let mut candidates = pair_up(base, other, options);
    adjust(&mut candidates);
    Comparison {
        categories: category::compare(base, other, &candidates),
        metrics: candidates
            .into_iter()
            .map(|candidate| candidate.result)
            .collect(),
        differences: difference::differences(base, other),
        paired: rounds::paired(base, other),
    }
}

/// Every metric of either run: the base's in its order, then those that only the other run has.
fn pair_up<'a>(base: &'a Run, other: &'a Run, options: &CompareOptions) -> Vec<Candidate<'a>> {
    let find = |run: &'a Run, case: &PlannedCase| {
        run.plan.cases.iter().find(|planned| planned.id == case.id)
    };
    let mut candidates = Vec::new();
    for case in &base.plan.cases {
        let partner = find(other, case);
        for (index, metric) in case.metrics.iter().enumerate() {
            let there = partner.filter(|partner| has_metric(partner, metric));
            let mut candidate = Candidate::new(case, metric, index == 0, options);
            match there {
                Some(there) => candidate.judge(base, other, there),
                None => candidate.one_side_only(base, true),
            }
            candidates.push(candidate);
        }
    }
    for case in &other.plan.cases {
        let partner = find(base, case);
        for (index, metric) in case.metrics.iter().enumerate() {
            if partner.is_none_or(|partner| !has_metric(partner, metric)) {
                let mut candidate = Candidate::new(case, metric, index == 0, options);
                candidate.one_side_only(other, false);
                candidates.push(candidate);
            }
        }
    }
    candidates
}

fn has_metric(case: &PlannedCase, metric: &PlannedMetric) -> bool {
    case.metrics
        .iter()
        .any(|own| own.quantity == metric.quantity)
}

impl<'a> Candidate<'a> {
    fn new(
        case: &'a PlannedCase,
        metric: &'a PlannedMetric,
        leads: bool,
        options: &CompareOptions,
    ) -> Self {
        Self {
            case,
            metric,
            leads,
            found: None,
            result: MetricComparison {
                id: MetricId {
                    case: case.id.clone(),
                    quantity: metric.quantity.clone(),
                },
                title: case.title.clone(),
                ratio: None,
                interval: None,
                margin: options.margin.unwrap_or_else(|| metric.class.margin()),
                verdict: Verdict::Unclear,
                adjusted: Verdict::Unclear,
                needed: None,
                refused: None,
                n: (0, 0),
                values: (None, None),
            },
        }
    }

    fn one_side_only(&mut self, owner: &Run, base_has_it: bool) {
        let values = rounds::values(owner, &self.result.id);
        let (n, value) = (rounds::whole(values.len()), quantile::median(&values));
        let (on_base, on_other) = ((n, value), (0, None));
        let (base, other) = if base_has_it {
            (on_base, on_other)
        } else {
            (on_other, on_base)
        };
        self.result.n = (base.0, other.0);
        self.result.values = (base.1, other.1);
        self.result.refused = Some(Refusal::OneSideOnly { base_has_it });
    }

    /// Draws the conclusion for a metric that both runs have.
    fn judge(&mut self, base: &Run, other: &Run, there: &PlannedCase) {
        let on_base = rounds::values(base, &self.result.id);
        let on_other = rounds::values(other, &self.result.id);
        self.result.n = (rounds::whole(on_base.len()), rounds::whole(on_other.len()));
        self.result.values = (quantile::median(&on_base), quantile::median(&on_other));
        if rounds::paired(base, other) {
            // Parameters may differ: they may be what the duel is about.
            return self.judge_pairs(&rounds::pairs(base, other, &self.result.id));
        }
        self.result.refused = not_alike(self.case, there);
        if self.result.refused.is_some() {
            return;
        }
        match (quantile::logs(&on_base), quantile::logs(&on_other)) {
            (Some(on_base), Some(on_other)) => self.judge_logs(&on_base, &on_other),
            _ => self.result.refused = Some(Refusal::NoRatio),
        }
    }

    /// Draws the conclusion from rounds that were measured in pairs.
    fn judge_pairs(&mut self, pairs: &[(f64, f64)]) {
        let (on_base, on_other): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
        let (Some(on_base), Some(on_other)) = (quantile::logs(&on_base), quantile::logs(&on_other))
        else {
            self.result.refused = Some(Refusal::NoRatio);
            return;
        };
        let differences: Vec<f64> = on_other.iter().zip(&on_base).map(|(o, b)| o - b).collect();
        if let Some(found) = yuen::paired(&differences, ERROR_RATE) {
            self.conclude(found);
        } else {
            let turned = self.turned(quantile::mean(&differences).unwrap_or(0.0));
            self.result.ratio = (!pairs.is_empty()).then(|| turned.exp());
            self.too_few();
        }
    }

    /// A logarithm of a ratio, turned so that above 0 is better.
    fn turned(&self, ln_ratio: f64) -> f64 {
        match self.metric.better {
            Better::Higher => ln_ratio,
            Better::Lower => -ln_ratio,
        }
    }

    fn too_few(&mut self) {
        let (base, other) = self.result.n;
        let need = ROUNDS_MIN;
        self.result.refused = Some(Refusal::TooFewRounds { base, other, need });
        self.result.needed = Some(RoundsNeeded::Rounds(need));
    }

    fn judge_logs(&mut self, on_base: &[f64], on_other: &[f64]) {
        let (Some(on_base), Some(on_other)) = (yuen::side(on_base), yuen::side(on_other)) else {
            self.too_few();
            return;
        };
        let found = yuen::between(on_base, on_other, ERROR_RATE);
        let (base, other) = self.result.n;
        if base.min(other) < ROUNDS_MIN {
            self.result.ratio = Some(self.turned(found.ln_ratio).exp());
            self.too_few();
        } else {
            self.conclude(found);
        }
    }

    /// The verdict from an interval.
    fn conclude(&mut self, found: RatioInterval) {
        let found = match self.metric.better {
            Better::Higher => found,
            Better::Lower => found.reversed(),
        };
        let result = &mut self.result;
        result.ratio = Some(found.ratio());
        result.interval = Some(found.interval());
        result.verdict = verdict::of_interval(found.ln_ends(ERROR_RATE), result.margin);
        result.adjusted = result.verdict;
        if !verdict::is_final(result.verdict) {
            result.needed = Some(needed::rounds_needed(&found, result.margin));
        }
        self.found = Some(found);
    }
}

/// Corrects the verdicts for the number of metrics, separately for throughput and latency.
fn adjust(candidates: &mut [Candidate<'_>]) {
    for latency in [false, true] {
        let members: Vec<(usize, RatioInterval)> = candidates
            .iter()
            .enumerate()
            .filter(|(_, candidate)| is_latency(candidate.metric.class) == latency)
            .filter_map(|(index, candidate)| Some((index, candidate.found?)))
            .collect();
        let p_values: Vec<f64> = members.iter().map(|(_, found)| found.p_value()).collect();
        let levels = family::benjamini_hochberg(&p_values, ERROR_RATE);
        for ((index, found), level) in members.into_iter().zip(levels) {
            let result = &mut candidates[index].result;
            result.adjusted = adjusted(result.verdict, &found, level, result.margin);
            // What the correction takes away, more rounds may give back.
            if result.needed.is_none() && !verdict::is_final(result.adjusted) {
                result.needed = Some(needed::rounds_needed(&found, result.margin));
            }
        }
    }
}

/// The verdict at the level that a correction leaves: `same` stands, a difference only where it may be claimed.
pub(crate) fn adjusted(
    unadjusted: Verdict,
    found: &RatioInterval,
    level: Option<f64>,
    margin: f64,
) -> Verdict {
    match (unadjusted, level) {
        (Verdict::Same | Verdict::Unclear, _) => unadjusted,
        (_, None) => Verdict::Unclear,
        (_, Some(level)) => verdict::of_interval(found.ln_ends(level.min(ERROR_RATE)), margin),
    }
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
        value.map_or_else(|| "not set".to_owned(), ToString::to_string)
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
mod tests;
