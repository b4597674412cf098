//! Options that say how fast a job works, and which latency it keeps.

use super::super::draft::Draft;
use super::super::job::Directions;
use super::super::value::Bare;
use super::{Kind, OptionDef, small};
use model::job::{Arrivals, Rate};
use model::units::Nanos;

/// A rate of 0 is no rate, so that it can take back that of `[global]`.
const ANY: u64 = u64::MAX;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "rate",
        "",
        Kind::List(0..=ANY, |d, v| merge(d, v, |rate| &mut rate.bytes_per_s)),
        "Bytes per second of each job: reads, writes, trims.",
    ),
    OptionDef::new(
        "rate_min",
        "",
        Kind::List(0..=ANY, |d, v| {
            merge(d, v, |rate| &mut rate.min_bytes_per_s);
        }),
        "The job fails where it stays below these bytes per second. More than the `rate` of any \
             direction is refused.",
    )
    .or(&["ratemin"]),
    OptionDef::new(
        "rate_iops",
        "",
        Kind::List(0..=ANY, |d, v| merge(d, v, |rate| &mut rate.iops)),
        "Operations per second of each job: reads, writes, trims.",
    ),
    OptionDef::new(
        "rate_iops_min",
        "",
        Kind::List(0..=ANY, |d, v| merge(d, v, |rate| &mut rate.min_iops)),
        "The job fails where it stays below these operations per second. More than the \
             `rate_iops` of any direction is refused.",
    ),
    OptionDef::new(
        "flow",
        "0",
        Kind::Int(0..=1 << 30, |d, n| d.job.does.flow.weight = small(n)),
        "The job and those beside it with the same `flow_id` hold each other back, so that the operations of each go \
             with its weight. One that starts later, or ends, changes nothing of the ratio of the others.",
    ),
    OptionDef::new(
        "flow_id",
        "0",
        Kind::Int(0..=ANY, |d, n| d.job.does.flow.id = n),
        "Which jobs with `flow` belong together.",
    ),
    OptionDef::new(
        "flow_sleep",
        "0",
        Kind::Int(0..=1 << 40, |d, n| d.job.does.flow.pause = Nanos(n * 1000)),
        "How long a job waits that is ahead of the others, in microseconds; here 10 at least.",
    ),
    OptionDef::new(
        "rate_process",
        "linear",
        Kind::Choice(&["linear", "poisson"], |d, w| {
            d.job.does.arrivals = if w == "poisson" {
                Arrivals::Poisson
            } else {
                Arrivals::Linear
            };
        }),
        "How operations arrive under a rate: evenly, or with exponential gaps as \
             from many users.",
    ),
    OptionDef::new(
        "rate_cycle",
        "1000",
        Kind::Int(0..=1 << 40, |d, n| {
            d.job.does.pacing.cycle = Nanos::from_millis(n);
        }),
        "Milliseconds over which the minimum rates are judged.",
    )
    .or(&["ratecycle"]),
    OptionDef::new(
        "rate_ignore_thinktime",
        "0",
        Kind::Bool(|d, on| d.job.does.pacing.ignores_think = on),
        "Pauses are not made up for by a faster rate.",
    ),
    OptionDef::new(
        "thinktime",
        "0",
        Kind::Time(Bare::Micros, |d, n| d.job.does.think = Nanos(n)),
        "A pause between operations; without a unit in microseconds.",
    ),
    OptionDef::new(
        "thinktime_spin",
        "0",
        Kind::Time(Bare::Micros, |d, n| d.job.does.pacing.think_spin = Nanos(n)),
        "The part of the pause that keeps the CPU busy; without a unit in \
             microseconds.",
    ),
    OptionDef::new(
        "thinktime_blocks",
        "1",
        Kind::Int(0..=ANY, |d, n| d.job.does.think_blocks = n.max(1)),
        "Operations between two pauses.",
    ),
    OptionDef::new(
        "thinktime_blocks_type",
        "complete",
        Kind::Choice(&["complete", "issue"], |d, w| {
            d.job.does.pacing.think_counts_begun = w == "issue";
        }),
        "Whether those operations are counted when they complete or when they are \
             issued.",
    ),
    OptionDef::new(
        "thinktime_iotime",
        "0",
        Kind::Time(Bare::Seconds, |d, n| {
            d.job.does.pacing.think_iotime = Nanos(n);
        }),
        "Time of work between two pauses, instead of a number of operations.",
    ),
    OptionDef::new(
        "max_latency",
        "0",
        Kind::Time(Bare::Micros, |d, n| {
            d.job.does.pacing.max_latency = (n > 0).then_some(Nanos(n));
        }),
        "An operation that takes longer ends the job with an error; without a \
             unit in microseconds.",
    ),
    OptionDef::new(
        "latency_target",
        "0",
        Kind::Time(Bare::Micros, |d, n| d.job.latency.latency = Nanos(n)),
        "Searches the deepest queue at which the latency stays below this; \
             without a unit in microseconds.",
    ),
    OptionDef::new(
        "latency_window",
        "0",
        Kind::Time(Bare::Micros, |d, n| d.job.latency.window = Nanos(n)),
        "How long each depth is judged; without a unit in microseconds.",
    ),
    OptionDef::new(
        "latency_percentile",
        "100",
        Kind::Floats(100.0, 1, |d, v| {
            d.job.latency.percentile = v.first().copied().unwrap_or(100.0);
        }),
        "The share of operations, in per cent, that must stay below the target.",
    ),
    OptionDef::new(
        "latency_run",
        "0",
        Kind::Bool(|d, on| d.job.latency.run = on),
        "The search goes on after it has found a depth.",
    ),
];

/// Takes what is given over into the rate of each direction.
fn merge(draft: &mut Draft, given: Directions<Option<u64>>, of: fn(&mut Rate) -> &mut Option<u64>) {
    let rates = &mut draft.job.does.pacing.rates;
    for (rate, given) in [
        (&mut rates.read, given.read),
        (&mut rates.write, given.write),
        (&mut rates.trim, given.trim),
    ] {
        let own = of(rate);
        *own = given.or(*own);
    }
}
