//! What a receiver of datagrams counts, by iperf3's rules.
//!
//! The highest count that was seen decides: one that is higher by more than one adds what is between as lost; one that
//! is not higher came out of order, and takes one loss back. So a datagram that came twice hides a loss, and what was
//! lost at the end is not seen: that is the definition, and other tools compare by it. What came twice is told apart
//! beside it, by the counts that were seen last. Jitter is the smoothed mean of RFC 3550, section 6.4.1.

use super::datagram::{Datagram, Width};
use model::flows::Datagrams;
use model::num::{approx, round_to_u64};
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Words of bits: so far back it is known which counts have come.
const WORDS: usize = 32;
const SEEN: u64 = 64 * WORDS as u64;

/// What others see of a tally while its thread counts: each count by itself, as it was a moment ago.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Shown {
    packets: AtomicU64,
    lost: AtomicU64,
    out_of_order: AtomicU64,
    jitter_ns: AtomicU64,
}

impl Shown {
    fn set(&self, tally: &Tally) {
        let order = Ordering::Relaxed;
        self.packets.store(tally.packets, order);
        self.lost.store(tally.lost, order);
        self.out_of_order.store(tally.out_of_order, order);
        self.jitter_ns
            .store(round_to_u64(tally.jitter_us * 1e3), order);
    }

    /// Since the stream began.
    pub(crate) fn seen(&self) -> Datagrams {
        let order = Ordering::Relaxed;
        Datagrams {
            packets: self.packets.load(order),
            lost: self.lost.load(order),
            out_of_order: self.out_of_order.load(order),
            jitter: Nanos(self.jitter_ns.load(order)),
        }
    }
}

/// Counts of a stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    /// Bytes of datagrams with their headers, without what is omitted.
    pub(crate) bytes: u64,
    /// Datagrams, by the highest count that was seen.
    pub(crate) packets: u64,
    pub(crate) lost: u64,
    /// With those that came twice.
    pub(crate) out_of_order: u64,
    /// Those that had come before, as far back as that is known.
    pub(crate) doubled: u64,
    pub(crate) jitter_us: f64,
    /// Of `packets` and `lost`, those of the beginning that is not counted.
    pub(crate) omitted_packets: u64,
    pub(crate) omitted_lost: u64,
    /// What is lost, without the losses that doubled ones hide; with the beginning, and of it.
    missing: u64,
    omitted_missing: u64,
    /// A bit for each of the last counts, by its remainder.
    seen: [u64; WORDS],
    transit_us: Option<i64>,
    /// Where somebody looks on.
    shown: Option<Arc<Shown>>,
}

impl Tally {
    /// Counts that others see.
    pub(crate) fn shown(to: Arc<Shown>) -> Self {
        Self {
            shown: Some(to),
            ..Self::default()
        }
    }

    /// Takes in a datagram of so many bytes that came at `now`, in nanoseconds of any clock.
    #[inline]
    pub(crate) fn saw(&mut self, datagram: Datagram, width: Width, bytes: usize, now: u64) {
        self.bytes += bytes as u64;
        let count = match width {
            Width::Bits64 => datagram.count,
            Width::Bits32 => widened(datagram.count, self.packets),
        };
        if count > self.packets {
            let between = count - self.packets - 1;
            self.lost = self.lost.saturating_add(between);
            self.missing = self.missing.saturating_add(between);
            self.advance(count);
        } else {
            self.out_of_order += 1;
            self.lost = self.lost.saturating_sub(1);
            if self.packets - count < SEEN && self.marks(count) {
                self.doubled += 1;
            } else {
                self.missing = self.missing.saturating_sub(1);
            }
        }
        let sent = i64::from(datagram.seconds) * 1_000_000 + i64::from(datagram.microseconds);
        let came = i64::try_from(now / 1000).unwrap_or(i64::MAX);
        let transit = came.saturating_sub(sent);
        let differs = transit.abs_diff(self.transit_us.unwrap_or(transit));
        self.jitter_us += (approx(differs) - self.jitter_us) / 16.0;
        self.transit_us = Some(transit);
        if let Some(shown) = &self.shown {
            shown.set(self);
        }
    }

    /// This count is the highest.
    #[inline]
    fn advance(&mut self, count: u64) {
        if count - self.packets >= SEEN {
            self.seen = [0; WORDS];
        } else {
            for between in self.packets + 1..count {
                let (word, bit) = place(between);
                self.seen[word] &= !bit;
            }
        }
        let (word, bit) = place(count);
        self.seen[word] |= bit;
        self.packets = count;
    }

    /// Whether this one has come before; it has come now.
    #[inline]
    fn marks(&mut self, count: u64) -> bool {
        let (word, bit) = place(count);
        let has_come = self.seen[word] & bit != 0;
        self.seen[word] |= bit;
        has_come
    }

    /// What comes from now on counts.
    pub(crate) fn omit(&mut self) {
        self.bytes = 0;
        self.jitter_us = 0.0;
        (self.out_of_order, self.doubled) = (0, 0);
        (self.omitted_packets, self.omitted_lost) = (self.packets, self.lost);
        self.omitted_missing = self.missing;
    }

    /// Datagrams that count, by the highest count.
    pub(crate) const fn counted(&self) -> u64 {
        self.packets.saturating_sub(self.omitted_packets)
    }

    /// Those of them that were lost, by iperf3's rules.
    pub(crate) const fn counted_lost(&self) -> u64 {
        self.lost.saturating_sub(self.omitted_lost)
    }

    /// Those of them that never came.
    pub(crate) const fn counted_missing(&self) -> u64 {
        self.missing.saturating_sub(self.omitted_missing)
    }
}

