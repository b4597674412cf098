//! What is compared with what.

/// One comparison.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    /// Ours; of several the best counts.
    pub(super) tests: &'static [&'static str],
    pub(super) copies: Copies,
    pub(super) quantity: &'static str,
    pub(super) original: Original,
    pub(super) must: Must,
}

/// What the ratio of ours over theirs must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Must {
    /// Nearer to 1 than this share.
    Within(f64),
    /// No smaller.
    AtLeast(f64),
    /// Anything: the two do not do the same work, and the line shows by how much they differ.
    Nothing,
}

impl Must {
    /// The bounds of the ratio.
    fn bounds(self) -> Option<(f64, f64)> {
        match self {
            Self::Within(share) => Some((1.0 - share, 1.0 + share)),
            Self::AtLeast(least) => Some((least, f64::INFINITY)),
            Self::Nothing => None,
        }
    }

    /// Whether the pairs' ratios are what they must be: by their median, and `cannot tell` where that is not but the
    /// interval of the median reaches what must be. Below six pairs there is no interval, and all that they were
    /// stands in its place.
    pub(super) fn judge(self, ratios: &[f64]) -> &'static str {
        let Some((least, most)) = self.bounds() else {
            return "-";
        };
        let Some(median) = stats::quantile::median(ratios) else {
            return "-";
        };
        let (lo, hi) = stats::order::median_interval(ratios, stats::CONFIDENCE).map_or_else(
            || super::range(ratios),
            |interval| (interval.lo, interval.hi),
        );
        if (least..=most).contains(&median) {
            "met"
        } else if lo > most || hi < least {
            "not met"
        } else {
            "cannot tell"
        }
    }
}

impl std::fmt::Display for Must {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Within(share) => write!(f, "within {:.0} %", share * 100.0),
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::Nothing => f.write_str("-"),
        }
    }
}

/// How many copies and threads.
#[derive(Clone, Copy, Debug)]
pub(super) enum Copies {
    Exactly(u32),
    /// As many as this machine has CPUs.
    All,
}

impl Copies {
    pub(super) fn number(self) -> u32 {
        match self {
            Self::Exactly(number) => number,
            Self::All => {
                let cpus = sys::affinity::allowed_cpus().map_or(1, |cpus| cpus.len());
                u32::try_from(cpus).unwrap_or(1)
            }
        }
    }
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Figure {
    Rate,
    Time,
}

/// The program on the other side.
#[derive(Clone, Copy, Debug)]
pub(super) enum Original {
    /// sysbench: how many threads, further arguments, and what of its report is the figure.
    Sysbench(Copies, &'static [&'static str], Reported),
    /// mbw with one method and 128 MiB: bytes per second, times how often each byte is moved in the figure of ours.
    Mbw(&'static str, f64),
    /// As many mbw at the same time as there are CPUs, summed.
    MbwAll(&'static str, f64),
    /// stress-ng's stream with so many instances: bytes per second, read and written.
    StressNgStream(Copies),
    /// The chase in C over so many bytes with so many loads: nanoseconds per load.
    Chase(&'static str, &'static str),
}

/// What of sysbench's report is the figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reported {
    /// `events per second:`.
    EventsPerSecond,
    /// `total number of events:` over `total time:`, times how often one of our events is in one of theirs.
    EventsOverTime(f64),
    /// `Total operations: N (x per second)`.
    Operations,
    /// `x MiB transferred (y MiB/sec)`, as bytes per second.
    Transferred,
}

impl Check {
    pub(super) fn figure(&self) -> Figure {
        match self.original {
            Original::Chase(..) => Figure::Time,
            _ => Figure::Rate,
        }
    }
}

use Copies::{All, Exactly};
use Must::{AtLeast, Nothing, Within};
use Original::{Chase, Mbw, MbwAll, StressNgStream, Sysbench};
use Reported::{EventsOverTime, EventsPerSecond, Operations, Transferred};

const fn sysbench(
    name: &'static str,
    tests: &'static [&'static str],
    threads: u32,
    arguments: &'static [&'static str],
    figure: Reported,
) -> Check {
    Check {
        name,
        tests,
        copies: Exactly(threads),
        quantity: "ops_per_s",
        original: Sysbench(Exactly(threads), arguments, figure),
        must: Within(0.05),
    }
}

