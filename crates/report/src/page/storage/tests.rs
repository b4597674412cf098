//! Storage as people and programs see it.

use super::{about_all, fall, first_write, modes, steady};
use crate::lang::Lang;
use crate::page::run::tests::columns;
use crate::render::markdown::escape;
use crate::style::without_blocks;
use crate::testkit::{self, Quantity, markdown, text};
use crate::view::{RunView, view};
use crate::{Style, json};
use model::num::approx;
use model::params::{ParamValue, Params};
use model::record::{Outcome, Run};
use model::soak::{Soak, Stretch, StretchKind};
use model::spec::Better;
use model::units::{Bytes, Nanos, Unit, UnixNanos};
use stats::state::gate::Gate;
use stats::storage::{Fall, FirstWrite, LatencyShape, Of, Steady, Together};

const IOPS: Quantity = Quantity("iops", Unit::OpsPerSecond, Better::Higher);
const P99: Quantity = Quantity("clat_ns_p99", Unit::Nanoseconds, Better::Lower);
const CACHED: Quantity = Quantity("cached_share", Unit::Share, Better::Lower);
const FIRST: Quantity = Quantity("first_bytes_per_s", Unit::BytesPerSecond, Better::Higher);
const AGAIN: Quantity = Quantity("again_bytes_per_s", Unit::BytesPerSecond, Better::Higher);

/// What a storage test is told.
fn params() -> Params {
    let values = [
        ("bs", ParamValue::Size(Bytes(4096))),
        ("size", ParamValue::Size(Bytes(64 << 20))),
        ("direct", ParamValue::Switch(true)),
    ];
    let owned = values.map(|(name, value)| (name.to_owned(), value));
    owned.into_iter().collect()
}

/// Latencies in two humps: so many per cent at one place, the others at another.
fn humps(percent: u64, fast: u64, slow: u64) -> Vec<(u64, u64)> {
    let around = |at: u64, n: u64| {
        [(0.8, 1), (0.9, 2), (1.0, 4), (1.1, 2), (1.25, 1)]
            .map(|(factor, weight)| (model::num::round_to_u64(approx(at) * factor), n * weight))
    };
    let mut all = [around(fast, percent), around(slow, 100 - percent)].concat();
    all.retain(|pair| pair.1 > 0);
    all
}

/// Nine rounds of a case: its rate in each, what its operations are, and its latencies.
fn add(
    run: &mut Run,
    test: &str,
    rates: &[f64; 9],
    operations: &str,
    latencies: &[(&str, Vec<(u64, u64)>)],
) {
    let case = testkit::add_case(run, test, 1, "off", &[IOPS, P99, CACHED]);
    run.plan.cases.last_mut().unwrap().params = params();
    for (pass, &rate) in (1..).zip(rates) {
        let cached = if operations == "reads" { 0.68 } else { 0.0 };
        let values = [
            ("iops", rate),
            ("clat_ns_p99", 1.3e6),
            ("cached_share", cached),
        ];
        testkit::add_round(run, &case, pass, Ok(&values));
        let Some(Outcome::Done(done)) = run.rounds.last_mut().map(|round| &mut round.outcome)
        else {
            panic!()
        };
        let wobble = |at: u64| 1.0 + approx((at * 37 + u64::from(pass) * 11) % 19) / 400.0;
        done.windows = (0..20).map(|at| rate * wobble(at)).collect();
        done.copies[0].wall = Nanos::from_secs(2);
        done.copies[0].reported = [(operations.to_owned(), 2.0 * rate)].into();
        done.latencies = latencies
            .iter()
            .map(|(name, pairs)| ((*name).to_owned(), pairs.clone()))
            .collect();
    }
}

