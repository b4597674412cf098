//! The JSON documents against their published schemas, and comparisons.

use crate::bed::Bed;
use serde_json::{Value, json};

pub(crate) fn validate(schema: &str, text: &str) -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/");
    let schema = std::fs::read_to_string(format!("{path}{schema}")).unwrap();
    let schema: Value = serde_json::from_str(&schema).unwrap();
    let document: Value = serde_json::from_str(text).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let errors: Vec<String> = validator
        .iter_errors(&document)
        .map(|e| e.to_string())
        .collect();
    assert_eq!(errors, [""; 0]);
    document
}

#[test]
fn a_run_document_validates_and_goes_alone_to_standard_output() {
    let bed = Bed::new();
    let args = [
        "run",
        "selftest.replay",
        "os.pipe",
        "selftest.fault",
        "--passes",
        "2",
        "--json",
    ];
    let done = bed.run(&args).code(0);
    let document = validate("kurabe.run.1.json", &done.out);
    assert_eq!(document["schema"], "kurabe.run/1");
    assert_eq!(document["run"]["complete"], true);
    assert_eq!(done.err, "");
}

/// Keeps a copy of the run `base` under another label, with every value times `factor`: the same series under other
/// parameters would not compare, so this stands for a second machine.
fn variant(bed: &Bed, base: &str, label: &str, factor: f64) {
    let text = bed.run(&["export", base]).code(0).out;
    let mut run: Value = serde_json::from_str(&text).unwrap();
    run["run"]["meta"]["id"] = format!("20200101-000000-{label}").into();
    run["run"]["meta"]["label"] = label.into();
    for round in run["run"]["rounds"].as_array_mut().unwrap() {
        let values = round["outcome"]["done"]["values"].as_object_mut().unwrap();
        for (name, value) in values {
            let factor = if name == "ops_per_s" {
                factor
            } else {
                1.0 / factor
            };
            *value = (value.as_f64().unwrap() * factor).into();
        }
    }
    let file = format!("{label}.json");
    std::fs::write(bed.path().join(&file), run.to_string()).unwrap();
    bed.run(&["import", &file]).code(0);
}

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

#[test]
fn a_comparison_document_validates_and_its_verdicts_are_right() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    variant(&bed, "base", "alike", 1.001);
    variant(&bed, "base", "faster", 1.3);
    let done = bed
        .run(&["compare", "base", "alike", "faster", "--format", "json"])
        .code(0);
    let document = validate("kurabe.comparison.1.json", &done.out);
    let metric = |other: usize| &document["others"][other]["metrics"][0];
    assert_eq!(metric(0)["verdict"], "same");
    assert_eq!(metric(1)["verdict"], "better");
    let ratio = metric(1)["ratio"].as_f64().unwrap();
    assert!((ratio - 1.3).abs() < 0.01, "{ratio}");
}

#[test]
fn a_series_is_kept_with_its_rounds_and_told_for_all_copies_together() {
    let bed = Bed::new();
    let line = "run selftest.replay --passes 2 --copies 1,2 --set selftest.replay.backlog=1,-,2.5 --format json";
    let done = bed.run(&line.split(' ').collect::<Vec<_>>()).code(0);
    let document = validate("kurabe.run.1.json", &done.out);
    let mut series = document["series"].as_array().unwrap().clone();
    series.sort_by_key(|one| (one["case"].to_string(), one["pass"].as_u64()));
    let told: Vec<Value> = series.iter().map(|one| one["values"].clone()).collect();
    // Round n plays n times the values, and the copies add up.
    let expect = [[1.0, 2.5], [2.0, 5.0], [2.0, 5.0], [4.0, 10.0]];
    let expect = expect.map(|[first, last]| json!([first, null, last]));
    assert_eq!(told, expect);
    for one in &series {
        let of = ["quantity", "unit", "copy"].map(|key| one[key].clone());
        assert_eq!(of, [json!("backlog"), json!("number"), Value::Null]);
        assert_eq!(one["step_ns"], 100_000_000);
    }
    // A run that asks for none has none.
    bed.replay("plain", SERIES);
    let done = bed.run(&["show", "plain", "--format", "json"]).code(0);
    let document = validate("kurabe.run.1.json", &done.out);
    assert_eq!(document["series"], Value::Null);
}

#[test]
fn comparisons_say_in_words_what_does_not_compare() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    bed.run(&["run", "selftest.replay", "--passes", "2", "--label", "few"])
        .code(0);
    bed.run(&["compare", "--full", "base", "few"])
        .code(4)
        .out_has(&["unclear"]);
    bed.replay("other", "5");
    bed.run(&["compare", "--full", "base", "other"])
        .code(4)
        .out_has(&["series"]);
}

#[test]
fn a_different_version_of_a_workload_refuses_to_compare() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    variant(&bed, "base", "next", 1.0);
    let path = bed.path().join("next.json");
    let text = std::fs::read_to_string(&path).unwrap();
    let newer = text.replace("\"workload_version\":1", "\"workload_version\":2");
    assert_ne!(text, newer);
    std::fs::write(&path, newer.replace("-next", "-newer")).unwrap();
    let done = bed
        .run(&["compare", "base", "next.json", "--format", "json"])
        .code(4);
    let document = validate("kurabe.comparison.1.json", &done.out);
    assert_eq!(document["others"][0]["metrics"][0]["ratio"], Value::Null);
    bed.run(&["compare", "--full", "base", "next.json"])
        .code(4)
        .out_has(&["version"]);
}

