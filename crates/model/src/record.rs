//! A run as it is kept: plan, host facts, every round, and warnings.
//!
//! A run is never changed once finished. Estimates, states, indexes and verdicts are recomputed from it each time it
//! is shown, so that a better method improves old runs too.

use crate::digest::Digest;
use crate::ground::Errand;
use crate::host::HostFacts;
use crate::job::Report;
use crate::look::Look;
use crate::noise::Noise;
use crate::origin::Origin;
use crate::plan::{CaseId, Plan};
use crate::soak::Stretch;
use crate::units::{Bytes, Nanos, UnixNanos};
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of this format, written into every store and export. Raised when it changes; a program reads its own.
pub const RECORD_VERSION: u32 = 3;

/// Everything known about one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Who, when, with what.
    pub meta: RunMeta,
    /// What was to be measured.
    pub plan: Plan,
    /// The machine as it was at the start.
    pub host: HostFacts,
    /// Every round that ended, in the order in which they ran.
    pub rounds: Vec<Round>,
}

/// Who made a run, when, and with what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunMeta {
    /// Unique: the start time and four random hex digits, such as `20261121-004311-9f3c`; sorts by time.
    pub id: String,
    /// The name the user gave.
    pub label: Option<String>,
    /// The tags the user gave.
    pub tags: BTreeMap<String, String>,
    /// When it started.
    pub started: UnixNanos,
    /// When it ended; `None` for a run that was killed.
    pub finished: Option<UnixNanos>,
    /// How it ended.
    pub end: End,
    /// The program that measured.
    pub binary: Binary,
    /// What was noticed about the run as a whole, before or after measuring.
    pub warnings: Vec<Warning>,
    /// What was seen of the machine before the first round, and before that of each part with which it went on; empty
    /// where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub looks: Vec<Look>,
    /// Where its figures come from; `None` where kurabe measured them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Box<Origin>>,
    /// The id of what was rented, as a catalogue of offers has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offer: Option<String>,
    /// The directory given by `--dir`, absolute.
    pub dir: String,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// It is still going on, or was killed without a chance to say so.
    Open,
    /// Every round that was planned was tried.
    Complete,
    /// Somebody interrupted it; what was measured until then is kept.
    Interrupted,
}

/// The program that measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Binary {
    /// The program's version.
    pub version: String,
    /// The commit it was built from, where that was known.
    pub commit: Option<String>,
    /// `release`, `dist`, `debug`: how it was compiled.
    pub build: String,
    /// The target triple.
    pub target: String,
    /// True where nothing is linked at run time.
    pub linked_statically: bool,
}

/// One execution of one case: the unit of replication.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Which case.
    pub case: CaseId,
    /// The pass it belongs to, from 1.
    pub pass: u32,
    /// Its position in the run, from 1.
    pub seq: u32,
    /// When it began.
    pub started: UnixNanos,
    /// From before the set-up to after the clean-up.
    pub took: Nanos,
    /// What was done before it for what it stands on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errands: Vec<Errand>,
    /// Seeds everything that is randomised within the round: start CPU, stack and heap offsets, data.
    pub layout_seed: u64,
    /// What came of it.
    pub outcome: Outcome,
    /// Where it failed and its copies do different things, or one of them says what it did until it failed, such as a
    /// flow whose peer went: what each did, the failed ones up to their end. It is told, and no sample of anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partial: Option<Box<Measured>>,
    /// Bytes that went to a peer and came from there, warm-up included and headers not; `None` where none did, or
    /// nobody counted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moved: Option<Bytes>,
    /// Where it stands in a soak; `None` in every other run.
    pub stretch: Option<Stretch>,
    /// What else happened meanwhile.
    pub noise: Noise,
}

impl Round {
    /// What it took of the run's time, with what was done before it for what it stands on.
    pub fn took_in_all(&self) -> Nanos {
        let errands = self.errands.iter().map(|errand| errand.took);
        errands.fold(self.took, Nanos::plus)
    }

