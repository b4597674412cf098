//! Which operations have a priority of their own, and how long those of each priority take.

use super::course::Target;
use crate::storage::records::place;
use model::job::{IoPriority, Job, PriorityShare};
use model::rng::Rng;

/// Draws priorities, by their places in [`PriorityDraw::all`]; the first is that of the process.
#[derive(Clone, Debug)]
pub(super) struct PriorityDraw {
    /// Of reads and writes: the share, and the place of its priority.
    shares: [Vec<(PriorityShare, u8)>; 2],
    all: Vec<IoPriority>,
    rng: Rng,
}

impl PriorityDraw {
    /// `None` where all operations have the priority of the process.
    pub(super) fn new(job: &Job, seed: u64) -> Option<Self> {
        let priorities = job.priorities.as_ref()?;
        let mut all = vec![priorities.usual];
        let mut placed = |share: &PriorityShare| {
            let found = all.iter().position(|other| *other == share.priority);
            let place = found.unwrap_or_else(|| {
                all.push(share.priority);
                all.len() - 1
            });
            (*share, u8::try_from(place).unwrap_or(0))
        };
        let shares = [&priorities.read, &priorities.write]
            .map(|shares| shares.iter().map(&mut placed).collect());
        Some(Self {
            shares,
            all,
            rng: Rng::stream(seed, 41),
        })
    }

    /// The priorities that operations may have.
    pub(super) fn all(&self) -> &[IoPriority] {
        &self.all
    }

    /// The priority of an operation: its place, and what the kernel is told.
    #[inline]
    pub(super) fn draw(&mut self, target: &Target) -> (u8, u16) {
        let shares = match self.shares.get(place(target.kind)) {
            Some(shares) if !shares.is_empty() => shares,
            _ => return (0, 0),
        };
        let mut drawn = self.rng.below(100);
        for (share, place) in shares {
            if share
                .bytes
                .is_some_and(|bytes| bytes != u64::from(target.len))
            {
                continue;
            }
            let percent = u64::from(share.percent);
            if drawn < percent {
                return (*place, share.priority.ioprio());
            }
            drawn -= percent;
        }
        (0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::Priorities;
    use sys::io::Kind;

    const HIGH: IoPriority = IoPriority { class: 1, level: 0 };
    const LOW: IoPriority = IoPriority { class: 3, level: 2 };

    /// How many of 10,000 operations of this kind and size have each of the priorities.
    fn drawn(read: &[(Option<u64>, u8, IoPriority)], kind: Kind, len: u32) -> Vec<u32> {
        let share = |&(bytes, percent, priority): &_| PriorityShare {
            bytes,
            percent,
            priority,
        };
        let job = Job {
            priorities: Some(Priorities {
                usual: IoPriority { class: 2, level: 7 },
                read: read.iter().map(share).collect(),
                write: Vec::new(),
                tells_whole: false,
            }),
            ..Job::default()
        };
        let mut drawing = PriorityDraw::new(&job, 7).unwrap();
        let target = Target {
            kind,
            file: 0,
            offset: 0,
            len,
        };
        let mut counts = vec![0; drawing.all().len()];
        for _ in 0..10_000 {
            let (at, word) = drawing.draw(&target);
            let priority = drawing.all()[usize::from(at)];
            assert_eq!(word, if at == 0 { 0 } else { priority.ioprio() });
            counts[usize::from(at)] += 1;
        }
        counts
    }

    #[test]
    fn shares_of_priorities_are_within_binomial_bounds() {
        let both = [(Some(4096), 25, HIGH), (Some(4096), 75, LOW)];
        let found = drawn(&both, Kind::Read, 4096);
        assert_eq!(found[0], 0);
        // 2,500 expected, standard deviation 43; five of them.
        assert!(found[1].abs_diff(2500) < 217, "{found:?}");
        assert_eq!(drawn(&both, Kind::Read, 8192), [10_000, 0, 0]);
        assert_eq!(drawn(&both, Kind::Write, 4096), [10_000, 0, 0]);
        assert_eq!(drawn(&both, Kind::Sync, 0), [10_000, 0, 0]);
        let any = drawn(&[(None, 20, HIGH)], Kind::Read, 512);
        assert!(any[1].abs_diff(2000) < 200, "{any:?}");
    }

    #[test]
    fn a_priority_is_the_word_of_the_kernel() {
        assert_eq!((HIGH.ioprio(), LOW.ioprio()), (0x2000, 0x6002));
        assert_eq!(IoPriority { class: 0, level: 4 }.ioprio(), 0);
    }
}
