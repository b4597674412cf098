//! The two conversions between integers and floating point that the program allows itself.
//!
//! Both lose something, and both say what. Every other crate calls these instead of `as`, so that a cast never
//! loses a digit unseen.

/// `n` as `f64`: exact up to 2^53 (104 days in nanoseconds, 8 PiB), within one part in 2^53 above.
#[expect(
    clippy::cast_precision_loss,
    reason = "one part in 2^53 is far below what any clock resolves"
)]
pub const fn approx(n: u64) -> f64 {
    n as f64
}

/// A length or an index as `f64`; exact for anything that fits in memory.
pub const fn count(n: usize) -> f64 {
    approx(n as u64)
}

/// `x` rounded to the nearest whole number, clamped to what `u64` holds; a NaN becomes 0.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates at both ends and maps NaN to 0, which is the documented result"
)]
pub fn round_to_u64(x: f64) -> u64 {
    x.round() as u64
}

/// Like [`round_to_u64`], for an index or a length.
pub fn round_to_usize(x: f64) -> usize {
    usize::try_from(round_to_u64(x)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conversions_hold_at_their_edges() {
        assert!((approx(1 << 53) - 9_007_199_254_740_992.0).abs() < f64::EPSILON);
        assert_eq!(round_to_u64(-3.0), 0);
        assert_eq!(round_to_u64(f64::NAN), 0);
        assert_eq!(round_to_u64(1e30), u64::MAX);
        assert_eq!(round_to_u64(2.5), 3);
    }
}
