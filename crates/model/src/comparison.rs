//! What is concluded from two runs, or from two groups of runs.

use crate::document::in_document;
use crate::estimate::{Ends, Interval, State};
use crate::plan::{CaseId, MetricId};
use crate::units::Nanos;
use crate::warning::Warning;
use schemars::JsonSchema;
use serde::Serialize;

/// What is told of either side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Both<T> {
    /// Of the base.
    pub base: T,
    /// Of the other side.
    pub other: T,
}

impl<T> From<(T, T)> for Both<T> {
    /// The base, then the other side.
    fn from((base, other): (T, T)) -> Self {
        Self { base, other }
    }
}

/// The conclusion about one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Better; by how much is not sure.
    #[serde(rename = "better?")]
    BetterMaybe,
    /// Worse; by how much is not sure.
    #[serde(rename = "worse?")]
    WorseMaybe,
    /// No difference beyond the margin.
    Same,
    /// Neither a difference nor sameness is sure.
    Unclear,
}

impl Verdict {
    /// The word in output: `better`, `worse`, `better?`, `worse?`, `same`, `unclear`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::BetterMaybe => "better?",
            Self::WorseMaybe => "worse?",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }

    /// The direction alone, where that is sure and the size is not.
    #[must_use]
    pub const fn without_doubt(self) -> Self {
        match self {
            Self::BetterMaybe => Self::Better,
            Self::WorseMaybe => Self::Worse,
            sure => sure,
        }
    }

    /// The direction with a doubt, where the size was sure.
    #[must_use]
    pub const fn with_doubt(self) -> Self {
        match self {
            Self::Better => Self::BetterMaybe,
            Self::Worse => Self::WorseMaybe,
            other => other,
        }
    }

    /// The same conclusion seen from the other side.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            Self::BetterMaybe => Self::WorseMaybe,
            Self::WorseMaybe => Self::BetterMaybe,
            same => same,
        }
    }
}

/// What it would take to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoundsNeeded {
    /// About this many rounds on each side in all.
    Rounds(u32),
    /// About this many pairs of rounds in all, where the two runs are a duel.
    Pairs(u32),
    /// About this many runs on each side in all, each from an instance of its own.
    Instances(u32),
    /// As many rounds on each side as an interval needs: how many a verdict needs is not known before.
    RoundsAtLeast(u32),
    /// As many pairs of rounds, likewise.
    PairsAtLeast(u32),
    /// As many runs on each side, likewise.
    InstancesAtLeast(u32),
    /// More than 200: not at this noise level.
    NotAtThisNoise,
}

/// Why no number of rounds that anybody runs would tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Hopeless {
    /// The ratio lies on its margin, so that the interval stays on both sides of it.
    OnTheMargin,
    /// The host takes time away in most of the rounds.
    Steal,
    /// Rounds differ among themselves by more than their windows explain.
    BetweenRounds,
    /// The windows of a round scatter, and rounds hardly beyond that.
    WithinRounds,
    /// The instances of a plan differ among themselves.
    BetweenInstances,
    /// Runs of one machine differ by more than is left to prove.
    BetweenRuns,
    /// Where the scatter comes from cannot be seen: the metric has no windows.
    Unseen,
}

impl Hopeless {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::OnTheMargin,
        Self::Steal,
        Self::BetweenRounds,
        Self::WithinRounds,
        Self::BetweenInstances,
        Self::BetweenRuns,
        Self::Unseen,
    ];
}

