//! The article's table, of one run and of two.

use crate::lang::Lang;
use crate::page::comparison;
use crate::page::run::{Detail, page, tests::columns};
use crate::render::{markdown, text};
use crate::style::Style;
use crate::testkit::{self, Quantity};
use crate::view::view;
use model::headline::{Headline, Topic};
use model::host::Fact;
use model::named::{Named, ServerFact};
use model::params::ParamValue;
use model::record::Run;
use model::spec::{Better, Nature};
use model::units::Unit;

const TPS: Quantity = Quantity("tps", Unit::OpsPerSecond, Better::Higher);
const QPS: Quantity = Quantity("qps", Unit::OpsPerSecond, Better::Higher);
const RETRIES: Quantity = Quantity("retries_per_transaction", Unit::Number, Better::Lower);

const fn time(quantity: &'static str) -> Quantity {
    Quantity(quantity, Unit::Nanoseconds, Better::Lower)
}

/// Tests of a database on two CPUs, whose transactions take so many milliseconds with one connection.
pub(crate) fn run(tests: &[&str], copies: &[u32], ms: f64) -> Run {
    let mut run = testkit::empty();
    run.host.limits.cpus_allowed = Fact::Known(2);
    run.host.cpu.online = Fact::Known(2);
    let times = ["lat_ns_mean", "lat_ns_stddev", "lat_ns_p95", "lat_ns_p99"].map(time);
    let quantities = [&[TPS, QPS][..], &times, &[RETRIES]].concat();
    for test in tests {
        for &copies in copies {
            let case = testkit::add_case(&mut run, test, copies, "off", &quantities);
            run.plan.cases.last_mut().unwrap().nature = Nature::Database;
            let n = f64::from(copies);
            for (pass, level) in (1..).zip(testkit::six_around(1.0)) {
                let mean = ms * 1e6 * n.max(2.0) / 2.0 * level;
                let values = [
                    ("tps", n * 1e9 / mean),
                    ("qps", 20.0 * n * 1e9 / mean),
                    ("lat_ns_mean", mean),
                    ("lat_ns_stddev", mean / 3.0),
                    ("lat_ns_p95", 2.0 * mean),
                    ("lat_ns_p99", 3.0 * mean),
                    ("retries_per_transaction", (n - 1.0) / 100.0),
                ];
                testkit::add_round(&mut run, &case, pass, Ok(&values));
            }
        }
    }
    run
}

fn shown(run: &Run, width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    text(&page(&view(run), Detail::Usual, lang), style)
}

/// From the heading of the tables up to what comes behind.
fn part(page: &str) -> String {
    let from = page
        .find("database: by")
        .or_else(|| page.find("データベース: "));
    let page = &page[from.unwrap_or_else(|| panic!("{page}"))..];
    let ends = [
        "\nnext\n",
        "\nnotes\n",
        "\n次にできること\n",
        "\n注\n",
        "\n### n",
    ];
    let end = ends.iter().filter_map(|end| page.find(end)).min();
    page[..end.unwrap_or(page.len())].to_owned()
}

#[test]
fn the_table_of_the_article() {
    let run = run(&["db.oltp-read-write"], &[1, 2, 4, 8, 16], 21.0473);
    insta::assert_snapshot!("run_en", part(&shown(&run, 120, Lang::En)));
    insta::assert_snapshot!("run_80", part(&shown(&run, 80, Lang::En)));
    insta::assert_snapshot!("run_ja", part(&shown(&run, 80, Lang::Ja)));
    let blocks = page(&view(&run), Detail::Usual, Lang::En);
    insta::assert_snapshot!("run_markdown", part(&markdown(&blocks)));
    for lang in Lang::ALL {
        for line in part(&shown(&run, 80, lang)).lines() {
            assert!(columns(line) <= 80, "{line}");
        }
    }
}

#[test]
fn several_tests_have_a_table_each_and_nothing_is_said_of_each_of_them() {
    let run = run(&["db.oltp-read-write", "db.insert"], &[1, 4], 3.0);
    let check = |detail| {
        let style = Style {
            width: 80,
            color: false,
        };
        let page = text(&page(&view(&run), detail, Lang::En), style);
        assert_eq!(page.matches(" clients ").count(), 2, "{page}");
        assert!(
            page.matches("Universal Scalability Law").count() <= 1,
            "{page}"
        );
        assert!(!page.contains("1.00 .. 1.00"), "{page}");
    };
    check(Detail::Usual);
    check(Detail::Full);
}

