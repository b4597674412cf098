//! Which operations have a priority of their own, and how long those of each priority take.

use super::course::Target;
use crate::storage::records::place;
use model::job::{IoPriority, Job, Preferred};
use model::rng::Rng;
use sys::io::Kind;

/// Draws priorities, by their places in [`Preferring::all`]; the first is that of the process.
#[derive(Clone, Debug)]
pub(super) struct Preferring {
    /// Of reads and writes.
    shares: [Vec<Preferred>; 2],
    all: Vec<IoPriority>,
    rng: Rng,
}

impl Preferring {
    /// `None` where all operations have the priority of the process.
    pub(super) fn new(job: &Job, seed: u64) -> Option<Self> {
        let priorities = job.priorities.as_ref()?;
        let shares = [priorities.read.clone(), priorities.write.clone()];
        let mut all = vec![priorities.usual];
        for one in shares.iter().flatten() {
            if !all.contains(&one.priority) {
                all.push(one.priority);
            }
        }
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
        let Some(shares) = self.shares.get(place(target.kind)) else {
            return (0, 0);
        };
        if !matches!(target.kind, Kind::Read | Kind::Write) || shares.is_empty() {
            return (0, 0);
        }
        let mut drawn = self.rng.below(100);
        for share in shares {
            if share
                .bytes
                .is_some_and(|bytes| bytes != u64::from(target.len))
            {
                continue;
            }
            let percent = u64::from(share.percent);
            if drawn < percent {
                let at = self.all.iter().position(|other| *other == share.priority);
                let at = at.and_then(|at| u8::try_from(at).ok()).unwrap_or(0);
                return (at, share.priority.word());
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

    const HIGH: IoPriority = IoPriority { class: 1, level: 0 };
    const LOW: IoPriority = IoPriority { class: 3, level: 2 };

    /// How many of 10,000 operations of this kind and size have each of the priorities.
    fn drawn(read: &[(Option<u64>, u8, IoPriority)], kind: Kind, len: u32) -> Vec<u32> {
        let preferred = |&(bytes, percent, priority): &_| Preferred {
            bytes,
            percent,
            priority,
        };
        let job = Job {
            priorities: Some(Priorities {
                usual: IoPriority { class: 2, level: 7 },
                read: read.iter().map(preferred).collect(),
                write: Vec::new(),
            }),
            ..Job::default()
        };
        let mut preferring = Preferring::new(&job, 7).unwrap();
        let target = Target {
            kind,
            file: 0,
            offset: 0,
            len,
        };
        let mut counts = vec![0; preferring.all().len()];
        for _ in 0..10_000 {
            let (at, word) = preferring.draw(&target);
            let priority = preferring.all()[usize::from(at)];
            assert_eq!(word, if at == 0 { 0 } else { priority.word() });
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
        assert_eq!((HIGH.word(), LOW.word()), (0x2000, 0x6002));
        assert_eq!(IoPriority { class: 0, level: 4 }.word(), 0);
    }
}
