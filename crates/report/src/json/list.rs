//! The document `kurabe.list/1`: what there is to run, and what was kept.
//!
//! The parts of what can be run are filled by the program that knows it, and lists for people are made of the same.

use super::word::LIST_SCHEMA;
use crate::brief::Brief;
use crate::number::rfc3339;
use model::line::RunLine;
use model::plan::Duel;
use model::record::End;
use schemars::JsonSchema;
use serde::Serialize;

/// What a list is about; the others are null in its document.
#[derive(Debug)]
pub enum List {
    /// Kept runs, and how many are kept in all.
    Runs(Vec<RunLine>, usize),
    /// Tests.
    Tests(Vec<TestPart>),
    /// Profiles.
    Profiles(Vec<ProfilePart>),
    /// Metrics.
    Metrics(Vec<MetricDefPart>),
    /// The parameters of a test.
    Params(Vec<ParamPart>),
}

/// A list.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct ListDocument<'a> {
    /// The name and version of this format.
    #[schemars(extend("const" = LIST_SCHEMA))]
    schema: &'static str,
    /// Kept runs, the latest first; null in a list of something else, as all others are.
    runs: Option<Vec<RunLinePart>>,
    /// How many runs are kept, of which the list may have the latest alone.
    runs_kept: Option<usize>,
    tests: Option<&'a [TestPart]>,
    profiles: Option<&'a [ProfilePart]>,
    metrics: Option<&'a [MetricDefPart]>,
    /// The parameters of one test.
    params: Option<&'a [ParamPart]>,
}

/// A run as its row in the store tells it.
#[derive(Debug, Serialize, JsonSchema)]
struct RunLinePart {
    /// Unique and ordered by time.
    id: String,
    /// The end of the id that means this run alone, as long as no other is kept.
    short: String,
    /// The name the user gave.
    label: Option<String>,
    /// When it started: RFC 3339, UTC.
    started: String,
    /// When it ended; null for a run that was killed or still goes on.
    finished: Option<String>,
    #[schemars(extend("enum" = ["open", "complete", "interrupted"]))]
    end: &'static str,
    /// What the user asked for.
    what: Vec<String>,
    /// Which side of a duel it is; null for every other run.
    duel: Option<Duel>,
    cases: u32,
    rounds: u32,
    failed_rounds: u32,
    machine: MachinePart,
    /// The first figure of its page, and how far it is to be trusted; null where `brief_missing` says why.
    brief: Option<Brief>,
    brief_missing: Option<&'static str>,
}

/// The machine of a run; null where the kernel did not tell.
#[derive(Debug, Serialize, JsonSchema)]
struct MachinePart {
    hostname: Option<String>,
    /// The model of the processor.
    cpu: Option<String>,
    /// How many CPUs could be used.
    cpus: Option<u32>,
}

/// A test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestPart {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub title: &'static str,
}

/// A profile.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ProfilePart {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub title: String,
    /// What it takes here at most, as `--dry-run` says; null where it cannot be run.
    pub expected_ns: Option<u64>,
    /// Why it cannot be run here; null where it can.
    pub refused: Option<String>,
}

/// The definition of a metric.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MetricDefPart {
    /// Workload and quantity.
    pub id: String,
    /// Its base unit.
    pub unit: String,
    /// What is counted, from which instant to which.
    pub definition: String,
}

/// A parameter of a test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ParamPart {
    /// As it is typed: `--set TEST.NAME=VALUE`.
    pub name: &'static str,
    /// Its value in this test.
    pub value: String,
    /// The values that it takes, in words.
    pub takes: String,
    /// The words that it takes; empty where it takes something else.
    pub choices: &'static [&'static str],
    /// The smallest number that it takes; null where it takes something else.
    pub min: Option<u64>,
    /// The largest.
    pub max: Option<u64>,
    /// What it means.
    pub meaning: String,
}

/// Fills the document.
pub(super) fn document(list: &List) -> ListDocument<'_> {
    let empty = ListDocument {
        schema: LIST_SCHEMA,
        ..ListDocument::default()
    };
    match list {
        List::Runs(lines, kept) => ListDocument {
            runs: Some(lines.iter().map(run_part).collect()),
            runs_kept: Some(*kept),
            ..empty
        },
        List::Tests(tests) => ListDocument {
            tests: Some(tests),
            ..empty
        },
        List::Profiles(profiles) => ListDocument {
            profiles: Some(profiles),
            ..empty
        },
        List::Metrics(metrics) => ListDocument {
            metrics: Some(metrics),
            ..empty
        },
        List::Params(params) => ListDocument {
            params: Some(params),
            ..empty
        },
    }
}

fn run_part(line: &RunLine) -> RunLinePart {
    let machine = &line.machine;
    let brief = Brief::of_line(line);
    RunLinePart {
        id: line.id.clone(),
        short: line.short.clone(),
        label: line.label.clone(),
        started: rfc3339(line.started),
        finished: line.finished.map(rfc3339),
        end: match line.end {
            End::Open => "open",
            End::Complete => "complete",
            End::Interrupted => "interrupted",
        },
        what: line.what.clone(),
        duel: line.duel.clone(),
        cases: line.cases,
        rounds: line.rounds,
        failed_rounds: line.failed,
        machine: MachinePart {
            hostname: machine.hostname.clone(),
            cpu: machine.cpu.clone(),
            cpus: machine.cpus,
        },
        brief_missing: match (&brief, line.end) {
            (Some(_), _) => None,
            (None, End::Open) => Some("it goes on, or was killed"),
            (None, _) => Some("nothing was noted when it was over"),
        },
        brief,
    }
}
