//! Soaks as people and programs see them.

use super::{asked, happened, left_out, load, spent};
use crate::lang::Lang;
use crate::picture::BLOCKS;
use crate::testkit::{self, markdown, text};
use crate::view::{RunView, view};
use crate::{Style, json};
use model::noise::Noise;
use model::num::approx;
use model::record::{Failure, Outcome, Run};
use model::soak::{Soak, Stretch, StretchKind};
use model::units::{Nanos, UnixNanos};
use stats::soak::What;

/// A soak of 30 stretches of 60 windows, whose rate falls by a fifth at the 12th; one failed, one saw a suspend.
pub(crate) fn run() -> Run {
    let mut run = testkit::empty();
    let case = testkit::add_case(
        &mut run,
        "storage.randread",
        1,
        "off",
        &[testkit::OPS, testkit::P99],
    );
    let started = run.meta.started;
    for i in 0..30_u32 {
        let level = if i < 12 { 8_000.0 } else { 10_000.0 };
        let values = [("ops_per_s", level), ("clat_ns_p99", 1e9 / level)];
        testkit::add_round(&mut run, &case, i + 1, Ok(&values));
        let elapsed = Nanos::from_millis(60_100 * u64::from(i) + 50);
        let Some(round) = run.rounds.last_mut() else {
            panic!()
        };
        round.started = UnixNanos(started.0 + elapsed.0 - 50_000_000);
        round.took = Nanos::from_millis(60_100);
        round.stretch = Some(Stretch {
            kind: StretchKind::Opening,
            began: UnixNanos(started.0 + elapsed.0),
            elapsed,
            suspended_before: None,
        });
        if let Outcome::Done(done) = &mut round.outcome {
            done.windows = (0..60_u64)
                .map(|w| level * (1.0 + approx((w * 37 + u64::from(i) * 11) % 19) / 1000.0))
                .collect();
            done.copies[0].wall = Nanos::from_secs(60);
            done.copies[0].ops = 600_000;
        }
    }
    run.rounds[20].outcome = Outcome::Failed(Failure::OutOfMemory);
    run.rounds[25].noise = Noise {
        suspended: Some(Nanos::from_secs(42)),
        ..Noise::default()
    };
    run.plan.cases[0].shape.window = Nanos::from_secs(1);
    run.plan.soak = Some(Soak {
        span: Nanos::from_secs(1800),
        every: None,
        opening: Nanos::from_secs(1800),
    });
    run
}

fn without_host(view: &RunView<'_>, lang: Lang) -> String {
    let text = text(view, Style::PLAIN, lang);
    let from = text.find("\n\n").unwrap();
    let behind = text[from + 2..].find("\n\n").unwrap();
    text[from + 2 + behind..].to_owned()
}

#[test]
fn a_soak_is_a_sentence_a_picture_levels_and_marks() {
    let run = run();
    insta::assert_snapshot!("soak_en", without_host(&view(&run), Lang::En));
    insta::assert_snapshot!("soak_ja", without_host(&view(&run), Lang::Ja));
}

#[test]
fn a_soak_has_no_index_whose_passes_would_be_stretches() {
    let mut run = testkit::unixbench("off", 3.0);
    assert!(!view(&run).indexes.is_empty());
    run.plan.soak = self::run().plan.soak;
    assert!(view(&run).indexes.is_empty());
}

#[test]
fn a_soak_in_markdown_has_the_same_sentence() {
    let run = run();
    let view = view(&run);
    let markdown = markdown(&view, Lang::En);
    let sentence = super::sentence(view.soak.as_ref().unwrap(), Lang::En);
    assert!(
        sentence.starts_with("a step of +25 % at 2026-11-21"),
        "{sentence}"
    );
    assert!(
        markdown.contains(&sentence.replace('~', "\\~")),
        "{markdown}"
    );
    let from = markdown.find("- course: a step").unwrap();
    insta::assert_snapshot!("soak_markdown", &markdown[from..]);
}

