//! In which groups operations are handed over, and how many completions are waited for together.
//!
//! Handing over all that is free in one go costs the fewest calls, but the device hears of the first operation only
//! when the last one is ready. Where completions come in bursts, as from a host that collects them, it stands still
//! meanwhile. A small first group and ever larger ones behind it keep it busy, and cost few calls more. Waiting for
//! company costs the first completion time and spares calls and wake-ups: where the interrupt comes to another CPU,
//! who waits for one completion is woken for each. A host that hands all completions back at once leaves nothing to
//! wait for beyond the first. Which of it counts depends on the machine.
//!
//! With a fixed number of operations under way their mean latency is that number over the rate (Little's law), so that
//! a way that does not lower the rate does not lengthen the mean latency. During the warm-up all ways take turns; the
//! measured part keeps to the one with the least CPU time per operation of those whose rate is as high as the best, but
//! for a few per cent. Slow storage is served one by one: there is no CPU time to speak of.

use super::body::index;
use model::num::approx;
use sys::clock::Clock;

/// From this many operations at a time on there is company to wait for.
const DEPTH_MIN: u32 = 8;
/// How many ways there are.
const WAYS: usize = 4;
/// A way is tried for at least so long at a time, in nanoseconds: longer than a time slice...
const TURN_NS: u64 = 4_000_000;
/// ...and each at least so often before they are judged.
const CYCLES_MIN: usize = 6;
/// More are not needed.
const CYCLES_MAX: usize = 64;
/// A rate that is lower than the best one by no more than this is as high: the best of four that are the same comes out
/// about that far above them.
const LOSS_MAX: f64 = 0.02;
/// A way that spares less CPU time than this is not worth longer waits.
const GAIN_MIN: f64 = 0.05;
/// Storage that takes longer than this for an operation, all those under way taken together, costs a CPU little
/// however it is waited for, in nanoseconds: 20,000 operations per second.
const OP_NS_MAX: f64 = 50_000.0;

/// Tries all ways until it is told to settle.
#[derive(Clone, Debug)]
pub(super) struct Patience {
    way: Way,
    trial: Option<Box<Trial>>,
}

/// How a queue is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// Completions that are waited for.
    wanted: u32,
    /// Operations in the first group that is handed over; each further one is twice as large.
    first: u32,
}

impl Way {
    /// Each completion as it comes, and everything that is free in one go.
    const PLAIN: Self = Self {
        wanted: 1,
        first: u32::MAX,
    };

    /// The ways of a queue of `depth`: the plain one; in groups, so that the device hears of the first ones early; in
    /// groups and in company, for which the other half of the queue keeps the device busy; in groups and all together,
    /// for a device that gives all back at once.
    fn all(depth: u32) -> [Self; WAYS] {
        let part = |share: u32| (depth / share).max(1);
        let in_groups = |wanted| Self {
            wanted,
            first: part(8),
        };
        [
            Self::PLAIN,
            in_groups(1),
            in_groups(part(2)),
            in_groups(depth),
        ]
    }
}

/// What the trial has seen.
#[derive(Clone, Debug)]
struct Trial {
    ways: [Way; WAYS],
    /// One turn of each way after the other. There is room for all of them: nothing here allocates.
    cycles: Vec<[Turn; WAYS]>,
    cycle: [Turn; WAYS],
    now: usize,
    /// How many operations at the beginning of a turn do not count, and how many of them are still to come. Those under
    /// way were begun in another way: one that waits for all of them hands none on, and would look faster for it.
    skip: u64,
    skipping: u64,
    /// The instant and the CPU time from which on the turn counts.
    since: Option<(u64, u64)>,
    ops: u64,
}

/// What was done in a turn.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    ops: f64,
    ns: f64,
    cpu_ns: f64,
}

impl Turn {
    fn ns_per_op(&self) -> f64 {
        self.ns / self.ops.max(1.0)
    }

    fn cpu_per_op(&self) -> f64 {
        self.cpu_ns / self.ops.max(1.0)
    }
}

impl Patience {
    /// For a queue of `depth` that is always kept full.
    pub(super) fn trying(depth: u32) -> Self {
        let trial = || Box::new(Trial::new(Way::all(depth), 2 * u64::from(depth)));
        Self {
            way: Way::PLAIN,
            trial: (depth >= DEPTH_MIN).then(trial),
        }
    }

    /// Always for so many.
    pub(super) fn fixed(wanted: u32) -> Self {
        Self {
            way: Way {
                wanted: wanted.max(1),
                ..Way::PLAIN
            },
            trial: None,
        }
    }

