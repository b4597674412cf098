//! The document `kurabe.plan/1`: what would be measured, before anything is.

use super::run::{PlanPart, plan_part};
use super::word::PLAN_SCHEMA;
use crate::page::plan::PlanView;
use crate::set_otherwise;
use model::plan::{Plan, PlannedCase};
use model::record::Run;
use model::soak::Soak;
use schemars::JsonSchema;
use serde::Serialize;

/// What would be measured by `--dry-run` without it.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlanDocument {
    /// The name and version of this format.
    #[schemars(extend("const" = PLAN_SCHEMA))]
    schema: &'static str,
    /// The command that would measure it.
    #[schemars(extend("enum" = ["run", "soak", "duel"]))]
    command: String,
    /// What all of it takes at most while nothing else runs, both sides of a duel together.
    expected_ns: u64,
    /// What is to be known of the time, such as a budget that is over before the passes are; null where it suffices.
    note: Option<String>,
    /// Why it would be refused as it was typed; null where it would not.
    refused: Option<String>,
    /// What is written to storage in files whose size is known before, at most.
    written_bytes_max: u64,
    /// How long rounds write as much as the storage takes.
    writing_ns: u64,
    /// One run, or the two sides of a duel.
    runs: Vec<PlannedRunPart>,
}

/// One run before its first round.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlannedRunPart {
    /// Where its work directory would be made.
    dir: String,
    /// What would be measured and what is left out, as in the document of a run.
    plan: PlanPart,
    /// One entry for each case, in the order of the plan.
    rounds: Vec<PlannedRoundsPart>,
    /// How a soak is spread over its time; null for every other run.
    soak: Option<PlannedSoakPart>,
}

/// The rounds that a case would have.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct PlannedRoundsPart {
    case: String,
    /// At least, unless somebody interrupts; null where time decides.
    rounds_min: Option<u32>,
    /// At most; null where time decides.
    rounds_max: Option<u32>,
    /// What one round is expected to take, processes and set-up included.
    round_ns: u64,
    /// What was set otherwise than the test's name and title say, in English; null where nothing was.
    set_otherwise: Option<String>,
}

/// How a soak is spread over its time.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "keys of documents end in their unit"
)]
pub(super) struct PlannedSoakPart {
    /// The whole time, rests included.
    span_ns: u64,
    /// From the beginning of one sample to that of the next; null for load without a pause.
    every_ns: Option<u64>,
    /// The longest that the load without a pause at the beginning may last.
    opening_ns: u64,
    /// The length of a window.
    window_ns: Option<u64>,
}

/// Fills the document.
pub(super) fn document(view: &PlanView<'_>) -> PlanDocument {
    PlanDocument {
        schema: PLAN_SCHEMA,
        command: view.command.to_owned(),
        expected_ns: view.expected.0,
        note: view.note.clone(),
        refused: view.refused.clone(),
        written_bytes_max: view.writes.files.0,
        writing_ns: view.writes.throughout.0,
        runs: view.runs.iter().map(|run| run_part(view, run)).collect(),
    }
}

fn run_part(view: &PlanView<'_>, run: &Run) -> PlannedRunPart {
    let rounds_part = |case: &PlannedCase| {
        let rounds = (view.rounds)(&run.plan, case);
        PlannedRoundsPart {
            case: case.id.to_string(),
            rounds_min: rounds.least,
            rounds_max: rounds.most,
            round_ns: rounds.each.0,
            set_otherwise: set_otherwise::parameters(case),
        }
    };
    PlannedRunPart {
        dir: run.meta.dir.clone(),
        plan: plan_part(&run.plan),
        rounds: run.plan.cases.iter().map(rounds_part).collect(),
        soak: run
            .plan
            .soak
            .as_ref()
            .map(|soak| soak_part(&run.plan, soak)),
    }
}

fn soak_part(plan: &Plan, soak: &Soak) -> PlannedSoakPart {
    PlannedSoakPart {
        span_ns: soak.span.0,
        every_ns: soak.every.map(|every| every.0),
        opening_ns: soak.opening.0,
        window_ns: plan.cases.first().map(|case| case.shape.window.0),
    }
}
