//! What ended a job before its time, with the number under which reports tell it.

use engine::workload::WorkError;

/// An error that ends a job. What the job did until then is told all the same.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) error: WorkError,
    /// The number that stands for it, where its words name none of the kernel's.
    pub(super) errno: Option<i32>,
}

/// `EIO`: fio's number for transfers that end early, and for rates below their smallest.
pub(super) const EIO: i32 = 5;
/// `ETIMEDOUT`: fio's number for latencies above their largest.
pub(super) const ETIMEDOUT: i32 = 110;

impl Broken {
    pub(super) const fn new(error: WorkError, errno: Option<i32>) -> Self {
        Self { error, errno }
    }
}
