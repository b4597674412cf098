//! The charts of pages: one file for each, which says what was found and has its figures as a table.

mod headlines;
mod ratios;

pub(crate) use headlines::headlines;
pub(crate) use ratios::ratios;
