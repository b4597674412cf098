//! How tests scale, for people: a table with a chart of bars for each test, and what it means in sentences.

use crate::comparison::NO_LEVEL_MARK;
use crate::number;
use crate::set_otherwise;
use crate::style::Style;
use crate::table::{Grid, wrapped};
use crate::text::pairs;
use crate::view::RunView;
use crate::words::{ScalingWords, Words};
use dialects::printable::printable;
use model::estimate::Estimate;
use model::num::round_to_usize;
use model::units::Unit;
use stats::scaling::{ClockRate, Fit, Scaling, Step};

/// Cells of the longest bar.
const BAR: usize = 20;

/// What stands behind a number of copies above that of the CPUs that may be used; an asterisk, which stands behind
/// names of tests, says that something was set.
const ABOVE_MARK: &str = "^";

/// How much of the table fits a terminal.
#[derive(Clone, Copy, PartialEq)]
enum Layout {
    /// Every column.
    Wide,
    /// Without the columns that only explain.
    Medium,
    /// Without the bars too.
    Narrow,
    /// And of the times of events with the mean alone.
    Narrowest,
}

impl Layout {
    fn has_bars(self) -> bool {
        matches!(self, Self::Wide | Self::Medium)
    }

    /// How many times of events it shows of so many.
    fn times(self, all: usize) -> usize {
        match self {
            Self::Wide | Self::Medium | Self::Narrow => all,
            Self::Narrowest => all.min(1),
        }
    }

    /// The columns that hold figures and stand to the right: all but the interval, which is a range, and the bar.
    fn right(self, times: usize) -> Vec<usize> {
        let speedup = 2 + self.times(times);
        let behind = match self {
            Self::Wide => speedup + 2..speedup + 5,
            Self::Medium | Self::Narrow | Self::Narrowest => speedup + 1..speedup + 2,
        };
        (0..=speedup).chain(behind).collect()
    }
}

/// The test's name, and what was set for it.
pub(crate) fn heading(view: &RunView<'_>, scaling: &Scaling, words: &Words) -> String {
    let mut cases = view.run.plan.cases.iter();
    let case = cases.find(|case| case.id.test == scaling.test);
    let set = case.and_then(|case| set_otherwise::of_case(case, words));
    set.map_or_else(
        || printable(&scaling.test),
        |set| format!("{} ({set})", printable(&scaling.test)),
    )
}

/// Whether no single number describes the rounds of this quantity at this concurrency.
fn is_torn(view: &RunView<'_>, scaling: &Scaling, copies: u32, quantity: &str) -> bool {
    let mut metrics = view.metrics.iter();
    let metric = metrics.find(|metric| {
        metric.id.case.test == scaling.test
            && metric.id.case.copies == copies
            && metric.id.quantity == quantity
    });
    metric.is_some_and(|metric| !stats::state::has_single_number(&metric.state))
}

/// Which columns a page has, and so must explain.
#[derive(Clone, Copy, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a column or a sign that a page has or has not"
)]
struct Shown {
    mean: bool,
    p95: bool,
    /// What a CPU second did, and the share of the time on a CPU.
    worth: bool,
    bars: bool,
    /// A figure with the sign of rounds that no single number describes.
    torn: bool,
}

impl Shown {
    fn add(&mut self, view: &RunView<'_>, scaling: &Scaling, layout: Layout) {
        let times = times(scaling);
        let shown = &times[..layout.times(times.len())];
        self.mean |= shown.iter().any(|time| time.quantity == MEAN.quantity);
        self.p95 |= shown.iter().any(|time| time.quantity == P95.quantity);
        let rate = scaling.metric.quantity.as_str();
        let mut quantities = shown.iter().map(|time| time.quantity).chain([rate]);
        self.torn |= quantities.any(|quantity| {
            let mut steps = scaling.steps.iter();
            steps.any(|step| is_torn(view, scaling, step.copies, quantity))
        });
        self.worth |= layout == Layout::Wide;
        self.bars |= layout.has_bars();
    }

