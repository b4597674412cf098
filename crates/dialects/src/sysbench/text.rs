//! One output of sysbench as it stands in a text: its command line, what it says of itself, and its numbers.
//!
//! The keys of all versions stand in one list, because people cut headlines: a number is known by its key, not by the
//! version.

use crate::figures::line::{amount, goes_on, keyed};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// What one execution printed.
#[derive(Debug, Default)]
pub(super) struct Output {
    /// The line at which it begins.
    pub(super) line: usize,
    pub(super) version: Option<String>,
    /// The command line above it, where it agrees with what was printed.
    pub(super) command: Option<Command>,
    pub(super) threads: Option<u32>,
    /// The test, in the words of the text: `cpu`, `fileio-rndrw`.
    pub(super) test: Option<&'static str>,
    pub(super) params: BTreeMap<String, String>,
    /// Numbers by their slots, in the units of sysbench 1.0: seconds, milliseconds, MiB.
    pub(super) numbers: BTreeMap<Slot, f64>,
    /// Which percentile [`Slot::Percentile`] is, such as `95`.
    pub(super) percentile: String,
    /// Whether the last line of every version was there.
    pub(super) is_whole: bool,
    /// Whether the last line had a known key and no number, or may be the rest of the number before it.
    pub(super) is_odd: bool,
    /// The numbers that the last line brought.
    pub(super) latest: Vec<Slot>,
}

/// A command line of sysbench.
#[derive(Clone, Debug, Default)]
pub(super) struct Command {
    /// The test or script, without directories and `.lua`.
    pub(super) test: String,
    /// The options, with `-` between their words.
    pub(super) options: BTreeMap<String, String>,
}

/// What a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Slot {
    EventsPerSecond,
    TotalSeconds,
    Events,
    SecondsSpent,
    Min,
    Mean,
    Max,
    Sum,
    Percentile,
    MibPerSecond,
    Transactions,
    TransactionsPerSecond,
    QueriesPerSecond,
    RequestsPerSecond,
    ErrorsPerSecond,
    Reads,
    Writes,
    Others,
    ReadsPerSecond,
    WritesPerSecond,
    SyncsPerSecond,
    ReadMibPerSecond,
    WrittenMibPerSecond,
    IoPerSecond,
}

/// Where the number stands behind its key.
#[derive(Clone, Copy, PartialEq)]
enum At {
    /// First.
    First,
    /// First, in milliseconds where no unit is printed.
    Milliseconds,
    /// In brackets.
    Rate,
}

const KEYS: &[(&str, Slot, At)] = &[
    ("events per second", Slot::EventsPerSecond, At::First),
    ("events/s (eps)", Slot::EventsPerSecond, At::First),
    ("total operations", Slot::EventsPerSecond, At::Rate),
    ("operations performed", Slot::EventsPerSecond, At::Rate),
    ("total time", Slot::TotalSeconds, At::First),
    ("time elapsed", Slot::TotalSeconds, At::First),
    ("total number of events", Slot::Events, At::First),
    (
        "total time taken by event execution",
        Slot::SecondsSpent,
        At::First,
    ),
    ("min", Slot::Min, At::Milliseconds),
    ("avg", Slot::Mean, At::Milliseconds),
    ("max", Slot::Max, At::Milliseconds),
    ("sum", Slot::Sum, At::Milliseconds),
    ("transactions", Slot::Transactions, At::First),
    ("transactions", Slot::TransactionsPerSecond, At::Rate),
    ("queries", Slot::QueriesPerSecond, At::Rate),
    ("read/write requests", Slot::RequestsPerSecond, At::Rate),
    ("deadlocks", Slot::ErrorsPerSecond, At::Rate),
    ("ignored errors", Slot::ErrorsPerSecond, At::Rate),
    ("read", Slot::Reads, At::First),
    ("write", Slot::Writes, At::First),
    ("other", Slot::Others, At::First),
    ("reads/s", Slot::ReadsPerSecond, At::First),
    ("writes/s", Slot::WritesPerSecond, At::First),
    ("fsyncs/s", Slot::SyncsPerSecond, At::First),
    ("read, mib/s", Slot::ReadMibPerSecond, At::First),
    ("written, mib/s", Slot::WrittenMibPerSecond, At::First),
];

