//! What a format of pages is.

use crate::page::Block;
use crate::style::Style;

/// A format of pages.
#[derive(Debug)]
pub struct Format {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// What the first lines of a page are called in it.
    pub short: &'static str,
    /// True where it is made for a terminal, whose letters and width then count.
    pub of_terminal: bool,
    /// Draws a page.
    pub draw: fn(&[Block], Style) -> String,
}
