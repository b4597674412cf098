//! What a run shows, computed once; every format starts from it.

use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::offers::OfferPart;
use crate::page::block::MARK;
use crate::set_otherwise;
use dialects::printable::quoted;
use model::estimate::{IndexSummary, MetricSummary, State};
use model::order::Order as _;
use model::plan::{CaseId, PlannedCase};
use model::record::{Failure, Run};
use stats::look::Seen;
use stats::quantile::median;
use stats::scaling::{ClockRate, Scaling};
use stats::{Headlined, Noted, Trust};
use std::collections::HashMap;

/// A run and everything concluded from it.
#[derive(Clone, Debug)]
pub struct RunView<'a> {
    /// The run itself.
    pub run: &'a Run,
    /// One summary for each metric, in the order of the plan.
    pub metrics: Vec<MetricSummary>,
    /// The UnixBench-style indexes, of each concurrency for which all twelve tests of the index were asked; none for
    /// soaks. A run that merely holds some of the tests asked for no index.
    pub indexes: Vec<IndexSummary>,
    /// What a soak says; `None` for every other run.
    pub soak: Option<stats::soak::SoakSummary>,
    /// What storage tests say beside their metrics; `None` where the run has none, for soaks, and for imports.
    pub storage: Option<stats::storage::StorageSummary>,
    /// What memory tests found point by point; `None` where the run has none.
    pub memory: Option<stats::memory::MemorySummary>,
    /// How tests scale; empty where the run does not ask.
    pub scaling: Vec<Scaling>,
    /// The clock rate while measuring, where probes saw it.
    pub clock_rate: Option<ClockRate>,
    /// Whether its figures may be quoted.
    pub trust: Trust,
    /// What was seen before its first round.
    pub seen: Vec<Seen>,
    /// Those of its figures that people quote.
    pub headlines: Vec<Headlined>,
    /// What its metrics are warned of; the first one is note 1 of its page.
    pub noted: Vec<Noted>,
    /// What was rented, with what is claimed of it and what its runs say; `None` where the run names no offer, or no
    /// catalogue has it.
    pub offer: Option<OfferPart>,
    /// The file that the run comes from, as its path was typed; `None` where the run is kept.
    pub path: Option<String>,
    /// The cases of the plan by id.
    planned: HashMap<&'a CaseId, &'a PlannedCase>,
    /// The last failure of each case that has one.
    failures: HashMap<&'a CaseId, &'a Failure>,
    /// Where in `metrics` those of a case stand.
    places: HashMap<&'a CaseId, Vec<usize>>,
    /// The largest figure of each quantity of a test, over all its concurrencies.
    largest: HashMap<(String, String), f64>,
}

/// Summarizes `run`.
///
/// A metric that one number cannot describe (unstable, two states) loses it here: formats show the range of its
/// rounds instead.
pub fn view(run: &Run) -> RunView<'_> {
    let mut metrics = stats::summarize(run);
    let planned: HashMap<&CaseId, &PlannedCase> =
        run.plan.cases.iter().map(|case| (&case.id, case)).collect();
    for metric in &mut metrics {
        // The title speaks of the test's own parameters, also where nothing else stands beside it, as in CSV.
        if let Some(case) = planned.get(&metric.id.case) {
            metric.title = set_otherwise::title(case);
        }
        if stats::state::has_single_number(&metric.state) || metric.estimate.take().is_none() {
            continue;
        }
        metric.missing = Some(match metric.state {
            State::Unstable { spread } => format!(
                "unstable: the rounds spread over {} of their median, so no single number describes them",
                number::percent(spread)
            ),
            _ => "two states: no single number describes both".to_owned(),
        });
    }
    let noted = stats::noted(metrics.iter().map(|metric| metric.warnings.as_slice()));
    RunView {
        run,
        indexes: dialects::unixbench::asked(run),
        scaling: stats::scaling::scaling(run),
        clock_rate: stats::scaling::clock_rate(run),
        trust: Trust::of(run),
        seen: stats::look::of_run(run),
        headlines: stats::headlines(&run.plan),
        places: places(&planned, &metrics),
        planned,
        failures: failures(run),
        largest: largest(&metrics),
        metrics,
        soak: stats::soak::summarize(run),
        // What another program measured says nothing of how long it loaded what.
        storage: stats::storage::summarize(run).filter(|_| run.meta.origin.is_none()),
        memory: stats::memory::summarize(run),
        noted,
        offer: None,
        path: None,
    }
}

fn places<'a>(
    planned: &HashMap<&'a CaseId, &'a PlannedCase>,
    metrics: &[MetricSummary],
) -> HashMap<&'a CaseId, Vec<usize>> {
    let mut places: HashMap<&CaseId, Vec<usize>> = HashMap::new();
    for (place, metric) in metrics.iter().enumerate() {
        if let Some((case, _)) = planned.get_key_value(&metric.id.case) {
            places.entry(case).or_default().push(place);
        }
    }
    places
}

