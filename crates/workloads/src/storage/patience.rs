//! How many completions are waited for together.
//!
//! Waking up for every single completion and submitting every single operation costs calls, and on a virtual disk each
//! submission is an exit from the machine. Waiting for company costs the first completion time. With a fixed number of
//! operations under way their mean latency is that number over the rate (Little's law), so that whichever way gives
//! the higher rate distorts latency the least: both are tried in turn during the warm-up, and the measured part keeps
//! to the better one. A disk that is the bottleneck by itself shows no difference and is served one by one.

use model::num::approx;
use sys::clock::Clock;

/// From this many operations at a time on there is company to wait for.
const DEPTH_MIN: u32 = 8;
/// The share of the depth that is waited for: the others keep the device busy meanwhile.
const SHARE: u32 = 4;
/// A way is tried for at least so long at a time, in nanoseconds: longer than a time slice...
const TURN_NS: u64 = 4_000_000;
/// ...and each at least so often before the two are judged.
const TURNS_MIN: u32 = 6;
/// Company is waited for only where the rate rises by more than this: less is noise.
const GAIN_MIN: f64 = 1.02;

/// Tries both ways until it is told to settle.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    company: u32,
    wanted: u32,
    trial: Option<Trial>,
}

/// What the trial has seen: one by one, then in company.
#[derive(Clone, Copy, Debug, Default)]
struct Trial {
    ways: [Way; 2],
    now: usize,
    since: Option<u64>,
    ops: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Way {
    ops: u64,
    ns: u64,
    turns: u32,
}

impl Patience {
    /// For a queue of `depth` that is always kept full.
    pub(super) fn trying(depth: u32) -> Self {
        let company = depth / SHARE;
        Self {
            company,
            wanted: 1,
            trial: (depth >= DEPTH_MIN).then(Trial::default),
        }
    }

    /// Always for so many.
    pub(super) fn fixed(wanted: u32) -> Self {
        Self {
            company: wanted,
            wanted: wanted.max(1),
            trial: None,
        }
    }

    /// How many completions to wait for.
    #[inline]
    pub(super) const fn wanted(&self) -> u32 {
        self.wanted
    }

    /// Whether both ways are still being tried.
    #[inline]
    pub(super) const fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// So many operations completed by `now`, a reading of `clock`.
    pub(super) fn completed(&mut self, ops: u64, clock: Clock, now: u64) {
        if let Some(trial) = &mut self.trial {
            self.wanted = [1, self.company][trial.completed(ops, clock, now)];
        }
    }

    /// Ends the trial: from now on every round is served in the same way.
    pub(super) fn settle(&mut self) {
        if let Some(trial) = self.trial.take() {
            self.wanted = if trial.is_better_in_company() {
                self.company
            } else {
                1
            };
        }
    }
}

impl Trial {
    /// Takes completions in and says which way is next.
    fn completed(&mut self, ops: u64, clock: Clock, now: u64) -> usize {
        let Some(since) = self.since else {
            // What began before the first turn is of no way.
            self.since = Some(now);
            return self.now;
        };
        self.ops += ops;
        let took = clock.nanos(since, now);
        if took >= TURN_NS {
            let way = &mut self.ways[self.now];
            way.turns += 1;
            // The first turn of each way warms it up.
            if way.turns > 1 {
                way.ops += self.ops;
                way.ns += took;
            }
            (self.ops, self.since, self.now) = (0, Some(now), 1 - self.now);
        }
        self.now
    }

    fn is_better_in_company(&self) -> bool {
        let [alone, company] = self.ways;
        let rate = |way: Way| approx(way.ops) / approx(way.ns.max(1));
        alone.turns.min(company.turns) > TURNS_MIN && rate(company) > GAIN_MIN * rate(alone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Plays a device that does an operation in so many nanoseconds, one by one and in company, for `time_ns`.
    fn settled(depth: u32, [alone, company]: [u64; 2], time_ns: u64) -> u32 {
        let mut patience = Patience::trying(depth);
        let mut now = 1;
        while now < time_ns {
            let ops = u64::from(patience.wanted());
            now += ops * if ops == 1 { alone } else { company };
            patience.completed(ops, Clock::Kernel, now);
        }
        patience.settle();
        patience.wanted()
    }

    #[test]
    fn company_is_waited_for_where_it_raises_the_rate() {
        let check = |depth, speeds, time_ns, expect| {
            assert_eq!(
                settled(depth, speeds, time_ns),
                expect,
                "{depth} {speeds:?}"
            );
        };
        let warmup = 300_000_000;
        check(32, [5_000, 4_000], warmup, 8);
        check(32, [4_000, 4_000], warmup, 1);
        check(32, [4_000, 4_900], warmup, 1);
        // Less than the noise.
        check(32, [4_000, 3_960], warmup, 1);
        // A slow disk: too few turns to tell.
        check(32, [20_000_000, 10_000_000], warmup, 1);
        check(4, [5_000, 1_000], warmup, 1);
        check(64, [5_000, 4_000], warmup, 16);
        // No warm-up, no trial.
        check(32, [5_000, 4_000], 1, 1);
    }

    #[test]
    fn what_is_fixed_stays() {
        let mut patience = Patience::fixed(3);
        patience.completed(1, Clock::Kernel, 1);
        patience.settle();
        assert_eq!(patience.wanted(), 3);
    }
}
