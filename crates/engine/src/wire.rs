//! What supervisor and worker say to each other: one JSON document a line, over the worker's standard streams.
//!
//! The supervisor sends an [`Order`], the worker answers [`Reply::Ready`], the supervisor opens the gate with a
//! [`Go`], the worker answers [`Reply::Measured`] and then [`Reply::Done`], or at any time [`Reply::Failed`], and
//! exits. Where ticks are asked for, [`Reply::Tick`] comes now and then before [`Reply::Measured`]. A worker with an
//! errand answers [`Reply::Made`] now and then, and [`Reply::Told`] in the end. Both are the same binary, so the format
//! has no version.

use crate::measure::Window;
use crate::tick::Ticks;
use crate::workload::{ErrandKind, Place, StandIn, Told};
use model::params::Params;
use model::plan::Shape;
use model::record::{CopyDetail, CopyRecord, Failure};
use model::units::Bytes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a worker is sent for that is no round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Sent {
    /// Something for the ground of these parameters.
    For(ErrandKind),
    /// Look whether what stands in for the test's own is there.
    Reach,
}

/// What one worker is to do.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) workload: String,
    pub(crate) params: Params,
    pub(crate) shape: Shape,
    pub(crate) place: Place,
    /// All that the user named; the worker knows which of it is for its workload.
    pub(crate) stand_ins: Vec<StandIn>,
    /// What is to be done in the place of a round.
    pub(crate) errand: Option<Sent>,
    /// The CPU to start on.
    pub(crate) cpu: Option<u32>,
    /// Whether it is to be told how far the work is.
    pub(crate) ticks: bool,
}

/// The gate: begin when the monotonic clock shows this.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Go {
    pub(crate) at: u64,
    /// When it is to be told how far the work is, where it is.
    pub(crate) ticks: Option<Ticks>,
}

/// What a worker says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    /// Set-up is done, waiting at the gate.
    Ready,
    /// What has been done so far.
    Tick(Box<CopyReport>),
    /// The measured part is over; the clean-up goes on.
    Measured,
    /// So much of the ground has been made.
    Made(Bytes),
    /// The errand is done.
    Told(Told),
    /// Everything went well.
    Done(Box<CopyReport>),
    /// It did not; what had been moved to a peer and from there until then.
    Failed(Failure, Option<Bytes>),
}

/// What one copy did.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CopyReport {
    /// What is kept of every copy.
    pub(crate) record: CopyRecord,
    /// What is kept of copies that do different things.
    pub(crate) detail: CopyDetail,
    pub(crate) work_per_op: f64,
    /// Bytes to a peer and from there.
    pub(crate) moved: Option<Bytes>,
    pub(crate) windows: Vec<Window>,
    pub(crate) played_windows: Vec<f64>,
    /// Operations whose latency was too long to be recorded.
    pub(crate) too_long: u64,
    pub(crate) notes: Vec<String>,
    /// The process that works for the test and is none of ours.
    pub(crate) party: Option<u32>,
    /// Why a value was not reported, by quantity.
    pub(crate) missing: BTreeMap<String, String>,
}

impl Default for CopyReport {
    /// What a copy did that has not begun.
    fn default() -> Self {
        Self {
            record: CopyRecord::of_operations(0),
            detail: CopyDetail::default(),
            work_per_op: 1.0,
            moved: None,
            windows: Vec::new(),
            played_windows: Vec::new(),
            too_long: 0,
            notes: Vec::new(),
            party: None,
            missing: BTreeMap::new(),
        }
    }
}
