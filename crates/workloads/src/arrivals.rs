//! Work that arrives by itself: fixed and Poisson schedules, the intended start, and the program's own lateness.
//!
//! A schedule does not care for what it asks: work arrives when it arrives, and waits where whoever does it is busy.
//! That wait belongs to its latency, which is why that counts from the intended start. Source: Schroeder, Wierman,
//! Harchol-Balter, "Open versus closed", NSDI 2006. How late the program itself was, which had nothing else to do, is
//! recorded beside ([`LATE`]). Where several share a [`Queue`], whoever is free takes the next arrival, so that none
//! waits while somebody has nothing to do.

use model::job::Arrivals;
use model::latency::{LAG, LATE};
use model::num::{approx, round_to_u64};
use model::params::Params;
use model::rng::Rng;
use model::spec::{Better, How, MetricClass, MetricDef, ParamDef, ParamKind, Role, Stat};
use model::units::Unit;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The parameter that asks for arrivals.
pub(crate) const RATE: ParamDef = ParamDef {
    name: "rate",
    kind: ParamKind::Count {
        min: 0,
        max: 100_000_000,
    },
    default: "0",
    doc: "Events that arrive per second, for all copies together, whatever becomes of them; 0 for one after the other. \
          With a rate a latency counts from the instant at which its event arrived.",
};

/// The parameter that says when they arrive.
pub(crate) const ARRIVALS: ParamDef = ParamDef {
    name: "arrivals",
    kind: ParamKind::Choice(&["linear", "poisson"]),
    default: "linear",
    doc: "With a rate: at equal distances, or at random ones, as from many independent users.",
};

/// The program's own lateness.
pub(crate) const LATE_MEAN: MetricDef = MetricDef {
    quantity: "late_ns_mean",
    unit: Unit::Nanoseconds,
    better: Better::Lower,
    class: MetricClass::LatencyTypical,
    how: How::Of(LATE, Stat::Mean),
    role: Role::Plain,
    doc: "With a rate, how much later than it could have an event started because of this program: from its arrival, \
          or from the end of the event before it where that was later, to its start.",
};

/// What only events that arrive by themselves have.
pub(crate) const OF_ARRIVALS: [&str; 3] = [LAG_MEAN.quantity, LAG_MAX.quantity, LATE_MEAN.quantity];

const LAG_DOC: &str = "With a rate, from the arrival of an event to its start, whether a free connection or this \
                       program was waited for: a part of its latency.";

/// How long events waited before they began.
pub(crate) const LAG_MEAN: MetricDef = MetricDef::time(
    "lag_ns_mean",
    MetricClass::LatencyTail,
    How::Of(LAG, Stat::Mean),
    LAG_DOC,
);

/// The longest of these waits.
pub(crate) const LAG_MAX: MetricDef = MetricDef::time(
    "lag_ns_max",
    MetricClass::LatencyExtreme,
    How::Of(LAG, Stat::Longest),
    LAG_DOC,
);

/// Whether these parameters ask for arrivals; those of a workload that knows none do not.
pub(crate) fn asked(params: &Params) -> bool {
    params.ordered_rate().is_some()
}

/// The schedule of one of `parts` that share the rate; `None` where none is asked for. Those at equal distances arrive
/// in turn, and random ones add up to as random ones.
pub(crate) fn share(params: &Params, (part, parts): (u32, u32), seed: u64) -> Option<Schedule> {
    let rate = approx(params.count(RATE.name)) / f64::from(parts.max(1));
    let arrivals = match params.text(ARRIVALS.name) {
        "poisson" => Arrivals::Poisson,
        _ => Arrivals::Linear,
    };
    asked(params).then(|| {
        let mut schedule = Schedule::new(rate, arrivals, seed.wrapping_add(u64::from(part)));
        if arrivals == Arrivals::Linear {
            schedule.next = schedule.gap_ns * f64::from(part) / f64::from(parts.max(1));
        }
        schedule
    })
}

/// The share of the time by which the next in line is late at the end, above which the rate was not held.
const BEHIND_MAX: f64 = 0.05;

const BEHIND: &str = "more arrived than could be done: the queue grew until the end, and its latencies say how long a \
                      round is; a lower rate shows what can be held";

