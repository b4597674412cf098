//! English.

mod comparison;

use super::{HostWords, Named, RunWords, Words, soak_command};
pub(super) use crate::number::counted as plural;
use crate::number::{percent, signed_percent, time};
use model::comparison::Verdict;
use model::estimate::State;
use model::plan::CaseId;
use model::record::End;
use model::warning::{OffCpuCause, TargetLimit, Warning};

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
        left_out: |n| format!("{} left out of the plan", plural(n, "test", "tests")),
        no_value: "no value",
        too_few_between: |fewest, most, need| {
            format!("only {fewest} to {most} rounds; a 95 % interval needs {need}")
        },
        range_instead: "; what stands in its place is the range of the rounds",
        range: "range",
        of_several_copies,
        six_passes_take: |time, room| {
            format!(
                "; here six passes of these rounds take about {time}: try `--budget {room}` or more"
            )
        },
        set_up: "set-up",
        set_otherwise: "set otherwise",
        in_place_of: |name, value, own| format!("{name} {value} in place of {own}"),
        all_tests: "all tests",
        warnings: "warnings",
        unstable: (
            "unstable, two states",
            "no single number describes the rounds; what stands in the place of an interval is their range",
        ),
        worst_of: |n| format!(" ({})", plural(n, "metric", "metrics")),
        worst: "the figures of a note about several metrics are those of the worst of them",
        scope: "scope",
        next: "next",
        next_show: "for a blog post; or csv, json",
        next_compare: "against another run of `kurabe list`",
        next_unixbench: "in UnixBench's own report layout",
        next_resume: "go on with it: this run is not complete",
        next_fio: "as fio reports it; or json, terse with `--output-format`",
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
        quota: |cpus| format!("quota of {}", cpus_of(cpus)),
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
    comparison: comparison::WORDS,
    soak: super::soak::EN,
    duel: super::duel::EN,
    memory: super::memory::EN,
    loaded: super::loaded::EN,
    scaling: super::scaling::EN,
    storage: super::storage::EN,
    warning,
    refusal: comparison::refusal,
    state,
    verdict: Verdict::word,
    failure: ToString::to_string,
};

fn warning(warning: &Warning) -> String {
    warning_about(("round", "rounds"), warning)
}

/// The same of a soak, whose rounds are called stretches.
pub(super) fn warning_of_soak(warning: &Warning) -> String {
    warning_about(("stretch", "stretches"), warning)
}

/// The sentence for a warning where one of what is counted is called `one`, and several `many`.
fn warning_about((one, many): (&str, &str), warning: &Warning) -> String {
    match warning {
        Warning::RoundsFailed { failed, of, reason } => {
            let of = plural(*of, one, many);
            format!("{failed} of {of} failed; the last one: {reason}")
        }
        Warning::TooFewRounds { have, need } => format!(
            "only {}; a 95 % interval needs {need}",
            plural(*have, one, many)
        ),
        Warning::Steal {
            rounds_share,
            worst_share,
        } => format!(
            "in {} of the {many} the host took away more than 2 % of the CPU time that was asked for (at worst {})",
            percent(*rounds_share),
            percent(*worst_share)
        ),
        Warning::Throttled { rounds_share } => format!(
            "a CPU quota held the measurement back in {} of the {many}",
            percent(*rounds_share)
        ),
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => format!(
            "other processes used more than 5 % of a CPU in {} of the {many}{}",
            percent(*rounds_share),
            process.as_ref().map_or_else(String::new, |process| format!(
                "; the busiest was `{process}`"
            ))
        ),
        Warning::Gaps { rounds_share } => format!(
            "in {} of the {many} CPU time was lost in gaps that no counter explains",
            percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } if *rounds_share > 0.5 => format!(
            "the CPU itself had no steady speed: before or after {} of the {many} it ran more than 3 % faster or slower than the run's median",
            percent(*rounds_share)
        ),
        Warning::UnevenSpeed { rounds_share } => format!(
            "before or after {} of the {many} the CPU itself ran more than 3 % faster or slower than the run's median",
            percent(*rounds_share)
        ),
        Warning::SharedCore {
            rounds_share,
            worst_share,
        } => format!(
            "before or after {} of the {many} the core did less in a cycle than at its best in this run (at worst {} less): something else ran on it too, such as another guest on the second hardware thread of the core, which no counter shows",
            percent(*rounds_share),
            percent(*worst_share)
        ),
        Warning::ClockTrouble { rounds_share } => format!(
            "the clock was set or the machine suspended during {} of the {many}",
            percent(*rounds_share)
        ),
        Warning::OrderEffect {
            within_pass: false,
            change,
        } => format!(
            "the value changes by {} from the earlier half of the run to the later one (median to median, where a state tells first to last round): the state of a budget (CPU credits, disk bursts) is unknown, or what was measured before has an effect; let the machine rest and run again",
            signed_percent(*change)
        ),
        Warning::OrderEffect {
            within_pass: true,
            change,
        } => format!(
            "the value depends on its place in the pass ({} from early to late): what is measured just before has an effect",
            signed_percent(*change)
        ),
        Warning::WarmingUp {
            discarded,
            longer,
            effect,
        } => format!(
            "{many} were still warming up: after the {} that are discarded, {} more are not like the rest and change the value by {}",
            time(*discarded),
            time(*longer),
            signed_percent(*effect)
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
        Warning::PartOfProcesses => {
            "not every process of this machine could be seen (`hidepid` of /proc, or one that could not be read): others \
             used at least what is said of them; root sees them all"
                .to_owned()
        }
        Warning::Allocated { allocations } => format!(
            "a {one} allocated memory {} while measuring, which costs time of its own",
            plural(*allocations, "time", "times")
        ),
        Warning::OffCpu {
            share,
            copies,
            cause,
        } => {
            let who = if *copies == 1 {
                "copy was".to_owned()
            } else {
                format!("{copies} copies were")
            };
            off_cpu(*share, &who, *cause)
        }
        Warning::CpuWorthLess {
            loss,
            copies,
            threads_share_cores,
            of_one_process,
        } => worth_less(
            *loss,
            &copies.to_string(),
            shared(*threads_share_cores, *of_one_process),
        ),
        Warning::BudgetShort => {
            "time ran out before six passes were done: allow more with `--budget`".to_owned()
        }
        Warning::TargetMissed {
            cases,
            target,
            limit,
            which,
        } => target_missed(*cases, &percent(*target), *limit, which),
        Warning::Limited(limit) => (super::storage::EN.limit)(limit),
        Warning::Other(text) => text.clone(),
    }
}

/// What is said of metrics with several numbers of copies.
fn of_several_copies(warning: &Warning) -> Option<String> {
    match warning {
        Warning::OffCpu { share, cause, .. } => Some(off_cpu(*share, "copies were", *cause)),
        Warning::CpuWorthLess {
            loss,
            threads_share_cores,
            of_one_process,
            ..
        } => {
            let why = shared(*threads_share_cores, *of_one_process);
            Some(worth_less(*loss, "several", why))
        }
        _ => None,
    }
}

fn off_cpu(share: f64, who: &str, cause: OffCpuCause) -> String {
    format!(
        "for {} of the time the {who} not on a CPU, so that a wall second holds less work than a CPU second: {}",
        percent(share),
        off_cpu_cause(cause)
    )
}

fn worth_less(loss: f64, copies: &str, why: &str) -> String {
    let loss = percent(loss);
    format!("with {copies} copies a CPU second does {loss} less than with one: {why}")
}

/// What copies may share that makes each of them slower.
const fn shared(cores: bool, of_one_process: bool) -> &'static str {
    match (cores, of_one_process) {
        (true, false) => "they share cores as hardware threads (SMT)",
        (true, true) => {
            "they share cores as hardware threads (SMT), and what the threads of the test share (locks, cache lines)"
        }
        (false, false) => {
            "they share something, such as a core, a cache, memory, or the power that sets the clock rate"
        }
        (false, true) => {
            "they share something, such as a core, a cache, memory, the power that sets the clock rate, or what the threads of the test share (locks, cache lines)"
        }
    }
}

