//! Comparisons of groups, what every verdict is about, and what is said where values do not compare.

use crate::bed::Bed;
use serde_json::Value;

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

/// A kept copy of the run `from` under another label, changed by `change`: this stands for another machine.
pub(crate) fn copy(bed: &Bed, from: &str, label: &str, change: impl Fn(&mut Value)) {
    let text = bed.run(&["export", from]).code(0).out;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let run = &mut document["run"];
    run["meta"]["id"] = format!("20200101-000000-{label}").into();
    run["meta"]["label"] = label.into();
    change(run);
    let file = format!("{label}.json");
    std::fs::write(bed.path().join(&file), document.to_string()).unwrap();
    bed.run(&["import", &file]).code(0);
}

pub(crate) fn on_machine(run: &mut Value, machine: &str) {
    run["host"]["identity"]["machine"] = serde_json::json!({ "value": machine, "missing": null });
}

/// Neither the installation nor the boot is known.
fn on_hidden_machine(run: &mut Value) {
    let hidden = serde_json::json!({ "value": null, "missing": "hidden" });
    run["host"]["identity"] = serde_json::json!({ "machine": hidden, "boot": hidden });
}

#[test]
fn a_comparison_trusts_a_run_as_far_as_its_own_page_does() {
    let bed = Bed::new();
    bed.replay("server-a", "100,101,99,100,102,98,100,101,99");
    copy(&bed, "server-a", "b", |run| {
        on_machine(run, "b");
        run["meta"]["warnings"] = serde_json::json!([]);
        for (place, round) in (0..).zip(run["rounds"].as_array_mut().unwrap()) {
            let adds = if place < 3 { 4.0 } else { 1.0 };
            let probe = serde_json::json!({
                "add_ns": 0.3, "gap_share": 0.0, "gap_max": 0, "adds_per_cycle": adds
            });
            round["noise"] = serde_json::json!({ "before": probe, "after": probe });
        }
    });
    let alone = bed.run(&["show", "b"]).code(0);
    alone.out_has(&["the same core in 6 of 9 rounds"]);
    let both = bed.run(&["compare", "server-a", "b"]);
    both.out_has(&["b DISTURBED: the same core in 6 of 9 rounds"]);
}

pub(crate) fn times(run: &mut Value, factor: f64) {
    for round in run["rounds"].as_array_mut().unwrap() {
        let done = &mut round["outcome"]["done"];
        let value = &mut done["values"]["ops_per_s"];
        *value = (value.as_f64().unwrap() * factor).into();
        for window in done["windows"].as_array_mut().unwrap() {
            *window = (window.as_f64().unwrap() * factor).into();
        }
    }
}

fn compared(bed: &Bed, base: &str, other: &str) -> Value {
    let args = ["compare", base, other, "--format", "json"];
    let done = bed.run(&args);
    // 4 where nothing could be compared.
    assert!([Some(0), Some(4)].contains(&done.code), "{done:?}");
    serde_json::from_str(&done.out).unwrap()
}

/// Six instances of each of two plans, the second 20 % faster; `a0` to `a5` and `b0` to `b5`.
fn fleets(bed: &Bed) {
    bed.replay("base", SERIES);
    for i in 0..6_u8 {
        let spread = 1.0 + 0.005 * f64::from(i);
        for (plan, level) in [("a", 1.0), ("b", 1.2)] {
            let label = format!("{plan}{i}");
            copy(bed, "base", &label, |run| {
                times(run, level * spread);
                on_machine(run, &label);
            });
        }
    }
}

