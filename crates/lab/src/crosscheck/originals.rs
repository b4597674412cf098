//! How the originals are started and read.

use super::checks::{Copies, Original, Reported};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use xtask::process::{command, output, succeed, succeeds};

const CHASE_SOURCE: &str = include_str!("chase.c");
const EXCHANGE_SOURCE: &str = include_str!("exchange.c");

/// A program that can be started.
pub(super) struct Ready {
    original: Original,
    dir: PathBuf,
    version: String,
    commands: Vec<String>,
}

impl Ready {
    /// Makes sure that it can be started; the error says what is missing.
    pub(super) fn new(original: Original, dir: &Path) -> anyhow::Result<Self> {
        let (program, package) = match original {
            Original::Sysbench(..) => ("sysbench", "sysbench"),
            Original::Mbw(..) | Original::MbwAll(..) => ("mbw", "mbw"),
            Original::StressNgStream(_) => ("stress-ng", "stress-ng"),
            Original::Chase(..) | Original::Exchange(..) => ("cc", "gcc"),
        };
        ensure!(
            succeeds(command(dir, "sh").args(["-c", &format!("command -v {program}")])),
            "`{program}` is not installed (`apt-get install {package}`)"
        );
        match original {
            Original::Chase(..) => compile(dir, CHASE, CHASE_SOURCE)?,
            Original::Exchange(..) => compile(dir, EXCHANGE, EXCHANGE_SOURCE)?,
            _ => {}
        }
        Ok(Self {
            original,
            dir: dir.to_owned(),
            version: version(dir, program, package),
            commands: Vec::new(),
        })
    }

    /// The program and its version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Every command line that was used.
    pub(super) fn commands(self) -> Vec<String> {
        self.commands
    }

    /// Runs it once and reads its figure.
    pub(super) fn value(&mut self, pair: u32) -> anyhow::Result<f64> {
        match self.original {
            Original::Sysbench(threads, arguments, figure) => {
                let line = format!(
                    "sysbench {} --threads={} run",
                    arguments.join(" "),
                    threads.number()
                );
                let line = match figure {
                    // The shell tells the CPU time of what it has waited for.
                    Reported::EventsOverCpuTime(_) => format!("{line} && times"),
                    _ => line,
                };
                let mut sysbench = command(&self.dir, "sh");
                sysbench.args(["-c", &line]);
                sysbench_figure(&self.said(&mut sysbench)?, figure)
            }
            Original::Mbw(method, moved) => {
                let mut mbw = command(&self.dir, "mbw");
                mbw.args(["-q", "-n", "10", method, "128"]);
                Ok(moved * mbw_figure(&self.said(&mut mbw)?, 1)?)
            }
            Original::MbwAll(method, moved) => {
                let one = format!("mbw -q -n 20 {method} 128 &");
                let copies = how_many(Copies::All);
                let line = format!("{} wait", one.repeat(copies));
                let mut shell = command(&self.dir, "sh");
                shell.args(["-c", &line]);
                Ok(moved * mbw_figure(&self.said(&mut shell)?, copies)?)
            }
            Original::StressNgStream(instances) => {
                let mut stress = command(&self.dir, "sh");
                // Shorter, and it says that this is too short for a rate.
                let line = format!("stress-ng --stream {} -t 15 2>&1", instances.number());
                stress.args(["-c", &line]);
                stress_ng_figure(&self.said(&mut stress)?, how_many(instances))
            }
            Original::Chase(bytes, loads) => self.chase(bytes, loads, pair),
            Original::Exchange(protocol, _) => self.exchange(protocol),
        }
    }

    /// As ours: three rounds, each on another CPU, in memory mapped anew. It is the CPU on which ours is in its round
    /// where no two CPUs share a core; where some do, ours takes one of each core first, and this one all in turn.
    fn chase(&mut self, bytes: &str, loads: &str, pair: u32) -> anyhow::Result<f64> {
        let cpus = sys::affinity::allowed_cpus().context("read the CPUs allowed")?;
        let mut rounds = Vec::new();
        for round in 1..=super::ROUNDS {
            let cpu = cpus[usize::try_from(round).unwrap_or(0) % cpus.len()].to_string();
            let seed = (pair * super::ROUNDS + round).to_string();
            let mut chase = command(&self.dir, self.dir.join(CHASE));
            chase.args([bytes, loads, &cpu, &seed]);
            let text = self.said(&mut chase)?;
            rounds.push(text.trim().parse().context("read the chase's figure")?);
        }
        stats::quantile::median(&rounds).context("the chase did not run")
    }

