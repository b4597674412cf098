//! The two tables: phases on one file, then phases on many. Cells of phases that did not run are blank, so a row with
//! fewer cells is read by the columns at which its cells end.

use super::{
    Cell, MAX_WORD, Phase, Report, cell, cpu_percent, file_params, is_size, latency, plain, said,
};
use crate::figures::LeftOut;

/// The longest line of a table that is read.
const MAX_LINE: usize = 400;

/// The tables of the run that is being read.
#[derive(Default)]
pub(super) struct Tables {
    report: Option<Report>,
    /// What the line with the version and the lines after it said.
    version: Option<String>,
    copies: Option<u32>,
    part: Part,
    state: State,
}

/// Which table it is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Part {
    #[default]
    File,
    Files,
}

/// Which line comes next.
#[derive(Default)]
enum State {
    #[default]
    Outside,
    /// A row, under these headings.
    Row(Headings),
    /// Latencies, or the next table.
    Latencies(Headings),
}

/// Where the headings of the twelve columns end: per second and percent of a CPU, six times.
#[derive(Clone)]
struct Headings {
    ends: Vec<usize>,
    /// Whether rates are in KiB/s (`K/sec`); otherwise they have a unit each.
    kib: bool,
}

impl Headings {
    fn of(line: &str) -> Option<Self> {
        let words = words(line);
        let first = words.len().checked_sub(12)?;
        let rates = |word: &str| word == "K/sec" || word == "/sec";
        let is_pair = |pair: &[(usize, &str)]| rates(pair[0].1) && pair[1].1 == "%CP";
        words[first..].chunks(2).all(is_pair).then(|| Self {
            ends: words[first..].iter().map(|(end, _)| *end).collect(),
            kib: words[first].1 == "K/sec",
        })
    }

    /// The twelve cells of a row, blank ones empty, and how many words stand before them.
    fn cells<'a>(&self, words: &[(usize, &'a str)]) -> Option<([&'a str; 12], usize)> {
        let mut cells = [""; 12];
        let is_cell = |word: &str| cell(word).is_some() || scaled(word).is_some();
        if let Some(first) = words.len().checked_sub(12) {
            // A name that is a number makes no difference: cells stand behind it.
            if words[first..].iter().all(|(_, word)| is_cell(word)) {
                cells
                    .iter_mut()
                    .zip(&words[first..])
                    .for_each(|(cell, (_, word))| *cell = word);
                return Some((cells, first));
            }
        }
        let begin = self.ends[0].checked_sub(5)?;
        let first = words
            .iter()
            .position(|(end, word)| *end > begin && self.ends.contains(end) && is_cell(word))?;
        for (end, word) in &words[first..] {
            let at = self.ends.iter().position(|of| of == end)?;
            cells[at] = is_cell(word).then_some(*word)?;
        }
        // Rates and shares come in pairs.
        cells
            .chunks(2)
            .all(|pair| pair[0].is_empty() == pair[1].is_empty())
            .then_some((cells, first))
    }

    /// Which phases these latencies are of: those under whose two headings they end.
    fn latencies(&self, words: &[(usize, &str)]) -> Option<[Option<f64>; 6]> {
        let mut all = [None; 6];
        for (at, (end, word)) in words.iter().enumerate() {
            let at = match words.len() {
                6 => at,
                _ => self
                    .ends
                    .chunks(2)
                    .position(|pair| pair[0] < *end && *end <= pair[1])?,
            };
            all[at] = Some(latency(word)?);
        }
        Some(all)
    }
}

/// The words of a line, each with the column at which it ends.
fn words(line: &str) -> Vec<(usize, &str)> {
    let mut end = 0;
    let mut all = Vec::new();
    for word in line.split(char::is_whitespace) {
        end += word.chars().count();
        if !word.is_empty() {
            all.push((end, word));
        }
        end += 1;
    }
    all
}

/// A rate of 2.00 in KiB/s: `15.8m` is MiB.
fn scaled(word: &str) -> Option<f64> {
    let (unit, scale) = [('k', 1.0), ('m', 1024.0), ('g', 1_048_576.0)]
        .into_iter()
        .find(|(unit, _)| word.ends_with(*unit))?;
    plain(word.strip_suffix(unit)?).map(|value| value * scale)
}

impl Tables {
    /// The run that the tables so far are of.
    pub(super) fn take(&mut self) -> Option<Report> {
        self.state = State::Outside;
        self.report.take()
    }

