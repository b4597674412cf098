//! `flatfile.html`: one line of names of columns, then rows of words, with all digits that there are. It is of runs on
//! storages: those on file sets have other columns, and stand in the other files.

use super::rows::{Moments, Row};
use super::{AnyRow, Execution, Label, Report, time_of_day, zoned};
use crate::vdbench::language::{Run, Work};
use jiff::tz::TimeZone;
use model::num::approx;
use model::units::UnixNanos;

/// Bytes of what vdbench calls MB, and GB.
const MB: f64 = 1_048_576.0;
const GB: f64 = 1_073_741_824.0;

/// What vdbench writes for a rate that nobody asked for.
const UNCONTROLLED: f64 = 9_999_988.0;

/// The names of the columns behind time, date, run and interval.
const NAMES: &[&str] = &[
    "reqrate",
    "rate",
    "MB/sec",
    "bytes/io",
    "read%",
    "resp",
    "read_resp",
    "write_resp",
    "resp_max",
    "read_max",
    "write_max",
    "resp_std",
    "read_std",
    "write_std",
    "xfersize",
    "threads",
    "rdpct",
    "rhpct",
    "whpct",
    "seekpct",
    "lunsize",
    "version",
    "compratio",
    "dedupratio",
    "queue_depth",
    "cpu_used",
    "cpu_user",
    "cpu_kernel",
    "cpu_wait",
    "cpu_idle",
];

/// The file.
pub fn flatfile(report: &Report<'_>) -> String {
    let mut text = format!(
        "<title>Vdbench flatfile.html</title><pre>\n* made by kurabe {} of a kept run. One line of names, then a row \
         for each interval and for what counts.\n* `n/a` is what was not kept, or has no one value. Times are in ms, \
         MB are 1024*1024 bytes.\n*\n",
        report.version
    );
    text.push_str("tod timestamp Run Interval ");
    text.push_str(&NAMES.join(" "));
    text.push('\n');
    for one in &report.executions {
        for (label, at, row) in one.intervals.iter().chain(&one.average) {
            if let AnyRow::Raw(row) = row {
                text.push_str(&line(one, (*label, *at, row), &report.zone));
            }
        }
    }
    text
}

fn line(of: &Execution<'_>, (label, at, row): (Label, UnixNanos, &Row), zone: &TimeZone) -> String {
    let stamp = zoned(at, zone, "%m/%d/%Y-%H:%M:%S-%Z");
    let name = crate::printable::printable(&of.run.name).replace(' ', "_");
    let mut line = format!("{} {stamp} {name} {label}", time_of_day(at, zone));
    for name in NAMES {
        line.push(' ');
        match value(name, of, row).filter(|value| value.is_finite()) {
            Some(value) => line.push_str(&value.to_string()),
            None => line.push_str("n/a"),
        }
    }
    line.push_str(" \n");
    line
}

fn value(name: &str, of: &Execution<'_>, row: &Row) -> Option<f64> {
    let ms = |ns: f64| ns / 1e6;
    let [all, reads, writes] = [row.calls(), row.reads.calls, row.writes.calls];
    let mean = |calls: Option<Moments>| Some(calls.map_or(0.0, |calls| ms(calls.mean_ns)));
    let spread = |calls: Option<Moments>, of: fn((f64, f64)) -> f64| match calls {
        None => Some(0.0),
        Some(calls) => calls.spread_ns.map(|spread| ms(of(spread))),
    };
    let longest = |calls| spread(calls, |(_, longest)| longest);
    let deviation = |calls| spread(calls, |(deviation, _)| deviation);
    match name {
        "reqrate" => Some(of.requested_per_s.unwrap_or(UNCONTROLLED)),
        "rate" => Some(row.per_s()),
        "MB/sec" => Some(row.bytes_per_s() / MB),
        "bytes/io" => Some(row.bytes_per_op().unwrap_or(0.0)),
        "read%" => Some(100.0 * row.reads_share().unwrap_or(0.0)),
        "resp" => mean(all),
        "read_resp" => mean(reads),
        "write_resp" => mean(writes),
        "resp_max" => longest(all),
        "read_max" => longest(reads),
        "write_max" => longest(writes),
        "resp_std" => deviation(all),
        "read_std" => deviation(reads),
        "write_std" => deviation(writes),
        "queue_depth" => Some(row.queue_depth().unwrap_or(0.0)),
        "cpu_used" => row.cpu.map(|(all, _)| 100.0 * all),
        "cpu_kernel" => row.cpu.map(|(_, system)| 100.0 * system),
        "cpu_user" => row.cpu.map(|(all, system)| 100.0 * (all - system)),
        "lunsize" => of.storage_bytes.map(|bytes| approx(bytes) / GB),
        "threads" => of.run.threads().map(f64::from),
        _ => asked(name, of.run),
    }
}

/// What all workloads of a run were asked for alike.
fn asked(name: &str, run: &Run) -> Option<f64> {
    let Work::Raw(parts) = &run.work else {
        return None;
    };
    let of: fn(&crate::vdbench::language::Part) -> Option<f64> = match name {
        "xfersize" => |part| match part.transfers {
            model::job::Blocks::Fixed(bytes) => Some(approx(bytes)),
            _ => None,
        },
        "rdpct" => |part| Some(f64::from(part.reads_percent)),
        "seekpct" => |part| Some(f64::from(part.random_percent)),
        "rhpct" | "whpct" => |_| Some(0.0),
        "compratio" => |part| Some(100.0 / (100.0 - f64::from(part.compress_percent.min(99)))),
        _ => return None,
    };
    let mut values = parts.iter().map(of);
    let first = values.next()??;
    let same = |value: Option<f64>| {
        value.is_some_and(|value| (value - first).abs() < f64::EPSILON * first.abs().max(1.0))
    };
    values.all(same).then_some(first)
}
