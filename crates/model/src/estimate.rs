//! What is concluded from the rounds of one case.

use crate::document::in_document;
use crate::plan::{CaseId, MetricId, PlannedMetric};
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

/// A value with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(into = "Figures")]
pub struct Estimate {
    /// The median of the rounds, in the metric's unit.
    pub value: f64,
    /// The interval, where the rounds allow one.
    pub interval: Option<Interval>,
    /// How many rounds stand behind it; 0 for what describes the set-up and was not measured.
    pub n: u32,
}

/// An interval that covers the true value with at least the stated confidence.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
    /// The nominal confidence, such as 0.95.
    pub confidence: f64,
}

impl Interval {
    /// Half the width as a share of `value`; `None` where `value` is 0.
    pub fn relative_half_width(&self, value: f64) -> Option<f64> {
        (value.abs() > 0.0).then(|| (self.hi - self.lo) / 2.0 / value.abs())
    }
}

/// A value with its interval, in a document: every key is always there.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Figures {
    /// The median; null where there is no value.
    estimate: Option<f64>,
    #[serde(flatten)]
    ends: Ends,
    /// How many rounds (for an index: passes) stand behind it; 0 for what describes the set-up (`setting`).
    n: u32,
}

/// An interval, in a document: null where the rounds allow none.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ends {
    /// The lower end.
    lo: Option<f64>,
    /// The upper end.
    hi: Option<f64>,
    /// The nominal confidence, such as 0.95.
    confidence: Option<f64>,
}

impl From<Estimate> for Figures {
    fn from(estimate: Estimate) -> Self {
        Some(estimate).into()
    }
}

impl From<Option<Estimate>> for Figures {
    fn from(estimate: Option<Estimate>) -> Self {
        Self {
            estimate: estimate.map(|estimate| estimate.value),
            ends: estimate.and_then(|estimate| estimate.interval).into(),
            n: estimate.map_or(0, |estimate| estimate.n),
        }
    }
}

impl From<Option<Interval>> for Ends {
    fn from(interval: Option<Interval>) -> Self {
        Self {
            lo: interval.map(|interval| interval.lo),
            hi: interval.map(|interval| interval.hi),
            confidence: interval.map(|interval| interval.confidence),
        }
    }
}

/// What a case's series looks like over the run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum State {
    /// Too few rounds to say.
    Unknown,
    /// Nothing but scatter around one level.
    Steady,
    /// A trend: the change from first to last, as a share of the median (negative: falling).
    Drifting {
        /// Last over first, minus 1.
        change: f64,
    },
    /// The level changed once: after this round, by this share.
    Step {
        /// Rounds before the step.
        #[serde(rename = "after_rounds")]
        after: u32,
        /// New level over old, minus 1.
        change: f64,
    },
    /// Two levels taken in turn.
    TwoState {
        /// The lower level, in the metric's unit.
        low: f64,
        /// The upper level, in the metric's unit.
        high: f64,
        /// Share of the rounds or of the time at the lower level, 0 to 1.
        low_share: f64,
        /// True where the levels were seen in the windows of the rounds, and the share is one of the time.
        of_windows: bool,
    },
    /// One level, or a trend: as large as one that is worth a word, and not unlikely enough by chance to be sure.
    PossibleDrift {
        /// Relative change from the first round to the last.
        change: f64,
    },
    /// One level, or two: some of the rounds lie apart from the others, and they are too few to tell more.
    PossibleTwoState {
        /// How many lie apart.
        #[serde(rename = "rounds_apart")]
        apart: u32,
        /// Their level over that of the others, minus 1.
        change: f64,
    },
    /// A soak: its rounds are stretches of one series, which has a course of its own.
    Series,
    /// No series of measurements at all: how the rounds were set up ([`PlannedMetric::setting`]).
    Setting {
        /// True where every round was set up alike; otherwise the value is that of the middle one.
        alike: bool,
    },
    /// The rounds scatter so widely that no single number describes them: (max - min) over the median.
    Unstable {
        /// The spread.
        spread: f64,
    },
}

