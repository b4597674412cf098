//! What will be measured: a profile resolved for this machine.

use crate::ground::Ground;
use crate::headline::Headline;
use crate::named::{Named, NamedKind};
use crate::params::{ParamValue, Params};
use crate::soak::Soak;
use crate::spec::{Better, How, MetricClass, MetricDef, Nature, Role};
use crate::units::{Bytes, Nanos, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A test at one concurrency on this machine; prints as `os.pipe@2`.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(inline)]
pub struct CaseId {
    /// The test's name.
    pub test: String,
    /// Copies, threads or clients at work at the same time; at least 1.
    pub copies: u32,
}

impl fmt::Display for CaseId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.test, self.copies)
    }
}

/// A text that is no case or metric id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{0}` is no id of the form TEST@COPIES or TEST@COPIES:QUANTITY")]
pub struct BadId(pub String);

impl FromStr for CaseId {
    type Err = BadId;

    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId(text.to_owned());
        let (test, copies) = text.rsplit_once('@').ok_or_else(bad)?;
        match copies.parse() {
            Ok(copies) if copies > 0 && !test.is_empty() => Ok(Self {
                test: test.to_owned(),
                copies,
            }),
            _ => Err(bad()),
        }
    }
}

impl TryFrom<String> for CaseId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        text.parse()
    }
}

impl From<CaseId> for String {
    fn from(case: CaseId) -> Self {
        case.to_string()
    }
}

/// One quantity of a case; prints as `os.pipe@2:ops_per_s`.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(into = "String", try_from = "String")]
#[schemars(inline)]
pub struct MetricId {
    /// The case.
    pub case: CaseId,
    /// The quantity's key, such as `clat_ns_p99`.
    pub quantity: String,
}

impl fmt::Display for MetricId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.case, self.quantity)
    }
}

impl TryFrom<String> for MetricId {
    type Error = BadId;

    fn try_from(text: String) -> Result<Self, BadId> {
        let (case, quantity) = text.rsplit_once(':').ok_or_else(|| BadId(text.clone()))?;
        Ok(Self {
            case: case.parse()?,
            quantity: quantity.to_owned(),
        })
    }
}

impl From<MetricId> for String {
    fn from(metric: MetricId) -> Self {
        metric.to_string()
    }
}

/// A profile resolved for this machine: what is measured, in which order, for how long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// What the user asked for, such as `quick` or `os.pipe`.
    pub what: Vec<String>,
    /// Every case, in the profile's order. Each pass runs them in an order shuffled from `seed`, but for
    /// [`Plan::ordered`].
    pub cases: Vec<PlannedCase>,
    /// Seeds the order of the cases in every pass and the layout of every round.
    pub seed: u64,
    /// The time the whole run may take; `None` where only the passes count.
    pub budget: Option<Nanos>,
    /// The number of passes after which the run ends; `None` where only the budget counts.
    pub passes: Option<u32>,
    /// The half-width of the interval, as a share of the value, at which a case is done; `None` where only time and
    /// passes count.
    pub target: Option<f64>,
    /// Set for one side of a duel: its rounds stand next to those of the other side.
    pub duel: Option<Duel>,
    /// Set for a soak: its rounds are stretches of one long series.
    pub soak: Option<Soak>,
    /// Devices and files that the run works on beside its own directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub named: Vec<Named>,
    /// What did not fit, with the reason; in words, in the order dropped.
    pub dropped: Vec<Dropped>,
    /// A budget with room for six rounds of every case, as far as that is known before, where the plan's own has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub room: Option<Nanos>,
    /// What its only test would have made for its rounds in a longer budget, where it makes less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own_ground: Option<OwnGround>,
    /// The time over which the passes are spread, each in a part of its own; `None` where one follows the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<Nanos>,
    /// True where the cases of a pass run in the order of the plan because one prepares what the next one finds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// Bytes that all rounds together may move between this machine and its peers, both ways; `None` for as many as
    /// they move. Headers are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<Bytes>,
}

impl Plan {
    /// These cases and nothing more: in any order, from seed 0, without an end.
    pub const fn new(what: Vec<String>, cases: Vec<PlannedCase>) -> Self {
        Self {
            what,
            cases,
            seed: 0,
            budget: None,
            passes: None,
            target: None,
            duel: None,
            soak: None,
            named: Vec::new(),
            dropped: Vec::new(),
            room: None,
            own_ground: None,
            spread: None,
            ordered: false,
            max_bytes: None,
        }
    }

