//! What the page of a run shows where not everything is asked for: one line for each case, and what must be known of
//! all of them in a few sentences.
//!
//! One table has one rule for its units: storage, whose rates are IOPS and whose latencies stand beside them, has a
//! table of its own.

use super::block::{Align, Block, Cell, Table, Text};
use super::plan::left_out_of;
use super::{first, metrics, notes, storage};
use crate::lang::{Lang, say};
use crate::number;
use crate::said;
use crate::set_otherwise;
use crate::table::wrapped;
use crate::view::{RunView, value_in, without_level};
use model::estimate::{MetricSummary, State};
use model::order::Order as _;
use model::spec::{How, Nature, Role, Stat};

/// The lines that the page should have at most, on a terminal of 80 columns.
const LINES: usize = 60;

/// Of these, the first ones, headings, what to type next, and what is free in between.
const AROUND: usize = first::LINES + 16;

/// The columns of a note on that terminal, and the most notes of a kind, however few rows there are.
const NOTE: usize = 75;
const NOTES: usize = 8;

/// Lines that rows leave for notes: two levels have two rows, and what is doubtful of storage has no room in one.
fn room(view: &RunView<'_>, lang: Lang) -> usize {
    let rows = leading(view).map(|metric| {
        let levels = 1 + usize::from(view.levels(metric, lang).is_some());
        levels + usize::from(is_storage(view, metric) && is_doubtful(metric))
    });
    LINES.saturating_sub(AROUND + rows.sum::<usize>())
}

/// The tables: one line for each case, or two where it has two levels.
pub(crate) fn tables(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() {
        return Vec::new();
    }
    let leading: Vec<&MetricSummary> = leading(view).collect();
    if leading.is_empty() {
        return metrics::blocks(view, lang);
    }
    let (disk, others): (Vec<_>, Vec<_>) = leading
        .into_iter()
        .partition(|metric| is_storage(view, metric));
    vec![
        Block::Table(table(view, &others, false, lang)),
        Block::Table(table(view, &disk, true, lang)),
        Block::facts(set_otherwise::fact(&view.run.plan, lang)),
    ]
}

fn leading<'a>(view: &'a RunView<'_>) -> impl Iterator<Item = &'a MetricSummary> {
    let is_below = |metric: &MetricSummary| metric.metric.role == Role::Below;
    view.measured()
        .filter(move |metric| view.leads(metric) || is_below(metric))
}

pub(crate) fn is_storage(view: &RunView<'_>, metric: &MetricSummary) -> bool {
    let case = view.planned(&metric.id.case);
    case.is_some_and(|case| case.nature == Nature::Storage)
}

/// What stands above half of an interval.
const WITHIN: &str = "+-";

/// A line for each metric, or two where it has two levels; of storage rates with their latencies, all of these in
/// microseconds.
fn table(view: &RunView<'_>, list: &[&MetricSummary], of_storage: bool, lang: Lang) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let mut columns = if of_storage {
        vec![
            (lang.pick("storage", "ストレージ"), left),
            (lang.pick("rate", "速度"), right),
            (WITHIN, right),
            ("p50 us", right),
            ("p99 us", right),
        ]
    } else {
        vec![
            (lang.pick("metric", "測定項目"), left),
            (lang.pick("value", "値"), right),
            (lang.pick("unit", "単位"), left),
            (WITHIN, right),
        ]
    };
    columns.push((lang.pick("state", "状態"), left));
    let mut rows = Vec::new();
    for metric in list {
        let unit = view.shown(metric).unit;
        let levels = levels(view, metric, lang).into_iter().enumerate();
        rows.extend(levels.map(|(i, [value, within, state])| {
            // The second level of a case stands below its name.
            let name = (i == 0).then(|| view.name(metric) + view.mark(&metric.id.case));
            let quantile = |at| (i == 0).then(|| quantile(view, metric, at, lang)).flatten();
            let figures = if of_storage {
                let [p50, p99] = [0.5, 0.99].map(|at| quantile(at).unwrap_or_default());
                vec![format!("{value} {unit}"), within, p50, p99]
            } else {
                vec![value, unit.clone(), within]
            };
            let mut cells: Vec<Cell> = vec![Text::name(name.unwrap_or_default()).into()];
            cells.extend(figures.into_iter().map(Cell::from));
            cells.push(Text::doubtful(is_doubtful(metric), state).into());
            cells
        }));
    }
    Table {
        rows,
        wrapped: true,
        ..Table::new(columns)
    }
}

