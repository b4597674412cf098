//! A comparison for people, on a terminal.
//!
//! For each other run: who is compared with whom, the summary in words, one headline per category, one line per
//! metric, what was refused and why, and what differs in the set-up. The better side carries a `*`, the verdict a
//! word.

use crate::comparison::{self, ComparisonView, Party, Row};
use crate::comparison_notes;
use crate::comparison_refused;
use crate::style::Style;
use crate::table::{Grid, indent};
use crate::words::{Lang, Words};
use dialects::printable::printable;
use model::comparison::Comparison;

/// The comparison as text.
pub fn text(view: &ComparisonView<'_>, style: Style, lang: Lang) -> String {
    let words = lang.words();
    let mut page = Page {
        out: String::new(),
        style,
    };
    for (other, comparison) in &view.others {
        if !page.out.is_empty() {
            page.out.push('\n');
        }
        one(&mut page, &view.base, other, comparison, words);
    }
    if page.out.is_empty() {
        page.out.push_str(words.comparison.nothing);
        page.out.push('\n');
    } else {
        let lines: Vec<(String, String)> = comparison::legend(view, words)
            .into_iter()
            .map(|line| ("-".to_owned(), line.to_owned()))
            .collect();
        page.block(None, &pairs(&lines, style));
    }
    page.out
}

/// The page being written.
struct Page {
    out: String,
    style: Style,
}

impl Page {
    /// Appends a block after an empty line: under its heading and indented, or as it stands. Empty blocks vanish.
    fn block(&mut self, heading: Option<&str>, text: &str) {
        if text.is_empty() {
            return;
        }
        self.out.push('\n');
        match heading {
            Some(heading) => {
                self.out.push_str(&self.style.heading(heading));
                self.out.push('\n');
                self.out.push_str(&indent(text));
            }
            None => self.out.push_str(text),
        }
    }
}

/// Pairs of a name and a sentence, the sentences broken to fit under a heading.
fn pairs(list: &[(String, String)], style: Style) -> String {
    let mut grid = Grid::new(2);
    for (name, text) in list {
        grid.row(vec![name.clone(), text.clone()]);
    }
    if grid.is_empty() {
        return String::new();
    }
    grid.render_wrapped(style.columns() - 2, &[])
}

fn one(
    page: &mut Page,
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) {
    let says = &words.comparison;
    let style = page.style;
    let sides: Vec<(String, String)> = comparison::heads(base, other, words)
        .into_iter()
        .flat_map(|(name, lines)| {
            let names = std::iter::once(name).chain(std::iter::repeat(String::new()));
            names.zip(lines)
        })
        .collect();
    page.out.push_str(&pairs(&sides, style));
    let bulleted = |lines: Vec<String>| -> Vec<(String, String)> {
        let bullet = |line| ("-".to_owned(), line);
        lines.into_iter().map(bullet).collect()
    };
    let pairing = bulleted(comparison::pairing(base, other, comparison, words));
    page.block(None, &pairs(&pairing, style));

    let summary = bulleted(comparison::summary(base, other, comparison, words));
    let scope = (says.scope)(&comparison.scope);
    let about = |heading: &str| format!("{heading}: {scope}");
    page.block(Some(&about(says.summary)), &pairs(&summary, style));

    let mut categories = Grid::with_header(&["", says.ratio, words.run.interval, says.verdict, ""]);
    for category in &comparison.categories {
        categories.row(comparison::category_row(category, words).to_vec());
    }
    if !categories.is_empty() {
        page.block(Some(&about(says.categories)), &categories.render(&[1, 2]));
    }

    let rows = comparison::rows(base, other, comparison, words);
    page.block(
        None,
        &table(
            &rows,
            &comparison::headings(base, other, words),
            style,
            words,
        ),
    );
    let notes = bulleted(comparison_notes::notes(base, other, comparison, words));
    page.block(Some(says.notes), &pairs(&notes, style));
    let refused = comparison_refused::refused(base, other, comparison, words);
    page.block(
        Some(says.without_interval),
        &pairs(&refused.without_interval, style),
    );
    page.block(Some(says.refused), &pairs(&refused.not_compared, style));
    page.block(Some(says.differences), &differences(comparison, style));
}

fn table(rows: &[Row], headings: &[String; 8], style: Style, words: &Words) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let mut grid = Grid::with_header(&headings.each_ref().map(String::as_str));
    for row in rows {
        grid.row(vec![
            row.below.as_ref().unwrap_or(&row.metric).clone(),
            row.unit.clone(),
            aligned(&row.base),
            aligned(&row.other),
            row.ratio.clone(),
            row.interval.clone(),
            row.verdict.clone(),
            row.needed.clone(),
        ]);
    }
    if grid.width() <= style.columns() {
        return grid.render(&[2, 3, 4, 5]);
    }
    rows.iter().map(|row| narrow(row, words)).collect()
}

