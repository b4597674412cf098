//! What an imported document may not bring in, and what a store is shown as that has it all the same.

use crate::bed::Bed;
use model::record::Run;
use serde_json::{Value, json};

/// A run as another store exports it.
fn exported() -> Value {
    let bed = Bed::new();
    bed.replay("r", "100,101,99");
    serde_json::from_str(&bed.run(&["export", "r"]).code(0).out).unwrap()
}

fn import(bed: &Bed, document: &Value) -> crate::bed::Done {
    std::fs::write(bed.path().join("f.json"), document.to_string()).unwrap();
    bed.run(&["import", "f.json"])
}

#[test]
fn an_imported_document_obeys_the_limits_that_commands_obey() {
    let original = exported();
    let bed = Bed::new();
    let refused = |place: &str, value: Value, what: &str| {
        let mut document = original.clone();
        *document.pointer_mut(place).unwrap() = value;
        let done = import(&bed, &document).code(2);
        done.err_has(&["f.json", what, "hint:"]);
        assert!(!bed.store().exists(), "{place}");
    };
    let long = |n: usize| Value::from("y".repeat(n));
    refused("/run/meta/label", long(81), "the label `yyy");
    refused(
        "/run/meta/label",
        long(1 << 20),
        "expected 1 to 80 characters",
    );
    refused("/run/meta/label", json!("a\nb"), "on one line");
    refused(
        "/run/meta/label",
        json!("latest"),
        "mean other runs already",
    );
    refused("/run/meta/id", long(65_536), "cannot be the id of a run");
    refused("/run/meta/id", json!("r1"), "cannot be the id of a run");
    refused(
        "/run/meta/tags",
        json!({"k": "v".repeat(81)}),
        "the tag `vvv",
    );
    refused("/run/meta/binary/version", long(1001), "the program `yyy");
    let case = |name: &str| Value::from(format!("{name}@1"));
    refused(
        "/run/plan/cases/0/id",
        case(&"x".repeat(101)),
        "the test `xxx",
    );
    refused("/run/plan/cases/0/id", case("a b"), "the test `a b`");
    refused("/run/plan/cases/0/title", long(1001), "the title `yyy");
    refused(
        "/run/plan/cases/0/metrics/0/quantity",
        long(101),
        "the quantity `yyy",
    );
    let metrics = original
        .pointer("/run/plan/cases/0/metrics/0")
        .unwrap()
        .clone();
    refused(
        "/run/plan/cases/0/metrics",
        vec![metrics; 1001].into(),
        "1001 metrics",
    );
    let of_plan = original.pointer("/run/plan/cases/0").unwrap().clone();
    refused(
        "/run/plan/cases",
        vec![of_plan; 10_001].into(),
        "10001 cases",
    );
    refused(
        "/run/rounds/0/outcome/done/values",
        json!({"y".repeat(1001): 1.0}),
        "round 1: a quantity `yyy",
    );
    refused(
        "/run/host/hostname",
        json!({"known": "y".repeat((8 << 20) + 1)}),
        "line 1 has a text",
    );
    // What is at the limit is taken.
    let mut document = original.clone();
    document["run"]["meta"]["label"] = "新".repeat(80).into();
    import(&bed, &document).code(0);
}

#[test]
fn rounds_are_counted() {
    let mut run: Run = serde_json::from_value(exported()["run"].clone()).unwrap();
    let round = run.rounds.remove(0);
    let most = model::bounds::ROUNDS_MAX;
    assert_eq!(model::bounds::check_round(&round, most), Ok(()));
    assert_eq!(model::bounds::check_frame(&run, most), Ok(()));
    let why = model::bounds::check_round(&round, most + 1).unwrap_err();
    assert_eq!(why, "1048577 rounds, and 1048576 are the most");
    run.plan.cases = vec![run.plan.cases[0].clone(); 300];
    let why = model::bounds::check_frame(&run, most).unwrap_err();
    assert_eq!(
        why,
        "314572800 rounds times cases, and 268435456 are the most"
    );
}

