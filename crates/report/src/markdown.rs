//! A run for web pages, in Markdown (`CommonMark` with GitHub's tables).
//!
//! Everything that comes from outside is escaped, so that no name can break a table or smuggle in markup.

use crate::number::NONE;
use crate::scaling;
use crate::style::Style;
use crate::table::Grid;
use crate::text::{
    NOTED, OF_NOTES, about_run, dropped, facts_of, index_remarks, notes, run_line, soaked, state,
    without_value,
};
use crate::view::{RunView, index_text};
use crate::words::{Lang, Words};
use dialects::printable::printable;
use stats::soak::SoakSummary;
use std::fmt::Write as _;

/// The run in Markdown.
pub fn markdown(view: &RunView<'_>, lang: Lang) -> String {
    let words = lang.words();
    let run = view.run;
    let title = run.meta.label.as_deref().unwrap_or(&run.meta.id);
    let mut out = format!("## {}", escape(&printable(title)));
    if let Some(case) = soaked(run) {
        let _ = write!(out, ": {}", code(&printable(&case.to_string())));
    }
    out.push_str("\n\n");
    let _ = writeln!(out, "{}\n", escape(&run_line(run, words)));
    for (name, text) in facts_of(view, words) {
        let _ = writeln!(out, "- {}: {}", escape(&name), escape(&text));
    }
    if let Some(soak) = &view.soak {
        self::soak(&mut out, soak, view, words);
    } else {
        metrics(&mut out, view, words);
        let set_ups = crate::set_up::lines(view, words);
        list(&mut out, words.run.set_up, &set_ups);
    }
    storage(&mut out, view, words);
    memory(&mut out, view, words);
    scales(&mut out, view, words);
    indexes(&mut out, view, words);
    list(
        &mut out,
        words.run.without_value,
        &without_value(view, words),
    );
    list(&mut out, words.run.dropped, &dropped(run));
    let lines = about_run(view, words);
    if !lines.is_empty() {
        let _ = writeln!(out, "\n### {}\n", words.run.warnings);
        out.push_str(&bullets(&lines));
    }
    let notes = notes(view, words);
    if !notes.is_empty() {
        let _ = writeln!(out, "\n### {}\n", words.run.notes);
        for (mark, text) in notes {
            let mark = if mark == NOTED || mark == OF_NOTES {
                String::new()
            } else {
                escape(&mark) + " "
            };
            let _ = writeln!(out, "- {mark}{}", escape(&text));
        }
    }
    out
}

fn metrics(out: &mut String, view: &RunView<'_>, words: &Words) {
    out.push('\n');
    if view.metrics.is_empty() {
        let _ = writeln!(out, "{}", words.run.nothing);
        return;
    }
    out.push_str(&head_row(&words.metric_headings()));
    for metric in view.measured() {
        let shown = view.shown(metric);
        out.push_str(&row(&[
            code(&view.name(metric)) + &escape(view.mark(metric)),
            shown.value,
            shown.unit,
            shown.interval,
            shown.rounds,
            escape(&state(metric, words)),
            escape(&view.marks.of(&metric.warnings)),
        ]));
    }
}

/// A soak: its sentence, its course, its levels and its marks.
fn soak(out: &mut String, soak: &SoakSummary, view: &RunView<'_>, words: &Words) {
    let _ = writeln!(out, "\n{}\n", escape(&crate::soak::sentence(soak, words)));
    let course = crate::soak::course(soak, view, Style::PLAIN, words);
    if !course.is_empty() {
        let _ = writeln!(out, "```text\n{course}```");
    }
    let levels = crate::soak::levels(soak, view, words);
    if !levels.is_empty() {
        out.push('\n');
        out.push_str(&head_row(&[
            words.soak.levels,
            words.run.value,
            words.run.notes,
        ]));
        for cells in levels {
            out.push_str(&row(&cells.map(|cell| escape(&cell))));
        }
    }
    let marks = crate::soak::marks(soak, words);
    if !marks.is_empty() {
        let _ = writeln!(out, "\n### {}\n", words.soak.marks);
        for (at, text) in marks {
            let at = if at == NOTED {
                String::new()
            } else {
                escape(&at) + ": "
            };
            let _ = writeln!(out, "- {at}{}", escape(&text));
        }
    }
}

/// Memory: the curves and matrices as they are on a terminal, and the latency under load.
fn memory(out: &mut String, view: &RunView<'_>, words: &Words) {
    let memory = crate::memory::block(view, Style::PLAIN, words);
    let loaded = crate::loaded::block(view, Style::PLAIN, words);
    let headings = [words.memory.heading, words.loaded.heading];
    for (heading, block) in headings.into_iter().zip([memory, loaded]) {
        if !block.is_empty() {
            let _ = writeln!(out, "\n### {heading}\n\n```text\n{block}```");
        }
    }
}

