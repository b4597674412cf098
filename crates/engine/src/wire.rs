//! What supervisor and worker say to each other: one JSON document a line, over the worker's standard streams.
//!
//! The supervisor sends an [`Order`], the worker answers [`Reply::Ready`], the supervisor opens the gate with a
//! [`Go`], the worker answers [`Reply::Measured`] and then [`Reply::Done`], or at any time [`Reply::Failed`], and
//! exits. Both are the same binary, so the format has no version.

use crate::consent::Permits;
use crate::measure::Window;
use crate::workload::{StandIn, WorkError};
use model::digest::Digest;
use model::params::Params;
use model::plan::Shape;
use model::record::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What one worker is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) workload: String,
    pub(crate) params: Params,
    pub(crate) shape: Shape,
    pub(crate) dir: PathBuf,
    pub(crate) shared_dir: PathBuf,
    pub(crate) run_dir: PathBuf,
    pub(crate) copy: u32,
    pub(crate) copies: u32,
    pub(crate) round: u32,
    pub(crate) seed: u64,
    /// Nanoseconds per tick of the CPU's counter, where it may be used.
    pub(crate) ns_per_tick: Option<f64>,
    /// The CPU to start on.
    pub(crate) cpu: Option<u32>,
    pub(crate) stand_in: Option<StandIn>,
    pub(crate) permits: Permits,
}

/// The gate: begin when the monotonic clock shows this.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) at: u64,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Set-up is done, waiting at the gate.
    Ready,
    /// The measured part is over; the clean-up goes on.
    Measured,
    /// Everything went well.
    Done(Box<CopyReport>),
    /// It did not: kind and words.
    Failed(FailKind, String),
}

/// The kinds of [`crate::workload::WorkError`].
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum FailKind {
    Unsupported,
    Failed,
    Wrong,
}

impl FailKind {
    /// An error as it goes over the wire.
    pub(crate) fn of(error: &WorkError) -> (Self, String) {
        let kind = match error {
            WorkError::Unsupported(_) => Self::Unsupported,
            WorkError::Failed(_) => Self::Failed,
            WorkError::Wrong(_) => Self::Wrong,
        };
        (kind, error.to_string())
    }

    /// The failure of which a worker said these words.
    pub(crate) fn failure(self, words: String) -> Failure {
        match self {
            Self::Unsupported => Failure::Unsupported(words),
            Self::Failed => Failure::Error(words),
            Self::Wrong => Failure::WrongResult(words),
        }
    }
}

/// What one copy did.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CopyReport {
    pub(crate) ops: u64,
    pub(crate) work_per_op: f64,
    pub(crate) wall_ns: u64,
    pub(crate) windows: Vec<Window>,
    pub(crate) user_ns: u64,
    pub(crate) system_ns: u64,
    pub(crate) voluntary: u64,
    pub(crate) involuntary: u64,
    pub(crate) major_faults: u64,
    pub(crate) minor_faults: u64,
    pub(crate) allocations: u64,
    pub(crate) digest: Digest,
    /// The CPU it started on.
    pub(crate) cpu: Option<u32>,
    pub(crate) latency: Vec<(u64, u64)>,
    pub(crate) latency_too_long: u64,
    /// Latencies by name.
    pub(crate) latencies: BTreeMap<String, Vec<(u64, u64)>>,
    pub(crate) notes: Vec<String>,
    pub(crate) reported: BTreeMap<String, f64>,
    /// Why a value was not reported, by quantity.
    pub(crate) missing: BTreeMap<String, String>,
    pub(crate) played_windows: Vec<f64>,
    /// Why it did not do all of its work, where it did not.
    pub(crate) failed: Option<(FailKind, String)>,
}
