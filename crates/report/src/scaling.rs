//! How tests scale, for people: a table with a chart of bars for each test, and what it means in sentences.

use crate::number;
use crate::style::Style;
use crate::table::Grid;
use crate::text::pairs;
use crate::view::RunView;
use crate::words::{ScalingWords, Words};
use dialects::printable::printable;
use model::estimate::Estimate;
use model::num::round_to_usize;
use stats::scaling::{ClockRate, Fit, Scaling, Step};

/// Cells of the longest bar.
const BAR: usize = 20;

/// How much of the table fits a terminal.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// Every column.
    Wide,
    /// Without the columns that only explain.
    Medium,
    /// Without the bars too.
    Narrow,
}

/// The block of all tests; empty where the run does not ask how anything scales.
pub(crate) fn block(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let says = &words.scaling;
    let mut out = String::new();
    for scaling in &view.scaling {
        let grid = [Layout::Wide, Layout::Medium]
            .map(|layout| table(scaling, says, words, layout))
            .into_iter()
            .find(|grid| grid.width() <= style.columns() - 2)
            .unwrap_or_else(|| table(scaling, says, words, Layout::Narrow));
        out.push_str(&printable(&scaling.test));
        out.push('\n');
        out.push_str(&grid.render(&[0, 1, 2, 3]));
        let lines: Vec<(String, String)> = sentences(scaling, says)
            .into_iter()
            .map(|line| ("-".to_owned(), line))
            .collect();
        out.push_str(&pairs(&lines, style));
        out.push('\n');
    }
    if !out.is_empty() {
        let mut legend = Grid::new(1);
        legend.row(vec![says.legend.to_owned()]);
        out.push_str(&legend.render_wrapped(style.columns() - 2, &[]));
    }
    out
}

/// What the steps mean, one sentence each.
pub(crate) fn sentences(scaling: &Scaling, says: &ScalingWords) -> Vec<String> {
    let mut lines = vec![(says.finding)(&scaling.finding)];
    if let Some(quota) = scaling.cpus.quota {
        lines.push((says.quota)(&quota.to_string()));
    }
    if let Some(gain) = &scaling.second_thread {
        let value = number::signed_percent(gain.value);
        lines.push((says.second_thread)(&value, &share_range(gain)));
    }
    match &scaling.fit {
        Ok(fit) => law(fit, says, &mut lines),
        Err(refused) => lines.push((says.refused)(refused)),
    }
    if scaling.steps.iter().any(|step| step.oversubscribed) {
        lines.push((says.oversubscribed)(scaling.cpus.allowed));
    }
    lines
}

fn law(fit: &Fit, says: &ScalingWords, lines: &mut Vec<String>) {
    let figure = |estimate: &Estimate| {
        let value = small(estimate.value);
        format!("{value} ({})", share_range(estimate))
    };
    let mut line = (says.law)(
        &figure(&fit.sigma),
        &figure(&fit.kappa),
        fit.steps,
        fit.up_to,
    );
    if fit.steps == 3 {
        line = format!("{line}; {}", says.unchecked);
    }
    lines.push(line);
    if let Some(peak) = fit.peak {
        let copies = format!("{peak:.0}");
        lines.push((says.peak)(&copies, peak <= f64::from(fit.up_to)));
    }
}

/// The ends of an interval of shares.
fn share_range(estimate: &Estimate) -> String {
    number::range(
        estimate
            .interval
            .map(|interval| (small(interval.lo), small(interval.hi)))
            .as_ref(),
    )
}

/// A share as a percentage; below a hundred-thousandth there is nothing but rounding.
fn small(share: f64) -> String {
    number::percent(if share.abs() < 1e-5 { 0.0 } else { share })
}

