//! Duels: what either side is, the commands that set it up, and what is said of both.

use crate::bed::{Bed, Done, eventually, signal};
use serde_json::Value;

fn document(done: &Done) -> Value {
    serde_json::from_str(&done.out).unwrap()
}

fn lines(bed: &Bed, file: &str) -> usize {
    let text = std::fs::read_to_string(bed.path().join(file));
    text.map_or(0, |text| text.lines().count())
}

/// A duel between two commands, with further arguments.
fn between(bed: &Bed, a: &str, b: &str, more: &[&str]) -> Done {
    let args = [
        "duel",
        "selftest.replay",
        "--label",
        "d",
        "--a-cmd",
        a,
        "--b-cmd",
        b,
    ];
    bed.run(&[&args[..], more].concat())
}

/// A command that fails every `n`th time, the trial before the first round counted.
fn fails_each(n: u32) -> String {
    format!(
        "echo >> calls; test $(($(wc -l < calls) % {n})) -ne 0 || {{ echo out; echo no luck >&2; exit 7; }}"
    )
}

#[test]
fn a_slip_in_a_command_is_named_at_once_and_costs_nothing() {
    for (side, command, why) in [
        ("A", "flase", "exit code 127: "),
        (
            "B",
            "echo out; echo no such scheduler >&2; exit 3",
            "exit code 3: no such scheduler",
        ),
        ("B", "kill -TERM $$", "killed by signal 15"),
    ] {
        let bed = Bed::new();
        let (a, b) = if side == "A" {
            (command, "true")
        } else {
            ("true", command)
        };
        let side = format!("set up side {side}: ");
        let command = format!("`{command}`");
        between(&bed, a, b, &[])
            .code(2)
            .err_has(&[&side, &command, why, "hint: "]);
        assert_eq!(bed.run(&["list"]).code(0).out, "", "nothing is kept");
        assert!(bed.left_behind().is_empty());
    }
}

#[test]
fn a_failure_now_and_then_costs_a_pair_and_is_told_everywhere() {
    let bed = Bed::new();
    // Calls 1 (the trial) to 8: rounds 2 and 5 fail.
    let done = between(&bed, &fails_each(3), "true", &["--passes", "7"]).code(0);
    let done = done.err_has(&[
        "side A, pass 2, selftest.replay@1: ",
        "exit code 7: no luck",
    ]);
    assert_eq!(
        done.err.matches("no luck").count(),
        2,
        "the command, and each reason once: {}",
        done.err
    );
    let done = done.out_says(&[
        "A (base)",
        "complete, 2 of 7 rounds failed",
        "5 pairs of rounds",
        "side A: 2 of 7 rounds failed, and a pair that lacks one does not count",
        "exit code 7: no luck",
        "too few pairs with both values: 5, where a verdict takes 6; a new `kurabe duel` takes",
        "at least 6 pairs",
    ]);
    assert!(!done.out.contains("kurabe run"), "{}", done.out);
    bed.run(&["list"])
        .code(0)
        .out_has(&[", 2 failed", "side A: `echo >> calls"]);
    let shown = bed.run(&["show", "d-a", "--full"]).code(0);
    shown.out_says(&[
        "complete, 2 of 7 rounds failed",
        "side A, against",
        "set up before each round with",
    ]);
    let json = bed
        .run(&["compare", "d-a", "d-b", "--format", "json"])
        .code(4);
    let other = &document(&json)["others"][0];
    let failed = other["duel"]["failed_rounds"]["base"].as_array().unwrap();
    assert_eq!(failed.len(), 2, "{failed:?}");
    assert!(
        failed[0]["reason"]
            .as_str()
            .unwrap()
            .ends_with("failed: exit code 7: no luck")
    );
    assert_eq!(other["metrics"][0]["missing"]["kind"], "too_few_pairs");
    // Without a number of passes further pairs are measured until there are enough.
    std::fs::remove_file(bed.path().join("calls")).unwrap();
    let done = between(&bed, &fails_each(3), "true", &["--json"]).code(0);
    assert_eq!(
        document(&done)["others"][0]["metrics"][0]["verdict"],
        "same"
    );
}

#[test]
fn a_side_that_cannot_be_set_up_any_more_ends_the_duel_after_three_rounds_in_a_row() {
    let bed = Bed::new();
    let once = "echo >> calls; test $(wc -l < calls) -eq 1";
    // Many cases: not each of them is tried three times.
    let done = between(
        &bed,
        "true",
        once,
        &["--passes", "9", "--copies", "1,2,3,4"],
    )
    .code(4);
    assert_eq!(lines(&bed, "calls"), 1 + 3);
    let done = done.err_has(&["side B, pass 1"]);
    let done = done.out_says(&[
        "side B: 3 of 3 rounds failed",
        "could not be set up 3 times in a row",
    ]);
    assert!(!done.out.contains("time ran out"), "{}", done.out);
}

