//! What threads of all tasks of a case share: when work arrives, who may go on, and when everything is over.

use super::set::Set;
use super::tally::Tally;
use crate::arrivals::{Queue, Schedule};
use model::fileset::FileTask;
use model::num::approx;
use model::rng::Rng;
use std::cmp::Ordering as CmpOrdering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// A task while it goes on.
#[derive(Debug)]
pub(super) struct Doing {
    pub(super) task: FileTask,
    pub(super) set: Arc<Set>,
    /// Where copies and moves go.
    pub(super) target: Arc<Set>,
    /// The next file or directory in order, for all threads.
    pub(super) cursor: AtomicU64,
    /// When operations arrive; taken in their order by whichever thread is free.
    schedule: Option<Queue>,
    /// What each of its threads counts.
    pub(super) tallies: Vec<Arc<Tally>>,
    /// It has nothing left to do.
    pub(super) is_over: AtomicBool,
}

impl Doing {
    pub(super) fn new(task: &FileTask, set: &Arc<Set>, target: &Arc<Set>, seed: u64) -> Self {
        let schedule = task.rate.map(|rate| {
            let seed = Rng::stream(seed, 83).next();
            Queue::new(Some(Schedule::new(rate, task.arrivals, seed)))
        });
        Self {
            task: task.clone(),
            set: Arc::clone(set),
            target: Arc::clone(target),
            cursor: AtomicU64::new(0),
            schedule,
            tallies: (0..task.threads).map(|_| Arc::default()).collect(),
            is_over: AtomicBool::new(false),
        }
    }

    /// When the next operation arrives, which is the caller's from now on; `None` where they do not arrive.
    pub(super) fn arrival(&self, now: u64) -> Option<u64> {
        Some(self.schedule.as_ref()?.take(now).due)
    }

    /// What must be said of arrivals at the end.
    pub(super) fn behind(&self, now: u64) -> Option<String> {
        self.schedule.as_ref()?.behind(now)
    }

    /// Operations that were asked for and done.
    pub(super) fn done(&self) -> u64 {
        self.tallies.iter().map(|tally| tally.done()).sum()
    }
}

/// How far a task may be ahead of its share: operations, and a part of all.
const AHEAD: u64 = 64;
const AHEAD_PART: u64 = 200;

/// A thread that finds nothing fit looks again after so long, in nanoseconds.
pub(super) const WAIT_NS: u64 = 200_000;

/// Bits of [`Together::waiting`] that count threads; those above are the state of all sets that they have seen.
const THREADS: u32 = 16;
const THREADS_MASK: u64 = (1 << THREADS) - 1;

/// All tasks of a case.
#[derive(Debug)]
pub(super) struct Together {
    pub(super) tasks: Vec<Doing>,
    /// The time is over, or something went wrong: what ends from now on does not count.
    pub(super) stop: AtomicBool,
    /// Threads that have not ended.
    alive: AtomicU32,
    /// How many of them have found nothing fit since the last change, and which change that was: together, because a
    /// thread that has not seen the last one is about to look again.
    waiting: AtomicU64,
}

impl Together {
    pub(super) fn new(tasks: Vec<Doing>) -> Self {
        let threads = tasks.iter().map(|doing| doing.task.threads).sum();
        Self {
            tasks,
            stop: AtomicBool::new(false),
            alive: AtomicU32::new(threads),
            waiting: AtomicU64::new(0),
        }
    }

    pub(super) fn stops(&self) -> bool {
        self.stop.load(Ordering::Acquire)
    }

    /// A thread has ended.
    pub(super) fn ended(&self) {
        self.alive.fetch_sub(1, Ordering::AcqRel);
    }

    /// Whether the task of this number is not ahead of its share. Where one of those who have shares is over, the
    /// others wait for nobody.
    pub(super) fn may_go_on(&self, number: usize) -> bool {
        let Some(skew) = self.tasks[number].task.skew else {
            return true;
        };
        let mut all = 0;
        for doing in self.tasks.iter().filter(|doing| doing.task.skew.is_some()) {
            if doing.is_over.load(Ordering::Relaxed) {
                return true;
            }
            all += doing.done();
        }
        let shares: f64 = self.tasks.iter().filter_map(|doing| doing.task.skew).sum();
        let ahead = AHEAD.max(all / AHEAD_PART);
        approx(self.tasks[number].done()) * shares <= skew * approx(all + ahead)
    }

    /// All changes of all sets.
    pub(super) fn changes(&self) -> u64 {
        let tasks = self.tasks.iter();
        let sets = tasks.flat_map(|doing| [&doing.set, &doing.target]);
        let all = sets.map(|set| set.map.changes());
        all.fold(0, u64::wrapping_add) << THREADS >> THREADS
    }

    /// Waits until what others did since `before` may have made something fit, where the caller has found nothing after
    /// it read that. False where nobody will: all have found nothing since the last change.
    pub(super) fn wait_for_others(&self, before: u64, stopped: impl Fn() -> bool) -> bool {
        let order = (Ordering::AcqRel, Ordering::Acquire);
        let join = |found: u64| match (found >> THREADS).cmp(&before) {
            CmpOrdering::Less => Some(before << THREADS | 1),
            CmpOrdering::Equal => Some(found + 1),
            // Others have seen more.
            CmpOrdering::Greater => None,
        };
        let leave = |found: u64| (found >> THREADS == before).then(|| found - 1);
        let joined = self.waiting.fetch_update(order.0, order.1, join);
        if joined.is_err() {
            return true;
        }
        let goes_on = loop {
            if self.changes() != before || stopped() {
                break true;
            }
            let waiting = self.waiting.load(Ordering::Acquire);
            let all = u64::from(self.alive.load(Ordering::Acquire));
            if waiting >> THREADS == before && waiting & THREADS_MASK >= all {
                break false;
            }
            sys::clock::sleep(WAIT_NS);
        };
        let _ = self.waiting.fetch_update(order.0, order.1, leave);
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_wait_for_each_other_end_and_a_change_is_waited_for() {
        let together = Together::new(Vec::new());
        together.alive.store(2, Ordering::Release);
        std::thread::scope(|scope| {
            // Whoever finds that nobody will change anything ends.
            let wait_and_end = || {
                let goes_on = together.wait_for_others(0, || false);
                together.ended();
                goes_on
            };
            let one = scope.spawn(wait_and_end);
            sys::clock::sleep(5_000_000);
            assert!(!one.is_finished(), "another thread may change something");
            assert!(!wait_and_end());
            assert!(!one.join().unwrap());
        });
        together.alive.store(2, Ordering::Release);
        assert!(together.wait_for_others(0, || true), "it is over");
        assert!(
            together.wait_for_others(7, || false),
            "something has changed since"
        );
        assert_eq!(together.waiting.load(Ordering::Acquire) & THREADS_MASK, 0);
    }
}
