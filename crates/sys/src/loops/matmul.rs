//! Multiplication of square matrices of double precision: how many multiplications and additions a core does at once.
//!
//! One source, compiled twice: for the architecture's base and, on x86-64, for AVX2 with FMA, chosen at run time. The
//! product is made in tiles whose sums stay in registers, so that the loop is limited by the floating-point units and
//! not by memory; tiles are as large as the registers of each path allow. Vectorising is left to the compiler: the
//! inner loops run over arrays of a fixed length. AVX-512 is not used: many machines that have it clock down for it.
#![expect(
    unsafe_code,
    reason = "calling a function that is compiled for instructions this CPU was asked for, and alignment"
)]

use super::align::{clone, place_loop};

/// Rows and columns: divisible by every tile, and the three matrices (3 x 72 KiB) stay in a second-level cache.
pub const N: usize = 96;

/// Multiplications and additions of one product.
pub const FLOPS: u64 = 2 * (N as u64) * (N as u64) * (N as u64);

/// A square matrix, row by row.
pub type Matrix = [[f64; N]; N];

/// A matrix of zeros; never on the stack, which it could fill.
#[must_use]
pub fn zeros() -> Box<Matrix> {
    vec![[0.0; N]; N]
        .into_boxed_slice()
        .try_into()
        .expect("a slice of N rows is a matrix")
}

/// The code that runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// What every CPU of the architecture can do: SSE2 on x86-64, NEON on aarch64.
    Portable,
    /// 256-bit vectors and fused multiplication and addition.
    Avx2Fma,
}

impl Path {
    /// The best that this CPU can do.
    #[must_use]
    pub fn best() -> Self {
        Self::best_of(crate::features::has)
    }

    fn best_of(has: impl Fn(&str) -> bool) -> Self {
        if has("avx2") && has("fma") {
            Self::Avx2Fma
        } else {
            Self::Portable
        }
    }
}

/// `product = a * b`. Falls back to [`Path::Portable`] where the CPU cannot do what is asked. `number` chooses the
/// clone.
pub fn multiply(path: Path, a: &Matrix, b: &Matrix, product: &mut Matrix, number: u32) {
    #[cfg(target_arch = "x86_64")]
    if path == Path::Avx2Fma && Path::best() == path {
        // SAFETY: the line above has asked whether this CPU has AVX2 and FMA.
        unsafe { clone!(number, avx2_fma(a, b, product)) };
        return;
    }
    let _ = path;
    clone!(number, portable(a, b, product));
}

/// 6 x 8 sums fill 12 of the 16 vector registers; a row of `b` and an element of `a` take three more.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
#[inline(never)]
fn avx2_fma<const PAD: usize>(a: &Matrix, b: &Matrix, product: &mut Matrix) {
    place_loop!(PAD);
    tiles::<6, 8>(a, b, product, f64::mul_add);
}

/// 4 x 4 sums fill 8 of the 16 registers of SSE2 and leave room for as many products.
#[inline(never)]
fn portable<const PAD: usize>(a: &Matrix, b: &Matrix, product: &mut Matrix) {
    place_loop!(PAD);
    tiles::<4, 4>(a, b, product, |x, y, sum| x * y + sum);
}

/// Tile after tile, down the columns first: a strip of `b` stays in the first-level cache.
#[expect(
    clippy::inline_always,
    reason = "it must be compiled with the instructions of its caller"
)]
#[inline(always)]
fn tiles<const ROWS: usize, const COLUMNS: usize>(
    a: &Matrix,
    b: &Matrix,
    product: &mut Matrix,
    add: impl Fn(f64, f64, f64) -> f64 + Copy,
) {
    for column in 0..N / COLUMNS {
        for row in (0..N).step_by(ROWS) {
            let rows: [&[f64; N]; ROWS] = std::array::from_fn(|r| &a[row + r]);
            let mut sums = [[0.0; COLUMNS]; ROWS];
            for k in 0..N {
                let factors = b[k].as_chunks::<COLUMNS>().0[column];
                for r in 0..ROWS {
                    for c in 0..COLUMNS {
                        sums[r][c] = add(rows[r][k], factors[c], sums[r][c]);
                    }
                }
            }
            for (r, sums) in sums.iter().enumerate() {
                product[row + r].as_chunks_mut::<COLUMNS>().0[column] = *sums;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(f: impl Fn(usize, usize) -> i32) -> Box<Matrix> {
        let mut matrix = zeros();
        for (i, row) in matrix.iter_mut().enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                *x = f64::from(f(i, j));
            }
        }
        matrix
    }

    fn small(i: usize, j: usize, step: usize) -> i32 {
        i32::try_from((i * 31 + j * step) % 17).unwrap() - 8
    }

    #[test]
    fn both_paths_give_the_product_that_whole_numbers_give() {
        let a = filled(|i, j| small(i, j, 7));
        let b = filled(|i, j| small(i, j, 11));
        let right = filled(|i, j| (0..N).map(|k| small(i, k, 7) * small(k, j, 11)).sum());
        for path in [Path::Portable, Path::Avx2Fma, Path::best()] {
            for number in 0..super::super::CLONES {
                let mut product = filled(|_, _| 99);
                multiply(path, &a, &b, &mut product, number);
                assert!(product == right, "{path:?} {number}");
            }
        }
    }

    #[test]
    fn a_cpu_without_avx2_or_fma_takes_the_portable_path() {
        let check = |has: &[&str], expected| {
            assert_eq!(
                Path::best_of(|name| has.contains(&name)),
                expected,
                "{has:?}"
            );
        };
        check(&[], Path::Portable);
        check(&["avx2"], Path::Portable);
        check(&["fma"], Path::Portable);
        check(&["fma", "avx2"], Path::Avx2Fma);
    }

    #[test]
    fn tiles_cover_the_matrix() {
        assert!(N.is_multiple_of(6) && N.is_multiple_of(8) && N.is_multiple_of(4));
        assert_eq!(FLOPS, 1_769_472);
    }
}
