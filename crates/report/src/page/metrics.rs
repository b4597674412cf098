//! The table of metrics: one line for each, those of a case below its first one.

use super::block::{Align, Block, Cell, Table, Text};
use super::usual::is_storage;
use crate::lang::Lang;
use crate::said;
use crate::view::{RunView, Shown};
use model::estimate::MetricSummary;
use model::warning::Warning;
use stats::Noted;

/// A metric on its line.
struct Row<'a> {
    view: &'a RunView<'a>,
    metric: &'a MetricSummary,
    shown: Shown,
    lang: Lang,
}

/// What stands above a column in each language, on which side its cells stand, and the cell of a metric.
struct Column([&'static str; 2], Align, fn(&Row<'_>) -> Cell);

/// The columns, from left to right: a further one is a line here.
const COLUMNS: &[Column] = &[
    Column(["metric", "測定項目"], Align::Left, name),
    Column(["value", "値"], Align::Right, |row| {
        row.shown.value.as_str().into()
    }),
    Column(["unit", "単位"], Align::Left, |row| {
        row.shown.unit.as_str().into()
    }),
    Column(["95 % interval", "95 % 信頼区間"], Align::Right, |row| {
        let shown = &row.shown;
        if shown.is_range {
            // It stands below the word "interval", and is none.
            let word = row.lang.pick("range", "範囲");
            return format!("{word} {}", shown.interval).into();
        }
        shown.interval.as_str().into()
    }),
    Column(["rounds", "回数"], Align::Right, |row| {
        row.metric.rounds.len().to_string().into()
    }),
    Column(["state", "状態"], Align::Left, |row| {
        state(row.metric, row.lang).into()
    }),
    Column(["notes", "注"], Align::Left, |row| {
        numbers(&row.view.noted, &row.metric.warnings).into()
    }),
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
    let head = |Column([en, ja], align, _): &Column| (lang.pick(*en, *ja), *align);
    let cells = |row: &Row<'_>| COLUMNS.iter().map(|Column(.., cell)| cell(row)).collect();
    Block::Table(Table {
        rows: rows.iter().map(cells).collect(),
        wrapped: true,
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

/// The notes to which warnings refer, such as `[1] [3]`.
fn numbers(notes: &[Noted], warnings: &[Warning]) -> String {
    let has = |note: &Noted| warnings.iter().any(|of| of.same_kind(&note.warning));
    let numbered = notes.iter().zip(1..).filter(|(note, _)| has(note));
    let numbers: Vec<String> = numbered.map(|(_, n)| format!("[{n}]")).collect();
    numbers.join(" ")
}

/// What the metric looks like. Rounds of which none has a value are not too few of them.
fn state(metric: &MetricSummary, lang: Lang) -> String {
    if metric.estimate.is_none() && metric.rounds.is_empty() {
        lang.pick("no value", "値なし").to_owned()
    } else {
        said::state(&metric.state, lang)
    }
}
