//! The tables that YABS prints, as people paste them: whole or in parts, with other things between.
//!
//! A speed of fio is printed as `KB/s`, `MB/s` or `GB/s`. Up to the version before [`DECIMAL_SINCE`] these are
//! thousands of KiB/s (`MB/s` is 1,024,000 bytes a second), and from then on they are decimal. Where the text has no
//! version, the operations beside each speed tell which it is, if they have digits enough; else the speeds are left
//! out, and that is said. What Geekbench calls a score stays one. Sections that are not read are listed.

mod cell;

use self::cell::{Cell, bytes_of, thousand};
use super::{bytes_per_s, disk, is_version, milliseconds, network, score, short, transfer};
use crate::familiar::{YABS, YABS_TIME};
use crate::figures::line::{amount, lines};
use crate::figures::{Figure, Figures, Found, LeftOut, tell_apart};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use model::num::round_to_u64;
use model::spec::{MetricClass, Nature};
use model::units::UnixNanos;
use std::collections::BTreeMap;

/// What the head of its table of fio begins with.
pub(super) const BLOCKS: &str = "Block Size";
/// What the head of its table of iperf3 has.
pub(super) const PLACES: &str = "Location (Link)";
/// What stands in the title of its table of Geekbench.
pub(super) const SCORES: &str = "Benchmark Test";
/// The title of what it measures where fio does not run.
pub(super) const DD: &str = "dd Sequential Disk Speed Tests";
/// What its first lines have.
const BANNER: &str = "Yet-Another-Bench-Script";
/// A line of so many dashes stands below a title.
const RULE: usize = 20;
/// From this version on the units of speeds are decimal.
const DECIMAL_SINCE: &str = "v2026-07-03";

/// Reads every table of the text. Outputs are numbered behind those that were found before.
pub(super) fn read(text: &str, found: &mut Found) {
    let mut page = Page::new(
        found
            .figures
            .iter()
            .map(|one| one.output + 1)
            .max()
            .unwrap_or(0),
    );
    let last = (!text.ends_with('\n')).then(|| text.lines().count());
    for (number, line) in lines(text) {
        // A number at the very end may have lost digits.
        page.line(number, line, Some(number) == last);
    }
    page.end_of_output();
    let of_json: Vec<Figures> = found.figures.iter().take(COMPARED).cloned().collect();
    for output in page.outputs {
        keep(output, &of_json, found);
    }
}

/// So many figures of JSON are looked at for those that a table has too.
const COMPARED: usize = 1000;

/// Keeps what one execution printed, unless its JSON is there too.
fn keep(mut output: Output, of_json: &[Figures], found: &mut Found) {
    let is_there = |figures: &Figures| {
        let mut same = of_json.iter();
        same.any(|other| other.test == figures.test && agree(figures, other, &output.cut))
    };
    let count = output.figures.len();
    output.figures.retain(|figures| !is_there(figures));
    if output.figures.len() < count {
        let what = "a table whose figures stand in the JSON of the same output".to_owned();
        output.left_out.push(LeftOut {
            line: output.line,
            what,
        });
    }
    tell_apart(&mut output.figures);
    found.figures.append(&mut output.figures);
    found.left_out.append(&mut output.left_out);
}

/// Whether printed figures are those of a JSON but for rounding, and for the digits that were cut off.
fn agree(printed: &Figures, exact: &Figures, cut: &BTreeMap<(String, String), f64>) -> bool {
    const ROUNDING: f64 = 0.03;
    printed.values.iter().all(|figure| {
        let mut values = exact.values.iter();
        let other = values.find(|other| other.quantity == figure.quantity);
        let key = (printed.test.clone(), figure.quantity.clone());
        let more = cut.get(&key).copied().unwrap_or_default().max(ROUNDING);
        other.is_some_and(|other| {
            let ratio = other.value / figure.value;
            (1.0 - ROUNDING..=1.0 + more).contains(&ratio)
        })
    })
}