    /// Takes a line. The tables of another run return those of the run before.
    pub(super) fn line(
        &mut self,
        at: usize,
        line: &str,
        is_whole: bool,
        left_out: &mut Vec<LeftOut>,
    ) -> Option<Report> {
        if line.len() > MAX_LINE {
            return None;
        }
        let mut done = None;
        let mut words_of_line = line.split_whitespace().skip_while(|word| *word == ">");
        let next: [&str; 4] = std::array::from_fn(|_| words_of_line.next().unwrap_or_default());
        if line.contains("Sequential Output") || line.contains("Sequential Create") {
            self.part = if line.contains("Sequential Create") {
                Part::Files
            } else {
                Part::File
            };
            let version = (next[0] == "Version").then(|| next[1].to_owned());
            if self.part == Part::File {
                done = self.take();
                self.version = None;
                self.copies = None;
            }
            self.version = version.or(self.version.take());
            self.state = State::Outside;
        } else if next[0] == "Concurrency" {
            self.copies = next[1].parse().ok().filter(|copies| *copies > 0);
        } else if next[0] == "Machine" || line.matches("%CP").count() > 1 {
            self.state = Headings::of(line).map_or(State::Outside, State::Row);
            if matches!(self.state, State::Outside) {
                left_out.push(not_read(at));
            }
        } else if !line.trim_matches([' ', '>']).is_empty() {
            match std::mem::take(&mut self.state) {
                State::Row(headings) => match self.row(line, is_whole, &headings) {
                    Some(()) => self.state = State::Latencies(headings),
                    None => left_out.push(not_read(at)),
                },
                State::Latencies(headings) if next[0] == "Latency" => {
                    let words = words(line);
                    let first = words
                        .iter()
                        .position(|(_, word)| *word == "Latency")
                        .unwrap_or(0)
                        + 1;
                    match headings.latencies(&words[first..]) {
                        Some(all) => self.keep_latencies(all),
                        None => left_out.push(not_read(at)),
                    }
                }
                State::Outside | State::Latencies(_) => {}
            }
        }
        done
    }

    fn row(&mut self, line: &str, is_whole: bool, headings: &Headings) -> Option<()> {
        let words = words(line);
        let ends_below_headings = words.last()?.0 == *headings.ends.last()?;
        (is_whole || ends_below_headings).then_some(())?;
        let (cells, first) = headings.cells(&words)?;
        let about = words[first.checked_sub(1)?].1;
        let is_new = self
            .version
            .as_deref()
            .is_some_and(|version| version.starts_with('2'));
        let mut parts = about.split(':');
        let mut part = || parts.next().unwrap_or_default();
        let mut phases = [Phase::default(); 6];
        let mut report = self.report.clone().unwrap_or_default();
        match self.part {
            Part::File => {
                let (size, chunk, copies, seeks, processes) =
                    (part(), part(), part(), part(), part());
                is_size(size).then_some(())?;
                report.of_file = file_params(size, chunk);
                report.has_usual_block = chunk.is_empty();
                report.of_seeks = super::csv::seek_params(seeks, processes);
                report.copies = copies
                    .parse()
                    .ok()
                    .filter(|copies| *copies > 0)
                    .or(self.copies);
            }
            Part::Files => {
                let (files, max_size, rest) = (part(), part(), part());
                plain(files)?;
                let (min_size, directories) = rest.split_once('/').unwrap_or((rest, ""));
                let named = [
                    ("max_size", max_size),
                    ("min_size", min_size),
                    ("directories", directories),
                ];
                report.of_files = said(&named);
                report.of_files.extend(said(&[("files", files)]));
                report.copies = report.copies.or(self.copies);
            }
        }
        for (at, (phase, pair)) in phases.iter_mut().zip(cells.chunks(2)).enumerate() {
            let of_data = self.part == Part::File && at < 5;
            let cell = cell(pair[0]);
            phase.rate = if of_data && !headings.kib && !matches!(cell, Some(Cell::Nothing)) {
                Some(scaled(pair[0])?)
            } else {
                cell?.value()
            };
            // The tables of 2.00 print how many files there were in place of their rate.
            let is_count = self.part == Part::Files && is_new;
            phase.rate = phase.rate.filter(|rate| *rate > 0.0 && !is_count);
            phase.cpu_percent = cpu_percent(pair[1])?.value();
        }
        let begin = if self.part == Part::File { 0 } else { 6 };
        report.phases[begin..begin + 6].copy_from_slice(&phases);
        report.version = self
            .version
            .clone()
            .filter(|version| version.len() <= MAX_WORD);
        self.report = Some(report);
        Some(())
    }

    fn keep_latencies(&mut self, all: [Option<f64>; 6]) {
        let begin = if self.part == Part::File { 0 } else { 6 };
        if let Some(report) = &mut self.report {
            for (phase, ns) in report.phases[begin..].iter_mut().zip(all) {
                phase.latency_ns = ns;
            }
        }
    }
}

fn not_read(line: usize) -> LeftOut {
    let what = "a row of a table that is cut or changed".to_owned();
    LeftOut { line, what }
}