    /// How many completions to wait for.
    #[inline]
    pub(super) const fn wanted(&self) -> u32 {
        self.way.wanted
    }

    /// How many operations to hand over in the first group. Each further one is twice as large.
    #[inline]
    pub(super) const fn first_group(&self) -> usize {
        index(self.way.first)
    }

    /// Whether the ways are still being tried.
    #[inline]
    pub(super) const fn is_trying(&self) -> bool {
        self.trial.is_some()
    }

    /// So many operations completed by `now`, a reading of `clock`.
    pub(super) fn completed(&mut self, ops: u64, clock: Clock, now: u64) {
        if let Some(trial) = &mut self.trial {
            self.way = trial.completed(ops, clock, now, sys::clock::thread_cpu);
        }
    }

    /// Ends the trial: from now on every round is served in the same way.
    pub(super) fn settle(&mut self) {
        if let Some(trial) = self.trial.take() {
            self.way = trial.best();
        }
    }
}

impl Trial {
    fn new(ways: [Way; WAYS], skip: u64) -> Self {
        Self {
            skip,
            skipping: skip,
            ways,
            cycles: Vec::with_capacity(CYCLES_MAX),
            cycle: [Turn::default(); WAYS],
            now: 0,
            since: None,
            ops: 0,
        }
    }

    /// Takes completions in and says how to go on.
    fn completed(&mut self, ops: u64, clock: Clock, now: u64, cpu: impl FnOnce() -> u64) -> Way {
        let Some((since, cpu_since)) = self.since else {
            self.skipping = self.skipping.saturating_sub(ops);
            if self.skipping == 0 {
                self.since = Some((now, cpu()));
            }
            return self.ways[self.now];
        };
        self.ops += ops;
        let took = clock.nanos(since, now);
        if took >= TURN_NS {
            self.cycle[self.now] = Turn {
                ops: approx(self.ops),
                ns: approx(took),
                cpu_ns: approx(cpu().saturating_sub(cpu_since)),
            };
            self.now = (self.now + 1) % WAYS;
            if self.now == 0 && self.cycles.len() < CYCLES_MAX {
                self.cycles.push(self.cycle);
            }
            (self.ops, self.since, self.skipping) = (0, None, self.skip);
        }
        self.ways[self.now]
    }

    /// The best way.
    fn best(&self) -> Way {
        // The first cycle warms up.
        let cycles = self.cycles.get(1..).unwrap_or_default();
        let alone = median(cycles, |cycle| cycle[0].ns_per_op());
        if cycles.len() < CYCLES_MIN || alone > OP_NS_MAX {
            return Way::PLAIN;
        }
        // Ratios within a cycle, so that what the machine did meanwhile meets all ways.
        let mut rates = [1.0; WAYS];
        let mut costs = [1.0; WAYS];
        for way in 1..WAYS {
            rates[way] = median(cycles, |c| c[0].ns_per_op() / c[way].ns_per_op());
            costs[way] = median(cycles, |c| c[way].cpu_per_op() / c[0].cpu_per_op().max(1.0));
        }
        let highest = rates.iter().copied().fold(0.0, f64::max);
        let is_fast = |way: &usize| rates[*way] >= highest * (1.0 - LOSS_MAX);
        let cheapest = |best: usize, way: usize| {
            if costs[way] < costs[best] * (1.0 - GAIN_MIN) {
                way
            } else {
                best
            }
        };
        (0..WAYS)
            .filter(is_fast)
            .reduce(cheapest)
            .map_or(Way::PLAIN, |way| self.ways[way])
    }
}

