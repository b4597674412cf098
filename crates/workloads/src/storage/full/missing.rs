//! Places that were looked at and hold no block of the check: whether that is damage shows in the end.

/// So many runs are kept apart; of more, neighbours become one.
const RUNS_MAX: usize = 1 << 14;
/// Of so many runs the words are kept.
const WORDS_MAX: usize = 16;

/// The places, by the number of the writing that each would be from.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    runs: Vec<Run>,
    /// Of how many runs words were kept.
    told: usize,
    /// The last writing of this job's description that was found; 0 for none.
    pub(super) last_found: u64,
    /// An intact block was found that carries another word.
    pub(super) has_others: bool,
    /// The longest block that was found and ends behind what was read; 0 for none.
    pub(super) larger: u64,
}

/// Writings near one another.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    last: u64,
    count: u64,
    words: Option<String>,
}

impl Missing {
    /// A place of this writing; the words are asked for where it begins one of the first runs.
    #[cold]
    pub(super) fn add(&mut self, number: u64, words: impl FnOnce() -> String) {
        if let Some(run) = self.runs.last_mut()
            && (run.last == number || run.last + 1 == number)
        {
            run.last = number;
            run.count += 1;
            return;
        }
        if self.runs.len() == RUNS_MAX {
            self.join_neighbours();
        }
        let is_told = self.told < WORDS_MAX;
        self.told += usize::from(is_told);
        self.runs.push(Run {
            first: number,
            last: number,
            count: 1,
            words: is_told.then(words),
        });
    }

    fn join_neighbours(&mut self) {
        self.runs.sort_unstable_by_key(|run| run.first);
        let pair = |runs: &[Run]| Run {
            first: runs[0].first,
            last: runs.iter().map(|run| run.last).max().unwrap_or(0),
            count: runs.iter().map(|run| run.count).sum(),
            words: runs.iter().find_map(|run| run.words.clone()),
        };
        self.runs = self.runs.chunks(2).map(pair).collect();
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Takes out what is for sure from writings up to this one: how many places, and the first words that were kept.
    pub(super) fn take(&mut self, until: u64) -> (u64, Option<String>) {
        let (mut count, mut first) = (0, None);
        self.runs.retain_mut(|run| {
            if run.last > until {
                return true;
            }
            count += run.count;
            first = first.take().or_else(|| run.words.take());
            false
        });
        (count, first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_before_the_last_block_is_taken_out() {
        let mut missing = Missing::default();
        for number in [3, 4, 4, 9, 10, 7] {
            missing.add(number, || format!("at {number}"));
        }
        assert_eq!((missing.count(), missing.runs.len()), (6, 3));
        assert_eq!(missing.take(2), (0, None));
        assert_eq!(missing.take(8), (4, Some("at 3".to_owned())));
        assert_eq!(missing.count(), 2);
        assert_eq!(missing.take(u64::MAX), (2, Some("at 9".to_owned())));
        assert!(missing.is_empty());
    }

    #[test]
    fn any_number_of_places_takes_little_memory_and_none_is_lost() {
        // Every third writing is missing, and they are looked at in another order than they came.
        const ALL: u64 = 300_007;
        let mut missing = Missing::default();
        for step in 0..ALL {
            let number = step * 7919 % ALL * 3;
            missing.add(number, || format!("at {number}"));
        }
        assert!(missing.runs.len() <= RUNS_MAX);
        let told = missing.runs.iter().filter(|run| run.words.is_some());
        assert!(told.count() <= WORDS_MAX);
        assert_eq!(missing.count(), ALL);
        let (taken, _) = missing.take(ALL);
        // Of what is on both sides none is taken.
        assert!(taken <= ALL / 3 + 1 && taken > 0, "{taken}");
        assert_eq!(taken + missing.count(), ALL);
        assert_eq!(missing.take(u64::MAX).0 + taken, ALL);
    }
}
