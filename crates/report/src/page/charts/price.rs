//! Price against performance: a dot with its interval for each offer, and the frontier of those that nothing beats.

use crate::lang::{Lang, say};
use crate::offers::{Stands, ValueRow, ValueView};
use crate::page::block::{Chart, Table};
use crate::page::chart::{Axis, Figure, Look, Plot, Point, Series};
use crate::page::offers::value_table;
use model::spec::Better;
use model::units::Unit;
use stats::server::Standing;

/// The chart; `None` where fewer than two offers have the figure.
pub(crate) fn price(view: &ValueView, lang: Lang) -> Option<Chart> {
    let rows = view.rows.iter();
    let measured: Vec<(&ValueRow, &Standing)> = rows
        .filter_map(|row| Some((row, row.figure.as_ref()?)))
        .collect();
    let (Some(unit), [first, _, ..]) = (view.unit, &measured[..]) else {
        return None;
    };
    let monthly = |row: &ValueRow| row.monthly.amount.approx();
    let point = |(row, figure): &(&ValueRow, &Standing)| Point {
        x: monthly(row),
        y: figure.value,
        y_ends: figure.interval.map(|ends| (ends.lo, ends.hi)),
        label: row.offer.clone(),
        dominated: matches!(row.place, Stands::Dominated { .. }),
        ..Point::default()
    };
    let points: Vec<Point> = measured.iter().map(point).collect();
    let frontier: Vec<Point> = measured
        .iter()
        .filter(|(row, _)| row.place == Stands::Frontier)
        .map(|of| Point {
            label: String::new(),
            ..point(of)
        })
        .collect();
    let dearest = points.iter().map(|point| point.x).fold(0.0, f64::max);
    let above = points.iter();
    let above = above.map(|point| point.y_ends.map_or(point.y, |(_, hi)| hi.max(point.y)));
    let most = above.fold(0.0, f64::max);
    let mut series = vec![Series {
        name: lang.pick("measured", "測定値").to_owned(),
        look: Look::Dots,
        points,
    }];
    if frontier.len() > 1 {
        series.push(Series {
            name: lang.pick("frontier", "フロンティア").to_owned(),
            look: Look::Dashed,
            points: frontier,
        });
    }
    let (metric, currency) = (&view.metric, &first.0.monthly.currency);
    let label = say!(
        lang,
        "a month with tax, {currency}",
        "月額（税込、{currency}）"
    );
    let direction = match view.better {
        Some(Better::Lower) => lang.pick("less is better", "小さいほど良い"),
        _ => "",
    };
    Some(Chart {
        title: say!(
            lang,
            "{metric}: price against performance",
            "{metric}: 価格対性能"
        ),
        finding: finding(&measured, lang),
        drawing: Figure::Plot(Plot {
            x: Axis::of_unit(&label, Unit::Number, "", 0.0, dearest * 1.05),
            y: Axis::of_unit(direction, unit, &view.quantity, 0.0, most),
            series,
            marks: Vec::new(),
        }),
        table: Table {
            wrapped: true,
            ..value_table(view, lang)
        },
    })
}

/// Which are on the frontier, which are beaten and by which, and of which nobody can tell.
fn finding(measured: &[(&ValueRow, &Standing)], lang: Lang) -> String {
    let named = |is: &dyn Fn(&Stands) -> bool| {
        let rows = measured.iter().filter(|(row, _)| is(&row.place));
        let names: Vec<&str> = rows.map(|(row, _)| row.offer.as_str()).collect();
        names.join(lang.pick(", ", "、"))
    };
    let frontier = named(&|place| *place == Stands::Frontier);
    let unclear = named(&|place| *place == Stands::Unclear);
    let mut parts = Vec::new();
    if !frontier.is_empty() {
        parts.push(say!(
            lang,
            "on the frontier: {frontier}",
            "フロンティア上: {frontier}"
        ));
    }
    parts.extend(measured.iter().filter_map(|(row, _)| match &row.place {
        Stands::Dominated { by } => {
            let offer = &row.offer;
            Some(say!(
                lang,
                "{offer} is dominated by {by} (hollow)",
                "{offer} は {by} に劣ります（白抜き）"
            ))
        }
        _ => None,
    }));
    if !unclear.is_empty() {
        parts.push(say!(
            lang,
            "nobody can tell yet: {unclear}",
            "まだ判定できません: {unclear}"
        ));
    }
    parts.join(lang.pick("; ", "。"))
}
