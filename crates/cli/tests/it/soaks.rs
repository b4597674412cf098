//! Soaks of seconds: the whole way from the command line to the sentence.

use crate::bed::{Bed, Done, eventually, processes_in, signal};
use crate::documents::validate;
use serde_json::Value;

/// A series for `selftest.replay`: stretches of 20 windows at `first` of them fast, then slow, then what follows.
fn series(items: &[(&str, usize)]) -> String {
    let list: Vec<&str> = items
        .iter()
        .flat_map(|&(item, times)| std::iter::repeat_n(item, times))
        .collect();
    format!("selftest.replay.series={}", list.join(","))
}

/// A soak of 20 s, whose stretches are 2 s and whose windows 100 ms.
fn soak(bed: &Bed, label: &str, series: &str, more: &[&str]) -> Done {
    let args = [
        "soak",
        "selftest.replay",
        "--for",
        "20s",
        "--window",
        "100ms",
        "--label",
        label,
        "--set",
        series,
    ];
    bed.run(&[&args[..], more].concat())
}

fn document(bed: &Bed, run: &str) -> Value {
    validate(
        "kurabe.run.1.json",
        &bed.run(&["show", run, "--json"]).code(0).out,
    )
}

#[test]
fn fixed_work_is_no_load_that_could_go_on() {
    let bed = Bed::new();
    let args = ["soak", "storage.first-write", "--for", "30s"];
    let done = bed.run(&args).code(2);
    assert_eq!(
        done.err,
        "error: plan the soak: a round of `storage.first-write` is a fixed amount of work, and no load that could go on \
         for longer\nhint: `kurabe run storage.first-write` measures it round by round\n"
    );
}

