//! English.

use super::{
    ComparisonWords, Counts, FloorNote, HostWords, RunWords, Span, Words, command, sets_of,
};
use crate::number::{percent, signed_percent};
use model::comparison::{Place, Refusal, RoundsNeeded, Scope, Verdict};
use model::estimate::State;
use model::plan::CaseId;
use model::record::End;
use model::warning::{OffCpuCause, Warning};
use std::fmt::Display;

pub(super) static WORDS: Words = Words {
    run: RunWords {
        end: |end| match end {
            End::Open => "not finished",
            End::Complete => "complete",
            End::Interrupted => "interrupted: partial",
        },
        took: |time| format!("took {time}"),
        metric: "metric",
        value: "value",
        unit: "unit",
        interval: "95 % interval",
        rounds: "rounds",
        state: "state",
        notes: "notes",
        nothing: "nothing was measured",
        index: "UnixBench-style index (measured by kurabe, not by UnixBench)",
        copies: |n| plural(n, "copy", "copies"),
        passes: |n| format!("from {}", plural(n, "pass", "passes")),
        partial: |have, of| format!("partial: {have} of {of} tests"),
        compat: |version| format!("by the rules of UnixBench {version}: one figure, no interval"),
        without_value: "without a value",
        dropped: "left out of the plan",
        warnings: "warnings",
        unstable: (
            "unstable, two states",
            "no single number describes the rounds; the interval column shows their range",
        ),
        worst_of: |n| format!("(figures of the worst of {n} metrics)"),
        next: "next",
        next_show: "for a blog post; or csv, json",
        next_compare: "against another run of `kurabe list`",
        next_unixbench: "in UnixBench's own report layout",
        next_again: "measure again: this run is not complete",
    },
    host: HostWords {
        host: "host",
        name: "name",
        instance: "instance (digest)",
        boot: "boot (digest)",
        cpu: "CPU",
        arch: "architecture",
        online: "CPUs online",
        offline: "CPUs offline",
        sockets: "sockets",
        cores: "cores",
        threads_per_core: "threads per core",
        clock_rate: "nominal clock rate",
        governor: "frequency governor",
        caches: "caches",
        flags: "flags",
        numa: "NUMA nodes",
        limits: "limits",
        cgroup: "cgroup",
        cpu_quota: "CPU quota",
        cpus_allowed: "CPUs allowed",
        memory_limit: "memory limit",
        root: "root",
        container: "container",
        memory: "memory",
        available: "available",
        swap: "swap",
        huge_pages: "transparent huge pages",
        page_size: "page size",
        kernel: "kernel",
        build: "build",
        distribution: "distribution",
        mitigations: "mitigations",
        platform: "platform",
        virtualization: "virtualization",
        vendor: "vendor",
        product: "product",
        clock: "clock",
        clock_cost: "cost of a reading",
        tsc_reliable: "TSC reliable",
        storage: "storage",
        works_on: "works on",
        written_to: "written to",
        only_read: "only read",
        directory: "work directory",
        file_system: "file system",
        mount_options: "mount options",
        mount_point: "mount point",
        free: "free",
        devices: "devices",
        io: "I/O",
        programs: "programs",
        locale: "locale",
        none: "none",
        bare_metal: "none (bare metal)",
        yes: "yes",
        no: "no",
        usable: "usable",
        refused: |why| format!("refused: {why}"),
        unknown: |why| format!("unknown: {why}"),
        cpus: |n| plural(n, "CPU", "CPUs"),
        quota: |cpus| format!("quota of {cpus} CPUs"),
        free_space: |size| format!("{size} free"),
        reading: |time| format!("{time} a reading"),
        mitigated: |done, open| {
            let done = plural(done, "CPU weakness", "CPU weaknesses");
            match open {
                0 => format!("{done} mitigated"),
                open => format!("{done} mitigated, {open} left open"),
            }
        },
    },
    comparison: ComparisonWords {
        base: "base",
        other: "other",
        summary: "summary",
        categories: "categories",
        ratio: "ratio",
        verdict: "verdict",
        needed: "to tell",
        refused: "not compared",
        differences: "differences in set-up",
        metrics: |n| plural(n, "metric", "metrics"),
        rounds_needed: |needed| match needed {
            RoundsNeeded::Rounds(n) => format!("about {n} rounds a side"),
            RoundsNeeded::Instances(n) => format!("about {n} instances a side"),
            RoundsNeeded::NotAtThisNoise => "not at this noise level".to_owned(),
        },
        counts,
        gain: |metric, ratio, interval| {
            format!("largest gain: {metric}, {ratio} times ({interval})")
        },
        loss: |metric, ratio, interval| {
            format!("largest loss: {metric}, {ratio} times ({interval})")
        },
        not_compared: |n| {
            format!(
                "{} not compared; the reasons are below",
                plural(n, "metric", "metrics")
            )
        },
        setup_differs: |n, list| {
            let points = plural(n, "point", "points");
            format!("the set-ups differ in {points} ({list}), which may be the cause")
        },
        paired: "a duel: rounds measured and compared in pairs, one of each side, the order decided by a coin",
        scope,
        and_more: |first, more| format!("{first} and {more} more"),
        notes: "notes",
        slow_moments,
        margin_raised: |metric, class, margin| {
            format!(
                "{metric}: margin {class}, raised to {margin}: twice the noise floor of this test"
            )
        },
        repeat: |on_base, sure, runs| {
            let side = if on_base { "base" } else { "other side" };
            if sure {
                format!(
                    "{side}: {runs} come from one instance; a plan takes five separate ones a side"
                )
            } else {
                format!(
                    "{side}: {runs} cannot be told apart and may come from one instance; a plan takes five separate ones a side"
                )
            }
        },
        legend: &[
            "ratio: other over base, turned so that above 1 is better; * marks the better side",
            "intervals are at 95 % for each metric by itself; verdicts are corrected for the number of metrics",
            "better?, worse?: the direction is sure, the size is not; same: no difference beyond the margin; unclear: cannot tell",
        ],
        nothing: "there is nothing to compare",
    },
    soak: super::soak::EN,
    scaling: super::scaling::EN,
    storage: super::storage::EN,
    warning,
    refusal,
    state,
    verdict: Verdict::word,
    failure: ToString::to_string,
};

