//! A CPU that is kept busy beside jobs on storage: for a while again and again, with rests between.

use model::job::Burn;
use model::rng::Rng;
use std::hint;
use sys::clock::{monotonic, sleep};

/// Numbers that are sorted at a time: few, so that the clock is looked at often.
const NUMBERS: usize = 4096;

/// How often it looks whether it is to end.
const LOOKS_EVERY_NS: u64 = 10_000_000;

/// Does what is asked for from one time of the monotonic clock to another, unless something interrupts or `is_over`.
pub(super) fn between(burn: Burn, begin: u64, end: u64, is_over: impl Fn() -> bool) {
    let goes_on = || !is_over() && sys::signal::interrupted().is_none();
    rest(begin, goes_on);
    let mut numbers = Numbers::new(burn);
    while monotonic() < end && goes_on() {
        let from = monotonic();
        let to = from.saturating_add(burn.chunk.0).min(end);
        let mut now = from;
        while now < to && goes_on() {
            let look = now.saturating_add(LOOKS_EVERY_NS).min(to);
            while now < look {
                numbers.work();
                now = monotonic();
            }
        }
        // As long as it was busy, whatever else ran meanwhile.
        let busy = monotonic().saturating_sub(from);
        let share = u64::from(burn.percent.clamp(1, 100));
        let pause = busy.saturating_mul(100 - share) / share;
        rest(monotonic().saturating_add(pause).min(end), goes_on);
    }
}

/// Sleeps until then.
pub(super) fn rest(until: u64, goes_on: impl Fn() -> bool) {
    loop {
        let left = until.saturating_sub(monotonic());
        if left == 0 || !goes_on() {
            return;
        }
        sleep(left.min(LOOKS_EVERY_NS));
    }
}

/// What keeps the CPU busy.
struct Numbers {
    rng: Rng,
    all: Vec<u64>,
}

impl Numbers {
    fn new(burn: Burn) -> Self {
        Self {
            rng: Rng::stream(0, 1),
            all: vec![0; if burn.sorts { NUMBERS } else { 0 }],
        }
    }

    fn work(&mut self) {
        if self.all.is_empty() {
            hint::spin_loop();
            return;
        }
        for number in &mut self.all {
            *number = self.rng.next();
        }
        self.all.sort_unstable();
        hint::black_box(&self.all);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    #[test]
    fn it_goes_on_for_its_time_and_ends_when_it_is_told_to() {
        let burn = Burn {
            percent: 50,
            chunk: Nanos::from_millis(5),
            sorts: true,
        };
        let now = monotonic();
        between(burn, now + 20_000_000, now + 60_000_000, || false);
        assert!(monotonic() - now >= 60_000_000);
        let whole = Burn {
            percent: 100,
            chunk: Nanos::from_secs(3600),
            ..burn
        };
        let ends = monotonic() + 30_000_000;
        between(whole, 0, u64::MAX, || monotonic() > ends);
    }
}
