//! Outputs of pgbench, of PostgreSQL 8 to 18.
//!
//! An output begins with its `transaction type`; since version 14 a headline with the version is before it. What a mix
//! of scripts says of each script, and what `-r` says of each statement, is a part of the same transactions and is
//! left out: the first by name, the second because it is no figure of the test.

use crate::figures::line::{amount, keyed, lines};
use crate::figures::{Figure, Figures, Found, LeftOut, Ours, Reader};
use crate::printable::said;
use model::order::Order as _;
use model::spec::{Better, MetricClass, Nature};
use model::units::Unit;
use std::collections::BTreeMap;

/// Reads pgbench's outputs.
pub(crate) const READER: Reader = Reader {
    program: "pgbench",
    marks: &["transaction type"],
    read,
};

/// The built-in scripts by what versions have called them.
const SCRIPTS: &[(&str, &str)] = &[
    ("<builtin: TPC-B (sort of)>", "tpcb-like"),
    ("TPC-B (sort of)", "tpcb-like"),
    ("<builtin: simple update>", "simple-update"),
    ("Update only pgbench_accounts", "simple-update"),
    ("<builtin: select only>", "select-only"),
    ("SELECT only", "select-only"),
    ("multiple scripts", "mix"),
];

/// What decides what is measured.
const PARAMS: &[&str] = &[
    "scaling factor",
    "partition method",
    "number of partitions",
    "query mode",
    "number of threads",
    "maximum number of tries",
];

/// More parameters than any mix of scripts makes.
const PARAMS_MAX: usize = 1000;

/// Times by their keys: quantity and class.
const TIMES: &[(&str, &str, MetricClass)] = &[
    (
        "latency average",
        "lat_ns_mean",
        MetricClass::LatencyTypical,
    ),
    (
        "average connection time",
        "connect_ns_mean",
        MetricClass::LatencyTypical,
    ),
    (
        "initial connection time",
        "initial_connect_ns",
        MetricClass::LatencyTypical,
    ),
];

#[derive(Default)]
struct Reading {
    found: Found,
    outputs: usize,
    /// The version of a headline without its output yet.
    version: Option<String>,
    open: Option<Output>,
}

/// What one execution printed.
struct Output {
    line: usize,
    script: String,
    clients: Option<u32>,
    params: BTreeMap<String, String>,
    values: Vec<Figure>,
    /// For how long it measured, as printed: the figures of another time compare with it all the same.
    duration: Option<String>,
    /// True where transactions failed, however small a share of all.
    has_failed: bool,
    /// The line at which the figures of single scripts begin.
    scripts: Option<usize>,
}

fn read(text: &str) -> Found {
    let mut reading = Reading::default();
    for (number, line) in lines(text) {
        reading.line(number, line);
    }
    reading.finish();
    reading.found
}

impl Reading {
    fn line(&mut self, number: usize, line: &str) {
        if let Some(version) = line.strip_prefix("pgbench (") {
            self.finish();
            let end = version.find([' ', ')']);
            self.version = end.map(|end| version[..end].to_owned());
            return;
        }
        if let Some(output) = &mut self.open {
            // A mix says of each script what was said of all; a weight is part of how it was measured.
            if line.starts_with("SQL script ") {
                output.scripts = output.scripts.or(Some(number));
            }
            if output.scripts.is_some() {
                return output.script(line);
            }
        }
        let Some((key, value)) = keyed(line) else {
            return;
        };
        if key == "transaction type" {
            self.finish();
            self.open = Some(Output {
                line: number,
                script: value.to_owned(),
                clients: None,
                params: BTreeMap::new(),
                values: Vec::new(),
                duration: None,
                has_failed: false,
                scripts: None,
            });
        } else if let Some(output) = &mut self.open
            && !output.keyed(&key, value)
        {
            let what = format!("no number: {}", said(line));
            self.found.left_out.push(LeftOut { line: number, what });
        }
    }