fn plural<N: Copy + Display + PartialEq + From<u8>>(n: N, one: &str, many: &str) -> String {
    let word = if n == N::from(1) { one } else { many };
    format!("{n} {word}")
}

fn counts(counts: &Counts) -> String {
    let Counts {
        other,
        base,
        compared,
        better,
        worse,
        same,
        unclear,
    } = counts;
    format!(
        "of {}, {other} is better than {base} in {better}, worse in {worse}, the same in {same}; {unclear} cannot be told",
        plural(*compared, "metric", "metrics")
    )
}

fn scope(scope: &Scope) -> String {
    let (these, span) = match Span::of(scope.span) {
        Span::Seconds(0) => ("", "less than a second".to_owned()),
        Span::Seconds(n) => ("these ", plural(n, "second", "seconds")),
        Span::Minutes(n) => ("these ", plural(n, "minute", "minutes")),
        Span::Hours(n) => ("these ", plural(n, "hour", "hours")),
        Span::DayAndMore(n) => ("", plural(n, "hour", "hours")),
    };
    match scope.place {
        Place::OneInstance => format!("this instance, {these}{span}"),
        Place::TwoInstances => format!("these two instances, {these}{span}"),
        Place::TwoRuns => format!("these two runs, {these}{span}"),
        Place::Plan { base, other } => format!("this plan ({base} and {other} instances)"),
        Place::Runs { base, other } => format!("these {base} and {other} runs, no plan"),
    }
}

