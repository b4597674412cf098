//! The document `kurabe.comparison/1`.

use super::duel::{AgainstPart, against_part};
use super::metric::{STATES, StatePart, state_part};
use super::run::{RunPart, run_part};
use super::scope::{ScopePart, scope_part};
use super::warning::{WarningPart, warning_part};
use super::word::{COMPARISON_SCHEMA, finite, state_word};
use crate::comparison::{ComparisonView, LatestOf, Party, Sides};
use crate::lang::Lang;
use crate::page::comparison::refusal;
use crate::view::better_word;
use model::comparison::{
    CategoryComparison, Comparison, Difference, Estimator, FloorComparison, Hopeless, MarginSource,
    MetricComparison, Refusal, Repeat, RoundsNeeded, RunState,
};
use model::plan::CaseId;
use schemars::JsonSchema;
use serde::Serialize;

/// A base and the runs that were compared with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ComparisonDocument {
    /// The name and version of this format.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    schema: &'static str,
    /// The base; of a group its first run.
    base: RunPart,
    /// Every run of the base, where it is a group; empty otherwise.
    base_group: Vec<RunPart>,
    others: Vec<OtherPart>,
    /// The runs that were named by a label that other runs have too.
    latest_of_label: Vec<LatestOfPart>,
    /// What differs between the base and another run in machine, system or program.
    differences_in_setup: Vec<DifferencePart>,
}

/// One run against the base.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OtherPart {
    /// The run; of a group its first one.
    run: RunPart,
    /// Every run, where it is a group; empty otherwise.
    group: Vec<RunPart>,
    /// What the conclusions are about.
    scope: ScopePart,
    /// Runs of one side that come, or may come, from one instance.
    repeats: Vec<RepeatPart>,
    /// True where the rounds were measured and compared in pairs (a duel).
    paired: bool,
    /// What is known of the duel beside its figures; null where it is none. What each side is stands in its run's plan.
    duel: Option<AgainstPart>,
    /// What took time from the base's rounds, in at least a fifth of them: stolen time, a quota, other processes.
    base_disturbed: Vec<WarningPart>,
    /// The same of the other side.
    other_disturbed: Vec<WarningPart>,
    /// True where looks at the data decided how many rounds there are (a duel without passes, a run with a target).
    /// Verdicts are then read at a stricter level than that of the intervals.
    looked: bool,
    /// One entry for each metric of either run that was measured; what describes the set-up of a test is among the
    /// differences.
    metrics: Vec<MetricPart>,
    /// One entry for each family that has a ratio.
    categories: Vec<CategoryPart>,
}

/// Runs of one side that come, or may come, from one instance.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RepeatPart {
    /// `base` or `other`.
    side: &'static str,
    /// False where they cannot be told apart.
    sure: bool,
    /// The ids of the runs.
    runs: Vec<String>,
}

