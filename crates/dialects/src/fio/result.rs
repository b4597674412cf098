//! Results in fio's terms: what the writers print.
//!
//! Base units only: bytes, nanoseconds, operations. What was not measured or not printed is `None`; a zero is a
//! measured zero. fio itself prints zeros for both.

use model::job::IoPriority;
use model::latency;
use model::num::approx;
use model::units::UnixNanos;

/// One run of fio, or of this program in fio's terms.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// The version that is named, such as `fio-3.33`.
    pub version: Option<String>,
    /// When it ended.
    pub finished: Option<Finished>,
    /// Options of `[global]` sections.
    pub global_options: Vec<(String, String)>,
    /// Jobs, or groups that are reported as one.
    pub jobs: Vec<JobResult>,
    /// The disks below, by their own counters.
    pub disks: Vec<DiskUse>,
    /// How much of the CPUs nobody used, where that was asked for.
    pub idleness: Option<Idleness>,
    /// What only this program has to say.
    pub kept: Option<Kept>,
}

/// How much of the CPUs nobody used while the jobs were at work.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Idleness {
    /// Of all CPUs together, in per cent.
    pub system_percent: f64,
    /// Of each CPU by its number, where that was asked for.
    pub cpus: Vec<(u32, f64)>,
    /// Mean and standard deviation of a small piece of work on a CPU of its own, in microseconds.
    pub unit_us: (f64, f64),
}

/// The run that is kept, and what there is to say of it beside its figures.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Kept {
    /// Its id.
    pub run: String,
    /// The pass that is reported.
    pub pass: u32,
    /// How many there are.
    pub passes: u32,
    /// What makes figures doubtful, or other than most people would expect.
    pub warnings: Vec<String>,
    /// What is fine and worth a word.
    pub notes: Vec<String>,
    /// Files of ours that stay.
    pub files: Vec<String>,
}

/// When a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// The instant.
    pub at: UnixNanos,
    /// The same as local time in C's form: `Fri Nov 20 23:56:50 2026`.
    pub local: String,
}

impl Finished {
    /// An instant with its local time in `zone`; `None` beyond the year 9999.
    pub fn of(at: UnixNanos, zone: jiff::tz::TimeZone) -> Option<Self> {
        let nanos = i128::from(at.0);
        let zoned = jiff::Timestamp::from_nanosecond(nanos).ok()?.to_zoned(zone);
        Some(Self {
            at,
            local: zoned.strftime("%a %b %d %H:%M:%S %Y").to_string(),
        })
    }
}

/// The result of one job, or of a group that is reported as one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JobResult {
    /// Its name.
    pub name: String,
    /// The user's text.
    pub description: Option<String>,
    /// fio's group id.
    pub group: u32,
    /// How many jobs it stands for.
    pub members: Option<u32>,
    /// The process of the first of them.
    pub pid: Option<u32>,
    /// 0, or the number of the first error.
    pub error: i32,
    /// Whole seconds from the start of the run to the end of the job.
    pub elapsed_s: Option<u64>,
    /// The job's own options.
    pub options: Vec<(String, String)>,
    /// Reads.
    pub read: Option<Direction>,
    /// Writes.
    pub write: Option<Direction>,
    /// Trims.
    pub trim: Option<Direction>,
    /// All of them together, where that was asked for.
    pub mixed: Option<Direction>,
    /// Only [`Self::mixed`] is reported.
    pub is_mixed_only: bool,
    /// Latency of fsync and fdatasync.
    pub sync: Option<Latency>,
    /// Wall time in which anything was done.
    pub runtime_ms: Option<u64>,
    /// The processes.
    pub cpu: Option<Cpu>,
    /// How many operations were under way, submitted and completed together.
    pub depths: Option<Depths>,
    /// Shares of latencies by class.
    pub shares: Option<LatencyShares>,
    /// The latency target and what the search found.
    pub target: Option<LatencyTarget>,
    /// The steady state.
    pub steady_state: Option<SteadyResult>,
    /// Errors that did not end the job: their number and the first; only where they were let pass.
    pub let_pass: Option<(u64, i32)>,
    /// It has not begun, while others are at work: only forms that have a place for each job show it.
    pub is_waiting: bool,
}