/// What one execution printed.
#[derive(Debug)]
struct Output {
    line: usize,
    number: usize,
    version: Option<String>,
    when: Option<UnixNanos>,
    cores: Option<u32>,
    /// Of the file that fio works on, where the text tells what decides it.
    size: Option<&'static str>,
    figures: Vec<Figures>,
    left_out: Vec<LeftOut>,
    disks: Vec<Disk>,
    /// By how much of itself a quantity of a test may be more, for the digits that were cut off.
    cut: BTreeMap<(String, String), f64>,
    scores: Vec<(usize, String, &'static str, f64)>,
}

/// A column of its table of fio: both directions together, reads, writes.
#[derive(Clone, Debug)]
struct Disk {
    line: usize,
    bs: &'static str,
    cells: [Option<Cell>; 3],
}

/// Which table a line belongs to.
#[derive(Debug, Default)]
enum Table {
    #[default]
    None,
    Disks(Vec<Disk>),
    Networks(String),
    Scores(String),
}

struct Page {
    outputs: Vec<Output>,
    current: Output,
    table: Table,
    /// The kind of addresses of the next table of iperf3, from its title.
    mode: String,
    /// A line that would be the title of a section that is not known.
    unknown: Option<(usize, String)>,
}

impl Output {
    const fn new(number: usize, line: usize) -> Self {
        Self {
            line,
            number,
            version: None,
            when: None,
            cores: None,
            size: None,
            figures: Vec::new(),
            left_out: Vec::new(),
            disks: Vec::new(),
            cut: BTreeMap::new(),
            scores: Vec::new(),
        }
    }

    fn leave(&mut self, line: usize, what: String) {
        self.left_out.push(LeftOut { line, what });
    }

    const fn is_empty(&self) -> bool {
        self.figures.is_empty()
            && self.left_out.is_empty()
            && self.disks.is_empty()
            && self.scores.is_empty()
    }

    fn blank(&self) -> Figures {
        Figures {
            cut_short: None,
            output: self.number,
            version: self.version.clone(),
            when: self.when,
            test: String::new(),
            title: String::new(),
            copies: 1,
            nature: Nature::Storage,
            params: BTreeMap::new(),
            values: Vec::new(),
            ours: None,
        }
    }

    /// Makes figures of what needed the whole output to be understood.
    fn finish(&mut self) {
        let blank = self.blank();
        let mut all = self.of_disks(&blank);
        all.append(&mut self.figures);
        for (line, version, key, value) in std::mem::take(&mut self.scores) {
            let copies = if key == "single" { Some(1) } else { self.cores };
            match copies {
                Some(copies) => all.push(score(&blank, &version, key, copies, value)),
                None => self.leave(
                    line,
                    format!(
                        "Geekbench {version}: how many cores its `{key}` score is of is not said"
                    ),
                ),
            }
        }
        for figures in &mut all {
            figures.version.clone_from(&self.version);
            figures.when = self.when;
        }
        self.figures = all;
    }

    fn of_disks(&mut self, blank: &Figures) -> Vec<Figures> {
        let disks = std::mem::take(&mut self.disks);
        let cells: Vec<(f64, Cell)> = disks
            .iter()
            .flat_map(|disk| {
                disk.cells
                    .iter()
                    .flatten()
                    .map(|cell| (bytes_of(disk.bs), *cell))
            })
            .collect();
        let thousand = match &self.version {
            Some(version) if version.as_str() >= DECIMAL_SINCE => Some(1000.0),
            Some(_) => Some(1024.0),
            None => thousand(&cells),
        };
        let mut all = Vec::new();
        for disk_of in &disks {
            let block = bytes_of(disk_of.bs);
            let iops = disk_of.cells.map(|cell| Some(cell?.iops(block, thousand)));
            let speeds = disk_of.cells.map(|cell| Some(cell?.bytes_per_s(thousand?)));
            let runtime = YABS_TIME.as_secs_f64();
            let figures = disk(blank, disk_of.bs, &iops, &speeds, self.size, runtime);
            for (way, cell) in ["", "read_", "write_"].into_iter().zip(disk_of.cells) {
                let key = (figures.test.clone(), format!("{way}iops"));
                self.cut.extend(cell.map(|cell| (key, cell.cut)));
            }
            all.push(figures);
        }
        all.retain(|figures| !figures.values.is_empty());
        if let (None, Some(first)) = (thousand, disks.iter().find(|_| !all.is_empty())) {
            let what = "speeds of fio: `MB/s` are other units since v2026-07-03, and the text has no version";
            self.leave(first.line, what.to_owned());
        }
        all
    }
}

impl Page {
    fn new(number: usize) -> Self {
        Self {
            outputs: Vec::new(),
            current: Output::new(number, 1),
            table: Table::None,
            mode: String::new(),
            unknown: None,
        }
    }

