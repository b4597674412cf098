//! The document `kurabe.comparison/1`.

use super::run::{RunPart, run_part};
use super::{COMPARISON_SCHEMA, finite};
use crate::comparison::{ComparisonView, declared};
use crate::view::better_word;
use crate::words::Lang;
use model::comparison::{CategoryComparison, Comparison, MetricComparison, Refusal, RoundsNeeded};
use model::record::Run;
use schemars::JsonSchema;
use serde::Serialize;

/// A base and the runs that were compared with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ComparisonDocument {
    /// The name and version of this format.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    schema: &'static str,
    base: RunPart,
    others: Vec<OtherPart>,
    /// What differs between the base and another run in machine, system or program.
    differences_in_setup: Vec<DifferencePart>,
}

/// One run against the base.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OtherPart {
    run: RunPart,
    /// True where the rounds were measured and compared in pairs (a duel).
    paired: bool,
    /// One entry for each metric of either run.
    metrics: Vec<MetricPart>,
    /// One entry for each family that has a ratio.
    categories: Vec<CategoryPart>,
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
    /// Other over base, turned so that above 1 is better.
    ratio: Option<f64>,
    /// The lower end of the ratio's interval, not corrected for the number of metrics.
    lo: Option<f64>,
    /// The upper end.
    hi: Option<f64>,
    confidence: Option<f64>,
    /// Values within this share of each other count as the same.
    margin: Option<f64>,
    /// The conclusion from the interval by itself.
    #[schemars(extend("enum" = VERDICTS))]
    verdict: &'static str,
    /// The conclusion corrected for the number of metrics.
    #[schemars(extend("enum" = VERDICTS))]
    adjusted: &'static str,
    /// Rounds on each side that it would take to tell; null where the verdict is final or no number is enough.
    rounds_needed: Option<u32>,
    /// True where no affordable number of rounds would tell at this noise level.
    not_at_this_noise: bool,
    /// Why there is no ratio or no interval; null where there is one.
    missing: Option<RefusalPart>,
    base_n: u32,
    other_n: u32,
    /// The median of the base's rounds, in the metric's unit.
    base_value: Option<f64>,
    /// The median of the other run's rounds, in the metric's unit.
    other_value: Option<f64>,
}

/// The words a verdict may have.
const VERDICTS: [&str; 6] = ["better", "worse", "better?", "worse?", "same", "unclear"];

/// Why two values do not compare.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RefusalPart {
    /// `one_side_only`, `workload_version`, `parameters`, `too_few_rounds` or `no_ratio`.
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
    what: String,
    base: String,
    other: String,
}

/// Fills the document.
pub(super) fn document(view: &ComparisonView<'_>) -> ComparisonDocument {
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        base: run_part(view.base),
        others: view
            .others
            .iter()
            .map(|(other, comparison)| other_part(view.base, other, comparison))
            .collect(),
        differences_in_setup: view
            .others
            .iter()
            .flat_map(|(other, comparison)| differences(other, comparison))
            .collect(),
    }
}

fn other_part(base: &Run, other: &Run, comparison: &Comparison) -> OtherPart {
    OtherPart {
        run: run_part(other),
        paired: comparison.paired,
        metrics: comparison
            .metrics
            .iter()
            .map(|metric| metric_part(base, other, metric))
            .collect(),
        categories: comparison.categories.iter().map(category_part).collect(),
    }
}

fn metric_part(base: &Run, other: &Run, metric: &MetricComparison) -> MetricPart {
    let declared = declared(base, &metric.id).or_else(|| declared(other, &metric.id));
    let interval = metric.interval;
    MetricPart {
        id: metric.id.to_string(),
        title: metric.title.clone(),
        unit: declared.map(|declared| declared.unit.key()),
        better: declared.map(|declared| better_word(declared.better)),
        ratio: metric.ratio.and_then(finite),
        lo: interval.and_then(|interval| finite(interval.lo)),
        hi: interval.and_then(|interval| finite(interval.hi)),
        confidence: interval.and_then(|interval| finite(interval.confidence)),
        margin: finite(metric.margin),
        verdict: metric.verdict.word(),
        adjusted: metric.adjusted.word(),
        rounds_needed: match metric.needed {
            Some(RoundsNeeded::Rounds(n)) => Some(n),
            Some(RoundsNeeded::NotAtThisNoise) | None => None,
        },
        not_at_this_noise: metric.needed == Some(RoundsNeeded::NotAtThisNoise),
        missing: metric.refused.as_ref().map(refusal_part),
        base_n: metric.n.0,
        other_n: metric.n.1,
        base_value: metric.values.0.and_then(finite),
        other_value: metric.values.1.and_then(finite),
    }
}

fn refusal_part(refusal: &Refusal) -> RefusalPart {
    RefusalPart {
        kind: match refusal {
            Refusal::OneSideOnly { .. } => "one_side_only",
            Refusal::WorkloadVersion { .. } => "workload_version",
            Refusal::Parameters(_) => "parameters",
            Refusal::TooFewRounds { .. } => "too_few_rounds",
            Refusal::NoRatio => "no_ratio",
        },
        text: (Lang::En.words().refusal)(refusal),
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

fn differences(other: &Run, comparison: &Comparison) -> Vec<DifferencePart> {
    comparison
        .differences
        .iter()
        .map(|difference| DifferencePart {
            run: other.meta.id.clone(),
            what: difference.what.clone(),
            base: difference.base.clone(),
            other: difference.other.clone(),
        })
        .collect()
}