const fn bandwidth(
    name: &'static str,
    tests: &'static [&'static str],
    copies: Copies,
    original: Original,
    must: Must,
) -> Check {
    Check {
        name,
        tests,
        copies,
        quantity: "bytes_per_s",
        original,
        must,
    }
}

const fn chase(
    name: &'static str,
    tests: &'static [&'static str],
    bytes: &'static str,
    loads: &'static str,
) -> Check {
    Check {
        name,
        tests,
        copies: Exactly(1),
        quantity: "ns_per_load",
        original: Chase(bytes, loads),
        must: Within(0.03),
    }
}

const CPU: &[&str] = &["cpu", "--time=2"];
const THREADS: &[&str] = &["threads", "--time=2"];
/// Ten of our events in each of theirs. Every thread does one, which with the usual 50,000 locks takes a fifth of a
/// second; two threads that begin on one CPU stay there for about as long, and their figure is that of one.
const MUTEX: &[&str] = &["mutex", "--mutex-locks=500000"];
const TEN: f64 = 10.0;
const WRITE_1K: &[&str] = &["memory", "--time=2", "--memory-total-size=900T"];
const READ_1K: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-oper=read",
];
const WRITE_1M: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
];
const READ_1M: &[&str] = &[
    "memory",
    "--time=2",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
    "--memory-oper=read",
];
/// A block beyond every cache, one for each thread.
const WRITE_1G: &[&str] = &[
    "memory",
    "--time=5",
    "--memory-total-size=900T",
    "--memory-block-size=1G",
    "--memory-scope=local",
];
const READ_1G: &[&str] = &[
    "memory",
    "--time=5",
    "--memory-total-size=900T",
    "--memory-block-size=1G",
    "--memory-scope=local",
    "--memory-oper=read",
];

/// The kernels of ours that may be the fastest; the others do the same work with more waiting or more reading of what
/// is overwritten.
const KERNELS: &[&str] = &[
    "memory.read",
    "memory.copy-nt",
    "memory.triad-nt",
    "memory.read-x8",
    "memory.write-nt-x8",
    "memory.copy-nt-x8",
    "memory.triad-nt-x8",
];

