//! Real outputs that cannot be part of this repository.

use super::READER;
use crate::figures::Figures;
use crate::figures::testkit::{corpus, is_same, one, value};

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_figure_of_the_corpus_is_read() {
    for (path, text, entry) in corpus("dbench") {
        let found = (READER.read)(&text);
        let results = entry["facts"]["results"].as_array().unwrap();
        let mut expected = 0;
        for (output, result) in results.iter().enumerate() {
            let total = one(&found, output, "dbench.throughput").unwrap();
            let check = |figures: &Figures, quantity: &str, expect: Option<f64>| {
                let found = value(figures, quantity);
                assert!(
                    is_same(found, expect),
                    "{path} {quantity}: {found:?}, not {expect:?}"
                );
            };
            check(
                total,
                "bytes_per_s",
                result["throughput_mb_per_s"].as_f64().map(|mb| mb * 1e6),
            );
            check(
                total,
                "lat_ns_max",
                result["max_latency_ms"].as_f64().map(|ms| ms * 1e6),
            );
            let copies = result["clients"].as_u64().or(result["procs"].as_u64());
            assert_eq!(Some(u64::from(total.copies)), copies, "{path}");
            assert_eq!(
                entry["version"].as_str(),
                total.version.as_deref(),
                "{path}"
            );
            if let Some(seconds) = entry["facts"]["run_seconds"].as_u64() {
                assert_eq!(total.params["run_s"], seconds.to_string());
                assert_eq!(
                    total.params["warmup_s"],
                    entry["facts"]["warmup_seconds"].to_string()
                );
            }
            expected += 1;
            for (name, wanted) in result["operations"].as_object().into_iter().flatten() {
                let test = format!("dbench.{}", name.to_lowercase().replace('_', "-"));
                let operation =
                    one(&found, output, &test).unwrap_or_else(|| panic!("{path} {test}"));
                check(operation, "count", wanted["count"].as_f64());
                // 0.000 ms is no time.
                let ns = |key: &str| {
                    wanted[key]
                        .as_f64()
                        .filter(|ms| *ms > 0.0)
                        .map(|ms| ms * 1e6)
                };
                // Where it did what our own test does, the times stand there under their names.
                let ours = format!("{}_ns_mean", name.to_lowercase());
                if value(total, &ours).is_some() {
                    check(total, &ours, ns("avg_ms"));
                    check(total, &ours.replace("mean", "max"), ns("max_ms"));
                } else {
                    check(operation, "lat_ns_mean", ns("avg_ms"));
                    check(operation, "lat_ns_max", ns("max_ms"));
                }
                expected += 1;
            }
        }
        assert_eq!(found.figures.len(), expected, "{path}");
        assert_eq!(found.left_out, [], "{path}");
    }
}
