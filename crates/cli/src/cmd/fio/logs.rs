//! fio's logs over time (`write_bw_log` and the like), written from the series of the kept run.
//!
//! A line is `time, value, direction, block size, priority`: milliseconds from the beginning of the job to the end of
//! the window, KiB/s, operations per second or nanoseconds, and 0 for what a window has none of, as fio 3.33 writes
//! it. A file is replaced where it is empty or a log from end to end as far as it is looked at, and never by a log of
//! nothing; it obeys what `--output` obeys.

use super::out::{AS_ROOT, Form, Way};
use super::phases::Phase;
use crate::directory::hint_of_others;
use crate::exit::{Exit, failure};
use crate::output;
use dialects::fio::Plan;
use dialects::fio::job::Job;
use dialects::printable::quoted;
use model::num::{approx, round_to_u64};
use model::order::Order as _;
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
        let file = format!("{name}_{}{number}.log", kind.0);
        Some((kind, place(Path::new(&file))))
    };
    all.filter_map(file).collect()
}

/// Where a file is or would be, so that two names of one place are one.
fn place(path: &Path) -> PathBuf {
    let absolute = || std::path::absolute(path).unwrap_or_else(|_| path.into());
    let beside = || Some(path.file_name()?).zip(super::out::directory(path).canonicalize().ok());
    let real = path.canonicalize().ok();
    real.or_else(|| beside().map(|(name, dir)| dir.join(name)))
        .unwrap_or_else(absolute)
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
    let used = plan.jobs().flat_map(|job| &job.target.files);
    let used: Vec<PathBuf> = used.map(|used| place(Path::new(used))).collect();
    let report = plan.output.file.as_deref();
    let report = report.map(|report| place(Path::new(report)));
    for file in files(plan) {
        let found = if used.contains(&file) {
            Err("a job works on it".to_owned())
        } else if report.as_ref() == Some(&file) {
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
        // What an earlier log says is worth more than nothing.
        if text.is_empty() && std::fs::metadata(&file).is_ok_and(|found| found.len() > 0) {
            let file = file.display();
            output::say(&format!(
                "no window was whole: the log `{file}` stays as it is"
            ));
            continue;
        }
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
    rows.order();
    let offset = if logs.offset { "0, " } else { "" };
    let line = |(ms, direction, value)| format!("{ms}, {value}, {direction}, 0, {offset}0\n");
    rows.into_iter().map(line).collect()
}

/// Whether a text is a log as fio and this program write them, the last line of what was looked at excepted, which may
/// be cut: as many whole numbers in every line, and a direction third.
fn begins_as_log(text: &str) -> bool {
    let is_number = |field: &&str| {
        let is_digit = |b: u8| b.is_ascii_digit();
        match field.strip_prefix("0x") {
            Some(digits) => digits.bytes().all(|b| b.is_ascii_hexdigit()),
            None => !field.is_empty() && field.bytes().all(is_digit),
        }
    };
    let count = |line: &str| {
        let fields: Vec<&str> = line.split(", ").collect();
        let is_log = (4..=7).contains(&fields.len())
            && fields.iter().all(is_number)
            && fields
                .get(2)
                .is_some_and(|direction| matches!(*direction, "0" | "1" | "2"));
        is_log.then_some(fields.len())
    };
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut counts = whole.split('\n').map(count);
    match counts.next() {
        Some(Some(first)) => counts.all(|other| other == Some(first)),
        _ => false,
    }
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
            ("500, 808, 0, 0, 0\n1000, 80", true),
            ("500, 808, 0, 0", false),
            ("2024,1,2,3\nmy diary\n", false),
            ("1,10,20,30,40\n2,11,21,31,41\n", false),
            ("1, 10, 20, 30, 40\n", false),
            ("500, 808, 0, 0, 0\nand notes of mine\n", false),
            ("500, 808, 0, 0, 0\n500, 808, 0, 0\n", false),
            ("[global]\nbs=4k\n", false),
        ] {
            assert_eq!(begins_as_log(text), expect, "{text:?}");
        }
    }
}