    /// How long it is from the beginning of one pass to that of the next, where they are spread over a time.
    pub fn interval(&self) -> Option<Nanos> {
        let passes = u64::from(self.passes?.max(1));
        self.spread.map(|Nanos(span)| Nanos(span / passes))
    }

    /// The first word of [`Plan::what`] where `kurabe fio` made the plan.
    pub const FIO: &str = "fio";

    /// The first word of [`Plan::what`] where `kurabe vdbench` made the plan.
    pub const VDBENCH: &str = "vdbench";

    /// Passes where neither the user nor a profile says: enough for an interval that leaves out one round on each side.
    pub const PASSES_DEFAULT: u32 = 9;

    /// The case of this id; `None` where the plan has none.
    pub fn case(&self, id: &CaseId) -> Option<&PlannedCase> {
        self.cases.iter().find(|case| case.id == *id)
    }

    /// What its cases stand on, each once.
    pub fn grounds(&self) -> impl Iterator<Item = &Ground> {
        let mut seen = BTreeSet::new();
        let grounds = self.cases.iter().filter_map(|case| case.ground.as_ref());
        grounds.filter(move |ground| seen.insert(&ground.key))
    }

    /// The devices and files that its tests measure beside the run's own directory.
    pub fn measured(&self) -> impl Iterator<Item = &Named> {
        let named = self.named.iter();
        named.filter(|named| matches!(named.kind, NamedKind::Device | NamedKind::File))
    }

    /// The servers that it works on.
    pub fn servers(&self) -> impl Iterator<Item = &Named> {
        let named = self.named.iter();
        named.filter(|named| named.kind == NamedKind::Server)
    }

    /// The machines at the other end of a network that it works with.
    pub fn peers(&self) -> impl Iterator<Item = &Named> {
        let named = self.named.iter();
        named.filter(|named| named.kind.is_peer())
    }

    /// The directories beside that of the run in which it makes directories of its own, each once.
    pub fn anchors(&self) -> impl Iterator<Item = &Path> {
        let mut seen = BTreeSet::new();
        let anchors = self.cases.iter().flat_map(|case| &case.anchors);
        anchors
            .map(PathBuf::as_path)
            .filter(move |anchor| seen.insert(*anchor))
    }

    /// fio's arguments, where `kurabe fio` made the plan.
    pub fn of_fio(&self) -> Option<&[String]> {
        self.of(Self::FIO)
    }

    /// The arguments of `kurabe vdbench`, where it made the plan.
    pub fn of_vdbench(&self) -> Option<&[String]> {
        self.of(Self::VDBENCH)
    }

    /// Whether another command than `run` and its kin made the plan of a language of its own.
    pub fn is_of_a_language(&self) -> bool {
        self.of_fio().is_some() || self.of_vdbench().is_some()
    }

    fn of(&self, command: &str) -> Option<&[String]> {
        match self.what.split_first() {
            Some((first, arguments)) if first == command => Some(arguments),
            _ => None,
        }
    }
}

/// One side of a duel: two set-ups of the same machine, measured in pairs of rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Duel {
    /// The duel's id, the same on both sides.
    pub id: String,
    /// `a` or `b`.
    #[schemars(extend("enum" = ["a", "b"]))]
    pub side: String,
    /// The shell command that sets this side up before each of its rounds.
    pub prepare: Option<String>,
    /// What was said of this side alone, such as `dir=/mnt/x`; empty where it is what both sides are.
    pub traits: Vec<String>,
}

impl Duel {
    /// After this many rounds in a row in which a side could not be set up, whatever their cases, the duel ends: it is
    /// the side that is not to be had, and not a case that cannot be measured.
    pub const SET_UP_FAILURES_MAX: u32 = 3;

    /// The side's name as people read it: `A` or `B`.
    pub fn letter(&self) -> String {
        self.side.to_uppercase()
    }

    /// The ids of the runs of both sides, side A's first, by that of this side's: they differ in the side at their end.
    pub fn runs(&self, own: &str) -> [String; 2] {
        let stem = own.strip_suffix(&self.side).unwrap_or(own);
        ["a", "b"].map(|side| format!("{stem}{side}"))
    }
}

/// What rounds of a test stand on where there is time to make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OwnGround {
    /// How much it is.
    pub bytes: Bytes,
    /// The shortest budget that has time for it.
    #[serde(rename = "budget_ns")]
    pub budget: Nanos,
}

/// A test left out of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    /// The test's name, or the case's id where only one concurrency is left out.
    pub what: String,
    /// Why.
    pub why: String,
    /// The budget that has room for it, where time is why a test is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<Nanos>,
}

