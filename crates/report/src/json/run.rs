//! The document `kurabe.run/1`.

use super::RUN_SCHEMA;
use super::failed::{FailedRoundPart, failed_rounds};
use super::said::{Said, warnings};
use super::series::{SeriesPart, series};
use super::soak::SoakPart;
use super::storage::StoragePart;
use crate::view::RunView;
use crate::{said, scope};
use model::comparison::Scope;
use model::estimate::{IndexSummary, MetricSummary, State};
use model::ground::Ground;
use model::host::HostFacts;
use model::named::Named;
use model::order::Keyed as _;
use model::plan::{CaseId, Dropped, Duel, OwnGround, Plan, PlannedCase, Settle};
use model::record::{Binary, End, Run};
use model::spec::Better;
use model::units::{Nanos, Unit};
use model::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Trust;
use stats::look::Seen;
use stats::memory::MemorySummary;
use stats::scaling::{ClockRate, Scaling};
use std::collections::BTreeMap;

/// One run: what was measured, on what, and what is concluded from it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunDocument<'a> {
    /// The name and version of this format.
    #[schemars(extend("const" = RUN_SCHEMA))]
    schema: &'static str,
    /// Who, when, with what, on what.
    run: RunPart<'a>,
    /// What the figures are about.
    scope: ScopePart,
    /// One entry for each metric of each case, in the order of the plan.
    metrics: Vec<MetricPart<'a>>,
    /// Composite indexes, one for each concurrency.
    indexes: &'a [IndexSummary],
    /// What a soak says; null for every other run.
    soak: Option<SoakPart<'a>>,
    /// What storage tests say beside their metrics; null where the run has none, and for soaks.
    storage: Option<StoragePart<'a>>,
    /// What memory tests found point by point; null where the run has none.
    memory: Option<&'a MemorySummary>,
    /// Quantities over the time of each round; left out where the run has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<SeriesPart<'a>>,
    /// How tests scale with copies; empty where the run does not ask.
    scaling: Vec<ScalingPart<'a>>,
    /// The clock rate while measuring; null where no probe saw it.
    clock_rate: Option<&'a ClockRate>,
    /// Every round that failed, in the order in which they ran.
    failed_rounds: Vec<FailedRoundPart<'a>>,
    /// What was noticed about the run as a whole.
    warnings: Vec<Said<'a, Warning>>,
}

/// Who made a run, when, with what, on what.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunPart<'a> {
    /// Unique and ordered by time.
    id: &'a str,
    /// The name the user gave.
    label: Option<&'a str>,
    /// The id of what was rented, as a catalogue of offers has it; null where nobody said.
    offer: Option<&'a str>,
    /// The tags the user gave.
    tags: &'a BTreeMap<String, String>,
    /// When it started: RFC 3339, UTC.
    started: String,
    /// When it ended; null for a run that was killed or still goes on.
    finished: Option<String>,
    /// How it ended.
    end: End,
    /// True where every planned round was tried.
    complete: bool,
    /// Whether its figures may be quoted: `quiet` and `quota` may.
    #[schemars(extend("enum" = Trust::WORDS))]
    trust: &'static str,
    /// What was seen before the first round that disturbs, or is to be quoted with the figures; null where nobody
    /// looked.
    seen: Option<Vec<Seen>>,
    /// The program that measured, or that imported what another one measured.
    binary: &'a Binary,
    /// Where the figures come from; null where kurabe measured them.
    origin: Option<OriginPart<'a>>,
    /// The machine at the start of the run.
    host: &'a HostFacts,
    /// What was to be measured.
    plan: PlanPart<'a>,
}

/// The output of another program.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OriginPart<'a> {
    /// The program that measured, such as `fio`.
    program: &'a str,
    /// Its version; null where its output does not say it.
    version: Option<&'a str>,
    /// When it measured: RFC 3339, UTC; null where its output does not say it.
    when: Option<String>,
    /// The name of the file, without directories.
    file: &'a str,
    /// The digest of what was read, in 16 hexadecimal digits.
    digest: &'a str,
}

/// What conclusions are about: which machines, and for how long they were watched.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ScopePart {
    #[serde(flatten)]
    scope: Scope,
    /// The label in English, such as `this instance, these 12 minutes`.
    text: String,
}

/// A profile resolved for the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanPart<'a> {
    /// What the user asked for.
    what: &'a [String],
    /// Seeds the order of every pass; as text, because it may exceed what a JSON number holds exactly.
    seed: String,
    /// The time the run might take; null where only passes count.
    budget_ns: Option<Nanos>,
    /// The number of passes; null where only the budget counts.
    passes: Option<u32>,
    /// The time over which the passes are spread; null where one follows the other.
    spread_ns: Option<Nanos>,
    /// True where the cases of each pass run in the order of `cases`; else it is shuffled.
    ordered: bool,
    cases: Vec<CasePart<'a>>,
    /// Which side of a duel it is; null for every other run.
    duel: Option<&'a Duel>,
    /// Devices and files that were worked on beside the run's own directory.
    named: &'a [Named],
    /// What is made before the first round that needs it, and shared by all that do.
    grounds: Vec<&'a Ground>,
    /// What the only test makes in a longer budget, where it makes less; null where it does not.
    own_ground: Option<&'a OwnGround>,
    /// What did not fit.
    dropped: &'a [Dropped],
}

