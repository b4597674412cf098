//! Which block comes next: every block once per cycle in an order that looks random and needs no memory, any block at
//! any time, or one after the other.
//!
//! The permutation of n blocks is a bijection of the next power of two (multiplications by odd numbers and shifted
//! exclusive-ors, which can all be undone), of whose results those not below n are skipped: fewer than every second
//! one. A map of the blocks visited, as other programs keep it, costs memory and a cache miss per operation. Source of
//! the skipping: Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002, "cycle walking".

use model::rng::Rng;

/// A walk over blocks `first` to `first + count - 1`.
#[derive(Clone, Debug)]
pub(crate) struct Offsets {
    first: u64,
    count: u64,
    order: Order,
}

#[derive(Clone, Debug)]
enum Order {
    Sequential { next: u64 },
    Repeating { rng: Rng },
    OncePerCycle(Permutation),
}

impl Offsets {
    /// One after the other, then again from the first.
    pub(crate) fn sequential(first: u64, count: u64) -> Self {
        let order = Order::Sequential { next: 0 };
        Self::new(first, count, order)
    }

    /// Any block at any time: some come often, some never.
    pub(crate) fn repeating(first: u64, count: u64, seed: u64) -> Self {
        let rng = Rng::stream(seed, 11);
        Self::new(first, count, Order::Repeating { rng })
    }

    /// Every block once before any comes again, in another order each time.
    pub(crate) fn once_per_cycle(first: u64, count: u64, seed: u64) -> Self {
        let order = Order::OncePerCycle(Permutation::new(count.max(1), seed));
        Self::new(first, count, order)
    }

    fn new(first: u64, count: u64, order: Order) -> Self {
        let count = count.max(1);
        Self {
            first,
            count,
            order,
        }
    }

    /// The next block's number.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        let block = match &mut self.order {
            Order::Sequential { next } => {
                let block = *next;
                *next = if block + 1 == self.count {
                    0
                } else {
                    block + 1
                };
                block
            }
            Order::Repeating { rng } => rng.below(self.count),
            Order::OncePerCycle(permutation) => permutation.next(),
        };
        self.first + block
    }
}

/// A permutation of 0 to `count` - 1, walked.
#[derive(Clone, Debug)]
struct Permutation {
    count: u64,
    mask: u64,
    shift: u32,
    at: u64,
    keys: [u64; 3],
    rng: Rng,
}

impl Permutation {
    fn new(count: u64, seed: u64) -> Self {
        let bits = (64 - (count - 1).leading_zeros()).max(1);
        let mut permutation = Self {
            count,
            mask: u64::MAX >> (64 - bits),
            shift: bits.div_ceil(2),
            at: 0,
            keys: [1; 3],
            rng: Rng::stream(seed, 7),
        };
        permutation.shuffle();
        permutation
    }

    /// A new order for the next cycle.
    #[cold]
    fn shuffle(&mut self) {
        self.at = 0;
        self.keys = [self.rng.next() | 1, self.rng.next() | 1, self.rng.next()];
    }

    #[inline]
    fn next(&mut self) -> u64 {
        loop {
            if self.at > self.mask {
                self.shuffle();
            }
            let block = self.mix(self.at);
            self.at += 1;
            if block < self.count {
                return block;
            }
        }
    }

    /// Each step can be undone, so no two values meet: an addition and multiplications by odd numbers modulo a power of
    /// two, and a value combined with its own upper half.
    #[inline]
    fn mix(&self, at: u64) -> u64 {
        let [one, two, start] = self.keys;
        let mut x = at.wrapping_add(start) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(one) & self.mask;
        x ^= x >> self.shift;
        x = x.wrapping_mul(two) & self.mask;
        x ^ x >> self.shift
    }
}

/// A fixed permutation of 0 to `count` - 1, of which any value can be asked for.
#[derive(Clone, Debug)]
pub(crate) struct Scatter(Permutation);

impl Scatter {
    pub(crate) fn new(count: u64, seed: u64) -> Self {
        Self(Permutation::new(count.max(1), seed))
    }

    /// Where `index`, below `count`, goes: mixed again until it is below `count`, which keeps it a permutation.
    pub(crate) fn of(&self, index: u64) -> u64 {
        let mut block = self.0.mix(index);
        while block >= self.0.count {
            block = self.0.mix(block);
        }
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cycle(offsets: &mut Offsets, count: u64) -> Vec<u64> {
        (0..count).map(|_| offsets.next()).collect()
    }

    #[test]
    fn every_block_comes_once_per_cycle() {
        for count in 1..=1000 {
            let mut offsets = Offsets::once_per_cycle(5, count, count * 31);
            for round in 0..2 {
                let mut seen = cycle(&mut offsets, count);
                seen.sort_unstable();
                let all: Vec<u64> = (5..5 + count).collect();
                assert_eq!(seen, all, "{count} blocks, cycle {round}");
            }
        }
    }

    #[test]
    fn large_numbers_of_blocks_are_permuted_too() {
        // All of them: one more and one less than a power of two, and the power itself.
        for count in [65_535_u64, 65_536, 65_537, 300_007] {
            let mut seen = vec![false; usize::try_from(count).unwrap()];
            let mut offsets = Offsets::once_per_cycle(0, count, 3);
            for block in cycle(&mut offsets, count) {
                let seen = &mut seen[usize::try_from(block).unwrap()];
                assert!(!*seen, "{block} of {count} came twice");
                *seen = true;
            }
        }
        // Spot checks where all would take hours: in bounds, and no block twice within many.
        for count in [1 << 40, (1 << 40) + 1, u64::MAX / 4096] {
            let mut offsets = Offsets::once_per_cycle(0, count, 3);
            let mut seen = cycle(&mut offsets, 1 << 17);
            assert!(seen.iter().all(|&block| block < count));
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 1 << 17, "{count}");
        }
    }

    #[test]
    fn the_order_looks_random_and_differs_by_seed_and_cycle() {
        let count = 4096;
        let mut offsets = Offsets::once_per_cycle(0, count, 1);
        let (one, two) = (cycle(&mut offsets, count), cycle(&mut offsets, count));
        assert_ne!(one, two);
        let other = cycle(&mut Offsets::once_per_cycle(0, count, 2), count);
        assert_ne!(one, other);
        // Neighbours in time are not neighbours on the device: of random pairs 1 in 1024 lies within one block.
        for order in [one, two, other] {
            let near = order
                .windows(2)
                .filter(|p| p[0].abs_diff(p[1]) <= 2)
                .count();
            assert!(near < 60, "{near} steps of 4095 went to a neighbour");
            // The mean step of a random order is a third of the range.
            let steps: u64 = order.windows(2).map(|p| p[0].abs_diff(p[1])).sum();
            let mean = steps / (count - 1);
            assert!((count / 4..count / 2).contains(&mean), "{mean}");
        }
    }

    #[test]
    fn sequential_wraps_and_repeating_stays_in_bounds() {
        let mut sequential = Offsets::sequential(3, 3);
        assert_eq!(cycle(&mut sequential, 7), [3, 4, 5, 3, 4, 5, 3]);
        let mut repeating = Offsets::repeating(10, 4, 1);
        let mut seen = cycle(&mut repeating, 100);
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, [10, 11, 12, 13]);
    }

    #[test]
    fn scattered_values_are_a_permutation() {
        for count in [1, 2, 7, 64, 1000] {
            let scatter = Scatter::new(count, 9);
            let mut seen: Vec<u64> = (0..count).map(|index| scatter.of(index)).collect();
            seen.sort_unstable();
            assert_eq!(seen, (0..count).collect::<Vec<_>>());
        }
    }
}
