//! Columns of text, aligned by what they take on a screen (Japanese characters take two columns).
//!
//! comfy-table knows those widths. Lines are not cut: a table that does not fit says so by [`Grid::width`], and the
//! caller chooses another layout.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use dialects::printable::printable;

/// Space between two columns.
const GAP: u16 = 2;

/// A last column that is narrower than this is no text any more.
const LAST_MIN: usize = 14;

/// Whether a line ends before this character as well as anywhere: Japanese is written without spaces.
const fn is_japanese(c: char) -> bool {
    matches!(c, '\u{3001}'..='\u{30ff}' | '\u{4e00}'..='\u{9fff}')
}

/// `text` with the spaces at which no line may end as those that are not broken: between a number and its `%` or the
/// Japanese counter behind it, as in `109 回` and `5 % 超`, and behind a sign that would stand alone, as in `~ の`.
fn kept_together(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = [None, None];
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        let next = rest.peek().copied();
        let numbered = before[1].is_some_and(|c: char| c.is_ascii_digit());
        let counted = numbered || before[1] == Some('%');
        let signed = matches!(before[1], Some('~' | '*' | '^' | '#'))
            && before[0].is_none_or(|c| !c.is_ascii_alphanumeric());
        let of_japanese = next.is_some_and(is_japanese) && (counted || signed);
        let binds = c == ' ' && (of_japanese || (numbered && next == Some('%')));
        out.push(if binds { '\u{a0}' } else { c });
        before = [before[1], Some(c)];
    }
    out
}

/// Rows of cells.
pub(crate) struct Grid {
    table: Table,
    columns: usize,
}

impl Grid {
    /// A grid with a line of headings.
    pub(crate) fn with_header(header: &[&str]) -> Self {
        let mut grid = Self::new(header.len());
        let header = header.iter().map(|head| printable(head));
        grid.table.set_header(header);
        grid
    }

    /// A grid without headings.
    pub(crate) fn new(columns: usize) -> Self {
        let mut table = Table::new();
        table
            .load_style(presets::NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        Self { table, columns }
    }

    /// Adds a row; `cells` has as many cells as the grid has columns. Here text from outside is made safe for a
    /// terminal. One that is no cell of a table any more is cut: laying it out takes time with the square of its
    /// length.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        let cells = cells.into_iter();
        let safe = cells.map(|text| cut(kept_together(&printable(&text)), CELL_MAX));
        self.table.add_row(safe);
    }

    /// The width on a screen of the widest line.
    pub(crate) fn width(&self) -> usize {
        let widths = self.table.column_max_content_widths().into_iter();
        let content: usize = widths.map(usize::from).sum();
        content + self.columns.saturating_sub(1) * usize::from(GAP)
    }

    /// The width on a screen of all columns but the last, with the space behind them.
    fn before_last(&self) -> usize {
        let widths = self.table.column_max_content_widths();
        let before = widths.iter().rev().skip(1);
        let taken = before.map(|width| usize::from(*width) + usize::from(GAP));
        taken.sum()
    }

    /// Whether the last column has room for text in lines of this width.
    pub(crate) fn has_room_for_last(&self, width: usize) -> bool {
        self.before_last() + LAST_MIN <= width
    }

    /// The lines, with the last column broken over several lines so that none is wider than `width`.
    pub(crate) fn render_wrapped(mut self, width: usize, right: &[usize]) -> String {
        let before = self.before_last();
        // Where there is no room at all the line runs over.
        let room = width.saturating_sub(before).max(LAST_MIN);
        if let Some(last) = self.table.column_mut(self.columns.saturating_sub(1)) {
            let room = u16::try_from(room).unwrap_or(u16::MAX);
            let room = comfy_table::Width::Fixed(room);
            last.set_constraint(ColumnConstraint::UpperBoundary(room));
        }
        let all = u16::try_from(before + room).unwrap_or(u16::MAX);
        self.table
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(all);
        self.render(right)
    }

    /// The lines, with the columns `right` aligned to the right.
    pub(crate) fn render(mut self, right: &[usize]) -> String {
        let last = self.columns.saturating_sub(1);
        for (i, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((0, if i == last { 0 } else { GAP }));
            if right.contains(&i) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        let mut out = String::new();
        for line in self.table.lines() {
            // What had to survive the trimming of cells is a plain space to whoever copies it.
            out.push_str(&line.trim_end().replace('\u{a0}', " "));
            out.push('\n');
        }
        out
    }
}

/// Characters of a cell at most: a screen full. No name, title or reason is as long; documents have all of every text.
const CELL_MAX: usize = 4000;

/// At most so many characters of a text, which then says that there is more.
pub(crate) fn cut(text: String, most: usize) -> String {
    if text.len() <= most || text.chars().count() <= most {
        return text;
    }
    let kept: String = text.chars().take(most - 3).collect();
    kept + "..."
}

/// `text`, broken over lines so that none is wider than `width`.
pub(crate) fn wrapped(text: &str, width: usize) -> String {
    let mut grid = Grid::new(1);
    grid.row(vec![text.to_owned()]);
    grid.render_wrapped(width, &[])
}

/// The columns that `text` takes on a screen.
pub(crate) fn columns(text: &str) -> usize {
    let mut grid = Grid::new(1);
    grid.row(vec![text.to_owned()]);
    grid.width()
}

/// `text` with two spaces before each line that is not empty.
pub(crate) fn indent(text: &str) -> String {
    text.lines()
        .map(|line| {
            if line.is_empty() {
                "\n".to_owned()
            } else {
                format!("  {line}\n")
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_on_the_screen_whatever_the_script() {
        let mut grid = Grid::with_header(&["測定項目", "value"]);
        grid.row(vec!["os.pipe@1".to_owned(), "1.5".to_owned()]);
        grid.row(vec!["x".to_owned(), "12.25".to_owned()]);
        assert_eq!(grid.width(), 16);
        assert_eq!(
            grid.render(&[1]),
            "測定項目   value\nos.pipe@1    1.5\nx          12.25\n"
        );
    }

    #[test]
    fn a_text_that_is_no_cell_any_more_is_cut_and_says_so() {
        let text = wrapped(&"新".repeat(1 << 20), 80);
        assert_eq!(text.chars().filter(|&c| c == '新').count(), CELL_MAX - 3);
        assert!(text.ends_with("...\n"), "{text}");
        let whole = "x".repeat(CELL_MAX);
        assert_eq!(wrapped(&whole, 80).replace('\n', ""), whole);
    }

    #[test]
    fn a_number_stays_with_its_counter_and_a_sign_with_its_word() {
        let said = "引用不可。時計（109 回中 109 回）、所要時間 3 分 0 秒。~ の付いた値は平均。 他は CPU を 5 % 超使用。 \
                    in 14 % of rounds";
        for width in 24..80 {
            let lines = wrapped(said, width);
            for line in lines.lines() {
                let first = line.trim_start().chars().next();
                assert!(
                    !matches!(first, Some('回' | '分' | '秒' | 'の' | '超' | '%')),
                    "{width}: {lines}"
                );
                assert!(columns(line) <= width, "{width}: {lines}");
            }
            let one = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(one(&lines), one(said), "{width}");
        }
    }

    #[test]
    fn long_sentences_are_broken_in_their_own_column() {
        let mut grid = Grid::new(2);
        grid.row(vec![
            "[1]".to_owned(),
            "one two three four five six seven eight nine".to_owned(),
        ]);
        assert_eq!(
            grid.render_wrapped(30, &[]),
            "[1]  one two three four five\n     six seven eight nine\n"
        );
    }
}
