//! The words for what lists say of a run.

use crate::lang::Lang;
use crate::number;
use dialects::unixbench;
use model::plan::{CaseId, MetricId};
use model::record::Run;
use model::units::Unit;
use stats::{Brief, Figure};

/// What a list says of a run that is over: of one that asked for UnixBench's index that, which is what people look for.
pub fn of(run: &Run) -> Brief {
    let mut brief = Brief::of(run);
    let of_index = || {
        let indexes = unixbench::asked(run).into_iter();
        let index = indexes.min_by_key(|index| index.copies)?;
        let estimate = index.whole()?;
        Some(Figure {
            metric: MetricId {
                case: CaseId {
                    test: index.id,
                    copies: index.copies,
                },
                quantity: number::INDEX.to_owned(),
            },
            unit: Unit::Number,
            value: estimate.value,
            lo: estimate.interval.map(|interval| interval.lo),
            hi: estimate.interval.map(|interval| interval.hi),
        })
    };
    if let Some(index) = of_index() {
        brief.headline = Some(index);
    }
    brief
}

/// The figure in words.
pub(crate) fn headline(brief: &Brief, lang: Lang) -> String {
    match &brief.headline {
        None => lang.pick("no headline", "代表値なし").to_owned(),
        Some(figure) => number::of(figure.unit, &figure.metric.quantity, figure.value),
    }
}

/// Whether it may be quoted, in a word or two.
pub(crate) fn trust(brief: &Brief, lang: Lang) -> &'static str {
    match brief.trust.as_str() {
        "quiet" => lang.pick("quiet", "静穏"),
        "not_known" => lang.pick("not known", "不明"),
        "quota" => lang.pick("quota", "クォータ制限"),
        "disturbed" => lang.pick("disturbed", "外乱あり"),
        "few_rounds" => lang.pick("few rounds", "回数不足"),
        "imported" => lang.pick("imported", "取り込み"),
        "debug" => lang.pick("debug build", "デバッグビルド"),
        _ => lang.pick("nothing measured", "測定なし"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn what_is_noted_of_a_run_comes_back_and_is_said() {
        let run = testkit::normal();
        let brief = of(&run);
        let back: Brief = serde_json::from_str(&brief.text()).unwrap();
        assert_eq!(back, brief);
        let summaries = stats::summarize(&run);
        let figure = brief.headline.as_ref().unwrap();
        let mut of = summaries.iter();
        let found = of.find(|summary| summary.id == figure.metric);
        let estimate = found.unwrap().estimate.unwrap();
        assert_eq!(Some(figure.value), Some(estimate.value));
        assert_eq!(figure.lo, estimate.interval.map(|interval| interval.lo));
        assert!(!headline(&brief, Lang::En).is_empty());
    }

    #[test]
    fn a_run_of_unixbench_is_listed_by_its_index() {
        let brief = of(&testkit::unixbench("off", 150.0));
        assert_eq!(headline(&brief, Lang::En), "1500.4");
    }

    #[test]
    fn every_word_of_trust_is_said_by_itself() {
        for lang in Lang::ALL {
            let brief = |word: &str| Brief {
                headline: None,
                trust: word.to_owned(),
            };
            let said = stats::Trust::WORDS.map(|word| trust(&brief(word), lang));
            let all: std::collections::BTreeSet<&str> = said.into();
            assert_eq!(all.len(), said.len(), "{said:?}");
        }
    }

    #[test]
    fn a_figure_that_no_page_gives_is_in_no_list() {
        let headline = |values: &[f64]| {
            let mut run = testkit::empty();
            let case = testkit::add_case(&mut run, "os.pipe", 1, "off", &[testkit::OPS]);
            for (pass, value) in (1..).zip(values) {
                testkit::add_round(&mut run, &case, pass, Ok(&[(testkit::OPS.0, *value)]));
            }
            Brief::of(&run).headline
        };
        assert!(headline(&testkit::six_around(100.0)).is_some());
        let torn = [100.0, 40.0, 90.0, 150.0, 60.0, 120.0, 45.0, 140.0, 80.0];
        assert_eq!(headline(&torn), None);
    }

    #[test]
    fn a_soak_has_its_typical_window_for_a_headline() {
        let run = crate::page::soak::tests::run();
        let soak = stats::soak::summarize(&run).unwrap();
        let headline = Brief::of(&run).headline.unwrap();
        assert_eq!(Some(headline.value), soak.levels.map(|of| of.typical));
        assert_eq!(
            (headline.lo, headline.metric.quantity),
            (None, soak.quantity)
        );
    }

    #[test]
    fn every_word_of_trust_is_said_otherwise_in_every_language() {
        let mut said = Vec::new();
        for word in stats::Trust::WORDS {
            let brief = Brief {
                headline: None,
                trust: word.to_owned(),
            };
            said.extend(Lang::ALL.map(|lang| trust(&brief, lang)));
        }
        let mut once = said.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), said.len(), "{said:?}");
    }
}
