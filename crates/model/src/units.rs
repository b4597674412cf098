//! Quantities with their unit in the type, and the units a metric may have.
//!
//! Only base units exist inside the program: nanoseconds, bytes, operations. Prefixes are chosen when a number is
//! shown, never before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::iter::Sum;
use std::time::Duration;

/// A span of time in nanoseconds.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole milliseconds, stopping at the largest span.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// A span of whole seconds, stopping at the largest span.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs.saturating_mul(1_000_000_000))
    }

    /// The span in seconds, for arithmetic that ends in a rate.
    pub fn as_secs_f64(self) -> f64 {
        crate::num::approx(self.0) / 1e9
    }

    /// `self - earlier`, or zero where `earlier` is later.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }

    /// `self + other`, stopping at the largest span.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sum for Nanos {
    /// All of them together, stopping at the largest span.
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Self::plus)
    }
}

impl From<Nanos> for Duration {
    fn from(nanos: Nanos) -> Self {
        Self::from_nanos(nanos.0)
    }
}

impl From<Duration> for Nanos {
    /// Spans beyond 584 years become the largest span.
    fn from(duration: Duration) -> Self {
        Self(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// An instant: nanoseconds since 1970-01-01 UTC, as the machine's wall clock told it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct UnixNanos(pub u64);

impl UnixNanos {
    /// As programs read it: RFC 3339, UTC, with every digit.
    pub fn rfc3339(self) -> String {
        // Every instant that 64 bits of nanoseconds hold lies within jiff's range (it ends in the year 9999).
        let timestamp = jiff::Timestamp::from_nanosecond(i128::from(self.0)).ok();
        timestamp.map_or_else(
            || format!("{} ns after 1970", self.0),
            |at| format!("{at:.9}"),
        )
    }
}

impl From<UnixNanos> for String {
    fn from(at: UnixNanos) -> Self {
        at.rfc3339()
    }
}

/// An amount of data in bytes.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Powers of 1024 with their names, the largest first.
    const PREFIXED: [(u64, &str); 4] = [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ];

    /// The next whole number of a unit, MiB or GiB, such as an option takes: at most a tenth more, but for the first
    /// ten.
    pub fn rounded_up(self) -> String {
        let [gib, mib] = [1 << 30, 1 << 20];
        if self.0 > 10 * gib {
            format!("{} GiB", self.0.div_ceil(gib))
        } else {
            format!("{} MiB", self.0.div_ceil(mib))
        }
    }

    /// The amount as people read it, exactly, in the largest unit that divides it: `64 MiB`, `1000 B`.
    pub fn exact(self) -> String {
        let Self(bytes) = self;
        let divides = |(size, _): &&(u64, &str)| bytes > 0 && bytes.is_multiple_of(*size);
        Self::PREFIXED.iter().find(divides).map_or_else(
            || format!("{bytes} B"),
            |(size, unit)| format!("{} {unit}", bytes / size),
        )
    }

    /// The time that so many bytes take at a rate in bytes per second, which is not 0.
    pub fn time_at(self, bytes_per_s: u64) -> Nanos {
        let nanos = u128::from(self.0) * 1_000_000_000 / u128::from(bytes_per_s);
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// The amount of something that need not be even, such as a memory: with one decimal in a unit of which there are
    /// ten or more, unless a unit as large divides it.
    pub fn rounded(self) -> String {
        let Self(bytes) = self;
        for (size, unit) in Self::PREFIXED {
            if bytes > 0 && bytes.is_multiple_of(size) {
                break;
            }
            if bytes >= 10 * size {
                let value = crate::num::approx(bytes) / crate::num::approx(size);
                return format!("{value:.1} {unit}");
            }
        }
        self.exact()
    }
}

/// The unit of a metric's value. Always a base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations, iterations or loops per second of wall time.
    #[serde(rename = "ops_per_s")]
    OpsPerSecond,
    /// Bytes per second of wall time.
    #[serde(rename = "bytes_per_s")]
    BytesPerSecond,
    /// Bytes per second over a network, which everybody tells in bits.
    #[serde(rename = "net_bytes_per_s")]
    NetBytesPerSecond,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A pure number between 0 and 1.
    Share,
    /// A pure number without a bound.
    Number,
}

impl Unit {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::OpsPerSecond,
        Self::BytesPerSecond,
        Self::NetBytesPerSecond,
        Self::Nanoseconds,
        Self::Bytes,
        Self::Share,
        Self::Number,
    ];

    /// True for rates of operations and of bytes: the windows of a round may be in such a unit too.
    pub const fn is_rate(self) -> bool {
        matches!(self, Self::OpsPerSecond) || self.is_bytes_per_second()
    }

    /// True for bytes per second, however they are told.
    pub const fn is_bytes_per_second(self) -> bool {
        matches!(self, Self::BytesPerSecond | Self::NetBytesPerSecond)
    }

    /// The name used in keys and documents, such as `ops_per_s`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::OpsPerSecond => "ops_per_s",
            Self::BytesPerSecond => "bytes_per_s",
            Self::NetBytesPerSecond => "net_bytes_per_s",
            Self::Nanoseconds => "ns",
            Self::Bytes => "bytes",
            Self::Share => "share",
            Self::Number => "number",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_that_is_too_long_for_64_bits_is_the_longest() {
        for of in [Nanos::from_secs, Nanos::from_millis] {
            assert_eq!(of(u64::MAX / 1000), Nanos(u64::MAX));
        }
        let spans = [Nanos(u64::MAX), Nanos(1)];
        assert_eq!(spans.into_iter().sum::<Nanos>(), Nanos(u64::MAX));
    }

    #[test]
    fn an_amount_is_exact_in_the_largest_unit_that_divides_it_and_rounded_where_it_need_not_be_even()
     {
        let check = |bytes, exact: &str, rounded: &str| {
            let amount = Bytes(bytes);
            assert_eq!(
                (amount.exact(), amount.rounded()),
                (exact.into(), rounded.into())
            );
        };
        check(0, "0 B", "0 B");
        check(1000, "1000 B", "1000 B");
        check(1024, "1 KiB", "1 KiB");
        check(64 << 20, "64 MiB", "64 MiB");
        check((64 << 20) + 1024, "65537 KiB", "64.0 MiB");
        check((9 << 20) + 1024, "9217 KiB", "9217 KiB");
        check((15 << 30) + (768 << 20) + 1, "16911433729 B", "15.8 GiB");
        check(3 << 40, "3 TiB", "3 TiB");
    }
}
