//! Outputs of other people that cannot be part of this repository: a directory with `expected.json`, named by
//! `KURABE_CORPUS`. Every figure of theirs is read, within half a unit of its last printed digit.

use super::super::{Job, Output, outputs, read};
use crate::fio::result::{Direction, Latency};
use model::num::approx;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Facts that are no figures of a job: sums over jobs, disks, processes, samples over time, and words.
const SKIPPED: &[&str] = &[
    "bw_samples_kib",
    "cpu",
    "disk_util",
    "format",
    "groups",
    "terse_version",
    "time",
    "unit_printed",
    "iops_printed",
    "bw_printed",
    "bw_printed_decimal",
    "io_printed",
    "bw_kib_printed",
    "io_kib_printed_as_io_bytes",
];

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_figure_of_the_corpus_is_read() {
    let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
    let text = std::fs::read_to_string(format!("{directory}/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&text).unwrap();
    let (mut files, mut figures) = (0, 0);
    for (path, entry) in expected.as_object().unwrap() {
        if !path.starts_with("fio/") {
            continue;
        }
        let text = std::fs::read_to_string(format!("{directory}/{path}")).unwrap();
        let (found, left_out) = outputs(&text);
        assert_eq!(left_out, [], "{path}");
        let reports = entry["facts"]["reports"].as_array().unwrap();
        assert_eq!(found.len(), reports.len(), "{path}");
        for (output, report) in found.iter().zip(reports) {
            figures += Checked::report(path, output, report);
        }
        every_rate_and_latency_becomes_a_figure(path, &text, &found);
        files += 1;
    }
    println!("{files} files, {figures} figures");
    assert!(files >= 15 && figures >= 807);
}

/// Compares, and counts what it compared.
struct Checked<'a> {
    path: &'a str,
    figures: usize,
}

impl<'a> Checked<'a> {
    fn report(path: &'a str, output: &Output, report: &Value) -> usize {
        let mut checked = Self { path, figures: 0 };
        assert_eq!(
            report["version"].as_str(),
            output.version.as_deref(),
            "{path}"
        );
        let jobs = report["jobs"].as_array().unwrap();
        assert_eq!(output.jobs.len(), jobs.len(), "{path}");
        for (job, wanted) in output.jobs.iter().zip(jobs) {
            checked.job(job, wanted.as_object().unwrap());
        }
        for key in report.as_object().unwrap().keys() {
            assert!(
                key == "version" || key == "jobs" || SKIPPED.contains(&key.as_str()),
                "{key}"
            );
        }
        checked.figures
    }

    fn job(&mut self, job: &Job, wanted: &Map<String, Value>) {
        let result = &job.result;
        for (key, value) in wanted {
            match key.as_str() {
                "name" => assert_eq!(value, &result.name, "{}", self.path),
                "groupid" => assert_eq!(value, result.group, "{}", self.path),
                "err" => assert_eq!(value, result.error, "{}", self.path),
                "jobs" => assert_eq!(Some(value), result.members.map(Value::from).as_ref()),
                "directions" => {
                    let wanted = value.as_object().unwrap();
                    let names: BTreeSet<&str> = wanted.keys().map(String::as_str).collect();
                    let found: BTreeSet<&str> = result.directions().map(|(name, _)| name).collect();
                    assert_eq!(found, names, "{}", self.path);
                    for (name, direction) in result.directions() {
                        self.direction(direction, wanted[name].as_object().unwrap());
                    }
                }
                "total_ios" => {
                    for (name, wanted) in value.as_object().unwrap() {
                        let found = result.directions().find(|(other, _)| other == name);
                        // What did nothing is no direction.
                        let found = found.map_or(Some(0), |(_, found)| found.total_ios);
                        self.number(name, found.map(approx), wanted, 0.0);
                    }
                }
                "sync" => {
                    let sync = result.sync.as_ref().unwrap();
                    self.latency(sync, &value["sync_ns"]);
                    self.percentiles(sync, &value["sync_percentiles_ns"]);
                }
                key => assert!(SKIPPED.contains(&key), "{}: {key}", self.path),
            }
        }
    }

    fn direction(&mut self, found: &Direction, wanted: &Map<String, Value>) {
        for (key, value) in wanted {
            let of = |key: &str| wanted.get(key).and_then(Value::as_str).unwrap_or_default();
            match key.as_str() {
                "iops" => self.number(key, Some(found.iops), value, half(of("iops_printed"))),
                "bw_bytes_per_s" => {
                    self.number(
                        key,
                        Some(found.bw_bytes_per_s),
                        value,
                        half(of("bw_printed")),
                    );
                }
                "io_bytes" => {
                    let slack = half(of("io_printed")).max(0.5);
                    self.number(key, Some(approx(found.io_bytes)), value, slack);
                }
                "runtime_ms" => self.number(key, Some(approx(found.runtime_ms)), value, 0.0),
                "total_ios" => self.number(key, found.total_ios.map(approx), value, 0.0),
                "slat_ns" => self.latency(found.slat.as_ref().unwrap(), value),
                "clat_ns" => self.latency(found.clat.as_ref().unwrap(), value),
                "lat_ns" => self.latency(found.lat.as_ref().unwrap(), value),
                "clat_percentiles_ns" => self.percentiles(found.clat.as_ref().unwrap(), value),
                "lat_percentiles_ns" => self.percentiles(found.lat.as_ref().unwrap(), value),
                key => assert!(SKIPPED.contains(&key), "{}: {key}", self.path),
            }
        }
    }

    fn latency(&mut self, found: &Latency, wanted: &Value) {
        for (key, value) in wanted.as_object().unwrap() {
            let found = match key.as_str() {
                "min" => approx(found.min_ns),
                "max" => approx(found.max_ns),
                "mean" => found.mean_ns,
                "stddev" => found.stddev_ns,
                key => {
                    assert!(SKIPPED.contains(&key), "{}: {key}", self.path);
                    continue;
                }
            };
            self.number(key, Some(found), value, 0.0);
        }
    }

    fn percentiles(&mut self, found: &Latency, wanted: &Value) {
        let wanted = wanted.as_object().unwrap();
        assert_eq!(found.percentiles.len(), wanted.len(), "{}", self.path);
        for (percent, ns) in &found.percentiles {
            self.number(
                "percentile",
                Some(approx(*ns)),
                &wanted[&format!("{percent:.2}")],
                0.0,
            );
        }
    }

    fn number(&mut self, what: &str, found: Option<f64>, wanted: &Value, slack: f64) {
        let (found, wanted) = (found.unwrap(), wanted.as_f64().unwrap());
        // What is left is the rounding of floating point.
        let slack = slack + 1e-9 * wanted;
        assert!(
            (found - wanted).abs() <= slack,
            "{}: {what} is {found}, not {wanted}",
            self.path
        );
        self.figures += 1;
    }
}

/// Half a unit of the last digit of what was printed, such as `29.1MiB/s`.
fn half(printed: &str) -> f64 {
    let (digits, unit) = printed.split_at(
        printed
            .find(|c: char| !matches!(c, '0'..='9' | '.'))
            .unwrap_or(printed.len()),
    );
    let places = digits.split_once('.').map_or(0, |(_, places)| places.len());
    let factor = match unit.trim().get(..1) {
        Some("k") => 1e3,
        Some("K") => 1024.0,
        Some("M") => 1024.0 * 1024.0,
        Some("G") => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    0.5 * factor / 10_f64.powi(i32::try_from(places).unwrap())
}

fn every_rate_and_latency_becomes_a_figure(path: &str, text: &str, outputs: &[Output]) {
    let found = read(text);
    assert_eq!(found.left_out, [], "{path}");
    let value = |quantity: &str, wanted: f64| {
        let mut values = found.figures.iter().flat_map(|figures| &figures.values);
        let is_there = values.any(|figure| {
            figure.quantity == quantity && (figure.value - wanted).abs() <= 1e-9 * wanted
        });
        assert!(is_there, "{path}: {quantity} {wanted}");
    };
    for job in outputs.iter().flat_map(|output| &output.jobs) {
        for (_, direction) in job.result.directions() {
            value("iops", direction.iops);
            value("bw_bytes_per_s", direction.bw_bytes_per_s);
            for (name, latency) in [
                ("slat", &direction.slat),
                ("clat", &direction.clat),
                ("lat", &direction.lat),
                ("sync", &job.result.sync),
            ] {
                let Some(latency) = latency else { continue };
                value(&format!("{name}_ns_mean"), latency.mean_ns);
                value(&format!("{name}_ns_max"), approx(latency.max_ns));
                for (percent, ns) in &latency.percentiles {
                    let digits = percent.to_string().replace('.', "");
                    value(&format!("{name}_ns_p{digits}"), approx(*ns));
                }
            }
        }
        assert!(job.is_whole, "{path}");
    }
}
