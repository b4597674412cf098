//! What is looked at while a job runs, once per batch: how deep the queue was, how many operations went in and came out
//! together, and the rates of each direction over windows.

use super::times::{seconds, ticks};
use crate::storage::body::index;
use crate::storage::broken::ERRNO;
use crate::storage::records::place;
use model::num::approx;
use model::units::Nanos;
use std::collections::BTreeMap;
use sys::clock::Clock;
use sys::io::Kind;

/// Names of the directions in what is reported.
pub(in crate::storage) const NAMES: [&str; 3] = ["read", "write", "trim"];

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

    fn report(self, name: &str, reported: &mut BTreeMap<String, f64>) {
        if self.count < 0.5 {
            return;
        }
        let deviation = if self.count > 1.0 {
            (self.squares / (self.count - 1.0)).sqrt()
        } else {
            0.0
        };
        for (what, value) in [
            ("samples", self.count),
            ("min", self.min),
            ("max", self.max),
            ("mean", self.mean),
            ("stddev", deviation),
        ] {
            reported.insert(format!("{name}_{what}"), value);
        }
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

    /// Everything, by name.
    pub(in crate::storage) fn report(&self, reported: &mut BTreeMap<String, f64>) {
        for (name, counts) in [
            ("depth_level", self.level),
            ("depth_submit", self.submit),
            ("depth_complete", self.complete),
        ] {
            for (class, count) in CLASSES.iter().zip(counts) {
                reported.insert(format!("{name}_{class}"), approx(count));
            }
        }
        for ((bytes_per_s, iops), name) in self.rates.iter().zip(NAMES) {
            bytes_per_s.report(&format!("{name}_bw_window"), reported);
            iops.report(&format!("{name}_iops_window"), reported);
        }
    }
}

/// The seven classes by name.
const CLASSES: [u32; 7] = [0, 1, 2, 3, 4, 5, 6];

/// Adds what another thread of the same job reports: times are the longest, deviations over windows are those of
/// threads that do not know of each other, everything else is summed. What is told of rates over time is thus of all
/// threads together, as it is of processes that are reported as one.
pub(in crate::storage) fn absorb(all: &mut BTreeMap<String, f64>, other: BTreeMap<String, f64>) {
    for (name, value) in other {
        let longest = name.ends_with("_ns") || name == "first_errno" || name == ERRNO;
        let deviation = name.ends_with("_window_stddev");
        let sum = all.entry(name).or_insert(0.0);
        *sum = if longest {
            sum.max(value)
        } else if deviation {
            sum.hypot(value)
        } else {
            *sum + value
        };
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
        let mut reported = BTreeMap::new();
        samples.report(&mut reported);
        for (name, value) in [
            ("samples", 3.0),
            ("min", 200.0),
            ("max", 600.0),
            ("mean", 400.0),
            ("stddev", 200.0),
        ] {
            let found = reported[&format!("read_iops_window_{name}")];
            assert!((found - value).abs() < 1e-9, "{name}: {found}");
        }
        assert!((reported["read_bw_window_mean"] - 400.0 * 4096.0).abs() < 1e-6);
        assert!(
            !reported.contains_key("write_bw_window_mean"),
            "nothing was written"
        );
    }

    #[test]
    fn rates_of_threads_at_the_same_time_add_up() {
        let of = |values: &[f64]| {
            let mut spread = Spread::default();
            for value in values {
                spread.add(*value);
            }
            let mut reported = BTreeMap::from([
                ("reads".to_owned(), 2.0),
                ("read_runtime_ns".to_owned(), spread.max),
            ]);
            spread.report("read_bw_window", &mut reported);
            reported
        };
        // Two threads, each with three windows: means of 20 and 100, deviations of 10 and 20.
        let mut all = of(&[10.0, 20.0, 30.0]);
        absorb(&mut all, of(&[80.0, 100.0, 120.0]));
        for (name, expected) in [
            ("samples", 6.0),
            ("min", 90.0),
            ("max", 150.0),
            ("mean", 120.0),
            ("stddev", 500.0_f64.sqrt()),
        ] {
            let name = format!("read_bw_window_{name}");
            assert!(
                (all[&name] - expected).abs() < 1e-9,
                "{name}: {}",
                all[&name]
            );
        }
        assert!((all["reads"] - 4.0).abs() < 1e-9 && (all["read_runtime_ns"] - 120.0).abs() < 1e-9);
        // A thread that ended before its first window was over has none.
        let before = all.clone();
        absorb(&mut all, of(&[]));
        assert_eq!(
            all["read_bw_window_mean"].to_bits(),
            before["read_bw_window_mean"].to_bits()
        );
    }
}
