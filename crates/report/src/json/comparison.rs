//! The document `kurabe.comparison/1`.

use super::COMPARISON_SCHEMA;
use super::failed::{FailedRoundPart, failed_rounds};
use super::run::{RunPart, ScopePart, run_part, scope_part};
use super::said::{Said, warnings};
use crate::comparison::{ComparisonView, IndexPair, LatestOf, Party, Sides, indexes};
use crate::duel;
use crate::page::comparison::refusal;
use model::comparison::{Both, Comparison, MetricComparison, Refusal};
use model::record::Run;
use model::spec::Better;
use model::units::Unit;
use model::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Trust;

/// A base and the runs that were compared with it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ComparisonDocument<'a> {
    /// The name and version of this format.
    #[schemars(extend("const" = COMPARISON_SCHEMA))]
    schema: &'static str,
    /// The base; of a group its first run.
    base: RunPart<'a>,
    /// Every run of the base, where it is a group; empty otherwise.
    base_group: Vec<RunPart<'a>>,
    others: Vec<OtherPart<'a>>,
    /// The runs that were named by a label that other runs have too.
    latest_of_label: Vec<&'a LatestOf>,
}

/// One run against the base.
#[derive(Debug, Serialize, JsonSchema)]
struct OtherPart<'a> {
    /// The run; of a group its first one.
    run: RunPart<'a>,
    /// Every run, where it is a group; empty otherwise.
    group: Vec<RunPart<'a>>,
    /// What the conclusions are about.
    scope: ScopePart,
    /// What is known of the duel beside its figures; null where it is none. What each side is stands in its run's plan.
    duel: Option<AgainstPart<'a>>,
    /// What took time from the rounds of either side, in at least a fifth of them: stolen time, a quota, other
    /// processes.
    disturbed: Both<Vec<Said<'a, Warning>>>,
    /// One entry for each metric of either run that was measured; what describes the set-up of a test is among the
    /// differences.
    metrics: Vec<MetricPart<'a>>,
    /// UnixBench's index at each number of copies at which both sides have it.
    indexes: Vec<IndexPair>,
    #[serde(flatten)]
    comparison: &'a Comparison,
}

/// What is known of a duel beside its figures.
#[derive(Debug, Serialize, JsonSchema)]
struct AgainstPart<'a> {
    /// True where the sides differ in nothing that could be asked for (an A/A duel).
    same_sides: bool,
    /// The rounds of either side that failed: pairs that lack one do not count.
    failed_rounds: Both<Vec<FailedRoundPart<'a>>>,
}

/// Two runs' values of one metric, and the conclusion.
#[derive(Debug, Serialize, JsonSchema)]
struct MetricPart<'a> {
    /// The base unit of both values; null where neither run declares the metric.
    unit: Option<Unit>,
    /// Which direction is good; null likewise.
    better: Option<Better>,
    #[serde(flatten)]
    metric: &'a MetricComparison,
    /// Why there is no ratio or no interval; null where there is one.
    missing: Option<Said<'a, Refusal>>,
}

/// Fills the document.
pub(super) fn document<'a>(view: &'a ComparisonView<'_>) -> ComparisonDocument<'a> {
    let others = || view.others.iter();
    let all = std::iter::once(&view.base).chain(others().map(|(other, _)| other));
    ComparisonDocument {
        schema: COMPARISON_SCHEMA,
        base: trusted(view.base.first()),
        base_group: group(&view.base),
        others: others()
            .map(|(other, comparison)| other_part(&view.base, other, comparison))
            .collect(),
        latest_of_label: all.flat_map(Party::latest_of).collect(),
    }
}

fn trusted(run: &Run) -> RunPart<'_> {
    run_part(run, Trust::of(run).word())
}

fn group<'a>(party: &Party<'a>) -> Vec<RunPart<'a>> {
    let runs = party.runs().into_iter().filter(|_| party.is_group());
    runs.map(trusted).collect()
}

fn other_part<'a>(
    base: &'a Party<'_>,
    other: &'a Party<'_>,
    comparison: &'a Comparison,
) -> OtherPart<'a> {
    let sides = Sides { base, other };
    let metrics = comparison.metrics.iter();
    OtherPart {
        run: trusted(other.first()),
        group: group(other),
        scope: scope_part(comparison.scope),
        duel: against_part(base, other),
        disturbed: Both {
            base: warnings(&comparison.disturbed.base),
            other: warnings(&comparison.disturbed.other),
        },
        metrics: metrics.map(|metric| metric_part(sides, metric)).collect(),
        indexes: indexes(sides),
        comparison,
    }
}

/// The part about both sides; `None` where the two are not the sides of one duel.
fn against_part<'a>(base: &Party<'a>, other: &Party<'a>) -> Option<AgainstPart<'a>> {
    let [(base, _), (other, _)] = duel::sides(base, other)?;
    Some(AgainstPart {
        same_sides: stats::duel::is_same(base, other),
        failed_rounds: Both {
            base: failed_rounds(base),
            other: failed_rounds(other),
        },
    })
}

fn metric_part<'a>(sides: Sides<'_>, metric: &'a MetricComparison) -> MetricPart<'a> {
    let declared = sides.declared(&metric.id);
    let refused = metric.refused.as_ref();
    let sentence =
        |refusal: &Refusal, lang| refusal::sentence(refusal, &[&metric.id.case], sides, lang);
    MetricPart {
        unit: declared.map(|declared| declared.unit),
        better: declared.map(|declared| declared.better),
        metric,
        missing: refused.map(|refusal| Said::new(refusal, sentence)),
    }
}