    fn end_of_output(&mut self) {
        self.end_of_table();
        let number = self.current.number;
        let mut done = std::mem::replace(&mut self.current, Output::new(number, 1));
        done.finish();
        if !done.figures.is_empty() {
            self.current.number += 1;
        }
        if !(done.figures.is_empty() && done.left_out.is_empty()) {
            self.outputs.push(done);
        }
    }

    /// A table is over: what it says of each block size.
    fn end_of_table(&mut self) {
        if let Table::Disks(disks) = std::mem::take(&mut self.table) {
            let known = disks
                .into_iter()
                .filter(|disk| disk.cells.iter().any(Option::is_some));
            self.current.disks.extend(known);
        }
    }

    fn line(&mut self, number: usize, line: &str, may_be_cut: bool) {
        let before = self.unknown.take();
        if self.head(number, line) {
            return;
        }
        if line.len() >= RULE && line.bytes().all(|byte| byte == b'-') {
            if let Some((number, title)) = before {
                self.end_of_table();
                self.current
                    .leave(number, format!("a section that is not read: {title}"));
            }
            return;
        }
        if let Some(title) = line.strip_suffix(':')
            && self.current.version.is_some()
        {
            self.unknown = Some((number, short(title)));
        }
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        match &mut self.table {
            Table::Disks(_) => self.disk_row(number, &cells),
            Table::Networks(_) if cells.len() >= 4 => self.network_row(number, &cells),
            Table::Scores(_) if !may_be_cut => self.score_row(number, &cells),
            Table::None | Table::Networks(_) | Table::Scores(_) => {}
        }
    }

    /// Reads a line that is no row: whether it was one.
    fn head(&mut self, number: usize, line: &str) -> bool {
        if line.contains(BANNER) && line.starts_with('#') {
            self.end_of_output();
            self.current.line = number;
            return true;
        }
        let inside = line.trim_matches(['#', ' ']);
        if is_version(inside) && self.current.version.is_none() && self.current.is_empty() {
            self.current.version = Some(inside.to_owned());
            return true;
        }
        if let Some(at) = when(line) {
            self.current.when = self.current.when.or(Some(at));
            return true;
        }
        if line.starts_with(BLOCKS) {
            self.blocks(number, line);
            return true;
        }
        if line.contains(PLACES) {
            self.end_of_table();
            self.table = Table::Networks(std::mem::take(&mut self.mode));
            return true;
        }
        self.title(number, line) || self.fact(line)
    }

    /// A title of a section.
    fn title(&mut self, number: usize, line: &str) -> bool {
        let Some(title) = line.strip_suffix(':') else {
            return false;
        };
        if let Some(rest) = title.strip_prefix("iperf3 Network Speed Tests") {
            self.end_of_table();
            rest.trim_matches([' ', '(', ')'])
                .clone_into(&mut self.mode);
        } else if let Some(rest) = title.strip_prefix("Geekbench ") {
            let Some(version) = rest.strip_suffix(SCORES).map(str::trim) else {
                return false;
            };
            let is_number = version.parse::<u32>().is_ok_and(|n| n < 100);
            if !is_number {
                return false;
            }
            self.end_of_table();
            let has = self.current.scores.iter().any(|(_, of, ..)| of == version);
            if has {
                self.end_of_output();
            }
            self.table = Table::Scores(version.to_owned());
        } else if title == DD {
            self.end_of_table();
            self.current
                .leave(number, format!("a section that is not read: {title}"));
        } else if title.ends_with(" Information") || title.contains("Disk Speed Tests") {
            self.end_of_table();
        } else {
            return false;
        }
        true
    }

    /// What the text says of the machine.
    fn fact(&mut self, line: &str) -> bool {
        if line.starts_with("ARM compatibility is considered") {
            self.current.size = Some("512M");
            return true;
        }
        let Some((key, value)) = line.split_once(':') else {
            return false;
        };
        match key.trim() {
            "CPU cores" => {
                let count = amount(value).map(|(count, _)| round_to_u64(count));
                let count = count.and_then(|count| u32::try_from(count).ok());
                self.current.cores = count.filter(|count| (1..1 << 20).contains(count));
                true
            }
            "Processor" => {
                let is_x86 = ["Intel", "AMD"].iter().any(|maker| value.contains(maker));
                self.current.size = self.current.size.or(is_x86.then_some("2G"));
                true
            }
            _ => false,
        }
    }

