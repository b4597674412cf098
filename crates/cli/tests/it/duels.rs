//! Duels: pairs, their order, their verdicts, and what goes wrong.

use crate::bed::{Bed, eventually, processes_in, signal};
use serde_json::Value;

fn exported(bed: &Bed, run: &str) -> Value {
    let text = bed.run(&["export", run]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

fn passes(run: &Value) -> Vec<u64> {
    let rounds = run["rounds"].as_array().unwrap();
    rounds
        .iter()
        .map(|round| round["pass"].as_u64().unwrap())
        .collect()
}

/// A duel of two replayed series.
fn duel(bed: &Bed, a: &str, b: &str, more: &[&str]) -> Value {
    let a = format!("set=selftest.replay.series={a}");
    let b = format!("set=selftest.replay.series={b}");
    let args = [
        "duel",
        "selftest.replay",
        "--a",
        &a,
        "--b",
        &b,
        "--label",
        "d",
        "--json",
    ];
    let done = bed.run(&[&args[..], more].concat()).code(0);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn what_both_sides_share_drops_out_of_the_verdict() {
    let bed = Bed::new();
    // The weather moves both sides by 40 %; B is better by 10 %.
    let a = "100,140,100.2,60,130,99.8,80,120";
    let b = "110,154.1,110,66.1,142.9,110,88,132.1";
    let document = duel(&bed, a, b, &[]);
    let other = &document["others"][0];
    assert_eq!(other["paired"], true);
    let metric = &other["metrics"][0];
    assert_eq!(metric["verdict"], "better");
    assert!(
        (metric["ratio"].as_f64().unwrap() - 1.1).abs() < 0.005,
        "{metric}"
    );
    assert_eq!(
        metric["n"]["base"], 6,
        "final at the first look: six pairs are enough"
    );
    let text = bed.run(&["compare", "--full", "d-a", "d-b"]).code(0);
    text.out_has(&["duel", "better", "read at 98.4 %"]);
    assert_eq!(other["looked"], true);
    let planned = duel(&bed, a, b, &["--passes", "6"]);
    assert_eq!(
        planned["others"][0]["looked"], false,
        "nothing was looked at"
    );
}

#[test]
fn a_duel_without_a_difference_ends_as_the_same_or_goes_on_to_its_last_look() {
    let bed = Bed::new();
    let quiet = "100,140,100.2,60,130,99.8,80,120";
    let metric = duel(&bed, quiet, quiet, &[])["others"][0]["metrics"][0].take();
    assert_eq!(metric["verdict"], "same");
    let noisy = "100,150,70,130,90,160,60";
    let metric = duel(&bed, "100", noisy, &[])["others"][0]["metrics"][0].take();
    assert!(metric["n"]["base"].as_u64().unwrap() > 6, "{metric}");
}

#[test]
fn both_sides_have_a_round_in_every_pass_and_a_coin_decides_who_is_first() {
    let bed = Bed::new();
    duel(&bed, "1", "2", &["--passes", "12", "--copies", "1,2"]);
    let (a, b) = (exported(&bed, "d-a"), exported(&bed, "d-b"));
    assert_eq!(passes(&a), passes(&b));
    assert_eq!(passes(&a).len(), 24);
    let started = |run: &Value, i: usize| run["rounds"][i]["started"].as_u64().unwrap();
    let a_first = (0..24).filter(|&i| started(&a, i) < started(&b, i)).count();
    assert!((1..24).contains(&a_first), "{a_first} of 24");
    let layout = |run: &Value| {
        let rounds = run["rounds"].as_array().unwrap();
        rounds
            .iter()
            .map(|round| round["layout_seed"].clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(layout(&a), layout(&b), "a pair shares its layout");
}

#[test]
fn a_killed_duel_goes_on_in_pairs_and_either_side_names_it() {
    let bed = Bed::new();
    // Thirty pairs take less than a second: the fifth round of side A waits to be killed. The first call is a trial.
    let wait = "echo >> log; test $(wc -l < log) -ne 6 || exec sleep 50";
    let args = [
        "duel",
        "selftest.replay",
        "--a-cmd",
        wait,
        "--b-cmd",
        "true",
        "--b",
        "set=selftest.replay.series=100,101",
        "--a",
        "set=selftest.replay.series=100,102",
        "--passes",
        "30",
        "--label",
        "d",
    ];
    let mut child = bed.start(&args);
    let log = bed.path().join("log");
    eventually(60, || {
        std::fs::read_to_string(&log).is_ok_and(|log| log.lines().count() == 6)
    });
    assert_eq!(passes(&exported(&bed, "d-a")).len(), 4);
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(10, || processes_in(bed.path()).is_empty());
    let resume = format!(
        "`kurabe duel --resume {}` goes on with it",
        exported(&bed, "d-a")["meta"]["id"].as_str().unwrap()
    );
    bed.run(&["compare", "--full", "d-a", "d-b"])
        .code(4)
        .out_says(&["where a verdict takes 6", &resume]);
    bed.run(&["run", "--resume", "d-a"])
        .code(2)
        .err_has(&["one side of a duel", "kurabe duel --resume"]);
    bed.run(&["soak", "--resume", "d-a"])
        .code(2)
        .err_has(&["one side of a duel"]);
    // Half of a pair that was killed is kept, and not made whole when the weather is another.
    let done = bed.run(&["duel", "--resume", "d-b", "--json"]).code(0);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let other = &document["others"][0];
    assert_eq!(other["paired"], true);
    let (a, b) = (
        passes(&exported(&bed, "d-a")),
        passes(&exported(&bed, "d-b")),
    );
    let pairs = a.iter().filter(|pass| b.contains(pass)).count();
    assert_eq!(pairs, 30, "{a:?} {b:?}");
    assert!(a.len() + b.len() <= 61, "{a:?} {b:?}");
    assert!(a.iter().collect::<std::collections::BTreeSet<_>>().len() == a.len());
    bed.run(&["duel", "--resume", "d-a"]).code(2);
    assert_eq!(bed.left_behind(), ["log"]);
}

#[test]
fn what_both_sides_have_is_given_once() {
    let bed = Bed::new();
    std::fs::create_dir(bed.path().join("x")).unwrap();
    let args = [
        "duel",
        "selftest.replay",
        "--set",
        "selftest.replay.series=7,8",
        "--dir",
        "x",
        "--a-cmd",
        "true",
        "--b-cmd",
        "true",
        "--tag",
        "disk=nvme",
        "--passes",
        "6",
        "--label",
        "d",
    ];
    bed.run(&[&args[..], &["--dry-run"]].concat())
        .code(0)
        .out_has(&["  pairs  ", "@1  6 "]);
    bed.run(&args).code(0);
    for side in ["d-a", "d-b"] {
        let run = exported(&bed, side);
        assert_eq!(run["meta"]["tags"]["disk"], "nvme");
        assert!(run["meta"]["dir"].as_str().unwrap().ends_with("/x"));
        assert_eq!(
            run["plan"]["cases"][0]["params"]["series"]["text"], "7,8",
            "{run}"
        );
    }
}

#[test]
fn sides_without_a_difference_and_nonsense_are_refused() {
    let bed = Bed::new();
    bed.run(&["duel", "os.pipe"])
        .code(2)
        .err_has(&["both sides are the same"]);
    bed.run(&["duel", "os.pipe", "--a", "color=red"])
        .code(2)
        .err_has(&["dir=DIR"]);
    bed.run(&["duel", "os.pipe", "--a", "dir=missing", "--b", "dir=."])
        .code(2)
        .err_has(&["`missing`"]);
    let two = ["--a", "dir=.", "--a", "dir=/", "--b", "dir=."];
    bed.run(&[&["duel", "os.pipe"][..], &two].concat())
        .code(2)
        .err_has(&["two directories"]);
    assert!(!bed.store().exists());
}

#[test]
fn two_directories_are_compared_in_real_rounds_and_left_clean() {
    let bed = Bed::new();
    for name in ["x", "y"] {
        std::fs::create_dir(bed.path().join(name)).unwrap();
    }
    let args = [
        "duel",
        "fs.copy-256",
        "--a",
        "dir=x",
        "--b",
        "dir=y",
        "--passes",
        "6",
    ];
    bed.run(&args).code(0).out_has(&["fs.copy-256@1", "duel"]);
    for name in ["x", "y"] {
        assert_eq!(std::fs::read_dir(bed.path().join(name)).unwrap().count(), 0);
    }
}
