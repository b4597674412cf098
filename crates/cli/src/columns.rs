//! Plain columns for lists: left-aligned, two blanks between, nothing behind the last.
//!
//! A cell that is wider than any name that a command takes is shown in full and moves no other one.

use std::fmt::Write;
use std::io::IsTerminal;

/// No column is made wider than this by a cell in it: room for every label and id. What a hostile store holds may be
/// longer, up to what no formatting of the language takes for a width.
const COLUMN_MAX: usize = 200;

/// The rows as lines. Rows may differ in length.
pub(crate) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
            .min(COLUMN_MAX)
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

/// The width of the terminal that is written to; a file or a pipe has none.
pub(crate) fn terminal_width() -> Option<usize> {
    let terminal = std::io::stdout().is_terminal();
    terminal.then(sys::process::terminal_width).flatten()
}

/// The least room for a last column, below which it stands under the others.
const LAST_MIN: usize = 30;

/// How far what stands under a line is moved in.
const BELOW: usize = 4;

/// The rows so that no line is wider than this: the last column is broken over lines, or what does not fit beside the
/// first columns stands below them.
pub(crate) fn columns_within(rows: &[Vec<String>], width: Option<usize>) -> String {
    let text = columns(rows);
    let Some(width) = width.filter(|&width| text.lines().any(|line| line.chars().count() > width))
    else {
        return text;
    };
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let head = |n: usize| -> Vec<String> {
        let rows: Vec<Vec<String>> = rows
            .iter()
            .map(|row| row[..row.len().min(n)].to_vec())
            .collect();
        columns(&rows).lines().map(ToOwned::to_owned).collect()
    };
    let widest = |lines: &[String]| lines.iter().map(|line| line.chars().count()).max();
    let before = count.saturating_sub(1).max(1);
    let start = widest(&head(before)).unwrap_or(0) + 2;
    if start + LAST_MIN <= width {
        let heads = head(before);
        let last = |row: &Vec<String>| row.get(before).cloned().unwrap_or_default();
        return heads
            .iter()
            .zip(rows)
            .fold(String::new(), |out, (head, row)| {
                let lines = broken(&dialects::printable::printable(&last(row)), width - start);
                let first = format!("{head:start$}{}", lines.first().map_or("", String::as_str));
                let below = lines
                    .iter()
                    .skip(1)
                    .map(|line| format!("{:start$}{line}\n", ""));
                out + first.trim_end() + "\n" + &below.collect::<String>()
            });
    }
    let fits = |n: &usize| widest(&head(*n)).is_none_or(|widest| widest <= width);
    let shown = (1..count).rev().find(fits).unwrap_or(1);
    head(shown)
        .iter()
        .zip(rows)
        .fold(String::new(), |out, (head, row)| {
            let rest: Vec<String> = row
                .iter()
                .skip(shown)
                .filter(|cell| !cell.is_empty())
                .cloned()
                .collect();
            let rest = dialects::printable::printable(&rest.join("  "));
            let lines = broken(&rest, width.saturating_sub(BELOW));
            let below = lines.iter().map(|line| format!("{:BELOW$}{line}\n", ""));
            out + head + "\n" + &below.collect::<String>()
        })
}

/// A line of text, broken so that none is wider than this; what follows the first is moved in.
pub(crate) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|&width| text.chars().count() > width) else {
        return format!("{text}\n");
    };
    let lines = broken(text, width.saturating_sub(BELOW));
    let indent = |(i, line): (usize, &String)| {
        let by = if i == 0 { 0 } else { BELOW };
        format!("{:by$}{line}\n", "")
    };
    lines.iter().enumerate().map(indent).collect()
}

/// The words in lines of at most this width; a word that is longer has a line for itself.
fn broken(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_of_any_length_is_shown_and_moves_no_other() {
        for length in [COLUMN_MAX + 1, 65_535, 65_536, 1 << 20] {
            let long = "x".repeat(length);
            let rows = [
                vec![long.clone(), "a".to_owned()],
                vec!["y".to_owned(), "b".to_owned()],
            ];
            let text = columns(&rows);
            let below = format!("{:COLUMN_MAX$}  b", "y");
            assert_eq!(text, format!("{long}  a\n{below}\n"));
            for width in [None, Some(40), Some(80)] {
                assert!(columns_within(&rows, width).contains(&long), "{width:?}");
            }
        }
    }

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

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let owned = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        rows.iter().map(owned).collect()
    }

    #[test]
    fn what_fits_or_has_no_terminal_stays_as_it_is() {
        let rows = rows(&[&["a", "one two three"], &["bcd", "e"]]);
        let as_it_is = columns(&rows);
        for width in [None, Some(18), Some(200)] {
            assert_eq!(columns_within(&rows, width), as_it_is, "{width:?}");
        }
        assert_eq!(wrapped("one two", None), "one two\n");
        assert_eq!(wrapped("one two", Some(7)), "one two\n");
    }

    #[test]
    fn a_long_last_column_is_broken_beside_the_others_where_there_is_room() {
        let rows = rows(&[
            &["a", "what this one is about takes more room than there is"],
            &["bcd", "short"],
        ]);
        assert_eq!(
            columns_within(&rows, Some(36)),
            "a    what this one is about takes\n     more room than there is\nbcd  short\n"
        );
    }

    #[test]
    fn what_does_not_fit_beside_the_first_columns_stands_below_them() {
        let rows = rows(&[
            &[
                "20261121-234521-223d",
                "sb1",
                "2026-11-21 23:45:21 UTC",
                "25 cases",
                "complete",
            ],
            &[
                "20261121-234458-852c",
                "",
                "2026-11-21 23:44:58 UTC",
                "3 cases",
                "open",
            ],
        ]);
        assert_eq!(
            columns_within(&rows, Some(52)),
            "20261121-234521-223d  sb1  2026-11-21 23:45:21 UTC\n    25 cases complete\n\
             20261121-234458-852c       2026-11-21 23:44:58 UTC\n    3 cases open\n"
        );
        for width in [40, 60, 80] {
            let text = columns_within(&rows, Some(width));
            assert!(
                text.lines().all(|line| line.chars().count() <= width),
                "{text}"
            );
        }
        assert_eq!(
            wrapped("left out: a (b c)", Some(15)),
            "left out: a\n    (b c)\n"
        );
    }
}
