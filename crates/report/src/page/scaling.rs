//! How tests scale: a table with a chart of bars for each test, and what it means in sentences.

mod sentence;

use super::block::{Align, Block, Cell, Table};
use super::{charts, database};
use crate::lang::{Lang, say};
use crate::number::{self, NO_LEVEL_MARK};
use crate::set_otherwise;
use crate::view::RunView;
use model::estimate::Estimate;
use model::num::{count, round_to_usize};
use model::plan::CaseId;
use model::units::Unit;
use stats::scaling::{ClockRate, EVENT_MEAN, EVENT_P95, Scaling, Step};

/// Cells of the longest bar.
const BAR: usize = 20;

/// What stands behind a number of copies above that of the CPUs that may be used; an asterisk, which stands behind
/// names of tests, says that something was set.
const ABOVE_MARK: &str = "^";

/// How much of the tables there is room for.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Layout {
    /// No bars.
    Narrow,
    /// And the bars.
    Medium,
    /// And the columns that only explain.
    Wide,
}

/// The column of what an event takes on average.
const MEAN: [&str; 2] = ["mean time", "平均時間"];

/// A table for each test, with what it means; nothing where the run does not ask how anything scales.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    of_tests(view, &view.scaling.iter().collect::<Vec<_>>(), lang)
}

/// The same without the tests whose concurrencies stand side by side in a table of their own.
pub(crate) fn brief(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let tests = view.scaling.iter();
    let tests = tests.filter(|one| !database::has_table(view, &one.test));
    of_tests(view, &tests.collect::<Vec<_>>(), lang)
}

fn of_tests(view: &RunView<'_>, tests: &[&Scaling], lang: Lang) -> Vec<Block> {
    if tests.is_empty() {
        return Vec::new();
    }
    let layouts = [Layout::Wide, Layout::Medium, Layout::Narrow];
    let forms = layouts
        .map(|layout| parts(view, tests, layout, lang))
        .to_vec();
    let heading = lang.pick("scaling", "スケーリング");
    let charts = tests.iter();
    let charts = charts.filter_map(|test| Block::chart(charts::copies(test, lang)));
    let parts = std::iter::once(Block::Fitting(forms)).chain(charts);
    vec![Block::section(heading, parts.collect())]
}

fn parts(view: &RunView<'_>, tests: &[&Scaling], layout: Layout, lang: Lang) -> Vec<Block> {
    let tables = tests.iter();
    let tables: Vec<Table> = tables.map(|test| table(view, test, layout, lang)).collect();
    let mut legend = legend(&tables, layout, lang);
    let no_law = sentence::no_law(tests, lang);
    let once = no_law.is_some();
    legend.extend(no_law);
    if tests.iter().any(|test| is_at_odds(test)) {
        legend.push(at_odds(lang).to_owned());
    }
    let part = |(scaling, table): (&&Scaling, Table)| {
        let sentences = Block::bullets(sentence::sentences(scaling, once, lang));
        let name = Block::Name(heading(view, scaling, lang));
        Block::Section(None, vec![name, Block::Table(table), sentences])
    };
    let parts = tests.iter().zip(tables).map(part);
    parts.chain(legend.into_iter().map(Block::Line)).collect()
}

/// What the steps mean, where another table has their figures.
pub(super) fn in_short(scaling: &Scaling, lang: Lang) -> Vec<String> {
    let odds = is_at_odds(scaling).then(|| at_odds(lang).to_owned());
    [sentence::finding(&scaling.finding, lang)]
        .into_iter()
        .chain(odds)
        .collect()
}

/// From this distance on, as a share, a reader sees that one value over another is not the speed-up beside them.
const AT_ODDS: f64 = 0.1;

/// Whether the medians of the rates tell another speed-up than the passes do, one by one.
fn is_at_odds(scaling: &Scaling) -> bool {
    let above_zero = |of: Option<Estimate>| of.map(|of| of.value).filter(|value| *value > 0.0);
    let rate = |step: &Step| above_zero(step.rate);
    let one = scaling.steps.first().and_then(rate);
    scaling.steps.iter().any(|step| {
        let times = one.and_then(|one| Some(rate(step)? / one));
        let pair = times.zip(above_zero(step.speedup));
        pair.is_some_and(|(times, speedup)| (times / speedup - 1.0).abs() > AT_ODDS)
    })
}

fn at_odds(lang: Lang) -> &'static str {
    lang.pick(
        "the rates moved so much between the passes that their medians and the speed-ups, which are taken within each \
         pass, tell different things: trust neither",
        "巡ごとの変動が大きく、速度（中央値）と倍率（巡ごとの比の中央値）が食い違っています。どちらも信頼できません",
    )
}

/// The test's name, and what was set for it.
fn heading(view: &RunView<'_>, scaling: &Scaling, lang: Lang) -> String {
    let mut cases = view.run.plan.cases.iter();
    let case = cases.find(|case| case.id.test == scaling.test);
    let set = case.and_then(|case| set_otherwise::of_case(case, lang));
    let test = &scaling.test;
    set.map_or_else(|| test.clone(), |set| format!("{test} ({set})"))
}

