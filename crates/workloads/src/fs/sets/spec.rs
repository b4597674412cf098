//! What `fs.sets` declares: for each of thirteen operations its rate, its latencies and their series.

use super::tally::RESP;
use crate::arrivals::LATE_MEAN;
use model::fileset::{FileOperation, FileWork};
use model::latency::LAT;
use model::spec::{
    Amount, Fold, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, Stat, Time,
};
use model::units::Unit;

/// The name of the workload.
pub const NAME: &str = "fs.sets";

/// The name of its one parameter.
pub(super) const PARAM: &str = "work";

pub(super) static SPEC: Spec = Spec {
    name: NAME,
    version: 1,
    nature: Nature::FileSystem,
    title: "operations on file sets, as parameter files describe them",
    doc: "Each copy does one task of the list, which `kurabe vdbench` makes from parameter files: one of thirteen \
          operations on a tree of directories and files, by threads of its own. What is counted are the operations \
          that the tasks ask for; opening and closing around reads and writes are told beside them. A response time \
          is that of the calls alone, as vdbench has it; where operations arrive by themselves, a latency counts \
          from then. The sets stand in the run's own directory at each anchor and go with it.",
    params: &[ParamDef {
        name: PARAM,
        kind: ParamKind::Files,
        default: "",
        doc: "The sets, and the tasks on them.",
    }],
    metrics: METRICS,
    tests: &[],
    simulated: false,
    on_disk: true,
};

const fn per_s(
    quantity: &'static str,
    unit: Unit,
    of: &'static str,
    doc: &'static str,
) -> MetricDef {
    let how = How::Per(Amount::Reported(of), Time::Wall);
    MetricDef::rate(quantity, unit, MetricClass::Throughput, how, doc)
}

const fn time(
    quantity: &'static str,
    class: MetricClass,
    name: &'static str,
    stat: Stat,
    doc: &'static str,
) -> MetricDef {
    MetricDef::time(quantity, class, How::Of(name, stat), doc)
}

const fn series(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::rate(quantity, unit, MetricClass::Throughput, how, doc).acting(Role::Series)
}

const fn series_of_times(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::time(quantity, MetricClass::LatencyTypical, how, doc).acting(Role::Series)
}

const RATE: &str = "Operations of this kind that ended well, those around others among them.";
const CALL: &str =
    "Time of the call; of a copy or move, from its first call to the end of its last.";
const AT: &str = "The same over each interval of the report.";