#[test]
fn the_document_of_a_soak_is_valid_at_every_length() {
    let whole = run();
    for rounds in [0, 1, 2, 13, 30] {
        let mut run = whole.clone();
        run.rounds.truncate(rounds);
        let text = json::run(&view(&run));
        json::tests::assert_valid(&text, &json::schema::schema_run());
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        let soak = &document["soak"];
        assert_eq!(soak["levels"].is_null(), soak["levels_missing"].is_string());
        assert!(!soak["sentence"].as_str().unwrap().is_empty());
    }
}

#[test]
fn a_soak_that_was_interrupted_and_resumed_says_how_it_was_spent() {
    let mut run = run();
    let text = |run: &Run| text(&view(run), Style::PLAIN, Lang::En);
    assert!(
        text(&run).contains("30 min 3 s, load without a pause: "),
        "{}",
        text(&run)
    );
    // Interrupted after a third of its time.
    run.rounds.truncate(10);
    run.meta.end = model::record::End::Interrupted;
    let shown = text(&run);
    assert!(
        shown.contains("10 min 1 s of 30 min 0 s, load without a pause: 600 windows of 1.00 s"),
        "{shown}"
    );
    let one_line = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        one_line.contains("interrupted after 10 min 1 s of the 30 min 0 s asked for (33 %)"),
        "{shown}"
    );
    assert!(shown.contains("kurabe soak --resume"), "{shown}");
    // Resumed after five minutes.
    let mut again = self::run();
    for round in &mut again.rounds[10..] {
        round.started.0 += 300_000_000_000;
        if let Some(stretch) = &mut round.stretch {
            stretch.began.0 += 300_000_000_000;
            stretch.elapsed = stretch.elapsed.plus(Nanos::from_secs(300));
        }
    }
    let shown = text(&again);
    assert!(
        shown.contains(
            "35 min 3 s, load without a pause but for 5 min 0 s in which nothing was measured: "
        ),
        "{shown}"
    );
    assert!(
        shown.contains("nothing was measured for 5 min 0 s before this"),
        "{shown}"
    );
}

#[test]
fn a_soak_that_was_killed_says_so_before_it_is_resumed() {
    let mut run = run();
    run.meta.end = model::record::End::Open;
    run.meta.finished = None;
    for (rounds, en, ja) in [
        (
            10,
            "killed, or still going on, after 10 min 1 s of the 30 min 0 s asked for (33 %)",
            "予定 30 分 0 秒 のうち 10 分 1 秒（33 %）で強制終了されたか、まだ測定中です",
        ),
        (
            0,
            "killed, or still going on, before a stretch of the 30 min 0 s asked for had ended",
            "予定 30 分 0 秒 の最初の測定回が終わる前に強制終了されたか、まだ測定中です",
        ),
    ] {
        run.rounds.truncate(rounds);
        let view = view(&run);
        let soak = view.soak.as_ref().unwrap();
        for (lang, text) in [(Lang::En, en), (Lang::Ja, ja)] {
            let sentence = super::sentence(soak, lang);
            assert!(sentence.ends_with(text), "{sentence}");
        }
    }
}

#[test]
fn a_soak_whose_last_sample_leaves_no_room_says_why_it_is_shorter() {
    let mut run = run();
    let soak = run.plan.soak.as_mut().unwrap();
    soak.span = Nanos::from_secs(2000);
    soak.every = Some(Nanos::from_secs(300));
    let shown = text(&view(&run), Style::PLAIN, Lang::En);
    assert!(
        shown.contains("30 min 3 s of 33 min 20 s (what is left has no room for another sample), "),
        "{shown}"
    );
}

