//! The Whetstone loops: floating-point arithmetic, and the functions of the C library's mathematics.
//!
//! Written from H. J. Curnow and B. A. Wichmann, "A synthetic benchmark" (Computer Journal 19(1), 1976), with the
//! sections N1 to N8, the weights and the constants of the double-precision C version that UnixBench runs. There each
//! procedure call of N6 takes up the result of the one before, so that its arithmetic is one long chain.
//!
//! What gcc with `-ffast-math` leaves of that program is the yardstick, because that is what UnixBench builds:
//! - Sums are added in the order that gcc picks, and divisions by 2 and by `t1` are multiplications. Rust never
//!   reorders floating-point arithmetic, so what is written here is what runs, on every machine.
//! - The branches of N3 are one exclusive-or per turn. N4, integer arithmetic that computes the same in every turn, is
//!   removed: its instructions count, and cost nothing.
//! - The square root of N8 is folded into the exponential.
//! - No multiply and add are fused outside of the C library. gcc fuses them where it builds for a machine that can
//!   (-march=native): the chains of N1, N2 and N6 then have fewer steps, of other lengths.
//!
//! All of it is compiled three times, in clones at other places of their cache lines (see [`super::align`]).
//!
//! It refuses nothing: a scale of 0 does nothing and returns the start values.
#![expect(
    unsafe_code,
    reason = "sincos of the C library, and sections of the program"
)]

use super::align::{clone_of, three_clones};

/// Whetstone instructions of one pass with scale 1.
///
/// A pass with the original's scale of 100 counts as 10 million: that is how the original turns passes into MWIPS.
pub const INSTRUCTIONS_PER_SCALE: u64 = 100_000;

/// What a pass computes, section by section; N4 computes nothing that depends on the number of its turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Results {
    /// Array elements: N1.
    pub elements: [f64; 4],
    /// Array as a parameter: N2.
    pub parameter: [f64; 4],
    /// Conditional jumps: N3.
    pub jumps: u64,
    /// Trigonometric functions: N5.
    pub trigonometry: [f64; 2],
    /// Procedure calls: N6.
    pub calls: [f64; 3],
    /// Array references: N7.
    pub references: [f64; 3],
    /// Standard functions: N8.
    pub standard: f64,
}

/// The constants of the paper, as the original sets them.
#[derive(Clone, Copy)]
struct Constants {
    t: f64,
    t1: f64,
    t2: f64,
}

const CONSTANTS: Constants = Constants {
    t: 0.499_999_75,
    t1: 0.500_000_25,
    t2: 2.0,
};

three_clones!("whetstone/code.rs", ".text.kurabe.whetstone");

/// One pass through all sections, from the start values. The weights are the original's for scale 1. `number` chooses
/// the clone.
#[inline]
pub fn pass(scale: u64, number: u32) -> Results {
    clone_of!(number, pass(scale))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_does_the_same_work_and_lies_at_another_place_of_its_lines() {
        let first = pass(2, 0);
        assert!((1..=super::super::CLONES).all(|number| pass(2, number) == first));
        let all = [at_0::addresses(), at_16::addresses(), at_32::addresses()];
        super::super::align::check_clones(&all);
    }
}
