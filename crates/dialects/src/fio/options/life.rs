//! Options that say which jobs there are, and when they start and end.

use super::super::draft::Draft;
use super::super::job::ExitWhat;
use super::super::value::{self, Bare};
use super::{Kind, OptionDef, parts};
use model::job::{SteadyQuantity, SteadyState};
use model::units::Nanos;

/// Clones of one section at most; fio's own limit of jobs.
pub(in super::super) const MAX_JOBS: u64 = 4096;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "name",
        "",
        Kind::Text("a name", |d, text| {
            text.clone_into(&mut d.job.name);
            Ok(())
        }),
        "The name of the job; on a command line it starts a new job. The \
             section's name where not said.",
    ),
    OptionDef::new(
        "description",
        "",
        Kind::Text("a text", |d, text| {
            d.job.description = Some(text.to_owned());
            Ok(())
        }),
        "Free text, carried to the reports.",
    ),
    OptionDef::new(
        "numjobs",
        "1",
        Kind::Int(1..=MAX_JOBS, |d, n| {
            d.job.clones = u32::try_from(n).unwrap_or(1);
        }),
        "Clones of the section that run at the same time.",
    ),
    OptionDef::new(
        "thread",
        "0",
        Kind::Flag(|d, on| d.job.is_thread = on),
        "Clones are threads of one process instead of processes.",
    ),
    OptionDef::new(
        "runtime",
        "0",
        Kind::Time(Bare::Seconds, |d, n| {
            d.job.does.end.time = (n > 0).then_some(Nanos(n));
        }),
        "Time at most, without `ramp_time`; without a unit in seconds. fio knows \
             `us`, `ms`, `s`, `m`, `h` and `d`; anything else, `30sec` and `1min` \
             among it, is microseconds, with a warning.",
    )
    .or(&["timeout"]),
    OptionDef::new(
        "time_based",
        "0",
        Kind::Flag(|d, on| d.job.does.end.time_based = on),
        "The work starts again until `runtime` is over, even where the region is \
             done before.",
    ),
    OptionDef::new(
        "ramp_time",
        "0",
        Kind::Time(Bare::Seconds, |d, n| d.job.does.ramp = Nanos(n)),
        "Time before the measured part, which is not reported; without a unit in \
             seconds.",
    ),
    OptionDef::new(
        "startdelay",
        "0",
        Kind::Text(
            "a time or a range `2-5`, in seconds without a unit",
            startdelay,
        ),
        "Time until the job starts; from a range it is drawn.",
    ),
    OptionDef::new(
        "stonewall",
        "0",
        Kind::Flag(|d, on| d.job.life.is_stonewalled = on),
        "Starts when all jobs before it have ended, in a new reporting group.",
    )
    .or(&["wait_for_previous"]),
    OptionDef::new(
        "new_group",
        "0",
        Kind::Flag(|d, on| d.job.life.is_new_group = on),
        "Starts a new reporting group, at the same time as the jobs before it.",
    ),
    OptionDef::new(
        "wait_for",
        "",
        Kind::Name(|d, name| d.job.life.waits_for = Some(name.to_owned())),
        "Starts when all clones of that one job, which stands before it, have ended.",
    ),
    OptionDef::new(
        "exitall",
        "0",
        Kind::Flag(|d, on| d.job.life.ends_all = on),
        "When this job ends, those of `exit_what` end too.",
    ),
    OptionDef::new(
        "exitall_on_error",
        "0",
        Kind::Flag(|d, on| d.job.life.ends_all_on_error = on),
        "When this job fails, those of `exit_what` end too; else they go on.",
    ),
    OptionDef::new(
        "exit_what",
        "group",
        Kind::Choice(&["group", "stonewall", "all"], |d, w| {
            d.job.life.exit_what = match w {
                "all" => ExitWhat::All,
                "stonewall" => ExitWhat::Stonewall,
                _ => ExitWhat::Group,
            };
        }),
        "Which jobs `exitall` and `exitall_on_error` end: those of the group, those that run, or all. Of jobs \
             that have not begun then, `all` reports nothing but zeros.",
    ),
    OptionDef::new(
        "continue_on_error",
        "none",
        Kind::Choice(
            &["none", "read", "write", "io", "verify", "all", "0", "1"],
            |d, w| {
                let rule = &mut d.job.does.continue_on;
                rule.read = matches!(w, "read" | "io" | "all" | "1");
                rule.write = matches!(w, "write" | "io" | "all" | "1");
                rule.verify = matches!(w, "verify" | "all" | "1");
            },
        ),
        "Which errors are counted instead of ending the job.",
    ),
    OptionDef::new(
        "ignore_error",
        "0",
        Kind::Text(
            "up to three lists of errors, such as `EAGAIN,ENOSPC:122`",
            |d, text| {
                d.job.does.continue_on.only = parts::errors(text)?;
                Ok(())
            },
        ),
        "Errors of reads, writes and checks, by name or number, that are counted instead of ending the job; where \
             there are some, `continue_on_error` says nothing of the others. 0 is none. Trims and syncs go with \
             writes; a mismatch is `EILSEQ`.",
    ),
    OptionDef::new(
        "steadystate",
        "",
        Kind::Text(
            "`iops`, `iops_slope`, `bw`, `bw_slope`, `lat` or `lat_slope`, with \
             `:LIMIT` or `:LIMIT%`",
            steady,
        ),
        "The job ends when this quantity, looked at every `ss_interval` over `ss_dur`, \
             stays within the limit of its mean or, with `_slope`, when its slope \
             does. This is fio's rule; the rule of SNIA is another one.",
    )
    .or(&["ss"]),
    OptionDef::new(
        "steadystate_duration",
        "0",
        Kind::Time(Bare::Seconds, |d, n| d.steady_duration = Nanos(n)),
        "How long the steady state must hold; without a unit in seconds.",
    )
    .or(&["ss_dur"]),
    OptionDef::new(
        "ss_interval",
        "1",
        Kind::Time(Bare::Seconds, |d, n| d.steady_interval = Some(Nanos(n))),
        "Time between two looks at a steady state; without a unit in seconds.",
    ),
    OptionDef::new(
        "steadystate_ramp_time",
        "0",
        Kind::Time(Bare::Seconds, |d, n| d.steady_ramp = Nanos(n)),
        "Time at the start that is not looked at; without a unit in seconds.",
    )
    .or(&["ss_ramp"]),
    OptionDef::new(
        "cpus_allowed",
        "",
        Kind::Text("CPUs such as `0-3,8`", |d, text| {
            d.job.life.cpus = parts::cpus(text)?;
            Ok(())
        }),
        "CPUs on which the job may run.",
    ),
    OptionDef::new(
        "cpumask",
        "",
        Kind::Int(1..=u64::MAX, |d, mask| {
            d.job.life.cpus = (0..64).filter(|cpu| mask >> cpu & 1 == 1).collect();
        }),
        "The same as a mask of bits.",
    ),
    OptionDef::new(
        "cpus_allowed_policy",
        "shared",
        Kind::Choice(&["shared", "split"], |d, w| {
            d.job.life.splits_cpus = w == "split";
        }),
        "Whether each clone may use all of those CPUs or has one of its own.",
    ),
];

