//! What a sysbench spends around each of its events, which at short events is most of what it measures.
//!
//! sysbench 1.0 asks the C library, as a tracer of library calls shows, for each event: the time, whether to go on; the
//! time before and the time after; and the logarithm and the floor of their difference, which choose the bucket of a
//! histogram that all threads share. The same is done here in the same order, with the same functions. Its histogram
//! has 1024 buckets from 0.001 ms to 100 s, in equal factors.
//!
//! It judges nothing: whoever wants to know how long an event took by itself leaves this away.
#![expect(unsafe_code, reason = "clock_gettime of the C library")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Buckets, and the first and the last latency in milliseconds.
const BUCKETS: usize = 1024;
const LEAST_MS: f64 = 0.001;
const MOST_MS: f64 = 100_000.0;

/// The histogram that all threads share.
#[derive(Debug)]
pub struct Around {
    buckets: Box<[AtomicU64]>,
    least_log: f64,
    per_log: f64,
}

impl Default for Around {
    fn default() -> Self {
        Self::new()
    }
}

impl Around {
    /// An empty histogram.
    pub fn new() -> Self {
        let least_log = LEAST_MS.ln();
        Self {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            least_log,
            per_log: 1023.0 / (MOST_MS.ln() - least_log),
        }
    }

    /// Does one event, and returns with its result the nanoseconds that the clock says it took.
    #[inline]
    pub fn time<T>(&self, event: impl FnOnce() -> T) -> (T, u64) {
        // Whether to go on: the answer is the caller's business, the question costs what it costs.
        std::hint::black_box(now());
        let start = now();
        let result = event();
        let nanos = now().saturating_sub(start);
        self.buckets[self.bucket(nanos)].fetch_add(1, Relaxed);
        (result, nanos)
    }

    #[inline]
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "latencies below 2^53 ns; a conversion to a whole number keeps within its bounds by itself"
    )]
    fn bucket(&self, nanos: u64) -> usize {
        let ms = nanos as f64 / 1e6;
        let place = ((ms.ln() - self.least_log) * self.per_log + 0.5).floor();
        (place as usize).min(BUCKETS - 1)
    }

    /// How many events there were.
    pub fn events(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.load(Relaxed)).sum()
    }
}

/// The monotonic clock through the library's function.
#[inline]
fn now() -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the pointer is valid for writing, and this clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_done_timed_and_counted_whatever_it_takes() {
        let around = Around::new();
        let mut done = 0;
        for _ in 0..100 {
            let ((), nanos) = around.time(|| done += 1);
            assert!(nanos < 1_000_000_000);
        }
        let ((), nanos) = around.time(|| std::thread::sleep(std::time::Duration::from_millis(2)));
        assert!(nanos >= 2_000_000, "{nanos}");
        assert_eq!((done, around.events()), (100, 101));
    }

    #[test]
    fn buckets_are_equal_factors_and_ends_are_kept() {
        let around = Around::new();
        for (nanos, bucket) in [
            (0, 0),
            (1, 0),
            (1_000, 0),
            (100_000_000_000, 1023),
            (u64::MAX, 1023),
        ] {
            assert_eq!(around.bucket(nanos), bucket, "{nanos}");
        }
        let step = around.bucket(20_000) - around.bucket(10_000);
        let next = around.bucket(40_000) - around.bucket(20_000);
        assert!(step.abs_diff(next) <= 1 && step > 30, "{step} {next}");
    }
}
