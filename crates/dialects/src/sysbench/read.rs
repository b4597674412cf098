//! Outputs of sysbench 0.4 to 1.1: cpu, memory, threads, mutex, fileio and the tests of databases.
//!
//! Since 1.0 an output names neither the threads nor the mutex test, nor how memory is accessed, nor the script behind
//! transactions; the command line above it does, where it was copied too. Without it, figures of a test without a name
//! are left out, and nothing is taken for kurabe's test whose parameters are not all known.

use crate::figures::line::{amount, goes_on, keyed, lines};
use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader};
use crate::printable::said;
use crate::sysbench::text::{Command, Output, Slot};
use model::spec::{MetricClass, Nature};
use model::units::Unit;

/// Reads sysbench's outputs.
pub(crate) const READER: Reader = Reader {
    program: "sysbench",
    marks: &["sysbench ", "Running the test with"],
    read,
};

const MIB: f64 = 1_048_576.0;

/// What a rate may differ by from count over time: setting up is part of the time.
const ROUNDED: f64 = 0.05;

/// Options of the database tests that decide what is measured.
const DATABASE_OPTIONS: [&str; 12] = [
    "tables",
    "table-size",
    "oltp-tables-count",
    "oltp-table-size",
    "oltp-test-mode",
    "oltp-read-only",
    "range-selects",
    "point-selects",
    "skip-trx",
    "rand-type",
    "db-driver",
    "db-ps-mode",
];

/// Options of threads and mutex, and what they are where nobody sets them.
const DEFAULTS: [(&str, &str, &str); 5] = [
    ("threads", "thread-yields", "1000"),
    ("threads", "thread-locks", "8"),
    ("mutex", "mutex-num", "4096"),
    ("mutex", "mutex-locks", "50000"),
    ("mutex", "mutex-loops", "10000"),
];

#[derive(Default)]
struct Reading {
    found: Found,
    outputs: usize,
    open: Option<Output>,
    /// A command line, until something else than an output follows it.
    command: Option<Command>,
    /// The lines of a command line that goes on.
    unfinished: String,
}

fn read(text: &str) -> Found {
    let mut reading = Reading::default();
    let last = text.lines().count();
    for (number, line) in lines(text) {
        if number == last && !text.ends_with('\n') {
            // Half of a number is another number.
            let mut cut = Output::default();
            if reading.open.is_some() && cut.line(line) && !cut.numbers.is_empty() {
                reading.leave_out(number, format!("the text may be cut here: {}", said(line)));
            }
            // Nothing is taken from the last line of an output but that it is there.
            if is_last(line) {
                reading.inside(number, line);
            }
            break;
        }
        reading.line(number, line);
    }
    reading.finish();
    reading.found
}

impl Reading {
    fn leave_out(&mut self, line: usize, what: String) {
        self.found.left_out.push(LeftOut { line, what });
    }

    fn line(&mut self, number: usize, line: &str) {
        if let Some(version) = banner(line) {
            self.begin(number);
            if let Some(output) = &mut self.open {
                output.version = Some(version.to_owned());
            }
        } else if line.starts_with("Running the test with following options") {
            if self
                .open
                .as_ref()
                .is_none_or(|output| output.threads.is_some())
            {
                self.begin(number);
            }
        } else if self.open.is_some() {
            self.inside(number, line);
        }
        self.command_line(line);
    }

    fn begin(&mut self, line: usize) {
        self.finish();
        let command = self.command.take();
        self.open = Some(Output {
            line,
            command,
            ..Output::default()
        });
    }

    fn inside(&mut self, number: usize, line: &str) {
        if let Some(output) = &mut self.open {
            output.line(line);
            if output.is_odd {
                let what = if goes_on(line) {
                    "a line that seems to go on with the number before it, which is left out"
                } else {
                    "no number"
                };
                self.leave_out(number, format!("{what}: {}", said(line)));
            }
        }
        // What people write below it is no part of it.
        if is_last(line) {
            if let Some(output) = &mut self.open {
                output.is_whole = true;
            }
            self.finish();
        }
    }

    fn command_line(&mut self, line: &str) {
        if let Some(part) = line
            .strip_suffix('\\')
            .filter(|_| self.unfinished.len() < 10_000)
        {
            self.unfinished.push_str(part);
        } else if line.is_empty() || line.starts_with("WARNING:") || line.starts_with("```") {
        } else {
            let whole = std::mem::take(&mut self.unfinished) + line;
            self.command = Command::parse(&whole);
        }
    }