#[test]
fn rounds_without_a_level_have_a_mark_and_no_interval() {
    let mut run = run(&["db.insert"], &[1, 4], 3.0);
    for round in run.rounds.iter_mut().filter(|round| round.case.copies == 4) {
        let model::record::Outcome::Done(done) = &mut round.outcome else {
            panic!()
        };
        let mean = done.values.get_mut("lat_ns_mean").unwrap();
        *mean *= [1.0, 40.0, 3.0, 90.0, 2.0, 17.0][usize::try_from(round.pass - 1).unwrap()];
    }
    let page = part(&shown(&run, 80, Lang::En));
    assert!(page.contains('~'), "{page}");
    assert!(page.contains("no single number"), "{page}");
}

/// As many rounds of each case as there are values, and in them these values of the metric.
fn set(run: &mut Run, quantity: &str, values: &[f64]) {
    let firsts: Vec<_> = run.rounds.iter().filter(|round| round.pass == 1).collect();
    let rounds = (1..).zip(values).flat_map(|(pass, value)| {
        firsts.iter().map(move |first| {
            let mut round = (*first).clone();
            round.pass = pass;
            let model::record::Outcome::Done(done) = &mut round.outcome else {
                panic!()
            };
            done.values.insert(quantity.to_owned(), *value);
            done.windows.clear();
            round
        })
    });
    run.rounds = rounds.collect();
}

/// Three fifths of 30 rounds at one level, and the others at twice of it.
fn two_levels(low: f64) -> Vec<f64> {
    let level = |pass: u32| if pass % 5 < 3 { low } else { 2.0 * low };
    let rounds = 1..=30_u32;
    rounds
        .map(|pass| level(pass) * (1.0 + f64::from(pass % 7) / 5000.0))
        .collect()
}

const UNSTABLE: [f64; 6] = [100.0, 400.0, 150.0, 310.0, 220.0, 640.0];

#[test]
fn a_rate_and_a_mean_time_without_a_level_are_said_in_the_words_of_other_pages() {
    let mut closed = run(&["db.oltp-read-write"], &[1], 20.0);
    with_headline(&mut closed, "PostgreSQL OLTP");
    set(&mut closed, "tps", &two_levels(100.0));
    check_headline(
        &closed,
        [
            "PostgreSQL OLTP, 1 connection: two levels: 100 (60 % of rounds) and 200 transactions/s, mean 20.0",
            "PostgreSQL OLTP、1 接続: 二つの水準: ",
        ],
    );
    set(&mut closed, "tps", &UNSTABLE);
    check_headline(
        &closed,
        [
            "unstable, 100 .. 640 transactions/s, mean 20.0",
            "不安定 100 .. 640 トランザクション/秒",
        ],
    );
    let mut arriving = run(&["db.oltp-read-write"], &[1], 20.0);
    with_headline(&mut arriving, "PostgreSQL OLTP");
    for case in &mut arriving.plan.cases {
        case.params = [("rate".to_owned(), ParamValue::Count(50))]
            .into_iter()
            .collect();
    }
    set(&mut arriving, "lat_ns_mean", &two_levels(1e8));
    check_headline(
        &arriving,
        ["50/s ordered: mean two levels: 100", "平均 二つの水準: "],
    );
    set(&mut arriving, "lat_ns_mean", &UNSTABLE.map(|ms| ms * 1e6));
    check_headline(
        &arriving,
        ["50/s ordered: mean unstable, 100", "平均 不安定 100"],
    );
}

#[test]
fn of_two_sides_the_one_without_a_level_has_the_mark() {
    let tests = ["db.insert"];
    let base = run(&tests, &[1, 4], 3.0);
    let mut other = base.clone();
    set(&mut other, "tps", &UNSTABLE);
    let page = comparison_of(&base, &mut other, Detail::Usual, Lang::En);
    let rows = part(&page);
    let rows = rows.lines().filter(|line| {
        let first = line.split_whitespace().next();
        first.is_some_and(|first| ["1", "4"].contains(&first))
    });
    let marks: Vec<Vec<usize>> = rows
        .map(|row| {
            let cells = row.split_whitespace().enumerate();
            let marked = cells.filter(|(_, cell)| cell.starts_with('~'));
            marked.map(|(place, _)| place).collect()
        })
        .collect();
    assert_eq!(marks, [[2], [2]], "{page}");
}

fn compared(width: usize, lang: Lang) -> String {
    let tests = ["db.oltp-read-write"];
    let mut before = run(&tests, &[1, 2, 4, 8, 16], 21.0473);
    let mut after = run(&tests, &[1, 2, 4, 8, 16], 23.7902);
    before.meta.label = Some("before".to_owned());
    after.meta.label = Some("after".to_owned());
    after.meta.id = "20261122-010000-aaaa".to_owned();
    let options = crate::comparison::CompareOptions::default();
    let view = crate::comparison::view(&before, &[&after], &options);
    let style = Style {
        width,
        color: false,
    };
    text(&comparison::page(&view, Detail::Usual, lang), style)
}