#[test]
fn the_page_of_a_soak_speaks_of_stretches_and_numbers_no_note_that_nothing_refers_to() {
    let mut run = run();
    for round in &mut run.rounds[..8] {
        round.noise.steal_share = Some(0.3);
        round.noise.foreign_cpu_share = Some(0.3);
    }
    for round in &mut run.rounds[8..] {
        round.noise.steal_share = Some(0.0);
        round.noise.foreign_cpu_share = Some(0.0);
    }
    for (i, round) in run.rounds.iter_mut().enumerate() {
        // The clock rate of the facts, and two more notes.
        round.noise.before = Some(model::noise::Sentinel {
            add_ns: if i < 3 { 0.5 } else { 0.4 },
            gap_share: if i < 3 { 0.5 } else { 0.0 },
            gap_max: Nanos(9_000),
            adds_per_cycle: None,
        });
    }
    let view = view(&run);
    let pages = [
        text(&view, Style::PLAIN, Lang::En),
        markdown(&view, Lang::En),
    ];
    for page in pages {
        assert!(page.contains("of the stretches"), "{page}");
        for wrong in ["round", "[1]", "metrics)", " ! "] {
            let found = page
                .replace("  !  ", "")
                .replace("around ", "")
                .contains(wrong);
            assert!(!found, "`{wrong}`: {page}");
        }
    }
    let document = json::run(&view);
    assert!(
        document.contains("in 28 % of the stretches the host took"),
        "{document}"
    );
    let japanese = text(&view, Style::PLAIN, Lang::Ja);
    assert!(!japanese.contains("ラウンド"), "{japanese}");
}

#[test]
fn one_window_is_no_windows() {
    let run = run();
    let view = view(&run);
    let mut soak = view.soak.clone().unwrap();
    (soak.windows, soak.edges) = (1, 0);
    for text in [spent(&soak, &view, Lang::En), left_out(1, Lang::En)] {
        assert!(!text.contains("windows"), "{text}");
    }
}

#[test]
fn what_is_called_steady_has_the_figure_of_the_levels_and_names_who_disturbed() {
    let mut run = run();
    let mut rng = model::rng::Rng::new(31);
    for (i, round) in run.rounds.iter_mut().enumerate() {
        round.outcome = match &round.outcome {
            Outcome::Done(done) => Outcome::Done(done.clone()),
            Outcome::Failed(_) => continue,
        };
        round.noise = Noise {
            steal_share: Some(if i % 4 == 0 { 0.2 } else { 0.0 }),
            foreign_cpu_share: Some(0.0),
            ..Noise::default()
        };
        let Outcome::Done(done) = &mut round.outcome else {
            continue;
        };
        // Most windows at one level and a tail below it: the mean is not the median.
        done.windows = (0..60)
            .map(|_| 10_000.0 - 400.0 * rng.normal().powi(2).min(4.0))
            .collect();
    }
    let view = view(&run);
    let soak = view.soak.as_ref().unwrap();
    let sentence = super::sentence(soak, Lang::En);
    let rows = super::levels(soak, &view, Lang::En);
    let super::Cell::Text(super::Text { text: typical, .. }) = &rows[0][1] else {
        panic!()
    };
    assert!(
        sentence.starts_with(&format!(
            "steady at {typical}; disturbed in 24 % of its stretches (by the host in 24 %)"
        )),
        "{sentence}"
    );
}

#[test]
fn figures_below_the_common_scale_have_one_of_their_own_with_their_interval() {
    let mut run = run();
    for (i, round) in run.rounds.iter_mut().enumerate() {
        if let Outcome::Done(done) = &mut round.outcome {
            let level = if i < 2 { 1000.0 } else { 10.0 };
            let wobble = |w: usize| approx(w as u64 % 3) / 100.0;
            done.windows = (0..60).map(|w| level * (1.0 + wobble(w))).collect();
        }
    }
    let text = text(&view(&run), Style::PLAIN, Lang::En);
    let mean = text.lines().find(|line| line.contains("within this run"));
    assert!(
        mean.is_some_and(|line| line.contains(" 10.") && !line.contains("0.010")),
        "{text}"
    );
}

