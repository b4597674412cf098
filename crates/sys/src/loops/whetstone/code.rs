//! The sections of Whetstone: compiled three times, each time into a section of the program of its own, so that all
//! loops lie at other places within their cache lines in each clone. What is around them is in the file above.

use super::{CONSTANTS, Constants, Results};
use crate::loops::align::begin_section;
use crate::loops::opaque::{opaque_f64, opaque_u64};
use std::hint::black_box;

begin_section!(section!(), pad!());

/// One pass through all sections, from the start values. The weights are the original's for scale 1.
#[inline(never)]
#[unsafe(link_section = section!())]
pub(super) fn pass(scale: u64) -> Results {
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
#[unsafe(link_section = section!())]
fn array_elements(turns: u64, t: f64) -> [f64; 4] {
    let mut e = [1.0, -1.0, -1.0, -1.0];
    for _ in 0..turns {
        e = step(e, t, t);
    }
    e
}

/// N2: the same assignments six times, on an array that the caller owns.
#[inline(never)]
#[unsafe(link_section = section!())]
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
#[unsafe(link_section = section!())]
fn conditional_jumps(turns: u64) -> u64 {
    let mut j = 1;
    for _ in 0..turns {
        j = opaque_u64(j ^ 1);
    }
    j
}

/// N5.
#[inline(never)]
#[unsafe(link_section = section!())]
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
#[unsafe(link_section = section!())]
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
#[unsafe(link_section = section!())]
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
#[unsafe(link_section = section!())]
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

/// Where every section of this clone begins.
#[cfg(test)]
pub(super) fn addresses() -> Vec<usize> {
    let all = [
        pass as *const (),
        array_elements as *const (),
        array_as_parameter as *const (),
        conditional_jumps as *const (),
        trigonometric_functions as *const (),
        procedure_calls as *const (),
        array_references as *const (),
        standard_functions as *const (),
    ];
    all.map(<*const ()>::addr).to_vec()
}
