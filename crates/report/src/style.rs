//! Where a text is shown: how wide, and whether colour may be added to it.

use crate::page::Tone;
use crate::picture::BLOCKS;

/// What stands for the blocks of pictures where they cannot be shown, from the lowest to the highest.
const BLOCKS_ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];

/// Whether a terminal can show the blocks of pictures: its `locale` (`LC_ALL`, `LC_CTYPE`, `LANG`) is one of UTF-8, and
/// `TERM` names something that knows more than letters. What is no terminal is read elsewhere, and gets the blocks
/// unless its locale says otherwise.
pub fn shows_blocks(locale: &str, term: Option<&str>) -> bool {
    let locale = locale.to_ascii_lowercase();
    let utf8 = locale.contains("utf-8") || locale.contains("utf8");
    utf8 && term != Some("dumb")
}

/// `text` with the blocks of its pictures in ASCII.
pub fn without_blocks(text: &str) -> String {
    text.chars()
        .map(|c| match BLOCKS.iter().position(|&block| block == c) {
            Some(height) => BLOCKS_ASCII[height],
            None => c,
        })
        .collect()
}

/// How to lay a text out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Columns of the terminal; below [`Style::WIDTH_MIN`] lines may run over.
    pub width: usize,
    /// True where colour may be added. Nothing is ever said by colour alone.
    pub color: bool,
}

impl Style {
    /// Below this nothing is laid out narrower: a metric's name must fit on a line.
    pub const WIDTH_MIN: usize = 40;

    /// No terminal: as wide as a page of text, no colour.
    pub const PLAIN: Self = Self {
        width: 100,
        color: false,
    };

    /// The width to lay out for.
    pub fn columns(self) -> usize {
        self.width.max(Self::WIDTH_MIN)
    }

    /// A heading: bold where colour is allowed.
    pub fn heading(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// A text of this tone: what is to be looked at is yellow, the better one of two green and the worse one red, where
    /// colour is allowed.
    pub fn toned(self, tone: Tone, text: &str) -> String {
        match tone {
            Tone::Attention => self.paint("33", text),
            Tone::Best => self.paint("32", text),
            Tone::Worse => self.paint("31", text),
            Tone::Plain | Tone::Name | Tone::Sign => text.to_owned(),
        }
    }

    /// Source of the codes: ECMA-48, "Select Graphic Rendition".
    fn paint(self, code: &str, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{code}m{text}\u{1b}[0m")
        } else {
            text.to_owned()
        }
    }
}

impl Default for Style {
    fn default() -> Self {
        Self::PLAIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_for_terminals_that_can_show_them() {
        let check = |locale, term, expect| {
            assert_eq!(shows_blocks(locale, term), expect, "{locale} {term:?}");
        };
        check("en_US.UTF-8", Some("xterm-256color"), true);
        check("ja_JP.utf8", Some("screen"), true);
        check("C.UTF-8", None, true);
        check("en_US.UTF-8", Some("dumb"), false);
        check("ja_JP.eucJP", Some("xterm"), false);
        check("C", Some("xterm"), false);
        check("", None, false);
    }

    #[test]
    fn each_block_has_a_letter_of_its_own_and_nothing_else_changes() {
        let blocks: String = BLOCKS.iter().collect();
        let text = format!("読み込み {blocks}\n");
        assert_eq!(without_blocks(&text), "読み込み _.:-=+*#\n");
        let mut letters = BLOCKS_ASCII.to_vec();
        letters.sort_unstable();
        letters.dedup();
        assert_eq!(letters.len(), BLOCKS.len());
    }
}
