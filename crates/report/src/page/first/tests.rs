//! The first lines fit, say who disturbed, and have figures that stand below them too.

use super::super::run::{Detail, page};
use super::*;
use crate::render::{markdown, text};
use crate::style::Style;
use crate::testkit;
use crate::view::view;
use model::estimate::State;
use model::headline::Headline;
use model::host::Fact;
use model::look::{Busy, Look};
use model::noise::Noise;
use model::plan::Dropped;
use model::record::Outcome;
use model::spec::Nature;
use model::units::Nanos;

fn shown(run: &Run, detail: Detail, width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    text(&page(&view(run), detail, lang), style)
}

#[test]
fn the_first_lines_say_how_a_run_is_called_however_long_its_label_is() {
    let mut run = testkit::normal();
    let made = |run: &Run| super::made(run, Lang::En);
    let (_, short) = run.meta.id.rsplit_once('-').unwrap();
    let short = short.to_owned();
    run.meta.label = None;
    assert!(made(&run).contains(&short), "{}", made(&run));
    run.meta.label = Some("web".to_owned());
    assert!(made(&run).contains("\"web\""), "{}", made(&run));
    run.meta.label = Some(format!("begins {}", "y".repeat(73)));
    let line = made(&run);
    assert!(
        line.contains("\"begins y") && columns(&line) <= WIDTH,
        "{line}"
    );
}

/// Every kind of run.
fn runs() -> Vec<Run> {
    let mut runs = vec![
        testkit::empty(),
        testkit::normal(),
        testkit::with_failures(),
        testkit::interrupted(),
        testkit::unixbench("off", 2.0),
        testkit::unixbench("6", 20.0),
        testkit::hostile(),
        long(),
        many(),
        first_look(),
        longest(),
    ];
    let disturbed: Vec<Run> = runs.iter().map(|run| disturbed(run.clone())).collect();
    runs.extend(disturbed);
    runs
}

/// A program that is busy in every round.
fn disturbed(mut run: Run) -> Run {
    for round in &mut run.rounds {
        round.noise = Noise {
            foreign_cpu_share: Some(0.31),
            foreign_top: Some("systemd-journal".to_owned()),
            ..Noise::default()
        };
    }
    run
}

/// A machine whose names are as long as names get.
fn long() -> Run {
    let mut run = headlines(4);
    run.meta.label = Some("a label that says rather a lot about what was tried here".to_owned());
    let model = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz";
    run.host.cpu.model = Fact::Known(model.to_owned());
    run.host.hostname = Fact::Known("ip-10-0-0-12.ap-northeast-1.compute.internal".to_owned());
    run
}

/// A machine of which everything has a name as long as an import may bring.
fn longest() -> Run {
    let mut run = testkit::normal();
    let name = || Fact::Known("n".repeat(model::bounds::HOST_CHARS_MAX));
    let host = &mut run.host;
    host.hostname = name();
    host.cpu.model = name();
    host.kernel.release = name();
    host.storage.file_system = name();
    run
}

/// More headlines than there is room for.
fn many() -> Run {
    headlines(12)
}

/// So many tests of each topic, at one copy and at four.
fn headlines(tests: usize) -> Run {
    let mut run = testkit::empty();
    let topics = [Topic::Os, Topic::Cpu, Topic::SmallReads, Topic::PageCache];
    for (i, topic) in topics
        .into_iter()
        .cycle()
        .take(tests * topics.len())
        .enumerate()
    {
        for copies in [1, 4] {
            let quantities = [testkit::OPS, testkit::P99];
            let id = testkit::add_case(&mut run, &format!("x.t{i}"), copies, "off", &quantities);
            let case = run.plan.cases.last_mut().unwrap();
            case.metrics[1].how = How::Of("clat".to_owned(), Stat::Quantile(0.99));
            let headline = Headline::new(topic, ["words", "言葉"]);
            case.headline = Some(headline.and_all().beside("clat_ns_p99"));
            for (pass, value) in (1..).zip(testkit::six_around(12_345.0)) {
                let values = [("ops_per_s", value), ("clat_ns_p99", 1e9 / value)];
                testkit::add_round(&mut run, &id, pass, Ok(&values));
            }
        }
    }
    run
}

