//! Streams through arrays of floating-point numbers: read, write, copy, scale, add, triad.
//!
//! The four last do per element what STREAM's kernels of these names do (J. `McCalpin`, 1995); this is a variant of the
//! STREAM benchmark's idea and not that benchmark. Each runs at the widest vectors that the CPU has, which is found out
//! at run time and named in the result, with two kinds of stores: regular ones, for which the CPU first reads the line
//! it will overwrite, and streaming ones (non-temporal), which write past the caches.
//!
//! Elements are taken from the first to the last, or several stretches of 4 KiB side by side: a CPU fetches ahead up to
//! the end of a page and no further, so that one thread that goes in order waits for memory at the beginning of each.
//!
//! [`Width::Portable`] is the same in plain Rust, for every architecture, and what the others are tested against.
//! It refuses streaming stores where there are no such instructions, and vectors that the CPU does not have.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

use super::opaque::written;

/// What is done with each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// The sum of `a`.
    Read,
    /// `dest = scalar`.
    Write,
    /// `dest = a`.
    Copy,
    /// `dest = scalar * a`.
    Scale,
    /// `dest = a + b`.
    Add,
    /// `dest = a + scalar * b`.
    Triad,
}

impl Op {
    /// Every operation.
    pub const ALL: [Self; 6] = [
        Self::Read,
        Self::Write,
        Self::Copy,
        Self::Scale,
        Self::Add,
        Self::Triad,
    ];

    /// Bytes of one element that the program sees moved: 8 for each array. What the CPU reads in order to overwrite it
    /// is not counted.
    pub const fn bytes_per_element(self) -> u64 {
        8 * self.arrays() as u64
    }

    /// How many arrays it uses.
    pub const fn arrays(self) -> u8 {
        match self {
            Self::Read | Self::Write => 1,
            Self::Copy | Self::Scale => 2,
            Self::Add | Self::Triad => 3,
        }
    }
}

/// How results are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stores {
    /// Into the cache.
    Regular,
    /// Past it: non-temporal stores.
    Streaming,
}

/// How wide the vectors are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Width {
    /// What the compiler makes of plain Rust for the oldest CPU of the architecture.
    Portable,
    /// SSE2: 16 bytes.
    Sse2,
    /// AVX2: 32 bytes.
    Avx2,
    /// AVX-512: 64 bytes.
    Avx512,
}

impl Width {
    /// Every width, ascending.
    pub const ALL: [Self; 4] = [Self::Portable, Self::Sse2, Self::Avx2, Self::Avx512];

    /// The widest that this CPU has.
    pub fn best() -> Self {
        Self::widest(Self::available)
    }

    /// The widest of those that there are; the portable way is always there.
    fn widest(available: impl Fn(Self) -> bool) -> Self {
        let widest = Self::ALL.into_iter().rev().find(|&width| available(width));
        widest.unwrap_or(Self::Portable)
    }

    /// Whether this CPU, and the kernel, can do it.
    pub fn available(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return match self {
            Self::Portable | Self::Sse2 => true,
            Self::Avx2 => std::arch::is_x86_feature_detected!("avx2"),
            Self::Avx512 => std::arch::is_x86_feature_detected!("avx512f"),
        };
        #[cfg(not(target_arch = "x86_64"))]
        return self == Self::Portable;
    }

    /// Whether it has stores that go past the cache.
    pub const fn can_stream(self) -> bool {
        !matches!(self, Self::Portable)
    }

    /// Bytes of one vector; for [`Self::Portable`] those of one element.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Portable => 8,
            Self::Sse2 => 16,
            Self::Avx2 => 32,
            Self::Avx512 => 64,
        }
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Sse2 => "SSE2",
            Self::Avx2 => "AVX2",
            Self::Avx512 => "AVX-512",
        }
    }
}

/// Elements that one turn of the widest loop takes: lengths are multiples of it.
pub const STEP: usize = 32;

/// Elements of a stretch: a page of 4 KiB.
pub const STRETCH: usize = 512;

/// Alignment of arrays in bytes: a cache line, which is also the widest vector.
pub const ALIGN: usize = 64;

/// The arrays of a pass; an operation that has no use for one leaves it alone.
#[derive(Debug)]
pub struct Arrays<'a> {
    /// What is written; as long as the others that are used.
    pub dest: &'a mut [f64],
    /// The first source.
    pub a: &'a [f64],
    /// The second source.
    pub b: &'a [f64],
}

/// How a pass is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// What is done with each element.
    pub op: Op,
    /// How results are stored.
    pub stores: Stores,
    /// How wide the vectors are.
    pub width: Width,
    /// Stretches of [`STRETCH`] elements that are walked side by side; 1 for all elements in order.
    pub strides: usize,
}

impl Kernel {
    /// Lengths of arrays are multiples of this.
    pub const fn step(self) -> usize {
        if self.strides > 1 {
            STRETCH * self.strides
        } else {
            STEP
        }
    }

    /// Whether it can be done here.
    pub fn available(self) -> bool {
        let streams = self.stores == Stores::Streaming && self.op != Op::Read;
        self.width.available() && (!streams || self.width.can_stream())
    }

