//! The kernels for the vectors of x86-64: SSE2, AVX2 and AVX-512, each with regular and streaming stores.
//!
//! One macro writes all three, because they differ in names alone. Four vectors per turn of a loop: memory is the
//! bound from the second-level cache on, and a turn of four keeps its loop out of the way in the first. The loop that
//! goes from the first element to the last is one of its own; the other takes a turn in each of several stretches
//! before the next turn in the first. Every clone has both, each put at the clone's place.
#![expect(unsafe_code, reason = "vector instructions, and alignment")]

use super::super::align::{clone, place_loop};
use super::{Arrays, Kernel, Op, STRETCH, Stores, Width};
use std::arch::x86_64 as arch;

/// One pass with vectors that the caller knows the CPU to have; see [`super::Kernel::pass`].
pub(super) fn pass(kernel: Kernel, arrays: &mut Arrays<'_>, scalar: f64, number: u32) -> f64 {
    let pointers = Pointers {
        dest: arrays.dest.as_mut_ptr(),
        a: arrays.a.as_ptr(),
        b: arrays.b.as_ptr(),
        len: match kernel.op {
            Op::Read => arrays.a.len(),
            _ => arrays.dest.len(),
        },
        strides: kernel.strides,
    };
    let streaming = kernel.stores == Stores::Streaming;
    let op = kernel.op;
    match kernel.width {
        // SAFETY: the caller has checked that the CPU has these vectors, that the arrays in use have this length, a
        // multiple of every turn, and that they are aligned.
        Width::Avx512 => unsafe { avx512::pass(op, streaming, pointers, scalar, number) },
        // SAFETY: the same.
        Width::Avx2 => unsafe { avx2::pass(op, streaming, pointers, scalar, number) },
        // SAFETY: the same.
        _ => unsafe { sse2::pass(op, streaming, pointers, scalar, number) },
    }
}

/// The arrays without their lengths, which are all `len`; those that an operation does not use may lead nowhere.
#[derive(Clone, Copy)]
struct Pointers {
    dest: *mut f64,
    a: *const f64,
    b: *const f64,
    len: usize,
    /// Stretches that are walked side by side; where there are several, `len` is a multiple of all of them.
    strides: usize,
}

/// Room for one vector.
#[repr(align(64))]
struct Lanes<const N: usize>([f64; N]);

/// Vectors per turn.
const UNROLL: usize = 4;

/// Writes the loops over all turns, of which each begins at `start`: `turns!(PAD, LANES, pointers, start => turn)`.
macro_rules! turns {
    ($pad:ident, $lanes:expr, $pointers:ident, $start:ident => $turn:block) => {{
        let turn = UNROLL * $lanes;
        if $pointers.strides > 1 {
            let block = STRETCH * $pointers.strides;
            place_loop!($pad);
            let mut first = 0;
            while first < $pointers.len {
                for from in (first..first + STRETCH).step_by(turn) {
                    let mut $start = from;
                    while $start < from + block {
                        $turn
                        $start += STRETCH;
                    }
                }
                first += block;
            }
        } else {
            place_loop!($pad);
            let mut $start = 0;
            while $start < $pointers.len {
                $turn
                $start += turn;
            }
        }
    }};
}

/// Writes the loops that compute each vector of `dest`: `each!(PAD, NT, pointers, |at| value)`.
macro_rules! each {
    ($pad:ident, $nt:ident, $pointers:ident, $at:ident => $value:expr) => {
        turns!($pad, LANES, $pointers, start => {
            for turn in 0..UNROLL {
                let $at = start + turn * LANES;
                let value = $value;
                // SAFETY: below the length that the caller vouches for.
                let to = unsafe { $pointers.dest.add($at) };
                if $nt {
                    // SAFETY: valid and aligned to a cache line, as the caller says.
                    unsafe { stream(to, value) };
                } else {
                    // SAFETY: the same.
                    unsafe { store(to, value) };
                }
            }
        })
    };
}

