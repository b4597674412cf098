//! Cases that take a share of what another one came to in the same run.

use crate::bed::{Bed, Done, eventually, signal};
use model::record::{Outcome, Round, Run};

const LOADED: &str = "storage.randread-4k-load70";

/// The loaded test, on nothing: it takes no disk, and an operation no time.
fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let loaded = [
        "run",
        LOADED,
        "--set",
        "storage.randread-4k-load70.ioengine=null",
    ];
    let of = "storage.randread-4k-load70.rate_of=storage.null-qd32";
    let percent = "storage.randread-4k-load70.rate_percent=1";
    [&loaded[..], &["--set", of, "--set", percent], more].concat()
}

fn kept(bed: &Bed) -> Run {
    let text = bed.run(&["export", "latest"]).code(0).out;
    store::export::read(&text).unwrap()
}

fn value(round: &Round, quantity: &str) -> f64 {
    match &round.outcome {
        Outcome::Done(done) => done.values[quantity],
        Outcome::Failed(why) => panic!("{why}"),
    }
}

/// Each round of the loaded case went at a hundredth of the median of the other's rounds before it.
fn check(run: &Run) {
    let mut maxima: Vec<f64> = Vec::new();
    let mut loaded = 0;
    for round in &run.rounds {
        if round.case.test != LOADED {
            maxima.push(value(round, "iops"));
            continue;
        }
        loaded += 1;
        assert!(
            maxima.len() >= loaded,
            "the other one comes first in every pass"
        );
        let share = stats::quantile::median(&maxima).unwrap() / 100.0;
        let rate = value(round, "arriving_iops");
        assert!((rate - share).abs() <= 1.0, "{rate} {share}");
        let came = value(round, "iops");
        assert!(came > 0.5 * rate && came < 1.5 * rate, "{came} {rate}");
    }
    assert!(loaded >= 3, "{loaded}");
}

#[test]
fn a_share_of_what_a_test_came_to_is_taken_in_every_round_and_after_a_resume() {
    let bed = Bed::new();
    let planned = bed.run(&args(&["--dry-run"])).code(0);
    planned.out_has(&[
        "storage.null-qd32@1",
        "storage.randread-4k-load70@1",
        "2 cases",
    ]);
    let child = bed.start(&args(&["--passes", "4"]));
    let rounds = || {
        let listed = bed.run(&["list", "--all", "--json"]);
        let list: serde_json::Value = serde_json::from_str(&listed.out).unwrap_or_default();
        list["runs"][0]["rounds"].as_u64().unwrap_or(0)
    };
    eventually(60, || rounds() >= 3);
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
    let before = kept(&bed).rounds.len();
    assert!((3..8).contains(&before), "{before}");
    bed.run(&["run", "--resume", "latest"]).code(0);
    let run = kept(&bed);
    assert_eq!(run.rounds.len(), 8);
    check(&run);
}

#[test]
fn where_nothing_is_known_the_reason_is_said() {
    let bed = Bed::new();
    // No device takes blocks of this size past the page cache.
    let bad = "storage.randread-4k-qd32.bs=1000";
    let dir = bed.path().to_str().unwrap().to_owned();
    let args = ["run", LOADED, "--set", bad, "--passes", "2", "--dir", &dir];
    let small = ["--set", "storage.*.size=16M"];
    let done: Done = bed.run(&[&args[..], &small].concat());
    assert_ne!(done.code, Some(0));
    let run = kept(&bed);
    let mut loaded = run.rounds.iter().filter(|round| round.case.test == LOADED);
    let Outcome::Failed(why) = &loaded.next().unwrap().outcome else {
        panic!("{done:?}")
    };
    let why = why.to_string();
    let expect = "`storage.randread-4k-qd32@1:iops`: no round of it has a value";
    assert!(why.contains(expect), "{why}");
}

#[test]
fn what_cannot_be_taken_a_share_of_is_refused() {
    let bed = Bed::new();
    let set = |param: &str, words: &[&str]| {
        let set = format!("storage.randread-4k-load70.{param}");
        let done = bed.run(&["run", LOADED, "--dry-run", "--set", &set]);
        done.code(2).err_has(words);
    };
    set(
        "rate_of=storage.nothing",
        &["rate_of", "the name of a test"],
    );
    set(
        "rate_of=storage.randread-4k-load70",
        &["that needs no other"],
    );
    set("rate_percent=0", &["rate_percent", "1 to 100"]);
    set("rate_iops=5", &["rate_iops", "0 beside `rate_percent`"]);
    set("rate_of=os.pipe", &["a test that has `iops`"]);
}
