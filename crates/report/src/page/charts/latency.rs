//! Latencies of a storage test by quantile, on an axis that gives the slow ones room: each step to the right is ten
//! times rarer. It ends where fewer than ten operations lie beyond.

use crate::comparison::Compared;
use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use crate::page::storage::operations;
use crate::view::RunView;
use model::latency;
use model::plan::CaseId;
use model::units::Unit;
use stats::storage::StorageCase;

/// The quantiles that are drawn, and how they are called where they have a tick.
const QUANTILES: [(f64, &str); 13] = [
    (0.5, "p50"),
    (0.6, ""),
    (0.7, ""),
    (0.8, ""),
    (0.9, "p90"),
    (0.95, ""),
    (0.98, ""),
    (0.99, "p99"),
    (0.995, ""),
    (0.998, ""),
    (0.999, "p99.9"),
    (0.9995, ""),
    (0.9999, "p99.99"),
];

/// One kind of operations, with its latency at each quantile that is known.
type Kind = (String, Vec<(f64, &'static str, f64)>);

/// The chart; `None` where no latency was kept.
pub(crate) fn latency(view: &RunView<'_>, case: &StorageCase, lang: Lang) -> Option<Chart> {
    let shapes = case.latencies.iter().filter(|shape| shape.leading);
    let kinds = shapes.map(|shape| {
        let pairs = stats::offered::pooled(view.run, &case.case, &shape.name);
        (operations(shape.of, lang).to_owned(), quantiles(&pairs))
    });
    chart(&case.case, kinds.collect(), lang)
}

/// The same of both sides of a comparison; `None` where one of them has none.
pub(crate) fn of_sides(of: Compared<'_>, case: &StorageCase) -> Option<Chart> {
    let lang = of.lang;
    let shapes = || case.latencies.iter().filter(|shape| shape.leading);
    let is_mixed = shapes().count() > 1;
    let mut kinds = Vec::new();
    for (side, name) in of.sides.both().into_iter().zip(of.sides.names(lang)) {
        for shape in shapes() {
            let runs = side.runs();
            let of_runs = runs.iter();
            let lists: Vec<Vec<(u64, u64)>> = of_runs
                .map(|run| stats::offered::pooled(run, &case.case, &shape.name))
                .collect();
            let pairs = latency::merged(lists.iter().map(Vec::as_slice));
            if pairs.is_empty() {
                return None;
            }
            let kind = operations(shape.of, lang);
            let name = if is_mixed {
                format!("{name}: {kind}")
            } else {
                name.clone()
            };
            kinds.push((name, quantiles(&pairs)));
        }
    }
    chart(&case.case, kinds, lang)
}

fn chart(case: &CaseId, mut kinds: Vec<Kind>, lang: Lang) -> Option<Chart> {
    kinds.retain(|(_, list)| list.len() > 1);
    let all = || kinds.iter().flat_map(|(_, list)| list);
    let rarest = all().map(|(q, ..)| *q).reduce(f64::max)?;
    let least = all().map(|(.., ns)| *ns).fold(f64::INFINITY, f64::min);
    let most = all().map(|(.., ns)| *ns).fold(0.0, f64::max);
    let about = |ns| number::about(Unit::Nanoseconds, ns);
    let ticks = QUANTILES
        .iter()
        .filter(|(q, word)| *q <= rarest && !word.is_empty());
    let series = kinds.iter().map(|(name, list)| Series {
        name: if kinds.len() > 1 {
            name.clone()
        } else {
            String::new()
        },
        look: Look::Line,
        points: list
            .iter()
            .map(|(q, _, ns)| Point {
                x: rarity(*q),
                y: *ns,
                ..Point::default()
            })
            .collect(),
    });
    let said = kinds.iter().filter_map(|(name, list)| {
        let (.., half) = list.first()?;
        let (_, word, slow) = list.iter().rfind(|(_, word, _)| !word.is_empty())?;
        let (half, slow) = (about(*half), about(*slow));
        Some(say!(
            lang,
            "{name}: half within {half}, {word} {slow}",
            "{name}: 半数が {half} 以内、{word} は {slow}"
        ))
    });
    let id = case.to_string();
    Some(Chart {
        title: say!(
            lang,
            "{id}: latency by quantile",
            "{id}: レイテンシーの分位点"
        ),
        finding: said.collect::<Vec<_>>().join(lang.pick("; ", "。")),
        drawing: Figure::Plot(Plot {
            x: Axis {
                label: lang.pick("quantile", "分位点").to_owned(),
                log: true,
                low: rarity(0.5),
                high: rarity(rarest) * 1.1,
                ticks: ticks
                    .map(|(q, word)| (rarity(*q), (*word).to_owned()))
                    .collect(),
            },
            y: Axis::log(lang.pick("latency", "レイテンシー"), least, most, about),
            series: series.collect(),
            marks: Vec::new(),
        }),
        table: table(&kinds, lang),
    })
}

/// One in how many operations lies beyond.
fn rarity(quantile: f64) -> f64 {
    1.0 / (1.0 - quantile)
}

/// The quantiles of all of them that are known.
fn quantiles(pairs: &[(u64, u64)]) -> Vec<(f64, &'static str, f64)> {
    let known = QUANTILES.iter();
    known
        .filter_map(|(q, word)| Some((*q, *word, stats::offered::rare(pairs, *q)?)))
        .collect()
}

/// The quantiles that have a name, a column for each kind of operations.
fn table(kinds: &[Kind], lang: Lang) -> Table {
    let heads = kinds.iter().map(|(name, _)| (name.clone(), Align::Right));
    let first = (lang.pick("quantile", "分位点").to_owned(), Align::Left);
    let mut table = Table::new(std::iter::once(first).chain(heads));
    for (_, word) in QUANTILES.iter().filter(|(_, word)| !word.is_empty()) {
        let of = |(_, list): &Kind| {
            let found = list.iter().find(|(_, known, _)| known == word);
            found.map(|(.., ns)| number::alone(Unit::Nanoseconds, *ns))
        };
        let cells: Vec<Option<String>> = kinds.iter().map(of).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter();
            let cells = cells.map(|cell| cell.unwrap_or_else(|| number::NONE.to_owned()).into());
            table
                .rows
                .push(std::iter::once((*word).into()).chain(cells).collect());
        }
    }
    table
}
