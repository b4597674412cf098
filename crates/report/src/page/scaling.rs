//! How tests scale: a table with a chart of bars for each test, and what it means in sentences.

mod sentence;

use super::block::{Align, Block, Cell, Table};
use crate::lang::{Lang, say};
use crate::number::{self, NO_LEVEL_MARK};
use crate::set_otherwise;
use crate::view::RunView;
use model::estimate::Estimate;
use model::num::{count, round_to_usize};
use model::plan::CaseId;
use model::units::Unit;
use stats::scaling::{ClockRate, Scaling, Step};

/// Cells of the longest bar.
const BAR: usize = 20;

/// What stands behind a number of copies above that of the CPUs that may be used; an asterisk, which stands behind
/// names of tests, says that something was set.
const ABOVE_MARK: &str = "^";

/// How much of the tables there is room for.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Layout {
    /// Of the times of events the mean alone, and no bars.
    Narrowest,
    /// Every time of events.
    Narrow,
    /// And the bars.
    Medium,
    /// And the columns that only explain.
    Wide,
}

/// A table for each test, with what it means; nothing where the run does not ask how anything scales.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.scaling.is_empty() {
        return Vec::new();
    }
    let layouts = [
        Layout::Wide,
        Layout::Medium,
        Layout::Narrow,
        Layout::Narrowest,
    ];
    let forms = layouts.map(|layout| parts(view, layout, lang)).to_vec();
    let heading = lang.pick("scaling", "スケーリング");
    vec![Block::section(heading, vec![Block::Fitting(forms)])]
}

fn parts(view: &RunView<'_>, layout: Layout, lang: Lang) -> Vec<Block> {
    let tables = view.scaling.iter();
    let tables: Vec<Table> = tables.map(|test| table(view, test, layout, lang)).collect();
    let legend = legend(&tables, layout, lang);
    let part = |(scaling, table)| {
        let sentences = Block::bullets(sentence::sentences(scaling, lang));
        let name = Block::Name(heading(view, scaling, lang));
        Block::Section(None, vec![name, Block::Table(table), sentences])
    };
    let parts = view.scaling.iter().zip(tables).map(part);
    parts.chain(legend.into_iter().map(Block::Line)).collect()
}

/// The test's name, and what was set for it.
fn heading(view: &RunView<'_>, scaling: &Scaling, lang: Lang) -> String {
    let mut cases = view.run.plan.cases.iter();
    let case = cases.find(|case| case.id.test == scaling.test);
    let set = case.and_then(|case| set_otherwise::of_case(case, lang));
    let test = &scaling.test;
    set.map_or_else(|| test.clone(), |set| format!("{test} ({set})"))
}

/// Whether no single number describes the rounds of this quantity at this concurrency.
fn is_torn(view: &RunView<'_>, scaling: &Scaling, copies: u32, quantity: &str) -> bool {
    let test = scaling.test.clone();
    let case = CaseId { test, copies };
    let mut metrics = view.metrics_of(&case);
    let metric = metrics.find(|metric| metric.id.quantity == quantity);
    metric.is_some_and(|metric| !stats::state::has_single_number(&metric.state))
}

/// How to read the columns that these tables have, and the sign before some of their figures.
fn legend(tables: &[Table], layout: Layout, lang: Lang) -> Vec<String> {
    let has = |[en, ja]: [&str; 2]| {
        let mut columns = tables.iter().flat_map(|table| &table.columns);
        columns.any(|(head, _)| head == lang.pick(en, ja))
    };
    let mut first = lang
        .pick(
            "speed-up: times one copy; per CPU: of a perfect speed-up",
            "倍率: 1 並列との比。CPU あたり: 理想の倍率に対する割合",
        )
        .to_owned();
    if layout >= Layout::Wide {
        first.push_str(lang.pick(
            "; CPU second: its work against one copy alone; on CPU: share of the time",
            "。CPU 秒: CPU 時間 1 秒の仕事量の 1 並列との比。CPU 上: CPU 上にいた時間の割合",
        ));
    }
    let times = match (has(MEAN.heading), has(P95.heading)) {
        (true, false) => Some(lang.pick(
            "mean time: what an event (operation) took on average; medians of the rounds",
            "平均時間: 1 イベント（操作）の平均所要時間。各ラウンドの中央値",
        )),
        (_, true) => Some(lang.pick(
            "mean time, p95: what an event (operation) took, the average and the 95th percentile; medians of the rounds",
            "平均時間、p95: 1 イベント（操作）の所要時間の平均と 95 パーセンタイル。各ラウンドの中央値",
        )),
        (false, false) => None,
    };
    let mut cells = tables.iter().flat_map(|table| table.rows.iter().flatten());
    let is_torn =
        |cell: &Cell| matches!(cell, Cell::Text(text) if text.text.starts_with(NO_LEVEL_MARK));
    let torn = cells.any(is_torn).then(|| lang.pick(
        "~ stands before what comes from rounds that no single number describes, here or with one copy",
        "~ の付いた値は、その並列数または 1 並列のラウンドを一つの数値では表せないものです",
    ));
    let bars =
        (layout >= Layout::Medium).then(|| lang.pick("# reached, . lost", "# は到達、. は損失"));
    let others = [times, torn, bars]
        .into_iter()
        .flatten()
        .map(ToOwned::to_owned);
    std::iter::once(first).chain(others).collect()
}

