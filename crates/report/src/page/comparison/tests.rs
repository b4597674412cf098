//! Pages of comparisons: what they say, in which room, and of which side.

use super::summary::{LINES_MAX, lines};
use super::table::{better_side, legend, lower, rounds_needed, row};
use super::*;
use crate::comparison::Sides;
use crate::comparison::{self as compare, CompareOptions};
use crate::page::run::tests::columns;
use crate::render::{markdown, text};
use crate::style::Style;
use crate::testkit;
use model::comparison::{Comparison, RoundsNeeded};
use model::warning::Warning;

/// Both sides with what is concluded about them.
pub(super) fn compared<'a>(
    base: &'a Party<'a>,
    other: &'a Party<'a>,
    comparison: &'a Comparison,
    lang: Lang,
) -> Compared<'a> {
    Compared {
        sides: Sides { base, other },
        comparison,
        lang,
    }
}

fn example(lang: Lang) -> Vec<Block> {
    let (base, other, comparison) = testkit::comparison();
    let view = ComparisonView {
        base: Party::one(&base),
        others: vec![(Party::one(&other), comparison)],
    };
    super::page(&view, Detail::Full, lang)
}

fn shown(width: usize, lang: Lang) -> String {
    let style = Style {
        width,
        color: false,
    };
    text(&example(lang), style)
}

#[test]
fn wide_in_english() {
    insta::assert_snapshot!("comparison_en", shown(120, Lang::En));
}

#[test]
fn wide_in_japanese() {
    insta::assert_snapshot!("comparison_ja", shown(120, Lang::Ja));
}

#[test]
fn narrow_terminals_get_two_lines_a_metric() {
    insta::assert_snapshot!("comparison_narrow", shown(60, Lang::En));
}

#[test]
fn a_comparison_for_a_blog() {
    insta::assert_snapshot!("comparison_markdown", markdown(&example(Lang::En)));
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [60, 80, 100, 120] {
        for lang in Lang::ALL {
            for line in shown(width, lang).lines() {
                assert!(columns(line) <= width, "{width}: {line}");
            }
        }
    }
}

#[test]
fn two_comparisons_are_an_empty_line_apart() {
    let (base, other, comparison) = testkit::comparison();
    let view = ComparisonView {
        base: Party::one(&base),
        others: vec![
            (Party::one(&other), comparison.clone()),
            (Party::one(&other), comparison),
        ],
    };
    let page = text(&super::page(&view, Detail::Full, Lang::En), Style::PLAIN);
    assert!(!page.contains("\n\n\n"), "{page}");
    let heading = "\n\ncloud ssd against vps ssd\n  base   20";
    assert_eq!(page.matches(heading).count(), 2, "{page}");
}

#[test]
fn a_duel_says_that_it_is_one_and_looks_say_that_they_decided() {
    for lang in Lang::ALL {
        let (base, other, mut comparison) = testkit::comparison();
        let mut says = |paired, looked| {
            (comparison.paired, comparison.looked) = (paired, looked);
            let (base, other) = (Party::one(&base), Party::one(&other));
            pairing(compared(&base, &other, &comparison, lang), Detail::Full)
        };
        assert!(says(false, false).is_empty());
        let targets = says(false, true);
        let duel = says(true, false);
        let looked = says(true, true);
        assert_eq!((targets.len(), duel.len(), looked.len()), (1, 1, 2));
        assert!(targets[0].contains("98.4 %") && targets[0].contains("99.4 %"));
        assert!(looked[1].contains("98.4 %") && looked[1].contains("98.8 %"));
        let view = ComparisonView {
            base: Party::one(&base),
            others: vec![(Party::one(&other), comparison)],
        };
        let page = super::page(&view, Detail::Full, lang);
        for page in [text(&page, Style::PLAIN), markdown(&page)] {
            assert!(page.contains("98.4 %") && page.contains("98.8 %"), "{page}");
        }
    }
}

#[test]
fn what_disturbed_a_side_is_said_with_its_name() {
    let (base, other, mut comparison) = testkit::comparison();
    comparison.disturbed.other = vec![Warning::Throttled { rounds_share: 0.5 }];
    let (base, other) = (Party::one(&base), Party::one(&other));
    for lang in Lang::ALL {
        let notes = notes::notes(compared(&base, &other, &comparison, lang));
        let said: Vec<&String> = notes.iter().filter(|note| note.contains("50 %")).collect();
        assert!(
            said.len() == 1 && said[0].starts_with("cloud ssd: "),
            "{notes:?}"
        );
    }
}

#[test]
fn the_usual_page_has_leading_metrics_and_says_how_to_see_the_rest() {
    let (base, other, mut comparison) = testkit::comparison();
    comparison.repeats = vec![model::comparison::Repeat {
        on_base: true,
        sure: true,
        runs: vec![base.meta.id.clone()],
    }];
    let view = ComparisonView {
        base: Party::one(&base),
        others: vec![(Party::one(&other), comparison)],
    };
    for lang in Lang::ALL {
        let shown = |detail, width| {
            let style = Style {
                width,
                color: false,
            };
            text(&super::page(&view, detail, lang), style)
        };
        for width in [80, 120] {
            let [short, usual, full] =
                [Detail::Short, Detail::Usual, Detail::Full].map(|detail| shown(detail, width));
            assert!(usual.starts_with(&short) && full.starts_with(&short));
            assert!(usual.lines().count() <= 44, "{usual}");
            assert!(usual.contains("os.pipe@1") && !usual.contains(lower(lang)));
            assert!(full.contains(lower(lang)), "{full}");
            assert!(
                usual.contains("worse?") || usual.contains("  悪い?"),
                "{usual}"
            );
            assert!(usual.contains("aaaa --full") && !full.contains("aaaa --full"));
            let wide = usual.lines().find(|line| columns(line) > width);
            assert_eq!(wide, None);
        }
        insta::assert_snapshot!(
            format!("comparison_usual_{}", lang.pick("en", "ja")),
            shown(Detail::Usual, 80)
        );
    }
}

