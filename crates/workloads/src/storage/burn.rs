//! A CPU that is kept busy beside jobs on storage: for a while again and again, with rests between.

use model::job::{Burn, Job};
use model::rng::Rng;
use std::hint;
use sys::clock::{monotonic, sleep};

/// Numbers that are sorted at a time: some 0.1 ms.
const NUMBERS: usize = 4096;

/// A rest is slept in parts of this at most, so that an end is seen.
const LOOKS_EVERY_NS: u64 = 10_000_000;

/// Does what the job asks for, from its pause on until its time is over, something interrupts, or `is_over`.
pub(super) fn until(job: &Job, entered: u64, is_over: impl Fn() -> bool) {
    let begin = entered.saturating_add(job.start_delay.0);
    let time = job.end.time.unwrap_or_default().plus(job.ramp);
    let end = begin.saturating_add(time.0);
    let goes_on = || !is_over() && sys::signal::interrupted().is_none();
    rest(begin, goes_on);
    let mut numbers = Numbers::new(job.burn);
    while monotonic() < end && goes_on() {
        let from = monotonic();
        let to = from.saturating_add(job.burn.chunk.0).min(end);
        while monotonic() < to {
            numbers.work();
        }
        // As long as it was busy, whatever else ran meanwhile.
        let busy = monotonic().saturating_sub(from);
        let share = u64::from(job.burn.percent.clamp(1, 100));
        let pause = busy.saturating_mul(100 - share) / share;
        rest(monotonic().saturating_add(pause).min(end), goes_on);
    }
}

/// Sleeps until then.
fn rest(until: u64, goes_on: impl Fn() -> bool) {
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
        let job = Job {
            start_delay: Nanos::from_millis(20),
            burn: Burn {
                percent: 50,
                chunk: Nanos::from_millis(5),
                sorts: true,
            },
            end: model::job::End {
                time: Some(Nanos::from_millis(40)),
                ..model::job::End::default()
            },
            ..Job::default()
        };
        let begin = monotonic();
        until(&job, begin, || false);
        assert!(monotonic() - begin >= 60_000_000);
        let long = Job {
            end: model::job::End {
                time: Some(Nanos::from_secs(3600)),
                ..job.end
            },
            ..job
        };
        until(&long, begin, || true);
    }
}
