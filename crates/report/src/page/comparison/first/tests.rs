//! The first lines of every comparison fit, count every metric, and have their words where the eye looks for them.

use super::super::tests::compared;
use super::*;
use crate::page::run::tests::columns;
use crate::render::{markdown, text};
use crate::style::Style;
use crate::testkit;
use model::comparison::{Comparison, Place, Scope, Watched};
use model::estimate::Interval;
use model::host::Fact;
use model::noise::Noise;
use model::plan::Duel;
use model::record::Run;
use model::units::Nanos;
use proptest::prelude::*;

/// Two sides, each of one run or several, and what was concluded.
struct Example {
    base: Vec<Run>,
    other: Vec<Run>,
    comparison: Comparison,
}

impl Example {
    fn shown(&self, width: usize, lang: Lang) -> String {
        let style = Style {
            width,
            color: false,
        };
        self.with(lang, |of| text(&[block(of)], style))
    }

    fn with<T>(&self, lang: Lang, look: impl Fn(Compared<'_>) -> T) -> T {
        let base = Party::group(&self.base).unwrap();
        let other = Party::group(&self.other).unwrap();
        look(compared(&base, &other, &self.comparison, lang))
    }
}

fn plain() -> Example {
    let (base, other, comparison) = testkit::comparison();
    Example {
        base: vec![base],
        other: vec![other],
        comparison,
    }
}

fn category(name: &str, ratio: f64, verdict: Verdict) -> CategoryComparison {
    CategoryComparison {
        category: name.to_owned(),
        ratio,
        interval: Some(Interval {
            lo: ratio * 0.96,
            hi: ratio * 1.04,
            confidence: 0.95,
        }),
        margin: 0.05,
        verdict,
        doubt: None,
        metrics: 3,
    }
}

/// What a first look at two servers has, of which one was busy.
fn servers() -> Example {
    let mut example = plain();
    example.comparison.categories = vec![
        category("cpu", 1.22, Verdict::Better),
        category("mem", 1.004, Verdict::Same),
        category("os", 1.08, Verdict::BetterMaybe),
        category("fs", 0.98, Verdict::Unclear),
        category("storage", 0.71, Verdict::Worse),
    ];
    example.comparison.scope = Scope {
        place: Place::TwoInstances,
        watched: Watched::Twice {
            base: Nanos::from_secs(180),
            other: Nanos::from_secs(180),
            apart: Nanos::from_secs(3 * 86_400),
        },
    };
    let metrics = &mut example.comparison.metrics;
    for (i, test) in [(0, "cpu.sum"), (0, "cpu.sort"), (1, "mem.copy")] {
        let mut metric = metrics[i].clone();
        metric.id.case.test = test.to_owned();
        metrics.push(metric);
    }
    let model = "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz";
    example.other[0].host.cpu.model = Fact::Known(model.to_owned());
    quiet(&mut example.base[0]);
    busy(&mut example.other[0], "backup");
    example
}

fn quiet(run: &mut Run) {
    for round in &mut run.rounds {
        round.noise = Noise {
            steal_share: Some(0.001),
            foreign_cpu_share: Some(0.01),
            ..Noise::default()
        };
    }
}

fn busy(run: &mut Run, program: &str) {
    for round in &mut run.rounds {
        round.noise.foreign_cpu_share = Some(0.31);
        round.noise.foreign_top = Some(program.to_owned());
    }
}

/// Everything as long as it gets.
fn crowded() -> Example {
    let mut example = servers();
    let categories = &mut example.comparison.categories;
    categories.push(category("network", 123.4, Verdict::WorseMaybe));
    categories.push(category("unixbench", 0.00123, Verdict::Worse));
    for run in example.base.iter_mut().chain(&mut example.other) {
        let label = "日本語のラベルもあるし a label that says rather a lot about what was tried";
        run.meta.label = Some(label.to_owned());
        busy(run, "systemd-journal");
    }
    example.base[0].rounds.pop();
    example
}

/// The two sides of a duel.
fn duel() -> Example {
    let mut example = servers();
    example.comparison.paired = true;
    let sides = [&mut example.base, &mut example.other];
    for (runs, side) in sides.into_iter().zip(["a", "b"]) {
        runs[0].plan.duel = Some(Duel {
            id: "d".to_owned(),
            side: side.to_owned(),
            prepare: (side == "b").then(|| "mount -o remount,".to_owned() + &"x".repeat(90)),
            traits: vec!["dir=/mnt/".to_owned() + side],
        });
    }
    example
}

/// Five instances of either plan, one of them busy.
fn plans() -> Example {
    let mut example = servers();
    for side in [&mut example.base, &mut example.other] {
        *side = vec![side[0].clone(); 5];
    }
    quiet(&mut example.other[0]);
    example.comparison.scope.place = Place::Plan { base: 5, other: 5 };
    example
}

fn nothing() -> Example {
    let mut example = plain();
    example.comparison.metrics.clear();
    example.comparison.categories.clear();
    example
}

fn examples() -> [Example; 6] {
    [plain(), servers(), crowded(), duel(), plans(), nothing()]
}

fn assert_fits(example: &Example) {
    for lang in Lang::ALL {
        let shown = example.shown(80, lang);
        assert!(shown.lines().count() <= LINES, "{shown}");
        let wide = shown.lines().find(|line| columns(line) > WIDTH);
        assert_eq!(wide, None, "{shown}");
        assert_eq!(shown, example.shown(120, lang));
        let pasted = example.with(lang, |of| markdown(&[block(of)]));
        assert!(pasted.lines().count() <= LINES + 4, "{pasted}");
    }
}

#[test]
fn ten_lines_of_eighty_columns_on_every_terminal() {
    for example in examples() {
        assert_fits(&example);
    }
}

proptest! {
    #[test]
    fn whatever_is_concluded_fits(
        label in "[ -~あ-ん一-龠]{0,60}",
        program in "[a-z:/-]{1,15}",
        ratio in -9.0..9.0_f64,
        verdicts in proptest::collection::vec(0..6_usize, 0..9),
        is_busy in proptest::bool::ANY,
    ) {
        let mut example = servers();
        let numbered = verdicts.iter().enumerate();
        let of = numbered.map(|(i, verdict)| category(&format!("family{i}"), ratio.exp(), VERDICTS[*verdict]));
        example.comparison.categories = of.collect();
        example.base[0].meta.label = Some(label);
        if is_busy {
            busy(&mut example.base[0], &program);
        }
        assert_fits(&example);
    }
}

#[test]
fn a_category_with_a_longer_name_takes_one_line_too() {
    let lines = |name: &str, lang| {
        let mut example = servers();
        let all = &mut example.comparison.categories;
        all.push(category(name, 0.273, Verdict::Unclear));
        example.shown(80, lang).lines().count()
    };
    for lang in Lang::ALL {
        for name in ["unixbench", "of-somebody"] {
            assert_eq!(lines(name, lang), lines("fio", lang), "{name}");
        }
    }
}

#[test]
fn a_verdict_stands_in_the_same_column_of_every_page() {
    for lang in Lang::ALL {
        let place = |example: &Example, word: &str| {
            let shown = example.shown(80, lang);
            let line = shown.lines().find(|line| line.contains(word)).unwrap();
            columns(&line[..line.find(word).unwrap()])
        };
        let better = verdict(Verdict::BetterMaybe, lang);
        let name = lang.pick("metrics", "項目の数");
        let expect = columns(name) + RATIO + INTERVAL + 3 * GAP;
        for example in [plain(), servers(), duel(), plans()] {
            assert_eq!(place(&example, &format!("  {better}")) + GAP, expect);
        }
    }
}

#[test]
fn every_metric_is_counted_once() {
    let counted = plain().with(Lang::En, counts);
    let numbers = counted.split(|c: char| !c.is_ascii_digit());
    let sum: usize = numbers.filter_map(|n| n.parse::<usize>().ok()).sum();
    assert_eq!(sum, plain().comparison.metrics.len());
    assert_eq!(
        counted,
        "1 better, 1 worse, 1 worse?, 1 same, 2 unclear, 20 not compared"
    );
    assert!(nothing().shown(80, Lang::En).contains("nothing to compare"));
}

#[test]
fn a_side_that_was_disturbed_is_named_and_coloured_with_who_it_was() {
    let said = servers().with(Lang::En, trust_of_both);
    let rounds = servers().other[0].rounds.len();
    let expect =
        format!("vps ssd quiet; cloud ssd DISTURBED: `backup` in {rounds} of {rounds} rounds");
    assert_eq!(said, [Text::with(Tone::Attention, expect)]);
    let group = plans().with(Lang::En, trust_of_both);
    assert!(
        group
            .iter()
            .any(|line| line.text.contains("quotable in 1 of 5 runs")),
        "{group:?}"
    );
    let mut quiet_both = servers();
    quiet(&mut quiet_both.other[0]);
    let said = quiet_both.with(Lang::En, trust_of_both);
    assert_eq!(said, [Text::from("both quiet")]);
}

#[test]
fn a_date_that_has_no_room_is_left_out_whole() {
    let mut example = servers();
    let told = |example: &Example| example.with(Lang::En, sides);
    assert!(told(&example).ends_with("; 2026-11-21 00:43"));
    example.comparison.scope.watched = Watched::Twice {
        base: Nanos::from_secs(53),
        other: Nanos::from_secs(57),
        apart: Nanos::from_secs(53),
    };
    assert!(told(&example).ends_with("apart"), "{}", told(&example));
}

#[test]
fn no_ratio_stands_over_all() {
    let shown = servers().shown(80, Lang::En);
    let in_all = shown
        .lines()
        .find(|line| line.starts_with("in all"))
        .unwrap();
    let told = "in all   faster at cpu, slower at storage, perhaps faster at os";
    assert_eq!(in_all, told);
}

#[test]
fn the_first_lines_in_both_languages() {
    let all = |lang| {
        let shown = [servers(), duel(), crowded()].map(|example| example.shown(80, lang));
        shown.join("\n")
    };
    insta::assert_snapshot!("first_en", all(Lang::En));
    insta::assert_snapshot!("first_ja", all(Lang::Ja));
    insta::assert_snapshot!(
        "first_markdown",
        servers().with(Lang::En, |of| markdown(&[block(of)]))
    );
}

#[test]
fn categories_of_which_nothing_is_known_give_way_to_those_that_tell_something() {
    let mut example = servers();
    // Two lines of trust leave room for four of five.
    busy(&mut example.base[0], "updates");
    let shown = example.shown(80, Lang::En);
    assert!(shown.lines().count() <= LINES, "{shown}");
    let begins = |name: &str| shown.lines().any(|line| line.starts_with(name));
    for name in ["cpu ", "mem ", "os ", "storage "] {
        assert!(begins(name), "{name}: {shown}");
    }
    assert!(!begins("fs "), "{shown}");
}

#[test]
fn a_difference_of_a_disturbed_side_is_to_be_measured_again() {
    let mut example = plain();
    let again = "; disturbed: measure again";
    let quiet = example.shown(80, Lang::En);
    assert!(!quiet.contains(again), "{quiet}");
    for round in &mut example.other[0].rounds {
        round.noise = Noise {
            foreign_cpu_share: Some(0.31),
            ..Noise::default()
        };
    }
    let disturbed = example.shown(80, Lang::En);
    assert!(disturbed.contains(again), "{disturbed}");
}