    fn legend(self, says: &ScalingWords) -> Vec<String> {
        let mut columns = says.legend.to_owned();
        if self.worth {
            columns.push_str(says.legend_worth);
        }
        let times = match (self.mean, self.p95) {
            (true, true) => Some(says.legend_times),
            (true, false) => Some(says.legend_mean),
            (false, true) => Some(says.legend_p95),
            (false, false) => None,
        };
        let torn = self.torn.then_some(says.legend_no_level);
        let bars = self.bars.then_some(says.legend_bars);
        let others = [times, torn, bars].into_iter().flatten();
        [columns]
            .into_iter()
            .chain(others.map(ToOwned::to_owned))
            .collect()
    }
}

/// How to read the columns of tables that have all of them but bars, and the sign before some of their figures.
pub(crate) fn legend(view: &RunView<'_>, says: &ScalingWords) -> Vec<String> {
    let mut shown = Shown::default();
    for scaling in &view.scaling {
        shown.add(view, scaling, Layout::Wide);
    }
    shown.bars = false;
    shown.legend(says)
}

/// The block of all tests; empty where the run does not ask how anything scales.
pub(crate) fn block(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let says = &words.scaling;
    let mut out = String::new();
    let mut shown = Shown::default();
    for scaling in &view.scaling {
        let with = |layout| (table(view, scaling, words, layout), layout);
        let (grid, layout) = [Layout::Wide, Layout::Medium, Layout::Narrow]
            .map(with)
            .into_iter()
            .find(|(grid, _)| grid.width() <= style.columns() - 2)
            .unwrap_or_else(|| with(Layout::Narrowest));
        shown.add(view, scaling, layout);
        let name = heading(view, scaling, words);
        out.push_str(&wrapped(&name, style.columns() - 2));
        out.push_str(&grid.render(&layout.right(times(scaling).len())));
        let lines: Vec<(String, String)> = sentences(scaling, says)
            .into_iter()
            .map(|line| ("-".to_owned(), line))
            .collect();
        out.push_str(&pairs(&lines, style));
        out.push('\n');
    }
    if !out.is_empty() {
        for line in shown.legend(says) {
            out.push_str(&wrapped(&line, style.columns() - 2));
        }
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

/// A row of the table without its bar: what a step says, or what stands above it.
struct Cells {
    copies: String,
    rate: String,
    /// The times of events: the mean and the 95th percentile, where the test tells them.
    times: Vec<String>,
    speedup: String,
    interval: String,
    per_cpu: String,
    worth: String,
    on_cpu: String,
}

/// A time of events that a test tells.
struct Time {
    quantity: &'static str,
    heading: fn(&ScalingWords) -> &'static str,
    of: fn(&Step) -> Option<Estimate>,
}

const MEAN: Time = Time {
    quantity: stats::scaling::EVENT_MEAN,
    heading: |says| says.event_mean,
    of: |step| step.event_mean,
};

const P95: Time = Time {
    quantity: stats::scaling::EVENT_P95,
    heading: |says| says.event_p95,
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

impl Cells {
    fn of(view: &RunView<'_>, scaling: &Scaling, step: &Step) -> Self {
        let torn_at = |copies, quantity: &str| is_torn(view, scaling, copies, quantity);
        let rate = scaling.metric.quantity.as_str();
        let torn = torn_at(step.copies, rate);
        // A ratio to what has no level has none either.
        let ratio_torn = step.speedup.is_some() && (torn || torn_at(1, rate));
        let marked = |text: String, torn: bool| {
            let shown = torn && text != number::NONE;
            if shown {
                format!("{NO_LEVEL_MARK}{text}")
            } else {
                text
            }
        };
        let metric = (scaling.metric.unit, rate);
        let none = || number::NONE.to_owned();
        let percent = |estimate: Option<Estimate>| estimate.map_or_else(none, |e| share(e.value));
        let ratio = |x: f64| format!("{x:.2}");
        let interval = step
            .speedup
            .and_then(|speedup| speedup.interval)
            .map(|interval| (ratio(interval.lo), ratio(interval.hi)));
        let mark = if step.oversubscribed { ABOVE_MARK } else { "" };
        let time = |time: Time| {
            let text = in_column(scaling, step, (Unit::Nanoseconds, ""), time.of);
            marked(text, torn_at(step.copies, time.quantity))
        };
        Self {
            copies: format!("{}{mark}", step.copies),
            rate: marked(in_column(scaling, step, metric, |step| step.rate), torn),
            times: times(scaling).into_iter().map(time).collect(),
            speedup: marked(
                step.speedup.map_or_else(none, |e| ratio(e.value)),
                ratio_torn,
            ),
            interval: number::range(interval.as_ref()),
            per_cpu: marked(percent(step.efficiency), ratio_torn),
            worth: percent(step.cpu_worth),
            on_cpu: step.on_cpu.map_or_else(none, share),
        }
    }

    fn heading(scaling: &Scaling, says: &ScalingWords, words: &Words) -> Self {
        let times = times(scaling).into_iter().map(|time| (time.heading)(says));
        Self {
            copies: says.copies.to_owned(),
            rate: words.run.value.to_owned(),
            times: times.map(ToOwned::to_owned).collect(),
            speedup: says.speedup.to_owned(),
            interval: words.run.interval.to_owned(),
            per_cpu: says.per_cpu.to_owned(),
            worth: says.worth.to_owned(),
            on_cpu: says.on_cpu.to_owned(),
        }
    }

    /// What of it a page without bars shows: everything.
    fn all(self) -> Vec<String> {
        let mut cells = vec![self.copies, self.rate];
        cells.extend(self.times);
        cells.extend([
            self.speedup,
            self.interval,
            self.per_cpu,
            self.worth,
            self.on_cpu,
        ]);
        cells
    }

    fn chosen(self, bar: String, layout: Layout) -> Vec<String> {
        let mut cells = vec![self.copies, self.rate];
        let times = layout.times(self.times.len());
        cells.extend(self.times.into_iter().take(times));
        // The interval is that of the speed-up, so it stands behind it and before what follows from it.
        cells.push(self.speedup);
        cells.extend((layout == Layout::Wide).then_some(self.interval));
        cells.push(self.per_cpu);
        match layout {
            Layout::Wide => cells.extend([self.worth, self.on_cpu, bar]),
            Layout::Medium => cells.push(bar),
            Layout::Narrow | Layout::Narrowest => {}
        }
        cells
    }
}

/// The cells of a step: copies, rate, times of events, speed-up, its interval, and three shares.
pub(crate) fn cells(view: &RunView<'_>, scaling: &Scaling, step: &Step) -> Vec<String> {
    Cells::of(view, scaling, step).all()
}

/// What stands above [`cells`].
pub(crate) fn headings(scaling: &Scaling, says: &ScalingWords, words: &Words) -> Vec<String> {
    Cells::heading(scaling, says, words).all()
}

/// A share as a whole percentage.
fn share(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

/// The table with its bars.
fn table(view: &RunView<'_>, scaling: &Scaling, words: &Words, layout: Layout) -> Grid {
    let says = &words.scaling;
    let longest = scaling
        .steps
        .iter()
        .map(|step| perfect(scaling, step).max(speedup(step)))
        .fold(1.0, f64::max);
    let head = Cells::heading(scaling, says, words).chosen(String::new(), layout);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    let mut grid = Grid::with_header(&head);
    for step in &scaling.steps {
        let bar = bar(scaling, step, longest);
        grid.row(Cells::of(view, scaling, step).chosen(bar, layout));
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
