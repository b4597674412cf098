//! Outputs of dbench and tbench, 3 and 4: one output per `Throughput` line, with the table of operations before it.
//!
//! MB are 10^6 bytes, read and written ones together; latencies are printed in milliseconds. The lines of every second
//! are progress, and averages come from scripts around it: both are no results. Version 3 prints neither clients nor
//! latencies, so its processes are the clients.

#[cfg(test)]
mod tests;
mod write;

pub use write::{has_report, report_text};

use crate::figures::line::number;
use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader};
use model::spec::{Better, MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Reads outputs of dbench.
pub(crate) const READER: Reader = Reader {
    program: "dbench",
    marks: &["Throughput "],
    read,
};

/// What is longer is no name of a file and no version.
const MAX_WORD: usize = 80;

/// dbench has fewer than 30 operations; what lists more is something else.
const MAX_OPERATIONS: usize = 64;

/// A table with more lines that cannot be read has ended before them.
const MAX_UNREAD: usize = 16;

/// A row of the table of operations.
struct Operation<'a> {
    name: &'a str,
    count: f64,
    mean_ms: f64,
    max_ms: f64,
}

/// What the lines of an output said before its last line.
#[derive(Default)]
struct Heard<'a> {
    version: Option<&'a str>,
    params: BTreeMap<String, String>,
    operations: Vec<Operation<'a>>,
    in_table: bool,
    /// Lines of the table that could not be read.
    unread: usize,
}

/// The last line of an output.
struct Total {
    mb_per_s: f64,
    copies: u32,
    max_ms: Option<f64>,
    params: BTreeMap<String, String>,
}

fn read(text: &str) -> Found {
    let mut found = Found::default();
    let mut heard = Heard::default();
    let mut output = 0;
    for (at, line) in (1..).zip(text.lines()) {
        let from = |word: &str| line.find(word).map(|at| &line[at..]);
        if let Some(rest) = from("dbench version ") {
            let version = rest
                .split_whitespace()
                .nth(2)
                .filter(|word| word.len() <= MAX_WORD);
            heard = Heard {
                version,
                ..Heard::default()
            };
        } else if let Some(rest) = from("Running for ") {
            heard.params = run_params(rest).unwrap_or_default();
            heard.operations.clear();
        } else if is_table_head(line) {
            heard.operations.clear();
            heard.unread = 0;
            heard.in_table = true;
        } else if let Some(rest) = from("Throughput ") {
            let heard = std::mem::take(&mut heard);
            match total(rest) {
                Some(total) if total.mb_per_s > 0.0 => {
                    found.figures.extend(figures(output, &heard, total));
                }
                Some(_) => found.left_out.push(LeftOut {
                    line: at,
                    what: "no data moved: the run ended before it measured".to_owned(),
                }),
                // The word begins many a sentence; with its unit it is a result that cannot be read.
                None if heard.in_table || rest.contains("MB/sec") => {
                    found.left_out.push(left_out(at, line));
                }
                None => continue,
            }
            output += 1;
        } else if heard.in_table {
            match operation(line) {
                Some(_) if heard.operations.len() >= MAX_OPERATIONS => {}
                Some(operation) => {
                    let is_new = heard
                        .operations
                        .iter()
                        .all(|one| one.name != operation.name);
                    heard.operations.extend(is_new.then_some(operation));
                }
                None if is_between_rows(line) => {}
                None => {
                    found.left_out.push(left_out(at, line));
                    heard.unread += 1;
                    heard.in_table = heard.unread < MAX_UNREAD;
                }
            }
        }
    }
    found
}

fn left_out(line: usize, what: &str) -> LeftOut {
    let what = what.trim().chars().take(120).collect();
    LeftOut { line, what }
}

/// ` Operation      Count    AvgLat    MaxLat`.
fn is_table_head(line: &str) -> bool {
    let mut words = line.split_whitespace().rev();
    [
        Some("MaxLat"),
        Some("AvgLat"),
        Some("Count"),
        Some("Operation"),
    ]
    .iter()
    .all(|word| words.next() == *word)
}

/// The rule below the head, and lines without anything.
fn is_between_rows(line: &str) -> bool {
    line.trim_matches([' ', '\t', '-', '>']).is_empty()
}

