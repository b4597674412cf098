//! Places that were looked at and hold no block of the check: whether that is damage shows in the end.

/// The places, by the number of the writing that each would be from.
#[derive(Clone, Debug, Default)]
pub(super) struct Missing {
    runs: Vec<Run>,
    /// Headers were found that carry the word of this job's description.
    pub(super) is_ours: bool,
    /// The largest number of a writing whose block was found.
    pub(super) last_found: u64,
    /// The longest block that was found and ends behind what was read; 0 for none.
    pub(super) larger: u64,
}

/// Writings that follow one another.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    last: u64,
    count: u64,
    words: String,
}

impl Missing {
    /// A place of this writing; the words are asked for where it begins a new run.
    #[cold]
    pub(super) fn add(&mut self, number: u64, words: impl FnOnce() -> String) {
        if let Some(run) = self.runs.last_mut()
            && (run.last == number || run.last + 1 == number)
        {
            run.last = number;
            run.count += 1;
            return;
        }
        self.runs.push(Run {
            first: number,
            last: number,
            count: 1,
            words: words(),
        });
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    pub(super) fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.count).sum()
    }

    /// Takes out what is from writings up to this one: how many places, and the words of the first.
    pub(super) fn take(&mut self, until: u64) -> (u64, Option<String>) {
        let (mut count, mut first) = (0, None);
        self.runs.retain_mut(|run| {
            if run.first > until {
                return true;
            }
            count += run.count;
            if first.is_none() {
                first = Some(std::mem::take(&mut run.words));
            }
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
}