/// A disk with a cache that answers most reads, a write rate that falls, fsyncs, and slow first writes.
fn run() -> Run {
    let mut run = testkit::empty();
    run.plan.what = vec!["storage".to_owned()];
    let steady = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.0].map(|share| 11_900.0 * share);
    let reads = [
        ("clat", humps(70, 90_000, 1_200_000)),
        ("slat", humps(100, 2_000, 9_000)),
    ];
    add(
        &mut run,
        "storage.randread-4k-qd32",
        &steady,
        "reads",
        &reads,
    );
    let fast = 3_000.0;
    let falls = [
        fast, 3_010.0, 2_990.0, 600.0, 601.0, 600.0, 599.0, 600.0, 600.0,
    ];
    let writes = [("clat", humps(100, 330_000, 9_000))];
    add(&mut run, "storage.randwrite-4k", &falls, "writes", &writes);
    let slow = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 1.0].map(|share| 410.0 * share);
    let syncs = [
        ("clat", humps(100, 21_000, 9_000)),
        ("sync", humps(60, 900_000, 9_000_000)),
    ];
    add(&mut run, "storage.fsync-4k", &slow, "writes", &syncs);
    let first = testkit::add_case(&mut run, "storage.first-write", 1, "off", &[FIRST, AGAIN]);
    for (pass, level) in (1..).zip(testkit::six_around(4e7)) {
        let values = [
            ("first_bytes_per_s", level),
            ("again_bytes_per_s", 3.1 * level),
        ];
        testkit::add_round(&mut run, &first, pass, Ok(&values));
    }
    run
}

/// The part of the text that is about storage, and the notes behind it.
fn storage_part(view: &RunView<'_>, width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    let text = text(view, style, lang);
    let from = text.find(lang.pick("storage: ", "ストレージ: ")).unwrap();
    text[from..].to_owned()
}

#[test]
fn a_disk_with_a_cache_a_burst_and_slow_first_writes() {
    let run = run();
    insta::assert_snapshot!("storage_en", storage_part(&view(&run), 100, Lang::En));
    insta::assert_snapshot!("storage_ja", storage_part(&view(&run), 100, Lang::Ja));
}

#[test]
fn without_utf_8_the_pictures_are_letters() {
    let run = run();
    let text = without_blocks(&storage_part(&view(&run), 100, Lang::En));
    assert!(text.is_ascii(), "{text}");
    insta::assert_snapshot!("storage_ascii", text);
}

#[test]
fn markdown_has_tables_and_lists_of_it() {
    let run = run();
    let page = markdown(&view(&run), Lang::En);
    let from = page.find("### storage: ").unwrap();
    insta::assert_snapshot!("storage_markdown", &page[from..]);
}

#[test]
fn markdown_and_the_document_say_the_same_sentences() {
    let run = run();
    let view = view(&run);
    let markdown = markdown(&view, Lang::En);
    let document = json::run(&view);
    json::tests::assert_valid(&document, &json::schema::schema_run());
    let document: serde_json::Value = serde_json::from_str(&document).unwrap();
    let cases = document["storage"]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 4);
    for case in cases {
        for sentence in case["sentences"].as_array().unwrap() {
            let sentence = escape(sentence.as_str().unwrap());
            assert!(markdown.contains(&sentence), "{sentence}\n{markdown}");
        }
    }
    let clat = &cases[0]["latencies"][0];
    assert_eq!(
        (&clat["name"], &clat["of"]),
        (&"clat".into(), &"reads".into())
    );
    assert_eq!(clat["modes"].as_array().unwrap().len(), 2);
    assert_eq!(clat["cause"]["cache"]["cached_share"], 0.68);
    assert_eq!(cases[1]["fall"]["kind"], "between_rounds");
    assert_eq!(cases[1]["steady"]["result"], "steady");
    assert_eq!(cases[3]["first_write"]["penalty"]["present"], true);
}