impl JobResult {
    /// Reads, writes, trims, and all together, as far as there are any.
    pub fn directions(&self) -> impl Iterator<Item = (&'static str, &Direction)> {
        [
            ("read", &self.read),
            ("write", &self.write),
            ("trim", &self.trim),
            ("mixed", &self.mixed),
        ]
        .into_iter()
        .filter_map(|(name, direction)| Some((name, direction.as_ref()?)))
    }
}

/// One direction of a job.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Direction {
    /// Bytes transferred.
    pub io_bytes: u64,
    /// Bytes per second of [`Self::runtime_ms`].
    pub bw_bytes_per_s: f64,
    /// Operations per second of it.
    pub iops: f64,
    /// Time from the first to the last operation.
    pub runtime_ms: u64,
    /// Operations.
    pub total_ios: Option<u64>,
    /// Operations that transferred less than asked for.
    pub short_ios: Option<u64>,
    /// Operations that were given up.
    pub dropped_ios: Option<u64>,
    /// From the creation of an operation to its submission.
    pub slat: Option<Latency>,
    /// From submission to completion.
    pub clat: Option<Latency>,
    /// From creation to completion.
    pub lat: Option<Latency>,
    /// The time of operations of each priority, where they have different ones.
    pub priorities: Vec<Prioritized>,
    /// Bandwidth over time, in bytes per second.
    pub bw_samples: Option<Samples>,
    /// Operations per second over time.
    pub iops_samples: Option<Samples>,
}

/// What operations of one priority took.
#[derive(Clone, Debug, PartialEq)]
pub struct Prioritized {
    /// Their priority.
    pub priority: IoPriority,
    /// From their creation on, instead of from submission.
    pub is_whole: bool,
    /// Until their completion.
    pub latency: Latency,
}

/// A latency: its moments, its percentiles as they are to be reported, and its histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Latency {
    /// The smallest.
    pub min_ns: u64,
    /// The largest.
    pub max_ns: u64,
    /// The mean.
    pub mean_ns: f64,
    /// The standard deviation.
    pub stddev_ns: f64,
    /// Number of samples, where it is known.
    pub count: Option<u64>,
    /// Per cent and latency, by per cent; empty where they are not reported.
    pub percentiles: Vec<(f64, u64)>,
    /// Latency and how often, by latency; empty where no histogram is known.
    pub bins: Vec<(u64, u64)>,
}

impl Latency {
    /// The latency of a histogram: pairs of nanoseconds and how often. `None` where there is nothing in it. Moments
    /// come from the pairs; whoever knows them more exactly puts them in afterwards.
    pub fn of_pairs(pairs: &[(u64, u64)]) -> Option<Self> {
        let bins = latency::merged([pairs]);
        let (min_ns, max_ns) = (bins.first()?.0, bins.last()?.0);
        let count = latency::operations(&bins);
        let mean_ns = latency::mean(&bins)?;
        let squares: f64 = bins
            .iter()
            .map(|(ns, count)| (approx(*ns) - mean_ns).powi(2) * approx(*count))
            .sum();
        let stddev_ns = if count > 1 {
            (squares / (approx(count) - 1.0)).sqrt()
        } else {
            0.0
        };
        Some(Self {
            min_ns,
            max_ns,
            mean_ns,
            stddev_ns,
            count: Some(count),
            percentiles: Vec::new(),
            bins,
        })
    }

    /// The same with these percentiles, taken from the histogram: the smallest latency that so many per cent of the
    /// samples do not exceed. Without a histogram they stay as they are.
    #[must_use]
    pub fn with_percentiles(mut self, list: &[f64]) -> Self {
        if self.bins.is_empty() {
            return self;
        }
        self.percentiles = list
            .iter()
            .filter_map(|percent| Some((*percent, self.percentile(*percent)?)))
            .collect();
        self
    }

    /// The latency that `percent` of the samples do not exceed, by the histogram.
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        latency::quantile(&self.bins, percent / 100.0)
    }
}