/// Writes the module of one width.
macro_rules! width {
    (
        $name:ident, $feature:literal, $lanes:literal,
        $load:ident, $store:ident, $stream:ident, $add:ident, $mul:ident, $set:ident, $zero:ident
    ) => {
        mod $name {
            use super::arch::{$add, $load, $mul, $set, $store, $stream, $zero};
            use super::{Op, Pointers, STRETCH, UNROLL, clone, place_loop};

            const LANES: usize = $lanes;

            use $store as store;
            use $stream as stream;

            /// # Safety
            /// The CPU has the feature; the arrays that `op` uses are valid for `len` elements, a multiple of 32 and
            /// of all `strides` where there are several, and aligned to 64 bytes; `dest` overlaps with no other.
            pub(super) unsafe fn pass(
                op: Op,
                streaming: bool,
                pointers: Pointers,
                scalar: f64,
                number: u32,
            ) -> f64 {
                // SAFETY: the caller vouches for what each of them asks for.
                unsafe {
                    match (op, streaming) {
                        (Op::Read, _) => return clone!(number, read(pointers)),
                        (Op::Write, false) => clone!(number, write(pointers, scalar)),
                        (Op::Write, true) => clone!(number, write_past(pointers, scalar)),
                        (Op::Copy, false) => clone!(number, copy(pointers)),
                        (Op::Copy, true) => clone!(number, copy_past(pointers)),
                        (Op::Scale, false) => clone!(number, scale(pointers, scalar)),
                        (Op::Scale, true) => clone!(number, scale_past(pointers, scalar)),
                        (Op::Add, false) => clone!(number, add(pointers)),
                        (Op::Add, true) => clone!(number, add_past(pointers)),
                        (Op::Triad, false) => clone!(number, triad(pointers, scalar)),
                        (Op::Triad, true) => clone!(number, triad_past(pointers, scalar)),
                    }
                }
                if streaming {
                    // What went past the cache is ordered with what follows.
                    // SAFETY: every x86-64 CPU has it.
                    unsafe { super::arch::_mm_sfence() };
                }
                scalar
            }

            #[inline(never)]
            #[target_feature(enable = $feature)]
            unsafe fn read<const PAD: usize>(pointers: Pointers) -> f64 {
                let mut sums = [$zero(); UNROLL];
                turns!(PAD, LANES, pointers, start => {
                    for (turn, sum) in sums.iter_mut().enumerate() {
                        // SAFETY: below the length that the caller vouches for.
                        let from = unsafe { pointers.a.add(start + turn * LANES) };
                        // SAFETY: valid and aligned, as the caller says.
                        *sum = $add(*sum, unsafe { $load(from) });
                    }
                });
                let all = $add($add(sums[0], sums[1]), $add(sums[2], sums[3]));
                let mut lanes = super::Lanes([0.0; LANES]);
                // SAFETY: there is room for one vector, on a boundary of the widest.
                unsafe { store(lanes.0.as_mut_ptr(), all) };
                lanes.0.iter().sum()
            }

            width!(@store $feature, write, write_past, (pointers, scalar: f64), {
                let value = $set(scalar);
            }, at, { let _ = at; value });
            width!(@store $feature, copy, copy_past, (pointers), {}, at, {
                // SAFETY: see `each`.
                let from = unsafe { pointers.a.add(at) };
                // SAFETY: see `each`.
                unsafe { $load(from) }
            });
            width!(@store $feature, scale, scale_past, (pointers, scalar: f64), {
                let factor = $set(scalar);
            }, at, {
                // SAFETY: see `each`.
                let from = unsafe { pointers.a.add(at) };
                // SAFETY: see `each`.
                $mul(factor, unsafe { $load(from) })
            });
            width!(@store $feature, add, add_past, (pointers), {}, at, {
                // SAFETY: see `each`.
                let (a, b) = unsafe { (pointers.a.add(at), pointers.b.add(at)) };
                // SAFETY: see `each`.
                $add(unsafe { $load(a) }, unsafe { $load(b) })
            });
            width!(@store $feature, triad, triad_past, (pointers, scalar: f64), {
                let factor = $set(scalar);
            }, at, {
                // SAFETY: see `each`.
                let (a, b) = unsafe { (pointers.a.add(at), pointers.b.add(at)) };
                // SAFETY: see `each`.
                $add(unsafe { $load(a) }, $mul(factor, unsafe { $load(b) }))
            });
        }
    };
    (
        @store $feature:literal, $regular:ident, $past:ident,
        ($pointers:ident $(, $scalar:ident: f64)?), {$($before:tt)*}, $at:ident, $value:block
    ) => {
        #[inline(never)]
        #[target_feature(enable = $feature)]
        unsafe fn $regular<const PAD: usize>($pointers: Pointers $(, $scalar: f64)?) {
            $($before)*
            each!(PAD, false, $pointers, $at => $value);
        }

        #[inline(never)]
        #[target_feature(enable = $feature)]
        unsafe fn $past<const PAD: usize>($pointers: Pointers $(, $scalar: f64)?) {
            $($before)*
            each!(PAD, true, $pointers, $at => $value);
        }
    };
}

width!(
    sse2,
    "sse2",
    2,
    _mm_load_pd,
    _mm_store_pd,
    _mm_stream_pd,
    _mm_add_pd,
    _mm_mul_pd,
    _mm_set1_pd,
    _mm_setzero_pd
);
width!(
    avx2,
    "avx2",
    4,
    _mm256_load_pd,
    _mm256_store_pd,
    _mm256_stream_pd,
    _mm256_add_pd,
    _mm256_mul_pd,
    _mm256_set1_pd,
    _mm256_setzero_pd
);
width!(
    avx512,
    "avx512f",
    8,
    _mm512_load_pd,
    _mm512_store_pd,
    _mm512_stream_pd,
    _mm512_add_pd,
    _mm512_mul_pd,
    _mm512_set1_pd,
    _mm512_setzero_pd
);
