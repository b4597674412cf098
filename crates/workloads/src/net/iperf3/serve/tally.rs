//! What a receiver of datagrams counts, by iperf3's rules.
//!
//! The highest count that was seen decides: one that is higher by more than one adds what is between as lost; one that
//! is not higher came out of order, and takes one loss back. So a datagram that came twice hides a loss, and what was
//! lost at the end is not seen: that is the definition, and other tools compare by it. Jitter is the smoothed mean of
//! RFC 3550, section 6.4.1.

use super::super::datagram::{Datagram, Width};
use model::num::approx;

/// Counts of a stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Bytes of datagrams with their headers, without what is omitted.
    pub(super) bytes: u64,
    /// Datagrams, by the highest count that was seen.
    pub(super) packets: u64,
    pub(super) lost: u64,
    pub(super) out_of_order: u64,
    pub(super) jitter_us: f64,
    /// Of `packets` and `lost`, those of the beginning that is not counted.
    pub(super) omitted_packets: u64,
    pub(super) omitted_lost: u64,
    transit_us: Option<i64>,
}

impl Tally {
    /// Takes in a datagram of so many bytes that came at `now`, in nanoseconds of any clock.
    #[inline]
    pub(super) fn saw(&mut self, datagram: Datagram, width: Width, bytes: usize, now: u64) {
        self.bytes += bytes as u64;
        let count = match width {
            Width::Bits64 => datagram.count,
            Width::Bits32 => widened(datagram.count, self.packets),
        };
        if count > self.packets {
            self.lost = self.lost.saturating_add(count - self.packets - 1);
            self.packets = count;
        } else {
            self.out_of_order += 1;
            self.lost = self.lost.saturating_sub(1);
        }
        let sent = i64::from(datagram.seconds) * 1_000_000 + i64::from(datagram.microseconds);
        let came = i64::try_from(now / 1000).unwrap_or(i64::MAX);
        let transit = came.saturating_sub(sent);
        let differs = transit.abs_diff(self.transit_us.unwrap_or(transit));
        self.jitter_us += (approx(differs) - self.jitter_us) / 16.0;
        self.transit_us = Some(transit);
    }

    /// What comes from now on counts.
    pub(super) fn omit(&mut self) {
        self.bytes = 0;
        self.jitter_us = 0.0;
        self.out_of_order = 0;
        (self.omitted_packets, self.omitted_lost) = (self.packets, self.lost);
    }
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
