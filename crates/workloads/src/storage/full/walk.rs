//! Where the next operation goes, in one file or region: one after the other with gaps or backwards, at random with
//! every block once, at random with favourites, or in short sequences from random places; in all of it or zone by zone.
//!
//! Where sizes differ and every block must come once, a bit per smallest block says which have come: a permutation
//! decides where an operation begins, and it ends where it meets a block that has come already. Fixed sizes need no
//! bits.

use super::popular::Popular;
use crate::storage::offsets::Offsets;
use model::job::{Distribution, Job, Zones};
use model::rng::Rng;
use sys::io::Kind;

/// A walk over one region.
#[derive(Clone, Debug)]
pub(super) struct Walk {
    /// The region, in bytes of the file.
    first: u64,
    bytes: u64,
    /// What is walked at present: all of the region, or a zone of it.
    base: u64,
    limit: u64,
    /// Offsets are multiples of this, and operations no shorter.
    grain: u64,
    how: How,
    skip: i64,
    per_offset: u64,
    repeats: bool,
    /// Operations that still follow the last random offset.
    following: u64,
    /// Where the last operation began and the next one in sequence would, from `base` on.
    last: u64,
    next: u64,
    zone: Option<Zone>,
    /// Every offset is a random one, so that the one before does not matter.
    forgets: bool,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum How {
    Sequential,
    /// Every block once, all of the same size.
    Once(Offsets),
    /// Every block once, of different sizes.
    Covered(Offsets, Covered),
    Any,
    Popular(Popular),
}

/// Which blocks have come.
#[derive(Clone, Debug)]
struct Covered {
    bits: Vec<u64>,
    left: u64,
    blocks: u64,
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    zones: Zones,
    left: u64,
}

/// What one region is walked with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground {
    /// Where it begins, in bytes of its file.
    pub(super) first: u64,
    /// How long it is, in bytes.
    pub(super) bytes: u64,
    /// The smallest and the largest operation in bytes.
    pub(super) sizes: (u64, u64),
    /// What offsets are multiples of, where that is not the smallest operation.
    pub(super) align: Option<u64>,
    /// Seeds the order.
    pub(super) seed: u64,
}

impl Walk {
    pub(super) fn new(job: &Job, ground: Ground) -> Self {
        let (min, max) = ground.sizes;
        let grain = ground.align.unwrap_or(min).max(1);
        let zone = job.zones.map(|zones| Zone {
            zones,
            left: zones.work_bytes,
        });
        let limit = zone.map_or(ground.bytes, |zone| {
            zone.zones.range_bytes.min(ground.bytes)
        });
        let steps = job.steps;
        let mut walk = Self {
            first: ground.first,
            bytes: ground.bytes,
            base: ground.first,
            limit,
            grain,
            how: How::Sequential,
            skip: if job.pattern.random {
                0
            } else {
                steps.skip_bytes
            },
            per_offset: steps.ops_per_offset.max(1),
            repeats: steps.repeats_offset,
            following: 0,
            last: 0,
            next: 0,
            zone,
            forgets: job.pattern.random
                && zone.is_none()
                && steps.ops_per_offset <= 1
                && steps.random_percent.iter().all(|percent| *percent >= 100),
            rng: Rng::stream(ground.seed, 23),
        };
        if job.pattern.random {
            walk.how = walk.random(job, ground, max);
        } else if walk.skip < 0 {
            walk.next = walk.last_block(max);
        }
        walk
    }

    fn random(&self, job: &Job, ground: Ground, max: u64) -> How {
        let blocks = (self.limit / self.grain).max(1);
        let starts = self.starts(max);
        if job.distribution != Distribution::Uniform {
            return match Popular::new(&job.distribution, starts, self.grain, ground.seed) {
                Some(popular) => How::Popular(popular),
                None => How::Any,
            };
        }
        let aligned_apart = ground.align.is_some_and(|align| align != ground.sizes.0);
        if job.repeat_blocks || aligned_apart || job.steps.is_unaligned {
            return How::Any;
        }
        let order = Offsets::once_per_cycle(0, blocks, ground.seed);
        if ground.sizes.0 == max {
            How::Once(order)
        } else {
            How::Covered(order, Covered::new(blocks))
        }
    }