fn operation(line: &str) -> Option<Operation<'_>> {
    let mut words = line.split_whitespace().skip_while(|word| *word == ">");
    let name = words.next()?;
    let of_letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.len() <= 40 && name.starts_with(|c: char| c.is_ascii_alphabetic());
    let count = exact(words.next()?)?;
    // What has fewer decimals than dbench prints is cut.
    let mut latency = || {
        let word = words.next()?;
        let decimals = word.split_once('.')?.1.len();
        exact(word).filter(|_| decimals == 3)
    };
    let (mean_ms, max_ms) = (latency()?, latency()?);
    let is_row = is_name && name.chars().all(of_letters) && words.next().is_none();
    (is_row && count.fract() == 0.0).then_some(Operation {
        name,
        count,
        mean_ms,
        max_ms,
    })
}

/// A word that is one number from 0, as a whole.
fn exact(word: &str) -> Option<f64> {
    let (value, rest) = number(word)?;
    (rest.is_empty() && value >= 0.0 && !word.contains(',')).then_some(value)
}

/// `Running for 30 seconds with load '/usr/share/client.txt' and minimum warmup 6 secs`.
fn run_params(line: &str) -> Option<BTreeMap<String, String>> {
    let words: Vec<&str> = line.split_whitespace().take(16).collect();
    let ["Running", "for", seconds, "seconds", rest @ ..] = &words[..] else {
        return None;
    };
    exact(seconds)?;
    let mut params = BTreeMap::from([("run_s".to_owned(), (*seconds).to_owned())]);
    let after = |word| rest.iter().skip_while(move |w| **w != word).nth(1);
    if let Some(load) = after("load") {
        // Where the file is installed says nothing of what is in it.
        let name = load
            .trim_matches('\'')
            .rsplit('/')
            .next()
            .unwrap_or_default();
        if name.len() <= MAX_WORD {
            params.insert("load".to_owned(), name.to_owned());
        }
    }
    if let Some(warmup) = after("warmup").filter(|word| exact(word).is_some()) {
        params.insert("warmup_s".to_owned(), (*warmup).to_owned());
    }
    Some(params)
}

/// `Throughput 1.5 MB/sec (sync open)  4 clients  4 procs  max_latency=0.1 ms`, and `Throughput 1.5 MB/sec 4 procs`.
fn total(line: &str) -> Option<Total> {
    let mut params = BTreeMap::new();
    let mut plain = line.replace("(sync open)", " SYNC_OPEN ");
    plain = plain.replace("(sync dirs)", " SYNC_DIRS ");
    let mut words = plain.split_whitespace().skip(1);
    let mb_per_s = exact(words.next()?)?;
    if words.next()? != "MB/sec" {
        return None;
    }
    let (mut clients, mut procs, mut max_ms) = (None, None, None);
    while let Some(word) = words.next() {
        if word == "SYNC_OPEN" || word == "SYNC_DIRS" {
            params.insert(word.to_lowercase(), "yes".to_owned());
        } else if let Some(latency) = word.strip_prefix("max_latency=") {
            max_ms = Some(exact(latency)?);
            if words.next()? != "ms" {
                return None;
            }
        } else {
            let count: u32 = word.parse().ok().filter(|count| *count > 0)?;
            match words.next()? {
                "clients" => clients = Some(count),
                "procs" => procs = Some(count),
                _ => return None,
            }
            // A line of version 3 ends here, whatever was pasted behind it.
            if clients.is_none() {
                break;
            }
        }
    }
    // A line of version 4 that lacks its end is not known to be whole.
    if clients.is_some() && (procs.is_none() || max_ms.is_none()) {
        return None;
    }
    let copies = clients.or(procs)?;
    if let Some(procs) = procs.filter(|procs| *procs != copies) {
        params.insert("procs".to_owned(), procs.to_string());
    }
    Some(Total {
        mb_per_s,
        copies,
        max_ms,
        params,
    })
}

