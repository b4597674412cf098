//! The figures of a run as they are: a dot with its interval for each test, one chart for each unit.

use crate::lang::{Lang, say};
use crate::number;
use crate::page::block::{Align, Chart, Table, Text};
use crate::page::chart::{Axis, Figure, Row, Rows};
use crate::view::RunView;
use model::estimate::MetricSummary;
use model::units::Unit;

/// Beyond this factor between the least and the most, equal steps of an axis are factors.
const LINEAR_MAX: f64 = 20.0;

/// More rows than this nobody reads.
const ROWS_MAX: usize = 40;

/// A chart for each unit that several of its tests have, in the order of the plan.
pub(crate) fn values(view: &RunView<'_>, lang: Lang) -> Vec<Chart> {
    let mut groups: Vec<(String, Vec<&MetricSummary>)> = Vec::new();
    for metric in view.measured().filter(|metric| view.leads(metric)) {
        if metric
            .estimate
            .is_none_or(|of| of.value <= 0.0 || !of.value.is_finite())
        {
            continue;
        }
        let word = number::scale(metric.metric.unit, &metric.id.quantity, 1.0).unit;
        match groups.iter_mut().find(|(known, _)| *known == word) {
            Some((_, list)) => list.push(metric),
            None => groups.push((word, vec![metric])),
        }
    }
    let charts = groups.iter().filter(|(_, list)| list.len() > 1);
    charts
        .filter_map(|(unit, list)| chart(view, unit, list, lang))
        .collect()
}

fn chart(view: &RunView<'_>, unit: &str, list: &[&MetricSummary], lang: Lang) -> Option<Chart> {
    let drawn = list.iter().take(ROWS_MAX);
    let rows: Vec<Row> = drawn.filter_map(|metric| row(view, metric)).collect();
    let first = list.first()?;
    let ends = || {
        rows.iter()
            .flat_map(|row| row.interval.map_or([row.at; 2], |(lo, hi)| [lo, hi]))
    };
    let positive = ends().filter(|x| *x > 0.0);
    let (least, most) = (
        positive.fold(f64::INFINITY, f64::min),
        ends().fold(0.0, f64::max),
    );
    let (kind, quantity) = (first.metric.unit, first.id.quantity.as_str());
    let is_binary = kind == Unit::Bytes || kind.is_bytes_per_second();
    let axis = if most / least <= LINEAR_MAX {
        Axis::of_unit("", kind, quantity, 0.0, most)
    } else if is_binary {
        // Powers of ten of a prefix: those of bytes are no round figures.
        let scale = number::scale(kind, quantity, most);
        let of = scale.divisor;
        let axis = Axis::log(&scale.unit, least / of, most / of, |x| x.to_string());
        Axis {
            low: axis.low * of,
            high: axis.high * of,
            ticks: axis
                .ticks
                .into_iter()
                .map(|(x, word)| (x * of, word))
                .collect(),
            ..axis
        }
    } else {
        Axis::log(unit, least, most, |x| number::of(kind, quantity, x))
    };
    let mut table = Table::new([
        (lang.pick("metric", "測定項目"), Align::Left),
        (lang.pick("value", "値"), Align::Right),
        (lang.pick("unit", "単位"), Align::Left),
        (lang.pick("95 % interval", "95 % 信頼区間"), Align::Right),
    ]);
    for metric in list {
        let shown = view.shown(metric);
        table.rows.push(vec![
            Text::name(view.name(metric)).into(),
            shown.value.into(),
            shown.unit.into(),
            shown.interval.into(),
        ]);
    }
    Some(Chart {
        title: match unit {
            "" => lang.pick("Pure numbers", "単位のない測定値").to_owned(),
            unit => say!(lang, "Figures in {unit}", "{unit} の測定値"),
        },
        finding: finding(list.len().saturating_sub(ROWS_MAX), lang),
        drawing: Figure::Rows(Rows {
            axis,
            line: None,
            rows,
        }),
        table,
    })
}

fn finding(more: usize, lang: Lang) -> String {
    let what = lang.pick(
        "a dot is the median of the rounds, the line its 95 % interval; tests that no single number describes are in \
         the table of all figures",
        "点は各ラウンドの中央値、線は 95 % 信頼区間です。一つの数値で表せないテストは全項目の表にあります",
    );
    match more {
        0 => what.to_owned(),
        more => say!(
            lang,
            "{what}; {more} more are in the table of this chart",
            "{what}。残り {more} 項目はこの図の表にあります"
        ),
    }
}

fn row(view: &RunView<'_>, metric: &MetricSummary) -> Option<Row> {
    let estimate = metric.estimate?;
    let shown = view.shown(metric);
    Some(Row {
        name: view.name(metric),
        at: estimate.value,
        interval: estimate.interval.map(|ends| (ends.lo, ends.hi)),
        band: None,
        said: format!("{} {}", shown.value, shown.unit).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::view;

    #[test]
    fn figures_of_one_unit_stand_on_one_axis_and_a_unit_alone_has_none() {
        let run = testkit::normal();
        let charts = values(&view(&run), Lang::En);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Figures in ops/s"]);
        let Figure::Rows(rows) = &charts[0].drawing else {
            panic!("{:?}", charts[0]);
        };
        let names: Vec<&str> = rows.rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            ["os.pipe@1", "os.pipe@2", "os.spawn@1", "storage.randread@1"]
        );
        assert!(rows.axis.log && rows.rows.iter().all(|row| row.interval.is_some()));
        assert_eq!(charts[0].table.rows.len(), rows.rows.len());
    }
}