/// Two runs' values of one metric, and the conclusion.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct MetricPart {
    /// `TEST@CONCURRENCY:QUANTITY`.
    id: String,
    title: String,
    /// The base unit of both values; null where neither run declares the metric.
    unit: Option<&'static str>,
    /// Which direction is good, `higher` or `lower`; null likewise.
    better: Option<&'static str>,
    /// `other_value` over `base_value`, turned so that above 1 is better.
    ratio: Option<f64>,
    /// What `base_value` and `other_value` are, and so what the ratio is a ratio of: means of logarithms. Of rounds and
    /// of pairs the fifth at either end is set aside; of a group's runs each counts with its median.
    #[schemars(extend("enum" = ESTIMATORS))]
    estimator: &'static str,
    /// The lower end of the ratio's interval, not corrected for the number of metrics.
    lo: Option<f64>,
    /// The upper end.
    hi: Option<f64>,
    confidence: Option<f64>,
    /// Values within this share of each other count as the same.
    margin: Option<f64>,
    /// Where the margin comes from: the command line, the metric's class, or twice the noise floor of the test.
    #[schemars(extend("enum" = ["given", "class", "noise_floor"]))]
    margin_source: &'static str,
    /// The margin of the metric's class, where it was raised to twice the noise floor; null otherwise.
    margin_of_class: Option<f64>,
    /// The noise floor, likewise: what two equal machines typically differ by, as a share.
    noise_floor: Option<f64>,
    /// The conclusion from the interval by itself.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// The conclusion corrected for the number of metrics.
    #[schemars(extend("enum" = VERDICTS))]
    adjusted: &'static str,
    /// Rounds on each side, or pairs, that it would take to tell; where there are too few for an interval, as many as
    /// that needs; null where the verdict is final or no number is enough.
    rounds_needed: Option<u32>,
    /// The same in instances on each side, where groups are compared.
    instances_needed: Option<u32>,
    /// True where no affordable number of rounds would tell at this noise level.
    not_at_this_noise: bool,
    /// Why, where it is so.
    #[schemars(extend("enum" = [
        "on_the_margin", "steal", "between_rounds", "within_rounds", "between_instances", "unseen", null
    ]))]
    not_at_this_noise_because: Option<&'static str>,
    /// Why there is no ratio or no interval; null where there is one.
    missing: Option<RefusalPart>,
    base_n: u32,
    other_n: u32,
    /// The base's central value by `estimator`, in the metric's unit; null where a value is zero, negative or missing.
    base_value: Option<f64>,
    /// The other side's.
    other_value: Option<f64>,
    /// The median of the base's rounds (of a group's runs), in the metric's unit: what `kurabe show` gives.
    base_median: Option<f64>,
    /// The other side's.
    other_median: Option<f64>,
    /// What the rounds of each run of the base look like. Where one has no single level (`two_state`, `unstable`), the
    /// values, the ratio and the verdict are about a mean at which the machine may never run.
    base_states: Vec<StateOfRun>,
    /// The same of the other side.
    other_states: Vec<StateOfRun>,
    /// The same comparison of slow moments; null where the metric is no leading rate or no round has windows.
    floor: Option<FloorPart>,
    /// What the conclusions are about, in English.
    scope: String,
}

/// Slow moments: of each round the 10th percentile of its windows.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FloorPart {
    /// Other over base; above 1 is better.
    ratio: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    confidence: Option<f64>,
    /// The conclusion from the interval by itself, at the metric's margin.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// The conclusion corrected for the number of metrics.
    #[schemars(extend("enum" = VERDICTS))]
    adjusted: &'static str,
    /// The central value of the base's floors by the metric's `estimator`, in the metric's unit.
    base_value: Option<f64>,
    /// The other side's.
    other_value: Option<f64>,
    /// The median of the base's floors.
    base_median: Option<f64>,
    /// The other side's.
    other_median: Option<f64>,
    /// Share of the base's windows below 90 % of its typical rate.
    base_slow_share: Option<f64>,
    /// Share of the other run's windows below 90 % of its typical rate.
    other_slow_share: Option<f64>,
}

/// What the rounds of one run look like.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StateOfRun {
    /// The run's id.
    run: String,
    /// What its rounds look like, in a word.
    #[schemars(extend("enum" = STATES))]
    state: &'static str,
    /// The figures of that state.
    state_figures: StatePart,
}

/// A run that was named by a label that others have too.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LatestOfPart {
    /// The id of the run that was taken: the latest one.
    run: String,
    /// Its label.
    label: Option<String>,
    /// How many runs of the store have it, this one among them.
    runs: usize,
}

/// The words for what ratios are ratios of.
const ESTIMATORS: [&str; 3] = {
    let [rounds, pairs, runs] = Estimator::ALL;
    [rounds.word(), pairs.word(), runs.word()]
};

/// The words a verdict may have.
const VERDICTS: [&str; 6] = ["better", "worse", "better?", "worse?", "same", "unclear"];

/// Why two values do not compare.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RefusalPart {
    /// `one_side_only`, `workload_version`, `parameters`, `no_value`, `too_few_rounds`, `too_few_pairs`,
    /// `too_few_runs`, `group_disagrees`, `soak` or `no_ratio`.
    kind: &'static str,
    /// The sentence in English.
    text: String,
}

