//! When a job starts and ends.

use std::collections::BTreeSet;

/// What a steady state is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SteadyQuantity {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency.
    Latency,
}

/// When a job is in steady state, in fio's sense.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// What is looked at, once a second.
    pub quantity: SteadyQuantity,
    /// The slope is judged; otherwise the largest deviation of a second from the mean.
    pub by_slope: bool,
    /// The limit.
    pub limit: f64,
    /// The limit is in per cent of the mean, not in the quantity's unit.
    pub is_percent: bool,
    /// How long it must hold.
    pub duration_ns: u64,
    /// What is left out before.
    pub ramp_ns: u64,
}

/// Which jobs end with the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// Those of the reporting group.
    #[default]
    Group,
    /// Those that run; the next ones start.
    Stonewall,
    /// All.
    All,
}

/// Which errors do not end the job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Continue {
    /// Those of reads.
    pub read: bool,
    /// Those of writes.
    pub write: bool,
    /// Mismatches.
    pub verify: bool,
}

/// When it starts and ends.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Life {
    /// The measured time at most; none for no limit.
    pub runtime_ns: Option<u64>,
    /// Starts again until the time is over.
    pub is_time_based: bool,
    /// Time before, which is not reported.
    pub ramp_ns: u64,
    /// Smallest and largest time until the start.
    pub start_delay_ns: (u64, u64),
    /// Waits until all jobs before it have ended.
    pub is_stonewalled: bool,
    /// Starts a new reporting group.
    pub is_new_group: bool,
    /// Other jobs end with it.
    pub ends_all: bool,
    /// Other jobs end with it where it fails.
    pub ends_all_on_error: bool,
    /// Which.
    pub exit_what: ExitWhat,
    /// Errors that do not end it.
    pub continues_on: Continue,
    /// Ends at steady state.
    pub steady_state: Option<SteadyState>,
    /// CPUs on which it may run; all where empty.
    pub cpus: BTreeSet<u32>,
    /// Each clone has one of them.
    pub splits_cpus: bool,
}
