//! Which file or directory comes next, and what is done where none is fit.
//!
//! A thread draws, and takes what it draws. Where that is not fit or somebody else has it, it draws again, some
//! times, and then goes through the set in order from where it is. Where nothing is fit although nobody has anything,
//! only another task can change that.

use super::map::{Now, Taken};
use model::fileset::FileSelect;
use model::rng::Rng;
use std::sync::atomic::{AtomicU64, Ordering};

/// What came of looking for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Chosen {
    /// It is taken, and this is what it was.
    This(u64, Now),
    /// All that are fit are somebody else's.
    Busy,
    /// None is fit.
    None,
    /// Each has been chosen once.
    Over,
}

/// Draws before the set is gone through in order.
const DRAWS: u32 = 32;

/// How one thread chooses.
#[derive(Debug)]
pub(super) struct Chooser {
    pub(super) select: FileSelect,
    pub(super) rng: Rng,
    /// The one that is next where each is chosen once, and somebody else has.
    pending: Option<u64>,
}

impl Chooser {
    pub(super) const fn new(select: FileSelect, rng: Rng) -> Self {
        Self {
            select,
            rng,
            pending: None,
        }
    }

    /// Chooses among `count`, from 0, by `take`; `cursor` is that of all threads of the task.
    pub(super) fn choose(
        &mut self,
        cursor: &AtomicU64,
        count: u64,
        mut take: impl FnMut(u64) -> Taken,
    ) -> Chosen {
        if self.select == FileSelect::Once {
            return self.once(cursor, count, take);
        }
        let (mut is_busy, mut last) = (false, 0);
        let mut attempt = |at: u64| match take(at) {
            Taken::Mine(was) => Some(Chosen::This(at, was)),
            Taken::Busy => {
                is_busy = true;
                None
            }
            Taken::Unfit => None,
        };
        for _ in 0..DRAWS {
            last = match self.select {
                FileSelect::Sequential | FileSelect::Once => {
                    cursor.fetch_add(1, Ordering::AcqRel) % count.max(1)
                }
                FileSelect::Random => self.rng.below(count),
                FileSelect::Poisson { midpoint } => poisson(midpoint, count, &mut self.rng),
            };
            if let Some(chosen) = attempt(last) {
                return chosen;
            }
        }
        for step in 1..=count {
            let at = (last + step) % count;
            if let Some(chosen) = attempt(at) {
                if self.select == FileSelect::Sequential {
                    cursor.store(at + 1, Ordering::Release);
                }
                return chosen;
            }
        }
        if is_busy { Chosen::Busy } else { Chosen::None }
    }

    /// The next that is fit; those that are not are passed over for good, and those of others are waited for.
    fn once(
        &mut self,
        cursor: &AtomicU64,
        count: u64,
        mut take: impl FnMut(u64) -> Taken,
    ) -> Chosen {
        loop {
            let next = || cursor.fetch_add(1, Ordering::AcqRel);
            let at = self.pending.take().unwrap_or_else(next);
            if at >= count {
                return Chosen::Over;
            }
            match take(at) {
                Taken::Mine(was) => return Chosen::This(at, was),
                Taken::Busy => {
                    self.pending = Some(at);
                    return Chosen::Busy;
                }
                Taken::Unfit => {}
            }
        }
    }
}

/// A number below `count`, by the distribution of [`FileSelect::Poisson`].
fn poisson(midpoint: u32, count: u64, rng: &mut Rng) -> u64 {
    let parts = 4 * u64::from(midpoint);
    let part = loop {
        // As many arrivals as there are in the time of `midpoint`.
        let (mut time, mut arrivals) = (rng.exponential(), 0_u64);
        while time < f64::from(midpoint) {
            time += rng.exponential();
            arrivals += 1;
        }
        if arrivals < parts {
            break arrivals;
        }
    };
    let of = |part: u64| {
        let at = u128::from(count) * u128::from(part) / u128::from(parts);
        u64::try_from(at).unwrap_or(count)
    };
    let (begin, end) = (of(part), of(part + 1));
    (begin + rng.below(end - begin)).min(count.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn chooser(select: FileSelect) -> Chooser {
        Chooser::new(select, Rng::new(5))
    }

    fn draw(chooser: &mut Chooser, cursor: &AtomicU64, count: u64) -> Option<u64> {
        match chooser.choose(cursor, count, |_| Taken::Mine(Now::Full)) {
            Chosen::This(at, _) => Some(at),
            _ => None,
        }
    }

    #[test]
    fn each_way_of_choosing_is_what_it_is_called() {
        let cursor = AtomicU64::new(0);
        let mut own = chooser(FileSelect::Sequential);
        let drawn: Vec<_> = (0..5).filter_map(|_| draw(&mut own, &cursor, 3)).collect();
        assert_eq!(drawn, [0, 1, 2, 0, 1]);
        let cursor = AtomicU64::new(0);
        let (mut one, mut two) = (chooser(FileSelect::Once), chooser(FileSelect::Once));
        assert_eq!(draw(&mut one, &cursor, 3), Some(0));
        assert_eq!(draw(&mut two, &cursor, 3), Some(1));
        assert_eq!(draw(&mut one, &cursor, 3), Some(2));
        assert_eq!(draw(&mut two, &cursor, 3), None, "each once");
        let mut random = chooser(FileSelect::Random);
        let all: BTreeSet<_> = (0..200)
            .filter_map(|_| draw(&mut random, &cursor, 8))
            .collect();
        assert_eq!(all, (0..8).collect());
    }

    #[test]
    fn a_poisson_distribution_has_its_mean_and_prefers_its_middle() {
        let mut rng = Rng::new(3);
        // 12 parts of 10 files each: the mean part is 3, that of files 10 times as much and half a part.
        let drawn: Vec<u64> = (0..20_000).map(|_| poisson(3, 120, &mut rng)).collect();
        let mean = drawn.iter().sum::<u64>() / 20_000;
        assert!(mean.abs_diff(34) <= 1, "{mean}");
        let of = |part: u64| drawn.iter().filter(|at| **at / 10 == part).count();
        assert!(
            of(2) > 4000 && of(2) < 5000 && of(9) < 100,
            "{} {}",
            of(2),
            of(9)
        );
        assert!((0..100).all(|_| poisson(3, 1, &mut rng) == 0));
    }

    #[test]
    fn what_is_not_fit_is_passed_over_and_what_is_busy_is_waited_for() {
        let cursor = AtomicU64::new(0);
        for select in [FileSelect::Random, FileSelect::Sequential] {
            let only = |at| {
                if at == 70 {
                    Taken::Mine(Now::There)
                } else {
                    Taken::Unfit
                }
            };
            let chosen = chooser(select).choose(&cursor, 100, only);
            assert_eq!(chosen, Chosen::This(70, Now::There));
            let none = chooser(select).choose(&cursor, 100, |_| Taken::Unfit);
            assert_eq!(none, Chosen::None);
            let busy = |at| if at == 9 { Taken::Busy } else { Taken::Unfit };
            assert_eq!(chooser(select).choose(&cursor, 100, busy), Chosen::Busy);
        }
        let (cursor, mut once) = (AtomicU64::new(0), chooser(FileSelect::Once));
        assert_eq!(once.choose(&cursor, 2, |_| Taken::Busy), Chosen::Busy);
        let mine = |_| Taken::Mine(Now::There);
        assert_eq!(
            once.choose(&cursor, 2, mine),
            Chosen::This(0, Now::There),
            "it was waited for"
        );
        assert_eq!(once.choose(&cursor, 2, |_| Taken::Unfit), Chosen::Over);
    }
}
