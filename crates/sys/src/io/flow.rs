//! How much each of several processes has done beside the others: two numbers in a file, mapped into each of them.
//!
//! A member may go on while its part of what all have done is not above its part of all weights. The parts of all sum
//! up to one, so there is always one that may. Whoever comes later is counted as if it had been there from the
//! beginning, and whoever leaves takes what it did with it: nobody has to make up for the past.

#![expect(unsafe_code, reason = "numbers that others change")]

use super::flag::mapped;
use std::io;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sums of all members.
#[derive(Debug, Default)]
struct Sums {
    done: AtomicU64,
    weight: AtomicU64,
}

/// One of those who hold each other back.
#[derive(Debug)]
pub struct Member {
    sums: NonNull<Sums>,
    weight: u64,
    done: u64,
    takes_part: bool,
}

// SAFETY: the sums are changed by atomic operations alone, from any thread.
unsafe impl Send for Member {}

impl Member {
    /// Of the group of this name, which is made where it is not there. It takes no part yet.
    pub fn open(path: &Path, weight: u32) -> io::Result<Self> {
        Ok(Self {
            sums: mapped(path, size_of::<Sums>())?.cast(),
            weight: u64::from(weight),
            done: 0,
            takes_part: false,
        })
    }

    fn sums(&self) -> &Sums {
        // SAFETY: the mapping holds two numbers, is aligned to a page, and lives as long as `self`.
        unsafe { self.sums.as_ref() }
    }

    /// It takes part from now on.
    pub fn join(&mut self) {
        if self.takes_part {
            return;
        }
        let sums = self.sums();
        let before = u128::from(sums.weight.fetch_add(self.weight, Ordering::AcqRel));
        let done = u128::from(sums.done.load(Ordering::Acquire));
        let part = (done * u128::from(self.weight)).checked_div(before);
        self.done = u64::try_from(part.unwrap_or(0)).unwrap_or(0);
        self.sums().done.fetch_add(self.done, Ordering::AcqRel);
        self.takes_part = true;
    }

    /// Whether it is not ahead of the others.
    #[inline]
    pub fn may_go(&self) -> bool {
        let sums = self.sums();
        let all = u128::from(sums.done.load(Ordering::Acquire));
        let weights = u128::from(sums.weight.load(Ordering::Acquire));
        u128::from(self.done) * weights <= all * u128::from(self.weight)
    }

    /// It does one more.
    #[inline]
    pub fn goes(&mut self) {
        if !self.takes_part {
            return;
        }
        self.done += 1;
        self.sums().done.fetch_add(1, Ordering::AcqRel);
    }

    /// It takes no part any more.
    pub fn leave(&mut self) {
        if !self.takes_part {
            return;
        }
        self.sums().weight.fetch_sub(self.weight, Ordering::AcqRel);
        self.sums().done.fetch_sub(self.done, Ordering::AcqRel);
        self.done = 0;
        self.takes_part = false;
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        self.leave();
        super::flag::unmap(self.sums.cast(), size_of::<Sums>());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_go_in_the_ratio_of_their_weights_also_after_others_came_and_left() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("flow");
        let [mut one, mut three, mut late] =
            [1, 3, 4].map(|weight| Member::open(&path, weight).unwrap());
        // Each goes as often as it may; how often they went.
        let rounds = |members: &mut [&mut Member], rounds: u32| {
            let mut went = vec![0_u32; members.len()];
            for _ in 0..rounds {
                for (member, went) in members.iter_mut().zip(&mut went) {
                    while member.may_go() && *went < 1_000 {
                        member.goes();
                        *went += 1;
                    }
                }
            }
            went
        };
        one.join();
        assert_eq!(
            rounds(&mut [&mut one], 1),
            [1_000],
            "alone it is never ahead"
        );
        three.join();
        let went = rounds(&mut [&mut one, &mut three], 100);
        assert!(
            went[0] >= 50 && went[1].abs_diff(3 * went[0]) <= 6,
            "{went:?}"
        );
        late.join();
        let went = rounds(&mut [&mut one, &mut three, &mut late], 100);
        assert!(
            went[0] >= 50 && went[2].abs_diff(4 * went[0]) <= 8,
            "{went:?}"
        );
        drop(three);
        late.leave();
        assert_eq!(rounds(&mut [&mut one], 1), [1_000], "alone again");
    }
}
