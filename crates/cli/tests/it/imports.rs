//! What an imported document may not bring in, and what a store is shown as that has it all the same.

use crate::bed::Bed;
use model::plan::PlannedCase;
use model::record::Run;
use model::spec::Better;
use model::units::Unit;
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
        let done = done.err_has(&["f.json", what, "\nhint: `kurabe export RUN` "]);
        let (lines, bytes) = (done.err.lines().count(), done.err.len());
        assert!(
            lines == 2 && bytes < 800,
            "{place}: {lines} lines, {bytes} bytes"
        );
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
        json!({"value": "y".repeat((8 << 20) + 1), "missing": null}),
        "line 1 has a text",
    );
    for (place, expect) in [
        ("/run/host/hostname", "the host `yyy"),
        ("/run/host/cpu/model", "the CPU `yyy"),
        ("/run/host/kernel/release", "the kernel `yyy"),
        ("/run/host/storage/file_system", "the file system `yyy"),
    ] {
        let mut of_machine = original.pointer(place).unwrap().clone();
        of_machine["value"] = "y".repeat(256).into();
        refused(place, of_machine, expect);
    }
    refused("/run/meta/label", json!("a\u{202e}b"), "the label `a");
    let forged = "b\nhint: run `rm -rf /`";
    for (place, value) in [
        ("/run/meta/started", json!(1_u64 << 63)),
        ("/run/meta/finished", json!(u64::MAX)),
        ("/run/rounds/0/started", json!(u64::MAX)),
        ("/run/rounds/0/took", json!(u64::MAX)),
        ("/run/rounds/0/outcome/done/copies/0/wall", json!(u64::MAX)),
        ("/run/plan/cases/0/id", long(1 << 20)),
        ("/run/plan/cases/0/shape/settle", long(1 << 20)),
        ("/run/plan/cases/0/shape/settle", json!(forged)),
        ("/run/meta/label", json!(forged)),
        ("/format", long(1 << 20)),
        ("/format", json!(forged)),
        ("/run/rounds/0/case", json!(format!("{forged}@1"))),
    ] {
        refused(place, value, "error: read `f.json`: ");
    }
    let mut document = original.clone();
    document["run"]["rounds"][0]["outcome"]["done"]["latencies"] =
        json!({"lat": [[1, 1_u64 << 63]]});
    let much = "times in nanoseconds and counts come to more than";
    import(&bed, &document).code(2).err_has(&[much, "hint:"]);
    // Each may be, and all of them together may not.
    let mut document = original.clone();
    for round in document["run"]["rounds"].as_array_mut().unwrap() {
        round["took"] = json!(4_u64 << 60);
    }
    import(&bed, &document).code(2).err_has(&[
        "round 2: times in nanoseconds and counts come to more than 9223372036854775807 by then",
        "hint:",
    ]);
    // Looks are of no more programs than anybody reads, and of names.
    let busy = |name: &str, n| vec![json!({"name": name, "cpu_share": 1.0}); n];
    for (busy, why) in [
        (busy("x", 4), "4 busy programs, and 3 are the most"),
        (busy(&"x".repeat(2000), 1), "a program `x"),
    ] {
        let mut document = original.clone();
        document["run"]["meta"]["looks"] =
            json!([{"took": 1, "waited": 0, "noise": {}, "busy": busy, "memory_left": null}]);
        import(&bed, &document).code(2).err_has(&[why, "hint:"]);
    }
    // What is at the limit is taken.
    let mut document = original.clone();
    document["run"]["meta"]["label"] = "新".repeat(80).into();
    import(&bed, &document).code(0);
}

#[test]
fn what_a_plan_or_a_case_has_twice_is_named() {
    let metric = testkit::ops_per_s;
    let tail = || testkit::metric("clat_ns_p99", Unit::Nanoseconds, Better::Lower);
    let check = |cases: &[PlannedCase], expect: Result<(), &str>| {
        let run = testkit::run(cases.to_vec());
        let found = model::bounds::check_frame(&run, 0);
        assert_eq!(found, expect.map_err(ToOwned::to_owned));
    };
    let pipe = testkit::case("os.pipe@1", vec![metric(), tail()]);
    let wider = testkit::case("os.pipe@2", vec![metric()]);
    let other = testkit::case("os.syscall@1", vec![metric()]);
    check(&[pipe.clone(), wider.clone(), other.clone()], Ok(()));
    check(
        &[pipe.clone(), wider, pipe, other],
        Err("case `os.pipe@1`: it is in the plan twice"),
    );
    check(
        &[testkit::case("os.pipe@1", vec![metric(), tail(), metric()])],
        Err("case `os.pipe@1`: the quantity `ops_per_s` is declared twice"),
    );
}

