//! Why a measured loop stopped: the operation, how far it came, and the kernel's error.
//!
//! It is built without allocating. The object (which file, which pipe) is known to the caller, who adds it.

use std::io;

/// A measured loop stopped early.
#[derive(Debug, thiserror::Error)]
#[error("{operation}: {error}")]
pub struct Failure {
    /// The system call or check that failed, in words: `read`, `dup`, `check the counter`.
    pub operation: &'static str,
    /// Operations finished before.
    pub done: u64,
    /// The error. [`io::ErrorKind::UnexpectedEof`] means that the other side is gone.
    pub error: io::Error,
}

impl Failure {
    /// The error that the last system call of this thread left behind.
    pub(crate) fn last(operation: &'static str, done: u64) -> Self {
        Self {
            operation,
            done,
            error: io::Error::last_os_error(),
        }
    }

    /// An error that no system call reported.
    pub(crate) fn kind(operation: &'static str, done: u64, kind: io::ErrorKind) -> Self {
        Self {
            operation,
            done,
            error: kind.into(),
        }
    }
}