#[test]
fn a_gate_fails_only_where_something_is_surely_worse() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    variant(&bed, "base", "slower", 0.8);
    variant(&bed, "base", "alike", 1.0);
    bed.run(&["compare", "base", "slower", "--fail-if", "worse"])
        .code(1)
        .out_has(&["worse"]);
    bed.run(&["compare", "base", "alike", "--fail-if", "worse"])
        .code(0);
    bed.run(&["compare", "slower", "base", "--fail-if", "worse"])
        .code(0)
        .out_has(&["better"]);
    bed.run(&[
        "compare",
        "base",
        "slower",
        "--fail-if",
        "worse",
        "--margin",
        "30%",
    ])
    .code(0);
}

#[test]
fn a_plan_is_a_document_too_and_no_format_is_taken_and_ignored() {
    let bed = Bed::new();
    let plan = |args: &[&str]| {
        let done = bed.run(&[args, &["--dry-run", "--json"]].concat()).code(0);
        assert_eq!(done.err, "", "{args:?}");
        validate("kurabe.plan.1.json", &done.out)
    };
    let run = plan(&["run", "selftest.replay", "selftest.sleep", "--passes", "7"]);
    assert_eq!(
        (&run["schema"], &run["command"]),
        (&"kurabe.plan/1".into(), &"run".into())
    );
    let first = &run["runs"][0]["rounds"][0];
    assert_eq!(first["case"], "selftest.replay@1");
    assert_eq!(
        (&first["rounds_min"], &first["rounds_max"]),
        (&7.into(), &7.into())
    );
    let rounds = run["runs"][0]["rounds"].as_array().unwrap();
    let all: u64 = rounds
        .iter()
        .map(|case| case["round_ns"].as_u64().unwrap() * 7)
        .sum();
    assert_eq!(run["expected_ns"], all);
    let set = [
        "run",
        "selftest.sleep",
        "--set",
        "selftest.sleep.op=2ms",
        "--target",
        "2%",
    ];
    let set = plan(&set);
    let first = &set["runs"][0]["rounds"][0];
    assert!(
        first["set_otherwise"].as_str().unwrap().contains("op"),
        "{first}"
    );
    assert_eq!(
        (&first["rounds_min"], &first["rounds_max"]),
        (&6.into(), &28.into())
    );
    let short = plan(&["run", "selftest.sleep", "--budget", "2s", "--passes", "20"]);
    assert!(
        short["note"]
            .as_str()
            .unwrap()
            .contains("is over before 20 passes")
    );
    let soak = plan(&["soak", "selftest.sleep", "--for", "2m"]);
    assert_eq!(soak["expected_ns"], 120_000_000_000_u64);
    assert_eq!(soak["runs"][0]["soak"]["window_ns"], 1_000_000_000);
    let sides = ["--a-cmd", "true", "--b-cmd", ":", "--passes", "6"];
    let duel = plan(&[&["duel", "selftest.sleep"], &sides[..], &["--quiet"]].concat());
    assert_eq!(duel["runs"][1]["plan"]["duel"]["side"], "b");
    for format in ["markdown", "csv", "csv-rounds", "unixbench", "influx"] {
        bed.run(&["run", "selftest.replay", "--dry-run", "--format", format])
            .code(2)
            .err_has(&[&format!("--format {format}"), "hint: "]);
    }
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn what_was_just_measured_has_every_format_that_a_kept_run_has() {
    let bed = Bed::new();
    let formats = "json markdown csv csv-rounds unixbench text openmetrics influx blog";
    for format in formats.split(' ') {
        let test = if format == "unixbench" {
            "os.pipe"
        } else {
            "selftest.replay"
        };
        let run = ["run", test, "--passes", "1", "--format", format];
        let measured = bed.run(&run).code(0).out;
        let shown = bed.run(&["show", "--format", format]).code(0).out;
        assert_eq!(measured, shown, "{format}");
    }
    let duel = [
        "duel",
        "selftest.replay",
        "--a-cmd",
        "true",
        "--b-cmd",
        "true",
        "--passes",
        "1",
    ];
    let page = bed
        .run(&[&duel[..], &["--format", "markdown"]].concat())
        .code(0);
    assert!(page.out.contains("| "), "{}", page.out);
    assert!(bed.listed().len() > 1);
    bed.run(&["run", "--format", "csv", "--json", "selftest.replay"])
        .code(2);
}

#[test]
fn a_report_of_unixbench_is_refused_where_none_of_its_tests_ran() {
    let bed = Bed::new();
    bed.run(&["run", "selftest.replay", "--passes", "1"])
        .code(0);
    let refused = bed.run(&["show", "--format", "unixbench"]).code(2);
    assert_eq!(refused.out, "");
    refused.err_has(&["none of UnixBench's tests", "hint: "]);
    // Before anything is measured, too.
    let args = [
        "run",
        "selftest.replay",
        "--passes",
        "1",
        "--format",
        "unixbench",
    ];
    bed.run(&args)
        .code(2)
        .err_has(&["none of UnixBench's tests"]);
    assert_eq!(bed.listed().len(), 1);
}