/// A time of events that a test tells.
struct Time {
    quantity: &'static str,
    heading: [&'static str; 2],
    of: fn(&Step) -> Option<Estimate>,
}

const MEAN: Time = Time {
    quantity: stats::scaling::EVENT_MEAN,
    heading: ["mean time", "平均時間"],
    of: |step| step.event_mean,
};

const P95: Time = Time {
    quantity: stats::scaling::EVENT_P95,
    heading: ["p95", "p95"],
    of: |step| step.event_p95,
};

/// The times of events that any step has.
fn times(scaling: &Scaling) -> Vec<Time> {
    let told = |time: &Time| scaling.steps.iter().any(|step| (time.of)(step).is_some());
    [MEAN, P95].into_iter().filter(told).collect()
}

/// A figure of a step in the unit that suits its whole column.
fn in_column(
    scaling: &Scaling,
    step: &Step,
    (unit, quantity): (Unit, &str),
    of: fn(&Step) -> Option<Estimate>,
) -> String {
    let values = scaling.steps.iter().filter_map(of).map(|e| e.value);
    let scale = number::scale(unit, quantity, values.fold(0.0, f64::max));
    of(step).map_or_else(
        || number::NONE.to_owned(),
        |estimate| format!("{} {}", scale.estimate(&estimate).0, scale.unit),
    )
}

/// The columns of a test's table, each with the layout that it takes.
fn columns(scaling: &Scaling, lang: Lang) -> Vec<(&'static str, Align, Layout)> {
    let right = |en, ja, layout| (lang.pick(en, ja), Align::Right, layout);
    let least = Layout::Narrowest;
    let mut columns = vec![
        right("copies", "並列数", least),
        right("value", "値", least),
    ];
    let layouts = [least, Layout::Narrow];
    for (
        Time {
            heading: [en, ja], ..
        },
        layout,
    ) in times(scaling).into_iter().zip(layouts)
    {
        columns.push(right(en, ja, layout));
    }
    // The interval is that of the speed-up, so it stands behind it and before what follows from it.
    let interval = lang.pick("95 % interval", "95 % 信頼区間");
    columns.extend([
        right("speed-up", "倍率", least),
        (interval, Align::Left, Layout::Wide),
        right("per CPU", "CPU あたり", least),
        right("CPU second", "CPU 秒", Layout::Wide),
        right("on CPU", "CPU 上", Layout::Wide),
        ("", Align::Left, Layout::Medium),
    ]);
    columns
}

/// The cells of a step in all of the columns.
fn cells(view: &RunView<'_>, scaling: &Scaling, step: &Step) -> Vec<Cell> {
    let torn_at = |copies, quantity: &str| is_torn(view, scaling, copies, quantity);
    let rate = scaling.metric.quantity.as_str();
    let torn = torn_at(step.copies, rate);
    // A ratio to what has no level has none either.
    let ratio_torn = step.speedup.is_some() && (torn || torn_at(1, rate));
    let marked = |text: String, torn: bool| {
        if torn && text != number::NONE {
            format!("{NO_LEVEL_MARK}{text}")
        } else {
            text
        }
    };
    let none = || number::NONE.to_owned();
    let percent = |estimate: Option<Estimate>| estimate.map_or_else(none, |e| share(e.value));
    let ratio = |x: f64| format!("{x:.2}");
    let interval = step.speedup.and_then(|speedup| speedup.interval);
    let interval = interval.map(|interval| (ratio(interval.lo), ratio(interval.hi)));
    let above = if step.oversubscribed { ABOVE_MARK } else { "" };
    let of_rate = in_column(scaling, step, (scaling.metric.unit, rate), |step| step.rate);
    let mut cells = vec![format!("{}{above}", step.copies), marked(of_rate, torn)];
    cells.extend(times(scaling).into_iter().map(|time| {
        let text = in_column(scaling, step, (Unit::Nanoseconds, ""), time.of);
        marked(text, torn_at(step.copies, time.quantity))
    }));
    let speedup = step.speedup.map_or_else(none, |e| ratio(e.value));
    cells.extend([
        marked(speedup, ratio_torn),
        number::range(interval.as_ref()),
        marked(percent(step.efficiency), ratio_torn),
        percent(step.cpu_worth),
        step.on_cpu.map_or_else(none, share),
    ]);
    let bar = bar(scaling, step);
    cells.into_iter().map(Cell::from).chain([bar]).collect()
}

/// A share as a whole percentage.
fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The columns of the table for which there is room.
fn table(view: &RunView<'_>, scaling: &Scaling, layout: Layout, lang: Lang) -> Table {
    let columns = columns(scaling, lang);
    let shown = |needs: Layout| needs <= layout;
    let row = |step| {
        let cells = cells(view, scaling, step).into_iter().zip(&columns);
        let cells = cells.filter(|(_, column)| shown(column.2));
        cells.map(|(cell, _)| cell).collect()
    };
    let heads = columns.iter().filter(|column| shown(column.2));
    Table {
        rows: scaling.steps.iter().map(row).collect(),
        ..Table::new(heads.map(|(head, align, _)| (*head, *align)))
    }
}

fn speedup(step: &Step) -> f64 {
    step.speedup.map_or(0.0, |speedup| speedup.value)
}

fn perfect(scaling: &Scaling, step: &Step) -> f64 {
    f64::from(step.copies.min(scaling.cpus.allowed))
}

/// `######..`: what was reached, and what is missing to a perfect speed-up.
fn bar(scaling: &Scaling, step: &Step) -> Cell {
    let longest = scaling
        .steps
        .iter()
        .map(|step| perfect(scaling, step).max(speedup(step)))
        .fold(1.0, f64::max);
    let cells = |times: f64| round_to_usize(times / longest * count(BAR)).min(BAR);
    let (reached, perfect) = (cells(speedup(step)), cells(perfect(scaling, step)));
    Cell::Bar(reached, perfect.saturating_sub(reached))
}

/// Facts about how the run was measured: the clock rate, and which code did the work.
pub(crate) fn facts(view: &RunView<'_>, lang: Lang) -> Vec<(String, String)> {
    let clock = view.clock_rate.as_ref().map(|rate| {
        let name = lang.pick("clock rate while measuring", "測定中のクロック");
        (
            name.to_owned(),
            clock_range(rate, view.soak.is_some(), lang),
        )
    });
    let mut code: Vec<String> = Vec::new();
    for case in &view.run.plan.cases {
        if let Some(implementation) = &case.implementation {
            let text = format!("{}: {implementation}", case.id.test);
            if !code.contains(&text) {
                code.push(text);
            }
        }
    }
    let name = lang.pick("code that ran", "実行されたコード");
    let code = (!code.is_empty()).then(|| (name.to_owned(), code.join("; ")));
    clock.into_iter().chain(code).collect()
}

fn clock_range(rate: &ClockRate, of_soak: bool, lang: Lang) -> String {
    let [lo, hi, median] = [rate.lo, rate.hi, rate.median].map(|hz| format!("{:.2}", hz / 1e9));
    let [en, ja] = if of_soak {
        ["stretches", "測定回"]
    } else {
        ["rounds", "ラウンド"]
    };
    say!(
        lang,
        "{lo}..{hi} GHz (median {median}), seen before and after the {rounds}",
        "{lo}..{hi} GHz（中央値 {median}、各{rounds}の前後に測定）",
        rounds = lang.pick(en, ja)
    )
}

#[cfg(test)]
mod tests;
