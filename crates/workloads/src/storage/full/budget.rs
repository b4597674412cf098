//! How much is still to be done: bytes and operations, once or again and again.
//!
//! An operation begins as long as fewer bytes than asked for have been begun, so that the last one may go beyond them
//! by less than itself. fio does it that way (3.33, looked at with strace: 10 KiB in blocks of 4 KiB are 12 KiB).

use model::job::{Behind, End};

/// What is left.
#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct Budget {
    bytes: u64,
    ops: u64,
    whole: (u64, u64),
    again: bool,
    /// Where the region may be left before its bytes are done, each loop is counted by itself.
    loops: Option<Loops>,
}

/// Loops that are over with their region.
#[derive(Clone, Copy, Debug)]
struct Loops {
    /// Those behind this one, and of how many.
    left: u64,
    all: u64,
    /// Bytes that are done in all of them at least, and those that have been.
    least: u64,
    done: u64,
}

impl Budget {
    /// `region` is what a job does that names no bytes.
    pub(in crate::storage) fn new(end: &End, region: u64) -> Self {
        let whole = end.whole(region);
        Self {
            bytes: whole.0,
            ops: whole.1,
            whole,
            again: end.time_based,
            loops: None,
        }
    }

    /// The same, where [`Self::region_ends`] tells when a loop is over.
    pub(super) fn in_loops(mut self, end: &End, region: u64) -> Self {
        let once = End { loops: 1, ..*end };
        let all = end.loops.max(1) - 1;
        self.loops = Some(Loops {
            left: all,
            all,
            least: match end.behind {
                Behind::Again => end.bytes.unwrap_or(region),
                Behind::Ends | Behind::GoesOn => 0,
            },
            done: 0,
        });
        self.whole = once.whole(region);
        (self.bytes, self.ops) = self.whole;
        self
    }

    /// Bytes that are begun before it is used up, if it ever is.
    pub(in crate::storage) const fn bytes(&self) -> u64 {
        self.whole.0
    }

    /// Operations that are begun before it is used up, if it ever is.
    pub(in crate::storage) const fn ops(&self) -> u64 {
        self.whole.1
    }

    /// A count of every pass, where the end is judged by time: the region once.
    pub(super) fn in_passes_of(mut self, region: u64) -> Self {
        if self.whole.0 == u64::MAX {
            self.whole.0 = region;
            self.bytes = region;
        }
        self
    }

    #[inline]
    pub(super) const fn is_used_up(&self) -> bool {
        self.bytes == 0 || self.ops == 0
    }

    /// An operation of so many bytes begins.
    #[inline]
    pub(super) const fn take(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.ops -= 1;
        if let Some(loops) = &mut self.loops {
            loops.done += bytes;
            if self.bytes == 0 || self.ops == 0 {
                self.loop_ends();
            }
        }
    }

    /// The region is done, whatever is left of the bytes: what ended with its last operation has ended already.
    pub(super) fn region_ends(&mut self) {
        let is_begun = (self.bytes, self.ops) != self.whole;
        if is_begun && !self.is_used_up() && !self.loop_ends() {
            self.bytes = 0;
        }
    }

    /// One loop is over: whether there is more to do.
    const fn loop_ends(&mut self) -> bool {
        let Some(loops) = &mut self.loops else {
            return false;
        };
        if loops.left > 0 {
            loops.left -= 1;
            (self.bytes, self.ops) = self.whole;
            return true;
        }
        loops.done < loops.least && self.bytes > 0 && self.ops > 0
    }

    /// Whether it is all to be done again; it is whole again then.
    pub(super) const fn again(&mut self) -> bool {
        if self.again {
            self.renew();
        }
        self.again
    }

    /// Nothing has been done.
    pub(super) const fn renew(&mut self) {
        (self.bytes, self.ops) = self.whole;
        if let Some(loops) = &mut self.loops {
            (loops.left, loops.done) = (loops.all, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_used_up_after_bytes_operations_or_loops() {
        let check = |end: End, expected: Option<u64>| {
            let mut budget = Budget::new(&end, 40_960);
            let mut ops = 0;
            while !budget.is_used_up() && ops < 1000 {
                budget.take(4096);
                ops += 1;
            }
            assert_eq!((ops < 1000).then_some(ops), expected, "{end:?}");
        };
        let once = End {
            time_based: false,
            ..End::default()
        };
        check(once, Some(10));
        check(End { loops: 3, ..once }, Some(30));
        let some = Some(10_240);
        check(
            End {
                bytes: some,
                ..once
            },
            Some(3),
        );
        check(
            End {
                ops: Some(7),
                ..once
            },
            Some(7),
        );
        check(
            End {
                ops: Some(7),
                bytes: Some(4096),
                ..once
            },
            Some(1),
        );
        check(End::default(), None);
        // With a time it begins again.
        let timed = End {
            bytes: Some(8192),
            ..End::default()
        };
        check(timed, Some(2));
        let mut budget = Budget::new(&timed, 1 << 20);
        budget.take(4096);
        budget.take(4096);
        assert!(budget.is_used_up() && budget.again() && !budget.is_used_up());
        assert!(!Budget::new(&once, 4096).again());
    }

    #[test]
    fn loops_over_a_region_do_what_those_of_fio_do() {
        // Counted in operations of 4 KiB of a region of 1 MiB, as fio 3.33 told them.
        let check = |behind, bytes: Option<u64>, ops, loops, expected: u64| {
            let bytes = bytes.map(|kib| kib << 10);
            let end = End {
                bytes,
                ops,
                loops,
                behind,
                time_based: false,
                ..End::default()
            };
            let whole = end.whole(1 << 20);
            let found = whole.0.div_ceil(4096).min(whole.1);
            assert_eq!(found, expected, "{end:?}");
        };
        let (ends, again) = (Behind::Ends, Behind::Again);
        check(ends, None, None, 2, 512);
        check(ends, None, Some(100), 3, 300);
        check(ends, None, Some(400), 3, 768);
        for (kib, loops, expected) in [
            (512, 2, 256),
            (512, 3, 384),
            (1536, 1, 384),
            (1536, 2, 512),
            (2560, 1, 640),
            (2560, 2, 768),
            (3072, 1, 768),
            (3072, 2, 768),
            (3072, 5, 1280),
            (10, 3, 8),
        ] {
            check(again, Some(kib), None, loops, expected);
        }
        check(Behind::GoesOn, Some(1536), None, 2, 768);
    }

    #[test]
    fn a_region_that_is_left_early_ends_a_loop() {
        let check = |behind, bytes, loops, expected: u64| {
            let end = End {
                bytes,
                loops,
                behind,
                time_based: false,
                ..End::default()
            };
            let mut budget = Budget::new(&end, 40_960).in_loops(&end, 40_960);
            let mut ops = 0;
            // Every fourth operation is the last of the region.
            while !budget.is_used_up() {
                budget.take(4096);
                ops += 1;
                if ops % 4 == 0 {
                    budget.region_ends();
                }
            }
            assert_eq!(ops, expected, "{end:?}");
        };
        check(Behind::Ends, None, 1, 4);
        check(Behind::Ends, None, 3, 12);
        check(Behind::Again, Some(40_960), 1, 10);
        check(Behind::Again, Some(40_960), 2, 12);
        check(Behind::Again, Some(8192), 1, 2);
        // The bytes of each loop end with the region.
        check(Behind::Again, Some(16_384), 1, 4);
        check(Behind::Again, Some(16_384), 3, 12);
    }
}