#[test]
fn two_runs_stand_side_by_side_with_a_verdict_a_row() {
    insta::assert_snapshot!("compare_en", compared(120, Lang::En));
    insta::assert_snapshot!("compare_80", compared(80, Lang::En));
    insta::assert_snapshot!("compare_ja", compared(80, Lang::Ja));
}

/// The same on a server of this version, as tests on servers declare it.
fn on_server(run: &mut Run, version: &str, fsync: &str) {
    let fact = |name: &str, value: &str| ServerFact {
        name: name.to_owned(),
        value: value.to_owned(),
        source: String::new(),
    };
    run.plan.named.push(Named {
        server: vec![fact(ServerFact::VERSION, version), fact("fsync", fsync)],
        ..testkit::server("mysql://bob@10.0.0.7/bench")
    });
}

const MARIADB: &str = "MariaDB 10.11.14-MariaDB-0+deb12u2, Debian 12";

fn with_headline(run: &mut Run, words: &str) {
    for case in &mut run.plan.cases {
        let headline = Headline::named(Topic::Database, words);
        case.headline = Some(headline.beside("lat_ns_mean"));
    }
}

/// The line of the first page, with the spaces of one.
fn headline(run: &Run, lang: Lang) -> String {
    let page = shown(run, 80, lang);
    let lines = page
        .lines()
        .skip_while(|line| !line.starts_with("database  ") && !line.starts_with("DB  "));
    let lines = lines.take_while(|line| !line.is_empty());
    let words: Vec<&str> = lines.flat_map(str::split_whitespace).collect();
    words.join(" ")
}

fn check_headline(run: &Run, expect: [&str; 2]) {
    for (lang, expect) in Lang::ALL.into_iter().zip(expect) {
        let line = headline(run, lang);
        assert!(line.contains(expect), "{expect}: {line}");
    }
}

#[test]
fn the_headline_names_product_connections_and_unit() {
    let mut run = run(&["db.oltp-read-write"], &[1, 4], 20.0);
    with_headline(&mut run, "MySQL/MariaDB OLTP");
    on_server(&mut run, MARIADB, "on");
    check_headline(
        &run,
        [
            "MariaDB OLTP, 1 connection: 49.99 transactions/s",
            "MariaDB OLTP、1 接続: 49.99 トランザクション/秒",
        ],
    );
    check_headline(&run, ["mean 20.0", "平均 20.0"]);
}

#[test]
fn with_a_rate_the_result_is_the_latency_and_a_queue_that_grew_is_told() {
    let at_rate = |rate: u64| {
        let mut run = run(&["db.oltp-read-write"], &[8], 20.0);
        with_headline(&mut run, "PostgreSQL OLTP");
        for case in &mut run.plan.cases {
            case.params = [("rate".to_owned(), ParamValue::Count(rate))]
                .into_iter()
                .collect();
        }
        run
    };
    // Eight connections do 100 a second.
    check_headline(
        &at_rate(100),
        [
            "PostgreSQL OLTP, 8 connections, 100/s ordered: mean 80.0",
            "PostgreSQL OLTP、8 接続、毎秒 100 件を指定: 平均 80.0",
        ],
    );
    check_headline(&at_rate(100), ["p99 240", "p99 240"]);
    check_headline(
        &at_rate(1000),
        [
            "1000/s ordered, the queue grew until the end: mean",
            "待ち行列は最後まで伸び続けた: 平均",
        ],
    );
}

#[test]
fn a_search_for_the_highest_rate_is_said_in_words() {
    let search = |held: Option<f64>| {
        let mut run = testkit::empty();
        let rate = |quantity| Quantity(quantity, Unit::OpsPerSecond, Better::Higher);
        let quantities = [rate("held_tps"), rate("closed_tps")];
        let case = testkit::add_case(&mut run, "db.oltp-slo", 8, "off", &quantities);
        let planned = run.plan.cases.last_mut().unwrap();
        planned.nature = Nature::Database;
        let limit = ParamValue::Text("p99:20ms".to_owned());
        planned.params = [("limit".to_owned(), limit)].into_iter().collect();
        for (pass, level) in (1..).zip(testkit::six_around(1.0)) {
            let held = held.map(|held| ("held_tps", held * level));
            let values: Vec<_> = held.into_iter().chain([("closed_tps", 796.0)]).collect();
            testkit::add_round(&mut run, &case, pass, Ok(&values));
        }
        with_headline(&mut run, "PostgreSQL OLTP within p99:20ms");
        run
    };
    check_headline(
        &search(Some(184.0)),
        [
            "PostgreSQL, 8 connections: 184.0 transactions/s",
            "PostgreSQL、8 接続: 184.0 トランザクション/秒",
        ],
    );
    check_headline(
        &search(Some(184.0)),
        [
            "keep p99 below 20 ms (without a rate 796",
            "p99 が 20 ms 未満（指定なしでは 796",
        ],
    );
    check_headline(
        &search(None),
        [
            "PostgreSQL, 8 connections: no rate keeps p99 below 20 ms",
            "どの速度でも p99 は 20 ms 未満になりません",
        ],
    );
}