    fn finish(&mut self) {
        let Some(mut output) = self.open.take() else {
            return;
        };
        let line = output.line;
        output.agree();
        let (Some(threads), Some(test)) = (output.threads, output.test_name()) else {
            if !output.numbers.is_empty() || output.threads.is_some() {
                let what = match output.threads {
                    None => "results without a number of threads",
                    Some(_) if output.numbers.is_empty() => {
                        "an output of sysbench without results (cut short?)"
                    }
                    Some(_) => {
                        "results of a test that has no name here: its command line above them names it"
                    }
                };
                self.leave_out(line, what.to_owned());
            }
            return;
        };
        for what in output.contradictions() {
            self.leave_out(line, what);
        }
        let (nature, class) = nature(&test);
        let mut values = output.rates(&test, class);
        values.extend(output.latencies());
        values.retain(|figure| figure.value.is_finite() && figure.value > 0.0);
        if values.is_empty() {
            return self.leave_out(line, format!("no results of sysbench {test} (cut short?)"));
        }
        output.add_params(&test);
        let ours = if nature == Nature::Database {
            let ours = output.oltp(&test);
            if let Err(why) = &ours {
                self.leave_out(
                    line,
                    format!("the comparison with a test of kurabe's: {why}"),
                );
            }
            ours.ok()
        } else {
            output.ours(&test)
        };
        let cut_short = output.cut_short(&test);
        if let Some(what) = cut_short.clone() {
            self.leave_out(line, what);
        }
        self.found.figures.push(Figures {
            output: self.outputs,
            ours,
            version: output.version,
            when: None,
            test: format!("sysbench.{test}"),
            title: format!("sysbench {test}"),
            copies: threads,
            nature,
            params: output.params,
            values,
            cut_short,
        });
        self.outputs += 1;
    }
}

/// Whether it is the last line that every version prints.
fn is_last(line: &str) -> bool {
    keyed(line).is_some_and(|(key, _)| key == "execution time (avg/stddev)")
}

/// The version of a headline.
fn banner(line: &str) -> Option<&str> {
    let (version, rest) = line.strip_prefix("sysbench ")?.split_once(' ')?;
    let is_one = rest.starts_with("(using ") || rest.trim_start().starts_with("multi-threaded");
    let version = version.trim_end_matches(':');
    (is_one && version.starts_with(|c: char| c.is_ascii_digit())).then_some(version)
}

fn nature(test: &str) -> (Nature, MetricClass) {
    match test {
        "cpu" => (Nature::Compute, MetricClass::Compute),
        "memory" => (Nature::Memory, MetricClass::Compute),
        "mutex" => (Nature::System, MetricClass::Compute),
        "threads" => (Nature::System, MetricClass::System),
        test if test.starts_with("fileio") => (Nature::Storage, MetricClass::Throughput),
        _ => (Nature::Database, MetricClass::Throughput),
    }
}

impl Output {
    /// Drops a command line of something else.
    fn agree(&mut self) {
        let agrees = |command: &Command| {
            let threads = ["threads", "num-threads"]
                .iter()
                .find_map(|name| command.options.get(*name));
            let threads = threads.map_or(Some(1), |threads| threads.parse().ok());
            let of_test = match self.test.and_then(|test| test.split('-').next()) {
                Some("oltp") => !["cpu", "memory", "threads", "mutex", "fileio"]
                    .contains(&command.test.as_str()),
                Some(test) => command.test == test,
                None => true,
            };
            of_test && threads == self.threads
        };
        if !self.command.as_ref().is_some_and(agrees) {
            self.command = None;
        }
    }

    /// Takes out rates that the counts contradict by more than rounding, each with a line that says so.
    fn contradictions(&mut self) -> Vec<String> {
        let pairs = [
            (Slot::EventsPerSecond, Slot::Events, "events"),
            (
                Slot::TransactionsPerSecond,
                Slot::Transactions,
                "transactions",
            ),
        ];
        let mut said = Vec::new();
        for (rate, count, name) in pairs {
            let told = (
                self.get(rate),
                self.get(count),
                self.get(Slot::TotalSeconds),
            );
            let (Some(printed), Some(number), Some(seconds)) = told else {
                continue;
            };
            let implied = number / seconds;
            let differ = (printed - implied).abs() > ROUNDED * printed.max(implied);
            if seconds >= 1.0 && differ {
                self.numbers.remove(&rate);
                self.numbers.remove(&count);
                said.push(format!(
                    "{printed} {name} per second do not follow from {number} in {seconds} s; the rate is left out"
                ));
            }
        }
        said
    }

