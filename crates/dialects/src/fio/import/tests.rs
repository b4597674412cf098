//! Readers against outputs of fio that other people printed, in forms that are found in the wild.

use super::*;
use crate::fio::result::{Direction, Latency};

/// A small JSON of the time before nanoseconds, with what such files have: text around it, keys that stand twice.
const OLD: &str = r#"Some words, then:
```
fio: this platform does not support something
{
  "fio version" : "fio-2.2.10",
  "time" : "Fri Nov 17 23:59:32 2017",
  "jobs" : [
    {
      "jobname" : "t", "groupid" : 0, "error" : 0,
      "read" : {"io_bytes" : 0, "bw" : 0, "iops" : 0.00, "runtime" : 0, "total_ios" : 0},
      "write" : {
        "io_bytes" : 37500272, "bw" : 62499, "iops" : 15624.70, "runtime" : 600008, "total_ios" : 9374944,
        "slat" : {"min" : 17, "max" : 9602, "mean" : 32.18, "stddev" : 48.61},
        "clat" : {"min" : 964, "max" : 261110, "mean" : 8151.19, "stddev" : 3262.83,
          "percentile" : {"1.00" : 1752, "99.00" : 8640, "0.00" : 0, "0.00" : 0, "0.00" : 0}},
        "lat" : {"min" : 0, "max" : 0, "mean" : 0.00, "stddev" : 0.00}
      }
    }
  ]
}
```
"#;

#[test]
fn old_json_is_in_kibibytes_and_microseconds() {
    let reports = read(OLD).unwrap();
    let write = reports[0].jobs[0].write.as_ref().unwrap();
    assert_eq!(write.io_bytes, 37_500_272 * 1024);
    assert!((write.bw_bytes_per_s - 62_499.0 * 1024.0).abs() < 1e-6);
    let clat = write.clat.as_ref().unwrap();
    assert_eq!((clat.min_ns, clat.max_ns), (964_000, 261_110_000));
    assert_eq!(clat.percentiles, [(1.0, 1_752_000), (99.0, 8_640_000)]);
}

#[test]
fn what_was_not_measured_is_none() {
    let reports = read(OLD).unwrap();
    let job = &reports[0].jobs[0];
    assert!(
        job.read.is_none() && job.sync.is_none() && job.cpu.is_none() && job.runtime_ms.is_none()
    );
    let write = job.write.as_ref().unwrap();
    assert!(write.lat.is_none() && write.bw_samples.is_none() && write.short_ios.is_none());
    let reduced = read(include_str!("../../../testdata/fio/reduced.json")).unwrap();
    let read = reduced[0].jobs[0].read.as_ref().unwrap();
    assert!(read.clat.is_none() && read.slat.is_none());
    let terse = super::read(include_str!("../../../testdata/fio/terse3.txt")).unwrap();
    assert!(terse[0].jobs[0].read.as_ref().unwrap().total_ios.is_none());
    assert!(terse[0].jobs[1].read.is_none());
}

#[test]
fn bytes_without_kibibytes_beside_them_are_told_by_bandwidth_and_time() {
    let check = |io_bytes: u64, expect: u64| {
        let text = format!(
            "{{\"jobs\":[{{\"read\":{{\"io_bytes\":{io_bytes},\"bw\":1000,\"iops\":250,\"runtime\":10000,\"total_ios\":2500}}}}]}}"
        );
        assert_eq!(
            read(&text).unwrap()[0].jobs[0]
                .read
                .as_ref()
                .unwrap()
                .io_bytes,
            expect
        );
    };
    check(10_000, 10_240_000);
    check(10_240_000, 10_240_000);
}

#[test]
fn documents_behind_each_other_and_client_results_are_all_read() {
    let one = include_str!("../../../testdata/fio/plain.json");
    let two = format!("note: a line\n{one}{one}trailing {{ words }}\n");
    assert_eq!(read(&two).unwrap().len(), 2);
    let client = one.replace("\"jobs\"", "\"client_stats\"");
    assert_eq!(read(&client).unwrap()[0].jobs.len(), 1);
}

#[test]
fn broken_texts_are_refused() {
    let check = |text: &str, part: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    check("", "no fio output");
    check("{\"a\": 1}\n{ x }\n", "no fio output");
    let one = include_str!("../../../testdata/fio/plain.json");
    check(&one[..one.len() / 2], "read fio's JSON");
    let terse = include_str!("../../../testdata/fio/terse3.txt");
    check(&terse[..200], "line 1: terse output: ");
    check(&terse.replacen(";0;0;", ";x;0;", 1), "is no number");
    check(&"{\n".repeat(100_000), "no fio output");
}

/// Outputs of other people that cannot be part of this repository: a directory with `expected.json`, named by
/// `KURABE_CORPUS`.
mod corpus {
    use super::*;
    use serde_json::Value;