/// How to read the columns that these tables have, and the sign before some of their figures.
fn legend(tables: &[Table], layout: Layout, lang: Lang) -> Vec<String> {
    let has = |[en, ja]: [&str; 2]| {
        let mut columns = tables.iter().flat_map(|table| &table.columns);
        columns.any(|(head, _)| head == lang.pick(en, ja))
    };
    let mut first = lang
        .pick(
            "speed-up: times one copy, pass by pass; per CPU: of a perfect speed-up",
            "倍率: 巡ごとの 1 並列比。CPU あたり: 理想の倍率に対する割合",
        )
        .to_owned();
    if layout >= Layout::Wide {
        first.push_str(lang.pick(
            "; CPU second: its work against one copy alone; on CPU: share of the time",
            "。CPU 秒: CPU 時間 1 秒の仕事量の 1 並列比。CPU 上: CPU 上にいた時間の割合",
        ));
    }
    let times = has(MEAN).then(|| lang.pick(
        "mean time, p95: what an event (operation) took, the average and the 95th percentile; medians of the rounds",
        "平均時間、p95: 1 イベント（操作）の所要時間の平均と 95 パーセンタイル。各ラウンドの中央値",
    ));
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

/// A column: what stands above it, the layout that it takes, and its cells.
type Column = (&'static str, Layout, Vec<Cell>);

/// The columns of a test's table. The interval is that of the speed-up, so it stands behind it and before what follows
/// from it.
fn columns(view: &RunView<'_>, scaling: &Scaling, lang: Lang) -> Vec<Column> {
    let rate = scaling.metric.quantity.as_str();
    let torn_at = |copies, quantity: &str| is_torn(view, scaling, copies, quantity);
    // A ratio to what has no level has none either.
    let ratio_torn = |step: &Step| torn_at(step.copies, rate) || torn_at(1, rate);
    let ratio = |x: f64| format!("{x:.2}");
    let figure = |step: &Step, unit, quantity, of: fn(&Step) -> Option<Estimate>| {
        let values = scaling.steps.iter().filter_map(of).map(|e| e.value);
        let scale = number::scale(unit, quantity, values.fold(0.0, f64::max));
        let text = of(step).map(|of| format!("{} {}", scale.estimate(&of).0, scale.unit));
        marked(text, torn_at(step.copies, quantity))
    };
    let column = |en, ja, layout, cell: &dyn Fn(&Step) -> Cell| {
        let cells = scaling.steps.iter().map(cell).collect();
        (lang.pick(en, ja), layout, cells)
    };
    let least = Layout::Narrow;
    vec![
        column("copies", "並列数", least, &|step| {
            let above = if step.oversubscribed { ABOVE_MARK } else { "" };
            format!("{}{above}", step.copies).into()
        }),
        column("value", "値", least, &|step| {
            figure(step, scaling.metric.unit, rate, |step| step.rate)
        }),
        column(MEAN[0], MEAN[1], least, &|step| {
            figure(step, Unit::Nanoseconds, EVENT_MEAN, |step| step.event_mean)
        }),
        column("p95", "p95", least, &|step| {
            figure(step, Unit::Nanoseconds, EVENT_P95, |step| step.event_p95)
        }),
        column("speed-up", "倍率", least, &|step| {
            marked(step.speedup.map(|of| ratio(of.value)), ratio_torn(step))
        }),
        column("95 % interval", "95 % 信頼区間", Layout::Wide, &|step| {
            // One copy is what it is held against.
            let speedup = step.speedup.filter(|_| step.copies > 1);
            let interval = speedup.and_then(|speedup| speedup.interval);
            let ends = interval.map(|interval| (ratio(interval.lo), ratio(interval.hi)));
            number::range(ends.as_ref()).into()
        }),
        column("per CPU", "CPU あたり", least, &|step| {
            marked(step.efficiency.map(|of| share(of.value)), ratio_torn(step))
        }),
        column("CPU second", "CPU 秒", Layout::Wide, &|step| {
            marked(step.cpu_worth.map(|of| share(of.value)), false)
        }),
        column("on CPU", "CPU 上", Layout::Wide, &|step| {
            marked(step.on_cpu.map(share), false)
        }),
        column("", "", Layout::Medium, &|step| bar(scaling, step)),
    ]
}

/// Whether no single number describes the rounds of this quantity at this concurrency.
fn is_torn(view: &RunView<'_>, scaling: &Scaling, copies: u32, quantity: &str) -> bool {
    let test = scaling.test.clone();
    let case = CaseId { test, copies };
    let metric = view.metric(&case, quantity);
    metric.is_some_and(|metric| !stats::state::has_single_number(&metric.state))
}

/// A text, with a mark where no level is behind it.
fn marked(text: Option<String>, torn: bool) -> Cell {
    let mark = if torn { NO_LEVEL_MARK } else { "" };
    text.map_or_else(
        || number::NONE.into(),
        |text| format!("{mark}{text}").into(),
    )
}

/// A share as a whole percentage.
fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The columns for which there is room, but for those in which no step has anything.
fn table(view: &RunView<'_>, scaling: &Scaling, layout: Layout, lang: Lang) -> Table {
    let none = Cell::from(number::NONE);
    let mut columns = columns(view, scaling, lang);
    columns.retain(|(_, from, cells)| *from <= layout && cells.iter().any(|cell| *cell != none));
    let row = |i: usize| columns.iter().map(|(.., cells)| cells[i].clone()).collect();
    let head = |(head, ..): &Column| match *head {
        "" => ("", Align::Left),
        head => (head, Align::Right),
    };
    Table {
        rows: (0..scaling.steps.len()).map(row).collect(),
        ..Table::new(columns.iter().map(head))
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