/// When work arrives, in nanoseconds of the monotonic clock.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    gap_ns: f64,
    arrivals: Arrivals,
    rng: Rng,
    start: Option<u64>,
    /// The next arrival, counted from the start: the sum of many gaps keeps its fractions.
    next: f64,
}

impl Schedule {
    /// So many of what is counted per second.
    pub(crate) fn new(per_s: f64, arrivals: Arrivals, seed: u64) -> Self {
        Self {
            gap_ns: 1e9 / per_s.max(1e-9),
            arrivals,
            rng: Rng::stream(seed, 13),
            start: None,
            next: 0.0,
        }
    }

    /// When the next arrives. The first arrival is now.
    pub(crate) fn due(&mut self, now: u64) -> u64 {
        let start = *self.start.get_or_insert(now);
        start + round_to_u64(self.next)
    }

    /// So much of what is counted has arrived: an operation, or its bytes.
    pub(crate) fn advance(&mut self, amount: f64) {
        let gap = self.gap_ns * amount;
        self.next += match self.arrivals {
            Arrivals::Linear => gap,
            Arrivals::Poisson => gap * self.rng.exponential(),
            Arrivals::Uniform => gap * 2.0 * self.rng.unit(),
        };
    }

    /// What must be said where what has arrived by `now`, the end, was not kept up with.
    pub(crate) fn behind(&self, now: u64) -> Option<String> {
        let passed = approx(now) - approx(self.start?);
        (passed - self.next > BEHIND_MAX * passed).then(|| BEHIND.to_owned())
    }

    /// Everything that is still to arrive comes that much later.
    pub(crate) fn shift(&mut self, nanos: u64) {
        self.next += approx(nanos);
    }
}

/// A schedule whose arrivals are taken in their order by whoever is free, and which may be replaced by another one.
#[derive(Clone, Debug)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// How often it was replaced.
    step: AtomicU32,
    /// `None` where nobody waits for an arrival: the next is always now.
    schedule: Mutex<Option<Schedule>>,
}

/// An arrival that somebody has taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// When it is.
    pub(crate) due: u64,
    step: u32,
}

/// Arrivals that still wait are gone through one by one up to so many; of more, each stands for several.
const WAITING_EXACT: f64 = 1e6;

impl Queue {
    /// A queue with this schedule.
    pub(crate) fn new(schedule: Option<Schedule>) -> Self {
        Self(Arc::new(Shared {
            step: AtomicU32::new(0),
            schedule: Mutex::new(schedule),
        }))
    }

    /// A queue in which so many arrive per second, at random, by the seed.
    pub(crate) fn random(per_s: u64, seed: u64) -> Self {
        Self::new(Some(Schedule::new(approx(per_s), Arrivals::Poisson, seed)))
    }

    fn with<T>(&self, look: impl FnOnce(&mut Option<Schedule>) -> T) -> T {
        // Nobody leaves it half done.
        let schedule = self.0.schedule.lock();
        look(&mut schedule.unwrap_or_else(PoisonError::into_inner))
    }

    /// The next arrival, which is the caller's from now on.
    pub(crate) fn take(&self, now: u64) -> Taken {
        self.with(|schedule| {
            let due = schedule.as_mut().map_or(now, |schedule| {
                let due = schedule.due(now);
                schedule.advance(1.0);
                due
            });
            let step = self.0.step.load(Ordering::Acquire);
            Taken { due, step }
        })
    }

    /// Whether it is of the schedule that holds.
    pub(crate) fn has(&self, taken: &Taken) -> bool {
        self.0.step.load(Ordering::Acquire) == taken.step
    }

    /// Another schedule from now on. What was taken of the one before is void.
    pub(crate) fn replace(&self, next: Option<Schedule>) {
        self.with(|schedule| {
            *schedule = next;
            self.0.step.fetch_add(1, Ordering::AcqRel);
        });
    }

    /// What must be said where what has arrived by `now` was not kept up with.
    pub(crate) fn behind(&self, now: u64) -> Option<String> {
        self.with(|schedule| schedule.as_ref()?.behind(now))
    }

