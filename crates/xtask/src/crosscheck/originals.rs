//! What is compared with what, and how the originals are started and read.

use crate::process::{command, output, succeed, succeeds};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};

/// One comparison.
#[derive(Debug)]
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) test: &'static str,
    pub(super) copies: u32,
    pub(super) set: &'static [(&'static str, &'static str)],
    pub(super) quantity: &'static str,
    pub(super) original: Original,
}

/// The program on the other side.
#[derive(Clone, Debug)]
pub(super) enum Original {
    /// sysbench: arguments, and what of its report is the figure.
    Sysbench(&'static [&'static str], Figure),
    /// sysbench's memory test less what it spends on events in which it does nothing.
    SysbenchNet(&'static [&'static str], &'static [&'static str]),
    /// mbw with one method and 128 MiB: bytes per second.
    Mbw(&'static str),
    /// stress-ng's stream with so many instances: bytes per second, read and written.
    StressNgStream(&'static str),
    /// The chase in C over so many bytes with so many loads: nanoseconds per load.
    Chase(&'static str, &'static str),
}

/// What of sysbench's report is the figure.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    /// `events per second:`.
    EventsPerSecond,
    /// `total number of events:` over `total time:`.
    EventsOverTime,
    /// `Total operations: N (x per second)`.
    Operations,
}

const fn sysbench(
    name: &'static str,
    test: &'static str,
    copies: u32,
    set: &'static [(&'static str, &'static str)],
    original: Original,
) -> Check {
    Check {
        name,
        test,
        copies,
        set,
        quantity: "ops_per_s",
        original,
    }
}

const fn mbw(name: &'static str, test: &'static str, method: &'static str) -> Check {
    Check {
        name,
        test,
        copies: 1,
        set: &[],
        quantity: "bytes_per_s",
        original: Original::Mbw(method),
    }
}

const fn chase(
    name: &'static str,
    test: &'static str,
    bytes: &'static str,
    loads: &'static str,
) -> Check {
    Check {
        name,
        test,
        copies: 1,
        set: &[],
        quantity: "ns_per_load",
        original: Original::Chase(bytes, loads),
    }
}

use Figure::{EventsOverTime, EventsPerSecond, Operations};
use Original::{StressNgStream, Sysbench, SysbenchNet};

const WRITE_1K: &[&str] = &[
    "memory",
    "--threads=1",
    "--time=1",
    "--memory-total-size=900T",
];
const READ_1K: &[&str] = &[
    "memory",
    "--threads=1",
    "--time=1",
    "--memory-total-size=900T",
    "--memory-oper=read",
];
const NONE_1K: &[&str] = &[
    "memory",
    "--threads=1",
    "--time=1",
    "--memory-total-size=900T",
    "--memory-oper=none",
];
const WRITE_1M: &[&str] = &[
    "memory",
    "--threads=1",
    "--time=1",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
];
const READ_1M: &[&str] = &[
    "memory",
    "--threads=1",
    "--time=1",
    "--memory-total-size=900T",
    "--memory-block-size=1M",
    "--memory-oper=read",
];
const UNTIMED: &[(&str, &str)] = &[("timing", "no")];

