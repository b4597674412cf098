//! Trial division by 64-bit numbers: how fast the divider of a core is, and the loop around it.
//!
//! One event counts the primes below a limit as sysbench's CPU test does: each candidate is divided by 2, 3, 4... up to
//! its square root, until one divides it. The division is the machine's 64-bit instruction, written as assembly,
//! because compilers put a test in front of it that takes a 32-bit division where both numbers are small, which they
//! always are here, and that is another and faster divider on many CPUs.
//!
//! What differs between architectures is one function, `remainder`; that of those without assembly is compiled for
//! tests everywhere, and compared with it. It refuses nothing: a limit of 3 or less has no candidates.
#![expect(unsafe_code, reason = "the 64-bit division instruction, and alignment")]

use super::align::{clone, place_loop};

/// What the loop's bound is compared as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// As a floating-point number, to which every divisor is converted: sysbench 1.0.
    Float,
    /// As a whole number: sysbench 0.4.
    Whole,
}

/// What an event computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Primes from 3 to below the limit.
    pub primes: u64,
    /// Divisions done.
    pub divisions: u64,
}

/// One event: the primes from 3 to below `limit`, at most 2^31. Whether 2 divides a number is a look at its last bit,
/// as compilers make it. `number` chooses the clone.
#[inline]
pub fn event(limit: u64, bound: Bound, number: u32) -> u64 {
    match bound {
        Bound::Float => clone!(number, float(limit)),
        Bound::Whole => clone!(number, whole(limit)),
    }
}

/// The same by other means, and how many divisions it takes: with the compiler's own division, for checking. The first
/// divisor, 2, is no division: see [`event`].
pub fn plain(limit: u64) -> Counts {
    let mut counts = Counts {
        primes: 0,
        divisions: 0,
    };
    for candidate in 3..limit {
        let mut divisor = 2;
        while divisor * divisor <= candidate {
            counts.divisions += u64::from(divisor > 2);
            if candidate.is_multiple_of(divisor) {
                break;
            }
            divisor += 1;
        }
        counts.primes += u64::from(divisor * divisor > candidate);
    }
    counts
}

#[inline(never)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    reason = "numbers below 2^31 are exact; signed, because that conversion is one instruction"
)]
fn float<const PAD: usize>(limit: u64) -> u64 {
    let mut primes = 0;
    place_loop!(PAD);
    for candidate in 3..limit {
        let root = (candidate as i64 as f64).sqrt();
        let mut divisor = 2_u64;
        if root >= 2.0 && candidate % 2 == 1 {
            divisor = 3;
            while divisor as i64 as f64 <= root {
                if remainder(candidate, divisor) == 0 {
                    break;
                }
                divisor += 1;
            }
        }
        primes += u64::from(divisor as i64 as f64 > root);
    }
    primes
}

#[inline(never)]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_wrap,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "numbers below 2^31 are exact both ways"
)]
fn whole<const PAD: usize>(limit: u64) -> u64 {
    let mut primes = 0;
    place_loop!(PAD);
    for candidate in 3..limit {
        // By way of floating point, which is exact here and quicker than by whole numbers.
        let root = (candidate as i64 as f64).sqrt() as i64 as u64;
        let mut divisor = 2;
        if root >= 2 && candidate % 2 == 1 {
            divisor = 3;
            while divisor <= root {
                if remainder(candidate, divisor) == 0 {
                    break;
                }
                divisor += 1;
            }
        }
        primes += u64::from(divisor > root);
    }
    primes
}

/// `a % b` by the machine's 64-bit division; `b` is never 0 here.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn remainder(a: u64, b: u64) -> u64 {
    let rest: u64;
    // SAFETY: with a high half of 0 the quotient fits, and the divisor is at least 2, so the division cannot trap.
    unsafe {
        std::arch::asm!(
            "div {b}",
            b = in(reg) b,
            inout("rax") a => _,
            inout("rdx") 0_u64 => rest,
            options(pure, nomem, nostack)
        );
    }
    rest
}

/// `a % b` by the machine's 64-bit division, which gives the quotient alone.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn remainder(a: u64, b: u64) -> u64 {
    let quotient: u64;
    // SAFETY: the instruction reads two registers, writes one and never traps.
    unsafe {
        std::arch::asm!(
            "udiv {q}, {a}, {b}",
            q = out(reg) quotient,
            a = in(reg) a,
            b = in(reg) b,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    a - quotient * b
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use portable_remainder as remainder;

/// `a % b` as the compiler divides: elsewhere than above it puts nothing in front.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[inline(always)]
#[expect(clippy::inline_always, reason = "a call would be part of the figure")]
fn portable_remainder(a: u64, b: u64) -> u64 {
    super::opaque::opaque_u64(a) % super::opaque::opaque_u64(b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clone_of_both_bounds_counts_the_primes() {
        // 1229 and 2262 primes below 10000 and 20000 (OEIS A000720), less the 2; squares at 9, 25 and 961.
        for (limit, primes) in [
            (3, 0),
            (4, 1),
            (9, 3),
            (10, 3),
            (26, 8),
            (962, 161),
            (10_000, 1228),
            (20_000, 2261),
        ] {
            assert_eq!(plain(limit).primes, primes, "{limit}");
            for number in 0..CLONES_TRIED {
                for bound in [Bound::Float, Bound::Whole] {
                    assert_eq!(event(limit, bound, number), primes, "{limit} {bound:?}");
                }
            }
        }
    }

    const CLONES_TRIED: u32 = super::super::CLONES + 1;

    #[test]
    fn the_usual_limits_take_the_known_numbers_of_divisions() {
        assert_eq!(plain(10_000).divisions, 117_526 - 9_996);
        assert_eq!(plain(20_000).divisions, 301_275 - 19_996);
    }

    fn check_remainders(a: u64, b: u64) {
        let found = [remainder(a, b), portable_remainder(a, b)];
        assert_eq!(found, [a % b; 2], "{a} {b}");
    }

    #[test]
    fn remainders_are_those_of_the_language_and_of_the_portable_twin() {
        for a in [0, 1, 5, 7, 1 << 32, 1 << 40, u64::MAX - 1, u64::MAX] {
            for b in [2, 3, 9, u64::from(u32::MAX), (1 << 33) + 1, u64::MAX] {
                check_remainders(a, b);
            }
        }
    }

    proptest::proptest! {
        // Shifted, because of two words as they come the quotient is hardly ever above 2.
        #[test]
        fn random_remainders_are_as_well(a: u64, b: u64, narrow in 0_u32..63) {
            check_remainders(a, (b >> narrow).max(2));
        }
    }
}
