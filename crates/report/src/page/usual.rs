//! What the page of a run shows where not everything is asked for: one line for each case, and what must be known of
//! all of them in a few sentences.
//!
//! One table has one rule for its units: storage, whose rates are IOPS and whose latencies stand beside them, has a
//! table of its own.

use super::block::{Align, Block, Cell, Table, Text, Tone};
use super::plan::left_out_of;
use super::{first, metrics, notes, storage};
use crate::footnotes::Footnotes;
use crate::lang::{Lang, say};
use crate::number;
use crate::said;
use crate::set_otherwise;
use crate::view::RunView;
use model::estimate::{Interval, MetricSummary, State};
use model::spec::{How, Nature, Stat};
use stats::quantile::median;

/// Sentences of a kind that stand on the page: a long table leaves less room for them.
fn room(view: &RunView<'_>) -> usize {
    12_usize.saturating_sub(leading(view).count()).clamp(3, 8)
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
        Block::Table(of_rates(view, &others, lang)),
        Block::Table(of_storage(view, &disk, lang)),
        Block::facts(set_otherwise::fact(&view.run.plan, lang)),
    ]
}

fn leading<'a>(view: &'a RunView<'_>) -> impl Iterator<Item = &'a MetricSummary> {
    view.measured().filter(|metric| view.leads(metric))
}

pub(crate) fn is_storage(view: &RunView<'_>, metric: &MetricSummary) -> bool {
    let case = view.planned(&metric.id.case);
    case.is_some_and(|case| case.nature == Nature::Storage)
}

/// What stands above half of an interval.
const WITHIN: &str = "+-";

fn of_rates(view: &RunView<'_>, list: &[&MetricSummary], lang: Lang) -> Table {
    let mut table = Table {
        wrapped: true,
        ..Table::new([
            (lang.pick("metric", "測定項目"), Align::Left),
            (lang.pick("value", "値"), Align::Right),
            (lang.pick("unit", "単位"), Align::Left),
            (WITHIN, Align::Right),
            (lang.pick("state", "状態"), Align::Left),
        ])
    };
    for metric in list {
        let unit = view.shown(metric).unit;
        table.rows.extend(levels(view, metric, lang).map(
            |Level {
                 name,
                 value,
                 within,
                 state,
             }| {
                vec![
                    name,
                    value.into(),
                    unit.as_str().into(),
                    within.into(),
                    state.into(),
                ]
            },
        ));
    }
    table
}

/// Rates with their latencies, all of these in microseconds.
fn of_storage(view: &RunView<'_>, list: &[&MetricSummary], lang: Lang) -> Table {
    let mut table = Table {
        wrapped: true,
        ..Table::new([
            (lang.pick("storage", "ストレージ"), Align::Left),
            (lang.pick("rate", "速度"), Align::Right),
            (WITHIN, Align::Right),
            ("p50 us", Align::Right),
            ("p99 us", Align::Right),
            (lang.pick("state", "状態"), Align::Left),
        ])
    };
    for metric in list {
        let unit = view.shown(metric).unit;
        let mut quantiles = [0.5, 0.99].map(|at| quantile(view, metric, at, lang));
        for level in levels(view, metric, lang) {
            let [p50, p99] = std::mem::take(&mut quantiles);
            table.rows.push(vec![
                level.name,
                format!("{} {unit}", level.value).into(),
                level.within.into(),
                p50.into(),
                p99.into(),
                level.state.into(),
            ]);
        }
    }
    table
}

/// A line of a metric.
struct Level {
    name: Cell,
    value: String,
    within: String,
    state: Text,
}

/// The lines of a metric: one, or one for each of its two levels, the more frequent one first.
fn levels(
    view: &RunView<'_>,
    metric: &MetricSummary,
    lang: Lang,
) -> impl Iterator<Item = Level> + use<> {
    let name = Text::name(view.name(metric) + view.mark(&metric.id.case));
    let state = state(view, metric, lang);
    if let (Some([low, high]), State::TwoState { low_share, .. }) =
        (view.levels(metric), metric.state)
    {
        let level = |name: Cell, value, share| Level {
            name,
            value,
            within: String::new(),
            state: Text::with(state.tone, share_of(share, &state.text, lang)),
        };
        let mut both = vec![
            level(name.clone().into(), low, low_share),
            level("".into(), high, 1.0 - low_share),
        ];
        if low_share < 0.5 {
            let (low, high) = (both[0].value.clone(), both[1].value.clone());
            both = vec![
                level(name.into(), high, 1.0 - low_share),
                level("".into(), low, low_share),
            ];
        }
        return both.into_iter();
    }
    let shown = view.shown(metric);
    let within = metric.estimate.as_ref().map(first::within);
    let value = match median(&metric.rounds).filter(|_| metric.estimate.is_none()) {
        Some(median) => number::NO_LEVEL_MARK.to_owned() + &view.scale(metric).value(median),
        None => shown.value,
    };
    let one = Level {
        name: name.into(),
        value,
        within: within
            .unwrap_or_default()
            .replace("+-", "")
            .trim()
            .to_owned(),
        state,
    };
    vec![one].into_iter()
}