fn comparison_of(base: &Run, other: &mut Run, detail: Detail, lang: Lang) -> String {
    other.meta.id = "20261122-010000-aaaa".to_owned();
    other.meta.label = Some("after".to_owned());
    let options = crate::comparison::CompareOptions::default();
    let view = crate::comparison::view(base, &[&*other], &options);
    let style = Style {
        width: 120,
        color: false,
    };
    text(&comparison::page(&view, detail, lang), style)
}

#[test]
fn a_comparison_names_both_servers_and_what_differs_with_its_values() {
    let tests = ["db.oltp-read-write"];
    let mut base = run(&tests, &[1, 4], 20.0);
    base.meta.label = Some("before".to_owned());
    let mut other = base.clone();
    on_server(&mut base, MARIADB, "on");
    on_server(&mut other, "MySQL 8.4.3, Source distribution", "off");
    let en = comparison_of(&base, &mut other, Detail::Usual, Lang::En);
    let first = "database  before: MariaDB 10.11.14; after: MySQL 8.4.3\n";
    assert!(en.contains(first), "{en}");
    assert!(en.contains("fsync on (before) and off (after)"), "{en}");
    let ja = comparison_of(&base, &mut other, Detail::Usual, Lang::Ja);
    assert!(
        ja.contains("before: MariaDB 10.11.14、after: MySQL 8.4.3"),
        "{ja}"
    );
}

#[test]
fn sqlite_and_a_server_do_not_compare_and_one_line_says_what_does() {
    let tests = ["db.oltp-read-write", "db.insert"];
    let mut base = run(&tests, &[1, 4], 20.0);
    base.meta.dir = "/srv".to_owned();
    let mut other = base.clone();
    on_server(&mut other, MARIADB, "on");
    for case in &mut base.plan.cases {
        let full = ParamValue::Text("FULL".to_owned());
        case.params = [("synchronous".to_owned(), full)].into_iter().collect();
    }
    for case in &mut other.plan.cases {
        case.params = std::iter::empty().collect();
    }
    for (lang, says) in [
        (Lang::En, "do not compare; a duel does"),
        (Lang::Ja, "比較できません"),
    ] {
        for detail in [Detail::Usual, Detail::Full] {
            let page = comparison_of(&base, &mut other, detail, lang);
            let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
            let duel =
                "`kurabe duel db.oltp-read-write --a dir=/srv --b db=mysql://bob@10.0.0.7/bench`";
            assert_eq!(page.matches(duel).count(), 1, "{page}");
            assert_eq!(page.matches(says).count(), 1, "{page}");
            assert!(!page.contains("synchronous"), "{page}");
        }
    }
}

#[test]
fn a_web_log_calls_a_test_without_a_headline_by_its_name() {
    let run = run(&["db.insert"], &[1, 4], 20.0);
    for (lang, row) in [
        (Lang::En, "| db.insert, 1 connection | 49.99 transactions/s"),
        (Lang::Ja, "| db.insert、1 接続 | 49.99 トランザクション/秒"),
    ] {
        let view = view(&run);
        let page = markdown(&crate::page::blog::page(vec![&view], None, &[], lang));
        assert!(page.contains(row), "{row}: {page}");
    }
}

#[test]
fn a_web_log_has_a_heading_for_databases_and_says_which() {
    let mut run = run(&["db.oltp-read-write"], &[1, 4], 20.0);
    with_headline(&mut run, "MySQL/MariaDB OLTP");
    on_server(&mut run, MARIADB, "on");
    for (lang, heading, condition, row) in [
        (
            Lang::En,
            "#### Database\n",
            "| database | MariaDB 10.11.14 |",
            "| OLTP, 1 connection | 49.99 transactions/s",
        ),
        (
            Lang::Ja,
            "#### データベース\n",
            "| データベース | MariaDB 10.11.14 |",
            "| OLTP、1 接続 | 49.99 トランザクション/秒",
        ),
    ] {
        let view = view(&run);
        let page = markdown(&crate::page::blog::page(vec![&view], None, &[], lang));
        for part in [heading, condition, row] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("CPU and system"), "{page}");
    }
}