fn slow_moments(note: &FloorNote) -> String {
    let FloorNote {
        metric,
        other,
        typical,
        faster,
        change,
        range,
        slow_shares,
    } = note;
    let typically = match typical {
        Verdict::Same => "typically the same",
        Verdict::Better | Verdict::BetterMaybe => "typically better",
        Verdict::Worse | Verdict::WorseMaybe => "typically worse",
        Verdict::Unclear => "typically too close to tell",
    };
    let direction = if *faster { "faster" } else { "slower" };
    let shares = slow_shares
        .as_ref()
        .map_or_else(String::new, |(base, other)| {
            format!("; windows below 90 % of the typical rate: {base} and {other}")
        });
    format!(
        "{metric}: {typically}, but {other}'s slow moments are {change} {direction} ({range}){shares}"
    )
}

fn warning(warning: &Warning) -> String {
    match warning {
        Warning::RoundsFailed { failed, of, reason } => {
            format!("{failed} of {of} rounds failed; the last one: {reason}")
        }
        Warning::TooFewRounds { have, need } => format!(
            "only {}; a 95 % interval needs {need}",
            plural(*have, "round", "rounds")
        ),
        Warning::Steal {
            rounds_share,
            worst_share,
        } => format!(
            "in {} of the rounds the host took away more than 2 % of the CPU time that was asked for (at worst {})",
            percent(*rounds_share),
            percent(*worst_share)
        ),
        Warning::Throttled { rounds_share } => format!(
            "a CPU quota held the measurement back in {} of the rounds",
            percent(*rounds_share)
        ),
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => format!(
            "other processes used more than 5 % of a CPU in {} of the rounds{}",
            percent(*rounds_share),
            process.as_ref().map_or_else(String::new, |process| format!(
                "; the busiest was `{process}`"
            ))
        ),
        Warning::Gaps { rounds_share } => format!(
            "in {} of the rounds CPU time was lost in gaps that no counter explains",
            percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } => format!(
            "around {} of the rounds the CPU itself ran more than 3 % faster or slower than usual in this run",
            percent(*rounds_share)
        ),
        Warning::ClockTrouble { rounds_share } => format!(
            "the clock was set or the machine suspended during {} of the rounds",
            percent(*rounds_share)
        ),
        Warning::OrderEffect {
            within_pass: false,
            change,
        } => format!(
            "the value changes by {} in the course of the run: the state of a budget (CPU credits, disk bursts) is unknown, or what was measured before has an effect; let the machine rest and run again",
            signed_percent(*change)
        ),
        Warning::OrderEffect {
            within_pass: true,
            change,
        } => format!(
            "the value depends on its place in the pass ({} from early to late): what is measured just before has an effect",
            signed_percent(*change)
        ),
        Warning::WorkDirInMemory { file_system } => format!(
            "the work directory is in memory ({file_system}): this says nothing about a disk; choose another with `--dir`"
        ),
        Warning::DebugBuild => {
            "measured by a build without optimisation: build with `cargo build --release`"
                .to_owned()
        }
        Warning::SlowClock { source } => format!(
            "the clock source is {source}, not the TSC: timing costs more, and latencies are blurred"
        ),
        Warning::Allocated { allocations } => format!(
            "a round allocated memory {} while measuring, which costs time of its own",
            plural(*allocations, "time", "times")
        ),
        Warning::OffCpu {
            share,
            copies,
            cause,
        } => format!(
            "for {} of the time the {} not on a CPU, so that a wall second holds less work than a CPU second: {}",
            percent(*share),
            if *copies == 1 {
                "copy was".to_owned()
            } else {
                format!("{copies} copies were")
            },
            off_cpu_cause(*cause)
        ),
        Warning::CpuWorthLess {
            loss,
            copies,
            threads_share_cores,
        } => format!(
            "with {copies} copies a CPU second does {} less than with one: {}",
            percent(*loss),
            if *threads_share_cores {
                "they share cores as hardware threads (SMT)"
            } else {
                "they share something, such as a core, a cache, memory, or the power that sets the clock rate"
            }
        ),
        Warning::BudgetShort => {
            "time ran out before six passes were done: allow more with `--budget`".to_owned()
        }
        Warning::TargetMissed { cases, target } => format!(
            "{} wider than the {} asked for: a larger `--budget` may help, unless their own noise is the limit",
            plural(u64::from(*cases), "case ends", "cases end"),
            percent(*target)
        ),
        Warning::Limited(limit) => (super::storage::EN.limit)(limit),
        Warning::Other(text) => text.clone(),
    }
}