#[test]
fn no_page_begins_with_more_or_wider_lines_than_a_glance_takes() {
    for run in runs() {
        for lang in Lang::ALL {
            for width in [80, 120] {
                let first = shown(&run, Detail::Short, width, lang);
                assert!(first.lines().count() <= LINES, "{first}");
                assert!(first.lines().count() >= 3, "{first}");
                for detail in [Detail::Usual, Detail::Full] {
                    let whole = shown(&run, detail, width, lang);
                    assert!(whole.starts_with(&first), "{whole}");
                }
                assert!(first.lines().all(|line| columns(line) <= WIDTH), "{first}");
            }
            let usual = shown(&run, Detail::Usual, 80, lang);
            let wide = usual.lines().find(|line| columns(line) > 80);
            let hostile = run.plan.cases.iter().any(|case| case.id.test.len() > 40);
            assert!(hostile || wide.is_none(), "{wide:?}");
            let pasted = markdown(&page(&view(&run), Detail::Short, lang));
            assert!(pasted.lines().count() <= 12, "{pasted}");
        }
    }
}

#[test]
fn every_figure_of_the_first_lines_stands_in_the_table() {
    let run = long();
    let first = shown(&run, Detail::Short, 80, Lang::En);
    let full = shown(&run, Detail::Full, 120, Lang::En);
    let table = &full[first.len()..];
    let mut figures = 0;
    for line in first.lines().skip(3) {
        for pair in line.split_whitespace().collect::<Vec<_>>().windows(2) {
            if matches!(pair[1].trim_end_matches([',', ';']), "k/s" | "us") {
                assert!(table.contains(pair[0]), "{} {table}", pair[0]);
                figures += 1;
            }
        }
    }
    assert!(figures >= 10, "{first}");
}

/// A run of the usual first look: two figures of a CPU, and those of memory, the system, the page cache and a disk.
fn first_look() -> Run {
    let headlines = [
        (Topic::Cpu, "whetstone"),
        (Topic::Memory, "copy"),
        (Topic::Memory, "1 MiB"),
        (Topic::Os, "pipe"),
        (Topic::Os, "fork"),
        (Topic::Os, "exec"),
        (Topic::PageCache, "copy by 4 KiB"),
        (Topic::SmallReads, "qd1"),
        (Topic::SmallReads, "qd32"),
        (Topic::SmallWrites, "qd1"),
        (Topic::SmallWrites, "qd32"),
        (Topic::LargeBlocks, "read"),
        (Topic::LargeBlocks, "write"),
        (Topic::Syncs, "fsync"),
    ];
    let mut run = testkit::empty();
    for (i, (topic, word)) in headlines.into_iter().enumerate() {
        let id = testkit::add_case(&mut run, &format!("x.t{i}"), 1, "off", &[testkit::OPS]);
        let case = run.plan.cases.last_mut().unwrap();
        case.headline = Some(Headline::named(topic, word));
        for (pass, value) in (1..).zip([9900.0, 10_050.0, 9950.0, 10_000.0, 10_100.0, 9970.0]) {
            testkit::add_round(&mut run, &id, pass, Ok(&[("ops_per_s", value)]));
        }
    }
    run
}

#[test]
fn a_first_look_has_all_of_its_headlines_on_the_first_lines() {
    let run = first_look();
    for lang in Lang::ALL {
        let first = shown(&run, Detail::Short, 80, lang);
        assert_eq!(first.lines().count(), LINES, "{first}");
        for case in &run.plan.cases {
            let word = &case.headline.as_ref().unwrap().words[0];
            assert!(
                first.contains(&format!("{word} 9.98 k/s")),
                "{word}: {first}"
            );
        }
    }
}

