//! Outputs of bonnie++ 1.03 to 2.00: the line of comma-separated values, and the tables where that line is missing.
//!
//! One test per phase. K/s are KiB/s. `+++++` means that the phase was too fast to be measured: it has no rate, only
//! its largest latency. Both forms of one run become one output; the line is preferred, for it is not rounded, and
//! because the tables of 2.00 print the number of files where the rates of files belong.

mod csv;
mod ours;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use write::{csv_lines, has_lines};

use crate::figures::line::number;
use crate::figures::{Figure, Figures, Found, LeftOut, Reader};
use model::order::Keyed as _;
use model::spec::{Better, MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Reads outputs of bonnie++.
pub(crate) const READER: Reader = Reader {
    program: "bonnie++",
    marks: &[],
    read,
};

/// What is longer is no cell of a table.
const MAX_WORD: usize = 80;

/// What a phase moves.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moves {
    /// Data: its rate is printed in KiB/s.
    Data,
    /// The heads of disks: seeks.
    Seeks,
    /// Files without data, or small ones.
    Files,
}

/// The phases in the order of every output: six on one large file, six on many files.
const PHASES: [(&str, &str, Moves); 12] = [
    ("char-write", "Sequential output per byte", Moves::Data),
    ("block-write", "Sequential output by blocks", Moves::Data),
    ("rewrite", "Rewrite", Moves::Data),
    ("char-read", "Sequential input per byte", Moves::Data),
    ("block-read", "Sequential input by blocks", Moves::Data),
    ("random-seek", "Random seeks", Moves::Seeks),
    ("create-seq", "Sequential create", Moves::Files),
    ("stat-seq", "Sequential stat", Moves::Files),
    ("delete-seq", "Sequential delete", Moves::Files),
    ("create-random", "Random create", Moves::Files),
    ("stat-random", "Random stat", Moves::Files),
    ("delete-random", "Random delete", Moves::Files),
];

/// What was measured of a phase: in KiB/s or per second, percent of a CPU, nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Phase {
    rate: Option<f64>,
    cpu_percent: Option<f64>,
    latency_ns: Option<f64>,
}

/// One run, out of a line or of tables.
#[derive(Clone, Debug, Default, PartialEq)]
struct Report {
    version: Option<String>,
    copies: Option<u32>,
    /// Parameters of the six phases on one file.
    of_file: BTreeMap<String, String>,
    /// Whether it says that blocks have the size that they have where nobody asks: a table that names none.
    has_usual_block: bool,
    /// Parameters of seeks.
    of_seeks: BTreeMap<String, String>,
    /// Parameters of the six phases on many files.
    of_files: BTreeMap<String, String>,
    phases: [Phase; 12],
}

impl Report {
    /// Whether the line `self` is of the run whose tables are `table`: where both say something, it is the same.
    fn is_run_of(&self, table: &Self) -> bool {
        let latencies = |report: &Self| report.phases.map(|phase| phase.latency_ns);
        let cpus = |report: &Self| report.phases.map(|phase| phase.cpu_percent);
        let agree = |ours: [Option<f64>; 12], theirs: [Option<f64>; 12]| {
            ours.iter()
                .zip(&theirs)
                .all(|(ours, theirs)| theirs.is_none() || ours == theirs)
        };
        let versions = self.version.is_none() || self.version == table.version;
        versions && agree(latencies(self), latencies(table)) && agree(cpus(self), cpus(table))
    }
}

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut output = 0;
    let mut tables = table::Tables::default();
    let mut keep = |report: Report, left_out: &mut Vec<LeftOut>, line| {
        let all = figures(output, &report);
        if all.is_empty() {
            let what = "every phase was too fast to be measured, or none ran".to_owned();
            left_out.push(LeftOut { line, what });
        }
        found.figures.extend(all);
        output += 1;
    };
    let mut left_out = Vec::new();
    let mut lines = (1..).zip(text.split_inclusive('\n')).peekable();
    while let Some((at, line)) = lines.next() {
        // The last cell of a line without an end may have been longer, and so may one before nothing but digits.
        let is_rest = |line: &str| line.trim_end().bytes().all(|byte| byte.is_ascii_digit());
        let goes_on = lines
            .peek()
            .is_some_and(|(_, next)| !next.trim().is_empty() && is_rest(next));
        let is_whole = line.ends_with('\n') && !goes_on;
        let line = line.trim_end();
        match csv::read(line.trim_start_matches(['>', ' ', '\t', '`']), is_whole) {
            csv::Line::Report(mut report) => {
                if let Some(table) = tables.take() {
                    if report.is_run_of(&table) {
                        report.version = report.version.or(table.version);
                        report.has_usual_block = table.has_usual_block;
                    } else {
                        keep(table, &mut left_out, at);
                    }
                }
                keep(*report, &mut left_out, at);
                continue;
            }
            csv::Line::Unread(why) => left_out.push(LeftOut {
                line: at,
                what: why.to_owned(),
            }),
            csv::Line::Other => {}
        }
        // The rest of a row is no row, and is listed as what stands where one is expected.
        let line = if goes_on { "" } else { line };
        if let Some(report) = tables.line(at, line, is_whole, &mut left_out) {
            keep(report, &mut left_out, at);
        }
    }
    if let Some(report) = tables.take() {
        keep(report, &mut left_out, text.lines().count());
    }
    found.left_out = left_out;
    found
}