/// One case of a plan, with all that later readers need to know about it: the run stays readable when the
/// workload has changed or gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of its own that a case has or has not"
)]
pub struct PlannedCase {
    /// The case.
    pub id: CaseId,
    /// The test's title, one line.
    pub title: String,
    /// The workload behind the test.
    pub workload: String,
    /// The workload's version; cases of different versions do not compare.
    pub workload_version: u32,
    /// The parameters, complete.
    pub params: Params,
    /// What it is about.
    pub nature: Nature,
    /// The metrics a round yields.
    pub metrics: Vec<PlannedMetric>,
    /// The curves, matrices and series that a round yields beside them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pictures: Vec<PlannedMetric>,
    /// Its figure on the first page, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub headline: Option<Headline>,
    /// What it asks of the storage below, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<StorageLoad>,
    /// What its rounds stand on, where that is made once for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ground: Option<Ground>,
    /// Directories beside that of the run, in each of which the run makes a marked directory of its own for this case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anchors: Vec<PathBuf>,
    /// What it takes from another case of the run: the median of this metric over the rounds so far. In every pass the
    /// other one comes first; a round of this one for which nothing is known fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<MetricId>,
    /// How a round goes.
    pub shape: Shape,
    /// True where two processes or threads that nobody pins wake each other in turn, so that the figure depends on
    /// whether they stand on one CPU or on two.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hands_over: bool,
    /// True where the workload plays a known result instead of using the machine.
    pub simulated: bool,
    /// True where the figures depend on the file system of the work directory.
    pub on_disk: bool,
    /// True where its files are larger than the memory, so that its own rounds wait for memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub exceeds_memory: bool,
    /// True where an operation allocates by nature, so that allocations while measuring are part of the figure.
    pub allocates: bool,
    /// The code that does the work on this machine where the workload has several, such as `SHA-NI`.
    pub implementation: Option<String>,
    /// What the test itself has for those parameters that were set to something else, by a profile or by the user:
    /// its name and its title speak of these. Empty where none was.
    #[serde(default, skip_serializing_if = "Params::is_empty")]
    pub in_place_of: Params,
}

impl PlannedCase {
    /// The parameters that are not the test's own: name, value, and what the test itself has.
    pub fn set_otherwise(&self) -> impl Iterator<Item = (&str, &ParamValue, &ParamValue)> {
        let own = self.in_place_of.iter();
        own.filter_map(|(name, own)| Some((name, self.params.get(name)?, own)))
    }

    /// The metric in this role; the first where there are several.
    pub fn acting(&self, role: Role) -> Option<&PlannedMetric> {
        self.metrics.iter().find(|metric| metric.role == role)
    }

    /// How many CPUs one worker process of it asks for at the same time: threads belong to one worker.
    pub const fn cpus_of_each(&self) -> u32 {
        if self.shape.threads {
            self.id.copies
        } else {
            1
        }
    }
}

/// What a case asks of the storage below it, as far as its figures are judged by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StorageLoad {
    /// Operations of each copy that may be under way at the same time.
    pub depth: u64,
    /// True where operations start at times of their own or after pauses, so that storage may have nothing to do.
    pub paced: bool,
    /// True where the page cache is passed by.
    pub direct: bool,
    /// The file that was written in whole before; `None` where there is none, or parts of it are given back.
    pub file: Option<TestFile>,
}

/// The file of a storage case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestFile {
    /// The same for all cases of a run that share it.
    pub name: String,
    /// How large it is at most.
    pub size_max: Bytes,
    /// What an operation writes.
    pub block: Bytes,
}

/// A metric as it was declared when the plan was made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedMetric {
    /// The quantity's key.
    pub quantity: String,
    /// The unit of the value.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Which margin applies by default.
    pub class: MetricClass,
    /// How a round's value comes about.
    pub how: How<String>,
    /// What it is to those who conclude from several.
    pub role: Role,
}

impl PlannedMetric {
    /// As `def` declares it.
    pub fn of(def: &MetricDef) -> Self {
        Self {
            quantity: def.quantity.to_owned(),
            unit: def.unit,
            better: def.better,
            class: def.class,
            how: def.how.planned(),
            role: def.role,
        }
    }

    /// True where the quantity describes the set-up, such as the size of an array, and is no measurement: it has a
    /// value and the state "set-up", but no interval and no verdict.
    pub const fn is_setting(&self) -> bool {
        matches!(self.how, How::Setting)
    }
}

