//! Where lines are drawn that more than one rule goes by, each fixed before any run was judged by it.
//!
//! The method page (docs/method/statistics.md) gives the reasons. What one rule alone goes by stands with the rule.

use model::units::Nanos;

/// The fewest rounds that give an interval: at five, no 95 % interval of a median exists, and a fifth trimmed leaves
/// two degrees of freedom.
pub const ROUNDS_MIN: u32 = 6;

/// The fewest runs of a group that give an interval, each run counting once.
pub const RUNS_MIN: u32 = 5;

/// The confidence of every interval that is shown.
pub const CONFIDENCE: f64 = 0.95;

/// Operations per window below which whole operations, not the machine, decide how windows differ: at 100, one
/// operation more or less is 1 %.
pub(crate) const OPS_PER_WINDOW_MIN: f64 = 100.0;

/// Stolen time, as a share of demanded time, above which a round is called disturbed by the host.
pub(crate) const STEAL_MAX: f64 = 0.02;

/// CPU time of others, as a share of one CPU, above which a round is called disturbed by this machine's own work.
pub(crate) const FOREIGN_MAX: f64 = 0.05;

/// Time in which some task waited for memory, as a share of wall time, above which a round is called disturbed by it.
pub(crate) const MEMORY_STALL_MAX: f64 = 0.02;

/// Time held back by a quota, as a share of wall time, above which a round is called throttled.
pub(crate) const THROTTLED_MAX: f64 = 0.01;

/// The share of the time in which some task waited for memory above which memory is called too little.
pub(crate) const MEMORY_WAIT_MAX: f64 = 0.01;

/// The wall clock's movement against the monotonic clock above which somebody set it.
pub(crate) const CLOCK_JUMP_MAX: Nanos = Nanos::from_millis(1);
