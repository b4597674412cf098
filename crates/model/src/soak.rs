//! A soak: one case measured for hours as one long series of windows.
//!
//! The rounds of a soak are called stretches: each is a round of continuous load, and what matters is not the stretch
//! but the series that their windows make together. The words: the opening (continuous load from the first moment, so
//! that a bucket of credit shows), the refill (a stretch begun after a rest, which tells a bucket from a step), and
//! samples (everything later).

use crate::units::{Nanos, UnixNanos};
use serde::{Deserialize, Serialize};

/// How long a soak lasts and how it is spread over that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Soak {
    /// The whole time, rests included.
    pub span: Nanos,
    /// From the beginning of one sample to that of the next; `None` for load without a pause.
    pub every: Option<Nanos>,
    /// The longest that the opening may last: the span where there are no pauses.
    pub opening: Nanos,
}

/// Where a round stands in a soak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stretch {
    /// What it is for.
    pub kind: StretchKind,
    /// When its measured part began, as the wall clock told it then.
    pub began: UnixNanos,
    /// The same instant counted from the beginning of the soak, suspended time included; no clock that somebody sets
    /// moves it.
    pub elapsed: Nanos,
    /// For how long the machine was suspended between the end of the stretch before and the start of this one; `None`
    /// where nobody was there to see it: at the beginning, and where the soak was resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_before: Option<Nanos>,
}

/// What a stretch of a soak is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StretchKind {
    /// Part of the continuous load at the beginning.
    Opening,
    /// The second series, begun after a rest: does the burst come back for as long as the rest allows?
    Refill {
        /// How long the rest was.
        rest: Nanos,
    },
    /// One of the stretches afterwards.
    Sample,
}
