//! Workers that go wrong, interrupted and killed runs, readers that go away.

use crate::bed::{Bed, Done, at_once, eventually, processes_in, signal};
use std::process::{Child, Stdio};

/// A run that takes about ten minutes if nobody stops it.
const LONG: &[&str] = &[
    "run",
    "os",
    "fs.copy-*",
    "--copies",
    "2",
    "--passes",
    "60",
    "--label",
    "long",
];

pub(crate) fn rounds_kept(bed: &Bed) -> usize {
    let listed = bed.run(&["show", "long", "--format", "csv-rounds"]);
    if listed.code == Some(0) {
        listed.out.lines().count().saturating_sub(1)
    } else {
        0
    }
}

fn start_and_wait_for_rounds(bed: &Bed, rounds: usize) -> Child {
    let child = bed.start(LONG);
    eventually(60, || rounds_kept(bed) >= rounds);
    child
}

#[test]
fn a_failing_worker_costs_one_round_and_says_why() {
    let kinds = [
        ("error", "fail `selftest.fault`: as it was told to"),
        ("panic", "selftest.fault was told to panic"),
        ("abort", "signal 6"),
        ("exit", "code 7"),
        ("hang", "hung"),
        ("wrong", "wrong result"),
    ];
    at_once(2, &kinds, |(kind, why)| {
        let bed = Bed::new();
        let set = format!("selftest.fault.kind={kind}");
        let args = ["run", "selftest.fault", "--passes", "3", "--set", &set];
        bed.run(&args).code(0).out_has(&["2"]);
        let csv = bed.run(&["show", "--format", "csv-rounds"]).code(0).out;
        assert!(csv.contains(why), "{kind}: {csv}");
        assert_eq!(bed.left_behind(), [""; 0], "{kind}");
        assert_eq!(processes_in(bed.path()), [""; 0], "{kind}");
    });
}

#[test]
fn a_case_that_always_fails_is_given_up_and_the_run_is_incomplete() {
    let bed = Bed::new();
    let args = [
        "run",
        "selftest.fault",
        "selftest.replay",
        "--passes",
        "9",
        "--set",
    ];
    let done = bed
        .run(&[&args[..], &["selftest.fault.round=0"]].concat())
        .code(4);
    done.out_has(&["selftest.fault", "as it was told to", "selftest.replay"]);
    let csv = bed.run(&["show", "--format", "csv-rounds"]).code(0).out;
    assert_eq!(
        csv.lines()
            .filter(|line| line.contains("selftest.fault"))
            .count(),
        3
    );
}

#[test]
fn what_could_not_be_done_for_a_while_costs_its_round_and_is_said() {
    let bed = Bed::new();
    let args = |round: &str| {
        let kind = "selftest.fault.kind=unsupported";
        let round = format!("selftest.fault.round={round}");
        let fixed = [
            "run",
            "selftest.fault",
            "--full",
            "--passes",
            "7",
            "--set",
            kind,
        ];
        let args = fixed.map(str::to_owned);
        [&args[..], &["--set".to_owned(), round]].concat()
    };
    let run = |round: &str| bed.run(&args(round).iter().map(String::as_str).collect::<Vec<_>>());
    let rounds = || {
        let csv = bed.run(&["show", "--format", "csv-rounds"]).code(0).out;
        csv.lines()
            .filter(|line| line.contains("selftest.fault"))
            .count()
    };
    let done = run("3").code(4);
    done.out_says(&["1 of 7 rounds failed", "was told that it cannot be done"]);
    assert_eq!(rounds(), 7);
    // Never done: one try is enough, and its reason stands where the value would.
    run("0")
        .code(4)
        .out_says(&["was told that it cannot be done"]);
    assert_eq!(rounds(), 1);
}

#[test]
fn ctrl_c_keeps_what_was_measured_and_leaves_nothing_else() {
    for (name, code) in [("-INT", 130), ("-TERM", 130)] {
        let bed = Bed::new();
        let child = start_and_wait_for_rounds(&bed, 3);
        signal(&child, name);
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(code)
            .err_has(&["interrupted", "kept as run"])
            .out_has(&["interrupted"]);
        assert!(rounds_kept(&bed) >= 3);
        assert_eq!(bed.left_behind(), [""; 0]);
        assert_eq!(processes_in(bed.path()), [""; 0]);
    }
}

#[test]
fn ctrl_c_at_any_moment_of_the_start_is_clean() {
    for millis in [0, 5, 10, 20, 30, 40, 60, 80, 120, 200, 400, 800] {
        let bed = Bed::new();
        let child = bed.start(LONG);
        std::thread::sleep(std::time::Duration::from_millis(millis));
        signal(&child, "-INT");
        let status = child.wait_with_output().unwrap().status;
        // Before the handler is there, the signal itself ends the process, and nothing has been made yet.
        assert!(
            status.code() == Some(130) || status.code().is_none(),
            "{millis}: {status}"
        );
        assert_eq!(bed.left_behind(), [""; 0], "{millis}");
        // A program that was being looked at ends by itself a moment later.
        eventually(1, || processes_in(bed.path()).is_empty());
    }
}