/// A quantity looked at again and again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Samples {
    /// The smallest.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stddev: f64,
    /// How many, where that is known.
    pub count: Option<u64>,
    /// The job's share of its group's bandwidth, in per cent, where that is known.
    pub share_percent: Option<f64>,
}

/// What the processes of a job took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Time in the program, in per cent of wall time; none where nothing was done that could have taken any.
    pub user_percent: Option<f64>,
    /// Time in the kernel, likewise.
    pub system_percent: Option<f64>,
    /// Context switches.
    pub context_switches: u64,
    /// Page faults that had to read.
    pub major_faults: u64,
    /// Page faults that had not.
    pub minor_faults: u64,
}

/// Shares in per cent by classes of depth.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Depths {
    /// Under way: 1, 2, 4, 8, 16, 32, and 64 or more.
    pub level: [f64; 7],
    /// Submitted together: 0, up to 4, 8, 16, 32, 64, and more. Unknown in the terse form.
    pub submit: Option<[f64; 7]>,
    /// Completed together.
    pub complete: Option<[f64; 7]>,
}

/// Shares of latencies, in per cent, in classes that end at 2, 4, 10, 20, 50, 100, 250, 500, 750 and 1000 of a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LatencyShares {
    /// Nanoseconds. The terse form counts them among the first class of microseconds.
    pub ns: Option<[f64; 10]>,
    /// Microseconds.
    pub us: [f64; 10],
    /// Milliseconds, with classes for up to and above 2000 behind.
    pub ms: [f64; 12],
}

/// Ends of the classes of [`LatencyShares`] within a unit.
pub const SHARE_ENDS: [u64; 10] = [2, 4, 10, 20, 50, 100, 250, 500, 750, 1000];

impl LatencyShares {
    /// The shares of these histograms together. `None` where they are empty.
    pub fn of(histograms: &[&[(u64, u64)]]) -> Option<Self> {
        let mut shares = Self {
            ns: Some([0.0; 10]),
            ..Self::default()
        };
        let all = histograms.iter().flat_map(|bins| bins.iter());
        let total = all
            .clone()
            .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
        if total == 0 {
            return None;
        }
        for (ns, count) in all {
            let share = 100.0 * approx(*count) / approx(total);
            let (unit, cells): (u64, &mut [f64]) = match *ns {
                0..1_000 => (1, shares.ns.as_mut()?),
                1_000..1_000_000 => (1_000, &mut shares.us),
                _ => (1_000_000, &mut shares.ms),
            };
            let ends = SHARE_ENDS.into_iter().chain([2000]);
            let class = ends
                .take_while(|end| ns / unit >= *end)
                .count()
                .min(cells.len() - 1);
            if let Some(cell) = cells.get_mut(class) {
                *cell += share;
            }
        }
        Some(shares)
    }
}

/// A latency target and what the search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTarget {
    /// The depth in the end.
    pub depth: u32,
    /// The target; none was set where it is 0.
    pub target_ns: u64,
    /// The share that had to keep it, in per cent.
    pub percentile: f64,
    /// How long each depth was judged.
    pub window_ns: u64,
}

/// What the search for a steady state found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SteadyResult {
    /// The rule in fio's words, such as `iops:5.000000%`.
    pub rule: String,
    /// How long it had to hold.
    pub duration_s: u64,
    /// It held.
    pub is_attained: bool,
    /// What it came to, in fio's words, such as `0.049975%`.
    pub criterion: String,
    /// The largest deviation from the mean.
    pub max_deviation: f64,
    /// The slope.
    pub slope: f64,
    /// Bytes of each second.
    pub bw_bytes_per_s: Vec<u64>,
    /// Operations of each second.
    pub iops: Vec<u64>,
}

/// A disk by its own counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskUse {
    /// Its name.
    pub name: String,
    /// Reads and writes.
    pub ios: (u64, u64),
    /// Those that were merged.
    pub merges: (u64, u64),
    /// Milliseconds spent, summed over all of them.
    pub ticks_ms: (u64, u64),
    /// Milliseconds spent, weighted by the queue.
    pub in_queue_ms: u64,
    /// Time in which there was anything to do, in per cent.
    pub util_percent: f64,
}

