//! What is looked at while a job runs, once per batch: how deep the queue was, how many operations went in and came out
//! together, and the rates of each direction over windows.

use super::times::{seconds, ticks};
use crate::storage::body::index;
use crate::storage::records::place;
use model::job::{self, Depths, Report};
use model::num::{approx, round_to_u64};
use model::units::Nanos;
use sys::clock::Clock;
use sys::io::Kind;

/// The looks.
#[derive(Clone, Debug)]
pub(in crate::storage) struct Samples {
    clock: Clock,
    /// Length of a window, in ticks.
    window: u64,
    /// Operations by how many were under way once they had been handed over, with all that went in together: 1, 2 to 3,
    /// 4 to 7 ... 64 and more. So fio counts them (3.33, looked at with batches of 4 and completions of 16).
    level: [u64; 7],
    /// Calls with so many: 0, up to 4, 8, 16, 32, 64, and more.
    submit: [u64; 7],
    complete: [u64; 7],
    began: u64,
    /// Operations and bytes of each direction in this window.
    done: [(u64, u64); 3],
    rates: [(Spread, Spread); 3],
}

/// Smallest, largest, mean and squared distances of values. Welford, Technometrics 4 (1962) 419.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Spread {
    count: f64,
    min: f64,
    max: f64,
    mean: f64,
    squares: f64,
}

impl Spread {
    fn add(&mut self, value: f64) {
        let first = self.count < 0.5;
        self.min = if first { value } else { self.min.min(value) };
        self.max = if first { value } else { self.max.max(value) };
        self.count += 1.0;
        let distance = value - self.mean;
        self.mean += distance / self.count;
        self.squares += distance * (value - self.mean);
    }

    /// `None` where there was no window.
    fn told(self) -> Option<job::Spread> {
        let deviation = if self.count > 1.0 {
            (self.squares / (self.count - 1.0)).sqrt()
        } else {
            0.0
        };
        (self.count > 0.5).then_some(job::Spread {
            count: round_to_u64(self.count),
            min: self.min,
            max: self.max,
            mean: self.mean,
            stddev: deviation,
        })
    }
}

/// The class of a number that goes in or comes out together.
const fn class(together: usize) -> usize {
    match together {
        0 => 0,
        1..=4 => 1,
        5..=8 => 2,
        9..=16 => 3,
        17..=32 => 4,
        33..=64 => 5,
        _ => 6,
    }
}

impl Samples {
    /// Rates are over windows of this length.
    pub(in crate::storage) fn of(clock: Clock, window: Nanos) -> Self {
        Self {
            clock,
            window: ticks(clock, window),
            level: [0; 7],
            submit: [0; 7],
            complete: [0; 7],
            began: 0,
            done: [(0, 0); 3],
            rates: [(Spread::default(), Spread::default()); 3],
        }
    }

    /// The measured time begins.
    pub(in crate::storage) fn begin(&mut self, now: u64) {
        let fresh = Self::of(self.clock, Nanos::ZERO);
        *self = Self {
            began: now,
            window: self.window,
            ..fresh
        };
    }

    /// So many operations went in together, on top of those under way.
    pub(in crate::storage) fn submitted(&mut self, together: usize, under_way: usize) {
        self.submit[class(together)] += 1;
        let level = (under_way + together).max(1).ilog2().min(6);
        self.level[index(level)] += together as u64;
    }

    /// So many came out together.
    pub(in crate::storage) fn completed(&mut self, together: usize) {
        self.complete[class(together)] += 1;
    }

    /// Operations are over.
    #[inline]
    pub(in crate::storage) fn add(&mut self, kind: Kind, ops: u64, bytes: u64) {
        if let Some(done) = self.done.get_mut(place(kind)) {
            *done = (done.0 + ops, done.1 + bytes);
        }
    }

    /// Ends the window where it is over. A direction that did nothing since the beginning has no rates.
    #[inline]
    pub(in crate::storage) fn look(&mut self, now: u64) {
        if now.saturating_sub(self.began) >= self.window {
            self.end_window(seconds(self.clock, now - self.began));
            self.began = now;
        }
    }

    #[cold]
    fn end_window(&mut self, time: f64) {
        for (done, (bytes_per_s, iops)) in self.done.iter_mut().zip(&mut self.rates) {
            if done.0 > 0 || iops.count > 0.5 {
                bytes_per_s.add(approx(done.1) / time);
                iops.add(approx(done.0) / time);
            }
            *done = (0, 0);
        }
    }

    /// Everything.
    pub(in crate::storage) fn report(&self, report: &mut Report) {
        report.depths = Some(Depths {
            level: self.level,
            submit: self.submit,
            complete: self.complete,
        });
        for ((bytes_per_s, iops), done) in self.rates.iter().zip(report.done.each_mut()) {
            (done.bytes_per_s, done.iops) = (bytes_per_s.told(), iops.told());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_is_what_is_under_way_when_a_group_has_been_handed_over() {
        let check = |groups: &[(usize, usize)], expect: [u64; 7]| {
            let mut samples = Samples::of(Clock::Kernel, Nanos(1));
            for (together, under_way) in groups {
                samples.submitted(*together, *under_way);
            }
            assert_eq!(samples.level, expect, "{groups:?}");
        };
        check(&[(1, 0), (1, 1), (1, 2), (1, 3)], [1, 2, 1, 0, 0, 0, 0]);
        check(&[(1, 31), (4, 28), (32, 0)], [0, 0, 0, 0, 0, 37, 0]);
        // Half of a queue of 32, four at a time: fio says 75 % at 16 and 25 % at 32.
        let half = [(4, 16), (4, 20), (4, 24), (4, 28)];
        check(&half, [0, 0, 0, 0, 12, 4, 0]);
        check(&[(3, 61), (100, 1000), (0, 0)], [0, 0, 0, 0, 0, 0, 103]);
        for (together, expected) in [
            (0, 0),
            (1, 1),
            (4, 1),
            (5, 2),
            (16, 3),
            (32, 4),
            (64, 5),
            (65, 6),
        ] {
            assert_eq!(class(together), expected, "{together}");
        }
    }

    #[test]
    fn windows_have_the_moments_of_their_rates() {
        const MS: u64 = 1_000_000;
        let mut samples = Samples::of(Clock::Kernel, Nanos::from_millis(500));
        samples.begin(MS);
        for (at, ops) in (1..).zip([100, 300, 200]) {
            samples.add(Kind::Read, ops, ops * 4096);
            samples.look(MS + at * 500 * MS - 1);
            samples.look(MS + at * 500 * MS);
        }
        let mut report = Report::default();
        samples.report(&mut report);
        let read = report.done.read;
        let expect = job::Spread {
            count: 3,
            min: 200.0,
            max: 600.0,
            mean: 400.0,
            stddev: 200.0,
        };
        assert_eq!(read.iops, Some(expect));
        let mean = read.bytes_per_s.map(|spread| round_to_u64(spread.mean));
        assert_eq!(mean, Some(400 * 4096));
        assert_eq!(report.done.write.iops, None, "nothing was written");
    }
}
