//! Copies of a whole array: the three methods of mbw.
//!
//! It refuses arrays of different length, and blocks of no bytes.
#![expect(unsafe_code, reason = "the C library's memcpy, and alignment")]

use super::align::{clone, place_loop};
use super::opaque::{opaque_u64, written};

/// How the array is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One call of the C library's memcpy.
    Memcpy,
    /// A loop that assigns word by word.
    Dumb,
    /// Calls of memcpy that each bring the first block of this many bytes to the next place: the source stays where it
    /// is, and in the cache. A rest shorter than a block gets as much of it as fits.
    Blocks(usize),
}

/// Copies `from` over `to`. `number` chooses the clone, where the loop is ours.
pub fn copy(to: &mut [u64], from: &[u64], method: Method, number: u32) {
    assert_eq!(to.len(), from.len());
    match method {
        Method::Memcpy => library(to, from),
        Method::Dumb => clone!(number, words(to, from)),
        Method::Blocks(bytes) => {
            let words = (bytes / 8).clamp(1, from.len().max(1));
            for to in to.chunks_mut(words) {
                library(to, &from[..to.len()]);
            }
        }
    }
    written(to.as_ptr());
}

#[inline]
fn library(to: &mut [u64], from: &[u64]) {
    // SAFETY: both are valid for the length of `to`, which the caller has checked, and a mutable borrow overlaps with
    // no other.
    unsafe {
        libc::memcpy(
            to.as_mut_ptr().cast(),
            from.as_ptr().cast(),
            size_of_val(to),
        )
    };
}

#[inline(never)]
fn words<const PAD: usize>(to: &mut [u64], from: &[u64]) {
    place_loop!(PAD);
    for (to, &from) in to.iter_mut().zip(from) {
        // Hidden, or the compiler calls memcpy.
        *to = opaque_u64(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_method_and_clone_copies_every_word() {
        let from: Vec<u64> = (0..1001).map(|n| n * n).collect();
        for method in [
            Method::Memcpy,
            Method::Dumb,
            Method::Blocks(1024),
            Method::Blocks(1 << 20),
            Method::Blocks(0),
        ] {
            for number in 0..super::super::CLONES {
                let mut to = vec![u64::MAX; from.len()];
                copy(&mut to, &from, method, number);
                if let Method::Blocks(bytes) = method {
                    let words = (bytes / 8).clamp(1, from.len());
                    let mut blocks = to.chunks(words);
                    assert!(blocks.all(|block| *block == from[..block.len()]));
                } else {
                    assert_eq!(to, from, "{method:?} {number}");
                }
            }
        }
    }
}
