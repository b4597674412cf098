//! What a workload declares about itself: parameters, metrics, tests, documentation.
//!
//! A [`Spec`] is a constant in the workload's own file. Help, validation, JSON schema and documentation are all made
//! from it, which is why adding a workload touches one place.

use crate::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one workload is.
#[derive(Debug)]
pub struct Spec {
    /// `family.name`, such as `os.pipe`.
    pub name: &'static str,
    /// Raised whenever a change moves the workload's numbers; results of different versions do not compare.
    pub version: u32,
    /// What its cases are about.
    pub nature: Nature,
    /// One line for lists, without a full stop.
    pub title: &'static str,
    /// What one operation is, what it costs, and what the figure is good for. Markdown.
    pub doc: &'static str,
    /// Every parameter, in the order in which help shows them.
    pub params: &'static [ParamDef],
    /// Every metric that a round yields, the most telling first.
    pub metrics: &'static [MetricDef],
    /// The named tests made of this workload.
    pub tests: &'static [TestDef],
    /// True for workloads that play a known result instead of using the machine: no noise is recorded for them.
    pub simulated: bool,
    /// True where the figures depend on the file system of the work directory.
    pub on_disk: bool,
}

/// What a case is about, and so which questions are asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nature {
    /// CPUs and what is near them.
    Compute,
    /// Memory and the way to it, which other machines of a host share.
    Memory,
    /// The kernel: system calls, scheduling, processes.
    System,
    /// Files, through the page cache.
    FileSystem,
    /// Reads and writes of storage.
    Storage,
    /// A database server.
    Database,
    /// The way to another host, or this one's own part of it.
    Network,
}

/// A test: a workload with fixed parameters and a name.
#[derive(Debug)]
pub struct TestDef {
    /// The name, such as `fs.copy-1024`; the workload's own name for the plain test.
    pub name: &'static str,
    /// One line for lists, without a full stop.
    pub title: &'static str,
    /// Parameters that differ from the defaults, as the user would write them.
    pub params: &'static [(&'static str, &'static str)],
}

impl TestDef {
    /// A test of this name and title.
    pub const fn new(
        name: &'static str,
        title: &'static str,
        params: &'static [(&'static str, &'static str)],
    ) -> Self {
        Self {
            name,
            title,
            params,
        }
    }
}

/// One parameter of a workload.
#[derive(Debug)]
pub struct ParamDef {
    /// The name as typed behind `--set TEST.`.
    pub name: &'static str,
    /// What values it takes.
    pub kind: ParamKind,
    /// The default, as the user would write it.
    pub default: &'static str,
    /// Meaning, unit and range. One sentence or two.
    pub doc: &'static str,
}

/// The values a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// A whole number within the bounds, both included.
    Count {
        /// The smallest allowed value.
        min: u64,
        /// The largest allowed value.
        max: u64,
    },
    /// A span of time: `500ms`, `10s`, `5m`, `24h`, or `0`.
    Duration,
    /// An amount of data: `4k`, `1M`, `2GiB`; k, M, G, T, also m, g, t, count in 1024s, kB, MB, GB, TB in 1000s.
    Size,
    /// One of the listed words.
    Choice(&'static [&'static str]),
    /// `yes` or `no`.
    Switch,
    /// Any text.
    Text,
    /// Storage jobs, which nobody writes: a dialect makes them.
    Jobs,
    /// Work on file sets, which a dialect makes as well.
    Files,
}

impl ParamKind {
    /// The values in words.
    pub fn in_words(self) -> String {
        match self {
            Self::Count { min, max: u64::MAX } => format!("a whole number from {min}"),
            Self::Count { min, max } => format!("a whole number from {min} to {max}"),
            Self::Duration => "a time, such as `500ms` or `10s`".to_owned(),
            Self::Size => "a size, such as `4k` or `1M`".to_owned(),
            Self::Choice(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
                words.join(", ")
            }
            Self::Switch => "`yes` or `no`".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Jobs => "jobs of a job file".to_owned(),
            Self::Files => "file workloads of a parameter file".to_owned(),
        }
    }
}

/// One metric of a workload: a quantity with its unit, direction and definition.
#[derive(Debug)]
pub struct MetricDef {
    /// The quantity's key with its unit at the end, such as `clat_ns_p99`.
    pub quantity: &'static str,
    /// The unit of the value.
    pub unit: Unit,
    /// Which direction is good.
    pub better: Better,
    /// Which margin applies by default when two runs are compared.
    pub class: MetricClass,
    /// How a round's value comes about.
    pub how: How,
    /// What it is to those who conclude from several.
    pub role: Role,
    /// The definition: what is counted, and from which instant to which.
    pub doc: &'static str,
}

/// Which direction of a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better, as for rates.
    Higher,
    /// Less is better, as for latencies.
    Lower,
}

/// What kind of quantity a metric is; the default margin of a comparison follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetricClass {
    /// CPU and memory work: margin 2 %.
    Compute,
    /// System calls, scheduling, processes: margin 5 %.
    System,
    /// Storage, file system, database, network throughput: margin 5 %.
    Throughput,
    /// A median or mean latency: margin 5 %.
    LatencyTypical,
    /// A 95th to 99th percentile: margin 10 %.
    LatencyTail,
    /// A 99.9th percentile and beyond: margin 25 %.
    LatencyExtreme,
}

