//! What is shown of runs that ask how they scale.

use crate::lang::Lang;
use crate::page::Cell;
use crate::page::run::tests::columns;
use crate::style::Style;
use crate::testkit::{self, OPS, Quantity, markdown};
use crate::view::view;
use model::host::Fact;
use model::params::ParamValue;
use model::record::{Outcome, Run};
use model::spec::Better;
use model::units::{Bytes, Nanos, Unit};

/// A test that does so many times one copy's work at each number of copies.
fn run(cpus: u32, speedups: &[(u32, f64)]) -> Run {
    let mut run = testkit::empty();
    run.host.limits.cpus_allowed = Fact::Known(cpus);
    run.host.limits.cpu_quota = Fact::Known(None);
    run.host.cpu.online = Fact::Known(cpus);
    run.host.cpu.threads_per_core = Fact::Known(1);
    for &(copies, speedup) in speedups {
        let case = testkit::add_case(&mut run, "cpu.sort", copies, "off", &[OPS]);
        run.plan.cases.last_mut().unwrap().implementation = Some("portable".to_owned());
        for (pass, level) in (1..).zip(testkit::six_around(1000.0 * speedup)) {
            testkit::add_round(&mut run, &case, pass, Ok(&[("ops_per_s", level)]));
            share_cpus(&mut run, cpus, level);
        }
    }
    run
}

const MEAN: Quantity = Quantity("lat_ns_mean", Unit::Nanoseconds, Better::Lower);
const P95: Quantity = Quantity("lat_ns_p95", Unit::Nanoseconds, Better::Lower);

/// A test of threads like sysbench's: one worker, events that take 0.9 ms alone, and no 95th percentile at one thread.
fn events(cpus: u32, threads: &[u32]) -> Run {
    let mut run = run(cpus, &[]);
    for &copies in threads {
        let case = testkit::add_case(&mut run, "os.threads", copies, "off", &[OPS, MEAN, P95]);
        let planned = run.plan.cases.last_mut().unwrap();
        planned.shape.threads = true;
        let at_once = f64::from(copies.min(cpus));
        let mean = 0.9e6 * f64::from(copies) / at_once;
        for (pass, level) in (1..).zip(testkit::six_around(1.0)) {
            let values = [
                ("ops_per_s", 1e9 / 0.9e6 * at_once * level),
                ("lat_ns_mean", mean / level),
                ("lat_ns_p95", 3.0 * mean / level),
            ];
            let told = if copies == 1 { 2 } else { 3 };
            testkit::add_round(&mut run, &case, pass, Ok(&values[..told]));
            let Outcome::Done(measured) = &mut run.rounds.last_mut().unwrap().outcome else {
                panic!()
            };
            measured.copies.truncate(1);
            measured.copies[0].work = values[0].1 / 2.0;
            measured.copies[0].user = Nanos(model::num::round_to_u64(5e8 * at_once));
            measured.copies[0].system = Nanos::ZERO;
        }
    }
    run
}

/// Gives each copy of the last round its part of the work, and of the CPUs where there are fewer.
fn share_cpus(run: &mut Run, cpus: u32, rate: f64) {
    let round = run.rounds.last_mut().unwrap();
    let copies = round.case.copies;
    let on_cpu = f64::from(cpus.min(copies)) / f64::from(copies);
    let Outcome::Done(measured) = &mut round.outcome else {
        panic!()
    };
    for copy in &mut measured.copies {
        copy.work = rate / 2.0 / f64::from(copies);
        copy.user = Nanos(model::num::round_to_u64(5e8 * on_cpu));
        copy.system = Nanos::ZERO;
    }
}

/// Serial share 5 %, no cost of pairs.
fn amdahl(n: u32) -> (u32, f64) {
    (n, f64::from(n) / (1.0 + 0.05 * f64::from(n - 1)))
}

fn shown(run: &Run, width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    testkit::text(&view(run), style, lang)
}

#[test]
fn a_chart_and_the_law() {
    let run = run(8, &[amdahl(1), amdahl(2), amdahl(4), amdahl(8), (16, 5.9)]);
    insta::assert_snapshot!("scaling_en", shown(&run, 100, Lang::En));
    insta::assert_snapshot!("scaling_ja", shown(&run, 100, Lang::Ja));
    insta::assert_snapshot!("scaling_markdown", markdown(&view(&run), Lang::En));
}

