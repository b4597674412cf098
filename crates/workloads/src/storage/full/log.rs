//! What a job writes down over its time: for each window what was done of each direction, and how long it took.
//!
//! Operations belong to the window in which they ended, and windows lie on the grid that began with the measured time,
//! whatever a stall does. Rates are of whole windows; the last part of one has latencies alone, as fio's logs have it.

use super::times::ticks;
use crate::storage::records::{Group, place};
use model::job;
use model::num::{approx, round_to_usize};
use model::record::Series;
use std::collections::BTreeMap;
use sys::clock::Clock;

/// The log of one job.
#[derive(Clone, Debug)]
pub(super) struct Log {
    asked: job::Log,
    clock: Clock,
    /// Length of a window, in ticks; at least 1.
    window: u64,
    /// The end of this window.
    ends: u64,
    /// Submission is told from completion.
    submits: bool,
    /// There is a whole beside the completion.
    whole: bool,
    /// The last place where the windows before this one are, and this one.
    rows: Vec<Row>,
}

/// What ended in one window, of reads, writes and trims.
type Row = [Sums; 3];

/// What ended in one window, of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    ops: u64,
    bytes: u64,
    slat: Times,
    clat: Times,
    lat: Times,
}

/// Latencies of operations, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Times {
    sum: u64,
    longest: u64,
}

impl Times {
    fn add(&mut self, nanos: u64, count: u64) {
        self.sum = self.sum.saturating_add(nanos.saturating_mul(count));
        self.longest = self.longest.max(nanos);
    }
}

/// Windows for which there is room from the beginning, where the job has no time: with more of them memory is asked for
/// at the end of a window.
const WINDOWS: usize = 10_000;

/// The same where it has.
const WINDOWS_MAX: f64 = 1_000_000.0;

/// The directions, as series call them.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

impl Log {
    /// `None` where nothing is asked for. `submits` where submission is told from completion, `whole` where operations
    /// have a latency beside that of completion.
    pub(super) fn new(job: &job::Job, clock: Clock, submits: bool, whole: bool) -> Option<Self> {
        let asked = job.log?;
        let windows = |time: model::units::Nanos| {
            let whole = approx(time.0) / approx(asked.window.0.max(1));
            round_to_usize(whole.min(WINDOWS_MAX)) + 2
        };
        Some(Self {
            asked,
            clock,
            window: ticks(clock, asked.window).max(1),
            ends: u64::MAX,
            submits,
            whole,
            rows: Vec::with_capacity(job.end.time.map_or(WINDOWS, windows)),
        })
    }

    /// The measured time begins.
    pub(super) fn begin(&mut self, now: u64) {
        self.rows.clear();
        self.rows.push(Row::default());
        self.ends = now.saturating_add(self.window);
    }

    /// Operations of a group are over.
    pub(super) fn add(&mut self, group: Group, bytes: u64, now: u64) {
        self.go_on(now);
        let direction = place(group.kind);
        let Some(sums) = self.rows.last_mut().and_then(|row| row.get_mut(direction)) else {
            return;
        };
        sums.ops += group.count;
        sums.bytes += bytes;
        let nanos = |from, to| self.clock.nanos(from, to);
        sums.slat
            .add(nanos(group.start, group.submitted), group.count);
        sums.clat.add(nanos(group.submitted, now), group.count);
        sums.lat.add(nanos(group.start, now), group.count);
    }

    /// Ends all windows that are over. What ends with a window belongs to the next.
    pub(super) fn go_on(&mut self, now: u64) {
        while now >= self.ends {
            self.rows.push(Row::default());
            self.ends = self.ends.saturating_add(self.window);
        }
    }

