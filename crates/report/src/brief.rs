//! What a list says of a run that is over: its first headline, and whether it may be quoted. Concluded once, when the
//! run ends, because a list reads no rounds.

use crate::lang::Lang;
use crate::number;
use model::estimate::{Estimate, MetricSummary};
use model::line::RunLine;
use model::plan::MetricId;
use model::record::Run;
use model::units::Unit;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The first figure of a run's page, and how far it is to be trusted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    /// The figure; null where the run has none.
    headline: Option<Figure>,
    /// Whether the figures may be quoted: `quiet` and `quota` may.
    #[schemars(extend("enum" = stats::Trust::WORDS))]
    trust: String,
}

/// A figure with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Figure {
    /// Its metric.
    metric: MetricId,
    /// The base unit.
    unit: Unit,
    /// The median of the rounds; of a soak that of its windows.
    value: f64,
    /// The ends of the interval; null where there are too few rounds for one.
    lo: Option<f64>,
    hi: Option<f64>,
}

impl Brief {
    /// That of a run.
    pub fn of(run: &Run) -> Self {
        let headline = if run.plan.soak.is_some() {
            Figure::of_soak(run)
        } else {
            let summaries = stats::summarize(run);
            let figure = |metric: &MetricId| {
                let found = summaries.iter().find(|summary| summary.id == *metric)?;
                Figure::of(found)
            };
            let headlines = stats::headlines(&run.plan);
            headlines.iter().find_map(|one| figure(&one.metric))
        };
        Self {
            headline,
            trust: stats::Trust::of(run).word().to_owned(),
        }
    }

    /// The text that the store keeps of it.
    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("strings and finite numbers have a text")
    }

    /// What was noted of this run; `None` where nothing was, or by a program that noted something else.
    pub fn of_line(line: &RunLine) -> Option<Self> {
        serde_json::from_str(line.brief.as_ref()?).ok()
    }

    /// The figure in words.
    pub(crate) fn headline(&self, lang: Lang) -> String {
        match &self.headline {
            None => lang.pick("no headline", "代表値なし").to_owned(),
            Some(figure) => number::of(figure.unit, &figure.metric.quantity, figure.value),
        }
    }

    /// Whether it may be quoted, in a word or two.
    pub(crate) fn trust(&self, lang: Lang) -> &'static str {
        match self.trust.as_str() {
            "quiet" => lang.pick("quiet", "静穏"),
            "quota" => lang.pick("quota", "CPU 制限"),
            "disturbed" => lang.pick("disturbed", "外乱あり"),
            "few_rounds" => lang.pick("few rounds", "回数不足"),
            "debug" => lang.pick("debug build", "デバッグ版"),
            _ => lang.pick("nothing measured", "測定なし"),
        }
    }

    /// Whether its figures are to be looked at twice.
    pub(crate) fn is_doubtful(&self) -> bool {
        !matches!(self.trust.as_str(), "quiet" | "quota")
    }
}

impl Figure {
    /// The typical window of a soak.
    fn of_soak(run: &Run) -> Option<Self> {
        let soak = stats::soak::summarize(run)?;
        Some(Self {
            metric: MetricId {
                case: run.plan.cases.first()?.id.clone(),
                quantity: soak.quantity,
            },
            unit: soak.unit,
            value: soak.levels?.typical,
            lo: None,
            hi: None,
        })
    }

    fn of(summary: &MetricSummary) -> Option<Self> {
        let Estimate {
            value, interval, ..
        } = summary.estimate?;
        // What no single number describes has none on its page either.
        stats::state::has_single_number(&summary.state).then(|| Self {
            metric: summary.id.clone(),
            unit: summary.metric.unit,
            value,
            lo: interval.map(|interval| interval.lo),
            hi: interval.map(|interval| interval.hi),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn what_is_noted_of_a_run_comes_back_and_is_said() {
        let run = testkit::normal();
        let brief = Brief::of(&run);
        let back: Brief = serde_json::from_str(&brief.text()).unwrap();
        assert_eq!(back, brief);
        let summaries = stats::summarize(&run);
        let figure = brief.headline.as_ref().unwrap();
        let mut of = summaries.iter();
        let found = of.find(|summary| summary.id == figure.metric);
        let estimate = found.unwrap().estimate.unwrap();
        assert_eq!(Some(figure.value), Some(estimate.value));
        assert_eq!(figure.lo, estimate.interval.map(|interval| interval.lo));
        assert!(!brief.headline(Lang::En).is_empty());
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
            said.extend(Lang::ALL.map(|lang| brief.trust(lang)));
        }
        let mut once = said.clone();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once.len(), said.len(), "{said:?}");
    }
}