/// A test at one concurrency.
#[derive(Debug, Serialize, JsonSchema)]
struct CasePart<'a> {
    id: &'a CaseId,
    test: &'a str,
    concurrency: u32,
    title: &'a str,
    workload: &'a str,
    /// Figures of different versions do not compare.
    workload_version: u32,
    /// Every parameter, as the user would write it.
    params: BTreeMap<&'a str, String>,
    warmup_ns: Nanos,
    measure_ns: Nanos,
    /// Rounds fixed by the method; null where precision and budget decide.
    rounds: Option<u32>,
    /// What happens before each round.
    settle: Settle,
    /// True where a known result is played instead of using the machine.
    simulated: bool,
    /// True where the figures depend on the file system of the work directory.
    on_disk: bool,
    /// True where an operation allocates memory by nature.
    allocates: bool,
    /// The code that did the work, where the workload has several, such as `SHA-NI`.
    implementation: Option<&'a str>,
}

/// One quantity of a case and what is concluded about it. The figures that its state has stand beside the state.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct MetricPart<'a> {
    case: &'a CaseId,
    test: &'a str,
    concurrency: u32,
    quantity: &'a str,
    /// The base unit of every figure of this metric.
    unit: Unit,
    /// Which direction is good.
    better: Better,
    #[serde(flatten)]
    summary: &'a MetricSummary,
    /// What makes the figures doubtful.
    warnings: Vec<Said<'a, Warning>>,
}

/// How one test does at several concurrencies. The figures that the finding has stand beside it.
#[derive(Debug, Serialize, JsonSchema)]
struct ScalingPart<'a> {
    /// The rate that is meant.
    quantity: &'a str,
    #[serde(flatten)]
    scaling: &'a Scaling,
}

/// Fills the document.
pub(super) fn document<'a>(view: &'a RunView<'_>) -> RunDocument<'a> {
    let run = view.run;
    RunDocument {
        schema: RUN_SCHEMA,
        run: run_part(run, view.trust.word()),
        scope: scope_part(stats::scope::of_run(run)),
        metrics: view.metrics.iter().map(metric_part).collect(),
        indexes: &view.indexes,
        soak: view.soak.as_ref().map(|soak| SoakPart::of(&run.plan, soak)),
        storage: view.storage.as_ref().map(StoragePart::of),
        memory: view.memory.as_ref(),
        series: series(run),
        scaling: view.scaling.iter().map(scaling_part).collect(),
        clock_rate: view.clock_rate.as_ref(),
        failed_rounds: failed_rounds(run),
        warnings: warnings(&run.meta.warnings),
    }
}

/// The part about the run itself; a comparison has one for each side.
pub(super) fn run_part<'a>(run: &'a Run, trust: &'static str) -> RunPart<'a> {
    let meta = &run.meta;
    RunPart {
        id: &meta.id,
        label: meta.label.as_deref(),
        offer: meta.offer.as_deref(),
        tags: &meta.tags,
        started: meta.started.rfc3339(),
        finished: meta.finished.map(Into::into),
        end: meta.end,
        complete: meta.end == End::Complete,
        trust,
        seen: (!meta.looks.is_empty()).then(|| stats::look::of_run(run)),
        binary: &meta.binary,
        origin: meta.origin.as_deref().map(|origin| OriginPart {
            program: &origin.program,
            version: origin.version.as_deref(),
            when: origin.when.known().map(|when| when.rfc3339()),
            file: &origin.file,
            digest: &origin.digest,
        }),
        host: &run.host,
        plan: plan_part(&run.plan),
    }
}

/// What conclusions are about.
pub(super) fn scope_part(scope: Scope) -> ScopePart {
    ScopePart {
        text: scope::text(&scope, crate::Lang::En),
        scope,
    }
}

/// The part about the plan; the document of a plan has it too.
pub(super) fn plan_part(plan: &Plan) -> PlanPart<'_> {
    PlanPart {
        what: &plan.what,
        seed: plan.seed.to_string(),
        budget_ns: plan.budget,
        passes: plan.passes,
        spread_ns: plan.spread,
        ordered: plan.ordered,
        duel: plan.duel.as_ref(),
        cases: plan.cases.iter().map(case_part).collect(),
        named: &plan.named,
        grounds: plan.grounds().collect(),
        own_ground: plan.own_ground.as_ref(),
        dropped: &plan.dropped,
    }
}

fn case_part(case: &PlannedCase) -> CasePart<'_> {
    let params = case.params.iter();
    CasePart {
        id: &case.id,
        test: &case.id.test,
        concurrency: case.id.copies,
        title: &case.title,
        workload: &case.workload,
        workload_version: case.workload_version,
        params: params
            .map(|(name, value)| (name, value.to_string()))
            .into_map(),
        warmup_ns: case.shape.warmup,
        measure_ns: case.shape.measure,
        rounds: case.shape.rounds,
        settle: case.shape.settle,
        simulated: case.simulated,
        on_disk: case.on_disk,
        allocates: case.allocates,
        implementation: case.implementation.as_deref(),
    }
}

/// A metric, in the document and in each line of CSV.
pub(crate) fn metric_part(summary: &MetricSummary) -> MetricPart<'_> {
    let id = &summary.id;
    // The rounds of a soak are called stretches.
    let say = if summary.state == State::Series {
        said::warning_of_soak
    } else {
        said::warning
    };
    let warnings = summary.warnings.iter();
    MetricPart {
        case: &id.case,
        test: &id.case.test,
        concurrency: id.case.copies,
        quantity: &id.quantity,
        unit: summary.metric.unit,
        better: summary.metric.better,
        summary,
        warnings: warnings.map(|warning| Said::new(warning, say)).collect(),
    }
}

fn scaling_part(scaling: &Scaling) -> ScalingPart<'_> {
    ScalingPart {
        quantity: &scaling.metric.quantity,
        scaling,
    }
}
