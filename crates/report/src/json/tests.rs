//! Documents are valid, complete and free of numbers that are none; the schema files are the generated ones.

use super::*;
use crate::comparison::Party;
use crate::testkit::{self, Quantity};
use crate::view::view;
use model::record::{Outcome, Run};
use model::spec::Better;
use model::units::Unit;
use model::warning::Warning;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Fails where `document` is no document of `schema`.
pub(crate) fn assert_valid(document: &str, schema: &str) {
    let document: Value = serde_json::from_str(document).unwrap();
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert_eq!(errors, Vec::<String>::new());
}

fn schema_file(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/schema")
        .join(name)
}

#[test]
fn the_schema_files_are_the_generated_ones() {
    for (name, text) in schema::files() {
        let path = schema_file(name);
        let kept = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("read `{}`: {error}", path.display()));
        assert!(
            kept == text,
            "`{}` is not what the types generate: run `cargo xtask gen`",
            path.display()
        );
    }
}

#[test]
fn documents_of_every_kind_of_run_are_valid() {
    for run in [
        testkit::empty(),
        testkit::normal(),
        testkit::with_failures(),
        testkit::interrupted(),
        testkit::unixbench("off", 100.0),
        testkit::unixbench("6", 100.0),
        testkit::hostile(),
    ] {
        assert_valid(&super::run(&view(&run)), &schema::schema_run());
    }
}

#[test]
fn a_comparison_is_valid() {
    let (base, other, comparison) = testkit::comparison();
    let view = ComparisonView {
        base: Party::one(&base),
        others: vec![(Party::one(&other), comparison)],
    };
    assert_valid(&super::comparison(&view), &schema::schema_comparison());
}

#[test]
fn the_catalogue_of_the_guide_is_valid_and_one_with_a_slip_is_not() {
    let guide = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/offers.md");
    let guide = std::fs::read_to_string(guide).unwrap();
    let (_, rest) = guide.split_once("```toml\n").unwrap();
    let (text, _) = rest.split_once("```").unwrap();
    assert!(model::offer::Catalogue::parse("guide", text).is_ok());
    let document = |text: &str| toml::from_str::<Value>(text).unwrap();
    assert_valid(&document(text).to_string(), &schema::schema_catalogue());
    let schema: Value = serde_json::from_str(&schema::schema_catalogue()).unwrap();
    for (from, to) in [
        ("id = \"a-small\"\n", ""),
        ("plan = ", "plam = "),
        ("\"JPY\"\ntax", "\"yen\"\ntax"),
        ("price_per_month = 300", "price_per_month = true"),
    ] {
        assert!(text.contains(from), "{from}");
        let slip = document(&text.replacen(from, to, 1));
        assert!(!jsonschema::is_valid(&schema, &slip), "{from}");
    }
}

#[test]
fn a_document_without_a_key_is_not_valid() {
    let run = testkit::normal();
    let mut document: Value = serde_json::from_str(&super::run(&view(&run))).unwrap();
    document["metrics"][0].as_object_mut().unwrap().remove("lo");
    let schema: Value = serde_json::from_str(&schema::schema_run()).unwrap();
    assert!(!jsonschema::is_valid(&schema, &document));
}

#[test]
fn figures_are_base_units_with_every_digit() {
    let run = testkit::normal();
    let document: Value = serde_json::from_str(&super::run(&view(&run))).unwrap();
    let metric = &document["metrics"][0];
    assert_eq!(metric["id"], "os.pipe@1:ops_per_s");
    assert_eq!(metric["unit"], "ops_per_s");
    assert_eq!(metric["n"], 6);
    let kept: Vec<f64> = testkit::six_around(1_234_567.0).to_vec();
    let shown: Vec<f64> = serde_json::from_value(metric["rounds"].clone()).unwrap();
    assert_eq!(
        kept.iter().map(|x| x.to_bits()).collect::<Vec<_>>(),
        shown.iter().map(|x| x.to_bits()).collect::<Vec<_>>()
    );
    assert_eq!(document["run"]["plan"]["seed"], u64::MAX.to_string());
    assert_eq!(document["run"]["started"], "2026-11-21T00:43:11.000000000Z");
}

