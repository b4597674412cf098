//! Reports of UnixBench 4.1 to 6: what its tests scored.
//!
//! A line of 5.1 or 6 is a figure of kurabe's test of the same kind of work, measured by the rules of that version
//! (`compat`). Version 4 has other tests behind the same titles and other reference scores, and of a report without a
//! headline nobody knows the version: those figures stand for themselves. An index is no figure, for it follows from
//! the lines; where it does not, that is said.

use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader};
use crate::printable::said;
use crate::unixbench::report::{Block, Row, Table, blocks};
use crate::unixbench::table::{IndexTest, TESTS};
use model::num::count;
use model::spec::{MetricClass, Nature};
use model::units::Unit;
use std::collections::{BTreeMap, BTreeSet};

/// Reads UnixBench's reports.
pub(crate) const READER: Reader = Reader {
    program: "unixbench",
    marks: &["lps", "lpm", "KBps", "MWIPS", "BASELINE"],
    read,
};

/// Half a unit of the last digit of what a report prints.
const HALF_DIGIT: f64 = 0.05;

/// Tests outside of the index of 5.1 and 6: name, title, unit.
const OTHERS: &[(&str, &str, &str)] = &[
    ("fstime-r", "File Read 1024 bufsize 2000 maxblocks", "KBps"),
    ("fstime-w", "File Write 1024 bufsize 2000 maxblocks", "KBps"),
    ("fsbuffer-r", "File Read 256 bufsize 500 maxblocks", "KBps"),
    ("fsbuffer-w", "File Write 256 bufsize 500 maxblocks", "KBps"),
    ("fsdisk-r", "File Read 4096 bufsize 8000 maxblocks", "KBps"),
    ("fsdisk-w", "File Write 4096 bufsize 8000 maxblocks", "KBps"),
    ("shell16", "Shell Scripts (16 concurrent)", "lpm"),
    ("short", "Arithmetic Test (type = short)", "lps"),
    ("int", "Arithmetic Test (type = int)", "lps"),
    ("long", "Arithmetic Test (type = long)", "lps"),
    ("float", "Arithmetic Test (type = float)", "lps"),
    ("double", "Arithmetic Test (type = double)", "lps"),
    ("arithoh", "Arithoh", "lps"),
    ("c", "C Compiler Throughput", "lpm"),
    ("dc", "Dc: sqrt(2) to 99 decimal places", "lpm"),
    ("hanoi", "Recursion Test--Tower of Hanoi", "lps"),
];

/// A test that has a title.
struct Known {
    name: &'static str,
    unit: &'static str,
    of_index: Option<&'static IndexTest>,
}

fn known(title: &str) -> Option<Known> {
    let other = OTHERS.iter().find(|(_, other, _)| *other == title);
    let other = other.map(|&(name, _, unit)| (name, unit, None));
    let of_index = TESTS.iter().find(|entry| entry.title == title);
    let of_index = of_index.map(|entry| (entry.id, entry.unit, Some(entry)));
    let (name, unit, of_index) = of_index.or(other)?;
    Some(Known {
        name,
        unit,
        of_index,
    })
}

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut output = 0;
    let mut report = None;
    let mut seen: BTreeSet<u32> = BTreeSet::new();
    for block in blocks(text) {
        if block.is_our_own() {
            if report.replace(block.report) != Some(block.report) {
                let what = "a report of kurabe: what `kurabe export` writes holds all of that run";
                leave_out(&mut found, block.line, what.to_owned());
            }
            continue;
        }
        let Some(copies) = block.copies() else {
            if !block.rows.is_empty() || !block.tables.is_empty() {
                let what = "results without `running N parallel copies of tests` above them";
                leave_out(&mut found, block.line, what.to_owned());
            }
            continue;
        };
        // One execution measures a number of copies once.
        if report
            .replace(block.report)
            .is_some_and(|last| last != block.report)
            || !seen.insert(copies)
        {
            output += 1;
            seen = BTreeSet::from([copies]);
        }
        read_block(&block, output, copies, &mut found);
    }
    found
}

fn leave_out(found: &mut Found, line: usize, what: String) {
    found.left_out.push(LeftOut { line, what });
}

fn read_block(block: &Block, output: usize, copies: u32, found: &mut Found) {
    let mut rows = block.rows.clone();
    let mut scores: BTreeMap<&str, f64> = BTreeMap::new();
    scores.extend(block.rows.iter().map(|row| (row.title.as_str(), row.score)));
    for row in block.tables.iter().flat_map(|table| &table.rows) {
        match (scores.get(row.title.as_str()), known(&row.title)) {
            (Some(score), _) if (score - row.result).abs() <= 2.0 * HALF_DIGIT => {}
            (Some(score), _) => {
                let what = format!(
                    "{}: {} in the index table, {score} above",
                    said(&row.title),
                    row.result
                );
                leave_out(found, row.line, what);
            }
            (None, Some(known)) => {
                scores.insert(&row.title, row.result);
                rows.push(Row::of_table(row, known.unit));
            }
            (None, None) => leave_out(
                found,
                row.line,
                format!("an unknown test: {}", said(&row.title)),
            ),
        }
    }
    let cut_short = cut_short(block, copies);
    if let Some(what) = cut_short.clone() {
        leave_out(found, block.line, what);
    }
    for row in &rows {
        match figures(block, row, output, copies) {
            Ok(mut figures) => {
                figures.cut_short.clone_from(&cut_short);
                found.figures.push(figures);
            }
            Err(what) => leave_out(found, row.line, what),
        }
    }
    for (line, text) in &block.odd {
        leave_out(found, *line, format!("not understood: {}", said(text)));
    }
    for table in &block.tables {
        check_index(table, found);
    }
}