#[test]
fn a_side_that_was_left_to_chance_is_refused_and_a_parameter_is_not() {
    let bed = Bed::new();
    std::fs::create_dir(bed.path().join("x")).unwrap();
    let duel = |args: &[&str]| {
        bed.run(&[&["duel", "selftest.replay", "--passes", "6"][..], args].concat())
    };
    duel(&["--a", "dir=x"])
        .code(2)
        .err_has(&["side A has a place", "hint: ", "--b dir=DIR"]);
    duel(&["--b", "file=x"])
        .code(2)
        .err_has(&["side B has a place", "--a dir=DIR"]);
    duel(&["--b-cmd", "true"])
        .code(2)
        .err_has(&["nothing sets side A up", "`--a-cmd true`"]);
    assert!(!bed.store().exists());
    duel(&["--a", "dir=x", "--dir", "."])
        .code(0)
        .out_says(&["dir=", "as it is, in `"]);
    let done = duel(&["--b", "set=selftest.replay.series=7,8", "--json"]).code(0);
    let document = document(&done);
    assert_eq!(
        document["base"]["plan"]["duel"]["traits"],
        serde_json::json!([])
    );
    let b = &document["others"][0]["run"]["plan"]["duel"];
    assert_eq!(b["traits"][0], "set=selftest.replay.series=7,8");
    assert_eq!((&b["side"], &b["prepare"]), (&"b".into(), &Value::Null));
}

#[test]
fn sides_are_named_before_and_after_and_by_their_letters() {
    let bed = Bed::new();
    for name in ["x", "y"] {
        std::fs::create_dir(bed.path().join(name)).unwrap();
    }
    let places = ["--a", "dir=x", "--b", "dir=y"];
    let args = [&["duel", "fs.copy-256", "--passes", "6"][..], &places].concat();
    let [x, y] = ["x", "y"].map(|name| {
        let path = bed.path().join(name).canonicalize().unwrap();
        format!("dir={}", path.display())
    });
    let (a, b) = (format!("side A: {x}"), format!("side B: {y}"));
    bed.run(&[&args[..], &["--dry-run"]].concat())
        .code(0)
        .out_has(&[&a, &b]);
    let shared = "both directories are on one file system";
    let done = bed.run(&args).code(0).err_has(&[&a, &b, shared]);
    done.out_says(&[
        "A (base)",
        "B (other)",
        &x,
        &y,
        "B against A: a duel, this instance, ",
        shared,
        "6 pairs of rounds",
    ]);
    // Seen from the other side the letters stay with their runs.
    bed.run(&[
        "compare", "--full", "latest", "latest~1", "--format", "markdown",
    ])
    .code(0)
    .out_says(&["B (base)", "A (other)", "| B | A |"]);
    let ja = bed
        .run(&["compare", "--full", "latest~1", "latest", "--lang", "ja"])
        .code(0);
    ja.out_says(&["A（基準）", "B（比較対象）", "ラウンドの組は 6 組です"]);
    let quiet = bed.run(&[&args[..], &["--quiet"]].concat()).code(0);
    assert!(!quiet.err.contains("side A"), "{}", quiet.err);
}

#[test]
fn the_same_sides_and_too_few_pairs_are_said_before_anything_is_measured() {
    let bed = Bed::new();
    let args = [
        "duel",
        "selftest.replay",
        "--a",
        "dir=.",
        "--b",
        "dir=.",
        "--passes",
        "3",
    ];
    let few = "`selftest.replay@1` gets 3 pairs of rounds, and no verdict can come of fewer than 6";
    let same = "both sides are the same (an A/A duel)";
    bed.run(&[&args[..], &["--dry-run"]].concat())
        .code(0)
        .err_has(&[few, same]);
    let done = bed
        .run(&args)
        .code(0)
        .err_has(&[few, same, "hint: leave `--passes` out"]);
    done.out_says(&[same, "too few pairs with both values: 3"]);
    let json = bed.run(&[&args[..], &["--json"]].concat()).code(0);
    assert_eq!(document(&json)["others"][0]["duel"]["same_sides"], true);
    let six = [&args[..6], &["--passes", "6"]].concat();
    let done = bed.run(&six).code(0);
    assert!(!done.err.contains("no verdict"), "{}", done.err);
}

#[test]
fn a_command_may_say_much_and_one_that_leaves_something_running_is_told() {
    let bed = Bed::new();
    let much = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2";
    let leaves = "sleep 5 > /dev/null 2>&1 &";
    let done = between(&bed, much, leaves, &["--passes", "6"]).code(0);
    done.err_has(&["the command of side B leaves something running"]);
}

#[test]
fn a_command_that_hangs_does_not_hold_an_interrupt() {
    let bed = Bed::new();
    let hangs = "echo >> calls; test $(wc -l < calls) -ne 3 || exec sleep 60";
    let args = [
        "duel",
        "selftest.replay",
        "--label",
        "d",
        "--a-cmd",
        hangs,
        "--b-cmd",
        "true",
    ];
    let child = bed.start(&args);
    eventually(60, || lines(&bed, "calls") == 3);
    let begin = sys::clock::monotonic();
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(130)
        .err_has(&["interrupted", "kurabe duel --resume"]);
    assert!(
        sys::clock::monotonic() - begin < 30_000_000_000,
        "it waited for the command"
    );
    // The trial may be interrupted too: then there is nothing to keep.
    let bed = Bed::new();
    let args = [
        "duel",
        "selftest.replay",
        "--a-cmd",
        "echo >> calls; sleep 60",
        "--b-cmd",
        "true",
    ];
    let child = bed.start(&args);
    eventually(60, || lines(&bed, "calls") == 1);
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(130).err_has(&["nothing was measured"]);
    assert_eq!(bed.run(&["list"]).code(0).out, "");
}
