//! Many runs in one order by a figure, with the ranks that each may have.

use crate::offers::{find, quantity};
use crate::why_not::WhyNot;
use model::figure::FigureName;
use model::money::Money;
use model::offer::Catalogue;
use model::order::Order as _;
use model::record::Run;
use model::spec::Better;
use model::units::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use stats::figure::{Figure, Figures};
use stats::rank::{self, Ranks};
use stats::server::{self, Standing};

/// The tables.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RankingView {
    /// `kurabe.ranking/1`.
    pub schema: &'static str,
    /// One for each figure.
    pub tables: Vec<Ranking>,
}

/// Runs in the order of a figure.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranking {
    /// The figure.
    pub metric: String,
    /// Its unit; null where no run has it.
    pub unit: Option<Unit>,
    /// In which direction it is good; null likewise.
    pub better: Option<Better>,
    /// Which quantity it is.
    #[serde(skip)]
    pub quantity: String,
    /// The runs that have it, the best value first.
    pub rows: Vec<Row>,
    /// The runs that are in no row, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// A run among others.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Row {
    /// The run's id.
    pub run: String,
    /// Its name; null where it has none.
    pub label: Option<String>,
    /// The ranks that it may have.
    #[serde(flatten)]
    pub ranks: Ranks,
    /// Its figure.
    pub figure: Standing,
    /// What was rented; null where nobody says.
    pub offer: Option<String>,
    /// A month of that with tax; null where no catalogue has it.
    pub monthly: Option<Money>,
}

/// A run that is not ranked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LeftOut {
    /// The run's id.
    pub run: String,
    /// Why.
    #[schemars(with = "String")]
    pub why: WhyNot,
}

/// Ranks these runs by each of these figures, or by the headlines of the first run where none is named.
pub fn view(runs: &[&Run], names: &[FigureName], catalogue: Option<&Catalogue>) -> RankingView {
    let figures: Vec<Figures<'_>> = runs.iter().map(|run| Figures::of(run)).collect();
    let names = if names.is_empty() {
        headlines(&runs[..runs.len().min(1)])
    } else {
        names.to_vec()
    };
    let tables = names.iter().map(|name| ranking(&figures, name, catalogue));
    RankingView {
        schema: crate::json::RANKING_SCHEMA,
        tables: tables.collect(),
    }
}

/// The figures that these runs would be quoted by, each once.
pub(crate) fn headlines(runs: &[&Run]) -> Vec<FigureName> {
    let mut names = Vec::new();
    for headlined in runs.iter().flat_map(|run| stats::headlines(&run.plan)) {
        let name = FigureName {
            test: headlined.metric.case.test,
            copies: Some(headlined.metric.case.copies),
            quantity: Some(headlined.metric.quantity),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn ranking(runs: &[Figures<'_>], name: &FigureName, catalogue: Option<&Catalogue>) -> Ranking {
    let mut found: Vec<Figure<'_>> = Vec::new();
    let mut left_out = Vec::new();
    for run in runs {
        let left = |why: WhyNot| LeftOut {
            run: run.run().meta.id.clone(),
            why,
        };
        match find(run, name) {
            Err(absent) => left_out.push(left(WhyNot::Absent(absent))),
            Ok(figure) => {
                let first = found.first();
                match first.and_then(|first| WhyNot::unlike(first, &figure)) {
                    Some(why) => left_out.push(left(why)),
                    None => found.push(figure),
                }
            }
        }
    }
    let ranks = rank::ranks(&found.iter().collect::<Vec<_>>());
    let mut rows: Vec<Row> = found
        .iter()
        .zip(ranks)
        .map(|(figure, ranks)| row(figure, ranks, catalogue))
        .collect();
    let what = found.first().map(|figure| figure.what.clone());
    let better = what.as_ref().map(|what| what.better);
    rows.order_by(|a, b| {
        let order = a.figure.value.total_cmp(&b.figure.value);
        if better == Some(Better::Higher) {
            order.reverse()
        } else {
            order
        }
    });
    Ranking {
        metric: what
            .as_ref()
            .map_or_else(|| name.to_string(), |what| what.name.to_string()),
        unit: what.as_ref().map(|what| what.unit),
        better,
        quantity: what.as_ref().map(quantity).unwrap_or_default(),
        rows,
        left_out,
    }
}

fn row(figure: &Figure<'_>, ranks: Ranks, catalogue: Option<&Catalogue>) -> Row {
    let meta = &figure.run.meta;
    let offer = meta.offer.as_ref();
    let known = offer.and_then(|id| catalogue?.find(id));
    Row {
        run: meta.id.clone(),
        label: meta.label.clone(),
        ranks,
        figure: server::standing(&[figure]),
        offer: offer.cloned(),
        monthly: known.map(|offer| offer.monthly.clone()),
    }
}
