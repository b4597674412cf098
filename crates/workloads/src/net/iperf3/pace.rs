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
pub(crate) struct Pace {
    bits_per_s: u64,
    /// The zero of its clock, in nanoseconds.
    zero: u64,
    /// When the next byte may go, in picoseconds after the zero: a nanosecond is many bytes where rates are high.
    next_ps: AtomicU64,
}

impl Pace {
    /// So many bits a second, at least one, of which none was saved up before now.
    pub(crate) fn new(bits_per_s: u64) -> Self {
        Self {
            bits_per_s: bits_per_s.max(1),
            zero: monotonic(),
            next_ps: AtomicU64::new(0),
        }
    }

    /// From now on.
    pub(crate) fn begin(&self, now: u64) {
        let passed = now.saturating_sub(self.zero).saturating_mul(1000);
        self.next_ps.store(passed, Ordering::Relaxed);
    }

    /// What so many bytes take, in picoseconds.
    #[inline]
    pub(crate) fn cost(&self, bytes: usize) -> u64 {
        let cost = bytes as u128 * 8_000_000_000_000 / u128::from(self.bits_per_s);
        u64::try_from(cost).unwrap_or(u64::MAX)
    }

    /// How often `bytes` are due at `now`, where they are for the first time at `due`: once at least.
    #[inline]
    pub(crate) fn due(&self, due: u64, now: u64, bytes: usize) -> usize {
        let behind = now
            .saturating_sub(due)
            .saturating_mul(1000)
            .min(CATCH_UP_PS);
        usize::try_from(behind / self.cost(bytes).max(1))
            .map_or(usize::MAX, |more| more.saturating_add(1))
    }

    /// How late what goes at `now` is, in nanoseconds, behind so many bytes of which the first were due at `due`: a
    /// schedule that is too far behind was put off by the first.
    #[inline]
    pub(crate) fn late(&self, due: u64, now: u64, behind: usize) -> u64 {
        if behind == 0 {
            return now.saturating_sub(due);
        }
        let due = due.max(now.saturating_sub(CATCH_UP_PS / 1000));
        now.saturating_sub(due.saturating_add(self.cost(behind) / 1000))
    }

    /// So many bytes went at `now`: the instant from which more may go, on the same clock.
    #[inline]
    pub(crate) fn after(&self, bytes: usize, now: u64) -> u64 {
        let cost = self.cost(bytes);
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
pub(crate) fn rest(until: u64, member: &Member) {
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
    fn what_is_due_by_now_is_known_with_how_late_each_is() {
        // 1 ms each.
        let (pace, zero) = at(8_000_000);
        let check = |passed_us: u64, expected: usize, lates_us: &[u64]| {
            let now = zero + passed_us * 1000;
            assert_eq!(pace.due(zero, now, 1000), expected, "{passed_us}");
            for (place, late) in lates_us.iter().enumerate() {
                assert_eq!(
                    pace.late(zero, now, place * 1000),
                    late * 1000,
                    "{passed_us} {place}"
                );
            }
        };
        check(0, 1, &[0]);
        check(999, 1, &[999]);
        check(1000, 2, &[1000, 0]);
        check(3500, 4, &[3500, 2500, 1500, 500]);
        // A second late: the first one is, and the schedule is put off.
        check(1_000_000, 101, &[1_000_000, 99_000, 98_000]);
        let now = zero + 3 * SECOND;
        assert_eq!(
            pace.late(zero, now, 1000),
            pace.late(now - SECOND / 10, now, 1000)
        );
        // Where one takes less than a nanosecond, many are.
        let (fast, zero) = at(400_000_000_000);
        assert_eq!(fast.due(zero, zero + 1, 16), 4);
        assert_eq!(fast.due(zero + 5, zero, 16), 1);
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
