//! What runs of one machine differ by: which earlier runs are asked, and what happens where they cannot be.

use crate::bed::{Bed, Done};
use crate::comparisons::{copy, on_machine};
use serde_json::{Value, json};

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

/// Nanoseconds of an hour.
const HOUR: u64 = 3_600_000_000_000;

/// The first instant of 2026, in nanoseconds.
const NEW_YEAR: u64 = 1_767_225_600_000_000_000;

/// Makes of a replayed run one that measured its machine so many hours into the year, in quiet, `factor` times as fast.
fn measured(run: &mut Value, hours: u64, factor: f64) {
    on_machine(run, "m");
    run["meta"]["binary"]["build"] = "release".into();
    let began = NEW_YEAR + hours * HOUR;
    run["meta"]["started"] = began.into();
    run["meta"]["finished"] = (began + 600_000_000_000).into();
    for case in run["plan"]["cases"].as_array_mut().unwrap() {
        case["simulated"] = false.into();
    }
    let rounds = run["rounds"].as_array_mut().unwrap();
    for (at, round) in (1..).zip(rounds) {
        round["started"] = (began + at * 1_000_000_000).into();
        round["noise"] = json!({});
        let value = &mut round["outcome"]["done"]["values"]["ops_per_s"];
        *value = (value.as_f64().unwrap() * factor).into();
    }
}

/// Gives the run a second case, with the rounds of the first.
fn with_second_case(run: &mut Value) {
    let second = "selftest.replay@2";
    let mut case = run["plan"]["cases"][0].clone();
    case["id"] = second.into();
    run["plan"]["cases"].as_array_mut().unwrap().push(case);
    let rounds = run["rounds"].as_array_mut().unwrap();
    let mut more = rounds.clone();
    for (seq, round) in (rounds.len() + 1..).zip(&mut more) {
        round["case"] = second.into();
        round["seq"] = seq.into();
    }
    rounds.extend(more);
}

/// Seven runs of one machine, hours apart; `old0` to `old6`.
fn history(bed: &Bed) {
    bed.replay("base", SERIES);
    for (at, factor) in (0_u32..).zip([1.0, 1.002, 0.998, 1.001, 0.999, 1.003, 0.997]) {
        copy(bed, "base", &format!("old{at}"), |run| {
            measured(run, u64::from(at), factor);
        });
    }
}

