//! How fast flows may go: one schedule for a flow, or for all flows of a direction together.

use std::sync::atomic::{AtomicU64, Ordering};
use sys::clock::{monotonic, sleep_until};
use sys::loops::team::Member;

/// What is behind the schedule by more than this stays behind: a flow that was held up does not make up for it in one
/// burst, which would be a rate that nobody asked for. A thread waits so long for a CPU on a busy machine.
const CATCH_UP_PS: u64 = 100_000_000_000;

/// How long a thread sleeps before it looks whether the test is over, in nanoseconds.
const LOOK_NS: u64 = 50_000_000;

/// A schedule in instants and not in pauses: what one sleep takes too long the next one takes less.
#[derive(Debug)]
pub(in crate::net) struct Pace {
    bits_per_s: u64,
    /// The zero of its clock, in nanoseconds.
    zero: u64,
    /// When the next byte may go, in picoseconds after the zero: a nanosecond is many bytes where rates are high.
    next_ps: AtomicU64,
}

impl Pace {
    /// So many bits a second, at least one, of which none was saved up before now.
    pub(in crate::net) fn new(bits_per_s: u64) -> Self {
        Self {
            bits_per_s: bits_per_s.max(1),
            zero: monotonic(),
            next_ps: AtomicU64::new(0),
        }
    }

    /// From now on.
    pub(super) fn begin(&self, now: u64) {
        let passed = now.saturating_sub(self.zero).saturating_mul(1000);
        self.next_ps.store(passed, Ordering::Relaxed);
    }

    /// So many bytes went at `now`: the instant from which more may go, on the same clock.
    #[inline]
    pub(in crate::net) fn after(&self, bytes: usize, now: u64) -> u64 {
        let cost = bytes as u128 * 8_000_000_000_000 / u128::from(self.bits_per_s);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let now_ps = now.saturating_sub(self.zero).saturating_mul(1000);
        let floor = now_ps.saturating_sub(CATCH_UP_PS);
        let later = |next: u64| Some(next.max(floor).saturating_add(cost));
        let order = Ordering::Relaxed;
        let before = self.next_ps.fetch_update(order, order, later);
        let before = before.unwrap_or_else(|before| before).max(floor);
        self.zero.saturating_add(before.saturating_add(cost) / 1000)
    }
}

/// Waits for that instant; less where the test is over before.
pub(in crate::net) fn rest(until: u64, member: &Member) {
    loop {
        let now = monotonic();
        if now >= until || member.stopped() {
            return;
        }
        sleep_until(until.min(now + LOOK_NS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn at(bits_per_s: u64) -> (Pace, u64) {
        let pace = Pace::new(bits_per_s);
        let zero = pace.zero;
        pace.begin(zero);
        (pace, zero)
    }

    #[test]
    fn bytes_take_their_time_also_where_one_takes_less_than_a_nanosecond() {
        let check = |bits_per_s: u64, bytes: usize, times: u64, expected: u64| {
            let (pace, zero) = at(bits_per_s);
            let last = (0..times).fold(0, |_, _| pace.after(bytes, zero));
            assert_eq!(last - zero, expected, "{bits_per_s} {bytes}");
        };
        check(8_000_000, 1000, 1000, SECOND);
        check(1_000_000_000, 131_072, 1, 1_048_576);
        check(400_000_000_000, 16, 1_000_000, 320_000);
        check(3_000_000, 1448, 1, 3_861_333);
        check(1, 1, 1, 8 * SECOND);
    }

    #[test]
    fn what_is_late_is_made_up_for_within_bounds() {
        let (pace, zero) = at(8_000_000);
        // 1 ms of sending, 50 ms late: still on the first schedule.
        assert_eq!(
            pace.after(1000, zero + 50 * SECOND / 1000),
            zero + SECOND / 1000
        );
        // A second late: 100 ms are made up for.
        let now = zero + SECOND;
        let floor = now - 100 * SECOND / 1000;
        assert_eq!(pace.after(1000, now), floor + SECOND / 1000);
        // Nothing is saved up before the beginning.
        pace.begin(now);
        assert_eq!(pace.after(1000, now), now + SECOND / 1000);
    }
}