fn failures(run: &Run) -> HashMap<&CaseId, &Failure> {
    let rounds = run.rounds.iter();
    let failed = rounds.filter_map(|round| Some((&round.case, round.failure()?)));
    // The last one of a case counts.
    failed.collect()
}

/// A quantity of a test, whatever the concurrency.
fn of_test(metric: &MetricSummary) -> (String, String) {
    (metric.id.case.test.clone(), metric.id.quantity.clone())
}

fn largest(metrics: &[MetricSummary]) -> HashMap<(String, String), f64> {
    let mut largest: HashMap<(String, String), f64> = HashMap::new();
    for metric in metrics {
        let most = metric.rounds.iter().copied().fold(0.0, f64::max);
        let most = metric.estimate.map_or(most, |estimate| estimate.value);
        let so_far = largest.entry(of_test(metric)).or_default();
        if most.is_finite() {
            *so_far = so_far.max(most.abs());
        }
    }
    largest
}

/// What a metric's line shows, in one scale.
pub(crate) struct Shown {
    pub(crate) value: String,
    pub(crate) unit: String,
    /// The 95 % interval, or the range of the rounds in its place.
    pub(crate) interval: String,
    /// True where it is the range.
    pub(crate) is_range: bool,
}

impl RunView<'_> {
    /// What one types for the run: its id, or the path of its file.
    pub(crate) fn typed(&self) -> String {
        let path = self.path.as_deref().map(quoted);
        path.unwrap_or_else(|| self.run.meta.id.clone())
    }

    /// The metric's figures as text. The same test at other concurrencies is shown in the same scale, because that is
    /// what one compares by eye.
    pub(crate) fn shown(&self, metric: &MetricSummary) -> Shown {
        shown_in(metric, self.scale(metric))
    }

    /// The scale of a metric.
    pub(crate) fn scale(&self, metric: &MetricSummary) -> Scale {
        let largest = self.largest.get(&of_test(metric));
        let (unit, quantity) = (metric.metric.unit, &metric.id.quantity);
        number::scale(unit, quantity, largest.copied().unwrap_or(0.0))
    }

    /// The levels of a soak, where that is what it measured.
    pub(crate) fn soak_levels(&self, metric: &MetricSummary) -> Option<stats::soak::Levels> {
        let soak = self.soak.as_ref();
        let soak = soak.filter(|soak| soak.quantity == metric.id.quantity);
        soak.and_then(|soak| soak.levels)
    }

    /// The two levels of a metric that has two, in its scale and with their shares, the more frequent one first.
    pub(crate) fn levels(&self, metric: &MetricSummary, lang: Lang) -> Option<[[String; 2]; 2]> {
        levels_in(metric, &self.scale(metric), lang)
    }

    /// The metrics that were measured: all but what the tests were set up with.
    pub(crate) fn measured(&self) -> impl Iterator<Item = &MetricSummary> {
        let is_setting = |metric: &MetricSummary| matches!(metric.state, State::Setting { .. });
        self.metrics
            .iter()
            .filter(move |metric| !is_setting(metric))
    }

    /// The metric's name where it stands alone: the case alone for the first metric of a case, the full id for further
    /// ones.
    pub(crate) fn name(&self, metric: &MetricSummary) -> String {
        if self.leads(metric) {
            metric.id.case.to_string()
        } else {
            metric.id.to_string()
        }
    }

    /// The case as it was planned.
    pub(crate) fn planned(&self, case: &CaseId) -> Option<&PlannedCase> {
        self.planned.get(case).copied()
    }

    /// What stands behind the name of a case whose parameters are not the test's own.
    pub(crate) fn mark(&self, case: &CaseId) -> &'static str {
        let case = self.planned(case);
        if case.is_some_and(|case| case.set_otherwise().next().is_some()) {
            MARK
        } else {
            ""
        }
    }

    /// True for the first metric of a case.
    pub(crate) fn leads(&self, metric: &MetricSummary) -> bool {
        let case = self.planned(&metric.id.case);
        let first = case.and_then(|case| case.metrics.first());
        first.is_some_and(|first| first.quantity == metric.id.quantity)
    }

    /// The last failure of a case, where it has one.
    pub(crate) fn last_failure(&self, case: &CaseId) -> Option<&Failure> {
        self.failures.get(case).copied()
    }

    /// The metrics of a case, in the order of the plan.
    pub(crate) fn metrics_of(&self, case: &CaseId) -> impl Iterator<Item = &MetricSummary> {
        let places = self.places.get(case).into_iter().flatten();
        places.map(|&place| &self.metrics[place])
    }

    /// The metric of a case that has this quantity.
    pub(crate) fn metric(&self, case: &CaseId, quantity: &str) -> Option<&MetricSummary> {
        let mut metrics = self.metrics_of(case);
        metrics.find(|metric| metric.id.quantity == quantity)
    }

    /// True for a run that tried every round of its plan.
    pub fn complete(&self) -> bool {
        self.run.meta.end == model::record::End::Complete
    }
}

