//! How the blocks of a page become a text.

use crate::page::Block;
use crate::style::Style;

/// A way to draw pages.
#[derive(Debug)]
pub struct Drawing {
    /// True where it is made for a terminal, whose letters and width then count.
    pub of_terminal: bool,
    /// Draws a page.
    pub draw: fn(&[Block], Style) -> String,
}
