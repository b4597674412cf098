//! UnixBench: its list of tests, its index, and its report layout.
//!
//! kurabe measures the same twelve kinds of work with its own code, so what this module makes is compatible with
//! UnixBench and is labelled as such; it is not UnixBench.

mod index;
mod layout;
mod read;
mod report;
mod table;
#[cfg(test)]
mod testkit;

pub use index::{ByPass, asked, by_pass, indexes, printable_ends};
pub use layout::report_text;
pub(crate) use read::READER;
pub use table::{IndexTest, TESTS, find};

/// The id of the index in documents.
pub const INDEX_ID: &str = "unixbench";

/// The test under which a table has an index that somebody typed.
pub const TYPED_INDEX: &str = "unixbench.index";

/// The test of two processes that wake each other, as its figures are called where they are none of a test of ours.
pub(crate) const SWITCHES: &str = "unixbench.context1";
