//! The document `kurabe.list/1`: what there is to run, and what was kept.
//!
//! The parts of what can be run are filled by the program that knows it, and lists for people are made of the same.

use super::LIST_SCHEMA;
use model::line::RunLine;
use model::record::End;
use schemars::JsonSchema;
use serde::Serialize;
use stats::Brief;

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
    runs: Option<Vec<RunLinePart<'a>>>,
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
struct RunLinePart<'a> {
    #[serde(flatten)]
    line: &'a RunLine,
    /// When it ended; null for a run that was killed or still goes on.
    finished: Option<String>,
    /// The first figure of its page, and how far it is to be trusted; null where `brief_missing` says why.
    brief: Option<Brief>,
    brief_missing: Option<&'static str>,
}

/// A test.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TestPart {
    /// Its name.
    pub name: &'static str,
    /// What it measures.
    pub title: String,
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
    let mut document = ListDocument {
        schema: LIST_SCHEMA,
        ..ListDocument::default()
    };
    match list {
        List::Runs(lines, kept) => {
            document.runs = Some(lines.iter().map(run_part).collect());
            document.runs_kept = Some(*kept);
        }
        List::Tests(tests) => document.tests = Some(tests),
        List::Profiles(profiles) => document.profiles = Some(profiles),
        List::Metrics(metrics) => document.metrics = Some(metrics),
        List::Params(params) => document.params = Some(params),
    }
    document
}

fn run_part(line: &RunLine) -> RunLinePart<'_> {
    let brief = Brief::of_line(line);
    RunLinePart {
        line,
        finished: line.finished.map(Into::into),
        brief_missing: match (&brief, line.end) {
            (Some(_), _) => None,
            (None, End::Open) => Some("it goes on, or was killed"),
            (None, _) => Some("nothing was noted when it was over"),
        },
        brief,
    }
}