/// Everything concluded about one metric of one case.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricSummary {
    /// `TEST@CONCURRENCY:QUANTITY`.
    pub id: MetricId,
    /// What it is.
    #[serde(skip)]
    pub metric: PlannedMetric,
    /// The case's title.
    pub title: String,
    /// The workload's version.
    pub workload_version: u32,
    /// The value; `None` with the reason in `missing`.
    #[serde(flatten, serialize_with = "in_document::<_, Figures, _>")]
    #[schemars(with = "Figures")]
    pub estimate: Option<Estimate>,
    /// Why there is no estimate; null where there is one.
    pub missing: Option<String>,
    /// The same for the slow end: the median over rounds of each round's 10th percentile window. Rates only.
    pub floor: Option<Estimate>,
    /// What the series looks like.
    #[serde(flatten)]
    pub state: State,
    /// The value of each round that has one, in the order in which they ran.
    pub rounds: Vec<f64>,
    /// In which share of the rounds each kind of noise was seen.
    pub noise: NoiseShares,
    /// What makes the number doubtful.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// The share (0 to 1) of a metric's rounds in which each kind of noise was seen, of those rounds for which it is known;
/// `None` where it is known for none. 0 is quiet. The thresholds are those of the warnings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct NoiseShares {
    /// More than 2 % of the demanded time was stolen by the host.
    pub steal: Option<f64>,
    /// A probe lost unusually much time in gaps.
    pub gaps: Option<f64>,
    /// Other processes used more than 5 % of a CPU.
    pub foreign_cpu: Option<f64>,
    /// A CPU quota held the measurement back.
    pub throttled: Option<f64>,
    /// The wall clock was set, or the machine suspended.
    pub clock_trouble: Option<f64>,
    /// A probe was more than 3 % off the run's median.
    pub uneven_speed: Option<f64>,
    /// A probe found that something else ran on the core too, and nothing in this machine was the cause.
    pub shared_core: Option<f64>,
}

/// An index: one number for several tests, with its interval.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexSummary {
    /// Which index, such as `unixbench`.
    pub id: String,
    /// The concurrency of its cases.
    #[serde(rename = "concurrency")]
    pub copies: u32,
    /// The value: the median over passes of the index of each pass, or what a compat mode computes.
    #[serde(flatten, serialize_with = "in_document::<_, Figures, _>")]
    #[schemars(with = "Figures")]
    pub estimate: Option<Estimate>,
    /// Why there is no estimate; null where there is one.
    pub missing: Option<String>,
    /// Its parts: case, its score in the index's own unit, and the index of that test alone.
    #[serde(rename = "tests")]
    pub parts: Vec<IndexPart>,
    /// True where not all tests of the index were measured.
    pub partial: bool,
    /// Its tests whose rounds no single number describes: two states, or unstable. They are part of it all the same.
    pub without_single_number: Vec<CaseId>,
    /// The version whose durations, passes and rule it has (a compat mode); null for the median over passes.
    pub compat: Option<String>,
}

impl IndexSummary {
    /// The value where all of its tests were measured: any other one must not be taken for the index.
    pub fn whole(&self) -> Option<Estimate> {
        self.estimate.filter(|_| !self.partial)
    }
}

/// One test's part in an index.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexPart {
    /// The case.
    pub case: CaseId,
    /// The test's title in the index's own report.
    pub title: String,
    /// The score in the index's own unit.
    pub score: f64,
    /// That unit, as the index's own report prints it.
    pub unit: String,
    /// The reference machine's score.
    pub baseline: f64,
    /// Ten times score over baseline.
    pub index: f64,
    /// Seconds per sample, as the index's own report prints them.
    #[serde(rename = "seconds_per_sample")]
    pub seconds: f64,
    /// How many samples.
    pub samples: u32,
}