#[test]
fn what_was_seen_before_stands_behind_the_trust() {
    let mut run = testkit::normal();
    run.meta.looks.push(Look {
        took: Nanos::from_secs(3),
        noise: Noise {
            foreign_cpu_share: Some(0.96),
            ..Noise::default()
        },
        busy: vec![Busy {
            name: "rustc".to_owned(),
            cpu_share: 0.96,
        }],
        ..Look::default()
    });
    let words = |lang| {
        let first = shown(&run, Detail::Short, 80, lang);
        assert!(first.lines().count() <= LINES, "{first}");
        let words: Vec<&str> = first.split_whitespace().collect();
        words.join(" ")
    };
    let (en, ja) = (words(Lang::En), words(Lang::Ja));
    assert!(
        en.contains(". Before it began: `rustc` at 96 % of a CPU"),
        "{en}"
    );
    assert!(
        ja.contains("。測定前: `rustc` が CPU の 96 % を使用"),
        "{ja}"
    );
    let document: serde_json::Value = serde_json::from_str(&crate::json::run(&view(&run))).unwrap();
    assert_eq!(document["run"]["seen"][0]["programs"][0]["name"], "rustc");
}

#[test]
fn the_page_of_a_first_look_is_short_however_disturbed_it_was() {
    let mut run = disturbed(first_look());
    // Long names leave no room for the state of storage.
    for case in &mut run.plan.cases {
        if case.headline.as_ref().unwrap().topic >= Topic::SmallReads {
            case.nature = Nature::Storage;
        }
    }
    for n in 0..4 {
        let test = format!("storage.sequential-write-{n}-qd32");
        let id = testkit::add_case(&mut run, &test, 1, "off", &[testkit::OPS]);
        run.plan.cases.last_mut().unwrap().nature = Nature::Storage;
        for pass in 1..=6 {
            testkit::add_round(&mut run, &id, pass, Ok(&[(testkit::OPS.0, 1.0)]));
        }
        run.plan.dropped.push(Dropped {
            what: format!("x.dropped{n}"),
            why: "this machine has none of it, and nobody knows why ".repeat(n + 1),
            needs: None,
        });
    }
    let scattered = [9950.0, 14_000.0, 9000.0, 15_000.0, 8000.0, 16_000.0];
    for (round, value) in run.rounds.iter_mut().zip(scattered.into_iter().cycle()) {
        round.noise.throttled_share = Some(0.5);
        round.noise.steal_share = Some(0.5);
        round.noise.foreign_cpu_share = Some(0.5);
        round.noise.clock_jump = Some(Nanos::from_secs(1));
        if let Outcome::Done(measured) = &mut round.outcome {
            measured.values.insert(testkit::OPS.0.to_owned(), value);
        }
    }
    for lang in Lang::ALL {
        let usual = shown(&run, Detail::Usual, 80, lang);
        let unstable = usual.matches(lang.pick("unstable,", "不安定")).count();
        assert!(unstable >= run.plan.cases.len(), "{usual}");
        let lines = usual.lines().count();
        assert!((50..=60).contains(&lines), "{lines}: {usual}");
        let more = lang.pick("more notes: `kurabe", "件の注があります");
        assert!(usual.contains(more), "{usual}");
    }
}

#[test]
fn who_disturbed_stands_above_every_figure_and_is_coloured() {
    let run = disturbed(testkit::normal());
    let first = shown(&run, Detail::Short, 80, Lang::En);
    let trust: Vec<&str> = first
        .lines()
        .skip(2)
        .flat_map(str::split_whitespace)
        .collect();
    let said = "trust DISTURBED: `systemd-journal` in 30 of 30 rounds, using 31 % of a CPU; do not quote. \
                Stop it and run again";
    assert!(trust.join(" ").starts_with(said), "{first}");
    let style = Style {
        width: 80,
        color: true,
    };
    let coloured = text(&page(&view(&run), Detail::Short, Lang::En), style);
    assert!(
        coloured.contains("\u{1b}[33mDISTURBED:\u{1b}[0m"),
        "{coloured:?}"
    );
}