    /// As ours: three rounds, each as long, in sockets made anew.
    fn exchange(&mut self, protocol: &str) -> anyhow::Result<f64> {
        let mut rounds = Vec::new();
        for _ in 1..=super::ROUNDS {
            let mut exchange = command(&self.dir, self.dir.join(EXCHANGE));
            exchange.args([protocol, "500"]);
            let text = self.said(&mut exchange)?;
            rounds.push(text.trim().parse().context("read the round trips")?);
        }
        stats::quantile::median(&rounds).context("no message was exchanged")
    }

    fn said(&mut self, command: &mut Command) -> anyhow::Result<String> {
        note(&mut self.commands, command);
        output(command)
    }
}

/// Keeps a command line, each once but for numbers at its end, which are seeds.
pub(super) fn note(commands: &mut Vec<String>, command: &Command) {
    let line = xtask::process::shown(command);
    let key = |line: &str| {
        line.trim_end_matches(|c: char| c.is_ascii_digit() || c == ' ')
            .to_owned()
    };
    if !commands.iter().any(|kept| key(kept) == key(&line)) {
        commands.push(line);
    }
}

fn how_many(copies: Copies) -> usize {
    usize::try_from(copies.number()).unwrap_or(usize::MAX)
}

const CHASE: &str = "chase";
const EXCHANGE: &str = "exchange";

/// Makes a program of ours in C, where that was not done before.
fn compile(dir: &Path, name: &str, text: &str) -> anyhow::Result<()> {
    let (program, source) = (dir.join(name), dir.join(format!("{name}.c")));
    if program.is_file() {
        return Ok(());
    }
    std::fs::write(&source, text).with_context(|| format!("write `{}`", source.display()))?;
    let mut compile = command(dir, "cc");
    compile
        .args(["-O2", "-pthread", "-o"])
        .arg(program)
        .arg(source);
    succeed(&mut compile)
}

/// What the program says of its version, or the package manager.
pub(super) fn version(dir: &Path, program: &str, package: &str) -> String {
    let first = |text: String| text.lines().next().map(|line| line.trim().to_owned());
    // mbw takes `--version` for a size, and bonnie++ and dbench know no such option.
    let own = matches!(program, "sysbench" | "stress-ng" | "cc" | "fio")
        .then(|| output(command(dir, program).arg("--version")).ok());
    let package = || {
        let mut query = command(dir, "dpkg-query");
        output(query.args(["-W", "-f", "${Package} ${Version}", package])).ok()
    };
    own.flatten()
        .or_else(package)
        .and_then(first)
        .unwrap_or_else(|| format!("{program}, version not known"))
}

/// The number behind `label` on its line.
pub(super) fn behind(text: &str, label: &str) -> anyhow::Result<f64> {
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

/// The number in brackets on the line that `is` it: `( 9876.54 per second)`, padded or not.
fn in_brackets(report: &str, is: impl Fn(&str) -> bool) -> anyhow::Result<f64> {
    let line = report
        .lines()
        .find(|line| is(line))
        .context("the report has no such line")?;
    let inside = line.split('(').nth(1);
    let rate = inside.and_then(|rest| rest.split_whitespace().next());
    rate.context("the line has no rate")?
        .parse()
        .context("read the rate")
}

pub(super) fn sysbench_figure(report: &str, figure: Reported) -> anyhow::Result<f64> {
    match figure {
        Reported::EventsPerSecond => behind(report, "events per second:"),
        Reported::EventsOverTime(of_ours) => {
            let events = of_ours * behind(report, "total number of events:")?;
            Ok(events / behind(report, "total time:")?)
        }
        Reported::EventsOverCpuTime(of_ours) => {
            let events = of_ours * behind(report, "total number of events:")?;
            Ok(events / cpu_seconds(report)?)
        }
        Reported::Operations => in_brackets(report, |line| line.starts_with("Total operations:")),
        Reported::Transferred => {
            Ok(in_brackets(report, |line| line.contains(" MiB transferred ("))? * 1_048_576.0)
        }
    }
}

/// The last line of the shell's `times`: user and system time of the children, `0m2.010000s 0m0.020000s`.
pub(super) fn cpu_seconds(text: &str) -> anyhow::Result<f64> {
    let last = text.trim_end().lines().next_back().unwrap_or_default();
    let seconds = |time: &str| -> Option<f64> {
        let (minutes, rest) = time.split_once('m')?;
        let rest: f64 = rest.strip_suffix('s')?.parse().ok()?;
        Some(60.0 * minutes.parse::<f64>().ok()? + rest)
    };
    let times: Option<Vec<f64>> = last.split_whitespace().map(seconds).collect();
    match times.as_deref() {
        Some([user, system]) if user + system > 0.0 => Ok(user + system),
        _ => anyhow::bail!("`{last}` is not what `times` says last"),
    }
}

/// `AVG Method: MEMCPY Elapsed: .. MiB: .. Copy: 5850.894 MiB/s`, as bytes per second; summed over all that ran.
fn mbw_figure(text: &str, ran: usize) -> anyhow::Result<f64> {
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("AVG"))
        .collect();
    ensure!(
        lines.len() == ran,
        "{ran} mbw printed {} averages",
        lines.len()
    );
    lines.iter().try_fold(0.0, |sum, line| {
        let rate = line
            .split("Copy:")
            .nth(1)
            .context("the average has no rate")?;
        let number = rate.trim().trim_end_matches("MiB/s").trim();
        Ok(sum + number.parse::<f64>().context("read the rate")? * 1_048_576.0)
    })
}