/// Two runs' values of one metric, and the conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// `TEST@CONCURRENCY:QUANTITY`.
    pub id: MetricId,
    /// The case's title.
    pub title: String,
    /// Other over base, turned so that above 1 is better; null where `missing` says why.
    pub ratio: Option<f64>,
    /// Its 95 % interval, not corrected for the number of metrics.
    #[serde(flatten, serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
    /// The 95 % interval of the minutes that were measured, without the scatter between runs; null for pairs and for
    /// runs of instances, of which that is the one above.
    pub minutes: Option<Interval>,
    /// What runs of either machine differ by; null likewise.
    pub scatter: Both<Option<Scatter>>,
    /// The margin within which values count as the same, as a share.
    pub margin: f64,
    /// Where the margin comes from.
    pub margin_source: MarginSource,
    /// The conclusion from the interval by itself.
    pub verdict: Verdict,
    /// The conclusion corrected for the number of metrics. A difference that only holds with rounds that something
    /// inside of a machine disturbed has a doubt.
    pub adjusted: Verdict,
    /// What these rounds were disturbed by, where that is the doubt.
    pub doubt: Option<Inside>,
    /// What it would take to tell, where the verdict is not final.
    pub needed: Option<RoundsNeeded>,
    /// Why no number of rounds would do, where that is so.
    #[serde(rename = "not_at_this_noise_because")]
    pub hopeless: Option<Hopeless>,
    /// Why there is no ratio or no interval.
    #[serde(skip)]
    pub refused: Option<Refusal>,
    /// Rounds of each side; runs, where groups are compared.
    pub n: Both<u32>,
    /// The central values, in the metric's unit: what the `estimator` of the comparison names, so that one over the
    /// other is the ratio. Null where a value has no logarithm.
    pub values: Both<Option<f64>>,
    /// The medians of the rounds (or runs), in the metric's unit: what a run by itself shows.
    pub medians: Both<Option<f64>>,
    /// What the rounds of each run look like. Where one has no single level (`two_state`, `unstable`), the values, the
    /// ratio and the verdict are about a mean at which the machine may never run.
    pub states: Both<Vec<RunState>>,
    /// The same comparison of slow moments; leading rates only, and only where rounds have windows.
    pub floor: Option<FloorComparison>,
}

/// What the rounds of one run look like.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RunState {
    /// The run's id.
    pub run: String,
    /// What they look like.
    #[serde(flatten)]
    pub state: State,
}

/// What ratios are ratios of. All of them are formed on logarithms, so that each side's value is a geometric mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub enum Estimator {
    /// The mean of a side's rounds without the fifth at either end.
    #[serde(rename = "trimmed_geometric_mean_of_rounds")]
    Rounds,
    /// The means of both sides over the pairs that are left when the fifth of the smallest and of the largest
    /// differences is set aside.
    #[serde(rename = "trimmed_geometric_mean_of_pairs")]
    Pairs,
    /// The mean of the medians of a side's runs.
    #[serde(rename = "geometric_mean_of_runs")]
    Runs,
}

impl Estimator {
    /// Every estimator.
    pub const ALL: [Self; 3] = [Self::Rounds, Self::Pairs, Self::Runs];
}

/// Where a margin comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarginSource {
    /// The user gave it.
    Given,
    /// It is that of the metric's class.
    Class,
}

/// What runs of one machine differ by in a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Scatter {
    /// The standard deviation that the interval was made with, as a share: that of the means of the runs of a side
    /// (`given`), what was asked for (`asked`), or else the upper 80 % limit of what was seen beyond what rounds say.
    pub deviation: f64,
    /// Where it comes from.
    #[serde(flatten)]
    pub source: ScatterSource,
}

/// Where the scatter between runs comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "source", rename_all = "snake_case")]
pub enum ScatterSource {
    /// The runs of the side, three or more.
    Given,
    /// Earlier runs of the machine.
    Earlier {
        /// How many.
        runs: u32,
    },
    /// Runs on machines of the project, built into the program.
    Shipped {
        /// How many.
        runs: u32,
    },
    /// What tests of that class do: nobody has measured this one.
    Class,
    /// Whoever compares said so.
    Asked,
}

/// What disturbs rounds from inside of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Inside {
    /// Other programs used a CPU.
    Others,
    /// A CPU quota held some of the rounds back.
    Quota,
    /// Tasks waited for memory.
    Memory,
}

/// How two runs compare in their slow moments: in each round the 10th percentile of its windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FloorComparison {
    /// Other over base; above 1 is better.
    pub ratio: Option<f64>,
    /// Its 95 % interval, not corrected for the number of metrics.
    #[serde(flatten, serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
    /// The conclusion from the interval by itself, at the metric's margin.
    pub verdict: Verdict,
    /// The conclusion corrected for the number of metrics, with the doubt.
    pub adjusted: Verdict,
    /// What disturbed rounds without which the direction is not sure, where it is so.
    pub doubt: Option<Inside>,
    /// The central values of the floors, in the metric's unit: what the `estimator` of the comparison names.
    pub values: Both<Option<f64>>,
    /// The medians of the floors of the rounds (or runs), likewise.
    pub medians: Both<Option<f64>>,
    /// The share of windows below 90 % of the typical rate, 0 to 1.
    pub slow_shares: Both<Option<f64>>,
}