    fn finish(&mut self) {
        let Some(mut output) = self.open.take() else {
            return;
        };
        let version = self.version.take();
        let mut leave_out = |line: usize, what: &str| {
            let what = what.to_owned();
            self.found.left_out.push(LeftOut { line, what });
        };
        // Without a rate the end was cut off, or every transaction failed.
        let has_rate = output
            .values
            .iter()
            .any(|figure| figure.quantity.starts_with("tps"));
        let (Some(copies), true) = (output.clients, has_rate) else {
            let what = if has_rate {
                "no number of clients"
            } else {
                "no rate of transactions: cut or failed"
            };
            return leave_out(output.line, what);
        };
        if let Some(line) = output.scripts {
            leave_out(
                line,
                "what each script of the mix came to: it is a part of the figures above",
            );
        }
        output
            .values
            .order_by_key(|figure| !figure.quantity.starts_with("tps"));
        let script = SCRIPTS.iter().find(|(title, _)| *title == output.script);
        let name = script.map_or("custom", |(_, name)| name);
        if name == "custom" {
            output
                .params
                .insert("script".to_owned(), output.script.clone());
        }
        let ours = (name == "tpcb-like").then(|| output.ours());
        if let Some(Err(why)) = &ours {
            leave_out(
                output.line,
                &format!("the comparison with kurabe's `{TEST}`: {why}"),
            );
        }
        self.found.figures.push(Figures {
            cut_short: None,
            output: self.outputs,
            version,
            when: None,
            test: format!("pgbench.{name}"),
            title: format!("pgbench {}", said(&output.script)),
            copies,
            nature: Nature::Database,
            params: output.params,
            values: output.values,
            ours: ours.and_then(Result::ok),
        });
        self.outputs += 1;
    }
}

/// kurabe's test of the same transaction.
const TEST: &str = "db.tpcb";

impl Output {
    /// kurabe's own test of the same definition, or why it is none. Of the tables an output says the scale alone: that
    /// they were made by `pgbench -i` as they are by default nobody can see.
    fn ours(&self) -> Result<Ours, String> {
        let param = |name: &str| self.params.get(name).map(String::as_str);
        let is_whole = |text: &&str| text.parse::<u32>().is_ok();
        let Some(scale) = param("scaling factor").filter(is_whole) else {
            return Err("its scaling factor is not told".to_owned());
        };
        match param("query mode") {
            Some("prepared") => {}
            Some(mode) => {
                return Err(format!(
                    "its statements are prepared, and these were sent in query mode {mode}"
                ));
            }
            None => return Err("the query mode is not told".to_owned()),
        }
        if param("rate limit").is_some() {
            return Err("transactions arrived at a rate, which is not told".to_owned());
        }
        for name in ["latency limit", "partition method"] {
            if let Some(value) = param(name) {
                return Err(format!("it has no {name} ({value})"));
            }
        }
        let Some(time) = self.duration.as_deref().filter(is_whole) else {
            return Err(
                "it measures for a time (`-T`), and not a number of transactions".to_owned(),
            );
        };
        if self.has_failed {
            return Err("it tries again what was given up here as failed".to_owned());
        }
        if let Some(tries) = param("maximum number of tries").filter(|tries| *tries != "1") {
            return Err(format!(
                "it tries again by rules of its own, and here at most {tries} tries were set"
            ));
        }
        // Versions that do not tell them had one.
        let threads = param("number of threads").unwrap_or("1");
        let clients = self.clients.unwrap_or(1);
        if threads.parse().is_ok_and(|threads: u32| threads < clients) {
            return Err(format!(
                "each of its connections has a thread, and here {threads} had {clients} clients (`-j {clients}`)"
            ));
        }
        if self.values.iter().all(|figure| figure.quantity != "tps") {
            return Err("it stays connected from one transaction to the next".to_owned());
        }
        Ok(Ours {
            test: TEST.into(),
            set: vec![("scale", scale.to_owned()), ("time", format!("{time}s"))],
            server: Some("postgres://"),
        })
    }