#[test]
fn after_kill_9_the_workers_are_gone_within_a_second_and_the_rounds_are_kept() {
    let bed = Bed::new();
    let mut child = start_and_wait_for_rounds(&bed, 3);
    child.kill().unwrap();
    child.wait().unwrap();
    eventually(1, || processes_in(bed.path()).is_empty());
    assert!(rounds_kept(&bed) >= 3);
    assert_eq!(bed.left_behind().len(), 1, "the work directory");
    bed.run(&["clean", "--dry-run"])
        .code(0)
        .err_has(&["would remove", "kurabe-work-"]);
    assert_eq!(bed.left_behind().len(), 1);
    // From anywhere: the store knows where it was.
    bed.run(&["clean", "--dir", "/"])
        .code(0)
        .err_has(&["removed"]);
    assert_eq!(bed.left_behind(), [""; 0]);
    bed.run(&["clean"]).code(0).err_has(&["nothing to remove"]);
    bed.run(&["show", "long"]).code(0).out_has(&["os."]);
}

#[test]
fn the_work_directory_of_a_run_that_goes_on_is_left_alone() {
    let bed = Bed::new();
    let child = start_and_wait_for_rounds(&bed, 1);
    bed.run(&["clean"]).code(0).err_has(&["nothing to remove"]);
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
}

#[test]
fn a_reader_that_goes_away_is_no_error_and_the_run_is_kept() {
    let bed = Bed::new();
    let mut child = bed.start(&["run", "selftest.replay", "--label", "kept"]);
    drop(child.stdout.take());
    assert!(child.wait().unwrap().success());
    bed.run(&["show", "kept"]).code(0);
}

#[test]
fn a_full_standard_output_is_an_error_and_the_run_is_kept() {
    let bed = Bed::new();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = bed.command(&["run", "selftest.replay", "--label", "kept"]);
    let done: Done = command
        .stdout(full)
        .stderr(Stdio::piped())
        .output()
        .unwrap()
        .into();
    done.code(4).err_has(&["standard output", "No space"]);
    bed.run(&["show", "kept"]).code(0);
}

#[test]
fn a_run_that_was_killed_or_interrupted_goes_on_where_it_left_off() {
    for name in ["-KILL", "-INT"] {
        let bed = Bed::new();
        let what = [
            "run",
            "os.pipe",
            "os.syscall",
            "--passes",
            "6",
            "--label",
            "long",
        ];
        let child = bed.start(&what);
        eventually(60, || rounds_kept(&bed) >= 3);
        signal(&child, name);
        child.wait_with_output().unwrap();
        assert!(rounds_kept(&bed) < 12, "{name}");
        bed.run(&["run", "--resume", "long", "--full"])
            .code(0)
            .out_has(&[", 6 rounds, kurabe"]);
        let text = bed.run(&["export", "long"]).code(0).out;
        let run: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rounds = run["run"]["rounds"].as_array().unwrap();
        let mut seen: Vec<(String, u64)> = rounds
            .iter()
            .map(|r| {
                (
                    r["case"].as_str().unwrap().to_owned(),
                    r["pass"].as_u64().unwrap(),
                )
            })
            .collect();
        seen.sort();
        seen.dedup();
        assert_eq!(
            (rounds.len(), seen.len()),
            (12, 12),
            "{name}: every case once in each of 6 passes"
        );
        assert_eq!(bed.left_behind(), [""; 0]);
        bed.run(&["run", "--resume", "long"])
            .code(2)
            .err_has(&["finished"]);
    }
}

#[test]
fn a_run_of_another_machine_is_not_gone_on_with() {
    let bed = Bed::new();
    let child = start_and_wait_for_rounds(&bed, 1);
    signal(&child, "-INT");
    child.wait_with_output().unwrap();
    let text = bed.run(&["export", "long"]).code(0).out;
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    run["run"]["meta"]["id"] = "20200101-000000-0000".into();
    run["run"]["host"]["kernel"]["release"]["value"] = "2.6.32".into();
    std::fs::write(bed.path().join("other.json"), run.to_string()).unwrap();
    bed.run(&["import", "other.json"]).code(0);
    let done = bed.run(&["run", "--resume", "20200101"]).code(2);
    done.err_has(&["not the same", "2.6.32", "compare"]);
}

#[test]
fn a_work_directory_that_is_removed_does_not_come_back_unmarked() {
    let bed = Bed::new();
    let args = "run os.pipe --passes 12 --label long --full";
    let child = bed.start(&args.split(' ').collect::<Vec<_>>());
    eventually(60, || rounds_kept(&bed) >= 1);
    let dir = bed.left_behind();
    // The round that is going on may put a file in while we empty it.
    eventually(10, || {
        std::fs::remove_dir_all(bed.path().join(&dir[0])).is_ok()
    });
    let done: Done = child.wait_with_output().unwrap().into();
    // Rounds fail until the test is given up: the rest is lost for good.
    done.code(4).out_has(&["No such file"]);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_file_size_limit_is_an_error_and_not_a_death() {
    let bed = Bed::new();
    let limit = ["sh", "-c", "ulimit -f 60; exec \"$@\"", "sh"];
    let done = bed.behind(&limit, &["run", "selftest.replay", "--passes", "200"]);
    done.code(4).err_has(&["kurabe.db"]);
    assert_eq!(bed.left_behind(), [""; 0]);
}
