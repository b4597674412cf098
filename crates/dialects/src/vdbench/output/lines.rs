//! Lines as vdbench prints them, which its readers find by their headings.

use super::rows::Row;
use super::{AnyRow, Execution, Label, Report, filelines, time_of_day, zoned};
use crate::vdbench::language::{Rate, Run, Work};
use jiff::tz::TimeZone;
use model::units::UnixNanos;
use std::fmt::Write as _;

/// Bytes of what vdbench calls MB.
const MB: f64 = 1_048_576.0;

/// The columns: both lines of headings, letters, and digits behind the point.
const COLUMNS: [(&str, &str, usize, usize); 13] = [
    ("i/o", "rate", 11, 1),
    ("MB/sec", "1024**2", 9, 2),
    ("bytes", "i/o", 8, 0),
    ("read", "pct", 7, 2),
    ("resp", "time", 9, 3),
    ("read", "resp", 9, 3),
    ("write", "resp", 9, 3),
    ("read", "max", 9, 2),
    ("write", "max", 9, 2),
    ("resp", "stddev", 9, 3),
    ("queue", "depth", 7, 1),
    ("cpu%", "sys+u", 6, 1),
    ("cpu%", "sys", 6, 1),
];

/// Letters before the first column.
const BEFORE: usize = 24;

/// The line with which a run begins.
pub fn begins(run: &Run) -> String {
    let times = run.times;
    let warmup = times
        .warmup
        .map_or_else(String::new, |warmup| format!(" warmup={warmup}"));
    let loops = run.loops_in_words();
    let (name, rate, elapsed) = (&run.name, run.rate.in_words(), times.elapsed);
    let loops = loops.as_deref().unwrap_or("None");
    match run.work {
        Work::Raw(_) => {
            format!(
                "Starting RD={name}; I/O rate: {rate}; elapsed={elapsed}{warmup}; For loops: {loops}"
            )
        }
        Work::Files(_) => {
            let rate = if run.rate == Rate::Max { "max" } else { &rate };
            format!(
                "Starting RD={name}; elapsed={elapsed}{warmup}; fwdrate={rate}. For loops: {loops}"
            )
        }
    }
}

/// The two lines above the rows of a run that begins at this time.
pub fn headings(run: &Run, at: UnixNanos, zone: &TimeZone) -> String {
    let date = zoned(at, zone, "%b %d, %Y");
    if let Work::Files(_) = run.work {
        let (above, below) = filelines::headings();
        return format!(
            "{date:<12}{:>12}{above}\n{}{below}\n",
            ".Interval.",
            " ".repeat(BEFORE)
        );
    }
    let mut first = format!("{date:<12}{:>12}", "interval");
    let mut second = " ".repeat(BEFORE);
    for (above, below, letters, _) in COLUMNS {
        let _ = write!(first, "{above:>letters$}");
        let _ = write!(second, "{below:>letters$}");
    }
    format!("{first}\n{second}\n")
}

/// One row.
pub fn line(label: Label, at: UnixNanos, row: &AnyRow, zone: &TimeZone) -> String {
    let mut line = format!("{:<12}{:>12}", time_of_day(at, zone), label.to_string());
    let row = match row {
        AnyRow::Raw(row) => row,
        AnyRow::Files(row) => return format!("{line}{}\n", filelines::line(row)),
    };
    for ((_, _, letters, digits), value) in COLUMNS.into_iter().zip(values(row)) {
        let _ = match value {
            // A column has a blank before it, whatever its value.
            Some(value) => write!(line, " {value:>width$.digits$}", width = letters - 1),
            None => write!(line, "{:>letters$}", "n/a"),
        };
    }
    line.push('\n');
    line
}

/// The values of the columns: 0 for times of a direction of which nothing was done, as vdbench has it, and none for
/// what nobody kept.
fn values(row: &Row) -> [Option<f64>; 13] {
    let ms = |ns: f64| ns / 1e6;
    let [all, reads, writes] = [row.calls(), row.reads.calls, row.writes.calls];
    let mean = |calls: Option<super::Moments>| Some(calls.map_or(0.0, |calls| ms(calls.mean_ns)));
    let spread = |calls: Option<super::Moments>, of: fn((f64, f64)) -> f64| match calls {
        None => Some(0.0),
        Some(calls) => calls.spread_ns.map(|spread| ms(of(spread))),
    };
    let longest = |calls| spread(calls, |(_, longest)| longest);
    [
        Some(row.per_s()),
        Some(row.bytes_per_s() / MB),
        Some(row.bytes_per_op().unwrap_or(0.0)),
        Some(100.0 * row.reads_share().unwrap_or(0.0)),
        mean(all),
        mean(reads),
        mean(writes),
        longest(reads),
        longest(writes),
        spread(all, |(deviation, _)| deviation),
        Some(row.queue_depth().unwrap_or(0.0)),
        row.cpu.map(|(all, _)| 100.0 * all),
        row.cpu.map(|(_, system)| 100.0 * system),
    ]
}

/// Beginning, headings and rows of one execution; the intervals among them only where they are asked for.
fn execution(of: &Execution<'_>, zone: &TimeZone, with_intervals: bool) -> String {
    let mut text = format!("\n{} {}\n\n", time_of_day(of.began, zone), begins(of.run));
    text.push_str(&headings(of.run, of.began, zone));
    for (label, at, row) in of.intervals.iter().filter(|_| with_intervals) {
        text.push_str(&line(*label, *at, row, zone));
    }
    if let Some((label, at, row)) = &of.average {
        text.push_str(&line(*label, *at, row, zone));
    }
    text.push_str(&from_start(of));
    if let Some(why) = &of.failed {
        let _ = writeln!(text, "* {}", crate::printable::printable(why));
    }
    text
}

/// The line of times from the intended starts; empty where operations had none.
pub fn from_start(of: &Execution<'_>) -> String {
    let line = of.from_start.as_ref().map(|(mean, p50, p99)| {
        let ms = |ns: f64| ns / 1e6;
        format!(
            "* from the intended start: mean {:.3} ms, median {:.3} ms, 99th percentile {:.3} ms\n",
            ms(mean.mean_ns),
            ms(model::num::approx(*p50)),
            ms(model::num::approx(*p99))
        )
    });
    line.unwrap_or_default()
}

/// What `summary.html` holds: every interval that was kept.
pub fn summary(report: &Report<'_>) -> String {
    head("summary.html") + &body(report, true)
}

/// What `totals.html` holds: what counts of each run.
pub fn totals(report: &Report<'_>) -> String {
    head("totals.html") + &totals_text(report)
}

/// The same without what makes it a page.
pub fn totals_text(report: &Report<'_>) -> String {
    body(report, false)
}

fn head(name: &str) -> String {
    format!("<title>Vdbench {name}</title><pre>\n")
}

fn body(report: &Report<'_>, with_intervals: bool) -> String {
    let mut text = format!(
        "* made by kurabe {} of a kept run; figures begin to count behind the first interval\n",
        report.version
    );
    for one in &report.executions {
        text.push_str(&execution(one, &report.zone, with_intervals));
    }
    text
}