/// What lines say of the test, and the test that has such a line.
const TESTS: &[(&str, &str)] = &[
    ("Doing CPU performance benchmark", "cpu"),
    ("Doing memory operations speed test", "memory"),
    ("Running memory speed test", "memory"),
    ("Doing thread subsystem performance test", "threads"),
    ("Doing mutex performance test", "mutex"),
    ("Doing OLTP test", "oltp"),
    ("Running mixed OLTP test", "oltp-complex"),
    ("Running simple OLTP test", "oltp-simple"),
    ("SQL statistics:", "oltp"),
    ("OLTP test statistics:", "oltp"),
    ("Doing sequential write (creation) test", "fileio-seqwr"),
    ("Doing sequential rewrite test", "fileio-seqrewr"),
    ("Doing sequential read test", "fileio-seqrd"),
    ("Doing random read test", "fileio-rndrd"),
    ("Doing random write test", "fileio-rndwr"),
    ("Doing random r/w test", "fileio-rndrw"),
];

/// Parameters that stand behind a key, by the names of the options that set them.
const PARAMS: &[(&str, &str)] = &[
    ("prime numbers limit", "cpu-max-prime"),
    ("maximum prime number checked in cpu test", "cpu-max-prime"),
    ("block size", "memory-block-size"),
    ("memory block size", "memory-block-size"),
    ("operation", "memory-oper"),
    ("memory operations type", "memory-oper"),
    ("scope", "memory-scope"),
    ("memory scope type", "memory-scope"),
    (
        "read/write ratio for combined random io test",
        "file-rw-ratio",
    ),
    ("target transaction rate", "rate"),
];

/// Parameters that stand between two texts.
const WORDED: &[(&str, &str, &str)] = &[
    ("Block size ", "", "file-block-size"),
    (
        "Periodic FSYNC enabled, calling fsync() each ",
        " requests.",
        "file-fsync-freq",
    ),
    ("Using ", " I/O mode", "file-io-mode"),
    ("Using ", " distribution", "rand-type"),
];

impl Output {
    /// What every version prints and is not there, in the words of its version; `None` where all of it is.
    pub(super) fn cut_short(&self, test: &str) -> Option<String> {
        let is_of = |start: &str| {
            let version = self.version.as_deref();
            version.is_some_and(|version| version.starts_with(start))
        };
        let (totals, latencies) = match () {
            () if is_of("0.4") => ("Test execution summary", "the statistics of a request"),
            () if is_of("0.") => ("General statistics", "the statistics of a request"),
            () if is_of("1.1") => ("Throughput", "Latency"),
            () => ("General statistics", "Latency"),
        };
        let lacks = |slots: &[Slot]| slots.iter().any(|slot| !self.numbers.contains_key(slot));
        let no_latencies = lacks(&[Slot::Min, Slot::Mean, Slot::Max]);
        // What stands above latencies is not cut where they are there; 1.1 counts no events of files.
        let is_uncounted = is_of("1.1") && test.starts_with("fileio");
        let no_totals = no_latencies && !is_uncounted && lacks(&[Slot::TotalSeconds, Slot::Events]);
        let parts = [
            (no_totals, totals),
            (no_latencies, latencies),
            (!self.is_whole, "Threads fairness"),
        ];
        let missing = parts
            .iter()
            .filter_map(|&(is, name)| is.then_some(name))
            .collect::<Vec<_>>()
            .join(", ");
        (!missing.is_empty()).then(|| {
            format!(
                "the output of sysbench {test} is not whole: {missing} is not there (cut short?)"
            )
        })
    }

