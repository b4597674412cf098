//! Pages for the web, in Markdown (`CommonMark` with GitHub's tables).
//!
//! Everything is escaped, so that no name can break a table or smuggle in markup. Commands are left out: who reads the
//! page is not where they can be typed.

use super::drawing::Drawing;
use crate::page::block::{Block, Cell, MARK, Picture, Table, Text, Tone};
use dialects::printable::printable;

/// For the web.
pub(crate) static MARKDOWN: Drawing = Drawing {
    of_terminal: false,
    draw: |page, _| markdown(page),
};

/// The page in Markdown.
pub fn markdown(page: &[Block]) -> String {
    blocks(page, 0)
}

/// The blocks of a section in so many others, an empty line between two of them.
fn blocks(list: &[Block], depth: usize) -> String {
    let parts = list.iter().map(|part| block(part, depth));
    let parts: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("\n")
}

fn block(block: &Block, depth: usize) -> String {
    if block.is_empty() {
        return String::new();
    }
    match block {
        Block::Title(name, line, below) => title(name, &[line, below]),
        Block::Section(None, inner) | Block::Within(_, inner) => blocks(inner, depth),
        Block::Section(Some(heading), inner) => match blocks(inner, depth + 1) {
            inner if inner.is_empty() => inner,
            inner => format!("{}\n{inner}", under(depth, heading)),
        },
        Block::Name(name) => under(depth, &Text::name(name)),
        Block::Line(text) => escape(text) + "\n",
        Block::Facts(list) => facts(list),
        Block::Table(table) => rows(table),
        Block::Bullets(lines) => lines.iter().map(bullet).collect(),
        Block::Course(picture, [from, to]) => {
            let line = picture.draw(picture.most);
            let (from, to) = (printable(from), printable(to));
            format!("```text\n{line}\n{from} .. {to}\n```\n")
        }
        // The words are our own: none of them ends it.
        Block::Comment(text) => format!("<!-- {text} -->\n"),
        Block::Commands(_) | Block::Chart(_) | Block::Long(_) => String::new(),
        Block::Fitting(forms) => forms
            .first()
            .map_or_else(String::new, |form| blocks(form, depth)),
    }
}

fn title(name: &[Text], lines: &[&String]) -> String {
    let name: Vec<String> = name.iter().map(span).collect();
    let mut out = format!("## {}\n", name.join(": "));
    let lines = lines.iter().filter(|line| !line.is_empty());
    let lines: Vec<String> = lines.map(|line| escape(line)).collect();
    if !lines.is_empty() {
        out += &["\n", &lines.join("; "), "\n"].concat();
    }
    out
}

/// A heading below that of the page.
fn under(depth: usize, heading: &Text) -> String {
    format!("{} {}\n", "#".repeat(3 + depth), span(heading))
}

fn facts(list: &[(Text, Text)]) -> String {
    let mut above = &Text::default();
    let lines = list.iter().map(|(name, text)| {
        if !name.text.is_empty() {
            above = name;
        }
        fact(above, text)
    });
    lines.collect()
}

fn fact(name: &Text, text: &Text) -> String {
    match (name.tone, name.text.as_str()) {
        (Tone::Sign, "!" | "-") => bullet(text),
        (Tone::Sign, _) => format!("- {} {}\n", span(name), span(text)),
        _ => format!("- {}: {}\n", span(name), span(text)),
    }
}

fn bullet(text: &Text) -> String {
    format!("- {}\n", span(text))
}

fn rows(table: &Table) -> String {
    let heads = table.columns.iter().map(|(head, _)| escape(head));
    let ruler = table.columns.iter().map(|_| "---".to_owned());
    let mut out = row(heads) + &row(ruler);
    for cells in &table.rows {
        out.push_str(&row(cells.iter().map(cell)));
    }
    out
}

/// One row of a table; the cells are Markdown already.
fn row(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<String>>().join(" | "))
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) | Cell::Below(text, _) => span(text),
        Cell::Bar(filled, missing) => drawn("#".repeat(*filled) + &".".repeat(*missing)),
        Cell::Picture(picture) => drawn(line_of(picture)),
    }
}

/// The line of a picture, whose empty columns must not be taken together.
fn line_of(picture: &Picture) -> String {
    picture.draw(picture.most).replace(' ', "\u{a0}")
}

fn drawn(line: String) -> String {
    if line.is_empty() {
        line
    } else {
        format!("`{line}`")
    }
}

/// A text as what it is; a mark stays behind it.
fn span(text: &Text) -> String {
    let (body, mark) = match text.text.strip_suffix(MARK) {
        Some(body) => (body, " \\*"),
        None => (text.text.as_str(), ""),
    };
    match text.tone {
        Tone::Name => code(body) + mark,
        // Where bold does not show, the mark does.
        Tone::Best => format!("**{}{mark}**", escape(body)),
        Tone::Plain | Tone::Sign | Tone::Attention | Tone::Worse => escape(body) + mark,
    }
}

/// `text` as a span of code; as escaped text where it holds what has no escape inside such a span of a table.
pub(crate) fn code(text: &str) -> String {
    if text.contains(['`', '|', '\\', '<']) {
        escape(text)
    } else {
        format!("`{}`", printable(text))
    }
}

/// `text` with everything escaped that Markdown would read as markup.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in printable(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '&' | '#' | '~' => {
                out.extend(['\\', c]);
            }
            // What keeps words together on a terminal.
            '\u{a0}' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
