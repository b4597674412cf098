//! Lists of what can be run and of what was.

use super::block::{Align, Block, Table};
use crate::lang::Lang;

/// Rows that end in a sentence: behind the other columns, or below them where there is no room.
pub fn described(rows: Vec<Vec<String>>) -> Block {
    Block::Table(Table {
        wrapped: true,
        ..table(rows)
    })
}

/// Rows whose first columns say which one it is; the others stand below these where there is no room beside them.
pub fn rows(rows: Vec<Vec<String>>, first: usize) -> Block {
    let narrow = rows.iter().map(|row| {
        let (first, rest) = row.split_at(first);
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        [first, &[rest.join("  ")]].concat()
    });
    let narrow = described(narrow.collect());
    Block::Fitting(vec![vec![Block::Table(table(rows))], vec![narrow]])
}

fn table(rows: Vec<Vec<String>>) -> Table {
    let columns = rows.first().map_or(0, Vec::len);
    Table {
        rows: rows
            .into_iter()
            .map(|row| row.into_iter().map(Into::into).collect())
            .collect(),
        ..Table::plain(vec![Align::Left; columns])
    }
}

/// What is said of lists of tests, profiles and metrics, which are the reference to which every figure refers: a
/// translation could differ from it.
pub fn in_english(lang: Lang) -> Option<&'static str> {
    match lang {
        Lang::En => None,
        Lang::Ja => Some("注: テスト、プロファイル、測定項目の説明は英語のみです"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text;
    use crate::style::Style;

    fn of(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let owned = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        rows.iter().map(owned).collect()
    }

    fn check(block: Block, width: usize, expect: &str) {
        let style = Style {
            width,
            color: false,
        };
        assert_eq!(text(&[block], style), expect, "{width}");
    }

    #[test]
    fn a_sentence_is_broken_beside_the_other_columns_or_stands_below_them() {
        let said = "what this one is about takes more room than there is";
        let narrow = of(&[&["a", said], &["bcd", "short"]]);
        let whole = format!("a    {said}\nbcd  short\n");
        check(described(narrow.clone()), 1 << 16, &whole);
        check(
            described(narrow),
            40,
            "a    what this one is about takes more\n     room than there is\nbcd  short\n",
        );
        let wide = of(&[&["storage.randread-4k@1", "about six rounds", said]]);
        check(
            described(wide),
            40,
            "storage.randread-4k@1  about six rounds\n  what this one is about takes more room\n  than there is\n",
        );
    }

    #[test]
    fn rows_line_up_whatever_the_script_and_are_told_in_two_lines_where_one_is_too_short() {
        let kept = || {
            of(&[
                &[
                    "20261121-2345",
                    "東京",
                    "2026-11-21",
                    "25 cases",
                    "complete",
                ],
                &["20261121-2344", "", "2026-11-20", "3 cases", "open"],
            ])
        };
        check(
            rows(kept(), 3),
            80,
            "20261121-2345  東京  2026-11-21  25 cases  complete\n\
             20261121-2344        2026-11-20  3 cases   open\n",
        );
        check(
            rows(kept(), 3),
            40,
            "20261121-2345  東京  2026-11-21\n  25 cases  complete\n\
             20261121-2344        2026-11-20\n  3 cases  open\n",
        );
    }
}
