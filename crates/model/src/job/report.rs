//! What a job did, as it tells it by itself: beside the metrics of its case, and apart from the jobs beside it.

use crate::pattern::Directions;
use crate::record::CommandEnd;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What one copy of a job did, between the first and the last of its operations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The time of the direction that took longest, or of the whole where no direction tells.
    pub runtime: Nanos,
    /// What was done of each direction.
    pub done: Directions<Done>,
    /// Calls of fsync and fdatasync.
    pub syncs: u64,
    /// How deep the queue was, where that was looked at.
    pub depths: Option<Depths>,
    /// The depth that a search found; `None` without one, and where no depth keeps the latency.
    pub latency_depth: Option<u32>,
    /// What the looks for a steady state came to.
    pub steady: Option<Steadiness>,
    /// Intervals that were read back and right.
    pub verified: u64,
    /// Intervals that were read back and wrong.
    pub verify_errors: u64,
    /// The number of the first error that was let pass, where the kernel gave one.
    pub first_errno: Option<i32>,
    /// The number of what ended the job, where its words name none of the kernel's.
    pub errno: Option<i32>,
    /// The block device below it.
    pub disk: Option<DiskUse>,
    /// How much of the CPUs nobody used, where the job was to look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<CpuIdle>,
    /// How the program ended that it executed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<CommandEnd>,
}

/// How much of the CPUs of the machine nobody used meanwhile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuIdle {
    /// Each CPU that was online from the beginning to the end.
    pub cpus: Vec<CpuUse>,
    /// Mean and standard deviation of a small piece of work, before the jobs began, in nanoseconds.
    pub unit_ns: (f64, f64),
}

/// The time of one CPU, in ticks of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Its number.
    pub cpu: u32,
    /// Ticks in which nobody had anything for it to do.
    pub unused: u64,
    /// All ticks.
    pub all: u64,
}

/// What was done of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Operations that ended well.
    pub ops: u64,
    /// Bytes transferred.
    pub bytes: u64,
    /// From the beginning to the end of the last of them, in every phase of the job; `None` where there is none.
    pub runtime: Option<Nanos>,
    /// Errors that were let pass.
    pub errors: u64,
    /// Operations that transferred less than asked for.
    pub short: u64,
    /// Bytes per second over windows.
    pub bytes_per_s: Option<Spread>,
    /// Operations per second over windows.
    pub iops: Option<Spread>,
}

/// The moments of a rate over windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Windows.
    pub count: u64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation; 0 of a single one.
    pub stddev: f64,
}

/// How deep the queue was, and how many operations went in and came out together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Depths {
    /// Operations by how many were under way: 1, 2 to 3, 4 to 7 ... 64 and more.
    pub level: [u64; 7],
    /// Calls that handed over so many: 0, up to 4, 8, 16, 32, 64, and more.
    pub submit: [u64; 7],
    /// Calls that took back so many, in the same classes.
    pub complete: [u64; 7],
}

/// What the looks for a steady state came to; zeros where there were too few of them, or nothing was done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// The job is steady.
    pub attained: bool,
    /// The mean of the looks, in the quantity's unit.
    pub mean: f64,
    /// The largest distance from it.
    pub deviation: f64,
    /// The slope of the line through the looks, per second.
    pub slope: f64,
    /// What was compared with the limit.
    pub criterion: f64,
    /// Operations per second of each look, in time order.
    pub iops: Vec<f64>,
    /// Bytes per second of each look.
    pub bytes_per_s: Vec<f64>,
}

/// What a block device did meanwhile, whoever asked it to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskUse {
    /// The kernel's name for it, such as `vda`.
    pub name: String,
    /// Reads and writes that ended.
    pub ops: (u64, u64),
    /// Bytes read and written.
    pub bytes: (u64, u64),
    /// Reads and writes that were merged with others.
    pub merges: (u64, u64),
    /// Time that reads and writes took, summed over them.
    pub took: (Nanos, Nanos),
    /// Time that all took, summed over them.
    pub queued: Nanos,
    /// Time in which at least one was under way.
    pub busy: Nanos,
}

impl Report {
    /// The times and counts that are added to those of other jobs.
    pub(crate) fn figures(&self) -> impl Iterator<Item = u64> {
        let done = self.done.each().into_iter().flat_map(|done| {
            let windows = [done.bytes_per_s, done.iops].map(|rate| rate.unwrap_or_default().count);
            let counts = [done.ops, done.bytes, done.errors, done.short];
            counts.into_iter().chain(windows)
        });
        let depths = self.depths.unwrap_or_default();
        let disk = self.disk.iter().flat_map(|disk| {
            let times = [disk.took.0, disk.took.1, disk.queued, disk.busy].map(|time| time.0);
            let counts = [disk.ops, disk.bytes, disk.merges];
            times
                .into_iter()
                .chain(counts.into_iter().flat_map(<[u64; 2]>::from))
        });
        let cpus = self.idle.iter().flat_map(|idle| &idle.cpus);
        done.chain(cpus.flat_map(|cpu| [cpu.unused, cpu.all]))
            .chain([self.syncs, self.verified, self.verify_errors])
            .chain([depths.level, depths.submit, depths.complete].concat())
            .chain(disk)
    }