/// What is declared of one operation.
pub(super) struct Of {
    pub(super) metrics: [MetricDef; 4],
    pub(super) series: [MetricDef; 2],
    /// Under which names it is reported: how many, and their times together.
    pub(super) reported: [&'static str; 2],
}

macro_rules! of {
    ($word:literal) => {
        Of {
            metrics: [
                per_s(
                    concat!($word, "_per_s"),
                    Unit::OpsPerSecond,
                    concat!($word, "_ops"),
                    RATE,
                ),
                time(
                    concat!($word, "_ns_mean"),
                    MetricClass::LatencyTypical,
                    $word,
                    Stat::Mean,
                    CALL,
                ),
                time(
                    concat!($word, "_ns_p99"),
                    MetricClass::LatencyTail,
                    $word,
                    Stat::Quantile(0.99),
                    CALL,
                ),
                time(
                    concat!($word, "_ns_max"),
                    MetricClass::LatencyExtreme,
                    $word,
                    Stat::Longest,
                    CALL,
                ),
            ],
            series: [
                series(concat!($word, "_per_s_at"), Unit::OpsPerSecond, AT),
                series_of_times(concat!($word, "_ns_at"), AT),
            ],
            reported: [concat!($word, "_ops"), concat!($word, "_ns")],
        }
    };
}

/// In the order of [`FileOperation::ALL`].
pub(super) static EACH: [Of; 13] = [
    of!("mkdir"),
    of!("rmdir"),
    of!("create"),
    of!("delete"),
    of!("open"),
    of!("close"),
    of!("read"),
    of!("write"),
    of!("access"),
    of!("getattr"),
    of!("setattr"),
    of!("copy"),
    of!("move"),
];

/// What is asked for, whatever it is.
const ASKED: &str =
    "Time of the calls of what a task asks for, without opening, closing and waiting.";
const ARRIVED: &str =
    "From the instant at which an operation arrived to its end, opening a file for it included.";

pub(super) const OPS_PER_S: &str = "ops_per_s";
pub(super) const READ_BYTES: &str = "read_bytes";
pub(super) const WRITE_BYTES: &str = "write_bytes";
pub(super) const ASKED_NS: &str = "resp_ns";

pub(super) static METRICS: &[MetricDef] = &[
    MetricDef::rate(
        OPS_PER_S,
        Unit::OpsPerSecond,
        MetricClass::Throughput,
        How::Per(Amount::Work, Time::Wall),
        "Operations that the tasks ask for: reads and writes, and files and directories for all others.",
    ),
    time(
        "resp_ns_mean",
        MetricClass::LatencyTypical,
        RESP,
        Stat::Mean,
        ASKED,
    ),
    time(
        "resp_ns_p50",
        MetricClass::LatencyTypical,
        RESP,
        Stat::Quantile(0.5),
        ASKED,
    ),
    time(
        "resp_ns_p99",
        MetricClass::LatencyTail,
        RESP,
        Stat::Quantile(0.99),
        ASKED,
    ),
    time(
        "resp_ns_max",
        MetricClass::LatencyExtreme,
        RESP,
        Stat::Longest,
        ASKED,
    ),
    time(
        "lat_ns_mean",
        MetricClass::LatencyTypical,
        LAT,
        Stat::Mean,
        ARRIVED,
    ),
    time(
        "lat_ns_p50",
        MetricClass::LatencyTypical,
        LAT,
        Stat::Quantile(0.5),
        ARRIVED,
    ),
    time(
        "lat_ns_p99",
        MetricClass::LatencyTail,
        LAT,
        Stat::Quantile(0.99),
        ARRIVED,
    ),
    time(
        "lat_ns_max",
        MetricClass::LatencyExtreme,
        LAT,
        Stat::Longest,
        ARRIVED,
    ),
    LATE_MEAN,
    per_s(
        "read_bytes_per_s",
        Unit::BytesPerSecond,
        READ_BYTES,
        "Bytes read.",
    ),
    per_s(
        "write_bytes_per_s",
        Unit::BytesPerSecond,
        WRITE_BYTES,
        "Bytes written.",
    ),
    MetricDef::time(
        "cpu_ns_per_op",
        MetricClass::System,
        How::TimePerOp(Time::Cpu),
        "CPU time of this program and of the kernel on its behalf, per operation that was asked for.",
    ),
];

/// Series of what is asked for.
pub(super) static SERIES: [MetricDef; 4] = [
    series("ops_per_s_at", Unit::OpsPerSecond, AT),
    series_of_times("resp_ns_at", AT),
    series("read_bytes_per_s_at", Unit::BytesPerSecond, AT),
    series("write_bytes_per_s_at", Unit::BytesPerSecond, AT),
];

/// Which operations the tasks do, those around others among them; by their numbers in [`FileOperation::ALL`].
pub(super) fn does(work: &FileWork) -> [bool; 13] {
    let mut does = [false; 13];
    let all = work
        .tasks
        .iter()
        .flat_map(model::fileset::FileTask::operations);
    all.for_each(|operation| does[operation as usize] = true);
    does
}

/// The metrics and series of this work.
pub(super) fn metrics(work: &FileWork) -> Vec<&'static MetricDef> {
    let does = does(work);
    let arrives = work.tasks.iter().any(|task| task.rate.is_some());
    let has = |operation: FileOperation| does[operation as usize];
    let applies = |metric: &&MetricDef| match metric.quantity {
        "read_bytes_per_s" => has(FileOperation::Read),
        "write_bytes_per_s" => has(FileOperation::Write),
        quantity if quantity.starts_with("lat") => arrives,
        _ => true,
    };
    let used = || EACH.iter().zip(does).filter(|(_, does)| *does);
    let mut all: Vec<_> = METRICS.iter().filter(applies).collect();
    all.extend(used().flat_map(|(of, _)| &of.metrics));
    if work.interval.0 > 0 {
        all.extend(&SERIES);
        all.extend(used().flat_map(|(of, _)| &of.series));
    }
    all
}