/// Room for the mark behind values that have none, so that the digits line up.
fn aligned(value: &str) -> String {
    if value.ends_with('*') {
        value.to_owned()
    } else {
        // A no-break space survives the trimming that cells get.
        format!("{value} \u{a0}")
    }
}

/// A metric on two lines, for terminals that are too narrow for the table.
fn narrow(row: &Row, words: &Words) -> String {
    let mut tail = format!("{} ({})  {}", row.ratio, row.interval, row.verdict);
    if !row.needed.is_empty() {
        tail = format!("{tail}; {} {}", words.comparison.needed, row.needed);
    }
    format!(
        "{}  {} | {} {}\n  {tail}\n",
        row.metric, row.base, row.other, row.unit
    )
}

fn differences(comparison: &Comparison, style: Style) -> String {
    let list: Vec<(String, String)> = comparison
        .differences
        .iter()
        .map(|difference| {
            (
                printable(&difference.what),
                format!(
                    "{} | {}",
                    printable(&difference.base),
                    printable(&difference.other)
                ),
            )
        })
        .collect();
    pairs(&list, style)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    fn shown(width: usize, lang: Lang) -> String {
        let (base, other, comparison) = testkit::comparison();
        let view = ComparisonView {
            base: Party::one(&base),
            others: vec![(Party::one(&other), comparison)],
        };
        let style = Style {
            width,
            color: false,
        };
        text(&view, style, lang)
    }

    #[test]
    fn wide_in_english() {
        insta::assert_snapshot!("comparison_en", shown(120, Lang::En));
    }

    #[test]
    fn wide_in_japanese() {
        insta::assert_snapshot!("comparison_ja", shown(120, Lang::Ja));
    }

    #[test]
    fn narrow_terminals_get_two_lines_a_metric() {
        insta::assert_snapshot!("comparison_narrow", shown(60, Lang::En));
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in [60, 80, 100, 120] {
            for lang in Lang::ALL {
                for line in shown(width, lang).lines() {
                    assert!(
                        crate::page::run::tests::columns(line) <= width,
                        "{width}: {line}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_duel_says_that_it_is_one_and_looks_say_that_they_decided() {
        for lang in Lang::ALL {
            let (base, other, mut comparison) = testkit::comparison();
            let mut says = |paired, looked| {
                (comparison.paired, comparison.looked) = (paired, looked);
                let (base, other) = (Party::one(&base), Party::one(&other));
                comparison::pairing(&base, &other, &comparison, lang.words())
            };
            assert!(says(false, false).is_empty());
            let targets = says(false, true);
            let duel = says(true, false);
            let looked = says(true, true);
            assert_eq!((targets.len(), duel.len(), looked.len()), (1, 1, 2));
            assert!(targets[0].contains("98.4 %") && targets[0].contains("99.4 %"));
            assert!(looked[1].contains("98.4 %") && looked[1].contains("98.8 %"));
            let view = ComparisonView {
                base: Party::one(&base),
                others: vec![(Party::one(&other), comparison)],
            };
            let page = text(&view, Style::PLAIN, lang);
            assert!(page.contains("98.4 %") && page.contains("98.8 %"), "{page}");
            let page = crate::comparison_markdown::markdown(&view, lang);
            assert!(page.contains("98.4 %") && page.contains("98.8 %"), "{page}");
        }
    }

    #[test]
    fn what_disturbed_a_side_is_said_with_its_name() {
        let (base, other, mut comparison) = testkit::comparison();
        comparison.disturbed.1 = vec![model::warning::Warning::Throttled { rounds_share: 0.5 }];
        let (base, other) = (Party::one(&base), Party::one(&other));
        for lang in Lang::ALL {
            let notes = comparison_notes::notes(&base, &other, &comparison, lang.words());
            let said: Vec<&String> = notes.iter().filter(|note| note.contains("50 %")).collect();
            assert!(
                said.len() == 1 && said[0].starts_with("cloud ssd: "),
                "{notes:?}"
            );
        }
    }

    #[test]
    fn nothing_to_compare_is_said() {
        let run = testkit::normal();
        let view = ComparisonView {
            base: Party::one(&run),
            others: Vec::new(),
        };
        assert_eq!(
            text(&view, Style::PLAIN, Lang::En),
            "there is nothing to compare\n"
        );
    }
}