    /// Takes a line; false where it says nothing.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let before = std::mem::take(&mut self.latest);
        let known = self.whole_line(line);
        if !known && goes_on(line) {
            // It may end the last number of the line before, of which half is another number.
            self.is_odd |= !before.is_empty();
            self.numbers.retain(|slot, _| !before.contains(slot));
        }
        known
    }

    fn whole_line(&mut self, line: &str) -> bool {
        self.is_odd = false;
        if let Some(&(_, test)) = TESTS.iter().find(|(start, _)| line.starts_with(start)) {
            // A later line of the same family says more, or less: the first word of it, and the longer one, count.
            if self.test.is_none_or(|known| test.starts_with(known)) {
                self.test = Some(test);
            }
            return true;
        }
        self.worded(line) || keyed(line).is_some_and(|(key, value)| self.keyed(&key, value))
    }

    fn worded(&mut self, line: &str) -> bool {
        let yields = line.strip_prefix("Thread yields per test:");
        if let Some((yields, locks)) = yields.and_then(|rest| rest.split_once("Locks used:")) {
            self.param("thread-yields", yields.trim());
            self.param("thread-locks", locks.trim());
            return true;
        }
        if let Some((_, rest)) = line.split_once(" transferred (") {
            return self.number(Slot::MibPerSecond, mib(rest));
        }
        if let Some((_, rest)) = line.split_once("Total transferred ") {
            let rate = rest.split_once('(').map(|(_, rate)| rate);
            return self.number(Slot::MibPerSecond, rate.and_then(mib));
        }
        if line.ends_with(" Requests/sec executed") {
            return self.number(Slot::IoPerSecond, amount(line).map(|(value, _)| value));
        }
        if let Some((files, size)) = line.split_once(" files, ") {
            let size = size.strip_suffix(" each");
            if let (Ok(_), Some(size)) = (files.parse::<u64>(), size) {
                self.param("file-num", files);
                self.param("file-size", size);
                return true;
            }
        }
        if line == "Doing read-only test" {
            self.param("oltp-read-only", "on");
            return true;
        }
        if let Some(flags) = line.strip_prefix("Extra file open flags: ") {
            // No flag has no number, or the number 0.
            if !matches!(flags, "(none)" | "0") {
                self.param("file-extra-flags", flags);
            }
            return true;
        }
        let found = WORDED.iter().find_map(|&(start, end, name)| {
            let value = line.strip_prefix(start)?;
            let at = if end.is_empty() {
                value.len()
            } else {
                value.find(end)?
            };
            Some((name, value[..at].trim()))
        });
        found.is_some_and(|(name, value)| {
            self.param(name, value);
            true
        })
    }

    fn keyed(&mut self, key: &str, value: &str) -> bool {
        if key == "number of threads" {
            let threads = value.parse().ok().filter(|&threads| threads > 0);
            self.threads = self.threads.or(threads);
            return true;
        }
        if let Some(&(_, name)) = PARAMS.iter().find(|(known, _)| *known == key) {
            if name == "cpu-max-prime" {
                self.test = self.test.or(Some("cpu"));
            }
            self.param(name, value);
            return true;
        }
        if let Some(percentile) = percentile(key) {
            if self.number(Slot::Percentile, milliseconds(value)) {
                percentile.clone_into(&mut self.percentile);
            }
            return true;
        }
        if value.contains("IOPS=") {
            return self.master(key, value);
        }
        if key == "operations performed" && value.contains('=') {
            return self.counts(value);
        }
        let mut known = false;
        for &(_, slot, at) in KEYS.iter().filter(|(name, ..)| *name == key) {
            let number = match at {
                At::First => amount(value).map(|(number, _)| number),
                At::Milliseconds => milliseconds(value),
                At::Rate => value
                    .split_once('(')
                    .and_then(|(_, rate)| Some(amount(rate)?.0)),
            };
            known |= self.number(slot, number);
        }
        known
    }

    /// `read:  IOPS=2933.07 45.83 MiB/s (48.06 MB/s)`, as 1.1 writes it.
    fn master(&mut self, key: &str, value: &str) -> bool {
        let (rate, size) = match key {
            "read" => (Slot::ReadsPerSecond, Some(Slot::ReadMibPerSecond)),
            "write" => (Slot::WritesPerSecond, Some(Slot::WrittenMibPerSecond)),
            "fsync" => (Slot::SyncsPerSecond, None),
            _ => return false,
        };
        let Some((number, rest)) = value.split_once("IOPS=").and_then(|(_, rest)| amount(rest))
        else {
            return false;
        };
        if let Some(size) = size {
            self.number(size, mib(rest));
        }
        self.number(rate, Some(number))
    }

    /// `4000 Read, 2667 Write, 8530 Other = 15197 Total`, as 0.4 counts file operations.
    fn counts(&mut self, value: &str) -> bool {
        let mut known = false;
        for part in value.split([',', '=']) {
            let Some((number, word)) = amount(part) else {
                continue;
            };
            let slot = match word.to_lowercase().as_str() {
                "read" | "reads" => Slot::Reads,
                "write" | "writes" => Slot::Writes,
                "other" => Slot::Others,
                _ => continue,
            };
            known |= self.number(slot, Some(number));
        }
        known
    }

    /// Keeps a number; the first one of its kind is that of the results.
    fn number(&mut self, slot: Slot, number: Option<f64>) -> bool {
        if let Some(number) = number
            && let Entry::Vacant(place) = self.numbers.entry(slot)
        {
            place.insert(number);
            self.latest.push(slot);
        }
        self.is_odd |= number.is_none();
        number.is_some()
    }

    fn param(&mut self, name: &str, value: &str) {
        self.params
            .entry(name.to_owned())
            .or_insert_with(|| value.to_owned());
    }

    /// A number that was printed.
    pub(super) fn get(&self, slot: Slot) -> Option<f64> {
        self.numbers.get(&slot).copied()
    }
}

