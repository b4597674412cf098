//! Real outputs that cannot be part of this repository.

use super::{Moves, PHASES, READER};
use crate::figures::Figures;
use crate::figures::testkit::{corpus, is_same, one};
use serde_json::Value;

/// The phases by the names of the facts.
const FACTS: [&str; 12] = [
    "putc",
    "put_block",
    "rewrite",
    "getc",
    "get_block",
    "seeks",
    "seq_create",
    "seq_stat",
    "seq_del",
    "ran_create",
    "ran_stat",
    "ran_del",
];

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_figure_of_the_corpus_is_read() {
    for (path, text, entry) in corpus("bonnie") {
        let found = (READER.read)(&text);
        assert_eq!(found.left_out, [], "{path}");
        let facts = &entry["facts"];
        let runs: Vec<&Value> = [&facts["csv"], &facts["table"]]
            .into_iter()
            .flat_map(|list| list.as_array().into_iter().flatten())
            .collect();
        let mut expected = 0;
        for (output, run) in runs.iter().enumerate() {
            for (fact, (name, _, moves)) in FACTS.iter().zip(PHASES) {
                let figures = one(&found, output, &format!("bonnie.{name}"));
                expected += usize::from(check(&path, fact, moves, run, figures));
                if let Some(figures) = figures {
                    assert_eq!(
                        entry["version"].as_str(),
                        figures.version.as_deref(),
                        "{path}"
                    );
                    let copies = run["concurrency"].as_u64().unwrap_or(1);
                    assert_eq!(u64::from(figures.copies), copies, "{path}");
                    check_params(&path, moves, run, figures);
                }
            }
        }
        assert_eq!(found.figures.len(), expected, "{path}");
    }
}

/// Whether the phase has figures.
fn check(path: &str, fact: &str, moves: Moves, run: &Value, figures: Option<&Figures>) -> bool {
    let scale = if moves == Moves::Data { 1024.0 } else { 1.0 };
    let rate = run[fact]
        .as_f64()
        .or_else(|| run[format!("{fact}_kib_per_s")].as_f64());
    let cpu = run[format!("{fact}_cpu")]
        .as_f64()
        .filter(|percent| *percent > 0.0);
    let latency = run[format!("{fact}_latency")]["us"].as_f64();
    let quantity = if moves == Moves::Data {
        "bytes_per_s"
    } else {
        "ops_per_s"
    };
    let expected = [
        (quantity, rate.map(|rate| rate * scale)),
        ("cpu_share", cpu.map(|percent| percent / 100.0)),
        ("lat_ns_max", latency.map(|us| us * 1e3)),
    ];
    for (quantity, expect) in expected {
        let found = figures.and_then(|figures| super::told(figures, quantity));
        assert!(
            is_same(found, expect),
            "{path} {fact} {quantity}: {found:?}, not {expect:?}"
        );
    }
    expected.iter().any(|(_, value)| value.is_some())
}

fn check_params(path: &str, moves: Moves, run: &Value, figures: &Figures) {
    let of_file = [("file_size", "file_size"), ("chunk_size", "chunk_size")];
    let of_files = [
        ("num_files", "files"),
        ("max_size", "max_size"),
        ("min_size", "min_size"),
    ];
    let facts: &[(&str, &str)] = if moves == Moves::Files {
        &of_files
    } else {
        &of_file
    };
    for (fact, name) in facts {
        let expect = match &run[fact] {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        };
        assert_eq!(figures.params.get(*name), expect.as_ref(), "{path} {name}");
    }
}
