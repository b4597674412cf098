//! Show: what a user sees of a run, of a comparison and of a machine.
//!
//! [`view::view`] and [`comparison::view`] compute once what all formats share. For people, [`page`] makes blocks of
//! it, in English or Japanese, which [`render`] draws. Documents for programs ([`json`], [`csv`]) are the same in every
//! language. [`formats`] is the table of all formats, and of what each of them can show. Nothing here measures, reads a
//! file or a clock, or prints.
//!
//! Text from outside never reaches a terminal as it is: see [`dialects::printable`].

pub mod brief;
pub mod comparison;
pub mod csv;
pub mod duel;
pub mod formats;
pub mod grounds;
mod grouped;
pub mod identity;
pub mod influx;
pub mod json;
mod lang;
pub mod number;
pub mod offers;
pub mod openmetrics;
pub mod page;
mod party;
mod picture;
pub mod published;
pub mod ranking;
pub mod render;
pub mod said;
mod scope;
pub mod set_otherwise;
pub mod style;
mod table;
#[cfg(test)]
mod testkit;
pub mod view;
pub mod why_not;

pub use lang::Lang;
pub use style::Style;
