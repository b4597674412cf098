//! The kernels in plain Rust: for every architecture, and the yardstick of the others.
#![expect(unsafe_code, reason = "alignment of the loops")]

use super::super::align::{clone, place_loop};
use super::{Arrays, Op, STEP, STRETCH};

/// One pass; see [`super::Kernel::pass`].
pub(super) fn pass(
    op: Op,
    strides: usize,
    arrays: &mut Arrays<'_>,
    scalar: f64,
    number: u32,
) -> f64 {
    if strides == 1 {
        return in_order(op, arrays, scalar, number);
    }
    side_by_side(op, strides, arrays, scalar, number)
}

fn in_order(op: Op, arrays: &mut Arrays<'_>, scalar: f64, number: u32) -> f64 {
    match op {
        Op::Read => return clone!(number, read(arrays.a)),
        Op::Write => clone!(number, write(arrays.dest, scalar)),
        Op::Copy => clone!(number, copy(arrays.dest, arrays.a)),
        Op::Scale => clone!(number, scale(arrays.dest, arrays.a, scalar)),
        Op::Add => clone!(number, add(arrays.dest, arrays.a, arrays.b)),
        Op::Triad => clone!(number, triad(arrays.dest, arrays.a, arrays.b, scalar)),
    }
    scalar
}

fn side_by_side(
    op: Op,
    strides: usize,
    Arrays { dest, a, b }: &mut Arrays<'_>,
    scalar: f64,
    number: u32,
) -> f64 {
    match op {
        Op::Read => return clone!(number, read_side_by_side(strides, a)),
        Op::Write => clone!(number, write_side_by_side(strides, dest, scalar)),
        Op::Copy => clone!(number, copy_side_by_side(strides, dest, a)),
        Op::Scale => clone!(number, scale_side_by_side(strides, dest, a, scalar)),
        Op::Add => clone!(number, add_side_by_side(strides, dest, a, b)),
        Op::Triad => clone!(number, triad_side_by_side(strides, dest, a, b, scalar)),
    }
    scalar
}

/// Several sums next to each other, because one would wait for every addition before the next.
#[inline(never)]
fn read<const PAD: usize>(a: &[f64]) -> f64 {
    let mut sums = [0.0; STEP];
    place_loop!(PAD);
    for chunk in a.chunks_exact(STEP) {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += value;
        }
    }
    sums.iter().sum()
}

#[inline(never)]
fn write<const PAD: usize>(dest: &mut [f64], scalar: f64) {
    place_loop!(PAD);
    for dest in dest {
        *dest = scalar;
    }
}

#[inline(never)]
fn copy<const PAD: usize>(dest: &mut [f64], a: &[f64]) {
    place_loop!(PAD);
    for (dest, a) in dest.chunks_exact_mut(STEP).zip(a.chunks_exact(STEP)) {
        // Through a copy of fixed size, which is done in registers: for slices the compiler would call memcpy.
        let mut values = [0.0; STEP];
        values.copy_from_slice(a);
        dest.copy_from_slice(&values);
    }
}

#[inline(never)]
fn scale<const PAD: usize>(dest: &mut [f64], a: &[f64], scalar: f64) {
    place_loop!(PAD);
    for (dest, a) in dest.iter_mut().zip(a) {
        *dest = scalar * a;
    }
}

#[inline(never)]
fn add<const PAD: usize>(dest: &mut [f64], a: &[f64], b: &[f64]) {
    place_loop!(PAD);
    for (dest, (a, b)) in dest.iter_mut().zip(a.iter().zip(b)) {
        *dest = a + b;
    }
}

#[inline(never)]
fn triad<const PAD: usize>(dest: &mut [f64], a: &[f64], b: &[f64], scalar: f64) {
    place_loop!(PAD);
    for (dest, (a, b)) in dest.iter_mut().zip(a.iter().zip(b)) {
        *dest = a + scalar * b;
    }
}

/// Writes the loop over the turns of all stretches side by side, of which each takes the elements of `part`:
/// `turns!(PAD, strides, len, part => turn)`. What all turns share, such as sums, stands before it.
macro_rules! turns {
    ($pad:ident, $strides:ident, $len:expr, $part:ident => $turn:block) => {
        let (len, block) = ($len, STRETCH * $strides);
        place_loop!($pad);
        let mut first = 0;
        while first < len {
            for from in (first..first + STRETCH).step_by(STEP) {
                let mut start = from;
                while start < from + block {
                    let $part = start..start + STEP;
                    $turn
                    start += STRETCH;
                }
            }
            first += block;
        }
    };
}

#[inline(never)]
fn read_side_by_side<const PAD: usize>(strides: usize, a: &[f64]) -> f64 {
    let mut sums = [0.0; STEP];
    turns!(PAD, strides, a.len(), part => {
        for (sum, value) in sums.iter_mut().zip(&a[part]) {
            *sum += value;
        }
    });
    sums.iter().sum()
}

#[inline(never)]
fn write_side_by_side<const PAD: usize>(strides: usize, dest: &mut [f64], scalar: f64) {
    turns!(PAD, strides, dest.len(), part => {
        for dest in &mut dest[part] {
            *dest = scalar;
        }
    });
}

#[inline(never)]
fn copy_side_by_side<const PAD: usize>(strides: usize, dest: &mut [f64], a: &[f64]) {
    turns!(PAD, strides, dest.len(), part => {
        // Through a copy of fixed size, as in order.
        let mut values = [0.0; STEP];
        values.copy_from_slice(&a[part.clone()]);
        dest[part].copy_from_slice(&values);
    });
}

#[inline(never)]
fn scale_side_by_side<const PAD: usize>(strides: usize, dest: &mut [f64], a: &[f64], scalar: f64) {
    turns!(PAD, strides, dest.len(), part => {
        for (dest, a) in dest[part.clone()].iter_mut().zip(&a[part]) {
            *dest = scalar * a;
        }
    });
}

#[inline(never)]
fn add_side_by_side<const PAD: usize>(strides: usize, dest: &mut [f64], a: &[f64], b: &[f64]) {
    turns!(PAD, strides, dest.len(), part => {
        let sources = a[part.clone()].iter().zip(&b[part.clone()]);
        for (dest, (a, b)) in dest[part].iter_mut().zip(sources) {
            *dest = a + b;
        }
    });
}

#[inline(never)]
fn triad_side_by_side<const PAD: usize>(
    strides: usize,
    dest: &mut [f64],
    a: &[f64],
    b: &[f64],
    scalar: f64,
) {
    turns!(PAD, strides, dest.len(), part => {
        let sources = a[part.clone()].iter().zip(&b[part.clone()]);
        for (dest, (a, b)) in dest[part].iter_mut().zip(sources) {
            *dest = a + scalar * b;
        }
    });
}
