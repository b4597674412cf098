//! The table of metrics: one line for each, those of a case below its first one.

use super::block::{Align, Block, Cell, Table, Text};
use super::usual::is_storage;
use crate::lang::Lang;
use crate::said;
use crate::view::{RunView, Shown};
use model::estimate::MetricSummary;

/// A metric on its line.
struct Row<'a> {
    view: &'a RunView<'a>,
    metric: &'a MetricSummary,
    shown: Shown,
    lang: Lang,
}

/// A column.
struct Column {
    /// What stands above it, in each language.
    heads: [&'static str; 2],
    align: Align,
    cell: fn(&Row<'_>) -> Cell,
}

/// The columns, from left to right: a further one is a line here.
const COLUMNS: &[Column] = &[
    Column {
        heads: ["metric", "測定項目"],
        align: Align::Left,
        cell: name,
    },
    Column {
        heads: ["value", "値"],
        align: Align::Right,
        cell: |row| row.shown.value.as_str().into(),
    },
    Column {
        heads: ["unit", "単位"],
        align: Align::Left,
        cell: |row| row.shown.unit.as_str().into(),
    },
    Column {
        heads: ["95 % interval", "95 % 信頼区間"],
        align: Align::Right,
        cell: |row| row.shown.interval.as_str().into(),
    },
    Column {
        heads: ["rounds", "回数"],
        align: Align::Right,
        cell: |row| row.metric.rounds.len().to_string().into(),
    },
    Column {
        heads: ["state", "状態"],
        align: Align::Left,
        cell: |row| state(row.metric, row.lang).into(),
    },
    Column {
        heads: ["notes", "注"],
        align: Align::Left,
        cell: |row| row.view.footnotes.numbers(&row.metric.warnings).into(),
    },
];

/// The table; nothing for a soak, whose rounds are no sample.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() {
        return Vec::new();
    }
    if view.metrics.is_empty() {
        let nothing = lang.pick("nothing was measured", "測定された項目はありません");
        return vec![Block::Line(nothing.to_owned())];
    }
    let rows = view.measured().map(|metric| Row {
        view,
        metric,
        shown: view.shown(metric),
        lang,
    });
    // One table has one rule for its units, and rates of storage have one of their own.
    let (storage, others): (Vec<_>, Vec<_>) = rows.partition(|row| is_storage(view, row.metric));
    [others, storage]
        .into_iter()
        .filter(|rows| !rows.is_empty())
        .map(|rows| of(&rows, lang))
        .collect()
}

/// The rows in a table.
fn of(rows: &[Row<'_>], lang: Lang) -> Block {
    let head = |column: &Column| (lang.pick(column.heads[0], column.heads[1]), column.align);
    let cells = |row: &Row<'_>| COLUMNS.iter().map(|column| (column.cell)(row)).collect();
    Block::Table(Table {
        rows: rows.iter().map(cells).collect(),
        ..Table::new(COLUMNS.iter().map(head))
    })
}

/// Further metrics of a case stand below its first one, by their quantities.
fn name(Row { view, metric, .. }: &Row<'_>) -> Cell {
    let name = view.name(metric);
    if view.leads(metric) {
        return Text::name(name + view.mark(&metric.id.case)).into();
    }
    Cell::Below(Text::name(name), metric.id.quantity.clone())
}

/// What the metric looks like. Rounds of which none has a value are not too few of them.
fn state(metric: &MetricSummary, lang: Lang) -> String {
    if metric.estimate.is_none() && metric.rounds.is_empty() {
        lang.pick("no value", "値なし").to_owned()
    } else {
        said::state(&metric.state, lang)
    }
}