    fn test_name(&self) -> Option<String> {
        let script = self.command.as_ref().map(|command| command.test.as_str());
        match (self.test, script) {
            (Some("oltp"), Some(script)) => Some(slug(script)),
            (Some(test), _) | (None, Some(test @ ("threads" | "mutex"))) => Some(test.to_owned()),
            (None, _) => None,
        }
    }

    fn rates(&self, test: &str, class: MetricClass) -> Vec<Figure> {
        let derived = |slot: Slot| {
            // Four decimals are printed; of less than that nothing follows.
            let seconds = self
                .get(Slot::TotalSeconds)
                .filter(|&seconds| seconds >= 0.1)?;
            Some(self.get(slot)? / seconds)
        };
        let mut values = Vec::new();
        let mut add = |quantity: &str, unit: Unit, value: Option<f64>| {
            values.extend(value.map(|value| Figure::rate(quantity, unit, class, value)));
        };
        let (ops, bytes) = (Unit::OpsPerSecond, Unit::BytesPerSecond);
        let mib = |slot: Slot| self.get(slot).map(|mib| mib * MIB);
        let events = self
            .get(Slot::EventsPerSecond)
            .or_else(|| derived(Slot::Events));
        match test {
            "cpu" | "threads" | "mutex" => add("ops_per_s", ops, events),
            "memory" => {
                add("bytes_per_s", bytes, mib(Slot::MibPerSecond));
                add("ops_per_s", ops, events);
            }
            test if test.starts_with("fileio") => {
                add("iops", ops, self.get(Slot::IoPerSecond));
                add(
                    "read_iops",
                    ops,
                    self.get(Slot::ReadsPerSecond)
                        .or_else(|| derived(Slot::Reads)),
                );
                add(
                    "write_iops",
                    ops,
                    self.get(Slot::WritesPerSecond)
                        .or_else(|| derived(Slot::Writes)),
                );
                add("fsyncs_per_s", ops, self.get(Slot::SyncsPerSecond));
                add("bw_bytes_per_s", bytes, mib(Slot::MibPerSecond));
                add("read_bw_bytes_per_s", bytes, mib(Slot::ReadMibPerSecond));
                add(
                    "write_bw_bytes_per_s",
                    bytes,
                    mib(Slot::WrittenMibPerSecond),
                );
            }
            _ => {
                add("tps", ops, self.get(Slot::TransactionsPerSecond));
                add("qps", ops, self.get(Slot::QueriesPerSecond));
                add("requests_per_s", ops, self.get(Slot::RequestsPerSecond));
            }
        }
        if let Some(errors) = self.get(Slot::ErrorsPerSecond) {
            let rate = Figure::rate("errors_per_s", ops, class, errors);
            values.push(Figure {
                better: model::spec::Better::Lower,
                ..rate
            });
        }
        values
    }

    fn latencies(&self) -> Vec<Figure> {
        let percentile = format!("lat_ns_p{}", self.percentile);
        let all = [
            ("lat_ns_mean", MetricClass::LatencyTypical, self.mean()),
            (
                "lat_ns_min",
                MetricClass::LatencyTypical,
                self.get(Slot::Min),
            ),
            (
                percentile.as_str(),
                MetricClass::LatencyTail,
                self.get(Slot::Percentile),
            ),
            (
                "lat_ns_max",
                MetricClass::LatencyExtreme,
                self.get(Slot::Max),
            ),
        ];
        let known = all
            .into_iter()
            .filter_map(|(quantity, class, ms)| Some((quantity, class, ms?)));
        known
            .map(|(quantity, class, ms)| Figure::time(quantity, class, ms * 1e6))
            .collect()
    }

    /// The mean latency in milliseconds: two decimals are printed of it, and more follow from the sum.
    fn mean(&self) -> Option<f64> {
        let printed = self.get(Slot::Mean)?;
        let sum = self
            .get(Slot::Sum)
            .or(self.get(Slot::SecondsSpent).map(|seconds| seconds * 1000.0));
        let exact = sum
            .zip(self.get(Slot::Events))
            .map(|(sum, events)| sum / events);
        Some(
            exact
                .filter(|exact| (exact - printed).abs() <= 0.005 + 1e-9)
                .unwrap_or(printed),
        )
    }

