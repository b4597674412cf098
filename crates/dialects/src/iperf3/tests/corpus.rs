//! Real outputs that cannot be part of this repository.

use super::READER;
use crate::figures::testkit::{corpus, is_same, value};

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_figure_of_the_corpus_is_read() {
    for (path, text, entry) in corpus("iperf3") {
        let found = (READER.read)(&text);
        assert_eq!(found.left_out, [], "{path}");
        let tests = entry["facts"]["tests"].as_array().unwrap();
        assert_eq!(found.figures.len(), tests.len(), "{path}");
        for (figures, test) in found.figures.iter().zip(tests) {
            let is_reverse = test["reverse"] == true || test["direction"] == "RX-C";
            let reverse = if is_reverse { "-reverse" } else { "" };
            let protocol = test["protocol"].as_str().unwrap().to_lowercase();
            assert_eq!(
                figures.test,
                format!("iperf3.{protocol}{reverse}"),
                "{path}"
            );
            assert_eq!(test["streams"], figures.copies, "{path}");
            assert_eq!(
                entry["version"].as_str(),
                figures.version.as_deref(),
                "{path}"
            );
            let when = figures.when.map(|when| when.0 / 1_000_000_000);
            assert_eq!(test["timesecs"].as_u64(), when, "{path}");
            let (sender, receiver) = (&test["sender"], &test["receiver"]);
            let share = |side: &str| {
                test["cpu_percent"][side]
                    .as_f64()
                    .map(|percent| percent / 100.0)
            };
            let lost = receiver["lost"]
                .as_f64()
                .zip(receiver["datagrams"].as_f64());
            let expected = [
                (
                    "bytes_per_s",
                    receiver["bits_per_s"].as_f64().map(|bits| bits / 8.0),
                ),
                (
                    "sent_bytes_per_s",
                    sender["bits_per_s"].as_f64().map(|bits| bits / 8.0),
                ),
                ("retransmits", test["retransmits"].as_f64()),
                (
                    "jitter_ns",
                    receiver["jitter_ms"].as_f64().map(|ms| ms * 1e6),
                ),
                ("lost_share", lost.map(|(lost, all)| lost / all)),
                ("cpu_share", share("local")),
                ("remote_cpu_share", share("remote")),
            ];
            for (quantity, expect) in expected {
                let found = value(figures, quantity);
                assert!(
                    is_same(found, expect),
                    "{path} {quantity}: {found:?}, not {expect:?}"
                );
            }
            if test["role"] == "client" {
                let seconds = sender["seconds"].as_f64().unwrap().round().to_string();
                assert_eq!(figures.params["duration_s"], seconds, "{path}");
            }
        }
    }
}
