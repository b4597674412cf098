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
//! It refuses nothing: a scale of 0 does nothing and returns the start values.
#![expect(unsafe_code, reason = "sincos of the C library")]

use super::opaque::{opaque_f64, opaque_u64};
use std::hint::black_box;

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

/// One pass through all sections, from the start values. The weights are the original's for scale 1.
#[inline(never)]
pub fn pass(scale: u64) -> Results {
    // Hidden, so that the compiler takes no pass for the repetition of another.
    let Constants { t, t1, t2 } = black_box(CONSTANTS);
    let elements = array_elements(12 * scale, t);
    let mut parameter = elements;
    for _ in 0..14 * scale {
        array_as_parameter(&mut parameter, t, t2);
    }
    Results {
        elements,
        parameter,
        jumps: conditional_jumps(345 * scale),
        trigonometry: trigonometric_functions(32 * scale, t),
        calls: procedure_calls(899 * scale, t, t1),
        references: array_references(616 * scale),
        standard: standard_functions(93 * scale, t1),
    }
}

/// N1.
#[inline(never)]
fn array_elements(turns: u64, t: f64) -> [f64; 4] {
    let mut e = [1.0, -1.0, -1.0, -1.0];
    for _ in 0..turns {
        e = step(e, t, t);
    }
    e
}

/// N2: the same assignments six times, on an array that the caller owns.
#[inline(never)]
fn array_as_parameter(array: &mut [f64; 4], t: f64, t2: f64) {
    let last = 1.0 / t2;
    let mut e = *array;
    for _ in 0..6 {
        e = step(e, t, last);
    }
    *array = e;
}

/// The four assignments of N1 and N2, with gcc's order of additions.
#[inline]
fn step([e0, e1, e2, e3]: [f64; 4], t: f64, last: f64) -> [f64; 4] {
    let n0 = ((e0 - e3) + (e1 + e2)) * t;
    let n1 = ((e1 + e3) + (n0 - e2)) * t;
    let n2 = ((e2 + e3) + (n0 - n1)) * t;
    let n3 = ((e3 - n0) + (n1 + n2)) * last;
    [n0, n1, n2, n3]
}

/// N3: 1 becomes 0 and 0 becomes 1.
#[inline(never)]
fn conditional_jumps(turns: u64) -> u64 {
    let mut j = 1;
    for _ in 0..turns {
        j = opaque_u64(j ^ 1);
    }
    j
}

/// N5.
#[inline(never)]
fn trigonometric_functions(turns: u64, t: f64) -> [f64; 2] {
    let (mut x, mut y) = (0.5_f64, 0.5_f64);
    for _ in 0..turns {
        let (sin_y, cos_y) = sine_and_cosine(y);
        let (sin_x, cos_x) = sine_and_cosine(x);
        let divisor = (x + y).cos() + (x - y).cos() - 1.0;
        let product = sin_x * cos_x;
        x = t * ((product + product) / divisor).atan();
        let divisor = (x + y).cos() + (x - y).cos() - 1.0;
        let product = sin_y * cos_y;
        y = t * ((product + product) / divisor).atan();
    }
    [x, y]
}

/// N6: the procedure's body, which C compilers inline.
#[inline(never)]
fn procedure_calls(turns: u64, t: f64, t1: f64) -> [f64; 3] {
    let (mut x, mut y, mut z) = (1.0, 1.0, 1.0);
    for _ in 0..turns {
        x = (y + z) * t;
        y = (z + x) * t1;
        z = (x + y) * 0.5;
    }
    [x, y, z]
}

/// N7: three assignments from element to element. gcc keeps the elements in floating-point registers, and on
/// x86-64 sends one of them through an integer register in each turn.
#[inline(never)]
fn array_references(turns: u64) -> [f64; 3] {
    let mut e = [1.0, 2.0, 3.0];
    for _ in 0..turns {
        e[0] = through_integer_register(e[1]);
        e[1] = opaque_f64(e[2]);
        e[2] = e[0];
    }
    e
}

#[inline]
fn through_integer_register(value: f64) -> f64 {
    #[cfg(target_arch = "x86_64")]
    let value = f64::from_bits(opaque_u64(value.to_bits()));
    opaque_f64(value)
}

/// N8.
#[inline(never)]
fn standard_functions(turns: u64, t1: f64) -> f64 {
    let exponent = 0.5 / t1;
    let mut x = 0.75_f64;
    for _ in 0..turns {
        x = (x.ln() * exponent).exp();
    }
    x
}

/// Both at once, as C compilers ask the library for them.
#[inline]
fn sine_and_cosine(x: f64) -> (f64, f64) {
    unsafe extern "C" {
        fn sincos(x: f64, sine: *mut f64, cosine: *mut f64);
    }
    let (mut sine, mut cosine) = (0.0, 0.0);
    // SAFETY: both pointers are valid for writing.
    unsafe { sincos(x, &raw mut sine, &raw mut cosine) };
    (sine, cosine)
}
