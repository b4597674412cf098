//! Outputs of vdbench: what it prints, `summary.html`, `totals.html` and `flatfile.html`, also out of browsers.
//!
//! Only the rows of averages are read, one per execution of a run definition: `avg_2-10` leaves out the first interval
//! as its users do. The columns differ by version and are told by their headings. MB are 1024^2 bytes, times are
//! printed in milliseconds. A row without any I/O, or without numbers, is no measurement and is listed as left out.

mod columns;
mod flatfile;
pub mod language;
pub mod output;
#[cfg(test)]
mod tests;

use crate::figures::{Figures, Found, LeftOut, Reader};
use columns::{Columns, Value};
use jiff::civil::Date;
use model::units::UnixNanos;
use std::collections::{BTreeMap, HashSet};

/// Reads outputs of vdbench.
pub(crate) const READER: Reader = Reader {
    program: "vdbench",
    marks: &[],
    read,
};

/// What is longer is no name and no value of a run definition.
const MAX_WORD: usize = 80;

/// The run definition that runs.
#[derive(Clone, Default)]
struct Definition {
    name: String,
    params: BTreeMap<String, String>,
    /// What its loops set, without threads: they tell executions of one definition apart.
    loops: String,
    copies: u32,
}

/// The wall clock of the text: the date of the last headings, and times of the day since.
#[derive(Clone, Copy, Default)]
struct Clock {
    date: Option<Date>,
    last_s: i64,
}

impl Clock {
    /// The instant of a time such as `13:53:07.017`; a time that goes back by half a day is of the next day.
    fn at(&mut self, time: &str) -> Option<UnixNanos> {
        let time: jiff::civil::Time = time.parse().ok()?;
        let second = i64::from(time.hour()) * 3600
            + i64::from(time.minute()) * 60
            + i64::from(time.second());
        if second + 12 * 3600 < self.last_s {
            self.date = self.date.and_then(|date| date.tomorrow().ok());
        }
        self.last_s = second;
        unix(self.date?.to_datetime(time))
    }
}

/// Local times are taken as UTC: the text says no zone, or a name such as CST that several zones have.
fn unix(at: jiff::civil::DateTime) -> Option<UnixNanos> {
    let nanos = at.in_tz("UTC").ok()?.timestamp().as_nanosecond();
    u64::try_from(nanos).ok().map(UnixNanos)
}

#[derive(Default)]
struct Reading<'a> {
    found: Found,
    output: usize,
    begun: bool,
    is_whole: bool,
    version: Option<String>,
    clock: Clock,
    definition: Option<Definition>,
    headings: Option<&'a str>,
    columns: Option<Columns>,
    flat: Option<flatfile::Columns<'a>>,
    seen: HashSet<(String, &'a str)>,
}

fn read(text: &str) -> Found {
    let mut reading = Reading::default();
    for (at, line) in (1..).zip(text.split_inclusive('\n')) {
        // The last word of a line without an end may have been longer.
        reading.is_whole = line.ends_with(char::is_whitespace);
        reading.line(at, line.trim_start_matches(['>', ' ', '\t']).trim_end());
    }
    reading.found
}

impl<'a> Reading<'a> {
    fn line(&mut self, at: usize, line: &'a str) {
        if let Some(headings) = self.headings.take() {
            self.columns = Columns::of(headings, line);
        }
        if let Some(start) = line.find("Starting RD=") {
            self.definition = definition(&line[start..]);
        } else if line.contains("<title>Vdbench") || line.starts_with("Vdbench distribution:") {
            let version = line
                .split_whitespace()
                .nth(2)
                .and_then(|word| word.strip_prefix("vdbench"));
            let output = self.output + usize::from(self.begun);
            *self = Self {
                found: std::mem::take(&mut self.found),
                seen: std::mem::take(&mut self.seen),
                output,
                version: version
                    .filter(|word| word.len() <= MAX_WORD)
                    .map(str::to_owned),
                ..Self::default()
            };
        } else if columns::is_headings(line) {
            self.clock.date = date(line).or(self.clock.date);
            self.clock.last_s = 0;
            self.headings = Some(line);
        } else if let Some(columns) = flatfile::Columns::of(line) {
            self.flat = Some(columns);
        } else if let Some(columns) = self.flat.as_ref().filter(|_| flatfile::has_row(line)) {
            let row = columns.average(line, self.is_whole, self.output, self.version.as_ref());
            self.keep(at, line, row);
        } else if let Some((time, row)) = average(line) {
            let row = self.row(time, row);
            self.keep(at, line, row);
        } else if let Some(time) = line.get(..12).filter(|_| self.clock.date.is_some()) {
            // Rows of intervals say when the day ended.
            self.clock.at(time);
        }
    }

