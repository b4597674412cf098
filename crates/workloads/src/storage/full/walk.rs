//! Where the next operation goes, in one file or region: one after the other with gaps or backwards, at random with
//! every block once, at random with favourites, or in short sequences from random places; in all of it or zone by zone.
//!
//! Where sizes differ and every block must come once, [`Covered`] says which have come.

use super::covered::Covered;
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
    /// Where it may leave its region before all bytes are done, and whether it has.
    leaves: Option<Leaves>,
    rng: Rng,
}

#[derive(Clone, Debug)]
enum How {
    Sequential,
    /// Every block once, all of the same size.
    Once(Offsets),
    /// Every block once, of different sizes.
    Covered(Covered),
    Any,
    Popular(Popular),
}

#[derive(Clone, Copy, Debug)]
struct Zone {
    zones: Zones,
    left: u64,
}

/// How a walk in sequence leaves its region.
#[derive(Clone, Copy, Debug)]
struct Leaves {
    /// The end of the file, from the region's beginning on.
    file_end: u64,
    has_left: bool,
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
    /// The end of the file, from the region's beginning on.
    pub(super) file_end: u64,
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
            leaves: job.leaves_in_sequence().then_some(Leaves {
                file_end: ground.file_end,
                has_left: false,
            }),
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
        if ground.sizes.0 == max {
            How::Once(Offsets::once_per_cycle(0, blocks, ground.seed))
        } else {
            How::Covered(Covered::new(blocks))
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
        if let Some(leaves) = &mut self.leaves {
            // As fio 3.33 does it, looked at with strace: behind its last block, or beyond its end inside of a longer
            // file, the region is done; beyond the end of the file it goes on from the beginning.
            let is_last = at + len + self.grain > self.limit;
            let is_beyond = self.next >= self.limit;
            leaves.has_left = is_last || (is_beyond && self.next < leaves.file_end);
            if is_last || is_beyond {
                self.next = 0;
            }
        }
        (self.base + at, len)
    }

    /// Whether the last operation was the last one of the region.
    pub(super) fn has_left(&self) -> bool {
        self.leaves.is_some_and(|leaves| leaves.has_left)
    }

    /// The next operation is again the first of the region.
    pub(super) const fn restart(&mut self) {
        (self.next, self.last) = (0, 0);
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
            How::Covered(covered) => {
                let drawn = self.rng.below(covered.blocks());
                let (block, blocks) = covered.take(drawn, bytes.div_ceil(self.grain));
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
        if let How::Covered(covered) = &mut self.how {
            covered.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::job::{Behind, Directions, End, Pattern, Steps};

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
            file_end: bytes,
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
    fn mixed_sizes_are_cut_as_often_as_fio_cuts_them() {
        // Operations of 64 MiB that fio 3.33 told, the mean of eight seeds, whose standard deviation is 1 to 2 %.
        let check = |sizes: &[(u64, u64)], expected: f64| {
            let least = sizes[0].0 * K;
            let most = sizes.iter().map(|(kib, _)| kib * K).max().unwrap();
            let shares: u64 = sizes.iter().map(|(_, share)| share).sum();
            let mut ops = 0_u32;
            for seed in 0..8 {
                let ground = Ground {
                    seed,
                    ..ground(64 << 20, (least, most))
                };
                let mut walk = Walk::new(&job("randread"), ground);
                let mut rng = Rng::new(seed);
                let mut left = 64 << 20;
                while left > 0 {
                    let mut drawn = rng.below(shares);
                    let wished = sizes.iter().find(|(_, share)| {
                        let found = drawn < *share;
                        drawn = drawn.saturating_sub(*share);
                        found
                    });
                    left -= walk.next(Kind::Read, wished.unwrap().0 * K, 100).1;
                    ops += 1;
                }
            }
            let found = f64::from(ops) / 8.0;
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{sizes:?}: {found}, {expected}"
            );
        };
        let range = |step: u64, count: u64| -> Vec<(u64, u64)> {
            (1..=count).map(|n| (n * step, 1)).collect()
        };
        check(&range(4, 16), 2677.0);
        check(&range(4, 4), 7996.0);
        check(&range(8, 16), 1354.0);
        check(&[(4, 90), (64, 10)], 12_042.0);
    }

    #[test]
    fn a_sequence_with_gaps_ends_with_its_region_or_goes_on_from_its_beginning() {
        // As fio 3.33 does it: regions of 4 MiB in a file as long, and in a longer one. `None` where it never leaves.
        let check = |skip_kib: i64, file_mib: u64, expected: Option<u64>| {
            let job = Job {
                steps: Steps {
                    skip_bytes: skip_kib << 10,
                    ..Steps::default()
                },
                end: End {
                    behind: Behind::Ends,
                    ..End::default()
                },
                ..job("read")
            };
            let ground = Ground {
                file_end: file_mib << 20,
                ..ground(4 << 20, (4 * K, 4 * K))
            };
            let mut walk = Walk::new(&job, ground);
            let left = (1..=2048).find(|_| {
                let (at, len) = walk.next(Kind::Read, 4 * K, 100);
                assert!(at + len <= 4 << 20);
                walk.has_left()
            });
            assert_eq!(left, expected, "{skip_kib} {file_mib}");
        };
        for (skip, alike, longer) in [
            (4, None, 512),
            (8, Some(342), 342),
            (12, None, 256),
            (28, None, 128),
            (64, None, 61),
            (1024, None, 4),
        ] {
            check(skip, 4, alike);
            check(skip, 5, Some(longer));
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
