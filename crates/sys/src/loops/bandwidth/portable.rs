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
    let len = match op {
        Op::Read => arrays.a.len(),
        _ => arrays.dest.len(),
    };
    let mut sum = 0.0;
    for start in starts(len, strides) {
        let part = start..start + STEP;
        let source = |array: &'_ [f64]| -> std::ops::Range<usize> {
            if array.is_empty() { 0..0 } else { part.clone() }
        };
        let (a, b) = (&arrays.a[source(arrays.a)], &arrays.b[source(arrays.b)]);
        let dest = match op {
            Op::Read => &mut [],
            _ => &mut arrays.dest[part.clone()],
        };
        sum += in_order(op, &mut Arrays { dest, a, b }, scalar, number);
    }
    match op {
        Op::Read => sum,
        _ => scalar,
    }
}

/// Where the turns of so many stretches side by side begin, in their order.
fn starts(len: usize, strides: usize) -> impl Iterator<Item = usize> {
    let block = STRETCH * strides;
    (0..len).step_by(block).flat_map(move |first| {
        (first..first + STRETCH)
            .step_by(STEP)
            .flat_map(move |from| (from..from + block).step_by(STRETCH))
    })
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