fn share_of(share: f64, state: &str, lang: Lang) -> String {
    let share = number::percent(share);
    say!(lang, "{state}: {share} of rounds", "{state}: {share} の回")
}

/// What a metric looks like, in a word or two, or why it has no value.
fn state(view: &RunView<'_>, metric: &MetricSummary, lang: Lang) -> Text {
    let attention = |text: String| Text::with(Tone::Attention, text);
    match metric.state {
        _ if metric.rounds.is_empty() => {
            let why = match view.last_failure(&metric.id.case) {
                Some(failure) => said::failure(failure, lang),
                None => metric.missing.clone().unwrap_or_default(),
            };
            attention(say!(lang, "no value: {why}", "値なし: {why}"))
        }
        State::TwoState { .. } => attention(lang.pick("two levels", "二つの水準").to_owned()),
        State::Unstable { .. } => {
            let Interval { lo, hi, .. } = range(metric);
            let scale = view.scale(metric);
            let (lo, hi) = (scale.value(lo), scale.value(hi));
            attention(say!(lang, "unstable, {lo} .. {hi}", "不安定 {lo} .. {hi}"))
        }
        State::Step { change, .. } => {
            let change = number::signed_percent(change);
            attention(say!(lang, "step {change}", "段差 {change}"))
        }
        State::Drifting { .. } => attention(said::state(&metric.state, lang)),
        _ => said::state(&metric.state, lang).into(),
    }
}

/// From the smallest round to the largest.
fn range(metric: &MetricSummary) -> Interval {
    let rounds = metric.rounds.iter().copied();
    Interval {
        lo: rounds.clone().fold(f64::INFINITY, f64::min),
        hi: rounds.fold(f64::NEG_INFINITY, f64::max),
        confidence: 1.0,
    }
}

/// This quantile of the latency that a case is judged by, in microseconds; empty where it has none.
fn quantile(view: &RunView<'_>, of: &MetricSummary, at: f64, lang: Lang) -> String {
    let name = |metric: &MetricSummary| match &metric.metric.how {
        How::Of(name, Stat::Quantile(_)) => Some(name.clone()),
        _ => None,
    };
    let mut all = view.metrics_of(&of.id.case);
    let latency = all.find_map(name);
    let is_it = |metric: &&MetricSummary| match &metric.metric.how {
        How::Of(name, Stat::Quantile(found)) => {
            Some(name) == latency.as_ref() && (found - at).abs() < 1e-9
        }
        _ => false,
    };
    let Some(metric) = view.metrics_of(&of.id.case).find(is_it) else {
        return String::new();
    };
    match (metric.estimate, median(&metric.rounds)) {
        (Some(estimate), _) => number::micros(&estimate),
        (None, Some(median)) => format!("{}{:.0}", number::NO_LEVEL_MARK, median / 1e3),
        (None, None) if of.rounds.is_empty() => String::new(),
        (None, None) => lang.pick("too few", "不足").to_owned(),
    }
}

/// What must be known of the figures: warnings about the run, what storage cases show, and what makes figures doubtful,
/// each sentence once.
pub(crate) fn sentences(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() {
        return notes::blocks(view, lang);
    }
    let mut said = notes::about_run(view, lang);
    let mut left = 0;
    let mut add = |lines: Vec<String>| {
        let most = lines.len().min(room(view));
        left += lines.len() - most;
        said.extend(lines.into_iter().take(most));
    };
    let storage = view.storage.iter().flat_map(|storage| &storage.cases);
    let telling = storage.flat_map(|case| {
        let lines = storage::telling(case, lang).into_iter();
        lines.map(move |line| format!("{}: {line}", case.case))
    });
    add(telling.collect());
    // Where there is no value its reason stands in its place.
    let told = leading(view).filter(|metric| !metric.rounds.is_empty());
    let mut footnotes = Footnotes::new(told.map(|metric| metric.warnings.as_slice())).0;
    // What most of the figures have in common is said first.
    footnotes.sort_by_key(|note| std::cmp::Reverse(note.metrics));
    let lines = footnotes.iter().map(|note| notes::sentence(note, lang));
    add(lines.collect());
    let left_out = left_out_of(&view.run.plan, lang).into_iter();
    let left_out = left_out.map(|(what, why)| {
        say!(
            lang,
            "left out: {what} ({why})",
            "計画から除外: {what}（{why}）"
        )
    });
    add(left_out.collect());
    let id = &view.run.meta.id;
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
