//! The document `kurabe.run/1`.

use super::failed::{FailedRoundPart, failed_rounds};
use super::memory::{MemoryPart, memory_part};
use super::metric::{EstimatePart, MetricPart, estimate_part, metric_part, missing};
use super::scaling::{ClockRatePart, ScalingPart, clock_rate_part, scaling_part};
use super::scope::{ScopePart, scope_part};
use super::series::{SeriesPart, series};
use super::soak::{SoakPart, soak_part};
use super::storage::{StoragePart, storage_part};
use super::warning::{WarningPart, warning_part};
use super::word::RUN_SCHEMA;
use crate::number::rfc3339;
use crate::view::RunView;
use model::estimate::{IndexPart as IndexTest, IndexSummary};
use model::ground::Ground;
use model::host::HostFacts;
use model::named::Named;
use model::plan::{Dropped, Duel, Plan, PlannedCase, Settle};
use model::record::{Binary, End, Run};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// One run: what was measured, on what, and what is concluded from it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunDocument {
    /// The name and version of this format.
    #[schemars(extend("const" = RUN_SCHEMA))]
    schema: &'static str,
    /// Who, when, with what, on what.
    run: RunPart,
    /// What the figures are about.
    scope: ScopePart,
    /// One entry for each metric of each case, in the order of the plan.
    metrics: Vec<MetricPart>,
    /// Composite indexes, one for each concurrency.
    indexes: Vec<IndexPart>,
    /// What a soak says; null for every other run.
    soak: Option<SoakPart>,
    /// What storage tests say beside their metrics; null where the run has none, and for soaks.
    storage: Option<StoragePart>,
    /// What memory tests found point by point; null where the run has none.
    memory: Option<MemoryPart>,
    /// Quantities over the time of each round; left out where the run has none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    series: Vec<SeriesPart>,
    /// How tests scale with copies; empty where the run does not ask.
    scaling: Vec<ScalingPart>,
    /// The clock rate while measuring; null where no probe saw it.
    clock_rate: Option<ClockRatePart>,
    /// Every round that failed, in the order in which they ran.
    failed_rounds: Vec<FailedRoundPart>,
    /// What was noticed about the run as a whole.
    warnings: Vec<WarningPart>,
}

/// Who made a run, when, with what, on what.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct RunPart {
    /// Unique and ordered by time.
    id: String,
    /// The name the user gave.
    label: Option<String>,
    /// The tags the user gave.
    tags: BTreeMap<String, String>,
    /// When it started: RFC 3339, UTC.
    started: String,
    /// When it ended; null for a run that was killed or still goes on.
    finished: Option<String>,
    /// How it ended: `open`, `complete` or `interrupted`.
    #[schemars(extend("enum" = ["open", "complete", "interrupted"]))]
    end: &'static str,
    /// True where every planned round was tried.
    complete: bool,
    /// The program that measured.
    binary: Binary,
    /// The machine at the start of the run.
    host: HostFacts,
    /// What was to be measured.
    plan: PlanPart,
    /// The id of the offer under which the machine is rented; null where none was named.
    offer: Option<String>,
}

/// A profile resolved for the machine.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanPart {
    /// What the user asked for.
    what: Vec<String>,
    /// Seeds the order of every pass; as text, because it may exceed what a JSON number holds exactly.
    seed: String,
    /// The time the run might take; null where only passes count.
    budget_ns: Option<u64>,
    /// The number of passes; null where only the budget counts.
    passes: Option<u32>,
    /// True where the cases of each pass run in the order of `cases`; else it is shuffled.
    ordered: bool,
    cases: Vec<CasePart>,
    /// Which side of a duel it is; null for every other run.
    duel: Option<Duel>,
    /// Devices and files that were worked on beside the run's own directory.
    named: Vec<Named>,
    /// What is made before the first round that needs it, and shared by all that do.
    grounds: Vec<Ground>,
    /// What did not fit.
    dropped: Vec<Dropped>,
}

