//! The figures of a run that people quote, each with its interval as a share of itself: one axis for all units.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table, Text};
use crate::page::chart::{Axis, Figure, Row, Rows};
use crate::view::RunView;
use model::estimate::MetricSummary;

/// An interval wider than this is drawn to the edge: its words say how wide it is.
const HALF_MAX: f64 = 0.5;
/// An axis spans at least this much to either side, or a quiet run would look like a noisy one.
const HALF_MIN: f64 = 0.05;

/// The chart; `None` where no headline has an interval.
pub(crate) fn headlines(view: &RunView<'_>, lang: Lang) -> Option<Chart> {
    let metric = |id| view.metrics.iter().find(|metric| metric.id == id);
    let headlines = view.headlines.iter().map(|one| one.metric.clone());
    let (mut rows, mut widest) = (Vec::new(), HALF_MIN);
    let mut table = Table::new([
        (lang.pick("metric", "測定項目"), Align::Left),
        (lang.pick("value", "値"), Align::Right),
        (lang.pick("unit", "単位"), Align::Left),
        (lang.pick("95 % interval", "95 % 信頼区間"), Align::Right),
        (lang.pick("rounds", "回数"), Align::Right),
    ]);
    for metric in headlines.filter_map(metric) {
        let Some((row, half)) = row(view, metric) else {
            continue;
        };
        widest = half.clamp(widest, HALF_MAX);
        let shown = view.shown(metric);
        table.rows.push(vec![
            Text::name(view.name(metric)).into(),
            shown.value.into(),
            shown.unit.into(),
            shown.interval.into(),
            metric.rounds.len().to_string().into(),
        ]);
        rows.push(row);
    }
    let label = lang.pick(
        "95 % interval, as a share of the figure",
        "95 % 信頼区間（値に対する割合）",
    );
    if rows.is_empty() {
        return None;
    }
    let n = rows.len();
    let counted = number::counted(u32::try_from(n).unwrap_or(u32::MAX), "figure", "figures");
    let percent = |x: f64| (x, number::signed_percent(x));
    Some(Chart {
        title: lang
            .pick("How sure the figures are", "測定値の確かさ")
            .to_owned(),
        finding: say!(
            lang,
            "{counted}; a dot is the median of the rounds, the line its 95 % interval: the shorter, the surer",
            "{n} 項目。点は各ラウンドの中央値、線は 95 % 信頼区間で、短いほど確かです"
        ),
        drawing: Figure::Rows(Rows {
            axis: Axis {
                label: label.to_owned(),
                log: false,
                low: -widest,
                high: widest,
                ticks: vec![
                    percent(-widest),
                    percent(-widest / 2.0),
                    (0.0, "0".to_owned()),
                    percent(widest / 2.0),
                    percent(widest),
                ],
            },
            line: Some(0.0),
            rows,
        }),
        table,
    })
}

/// A row, and how far its interval goes.
fn row(view: &RunView<'_>, metric: &MetricSummary) -> Option<(Row, f64)> {
    let estimate = metric.estimate.filter(|estimate| estimate.value > 0.0)?;
    let interval = estimate.interval?;
    let share = |x: f64| x / estimate.value - 1.0;
    let ends = (share(interval.lo), share(interval.hi));
    let shown = view.shown(metric);
    let row = Row {
        name: view.name(metric),
        at: 0.0,
        interval: Some(ends),
        band: None,
        said: format!("{} {}", shown.value, shown.unit).into(),
    };
    Some((row, ends.1.max(-ends.0)))
}