    /// The series of every direction that did anything.
    pub(super) fn series(&self) -> BTreeMap<String, Series> {
        let mut all = BTreeMap::new();
        let Some((last, whole)) = self.rows.split_last() else {
            return all;
        };
        let per_s = approx(1_000_000_000) / approx(self.asked.window.0.max(1));
        for (at, direction) in DIRECTIONS.into_iter().enumerate() {
            if self.rows.iter().all(|row| row[at].ops == 0) {
                continue;
            }
            let mut put = |name: &str, values: Vec<Option<f64>>| {
                let step = self.asked.window;
                all.insert(format!("{direction}_{name}_at"), Series { step, values });
            };
            if self.asked.rates {
                let rate = |of: fn(&Sums) -> u64| {
                    let rates = whole.iter().map(|row| Some(approx(of(&row[at])) * per_s));
                    rates.collect()
                };
                put("bytes_per_s", rate(|sums| sums.bytes));
                put("iops", rate(|sums| sums.ops));
            }
            if self.asked.latencies {
                let part = (last[at].ops > 0).then_some(last);
                let rows = || whole.iter().chain(part).map(|row| &row[at]);
                let longest = self.asked.longest;
                let of = |of: fn(&Sums) -> Times| {
                    let value = |sums: &Sums| match (sums.ops, longest) {
                        (0, _) => None,
                        (_, true) => Some(approx(of(sums).longest)),
                        (ops, false) => Some(approx(of(sums).sum) / approx(ops)),
                    };
                    rows().map(value).collect()
                };
                let kind = if longest { "ns_max" } else { "ns" };
                if self.submits {
                    put(&format!("slat_{kind}"), of(|sums| sums.slat));
                }
                put(&format!("clat_{kind}"), of(|sums| sums.clat));
                // Of a call that waits the whole is the completion.
                let whole: fn(&Sums) -> Times = if self.whole {
                    |sums| sums.lat
                } else {
                    |sums| sums.clat
                };
                put(&format!("lat_{kind}"), of(whole));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;
    use sys::io::Kind;

    const MS: u64 = 1_000_000;

    fn log(longest: bool) -> Log {
        let job = job::Job {
            log: Some(job::Log {
                window: Nanos(100 * MS),
                rates: true,
                latencies: true,
                longest,
            }),
            ..job::Job::default()
        };
        let mut log = Log::new(&job, Clock::Kernel, true, true).unwrap();
        log.begin(7 * MS);
        let mut add = |kind, at: u64, (slat, clat): (u64, u64), count, bytes| {
            let now = (7 + at) * MS;
            let group = Group {
                kind,
                priority: 0,
                start: now - slat - clat,
                submitted: now - clat,
                count,
            };
            log.add(group, bytes, now);
        };
        add(Kind::Read, 10, (1, 100), 3, 3 * 4096);
        add(Kind::Read, 99, (3, 500), 1, 65_536);
        // A stall of two windows.
        add(Kind::Read, 310, (5, 900), 1, 512);
        add(Kind::Write, 399, (2, 40), 2, 8192);
        add(Kind::Sync, 400, (2, 40), 1, 0);
        log
    }

    #[test]
    fn operations_of_any_size_count_in_the_window_in_which_they_ended() {
        let series = log(false).series();
        let check = |name: &str, expect: &[Option<f64>]| {
            assert_eq!(series[name].values, expect, "{name}");
        };
        let some = |values: &[f64]| values.iter().map(|&x| Some(x)).collect::<Vec<_>>();
        check("read_bytes_per_s_at", &some(&[778_240.0, 0.0, 0.0, 5120.0]));
        check("read_iops_at", &some(&[40.0, 0.0, 0.0, 10.0]));
        check("write_iops_at", &some(&[0.0, 0.0, 0.0, 20.0]));
        check("read_clat_ns_at", &[Some(200.0), None, None, Some(900.0)]);
        check("read_slat_ns_at", &[Some(1.5), None, None, Some(5.0)]);
        check("write_lat_ns_at", &[None, None, None, Some(42.0)]);
        assert_eq!(series.len(), 10, "no trims: {series:?}");
        let longest = log(true).series();
        let read = &longest["read_clat_ns_max_at"].values;
        assert_eq!(*read, [Some(500.0), None, None, Some(900.0)]);
    }
}
