//! What a page is made of.
//!
//! A page is a list of blocks, built once; a format is one file under [`crate::render`], which knows blocks and nothing
//! else. Texts are plain: whoever builds a page neither paints, nor escapes, nor makes them safe for a terminal, which
//! the renderers do in one place.

pub use super::chart::{Chart, Long};
pub use crate::picture::{Drawing, Picture};

/// A part of a page.
///
/// The blocks of a page, and sections within a section, stand apart from one another; other blocks of a section do not.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// What the page is about: its name, which published pages have above it, the line that says it all, and one below
    /// that line, which may be empty.
    Title(Vec<Text>, String, String),
    /// Blocks that belong together, under a heading or without one. Without blocks there is no heading either.
    Section(Option<Text>, Vec<Block>),
    /// Blocks that belong together, in lines of at most so many columns.
    Within(usize, Vec<Self>),
    /// The test or case that the blocks behind it are about.
    Name(String),
    /// A sentence or a few.
    Line(String),
    /// Names, each with what is said of it beside it. A name that is empty is the one above.
    Facts(Vec<(Text, Text)>),
    /// Rows of cells, each on two lines where there is no room for one.
    Table(Table),
    /// Sentences in a list.
    Bullets(Vec<Text>),
    /// A course in one line, from its first instant to its last.
    Course(Picture, [String; 2]),
    /// A word to whoever goes on writing the page, which its readers do not see.
    Comment(String),
    /// Commands to type, each with what it does: for whoever reads the page where they can be typed.
    Commands(Vec<(String, String)>),
    /// A chart, for formats that draw; the figures stand in tables beside it.
    Chart(Box<Chart>),
    /// The series of the chart before it, for formats in which a reader can look into it.
    Long(Box<Long>),
    /// The same in several forms, the widest first: the first one for which there is room is shown.
    Fitting(Vec<Vec<Block>>),
}

/// A text and what it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// One line. [`MARK`] at its end is a mark and no part of a name.
    pub text: String,
    /// What it is.
    pub tone: Tone,
}

/// What stands behind a name or a value that has a mark.
pub const MARK: &str = " *";

/// What a text is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Words or figures.
    #[default]
    Plain,
    /// A name that one types: of a test, of a metric.
    Name,
    /// A sign before a sentence: `!`, `-`, or the number `[1]` of a note.
    Sign,
    /// Something to look at.
    Attention,
    /// The better one of two values.
    Best,
    /// The worse one.
    Worse,
}

impl Text {
    /// A name that one types.
    pub fn name(text: impl Into<String>) -> Self {
        Self::with(Tone::Name, text)
    }

    /// A sign before a sentence.
    pub fn sign(text: impl Into<String>) -> Self {
        Self::with(Tone::Sign, text)
    }

    /// A text that is to be looked at where this is true.
    pub fn doubtful(is_doubtful: bool, text: impl Into<String>) -> Self {
        let tone = if is_doubtful {
            Tone::Attention
        } else {
            Tone::Plain
        };
        Self::with(tone, text)
    }

    /// A text of this tone.
    pub fn with(tone: Tone, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            tone,
        }
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::with(Tone::Plain, text)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::with(Tone::Plain, text)
    }
}

/// Rows of cells below their headings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What stands above each column, and on which side its cells stand. Headings that are all empty are not shown.
    pub columns: Vec<(String, Align)>,
    /// The rows, each with as many cells as there are columns.
    pub rows: Vec<Vec<Cell>>,
    /// True where the last column holds sentences, which may be broken over several lines.
    pub wrapped: bool,
}

/// On which side the cells of a column stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Align {
    /// Words.
    #[default]
    Left,
    /// Figures.
    Right,
    /// Figures of which some have a mark behind them, with room for it, so that their digits line up.
    Marked,
}

/// A cell of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text.
    Text(Text),
    /// A name, and what stands in its place below a line that says the rest of it.
    Below(Text, String),
    /// A bar: so many cells of it are filled, and so many behind them are missing.
    Bar(usize, usize),
    /// A picture. It stands in the last column.
    Picture(Picture),
}

impl<T: Into<Text>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

impl Table {
    /// A table without rows under these headings.
    pub fn new<T: Into<String>>(columns: impl IntoIterator<Item = (T, Align)>) -> Self {
        let columns = columns.into_iter();
        Self {
            columns: columns.map(|(head, align)| (head.into(), align)).collect(),
            ..Self::default()
        }
    }

    /// Takes the column at this place out.
    pub fn leave_out(&mut self, place: usize) {
        self.columns.remove(place);
        for row in &mut self.rows {
            row.remove(place);
        }
    }

    /// A table without headings.
    pub fn plain(columns: impl IntoIterator<Item = Align>) -> Self {
        Self::new(columns.into_iter().map(|align| ("", align)))
    }
}

impl Block {
    /// A chart, where there is one.
    pub(crate) fn chart(chart: Option<Chart>) -> Option<Self> {
        chart.map(|chart| Self::Chart(Box::new(chart)))
    }

    /// A section under a heading.
    pub fn section(heading: impl Into<Text>, blocks: Vec<Self>) -> Self {
        Self::Section(Some(heading.into()), blocks)
    }

    /// Facts under plain names.
    pub fn facts<N: Into<Text>, T: Into<Text>>(list: impl IntoIterator<Item = (N, T)>) -> Self {
        let list = list.into_iter();
        Self::Facts(
            list.map(|(name, text)| (name.into(), text.into()))
                .collect(),
        )
    }

    /// Sentences in a list.
    pub fn bullets<T: Into<Text>>(lines: impl IntoIterator<Item = T>) -> Self {
        Self::Bullets(lines.into_iter().map(Into::into).collect())
    }

    /// True where there is nothing to show.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Section(_, blocks) | Self::Within(_, blocks) => blocks.iter().all(Self::is_empty),
            Self::Facts(list) => list.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
            Self::Bullets(lines) => lines.is_empty(),
            Self::Commands(list) => list.is_empty(),
            Self::Line(text) => text.is_empty(),
            Self::Fitting(forms) => forms.iter().flatten().all(Self::is_empty),
            Self::Title(..)
            | Self::Name(_)
            | Self::Course(..)
            | Self::Comment(_)
            | Self::Chart(_)
            | Self::Long(_) => false,
        }
    }
}