fn figures(output: usize, report: &Report) -> Vec<Figures> {
    let mut all = Vec::new();
    let phases = PHASES.iter().zip(&report.phases).enumerate();
    for (at, ((name, title, moves), phase)) in phases {
        let class = MetricClass::Throughput;
        let rate = phase.rate.map(|rate| match moves {
            Moves::Data => Figure::rate("bytes_per_s", Unit::BytesPerSecond, class, rate * 1024.0),
            Moves::Seeks | Moves::Files => {
                Figure::rate("ops_per_s", Unit::OpsPerSecond, class, rate)
            }
        });
        let cpu = phase.cpu_percent.map(|percent| Figure {
            better: Better::Lower,
            ..Figure::rate(
                "cpu_share",
                Unit::Share,
                MetricClass::System,
                percent / 100.0,
            )
        });
        let latency = phase.latency_ns;
        let latency = latency.map(|ns| Figure::time("lat_ns_max", MetricClass::LatencyExtreme, ns));
        let mut values: Vec<Figure> = [rate, cpu, latency].into_iter().flatten().collect();
        if values.is_empty() {
            continue;
        }
        let ours = ours::of_phase(report, *moves);
        if ours.is_some() {
            ours::named(report, at, &mut values);
        }
        let mut params = BTreeMap::new();
        match moves {
            Moves::Data => params.extend(report.of_file.clone()),
            Moves::Seeks => params.extend(
                report
                    .of_file
                    .clone()
                    .into_iter()
                    .chain(report.of_seeks.clone()),
            ),
            Moves::Files => params.extend(report.of_files.clone()),
        }
        all.push(Figures {
            cut_short: None,
            output,
            version: report.version.clone(),
            when: None,
            test: format!("bonnie.{name}"),
            title: (*title).to_owned(),
            copies: report.copies.unwrap_or(1),
            nature: Nature::FileSystem,
            params,
            values,
            ours,
        });
    }
    all
}

/// What a cell holds.
#[derive(Clone, Copy)]
enum Cell {
    /// The phase did not run, or was too fast.
    Nothing,
    Number(f64),
}

impl Cell {
    /// The number of this cell, where it is above zero: less than half a percent of a CPU is printed as nothing, and a
    /// number that was rounded to nothing is no value.
    fn value(self) -> Option<f64> {
        match self {
            Self::Number(value) if value > 0.0 => Some(value),
            Self::Number(_) | Self::Nothing => None,
        }
    }
}

/// A share of CPUs in whole percent.
fn cpu_percent(word: &str) -> Option<Cell> {
    let is_whole = |cell: &Cell| !matches!(cell, Cell::Number(percent) if percent.fract() != 0.0);
    cell(word).filter(is_whole)
}

/// A cell that may hold a number: `None` where it is no cell of bonnie++.
fn cell(word: &str) -> Option<Cell> {
    if word.is_empty() || (word.len() >= 3 && word.bytes().all(|b| b == b'+')) {
        return Some(Cell::Nothing);
    }
    plain(word).map(Cell::Number)
}

/// A word that is one number from 0, as a whole.
fn plain(word: &str) -> Option<f64> {
    let digits = word.len() <= 20 && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let (value, rest) = number(word).filter(|_| digits)?;
    rest.is_empty().then_some(value)
}

/// A latency such as `735ms`, in nanoseconds.
fn latency(word: &str) -> Option<f64> {
    let (value, unit) = number(word).filter(|_| word.len() <= 20)?;
    let ns = match unit {
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    (value > 0.0 && !word.contains(',')).then_some(value * ns)
}

/// Whether this is the size of a file: `7888M`, `2G`.
fn is_size(word: &str) -> bool {
    let digits = word.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G', 't', 'T']);
    digits.len() + 1 == word.len() && plain(digits).is_some()
}

/// The parameters of the file: its size, and the chunk where the text says it.
fn file_params(size: &str, chunk: &str) -> BTreeMap<String, String> {
    let named = [("file_size", size), ("chunk_size", chunk)];
    said(&named)
}

/// The parameters that have a value.
fn said(named: &[(&str, &str)]) -> BTreeMap<String, String> {
    let said = named
        .iter()
        .filter(|(_, value)| !value.is_empty() && value.len() <= MAX_WORD);
    said.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .into_map()
}
