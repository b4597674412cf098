//! What is known of jobs that work at the same time, and of each of them.

use super::super::spec::{self, mean, p50, p99, rate};
use model::spec::{Fold, How, MetricClass, MetricDef, Role, Time};
use model::units::Unit;

const fn sum(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    rate(quantity, unit, How::Reported(Fold::Sum), doc)
}

const CLAT: &str = "Time from the return of the submitting call to the completion being seen, of all jobs together.";
const LAT: &str = "With rates, time from the instant at which an operation was to start to its completion, of all jobs \
                   together.";
const SYNC: &str =
    "Time of an fsync or fdatasync call, from submission to completion, of all jobs together.";

/// Rates of one job, in each of the windows in which it worked.
const fn rates(quantity: &'static str, unit: Unit) -> MetricDef {
    sum(quantity, unit, RATE_AT).acting(Role::Series)
}

/// Latencies of one job, in each of the windows in which it worked.
const fn latencies(quantity: &'static str, doc: &'static str) -> MetricDef {
    let how = How::Reported(Fold::Sum);
    MetricDef::time(quantity, MetricClass::LatencyTypical, how, doc).acting(Role::Series)
}

const RATE_AT: &str =
    "The series of each job, where a log is asked for: what ended in each window, over its length.";
const NS_AT: &str =
    "The series of each job, where a log is asked for: the mean of what ended in each window.";
const MAX_AT: &str = "The same with the longest of them, where that is asked for.";

/// The series of one direction.
macro_rules! logged {
    ($direction:literal) => {
        [
            rates(concat!($direction, "_bytes_per_s_at"), Unit::BytesPerSecond),
            rates(concat!($direction, "_iops_at"), Unit::OpsPerSecond),
            latencies(concat!($direction, "_slat_ns_at"), NS_AT),
            latencies(concat!($direction, "_clat_ns_at"), NS_AT),
            latencies(concat!($direction, "_lat_ns_at"), NS_AT),
            latencies(concat!($direction, "_slat_ns_max_at"), MAX_AT),
            latencies(concat!($direction, "_clat_ns_max_at"), MAX_AT),
            latencies(concat!($direction, "_lat_ns_max_at"), MAX_AT),
        ]
    };
}

/// What logs are made of.
pub(super) static LOGGED: [[MetricDef; 8]; 3] =
    [logged!("read"), logged!("write"), logged!("trim")];

pub(super) static METRICS: &[MetricDef] = &[
    sum(
        "iops",
        Unit::OpsPerSecond,
        "Reads, writes and trims of each job over its own time, summed over the jobs.",
    ),
    sum(
        "bw_bytes_per_s",
        Unit::BytesPerSecond,
        "Bytes read, written and trimmed by each job over its own time, summed over the jobs.",
    ),
    sum("read_iops", Unit::OpsPerSecond, "Reads alone."),
    sum("write_iops", Unit::OpsPerSecond, "Writes alone."),
    sum("trim_iops", Unit::OpsPerSecond, "Trims alone."),
    mean("read_clat_ns_mean", "read_clat", CLAT),
    p50("read_clat_ns_p50", "read_clat"),
    p99("read_clat_ns_p99", "read_clat"),
    mean("write_clat_ns_mean", "write_clat", CLAT),
    p50("write_clat_ns_p50", "write_clat"),
    p99("write_clat_ns_p99", "write_clat"),
    mean("trim_clat_ns_mean", "trim_clat", CLAT),
    p50("trim_clat_ns_p50", "trim_clat"),
    p99("trim_clat_ns_p99", "trim_clat"),
    mean("sync_ns_mean", "sync", SYNC),
    p50("sync_ns_p50", "sync"),
    p99("sync_ns_p99", "sync"),
    mean("read_lat_ns_mean", "read_lat", LAT),
    p99("read_lat_ns_p99", "read_lat"),
    mean("write_lat_ns_mean", "write_lat", LAT),
    p99("write_lat_ns_p99", "write_lat"),
    spec::ARRIVING,
    MetricDef::time(
        "cpu_ns_per_op",
        MetricClass::System,
        How::TimePerOp(Time::Cpu),
        "CPU time of this program and of the kernel on its behalf, per operation.",
    ),
];
