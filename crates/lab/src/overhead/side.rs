//! One program at work: what it did by its own report, and what CPU time it took as its parent sees it.
//!
//! CPU time is that of all processes and threads that were started and waited for, the kernel's part included
//! (`getrusage(2)`, children): asked in the same way of both programs, whatever they say of themselves. What a program
//! takes to start, to look at its file and to report is not what an operation costs: it is measured by the same command
//! line with a single operation, and taken off.
//!
//! Beside it stands the time in which the machine's CPUs were busy, with whatever: threads of the kernel and interrupts
//! that come while the program sleeps are on nobody's account. It tells on a machine that does nothing else.

use super::queue::Queue;
use anyhow::{Context, ensure};
use model::num::approx;
use serde_json::{Value, json};
use std::fs::File;
use std::path::{Path, PathBuf};
use sys::counters;
use sys::io::counters::{device, device_of};
use sys::process::usage_children;
use sys::tree::Tree;
use xtask::process::{command, output};

/// A program with the words that stand in front of fio's.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) program: PathBuf,
    pub(super) environment: Vec<(String, String)>,
    /// What only this program is told: that fio's words follow, and what it may overwrite.
    pub(super) before: Vec<String>,
    /// Fio's words, without those that say how long.
    pub(super) words: Vec<String>,
}

/// What one start did.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Took {
    pub(super) iops: f64,
    /// CPU time per operation in nanoseconds, start and end left out.
    pub(super) cpu_ns: f64,
    /// The same of the machine's busy CPUs.
    pub(super) machine_ns: f64,
    /// Percentiles of the completion latency in nanoseconds, by their names in fio's report.
    pub(super) percentiles: Vec<(String, f64)>,
    /// What was under way.
    pub(super) queue: Queue,
}

/// What a start took, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cost {
    /// CPU time of the program.
    own: f64,
    /// Time in which the machine's CPUs were busy.
    machine: f64,
    /// Time that the operations of the file's device took, summed up; `None` where there is no file or no device.
    queue: Option<f64>,
}

impl Cost {
    fn since(self, other: Self) -> Self {
        Self {
            own: self.own - other.own,
            machine: self.machine - other.machine,
            queue: self.queue.zip(other.queue).map(|(now, then)| now - then),
        }
    }

    /// Until now; of the device below this file.
    fn now(file: Option<&str>) -> anyhow::Result<Self> {
        let used = usage_children();
        let busy = counters::cpu(&Tree::real()).context("read the CPU time of the machine")?;
        let per_second = sys::probe::ticks_per_second().context("ask for the kernel's ticks")?;
        Ok(Self {
            own: approx(used.user + used.system),
            machine: approx(busy.busy()) * 1e9 / approx(per_second),
            queue: file.and_then(queue_time),
        })
    }
}

/// Those that are compared.
pub(super) const PERCENTILES: [&str; 3] = ["50.000000", "90.000000", "99.000000"];

impl Side {
    /// What a start with a single operation takes: the medians of three.
    pub(super) fn start_cost(&self, dir: &Path) -> anyhow::Result<Cost> {
        let costs: Vec<Cost> = (0..3)
            .map(|_| Ok(self.run(dir, &["--number_ios=1".to_owned()])?.1))
            .collect::<anyhow::Result<_>>()?;
        let median = |of: fn(&Cost) -> f64| {
            let values: Vec<f64> = costs.iter().map(of).collect();
            stats::quantile::median(&values).context("a start has no CPU time")
        };
        Ok(Cost {
            own: median(|cost| cost.own)?,
            machine: median(|cost| cost.machine)?,
            // A start is over before there is a queue to speak of.
            queue: Some(0.0),
        })
    }

    /// Works for so many seconds.
    pub(super) fn work(&self, dir: &Path, seconds: u32, start: Cost) -> anyhow::Result<Took> {
        let (report, cost) = self.run(dir, &time(seconds))?;
        took(&report, cost.since(start))
    }

    /// The command line, with `shown` in the place of the program and without places of this machine.
    pub(super) fn line(&self, shown: &str, file: &Path, seconds: u32) -> String {
        let file = file.display().to_string();
        let own = self.before.iter().filter(|word| *word != "--quiet");
        let words = own.chain(&self.words).cloned().chain(time(seconds));
        let words: Vec<String> = words.map(|word| word.replace(&file, "FILE")).collect();
        format!("{shown} {}", words.join(" "))
    }

