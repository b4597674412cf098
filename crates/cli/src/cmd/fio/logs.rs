//! fio's logs over time (`write_bw_log` and the like), written from the series of the kept run.
//!
//! A line is `time, value, direction, block size, priority`: milliseconds from the beginning of the job to the end of
//! the window, KiB/s, operations per second or nanoseconds, and 0 for what a window has none of, as fio 3.33 writes
//! it. A file is replaced where it is empty or begins as a log does, and obeys what `--output` obeys.

use super::out::{AS_ROOT, Form, Way};
use super::phases::Phase;
use crate::directory::hint_of_others;
use crate::exit::{Exit, failure};
use dialects::fio::Plan;
use dialects::fio::job::Job;
use dialects::printable::quoted;
use model::num::{approx, round_to_u64};
use model::record::{Run, Series};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LOG: Form = Form {
    begins: begins_as_log,
    otherwise: "it is there already and begins as no log of fio or kurabe does",
};

/// What a log is of: how its name goes on, and that of its series.
type Kind = (&'static str, &'static str);

const BW: Kind = ("bw", "bytes_per_s");
const IOPS: Kind = ("iops", "iops");
const LATENCIES: [Kind; 3] = [("slat", "slat_ns"), ("clat", "clat_ns"), ("lat", "lat_ns")];

/// As fio numbers them.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// The logs of a job, the `number`th of all: what each is of, and its file.
fn of_job(job: &Job, number: usize) -> Vec<(Kind, PathBuf)> {
    let logs = &job.reporting.logs;
    let lat = LATENCIES.map(|kind| (kind, &logs.lat));
    let all = [(BW, &logs.bw), (IOPS, &logs.iops)].into_iter().chain(lat);
    let file = |(kind, name): (Kind, &Option<String>)| {
        let name = match name.as_deref()? {
            "" => &job.name,
            name => name,
        };
        let number = if logs.together {
            String::new()
        } else {
            format!(".{number}")
        };
        Some((kind, format!("{name}_{}{number}.log", kind.0).into()))
    };
    all.filter_map(file).collect()
}

/// Every log of a plan, each once.
fn files(plan: &Plan) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for (job, number) in plan.jobs().zip(1..) {
        for (_, file) in of_job(job, number) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
    }
    files
}

/// Whether all logs can go where they shall, found out before anything is measured.
pub(super) fn check(plan: &Plan, of_others: bool) -> anyhow::Result<()> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.into());
    let used = plan.jobs().flat_map(|job| &job.target.files);
    let used: Vec<PathBuf> = used.map(|used| absolute(Path::new(used))).collect();
    let report = plan.output.file.as_deref();
    let report = report.map(|report| absolute(Path::new(report)));
    for file in files(plan) {
        let here = absolute(&file);
        let found = if used.contains(&here) {
            Err("a job works on it".to_owned())
        } else if report.as_ref() == Some(&here) {
            Err("the report goes there".to_owned())
        } else {
            Way::to(&file, of_others, LOG).and_then(|way| way.try_out())
        };
        found.map_err(|why| {
            let hint = if why == LOG.otherwise {
                let quoted = quoted(&file.display().to_string());
                format!("name another log, or remove this file: `rm {quoted}`")
            } else if why.starts_with(AS_ROOT) {
                hint_of_others("write_*_log")
            } else {
                "name another log".to_owned()
            };
            let text = format!("write the log `{}`: {why}", file.display());
            failure(Exit::Usage, text, Some(&hint))
        })?;
    }
    Ok(())
}

