//! Quantities with their unit in the type, and the units a metric may have.
//!
//! Only base units exist inside the program: nanoseconds, bytes, operations. Prefixes are chosen when a number is
//! shown, never before.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A span of time in nanoseconds.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Nanos(pub u64);

impl Nanos {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of whole milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis * 1_000_000)
    }

    /// A span of whole seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Self(secs * 1_000_000_000)
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

/// An amount of data in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The unit of a metric's value. Always a base unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations, iterations or loops per second of wall time.
    OpsPerSecond,
    /// Bytes per second of wall time.
    BytesPerSecond,
    /// Nanoseconds.
    Nanoseconds,
    /// Bytes.
    Bytes,
    /// A pure number between 0 and 1.
    Share,
    /// A pure number without a bound.
    Number,
}

impl Unit {
    /// The name used in keys and documents, such as `ops_per_s`.
    pub const fn key(self) -> &'static str {
        match self {
            Self::OpsPerSecond => "ops_per_s",
            Self::BytesPerSecond => "bytes_per_s",
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