/// Every comparison.
pub(super) const CHECKS: &[Check] = &[
    sysbench(
        "sysbench cpu, 1 thread",
        "cpu.prime",
        1,
        &[],
        Sysbench(&["cpu", "--threads=1", "--time=1"], EventsPerSecond),
    ),
    sysbench(
        "sysbench cpu, 2 threads",
        "cpu.prime",
        2,
        &[],
        Sysbench(&["cpu", "--threads=2", "--time=1"], EventsPerSecond),
    ),
    sysbench(
        "sysbench threads, 1",
        "os.threads",
        1,
        &[],
        Sysbench(&["threads", "--threads=1", "--time=1"], EventsOverTime),
    ),
    sysbench(
        "sysbench threads, 2",
        "os.threads",
        2,
        &[],
        Sysbench(&["threads", "--threads=2", "--time=1"], EventsOverTime),
    ),
    sysbench(
        "sysbench threads, 4",
        "os.threads",
        4,
        &[],
        Sysbench(&["threads", "--threads=4", "--time=1"], EventsOverTime),
    ),
    sysbench(
        "sysbench mutex, 1",
        "os.mutex",
        1,
        &[],
        Sysbench(&["mutex", "--threads=1"], EventsOverTime),
    ),
    sysbench(
        "sysbench mutex, 2",
        "os.mutex",
        2,
        &[],
        Sysbench(&["mutex", "--threads=2"], EventsOverTime),
    ),
    sysbench(
        "sysbench memory write 1K",
        "memory.block-write",
        1,
        &[],
        Sysbench(WRITE_1K, Operations),
    ),
    sysbench(
        "sysbench memory read 1K",
        "memory.block-read",
        1,
        &[],
        Sysbench(READ_1K, Operations),
    ),
    sysbench(
        "sysbench memory write 1K, net",
        "memory.block-write",
        1,
        UNTIMED,
        SysbenchNet(WRITE_1K, NONE_1K),
    ),
    sysbench(
        "sysbench memory read 1K, net",
        "memory.block-read",
        1,
        UNTIMED,
        SysbenchNet(READ_1K, NONE_1K),
    ),
    sysbench(
        "sysbench memory write 1M",
        "memory.block-write-1m",
        1,
        &[],
        Sysbench(WRITE_1M, Operations),
    ),
    sysbench(
        "sysbench memory read 1M",
        "memory.block-read-1m",
        1,
        &[],
        Sysbench(READ_1M, Operations),
    ),
    mbw("mbw MEMCPY", "memory.mbw-memcpy", "-t0"),
    mbw("mbw DUMB", "memory.mbw-dumb", "-t1"),
    mbw("mbw MEMCPY by its -t1", "memory.mbw-memcpy", "-t1"),
    mbw("mbw DUMB by its -t0", "memory.mbw-dumb", "-t0"),
    mbw("mbw MCBLOCK", "memory.mbw-mcblock", "-t2"),
    Check {
        name: "stress-ng stream, 1",
        test: "memory.triad",
        copies: 1,
        set: &[],
        quantity: "bytes_per_s",
        original: StressNgStream("1"),
    },
    Check {
        name: "stress-ng stream, 2",
        test: "memory.triad",
        copies: 2,
        set: &[],
        quantity: "bytes_per_s",
        original: StressNgStream("2"),
    },
    chase(
        "chase in C, 16 KiB",
        "memory.latency-16k",
        "16384",
        "100000000",
    ),
    chase(
        "chase in C, 1 MiB",
        "memory.latency-1m",
        "1048576",
        "20000000",
    ),
    chase(
        "chase in C, 32 MiB",
        "memory.latency-32m",
        "33554432",
        "4000000",
    ),
    chase(
        "chase in C, 512 MiB",
        "memory.latency-512m",
        "536870912",
        "4000000",
    ),
];

const CHASE_SOURCE: &str = include_str!("chase.c");

impl Original {
    /// Makes sure that it can be started; the error says what is missing.
    pub(super) fn ready(&self, dir: &Path) -> anyhow::Result<Self> {
        let (program, package) = match self {
            Self::Sysbench(..) | Self::SysbenchNet(..) => ("sysbench", "sysbench"),
            Self::Mbw(_) => ("mbw", "mbw"),
            Self::StressNgStream(_) => ("stress-ng", "stress-ng"),
            Self::Chase(..) => ("cc", "gcc"),
        };
        ensure!(
            succeeds(command(dir, "sh").args(["-c", &format!("command -v {program}")])),
            "`{program}` is not installed (`apt-get install {package}`)"
        );
        if matches!(self, Self::Chase(..)) && !chase_program(dir).is_file() {
            let source = dir.join("chase.c");
            std::fs::write(&source, CHASE_SOURCE)
                .with_context(|| format!("write `{}`", source.display()))?;
            let mut compile = command(dir, "cc");
            compile
                .args(["-O2", "-o"])
                .arg(chase_program(dir))
                .arg(source);
            succeed(&mut compile)?;
        }
        Ok(self.clone())
    }

    /// Runs it once and reads its figure.
    pub(super) fn value(&self, dir: &Path, pair: u32) -> anyhow::Result<f64> {
        match self {
            Self::Sysbench(arguments, figure) => sysbench_figure(&report(dir, arguments)?, *figure),
            Self::SysbenchNet(arguments, nothing) => {
                let rate = |arguments| sysbench_figure(&report(dir, arguments)?, Operations);
                let (work, nothing): (f64, f64) = (rate(arguments)?, rate(nothing)?);
                Ok(1.0 / (1.0 / work - 1.0 / nothing))
            }
            Self::Mbw(method) => {
                let text = output(command(dir, "mbw").args(["-q", "-n", "10", method, "128"]))?;
                mbw_figure(&text)
            }
            Self::StressNgStream(instances) => {
                let mut stress = command(dir, "sh");
                // Shorter, and it says that this is too short for a rate.
                let line = format!("stress-ng --stream {instances} -t 15 2>&1");
                stress.args(["-c", &line]);
                stress_ng_figure(&output(&mut stress)?)
            }
            Self::Chase(bytes, loads) => {
                let seed = (pair + 1).to_string();
                let text =
                    output(command(dir, chase_program(dir)).args([bytes, loads, seed.as_str()]))?;
                text.trim().parse().context("read the chase's figure")
            }
        }
    }
}

fn chase_program(dir: &Path) -> PathBuf {
    dir.join("chase")
}

