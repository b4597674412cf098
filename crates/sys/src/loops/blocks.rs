//! Word by word through a block of memory: the events of sysbench's `memory` test.
//!
//! Every access is one load or one store of one word, which no compiler may join into wider ones: relaxed atomic
//! accesses cost exactly that on x86-64 and aarch64, and make it lawful that threads share a block.
//!
//! How often a compiler unrolls such a loop changes its speed by two to one. So on x86-64 the loops over words of eight
//! bytes are written out ([`x86`]), with as many instructions for each word as the original's. Elsewhere the portable
//! twin does the same as far as its compiler lets it; a test compares the two.
//!
//! It refuses nothing; a block of no words is no work.
#![expect(unsafe_code, reason = "loops in assembly, and alignment of the others")]

#[cfg(target_arch = "x86_64")]
mod x86;

use super::align::{clone, place_loop};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
#[cfg(target_arch = "x86_64")]
use x86::{read, write};
#[cfg(not(target_arch = "x86_64"))]
use {portable_read as read, portable_write as write};

/// A word of a block.
trait Word: Sync {
    fn get(&self) -> u64;
    fn put(&self, value: u64);
}

impl Word for AtomicU64 {
    #[inline]
    fn get(&self) -> u64 {
        self.load(Relaxed)
    }

    #[inline]
    fn put(&self, value: u64) {
        self.store(value, Relaxed);
    }
}

impl Word for AtomicU32 {
    #[inline]
    fn get(&self) -> u64 {
        u64::from(self.load(Relaxed))
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the low half is what is stored"
    )]
    fn put(&self, value: u64) {
        self.store(value as u32, Relaxed);
    }
}

/// What an event does with each word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads it.
    Read,
    /// Stores it.
    Write,
}

/// In which order an event goes through the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// From the first word to the last.
    Sequential,
    /// As many accesses as there are words, each to a word chosen anew.
    Random,
}

/// One event on words of eight bytes. Reading returns the words, exclusive-or; writing stores `value` and returns it.
/// `random` is the state of the choice; `number` chooses the clone.
#[inline]
pub fn event(
    block: &[AtomicU64],
    access: Access,
    walk: Walk,
    value: u64,
    random: &mut u64,
    number: u32,
) -> u64 {
    match (access, walk) {
        (Access::Read, Walk::Sequential) => clone!(number, read(block)),
        (Access::Write, Walk::Sequential) => clone!(number, write(block, value)),
        (access, Walk::Random) => clone!(number, scattered(block, access, value, random)),
    }
}

/// One event on words of four bytes, as sysbench 0.4 has them.
#[inline]
pub fn event_of_halves(
    block: &[AtomicU32],
    access: Access,
    walk: Walk,
    value: u64,
    random: &mut u64,
    number: u32,
) -> u64 {
    match (access, walk) {
        (Access::Read, Walk::Sequential) => clone!(number, read_halves(block)),
        (Access::Write, Walk::Sequential) => clone!(number, write_halves(block, value)),
        (access, Walk::Random) => clone!(number, scattered_halves(block, access, value, random)),
    }
}

/// Defines the three loops for one kind of word: const generics cannot be left to inference beside a type.
macro_rules! loops {
    ($(#[$twin:meta])* $word:ty, $read:ident, $write:ident, $scattered:ident) => {
        #[inline(never)]
        $(#[$twin])*
        fn $read<const PAD: usize>(block: &[$word]) -> u64 {
            let mut all = 0;
            place_loop!(PAD);
            for word in block {
                all ^= word.get();
            }
            all
        }

        #[inline(never)]
        $(#[$twin])*
        fn $write<const PAD: usize>(block: &[$word], value: u64) -> u64 {
            place_loop!(PAD);
            for word in block {
                word.put(value);
            }
            value
        }

        #[inline(never)]
        fn $scattered<const PAD: usize>(
            block: &[$word],
            access: Access,
            value: u64,
            random: &mut u64,
        ) -> u64 {
            let mut state = *random;
            let mut all = 0;
            place_loop!(PAD);
            for _ in 0..block.len() {
                state = next(state);
                let word = &block[below(state, block.len())];
                match access {
                    Access::Read => all ^= word.get(),
                    Access::Write => word.put(value),
                }
            }
            *random = state;
            match access {
                Access::Read => all,
                Access::Write => value,
            }
        }
    };
}

loops!(
    #[cfg_attr(
        all(target_arch = "x86_64", not(test)),
        expect(
            dead_code,
            reason = "the twin of the assembly, for tests and other architectures"
        )
    )]
    AtomicU64,
    portable_read,
    portable_write,
    scattered
);
loops!(AtomicU32, read_halves, write_halves, scattered_halves);

/// Xorshift: Marsaglia, Journal of Statistical Software 8(14), 2003.
#[inline]
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}

