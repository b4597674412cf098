//! Show: what a user sees of a run, of a comparison and of a machine.
//!
//! [`view::view`] and [`comparison::view`] compute once what all formats share; each format is one file with a pure
//! function from that to a text. Nothing here measures, reads a file or a clock, or prints. Words for people come
//! from [`words`] in English or Japanese; documents for programs ([`json`], [`csv`]) are the same in every language.
//!
//! Text from outside never reaches a terminal as it is: see [`dialects::printable`].

pub mod comparison;
mod comparison_disturbed;
pub mod comparison_markdown;
mod comparison_notes;
mod comparison_refused;
pub mod comparison_text;
pub mod csv;
pub mod duel;
pub mod host;
pub mod json;
mod loaded;
pub mod markdown;
mod marks;
mod memory;
pub mod number;
mod party;
mod scaling;
pub mod set_otherwise;
mod set_up;
mod six_passes;
mod soak;
mod storage;
pub mod style;
mod table;
#[cfg(test)]
mod testkit;
pub mod text;
pub mod view;
pub mod words;

pub use style::Style;
pub use words::Lang;

/// The run in the layout of UnixBench's own report.
pub fn unixbench(view: &view::RunView<'_>) -> String {
    dialects::unixbench::report_text(view.run)
}
