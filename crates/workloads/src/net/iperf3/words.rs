//! Numbers as the server's lines have them: with their unit, in powers of 1000, as iperf3's rates are.

use model::num::approx;
use std::fmt;
use std::time::Duration;

/// Bits per second.
pub(crate) struct Bits(pub(crate) u64);

/// Bytes.
pub(crate) struct Bytes(pub(crate) u64);

/// A time; seconds without a fraction where it has none.
pub(crate) struct Span(pub(crate) Duration);

/// Prefixes from the largest to none.
const SCALES: [(f64, &str); 5] = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

fn scaled(f: &mut fmt::Formatter<'_>, value: u64, unit: &str) -> fmt::Result {
    let value = approx(value);
    let fits = SCALES.iter().find(|(scale, _)| value >= *scale);
    match fits {
        Some((scale, prefix)) if *scale > 1.0 => write!(f, "{:.2} {prefix}{unit}", value / scale),
        _ => write!(f, "{value} {unit}"),
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, "bit/s")
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        scaled(f, self.0, "B")
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.subsec_nanos() == 0 {
            write!(f, "{} s", self.0.as_secs())
        } else {
            write!(f, "{:.2} s", self.0.as_secs_f64())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_a_prefix_that_fits() {
        assert_eq!(Bits(0).to_string(), "0 bit/s");
        assert_eq!(Bits(999).to_string(), "999 bit/s");
        assert_eq!(Bits(1_048_576).to_string(), "1.05 Mbit/s");
        assert_eq!(Bits(25_000_000_000).to_string(), "25.00 Gbit/s");
        assert_eq!(Bytes(2_500_000_000_000).to_string(), "2.50 TB");
        assert_eq!(Span(Duration::from_secs(60)).to_string(), "60 s");
        assert_eq!(Span(Duration::from_millis(1250)).to_string(), "1.25 s");
    }
}