    /// Places where an operation of so many bytes may begin.
    fn starts(&self, bytes: u64) -> u64 {
        self.limit.saturating_sub(bytes) / self.grain + 1
    }

    fn last_block(&self, bytes: u64) -> u64 {
        self.limit.saturating_sub(bytes) / self.grain * self.grain
    }

    /// Where the next operation goes, and how long it is: `bytes`, or less where the region or a block that has come
    /// already ends it. `random_percent` is the share of them that begin anywhere.
    #[inline]
    pub(super) fn next(&mut self, kind: Kind, bytes: u64, random_percent: u8) -> (u64, u64) {
        if self.forgets {
            let (at, len) = self.jump(kind, bytes);
            return (self.base + at, len);
        }
        if self.zone.is_some() {
            self.next_zone();
        }
        let (at, len) = match &self.how {
            How::Sequential => self.follow(bytes),
            _ if self.following > 0 => {
                self.following -= 1;
                if self.repeats {
                    (self.last, bytes.min(self.limit - self.last))
                } else {
                    self.follow(bytes)
                }
            }
            _ if random_percent < 100 && self.rng.below(100) >= u64::from(random_percent) => {
                self.follow(bytes)
            }
            _ => {
                self.following = self.per_offset - 1;
                self.jump(kind, bytes)
            }
        };
        self.last = at;
        self.next = match (at + len).checked_add_signed(self.skip) {
            Some(next) => next,
            // Backwards beyond the beginning: again from the end.
            None => self.last_block(len),
        };
        if let Some(zone) = &mut self.zone {
            zone.left = zone.left.saturating_sub(len);
        }
        (self.base + at, len)
    }

    /// The place behind the last operation; from the beginning again where the region ends.
    #[inline]
    fn follow(&self, bytes: u64) -> (u64, u64) {
        let left = self.limit.saturating_sub(self.next);
        if left >= bytes {
            return (self.next, bytes);
        }
        let rest = left / self.grain * self.grain;
        if rest == 0 {
            return (0, bytes.min(self.limit));
        }
        (self.next, rest)
    }

    /// Anywhere.
    #[inline]
    fn jump(&mut self, kind: Kind, bytes: u64) -> (u64, u64) {
        match &mut self.how {
            How::Once(order) => (order.next() * self.grain, bytes),
            How::Covered(order, covered) => {
                let (block, blocks) = covered.take(order, bytes.div_ceil(self.grain));
                (block * self.grain, (blocks * self.grain).min(bytes))
            }
            How::Popular(popular) => (popular.next(kind) * self.grain, bytes),
            How::Any | How::Sequential => {
                let starts = self.starts(bytes);
                (self.rng.below(starts) * self.grain, bytes)
            }
        }
    }

    /// Goes on to the next zone where this one has had its work.
    fn next_zone(&mut self) {
        let Some(zone) = &mut self.zone else { return };
        let is_cut = self.limit < zone.zones.range_bytes && self.next + self.grain > self.limit;
        if zone.left > 0 && !is_cut {
            return;
        }
        let Zones {
            work_bytes,
            range_bytes,
            skip_bytes,
        } = zone.zones;
        zone.left = work_bytes;
        let mut begins = self.base - self.first + range_bytes + skip_bytes;
        // In sequence the rest of the region is a zone too; a random order needs a whole one.
        let least = match self.how {
            How::Sequential => self.grain,
            _ => range_bytes,
        };
        if begins + least > self.bytes {
            begins = 0;
        }
        self.base = self.first + begins;
        self.limit = range_bytes.min(self.bytes - begins);
        (self.next, self.last, self.following) = (0, 0, 0);
        if let How::Covered(_, covered) = &mut self.how {
            covered.clear();
        }
    }
}

