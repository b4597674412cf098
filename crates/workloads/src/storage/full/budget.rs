//! How much is still to be done: bytes and operations, once or again and again.
//!
//! An operation begins as long as fewer bytes than asked for have been begun, so that the last one may go beyond them
//! by less than itself. fio does it that way (3.33, looked at with strace: 10 KiB in blocks of 4 KiB are 12 KiB).

use model::job::End;

/// What is left.
#[derive(Clone, Copy, Debug)]
pub(in crate::storage) struct Budget {
    bytes: u64,
    ops: u64,
    whole: (u64, u64),
    again: bool,
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
        }
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
}
