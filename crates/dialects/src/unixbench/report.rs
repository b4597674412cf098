//! UnixBench's report as it stands in a text: its blocks, one per number of copies, with their lines and index tables.
//!
//! What is looked for are phrases and the shape of lines, never columns: people indent reports, collapse their blanks,
//! cut their heads and print several of them one after the other.

use crate::figures::line::{amount, lines};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::units::UnixNanos;
use std::collections::BTreeSet;

/// The units of result lines.
const UNITS: [&str; 6] = ["lps", "lpm", "MWIPS", "KBps", "score", "fps"];

/// What was measured with one number of copies.
#[derive(Debug, Default)]
pub(super) struct Block {
    /// Which report of the text it is part of; 0 before the first headline.
    pub(super) report: usize,
    pub(super) version: Option<String>,
    pub(super) language: Option<String>,
    pub(super) when: Option<UnixNanos>,
    pub(super) copies: Option<u32>,
    /// The line at which it begins.
    pub(super) line: usize,
    pub(super) rows: Vec<Row>,
    pub(super) tables: Vec<Table>,
    /// Lines that end as results do and are none, by their numbers.
    pub(super) odd: Vec<(usize, String)>,
}

/// A result line: what a test scored.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) line: usize,
    pub(super) title: String,
    pub(super) score: f64,
    pub(super) unit: String,
    /// Passes behind the score.
    pub(super) samples: Option<u32>,
    /// `secs`, as version 4 writes it.
    is_of_4: bool,
}

/// An index table.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) rows: Vec<IndexRow>,
    /// The index, and its line.
    pub(super) total: Option<(usize, f64)>,
}

/// A line of an index table.
#[derive(Debug)]
pub(super) struct IndexRow {
    pub(super) line: usize,
    pub(super) title: String,
    pub(super) baseline: f64,
    pub(super) result: f64,
    pub(super) index: f64,
}

/// Every block of a text.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let mut reading = Reading::default();
    for (number, line) in lines(text) {
        reading.line(number, line);
    }
    reading.blocks
}

#[derive(Default)]
struct Reading {
    /// What a headline said, for the blocks that follow it.
    head: Block,
    blocks: Vec<Block>,
    /// Whether the last block still grows.
    is_open: bool,
    /// The titles of its lines.
    titles: BTreeSet<String>,
    /// Whether its last index table does.
    in_table: bool,
}

impl Reading {
    fn line(&mut self, number: usize, line: &str) {
        if let Some((_, rest)) = line.split_once("BYTE UNIX Benchmarks (Version ") {
            let version = rest
                .split_once(')')
                .map(|(version, _)| version.trim().to_owned());
            let report = self.head.report + 1;
            self.head = Block {
                report,
                version,
                ..Block::default()
            };
            self.is_open = false;
        } else if let Some((_, start)) = line.split_once("Benchmark Run: ") {
            self.head.when = date(start);
            self.is_open = false;
        } else if let Some(language) = line.strip_prefix("Language: ") {
            self.head.language = Some(language.to_owned());
        } else if let Some((_, rest)) = line.split_once(" in system; running ") {
            self.open(number).copies = copies(rest);
        } else if ["BASELINE", "RESULT", "INDEX"]
            .iter()
            .all(|word| line.contains(word))
        {
            self.grow(number).tables.push(Table::default());
            self.in_table = true;
        } else if line.contains("Index Score") || line.contains("FINAL SCORE") {
            if let (true, Some(total)) = (self.in_table, printed(line)) {
                self.table(number).total = Some((number, total));
            }
            self.in_table = false;
        } else if let Some(row) = row(number, line) {
            self.grow(number);
            if !self.titles.insert(row.title.clone()) {
                self.open(number);
                self.titles.insert(row.title.clone());
            }
            self.grow(number).rows.push(row);
        } else if let (true, Some(row)) = (self.in_table, index_row(number, line)) {
            self.table(number).rows.push(row);
        } else if self.is_open && line.ends_with(" samples)") {
            self.grow(number).odd.push((number, line.to_owned()));
        }
    }