    /// Adds what the command line and the counts say.
    fn add_params(&mut self, test: &str) {
        let command = self.command.clone();
        let option = |name: &str| Some(command.as_ref()?.options.get(name)?.clone());
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                self.params.entry(name.to_owned()).or_insert(value);
            }
        };
        add("validate", option("validate"));
        match test {
            "memory" => {
                add(
                    "memory-access-mode",
                    option("memory-access-mode").filter(|mode| mode != "seq"),
                );
                add(
                    "memory-hugetlb",
                    option("memory-hugetlb").filter(|hugetlb| hugetlb != "off"),
                );
            }
            "threads" | "mutex" if command.is_some() => {
                for (_, name, default) in DEFAULTS.iter().filter(|(of, ..)| *of == test) {
                    add(name, option(name).or(Some((*default).to_owned())));
                }
            }
            "cpu" | "threads" | "mutex" => {}
            test if test.starts_with("fileio") => {}
            _ => {
                for name in DATABASE_OPTIONS {
                    add(name, option(name));
                }
                if let Some([reads, writes, others]) = self.mix() {
                    let mix = format!("{reads} reads, {writes} writes, {others} others");
                    self.params
                        .insert("queries of a transaction".to_owned(), mix);
                }
            }
        }
    }

    /// What one transaction consists of, where it is whole numbers: errors and retries blur it.
    pub(super) fn mix(&self) -> Option<[u64; 3]> {
        let each = |slot: Slot| {
            let share = self.get(slot)? / self.get(Slot::Transactions)?;
            ((share - share.round()).abs() < 0.02).then(|| model::num::round_to_u64(share))
        };
        Some([each(Slot::Reads)?, each(Slot::Writes)?, each(Slot::Others)?])
    }

    /// kurabe's own test, where version and parameters are known.
    fn ours(&self, test: &str) -> Option<Ours> {
        let version = self.version.as_deref()?;
        let mut set = match version {
            version if version.starts_with("1.0.") || version.starts_with("1.1.") => Vec::new(),
            version if version.starts_with("0.4.") => vec![("version", "0.4".to_owned())],
            _ => return None,
        };
        if ["rate", "validate", "memory-hugetlb"]
            .iter()
            .any(|name| self.params.contains_key(*name))
        {
            return None;
        }
        let mut differs = |name: &'static str, value: &str, default: &str| {
            if value != default {
                set.push((name, value.to_owned()));
            }
        };
        let whole = |name: &str| {
            self.params
                .get(name)
                .filter(|value| value.parse::<u64>().is_ok())
        };
        let test = match test {
            "cpu" => {
                differs("max_prime", whole("cpu-max-prime")?, "10000");
                "cpu.prime"
            }
            "threads" => {
                differs("yields", whole("thread-yields")?, "1000");
                differs("locks", whole("thread-locks")?, "8");
                "os.threads"
            }
            "mutex" => {
                differs("mutexes", whole("mutex-num")?, "4096");
                differs("locks", whole("mutex-locks")?, "50000");
                differs("loops", whole("mutex-loops")?, "10000");
                "os.mutex"
            }
            "memory" => {
                // How memory is accessed stands in the command line alone.
                self.command.as_ref()?;
                let param = |name: &str| self.params.get(name).map(String::as_str);
                let (oper, scope) = (param("memory-oper")?, param("memory-scope")?);
                let mode = param("memory-access-mode").unwrap_or("seq");
                let known =
                    ["read", "write"].contains(&oper) && ["global", "local"].contains(&scope);
                (known && ["seq", "rnd"].contains(&mode)).then_some(())?;
                let bytes = bytes(param("memory-block-size")?)?;
                differs("scope", scope, "global");
                differs("mode", mode, "seq");
                match (oper, bytes) {
                    ("write", 1_048_576) => "memory.block-write-1m",
                    ("read", 1_048_576) => "memory.block-read-1m",
                    (oper, bytes) => {
                        differs("block_size", &bytes.to_string(), "1024");
                        if oper == "read" {
                            "memory.block-read"
                        } else {
                            "memory.block-write"
                        }
                    }
                }
            }
            test => return self.fileio(test),
        };
        Some(Ours {
            test: test.into(),
            set,
            server: None,
        })
    }
}

/// `1KiB`, `32K`: powers of 1024.
pub(super) fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = amount(text)?;
    let power = match unit.chars().next() {
        None | Some('B' | 'b') => 0,
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => return None,
    };
    let whole = ((1.0..=1e9).contains(&number) && number.fract() == 0.0).then_some(number)?;
    Some(model::num::round_to_u64(whole) << power)
}

/// The name of a script, in the letters of names.
fn slug(script: &str) -> String {
    let letter = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '-'
        }
    };
    script.chars().take(60).map(letter).collect()
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
