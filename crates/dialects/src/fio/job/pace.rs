//! How fast a job works, and which latency it keeps.

use super::Directions;

/// How operations arrive under a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arrivals {
    /// Evenly.
    #[default]
    Linear,
    /// With exponential gaps, whatever completes.
    Poisson,
}

/// How fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Pace {
    /// Bytes per second.
    pub bytes_per_s: Directions<Option<u64>>,
    /// Operations per second.
    pub iops: Directions<Option<u64>>,
    /// The job fails below these bytes per second.
    pub min_bytes_per_s: Directions<Option<u64>>,
    /// The job fails below these operations per second.
    pub min_iops: Directions<Option<u64>>,
    /// How operations arrive.
    pub arrivals: Arrivals,
    /// The window over which minimum rates are judged.
    pub cycle_ns: u64,
    /// Pauses are not made up for.
    pub ignores_think: bool,
    /// The pause between operations.
    pub think_ns: u64,
    /// The part of the pause that keeps the CPU busy.
    pub think_spin_ns: u64,
    /// Operations between two pauses.
    pub think_blocks: u64,
    /// Blocks are counted when they are issued, not when they complete.
    pub think_counts_issued: bool,
    /// Time of work between two pauses, instead of a number of operations.
    pub think_iotime_ns: u64,
    /// A latency that ends the job with an error.
    pub max_latency_ns: Option<u64>,
    /// The latency that the search for a depth keeps; none without a search.
    pub latency_target_ns: Option<u64>,
    /// How long each depth is judged.
    pub latency_window_ns: u64,
    /// The share of operations that must keep it, in per cent.
    pub latency_percentile: f64,
    /// The search goes on after it found a depth.
    pub latency_run: bool,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            bytes_per_s: Directions::default(),
            iops: Directions::default(),
            min_bytes_per_s: Directions::default(),
            min_iops: Directions::default(),
            arrivals: Arrivals::default(),
            cycle_ns: 1_000_000_000,
            ignores_think: false,
            think_ns: 0,
            think_spin_ns: 0,
            think_blocks: 1,
            think_counts_issued: false,
            think_iotime_ns: 0,
            max_latency_ns: None,
            latency_target_ns: None,
            latency_window_ns: 0,
            latency_percentile: 100.0,
            latency_run: false,
        }
    }
}