/// A metric's figures as text, in any scale.
pub(crate) fn shown_in(metric: &MetricSummary, scale: Scale) -> Shown {
    let (value, interval) = metric
        .estimate
        .as_ref()
        .map_or_else(|| (number::NONE.to_owned(), None), |e| scale.estimate(e));
    let range = range_instead(metric).filter(|_| interval.is_none());
    let is_range = range.is_some();
    let ends = interval.or(range.map(|(lo, hi)| (scale.value(lo), scale.value(hi))));
    Shown {
        is_range,
        value,
        unit: scale.unit,
        interval: number::range(ends.as_ref()),
    }
}

/// The two levels of a metric that has two, in any scale.
pub(crate) fn levels_in(
    metric: &MetricSummary,
    scale: &Scale,
    lang: Lang,
) -> Option<[[String; 2]; 2]> {
    let State::TwoState {
        low,
        high,
        low_share,
        of_windows,
    } = metric.state
    else {
        return None;
    };
    let mut levels = [(low, low_share), (high, 1.0 - low_share)];
    levels.order_by(|a, b| b.1.total_cmp(&a.1));
    let share = |share| {
        let share = number::percent(share);
        if of_windows {
            say!(lang, "{share} of the time", "時間の {share}")
        } else {
            say!(lang, "{share} of rounds", "{share} の回")
        }
    };
    Some(levels.map(|(level, of)| [scale.value(level), share(of)]))
}

/// What stands behind the mark of rounds that no single number describes: the mean that comparisons have of them,
/// because a median of two levels is either of them by chance. Where that has none, as of zeros, the median.
pub(crate) fn without_level(rounds: &[f64]) -> Option<f64> {
    stats::central_value(rounds).or_else(|| median(rounds))
}

/// The figure with the digits of its interval; where no single number describes the rounds, a mark and their mean.
pub(crate) fn value_in(metric: &MetricSummary, scale: &Scale) -> String {
    if let Some(estimate) = &metric.estimate {
        return scale.estimate(estimate).0;
    }
    without_level(&metric.rounds).map_or_else(
        || number::NONE.to_owned(),
        |mean| format!("{}{}", number::NO_LEVEL_MARK, scale.value(mean)),
    )
}

/// The smallest and the largest round of a metric that one number cannot describe, or of which there are several rounds
/// but too few for an interval: without them two rounds would look more certain than six.
fn range_instead(metric: &MetricSummary) -> Option<(f64, f64)> {
    let rounds = u32::try_from(metric.rounds.len()).unwrap_or(u32::MAX);
    let few = metric.state == State::Unknown && (2..stats::ROUNDS_MIN).contains(&rounds);
    if stats::state::has_single_number(&metric.state) && !few {
        return None;
    }
    let lo = metric.rounds.iter().copied().reduce(f64::min)?;
    let hi = metric.rounds.iter().copied().reduce(f64::max)?;
    Some((lo, hi))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::comparison::value_of_side;
    use crate::testkit::{self, OPS};

    #[test]
    fn what_stands_behind_the_mark_is_the_same_alone_and_in_a_comparison() {
        let mut run = testkit::empty();
        let id = testkit::add_case(&mut run, "os.pipe", 1, "off", &[OPS]);
        for (pass, value) in (1..).zip([110.0, 50.0, 310.0, 61.0, 250.0, 72.0, 190.0, 90.0]) {
            testkit::add_round(&mut run, &id, pass, Ok(&[(OPS.0, value)]));
        }
        let mut other = run.clone();
        other.meta.id.push('b');
        let compared = stats::compare(&run, &other, &stats::CompareOptions::default());
        let compared = &compared.metrics[0];
        let view = view(&run);
        let metric = &view.metrics[0];
        assert!(metric.estimate.is_none(), "{metric:?}");
        let scale = view.scale(metric);
        let there = value_of_side(compared.values.base.unwrap(), &compared.states.base, &scale);
        assert!(there.starts_with(number::NO_LEVEL_MARK), "{there}");
        assert_eq!(value_in(metric, &scale), there);
        // Zeros have no such mean.
        assert_eq!(without_level(&[0.0, 0.0, 7.0]), Some(0.0));
    }
}