#[test]
fn no_width_breaks_the_picture() {
    let run = run();
    let view = view(&run);
    for width in [1, 40, 60, 72, 100, 200] {
        let style = Style {
            width,
            color: false,
        };
        let text = text(&view, style, Lang::En);
        assert!(text.contains('▁') && text.contains('█'), "{text}");
    }
}

#[test]
fn every_mark_and_how_it_was_spent_is_said_in_both_languages() {
    let time = Nanos::from_secs;
    let marks = [
        What::ClockJump(time(1)),
        What::Suspended(time(2)),
        What::SuspendedAtRest(time(3)),
        What::Gap(time(4)),
        What::Failed(Failure::Error("5".to_owned())),
    ];
    let mut said: Vec<[String; 2]> = marks
        .iter()
        .map(|what| Lang::ALL.map(|lang| happened(what, lang)))
        .collect();
    let run = run();
    let view = view(&run);
    let mut soak = view.soak.clone().unwrap();
    for (every, gap, span) in [
        (None, 0, 1800),
        (None, 7, 4000),
        (Some(9), 0, 4000),
        (Some(9), 7, 1800),
    ] {
        soak.soak.every = every.map(time);
        soak.soak.span = time(span);
        soak.marks.retain(|mark| !matches!(mark.what, What::Gap(_)));
        if gap > 0 {
            let mark = stats::soak::Mark {
                what: What::Gap(time(gap)),
                ..soak.marks[0].clone()
            };
            soak.marks.push(mark);
        }
        said.push(Lang::ALL.map(|lang| load(&soak, lang) + &asked(&soak, &view, lang)));
        said.push(Lang::ALL.map(|lang| spent(&soak, &view, lang)));
    }
    let digits = |text: &str| {
        let mut found: Vec<char> = text.chars().filter(char::is_ascii_digit).collect();
        found.sort_unstable();
        found
    };
    for [english, japanese] in said {
        assert_eq!(
            digits(&english),
            digits(&japanese),
            "{english} | {japanese}"
        );
        assert!(!japanese.is_ascii() && !english.ends_with('.') && !japanese.ends_with('。'));
    }
}

#[test]
fn a_soak_names_its_case_in_every_format_for_people() {
    let run = run();
    for lang in Lang::ALL {
        let text = text(&view(&run), Style::PLAIN, lang);
        let head = text.lines().nth(1).unwrap();
        assert!(head.contains("storage.randread@1"), "{head}");
        let page = markdown(&view(&run), lang);
        let head = page.lines().next().unwrap();
        assert!(
            head.starts_with("## ") && head.ends_with(": `storage.randread@1`"),
            "{head}"
        );
    }
}

#[test]
fn windows_and_blocks_that_differ_in_number_are_explained() {
    let mut run = run();
    run.rounds.truncate(1);
    run.plan.soak.as_mut().unwrap().span = Nanos::from_secs(60);
    let picture = |run: &Run| {
        let text = text(
            &view(run),
            Style {
                width: 200,
                color: false,
            },
            Lang::En,
        );
        let blocks = text.chars().filter(|c| BLOCKS.contains(c)).count();
        let spent = text.lines().find(|line| line.contains("60 windows"));
        (blocks, spent.unwrap_or_else(|| panic!("{text}")).to_owned())
    };
    let (blocks, spent) = picture(&run);
    assert_eq!(blocks, 58);
    assert!(
        spent.ends_with(
            "60 windows of 1.00 s; 2 of them, the ends of stretches, are not in the picture"
        ),
        "{spent}"
    );
    // What is in no window is said where it is as long as one.
    run.rounds[0].took = Nanos::from_secs(62);
    let (_, spent) = picture(&run);
    assert!(
        spent.contains("; starting and ending stretches took 2.0"),
        "{spent}"
    );
}