/// Value, half of the interval and state of each level of a metric: one, or two, the more frequent one first.
fn levels(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> Vec<[String; 3]> {
    let state = state(view, metric, lang);
    if let Some(both) = view.levels(metric, lang) {
        let level =
            |[value, share]: [String; 2]| [value, String::new(), format!("{state}: {share}")];
        return both.map(level).into();
    }
    let value = value_in(metric, &view.scale(metric));
    let within = metric.estimate.as_ref().and_then(first::half);
    vec![[value, within.unwrap_or_default(), state]]
}

/// What a metric looks like, in a word or two, or why it has no value.
fn state(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> String {
    match metric.state {
        _ if metric.rounds.is_empty() => {
            let why = match view.last_failure(&metric.id.case) {
                Some(failure) => said::failure(failure, lang),
                None => said::missing(metric.missing.as_deref(), lang),
            };
            say!(lang, "no value: {why}", "値なし: {why}")
        }
        State::TwoState { .. } => lang.pick("two levels", "二つの水準").to_owned(),
        State::Unstable { .. } => {
            let range = view.shown(metric).interval;
            say!(lang, "unstable, {range}", "不安定 {range}")
        }
        _ => said::state(&metric.state, lang),
    }
}

fn is_doubtful(metric: &MetricSummary) -> bool {
    let has_moved = matches!(metric.state, State::Step { .. } | State::Drifting { .. });
    let has_level = stats::state::has_single_number(&metric.state);
    metric.rounds.is_empty() || has_moved || !has_level
}

/// This quantile of the latency that a case is judged by, in microseconds; `None` where it has none.
fn quantile(view: &RunView<'_>, of: &MetricSummary, at: f64, lang: Lang) -> Option<String> {
    let quantiles = || {
        let metrics = view.metrics_of(&of.id.case);
        metrics.filter_map(|metric| match &metric.metric.how {
            How::Of(name, Stat::Quantile(at)) => Some((name, *at, metric)),
            _ => None,
        })
    };
    let (latency, ..) = quantiles().next()?;
    let is_it =
        |(name, found, _): &(&String, f64, _)| *name == latency && (found - at).abs() < 1e-9;
    let (.., metric) = quantiles().find(is_it)?;
    match (metric.estimate, without_level(&metric.rounds)) {
        (Some(estimate), _) => Some(number::micros(&estimate)),
        (None, Some(mean)) => Some(format!("{}{:.0}", number::NO_LEVEL_MARK, mean / 1e3)),
        (None, None) if of.rounds.is_empty() => None,
        (None, None) => Some(lang.pick("too few", "回数不足").to_owned()),
    }
}

/// What must be known of the figures: warnings about the run, what storage cases show, and what makes figures doubtful,
/// each sentence once.
pub(crate) fn sentences(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() {
        return notes::blocks(view, lang);
    }
    let storage = view.storage.iter().flat_map(|storage| &storage.cases);
    let telling = storage.flat_map(|case| {
        let lines = storage::sentences(case, false, lang).into_iter();
        lines.map(move |line| format!("{}: {line}", case.case))
    });
    // Where there is no value its reason stands in its place.
    let told = leading(view).filter(|metric| !metric.rounds.is_empty());
    let mut footnotes = stats::noted(told.map(|metric| metric.warnings.as_slice()));
    // What most of the figures have in common is said first.
    footnotes.order_by_key(|note| std::cmp::Reverse(note.metrics));
    let lines = footnotes.iter().map(|note| notes::sentence(note, lang));
    let left_out = left_out_of(&view.run.plan, lang).into_iter();
    let left_out = left_out.map(|(what, why)| {
        say!(
            lang,
            "left out: {what} ({why})",
            "計画から除外: {what}（{why}）"
        )
    });
    let mut said = notes::about_run(view, lang);
    let kinds: [Vec<String>; 3] = [telling.collect(), lines.collect(), left_out.collect()];
    let room = room(view, lang);
    let shown = |most| kinds.iter().flat_map(move |kind| kind.iter().take(most));
    let fits = |most: &usize| {
        let lines = shown(*most).map(|note| wrapped(note, NOTE).lines().count());
        lines.sum::<usize>() <= room
    };
    let most = (1..=NOTES).rev().find(fits).unwrap_or(1);
    let left: usize = kinds
        .iter()
        .map(|kind| kind.len().saturating_sub(most))
        .sum();
    said.extend(shown(most).cloned());
    let id = view.typed();
    if left > 0 {
        let more = number::counted(left, "more note", "more notes");
        said.push(say!(
            lang,
            "{more}: `kurabe show {id} --full`",
            "ほかに {left} 件の注があります: `kurabe show {id} --full`"
        ));
    }
    let heading = lang.pick("notes", "注");
    vec![Block::section(heading, vec![Block::bullets(said)])]
}