/// `95th percentile` and `approx. 95 percentile`.
fn percentile(key: &str) -> Option<&str> {
    let words = key.strip_suffix(" percentile")?;
    let word = words
        .split(' ')
        .next_back()?
        .trim_end_matches(|c: char| c.is_ascii_lowercase());
    let number: u32 = word.parse().ok()?;
    (1..=99).contains(&number).then_some(word)
}

fn milliseconds(value: &str) -> Option<f64> {
    let (number, unit) = amount(value)?;
    match unit {
        "" | "ms" => Some(number),
        "s" => Some(number * 1000.0),
        _ => None,
    }
}

/// `4438.24 MiB/sec)`, `45.6Mb/sec)`: each version means powers of 1024, whatever it calls them.
fn mib(text: &str) -> Option<f64> {
    let (number, unit) = amount(text)?;
    let of = ['K', 'M', 'G', 'T']
        .iter()
        .position(|letter| unit.starts_with(*letter));
    if !unit.contains("/s") {
        return None;
    }
    match (of, unit.starts_with(['b', 'B'])) {
        (Some(power), _) => Some(number * 1024_f64.powi(i32::try_from(power).ok()? - 1)),
        (None, true) => Some(number / 1_048_576.0),
        (None, false) => None,
    }
}

impl Command {
    /// The command line that a line holds, whatever prompt is before it. It runs a test; `prepare` and `cleanup` are
    /// others.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace().skip_while(|word| {
            let name = word.rsplit('/').next().unwrap_or(word);
            name != "sysbench"
        });
        words.next()?;
        let mut command = Self::default();
        let mut runs = false;
        for word in words {
            // A variable of a script says nothing.
            if word.contains('$') {
                return None;
            }
            if let Some(option) = word.strip_prefix("--") {
                let (name, value) = option.split_once('=').unwrap_or((option, "on"));
                let name = name.replace('_', "-");
                if name == "test" {
                    command.test = script(value);
                } else {
                    command.options.insert(name, value.to_owned());
                }
            } else if word == "run" {
                runs = true;
            } else if matches!(word, "|" | "&&" | ";" | ">" | ">>" | "2>&1") {
                break;
            } else if matches!(word, "prepare" | "cleanup" | "help") {
                return None;
            } else if command.test.is_empty() {
                command.test = script(word);
            }
        }
        (runs && !command.test.is_empty()).then_some(command)
    }
}

fn script(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.trim_end_matches(".lua").to_owned()
}