#[test]
fn a_bucket_is_found_rested_for_and_confirmed() {
    let bed = Bed::new();
    // Two seconds of burst; a rest of one second refills half of it.
    let plays = series(&[
        ("200*20", 1),
        ("100*20", 3),
        ("200*10+100*30", 1),
        ("100*20", 20),
    ]);
    let done = soak(&bed, "b", &plays, &[]).code(0);
    done.out_has(&[
        "token bucket of ",
        "sustained rate",
        " operations, confirmed",
    ]);
    let document = document(&bed, "b");
    let throttle = &document["soak"]["throttle"];
    assert_eq!(throttle["cause"], "token_bucket");
    let near = |key: &str, expect: f64, share: f64| {
        let found = throttle[key].as_f64().unwrap();
        assert!((found / expect - 1.0).abs() < share, "{key}: {found}");
    };
    near("burst_rate", 200.0, 1e-9);
    near("sustained_rate", 100.0, 1e-9);
    near("credit", 200.0, 0.05);
    assert_eq!(document["soak"]["findings"][0]["kind"], "burst");
    // No round of a soak passes for an independent one.
    assert_eq!(document["metrics"][0]["state"], "series");
    assert_eq!(document["metrics"][0]["lo"], Value::Null);
    let japanese = bed.run(&["show", "b", "--lang", "ja"]).code(0).out;
    assert!(japanese.contains("トークンバケット"), "{japanese}");
    bed.run(&["show", "b", "--format", "markdown"])
        .code(0)
        .out_has(&["token bucket", "| bucket |"]);
    let csv = bed.run(&["show", "b", "--format", "csv-rounds"]).code(0);
    assert!(csv.out.lines().count() > 8, "{}", csv.out);
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_step_that_no_rest_brings_back_is_no_bucket() {
    let bed = Bed::new();
    let plays = series(&[("200*20", 1), ("100*20", 30)]);
    soak(&bed, "s", &plays, &["--json"])
        .code(0)
        .out_has(&["a step, cause unknown", "\"cause\": \"unknown\""]);
}

#[test]
fn samples_come_every_so_often_and_the_machine_rests_between() {
    let bed = Bed::new();
    let plays = series(&[("100*10", 1)]);
    soak(&bed, "e", &plays, &["--every", "4s"])
        .code(0)
        .out_has(&["a sample every 4.00 s"]);
    let text = bed.run(&["export", "e"]).code(0).out;
    let run: Value = serde_json::from_str(&text).unwrap();
    let rounds = run["run"]["rounds"].as_array().unwrap();
    let kind = |round: &&Value| round["stretch"]["kind"] == "sample";
    let samples: Vec<u64> = rounds
        .iter()
        .filter(kind)
        .map(|round| round["stretch"]["elapsed"].as_u64().unwrap() / 1_000_000_000)
        .collect();
    // An opening of a quarter of the time, in stretches of 2 s; a third would be too short. No sample at the end.
    assert_eq!(samples, [4, 8, 12, 16]);
}

#[test]
fn a_real_workload_is_soaked_in_windows_of_its_own_length() {
    let bed = Bed::new();
    let args = [
        "soak",
        "selftest.null",
        "--for",
        "8s",
        "--window",
        "50ms",
        "--json",
        "--label",
        "n",
    ];
    let done = bed.run(&args).code(0);
    let document = validate("kurabe.run.1.json", &done.out);
    let soak = &document["soak"];
    assert_eq!(soak["window_ns"], 50_000_000);
    // Windows hold at least 50 ms, and checking the work takes its time too.
    let windows = soak["windows"].as_u64().unwrap();
    assert!((20..=160).contains(&windows), "{windows}");
    assert_eq!(soak["unit"], "ops_per_s");
    assert!(soak["levels"]["typical"].as_f64().unwrap() > 1e6);
}

#[test]
fn ctrl_c_keeps_what_there_is_and_the_soak_goes_on_later() {
    let bed = Bed::new();
    let plays = series(&[("100*20", 1)]);
    let args = [
        "soak",
        "selftest.replay",
        "--for",
        "12s",
        "--window",
        "100ms",
        "--label",
        "c",
        "--set",
        &plays,
    ];
    let child = bed.start(&args);
    eventually(20, || bed.rounds() >= 2);
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    let done = done.code(130).err_has(&["hint: `kurabe soak --resume"]);
    done.out_has(&["interrupted", "kurabe soak --resume"]);
    let before = bed.rounds();
    bed.run(&["soak", "--resume", "c"]).code(0);
    let document = document(&bed, "c");
    assert_eq!(document["run"]["end"], "complete");
    assert!(bed.rounds() >= before);
    // A finished soak is not gone on with, and what can be done instead is said.
    bed.run(&["soak", "--resume", "c"]).code(2).err_has(&[
        "`c`: run",
        "is finished",
        "hint: `kurabe show c`",
        "soak TEST --for",
    ]);
}

#[test]
fn a_killed_soak_goes_on_where_its_time_is() {
    let bed = Bed::new();
    let plays = series(&[("100*20", 1)]);
    let args = [
        "soak",
        "selftest.replay",
        "--for",
        "14s",
        "--window",
        "100ms",
        "--label",
        "k",
        "--set",
        &plays,
    ];
    let mut child = bed.start(&args);
    eventually(20, || bed.rounds() >= 2);
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(10, || processes_in(bed.path()).is_empty());
    // Long enough for the opening to be broken.
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    // Until then it says that it is not whole, and how much of it there is.
    bed.run(&["show", "k"])
        .code(0)
        .out_has(&["killed, or still going on, after "]);
    let killed = document(&bed, "k");
    let sentence = killed["soak"]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains(" s of the 14.0 s asked for ("),
        "{sentence}"
    );
    let findings = killed["soak"]["findings"].as_array().unwrap();
    assert_eq!(findings.last().unwrap()["kind"], "ended_early");
    // A soak is gone on with by its own command alone, by whatever name it is called.
    bed.run(&["run", "--resume", "latest"]).code(2).err_has(&[
        "go on with `latest`: run `",
        "` is a soak",
        "hint: `kurabe soak --resume latest` goes on with it",
    ]);
    bed.run(&["soak", "--resume", "k"]).code(0);
    let document = document(&bed, "k");
    let soak = &document["soak"];
    let marks = soak["marks"].as_array().unwrap();
    assert!(marks.iter().any(|mark| mark["kind"] == "gap"), "{marks:?}");
    // The time while nothing ran counts.
    let lasted = soak["lasted_ns"].as_u64().unwrap();
    assert!(lasted < 16_000_000_000, "{lasted}");
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn a_rest_ends_at_once_when_somebody_interrupts() {
    let bed = Bed::new();
    // 0.2 s at a hundred times the rate that lasts: the refill test rests for ten seconds.
    let plays = series(&[("1000*20+10*40", 1), ("10*60", 99)]);
    let args = [
        "soak",
        "selftest.replay",
        "--for",
        "60s",
        "--window",
        "10ms",
        "--set",
        &plays,
        "--label",
        "r",
    ];
    let child = bed.start(&args);
    eventually(20, || bed.rounds() >= 2);
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    assert_eq!(bed.rounds(), 2, "it rests");
    let begin = sys::clock::monotonic();
    signal(&child, "-TERM");
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(130)
        .out_says(&["a step, or a bucket of", "1 min 0 s"]);
    assert!(sys::clock::monotonic() - begin < 4_000_000_000);
}

#[test]
fn what_makes_no_soak_is_refused_with_a_hint() {
    let bed = Bed::new();
    let refused = |args: &[&str], needles: &[&str]| {
        bed.run(&[&["soak"], args].concat())
            .code(2)
            .err_has(needles);
    };
    refused(&["selftest.replay"], &["--for"]);
    refused(&["--for", "1h"], &["TEST"]);
    refused(&["selftest.replay", "--for", "0s"], &["expected a time"]);
    refused(
        &["selftest.replay", "--for", "1h", "--every", "0"],
        &["expected a time"],
    );
    refused(
        &["selftest.replay", "--for", "1h", "--every", "2h"],
        &["every 7200 s", "hint: leave `--every` out"],
    );
    refused(
        &["selftest.replay", "--for", "1h", "--every", "5s"],
        &["--every", "ten windows", "--window 100ms"],
    );
    refused(
        &["selftest.replay", "--for", "5s"],
        &["--for", "ten windows"],
    );
    refused(
        &["selftest.replay", "--for", "5s", "--window", "1ms"],
        &["too short", "10 ms"],
    );
    refused(
        &["selftest.replya", "--for", "1h"],
        &["nearest: selftest.replay"],
    );
    refused(&["os.*", "--for", "1h"], &["one test", "os.pipe@1"]);
    refused(
        &["selftest.replay", "--resume", "x", "--for", "1h"],
        &["cannot be used with"],
    );
    assert!(!bed.store().exists());
    bed.replay("run", "1,2,3");
    refused(
        &["--resume", "run"],
        &["is no soak", "kurabe run --resume run"],
    );
}

#[test]
fn a_dry_run_says_how_the_time_is_spent() {
    let bed = Bed::new();
    let args = [
        "soak",
        "os.pipe",
        "--for",
        "24h",
        "--every",
        "10m",
        "--dry-run",
    ];
    bed.run(&args).code(0).out_has(&[
        "os.pipe@1",
        "24 h 0 min",
        "for 40 min 0 s",
        "of 1 min 0 s every 10 min 0 s",
    ]);
    let short = ["soak", "os.pipe", "--for", "30s", "--dry-run"];
    bed.run(&short).code(0).err_has(&[
        "30 windows are too few to call a rate steady (it takes 50)",
        "60",
        "hint:",
    ]);
    assert!(!bed.store().exists());
}

#[test]
fn a_dry_run_says_what_is_set_otherwise() {
    let bed = Bed::new();
    let args = ["soak", "memory.read", "--for", "1h", "--dry-run"];
    let plain = bed.run(&args).code(0);
    assert!(!plain.out.contains("set otherwise"), "{}", plain.out);
    let set = [&args[..], &["--set", "memory.read.size=64M"]].concat();
    let said = bed.run(&set).code(0);
    said.out_says(&["set otherwise size 64 MiB in place of its own choice"]);
}

#[test]
fn a_stretch_that_fails_is_marked_and_kept() {
    let bed = Bed::new();
    let plays = series(&[("100*20", 2), ("fail", 1), ("100*20", 20)]);
    let done = soak(&bed, "f", &plays, &[]).code(0);
    done.out_has(&["marks", "a stretch failed", "series says"]);
    let document = document(&bed, "f");
    let marks = document["soak"]["marks"].as_array().unwrap();
    assert_eq!(marks[0]["kind"], "failed");
    assert_eq!(document["failed_rounds"].as_array().unwrap().len(), 1);
}

/// A kept soak of `seconds` that was interrupted after two stretches, changed by `change` and kept again as `label`.
fn interrupted(bed: &Bed, seconds: &str, label: &str, change: impl Fn(&mut Value)) {
    let plays = series(&[("100*20", 1)]);
    let args = [
        "soak",
        "selftest.replay",
        "--for",
        seconds,
        "--window",
        "100ms",
        "--label",
        "first",
        "--set",
        &plays,
    ];
    let child = bed.start(&args);
    eventually(30, || bed.rounds() >= 2);
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(130);
    let text = bed.run(&["export", "first"]).code(0).out;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let run = &mut document["run"];
    run["meta"]["id"] = format!("20990101-000000-{label}").into();
    run["meta"]["label"] = label.into();
    change(run);
    std::fs::write(bed.path().join("changed.json"), document.to_string()).unwrap();
    bed.run(&["import", "changed.json"]).code(0);
    std::fs::remove_file(bed.path().join("changed.json")).unwrap();
}

#[test]
fn a_clock_that_was_set_and_a_machine_that_was_suspended_are_marked_and_not_averaged_over() {
    let bed = Bed::new();
    interrupted(&bed, "120s", "t", |run| {
        let rounds = run["rounds"].as_array_mut().unwrap();
        let spoilt = |round: &mut Value| {
            for window in round["outcome"]["done"]["windows"].as_array_mut().unwrap() {
                *window = 1.0.into();
            }
        };
        // A copy of a stretch in which the clock was set, and one after a rest through which the machine slept.
        let mut set = rounds[1].clone();
        let mut slept = rounds[1].clone();
        set["noise"]["clock_jump"] = 3_600_000_000_000_u64.into();
        spoilt(&mut set);
        for (i, round) in [&mut set, &mut slept].into_iter().enumerate() {
            let later = 10_000_000_000 * (i as u64 + 1);
            round["seq"] = (3 + i).into();
            round["pass"] = (3 + i).into();
            for key in ["began", "elapsed"] {
                let time = round["stretch"][key].as_u64().unwrap() + later;
                round["stretch"][key] = time.into();
            }
            round["started"] = (round["started"].as_u64().unwrap() + later).into();
        }
        slept["stretch"]["suspended_before"] = 9_000_000_000_u64.into();
        rounds.extend([set, slept]);
    });
    let document = document(&bed, "t");
    let soak = &document["soak"];
    let kinds: Vec<&str> = soak["marks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|mark| mark["kind"].as_str().unwrap())
        .collect();
    assert!(kinds.contains(&"clock_jump"), "{kinds:?}");
    assert!(kinds.contains(&"suspended_at_rest"), "{kinds:?}");
    assert_eq!(soak["windows_left_out"], 20);
    assert_eq!(
        soak["levels"]["floor"], 100.0,
        "the spoilt windows are in no level"
    );
    bed.run(&["show", "t"]).code(0).out_has(&[
        "the clock was set by 1 h",
        "the machine was suspended for 9.00 s while it rested before this",
        "20 windows are left out of every level",
    ]);
}

#[test]
fn a_log_hears_of_a_soak_while_it_goes_on_and_quiet_means_quiet() {
    let bed = Bed::new();
    // Resumed at more than twenty seconds: a line is due at once.
    interrupted(&bed, "600s", "t", |run| {
        for round in run["rounds"].as_array_mut().unwrap() {
            let elapsed = round["stretch"]["elapsed"].as_u64().unwrap();
            round["stretch"]["elapsed"] = (elapsed + 90_000_000_000).into();
        }
    });
    let kept = || {
        let text = bed.run(&["export", "t"]).code(0).out;
        let document: Value = serde_json::from_str(&text).unwrap();
        document["run"]["rounds"].as_array().unwrap().len()
    };
    let resumed = |more: &[&str]| {
        let before = kept();
        let child = bed.start(&[&["soak", "--resume", "t"], more].concat());
        // What is due at once has been said when a stretch is kept.
        eventually(60, || kept() > before);
        signal(&child, "-INT");
        let done: Done = child.wait_with_output().unwrap().into();
        done.code(130).err
    };
    let err = resumed(&[]);
    assert_eq!(err.matches(" left: selftest.").count(), 1, "{err}");
    assert!(err.contains("selftest.replay@1"), "{err}");
    let quiet = resumed(&["--quiet"]);
    assert!(!quiet.contains(" left"), "{quiet}");
}