#[test]
fn five_instances_a_side_compare_plans() {
    let bed = Bed::new();
    fleets(&bed);
    let document = compared(&bed, "a0,a1,a2,a3,a4", "b0,b1,b2,b3,b4,b5");
    let other = &document["others"][0];
    assert_eq!(other["scope"]["place"], "this_plan");
    assert_eq!(document["base_group"].as_array().unwrap().len(), 5);
    assert_eq!(other["group"].as_array().unwrap().len(), 6);
    let metric = &other["metrics"][0];
    assert_eq!(metric["verdict"], "better");
    assert_eq!(other["scope"]["text"], "this plan (5 and 6 instances)");
    assert_eq!(
        (&metric["n"]["base"], &metric["n"]["other"]),
        (&5.into(), &6.into())
    );
    let text = bed
        .run(&["compare", "a0,a1,a2,a3,a4", "b0,b1,b2,b3,b4"])
        .code(0);
    text.out_has(&[
        "b0 and 4 more against a0 and 4 more",
        "\n  this plan (5 and 5 instances); ",
        "\"a4\"",
    ]);
    let japanese = [
        "compare",
        "a0,a1,a2,a3,a4",
        "b0,b1,b2,b3,b4",
        "--lang",
        "ja",
    ];
    bed.run(&japanese)
        .code(0)
        .out_has(&["このプラン（5 台と 5 台）"]);
    let markdown = [
        "compare",
        "a0,a1,a2,a3,a4",
        "b0,b1,b2,b3,b4",
        "--format",
        "markdown",
    ];
    bed.run(&markdown)
        .code(0)
        .out_has(&["; this plan (5 and 5 instances); "]);
}

#[test]
fn fewer_than_five_instances_say_what_to_run() {
    let bed = Bed::new();
    fleets(&bed);
    let done = bed
        .run(&["compare", "--full", "a0,a1,a2,a3", "b0,b1,b2,b3,b4"])
        .code(4)
        .err_has(&["nothing could be compared"]);
    let done = done.out_has(&[
        "these 4 and 5 runs, no plan",
        "unclear",
        "at least 5 instances a side",
        "without an interval",
        "kurabe run selftest.replay --copies 1",
    ]);
    // The counts are those of the lists, and nothing that has a ratio is called not compared.
    assert!(!done.out.contains("not compared") && !done.out.contains("about 5"));
    let gate = ["compare", "a0,a1", "b0,b1", "--fail-if", "worse"];
    bed.run(&gate).code(4);
}

#[test]
fn the_same_instance_twice_is_no_plan() {
    let bed = Bed::new();
    fleets(&bed);
    copy(&bed, "a4", "again", |run| on_machine(run, "a3"));
    let done = bed
        .run(&["compare", "--full", "a0,a1,a2,a3,again", "b0,b1,b2,b3,b4"])
        .code(0);
    done.out_has(&[
        "these 5 and 5 runs, no plan",
        "base: a3, again come from one instance",
    ]);
    copy(&bed, "a4", "old", on_hidden_machine);
    let document = compared(&bed, "a0,a1,a2,a3,old", "b0,b1,b2,b3,b4");
    assert_eq!(document["others"][0]["scope"]["place"], "these_runs");
    assert_eq!(document["others"][0]["repeats"][0]["sure"], false);
    let twice = ["compare", "a0,a1,a2,a3,a0", "b0,b1,b2,b3,b4"];
    bed.run(&twice).code(2).err_has(&["names the run", "twice"]);
    let both = ["compare", "a0,a1,a2,a3,a4", "b0,b1,b2,b3,a0"];
    bed.run(&both)
        .code(2)
        .err_has(&["both name the run `20200101-000000-a0`", "hint: "]);
    bed.run(&["compare", ",", "b0"])
        .code(2)
        .err_has(&["names no run"]);
    bed.run(&["compare", "a0,nobody", "b0"])
        .code(2)
        .err_has(&["nobody"]);
}

#[test]
fn a_label_with_a_comma_from_elsewhere_is_one_run() {
    let bed = Bed::new();
    bed.replay("plain", SERIES);
    // Commands and imports refuse such a label; a store that another program wrote may have it.
    let text = bed.run(&["export", "plain"]).code(0).out;
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let run = &mut document["run"];
    run["meta"]["id"] = "20200101-000000-aaaa".into();
    run["meta"]["label"] = "nvme, raid".into();
    let run = serde_json::from_value(run.take()).unwrap();
    let store = store::Store::open(&bed.store()).unwrap();
    assert!(store.import(&run).unwrap());
    drop(store);
    let document = compared(&bed, "nvme, raid", "plain");
    assert_eq!(document["base"]["label"], "nvme, raid");
    assert_eq!(document["base_group"], serde_json::json!([]));
}

