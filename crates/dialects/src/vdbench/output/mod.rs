//! Reports in vdbench's layouts: the lines that it prints, `summary.html`, `totals.html`, `flatfile.html`, and a JSON
//! document of our own.

mod filelines;
pub mod filerows;
mod flat;
mod json;
mod lines;
pub mod rows;
#[cfg(test)]
mod tests;

pub use flat::flatfile;
pub use json::json;
pub use lines::{begins, from_start, headings, line, summary, totals, totals_text};

use super::language::Run;
use filerows::FileRow;
use jiff::tz::TimeZone;
use model::units::UnixNanos;
use rows::{Moments, Row};
use std::fmt;

/// Which interval a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Label {
    /// The one of this number, from 1.
    Interval(u64),
    /// All from the first number to the second.
    Average(u64, u64),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Interval(number) => write!(f, "{number}"),
            Self::Average(from, to) => write!(f, "avg_{from}-{to}"),
        }
    }
}

/// A row, by what the run is on.
#[derive(Clone, Debug, PartialEq)]
pub enum AnyRow {
    /// Storages.
    Raw(Row),
    /// File sets.
    Files(FileRow),
}

impl AnyRow {
    /// Operations per second.
    pub fn per_s(&self) -> f64 {
        match self {
            Self::Raw(row) => row.per_s(),
            Self::Files(row) => row.asked.per_s,
        }
    }
}

/// What came of one execution of a run.
#[derive(Clone, Debug)]
pub struct Execution<'a> {
    /// The run.
    pub run: &'a Run,
    /// When it began.
    pub began: UnixNanos,
    /// The intervals that were kept, with the ends of each.
    pub intervals: Vec<(Label, UnixNanos, AnyRow)>,
    /// What counts; `None` of one that came to nothing.
    pub average: Option<(Label, UnixNanos, AnyRow)>,
    /// The rate that it was given, where it was given one.
    pub requested_per_s: Option<f64>,
    /// The times of all operations from their intended starts, where they had one: median, 99th percentile.
    pub from_start: Option<(Moments, u64, u64)>,
    /// The bytes of all storages together.
    pub storage_bytes: Option<u64>,
    /// Why it came to nothing, or to less.
    pub failed: Option<String>,
}

/// What was made, when, where.
#[derive(Clone, Debug)]
pub struct Report<'a> {
    /// The version of this program.
    pub version: &'a str,
    /// The zone of its times.
    pub zone: TimeZone,
    /// What was executed, in order.
    pub executions: Vec<Execution<'a>>,
}

/// The time of the day: `16:24:30.156`.
pub fn time_of_day(at: UnixNanos, zone: &TimeZone) -> String {
    zoned(at, zone, "%H:%M:%S%.3f")
}

/// An instant in this form.
fn zoned(at: UnixNanos, zone: &TimeZone, form: &str) -> String {
    let nanos = i128::from(at.0);
    let zoned = jiff::Timestamp::from_nanosecond(nanos).map(|at| at.to_zoned(zone.clone()));
    zoned.map_or_else(
        |_| "00:00:00.000".to_owned(),
        |at| at.strftime(form).to_string(),
    )
}
