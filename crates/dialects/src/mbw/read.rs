//! Outputs of mbw: what each way of copying came to.
//!
//! Its output has no headline, so lines are known by their shape. The figure of a way is its average, or follows from
//! all of its copies where no average is printed (`-a`). Which way is which depends on the build: where a compiler
//! made DUMB's loop a memcpy, or Debian 12's mbw has the two names the other way round, the text does not say it. So
//! only MCBLOCK is taken for kurabe's test of that name.

use crate::figures::line::{amount, lines};
use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader};
use crate::printable::said;
use model::num::{count, round_to_u64};
use model::spec::{MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Reads mbw's outputs.
pub(crate) const READER: Reader = Reader {
    program: "mbw",
    marks: &["Method: "],
    read,
};

const MIB: f64 = 1_048_576.0;

/// The ways to copy: as printed, and in the names of tests.
const METHODS: [(&str, &str); 3] = [
    ("MEMCPY", "memcpy"),
    ("DUMB", "dumb"),
    ("MCBLOCK", "mcblock"),
];

/// A line of results.
struct Copied {
    /// `None` for an average.
    run: Option<u32>,
    method: usize,
    array_mib: f64,
    /// The size as printed.
    array: String,
    mib_per_s: f64,
}

/// The copies of one way so far.
struct Way {
    line: usize,
    first: Copied,
    rates: Vec<f64>,
}

#[derive(Default)]
struct Reading {
    found: Found,
    output: usize,
    /// Which ways the present output has had.
    seen: [bool; 3],
    /// Whether the header of the next one has been there.
    has_header: bool,
    /// `Using N bytes as blocks`.
    block: Option<u64>,
    /// `Doing N runs per test`.
    runs: Option<usize>,
    way: Option<Way>,
}

fn read(text: &str) -> Found {
    let mut reading = Reading::default();
    for (number, line) in lines(text) {
        reading.line(number, line);
    }
    reading.end_way();
    reading.found
}

impl Reading {
    fn line(&mut self, number: usize, line: &str) {
        if line.starts_with("Long uses ") {
            self.end_way();
            (self.has_header, self.block, self.runs) = (true, None, None);
            self.seen = [true; 3];
        } else if let Some(rest) = line.strip_prefix("Using ") {
            let block = rest.strip_suffix(" bytes as blocks for memcpy block copy test.");
            self.block = block.and_then(|block| block.parse().ok()).or(self.block);
        } else if let Some((_, rest)) = line.split_once("Doing ") {
            let runs = rest.strip_suffix(" runs per test.");
            self.runs = runs.and_then(|runs| runs.parse().ok()).or(self.runs);
        } else if let Some(copied) = copied(line) {
            self.copied(number, copied);
        } else if line.contains("Method: ") && line.contains("Copy: ") {
            let what = format!("not understood: {}", said(line));
            self.found.left_out.push(LeftOut { line: number, what });
        }
    }

    fn copied(&mut self, line: usize, copied: Copied) {
        let goes_on = |way: &Way| {
            let first = &way.first;
            let next = copied
                .run
                .is_none_or(|run| usize::try_from(run) == Ok(way.rates.len()));
            first.method == copied.method && first.array == copied.array && next
        };
        if !self.way.as_ref().is_some_and(goes_on) {
            self.end_way();
        }
        if self.seen[copied.method] && !self.has_header && self.way.is_none() {
            // The next output, without a header: what that of the last one said is not about it.
            (self.block, self.runs) = (None, None);
        }
        match (copied.run, &mut self.way) {
            (None, _) => {
                self.way = None;
                self.figure(line, &copied, copied.mib_per_s);
            }
            (Some(_), Some(way)) => way.rates.push(copied.mib_per_s),
            (Some(run), None) => {
                // A later copy without the first ones is what is left of a text that was cut: its average may follow.
                let rates = if run == 0 {
                    vec![copied.mib_per_s]
                } else {
                    Vec::new()
                };
                self.way = (run == 0).then_some(Way {
                    line,
                    first: copied,
                    rates,
                });
            }
        }
    }

    /// The copies of a way have ended, and no average was printed.
    fn end_way(&mut self) {
        let Some(Way { line, first, rates }) = self.way.take() else {
            return;
        };
        if self.runs.is_some_and(|runs| runs == rates.len()) {
            // Equal amounts: the time of all of them is the sum of the inverse rates.
            let inverse: f64 = rates.iter().map(|rate| rate.recip()).sum();
            self.figure(line, &first, count(rates.len()) / inverse);
        } else {
            let what = format!(
                "{} without an average, and not all of its copies",
                METHODS[first.method].0
            );
            self.found.left_out.push(LeftOut { line, what });
        }
    }

    fn figure(&mut self, line: usize, copied: &Copied, mib_per_s: f64) {
        let (title, name) = METHODS[copied.method];
        let value = mib_per_s * MIB;
        if !(value.is_finite() && value > 0.0) {
            let what = format!("{title}: {mib_per_s} MiB/s is no rate");
            return self.found.left_out.push(LeftOut { line, what });
        }
        if self.seen[copied.method] {
            self.output += usize::from(!self.found.figures.is_empty());
            (self.seen, self.has_header) = ([false; 3], false);
        }
        self.seen[copied.method] = true;
        let mut params = BTreeMap::from([("array".to_owned(), format!("{} MiB", copied.array))]);
        let block = self.block.filter(|_| name == "mcblock");
        if let Some(block) = block {
            params.insert("block".to_owned(), format!("{block} bytes"));
        }
        self.found.figures.push(Figures {
            cut_short: None,
            output: self.output,
            version: None,
            when: None,
            test: format!("mbw.{name}"),
            title: format!("mbw {title}"),
            copies: 1,
            nature: Nature::Memory,
            params,
            values: vec![Figure::rate(
                "bytes_per_s",
                Unit::BytesPerSecond,
                MetricClass::Compute,
                value,
            )],
            ours: block.map(|block| ours(copied.array_mib, block)),
        });
    }
}

/// kurabe's MCBLOCK, with what differs from its own.
fn ours(array_mib: f64, block: u64) -> Ours {
    let mut set = Vec::new();
    let size = round_to_u64(array_mib * MIB);
    if size != 128 << 20 {
        set.push(("size", size.to_string()));
    }
    if block != 262_144 {
        set.push(("block", block.to_string()));
    }
    Ours {
        test: "memory.mbw-mcblock".into(),
        set,
        server: None,
    }
}

/// `0  Method: MEMCPY  Elapsed: 0.00373  MiB: 16.00000  Copy: 4288.395 MiB/s`, with `AVG` for the number in averages.
fn copied(line: &str) -> Option<Copied> {
    let (run, rest) = line.split_once("Method:")?;
    let (method, rest) = rest.split_once("Elapsed:")?;
    let (_, rest) = rest.split_once("MiB:")?;
    let (array, rest) = rest.split_once("Copy:")?;
    let method = METHODS
        .iter()
        .position(|(title, _)| *title == method.trim())?;
    let run = match run.trim() {
        "AVG" => None,
        run => Some(run.parse().ok()?),
    };
    let (array_mib, _) = amount(array)?;
    let (mib_per_s, unit) = amount(rest)?;
    // Three decimals are a whole number here, whatever became of its unit.
    let (_, decimals) = rest.trim_start().split_once('.')?;
    let is_whole = decimals.bytes().take_while(u8::is_ascii_digit).count() == 3;
    let array = array.trim().to_owned();
    (is_whole && "MiB/s".starts_with(unit)).then_some(Copied {
        run,
        method,
        array_mib,
        array,
        mib_per_s,
    })
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