/// A family of metrics as one figure.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CategoryPart {
    category: String,
    /// Geometric mean of the ratios; above 1 is better.
    ratio: Option<f64>,
    lo: Option<f64>,
    hi: Option<f64>,
    confidence: Option<f64>,
    margin: Option<f64>,
    /// Corrected for the number of categories.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// How many metrics are in it.
    metrics: u32,
}

/// Something that differs between two set-ups.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DifferencePart {
    /// The id of the other run.
    run: String,
    #[serde(flatten)]
    difference: Difference,
}

/// Fills the document.
pub(super) fn document(view: &ComparisonView<'_>) -> ComparisonDocument {
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        base: run_part(view.base.first()),
        base_group: group(&view.base),
        others: view
            .others
            .iter()
            .map(|(other, comparison)| other_part(&view.base, other, comparison))
            .collect(),
        latest_of_label: std::iter::once(&view.base)
            .chain(view.others.iter().map(|(other, _)| other))
            .flat_map(latest_of)
            .collect(),
        differences_in_setup: view
            .others
            .iter()
            .flat_map(|(other, comparison)| differences(other, comparison))
            .collect(),
    }
}

fn latest_of(party: &Party<'_>) -> Vec<LatestOfPart> {
    let runs = party.runs();
    let label = |id: &str| {
        runs.iter()
            .find(|run| run.meta.id == id)?
            .meta
            .label
            .clone()
    };
    let part = |of: &LatestOf| LatestOfPart {
        run: of.run.clone(),
        label: label(&of.run),
        runs: of.runs,
    };
    party.latest_of().iter().map(part).collect()
}

fn group(party: &Party<'_>) -> Vec<RunPart> {
    let runs = if party.is_group() {
        party.runs()
    } else {
        Vec::new()
    };
    runs.into_iter().map(run_part).collect()
}

fn other_part(base: &Party<'_>, other: &Party<'_>, comparison: &Comparison) -> OtherPart {
    let scope = scope_part(&comparison.scope);
    let sides = Sides { base, other };
    OtherPart {
        run: run_part(other.first()),
        group: group(other),
        paired: comparison.paired,
        duel: against_part(base, other),
        base_disturbed: comparison.disturbed.0.iter().map(warning_part).collect(),
        other_disturbed: comparison.disturbed.1.iter().map(warning_part).collect(),
        looked: comparison.looked,
        metrics: comparison
            .metrics
            .iter()
            .map(|metric| metric_part(sides, metric, comparison.estimator, &scope.text))
            .collect(),
        scope,
        repeats: comparison.repeats.iter().map(repeat_part).collect(),
        categories: comparison.categories.iter().map(category_part).collect(),
    }
}

fn repeat_part(repeat: &Repeat) -> RepeatPart {
    RepeatPart {
        side: if repeat.on_base { "base" } else { "other" },
        sure: repeat.sure,
        runs: repeat.runs.clone(),
    }
}