/// Where the bit of a count is.
#[inline]
fn place(count: u64) -> (usize, u64) {
    let bit = count % SEEN;
    (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
}

/// A count of 32 bits that began again, as it is next to the highest one.
fn widened(count: u64, highest: u64) -> u64 {
    const TURN: u64 = 1 << 32;
    let near = highest - highest % TURN + count;
    if near + TURN / 2 < highest {
        near + TURN
    } else if near > highest + TURN / 2 && near >= TURN {
        near - TURN
    } else {
        near
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One every 10 ms, each as late as is said, in microseconds.
    fn tally(counts: &[(u64, u32)]) -> Tally {
        let mut tally = Tally::default();
        for (place, (count, late)) in (0_u32..).zip(counts) {
            let datagram = Datagram {
                seconds: 5,
                microseconds: place * 10_000,
                count: *count,
            };
            let now = 1000 * u64::from(place * 10_000 + late);
            tally.saw(datagram, Width::Bits64, 100, now);
        }
        tally
    }

    #[test]
    fn losses_and_order_are_by_the_highest_count() {
        let check = |counts: &[u64], packets, lost, out_of_order| {
            let counts: Vec<_> = counts.iter().map(|&count| (count, 0)).collect();
            let tally = tally(&counts);
            let found = (tally.packets, tally.lost, tally.out_of_order);
            assert_eq!(found, (packets, lost, out_of_order), "{counts:?}");
        };
        check(&[1, 2, 3], 3, 0, 0);
        check(&[1, 4], 4, 2, 0);
        check(&[3], 3, 2, 0);
        check(&[1, 3, 2, 4], 4, 0, 1);
        // Twice: it hides a loss; where none is, none goes below nothing.
        check(&[1, 2, 2, 4], 4, 1, 1);
        check(&[1, 2, 4, 4], 4, 0, 1);
        check(&[1, 1], 1, 0, 1);
        check(&[0], 0, 0, 1);
        check(&[u64::MAX, 1, u64::MAX], u64::MAX, u64::MAX - 3, 2);
    }

    #[test]
    fn what_came_twice_is_told_apart_and_hides_no_loss() {
        let check = |counts: &[u64], doubled, missing| {
            let counts: Vec<_> = counts.iter().map(|&count| (count, 0)).collect();
            let tally = tally(&counts);
            let found = (tally.doubled, tally.counted_missing());
            assert_eq!(found, (doubled, missing), "{counts:?}");
        };
        check(&[1, 2, 3], 0, 0);
        check(&[1, 2, 2, 4], 1, 1);
        check(&[1, 2, 4, 4, 4], 2, 1);
        check(&[1, 4, 2, 2, 3], 1, 0);
        check(&[2, 1, 1, 2], 2, 0);
        // What is a turn of the bits ahead has not come before; what is further back may have.
        check(&[1, 1 + SEEN, 2 + SEEN, 2], 0, SEEN - 2);
        check(&[5, 5 + SEEN, 6], 0, 4 + SEEN - 2);
        check(&[1, 2, 2 + SEEN, 2], 0, SEEN - 2);
    }

    #[test]
    fn whatever_comes_missing_and_doubled_are_those_of_a_list() {
        let mut rng = model::rng::Rng::stream(7, 7);
        let mut below = |n: u64| rng.next() % n;
        for _ in 0..50 {
            let mut counts = Vec::new();
            for count in 1..=3000_u64 {
                for _ in 0..[1, 1, 1, 0, 2][usize::try_from(below(5)).unwrap()] {
                    // At most 40 places late.
                    counts.push((count * 10 + below(400), count));
                }
            }
            counts.sort_unstable();
            let order: Vec<_> = counts.iter().map(|(_, count)| (*count, 0)).collect();
            let tally = tally(&order);
            let mut unique: Vec<_> = order.iter().map(|(count, _)| *count).collect();
            unique.sort_unstable();
            unique.dedup();
            let doubled = (order.len() - unique.len()) as u64;
            let missing = unique[unique.len() - 1] - unique.len() as u64;
            assert_eq!((tally.doubled, tally.counted_missing()), (doubled, missing));
        }
    }

    #[test]
    fn jitter_is_smoothed_and_begins_with_nothing() {
        assert!(tally(&[(1, 500)]).jitter_us.abs() < 1e-9);
        let two = tally(&[(1, 500), (2, 2100)]).jitter_us;
        assert!((two - 100.0).abs() < 1e-9, "{two}");
        let three = tally(&[(1, 500), (2, 2100), (3, 500)]).jitter_us;
        assert!((three - (100.0 + 1500.0 / 16.0)).abs() < 1e-9, "{three}");
    }

    #[test]
    fn what_is_omitted_is_told_apart() {
        let mut tally = tally(&[(1, 0), (3, 800)]);
        tally.omit();
        assert_eq!((tally.omitted_packets, tally.omitted_lost), (3, 1));
        assert_eq!((tally.packets, tally.lost, tally.bytes), (3, 1, 0));
        assert!(tally.jitter_us.abs() < 1e-9);
    }

    #[test]
    fn a_narrow_count_goes_on_where_it_begins_again() {
        let turn = 1_u64 << 32;
        let check = |count, highest, expected| {
            assert_eq!(widened(count, highest), expected, "{count} {highest}");
        };
        check(1, 0, 1);
        check(turn - 1, turn - 2, turn - 1);
        check(0, turn - 1, turn);
        check(5, turn - 1, turn + 5);
        check(turn - 3, turn + 2, turn - 3);
        check(7, 3 * turn + 6, 3 * turn + 7);
        check(turn - 1, 0, turn - 1);
    }
}
