//! How much all flows of a direction move together, where that ends a test: whole blocks where they are sent, whole
//! reads where they are received.

use model::units::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::monotonic;

/// Bytes that are enough.
#[derive(Debug)]
pub(in crate::net) struct Enough {
    bytes: AtomicU64,
    /// Whether it is a bound, which a round is not meant to come to.
    is_bound: bool,
    /// Moved, or about to be.
    taken: AtomicU64,
    /// The instant of the last byte; 0 before.
    reached: AtomicU64,
}

impl Enough {
    /// Nothing is enough before [`Self::at`].
    pub(in crate::net) const fn new() -> Self {
        Self {
            bytes: AtomicU64::new(u64::MAX),
            is_bound: false,
            taken: AtomicU64::new(0),
            reached: AtomicU64::new(0),
        }
    }

    /// From now on so many are, since the flows began.
    pub(in crate::net) fn at(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Release);
    }

    /// How many they are.
    pub(in crate::net) fn wanted(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Whether another block goes; otherwise its sender is at its end.
    #[inline]
    pub(super) fn may_send(&self, block: usize) -> bool {
        let before = self.taken.fetch_add(block as u64, Ordering::Relaxed);
        let may = before < self.bytes.load(Ordering::Acquire);
        if !may {
            self.reached.fetch_max(monotonic(), Ordering::Release);
        }
        may
    }

    /// Whether what has come counts, the read with which it is enough too.
    #[inline]
    pub(in crate::net) fn counts(&self, came: usize) -> bool {
        let before = self.taken.fetch_add(came as u64, Ordering::Relaxed);
        let enough = self.bytes.load(Ordering::Acquire);
        // Where it was enough before anybody said so, this is the first read that is too much.
        if before.saturating_add(came as u64) >= enough {
            let _ =
                self.reached
                    .compare_exchange(0, monotonic(), Ordering::AcqRel, Ordering::Relaxed);
        }
        before < enough
    }

    /// What has moved in all, what came when it was enough too; of what was to be sent, what was refused too.
    pub(in crate::net) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// Nothing moves any more once it is so many, from the beginning on.
    pub(in crate::net) fn of(bytes: Bytes) -> Arc<Self> {
        Arc::new(Self {
            bytes: AtomicU64::new(bytes.0),
            is_bound: true,
            ..Self::new()
        })
    }

    /// Whether the round may come to its end without it.
    pub(super) const fn is_bound(&self) -> bool {
        self.is_bound
    }

    /// When it was enough, by the monotonic clock. Of several senders one may yet send its last block.
    pub(in crate::net) fn reached(&self) -> Option<u64> {
        Some(self.reached.load(Ordering::Acquire)).filter(|&instant| instant > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_go_until_it_is_enough_and_reads_count_as_long() {
        let enough = Enough::new();
        assert!(enough.may_send(1000) && enough.counts(1000));
        enough.at(2250);
        let sent = (0..9).filter(|_| enough.may_send(100)).count();
        assert_eq!(sent, 3, "whole blocks");
        assert!(enough.reached().is_some());

        let enough = Enough::new();
        enough.at(250);
        assert_eq!([100, 100, 49].map(|came| enough.counts(came)), [true; 3]);
        assert_eq!(enough.reached(), None);
        assert_eq!([100, 100].map(|came| enough.counts(came)), [true, false]);
        assert!(enough.reached().is_some());
    }
}