fn figures(output: usize, heard: &Heard<'_>, total: Total) -> Vec<Figures> {
    let mut params = heard.params.clone();
    params.extend(total.params);
    let figures = |test: String, title: String, values| Figures {
        cut_short: None,
        output,
        version: heard.version.map(str::to_owned),
        when: None,
        test,
        title,
        copies: total.copies,
        nature: Nature::FileSystem,
        params: params.clone(),
        values,
        ours: None,
    };
    let class = MetricClass::Throughput;
    let rate = Figure::rate(
        "bytes_per_s",
        Unit::BytesPerSecond,
        class,
        total.mb_per_s * 1e6,
    );
    let latency = total
        .max_ms
        .and_then(|ms| time("lat_ns_max", MetricClass::LatencyExtreme, ms));
    let mut values: Vec<Figure> = [Some(rate), latency].into_iter().flatten().collect();
    let ours = ours(heard.version, &params, total.copies);
    if ours.is_some() {
        values.extend(heard.operations.iter().flat_map(of_ours));
    }
    let mut all = vec![Figures {
        ours: ours.clone(),
        ..figures(
            "dbench.throughput".to_owned(),
            "Throughput".to_owned(),
            values,
        )
    }];
    for operation in &heard.operations {
        let count = Figure {
            better: Better::Higher,
            ..Figure::rate("count", Unit::Number, class, operation.count)
        };
        let times = match ours {
            Some(_) if !of_ours(operation).is_empty() => [None, None],
            _ => times(operation, ["lat_ns_mean", "lat_ns_max"]),
        };
        let values = times.into_iter().flatten().chain([count]).collect();
        let name = operation.name.to_ascii_lowercase().replace('_', "-");
        let title = operation.name.to_owned();
        all.push(figures(format!("dbench.{name}"), title, values));
    }
    all
}

/// The digest of the load file that comes with dbench 4, as `fs.dbench` knows it: kurabe has nothing else of it.
const CLIENT_TXT: &str = "a50b5c9fb6fb2da0";

/// kurabe's own test where it did the same: the file that comes with dbench 4, for as long, with nothing synced but
/// what it flushes.
fn ours(version: Option<&str>, params: &BTreeMap<String, String>, copies: u32) -> Option<Ours> {
    let number = |name: &str| params.get(name)?.parse::<u64>().ok();
    let of_4 = version.is_some_and(|version| version.starts_with("4."));
    let is_plain = params
        .keys()
        .all(|name| ["load", "run_s", "warmup_s"].contains(&name.as_str()));
    let is_theirs = params.get("load").is_some_and(|name| name == "client.txt");
    // The warm-up, a fifth as long, comes before the seconds that the heading names.
    let measured = number("run_s")?;
    let is_warm = number("warmup_s")? == measured / 5;
    (of_4 && is_plain && is_theirs && is_warm && copies > 0).then(|| Ours {
        test: "fs.dbench".into(),
        set: vec![
            ("load", CLIENT_TXT.to_owned()),
            ("time", format!("{measured}s")),
        ],
        server: None,
    })
}

/// The times of an operation under the names that they have in our own test; none for those that it tells nothing of.
fn of_ours(operation: &Operation<'_>) -> Vec<Figure> {
    let name = operation.name.to_ascii_lowercase();
    if !TIMED.contains(&name.as_str()) {
        return Vec::new();
    }
    let quantities = [format!("{name}_ns_mean"), format!("{name}_ns_max")];
    let quantities = [quantities[0].as_str(), quantities[1].as_str()];
    times(operation, quantities).into_iter().flatten().collect()
}

/// The operations of which `fs.dbench` has times.
const TIMED: [&str; 14] = [
    "ntcreatex",
    "close",
    "rename",
    "unlink",
    "qpathinfo",
    "qfileinfo",
    "qfsinfo",
    "sfileinfo",
    "find",
    "writex",
    "readx",
    "lockx",
    "unlockx",
    "flush",
];

fn times(operation: &Operation<'_>, [mean, max]: [&str; 2]) -> [Option<Figure>; 2] {
    [
        time(mean, MetricClass::LatencyTypical, operation.mean_ms),
        time(max, MetricClass::LatencyExtreme, operation.max_ms),
    ]
}

/// A time that was printed in milliseconds; one that was rounded to nothing is no value.
fn time(quantity: &str, class: MetricClass, ms: f64) -> Option<Figure> {
    (ms > 0.0).then(|| Figure::time(quantity, class, ms * 1e6))
}