#[test]
fn a_case_or_a_quantity_that_occurs_twice_is_refused_by_name() {
    let original = exported();
    let bed = Bed::new();
    let refused = |place: &str, why: &str| {
        let mut document = original.clone();
        let list = document.pointer_mut(place).unwrap().as_array_mut().unwrap();
        let again = list[0].clone();
        list.push(again);
        let done = import(&bed, &document).code(2);
        done.err_has(&[
            "read `f.json`: refused: case `selftest.replay@1`: ",
            why,
            "\nhint: ",
        ]);
        assert!(!bed.store().exists(), "{place}");
    };
    refused("/run/plan/cases", "it is in the plan twice");
    refused(
        "/run/plan/cases/0/metrics",
        "the quantity `ops_per_s` is declared twice",
    );
}

#[test]
fn what_cannot_be_read_as_an_export_has_a_hint_that_helps() {
    let bed = Bed::new();
    bed.replay("r", "100,101,99");
    let text = bed.run(&["export", "r"]).code(0).out;
    let other = Bed::new();
    let refused = |bytes: &[u8], what: &str, hint: &str| {
        std::fs::write(other.path().join("f.json"), bytes).unwrap();
        for command in ["import", "show"] {
            let done = other.run(&[command, "./f.json"]).code(2);
            done.err_has(&["read `./f.json`: ", what, &format!("\nhint: {hint}")]);
        }
    };
    let anew = "`kurabe export RUN` writes";
    refused(&text.as_bytes()[..text.len() / 2], "damaged at line", anew);
    refused(
        text.replace("replay@1\",\"pass", "x@1\",\"pass").as_bytes(),
        "damaged: round 1 is of case `selftest.x@1`",
        anew,
    );
    refused(
        b"\x1f\x8b\x08\0\xff",
        "compressed by gzip",
        "`gunzip -c ./f.json >",
    );
    refused(
        b"(\xb5/\xfd\xff",
        "compressed by zstd",
        "`zstd -dc ./f.json >",
    );
    refused(b"\xfd7zXZ\0\xff", "compressed by xz", "`xz -dc ./f.json >");
    refused(b"BZh9\xff", "compressed by bzip2", "`bzip2 -dc ./f.json >");
    refused(b"{\xff}", "no UTF-8 text", "is it an export? `kurabe");
    refused(b"", "no output of a benchmark", anew);
    std::fs::create_dir(other.path().join("d")).unwrap();
    other
        .run(&["import", "d"])
        .code(2)
        .err_has(&["no regular file", "hint:"]);
    // UTF-16 is read as well: what some editors write.
    let wide = text.encode_utf16().flat_map(u16::to_le_bytes);
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(wide).collect();
    std::fs::write(other.path().join("f.json"), wide).unwrap();
    other.run(&["show", "./f.json"]).code(0);
    // A mark at the beginning, as some editors make it, means nothing.
    std::fs::write(other.path().join("f.json"), format!("\u{feff}{text}")).unwrap();
    other.run(&["import", "f.json"]).code(0);
}

#[test]
fn rounds_are_counted() {
    let mut run: Run = serde_json::from_value(exported()["run"].clone()).unwrap();
    let round = run.rounds.remove(0);
    let most = model::bounds::ROUNDS_MAX;
    let mut seen = model::bounds::Seen {
        rounds: most - 1,
        figures: 0,
    };
    assert_eq!(model::bounds::check_round(&round, &mut seen), Ok(()));
    assert_eq!(model::bounds::check_frame(&run, most), Ok(()));
    let why = model::bounds::check_round(&round, &mut seen).unwrap_err();
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
    // A text that fills a screen is no cell of a list any more.
    let cut = format!("{}...", "w".repeat(3997));
    bed.run(&["list"])
        .code(0)
        .out_has(&["good", id.rsplit('-').next().unwrap(), &cut]);
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
    // Runs of other tests have nothing to compare.
    for (a, code) in [("good", 4), (&other.meta.id, 0)] {
        for format in ["text", "json", "markdown"] {
            bed.run(&["compare", a, &id, "--format", format]).code(code);
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
    document["run"]["host"]["hostname"] = json!({"value": label, "missing": null});
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
