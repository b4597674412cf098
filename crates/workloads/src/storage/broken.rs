//! What ended a job before its time, with the number under which reports tell it.

use engine::workload::WorkError;
use model::num::approx;
use std::collections::BTreeMap;

/// An error that ends a job. What the job did until then is told all the same.
#[derive(Clone, Debug)]
pub(super) struct Broken {
    pub(super) error: WorkError,
    /// The number that stands for it, where its words name none of the kernel's.
    errno: Option<i32>,
}

/// The name of the number in what a job reports.
pub const ERRNO: &str = "errno";

/// `EIO`: fio's number for transfers that end early, and for rates below their smallest.
pub(super) const EIO: i32 = 5;
/// `ETIMEDOUT`: fio's number for latencies above their largest.
pub(super) const ETIMEDOUT: i32 = 110;

impl Broken {
    pub(super) const fn new(error: WorkError, errno: Option<i32>) -> Self {
        Self { error, errno }
    }

    pub(super) fn report(&self, reported: &mut BTreeMap<String, f64>) {
        if let Some(errno) = self.errno {
            reported.insert(ERRNO.to_owned(), approx(u64::from(errno.unsigned_abs())));
        }
    }
}