/// `memory rate: 11250.04 MB read/sec, 7500.03 MB write/sec, ...`, summed, as bytes per second; one line per instance,
/// and none of an instance that had no time for two turns. What an MB is, it does not say: the larger one is taken.
fn stress_ng_figure(text: &str, ran: usize) -> anyhow::Result<f64> {
    let lines: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split("memory rate:").nth(1))
        .collect();
    ensure!(
        lines.len() == ran,
        "{ran} instances of stress-ng printed {} memory rates",
        lines.len()
    );
    let rate = |text: &str, unit: &str| -> anyhow::Result<f64> {
        let before = text.split(unit).next().context("a rate is missing")?;
        let number = before.split_whitespace().next_back().unwrap_or_default();
        number
            .parse()
            .with_context(|| format!("`{number}` is no rate"))
    };
    lines.iter().try_fold(0.0, |sum, line| {
        Ok(sum + 1_048_576.0 * (rate(line, " MB read/sec")? + rate(line, " MB write/sec")?))
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
                      total number of events:              7\nTotal operations: 9070667 (4531985.50 per second)\n\
                      \n51200.00 MiB transferred (5000.50 MiB/sec)\n         avg:      250.00\n";
        close(sysbench_figure(report, Reported::EventsPerSecond), 2048.56);
        close(sysbench_figure(report, Reported::EventsOverTime(2.0)), 28.0);
        close(sysbench_figure(report, Reported::Operations), 4_531_985.5);
        let timed = format!("{report}0m9.000000s 0m9.000000s\n1m1.500000s 0m0.500000s\n");
        close(
            sysbench_figure(&timed, Reported::EventsOverCpuTime(31.0)),
            3.5,
        );
        assert!(sysbench_figure(report, Reported::EventsOverCpuTime(1.0)).is_err());
        close(
            sysbench_figure(report, Reported::Transferred),
            5000.5 * 1_048_576.0,
        );
        let padded = "Total operations: 9876 ( 9874.50 per second)";
        close(sysbench_figure(padded, Reported::Operations), 9874.5);
        let line = "AVG\tMethod: MEMCPY\tElapsed: 0.02188\tMiB: 128.00000\tCopy: 5850.894 MiB/s\n";
        close(mbw_figure(line, 1), 5850.894 * 1_048_576.0);
        close(mbw_figure(&line.repeat(2), 2), 2.0 * 5850.894 * 1_048_576.0);
        assert!(mbw_figure(line, 2).is_err(), "one is missing");
        let line = "stress-ng: info:  [1] stream: memory rate: 2.50 MB read/sec, 1.50 MB write/sec, 0.3 double\n";
        close(stress_ng_figure(&line.repeat(2), 2), 8.0 * 1_048_576.0);
        assert!(stress_ng_figure(line, 2).is_err(), "one is missing");
        assert!(sysbench_figure("", Reported::Operations).is_err());
        assert!(mbw_figure("x", 1).is_err());
        assert!(stress_ng_figure("stream: nothing", 1).is_err());
    }

    #[test]
    fn command_lines_are_kept_once_whatever_their_seed() {
        let dir = Path::new("/");
        let mut kept = Vec::new();
        for last in ["1", "2"] {
            note(&mut kept, command(dir, "chase").args(["x", last]));
            note(&mut kept, command(dir, "chase").args(["y", last]));
        }
        assert_eq!(kept, ["chase x 1", "chase y 1"]);
    }
}