impl MetricClass {
    /// The default margin, as a share of the value (0.02 means 2 %). Source: the method page, "Margins".
    pub const fn margin(self) -> f64 {
        match self {
            Self::Compute => 0.02,
            Self::System | Self::Throughput | Self::LatencyTypical => 0.05,
            Self::LatencyTail => 0.10,
            Self::LatencyExtreme => 0.25,
        }
    }
}

impl MetricDef {
    /// A rate, of which more is better.
    pub const fn rate(
        quantity: &'static str,
        unit: Unit,
        class: MetricClass,
        how: How,
        doc: &'static str,
    ) -> Self {
        Self {
            quantity,
            unit,
            better: Better::Higher,
            class,
            how,
            role: Role::Plain,
            doc,
        }
    }

    /// A time in nanoseconds, of which less is better.
    pub const fn time(
        quantity: &'static str,
        class: MetricClass,
        how: How,
        doc: &'static str,
    ) -> Self {
        Self {
            better: Better::Lower,
            ..Self::rate(quantity, Unit::Nanoseconds, class, how, doc)
        }
    }

    /// True where the quantity describes the set-up and is no measurement.
    pub const fn is_setting(&self) -> bool {
        matches!(self.how, How::Setting)
    }

    /// The same metric in this role.
    #[must_use]
    pub const fn acting(self, role: Role) -> Self {
        Self { role, ..self }
    }
}

/// What a metric is to those who conclude from several of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A value that stands for itself.
    Plain,
    /// A value without which the case's first metric says little: it stands below it wherever that does in a table.
    Below,
    /// How much load there was beside: the case's first metric is a point of a curve over it.
    Load,
    /// The rate at which work arrived at each copy, as a share of what another case came to: the case is a point of a
    /// curve of latency over it.
    Offered,
    /// The share of the time in which the device below had something to do.
    DeviceBusy,
    /// The share of the bytes read that no device delivered.
    Cached,
    /// The rate of the first writes of places that nothing was written to before.
    FirstWrites,
    /// The rate of the second writes of the same places.
    SecondWrites,
    /// A curve: each round has a value for each of many x in this unit, which the body reports as `QUANTITY_X`. None
    /// of them is a metric.
    Curve(Unit),
    /// A matrix: each round has a value for each pair of CPUs, which the body reports as `QUANTITY_A_B`. None of them
    /// is a metric.
    Matrix,
    /// A series: each round has values over its time, which the body hands over under the quantity; those of the
    /// copies become one as [`How::Reported`] says. None of them is a metric.
    Series,
}

impl Role {
    /// True for curves, matrices and series: nobody gives a verdict on a single point.
    pub const fn is_picture(self) -> bool {
        matches!(self, Self::Curve(_) | Self::Matrix | Self::Series)
    }
}

/// How a round's value of a metric comes about from what its copies did. `N` is what names are: constants in a
/// declaration, text in a plan.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How<N = &'static str> {
    /// An amount over a time.
    Per(Amount<N>, Time),
    /// The other way round: a time over operations, in nanoseconds. Of the wall clock it is the mean over the copies,
    /// of the CPU the time of all copies over the operations of all copies.
    TimePerOp(Time),
    /// A figure of the latencies that were recorded under this name, all copies together. What
    /// [`crate::latency::LAT`] names, the engine can record by itself.
    Of(N, Stat),
    /// The body reports the value by itself under the metric's quantity.
    Reported(Fold),
    /// It also reports what was chosen or obtained when the round was set up, such as the size of an array; the mean
    /// over the copies. It says what was measured and is no measurement: its state is "set-up", and it has no interval
    /// and no verdict.
    Setting,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Amount<N = &'static str> {
    /// Operations times the body's work per operation.
    Work,
    /// Operations, whatever one is worth.
    Operations,
    /// An amount that the body reports under this name.
    Reported(N),
}

/// By which clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Time {
    /// Wall time; the rates of the copies are summed.
    Wall,
    /// The CPU time (user and system) that all copies used together: what a second on a CPU is worth, whoever else had
    /// one meanwhile.
    Cpu,
}

/// A figure of latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stat {
    /// The shortest.
    Shortest,
    /// The mean.
    Mean,
    /// The standard deviation of all of them from their mean.
    Deviation,
    /// The longest.
    Longest,
    /// The smallest that this share of them, above 0 and below 1, did not exceed. Missing where fewer than ten of them
    /// are expected to lie beyond it.
    Quantile(f64),
    /// The same for operations so long that a round holds only some: missing only where so few ended that it would be
    /// the longest of them.
    QuantileOfFew(f64),
}

/// How the values of the copies become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fold {
    /// Their sum.
    Sum,
    /// Their mean.
    Mean,
}

impl How {
    /// As a plan keeps it.
    pub fn planned(self) -> How<String> {
        match self {
            Self::Per(amount, time) => How::Per(amount.planned(), time),
            Self::TimePerOp(time) => How::TimePerOp(time),
            Self::Of(name, stat) => How::Of(name.to_owned(), stat),
            Self::Reported(fold) => How::Reported(fold),
            Self::Setting => How::Setting,
        }
    }
}

impl Amount {
    fn planned(self) -> Amount<String> {
        match self {
            Self::Work => Amount::Work,
            Self::Operations => Amount::Operations,
            Self::Reported(name) => Amount::Reported(name.to_owned()),
        }
    }
}