/// The sum of a reporting group in one direction: fio's lines at the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GroupSum {
    /// All bytes over the longest time.
    pub bw_bytes_per_s: f64,
    /// The slowest and the fastest job.
    pub bw_range_bytes_per_s: (f64, f64),
    /// All bytes.
    pub io_bytes: u64,
    /// The shortest and the longest time.
    pub runtime_range_ms: (u64, u64),
}

impl GroupSum {
    /// The sum over one direction of several jobs; `None` where nothing was done.
    pub fn of<'a>(directions: impl Iterator<Item = &'a Direction>) -> Option<Self> {
        let mut sum: Option<Self> = None;
        for direction in directions.filter(|direction| direction.io_bytes > 0) {
            let (bw, ms) = (direction.bw_bytes_per_s, direction.runtime_ms);
            let so_far = sum.get_or_insert(Self {
                bw_bytes_per_s: 0.0,
                bw_range_bytes_per_s: (bw, bw),
                io_bytes: 0,
                runtime_range_ms: (ms, ms),
            });
            so_far.io_bytes = so_far.io_bytes.saturating_add(direction.io_bytes);
            let (low, high) = so_far.bw_range_bytes_per_s;
            so_far.bw_range_bytes_per_s = (low.min(bw), high.max(bw));
            let (short, long) = so_far.runtime_range_ms;
            so_far.runtime_range_ms = (short.min(ms), long.max(ms));
        }
        let mut sum = sum?;
        let seconds = approx(sum.runtime_range_ms.1.max(1)) / 1e3;
        sum.bw_bytes_per_s = approx(sum.io_bytes) / seconds;
        Some(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_and_percentiles_come_from_the_pairs() {
        let latency = Latency::of_pairs(&[(300, 1), (100, 2), (200, 1), (999, 0)]).unwrap();
        assert_eq!(
            (latency.min_ns, latency.max_ns, latency.count),
            (100, 300, Some(4))
        );
        assert!((latency.mean_ns - 175.0).abs() < 1e-9);
        assert!((latency.stddev_ns - 95.742_710_775_633_8).abs() < 1e-9);
        let percentiles = latency.with_percentiles(&[50.0, 75.0, 99.0]).percentiles;
        assert_eq!(percentiles, [(50.0, 100), (75.0, 200), (99.0, 300)]);
        assert_eq!(Latency::of_pairs(&[(5, 0)]), None);
    }

    #[test]
    fn shares_are_by_classes_of_all_histograms_together() {
        let shares = LatencyShares::of(&[
            &[(1, 1), (999, 1), (1_000, 1)],
            &[(1_500_000, 1), (3_000_000_000, 4)],
        ])
        .unwrap();
        let ns = shares.ns.unwrap();
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(near(ns[0], 12.5) && near(ns[9], 12.5) && near(shares.us[0], 12.5));
        assert!(near(shares.ms[0], 12.5) && near(shares.ms[11], 50.0));
        assert_eq!(LatencyShares::of(&[&[]]), None);
    }

    #[test]
    fn local_time_is_in_the_form_of_c() {
        let finished = Finished::of(
            UnixNanos(1_795_219_010_489_000_000),
            jiff::tz::TimeZone::UTC,
        )
        .unwrap();
        assert_eq!(finished.local, "Fri Nov 20 23:56:50 2026");
    }

    #[test]
    fn a_group_is_as_long_as_its_longest_job() {
        let job = |io_bytes, bw, runtime_ms| Direction {
            io_bytes,
            bw_bytes_per_s: bw,
            runtime_ms,
            ..Direction::default()
        };
        let sum = GroupSum::of(
            [
                job(1000, 1000.0, 1000),
                job(4000, 2000.0, 2000),
                job(0, 0.0, 0),
            ]
            .iter(),
        )
        .unwrap();
        assert!((sum.bw_bytes_per_s - 2500.0).abs() < 1e-9);
        assert_eq!(sum.runtime_range_ms, (1000, 2000));
        assert_eq!(sum.io_bytes, 5000);
    }
}