#[test]
fn every_verdict_says_what_it_is_about() {
    let bed = Bed::new();
    bed.replay("one", SERIES);
    bed.replay("two", SERIES);
    // In a container neither file may exist; then no run says where it was made.
    let place = |base: &str, other: &str| {
        let document = compared(&bed, base, other);
        document["others"][0]["scope"]["place"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    copy(&bed, "one", "here", |run| on_machine(run, "m"));
    copy(&bed, "two", "there", |run| on_machine(run, "n"));
    copy(&bed, "two", "nowhere", on_hidden_machine);
    copy(&bed, "two", "here-too", |run| on_machine(run, "m"));
    assert_eq!(place("here", "here-too"), "this_instance");
    assert_eq!(place("here", "there"), "these_two_instances");
    assert_eq!(place("here", "nowhere"), "these_two_runs");
    bed.run(&["compare", "here", "there"])
        .code(0)
        .out_has(&["there against here", "\n  these two instances, "]);
    let shown = bed.run(&["show", "here", "--json"]).code(0).out;
    let document: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(document["scope"]["place"], "this_instance");
}

#[test]
fn what_does_not_compare_names_the_command_that_helps() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    let said = |label: &str, change: &dyn Fn(&mut Value), expect: &[&str]| {
        copy(&bed, "base", label, change);
        // Markdown does not break lines.
        let args = ["compare", "--full", "base", label, "--format", "markdown"];
        let done = bed.run(&args).out_has(expect);
        // 4 where the case has no other metric that compares.
        assert!([Some(0), Some(4)].contains(&done.code), "{done:?}");
        let ja = bed.run(&[&args[..], &["--lang", "ja"]].concat());
        ja.out_has(&["kurabe run selftest.replay --copies 1"]);
    };
    let run = "kurabe run selftest.replay --copies 1";
    let keep = |n: usize| move |run: &mut Value| run["rounds"].as_array_mut().unwrap().truncate(n);
    said(
        "single",
        &keep(1),
        &["9 and 1", "single figure", "on the other side", run],
    );
    said(
        "few",
        &keep(5),
        &["9 and 5", "each side needs 6", "unclear"],
    );
    let value = |value: f64| {
        move |run: &mut Value| {
            run["rounds"][3]["outcome"]["done"]["values"]["ops_per_s"] = value.into();
        }
    };
    said(
        "zero",
        &value(0.0),
        &["zero, negative or missing", "csv-rounds", run],
    );
    said(
        "negative",
        &value(-5.0),
        &["zero, negative or missing", run],
    );
    let version = |run: &mut Value| run["plan"]["cases"][0]["workload_version"] = 2.into();
    said("newer", &version, &["(1 and 2)", "the same kurabe", run]);
    let renamed = |run: &mut Value| {
        run["plan"]["cases"][0]["id"] = "selftest.replay@2".into();
        for round in run["rounds"].as_array_mut().unwrap() {
            round["case"] = "selftest.replay@2".into();
        }
    };
    let one_side = [
        "only the base has it",
        "only the other run has it",
        run,
        "--copies 2",
    ];
    said("wider", &renamed, &one_side);
    bed.replay("other", "5,6");
    let document = compared(&bed, "base", "other");
    let why = &document["others"][0]["metrics"][0]["missing"];
    assert_eq!(why["kind"], "parameters");
    let text = why["text"].as_str().unwrap();
    assert!(
        text.contains(&format!("--set selftest.replay.series={SERIES} --passes 9")),
        "{text}"
    );
}

#[test]
fn slow_moments_are_told_where_the_typical_rate_hides_them() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    let windows = |slow: f64| {
        move |run: &mut Value| {
            for round in run["rounds"].as_array_mut().unwrap() {
                let done = &mut round["outcome"]["done"];
                let rate = done["values"]["ops_per_s"].as_f64().unwrap();
                let windows = [slow * rate, slow * rate, rate, rate, rate, rate, rate, rate];
                done["windows"] = windows.to_vec().into();
            }
        }
    };
    copy(&bed, "base", "even", windows(1.0));
    copy(&bed, "base", "stalls", windows(0.8));
    let args = [
        "compare", "--full", "even", "stalls", "--format", "markdown",
    ];
    bed.run(&args).code(0).out_has(&[
        "the verdict is same, but stalls's slow moments are 20 % slower",
        "25 %",
    ]);
    let document = compared(&bed, "even", "stalls");
    let metric = &document["others"][0]["metrics"][0];
    assert_eq!(
        (&metric["adjusted"], &metric["floor"]["adjusted"]),
        (&"same".into(), &"worse".into())
    );
    assert_eq!(metric["floor"]["slow_shares"]["other"], 0.25);
    copy(&bed, "even", "alike", |_| {});
    let quiet = bed.run(&["compare", "--full", "even", "alike"]).code(0).out;
    assert!(!quiet.contains("slow moments"), "{quiet}");
}

