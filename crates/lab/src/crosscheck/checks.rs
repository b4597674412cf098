//! What a comparison is.

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

    /// Whether the pairs' ratios are what they must be: by their median, and `unclear` where that is not but the
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
            "unclear"
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
    /// Round trips of one byte in C, over TCP or UDP: how many a second, and whether all threads have one CPU.
    Exchange(&'static str, Cpus),
}

/// Where both sides run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cpus {
    /// Where the scheduler puts their threads.
    Any,
    /// On one and the same.
    One,
}

/// What of sysbench's report is the figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reported {
    /// `events per second:`.
    EventsPerSecond,
    /// `total number of events:` over `total time:`, times how often one of our events is in one of theirs.
    EventsOverTime(f64),
    /// The same over the CPU time that it used; both sides then run at the same time on the same CPUs.
    EventsOverCpuTime(f64),
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

    /// Whether both sides run at the same time: only where both tell what they do in a second of CPU time.
    pub(super) fn at_once(&self) -> bool {
        matches!(
            self.original,
            Original::Sysbench(_, _, Reported::EventsOverCpuTime(_))
        )
    }

    /// Whether both sides of a pair have the same one CPU, one after the other.
    pub(super) const fn on_one_cpu(&self) -> bool {
        matches!(self.original, Original::Exchange(_, Cpus::One))
    }
}

#[cfg(test)]
mod tests {
    use super::Must::{AtLeast, Nothing, Within};
    use super::*;

    #[test]
    fn a_bound_is_met_by_the_median_and_missed_by_the_whole_interval() {
        let check = |must: Must, ratios: &[f64], expected| {
            assert_eq!(must.judge(ratios), expected, "{must} {ratios:?}");
        };
        let near = [0.97, 0.99, 1.0, 1.02, 1.04, 1.08];
        check(Within(0.05), &near, "met");
        check(Within(0.005), &near, "unclear");
        check(AtLeast(1.0), &near, "met");
        check(AtLeast(1.05), &near, "unclear");
        check(AtLeast(1.1), &near, "not met");
        let above = [1.06, 1.07, 1.08, 1.09, 1.1, 1.2];
        check(Within(0.05), &above, "not met");
        check(Within(0.05), &above[..3], "not met");
        check(Within(0.05), &[1.02, 1.06, 1.07], "unclear");
        check(AtLeast(1.0), &above, "met");
        check(Nothing, &above, "-");
        check(Within(0.05), &[], "-");
    }
}