fn metric_part(
    sides: Sides<'_>,
    metric: &MetricComparison,
    estimator: Estimator,
    scope: &str,
) -> MetricPart {
    let declared = sides.declared(&metric.id);
    let interval = metric.interval;
    let (margin_source, margin_of_class, noise_floor) = match metric.margin_source {
        MarginSource::Given => ("given", None, None),
        MarginSource::Class => ("class", None, None),
        MarginSource::NoiseFloor { class, floor } => ("noise_floor", Some(class), Some(floor)),
    };
    MetricPart {
        id: metric.id.to_string(),
        title: metric.title.clone(),
        unit: declared.map(|declared| declared.unit.key()),
        better: declared.map(|declared| better_word(declared.better)),
        ratio: metric.ratio.and_then(finite),
        estimator: estimator.word(),
        lo: interval.and_then(|interval| finite(interval.lo)),
        hi: interval.and_then(|interval| finite(interval.hi)),
        confidence: interval.and_then(|interval| finite(interval.confidence)),
        margin: finite(metric.margin),
        margin_source,
        margin_of_class,
        noise_floor,
        verdict: metric.verdict.word(),
        adjusted: metric.adjusted.word(),
        rounds_needed: match metric.needed {
            Some(
                RoundsNeeded::Rounds(n)
                | RoundsNeeded::RoundsAtLeast(n)
                | RoundsNeeded::Pairs(n)
                | RoundsNeeded::PairsAtLeast(n),
            ) => Some(n),
            _ => None,
        },
        instances_needed: match metric.needed {
            Some(RoundsNeeded::Instances(n) | RoundsNeeded::InstancesAtLeast(n)) => Some(n),
            _ => None,
        },
        not_at_this_noise: metric.needed == Some(RoundsNeeded::NotAtThisNoise),
        not_at_this_noise_because: metric.hopeless.map(Hopeless::word),
        missing: metric
            .refused
            .as_ref()
            .map(|refusal| refusal_part(refusal, &metric.id.case, sides)),
        base_n: metric.n.0,
        other_n: metric.n.1,
        base_value: metric.values.0.and_then(finite),
        other_value: metric.values.1.and_then(finite),
        base_median: metric.medians.0.and_then(finite),
        other_median: metric.medians.1.and_then(finite),
        base_states: metric.states.0.iter().map(state_of_run).collect(),
        other_states: metric.states.1.iter().map(state_of_run).collect(),
        floor: metric.floor.as_ref().map(floor_part),
        scope: scope.to_owned(),
    }
}

fn floor_part(floor: &FloorComparison) -> FloorPart {
    let interval = floor.interval;
    FloorPart {
        ratio: floor.ratio.and_then(finite),
        lo: interval.and_then(|interval| finite(interval.lo)),
        hi: interval.and_then(|interval| finite(interval.hi)),
        confidence: interval.and_then(|interval| finite(interval.confidence)),
        verdict: floor.verdict.word(),
        adjusted: floor.adjusted.word(),
        base_value: floor.values.0.and_then(finite),
        other_value: floor.values.1.and_then(finite),
        base_median: floor.medians.0.and_then(finite),
        other_median: floor.medians.1.and_then(finite),
        base_slow_share: floor.slow_shares.0.and_then(finite),
        other_slow_share: floor.slow_shares.1.and_then(finite),
    }
}

/// The word for a refusal.
pub(crate) const fn refusal_word(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::OneSideOnly { .. } => "one_side_only",
        Refusal::WorkloadVersion { .. } => "workload_version",
        Refusal::Parameters(_) => "parameters",
        Refusal::NoValue { .. } => "no_value",
        Refusal::TooFewRounds { .. } => "too_few_rounds",
        Refusal::TooFewPairs { .. } => "too_few_pairs",
        Refusal::TooFewRuns { .. } => "too_few_runs",
        Refusal::GroupDisagrees { .. } => "group_disagrees",
        Refusal::Soak { .. } => "soak",
        Refusal::NoRatio { .. } => "no_ratio",
    }
}

fn refusal_part(refusal: &Refusal, case: &CaseId, sides: Sides<'_>) -> RefusalPart {
    RefusalPart {
        kind: refusal_word(refusal),
        text: refusal::sentence(refusal, &[case], sides, Lang::En),
    }
}

fn state_of_run(of: &RunState) -> StateOfRun {
    StateOfRun {
        run: of.run.clone(),
        state: state_word(&of.state),
        state_figures: state_part(&of.state),
    }
}

fn category_part(category: &CategoryComparison) -> CategoryPart {
    let interval = category.interval;
    CategoryPart {
        category: category.category.clone(),
        ratio: finite(category.ratio),
        lo: interval.and_then(|interval| finite(interval.lo)),
        hi: interval.and_then(|interval| finite(interval.hi)),
        confidence: interval.and_then(|interval| finite(interval.confidence)),
        margin: finite(category.margin),
        verdict: category.verdict.word(),
        metrics: category.metrics,
    }
}

fn differences(other: &Party<'_>, comparison: &Comparison) -> Vec<DifferencePart> {
    comparison
        .differences
        .iter()
        .map(|difference| DifferencePart {
            run: other.first().meta.id.clone(),
            difference: difference.clone(),
        })
        .collect()
}
