//! What stands on the terminal, in full, for runs of every kind.

use crate::lang::Lang;
use crate::style::Style;
use crate::testkit::{self, markdown, text};
use crate::view::view;
use model::record::Run;
use model::warning::Warning;
use proptest::prelude::*;

fn shown(run: &Run, width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    text(&view(run), style, lang)
}

#[test]
fn a_quiet_run() {
    insta::assert_snapshot!("run_en", shown(&testkit::normal(), 100, Lang::En));
}

#[test]
fn a_quiet_run_in_japanese() {
    insta::assert_snapshot!("run_ja", shown(&testkit::normal(), 100, Lang::Ja));
}

#[test]
fn failures_have_their_reasons_and_warnings_their_sentences() {
    insta::assert_snapshot!(
        "run_failures",
        shown(&testkit::with_failures(), 100, Lang::En)
    );
}

#[test]
fn an_interrupted_run_says_what_to_type() {
    insta::assert_snapshot!(
        "run_interrupted",
        shown(&testkit::interrupted(), 100, Lang::En)
    );
}

#[test]
fn narrow_terminals_get_two_lines_a_metric() {
    let text = shown(&testkit::with_failures(), 50, Lang::En);
    insta::assert_snapshot!("run_narrow", text);
}

/// A run like that of a storage profile: long names with nine quantities each.
fn many_metrics() -> Run {
    use testkit::{OPS, P99, Quantity};
    let latency = |name| Quantity(name, P99.1, P99.2);
    let metrics = [
        OPS,
        latency("clat_ns_mean"),
        latency("clat_ns_p50"),
        latency("clat_ns_p90"),
        P99,
        latency("clat_ns_p999"),
        latency("slat_ns_p50"),
        latency("lat_ns_p99"),
        latency("cpu_ns_per_op"),
    ];
    let mut run = testkit::empty();
    for (test, copies) in [("storage.randread-4k-qd32", 1), ("storage.seqread-1m", 64)] {
        let case = testkit::add_case(&mut run, test, copies, "off", &metrics);
        for pass in 1..=9 {
            let wobble = 1.0 + f64::from(pass % 4) / 200.0;
            let values = metrics.map(|metric| (metric.0, 150_000.0 * wobble));
            testkit::add_round(&mut run, &case, pass, Ok(&values));
        }
    }
    run
}

#[test]
fn further_metrics_stand_below_their_case_in_one_table() {
    for (lang, width) in [
        (Lang::En, 80),
        (Lang::Ja, 80),
        (Lang::En, 100),
        (Lang::Ja, 100),
    ] {
        let text = shown(&many_metrics(), width, lang);
        let table: Vec<&str> = text
            .lines()
            .skip_while(|line| !line.starts_with("storage.randread"))
            .take(18)
            .collect();
        assert!(table[8].starts_with("  cpu_ns_per_op  "), "{text}");
        assert!(table[9].starts_with("storage.seqread-1m@64  "), "{text}");
        // One line a metric, its unit below that of the others on the screen.
        let place = |line: &str| columns(line.split(" us ").next().unwrap_or(line));
        let latencies: Vec<&&str> = table.iter().filter(|line| line.contains(" us ")).collect();
        assert_eq!(latencies.len(), 16, "{text}");
        assert!(
            latencies
                .iter()
                .all(|line| place(line) == place(latencies[0])),
            "{text}"
        );
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
    }
}

#[test]
fn a_table_that_is_a_little_too_wide_breaks_its_notes_and_no_row() {
    let mut run = many_metrics();
    for round in &mut run.rounds {
        round.noise.steal_share = Some(0.5);
        round.noise.throttled_share = Some(0.5);
        round.noise.foreign_cpu_share = Some(0.5);
        round.noise.clock_jump = Some(model::units::Nanos::from_secs(1));
        round.noise.suspended = Some(model::units::Nanos::from_secs(1));
    }
    run.rounds.retain(|round| round.pass < 6);
    let row = |width| {
        let text = shown(&run, width, Lang::En);
        assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        let mut lines = text.lines().map(ToOwned::to_owned);
        lines
            .find(|line| line.starts_with("storage.seqread"))
            .unwrap()
    };
    let whole = row(200);
    let (_, notes) = whole.split_once('[').unwrap();
    assert!(notes.len() > 14, "{whole}");
    let narrow = row(columns(&whole) - 1);
    assert!(narrow.contains(" [1] [2]"), "{narrow}");
}

