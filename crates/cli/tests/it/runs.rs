//! Runs: rounds, order, budget, and what is counted.

use crate::bed::Bed;
use serde_json::Value;

/// The run as `kurabe export` writes it.
fn exported(bed: &Bed, run: &str) -> Value {
    let text = bed.run(&["export", run]).code(0).out;
    serde_json::from_str::<Value>(&text).unwrap()["run"].take()
}

fn cases_in_order(run: &Value) -> Vec<String> {
    let rounds = run["rounds"].as_array().unwrap();
    rounds
        .iter()
        .map(|round| round["case"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_seed_reproduces_the_order_and_passes_are_shuffled() {
    let bed = Bed::new();
    let order = |label: &str, seed: &str| {
        let what = [
            "run",
            "selftest.replay",
            "--copies",
            "1,2,3,4,5,6",
            "--passes",
            "4",
        ];
        bed.run(&[&what[..], &["--seed", seed, "--label", label]].concat())
            .code(0);
        cases_in_order(&exported(&bed, label))
    };
    let first = order("a", "7");
    assert_eq!(first, order("b", "7"));
    assert_ne!(first, order("c", "8"));
    let passes: Vec<&[String]> = first.chunks(6).collect();
    for pass in &passes {
        let mut sorted = pass.to_vec();
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 6, "every case once in a pass");
    }
    assert!(
        passes.windows(2).any(|pair| pair[0] != pair[1]),
        "{passes:?}"
    );
}

#[test]
fn the_harness_does_not_allocate_while_measuring_and_costs_next_to_nothing() {
    let bed = Bed::new();
    let tests = [
        "run",
        "selftest.null",
        "selftest.null-latency",
        "--passes",
        "2",
        "--label",
        "n",
    ];
    bed.run(&tests).code(0);
    let run = exported(&bed, "n");
    for round in run["rounds"].as_array().unwrap() {
        let done = &round["outcome"]["done"];
        assert_eq!(done["copies"][0]["allocations"], 0, "{round}");
        assert_eq!(done["values"]["allocations"], 0.0, "{round}");
        assert!(
            done["copies"][0]["ops"].as_u64().unwrap() > 100_000,
            "{round}"
        );
    }
}

#[test]
fn no_workload_allocates_while_measuring_but_the_one_that_says_so() {
    let bed = Bed::new();
    // Those of memory that are quick to set up; with one CPU there are no round trips.
    let what = [
        "os.*",
        "fs.copy-*",
        "cpu.*",
        "memory.round-trip",
        "memory.block-*",
        "memory.latency-16k",
    ];
    let rest = ["--passes", "1", "--label", "w"];
    bed.run(&[&["run"][..], &what, &rest].concat()).code(0);
    let run = exported(&bed, "w");
    let cases = run["plan"]["cases"].as_array().unwrap();
    let allocating: Vec<&Value> = cases
        .iter()
        .filter(|case| case["allocates"] == true)
        .map(|case| &case["id"])
        .collect();
    assert_eq!(allocating, ["cpu.json-parse@1"]);
    let rounds = run["rounds"].as_array().unwrap();
    assert!(rounds.len() >= 12);
    for round in rounds {
        let allocations = &round["outcome"]["done"]["copies"][0]["allocations"];
        let says = allocating.contains(&&round["case"]);
        assert_eq!(allocations.as_u64().unwrap() > 0, says, "{}", round["case"]);
    }
}

#[test]
fn a_known_latency_is_recorded_and_never_undercut() {
    let bed = Bed::new();
    let args = ["run", "selftest.sleep", "--passes", "3", "--label", "s"];
    bed.run(&[&args[..], &["--set", "selftest.sleep.op=100us"]].concat())
        .code(0);
    for round in exported(&bed, "s")["rounds"].as_array().unwrap() {
        let values = &round["outcome"]["done"]["values"];
        let value = |name: &str| values[name].as_f64().unwrap();
        // 0.1 % is the histogram's quantisation.
        assert!(value("lat_ns_p50") >= 1e5 * 0.999, "{values}");
        // On a busy machine a round may have too few operations for it.
        if let Some(p99) = values["lat_ns_p99"].as_f64() {
            assert!(p99 >= value("lat_ns_p50"), "{values}");
        }
        assert!(value("ops_per_s") <= 10_020.0, "{values}");
    }
}

#[test]
fn a_percentile_of_too_few_operations_is_missing_with_its_reason() {
    let bed = Bed::new();
    bed.run(&[
        "run",
        "selftest.sleep",
        "--passes",
        "1",
        "--label",
        "s",
        "--full",
    ])
    .code(0)
    .out_has(&["too few for its percentile 99", "it takes 1000"]);
    let round = &exported(&bed, "s")["rounds"][0]["outcome"]["done"];
    // Some 125 operations of 4 ms: enough for a median.
    assert!(round["values"]["lat_ns_p50"].as_f64().unwrap() >= 4e6 * 0.999);
    assert!(round["values"].get("lat_ns_p99").is_none());
}

#[test]
fn a_budget_is_used_and_not_exceeded_by_more_than_two_percent() {
    let bed = Bed::new();
    let begin = sys::clock::monotonic();
    bed.run(&["run", "selftest.sleep", "--budget", "12s", "--label", "b"])
        .code(0);
    let took = model::units::Nanos(sys::clock::monotonic() - begin).as_secs_f64();
    let run = exported(&bed, "b");
    let rounds = run["rounds"].as_array().unwrap();
    let seconds = |round: &Value| round["took"].as_f64().unwrap() / 1e9;
    let mut usual: Vec<f64> = rounds.iter().map(seconds).collect();
    usual.sort_by(f64::total_cmp);
    let usual = usual[usual.len() / 2];
    // A last round that the machine held up is not the budget's fault.
    let held_up = (seconds(&rounds[rounds.len() - 1]) - usual).max(0.0);
    assert!(took <= 12.0 * 1.02 + held_up, "{took}, of which {held_up}");
    // One more usual round would not have fitted; the cost it is judged by may lag behind a slow one.
    assert!(took >= 12.0 - 2.0 * usual, "{took}, usual {usual}");
}

#[test]
fn what_is_made_first_ends_with_the_budget_and_an_empty_run_is_not_kept() {
    let bed = Bed::new();
    let make = "selftest.ground*.make=20s";
    let run = ["run", "selftest.ground", "--set", make, "--budget", "3s"];
    let begin = sys::clock::monotonic();
    let done = bed.run(&run).code(4);
    let took = model::units::Nanos(sys::clock::monotonic() - begin).as_secs_f64();
    done.err_has(&[
        "the budget of 3 s has no time for making the test data: ",
        " of 310 B in 2.",
        "nothing was measured, and no run is kept",
        "hint: `--budget ",
    ]);
    assert!((2.0..4.0).contains(&took), "{took}");
    assert_eq!(bed.listed().len(), 0);
    assert_eq!(bed.left_behind(), [""; 0]);
    // Other cases have their rounds, and it is said why this one has none.
    let both = [&run[..], &["selftest.sleep", "--label", "both"]].concat();
    let done = bed.run(&both).code(4);
    done.err_has(&["warning: the budget of 3 s has no time for making the test data"])
        .out_says(&["time ran out before six passes"]);
    let run = exported(&bed, "both");
    let rounds = run["rounds"].as_array().unwrap();
    assert!(!rounds.is_empty());
    assert!(
        rounds
            .iter()
            .all(|round| round["case"] == "selftest.sleep@1")
    );
}

#[test]
fn rounds_that_cost_more_than_planned_become_shorter_until_six_fit() {
    let bed = Bed::new();
    // The plan knows nothing of what commands take.
    let sides = ["--a-cmd", "sleep 0.4", "--b-cmd", "sleep 0.4"];
    let duel = ["duel", "selftest.sleep", "--budget", "13s", "--label", "d"];
    bed.run(&[&duel[..], &sides[..]].concat()).code(0);
    for side in ["d-a", "d-b"] {
        let run = exported(&bed, side);
        let rounds = run["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 6, "{side}");
        let measured = |round: &Value| {
            let copy = &round["outcome"]["done"]["copies"][0];
            copy["wall"].as_f64().unwrap() / 1e9
        };
        assert!(
            measured(&rounds[0]) > 0.3 && measured(&rounds[5]) < 0.48,
            "{side}"
        );
    }
}

#[test]
fn a_budget_without_time_for_one_round_keeps_nothing() {
    let bed = Bed::new();
    bed.run(&["run", "selftest.sleep", "--budget", "250ms"])
        .code(4)
        .err_has(&["is over before the first round ends", "hint: `--budget 3s`"]);
    let sides = ["--a-cmd", "true", "--b-cmd", "true"];
    bed.run(&[&["duel", "selftest.sleep", "--budget", "250ms"], &sides[..]].concat())
        .code(4)
        .err_has(&["no run is kept"]);
    assert_eq!(bed.listed().len(), 0);
    assert_eq!(bed.left_behind(), [""; 0]);
    bed.run(&["run", "selftest.sleep", "--budget", "3s"])
        .code(0);
}

#[test]
fn a_run_that_is_interrupted_before_its_first_round_ends_is_not_kept() {
    let bed = Bed::new();
    let make = "selftest.ground.make=20s";
    let args = ["run", "selftest.ground", "--set", make, "--passes", "2"];
    let child = bed.start(&args);
    crate::bed::eventually(60, || {
        let dirs = std::fs::read_dir(bed.path()).unwrap().flatten();
        dirs.map(|dir| dir.path().join("run/ground"))
            .any(|path| path.exists())
    });
    crate::bed::signal(&child, "-INT");
    let done: crate::bed::Done = child.wait_with_output().unwrap().into();
    done.code(130)
        .err_has(&["interrupted: nothing was measured, and no run is kept"]);
    assert_eq!(bed.listed().len(), 0);
}

#[test]
fn a_budget_for_too_few_rounds_is_said() {
    let bed = Bed::new();
    let done = bed
        .run(&["run", "selftest.sleep", "--full", "--budget", "1s"])
        .code(0);
    done.out_has(&["only"]);
}

#[test]
fn a_known_series_gives_its_median_and_the_interval_of_its_ranks() {
    let bed = Bed::new();
    bed.replay("r", "100,101,99,100,102,98,103,101,97");
    let text = bed.run(&["show", "r", "--json"]).code(0).out;
    let document: Value = serde_json::from_str(&text).unwrap();
    let metric = &document["metrics"][0];
    assert_eq!(metric["id"], "selftest.replay@1:ops_per_s");
    assert_eq!(metric["estimate"], 100.0);
    // Nine values: ranks 2 and 8 of the sorted series.
    assert_eq!(
        (&metric["lo"], &metric["hi"]),
        (&98.0.into(), &102.0.into())
    );
    assert_eq!(metric["n"], 9);
    assert_eq!(document["run"]["complete"], true);
}

#[test]
fn a_profile_of_the_users_own_is_read_from_its_file() {
    let bed = Bed::new();
    let text = "title = 'mine'\ntests = ['selftest.replay']\npasses = 6\ncopies = ['1', '3']";
    std::fs::write(bed.path().join("mine.toml"), text).unwrap();
    bed.run(&["run", "mine.toml"])
        .code(0)
        .out_has(&["selftest.replay@3"]);
    // The name of one of ours does not get in the way.
    std::fs::write(bed.path().join("quick.toml"), text).unwrap();
    bed.run(&["run", "quick.toml", "--dry-run"])
        .code(0)
        .out_has(&["2 cases"]);
    std::fs::write(bed.path().join("bad.toml"), "tests = 3").unwrap();
    bed.run(&["run", "bad.toml"]).code(2).err_has(&["bad"]);
}

#[test]
fn a_target_spends_rounds_where_they_are_needed_and_stops_at_looks() {
    let bed = Bed::new();
    let series = |label: &str, series: &str| {
        let set = format!("selftest.replay.series={series}");
        let args = [
            "run",
            "selftest.replay",
            "--target",
            "2%",
            "--label",
            label,
            "--set",
            &set,
        ];
        let done = bed.run(&args).code(0);
        (cases_in_order(&exported(&bed, label)).len(), done.out)
    };
    let (quiet, text) = series("quiet", "100,100.1,99.9,100.2,99.8,100");
    assert_eq!(quiet, 6, "narrow enough at the first look");
    assert!(!text.contains("asked for"), "{text}");
    let (noisy, _) = series(
        "noisy",
        "100,103,97,101,99,104,96,100,102,98,100,103,97,101,99",
    );
    assert!([9, 13, 19, 28].contains(&noisy), "{noisy}");
    let (hopeless, text) = series("hopeless", "100,200,50,170,60,230,80,150,90");
    assert_eq!(hopeless, 9, "nothing is given up before the second look");
    let words: Vec<&str> = text.split_whitespace().collect();
    let said = words.join(" ");
    for sentence in [
        "1 case was given up (selftest.replay@1)",
        "even 28 rounds",
        "the 2.0 % asked for",
        "more time does not change that",
        "`kurabe soak selftest.replay --copies 1 --for 10m`",
    ] {
        assert!(said.contains(sentence), "`{sentence}` is not in: {text}");
    }
    assert!(!said.contains("budget"), "{text}");
}

#[test]
fn a_budget_that_cannot_hold_the_passes_says_what_happens() {
    let bed = Bed::new();
    let plan = ["run", "selftest.sleep", "--budget", "2s", "--passes", "20"];
    let dry: Vec<&str> = plan.iter().copied().chain(["--dry-run"]).collect();
    let shown = bed.run(&dry).code(0);
    shown.out_has(&[
        "up to 20 ",
        "the budget of 2 s is over before 20 passes",
        "the run ends there",
        "1 case, about 2 s",
    ]);
    bed.run(&plan)
        .code(0)
        .err_has(&["the budget of 2 s is over before 20 passes"]);
    let enough = ["run", "selftest.replay", "--budget", "1m", "--passes", "6"];
    let dry: Vec<&str> = enough.iter().copied().chain(["--dry-run"]).collect();
    let text = bed.run(&dry).code(0).out;
    assert!(
        !text.contains("budget") && !text.contains("up to"),
        "{text}"
    );
    assert!(text.contains("selftest.replay@1  6 "), "{text}");
}

#[test]
fn a_plan_without_intervals_says_so_and_whose_budget_it_has() {
    let bed = Bed::new();
    let plan = |args: &[&str]| {
        let all: Vec<&str> = ["run"]
            .iter()
            .chain(args)
            .chain(&["--dry-run"])
            .copied()
            .collect();
        bed.run(&all).code(0).out
    };
    let few = plan(&["selftest.replay", "--passes", "3"]);
    assert!(
        few.contains("note: 3 passes have no 95 % interval: it takes 6"),
        "{few}"
    );
    assert!(!plan(&["selftest.replay", "--passes", "6"]).contains("note:"));
    // What is left out does not pretend that the rest fits, and each time says what it is for.
    let fits = plan(&["memory", "--budget", "1m"]);
    assert!(
        fits.contains("left out: memory.loaded-25 and ") && !fits.contains("note:"),
        "{fits}"
    );
    assert_eq!(fits.matches("`--budget ").count(), 1, "{fits}");
    let short = plan(&["cpu.*", "memory", "--budget", "10s"]);
    assert!(
        short.contains("(no time within 10s; hint: `--budget "),
        "{short}"
    );
    assert!(
        short.contains("6 passes of what is not left out take about"),
        "{short}"
    );
    assert!(short.contains("s` has room"), "{short}");
    assert!(!short.contains("of the profile"), "{short}");
    let all = plan(&["selftest.replay", "--budget", "2m"]);
    assert!(all.contains("about ") && all.contains(" rounds  "), "{all}");
}

#[test]
fn times_and_shares_are_refused_without_their_unit() {
    let bed = Bed::new();
    for (option, value) in [("--budget", "10"), ("--target", "2")] {
        let args = ["run", "selftest.replay", option, value, "--dry-run"];
        bed.run(&args).code(2).err_has(&["expected a"]);
    }
    let set = "selftest.sleep.op=10";
    bed.run(&["run", "selftest.sleep", "--set", set, "--dry-run"])
        .code(2)
        .err_has(&["with its unit"]);
}

#[test]
fn a_usage_line_asks_for_no_store_where_the_environment_names_one() {
    let bed = Bed::new();
    let said = bed.run(&["run", "--no-such-option"]).code(2).err;
    assert!(
        said.contains("Usage") && !said.contains("--store"),
        "{said}"
    );
    // The variable still counts, and the option before it.
    bed.run(&["run", "selftest.replay", "--passes", "1"])
        .code(0);
    assert!(bed.store().exists());
    bed.run(&["run", "selftest.replay", "--passes", "1", "--store", "x.db"])
        .code(0);
    assert!(bed.path().join("x.db").exists());
}

#[test]
fn one_case_is_one_case() {
    let bed = Bed::new();
    bed.run(&["run", "selftest.replay", "--passes", "1"])
        .code(0);
    let run = &bed.listed()[0];
    assert_eq!((&run["cases"], &run["rounds"]), (&1.into(), &1.into()));
    let planned = bed.run(&["run", "selftest.replay", "--passes", "1", "--dry-run"]);
    planned
        .code(0)
        .out_has(&["1 case, ", "selftest.replay@1  1  "]);
    bed.run(&["run", "selftest.replay", "--label", "a,b"])
        .code(2)
        .err_has(&["a comma separates"]);
}

#[test]
fn on_a_terminal_a_run_says_how_far_it_has_come() {
    let bed = Bed::new();
    let run = ["run", "selftest.sleep", "--copies", "1", "--passes", "3"];
    let said = |more: &[&str]| bed.on_terminal(&[&run[..], more].concat(), "").code(0);
    said(&[]).out_has(&["pass 2 of 3, ", " s left", "selftest.sleep@1"]);
    said(&["--lang", "ja"]).out_has(&["3 巡中 2 巡目、", "残り "]);
    let quiet = said(&["--quiet"]).out;
    assert!(!quiet.contains("pass 2"), "{quiet}");
}

#[test]
fn the_first_lines_stand_alone_and_on_every_page_and_all_of_it_is_asked_for() {
    let bed = Bed::new();
    bed.replay("one", "100,101,99,100,102,98,100,101,99");
    let show = |args: &[&str]| bed.run(&[&["show", "one"], args].concat());
    let [short, usual, full] =
        [&["--format", "short"][..], &[], &["--full"]].map(|args| show(args).code(0).out);
    assert!(short.lines().count() <= 10, "{short}");
    assert!(
        usual.starts_with(&short) && full.starts_with(&short),
        "{usual}{full}"
    );
    assert!(
        !usual.contains("\nkernel ") && full.contains("\nkernel "),
        "{full}"
    );
    let pasted = show(&["--format", "short-markdown"]).code(0).out;
    assert!(
        pasted.starts_with("## one\n") && pasted.lines().count() <= 12,
        "{pasted}"
    );
    let markdown = show(&["--full", "--format", "markdown"]).code(0).out;
    assert!(markdown.contains("\n- kernel: "), "{markdown}");
    // Nothing that is asked for is passed over.
    for format in ["csv", "json", "short"] {
        show(&["--full", "--format", format])
            .code(2)
            .err_has(&["`--full` is for pages"]);
    }
    let planned = bed.run(&["run", "selftest.replay", "--full", "--dry-run"]);
    planned.code(2).err_has(&["it has no figures"]);
}

#[test]
fn passes_that_are_spread_over_a_time_have_rests_between_them_and_go_on_after_a_kill() {
    let bed = Bed::new();
    let args = [
        "run",
        "selftest.replay",
        "--passes",
        "3",
        "--spread",
        "6s",
        "--quiet",
    ];
    let mut child = bed.start(&args);
    crate::bed::eventually(20, || bed.rounds() == 1);
    crate::bed::signal(&child, "-KILL");
    child.wait().unwrap();
    bed.run(&["run", "--resume", "latest", "--quiet"]).code(0);
    let kept = bed.run(&["show", "--json"]).code(0).out;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["run"]["plan"]["spread_ns"], 6_000_000_000_u64);
    let kept = bed.run(&["export", "latest"]).code(0).out;
    let kept: serde_json::Value = serde_json::from_str(&kept).unwrap();
    let rounds = kept["run"]["rounds"].as_array().unwrap();
    let began = rounds
        .iter()
        .map(|round| round["started"].as_u64().unwrap());
    let began: Vec<u64> = began.collect();
    assert_eq!(began.len(), 3);
    // A rest ends 2 s after the pass before it began, and its first round begins some milliseconds later, of one pass
    // more than of another.
    for (began_after, passes) in began.iter().map(|at| at - began[0]).zip(0..) {
        assert!(began_after >= passes * 2_000_000_000, "{began:?}");
    }
}

#[test]
fn passes_that_take_longer_than_their_time_are_refused_and_the_plan_tells_it() {
    let bed = Bed::new();
    let spread = |time| ["run", "os.pipe", "--spread", time, "--dry-run"];
    bed.run(&spread("2s"))
        .code(2)
        .err_has(&["spread the passes over 2 s", "`--spread 6s` is the least"]);
    bed.run(&spread("2h")).code(0).out_has(&["about 2 h"]);
    bed.run(&["run", "os.pipe", "--spread", "2h", "--budget", "1m"])
        .code(2);
}