/// An index below `len`, from the high half of a product: no division.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "the product's high half is below `len`"
)]
fn below(random: u64, len: usize) -> usize {
    ((u128::from(random) * len as u128) >> 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_reads_and_writes_every_word() {
        for number in 0..super::super::CLONES {
            let words: Vec<AtomicU64> = (1..=128).map(AtomicU64::new).collect();
            let halves: Vec<AtomicU32> = (1..=256).map(AtomicU32::new).collect();
            let mut random = 7;
            let read = (Access::Read, Walk::Sequential);
            let write = (Access::Write, Walk::Sequential);
            let (expected, expected_halves) = ((1..=128).fold(0, |a, b| a ^ b), 256);
            assert_eq!(
                event(&words, read.0, read.1, 0, &mut random, number),
                expected
            );
            assert_eq!(
                event_of_halves(&halves, read.0, read.1, 0, &mut random, number),
                expected_halves
            );
            event(&words, write.0, write.1, 9, &mut random, number);
            event_of_halves(&halves, write.0, write.1, 9, &mut random, number);
            assert_eq!(random, 7, "a sequential walk chooses nothing");
            assert!(words.iter().all(|word| word.get() == 9));
            assert!(halves.iter().all(|word| word.get() == 9));
        }
    }

    #[test]
    fn the_portable_twin_does_the_same() {
        for len in [0, 1, 7, 8, 127, 128] {
            let block = || -> Vec<AtomicU64> { (1..=len).map(|n| AtomicU64::new(n * n)).collect() };
            let words = block();
            assert_eq!(portable_read::<0>(&words), read::<0>(&words), "{len}");
            let twin = block();
            assert_eq!(portable_write::<20>(&twin, 7), write::<20>(&words, 7));
            let all = |words: &[AtomicU64]| words.iter().map(AtomicU64::get).collect::<Vec<_>>();
            assert_eq!(all(&twin), all(&words));
            assert!(words.iter().all(|word| word.get() == 7), "{len}");
        }
    }

    #[test]
    fn random_walks_stay_inside_and_reach_most_words() {
        for number in 0..super::super::CLONES {
            let words: Vec<AtomicU64> = (0..1000).map(|_| AtomicU64::new(0)).collect();
            let mut random = 99;
            event(&words, Access::Write, Walk::Random, 1, &mut random, number);
            let reached = words.iter().filter(|word| word.get() == 1).count();
            // 1 - 1/e of them are expected, with a standard deviation of 1.6 %.
            assert!((550..715).contains(&reached), "{reached}");
            let ones = event(&words, Access::Read, Walk::Random, 0, &mut random, number);
            assert!(ones <= 1);
            let halves: Vec<AtomicU32> = (0..10).map(|_| AtomicU32::new(3)).collect();
            event_of_halves(&halves, Access::Write, Walk::Random, 1, &mut random, number);
            assert!(halves.iter().any(|word| word.get() == 1));
        }
    }

    #[test]
    fn a_block_of_no_words_is_no_work() {
        assert_eq!(event(&[], Access::Read, Walk::Random, 1, &mut 5, 0), 0);
    }
}