#[test]
fn a_metric_in_two_states_has_both_levels_where_its_value_would_stand() {
    let mut run = testkit::empty();
    let id = testkit::add_case(&mut run, "os.pipe", 1, "off", &[testkit::OPS]);
    for pass in 1..=30 {
        let level = if pass % 5 < 3 { 4710.0 } else { 4150.0 };
        let value = level * (1.0 + f64::from(pass % 7) / 5000.0);
        testkit::add_round(&mut run, &id, pass, Ok(&[("ops_per_s", value)]));
    }
    let state = view(&run).metrics[0].state;
    assert!(matches!(state, State::TwoState { .. }), "{state:?}");
    let first = shown(&run, Detail::Short, 80, Lang::En);
    assert!(
        first.contains("two levels: 4.71 (60 % of the time) and 4.15 k/s"),
        "{first}"
    );
    for round in &mut run.rounds {
        if let Outcome::Done(measured) = &mut round.outcome {
            measured.windows.clear();
        }
    }
    let first = shown(&run, Detail::Short, 80, Lang::En);
    assert!(first.contains("4.71 (60 % of rounds) and"), "{first}");
    let usual = shown(&run, Detail::Usual, 80, Lang::En);
    let rows: Vec<&str> = usual
        .lines()
        .filter(|line| line.contains("two levels") && line.ends_with("of rounds"))
        .collect();
    assert_eq!(rows.len(), 2, "{usual}");
    assert!(
        rows[0].contains(" 4.71 ") && rows[1].contains(" 4.15 "),
        "{usual}"
    );
}

#[test]
fn failed_rounds_have_no_figure_and_the_page_says_why() {
    let mut run = testkit::normal();
    for round in &mut run.rounds {
        round.outcome = Outcome::Failed(model::record::Failure::OutOfMemory);
    }
    let usual = shown(&run, Detail::Usual, 80, Lang::En);
    let trust = "\ntrust  nothing measured; `--full` has the reasons\n";
    assert!(usual.contains(trust), "{usual}");
    let why = "-  ops/s      no value: worker killed by the kernel: out\n";
    assert!(usual.contains(why), "{usual}");
}