#[test]
fn what_is_missing_is_null_with_its_reason() {
    let run = testkit::with_failures();
    let document: Value = serde_json::from_str(&super::run(&view(&run))).unwrap();
    let mut missing = 0;
    for metric in document["metrics"].as_array().unwrap() {
        assert_eq!(
            metric["estimate"].is_null(),
            metric["missing"].is_string(),
            "{metric}"
        );
        missing += usize::from(metric["estimate"].is_null());
    }
    assert_eq!(missing, 2);
    assert_eq!(document["failed_rounds"].as_array().unwrap().len(), 7);
    let cpu = &document["run"]["host"]["cpu"];
    assert_eq!(cpu["governor"]["value"], Value::Null);
    assert_eq!(cpu["governor"]["missing"], "not looked at");
}

/// A run of a memory test that reported these values.
fn memory(test: &str, values: &[(&str, f64)]) -> Run {
    let quantity = Quantity("memory_ns", Unit::Nanoseconds, Better::Lower);
    let mut run = testkit::empty();
    let case = testkit::add_case(&mut run, test, 1, "off", &[quantity]);
    for pass in 1..=6 {
        testkit::add_round(&mut run, &case, pass, Ok(&[("memory_ns", 90.0)]));
    }
    for (round, times) in run.rounds.iter_mut().zip([1.0, 1.0, 1.0, 1.0, 0.5, 2.0]) {
        let Outcome::Done(measured) = &mut round.outcome else {
            panic!("{round:?}")
        };
        let values = values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), times * value));
        measured.copies[0].reported = values.collect();
    }
    run
}

#[test]
fn curves_and_matrices_of_memory_are_there_point_by_point() {
    let document = |run: &Run| {
        let text = super::run(&view(run));
        assert_valid(&text, &schema::schema_run());
        serde_json::from_str::<Value>(&text).unwrap()["memory"].clone()
    };
    let curve = [
        ("ns_at_4096", 4.0),
        ("ns_at_8192", 3.0),
        ("ns_at_16384", 8.0),
        ("l1_ns", 9.0),
    ];
    let found = document(&memory("memory.levels", &curve));
    assert_eq!(found["matrices"], json!([]));
    assert_eq!(found["curves"].as_array().unwrap().len(), 1);
    assert_eq!(found["curves"][0]["case"], "memory.levels@1");
    let point = |bytes: u64, ns: f64| {
        json!({
            "working_set_bytes": bytes,
            "ns_per_load": ns,
            "least_ns": ns / 2.0,
            "most_ns": ns * 2.0,
        })
    };
    assert_eq!(
        found["curves"][0]["points"],
        json!([point(4096, 4.0), point(8192, 3.0), point(16_384, 8.0)])
    );

    let pairs = [("ns_0_3", 90.0), ("ns_0_1", 50.0), ("ns_1_3", 95.0)];
    let found = document(&memory("memory.round-trip", &pairs));
    assert_eq!(found["curves"], json!([]));
    assert_eq!(
        found["matrices"],
        json!([{
            "case": "memory.round-trip@1",
            "cpus": [0, 1, 3],
            "pairs": [
                {"a": 0, "b": 1, "ns": 50.0},
                {"a": 0, "b": 3, "ns": 90.0},
                {"a": 1, "b": 3, "ns": 95.0},
            ],
        }])
    );
    assert_eq!(document(&testkit::normal()), Value::Null);
}

#[test]
fn every_warning_keeps_its_figures() {
    for warning in testkit::all_warnings() {
        let told = super::said::warnings(std::slice::from_ref(&warning));
        let part = serde_json::to_value(&told[0]).unwrap();
        let mut figures = part.as_object().unwrap().clone();
        figures.remove("text").unwrap();
        let kept = serde_json::to_value(&warning).unwrap();
        assert_eq!(Value::Object(figures), kept);
        assert_eq!(serde_json::from_value::<Warning>(kept).unwrap(), warning);
    }
}

#[test]
fn the_host_by_itself_is_the_host_of_a_run() {
    let run = testkit::normal();
    let document: Value = serde_json::from_str(&super::run(&view(&run))).unwrap();
    let alone: Value = serde_json::from_str(&super::host(&run.host)).unwrap();
    assert_eq!(document["run"]["host"], alone);
}