/// A memory test with what it was set up with, in each of six rounds.
fn with_a_setting(values: [f64; 6]) -> Run {
    use testkit::{BYTES, Quantity};
    let width = Quantity("array_bytes", model::units::Unit::Bytes, BYTES.2);
    let mut run = testkit::empty();
    let case = testkit::add_case(&mut run, "memory.triad", 1, "off", &[BYTES, width]);
    run.plan.cases[0].metrics[1].how = model::spec::How::Setting;
    for (pass, (rate, value)) in (1..).zip(testkit::six_around(2e10).into_iter().zip(values)) {
        let values = [("bytes_per_s", rate), ("array_bytes", value)];
        testkit::add_round(&mut run, &case, pass, Ok(&values));
    }
    run
}

#[test]
fn what_describes_the_set_up_stands_without_interval_and_count() {
    let line_of = |run: &Run, width, lang, name: &str| {
        let text = shown(run, width, lang);
        let line = text
            .lines()
            .find(|line| line.contains(name))
            .map(ToOwned::to_owned);
        let line = line.unwrap_or_else(|| panic!("{text}"));
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let alike = with_a_setting([33_554_432.0; 6]);
    let check = |run: &Run, width, lang, expect: &str| {
        assert_eq!(line_of(run, width, lang, "array_bytes"), expect);
    };
    check(&alike, 120, Lang::En, "memory.triad array_bytes 32 MiB");
    check(&alike, 120, Lang::Ja, "memory.triad array_bytes 32 MiB");
    check(&alike, 45, Lang::En, "memory.triad array_bytes 32 MiB");
    for (lang, heading) in [(Lang::En, "\nset-up\n"), (Lang::Ja, "\n測定条件\n")] {
        let text = shown(&alike, 120, lang);
        assert!(text.contains(heading), "{text}");
    }
    let differing = with_a_setting([32.0, 32.0, 32.0, 64.0, 32.0, 32.0]);
    check(
        &differing,
        120,
        Lang::En,
        "memory.triad array_bytes 32 B (set-up, not alike in all rounds)",
    );
    let page = markdown(&view(&alike), Lang::En);
    assert!(
        page.contains("### set-up\n\n- `memory.triad`: array\\_bytes 32 MiB\n"),
        "{page}"
    );
    let lines = crate::csv::metrics(&view(&alike));
    let line = lines.lines().find(|line| line.contains("array_bytes"));
    let line = line.unwrap_or_else(|| panic!("{lines}"));
    assert!(
        line.contains(",bytes,higher,33554432,,,,0,,setting,"),
        "{line}"
    );
}

#[test]
fn a_long_list_of_cases_stands_above_what_they_were_set_up_with() {
    use model::units::Unit;
    use testkit::{BYTES, Quantity};
    let settings = [
        Quantity("array_bytes", Unit::Bytes, BYTES.2),
        Quantity("page_bytes", Unit::Bytes, BYTES.2),
        Quantity("vector_bytes", Unit::Bytes, BYTES.2),
    ];
    let mut run = testkit::empty();
    for test in ["read", "write", "copy", "triad", "read-x8"] {
        let test = format!("memory.{test}");
        let case = testkit::add_case(&mut run, &test, 1, "off", &settings);
        for metric in &mut run.plan.cases.last_mut().unwrap().metrics {
            metric.how = model::spec::How::Setting;
        }
        let values = [
            ("array_bytes", 33_554_432.0),
            ("page_bytes", 4096.0),
            ("vector_bytes", 32.0),
        ];
        testkit::add_round(&mut run, &case, 1, Ok(&values));
    }
    let check = |width, expect: &str| {
        let text = shown(&run, width, Lang::En);
        let block = text.split("\nset-up\n").nth(1).unwrap();
        let block = block.split("\n\n").next().unwrap();
        assert_eq!(block, expect, "{width}");
    };
    check(
        200,
        "  memory.read, memory.write, memory.copy, memory.triad, memory.read-x8  \
           array_bytes 32 MiB, page_bytes 4 KiB, vector_bytes 32 B",
    );
    check(
        80,
        "  memory.read, memory.write, memory.copy, memory.triad, memory.read-x8\n    \
           array_bytes 32 MiB, page_bytes 4 KiB, vector_bytes 32 B",
    );
    check(
        50,
        "  memory.read, memory.write, memory.copy,\n  memory.triad, memory.read-x8\n    \
           array_bytes 32 MiB, page_bytes 4 KiB,\n    vector_bytes 32 B",
    );
}

#[test]
fn cases_that_were_set_up_alike_share_a_line() {
    use testkit::{BYTES, Quantity};
    let width = Quantity("array_bytes", model::units::Unit::Bytes, BYTES.2);
    let mut run = testkit::empty();
    for (test, copies, bytes) in [
        ("memory.read", 1, 1024.0),
        ("memory.read", 2, 1024.0),
        ("memory.triad", 1, 1024.0),
        ("memory.triad", 2, 512.0),
    ] {
        let case = testkit::add_case(&mut run, test, copies, "off", &[BYTES, width]);
        run.plan.cases.last_mut().unwrap().metrics[1].how = model::spec::How::Setting;
        for (pass, rate) in (1..).zip(testkit::six_around(2e10)) {
            let values = [("bytes_per_s", rate), ("array_bytes", bytes)];
            testkit::add_round(&mut run, &case, pass, Ok(&values));
        }
    }
    let lines = crate::page::set_up::lines(&view(&run), Lang::En);
    let lines: Vec<(&str, &str)> = lines
        .iter()
        .map(|(a, b)| (a.as_str(), b.as_str()))
        .collect();
    assert_eq!(
        lines,
        [
            ("memory.read, memory.triad@1", "array_bytes 1 KiB"),
            ("memory.triad@2", "array_bytes 512 B"),
        ]
    );
}

#[test]
fn a_run_says_how_many_tests_its_plan_left_out() {
    let mut run = testkit::normal();
    run.plan.dropped.push(model::plan::Dropped {
        what: "os.spawn".to_owned(),
        why: "six rounds do not fit".to_owned(),
        needs: None,
    });
    for (lang, made, below) in [
        (Lang::En, "1 left out", "\nleft out of the plan\n  os.spawn"),
        (Lang::Ja, "1 件を除外", "\n計画から外した項目\n  os.spawn"),
    ] {
        let text = shown(&run, 200, lang);
        let first: Vec<&str> = text.lines().take(2).collect();
        assert!(first[1].contains(made) && text.contains(below), "{text}");
    }
}

#[test]
fn a_budget_that_was_too_short_is_told_with_what_it_takes() {
    let mut run = testkit::interrupted();
    run.meta.warnings = vec![Warning::BudgetShort];
    run.plan.budget = Some(model::units::Nanos::from_secs(15));
    // Rounds of 0.7 s.
    let seconds = run.plan.cases.len() * 6 * 7 / 10;
    let check = |lang: Lang, before: &str, behind: &str| {
        let text = shown(&run, 300, lang);
        let unit = lang.pick("s", "秒");
        let expect = format!("{before}{seconds} {unit}{behind}");
        assert!(text.contains(&expect), "{expect}: {text}");
    };
    let (en, ja) = (
        ": try `--budget 30s` or more",
        " かかります。`--budget 30s` 以上",
    );
    check(
        Lang::En,
        "`--budget`; here six passes of these rounds take about ",
        en,
    );
    check(Lang::Ja, "この測定では 6 巡に約 ", ja);
    // What was left out for want of time says which budget has room for everything.
    run.plan.dropped.push(model::plan::Dropped {
        what: "os.spawn".to_owned(),
        why: "too little time".to_owned(),
        needs: Some(model::units::Nanos::from_secs(90)),
    });
    let text = shown(&run, 300, Lang::En);
    assert_eq!(text.matches("`--budget ").count(), 1, "{text}");
}

#[test]
fn rounds_without_any_value_are_not_called_too_few() {
    let mut run = testkit::empty();
    let (rate, tail) = (testkit::OPS, testkit::P99);
    let case = testkit::add_case(&mut run, "os.mutex", 1, "off", &[rate, tail]);
    for (pass, value) in (1..).zip(testkit::six_around(2.0)) {
        testkit::add_round(&mut run, &case, pass, Ok(&[(rate.0, value)]));
    }
    let line = |lang, width| {
        let text = shown(&run, width, lang);
        let line = text.lines().find(|line| line.contains("clat_ns_p99"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    assert!(
        line(Lang::En, 100).ends_with("  no value"),
        "{}",
        line(Lang::En, 100)
    );
    assert!(
        line(Lang::Ja, 100).ends_with("値なし"),
        "{}",
        line(Lang::Ja, 100)
    );
}

/// Columns that a line takes on a screen: two for what East Asian terminals draw wide.
pub(crate) fn columns(line: &str) -> usize {
    line.chars()
        .map(|c| if c >= '\u{1100}' { 2 } else { 1 })
        .sum()
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 100, 120] {
        for lang in Lang::ALL {
            for run in [testkit::with_failures(), testkit::unixbench("6", 3.0)] {
                for line in shown(&run, width, lang).lines() {
                    assert!(columns(line) <= width, "{width}: {line}");
                }
            }
        }
    }
}

#[test]
fn the_index_of_twelve_tests_in_both_modes() {
    let default = shown(&testkit::unixbench("off", 100.0), 100, Lang::En);
    assert!(
        default.contains("1 copy   1000    998 .. 1002  from 6 passes"),
        "{default}"
    );
    assert!(!default.contains("partial:"), "{default}");
    let compat = shown(&testkit::unixbench("6", 100.0), 100, Lang::En);
    assert!(
        compat.contains("by the rules of UnixBench 6: one figure, no interval"),
        "{compat}"
    );
}

#[test]
fn some_tests_of_the_index_are_no_index_and_one_that_cannot_run_leaves_it_partial() {
    let normal = shown(&testkit::normal(), 100, Lang::En);
    assert!(!normal.to_lowercase().contains("unixbench"), "{normal}");
    let mut run = testkit::unixbench("off", 100.0);
    let left_out = run.plan.cases.remove(3).id;
    run.rounds.retain(|round| round.case != left_out);
    let unasked = shown(&run, 100, Lang::En);
    assert!(!unasked.contains("index"), "{unasked}");
    run.plan.dropped.push(model::plan::Dropped {
        what: left_out.test,
        why: "no compiler".to_owned(),
        needs: None,
    });
    let partial = shown(&run, 100, Lang::En);
    assert!(partial.contains("partial: 11 of 12 tests"), "{partial}");
}

#[test]
fn colour_only_adds_to_the_words() {
    let run = testkit::with_failures();
    let style = |color| Style { width: 100, color };
    let plain = text(&view(&run), style(false), Lang::En);
    let colored = text(&view(&run), style(true), Lang::En);
    assert_ne!(plain, colored);
    let mut stripped = colored;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[33m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn nothing_from_outside_reaches_the_terminal_raw() {
    let run = testkit::hostile();
    for lang in Lang::ALL {
        let text = shown(&run, 100, lang);
        let raw: Vec<char> = text
            .chars()
            .filter(|c| c.is_control() && *c != '\n' || *c == '\u{202e}')
            .collect();
        assert_eq!(raw, [], "{text}");
    }
}

#[test]
fn a_run_for_a_blog() {
    let run = testkit::with_failures();
    insta::assert_snapshot!("run_markdown", markdown(&view(&run), Lang::En));
}

#[test]
fn a_run_for_a_japanese_blog() {
    let run = testkit::normal();
    insta::assert_snapshot!("run_markdown_ja", markdown(&view(&run), Lang::Ja));
}

#[test]
fn every_row_of_a_table_has_as_many_cells_as_its_head() {
    let run = testkit::hostile();
    let text = markdown(&view(&run), Lang::En);
    let mut cells_of_table = None;
    for line in text.lines() {
        if !line.starts_with('|') {
            cells_of_table = None;
            continue;
        }
        let bars = line
            .replace("\\\\", "")
            .replace("\\|", "")
            .matches('|')
            .count();
        assert_eq!(*cells_of_table.get_or_insert(bars), bars, "{line}");
    }
    assert!(!text.contains("<script>"), "{text}");
    assert!(!text.contains('\u{1b}'));
}

#[test]
fn a_run_of_nothing_says_so() {
    let text = shown(&testkit::empty(), 100, Lang::En);
    assert!(text.contains("nothing was measured"), "{text}");
}

/// A value as broken measurements may leave it.
fn any_value() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-1.0),
        Just(f64::NAN),
        Just(f64::INFINITY),
        1e-300..1e300,
        proptest::num::f64::ANY,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_run_makes_any_format_panic_and_no_document_holds_a_number_that_is_none(
        values in proptest::collection::vec((0usize..12, 0u32..9, any_value()), 0..60),
        compat in prop_oneof![Just("off"), Just("6")],
        width in 0usize..200,
    ) {
        let mut run = testkit::unixbench(compat, 1.0);
        run.rounds.clear();
        for (case, pass, value) in values {
            let (id, quantity) = {
                let case = &run.plan.cases[case];
                (case.id.clone(), case.metrics[0].quantity.clone())
            };
            testkit::add_round(&mut run, &id, pass, Ok(&[(&quantity, value)]));
        }
        let view = view(&run);
        for lang in Lang::ALL {
            text(&view, Style { width, color: true }, lang);
            markdown(&view, lang);
        }
        crate::csv::metrics(&view);
        crate::csv::rounds(&view);
        crate::influx::influx(&view);
        crate::openmetrics::openmetrics(&view);
        dialects::unixbench::report_text(view.run);
        let json = crate::json::run(&view);
        crate::json::tests::assert_valid(&json, &crate::json::schema::schema_run());

        let other = testkit::unixbench(compat, 2.0);
        let both = crate::comparison::view(&run, &[&other], &crate::comparison::CompareOptions::default());
        for lang in Lang::ALL {
            let page = crate::page::comparison::page(&both, crate::page::run::Detail::Full, lang);
            crate::render::text(&page, Style { width, color: true });
            crate::render::markdown(&page);
        }
        crate::json::tests::assert_valid(&crate::json::comparison(&both), &crate::json::schema::schema_comparison());
    }
}

#[test]
fn few_rounds_show_their_range_and_a_single_one_has_none() {
    let with = |levels: &[f64]| {
        let mut run = testkit::empty();
        let case = testkit::add_case(&mut run, "os.pipe", 1, "off", &[testkit::OPS]);
        for (pass, &level) in (1..).zip(levels) {
            testkit::add_round(&mut run, &case, pass, Ok(&[("ops_per_s", level)]));
        }
        run
    };
    let row = |run: &Run, width, lang| {
        let text = shown(run, width, lang);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("os.pipe@1 "));
        let row = lines.next().unwrap_or_else(|| panic!("{text}"));
        let below = lines.next().unwrap_or_default();
        (row.to_owned(), below.to_owned(), text.clone())
    };
    for (lang, instead, marked) in [
        (
            Lang::En,
            "what stands in its place is the range",
            "range 5.76 .. 9.59",
        ),
        (Lang::Ja, "代わりにラウンドの範囲", "範囲 5.76 .. 9.59"),
    ] {
        let few = with(&[9590.0, 5760.0]);
        for width in [40, 120] {
            let (line, below, text) = row(&few, width, lang);
            assert!((line + &below).contains("5.76 .. 9.59"), "{text}");
            assert!(text.contains(marked) || width < 120, "{text}");
            assert!(
                text.replace('\n', " ").contains(instead) || width < 120,
                "{text}"
            );
        }
        let (line, _, text) = row(&with(&[9590.0]), 120, lang);
        assert!(!line.contains(".."), "{line}");
        assert!(!text.contains(instead), "{text}");
    }
}
