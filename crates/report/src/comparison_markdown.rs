//! A comparison for web pages: the same parts as on a terminal, in Markdown. The better value is in bold.

use crate::comparison::{self, ComparisonView, Party};
use crate::comparison_notes;
use crate::comparison_refused;
use crate::render::markdown::{code, escape};
use crate::words::{Lang, Words};
use dialects::printable::printable;
use model::comparison::Comparison;
use std::fmt::Write as _;

/// The comparison in Markdown.
pub fn markdown(view: &ComparisonView<'_>, lang: Lang) -> String {
    let words = lang.words();
    let mut out = String::new();
    for (other, comparison) in &view.others {
        if !out.is_empty() {
            out.push('\n');
        }
        one(&mut out, &view.base, other, comparison, words);
    }
    if out.is_empty() {
        return format!("{}\n", escape(words.comparison.nothing));
    }
    let legend = comparison::legend(view, words);
    if !legend.is_empty() {
        out.push('\n');
        out.push_str(&bullets(&legend));
    }
    out
}

/// One bullet for each line.
fn bullets<T: AsRef<str>>(lines: &[T]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "- {}", escape(line.as_ref()));
    }
    out
}

/// The heading row of a table with its ruler.
fn head_row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let ruler = vec!["---".to_owned(); cells.len()];
    row(&cells) + &row(&ruler)
}

/// One row of a table; the cells are Markdown already.
fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn one(
    out: &mut String,
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) {
    let says = &words.comparison;
    let (base_name, other_name) = comparison::names(base, other, words);
    // Writing to a String cannot fail.
    let _ = writeln!(out, "## {} / {}\n", escape(&base_name), escape(&other_name));
    for (side, lines) in comparison::heads(base, other, words) {
        for line in lines {
            let _ = writeln!(out, "- {side}: {}", escape(&line));
        }
    }

    out.push_str(&bullets(&comparison::pairing(
        base, other, comparison, words,
    )));
    let scope = (says.scope)(&comparison.scope);
    section(out, &format!("{}: {scope}", says.summary));
    out.push_str(&bullets(&comparison::summary(
        base, other, comparison, words,
    )));

    if !comparison.categories.is_empty() {
        section(out, &format!("{}: {scope}", says.categories));
        out.push_str(&head_row(&[
            "",
            says.ratio,
            words.run.interval,
            says.verdict,
            "",
        ]));
        for category in &comparison.categories {
            let cells = comparison::category_row(category, words).map(|cell| escape(&cell));
            out.push_str(&row(&cells));
        }
    }
    table(out, base, other, comparison, words);
    let notes = comparison_notes::notes(base, other, comparison, words);
    if !notes.is_empty() {
        section(out, says.notes);
        out.push_str(&bullets(&notes));
    }
    let refused = comparison_refused::refused(base, other, comparison, words);
    for (heading, list) in [
        (says.without_interval, refused.without_interval),
        (says.refused, refused.not_compared),
    ] {
        if list.is_empty() {
            continue;
        }
        section(out, heading);
        for (metric, why) in list {
            let _ = writeln!(out, "- {}: {}", code(&metric), escape(&why));
        }
    }
    if !comparison.differences.is_empty() {
        section(out, says.differences);
        out.push_str(&head_row(&["", says.base, says.other]));
        for difference in &comparison.differences {
            out.push_str(&row(&[
                escape(&printable(&difference.what)),
                escape(&printable(&difference.base)),
                escape(&printable(&difference.other)),
            ]));
        }
    }
}

fn table(
    out: &mut String,
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) {
    let rows = comparison::rows(base, other, comparison, words);
    if rows.is_empty() {
        return;
    }
    out.push('\n');
    out.push_str(&head_row(
        &comparison::headings(base, other, words)
            .each_ref()
            .map(|heading| escape(heading))
            .each_ref()
            .map(String::as_str),
    ));
    for line in rows {
        out.push_str(&row(&[
            code(&line.metric),
            line.unit,
            marked(&line.base),
            marked(&line.other),
            line.ratio,
            line.interval,
            escape(&line.verdict),
            line.needed,
        ]));
    }
}

/// The better value in bold, its mark kept: where bold does not show, the mark does.
fn marked(value: &str) -> String {
    value.strip_suffix(" *").map_or_else(
        || escape(value),
        |value| format!("**{} \\***", escape(value)),
    )
}

fn section(out: &mut String, heading: &str) {
    let _ = writeln!(out, "\n### {heading}\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn a_comparison_for_a_blog() {
        let (base, other, comparison) = testkit::comparison();
        let view = ComparisonView {
            base: Party::one(&base),
            others: vec![(Party::one(&other), comparison)],
        };
        insta::assert_snapshot!("comparison_markdown", markdown(&view, Lang::En));
    }
}