/// How one round of a case goes in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a property of its own that a workload has or has not"
)]
pub struct Shape {
    /// What set-up is expected to take, with starting all processes but the first: only for saying how long a run
    /// takes.
    pub setup: Nanos,
    /// Set-up that takes longer than this is a hang.
    pub setup_max: Nanos,
    /// Work done and thrown away before the measured part.
    pub warmup: Nanos,
    /// What the measured part is expected to take. It is over then ([`Shape::over_after`]), but for fixed work.
    pub measure: Nanos,
    /// True where a round is a fixed amount of work and ends by itself, whenever that is. What it takes is learnt from
    /// the rounds so far.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fixed_work: bool,
    /// A measured part, warm-up included, that takes longer than this is a hang; `None` leaves it to
    /// [`Shape::hangs_after`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure_max: Option<Nanos>,
    /// Rounds of this case, where the method fixes them (a compat mode); `None` where precision and budget decide.
    pub rounds: Option<u32>,
    /// What happens before every round.
    pub settle: Settle,
    /// True where the measured part may be shortened, down to `measure_min`, to fit a budget; no fixed work can.
    pub shortenable: bool,
    /// The measured part is not shortened below this; no less than [`Shape::MEASURE_MIN`].
    pub measure_min: Nanos,
    /// True where the copies are threads of one worker process and not processes of their own.
    pub threads: bool,
    /// The length of a window.
    pub window: Nanos,
    /// Where somebody looks on, how far a round is is told so often from its own beginning; `None` for whenever whoever
    /// looks on asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<Nanos>,
    /// True where a round has no windows: its parts are different things, and a rate over time would show their order.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub windowless: bool,
    /// True where the copies do different things, so that what each of them did is kept apart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub apart: bool,
    /// True where a round that somebody interrupts ends in good order and is kept: a job that is cut short is a job,
    /// and what it did until then a result. Others are thrown away: shorter rounds would not be like the rest.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ends_early: bool,
}

impl Shape {
    /// No round is shortened below this: two windows of 100 ms are needed to speak of a floor.
    pub const MEASURE_MIN: Nanos = Nanos::from_millis(200);

    /// The usual round: 100 ms of warm-up, half a second of measurement.
    pub const DEFAULT: Self = Self {
        setup: Nanos::ZERO,
        setup_max: Nanos::from_secs(60),
        warmup: Nanos::from_millis(100),
        measure: Nanos::from_millis(500),
        fixed_work: false,
        measure_max: None,
        rounds: None,
        settle: Settle::None,
        shortenable: true,
        measure_min: Self::MEASURE_MIN,
        window: Nanos::from_millis(100),
        interval: None,
        windowless: false,
        threads: false,
        apart: false,
        ends_early: false,
    };

    /// The measured part may take this much longer than expected, on top of twice that: one slow operation (a shell
    /// script on a loaded machine takes seconds) is not a hang.
    const HANG_GRACE: Nanos = Nanos::from_secs(30);

    /// When the measured part is over; `None` where only its work decides.
    pub fn over_after(&self) -> Option<Nanos> {
        (!self.fixed_work).then_some(self.measure)
    }

    /// Warm-up and measured part that take longer than this are a hang.
    pub fn hangs_after(&self) -> Nanos {
        let expected = self.warmup.plus(self.measure);
        let usual = Nanos(expected.0.saturating_mul(2)).plus(Self::HANG_GRACE);
        self.measure_max.unwrap_or(usual)
    }

    /// Whether the measured part may be made shorter to fit a budget.
    pub fn can_shorten(&self) -> bool {
        self.shortenable && !self.fixed_work
    }
}

/// What happens before a round so that the last one does not leak into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settle {
    /// Nothing.
    None,
    /// sync(2), so that dirty pages of the last round are not written back during this one.
    Sync,
    /// sync, 1 s, sync, 2 s: what UnixBench does before every pass.
    SyncSleep,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_print_and_parse_back() {
        let id: CaseId = "fs.copy-1024@16".parse().unwrap();
        assert_eq!((id.test.as_str(), id.copies), ("fs.copy-1024", 16));
        assert_eq!(id.to_string(), "fs.copy-1024@16");
        let metric = MetricId::try_from("os.pipe@1:ops_per_s".to_owned()).unwrap();
        assert_eq!(metric.to_string(), "os.pipe@1:ops_per_s");
        for bad in ["os.pipe", "os.pipe@", "os.pipe@0", "@1", "os.pipe@x"] {
            assert_eq!(bad.parse::<CaseId>(), Err(BadId(bad.to_owned())));
        }
    }
}
