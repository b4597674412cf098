//! The search for the largest depth that keeps a latency: double while it is kept, then halve what lies between the
//! last depth that kept it and the first that did not. Each depth is judged over a window of its own, in which only
//! operations count that began in it.

use crate::bracket::Bracket;
use model::job::LatencyTarget;
use model::num::approx;

/// The search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    /// The latency to keep, in nanoseconds.
    latency_ns: u64,
    /// In ticks of the caller's clock.
    window: u64,
    share: f64,
    goes_on: bool,
    depths: Bracket,
    began: u64,
    kept: u64,
    all: u64,
}

impl Search {
    /// Up to a depth of `most`; `window` is in ticks.
    pub(super) fn new(target: &LatencyTarget, most: u32, window: u64) -> Self {
        Self {
            latency_ns: target.latency.0,
            window,
            share: target.percentile / 100.0,
            goes_on: target.run,
            depths: Bracket::new(1, (1, most), 0.0),
            began: 0,
            kept: 0,
            all: 0,
        }
    }

    /// The depth to work at.
    #[inline]
    pub(super) const fn depth(&self) -> u32 {
        self.depths.at()
    }

    /// The depth that was found; `None` while the search goes on, and where not even 1 keeps the latency.
    pub(super) fn result(&self) -> Option<u32> {
        self.depths.good().filter(|_| self.depths.is_over())
    }

    /// The measured time begins.
    pub(super) const fn begin(&mut self, now: u64) {
        self.began = now;
        (self.kept, self.all) = (0, 0);
    }

    /// Operations that began at `start` took so long.
    #[inline]
    pub(super) const fn add(&mut self, start: u64, lat_ns: u64, count: u64) {
        if start < self.began {
            return;
        }
        self.all += count;
        if lat_ns <= self.latency_ns {
            self.kept += count;
        }
    }

    /// Judges the depth where its window is over. True where the job ends with that.
    pub(super) fn judge(&mut self, now: u64) -> bool {
        if now.saturating_sub(self.began) < self.window || self.all == 0 {
            return false;
        }
        let keeps = approx(self.kept) >= self.share * approx(self.all);
        if !self.depths.is_over() {
            self.depths.judged(keeps);
        } else if !keeps {
            // Going on: what was found must hold, or is searched for again below.
            self.depths.lost();
        }
        self.begin(now);
        self.depths.is_over() && !self.goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    /// The depth that is found where a depth of d takes d microseconds, and in how many windows.
    fn searched(limit_us: u64, most: u32, run: bool) -> (Option<u32>, u32) {
        let target = LatencyTarget {
            latency: Nanos(limit_us * 1000),
            window: Nanos(1000),
            percentile: 99.0,
            run,
        };
        let mut search = Search::new(&target, most, 1000);
        search.begin(0);
        for window in 1..60 {
            let now = u64::from(window) * 1000;
            search.add(now - 500, u64::from(search.depth()) * 1000, 100);
            // Operations of the depth before do not count.
            if window > 1 {
                search.add(now - 1500, 1 << 40, 100);
            }
            if search.judge(now) {
                return (search.result(), window);
            }
        }
        (search.result(), 60)
    }

    #[test]
    fn the_largest_depth_that_keeps_the_latency_is_found_quickly() {
        for limit in 1..=130 {
            let (found, windows) = searched(limit, 128, false);
            assert_eq!(
                found,
                Some(u32::try_from(limit.min(128)).unwrap()),
                "{limit}"
            );
            assert!(windows <= 16, "{limit}: {windows} windows");
        }
        assert_eq!(
            searched(0, 128, false).0,
            None,
            "not even one at a time keeps it"
        );
        assert_eq!(searched(9, 1, false).0, Some(1));
        assert_eq!(
            searched(37, 128, true),
            (Some(37), 60),
            "it goes on at what it found"
        );
    }

    #[test]
    fn a_share_of_the_operations_may_be_slower() {
        let check = |slow, expected| {
            let target = LatencyTarget {
                latency: Nanos(1000),
                window: Nanos(10),
                percentile: 99.0,
                run: false,
            };
            let mut search = Search::new(&target, 1, 10);
            search.add(0, 10, 1000 - slow);
            search.add(0, 2000, slow);
            assert!(search.judge(10));
            assert_eq!(search.result(), expected, "{slow}");
        };
        check(10, Some(1));
        check(11, None);
    }

    #[test]
    fn what_no_longer_holds_is_searched_again() {
        let target = LatencyTarget {
            latency: Nanos(8000),
            window: Nanos(10),
            percentile: 100.0,
            run: true,
        };
        let mut search = Search::new(&target, 64, 10);
        let mut per_depth = 1000;
        for now in (10..2000).step_by(10) {
            if now == 1000 {
                assert_eq!(search.result(), Some(8));
                per_depth = 4000;
            }
            search.add(now, u64::from(search.depth()) * per_depth, 1);
            search.judge(now);
        }
        assert_eq!(search.result(), Some(2));
    }
}