#[test]
fn a_given_margin_is_named_as_such() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    bed.replay("again", SERIES);
    let args = [
        "compare", "base", "again", "--margin", "7%", "--format", "json",
    ];
    let document: Value = serde_json::from_str(&bed.run(&args).code(0).out).unwrap();
    let metric = &document["others"][0]["metrics"][0];
    assert_eq!(
        (&metric["margin"], &metric["margin_source"]),
        (&0.07.into(), &"given".into())
    );
    let metric = &compared(&bed, "base", "again")["others"][0]["metrics"][0];
    assert_eq!(metric["margin_source"], "class");
}

#[test]
fn a_run_tells_the_noise_of_each_figure() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    copy(&bed, "base", "stolen", |run| {
        for (i, round) in run["rounds"].as_array_mut().unwrap().iter_mut().enumerate() {
            let share = if i < 3 { 0.2 } else { 0.0 };
            round["noise"]["steal_share"] = share.into();
            round["noise"]["throttled_share"] = Value::Null;
        }
    });
    let shown = bed.run(&["show", "stolen", "--json"]).code(0).out;
    let document: Value = serde_json::from_str(&shown).unwrap();
    let noise = &document["metrics"][0]["noise"];
    assert!(
        (noise["steal"].as_f64().unwrap() - 1.0 / 3.0).abs() < 1e-12,
        "{noise}"
    );
    assert_eq!(noise["throttled"], Value::Null);
    assert!(noise["clock_trouble"].is_number() || noise["clock_trouble"].is_null());
}

#[test]
fn a_figure_that_drains_is_warned_about() {
    let bed = Bed::new();
    bed.replay("draining", "100,98,96,94,92,90,88,86,84");
    bed.run(&["show", "draining"])
        .code(0)
        .out_has(&["from the earlier half", "let the machine rest"]);
    let ja = bed.run(&["show", "draining", "--lang", "ja"]).code(0);
    ja.out_has(&["しばらく休ませてから"]);
}

#[test]
fn a_run_is_not_compared_with_itself() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    bed.replay("other", SERIES);
    let export = bed.run(&["export", "base"]).code(0).out;
    std::fs::write(bed.path().join("base.json"), export).unwrap();
    for (base, other) in [
        ("base", "base"),
        ("base", "base.json"),
        ("latest", "latest~0"),
        ("base,other", "other,base"),
        ("base,other", "base"),
    ] {
        let done = bed.run(&["compare", base, other]).code(2);
        let done = done.err_has(&["both name the run", "same as itself", "hint: name another"]);
        assert_eq!(done.out, "");
    }
    bed.run(&["compare", "base", "other", "base"]).code(2);
}