/// Every comparison.
pub(super) const CHECKS: &[Check] = &[
    sysbench(
        "sysbench cpu, 1 thread",
        &["cpu.prime"],
        1,
        CPU,
        EventsPerSecond,
    ),
    sysbench(
        "sysbench cpu, 2 threads",
        &["cpu.prime"],
        2,
        CPU,
        EventsPerSecond,
    ),
    sysbench(
        "sysbench threads, 1",
        &["os.threads"],
        1,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench threads, 2",
        &["os.threads"],
        2,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench threads, 4",
        &["os.threads"],
        4,
        THREADS,
        EventsOverTime(1.0),
    ),
    sysbench(
        "sysbench mutex, 1",
        &["os.mutex"],
        1,
        MUTEX,
        EventsOverTime(TEN),
    ),
    sysbench(
        "sysbench mutex, 2",
        &["os.mutex"],
        2,
        MUTEX,
        EventsOverTime(TEN),
    ),
    sysbench(
        "sysbench memory write 1K",
        &["memory.block-write"],
        1,
        WRITE_1K,
        Operations,
    ),
    sysbench(
        "sysbench memory read 1K",
        &["memory.block-read"],
        1,
        READ_1K,
        Operations,
    ),
    sysbench(
        "sysbench memory write 1M",
        &["memory.block-write-1m"],
        1,
        WRITE_1M,
        Operations,
    ),
    sysbench(
        "sysbench memory read 1M",
        &["memory.block-read-1m"],
        1,
        READ_1M,
        Operations,
    ),
    bandwidth(
        "mbw MEMCPY",
        &["memory.mbw-memcpy"],
        Exactly(1),
        Mbw("-t0", 1.0),
        Nothing,
    ),
    bandwidth(
        "mbw DUMB",
        &["memory.mbw-dumb"],
        Exactly(1),
        Mbw("-t1", 1.0),
        Nothing,
    ),
    bandwidth(
        "mbw MEMCPY by its -t1",
        &["memory.mbw-memcpy"],
        Exactly(1),
        Mbw("-t1", 1.0),
        AtLeast(0.95),
    ),
    bandwidth(
        "mbw DUMB by its -t0",
        &["memory.mbw-dumb"],
        Exactly(1),
        Mbw("-t0", 1.0),
        AtLeast(0.95),
    ),
    bandwidth(
        "mbw MCBLOCK",
        &["memory.mbw-mcblock"],
        Exactly(1),
        Mbw("-t2", 1.0),
        AtLeast(0.95),
    ),
    // What a copy moves is read and written, so that mbw's figure counts half of what ours do.
    bandwidth(
        "best of ours, mbw -t0, 1",
        KERNELS,
        Exactly(1),
        Mbw("-t0", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t1, 1",
        KERNELS,
        Exactly(1),
        Mbw("-t1", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t0, all",
        KERNELS,
        All,
        MbwAll("-t0", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, mbw -t1, all",
        KERNELS,
        All,
        MbwAll("-t1", 2.0),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench read 1G, 1",
        KERNELS,
        Exactly(1),
        Sysbench(Exactly(1), READ_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench write 1G, 1",
        KERNELS,
        Exactly(1),
        Sysbench(Exactly(1), WRITE_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench read 1G, all",
        KERNELS,
        All,
        Sysbench(All, READ_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, sysbench write 1G, all",
        KERNELS,
        All,
        Sysbench(All, WRITE_1G, Transferred),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, stress-ng stream, 1",
        KERNELS,
        Exactly(1),
        StressNgStream(Exactly(1)),
        AtLeast(1.0),
    ),
    bandwidth(
        "best of ours, stress-ng stream, all",
        KERNELS,
        All,
        StressNgStream(All),
        AtLeast(1.0),
    ),
    chase(
        "chase in C, 16 KiB",
        &["memory.latency-16k"],
        "16384",
        "50000000",
    ),
    chase(
        "chase in C, 1 MiB",
        &["memory.latency-1m"],
        "1048576",
        "20000000",
    ),
    chase(
        "chase in C, 32 MiB",
        &["memory.latency-32m"],
        "33554432",
        "8000000",
    ),
    chase(
        "chase in C, 512 MiB",
        &["memory.latency-512m"],
        "536870912",
        "4000000",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_of_tests_that_exist_and_a_metric_that_they_have() {
        for check in CHECKS {
            for test in check.tests {
                let owner = workloads::ALL
                    .iter()
                    .find(|workload| workload.spec().tests.iter().any(|def| def.name == *test));
                let spec = owner.unwrap_or_else(|| panic!("{test}")).spec();
                let mut metrics = spec.metrics.iter();
                assert!(
                    metrics.any(|metric| metric.quantity == check.quantity),
                    "{test}"
                );
            }
        }
    }

    #[test]
    fn a_bound_is_met_by_the_median_and_missed_by_the_whole_interval() {
        let check = |must: Must, ratios: &[f64], expected| {
            assert_eq!(must.judge(ratios), expected, "{must} {ratios:?}");
        };
        let near = [0.97, 0.99, 1.0, 1.02, 1.04, 1.08];
        check(Within(0.05), &near, "met");
        check(Within(0.005), &near, "cannot tell");
        check(AtLeast(1.0), &near, "met");
        check(AtLeast(1.05), &near, "cannot tell");
        check(AtLeast(1.1), &near, "not met");
        let above = [1.06, 1.07, 1.08, 1.09, 1.1, 1.2];
        check(Within(0.05), &above, "not met");
        check(Within(0.05), &above[..3], "not met");
        check(Within(0.05), &[1.02, 1.06, 1.07], "cannot tell");
        check(AtLeast(1.0), &above, "met");
        check(Nothing, &above, "-");
        check(Within(0.05), &[], "-");
    }

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CHECKS.len());
    }
}
