//! What is written: data that neither compression nor deduplication makes smaller, unless a test wants to know whether
//! the storage does either.
//!
//! A test file is filled in chunks of 4 KiB, each from a random sequence of its own. Writes take turns through at least
//! 1 MiB of random data, so that no window of a compressor sees the same twice, and every 2 KiB get a new number before
//! each write, so that no two units of deduplication are equal, wherever they begin. Rewriting all of it would cost
//! more than the write itself, and a number in every sector a twelfth of the write's CPU time: the host has just read
//! the memory, and each cache line of it has to come back.

use model::job::Redundancy;
use model::rng::Rng;

/// The grain of the data. Storage that compresses or deduplicates does so in units of at least this.
pub(crate) const CHUNK: usize = 4096;

/// Distance of the numbers that make written blocks differ. Half a unit: any 4 KiB hold a whole one, as the place of
/// the number moves by less than this from one write to another. Smaller blocks hold one each.
const STAMP_EVERY: usize = CHUNK / 2;

/// What a CPU's cache takes in at a time.
const CACHE_LINE: usize = 64;

/// The sequence that all equal chunks come from.
const SAME: u64 = u64::MAX;

/// Data with as much redundancy as asked for.
pub(crate) trait Fill: Copy {
    /// Bytes at the start of each chunk that are not zeros.
    fn random_bytes(self) -> usize;

    /// Whether the one drawn with `rng` is one of the equal blocks.
    fn draws_same(self, rng: &mut Rng) -> bool;

    /// Fills `data` with the chunks from number `first` on of the file with this seed.
    fn fill(self, seed: u64, first: u64, data: &mut [u8]);

    /// Fills `data` with the equal chunks.
    fn fill_same(self, seed: u64, data: &mut [u8]);

    /// Fills `data` with the chunks from number `first` on of those that blocks are equal to.
    fn fill_equal(self, seed: u64, first: u64, data: &mut [u8]);

    /// Fills one chunk.
    fn fill_one(self, rng: Rng, chunk: &mut [u8]);

    /// Makes a block that was written before differ from all others: a new number every 2 KiB, except where its zeros
    /// are wanted.
    fn refresh(self, number: u64, data: &mut [u8]);
}

impl Fill for Redundancy {
    fn random_bytes(self) -> usize {
        let percent = usize::try_from(self.compress_percent.min(100)).unwrap_or(100);
        CHUNK * (100 - percent) / 100 / 8 * 8
    }

    #[inline]
    fn draws_same(self, rng: &mut Rng) -> bool {
        self.dedupe_percent > 0 && rng.below(100) < u64::from(self.dedupe_percent)
    }

    fn fill(self, seed: u64, first: u64, data: &mut [u8]) {
        for (number, chunk) in (first..).zip(data.chunks_mut(CHUNK)) {
            let same = self.draws_same(&mut Rng::stream(seed ^ 0x5eed, number));
            self.fill_one(Rng::stream(seed, if same { SAME } else { number }), chunk);
        }
    }

    fn fill_same(self, seed: u64, data: &mut [u8]) {
        for chunk in data.chunks_mut(CHUNK) {
            self.fill_one(Rng::stream(seed, SAME), chunk);
        }
    }

    fn fill_equal(self, seed: u64, first: u64, data: &mut [u8]) {
        for (number, chunk) in (first..).zip(data.chunks_mut(CHUNK)) {
            self.fill_one(Rng::stream(seed, SAME - 1 - number), chunk);
        }
    }

    fn fill_one(self, mut rng: Rng, chunk: &mut [u8]) {
        let (random, zeros) = chunk.split_at_mut(self.random_bytes().min(chunk.len()));
        for word in random.chunks_mut(8) {
            word.copy_from_slice(&rng.next().to_le_bytes()[..word.len()]);
        }
        zeros.fill(0);
    }