#[test]
fn a_label_of_several_runs_says_which_was_taken() {
    let bed = Bed::new();
    for series in [SERIES, "90,91,89,90,92,88,90,91,89", SERIES] {
        bed.replay("web", series);
    }
    bed.replay("plain", SERIES);
    let runs = bed.run(&["list", "runs"]).code(0).out;
    let ids: Vec<&str> = runs
        .lines()
        .filter(|line| line.contains("web"))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(ids.len(), 3, "{runs}");
    let args = ["compare", "web", "plain", "--format", "markdown"];
    let page = bed.run(&args).code(0);
    page.out_has(&[ids[0], "the latest of 3 runs of that label"]);
    let ja = bed.run(&[&args[..], &["--lang", "ja"]].concat()).code(0);
    ja.out_has(&[ids[0], "このラベルの 3 件のうち最新"]);
    let document = compared(&bed, "web", "plain");
    // A list shows no more of an id than tells runs apart.
    let run = document["latest_of_label"][0]["run"].as_str().unwrap();
    assert!(run.ends_with(ids[0]), "{run}");
    let expect = serde_json::json!([{ "run": run, "runs": 3 }]);
    assert_eq!(document["latest_of_label"], expect);
    // Nothing is said where the run was named by what it alone has.
    let by_id = bed.run(&["compare", ids[0], "plain"]).code(0).out;
    assert!(!by_id.contains("of that label"), "{by_id}");
    let plain = compared(&bed, ids[1], "plain");
    assert_eq!(plain["latest_of_label"], serde_json::json!([]));
    // Whoever means two of them hears how to name the older one.
    let twice = bed.run(&["compare", "web", "web"]).code(2);
    twice.err_has(&["latest of 3 runs", "by its id", ids[1]]);
}

#[test]
fn rounds_without_a_single_level_are_marked_wherever_they_are_compared() {
    let bed = Bed::new();
    bed.replay("base", SERIES);
    let torn = "100,40,90,150,60,120,45,140,80";
    bed.replay("torn", torn);
    // The run by itself gives no value.
    let shown: Value =
        serde_json::from_str(&bed.run(&["show", "torn", "--json"]).code(0).out).unwrap();
    let own = &shown["metrics"][0];
    assert_eq!(
        (&own["state"], &own["estimate"]),
        (&"unstable".into(), &Value::Null)
    );
    // Other parameters would not compare: a copy has those of the base and the rounds of the other.
    let values: Vec<f64> = torn.split(',').map(|x| x.parse().unwrap()).collect();
    copy(&bed, "base", "wild", |run| {
        for (round, value) in run["rounds"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .zip(&values)
        {
            round["outcome"]["done"]["values"]["ops_per_s"] = (*value).into();
        }
    });
    let args = ["compare", "--full", "base", "wild", "--format", "markdown"];
    bed.run(&args).code(0).out_has(&[
        "\\~",
        "wild: no single level in selftest.replay@1 (unstable, spread",
        "what stands in the table is a mean",
    ]);
    let ja = bed.run(&[&args[..], &["--lang", "ja"]].concat()).code(0);
    ja.out_has(&["一つの水準に落ち着いていない", "表の値は平均"]);
    let other = &compared(&bed, "base", "wild")["others"][0];
    let metric = &other["metrics"][0];
    assert_eq!(metric["states"]["other"][0]["state"], own["state"]);
    assert_eq!(metric["states"]["other"][0]["spread"], own["spread"]);
    assert_eq!(other["estimator"], "trimmed_geometric_mean_of_rounds");
    let (a, b) = (
        metric["values"]["base"].as_f64(),
        metric["values"]["other"].as_f64(),
    );
    let quotient = b.unwrap() / a.unwrap();
    assert!((quotient - metric["ratio"].as_f64().unwrap()).abs() < 1e-12);
    assert_eq!(metric["medians"]["base"], 100.0);
}