    /// A row of averages: what follows `avg_`.
    fn row(&mut self, time: &str, row: &str) -> Row {
        let when = self.clock.at(time);
        let Some(definition) = &self.definition else {
            return Row::Unread("a row of averages without the line that names its run definition");
        };
        let Some(columns) = &self.columns else {
            return Row::Unread("a row of averages without its headings");
        };
        let mut words = row.split_whitespace();
        let interval = words.next().unwrap_or_default().to_owned();
        let Some(values) = columns.values(words, self.is_whole) else {
            return Row::Unread("a row of averages whose columns are not those of its headings");
        };
        let about = About {
            output: self.output,
            version: self.version.clone(),
            when,
            kind: columns.kind,
        };
        figures(about, definition, &interval, &values)
    }

    fn keep(&mut self, line: usize, text: &'a str, row: Row) {
        match row {
            Row::Other => {}
            Row::Unread(why) => {
                let what = why.to_owned();
                self.found.left_out.push(LeftOut { line, what });
            }
            // The same row stands in several files of one execution.
            Row::Figures(figures) => {
                self.begun = true;
                if self.seen.insert((figures.test.clone(), text)) {
                    self.found.figures.push(*figures);
                }
            }
        }
    }
}

/// What became of a row.
enum Row {
    /// Not one of averages.
    Other,
    /// Why it is left out.
    Unread(&'static str),
    Figures(Box<Figures>),
}

/// What a row does not say itself.
struct About {
    output: usize,
    version: Option<String>,
    when: Option<UnixNanos>,
    kind: columns::Kind,
}

fn figures(about: About, definition: &Definition, interval: &str, values: &[Value]) -> Row {
    let kind = about.kind;
    let Some(values_kept) = columns::quantities(kind, values) else {
        return Row::Unread("no I/O in the intervals averaged: no measurement");
    };
    let mut params = definition.params.clone();
    params.insert("averaged".to_owned(), interval.to_owned());
    params.extend(columns::params(values));
    let slug = slug(&definition.name);
    Row::Figures(Box::new(Figures {
        cut_short: None,
        output: about.output,
        version: about.version,
        when: about.when,
        test: format!("vdbench.{slug}{}", definition.loops),
        title: format!("{} of run definition {}", kind.title(), definition.name),
        copies: definition.copies,
        nature: kind.nature(),
        params,
        values: values_kept,
        ours: None,
    }))
}

/// A name for a test: of lowercase letters, digits and `-`.
fn slug(name: &str) -> String {
    let letters = name.chars().map(|c| c.to_ascii_lowercase());
    letters
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect()
}

/// Time and rest of `13:53:07.017    avg_2-10    29881.3 ...`, also where both are glued.
fn average(line: &str) -> Option<(&str, &str)> {
    let at = line.find("avg_")?;
    let (time, row) = line.split_at(at);
    let time = time.trim_end();
    let is_time = (8..=12).contains(&time.len())
        && time.chars().all(|c| c.is_ascii_digit() || ":.".contains(c));
    is_time.then_some((time, row))
}

/// `Apr 11, 2019  interval ...`. Months of other languages are not known, and their dates are missing.
fn date(line: &str) -> Option<Date> {
    let months = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let mut words = line.split_whitespace();
    let month = words.next().filter(|word| word.len() == 3)?;
    let month = months.find(month).filter(|at| at % 3 == 0)? / 3 + 1;
    let day = words.next()?.strip_suffix(',')?.parse().ok()?;
    let year = words.next()?.parse().ok()?;
    Date::new(year, i8::try_from(month).ok()?, day).ok()
}

/// `Starting RD=rd1; I/O rate: 100; elapsed=5 warmup=30; For loops: threads=2 iorate=max`; file systems have
/// `Starting RD=rd1; elapsed=30; fwdrate=max. For loops: None`.
fn definition(line: &str) -> Option<Definition> {
    let line = line.split('<').next()?;
    let (head, loops) = line.split_once("For loops:")?;
    let mut parts = head
        .split(';')
        .map(|part| part.trim().trim_end_matches('.'));
    let name = parts.next()?.strip_prefix("Starting RD=")?.trim();
    if name.is_empty() || name.len() > MAX_WORD || name.contains(char::is_whitespace) {
        return None;
    }
    let mut definition = Definition {
        name: name.to_owned(),
        copies: 1,
        ..Definition::default()
    };
    let mut set = |key: &str, value: &str| {
        if key.len() <= MAX_WORD && value.len() <= MAX_WORD {
            definition
                .params
                .insert(key.to_owned(), value.trim().to_owned());
        }
    };
    set("rd", name);
    for part in parts {
        match part.split_once(": ") {
            Some((_, rate)) => set("iorate", rate),
            None => part
                .split_whitespace()
                .filter_map(|word| word.split_once('='))
                .for_each(|(k, v)| set(k, v)),
        }
    }
    for (key, value) in loops
        .split_whitespace()
        .take(16)
        .filter_map(|word| word.split_once('='))
    {
        set(key, value);
        if key == "threads" {
            definition.copies = value.parse().ok().filter(|copies| *copies > 0).unwrap_or(1);
        } else if key.len() + value.len() <= MAX_WORD {
            definition
                .loops
                .extend([".", &slug(key), "-", &slug(value)]);
        }
    }
    Some(definition)
}