    /// One pass over the arrays; the sum for [`Op::Read`], the scalar for the others. Lengths must be equal multiples
    /// of [`Self::step`], and what is used must begin on a boundary of [`ALIGN`]. `number` chooses the clone.
    pub fn pass(self, arrays: &mut Arrays<'_>, scalar: f64, number: u32) -> f64 {
        assert!(
            self.available(),
            "{self:?} was asked for before it was looked for"
        );
        let len = match self.op {
            Op::Read => arrays.a.len(),
            _ => arrays.dest.len(),
        };
        let fits =
            |array: &[f64]| array.len() == len && array.as_ptr().addr().is_multiple_of(ALIGN);
        assert!(self.strides > 0 && len.is_multiple_of(self.step()));
        assert!(self.op == Op::Read || fits(arrays.dest));
        assert!(self.op == Op::Write || fits(arrays.a));
        assert!(self.op.arrays() < 3 || fits(arrays.b));
        let result = match self.width {
            Width::Portable => portable::pass(self.op, self.strides, arrays, scalar, number),
            #[cfg(target_arch = "x86_64")]
            _ => x86::pass(self, arrays, scalar, number),
            #[cfg(not(target_arch = "x86_64"))]
            _ => portable::pass(self.op, self.strides, arrays, scalar, number),
        };
        written(arrays.dest.as_ptr());
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Pages, Region};

    /// What an operation leaves, element by element, in the plainest words.
    fn expected(op: Op, a: &[f64], b: &[f64], scalar: f64) -> Vec<f64> {
        let element = |(a, b): (&f64, &f64)| match op {
            Op::Read => -1.0,
            Op::Write => scalar,
            Op::Copy => *a,
            Op::Scale => scalar * a,
            Op::Add => a + b,
            Op::Triad => a + scalar * b,
        };
        a.iter().zip(b).map(element).collect()
    }

    fn small(n: usize) -> f64 {
        f64::from(u32::try_from(n % 8).unwrap())
    }

    #[test]
    fn every_clone_of_every_kernel_agrees_with_plain_arithmetic() {
        let mut region = Region::new(3 * 8 * 4096, Pages::Usual).unwrap();
        let lengths = [(0, 1), (32, 1), (64, 1), (96, 1), (1024, 1)];
        let strided = [(0, 2), (1024, 2), (4096, 2), (4096, 4), (4096, 8)];
        for (len, strides) in lengths.into_iter().chain(strided) {
            let (a, rest) = region.numbers().split_at_mut(4096);
            let (b, dest) = rest.split_at_mut(4096);
            let (a, b, dest) = (&mut a[..len], &mut b[..len], &mut dest[..len]);
            for n in 0..len {
                (a[n], b[n]) = (small(n) + 1.0, small(n * 3) - 2.0);
            }
            for (op, stores, width) in all() {
                let kernel = Kernel {
                    op,
                    stores,
                    width,
                    strides,
                };
                if !kernel.available() || !len.is_multiple_of(kernel.step()) {
                    continue;
                }
                for number in 0..super::super::CLONES {
                    dest.fill(-1.0);
                    let mut arrays = Arrays { dest, a, b };
                    let result = kernel.pass(&mut arrays, 3.0, number);
                    // The sum of nothing is -0.
                    let sum = a.iter().sum::<f64>() + 0.0;
                    let returned = if op == Op::Read { sum } else { 3.0 };
                    assert_eq!(
                        result.to_bits(),
                        returned.to_bits(),
                        "{kernel:?} {number} {len}"
                    );
                    assert_eq!(dest, expected(op, a, b, 3.0), "{kernel:?} {number} {len}");
                }
            }
        }
    }

    fn all() -> impl Iterator<Item = (Op, Stores, Width)> {
        Op::ALL.into_iter().flat_map(|op| {
            [Stores::Regular, Stores::Streaming]
                .into_iter()
                .flat_map(move |stores| Width::ALL.map(|width| (op, stores, width)))
        })
    }

    #[test]
    fn the_portable_way_is_always_there_and_cannot_stream() {
        let kernel = |op, stores| Kernel {
            op,
            stores,
            width: Width::Portable,
            strides: 1,
        };
        assert!(kernel(Op::Copy, Stores::Regular).available());
        assert!(!kernel(Op::Copy, Stores::Streaming).available());
        assert!(kernel(Op::Read, Stores::Streaming).available());
        assert!(Width::best().available());
    }

    #[test]
    fn the_widest_vectors_that_a_cpu_has_are_taken_and_the_portable_way_where_it_has_none() {
        let check = |has: &[Width], expected| {
            assert_eq!(
                Width::widest(|width| has.contains(&width)),
                expected,
                "{has:?}"
            );
        };
        check(&Width::ALL, Width::Avx512);
        check(&[Width::Portable, Width::Sse2, Width::Avx2], Width::Avx2);
        check(&[Width::Portable, Width::Sse2], Width::Sse2);
        check(&[], Width::Portable);
    }

    #[test]
    #[should_panic(expected = "len.is_multiple_of(self.step())")]
    fn lengths_that_no_kernel_can_do_are_refused() {
        let mut region = Region::new(4096, Pages::Usual).unwrap();
        let (a, dest) = region.numbers().split_at_mut(256);
        let mut arrays = Arrays {
            dest: &mut dest[..33],
            a: &a[..33],
            b: &[],
        };
        let kernel = Kernel {
            op: Op::Copy,
            stores: Stores::Regular,
            width: Width::Portable,
            strides: 1,
        };
        kernel.pass(&mut arrays, 1.0, 0);
    }

    #[test]
    fn bytes_are_counted_once_for_each_array() {
        assert_eq!(Op::ALL.map(Op::bytes_per_element), [8, 8, 16, 16, 24, 24]);
    }
}