fn target_missed(cases: u32, target: &str, limit: TargetLimit, which: &[CaseId]) -> String {
    let names = match Named::of(which) {
        Named { ids, more: 0 } => ids.join(", "),
        Named { ids, more } => format!("{} and {more} more", ids.join(", ")),
    };
    let end = plural(cases, "case ends", "cases end");
    match limit {
        TargetLimit::Unknown => format!("{end} wider than the {target} asked for"),
        TargetLimit::Time => format!(
            "{end} wider than the {target} asked for because the time was over ({names}): a larger `--budget` may help"
        ),
        TargetLimit::Rounds(n) => format!(
            "{end} wider than the {target} asked for after {}, the most that there were to be ({names}): a larger `--passes`, without `--target`, may help",
            plural(n, "round", "rounds")
        ),
        TargetLimit::Scatter(n) => format!(
            "{} given up ({names}): the rounds differ so much from one another that even {}, the most that a target is given, would leave the interval more than twice as wide as the {target} asked for; more time does not change that: `{}` shows what the rate does, a quieter hour may have less noise, and another test may be steadier",
            plural(cases, "case was", "cases were"),
            plural(n, "round", "rounds"),
            soak_command(which)
        ),
    }
}

/// So many CPUs, which need not be whole.
pub(super) fn cpus_of(cpus: &str) -> String {
    let word = if cpus == "1" { "CPU" } else { "CPUs" };
    format!("{cpus} {word}")
}

fn off_cpu_cause(cause: OffCpuCause) -> String {
    match cause {
        OffCpuCause::MoreCopiesThanCpus(cpus) => {
            format!("there are only {}", plural(cpus, "CPU", "CPUs"))
        }
        OffCpuCause::Quota(Some(cpus)) => {
            format!("a quota of {} held them back", cpus_of(&cpus.to_string()))
        }
        OffCpuCause::Quota(None) => "a quota held them back".to_owned(),
        OffCpuCause::Steal => "the host took the time away".to_owned(),
        OffCpuCause::Foreign => "other processes of this machine took it".to_owned(),
        OffCpuCause::Unknown => "no counter says why".to_owned(),
    }
}

fn state(state: &State) -> String {
    match state {
        State::Unknown => "too few rounds".to_owned(),
        State::Steady => "steady".to_owned(),
        State::Drifting { change } => format!("drifting {}", signed_percent(*change)),
        State::PossibleDrift { change } => format!("drifting? {}", signed_percent(*change)),
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
        State::Setting { alike: true } => "set-up".to_owned(),
        State::Setting { alike: false } => "set-up, not alike in all rounds".to_owned(),
        State::Unstable { spread } => format!("unstable, spread {}", percent(*spread)),
    }
}
