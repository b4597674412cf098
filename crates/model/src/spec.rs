//! What a workload declares about itself: parameters, metrics, tests, documentation.
//!
//! A [`Spec`] is a constant in the workload's own file. Help, validation, JSON schema and documentation are all made
//! from it, which is why adding a workload touches one place.

use crate::units::Unit;
use serde::{Deserialize, Serialize};

/// What one workload is.
#[derive(Debug)]
pub struct Spec {
    /// `family.name`, such as `os.pipe`.
    pub name: &'static str,
    /// Raised whenever a change moves the workload's numbers; results of different versions do not compare.
    pub version: u32,
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
    /// The definition: what is counted, and from which instant to which.
    pub doc: &'static str,
}

/// Which direction of a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// True where the quantity describes the set-up and is no measurement.
    pub const fn is_setting(&self) -> bool {
        matches!(self.how, How::Setting)
    }
}

/// How a round's value of a metric comes about from what its copies did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum How {
    /// Work over wall time, summed over the copies. Work is operations times the body's work per operation.
    Rate,
    /// Work of all copies over the CPU time (user and system) that they used for it together: what a second on a CPU is
    /// worth, whoever else had one meanwhile.
    CpuRate,
    /// Operations of all copies over the same CPU time, whatever one operation is worth.
    OpsPerCpuSecond,
    /// This quantile (0 to 1) of the latencies of all copies together.
    LatencyQuantile(f64),
    /// The same for operations so long that a round holds only some: the smallest latency that this share of them did
    /// not exceed. Missing only where so few ended that it would be the longest of them.
    LatencyQuantileOfFew(f64),
    /// The mean of the latencies of all copies together.
    LatencyMean,
    /// Wall time over operations, as the mean over the copies.
    WallPerOp,
    /// The body reports the value by itself under the metric's quantity; copies are summed.
    ReportedSum,
    /// The body reports the value by itself under the metric's quantity; the mean over the copies counts.
    ReportedMean,
    /// The same of something that was chosen or obtained when the round was set up, such as the size of an array. It
    /// says what was measured and is no measurement: its state is "set-up", and it has no interval and no verdict.
    Setting,
    /// Operations over wall time, summed over the copies, whatever one operation is worth.
    OpsPerSecond,
    /// An amount that the body reports under this name, over wall time, summed over the copies.
    ReportedPerSecond(&'static str),
    /// CPU time of all copies, user and kernel mode, over the operations of all copies.
    CpuPerOp,
    /// This quantile (0 to 1) of the latencies that the bodies recorded under this name, all copies together. Missing
    /// where fewer than ten of them lie beyond it.
    QuantileOf(&'static str, f64),
    /// The mean of the latencies that the bodies recorded under this name, all copies together.
    MeanOf(&'static str),
}