fn document(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn what_came_after_the_first_of_the_runs_is_not_their_history() {
    let bed = Bed::new();
    history(&bed);
    copy(&bed, "base", "good", |run| measured(run, 100, 1.0));
    // From here on something is slower, and later nights are as slow.
    for at in 0..6 {
        copy(&bed, "base", &format!("new{at}"), |run| {
            measured(run, 101 + at, 0.9);
        });
    }
    let expect: Vec<String> = (0..7)
        .map(|at| format!("20200101-000000-old{at}"))
        .collect();
    for (base, other) in [("good", "new5"), ("new5", "good")] {
        let args = ["compare", base, other, "--scatter", "store", "--json"];
        let found = document(&bed.run(&args).code(0));
        let other = &found["others"][0];
        for side in ["base", "other"] {
            let mut ids: Vec<String> =
                serde_json::from_value(other["earlier"][side].clone()).unwrap();
            ids.sort_unstable();
            assert_eq!(ids, expect, "{base} {side}");
        }
        let scatter = &other["metrics"][0]["scatter"]["base"];
        assert_eq!(scatter["source"], "earlier", "{scatter}");
    }
    let args = ["compare", "good", "new5", "--fail-if", "worse"];
    bed.run(&args).code(1);
}

#[test]
fn scatter_from_the_store_is_refused_where_any_metric_lacks_it() {
    let bed = Bed::new();
    history(&bed);
    let compare = |base: &str, other: &str| {
        bed.run(&["compare", base, other, "--scatter", "store", "--json"])
    };
    copy(&bed, "base", "a", |run| measured(run, 100, 1.0));
    copy(&bed, "base", "b", |run| measured(run, 200, 1.0));
    compare("a", "b").code(0);
    // The second case is new: nothing is known of it.
    for (label, hours) in [("a2", 300), ("b2", 400)] {
        copy(&bed, "base", label, |run| {
            measured(run, hours, 1.0);
            with_second_case(run);
        });
    }
    let refused = compare("a2", "b2").code(2).err_has(&[
        "`--scatter store`: too few earlier runs",
        " differ by in `selftest.replay@2:ops_per_s`, `selftest.replay@2:lat_ns_p50`\nhint: ",
    ]);
    assert_eq!(refused.out, "");
    // Nothing is known of this machine.
    for (label, hours) in [("c", 300), ("d", 400)] {
        copy(&bed, "base", label, |run| {
            measured(run, hours, 1.0);
            with_second_case(run);
            on_machine(run, "n");
        });
    }
    compare("c", "d").code(2).err_has(&[
        "`selftest.replay@1:ops_per_s`, `selftest.replay@1:lat_ns_p50`, `selftest.replay@2:ops_per_s` and 1 more\n",
    ]);
    bed.run(&["compare", "c", "d"]).code(0);
    // One side alone is not enough.
    compare("a", "d").code(2);
}

#[test]
fn what_needs_no_scatter_is_not_refused_for_want_of_it() {
    let bed = Bed::new();
    let duel = [
        "duel",
        "selftest.replay",
        "--a",
        "set=selftest.replay.series=100,101",
        "--b",
        "set=selftest.replay.series=120,121",
        "--label",
        "d",
        "--passes",
        "6",
    ];
    bed.run(&duel).code(0);
    for side in ["a", "b"] {
        copy(&bed, &format!("d-{side}"), side, |run| {
            for case in run["plan"]["cases"].as_array_mut().unwrap() {
                case["simulated"] = false.into();
            }
        });
    }
    let args = ["compare", "a", "b", "--scatter", "store", "--json"];
    let found = document(&bed.run(&args).code(0));
    let other = &found["others"][0];
    assert_eq!(other["paired"], true);
    assert_eq!(other["metrics"][0]["scatter"]["base"], Value::Null);
    assert_eq!(other["metrics"][0]["verdict"], "better", "{other}");
}

#[test]
fn a_store_that_cannot_be_read_costs_the_earlier_runs_and_not_the_comparison() {
    let bed = Bed::new();
    history(&bed);
    for (label, hours) in [("a", 100), ("b", 200)] {
        copy(&bed, "base", label, |run| measured(run, hours, 1.0));
    }
    // Their own copies of the files are what `copy` imported them from.
    let plain = ["compare", "a.json", "b.json"];
    let asked = [&plain[..], &["--scatter", "store"]].concat();
    bed.run(&asked).code(0);
    let whole = std::fs::read(bed.store()).unwrap();
    std::fs::remove_file(bed.store()).unwrap();
    let without = bed.run(&plain).code(0);
    assert_eq!(
        without.err, "",
        "where there is no store, nothing is missed"
    );
    let unreadable = |bytes: &[u8], why: &str| {
        std::fs::write(bed.store(), bytes).unwrap();
        let done = bed.run(&plain).code(0);
        let said = done.err.lines().collect::<Vec<_>>();
        let is_said =
            matches!(said[..], [line] if line.starts_with("going on without earlier runs: "));
        assert!(is_said && done.err.contains(why), "{said:?}");
        assert_eq!(done.out, without.out, "{why}");
        let done = bed.run(&asked).code(4).err_has(&[why]);
        assert_eq!(done.out, "");
    };
    unreadable(b"this is no database", "kurabe.db");
    // SQLite keeps the version of a schema in these bytes of the head.
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&9999_u32.to_be_bytes());
    unreadable(&newer, "its schema is version 9999");
    // One old run is not what was kept.
    let of_label = br#""label":"old3""#;
    let found = whole
        .windows(of_label.len())
        .position(|part| part == of_label);
    let at = found.expect("the store keeps what is known of a run as text");
    let mut damaged = whole;
    damaged[at + of_label.len() - 2] = b'4';
    unreadable(&damaged, "its digest differs");
}
