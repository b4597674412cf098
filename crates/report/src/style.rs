//! Where a text is shown: how wide, and whether colour may be added to it.

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

    /// Something to look at: yellow where colour is allowed.
    pub fn attention(self, text: &str) -> String {
        self.paint("33", text)
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