    /// Takes all that has arrived by `now`: tells since when it waits, and of how many that is said.
    pub(crate) fn drain(&self, now: u64, mut tell: impl FnMut(u64, u64)) {
        self.with(|schedule| {
            let Some(schedule) = schedule else { return };
            let (Some(start), gap) = (schedule.start, schedule.gap_ns) else {
                return;
            };
            let waiting = (approx(now.saturating_sub(start)) - schedule.next) / gap;
            let each = (waiting / WAITING_EXACT).ceil().max(1.0);
            while schedule.due(now) <= now {
                tell(schedule.due(now), round_to_u64(each));
                schedule.advance(each);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_that_was_not_held_is_said() {
        let behind = |done: u32| {
            let mut schedule = Schedule::new(1000.0, Arrivals::Linear, 1);
            schedule.due(5_000_000);
            schedule.advance(f64::from(done));
            schedule.behind(1_005_000_000).is_some()
        };
        assert_eq!([1001, 990, 940, 10].map(behind), [false, false, true, true]);
        let never = Schedule::new(1000.0, Arrivals::Poisson, 1);
        assert_eq!(never.behind(1_000_000_000), None, "nothing began");
    }

    fn arrivals(mut schedule: Schedule, count: usize) -> Vec<u64> {
        let one = |_| {
            let due = schedule.due(1_000);
            schedule.advance(1.0);
            due - 1_000
        };
        (0..count).map(one).collect()
    }

    #[test]
    fn arrivals_of_a_queue_are_taken_once_and_in_order_and_what_waits_is_told() {
        let of = |per_s| Some(Schedule::new(per_s, Arrivals::Linear, 1));
        let queue = Queue::new(of(1000.0));
        let other = queue.clone();
        let due = [queue.take(5), other.take(5), queue.take(9_000_000)].map(|taken| taken.due);
        assert_eq!(due, [5, 1_000_005, 2_000_005]);
        let (mut waited, mut all) = (Vec::new(), 0);
        queue.drain(5_000_004, |since, count| {
            waited.push(since);
            all += count;
        });
        assert_eq!((waited, all), (vec![3_000_005, 4_000_005], 2));
        // What was taken before another schedule began is void.
        let before = queue.take(6_000_000);
        queue.replace(of(10.0));
        assert!(!queue.has(&before) && queue.has(&queue.take(7_000_000)));
        assert_eq!(queue.take(7_000_001).due, 107_000_000);
        queue.replace(None);
        assert_eq!([queue.take(7).due, queue.take(9).due], [7, 9]);
    }

    #[test]
    fn a_queue_of_millions_is_told_in_little_time() {
        let queue = Queue::new(Some(Schedule::new(1e8, Arrivals::Poisson, 1)));
        queue.take(0);
        let (mut times, mut all) = (0_u64, 0);
        queue.drain(1_000_000_000, |_, count| {
            times += 1;
            all += count;
        });
        assert!(times < 1_100_000, "{times}");
        assert!((approx(all) / 1e8 - 1.0).abs() < 0.01, "{all}");
    }

    fn params(rate: &str, arrivals: &str) -> Params {
        let set = [("rate", rate), ("arrivals", arrivals)];
        crate::os::testing::params(&crate::os::THREADS, &set)
    }

    #[test]
    fn those_who_share_a_rate_arrive_in_turn() {
        let of = |part| share(&params("1000", "linear"), (part, 4), 7).unwrap();
        assert_eq!(arrivals(of(0), 3), [0, 4_000_000, 8_000_000]);
        assert_eq!(arrivals(of(3), 3), [3_000_000, 7_000_000, 11_000_000]);
        assert!(share(&params("0", "linear"), (0, 4), 7).is_none());
    }

    #[test]
    fn random_arrivals_keep_the_rate_and_have_the_spread_of_independent_users() {
        const COUNT: usize = 20_000;
        let schedule = share(&params("1000", "poisson"), (0, 1), 7).unwrap();
        let times = arrivals(schedule, COUNT);
        let gaps: Vec<f64> = times
            .windows(2)
            .map(|two| approx(two[1] - two[0]))
            .collect();
        let mean = gaps.iter().sum::<f64>() / approx(COUNT as u64 - 1);
        assert!((mean / 1e6 - 1.0).abs() < 0.03, "{mean}");
        // Of exponential gaps a share of e^-1 is longer than the mean.
        let long = gaps.iter().filter(|&&gap| gap > mean).count();
        let share = approx(long as u64) / approx(COUNT as u64);
        assert!((share - 0.3679).abs() < 0.02, "{share}");
    }
}
