//! Plain columns for lists: left-aligned, two blanks between, nothing behind the last.

use std::fmt::Write;

/// The rows as lines. Rows may differ in length.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            let cell = dialects::printable::printable(cell);
            // Writing to a String cannot fail.
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up_and_nothing_trails() {
        let rows = [vec!["a", "bb", ""], vec!["ccc", "d"]];
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row.iter().map(|&cell| cell.to_owned()).collect())
            .collect();
        assert_eq!(columns(&rows), "a    bb\nccc  d\n");
        assert_eq!(columns(&[]), "");
    }
}