impl Covered {
    fn new(blocks: u64) -> Self {
        let words = usize::try_from(blocks.div_ceil(64)).unwrap_or(usize::MAX);
        Self {
            bits: vec![0; words],
            left: blocks,
            blocks,
        }
    }

    fn clear(&mut self) {
        self.bits.fill(0);
        self.left = self.blocks;
    }

    fn has(&self, block: u64) -> bool {
        let (word, bit) = at(block);
        self.bits[word] & bit != 0
    }

    /// The next block in the order that has not come, and how many up to `most` behind it have not come either. They
    /// have come now.
    fn take(&mut self, order: &mut Offsets, most: u64) -> (u64, u64) {
        if self.left == 0 {
            self.clear();
        }
        let first = loop {
            let block = order.next();
            if !self.has(block) {
                break block;
            }
        };
        let end = (first + most.max(1)).min(self.blocks);
        let free = (first..end).take_while(|&block| !self.has(block));
        let count = free.count() as u64;
        for block in first..first + count {
            let (word, bit) = at(block);
            self.bits[word] |= bit;
        }
        self.left -= count;
        (first, count)
    }
}

/// The word and the bit of a block.
fn at(block: u64) -> (usize, u64) {
    let word = usize::try_from(block / 64).unwrap_or(usize::MAX);
    (word, 1 << (block % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::{Directions, Pattern, Steps};

    const K: u64 = 1 << 10;

    fn job(rw: &str) -> Job {
        Job {
            pattern: Pattern::from_word(rw).unwrap(),
            ..Job::default()
        }
    }

    fn ground(bytes: u64, sizes: (u64, u64)) -> Ground {
        Ground {
            first: 0,
            bytes,
            sizes,
            align: None,
            seed: 3,
        }
    }

    fn walked(walk: &mut Walk, count: usize, bytes: u64) -> Vec<u64> {
        (0..count)
            .map(|_| walk.next(Kind::Read, bytes, 100).0 / K)
            .collect()
    }

    #[test]
    fn sequences_leave_gaps_and_go_backwards_as_asked() {
        let check = |skip_bytes, count, expected: &[u64]| {
            let steps = Steps {
                skip_bytes,
                ..Steps::default()
            };
            let job = Job {
                steps,
                ..job("read")
            };
            let mut walk = Walk::new(&job, ground(32 * K, (4 * K, 4 * K)));
            assert_eq!(walked(&mut walk, count, 4 * K), expected, "{skip_bytes}");
        };
        check(0, 9, &[0, 4, 8, 12, 16, 20, 24, 28, 0]);
        check(4 * 1024, 5, &[0, 8, 16, 24, 0]);
        check(-8 * 1024, 9, &[28, 24, 20, 16, 12, 8, 4, 0, 28]);
        check(-4 * 1024, 3, &[28, 28, 28]);
    }

    #[test]
    fn random_offsets_are_followed_by_sequences_or_by_themselves() {
        let of = |repeats_offset| {
            let steps = Steps {
                ops_per_offset: 4,
                repeats_offset,
                ..Steps::default()
            };
            let job = Job {
                steps,
                ..job("randread")
            };
            walked(
                &mut Walk::new(&job, ground(1 << 30, (4 * K, 4 * K))),
                400,
                4 * K,
            )
        };
        for four in of(false).chunks(4) {
            let steps: Vec<u64> = four.windows(2).map(|pair| pair[1] - pair[0]).collect();
            assert_eq!(steps, [4, 4, 4], "{four:?}");
        }
        for four in of(true).chunks(4) {
            assert!(four.iter().all(|at| *at == four[0]), "{four:?}");
        }
    }

    #[test]
    fn so_many_per_cent_are_random() {
        let steps = Steps {
            random_percent: Directions::all(30),
            ..Steps::default()
        };
        let job = Job {
            steps,
            ..job("randread")
        };
        let mut walk = Walk::new(&job, ground(1 << 30, (4 * K, 4 * K)));
        let offsets: Vec<u64> = (0..10_000)
            .map(|_| walk.next(Kind::Read, 4 * K, 30).0)
            .collect();
        let sequential = offsets
            .windows(2)
            .filter(|pair| pair[1] == pair[0] + 4 * K)
            .count();
        // 7,000 expected, standard deviation 46.
        assert!(sequential.abs_diff(7000) < 230, "{sequential}");
    }

    #[test]
    fn every_block_comes_once_per_cycle_whatever_the_sizes() {
        let mut rng = Rng::new(1);
        for blocks in [1, 2, 3, 7, 64, 129, 1000] {
            for most in [1, 2, 4, 7] {
                let mut walk = Walk::new(
                    &job("randread"),
                    ground(blocks * 4 * K, (4 * K, most * 4 * K)),
                );
                for cycle in 0..3 {
                    let mut seen = vec![false; usize::try_from(blocks).unwrap()];
                    let mut left = blocks;
                    while left > 0 {
                        let (at, len) = walk.next(Kind::Read, (rng.below(most) + 1) * 4 * K, 100);
                        assert!(
                            len >= 4 * K && len.is_multiple_of(4 * K) && at + len <= blocks * 4 * K
                        );
                        for block in at / (4 * K)..(at + len) / (4 * K) {
                            let seen = &mut seen[usize::try_from(block).unwrap()];
                            assert!(!*seen, "{block} of {blocks} came twice in cycle {cycle}");
                            *seen = true;
                            left -= 1;
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn aligned_and_repeating_offsets_stay_inside() {
        let check = |job: &Job, ground: Ground, grain: u64| {
            let mut walk = Walk::new(job, ground);
            let (least, most) = ground.sizes;
            for bytes in [least, most].into_iter().cycle().take(2000) {
                let (at, len) = walk.next(Kind::Read, bytes, 100);
                assert!((at - ground.first).is_multiple_of(grain), "{at}");
                assert!(at >= ground.first && at + len <= ground.first + ground.bytes);
                assert_eq!(len, bytes);
            }
        };
        let repeating = Job {
            repeat_blocks: true,
            ..job("randread")
        };
        let region = Ground {
            first: 12 * K,
            ..ground(100 * K, (4 * K, 12 * K))
        };
        check(&repeating, region, 4 * K);
        let aligned = Ground {
            align: Some(8 * K),
            ..region
        };
        check(&job("randread"), aligned, 8 * K);
        for distribution in [
            Distribution::Zipf {
                theta: 1.1,
                center: None,
            },
            Distribution::Normal {
                deviation_percent: 30.0,
            },
        ] {
            let popular = Job {
                distribution,
                ..job("randread")
            };
            check(&popular, region, 4 * K);
        }
    }

    #[test]
    fn zones_are_worked_on_one_after_the_other() {
        let zones = Zones {
            work_bytes: 8 * K,
            range_bytes: 16 * K,
            skip_bytes: 4 * K,
        };
        let with = |rw| Job {
            zones: Some(zones),
            ..job(rw)
        };
        // As fio 3.33 does it, looked at with strace.
        let mut walk = Walk::new(&with("read"), ground(64 * K, (4 * K, 4 * K)));
        assert_eq!(walked(&mut walk, 8, 4 * K), [0, 4, 20, 24, 40, 44, 60, 0]);
        let mut walk = Walk::new(&with("randread"), ground(64 * K, (4 * K, 4 * K)));
        let zones: Vec<u64> = walked(&mut walk, 12, 4 * K)
            .into_iter()
            .map(|at| at / 20)
            .collect();
        assert_eq!(zones, [0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2]);
    }
}