fn off_cpu_cause(cause: OffCpuCause) -> String {
    match cause {
        OffCpuCause::MoreCopiesThanCpus(cpus) => {
            format!("there are only {}", plural(cpus, "CPU", "CPUs"))
        }
        OffCpuCause::Quota(Some(cpus)) => format!("a quota of {cpus} CPUs held them back"),
        OffCpuCause::Quota(None) => "a quota held them back".to_owned(),
        OffCpuCause::Steal => "the host took the time away".to_owned(),
        OffCpuCause::Foreign => "other processes of this machine took it".to_owned(),
        OffCpuCause::Unknown => "no counter says why".to_owned(),
    }
}

fn refusal(refusal: &Refusal, case: &CaseId) -> String {
    let run = command(case, &[]);
    match refusal {
        Refusal::OneSideOnly { base_has_it: true } => {
            format!("only the base has it; on the other side: {run}")
        }
        Refusal::OneSideOnly { base_has_it: false } => {
            format!("only the other run has it; on the base's side: {run}")
        }
        Refusal::WorkloadVersion { base, other } => format!(
            "measured by different versions of the workload ({base} and {other}), which do not compare: measure both with the same kurabe, {run}"
        ),
        Refusal::Parameters(differences) => {
            let list: Vec<String> = differences
                .iter()
                .map(|(name, base, other)| format!("{name} {base} and {other}"))
                .collect();
            let run = command(case, &sets_of(differences));
            format!("parameters differ: {}; as the base: {run}", list.join(", "))
        }
        Refusal::TooFewRounds { base, other, need } => {
            let single = if *base == 1 || *other == 1 {
                "; a single figure says nothing about its scatter"
            } else {
                ""
            };
            let side = match (base < need, other < need) {
                (true, false) => "on the base's side",
                (false, true) => "on the other side",
                _ => "on both sides",
            };
            format!(
                "too few rounds: {base} and {other}, where each side needs {need}{single}; {side}: {run}"
            )
        }
        Refusal::TooFewRuns { base, other, need } => format!(
            "too few runs: {base} and {other}, where a plan needs {need} separate instances a side; on each further instance: {run}"
        ),
        Refusal::GroupDisagrees { on_base, runs, why } => {
            let side = if *on_base { "base" } else { "other side" };
            let why = refusal_of_group(why);
            format!(
                "the runs of the {side} did not measure the same ({} and {}: {why}); leave one out, or measure it again: {run}",
                runs.0, runs.1
            )
        }
        Refusal::Soak => format!(
            "the rounds of a soak are one series and no independent sample: what it found is in `kurabe show RUN`; for a verdict, on both sides: {run}"
        ),
        Refusal::NoRatio => format!(
            "a value is zero, negative or missing, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`, or measure again, {run}"
        ),
    }
}

/// Why two runs of one side disagree.
fn refusal_of_group(why: &Refusal) -> String {
    match why {
        Refusal::WorkloadVersion { base, other } => {
            format!("versions {base} and {other} of the workload")
        }
        Refusal::Parameters(differences) => {
            let list = differences
                .iter()
                .map(|(name, base, other)| format!("{name} {base} and {other}"));
            list.collect::<Vec<_>>().join(", ")
        }
        _ => "other work".to_owned(),
    }
}

fn state(state: &State) -> String {
    match state {
        State::Unknown => "too few rounds".to_owned(),
        State::Steady => "steady".to_owned(),
        State::Drifting { change } => format!("drifting {}", signed_percent(*change)),
        State::Step { after, change } => {
            format!("step {} after round {after}", signed_percent(*change))
        }
        State::TwoState {
            low,
            high,
            low_share,
        } => format!(
            "two states, {} apart, {} low",
            percent((high - low) / low.abs().max(f64::MIN_POSITIVE)),
            percent(*low_share)
        ),
        State::Series => "see the course".to_owned(),
        State::Unstable { spread } => format!("unstable, spread {}", percent(*spread)),
    }
}