/// Why two values do not compare.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "kind", content = "figures", rename_all = "snake_case")]
pub enum Refusal {
    /// Only one of the runs has the case.
    OneSideOnly {
        /// True where it is the base that has it.
        base_has_it: bool,
    },
    /// The workload's version differs.
    WorkloadVersion {
        /// The version in the base.
        base: u32,
        /// The version in the other run.
        other: u32,
    },
    /// Parameters differ: name, value in the base, value in the other run.
    Parameters(Vec<(String, String, String)>),
    /// Both sides planned it, and a side has no value in any round.
    NoValue {
        /// True where the base has none.
        base: bool,
        /// True where the other side has none.
        other: bool,
        /// Why the first of them has none.
        why: String,
    },
    /// One side has fewer rounds than an interval needs.
    TooFewRounds {
        /// Rounds of the base's run that has the fewest.
        base: u32,
        /// Rounds of the other side's run that has the fewest.
        other: u32,
        /// Rounds needed on each side.
        need: u32,
    },
    /// A side was imported, and has fewer figures than an interval needs.
    TooFewImported {
        /// Rounds of the base's run that has the fewest.
        base: u32,
        /// Rounds of the other side's run that has the fewest.
        other: u32,
        /// Rounds needed on each side.
        need: u32,
    },
    /// A duel has fewer pairs of rounds than an interval needs.
    TooFewPairs {
        /// Pairs of which both rounds have a value.
        pairs: u32,
        /// Pairs needed.
        need: u32,
        /// A run by which the duel can be gone on with; `None` where it is over.
        resume: Option<String>,
    },
    /// One side has fewer runs than an interval for a plan needs.
    TooFewRuns {
        /// Runs that measured it on the base side.
        base: u32,
        /// Runs that measured it on the other side.
        other: u32,
        /// Runs needed on each side.
        need: u32,
    },
    /// The runs of one side did not measure the same.
    GroupDisagrees {
        /// True where it is the base's runs that disagree.
        on_base: bool,
        /// Two runs that disagree.
        runs: (String, String),
        /// In what.
        why: Box<Self>,
    },
    /// A side is a soak: its stretches depend on one another, so that they give no interval.
    Soak {
        /// True where the base is one.
        base: bool,
        /// True where the other side is one.
        other: bool,
    },
    /// A value is zero, negative or not finite, so there is no ratio.
    NoRatio {
        /// True where the base has nothing but zeros, as a count of what never happened.
        base_is_zero: bool,
        /// The same of the other side.
        other_is_zero: bool,
    },
    /// The ratio is larger or smaller than any number that a page could show.
    BeyondNumbers,
    /// The sides declare the metric otherwise: what, on the base, on the other side.
    Declared(String, String, String),
}

/// A family of metrics as one figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CategoryComparison {
    /// The family: `cpu`, `os`, `fs`...
    pub category: String,
    /// The ratio of the geometric means that are formed within each pass; without an interval the geometric mean of the
    /// ratios. Above 1 is better.
    pub ratio: f64,
    /// Its 95 % interval.
    #[serde(flatten, serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
    /// The margin: the widest of its metrics' margins.
    pub margin: f64,
    /// The conclusion, corrected (Holm) over the categories, with the doubt; that of its metric where it has one alone.
    pub verdict: Verdict,
    /// What disturbed rounds without which the direction is not sure, where it is so.
    pub doubt: Option<Inside>,
    /// How many metrics are in it.
    pub metrics: u32,
}

/// One run against the base.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Comparison {
    /// One entry for each metric of either run that was measured, in the base's order. What describes the set-up is
    /// among the differences.
    #[serde(skip)]
    pub metrics: Vec<MetricComparison>,
    /// One entry for each family that has at least one ratio.
    pub categories: Vec<CategoryComparison>,
    /// Cases that are in no category: a parameter gives the rate of their work, so that it is no result.
    pub left_out: Vec<CaseId>,
    /// What differs in the set-up.
    pub differences: Vec<Difference>,
    /// True where the rounds were measured in pairs (a duel) and compared as pairs.
    pub paired: bool,
    /// What the ratios of the metrics are ratios of.
    pub estimator: Estimator,
    /// What took time from the rounds of each side, in enough of them to matter.
    #[serde(skip)]
    pub disturbed: Both<Vec<Warning>>,
    /// True where looks at the data decided how many rounds there are: verdicts are then read at a stricter level than
    /// that of the intervals.
    pub looked: bool,
    /// What the conclusions are about.
    #[serde(skip)]
    pub scope: Scope,
    /// The earlier runs of either machine that were asked for its scatter, by id.
    pub earlier: Both<Vec<String>>,
    /// How far neighbouring rounds of each run depend on one another, 0 to 1: intervals are that much wider.
    pub dependence: Both<Vec<f64>>,
    /// Runs of one side that come, or may come, from one and the same instance; each entry is one instance.
    pub repeats: Vec<Repeat>,
    /// Cases that are the same storage job and have two names; figures stand under that of the base.
    pub joined: Vec<Joined>,
    /// Cases of other names that are storage jobs of the same kind, and not the same job.
    pub not_joined: Vec<NotJoined>,
}