    /// The report in fio's JSON, and what it took.
    fn run(&self, dir: &Path, how_long: &[String]) -> anyhow::Result<(Value, Cost)> {
        let mut words = self.words.iter();
        let file = words.find_map(|word| word.strip_prefix("--filename="));
        let before = Cost::now(file)?;
        let text = output(
            command(dir, &self.program)
                .envs(self.environment.iter().map(|(name, value)| (name, value)))
                .args(&self.before)
                .args(&self.words)
                .args(how_long)
                .arg("--output-format=json"),
        )?;
        let cost = Cost::now(file)?.since(before);
        // Notes may stand in front of it.
        let report = text.find('{').map_or("", |at| &text[at..]);
        let report = serde_json::from_str(report)
            .with_context(|| format!("read the report of `{}`", self.program.display()))?;
        Ok((report, cost))
    }
}

/// The time that all operations of the device below a file took, in nanoseconds.
fn queue_time(file: &str) -> Option<f64> {
    let number = device_of(&File::open(file).ok()?)?;
    let counted = device(&Tree::real(), &number).ok()?;
    Some(approx(counted.queue_time))
}

fn time(seconds: u32) -> Vec<String> {
    vec!["--time_based".to_owned(), format!("--runtime={seconds}")]
}

/// What a report of one job that only reads or only writes says.
fn took(report: &Value, cost: Cost) -> anyhow::Result<Took> {
    let job = &report["jobs"][0];
    let done = |direction: &str| job[direction]["total_ios"].as_f64().unwrap_or(0.0);
    let direction = if done("read") > 0.0 { "read" } else { "write" };
    let ios = done(direction);
    ensure!(ios > 0.0, "the report has no operations");
    let iops = job[direction]["iops"].as_f64();
    let ms = job[direction]["runtime"].as_f64().filter(|ms| *ms > 0.0);
    let device = cost.queue.zip(ms).map(|(time, ms)| time / (ms * 1e6));
    let bytes = job[direction]["io_bytes"].as_f64().unwrap_or(0.0);
    let percentile = |name: &str| {
        let value = job[direction]["clat_ns"]["percentile"][name].as_f64()?;
        (value > 0.0).then(|| (name.to_owned(), value))
    };
    Ok(Took {
        iops: iops.context("the report has no rate")?,
        cpu_ns: cost.own / ios,
        machine_ns: cost.machine / ios,
        percentiles: PERCENTILES.into_iter().filter_map(percentile).collect(),
        queue: Queue::of(job, bytes, device),
    })
}

impl Took {
    /// As it is kept.
    pub(super) fn kept(&self) -> Value {
        let percentiles = self
            .percentiles
            .iter()
            .map(|(name, value)| (name.clone(), Value::from(*value)))
            .collect();
        json!({
            "iops": self.iops,
            "cpu_ns_per_io": self.cpu_ns,
            "machine_cpu_ns_per_io": self.machine_ns,
            "clat_ns": Value::Object(percentiles),
            "queue": self.queue.kept(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_whichever_direction_it_has() {
        let direction = |ios: u64| {
            let percentiles = json!({"50.000000": 9, "99.000000": 0});
            json!({"total_ios": ios, "iops": 50.0, "runtime": 2, "clat_ns": {"percentile": percentiles}})
        };
        let report = |reads, writes| json!({"jobs": [{"read": direction(reads), "write": direction(writes)}]});
        let expect = Took {
            iops: 50.0,
            cpu_ns: 10.0,
            machine_ns: 20.0,
            percentiles: vec![("50.000000".to_owned(), 9.0)],
            queue: Queue::of(&json!({}), 0.0, Some(8.0)),
        };
        let cost = Cost {
            own: 1000.0,
            machine: 2000.0,
            queue: Some(16e6),
        };
        assert_eq!(took(&report(100, 0), cost).unwrap(), expect);
        assert_eq!(took(&report(0, 100), cost).unwrap(), expect);
        assert!(took(&report(0, 0), cost).is_err());
        assert_eq!(expect.kept()["clat_ns"]["50.000000"], 9.0);
    }

    #[test]
    fn everything_that_a_program_starts_counts() {
        // A shell that burns CPU time in a child of its own, reports, and knows nothing of durations.
        let script = "(i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done); \
                      echo 'note: {0}' | tr -d '{0}'; echo '{\"a\": 1}'";
        let side = Side {
            program: "/bin/sh".into(),
            environment: Vec::new(),
            before: vec!["-c".to_owned(), script.to_owned()],
            words: Vec::new(),
        };
        let (report, cost) = side.run(Path::new("/"), &[]).unwrap();
        assert_eq!(report["a"], 1);
        assert!(cost.own > 5e6, "{cost:?}");
    }

    #[test]
    fn a_line_names_no_place() {
        let side = Side {
            program: "/x/kurabe".into(),
            environment: Vec::new(),
            before: vec!["fio".to_owned(), "--quiet".to_owned()],
            words: vec!["--filename=/x/file".to_owned()],
        };
        assert_eq!(
            side.line("kurabe", Path::new("/x/file"), 3),
            "kurabe fio --filename=FILE --time_based --runtime=3"
        );
    }
}