    /// A new block.
    fn open(&mut self, line: usize) -> &mut Block {
        self.blocks.push(Block {
            report: self.head.report,
            version: self.head.version.clone(),
            language: self.head.language.clone(),
            when: self.head.when.take(),
            line,
            ..Block::default()
        });
        (self.is_open, self.in_table) = (true, false);
        self.titles.clear();
        self.grow(line)
    }

    /// The block that grows.
    fn grow(&mut self, line: usize) -> &mut Block {
        if !self.is_open || self.blocks.is_empty() {
            return self.open(line);
        }
        let last = self.blocks.len() - 1;
        &mut self.blocks[last]
    }

    fn table(&mut self, line: usize) -> &mut Table {
        let tables = &mut self.grow(line).tables;
        if tables.is_empty() {
            tables.push(Table::default());
        }
        let last = tables.len() - 1;
        &mut tables[last]
    }
}

impl Row {
    /// What an index table says of a test whose result line is missing.
    pub(super) fn of_table(row: &IndexRow, unit: &str) -> Self {
        Self {
            line: row.line,
            title: row.title.clone(),
            score: row.result,
            unit: unit.to_owned(),
            samples: None,
            is_of_4: false,
        }
    }
}

impl Block {
    /// The number of copies: version 4 knows only one and does not say so.
    pub(super) fn copies(&self) -> Option<u32> {
        let version = self.version.as_deref().unwrap_or_default();
        let is_of_4 = version.starts_with("4.") || self.rows.iter().any(|row| row.is_of_4);
        self.copies.or(is_of_4.then_some(1))
    }

    /// True for a report in UnixBench's layout that this program wrote.
    pub(super) fn is_our_own(&self) -> bool {
        self.version
            .as_deref()
            .is_some_and(|version| version.contains("kurabe"))
    }
}

/// `4 parallel copies of tests`.
fn copies(rest: &str) -> Option<u32> {
    let (n, rest) = rest.split_once(' ')?;
    let n: u32 = n.parse().ok()?;
    (n > 0 && rest.starts_with("parallel cop")).then_some(n)
}

/// `Fri Apr 11 2025 19:08:56 - 19:37:02`, and version 4's `Thu Sep  5 21:19:59 BST 2002`. The letters of a zone are no
/// zone (BST is two), and are left out.
pub(super) fn date(text: &str) -> Option<UnixNanos> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let ([_, month, day, year, time, "-", ..]
    | [_, month, day, time, _, year]
    | [_, month, day, time, year]) = words[..]
    else {
        return None;
    };
    let text = format!("{month} {day} {year} {time}");
    let at = DateTime::strptime("%b %d %Y %H:%M:%S", text).ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    u64::try_from(at).ok().map(UnixNanos)
}

/// `System Call Overhead   307830.4 lps   (10.0 s, 7 samples)`; people cut the brackets, but no known line has others
/// behind its unit.
fn row(line: usize, text: &str) -> Option<Row> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at = (1..words.len().checked_sub(1)?).find(|&at| UNITS.contains(&words[at + 1]))?;
    let behind = &words[at + 2..];
    if behind.first().is_some_and(|word| !word.starts_with('(')) {
        return None;
    }
    let samples = match behind {
        [.., n, "samples)" | "sample)"] => n.parse().ok(),
        _ => None,
    };
    Some(Row {
        line,
        title: words[..at].join(" "),
        score: printed(words[at])?,
        unit: words[at + 1].to_owned(),
        samples,
        is_of_4: behind.contains(&"secs,"),
    })
}

/// `System Call Overhead   15000.0   307830.4   205.2`.
fn index_row(line: usize, text: &str) -> Option<IndexRow> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [title @ .., baseline, result, index] = &words[..] else {
        return None;
    };
    (!title.is_empty()).then_some(())?;
    Some(IndexRow {
        line,
        title: title.join(" "),
        baseline: printed(baseline)?,
        result: printed(result)?,
        index: printed(index)?,
    })
}

/// The last word of a text, as the number with decimals that every figure of a report is.
fn printed(text: &str) -> Option<f64> {
    let word = text.split_whitespace().next_back()?;
    let (_, decimals) = word.split_once('.')?;
    let (value, rest) = amount(word)?;
    (rest.is_empty() && !decimals.is_empty()).then_some(value)
}
