//! Options that say how fast a job works, and which latency it keeps.

use super::super::job::Arrivals;
use super::super::value::Bare;
use super::{Kind, OptionDef};

/// A rate of 0 is no rate, so that it can take back that of `[global]`.
const ANY: u64 = u64::MAX;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "rate",
        "",
        Kind::List {
            min: 0,
            max: ANY,
            set: |d, v| d.job.pace.bytes_per_s.merge(v),
        },
        "Bytes per second of each job: reads, writes, trims.",
    ),
    OptionDef::new(
        "rate_min",
        "",
        Kind::List {
            min: 0,
            max: ANY,
            set: |d, v| d.job.pace.min_bytes_per_s.merge(v),
        },
        "The job fails where it stays below these bytes per second. More than the `rate` of any \
             direction is refused.",
    )
    .or(&["ratemin"]),
    OptionDef::new(
        "rate_iops",
        "",
        Kind::List {
            min: 0,
            max: ANY,
            set: |d, v| d.job.pace.iops.merge(v),
        },
        "Operations per second of each job: reads, writes, trims.",
    ),
    OptionDef::new(
        "rate_iops_min",
        "",
        Kind::List {
            min: 0,
            max: ANY,
            set: |d, v| d.job.pace.min_iops.merge(v),
        },
        "The job fails where it stays below these operations per second. More than the \
             `rate_iops` of any direction is refused.",
    ),
    OptionDef::new(
        "rate_process",
        "linear",
        Kind::Choice {
            words: &["linear", "poisson"],
            set: |d, w| {
                d.job.pace.arrivals = if w == "poisson" {
                    Arrivals::Poisson
                } else {
                    Arrivals::Linear
                };
            },
        },
        "How operations arrive under a rate: evenly, or with exponential gaps as \
             from many users.",
    ),
    OptionDef::new(
        "rate_cycle",
        "1000",
        Kind::Int {
            min: 0,
            max: 1 << 40,
            set: |d, n| d.job.pace.cycle_ns = n.saturating_mul(1_000_000),
        },
        "Milliseconds over which the minimum rates are judged.",
    )
    .or(&["ratecycle"]),
    OptionDef::new(
        "rate_ignore_thinktime",
        "0",
        Kind::Bool(|d, on| d.job.pace.ignores_think = on),
        "Pauses are not made up for by a faster rate.",
    ),
    OptionDef::new(
        "thinktime",
        "0",
        Kind::Time {
            bare: Bare::Micros,
            set: |d, n| d.job.pace.think_ns = n,
        },
        "A pause between operations; without a unit in microseconds.",
    ),
    OptionDef::new(
        "thinktime_spin",
        "0",
        Kind::Time {
            bare: Bare::Micros,
            set: |d, n| d.job.pace.think_spin_ns = n,
        },
        "The part of the pause that keeps the CPU busy; without a unit in \
             microseconds.",
    ),
    OptionDef::new(
        "thinktime_blocks",
        "1",
        Kind::Int {
            min: 0,
            max: ANY,
            set: |d, n| d.job.pace.think_blocks = n.max(1),
        },
        "Operations between two pauses.",
    ),
    OptionDef::new(
        "thinktime_blocks_type",
        "complete",
        Kind::Choice {
            words: &["complete", "issue"],
            set: |d, w| d.job.pace.think_counts_issued = w == "issue",
        },
        "Whether those operations are counted when they complete or when they are \
             issued.",
    ),
    OptionDef::new(
        "thinktime_iotime",
        "0",
        Kind::Time {
            bare: Bare::Seconds,
            set: |d, n| d.job.pace.think_iotime_ns = n,
        },
        "Time of work between two pauses, instead of a number of operations.",
    ),
    OptionDef::new(
        "max_latency",
        "0",
        Kind::Time {
            bare: Bare::Micros,
            set: |d, n| d.job.pace.max_latency_ns = (n > 0).then_some(n),
        },
        "An operation that takes longer ends the job with an error; without a \
             unit in microseconds.",
    ),
    OptionDef::new(
        "latency_target",
        "0",
        Kind::Time {
            bare: Bare::Micros,
            set: |d, n| d.job.pace.latency_target_ns = (n > 0).then_some(n),
        },
        "Searches the deepest queue at which the latency stays below this; \
             without a unit in microseconds.",
    ),
    OptionDef::new(
        "latency_window",
        "0",
        Kind::Time {
            bare: Bare::Micros,
            set: |d, n| d.job.pace.latency_window_ns = n,
        },
        "How long each depth is judged; without a unit in microseconds.",
    ),
    OptionDef::new(
        "latency_percentile",
        "100",
        Kind::Floats {
            max: 100.0,
            count: 1,
            set: |d, v| {
                d.job.pace.latency_percentile = v.first().copied().unwrap_or(100.0);
            },
        },
        "The share of operations, in per cent, that must stay below the target.",
    ),
    OptionDef::new(
        "latency_run",
        "0",
        Kind::Bool(|d, on| d.job.pace.latency_run = on),
        "The search goes on after it has found a depth.",
    ),
];