/// Writes the logs of this pass, those of jobs of which nothing is known excepted.
pub(super) fn write(
    plan: &Plan,
    phases: &[Phase<'_>],
    (run, pass): (&Run, u32),
    of_others: bool,
) -> anyhow::Result<()> {
    for (file, text) in texts(plan, phases, run, pass) {
        // Looked at again: it may have become somebody's meanwhile.
        let way = Way::to(&file, of_others, LOG);
        way.and_then(|way| way.take(&text)).map_err(|why| {
            let text = format!("write the log `{}`: {why}", file.display());
            let id = &run.meta.id;
            let hint =
                format!("the run is kept with it: `kurabe show {id} --format json`, `series`");
            failure(Exit::Incomplete, text, Some(&hint))
        })?;
    }
    Ok(())
}

/// What goes into each file.
fn texts(plan: &Plan, phases: &[Phase<'_>], run: &Run, pass: u32) -> BTreeMap<PathBuf, String> {
    let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
    for phase in phases {
        let mut rounds = run.rounds_of(&phase.case);
        let round = rounds.find(|round| round.pass == pass);
        let Some(told) = round.and_then(|round| round.told()) else {
            continue;
        };
        for ((_, job), copy) in phase.jobs.iter().zip(&told.copies) {
            let Some(apart) = copy.apart.as_ref() else {
                continue;
            };
            let mut all = plan.jobs();
            let before = all.position(|other| std::ptr::eq(other, *job));
            let number = before.map_or(0, |before| before + 1);
            for (kind, file) in of_job(job, number) {
                let text = lines(job, kind, &apart.series);
                texts.entry(file).or_default().push_str(&text);
            }
        }
    }
    texts
}

/// The lines of one log of one job.
fn lines(job: &Job, (suffix, quantity): Kind, series: &BTreeMap<String, Series>) -> String {
    let logs = &job.reporting.logs;
    let max = if logs.longest && suffix.ends_with("lat") {
        "_max"
    } else {
        ""
    };
    // Rates of nothing have no line; KiB as fio counts them.
    let told = |value: f64| match suffix {
        "bw" => Some(round_to_u64(value / 1024.0)).filter(|_| value > 0.0),
        "iops" => Some(round_to_u64(value)).filter(|_| value > 0.0),
        _ => Some(round_to_u64(value)),
    };
    let mut rows: Vec<(u64, usize, u64)> = Vec::new();
    for (number, direction) in DIRECTIONS.into_iter().enumerate() {
        let Some(series) = series.get(&format!("{direction}_{quantity}{max}_at")) else {
            continue;
        };
        for (value, window) in series.values.iter().zip(1_u64..) {
            if let Some(value) = value.and_then(told) {
                let ends_ms = round_to_u64(approx(window) * approx(series.step.0) / 1e6);
                rows.push((ends_ms, number, value));
            }
        }
    }
    rows.sort_unstable();
    let offset = if logs.offset { "0, " } else { "" };
    let line = |(ms, direction, value)| format!("{ms}, {value}, {direction}, 0, {offset}0\n");
    rows.into_iter().map(line).collect()
}

/// Whether a text begins as the logs of fio and of this program do: whole numbers with commas between.
fn begins_as_log(text: &str) -> bool {
    let Some(first) = text.lines().next() else {
        return false;
    };
    let is_number = |field: &str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
    let mut fields = first.split(',').map(str::trim);
    let count = first.split(',').count();
    (4..=7).contains(&count)
        && fields.all(|field| is_number(field.strip_prefix("0x").unwrap_or(field)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_are_told_from_what_is_somebodys() {
        for (text, expect) in [
            // fio 3.33, with windows and without, with `log_offset`, with `log_prio`.
            ("500, 808, 0, 0, 0\n500, 808, 1, 0, 0\n", true),
            ("0, 406954, 0, 4096, 0\n", true),
            ("1795387371909, 8008, 0, 0, 0, 0\n", true),
            ("0, 1, 0, 4096, 0x0000\n", true),
            ("", false),
            ("time, value, direction, size\n", false),
            ("1, 2\n", false),
            ("1,2,3,4,5,6,7,8,9\n", false),
            ("[global]\nbs=4k\n", false),
        ] {
            assert_eq!(begins_as_log(text), expect, "{text:?}");
        }
    }
}