    /// Adds what another thread of the same job did at the same time: times are the longest, everything else is summed.
    /// What is told of rates over time is thus of all threads together, as it is of processes that are reported as one.
    pub fn absorb(&mut self, other: &Self) {
        self.runtime = self.runtime.max(other.runtime);
        for (own, other) in self.done.each_mut().into_iter().zip(other.done.each()) {
            own.absorb(other);
        }
        self.syncs += other.syncs;
        if let Some(depths) = &other.depths {
            self.depths.get_or_insert_default().add(depths);
        }
        self.verified += other.verified;
        self.verify_errors += other.verify_errors;
        self.first_errno = self.first_errno.max(other.first_errno);
        self.errno = self.errno.max(other.errno);
    }
}

impl Done {
    fn absorb(&mut self, other: &Self) {
        self.ops += other.ops;
        self.bytes += other.bytes;
        self.runtime = self.runtime.max(other.runtime);
        self.errors += other.errors;
        self.short += other.short;
        for (own, other) in [
            (&mut self.bytes_per_s, other.bytes_per_s),
            (&mut self.iops, other.iops),
        ] {
            if let Some(other) = other {
                own.get_or_insert_default().add(other);
            }
        }
    }
}

impl Spread {
    /// Adds a rate at the same time. Jobs at the same time add up: their means exactly, their deviations as those of
    /// jobs that do not know of each other, their ranges at the widest.
    pub fn add(&mut self, other: Self) {
        self.count += other.count;
        self.min += other.min;
        self.max += other.max;
        self.mean += other.mean;
        self.stddev = self.stddev.hypot(other.stddev);
    }
}

impl DiskUse {
    /// Adds what it did at another time.
    pub fn add(&mut self, other: &Self) {
        let both = |own: (u64, u64), other: (u64, u64)| (own.0 + other.0, own.1 + other.1);
        self.ops = both(self.ops, other.ops);
        self.bytes = both(self.bytes, other.bytes);
        self.merges = both(self.merges, other.merges);
        self.took.0 = self.took.0.plus(other.took.0);
        self.took.1 = self.took.1.plus(other.took.1);
        self.queued = self.queued.plus(other.queued);
        self.busy = self.busy.plus(other.busy);
    }
}

impl Depths {
    /// Adds what another queue saw.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in [
            (&mut self.level, other.level),
            (&mut self.submit, other.submit),
            (&mut self.complete, other.complete),
        ] {
            for (own, other) in own.iter_mut().zip(other) {
                *own += other;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_threads_at_the_same_time_add_up() {
        let of = |ops, spread: Option<Spread>| Report {
            done: Directions {
                read: Done {
                    ops,
                    runtime: spread.map(|spread| Nanos(spread.count)),
                    bytes_per_s: spread,
                    ..Done::default()
                },
                ..Directions::default()
            },
            ..Report::default()
        };
        let spread = |count, [min, max, mean, stddev]: [f64; 4]| Spread {
            count,
            min,
            max,
            mean,
            stddev,
        };
        let mut all = of(2, Some(spread(3, [10.0, 30.0, 20.0, 10.0])));
        all.absorb(&of(2, Some(spread(2, [80.0, 120.0, 100.0, 20.0]))));
        let read = &all.done.read;
        let expect = spread(5, [90.0, 150.0, 120.0, 10.0_f64.hypot(20.0)]);
        assert_eq!((read.ops, read.runtime), (4, Some(Nanos(3))));
        assert_eq!(read.bytes_per_s, Some(expect));
        // A thread that ended before its first window was over has none.
        all.absorb(&of(1, None));
        assert_eq!(all.done.read.bytes_per_s, Some(expect));
        assert_eq!((all.done.read.ops, all.done.write.iops), (5, None));
    }

    #[test]
    fn what_is_added_up_is_among_the_figures() {
        let rate = Spread {
            count: 1,
            ..Spread::default()
        };
        let done = Done {
            ops: 2,
            bytes: 3,
            errors: 4,
            short: 5,
            bytes_per_s: Some(rate),
            iops: Some(rate),
            ..Done::default()
        };
        let depths = Depths {
            level: [1; 7],
            submit: [1; 7],
            complete: [1; 7],
        };
        let time = Nanos(10);
        let disk = DiskUse {
            name: "vda".to_owned(),
            ops: (1, 2),
            bytes: (3, 4),
            merges: (5, 6),
            took: (time, time),
            queued: time,
            busy: time,
        };
        let mut report = Report {
            syncs: 100,
            depths: Some(depths),
            verified: 200,
            verify_errors: 300,
            disk: Some(disk),
            ..Report::default()
        };
        report.done.read = done;
        let sum = |report: &Report| report.figures().sum::<u64>();
        assert_eq!(sum(&report), 16 + 21 + 21 + 40 + 600);
        let twice = report.clone();
        report.absorb(&twice);
        // A device is that of all jobs: its figures are added elsewhere.
        assert_eq!(sum(&report), 2 * (16 + 21 + 600) + 21 + 40);
    }
}
