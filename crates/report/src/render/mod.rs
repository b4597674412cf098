//! Formats of pages: each is one file, which knows blocks and nothing else, and a line in [`FORMATS`].

pub mod markdown;
pub mod text;

pub use markdown::markdown;
pub use text::text;

use crate::page::Block;
use crate::style::Style;

/// A format of pages.
#[derive(Debug)]
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// True where it is made for a terminal, whose letters and width then count.
    pub of_terminal: bool,
    /// Draws a page.
    pub draw: fn(&[Block], Style) -> String,
}

/// Every format of pages, the usual one first.
pub static FORMATS: &[Format] = &[text::FORMAT, markdown::FORMAT];
