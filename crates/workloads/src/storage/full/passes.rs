//! When a job has gone through a file and begins again, and what is to be forgotten then.
//!
//! A job that reads a file again and again would come upon its own traces in the page cache from the second time on,
//! and measure memory. fio drops what is cached of a file each time that it begins anew (3.33, looked at with strace),
//! and so does this, where the job asks for it (`invalidate`) and the page cache takes part.

use crate::storage::body::index;
use model::job::Job;
use std::fs::File;
use std::io;
use std::ops::Range;

/// Tells when each walk begins again.
#[derive(Clone, Debug)]
pub(super) struct Passes {
    way: Way,
    walks: Vec<Pass>,
}

/// How a beginning is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The offset is no further than the one before.
    Forwards,
    /// The offset is further than the one before.
    Backwards,
    /// As much as the region holds has been done.
    Anywhere,
}

#[derive(Clone, Copy, Debug)]
struct Pass {
    region: u64,
    done: u64,
    last: u64,
    begun: bool,
}

impl Passes {
    /// For walks over regions of so many bytes; `None` where nothing is to be forgotten.
    pub(super) fn new(job: &Job, regions: impl Iterator<Item = u64>) -> Option<Self> {
        let of_region = |region| Pass {
            region,
            done: 0,
            last: 0,
            begun: false,
        };
        job.forgets_again().then(|| Self {
            way: match (job.pattern.random, job.steps.skip_bytes < 0) {
                (true, _) => Way::Anywhere,
                (false, true) => Way::Backwards,
                (false, false) => Way::Forwards,
            },
            walks: regions.map(of_region).collect(),
        })
    }

    /// Whether this operation of a walk is the first of another time through.
    #[inline]
    pub(super) fn begins(&mut self, walk: usize, offset: u64, len: u64) -> bool {
        let Some(pass) = self.walks.get_mut(walk) else {
            return false;
        };
        let again = match self.way {
            Way::Forwards => offset <= pass.last,
            Way::Backwards => offset > pass.last,
            Way::Anywhere => pass.done >= pass.region,
        };
        if again {
            pass.done = 0;
        }
        pass.done = pass.done.saturating_add(len);
        pass.last = offset;
        std::mem::replace(&mut pass.begun, true) && again
    }
}

/// The parts of files that are to be forgotten, with a handle of their own to each.
#[derive(Debug)]
pub(super) struct Cached {
    files: Vec<File>,
    first: u64,
    bytes: Vec<u64>,
}

impl Cached {
    /// Of each file so many bytes from `first` on.
    pub(super) const fn new(files: Vec<File>, first: u64, bytes: Vec<u64>) -> Self {
        Self {
            files,
            first,
            bytes,
        }
    }

    /// Forgets the job's part of one file; nothing where there is no handle to it.
    #[cold]
    pub(super) fn forget(&self, file: u32) -> io::Result<()> {
        match (self.files.get(index(file)), self.bytes.get(index(file))) {
            (Some(handle), Some(&bytes)) => sys::io::file::drop_cache_of(handle, self.first, bytes),
            _ => Ok(()),
        }
    }

    /// The numbers of all files.
    pub(super) fn all(&self) -> Range<u32> {
        0..u32::try_from(self.files.len()).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::{End, Pattern, Steps};

    #[test]
    fn a_time_through_begins_where_the_walk_comes_round() {
        let check = |rw: &str, skip_bytes: i64, offsets: &[u64], expect: &[bool]| {
            let job = Job {
                pattern: Pattern::from_word(rw).unwrap(),
                direct: false,
                invalidate: true,
                steps: Steps {
                    skip_bytes,
                    ..Steps::default()
                },
                ..Job::default()
            };
            let mut passes = Passes::new(&job, [8, 8].into_iter()).unwrap();
            let found: Vec<bool> = offsets.iter().map(|&at| passes.begins(1, at, 2)).collect();
            assert_eq!(found, expect, "{rw} {skip_bytes}");
        };
        let (no, yes) = (false, true);
        check("read", 0, &[0, 2, 4, 6, 0, 2], &[no, no, no, no, yes, no]);
        check("read", 2, &[0, 4, 0, 4, 0], &[no, no, yes, no, yes]);
        check("write", -4, &[6, 4, 2, 0, 6, 4], &[no, no, no, no, yes, no]);
        check(
            "randread",
            0,
            &[4, 0, 6, 2, 2, 0],
            &[no, no, no, no, yes, no],
        );
        // A region of one block.
        check("read", 0, &[0, 0, 0], &[no, yes, yes]);
    }

    #[test]
    fn only_what_the_cache_could_spoil_is_forgotten() {
        let base = Job {
            pattern: Pattern::from_word("randread").unwrap(),
            direct: false,
            invalidate: true,
            size: Some(1 << 20),
            ..Job::default()
        };
        let check = |change: &dyn Fn(&mut Job), expect: bool| {
            let mut job = base.clone();
            change(&mut job);
            assert_eq!(job.forgets_again(), expect, "{job:?}");
        };
        let once = |bytes| End {
            time_based: false,
            bytes,
            ..End::default()
        };
        check(&|_| (), true);
        check(&|job| job.invalidate = false, false);
        check(&|job| job.direct = true, false);
        check(&|job| job.repeat_blocks = true, false);
        check(&|job| job.end = once(Some(1 << 20)), false);
        check(&|job| job.end = once(Some(1 << 21)), true);
        check(
            &|job| {
                job.end = End {
                    loops: 2,
                    ..once(None)
                }
            },
            true,
        );
        let loops_of_any = |job: &mut Job| {
            job.repeat_blocks = true;
            job.end = End {
                loops: 2,
                ..once(None)
            };
        };
        check(&loops_of_any, true);
    }
}