    /// Why it has no value; `None` for one that finished.
    pub const fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Done(_) => None,
            Outcome::Failed(failure) => Some(failure),
        }
    }

    /// What its copies did, where that is known: of a round that failed too.
    pub fn told(&self) -> Option<&Measured> {
        match &self.outcome {
            Outcome::Done(measured) => Some(measured),
            Outcome::Failed(_) => self.partial.as_deref(),
        }
    }
}

/// What came of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every copy finished.
    Done(Measured),
    /// At least one copy did not; there is no value, only the reason.
    Failed(Failure),
}

/// What a finished round measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Quantity to value, in the metric's unit; one entry for each metric that has a value.
    pub values: BTreeMap<String, f64>,
    /// Quantities without a value in this round, with the reason.
    pub missing: BTreeMap<String, String>,
    /// Rates of the windows of this round, all copies summed, in the unit of the first metric; in time order.
    /// Empty where the workload has no rate.
    pub windows: Vec<f64>,
    /// CPU seconds that the copies got per second in each of these windows, all copies summed. Empty but for tests
    /// whose work is CPU time: there it shows what was granted, whatever the clock rate of the CPU was meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cpu_windows: Vec<f64>,
    /// What each copy did, in the order in which they were started.
    pub copies: Vec<CopyRecord>,
    /// Latencies by name, where any are recorded: ascending pairs of nanoseconds and count, all copies together.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<String, Vec<(u64, u64)>>,
    /// Series by name, all copies together by the rule of their declaration; empty where copies do different things.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
    /// What the workload noticed that the reader must know to read its figures rightly, in English; each said once.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// A quantity over the time of a round. Its name, its unit and how those of several copies become one are declared
/// ([`crate::spec::Role::Series`]).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// From one value to the next; the first is of the step with which the measured part begins.
    pub step: Nanos,
    /// In time order; `None` where nothing happened in the step that has a value.
    pub values: Vec<Option<f64>>,
}

/// What one copy did in the measured part of a round.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CopyRecord {
    /// Operations done.
    pub ops: u64,
    /// Work done: operations times the work of one (bytes, instructions, or 1).
    pub work: f64,
    /// Wall time of the measured part.
    pub wall: Nanos,
    /// CPU time of the copy and the children it waited for, user mode.
    pub user: Nanos,
    /// CPU time of the copy and the children it waited for, kernel mode.
    pub system: Nanos,
    /// The digest of the results, checked by the workload.
    pub digest: Digest,
    /// Heap allocations during the measured part.
    pub allocations: u64,
    /// The CPU it started on, where known.
    pub cpu: Option<u32>,
    /// Values that the workload computes by itself.
    pub reported: BTreeMap<String, f64>,
    /// More of this copy, where the copies of a round do different things ([`crate::plan::Shape::apart`]).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Box<CopyDetail>>,
}

impl CopyRecord {
    /// A copy of which only the number of its operations is known: everything else is empty.
    pub const fn of_operations(ops: u64) -> Self {
        Self {
            ops,
            work: 0.0,
            wall: Nanos::ZERO,
            user: Nanos::ZERO,
            system: Nanos::ZERO,
            digest: Digest::EMPTY,
            allocations: 0,
            cpu: None,
            reported: BTreeMap::new(),
            apart: None,
        }
    }
}

/// What one copy did, where that is not told for all copies together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CopyDetail {
    /// Its process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Latencies by name: ascending pairs of nanoseconds and count.
    pub latencies: BTreeMap<String, Vec<(u64, u64)>>,
    /// Its own series by name; the last value may be of a shorter time than the others.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
    /// Context switches that it asked for by waiting.
    pub voluntary_switches: u64,
    /// Context switches that it did not ask for.
    pub involuntary_switches: u64,
    /// Page faults that had to read from storage.
    pub major_faults: u64,
    /// Page faults that had not.
    pub minor_faults: u64,
    /// What a storage job did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<Box<Report>>,
    /// Why it did not do all of its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Failure>,
}

