//! Real outputs that cannot be part of this repository.

use super::READER;
use crate::figures::Figures;
use crate::figures::testkit::{corpus, is_same, value};

/// A fact, the quantity it becomes, and by which factor.
const QUANTITIES: &[(&str, &str, f64)] = &[
    ("io_rate", "iops", 1.0),
    ("mb_per_s", "bytes_per_s", 1_048_576.0),
    ("resp_ms", "resp_ns_mean", 1e6),
    ("read_resp_ms", "read_resp_ns_mean", 1e6),
    ("write_resp_ms", "write_resp_ns_mean", 1e6),
    ("resp_max_ms", "resp_ns_max", 1e6),
    ("read_max_ms", "read_resp_ns_max", 1e6),
    ("write_max_ms", "write_resp_ns_max", 1e6),
    ("resp_stddev_ms", "resp_ns_stddev", 1e6),
    ("cpu_total", "cpu_share", 0.01),
    ("cpu_sys", "cpu_system_share", 0.01),
];

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_figure_of_the_corpus_is_read() {
    for (path, text, entry) in corpus("vdbench") {
        let found = (READER.read)(&text);
        let all = entry["facts"]["run_definitions"].as_array().unwrap();
        let (measured, empty): (Vec<_>, Vec<_>) = all
            .iter()
            .partition(|row| row["io_rate"].as_f64() > Some(0.0));
        assert_eq!(
            found.left_out.len(),
            empty.len(),
            "{path}: {:?}",
            found.left_out
        );
        assert_eq!(found.figures.len(), measured.len(), "{path}");
        for (figures, row) in found.figures.iter().zip(measured) {
            assert_eq!(row["rd"], figures.params["rd"].as_str(), "{path}");
            assert_eq!(
                row["interval"],
                figures.params["averaged"].as_str(),
                "{path}"
            );
            assert_eq!(
                entry["version"].as_str(),
                figures.version.as_deref(),
                "{path}"
            );
            for (fact, quantity, factor) in QUANTITIES {
                // The flat file has a largest response time of all, which is not among the facts.
                if row[fact].is_null() && entry["facts"]["kind"] == "flatfile" {
                    continue;
                }
                let expect = row[fact]
                    .as_f64()
                    .filter(|value| *value > 0.0)
                    .map(|value| value * factor);
                let found = value(figures, quantity);
                assert!(
                    is_same(found, expect),
                    "{path} {quantity}: {found:?}, not {expect:?}"
                );
            }
            check_params(&path, figures, row);
            if let Some(time) = row["time"].as_str() {
                let when = figures.when.unwrap().rfc3339();
                assert!(when.contains(time), "{path}: {when}, not {time}");
            }
        }
    }
}

fn check_params(path: &str, figures: &Figures, row: &serde_json::Value) {
    let param = |name: &str| {
        figures
            .params
            .get(name)
            .and_then(|value| value.parse::<f64>().ok())
    };
    for (fact, name) in [
        ("xfersize", "xfersize"),
        ("threads", "threads"),
        ("requested_rate", "iorate"),
    ] {
        if !row[fact].is_null() {
            assert_eq!(param(name), row[fact].as_f64(), "{path} {name}");
        }
    }
    if let Some(bytes) = row["bytes_per_io"]
        .as_f64()
        .filter(|bytes| bytes % 512.0 == 0.0)
    {
        assert_eq!(param("bytes_per_io"), Some(bytes), "{path}");
    }
    let threads = row["threads"].as_u64().unwrap_or(1);
    assert_eq!(u64::from(figures.copies), threads, "{path}");
}