    /// `Block Size | 4k            (IOPS) | 64k           (IOPS)`.
    fn blocks(&mut self, number: usize, line: &str) {
        self.end_of_table();
        let columns = line.split('|').skip(1).map(str::trim);
        let mut disks = Vec::new();
        for column in columns.filter(|column| !column.is_empty()) {
            let bs = column.strip_suffix("(IOPS)").map(str::trim);
            let known = bs.and_then(|bs| YABS.iter().find(|(of, ..)| *of == bs));
            let Some((bs, ..)) = known else {
                let what = format!("a run of fio of another kind: `{}`", short(column));
                self.current.leave(number, what);
                return;
            };
            disks.push(Disk {
                line: number,
                bs,
                cells: [None; 3],
            });
        }
        let known = &self.current.disks;
        if disks
            .iter()
            .any(|disk| known.iter().any(|other| other.bs == disk.bs))
        {
            self.end_of_output();
            self.current.line = number;
        }
        self.table = Table::Disks(disks);
    }

    fn disk_row(&mut self, number: usize, cells: &[&str]) {
        let Table::Disks(disks) = &mut self.table else {
            return;
        };
        let at = match cells.first() {
            Some(&"Total") => 0,
            Some(&"Read") => 1,
            Some(&"Write") => 2,
            _ => return,
        };
        for (disk, cell) in disks.iter_mut().zip(cells.iter().skip(1)) {
            let is_new = disk.cells[at].is_none();
            disk.cells[at] = disk.cells[at].or(Cell::of(cell, bytes_of(disk.bs)));
            if is_new && disk.cells[at].is_none() {
                let what = format!("fio {}, {}: `{}`", disk.bs, cells[0], short(cell));
                self.current.left_out.push(LeftOut { line: number, what });
            }
        }
    }

    fn network_row(&mut self, number: usize, cells: &[&str]) {
        let Table::Networks(mode) = &self.table else {
            return;
        };
        let [provider, place, sent, received, rest @ ..] = cells else {
            return;
        };
        if provider.is_empty() || provider.starts_with('-') {
            return;
        }
        let mut values = Vec::new();
        for (key, quantity, cell) in [
            ("send", "send_bytes_per_s", sent),
            ("recv", "recv_bytes_per_s", received),
        ] {
            match bytes_per_s(cell) {
                Some(value) => values.push(transfer(quantity, value)),
                None => self.current.left_out.push(LeftOut {
                    line: number,
                    what: format!("iperf3, {}, {key}: {}", short(provider), short(cell)),
                }),
            }
        }
        if let Some(ns) = rest.first().and_then(|cell| milliseconds(cell)) {
            values.push(Figure::time("ping_ns", MetricClass::LatencyTypical, ns));
        }
        let figures = network(&self.current.blank(), [mode, provider, place], values);
        if !figures.values.is_empty() {
            self.current.figures.push(figures);
        }
    }

    fn score_row(&mut self, number: usize, cells: &[&str]) {
        let Table::Scores(version) = &self.table else {
            return;
        };
        let key = match cells.first() {
            Some(&"Single Core") => "single",
            Some(&"Multi Core") => "multi",
            _ => return,
        };
        let text = cells.get(1).copied().unwrap_or_default();
        let value =
            amount(text).filter(|(value, rest)| *value > 0.0 && *value < 1e9 && rest.is_empty());
        if let Some((value, _)) = value {
            let scores = &mut self.current.scores;
            scores.push((number, version.clone(), key, value));
        } else {
            let what = format!("Geekbench {version}: no `{key}` score: `{}`", short(text));
            self.current.left_out.push(LeftOut { line: number, what });
        }
    }
}

/// `Wed Sep 23 08:24:42 PM BST 2026`, or with 24 hours. Zones have names that others have too: the time is taken as
/// UTC, as where none is said.
fn when(line: &str) -> Option<UnixNanos> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (words, year) = match words[..] {
        [_, month, day, time, half @ ("AM" | "PM"), _, year] => {
            (format!("{month} {day} {time} {half}"), year)
        }
        [_, month, day, time, _, year] => (format!("{month} {day} {time}"), year),
        _ => return None,
    };
    let text = format!("{words} {year}");
    let at = DateTime::strptime("%b %d %I:%M:%S %p %Y", &text)
        .or_else(|_| DateTime::strptime("%b %d %H:%M:%S %Y", &text))
        .ok()?;
    let at = at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_nanosecond();
    u64::try_from(at).ok().map(UnixNanos)
}

#[cfg(test)]
mod tests;
