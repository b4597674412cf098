//! The document `kurabe.plan/1`: what would be measured, before anything is.

use super::PLAN_SCHEMA;
use super::run::{PlanPart, plan_part};
use super::soak::AskedPart;
use crate::page::plan::{OnServer, PlanView};
use crate::set_otherwise;
use model::plan::{CaseId, PlannedCase};
use model::record::Run;
use model::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;

/// What would be measured by `--dry-run` without it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanDocument<'a> {
    /// The name and version of this format.
    #[schemars(extend("const" = PLAN_SCHEMA))]
    schema: &'static str,
    /// The command that would measure it.
    #[schemars(extend("enum" = ["run", "soak", "duel"]))]
    command: &'a str,
    /// What all of it takes at most while nothing else runs, both sides of a duel together.
    expected_ns: Nanos,
    /// What is to be known of the time, such as a budget that is over before the passes are; null where it suffices.
    note: Option<&'a str>,
    /// Why it would be refused as it was typed; null where it would not.
    refused: Option<&'a str>,
    /// What is written to storage in files whose size is known before, at most.
    written_bytes_max: Bytes,
    /// How long rounds write as much as the storage takes.
    writing_ns: Nanos,
    /// What is expected to be taken on each server of tables.
    on_servers: &'a [OnServer],
    /// One run, or the two sides of a duel.
    runs: Vec<PlannedRunPart<'a>>,
}

/// One run before its first round.
#[derive(Debug, Serialize, JsonSchema)]
struct PlannedRunPart<'a> {
    /// Where its work directory would be made.
    dir: &'a str,
    /// What would be measured and what is left out, as in the document of a run.
    plan: PlanPart<'a>,
    /// One entry for each case, in the order of the plan.
    rounds: Vec<PlannedRoundsPart<'a>>,
    /// How a soak is spread over its time; null for every other run.
    soak: Option<AskedPart>,
}

/// The rounds that a case would have.
#[derive(Debug, Serialize, JsonSchema)]
struct PlannedRoundsPart<'a> {
    case: &'a CaseId,
    /// At least, unless somebody interrupts; null where time decides.
    rounds_min: Option<u32>,
    /// At most; null where time decides.
    rounds_max: Option<u32>,
    /// What one round is expected to take, processes and set-up included.
    round_ns: Nanos,
    /// What was set otherwise than the test's name and title say, in English; null where nothing was.
    set_otherwise: Option<String>,
}

/// Fills the document.
pub(super) fn document<'a>(view: &'a PlanView<'_>) -> PlanDocument<'a> {
    PlanDocument {
        schema: PLAN_SCHEMA,
        command: view.command,
        expected_ns: view.expected,
        note: view.note.as_deref(),
        refused: view.refused.as_deref(),
        written_bytes_max: view.writes.files,
        writing_ns: view.writes.throughout,
        on_servers: &view.on_servers,
        runs: view.runs.iter().map(|run| run_part(view, run)).collect(),
    }
}

fn run_part<'a>(view: &PlanView<'_>, run: &'a Run) -> PlannedRunPart<'a> {
    let plan = &run.plan;
    let rounds_part = |case: &'a PlannedCase| {
        let rounds = (view.rounds)(plan, case);
        PlannedRoundsPart {
            case: &case.id,
            rounds_min: rounds.least,
            rounds_max: rounds.most,
            round_ns: rounds.each,
            set_otherwise: set_otherwise::parameters(case),
        }
    };
    PlannedRunPart {
        dir: &run.meta.dir,
        plan: plan_part(plan),
        rounds: plan.cases.iter().map(rounds_part).collect(),
        soak: plan.soak.as_ref().map(|soak| AskedPart::of(plan, soak)),
    }
}
