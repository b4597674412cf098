//! How many completions are waited for, and how many are taken and begun again together.
//!
//! A depth of 32 means 32 operations under way. A device may end many of them at the same moment; if all were taken,
//! prepared anew and handed over in one go, it would stand still meanwhile, and the queue would be full only in name.
//! So a wait is for one completion, and only a few are taken before the next operations are handed over in their place:
//! an eighth of the queue, and at most [`FEW_MAX`]. The others wait where they are, as they do in fio, which takes one
//! at a time. One at a time costs a call to the kernel for each operation.
//!
//! Whoever asks for batches gets just that.

use super::body::index;
use model::job::Job;

/// The most that are taken together while the queue is kept full.
const FEW_MAX: u32 = 2;

/// How completions are taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Taking {
    /// How many are waited for; 0 looks without waiting.
    pub(super) least: u32,
    /// How many are taken at most; at least 1.
    pub(super) most: usize,
}

impl Taking {
    /// As the job says. With a rate or pauses the queue is not full, and what has ended is to be seen at once.
    pub(super) fn new(job: &Job) -> Self {
        let batching = &job.batching;
        let least = batching.complete_min;
        let few = (job.depth / 8).clamp(1, FEW_MAX);
        let most = match batching.complete_max {
            Some(most) if most.max(least) > 0 => index(most),
            _ if job.is_paced() => usize::MAX,
            _ => index(few),
        };
        Self {
            least,
            most: most.max(index(least)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::Batching;
    use model::units::Nanos;

    #[test]
    fn a_few_of_a_queue_are_taken_and_batches_are_as_asked() {
        let check = |depth, complete_min, complete_max, expect: (u32, usize)| {
            let job = Job {
                depth,
                batching: Batching {
                    complete_min,
                    complete_max,
                    ..Batching::default()
                },
                ..Job::default()
            };
            let found = Taking::new(&job);
            assert_eq!((found.least, found.most), expect, "{job:?}");
        };
        for (depth, few) in [(1, 1), (8, 1), (15, 1), (16, 2), (32, 2), (1024, 2)] {
            check(depth, 1, None, (1, few));
        }
        check(32, 1, Some(1), (1, 1));
        check(32, 1, Some(16), (1, 16));
        check(32, 8, None, (8, 8));
        check(32, 8, Some(2), (8, 8));
        check(32, 0, None, (0, 2));
        check(32, 0, Some(0), (0, 2));
        check(32, 0, Some(1), (0, 1));
        let paced = Job {
            depth: 32,
            think: Nanos(1),
            ..Job::default()
        };
        assert_eq!(Taking::new(&paced).most, usize::MAX);
    }
}
