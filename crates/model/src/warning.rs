//! Warnings: values that travel with a number, never text printed on the way.
//!
//! The enum is closed so that every language can say every warning; the sentences are in `report`. Documents for
//! programs hold it as it is serialised here: its tag under `kind`, and beside it the fields of that kind.

use crate::limit::Limit;
use crate::num::approx;
use crate::plan::CaseId;
use crate::units::Nanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::mem::discriminant;

/// Something that makes a number doubtful, or that the reader must know to read it rightly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// Some rounds failed.
    RoundsFailed {
        /// How many.
        failed: u32,
        /// Of how many.
        of: u32,
        /// The reason of the last one.
        reason: String,
        /// Other reasons, the most frequent first.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<FailedFor>,
    },
    /// Fewer rounds than an interval needs.
    TooFewRounds {
        /// Rounds with a value.
        have: u32,
        /// Rounds needed for a 95 % interval.
        need: u32,
    },
    /// In some rounds more than 2 % of the demanded time was stolen by the host.
    Steal {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
        /// The largest share of demanded time stolen in a round, 0 to 1.
        worst_share: f64,
    },
    /// A CPU quota held the measurement back in some rounds.
    Throttled {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
    },
    /// Other processes in this machine used more than 5 % of a CPU in some rounds.
    ForeignCpu {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
        /// The busiest of them.
        process: Option<String>,
    },
    /// Time was lost in gaps that no counter explains, more than three times the run's median.
    Gaps {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
    },
    /// The probe before and after some rounds differed by more than 3 % from the run's median.
    UnevenSpeed {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
    },
    /// Before or after some rounds the core did less than 75 % of what it does in a cycle at its best in this run, and
    /// nothing in this machine was the cause: something outside ran on it too.
    SharedCore {
        /// Share of rounds concerned, 0 to 1; those in which this machine saw a cause are not counted.
        rounds_share: f64,
        /// How much less the worst probe of these was than the best, as a share of the best, 0 to 1.
        worst_share: f64,
    },
    /// The wall clock was set, or the machine suspended, during some rounds.
    ClockTrouble {
        /// Share of rounds concerned, 0 to 1.
        rounds_share: f64,
    },
    /// The figure depends on how much was measured before it in the run, or in its pass.
    OrderEffect {
        /// True where it is the place within the shuffled pass, false where it is the place in the run.
        within_pass: bool,
        /// Median of the later half over median of the earlier half, minus 1.
        change: f64,
    },
    /// The start of each round differs from its rest: the warm-up that is discarded is too short.
    WarmingUp {
        /// What is discarded.
        #[serde(rename = "discarded_ns")]
        discarded: Nanos,
        /// How much longer it should at least be.
        #[serde(rename = "longer_ns")]
        longer: Nanos,
        /// By which share the start changes the figure: -0.02 where it makes it 2 % smaller.
        effect: f64,
    },
    /// The work directory is in memory: a file-system figure says nothing about a disk.
    WorkDirInMemory {
        /// The file system's type, such as `tmpfs`.
        file_system: String,
    },
    /// Measured by a build without optimisation.
    DebugBuild,
    /// The clock source is not the TSC: timing costs more and latencies are blurred.
    SlowClock {
        /// The clock source.
        source: String,
    },
    /// Not every process of the machine could be seen: what others used of its CPUs is a lower bound.
    PartOfProcesses,
    /// Work that only computes was not on a CPU all of the time.
    OffCpu {
        /// Share of the wall time off a CPU, 0 to 1: the median of the rounds.
        share: f64,
        /// The copies that ran.
        copies: u32,
        /// Why, as far as it shows.
        cause: OffCpuCause,
    },
    /// A CPU second did less than when one copy runs alone.
    CpuWorthLess {
        /// How much less, as a share.
        loss: f64,
        /// The copies that ran.
        copies: u32,
        /// True where so many copies had to share cores as hardware threads.
        threads_share_cores: bool,
        /// True where the copies are threads of one process, which may share more than the machine.
        of_one_process: bool,
    },
    /// A round allocated memory while measuring, which costs time that is not the workload's.
    Allocated {
        /// The largest number of allocations in a round.
        allocations: u64,
    },
    /// Time ran out before six passes were done.
    BudgetShort,
    /// Some cases ended with a wider interval than was asked for.
    TargetMissed {
        /// How many cases.
        cases: u32,
        /// The half-width that was asked for, as a share of the value.
        target: f64,
        /// What kept them from it.
        limit: TargetLimit,
        /// Which cases.
        which: Vec<CaseId>,
    },
    /// Something else than the storage may have decided the figure.
    Limited(Limit),
    /// Something particular to the workload.
    Other {
        /// What, in English.
        what: String,
    },
}