#[test]
fn what_limited_a_case_stands_at_that_case() {
    let run = run();
    let document: serde_json::Value = serde_json::from_str(&json::run(&view(&run))).unwrap();
    for metric in document["metrics"].as_array().unwrap() {
        let limits: Vec<&str> = metric["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|warning| warning["kind"] == "limited")
            .map(|warning| warning["limit"].as_str().unwrap())
            .collect();
        let reads = metric["test"] == "storage.randread-4k-qd32";
        assert_eq!(
            limits,
            if reads { vec!["cached"] } else { vec![] },
            "{metric}"
        );
    }
}

#[test]
fn no_line_is_wider_than_the_terminal_even_with_wide_blocks() {
    let wide = |line: &str| {
        let blocks = line.chars().filter(|c| ('▁'..='█').contains(c)).count();
        // The other lines' width counts blocks as wide already: they lie above U+1100.
        columns(line) - blocks
    };
    let run = run();
    for width in [60, 80, 100, 120] {
        for lang in Lang::ALL {
            for line in storage_part(&view(&run), width, lang).lines() {
                let taken = if lang == Lang::Ja {
                    columns(line)
                } else {
                    wide(line)
                };
                assert!(taken <= width, "{width} {taken}: {line}");
            }
        }
    }
}

#[test]
fn a_picture_without_room_beside_its_range_stands_below_it() {
    let run = run();
    for width in [60, 80, 100] {
        let page = storage_part(&view(&run), width, Lang::Ja);
        let lines: Vec<&str> = page.lines().collect();
        let drawn = |line: &str| line.chars().any(|c| ('▁'..='█').contains(&c));
        for pair in lines
            .windows(2)
            .filter(|pair| pair[0].contains("速度の推移"))
        {
            assert!(drawn(pair[0]) || drawn(pair[1]), "{width}: {page}");
        }
    }
}

#[test]
fn many_rounds_are_drawn_as_one_line() {
    let mut run = testkit::empty();
    let case = testkit::add_case(&mut run, "storage.randread-4k", 1, "off", &[IOPS]);
    for pass in 1..=100 {
        testkit::add_round(&mut run, &case, pass, Ok(&[("iops", 1e4)]));
    }
    let text = storage_part(&view(&run), 100, Lang::En);
    let line = text
        .lines()
        .find(|line| line.contains("rate over time"))
        .unwrap();
    let blocks = line.chars().filter(|c| ('▁'..='█').contains(c)).count();
    assert_eq!(blocks, super::BLOCKS_MAX, "{line}");
}

/// A soak of a disk that is sold with 30 minutes of burst: `windows` of each stretch, and what the stretch is for.
fn soak(stretches: &[(StretchKind, Vec<f64>)]) -> Run {
    let mut run = testkit::empty();
    let case = testkit::add_case(&mut run, "storage.randread-4k-qd32", 1, "off", &[IOPS, P99]);
    run.plan.cases[0].shape.window = Nanos::from_secs(1);
    let started = run.meta.started;
    let mut elapsed = Nanos::ZERO;
    for (pass, (kind, windows)) in (1..).zip(stretches) {
        if let StretchKind::Refill { rest } = kind {
            elapsed = elapsed.plus(*rest);
        }
        testkit::add_round(
            &mut run,
            &case,
            pass,
            Ok(&[("iops", windows[0]), ("clat_ns_p99", 1e6)]),
        );
        let round = run.rounds.last_mut().unwrap();
        let Outcome::Done(done) = &mut round.outcome else {
            panic!()
        };
        let length = Nanos::from_secs(windows.len() as u64);
        done.windows.clone_from(windows);
        done.copies[0].wall = length;
        done.copies[0].ops = model::num::round_to_u64(windows.iter().sum());
        round.started = UnixNanos(started.0 + elapsed.0);
        round.took = length;
        round.stretch = Some(Stretch {
            kind: *kind,
            began: round.started,
            elapsed,
            suspended_before: None,
        });
        elapsed = elapsed.plus(length);
    }
    run.plan.soak = Some(Soak {
        span: elapsed,
        every: None,
        opening: elapsed,
    });
    run
}

#[test]
fn a_soak_of_a_disk_says_how_long_it_is_fast_and_what_it_does_then() {
    let fast = |n: usize| (0..n).map(|i| 3_000.0 + approx(i as u64 * 7 % 11));
    let slow = |n: usize| (0..n).map(|i| 600.0 + approx(i as u64 % 2));
    let all: Vec<f64> = fast(1_800).chain(slow(900)).collect();
    let mut stretches: Vec<(StretchKind, Vec<f64>)> = all
        .chunks(60)
        .map(|windows| (StretchKind::Opening, windows.to_vec()))
        .collect();
    // 120 s of rest at 600 a second are 30 s of burst at 2,400 more.
    let rest = Nanos::from_secs(120);
    stretches.push((
        StretchKind::Refill { rest },
        fast(30).chain(slow(30)).collect(),
    ));
    let run = soak(&stretches);
    let view = view(&run);
    let said = |lang: Lang| crate::page::soak::sentence(view.soak.as_ref().unwrap(), lang);
    assert_eq!(
        said(Lang::En),
        "3.01 kIOPS for 30 min 0 s, then 600 IOPS: a token bucket of 4.33 M operations, confirmed by its refill during a \
         rest of 2 min 0 s"
    );
    assert_eq!(
        said(Lang::Ja),
        "30 分 0 秒 の間 3.01 kIOPS、その後は 600 IOPS。容量 4.33 M 回の操作 のトークンバケットであり、2 分 0 秒 の休止中の\
         回復で確認しました"
    );
}

#[test]
fn sentences_of_every_kind_are_said_in_both_languages() {
    let run = run();
    let storage = view(&run).storage.unwrap();
    let shape = storage.cases[0].latencies[0].clone();
    let mode = shape.modes[0];
    let case = &storage.cases[1];
    let known = case.steady.unwrap();
    let first = storage.cases[3].first_write.unwrap();
    let mut seen: Vec<String> = Vec::new();
    for lang in Lang::ALL {
        let mut all = Vec::new();
        for of in [Of::Reads, Of::Writes, Of::Trims, Of::Syncs] {
            all.extend((0..4).map(|n| {
                let shape = LatencyShape {
                    of,
                    modes: vec![mode; n],
                    together: Together::Single,
                    cause: None,
                    ..shape.clone()
                };
                modes(&shape, lang)
            }));
        }
        let apart = LatencyShape {
            together: Together::OtherRounds,
            cause: None,
            ..shape.clone()
        };
        all.extend([modes(&apart, lang), modes(&shape, lang)]);
        for gate in [
            Gate::Open,
            Gate::TooFewRounds,
            Gate::NotWritten,
            Gate::Ranging(0.34),
            Gate::Sloping(0.12),
            Gate::NoLevel,
        ] {
            let found = Steady { gate, ..known };
            all.push(steady(&found, 9, lang));
        }
        let (from, to) = (3000.0, 600.0);
        for found in [
            Fall::Between {
                fast_rounds: 3,
                from,
                to,
            },
            Fall::Within {
                seconds: 0.5,
                from,
                to,
            },
        ] {
            all.push(fall(&found, case, lang));
        }
        let mut quiet = storage.clone();
        for case in &mut quiet.cases {
            case.fall = None;
        }
        all.push(about_all(&quiet, lang).remove(0));
        let mut none = first;
        none.penalty.as_mut().unwrap().present = false;
        let few = FirstWrite {
            penalty: None,
            ..first
        };
        all.extend([&first, &none, &few].map(|found| first_write(found, lang)));
        for sentence in all {
            assert!(
                !sentence.contains('\n') && !sentence.ends_with(['.', '。']),
                "{sentence}"
            );
            assert!(!seen.contains(&sentence), "said twice: {sentence}");
            seen.push(sentence);
        }
    }
}
