//! Quicksort of numbers, whose branches nobody can predict.
//!
//! Our own rather than the library's: that one avoids branches, and changes with the compiler's version. It is compiled
//! three times, in clones at other places of their cache lines (see [`super::align`]).
//!
//! It refuses nothing, and allocates nothing.
#![expect(unsafe_code, reason = "sections of the program")]

use super::align::{clone_of, three_clones};

three_clones!("sort/code.rs", ".text.kurabe.sort");

/// Sorts `numbers`, the smallest first. `number` chooses the clone.
#[inline]
pub fn quicksort(numbers: &mut [u32], number: u32) {
    clone_of!(number, quicksort(numbers));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_sorts_every_kind_of_sequence() {
        let mut state = 5_u32;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state
        };
        for length in [0, 1, 2, 3, 12, 13, 14, 100, 1000] {
            for kind in 0..6 {
                let mut numbers: Vec<u32> = (0..length)
                    .map(|i| match kind {
                        0 => i,
                        1 => length - i,
                        2 => 7,
                        3 => i % 2,
                        4 => random() % 10,
                        _ => random(),
                    })
                    .collect();
                let mut right = numbers.clone();
                right.sort_unstable();
                let given = numbers.clone();
                for number in 0..super::super::CLONES {
                    numbers.clone_from(&given);
                    quicksort(&mut numbers, number);
                    assert_eq!(
                        numbers, right,
                        "clone {number}, kind {kind}, length {length}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_clones_lie_at_other_places_of_their_lines() {
        let all = [at_0::addresses(), at_16::addresses(), at_32::addresses()];
        super::super::align::check_clones(&all);
    }
}
