//! Lists: of kept runs with what each says first, and of what can be run.

use crate::bed::Bed;
use crate::documents::validate;
use serde_json::Value;

const LIST: &str = "kurabe.list.1.json";

#[test]
fn a_list_of_runs_says_of_each_what_it_is_and_how_far_to_trust_it() {
    let bed = Bed::new();
    bed.replay("one", "100,101,102");
    let list = bed.run(&["list"]).code(0);
    let id = bed.listed()[0]["id"].as_str().unwrap().to_owned();
    let short = id.rsplit('-').next().unwrap();
    list.out_has(&["id  ", "label", "trust", short, "101 ops/s"]);
    // What it is called there means it everywhere.
    let shown = bed.run(&["show", short, "--json"]).code(0).out;
    assert!(shown.contains(&id), "{shown}");
    bed.run(&["--lang", "ja", "list"])
        .code(0)
        .out_has(&["ラベル", "信頼性", "101 ops/s"]);
}

#[test]
fn a_list_for_programs_has_all_that_is_known_of_a_run() {
    let bed = Bed::new();
    let none = bed.run(&["list", "--json"]).code(0);
    let none = validate(LIST, &none.out);
    assert_eq!(
        (&none["runs_kept"], &none["tests"]),
        (&Value::from(0), &Value::Null)
    );
    bed.replay("one", "100,101,102");
    bed.replay("two", "1,2,3");
    let list = validate(
        LIST,
        &bed.run(&["list", "--json", "--last", "1"]).code(0).out,
    );
    assert_eq!(list["runs_kept"], 2);
    let runs = list["runs"].as_array().unwrap();
    assert_eq!((runs.len(), &runs[0]["label"]), (1, &"two".into()));
    let first = &bed.listed()[1];
    assert_eq!(first["rounds"], 9);
    assert!(first["machine"]["cpus"].as_u64() >= Some(1), "{first}");
    let headline = &first["brief"]["headline"];
    assert_eq!(headline["metric"], "selftest.replay@1:ops_per_s");
    assert_eq!(headline["value"], 101.0);
    assert!(headline["lo"].as_f64() < headline["hi"].as_f64(), "{first}");
    assert_eq!(first["brief_missing"], Value::Null);
}

#[test]
fn a_run_that_comes_from_elsewhere_or_did_not_end_says_so_too() {
    let bed = Bed::new();
    bed.replay("one", "100,101,102");
    let export = bed.run(&["export", "one"]).code(0).out;
    std::fs::write(bed.path().join("one.json"), &export).unwrap();
    let brief = bed.listed()[0]["brief"].clone();
    let other = Bed::new();
    let path = bed.path().join("one.json");
    other.run(&["import", path.to_str().unwrap()]).code(0);
    assert_eq!(other.listed()[0]["brief"], brief);
    // As a run that was killed is kept.
    let mut run = store::export::read(&export).unwrap();
    run.meta.end = model::record::End::Open;
    run.meta.finished = None;
    run.meta.id = "20200101-000000-dead".to_owned();
    let kept = store::Store::open(&other.store()).unwrap();
    kept.import(&run).unwrap();
    run.meta.end = model::record::End::Complete;
    run.meta.id = "20190101-000000-beef".to_owned();
    kept.import(&run).unwrap();
    drop(kept);
    let list = other.run(&["list"]).code(0);
    list.out_has(&["unfinished", "none noted"]);
    let listed = other.listed();
    assert_eq!(listed[1]["brief"], Value::Null);
    assert_eq!(listed[1]["brief_missing"], "it goes on, or was killed");
}

#[test]
fn profiles_say_how_long_they_take_here_as_their_plan_does() {
    let bed = Bed::new();
    let list = validate(LIST, &bed.run(&["list", "profiles", "--json"]).code(0).out);
    let profiles = list["profiles"].as_array().unwrap();
    assert!(profiles.len() > 5, "{list}");
    for profile in profiles {
        let name = profile["name"].as_str().unwrap();
        let plan = bed.run(&["run", name, "--dry-run", "--json"]);
        match profile["expected_ns"].as_u64() {
            None => assert!(plan.code != Some(0) && profile["refused"].is_string()),
            Some(span) => {
                let plan = validate("kurabe.plan.1.json", &plan.code(0).out);
                let planned = plan["expected_ns"].as_u64().unwrap();
                // The file of bonnie is as large as the disk has room at that moment.
                let cases = plan["runs"][0]["plan"]["cases"].as_array().unwrap();
                let has_bonnie = cases.iter().any(|case| case["test"] == "fs.bonnie");
                let moves = if has_bonnie { span / 20 } else { 0 };
                assert!(planned.abs_diff(span) <= moves, "{name}: {planned} {span}");
            }
        }
    }
    let text = bed.run(&["list", "profiles"]).code(0);
    text.out_has(&["quick", " min "]);
}

#[test]
fn parameters_are_told_with_their_values_in_the_test() {
    let bed = Bed::new();
    let text = bed.run(&["list", "params", "fs.copy-1024"]).code(0);
    text.out_has(&["bufsize", "1024", "Takes a size, such as"]);
    let list = bed
        .run(&["list", "params", "fs.copy-1024", "--json"])
        .code(0);
    let list = validate(LIST, &list.out);
    let params = list["params"].as_array().unwrap();
    let of = |name: &str| params.iter().find(|param| param["name"] == name).unwrap();
    assert_eq!(of("bufsize")["value"], "1024");
    for param in params {
        let name = param["name"].as_str().unwrap();
        let value = param["value"].as_str().unwrap();
        let set = format!("fs.copy-1024.{name}={value}");
        bed.run(&["run", "fs.copy-1024", "--set", &set, "--dry-run"])
            .code(0);
    }
    bed.run(&["list", "params"])
        .code(2)
        .err_has(&["list params TEST"]);
    bed.run(&["list", "params", "fs.copie"])
        .code(2)
        .err_has(&["`fs.copie`"]);
    bed.run(&["list", "tests", "fs.copy-1024"])
        .code(2)
        .err_has(&["list params"]);
}

#[test]
fn what_can_be_run_is_told_to_programs_as_well() {
    let bed = Bed::new();
    for what in ["tests", "metrics"] {
        let list = validate(LIST, &bed.run(&["list", what, "--json"]).code(0).out);
        assert!(list[what].as_array().unwrap().len() > 20, "{what}");
        assert_eq!(list["runs"], Value::Null);
    }
}