fn report(dir: &Path, arguments: &[&str]) -> anyhow::Result<String> {
    output(command(dir, "sysbench").args(arguments).arg("run"))
}

/// The number behind `label` on its line.
fn behind(text: &str, label: &str) -> anyhow::Result<f64> {
    let line = text
        .lines()
        .find_map(|line| line.trim_start().strip_prefix(label))
        .with_context(|| format!("the report has no `{label}`"))?;
    let number = line.split_whitespace().next().unwrap_or_default();
    let number = number.trim_start_matches('(').trim_end_matches('s');
    number
        .parse()
        .with_context(|| format!("`{number}` behind `{label}` is no number"))
}

fn sysbench_figure(report: &str, figure: Figure) -> anyhow::Result<f64> {
    match figure {
        EventsPerSecond => behind(report, "events per second:"),
        EventsOverTime => {
            Ok(behind(report, "total number of events:")? / behind(report, "total time:")?)
        }
        Operations => {
            let line = report
                .lines()
                .find(|line| line.starts_with("Total operations:"))
                .context("the report has no total of operations")?;
            // The rate is padded: `( 9876.54 per second)`.
            let inside = line.split('(').nth(1);
            let rate = inside.and_then(|rest| rest.split_whitespace().next());
            rate.context("the total has no rate")?
                .parse()
                .context("read the rate")
        }
    }
}

/// `AVG Method: MEMCPY Elapsed: .. MiB: .. Copy: 5850.894 MiB/s`, as bytes per second.
fn mbw_figure(text: &str) -> anyhow::Result<f64> {
    let line = text
        .lines()
        .find(|line| line.starts_with("AVG"))
        .context("mbw printed no average")?;
    let rate = line
        .split("Copy:")
        .nth(1)
        .context("the average has no rate")?;
    let number = rate.trim().trim_end_matches("MiB/s").trim();
    Ok(number.parse::<f64>().context("read the rate")? * 1_048_576.0)
}

/// `memory rate: 11250.04 MB read/sec, 7500.03 MB write/sec, ...`, summed, as bytes per second; one line per instance.
fn stress_ng_figure(text: &str) -> anyhow::Result<f64> {
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split("memory rate:").nth(1))
        .collect();
    ensure!(!lines.is_empty(), "stress-ng printed no memory rate");
    let rate = |text: &str, unit: &str| -> anyhow::Result<f64> {
        let before = text.split(unit).next().context("a rate is missing")?;
        let number = before.split_whitespace().next_back().unwrap_or_default();
        number
            .parse()
            .with_context(|| format!("`{number}` is no rate"))
    };
    lines.iter().try_fold(0.0, |sum, line| {
        Ok(sum + 1e6 * (rate(line, " MB read/sec")? + rate(line, " MB write/sec")?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: anyhow::Result<f64>, expected: f64) {
        let found = found.unwrap();
        assert!((found / expected - 1.0).abs() < 1e-9, "{found} {expected}");
    }

    #[test]
    fn reports_of_the_originals_are_read() {
        let report = "    events per second:  2048.56\n    total time:                          0.5000s\n    \
                      total number of events:              7\nTotal operations: 9070667 (4531985.50 per second)\n";
        close(sysbench_figure(report, EventsPerSecond), 2048.56);
        close(sysbench_figure(report, EventsOverTime), 14.0);
        close(sysbench_figure(report, Operations), 4_531_985.5);
        let padded = "Total operations: 9876 ( 9874.50 per second)";
        close(sysbench_figure(padded, Operations), 9874.5);
        let line = "AVG\tMethod: MEMCPY\tElapsed: 0.02188\tMiB: 128.00000\tCopy: 5850.894 MiB/s\n";
        close(mbw_figure(line), 5850.894 * 1_048_576.0);
        let line = "stress-ng: info:  [1] stream: memory rate: 2.50 MB read/sec, 1.50 MB write/sec, 0.3 double\n";
        close(stress_ng_figure(&line.repeat(2)), 8e6);
        assert!(sysbench_figure("", Operations).is_err() && mbw_figure("x").is_err());
        assert!(stress_ng_figure("stream: nothing").is_err());
    }

    #[test]
    fn every_check_is_of_a_test_that_exists_and_a_metric_that_it_has() {
        for check in CHECKS {
            let owner = workloads::ALL.iter().find(|workload| {
                workload
                    .spec()
                    .tests
                    .iter()
                    .any(|test| test.name == check.test)
            });
            let spec = owner.unwrap_or_else(|| panic!("{}", check.test)).spec();
            assert!(
                spec.metrics
                    .iter()
                    .any(|metric| metric.quantity == check.quantity)
            );
            for (param, _) in check.set {
                assert!(spec.params.iter().any(|def| def.name == *param), "{param}");
            }
        }
    }
}