    #[test]
    #[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
    fn every_figure_of_the_corpus_is_read() {
        let directory = std::env::var("KURABE_CORPUS").expect("KURABE_CORPUS names the directory");
        let text = std::fs::read_to_string(format!("{directory}/expected.json")).unwrap();
        let expected: Value = serde_json::from_str(&text).unwrap();
        let mut files = 0;
        let mut figures = 0;
        for (path, entry) in expected.as_object().unwrap() {
            let is_text = path.contains("json") || path.contains("terse");
            if !path.starts_with("fio/") || !is_text {
                continue;
            }
            let text = std::fs::read_to_string(format!("{directory}/{path}")).unwrap();
            let reports = read(&text).unwrap_or_else(|error| panic!("{path}: {error}"));
            let wanted = &entry["facts"]["reports"];
            assert_eq!(reports.len(), wanted.as_array().unwrap().len(), "{path}");
            for (report, wanted) in reports.iter().zip(wanted.as_array().unwrap()) {
                figures += check_report(path, report, wanted);
            }
            files += 1;
        }
        println!("{files} files, {figures} figures");
        assert!(
            files >= 4 && figures > 100,
            "{files} files, {figures} figures"
        );
    }

    fn check_report(path: &str, report: &Report, wanted: &Value) -> usize {
        let version = report
            .version
            .as_deref()
            .unwrap()
            .trim_start_matches("fio-");
        assert_eq!(wanted["version"], version, "{path}");
        let jobs = wanted["jobs"].as_array().unwrap();
        assert_eq!(report.jobs.len(), jobs.len(), "{path}");
        let mut figures = 0;
        for (job, wanted) in report.jobs.iter().zip(jobs) {
            assert_eq!(wanted["name"], job.name.as_str(), "{path}");
            assert_eq!(wanted["groupid"], job.group, "{path}");
            let directions = wanted["directions"].as_object().unwrap();
            assert_eq!(job.directions().count(), directions.len(), "{path}");
            for (name, direction) in job.directions() {
                figures += check_direction(path, direction, &directions[name]);
            }
        }
        let disks = wanted["disk_util"].as_array().unwrap();
        assert_eq!(report.disks.len(), disks.len(), "{path}");
        for (disk, wanted) in report.disks.iter().zip(disks) {
            assert_eq!(wanted["name"], disk.name.as_str(), "{path}");
            assert_eq!(wanted["read_ios"], disk.ios.0, "{path}");
            assert_eq!(wanted["write_ios"], disk.ios.1, "{path}");
            figures += 2;
        }
        figures
    }

    fn check_direction(path: &str, direction: &Direction, wanted: &Value) -> usize {
        let mut figures = 0;
        let mut near = |what: &str, wanted: &Value, got: f64| {
            let Some(wanted) = wanted.as_f64() else {
                return;
            };
            assert!(
                (wanted - got).abs() <= 1e-6 * wanted.abs().max(1.0),
                "{path}: {what}: {got}, not {wanted}"
            );
            figures += 1;
        };
        near("iops", &wanted["iops"], direction.iops);
        near("bw", &wanted["bw_bytes_per_s"], direction.bw_bytes_per_s);
        near(
            "io_bytes",
            &wanted["io_bytes"],
            model::num::approx(direction.io_bytes),
        );
        near(
            "runtime",
            &wanted["runtime_ms"],
            model::num::approx(direction.runtime_ms),
        );
        if let Some(total) = direction.total_ios {
            near("total_ios", &wanted["total_ios"], model::num::approx(total));
        } else {
            assert!(wanted["total_ios"].is_null(), "{path}");
        }
        for (name, latency) in [
            ("slat", &direction.slat),
            ("clat", &direction.clat),
            ("lat", &direction.lat),
        ] {
            let wanted_moments = &wanted[format!("{name}_ns")];
            assert_eq!(
                latency.is_some(),
                !wanted_moments.is_null(),
                "{path}: {name}"
            );
            let Some(Latency {
                min_ns,
                max_ns,
                mean_ns,
                stddev_ns,
                percentiles,
                ..
            }) = latency
            else {
                continue;
            };
            near("min", &wanted_moments["min"], model::num::approx(*min_ns));
            near("max", &wanted_moments["max"], model::num::approx(*max_ns));
            near("mean", &wanted_moments["mean"], *mean_ns);
            near("stddev", &wanted_moments["stddev"], *stddev_ns);
            let wanted = wanted[format!("{name}_percentiles_ns")].as_object();
            assert_eq!(
                wanted.map_or(0, serde_json::Map::len),
                percentiles.len(),
                "{path}: {name}"
            );
            for (percent, ns) in percentiles {
                let key = format!("{percent:.2}");
                near(
                    "percentile",
                    &wanted.unwrap()[&key],
                    model::num::approx(*ns),
                );
            }
        }
        figures
    }
}