/// The cells of a step without its bar: copies, rate, speed-up, its interval, and three shares.
pub(crate) fn cells(scaling: &Scaling, step: &Step) -> [String; 7] {
    let largest = scaling
        .steps
        .iter()
        .filter_map(|step| step.rate.map(|rate| rate.value))
        .fold(0.0, f64::max);
    let metric = &scaling.metric;
    let scale = number::scale(metric.unit, &metric.quantity, largest);
    let none = || number::NONE.to_owned();
    let percent = |estimate: Option<Estimate>| estimate.map_or_else(none, |e| share(e.value));
    let times = |x: f64| format!("{x:.2}");
    let interval = step
        .speedup
        .and_then(|speedup| speedup.interval)
        .map(|interval| (times(interval.lo), times(interval.hi)));
    let mark = if step.oversubscribed { "*" } else { "" };
    [
        format!("{}{mark}", step.copies),
        step.rate.map_or_else(none, |rate| {
            format!("{} {}", scale.estimate(&rate).0, scale.unit)
        }),
        step.speedup
            .map_or_else(none, |speedup| times(speedup.value)),
        number::range(interval.as_ref()),
        percent(step.efficiency),
        percent(step.cpu_worth),
        step.on_cpu.map_or_else(none, share),
    ]
}

/// A share as a whole percentage.
fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// What stands above [`cells`].
pub(crate) fn headings(says: &ScalingWords, words: &Words) -> [&'static str; 7] {
    [
        says.copies,
        words.run.value,
        says.speedup,
        words.run.interval,
        says.per_cpu,
        says.worth,
        says.on_cpu,
    ]
}

/// The table with its bars.
fn table(scaling: &Scaling, says: &ScalingWords, words: &Words, layout: Layout) -> Grid {
    let chosen = |cells: [String; 7], bar: String| {
        let [copies, rate, speedup, interval, per_cpu, worth, on_cpu] = cells;
        match layout {
            Layout::Wide => vec![copies, rate, speedup, per_cpu, interval, worth, on_cpu, bar],
            Layout::Medium => vec![copies, rate, speedup, per_cpu, bar],
            Layout::Narrow => vec![copies, rate, speedup, per_cpu],
        }
    };
    let longest = scaling
        .steps
        .iter()
        .map(|step| perfect(scaling, step).max(speedup(step)))
        .fold(1.0, f64::max);
    let head = chosen(headings(says, words).map(ToOwned::to_owned), String::new());
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut grid = Grid::with_header(&head);
    for step in &scaling.steps {
        grid.row(chosen(cells(scaling, step), bar(scaling, step, longest)));
    }
    grid
}

fn speedup(step: &Step) -> f64 {
    step.speedup.map_or(0.0, |speedup| speedup.value)
}

fn perfect(scaling: &Scaling, step: &Step) -> f64 {
    f64::from(step.copies.min(scaling.cpus.allowed))
}

/// `######..`: what was reached, and what is missing to a perfect speed-up.
fn bar(scaling: &Scaling, step: &Step, longest: f64) -> String {
    let cells = |times: f64| round_to_usize(times / longest * model::num::count(BAR)).min(BAR);
    let (reached, perfect) = (cells(speedup(step)), cells(perfect(scaling, step)));
    "#".repeat(reached) + &".".repeat(perfect.saturating_sub(reached))
}

/// Facts about how the run was measured: the clock rate, and which code did the work.
pub(crate) fn facts(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let says = &words.scaling;
    let range = if view.soak.is_some() {
        words.soak.clock_range
    } else {
        says.clock_range
    };
    let clock = view
        .clock_rate
        .map(|rate| (says.clock_rate.to_owned(), clock_range(&rate, range)));
    let mut code: Vec<String> = Vec::new();
    for case in &view.run.plan.cases {
        if let Some(implementation) = &case.implementation {
            let text = printable(&format!("{}: {implementation}", case.id.test));
            if !code.contains(&text) {
                code.push(text);
            }
        }
    }
    let code = (!code.is_empty()).then(|| (says.implementations.to_owned(), code.join("; ")));
    clock.into_iter().chain(code).collect()
}

fn clock_range(rate: &ClockRate, range: fn(&str, &str, &str) -> String) -> String {
    let ghz = |hz: f64| format!("{:.2}", hz / 1e9);
    range(&ghz(rate.lo), &ghz(rate.hi), &ghz(rate.median))
}

#[cfg(test)]
mod tests;