#[test]
fn nothing_to_compare_is_said() {
    let run = testkit::normal();
    let view = ComparisonView {
        base: Party::one(&run),
        others: Vec::new(),
    };
    assert_eq!(
        text(&super::page(&view, Detail::Full, Lang::En), Style::PLAIN),
        "there is nothing to compare\n"
    );
}

#[test]
fn the_better_side_is_marked_and_no_other() {
    let (base, other, comparison) = testkit::comparison();
    let (base, other) = (Party::one(&base), Party::one(&other));
    let with_ratio = comparison.metrics.iter().filter(|m| m.ratio.is_some());
    let sides = compared(&base, &other, &comparison, Lang::En).sides;
    for metric in with_ratio {
        let [name, _, base, other, ..] = row(sides, metric, Lang::En);
        let marks = (base.ends_with('*'), other.ends_with('*'));
        assert_eq!(marks, better_side(metric.adjusted), "{name}");
    }
}

#[test]
fn a_summary_is_short() {
    let (base, other, comparison) = testkit::comparison();
    let (base, other) = (Party::one(&base), Party::one(&other));
    for lang in Lang::ALL {
        let lines = lines(compared(&base, &other, &comparison, lang));
        assert_eq!(lines.len(), LINES_MAX, "{lines:?}");
    }
}

#[test]
fn no_row_shows_a_value_on_the_wrong_side_of_its_ratio() {
    // Rates whose medians are 100 and 99, while the ratio of the trimmed means is above 1; latencies likewise.
    let sides = [
        [95.0, 96.0, 97.0, 98.0, 100.0, 100.5, 101.0, 101.0, 101.5],
        [98.0, 98.0, 98.5, 98.8, 99.0, 104.0, 105.0, 106.0, 107.0],
    ];
    let [base, other] = sides.map(|values| {
        let mut run = testkit::empty();
        let quantities = [testkit::OPS, testkit::P99];
        let id = testkit::add_case(&mut run, "os.pipe", 1, "off", &quantities);
        for (pass, value) in (1..).zip(values) {
            let both = [("ops_per_s", value), ("clat_ns_p99", value)];
            testkit::add_round(&mut run, &id, pass, Ok(&both));
        }
        run
    });
    for lang in Lang::ALL {
        let exact = CompareOptions {
            scatter: Some(0.0),
            ..CompareOptions::default()
        };
        let view = compare::view(&base, &[&other], &exact);
        let (other, comparison) = &view.others[0];
        let of = compared(&view.base, other, comparison, lang);
        let rows = comparison.metrics.iter();
        let rows: Vec<_> = rows.map(|metric| row(of.sides, metric, lang)).collect();
        let number = |text: &str| text.trim_end_matches(" *").parse::<f64>().unwrap();
        let [rate, latency] = &rows[..] else {
            panic!("{} rows", rows.len())
        };
        for [_, _, base, other, ..] in &rows {
            assert!(number(base) < number(other));
        }
        let ratio = |at: usize| comparison.metrics[at].ratio.unwrap();
        assert!(ratio(0) > 1.0 && ratio(1) < 1.0);
        assert!(number(&rate[4]) >= 1.0 && number(&latency[4]) <= 1.0);
        // Where the larger value is the worse one, the row says that lower is better.
        assert!(latency[1].ends_with(lower(lang)));
        assert!(!rate[1].contains(lower(lang)));
        let explained = legend(&[of], Detail::Full);
        assert!(explained.iter().any(|line| line.contains(lower(lang))));
    }
}

#[test]
fn one_is_never_several() {
    assert_eq!(
        rounds_needed(RoundsNeeded::Rounds(1), Lang::En),
        "about 1 round a side"
    );
    assert_eq!(
        rounds_needed(RoundsNeeded::Instances(1), Lang::En),
        "about 1 instance a side"
    );
    assert_eq!(table::metrics_text(1, Lang::En), "1 metric");
}

#[test]
fn an_interval_beside_1_without_a_verdict_has_its_reason() {
    let (base, other, mut comparison) = testkit::comparison();
    let (base, other) = (Party::one(&base), Party::one(&other));
    let said = |comparison: &Comparison| {
        let of = compared(&base, &other, comparison, Lang::En);
        legend(&[of], Detail::Usual).join("\n")
    };
    let usual = said(&comparison);
    assert!(
        !usual.contains("corrected") && usual.contains("* marks"),
        "{usual}"
    );
    for metric in &mut comparison.metrics {
        metric.adjusted = model::comparison::Verdict::Unclear;
        metric.interval = Some(model::estimate::Interval {
            lo: 0.5,
            hi: 0.8,
            confidence: 0.95,
        });
    }
    let unclear = said(&comparison);
    assert!(unclear.contains("verdicts are corrected"), "{unclear}");
    assert!(!unclear.contains('*'), "{unclear}");
}