fn startdelay(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (low, high) = text.split_once(['-', ',']).unwrap_or((text, text));
    let mut read = |text: &str| {
        let read =
            value::time_ns(text, Bare::Seconds).ok_or_else(|| format!("`{text}` is no time"))?;
        draft.warnings.extend(read.warning);
        Ok::<u64, String>(read.value)
    };
    let (low, high) = (read(low)?, read(high)?);
    draft.job.life.start_delay_ns = (low.min(high), low.max(high));
    Ok(())
}

fn steady(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (word, limit) = text
        .split_once(':')
        .map_or((text, None), |(word, limit)| (word, Some(limit)));
    let (quantity, by_slope) = match word {
        "iops" => (SteadyQuantity::Iops, false),
        "iops_slope" => (SteadyQuantity::Iops, true),
        "bw" => (SteadyQuantity::Bandwidth, false),
        "bw_slope" => (SteadyQuantity::Bandwidth, true),
        "lat" => (SteadyQuantity::Latency, false),
        "lat_slope" => (SteadyQuantity::Latency, true),
        _ => {
            return Err(
                "`iops`, `bw` or `lat`, each with or without `_slope`, and `:LIMIT`".to_owned(),
            );
        }
    };
    let limit = limit.ok_or("a limit behind `:`, such as `iops:5%`")?;
    let is_percent = limit.ends_with('%');
    let digits = limit.trim_end_matches('%');
    let base = draft.base();
    let limit = match (quantity, is_percent) {
        (SteadyQuantity::Bandwidth, false) => {
            model::num::approx(parts::size(digits, base, &mut draft.warnings)?)
        }
        (SteadyQuantity::Latency, false) => {
            let read = value::time_ns(digits, Bare::Micros).ok_or("a time behind `:`")?;
            draft.warnings.extend(read.warning);
            model::num::approx(read.value)
        }
        _ => value::float(digits)
            .filter(|limit| *limit >= 0.0)
            .ok_or("a number behind `:`")?,
    };
    let rule = SteadyState {
        quantity,
        by_slope,
        limit,
        is_percent,
        duration: Nanos::ZERO,
        ramp: Nanos::ZERO,
        interval: Nanos::from_secs(1),
    };
    draft.job.does.steady_state = Some(rule);
    Ok(())
}