#[test]
fn whatever_is_in_a_store_is_shown() {
    let bed = Bed::new();
    bed.replay("good", "100,101,99");
    let mut run: Run = serde_json::from_value(exported()["run"].clone()).unwrap();
    let long = |c: char| c.to_string().repeat(1 << 20);
    run.meta.label = Some(long('l'));
    run.meta.tags.insert(long('k'), long('v'));
    run.meta.dir = long('d');
    run.plan.what = vec![long('w')];
    let case = &mut run.plan.cases[0];
    (case.id.test, case.title) = (long('c'), long('t'));
    for round in &mut run.rounds {
        round.case = case.id.clone();
    }
    let id = run.meta.id.clone();
    store::Store::open(&bed.store())
        .unwrap()
        .import(&run)
        .unwrap();
    bed.run(&["list"])
        .code(0)
        .out_has(&["good", &id, &run.plan.what[0]]);
    for format in ["text", "json", "markdown", "csv", "csv-rounds"] {
        bed.run(&["show", &id, "--format", format]).code(0);
    }
    let other = Run {
        meta: model::record::RunMeta {
            id: "20261121-004311-9f3c".to_owned(),
            ..run.meta.clone()
        },
        ..run.clone()
    };
    store::Store::open(&bed.store())
        .unwrap()
        .import(&other)
        .unwrap();
    for (a, b) in [("good", id.as_str()), (&other.meta.id, &id)] {
        for format in ["text", "json", "markdown"] {
            bed.run(&["compare", a, b, "--format", format]).code(0);
        }
    }
}

#[test]
fn a_cell_of_a_sheet_is_no_formula_and_a_document_moves_no_cursor() {
    let bed = Bed::new();
    bed.replay("=1+1", "100,101,99");
    let csv = bed.run(&["show", "=1+1", "--format", "csv"]).code(0).out;
    assert!(csv.contains(",'=1+1,"), "{csv}");
    let label = "a\u{9b}31m\u{202e}b";
    let mut document = exported();
    document["run"]["host"]["hostname"] = json!({"known": label});
    import(&bed, &document).code(0);
    let id = document["run"]["meta"]["id"].as_str().unwrap();
    for args in [
        &["show", id, "--json"][..],
        &["export", id],
        &["compare", id, "=1+1", "--json"],
    ] {
        let done = bed.run(args).code(0);
        assert!(!done.out.contains(['\u{9b}', '\u{202e}']), "{args:?}");
        assert!(done.out.contains("a\\u009b31m\\u202eb"), "{args:?}");
        serde_json::from_str::<Value>(&done.out).unwrap();
    }
    let again: Value = serde_json::from_str(&bed.run(&["export", id]).out).unwrap();
    assert_eq!(again, document);
}

#[test]
fn too_little_memory_is_not_called_damage() {
    let bed = Bed::new();
    bed.replay("r", "1");
    let mut run: Run = serde_json::from_value(exported()["run"].clone()).unwrap();
    let round = run.rounds.remove(0);
    let seqs = 1..=4000;
    run.rounds = seqs
        .map(|seq| model::record::Round {
            seq,
            ..round.clone()
        })
        .collect();
    store::Store::open(&bed.store())
        .unwrap()
        .import(&run)
        .unwrap();
    assert!(std::fs::metadata(bed.store()).unwrap().len() > 2 << 20);
    let mut said = 0;
    for kib in (400..4000).step_by(100) {
        let limit = format!("ulimit -d {kib}; exec \"$@\"");
        let done = bed.behind(&["sh", "-c", &limit, "sh"], &["list"]);
        assert!(
            !done.err.contains("damaged") && !done.err.contains("move it away"),
            "{done:#?}"
        );
        said += u32::from(
            done.err.contains("out of memory") && done.err.contains("hint: try again with more"),
        );
    }
    assert!(said > 0, "no limit met the store");
}