/// The median over cycles of what `of` says of each, the upper of two; 0 where there are none.
fn median(cycles: &[[Turn; WAYS]], of: impl Fn(&[Turn; WAYS]) -> f64) -> f64 {
    let mut values = [0.0; CYCLES_MAX];
    let values = &mut values[..cycles.len()];
    for (value, cycle) in values.iter_mut().zip(cycles) {
        *value = of(cycle);
    }
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device that takes so many nanoseconds for an operation and costs so much CPU time: in the plain way, in
    /// groups, in company, all together.
    #[derive(Clone, Copy, Debug)]
    struct Device {
        ns: [u64; WAYS],
        cpu_ns: [u64; WAYS],
    }

    /// Which way is settled on.
    fn settled(depth: u32, device: Device, time_ns: u64) -> usize {
        let mut patience = Patience::trying(depth);
        let (mut now, mut cpu) = (1, 1);
        while now < time_ns {
            let ops = u64::from(patience.wanted());
            let Some(trial) = &mut patience.trial else {
                break;
            };
            let way = trial.now;
            now += ops * device.ns[way];
            cpu += ops * device.cpu_ns[way];
            patience.way = trial.completed(ops, Clock::Kernel, now, || cpu);
        }
        patience.settle();
        let mut ways = Way::all(depth).into_iter();
        ways.position(|way| way == patience.way).unwrap()
    }

    const WARMUP: u64 = 300_000_000;

    #[test]
    fn the_cheapest_of_the_fastest_ways_is_kept() {
        let check = |ns, cpu_ns, expect| {
            let device = Device { ns, cpu_ns };
            assert_eq!(settled(32, device, WARMUP), expect, "{device:?}");
        };
        // All as fast: what is cheapest.
        check([5_000; 4], [4_000, 4_000, 2_000, 4_000], 2);
        check([5_000; 4], [4_000, 3_000, 4_000, 4_000], 1);
        check([5_000; 4], [2_000, 3_000, 4_000, 4_000], 0);
        check([5_000; 4], [4_000, 4_000, 3_000, 2_000], 3);
        // Nothing to speak of is spared.
        check([5_000; 4], [4_000, 4_000, 3_900, 3_850], 0);
        // Groups keep the device busy, and that is worth CPU time.
        let costs = [2_000, 2_200, 1_800, 1_800];
        check([5_000, 4_000, 4_500, 4_500], costs, 1);
        // The device runs dry while company gathers.
        let costs = [4_000, 4_000, 2_000, 1_000];
        check([5_000, 5_000, 5_200, 6_000], costs, 0);
        check([5_000, 5_000, 5_080, 6_000], costs, 2);
        // Calls are what takes the time.
        let costs = [4_000, 4_400, 2_000, 3_000];
        check([5_000, 5_500, 4_000, 5_000], costs, 2);
        check([5_000, 5_050, 4_990, 4_990], costs, 2);
    }

    #[test]
    fn what_is_slow_or_hardly_seen_is_served_in_the_plain_way() {
        let check = |depth, ns: u64, time_ns| {
            let device = Device {
                ns: [ns; 4],
                cpu_ns: [4_000, 3_000, 2_000, 1_000],
            };
            assert_eq!(settled(depth, device, time_ns), 0, "{depth} {device:?}");
        };
        check(32, 100_000, WARMUP);
        check(32, 20_000_000, WARMUP);
        check(4, 5_000, WARMUP);
        // No warm-up, no trial.
        check(32, 5_000, 1);
        check(32, 5_000, 20 * TURN_NS);
    }

    #[test]
    fn what_another_way_left_under_way_counts_for_none() {
        let mut trial = Trial::new(Way::all(32), 64);
        let mut now = 1;
        // In every way 5 us each, but the first 64 of a turn take nothing in one way and twice as long in another.
        while trial.cycles.len() < 8 {
            let first = trial.since.is_none();
            now += 32
                * match (first, trial.now) {
                    (true, 3) => 0,
                    (true, 0) => 10_000,
                    _ => 5_000,
                };
            trial.completed(32, Clock::Kernel, now, || now / 2);
        }
        let seen = trial.cycles.iter().flatten();
        assert!(
            seen.clone()
                .all(|turn| (turn.ns_per_op() - 5_000.0).abs() < 1.0)
        );
    }

    #[test]
    fn one_disturbed_cycle_decides_nothing() {
        let mut trial = Trial::new(Way::all(32), 64);
        let turn = |ns, cpu_ns| Turn {
            ops: 1_000.0,
            ns,
            cpu_ns,
        };
        let fair = [
            turn(5e6, 4e6),
            turn(5e6, 4e6),
            turn(5e6, 2e6),
            turn(5e6, 4e6),
        ];
        trial.cycles = vec![fair; 8];
        trial.cycles[3][2].ns = 5e9;
        assert_eq!(trial.best(), Way::all(32)[2]);
    }

    #[test]
    fn shares_are_of_the_depth_and_what_is_fixed_stays() {
        let ways = |depth| Way::all(depth).map(|way| (way.wanted, way.first));
        assert_eq!(ways(32), [(1, u32::MAX), (1, 4), (16, 4), (32, 4)]);
        assert_eq!(ways(8), [(1, u32::MAX), (1, 1), (4, 1), (8, 1)]);
        let mut patience = Patience::fixed(3);
        patience.completed(1, Clock::Kernel, 1);
        patience.settle();
        assert_eq!((patience.wanted(), patience.way.first), (3, u32::MAX));
        assert_eq!(Patience::fixed(0).wanted(), 1);
    }
}