    /// Takes a line; false where it has a known key and no number.
    fn keyed(&mut self, key: &str, value: &str) -> bool {
        if key == "number of clients" {
            let clients = value.parse().ok().filter(|&clients| clients > 0);
            self.clients = self.clients.or(clients);
        } else if PARAMS.contains(&key) {
            self.param(key, value);
        } else if key == "duration" {
            self.duration = value.strip_suffix(" s").map(str::to_owned);
        } else if let Some(&(_, quantity, class)) = TIMES.iter().find(|(known, ..)| *known == key) {
            let Some((ms, "ms")) = amount(value) else {
                return false;
            };
            self.keep(Figure::time(quantity, class, ms * 1e6));
        } else if key == "tps" {
            return self.rate(value);
        } else if key == "rate limit schedule lag" {
            self.param("rate limit", "yes");
            self.lag(value);
        } else if key == "number of failed transactions" {
            self.failed(value);
        } else if let Some(limit) = key.strip_prefix("number of transactions above the ") {
            self.param("latency limit", limit.trim_end_matches(" latency limit"));
        }
        true
    }

    /// `2140.187081 (without initial connection time)`; up to 13 there are two, one with the time to connect.
    fn rate(&mut self, value: &str) -> bool {
        let Some((tps, how)) = amount(value) else {
            return false;
        };
        let quantity = match how {
            "(without initial connection time)" | "(excluding connections establishing)" => "tps",
            "(including connections establishing)" | "(including reconnection times)" => {
                "tps_with_connections"
            }
            _ => return false,
        };
        self.keep(Figure::rate(
            quantity,
            Unit::OpsPerSecond,
            MetricClass::Throughput,
            tps,
        ));
        true
    }

    /// `avg 0.109 (max 0.776) ms`: how late transactions began.
    fn lag(&mut self, value: &str) {
        let parts = value
            .strip_prefix("avg ")
            .and_then(|rest| rest.strip_suffix(") ms"));
        let Some((mean, max)) = parts.and_then(|rest| rest.split_once(" (max ")) else {
            return;
        };
        let all = [
            ("late_ns_mean", MetricClass::LatencyTypical, mean),
            ("late_ns_max", MetricClass::LatencyExtreme, max),
        ];
        for (quantity, class, ms) in all {
            if let Some((ms, "")) = amount(ms) {
                self.keep(Figure::time(quantity, class, ms * 1e6));
            }
        }
    }

    /// `12 (0.345%)`.
    fn failed(&mut self, value: &str) {
        self.has_failed |= !value.starts_with("0 ");
        let percent = value
            .split_once('(')
            .and_then(|(_, percent)| amount(percent));
        if let Some((percent, "%)")) = percent {
            let rate = Figure::rate(
                "failed_share",
                Unit::Share,
                MetricClass::Throughput,
                percent / 100.0,
            );
            self.keep(Figure {
                better: Better::Lower,
                ..rate
            });
        }
    }

    /// ` - weight: 2 (targets 20.0% of total)` below `SQL script 1: <builtin: TPC-B (sort of)>`.
    fn script(&mut self, line: &str) {
        if self.params.len() > PARAMS_MAX {
            return;
        }
        if let Some((number, name)) = line
            .strip_prefix("SQL script ")
            .and_then(|rest| rest.split_once(": "))
        {
            self.param(&format!("script {number}"), name);
        } else if let Some(weight) = line.strip_prefix("- weight: ") {
            let count = self
                .params
                .keys()
                .filter(|key| key.starts_with("script "))
                .count();
            let weight = weight.split(' ').next().unwrap_or(weight);
            self.param(&format!("weight {count}"), weight);
        }
    }

    fn param(&mut self, name: &str, value: &str) {
        self.params
            .entry(name.to_owned())
            .or_insert_with(|| value.to_owned());
    }

    fn keep(&mut self, figure: Figure) {
        let is_new = self
            .values
            .iter()
            .all(|other| other.quantity != figure.quantity);
        if is_new && figure.value.is_finite() && figure.value > 0.0 {
            self.values.push(figure);
        }
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
