//! Tests of the reader of pgbench's outputs, by outputs made up here.

use super::*;
use crate::figures::testkit;

const NEW: &str = include_str!("../../../../fuzz/corpus/pgbench_output/14-to-18");
const OLD: &str = include_str!("../../../../fuzz/corpus/pgbench_output/9-to-13");

/// A test, its copies, and its figures.
type Told = (String, u32, Vec<(String, f64)>);

fn told(text: &str) -> Vec<Told> {
    let tell = |one: Figures| {
        let values = one
            .values
            .into_iter()
            .map(|figure| (figure.quantity, figure.value));
        (one.test, one.copies, values.collect())
    };
    read(text).figures.into_iter().map(tell).collect()
}

/// The same as the tests write it.
type Expected<'a> = (&'a str, u32, &'a [(&'a str, f64)]);

fn check(text: &str, expect: &[Expected<'_>]) {
    let expect: Vec<Told> = expect
        .iter()
        .map(|(test, copies, values)| {
            let values = values
                .iter()
                .map(|&(quantity, value)| (quantity.to_owned(), value));
            ((*test).to_owned(), *copies, values.collect())
        })
        .collect();
    assert_eq!(told(text), expect);
}

#[test]
fn versions_14_and_later_are_read() {
    check(
        NEW,
        &[
            (
                "pgbench.tpcb-like",
                8,
                &[
                    ("tps", 1_205.876_543),
                    ("lat_ns_mean", 6_634_000.0),
                    ("initial_connect_ns", 14_615_000.0),
                ],
            ),
            (
                "pgbench.select-only",
                4,
                &[
                    ("tps", 32_717.373_299),
                    ("lat_ns_mean", 122_000.0),
                    ("initial_connect_ns", 6_726_000.0),
                ],
            ),
            (
                "pgbench.simple-update",
                2,
                &[
                    ("tps", 203.692_286),
                    ("failed_share", 0.343 / 100.0),
                    ("lat_ns_mean", 916_000.0),
                    ("late_ns_mean", 109_000.0),
                    ("late_ns_max", 7_776_000.0),
                    ("initial_connect_ns", 4_200_000.0),
                ],
            ),
            (
                "pgbench.mix",
                1,
                &[
                    ("tps_with_connections", 362.312_141),
                    ("lat_ns_mean", 2_760_000.0),
                    ("connect_ns_mean", 1_978_000.0),
                ],
            ),
        ],
    );
    let found = read(NEW);
    assert!(
        found
            .figures
            .iter()
            .all(|one| one.version.as_deref() == Some("16.2") && one.ours.is_none())
    );
    assert_eq!(found.left_out.len(), 2, "{:?}", found.left_out);
}

#[test]
fn versions_before_14_have_two_rates_and_no_headline() {
    check(
        OLD,
        &[
            (
                "pgbench.tpcb-like",
                100,
                &[
                    ("tps_with_connections", 4_115.012_345),
                    ("tps", 4_115.987_654),
                    ("lat_ns_mean", 24_301_000.0),
                ],
            ),
            (
                "pgbench.select-only",
                16,
                &[
                    ("tps_with_connections", 31_234.012_345),
                    ("tps", 31_299.987_654),
                    ("lat_ns_mean", 512_000.0),
                ],
            ),
            (
                "pgbench.custom",
                2,
                &[
                    ("tps_with_connections", 1_322.012_345),
                    ("tps", 1_323.987_654),
                    ("lat_ns_mean", 1_512_000.0),
                ],
            ),
        ],
    );
    assert!(read(OLD).figures.iter().all(|one| one.version.is_none()));
}

#[test]
fn what_differs_in_how_it_was_measured_is_kept() {
    let check = |at: usize, text: &str, expect: &[(&str, &str)]| {
        let params = &read(text).figures[at].params;
        let params: Vec<(&str, &str)> = params
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(params, expect);
    };
    check(
        2,
        NEW,
        &[
            ("latency limit", "100.0 ms"),
            ("maximum number of tries", "1"),
            ("number of threads", "1"),
            ("query mode", "extended"),
            ("rate limit", "yes"),
            ("scaling factor", "2"),
        ],
    );
    check(
        3,
        NEW,
        &[
            ("maximum number of tries", "1"),
            ("number of threads", "1"),
            ("query mode", "simple"),
            ("scaling factor", "2"),
            ("script 1", "<builtin: TPC-B (sort of)>"),
            ("script 2", "/srv/read.sql"),
            ("weight 1", "2"),
            ("weight 2", "8"),
        ],
    );
    check(
        2,
        OLD,
        &[
            ("number of threads", "1"),
            ("query mode", "simple"),
            ("scaling factor", "1"),
            ("script", "/srv/mine.sql"),
        ],
    );
}

#[test]
fn an_output_without_a_rate_or_clients_is_named() {
    let check = |cut: &str, expect: &str| {
        let end = OLD.find("transaction type: SELECT").unwrap();
        let text: String = OLD[..end]
            .lines()
            .filter(|line| !line.contains(cut))
            .map(|line| line.to_owned() + "\n")
            .collect();
        let found = read(&text);
        assert_eq!(found.figures, []);
        assert_eq!(
            found.left_out,
            [LeftOut {
                line: 2,
                what: expect.to_owned()
            }]
        );
    };
    check("tps", "no rate of transactions: cut or failed");
    check("clients", "no number of clients");
}

#[test]
fn a_figure_that_is_no_number_is_named() {
    let text = OLD
        .replace("24.301 ms", "24,301 ms")
        .replace("4115.987654", "nan");
    let left: Vec<LeftOut> = read(&text).left_out;
    let left: Vec<(usize, &str)> = left
        .iter()
        .map(|one| (one.line, one.what.as_str()))
        .collect();
    let rate = "no number: tps = nan (excluding connections establishing)";
    assert_eq!(
        left[..2],
        [(9, "no number: latency average = 24,301 ms"), (11, rate)]
    );
    assert!(left[2].1.contains("query mode simple"), "{left:?}");
}

#[test]
fn prepared_transactions_of_the_built_in_script_are_kurabes_test() {
    let first = NEW.split_inclusive("connection time)\n").next().unwrap();
    let whole = first.replace("simple", "prepared");
    let whole = whole.replace("threads: 2", "threads: 8");
    let check = |text: &str, expect: Result<&str, &str>| {
        let found = read(text);
        let ours = found.figures[0].ours.clone().map(|ours| {
            assert_eq!(
                (ours.test.as_ref(), ours.server),
                (TEST, Some("postgres://"))
            );
            let set = ours
                .set
                .iter()
                .map(|(name, value)| format!("{name}={value}"));
            set.collect::<Vec<_>>().join(" ")
        });
        let why = found.left_out.first().map(|left| left.what.as_str());
        match expect {
            Ok(set) => assert_eq!((ours.as_deref(), why), (Some(set), None)),
            Err(words) => {
                assert_eq!(ours, None, "{words}");
                assert!(why.is_some_and(|why| why.contains(words)), "{why:?}");
            }
        }
    };
    check(&whole, Ok("scale=50 time=60s"));
    let other = |from: &str, to: &str, words: &str| {
        assert!(whole.contains(from), "{from}");
        check(&whole.replace(from, to), Err(words));
    };
    other("prepared", "extended", "query mode extended");
    other(
        "transactions: 0 (0.000%)",
        "transactions: 2 (0.000%)",
        "given up here as failed",
    );
    other("tries: 1\n", "tries: 10\n", "at most 10 tries");
    other("threads: 8", "threads: 7", "here 7 had 8 clients (`-j 8`)");
    other("scaling factor: 50\n", "", "scaling factor is not told");
    other("query mode: prepared\n", "", "query mode is not told");
    other(
        "duration: 60 s",
        "number of transactions per client: 10",
        "`-T`",
    );
    let late = "rate limit schedule lag: avg 0.109 (max 0.776) ms\ninitial connection time =";
    other("initial connection time =", late, "at a rate");
    other(
        "number of clients",
        "partition method: hash\nnumber of clients",
        "partition method (hash)",
    );
    other(
        "without initial connection time",
        "including reconnection times",
        "stays connected",
    );
}

#[test]
fn as_many_scripts_as_a_text_holds_take_no_longer_than_their_lines() {
    let scripts = (0..200_000).map(|i| format!("SQL script {i}: x\n - weight: 1"));
    let scripts: Vec<String> = scripts.collect();
    let end = NEW.rfind(" - weight: 8").unwrap();
    let found = read(&format!("{}{}", &NEW[..end], scripts.join("\n")));
    assert_eq!(found.figures.len(), 4);
}

#[test]
fn what_quotes_an_output_is_no_part_of_it() {
    for text in [NEW, OLD] {
        testkit::quoted(&READER, text);
    }
}

#[test]
fn bad_input_is_survived() {
    testkit::survives(&READER, &[NEW, OLD]);
}
