//! What rounds stand on: made once, in a time of its own, told before and after, and never taken for whole by half.

use crate::bed::{Bed, Done, at_once, eventually, processes_in, signal};
use serde_json::Value;

const TWO: [&str; 4] = ["run", "selftest.ground", "selftest.ground-too", "--passes"];

fn make(time: &str) -> String {
    format!("selftest.ground*.make={time}")
}

fn rounds(bed: &Bed, run: &str) -> Vec<Value> {
    let text = bed.run(&["export", run]).code(0).out;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    match document["run"]["rounds"].take() {
        Value::Array(rounds) => rounds,
        other => panic!("{other}"),
    }
}

/// What was done for grounds in a run: `make true` where it was made well.
fn errands(rounds: &[Value]) -> Vec<String> {
    let all = rounds
        .iter()
        .filter_map(|round| round["errands"].as_array());
    all.flatten()
        .map(|errand| format!("{} {}", errand["did"].as_str().unwrap(), errand["holds"]))
        .collect()
}

/// How many lines of the ground are written by now.
fn lines(bed: &Bed) -> usize {
    let dirs = std::fs::read_dir(bed.path()).unwrap().flatten();
    let files = dirs.map(|dir| std::fs::read_to_string(dir.path().join("run/ground")));
    files.flatten().map(|text| text.lines().count()).sum()
}

#[test]
fn what_rounds_stand_on_is_made_once_and_its_time_is_not_theirs() {
    let bed = Bed::new();
    let make = make("5s");
    let args = [&TWO[..], &["3", "--set", &make]].concat();
    let planned = bed.run(&[&args[..], &["--dry-run"]].concat()).code(0);
    planned.out_has(&[
        "made first: the test data of 310 B, about 5 s",
        "about 8.9 s",
    ]);
    let json = bed.run(&[&args[..], &["--dry-run", "--format", "json"]].concat());
    let json: Value = serde_json::from_str(&json.code(0).out).unwrap();
    assert!(
        json.to_string().contains("\"expected_ns\":5000000000"),
        "{json}"
    );
    bed.run(&args).code(0);
    bed.run(&["show", "latest", "--full"])
        .code(0)
        .out_has(&["made first", "the test data, 310 B in 5"]);
    let rounds = rounds(&bed, "latest");
    assert_eq!(
        (rounds.len(), errands(&rounds)),
        (6, vec!["make true".to_owned()])
    );
    for round in &rounds {
        assert!(round["took"].as_u64().unwrap() < 4_900_000_000, "{round}");
    }
    let errand = &rounds[0]["errands"][0];
    assert!(
        errand["took"].as_u64().unwrap() >= 5_000_000_000,
        "{errand}"
    );
    bed.run(&["show", "latest", "--full", "--lang", "ja"])
        .code(0)
        .out_has(&["事前の作成", "テストデータ"]);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn what_cannot_be_made_costs_its_own_cases_their_rounds_and_no_others() {
    let kinds = [
        ("error", 3, "as it was told to"),
        ("unsupported", 1, "cannot be made"),
        ("abort", 3, "signal 6"),
        ("hang", 3, "making did not end within 1.0 s"),
    ];
    at_once(2, &kinds, |&(kind, tries, why)| {
        let bed = Bed::new();
        let kind = format!("selftest.ground*.kind={kind}");
        let make = make("10ms");
        let more = ["4", "selftest.sleep", "--set", &kind, "--set", &make];
        let done = bed.run(&[&TWO[..], &more].concat());
        done.code(4).out_says(&[why]);
        let rounds = rounds(&bed, "latest");
        let of = |case: &str| rounds.iter().filter(|round| round["case"] == case).count();
        assert_eq!(of("selftest.sleep@1"), 4, "{kind}");
        assert_eq!(errands(&rounds), vec!["make false"; tries], "{kind}");
        // Neither is tried more often than it takes to know.
        assert!(of("selftest.ground@1") <= 3 && of("selftest.ground-too@1") <= 3);
        assert_eq!(bed.left_behind(), [""; 0]);
    });
}

#[test]
fn what_a_round_may_have_spoilt_is_looked_at_and_made_anew() {
    let bed = Bed::new();
    let args = ["run", "selftest.ground", "--passes", "4"];
    let lost = ["--set", "selftest.ground.kind=lost"];
    bed.run(&[&args[..], &lost].concat()).code(0);
    let found = errands(&rounds(&bed, "latest"));
    assert_eq!(found, ["make true", "check false", "make true"]);
}

#[test]
fn half_of_it_is_never_taken_for_whole() {
    let bed = Bed::new();
    let make = make("1s");
    let args = [&TWO[..], &["2", "--set", &make, "--label", "k"]].concat();
    let mut child = bed.start(&args);
    eventually(60, || lines(&bed) >= 3);
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(60, || processes_in(bed.path()).is_empty());
    assert!((3..10).contains(&lines(&bed)), "half of it is left");
    bed.run(&["run", "--resume", "k"]).code(0);
    let found = errands(&rounds(&bed, "k"));
    assert_eq!(found, ["check false", "make true"]);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn what_a_kill_left_is_found_again_or_removed_by_clean() {
    at_once(2, &[false, true], |&clean| {
        let bed = Bed::new();
        let make = make("300ms");
        let args = [&TWO[..], &["4", "--set", &make, "--label", "k"]].concat();
        let mut child = bed.start(&args);
        let kept = || {
            std::fs::read_dir(bed.path())
                .unwrap()
                .flatten()
                .any(|dir| dir.path().join("round-3").exists())
        };
        eventually(60, kept);
        signal(&child, "-KILL");
        child.wait().unwrap();
        eventually(60, || processes_in(bed.path()).is_empty());
        let left = bed.left_behind();
        assert_eq!((left.len(), lines(&bed)), (1, 10), "{left:?}");
        if clean {
            bed.run(&["clean"]).code(0).err_has(&["removed "]);
            assert_eq!(bed.left_behind(), [""; 0]);
        }
        bed.run(&["run", "--resume", "k"]).code(0);
        let rounds = rounds(&bed, "k");
        let again = if clean { "make true" } else { "check true" };
        assert_eq!(
            (rounds.len(), errands(&rounds)),
            (8, vec!["make true".to_owned(), again.to_owned()])
        );
        assert_eq!(bed.left_behind(), [""; 0]);
    });
}

#[test]
fn making_ends_at_once_when_the_user_says_so() {
    let bed = Bed::new();
    let make = make("20s");
    let args = [&TWO[..], &["2", "--set", &make]].concat();
    let child = bed.start(&args);
    eventually(60, || lines(&bed) >= 1);
    signal(&child, "-INT");
    eventually(10, || processes_in(bed.path()).is_empty());
    let done: Done = child.wait_with_output().unwrap().into();
    // A log hears at once of what takes long.
    done.code(130)
        .err_has(&["making the test data, ", ": 310 B"]);
    assert_eq!(bed.left_behind(), [""; 0]);
    assert_eq!(processes_in(bed.path()), [""; 0]);
}