/// A case of either side: the same storage job, whatever it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Joined {
    /// What the base calls it.
    pub base: CaseId,
    /// What the other run calls it.
    pub other: CaseId,
    /// What of the job only one of them says, so that it may differ.
    pub unknown: Vec<String>,
}

impl Comparison {
    /// What disturbed each difference that is in doubt: of metrics, of their slow moments, and of categories that are
    /// more than one metric.
    pub fn doubts(&self) -> impl Iterator<Item = Inside> {
        let metrics = self.metrics.iter();
        let metrics =
            metrics.flat_map(|metric| [metric.doubt, metric.floor.and_then(|floor| floor.doubt)]);
        let categories = self.categories.iter().filter(|one| one.metrics > 1);
        let doubts = metrics.chain(categories.map(|one| one.doubt));
        doubts.flatten()
    }
}

/// What a conclusion is about: which machines, and for how long they were watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scope {
    /// Which machines.
    #[serde(flatten)]
    pub place: Place,
    /// When, and for how long.
    #[serde(flatten)]
    pub watched: Watched,
}

/// For how long machines were watched before something was concluded about them. Time between two runs, in which
/// nothing was measured, is never counted as watched, so that two runs days apart are not "these three days".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Watched {
    /// At one time.
    Once {
        /// From the start of a run, or of the first of several that overlap, to the end of the last. Of groups the
        /// shortest run.
        #[serde(rename = "span_ns")]
        span: Nanos,
    },
    /// At times of which nothing is known: a run was imported.
    NotKnown {},
    /// At two times, one run after the other.
    Twice {
        /// From start to end of the base.
        #[serde(rename = "base_span_ns")]
        base: Nanos,
        /// The same of the other run.
        #[serde(rename = "other_span_ns")]
        other: Nanos,
        /// From the start of the earlier run to that of the later one.
        #[serde(rename = "apart_ns")]
        apart: Nanos,
    },
}

/// Which machines a conclusion is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "place")]
pub enum Place {
    /// One instance.
    #[serde(rename = "this_instance")]
    OneInstance,
    /// Two instances, one on each side.
    #[serde(rename = "these_two_instances")]
    TwoInstances,
    /// One run on each side, of which it is not known whether they come from one instance.
    #[serde(rename = "these_two_runs")]
    TwoRuns,
    /// What the provider rents out under this name: at least five separate instances on each side.
    #[serde(rename = "this_plan")]
    Plan {
        /// Instances on the base side.
        #[serde(rename = "base_runs")]
        base: u32,
        /// Instances on the other side.
        #[serde(rename = "other_runs")]
        other: u32,
    },
    /// Several runs, of too few instances, of instances that occur twice, or of instances that are not known.
    #[serde(rename = "these_runs")]
    Runs {
        /// Runs on the base side.
        #[serde(rename = "base_runs")]
        base: u32,
        /// Runs on the other side.
        #[serde(rename = "other_runs")]
        other: u32,
    },
}

/// Runs of one side that come, or may come, from the same instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Repeat {
    /// True for the base side.
    pub on_base: bool,
    /// True where they surely come from one instance, false where they cannot be told apart.
    pub sure: bool,
    /// The ids of the runs.
    pub runs: Vec<String>,
}

/// A case of either side: the same pattern, block size, engine, depth and copies, and all the same not the same job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NotJoined {
    /// What the base calls its own.
    pub base: CaseId,
    /// What the other run calls its own.
    pub other: CaseId,
    /// In what they differ, or what is not known of one of them: name, value in the base, value in the other run.
    pub parameters: Vec<(String, String, String)>,
}

/// Something about the machines or programs that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Difference {
    /// What: `kernel`, `mitigations: spectre_v2`, `binary`...
    pub what: String,
    /// Its value in the base.
    pub base: String,
    /// Its value in the other run.
    pub other: String,
}
