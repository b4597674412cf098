//! Warnings in documents: kind, sentence and figures.

use super::{finite, warning_kind};
use crate::lang::Lang;
use crate::said;
use model::limit::Limit;
use model::warning::{OffCpuCause, TargetLimit, Warning};
use schemars::JsonSchema;
use serde::Serialize;

/// A warning: its kind, its sentence, and its figures; null where the kind has no such figure.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct WarningPart {
    /// The kind, such as `steal`.
    kind: &'static str,
    /// The sentence in English.
    text: String,
    /// Share of rounds concerned.
    rounds_share: Option<f64>,
    /// The worst round's share; of time off a CPU, of a loss and of a limit, the median; of a shared core,
    /// how much less its worst probe did than the best of the run.
    worst_share: Option<f64>,
    /// How many (rounds, allocations, copies, cases).
    count: Option<u64>,
    /// Of how many, how many would be needed, or how many are not enough (`target_missed`).
    of: Option<u64>,
    /// The half-width that was asked for, as a share of the value.
    target: Option<f64>,
    /// The change from the earlier to the later places (`order_effect`), or by what should have been
    /// discarded as well (`warming_up`).
    change: Option<f64>,
    /// The warm-up that is discarded before each round (`warming_up`).
    discarded_ns: Option<u64>,
    /// How much longer it should at least be.
    longer_ns: Option<u64>,
    /// Whom or what it is about: places in the `run` or in the `pass`, a process,
    /// a file system, a clock source, a reason, what is shared (`cores`,
    /// `process` where the copies are threads of one, both, or `unknown`), what limits
    /// (`cpu`, `late`, `cached`, `device_idle`), what kept cases from their target (`time`,
    /// `rounds`, `scatter`, or `unknown` in runs of earlier versions).
    subject: Option<String>,
    /// Which cases (`target_missed`).
    cases: Option<Vec<String>>,
}

/// Fills the part.
pub(super) fn warning_part(warning: &Warning) -> WarningPart {
    part_saying(said::warning(warning, Lang::En), warning)
}

/// The same of a soak, whose rounds are called stretches.
pub(super) fn warning_part_of_soak(warning: &Warning) -> WarningPart {
    part_saying(said::warning_of_soak(warning, Lang::En), warning)
}

fn part_saying(text: String, warning: &Warning) -> WarningPart {
    let mut part = WarningPart {
        kind: warning_kind(warning),
        text,
        rounds_share: None,
        worst_share: None,
        count: None,
        of: None,
        target: None,
        change: None,
        discarded_ns: None,
        longer_ns: None,
        subject: None,
        cases: None,
    };
    match warning {
        Warning::RoundsFailed { failed, of, reason } => {
            part.count = Some(u64::from(*failed));
            part.of = Some(u64::from(*of));
            part.subject = Some(reason.clone());
        }
        Warning::TooFewRounds { have, need } => {
            part.count = Some(u64::from(*have));
            part.of = Some(u64::from(*need));
        }
        Warning::Steal {
            rounds_share,
            worst_share,
        }
        | Warning::SharedCore {
            rounds_share,
            worst_share,
        } => {
            part.rounds_share = finite(*rounds_share);
            part.worst_share = finite(*worst_share);
        }
        Warning::ForeignCpu {
            rounds_share,
            process,
        } => {
            part.rounds_share = finite(*rounds_share);
            part.subject.clone_from(process);
        }
        Warning::OrderEffect {
            within_pass,
            change,
        } => {
            part.change = finite(*change);
            part.subject = Some((if *within_pass { "pass" } else { "run" }).to_owned());
        }
        Warning::WarmingUp {
            discarded,
            longer,
            effect,
        } => {
            part.change = finite(*effect);
            part.discarded_ns = Some(discarded.0);
            part.longer_ns = Some(longer.0);
        }
        Warning::Throttled { rounds_share }
        | Warning::Gaps { rounds_share }
        | Warning::UnevenSpeed { rounds_share }
        | Warning::ClockTrouble { rounds_share } => part.rounds_share = finite(*rounds_share),
        Warning::WorkDirInMemory {
            file_system: subject,
        }
        | Warning::SlowClock { source: subject }
        | Warning::Other(subject) => part.subject = Some(subject.clone()),
        Warning::OffCpu {
            share,
            copies,
            cause,
        } => {
            part.worst_share = finite(*share);
            part.count = Some(u64::from(*copies));
            part.subject = Some(cause_word(*cause).to_owned());
        }
        Warning::CpuWorthLess {
            loss,
            copies,
            threads_share_cores,
            of_one_process,
        } => {
            part.worst_share = finite(*loss);
            part.count = Some(u64::from(*copies));
            let shared = match (threads_share_cores, of_one_process) {
                (true, true) => "cores, process",
                (true, false) => "cores",
                (false, true) => "process",
                (false, false) => "unknown",
            };
            part.subject = Some(shared.to_owned());
        }
        Warning::Allocated { allocations } => part.count = Some(*allocations),
        Warning::TargetMissed {
            cases,
            target,
            limit,
            which,
        } => {
            part.count = Some(u64::from(*cases));
            part.target = finite(*target);
            let (word, rounds) = missed_by(*limit);
            part.subject = Some(word.to_owned());
            part.of = rounds.map(u64::from);
            if !which.is_empty() {
                part.cases = Some(which.iter().map(ToString::to_string).collect());
            }
        }
        Warning::Limited(limit) => limited(&mut part, limit),
        Warning::DebugBuild | Warning::PartOfProcesses | Warning::BudgetShort => {}
    }
    part
}

/// What kept cases from their target, and the rounds that it is about.
const fn missed_by(limit: TargetLimit) -> (&'static str, Option<u32>) {
    match limit {
        TargetLimit::Unknown => ("unknown", None),
        TargetLimit::Time => ("time", None),
        TargetLimit::Rounds(n) => ("rounds", Some(n)),
        TargetLimit::Scatter(n) => ("scatter", Some(n)),
    }
}

fn limited(part: &mut WarningPart, limit: &Limit) {
    let (word, share) = match limit {
        Limit::Cpu { share, copies, .. } => {
            part.count = Some(u64::from(*copies));
            ("cpu", *share)
        }
        Limit::Late { share } => ("late", *share),
        Limit::Cached { share, .. } => ("cached", *share),
        Limit::DeviceIdle { busy_share } => ("device_idle", *busy_share),
    };
    part.worst_share = finite(share);
    part.subject = Some(word.to_owned());
}

const fn cause_word(cause: OffCpuCause) -> &'static str {
    match cause {
        OffCpuCause::MoreCopiesThanCpus(_) => "more_copies_than_cpus",
        OffCpuCause::Quota(_) => "quota",
        OffCpuCause::Steal => "steal",
        OffCpuCause::Foreign => "foreign",
        OffCpuCause::Unknown => "unknown",
    }
}