#[test]
fn the_times_of_events_stand_beside_the_rates() {
    let run = events(2, &[1, 2, 4, 8, 16]);
    for (width, lang) in [(120, Lang::En), (80, Lang::En), (80, Lang::Ja)] {
        let name = format!(
            "scaling_events_{}_{width}",
            format!("{lang:?}").to_lowercase()
        );
        insta::assert_snapshot!(name, block(&shown(&run, width, lang)));
    }
    let page = markdown(&view(&run), Lang::En);
    insta::assert_snapshot!("scaling_events_markdown", block(&page));
    for (lang, bars, on_cpu, percentile) in [
        (Lang::En, "# reached, . lost", "on CPU: ", "p95: "),
        (Lang::Ja, "# は到達、. は損失", "CPU 上: ", "p95: "),
    ] {
        // Columns are explained where there are any.
        for (width, wide) in [(120, true), (80, false), (60, false)] {
            let text = shown(&run, width, lang);
            assert_eq!(text.contains(bars), wide, "{text}");
            assert_eq!(text.contains(on_cpu), wide, "{text}");
            assert!(text.contains(percentile), "{text}");
        }
    }
    for width in [60, 80, 100, 120] {
        for lang in Lang::ALL {
            for line in block(&shown(&run, width, lang)).lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
}

/// What a page says of scaling, from its heading to what comes behind.
fn block(page: &str) -> String {
    let lines = page.lines().skip_while(|line| {
        !["scaling", "### scaling", "スケーリング"]
            .iter()
            .any(|head| line.starts_with(head))
    });
    let lines = lines.take_while(|line| {
        !["next", "次に", "### "]
            .iter()
            .any(|next| line.starts_with(next) && !line.starts_with("### scaling"))
    });
    lines.collect::<Vec<&str>>().join("\n")
}

#[test]
fn two_cpus_say_what_two_cpus_can_say() {
    let text = shown(&run(2, &[(1, 1.0), (2, 1.9), (4, 1.88)]), 100, Lang::En);
    for part in [
        "it scales: at all CPUs at least 90 %",
        "its three figures need 3 concurrencies",
        "###################.\n",
        "4^",
        "they take turns on 2 CPUs",
        "code that ran",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn why_there_is_no_law_is_said_once_where_it_is_the_same_of_all_tests() {
    let check = |others: &[(u32, f64)], lost: u32, expect: &[(&str, usize)]| {
        let mut run = run(8, &[(1, 1.0), (2, 1.9), (16, 7.0)]);
        let mut more = self::run(8, others);
        for case in &mut more.plan.cases {
            "cpu.other".clone_into(&mut case.id.test);
        }
        more.rounds.retain(|round| round.case.copies != lost);
        for round in &mut more.rounds {
            "cpu.other".clone_into(&mut round.case.test);
        }
        run.plan.cases.append(&mut more.plan.cases);
        run.rounds.append(&mut more.rounds);
        let text = shown(&run, 300, Lang::En);
        for (part, times) in expect {
            assert_eq!(text.matches(part).count(), *times, "{part}: {text}");
        }
    };
    let [one, two] = ["here are 1", "here are 2"];
    let few = [(1, 1.0), (2, 1.8), (16, 7.0)];
    check(&few, 0, &[(two, 1), (one, 0)]);
    check(&few, 2, &[(two, 1), (one, 1)]);
    let with_law = [1, 2, 4, 8].map(amdahl);
    check(&with_law, 0, &[(two, 1), ("Law, 4 steps", 1)]);
}

#[test]
fn a_rate_of_zero_is_at_odds_with_nothing() {
    let run = run(8, &[(1, 1.0), (2, 1.9), (4, 3.5)]);
    let view = view(&run);
    let at_odds = |spoil: fn(&mut stats::scaling::Scaling)| {
        let mut scaling = view.scaling[0].clone();
        spoil(&mut scaling);
        super::is_at_odds(&scaling)
    };
    assert!(!at_odds(|_| ()));
    assert!(at_odds(|of| of.steps[1].rate.as_mut().unwrap().value *= 2.0));
    assert!(!at_odds(|of| of.steps[0].rate.as_mut().unwrap().value = 0.0));
    assert!(!at_odds(
        |of| of.steps[1].speedup.as_mut().unwrap().value = 0.0
    ));
}

#[test]
fn the_block_fits_the_terminal() {
    let mut run = run(8, &[1, 2, 4, 8].map(amdahl));
    // With a name that is too long for a line.
    let sizes = |bytes| {
        ["first_parameter", "second_parameter", "third_parameter"]
            .map(|name| (name.to_owned(), ParamValue::Size(Bytes(bytes))))
    };
    for case in &mut run.plan.cases {
        case.params = sizes(512 << 20).into_iter().collect();
        case.in_place_of = sizes(32 << 20).into_iter().collect();
    }
    for width in [60, 80, 100, 120] {
        for lang in Lang::ALL {
            for line in shown(&run, width, lang).lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn the_document_has_the_figures() {
    let run = run(8, &[1, 2, 4, 8].map(amdahl));
    let text = crate::json::run(&view(&run));
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let scaling = &document["scaling"][0];
    assert_eq!(scaling["test"], "cpu.sort");
    assert_eq!(scaling["steps"][3]["concurrency"], 8);
    let sigma = scaling["fit"]["serial_share"]["estimate"].as_f64().unwrap();
    assert!((sigma - 0.05).abs() < 0.005, "{sigma}");
    assert!(scaling["fit"]["refused"].is_null());
    assert_eq!(
        document["run"]["plan"]["cases"][0]["implementation"],
        "portable"
    );
    assert!(scaling["steps"][3]["event_mean_ns"].is_null());
    let events: serde_json::Value =
        serde_json::from_str(&crate::json::run(&view(&events(2, &[1, 2, 4])))).unwrap();
    let steps = &events["scaling"][0]["steps"];
    let mean = steps[2]["event_mean_ns"]["estimate"].as_f64().unwrap();
    assert!((mean / 1.8e6 - 1.0).abs() < 0.001, "{mean}");
    assert!(steps[1]["event_p95_ns"]["estimate"].as_f64().unwrap() > 2.6e6);
    assert!(steps[0]["event_p95_ns"].is_null());
    assert_eq!(steps[2]["on_cpu_share"], 0.5);
    let ordinary = crate::json::run(&view(&testkit::normal()));
    let ordinary: serde_json::Value = serde_json::from_str(&ordinary).unwrap();
    assert_eq!(ordinary["scaling"], serde_json::json!([]));
}

#[test]
fn the_interval_stands_beside_what_it_is_one_of() {
    let run = run(8, &[amdahl(1), amdahl(2), amdahl(4), amdahl(8)]);
    for (lang, [speedup, interval, per_cpu]) in [
        (Lang::En, ["speed-up", "95 % interval", "per CPU"]),
        (Lang::Ja, ["倍率", "95 % 信頼区間", "CPU あたり"]),
    ] {
        let text = shown(&run, 140, lang);
        let head = text
            .lines()
            .find(|line| line.contains(per_cpu) && line.contains(speedup));
        let head = head.unwrap_or_else(|| panic!("{text}"));
        let behind = head.split_once(speedup).unwrap().1.trim_start();
        assert!(behind.starts_with(interval), "{head}");
    }
}

#[test]
fn what_has_no_level_is_marked_and_so_is_what_is_held_against_it() {
    let mut steady = run(2, &[(1, 1.0), (2, 2.0), (4, 2.0)]);
    let unmarked = shown(&steady, 140, Lang::En);
    assert!(!unmarked.contains('~'), "{unmarked}");
    // Rounds of two copies that have no single number.
    for (round, rate) in steady
        .rounds
        .iter_mut()
        .filter(|round| round.case.copies == 2)
        .zip([900.0, 2900.0, 1200.0, 2500.0, 1500.0, 2100.0])
    {
        let Outcome::Done(measured) = &mut round.outcome else {
            panic!()
        };
        measured.values.insert("ops_per_s".to_owned(), rate);
        measured.windows = vec![rate; 5];
    }
    let marks = |run: &Run, copies: &str| {
        let text = shown(run, 140, Lang::En);
        let block = text.split("\nscaling\n").nth(1).unwrap();
        let mut rows = block.lines().map(str::trim_start);
        let row = rows.find(|row| row.split_whitespace().next() == Some(copies));
        row.unwrap_or_else(|| panic!("{text}")).matches('~').count()
    };
    assert_eq!(
        [
            marks(&steady, "1"),
            marks(&steady, "2"),
            marks(&steady, "4^")
        ],
        [0, 3, 0]
    );
    for (lang, says) in [
        (Lang::En, "~ stands before what"),
        (Lang::Ja, "~ の付いた値は"),
    ] {
        assert!(shown(&steady, 140, lang).contains(says));
        let page = markdown(&view(&steady), lang);
        assert!(page.contains(&format!("\\{says}")), "{page}");
    }
}

#[test]
fn a_time_of_events_without_a_level_is_marked_by_itself() {
    let mut run = events(2, &[1, 2, 4]);
    for (round, p95) in run
        .rounds
        .iter_mut()
        .filter(|round| round.case.copies == 2)
        .zip([1.1e6, 9.0e6, 1.9e6, 7.5e6, 2.5e6, 4.0e6])
    {
        let Outcome::Done(measured) = &mut round.outcome else {
            panic!()
        };
        measured.values.insert("lat_ns_p95".to_owned(), p95);
    }
    let view = view(&run);
    let marked = |cell: &Cell| matches!(cell, Cell::Text(text) if text.text.starts_with('~'));
    let table = super::table(&view, &view.scaling[0], super::Layout::Wide, Lang::En);
    let rows = table.rows.iter();
    let marked: Vec<Vec<bool>> = rows.map(|row| row.iter().map(marked).collect()).collect();
    let none = vec![false; 10];
    let mut p95 = none.clone();
    p95[3] = true;
    assert_eq!(marked, [none.clone(), p95, none]);
    assert!(shown(&run, 140, Lang::En).contains("~ stands before what"));
}
