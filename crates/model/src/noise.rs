//! What else happened while a round was measured.
//!
//! Each figure is optional: a kernel that does not tell is not a quiet kernel. Nothing here ever corrects a
//! result; it only travels with it. Shares are of the round's measured wall time unless said otherwise.

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// The noise vector of one round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Stolen time as a share of the time that was demanded (stolen plus used), 0 to 1. /proc/stat.
    pub steal_share: Option<f64>,
    /// Wall time minus CPU time of the workers, as a share of wall time, 0 to 1; only telling for CPU-bound work.
    pub off_cpu_share: Option<f64>,
    /// PSI: share of time in which some task waited for a CPU, 0 to 1.
    pub psi_cpu_share: Option<f64>,
    /// PSI: share of time in which some task waited for I/O, 0 to 1.
    pub psi_io_share: Option<f64>,
    /// PSI: share of time in which some task waited for memory, 0 to 1.
    pub psi_memory_share: Option<f64>,
    /// Time for which a CPU quota held our cgroup back, as a share of wall time; may exceed 1 on several CPUs.
    pub throttled_share: Option<f64>,
    /// Context switches of the workers that they did not ask for.
    pub involuntary_switches: Option<u64>,
    /// Context switches of the workers that they asked for.
    pub voluntary_switches: Option<u64>,
    /// CPU time used by processes that are neither ours nor the kernel's, as a share of one CPU.
    pub foreign_cpu_share: Option<f64>,
    /// The name of the process that used most of it.
    pub foreign_top: Option<String>,
    /// How far the wall clock moved against the monotonic clock; above a millisecond somebody set it.
    pub clock_jump: Option<Nanos>,
    /// For how long the whole machine was suspended.
    pub suspended: Option<Nanos>,
    /// The probe before the round.
    pub before: Option<Sentinel>,
    /// The probe after the round.
    pub after: Option<Sentinel>,
}

/// A micro-probe of a few milliseconds: what the machine is worth when nothing of ours runs. It is taken on the CPU on
/// which the first copy starts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sentinel {
    /// Time per dependent addition, in nanoseconds; its inverse is the effective clock rate in GHz.
    pub add_ns: f64,
    /// Share of the probe lost in gaps longer than 5 microseconds, 0 to 1.
    pub gap_share: f64,
    /// The longest gap seen.
    pub gap_max: Nanos,
    /// How many additions that do not wait for each other the core did in the time of one that waits, which is one
    /// cycle: the middle one of several moments of the probe. Above 0; 3 to 6 where a core of these years has nothing
    /// else to do, about half of that where another hardware thread of it is as busy, and at most 8, which is as many
    /// as the loop can tell. `None` in runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adds_per_cycle: Option<f64>,
}
