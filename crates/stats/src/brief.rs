//! What a list says of a run that is over: its first headline, and whether it may be quoted. Concluded once, when the
//! run ends, because a list reads no rounds.

use crate::{Trust, headlines, soak, state, summarize};
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
    pub headline: Option<Figure>,
    /// Whether the figures may be quoted: `quiet` and `quota` may, and nothing speaks against it where the system tells
    /// nothing of other programs and of the host (`not_known`).
    #[schemars(extend("enum" = Trust::WORDS))]
    pub trust: String,
}

/// A figure with its 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// Its metric.
    pub metric: MetricId,
    /// The base unit.
    pub unit: Unit,
    /// The median of the rounds; of a soak that of its windows.
    pub value: f64,
    /// The lower end of the interval; null, as the upper one, where there are too few rounds for one.
    pub lo: Option<f64>,
    /// The upper end.
    pub hi: Option<f64>,
}

impl Brief {
    /// That of a run.
    pub fn of(run: &Run) -> Self {
        let headline = if run.plan.soak.is_some() {
            Figure::of_soak(run)
        } else {
            let summaries = summarize(run);
            let figure = |metric: &MetricId| {
                let found = summaries.iter().find(|summary| summary.id == *metric)?;
                Figure::of(found)
            };
            let headlines = headlines(&run.plan);
            headlines.iter().find_map(|one| figure(&one.metric))
        };
        Self {
            headline,
            trust: Trust::of(run).word().to_owned(),
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

    /// Whether its figures are to be looked at twice.
    pub fn is_doubtful(&self) -> bool {
        !matches!(self.trust.as_str(), "quiet" | "quota" | "not_known")
    }
}

impl Figure {
    /// The typical window of a soak.
    fn of_soak(run: &Run) -> Option<Self> {
        let soak = soak::summarize(run)?;
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
        state::has_single_number(&summary.state).then(|| Self {
            metric: summary.id.clone(),
            unit: summary.metric.unit,
            value,
            lo: interval.map(|interval| interval.lo),
            hi: interval.map(|interval| interval.hi),
        })
    }
}