impl Warning {
    /// What orders warnings of one kind, the worst last; `None` where the sentence has no figures that differ from
    /// metric to metric.
    pub fn severity(&self) -> Option<f64> {
        match self {
            Self::RoundsFailed { failed, of, .. } => {
                Some(f64::from(*failed) / f64::from((*of).max(1)))
            }
            Self::TooFewRounds { have, .. } => Some(-f64::from(*have)),
            Self::Steal { worst_share, .. } | Self::SharedCore { worst_share, .. } => {
                Some(*worst_share)
            }
            Self::Throttled { rounds_share }
            | Self::ForeignCpu { rounds_share, .. }
            | Self::Gaps { rounds_share }
            | Self::UnevenSpeed { rounds_share }
            | Self::ClockTrouble { rounds_share } => Some(*rounds_share),
            Self::OrderEffect { change, .. } => Some(change.abs()),
            Self::WarmingUp { effect, .. } => Some(effect.abs()),
            Self::OffCpu { share, .. } => Some(*share),
            Self::CpuWorthLess { loss, .. } => Some(*loss),
            Self::Allocated { allocations } => Some(approx(*allocations)),
            Self::Limited(limit) => Some(limit.severity()),
            Self::WorkDirInMemory { .. }
            | Self::DebugBuild
            | Self::SlowClock { .. }
            | Self::PartOfProcesses
            | Self::BudgetShort
            | Self::TargetMissed { .. }
            | Self::Other { .. } => None,
        }
    }

    /// Whether one sentence says both but for their figures: the same kind, and the same words where they carry some.
    pub fn same_kind(&self, other: &Self) -> bool {
        discriminant(self) == discriminant(other) && self.words() == other.words()
    }

    /// What a kind has of words of its own.
    fn words(&self) -> String {
        match self {
            Self::RoundsFailed { reason, others, .. } => {
                let others = others.iter().map(|other| other.reason.as_str());
                others.fold(reason.clone(), |all, other| all + "\n" + other)
            }
            Self::Other { what: words } => words.clone(),
            Self::Limited(limit) => format!("{:?}", discriminant(limit)),
            Self::OffCpu { cause, .. } => format!("{cause:?}"),
            Self::OrderEffect { within_pass, .. } => within_pass.to_string(),
            Self::CpuWorthLess {
                threads_share_cores,
                of_one_process,
                ..
            } => format!("{threads_share_cores} {of_one_process}"),
            _ => String::new(),
        }
    }
}

/// A reason for which rounds failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FailedFor {
    /// How many.
    pub rounds: u32,
    /// In words, as those of the first one of them were.
    pub reason: String,
}

/// What kept cases from the width that was asked for. Each takes something else to get there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TargetLimit {
    /// The time was over: more of it may help.
    Time,
    /// They have so many rounds, the most that there were to be: more rounds may help.
    Rounds(u32),
    /// Their own scatter: not even so many rounds would leave them less than twice as wide. Neither time nor rounds
    /// help.
    Scatter(u32),
}

/// Why work that only computes was not on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OffCpuCause {
    /// There are only so many CPUs.
    MoreCopiesThanCpus(u32),
    /// A quota, of so many CPUs where that is known.
    Quota(Option<f64>),
    /// The host took the time.
    Steal,
    /// Other processes of this machine took it.
    Foreign,
    /// No counter explains it.
    Unknown,
}