    #[inline]
    fn refresh(self, number: u64, data: &mut [u8]) {
        let random = self.random_bytes();
        if random < 8 {
            return;
        }
        // An odd factor keeps numbers apart and spreads them over all bits.
        let mut stamp = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // At the same place of every 2 KiB all numbers would share a few sets of the CPU's caches.
        let line = CACHE_LINE * (usize::from(number.to_le_bytes()[0]) % (STAMP_EVERY / CACHE_LINE));
        for chunk in data.chunks_mut(CHUNK) {
            let random = random.min(chunk.len());
            for part in chunk[..random].chunks_mut(STAMP_EVERY) {
                let at = line % part.len();
                let at = if at + 8 <= part.len() { at } else { 0 };
                if let Some(place) = part[at..].first_chunk_mut() {
                    *place = stamp.to_le_bytes();
                }
                stamp = stamp.rotate_left(17) ^ number;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(redundancy: Redundancy, chunks: usize) -> Vec<u8> {
        let mut data = vec![7; chunks * CHUNK];
        redundancy.fill(1, 0, &mut data);
        data
    }

    fn distinct(data: &[u8]) -> usize {
        let mut chunks: Vec<&[u8]> = data.chunks(CHUNK).collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks.len()
    }

    #[test]
    fn chunks_are_random_and_all_different_unless_asked_otherwise() {
        let data = filled(Redundancy::default(), 256);
        assert_eq!(distinct(&data), 256);
        // The entropy of bytes: 1 MiB of random data has every value 4096 times, give or take 64 (one sigma).
        let mut seen = [0_u32; 256];
        for &byte in &data {
            seen[usize::from(byte)] += 1;
        }
        assert!(seen.iter().all(|n| n.abs_diff(4096) < 400), "{seen:?}");
    }

    #[test]
    fn shares_of_zeros_and_of_equal_chunks_are_as_asked() {
        let half = Redundancy {
            compress_percent: 50,
            ..Redundancy::default()
        };
        let data = filled(half, 64);
        let zeros = data.len() - data.iter().filter(|&&byte| byte > 0).count();
        assert!(zeros.abs_diff(32 * CHUNK) < CHUNK, "{zeros}");
        let quarter = Redundancy {
            dedupe_percent: 25,
            ..Redundancy::default()
        };
        // 250 of 1000 are equal, with a standard deviation of 14.
        let left = distinct(&filled(quarter, 1000));
        assert!((680..=820).contains(&left), "{left}");
        let mut same = vec![0; 2 * CHUNK];
        quarter.fill_same(1, &mut same);
        assert_eq!(distinct(&same), 1);
    }

    #[test]
    fn a_part_of_a_file_is_the_same_whoever_fills_it() {
        let whole = filled(Redundancy::default(), 8);
        let mut part = vec![0; 2 * CHUNK];
        Redundancy::default().fill(1, 5, &mut part);
        assert_eq!(part, whole[5 * CHUNK..7 * CHUNK]);
    }

    #[test]
    fn refreshed_blocks_differ_in_every_2_kib_and_keep_their_zeros() {
        let redundancy = Redundancy {
            compress_percent: 50,
            ..Redundancy::default()
        };
        let mut data = filled(redundancy, 2);
        let before = data.clone();
        redundancy.refresh(1, &mut data);
        let (one, two) = (before.chunks(2048), data.chunks(2048));
        let changed: Vec<bool> = one.zip(two).map(|(a, b)| a != b).collect();
        assert_eq!(changed, [true, false, true, false]);
        let mut again = before.clone();
        redundancy.refresh(2, &mut again);
        assert_ne!(data, again);
    }

    #[test]
    fn no_4_kib_are_written_twice_wherever_they_begin() {
        for block in [4096, 8192, 65_536] {
            let data = filled(Redundancy::default(), block / CHUNK);
            // The same memory written behind itself: what was written last, and what is written next.
            for (first, second) in [(7, 8), (8, 7), (31, 32), (32, 31)] {
                let written = |numbers: [u64; 2]| {
                    let mut both = data.repeat(2);
                    for (number, half) in numbers.into_iter().zip(both.chunks_mut(block)) {
                        Redundancy::default().refresh(number, half);
                    }
                    both
                };
                // Numbers that lie in the same places.
                let later = [first, second].map(|number| number + 32);
                let (one, two) = (written([first, second]), written(later));
                let equal: Vec<bool> = one.iter().zip(&two).map(|(a, b)| a == b).collect();
                let longest = equal.split(|equal| !equal).map(<[bool]>::len).max();
                assert!(longest < Some(CHUNK), "{block}, {first}: {longest:?}");
            }
        }
    }

    #[test]
    fn blocks_of_a_sector_differ_too() {
        let mut data = vec![7; 512];
        let mut seen = std::collections::BTreeSet::new();
        for number in 0..1000 {
            Redundancy::default().refresh(number, &mut data);
            assert!(seen.insert(data.clone()), "{number}");
        }
    }
}