/// Why a round has no value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// The machine cannot do it; trying again will not help.
    Unsupported(String),
    /// A set-up step or an operation failed: the operation, the object and the error.
    Error(String),
    /// The worker ended with this exit code and said this last.
    Exited {
        /// The exit code.
        code: i32,
        /// The last words on standard error; may be empty.
        said: String,
    },
    /// The worker was killed by this signal.
    Signal {
        /// The signal's number.
        signal: i32,
        /// The last words on standard error; may be empty.
        said: String,
    },
    /// The kernel killed it because memory ran out.
    OutOfMemory,
    /// It did not finish within the deadline and was killed.
    Hung {
        /// What it was doing: `making` what rounds stand on, `set-up`, `measuring` or `finishing`.
        stage: String,
        /// The deadline.
        after: Nanos,
    },
    /// The result is wrong: digests differ from what they must be.
    WrongResult(String),
    /// The command that sets its side of a duel up failed, so that nothing was measured.
    SetUp {
        /// The command, as the user gave it.
        command: String,
        /// How it ended.
        end: CommandEnd,
        /// The last line that it wrote to standard error, or else to standard output; may be empty.
        said: String,
    },
}

/// How a command ended that did not do its work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandEnd {
    /// With this exit code.
    Exited(i32),
    /// By this signal.
    Signal(i32),
    /// It did not end within this time and was killed.
    Hung(Nanos),
    /// It could not be started, for this reason.
    NotStarted(String),
}

impl std::fmt::Display for CommandEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Hung(after) => {
                write!(f, "it did not end within {:.0} s", after.as_secs_f64())
            }
            Self::NotStarted(why) => write!(f, "it could not be started: {why}"),
        }
    }
}

/// The beginning of a command: one that is a script would hide what became of it.
pub fn brief(command: &str) -> String {
    const MOST: usize = 60;
    if command.chars().count() <= MOST {
        return command.to_owned();
    }
    let kept: String = command.chars().take(MOST - 3).collect();
    kept + "..."
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unsupported(why) => write!(f, "cannot be done here: {why}"),
            Self::Error(what) => f.write_str(what),
            Self::Exited { code, said } if said.is_empty() => {
                write!(f, "worker exited with code {code}")
            }
            Self::Exited { code, said } => write!(f, "worker exited with code {code}: {said}"),
            Self::Signal { signal, said } if said.is_empty() => {
                write!(f, "worker killed by signal {signal}")
            }
            Self::Signal { signal, said } => write!(f, "worker killed by signal {signal}: {said}"),
            Self::OutOfMemory => f.write_str("worker killed by the kernel: out of memory"),
            Self::Hung { stage, after } => {
                write!(
                    f,
                    "worker hung: {stage} did not end within {:.1} s, and it was killed; hint: fewer copies at a time, \
                     or nothing else on the machine; `dmesg` may name a device or file system that does not answer",
                    after.as_secs_f64()
                )
            }
            Self::WrongResult(what) => write!(f, "wrong result: {what}"),
            Self::SetUp { command, end, said } => {
                let command = brief(command);
                write!(f, "the set-up command `{command}` failed: {end}")?;
                if said.is_empty() {
                    Ok(())
                } else {
                    write!(f, ": {said}")
                }
            }
        }
    }
}

impl Run {
    /// Whether the two are the two sides of one duel.
    pub fn is_against(&self, other: &Self) -> bool {
        let duels = self.plan.duel.as_ref().zip(other.plan.duel.as_ref());
        duels.is_some_and(|(duel, there)| duel.id == there.id && duel.side != there.side)
    }

    /// The rounds of one case, in the order in which they ran.
    pub fn rounds_of<'a>(&'a self, case: &'a CaseId) -> impl Iterator<Item = &'a Round> {
        self.rounds.iter().filter(move |round| round.case == *case)
    }
}