/// What stands below the lines of every version and is not there: tests of the index end in its table, and the table in
/// the index. Of a test outside of it nothing follows.
fn cut_short(block: &Block, copies: u32) -> Option<String> {
    let of_index = |row: &Row| known(&row.title).is_some_and(|known| known.of_index.is_some());
    let missing = match block.tables.last() {
        None if block.rows.is_empty() => "its results are not there",
        None if block.rows.iter().any(of_index) => "its index table is not there",
        Some(table) if table.total.is_none() => "its index is not there",
        _ => return None,
    };
    let word = if copies == 1 { "copy" } else { "copies" };
    Some(format!(
        "the report of {copies} {word} is not whole: {missing} (cut short?)"
    ))
}

fn figures(block: &Block, row: &Row, output: usize, copies: u32) -> Result<Figures, String> {
    let known =
        known(&row.title).ok_or_else(|| format!("an unknown test: {}", said(&row.title)))?;
    if row.unit != known.unit {
        return Err(format!(
            "{} in {} instead of {}",
            row.title, row.unit, known.unit
        ));
    }
    let (quantity, unit, value) = match row.unit.as_str() {
        "KBps" => ("bytes_per_s", Unit::BytesPerSecond, row.score * 1024.0),
        "lpm" => ("ops_per_s", Unit::OpsPerSecond, row.score / 60.0),
        "MWIPS" => ("wips", Unit::OpsPerSecond, row.score * 1e6),
        _ => ("ops_per_s", Unit::OpsPerSecond, row.score),
    };
    if !(value.is_finite() && value > 0.0) {
        return Err(format!("{}: {} is no score", row.title, row.score));
    }
    let ours = known
        .of_index
        .filter(|entry| has_its_baseline(block, entry));
    let (nature, class) = nature(&known);
    let mut params = BTreeMap::new();
    if let Some(samples) = row.samples {
        params.insert("samples".to_owned(), samples.to_string());
    }
    // The scripts sort, and how is a matter of the locale.
    if let (true, Some(language)) = (known.name.starts_with("shell"), &block.language) {
        params.insert("language".to_owned(), language.clone());
    }
    Ok(Figures {
        output,
        version: block.version.clone(),
        when: block.when,
        test: format!("unixbench.{}", known.name),
        title: row.title.clone(),
        copies,
        nature,
        params,
        values: vec![Figure::rate(quantity, unit, class, value)],
        cut_short: None,
        ours: ours.and_then(|entry| {
            let compat = compat(block.version.as_deref()?)?;
            let set = vec![("compat", compat.to_owned())];
            Some(Ours {
                test: entry.test.into(),
                set,
                server: None,
            })
        }),
    })
}

/// The version whose rules kurabe's tests imitate, of the same family.
fn compat(version: &str) -> Option<&'static str> {
    let is = |family: &str| version == family || version.starts_with(&format!("{family}."));
    [("5.1", "5.1.3"), ("6", "6")]
        .into_iter()
        .find_map(|(family, compat)| is(family).then_some(compat))
}

/// Whether the index table, where there is one, has the reference score that we know: another one is of another test.
fn has_its_baseline(block: &Block, entry: &IndexTest) -> bool {
    let mut rows = block.tables.iter().flat_map(|table| &table.rows);
    rows.all(|row| row.title != entry.title || (row.baseline - entry.baseline).abs() <= HALF_DIGIT)
}

fn nature(known: &Known) -> (Nature, MetricClass) {
    let test = known.of_index.map(|entry| entry.test).unwrap_or_default();
    match known.unit {
        "KBps" => (Nature::FileSystem, MetricClass::Throughput),
        "lpm" => (Nature::System, MetricClass::System),
        _ if test.starts_with("os.") => (Nature::System, MetricClass::System),
        _ => (Nature::Compute, MetricClass::Compute),
    }
}

/// Says so where a printed index does not follow from the lines of its table.
fn check_index(table: &Table, found: &mut Found) {
    for row in &table.rows {
        let index = 10.0 * row.result / row.baseline;
        if row.baseline > 0.0 && !follows(row.index, index, HALF_DIGIT / row.result.max(HALF_DIGIT))
        {
            leave_out(
                found,
                row.line,
                format!(
                    "the index {} of {} is not {index:.1}",
                    row.index,
                    said(&row.title)
                ),
            );
        }
    }
    let Some((line, total)) = table.total else {
        return;
    };
    let ratios: Vec<f64> = table
        .rows
        .iter()
        .map(|row| row.result / row.baseline)
        .collect();
    let Some(mean) = stats::composite::geometric_mean(&ratios) else {
        return leave_out(
            found,
            line,
            format!("an index of {total} that follows from no lines"),
        );
    };
    // How far the scores can be from those that were not rounded, as a share.
    let rounded = table
        .rows
        .iter()
        .map(|row| HALF_DIGIT / row.result)
        .sum::<f64>()
        / count(ratios.len());
    let index = 10.0 * mean;
    if !follows(total, index, rounded) {
        leave_out(
            found,
            line,
            format!("the index {total} does not follow from the lines, which make {index:.1}"),
        );
    }
}

fn follows(printed: f64, computed: f64, rounded: f64) -> bool {
    (printed - computed).abs() <= (HALF_DIGIT + computed * rounded).max(2.0 * HALF_DIGIT)
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