/// A test at one concurrency.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CasePart {
    id: String,
    test: String,
    concurrency: u32,
    title: String,
    workload: String,
    /// Figures of different versions do not compare.
    workload_version: u32,
    /// Every parameter, as the user would write it.
    params: BTreeMap<String, String>,
    warmup_ns: u64,
    measure_ns: u64,
    /// Rounds fixed by the method; null where precision and budget decide.
    rounds: Option<u32>,
    /// What happens before each round: `none`, `sync` or `sync_sleep`.
    settle: &'static str,
    /// True where a known result is played instead of using the machine.
    simulated: bool,
    /// True where the figures depend on the file system of the work directory.
    on_disk: bool,
    /// True where an operation allocates memory by nature.
    allocates: bool,
    /// The code that did the work, where the workload has several, such as `SHA-NI`.
    implementation: Option<String>,
}

/// A composite index.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct IndexPart {
    /// Which index: `unixbench`.
    id: String,
    concurrency: u32,
    #[serde(flatten)]
    value: EstimatePart,
    /// Why there is no estimate; null where there is one.
    missing: Option<String>,
    /// True where not all tests of the index have a value.
    partial: bool,
    /// The version whose rules computed it; null for the median over passes.
    compat: Option<String>,
    tests: Vec<IndexTest>,
}

/// Fills the document.
pub(super) fn document(view: &RunView<'_>) -> RunDocument {
    RunDocument {
        schema: RUN_SCHEMA,
        run: run_part(view.run),
        scope: scope_part(&stats::scope::of_run(view.run)),
        metrics: view.metrics.iter().map(metric_part).collect(),
        indexes: view.indexes.iter().map(index_part).collect(),
        soak: view.soak.as_ref().map(soak_part),
        storage: view.storage.as_ref().map(storage_part),
        memory: view.memory.as_ref().map(memory_part),
        series: series(view.run),
        scaling: view.scaling.iter().map(scaling_part).collect(),
        clock_rate: view.clock_rate.as_ref().and_then(clock_rate_part),
        failed_rounds: failed_rounds(view.run),
        warnings: view.run.meta.warnings.iter().map(warning_part).collect(),
    }
}

/// The part about the run itself; a comparison has one for each side.
pub(super) fn run_part(run: &Run) -> RunPart {
    let meta = &run.meta;
    RunPart {
        id: meta.id.clone(),
        label: meta.label.clone(),
        tags: meta.tags.clone(),
        started: rfc3339(meta.started),
        finished: meta.finished.map(rfc3339),
        end: match meta.end {
            End::Open => "open",
            End::Complete => "complete",
            End::Interrupted => "interrupted",
        },
        complete: meta.end == End::Complete,
        binary: meta.binary.clone(),
        host: run.host.clone(),
        plan: plan_part(&run.plan),
        offer: None,
    }
}

/// The part about the plan; the document of a plan has it too.
pub(super) fn plan_part(plan: &Plan) -> PlanPart {
    PlanPart {
        what: plan.what.clone(),
        seed: plan.seed.to_string(),
        budget_ns: plan.budget.map(|budget| budget.0),
        passes: plan.passes,
        ordered: plan.ordered,
        duel: plan.duel.clone(),
        cases: plan.cases.iter().map(case_part).collect(),
        named: plan.named.clone(),
        grounds: plan.grounds().cloned().collect(),
        dropped: plan.dropped.clone(),
    }
}

fn case_part(case: &PlannedCase) -> CasePart {
    CasePart {
        id: case.id.to_string(),
        test: case.id.test.clone(),
        concurrency: case.id.copies,
        title: case.title.clone(),
        workload: case.workload.clone(),
        workload_version: case.workload_version,
        params: case
            .params
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_string()))
            .collect(),
        warmup_ns: case.shape.warmup.0,
        measure_ns: case.shape.measure.0,
        rounds: case.shape.rounds,
        settle: match case.shape.settle {
            Settle::None => "none",
            Settle::Sync => "sync",
            Settle::SyncSleep => "sync_sleep",
        },
        simulated: case.simulated,
        on_disk: case.on_disk,
        allocates: case.allocates,
        implementation: case.implementation.clone(),
    }
}

fn index_part(index: &IndexSummary) -> IndexPart {
    IndexPart {
        id: index.id.clone(),
        concurrency: index.copies,
        value: estimate_part(index.estimate.as_ref()),
        missing: missing(index.estimate.as_ref(), index.missing.as_deref()),
        partial: index.partial,
        compat: index.compat.clone(),
        tests: index.parts.clone(),
    }
}
