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

    /// How much of another block goes, of which a bound lets no byte more pass than it has; where that is nothing, its
    /// sender is at its end.
    #[inline]
    pub(in crate::net) fn may_send(&self, block: usize) -> usize {
        let (enough, block) = (self.wanted(), block as u64);
        let order = Ordering::Relaxed;
        let may = |before: u64| match enough.saturating_sub(before) {
            0 => 0,
            left if self.is_bound => left.min(block),
            _ => block,
        };
        let more = |before: u64| Some(may(before)).filter(|&bytes| bytes > 0);
        let taken = self.taken.fetch_update(order, order, |before| {
            Some(before.saturating_add(more(before)?))
        });
        let Ok(before) = taken else {
            self.reached.fetch_max(monotonic(), Ordering::Release);
            return 0;
        };
        usize::try_from(may(before)).unwrap_or(0)
    }

    /// Takes so many bytes where they are left, with so many others that are counted elsewhere.
    pub(in crate::net) fn takes(&self, bytes: u64, elsewhere: u64) -> bool {
        let most = self.wanted().saturating_sub(elsewhere);
        let more = |before: u64| before.checked_add(bytes).filter(|&after| after <= most);
        let order = Ordering::Relaxed;
        self.taken.fetch_update(order, order, more).is_ok()
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

    /// What has moved in all, what came when it was enough too; of what is sent, what is about to be.
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
        assert!(enough.may_send(1000) == 1000 && enough.counts(1000));
        enough.at(2250);
        let sent: Vec<usize> = (0..9).map(|_| enough.may_send(100)).collect();
        assert_eq!(sent, [100, 100, 100, 0, 0, 0, 0, 0, 0], "whole blocks");
        assert!(enough.reached().is_some());

        let enough = Enough::new();
        enough.at(250);
        assert_eq!([100, 100, 49].map(|came| enough.counts(came)), [true; 3]);
        assert_eq!(enough.reached(), None);
        assert_eq!([100, 100].map(|came| enough.counts(came)), [true, false]);
        assert!(enough.reached().is_some());
    }

    #[test]
    fn a_bound_is_passed_by_no_byte_whoever_takes_of_it() {
        for (most, block, flows) in [
            (1000, 100, 1),
            (1001, 100, 1),
            (99, 100, 128),
            (1_000_000, 7, 128),
            (5 << 20, 1 << 20, 16),
            (0, 100, 2),
        ] {
            let enough = Enough::of(Bytes(most));
            let sent =
                || std::iter::from_fn(|| Some(enough.may_send(block)).filter(|&may| may > 0));
            let all: usize = std::thread::scope(|scope| {
                let each: Vec<_> = (0..flows)
                    .map(|_| scope.spawn(|| sent().sum::<usize>()))
                    .collect();
                each.into_iter()
                    .map(|one| one.join().unwrap())
                    .sum::<usize>()
            });
            assert_eq!(all as u64, most, "{block} {flows}");
            assert!(enough.reached().is_some() && enough.taken() == most);
            assert!(!enough.takes(1, 0));
        }
        let enough = Enough::of(Bytes(1000));
        assert!(enough.takes(400, 600) && !enough.takes(400, 201) && enough.takes(400, 200));
        assert_eq!((enough.taken(), enough.may_send(500)), (800, 200));
    }
}