#[test]
fn rounds_that_failed_are_named_where_it_says_how_far_to_trust_the_others() {
    let mut run = testkit::normal();
    let of_pipe = |round: &&mut model::record::Round| round.case.to_string() == "os.pipe@1";
    let whys = ["the peer went away", "nobody listens\nhint: start it"];
    for (round, why) in run.rounds.iter_mut().filter(of_pipe).zip(whys) {
        round.outcome = Outcome::Failed(model::record::Failure::Error(why.to_owned()));
    }
    let said = |run: &Run| {
        let page = shown(run, Detail::Short, 80, Lang::En);
        page.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let page = said(&run);
    let trust =
        "2 rounds failed: os.pipe@1 2 of 6 (the peer went away, 1 round; nobody listens, 1 round)";
    assert!(page.contains(trust) && !page.contains("hint"), "{page}");
    let japanese = shown(&run, Detail::Short, 80, Lang::Ja).replace([' ', '\n'], "");
    assert!(
        japanese
            .contains("2回が失敗:os.pipe@1は6回中2回（エラーが発生しました:thepeerwentaway、1回"),
        "{japanese}"
    );
    // Those that end in the middle had measured something.
    for round in &mut run.rounds {
        if round.failure().is_some() {
            round.partial = Some(::testkit::measured(&[]).into());
        }
    }
    let page = said(&run);
    assert!(page.contains("2 rounds ended early: os.pipe@1"), "{page}");
}

#[test]
fn the_second_line_counts_the_rounds_that_there_are_and_ends_with_a_name() {
    let check = |rounds: &[u32], label: &str, expect: [&str; 2]| {
        let mut run = testkit::empty();
        run.meta.label = (!label.is_empty()).then(|| label.to_owned());
        for (place, &n) in rounds.iter().enumerate() {
            let test = format!("os.t{place}");
            let case = testkit::add_case(&mut run, &test, 1, "off", &[testkit::OPS]);
            for pass in 1..=n {
                testkit::add_round(&mut run, &case, pass, Ok(&[(testkit::OPS.0, 1e4)]));
            }
        }
        for (lang, expect) in Lang::ALL.into_iter().zip(expect) {
            let first = shown(&run, Detail::Short, 80, lang);
            let made = first.lines().nth(1).unwrap();
            assert!(made.ends_with(expect), "{made}");
        }
    };
    let id = testkit::empty().meta.id;
    let named = format!(", 1 round, kurabe 0.1.0, {id}");
    let named_ja = format!(", 各 1 回, kurabe 0.1.0, {id}");
    check(&[1, 1], "", [&named, &named_ja]);
    check(
        &[6, 5, 6],
        "b",
        [
            ", 5 to 6 rounds each, kurabe 0.1.0, \"b\"",
            ", 各 5 から 6 回, kurabe 0.1.0, \"b\"",
        ],
    );
    check(
        &[0, 1, 1],
        "a label for which there is hardly room on a line",
        [
            ", 2 of 3 cases have 1 round, \"a label f...\"",
            ", 3 件中 2 件が各 1 回, \"a label f...\"",
        ],
    );
}

#[test]
fn what_has_no_room_leaves_a_sign_and_a_run_that_was_stopped_can_go_on() {
    for lang in Lang::ALL {
        let first = shown(&many(), Detail::Short, 80, lang);
        let left_out = first.lines().filter(|line| line.ends_with("; ..."));
        assert!(left_out.count() >= 1, "{first}");
        let first = shown(&first_look(), Detail::Short, 80, lang);
        assert!(!first.contains("..."), "{first}");
        let first = shown(&testkit::interrupted(), Detail::Short, 80, lang);
        let command = format!("kurabe run --resume {}", testkit::interrupted().meta.id);
        assert!(first.contains(&command), "{first}");
    }
}

#[test]
fn the_first_lines_in_both_languages() {
    insta::assert_snapshot!("first_en", shown(&long(), Detail::Short, 80, Lang::En));
    insta::assert_snapshot!("first_ja", shown(&long(), Detail::Short, 80, Lang::Ja));
    let usual = |lang| shown(&testkit::with_failures(), Detail::Usual, 80, lang);
    insta::assert_snapshot!("usual_en", usual(Lang::En));
    insta::assert_snapshot!("usual_ja", usual(Lang::Ja));
}

#[test]
fn a_page_with_an_index_and_too_many_lines_keeps_databases_and_networks() {
    let lines = |topics: &[Topic]| -> Vec<Line> {
        let line = |&topic| Line {
            topic,
            name: String::new(),
            items: Vec::new(),
            remark: None,
        };
        topics.iter().map(line).collect()
    };
    let all = [
        Topic::Index,
        Topic::Cpu,
        Topic::Os,
        Topic::Memory,
        Topic::SmallReads,
        Topic::Storage,
        Topic::Database,
        Topic::Network,
    ];
    let check = |topics: &[Topic], most, expected: &[Topic], is_less| {
        let (lines, less) = chosen(lines(topics), most);
        let found: Vec<Topic> = lines.iter().map(|line| line.topic).collect();
        assert_eq!((found.as_slice(), less), (expected, is_less), "{most}");
    };
    check(&all, 8, &all, false);
    let [index, cpu, _, memory, reads, storage, database, network] = all;
    let seven = [index, cpu, memory, reads, storage, database, network];
    check(&all, 7, &seven, true);
    check(&all, 5, &[index, memory, reads, database, network], true);
    // Nothing else tells of a processor.
    check(&all[1..], 3, &all[1..], false);
}