/// Storage: for each case its pictures and its sentences.
fn storage(out: &mut String, view: &RunView<'_>, words: &Words) {
    let Some(storage) = &view.storage else { return };
    let says = &words.storage;
    let _ = writeln!(out, "\n### {}", says.heading);
    for case in &storage.cases {
        let _ = writeln!(out, "\n{}\n", code(&printable(&case.case.to_string())));
        let mut grid = Grid::new(3);
        for row in crate::storage::rows(case, crate::storage::BLOCKS_MAX, says) {
            grid.row(row.to_vec());
        }
        if !grid.is_empty() {
            let _ = writeln!(out, "```text\n{}```\n", grid.render(&[]));
        }
        out.push_str(&bullets(&crate::storage::sentences(case, says)));
    }
    for line in crate::storage::about_all(storage, words) {
        let _ = writeln!(out, "\n{}", escape(&line));
    }
}

fn scales(out: &mut String, view: &RunView<'_>, words: &Words) {
    let says = &words.scaling;
    for test in &view.scaling {
        let name = scaling::heading(view, test, words);
        let _ = writeln!(out, "\n### {}: {}\n", says.heading, code(&name));
        let head = scaling::headings(test, says, words);
        let head: Vec<&str> = head.iter().map(String::as_str).collect();
        out.push_str(&head_row(&head));
        for step in &test.steps {
            let cells = scaling::cells(view, test, step);
            let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
            out.push_str(&row(&cells));
        }
        out.push('\n');
        let lines: Vec<String> = scaling::sentences(test, says);
        out.push_str(&bullets(&lines));
    }
    if view.scaling.is_empty() {
        return;
    }
    for line in scaling::legend(view, says) {
        let _ = writeln!(out, "\n{}", escape(&line));
    }
}

fn indexes(out: &mut String, view: &RunView<'_>, words: &Words) {
    if view.indexes.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### {}\n", words.run.index);
    out.push_str(&head_row(&[
        "",
        words.run.value,
        words.run.interval,
        words.run.notes,
    ]));
    for index in &view.indexes {
        let (value, interval) = index
            .estimate
            .as_ref()
            .map_or_else(|| (NONE.to_owned(), None), index_text);
        out.push_str(&row(&[
            (words.run.copies)(index.copies),
            value,
            interval.unwrap_or_else(|| NONE.to_owned()),
            escape(&index_remarks(index, words).join("; ")),
        ]));
    }
}

fn list(out: &mut String, heading: &str, pairs: &[(String, String)]) {
    if pairs.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n### {heading}\n");
    for (name, text) in pairs {
        let _ = writeln!(out, "- {}: {}", code(name), escape(text));
    }
}

/// One bullet for each line.
pub(crate) fn bullets<T: AsRef<str>>(lines: &[T]) -> String {
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "- {}", escape(line.as_ref()));
    }
    out
}

/// The heading row of a table with its ruler.
pub(crate) fn head_row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|cell| (*cell).to_owned()).collect();
    let ruler = vec!["---".to_owned(); cells.len()];
    row(&cells) + &row(&ruler)
}

/// One row of a table; the cells are Markdown already.
pub(crate) fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// `text` as a span of code; as escaped text where it holds what has no escape inside such a span of a table.
pub(crate) fn code(text: &str) -> String {
    if text.contains(['`', '|', '\\', '<']) {
        escape(text)
    } else {
        format!("`{text}`")
    }
}

/// `text` with everything escaped that Markdown would read as markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '#' | '~'
        ) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::view;

    #[test]
    fn a_run_for_a_blog() {
        let run = testkit::with_failures();
        insta::assert_snapshot!("run_markdown", markdown(&view(&run), Lang::En));
    }

    #[test]
    fn a_run_for_a_japanese_blog() {
        let run = testkit::normal();
        insta::assert_snapshot!("run_markdown_ja", markdown(&view(&run), Lang::Ja));
    }

    #[test]
    fn every_row_of_a_table_has_as_many_cells_as_its_head() {
        let run = testkit::hostile();
        let text = markdown(&view(&run), Lang::En);
        let mut cells_of_table = None;
        for line in text.lines() {
            if !line.starts_with('|') {
                cells_of_table = None;
                continue;
            }
            let bars = line
                .replace("\\\\", "")
                .replace("\\|", "")
                .matches('|')
                .count();
            assert_eq!(*cells_of_table.get_or_insert(bars), bars, "{line}");
        }
        assert!(!text.contains("<script>"), "{text}");
        assert!(!text.contains('\u{1b}'));
    }
}
