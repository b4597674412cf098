//! Everybody's block: the figures that forums and blogs quote, made as the programs make them that are quoted, beside
//! ours for the same question, and why the two differ.

use super::block::{Align, Block, Cell, Table, Text};
use super::indexes::copies;
use crate::lang::{Lang, say};
use crate::number::{self, Scale};
use crate::said;
use crate::view::RunView;
use dialects::familiar::{Ours, Row, Theirs, Why, YABS_TIME, rows};
use model::estimate::{Estimate, MetricSummary};
use model::plan::CaseId;
use model::units::{Nanos, Unit};
use stats::quantile::median;

/// One row for each figure; nothing where nobody asked for any.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let rows = rows(view.run);
    if rows.is_empty() {
        return Vec::new();
    }
    let mut table = Table {
        wrapped: true,
        ..Table::new([
            ("", Align::Left),
            (
                lang.pick("theirs, one shot", "各ツールの値（一発）"),
                Align::Right,
            ),
            (
                lang.pick("ours, 95 % interval", "kurabe の値（95 % 信頼区間）"),
                Align::Right,
            ),
            (lang.pick("why they differ", "差が出る理由"), Align::Left),
        ])
    };
    let cells = rows
        .iter()
        .map(|row| cells(view, row, lang).map(Cell::from));
    table.rows = cells.map(Vec::from).collect();
    let heading = lang.pick(
        "what everybody quotes (measured their way by kurabe, not by these programs)",
        "よく引用される値（各ツールの方法で kurabe が測定。各ツール自体は実行していません）",
    );
    vec![Block::section(heading, vec![Block::Table(table)])]
}

/// The cells of a row.
fn cells(view: &RunView<'_>, row: &Row, lang: Lang) -> [Text; 4] {
    let name = match row.ours {
        Ours::Index(n) => format!("{} {}", row.name, copies(n, lang)),
        Ours::Metric(..) => row.name.clone(),
    };
    let theirs = row.theirs.map(theirs);
    let why = match &theirs {
        Some(_) => why(row.why, lang),
        None => say!(
            lang,
            "no value: {why}",
            "値なし: {why}",
            why = why_missing(view, &row.case, lang)
        ),
    };
    [
        name.into(),
        theirs.unwrap_or_else(|| number::NONE.to_owned()).into(),
        ours(view, &row.ours, lang).into(),
        Text::doubtful(row.theirs.is_none(), why),
    ]
}

/// A figure as its program prints it.
fn theirs(figure: Theirs) -> String {
    let iops = |iops: f64| number::of(Unit::OpsPerSecond, "iops", iops);
    match figure {
        Theirs::Rate {
            bytes_per_s,
            iops: Some(ops),
        } => format!("{:.2} MB/s, {}", bytes_per_s / 1e6, iops(ops)),
        Theirs::Rate {
            bytes_per_s,
            iops: None,
        } => format!("{:.1} MB/s", bytes_per_s / 1e6),
        Theirs::Events(rate) => format!("{rate:.2} events/s"),
        Theirs::Time(nanos) => number::alone(Unit::Nanoseconds, nanos),
        Theirs::Index(index) => format!("{index:.1}"),
    }
}

/// Our figure with its interval, or why there is none.
fn ours(view: &RunView<'_>, of: &Ours, lang: Lang) -> String {
    match of {
        Ours::Index(copies) => {
            let mut indexes = view.indexes.iter();
            let index = indexes.find(|index| index.copies == *copies);
            let index = index.and_then(|index| index.estimate);
            index.map_or_else(|| number::NONE.to_owned(), |index| shown(&index, &PLAIN))
        }
        Ours::Metric(id, factor) => {
            let mut metrics = view.metrics_of(&id.case);
            let Some(metric) = metrics.find(|metric| metric.id == *id) else {
                let why = why_missing(view, &id.case, lang);
                return say!(lang, "no value: {why}", "値なし: {why}");
            };
            let scale = scale(view, metric, *factor);
            match (metric.estimate, median(&metric.rounds)) {
                (Some(estimate), _) if estimate.interval.is_some() => shown(&estimate, &scale),
                (_, Some(median)) => without_interval(metric, median, &scale, lang),
                (_, None) => {
                    let why = why_missing(view, &id.case, lang);
                    say!(lang, "no value: {why}", "値なし: {why}")
                }
            }
        }
    }
}

const PLAIN: Scale = Scale {
    divisor: 1.0,
    unit: String::new(),
};

/// The scale in which everybody tells it: decimal megabytes, events, and times as they are.
fn scale(view: &RunView<'_>, metric: &MetricSummary, factor: f64) -> Scale {
    let (divisor, unit) = match metric.metric.unit {
        Unit::BytesPerSecond => (1e6, "MB/s"),
        Unit::OpsPerSecond if factor > 1.0 => (1e6 / factor, "MB/s"),
        Unit::OpsPerSecond => (1.0, "events/s"),
        _ => return view.scale(metric),
    };
    Scale {
        divisor,
        unit: unit.to_owned(),
    }
}

fn shown(estimate: &Estimate, scale: &Scale) -> String {
    let (value, ends) = scale.estimate(estimate);
    let value = format!("{value} {}", scale.unit);
    match ends {
        Some((lo, hi)) => format!("{} ({lo} .. {hi})", value.trim_end()),
        None => value.trim_end().to_owned(),
    }
}

/// The median with the range of the rounds, of which there are too few, or which have no level.
fn without_interval(metric: &MetricSummary, median: f64, scale: &Scale, lang: Lang) -> String {
    let end = |pick: fn(f64, f64) -> f64| metric.rounds.iter().copied().reduce(pick);
    let [lo, hi] = [end(f64::min), end(f64::max)].map(|end| scale.value(end.unwrap_or(median)));
    say!(
        lang,
        "{mark}{value} {unit}, no interval: {lo} .. {hi}",
        "{mark}{value} {unit}（区間なし、{lo} .. {hi}）",
        mark = number::NO_LEVEL_MARK,
        value = scale.value(median),
        unit = scale.unit
    )
}

/// Why a case has no value: it failed, was left out, or its turn did not come.
fn why_missing(view: &RunView<'_>, case: &CaseId, lang: Lang) -> String {
    if let Some(failure) = view.last_failure(case) {
        return said::failure(failure, lang);
    }
    let names = [case.test.clone(), case.to_string()];
    let mut dropped = view.run.plan.dropped.iter();
    match dropped.find(|one| names.contains(&one.what)) {
        Some(one) if one.needs.is_some() => lang
            .pick("left out: too little time", "時間が足りず除外")
            .to_owned(),
        Some(one) => say!(lang, "left out: {why}", "除外: {why}", why = one.why),
        None if view.planned(case).is_none() => lang
            .pick("no part of this run", "この測定に含まれません")
            .to_owned(),
        None => said::missing(Some(stats::NO_ROUND), lang),
    }
}

/// Six words or so.
fn why(why: Why, lang: Lang) -> String {
    let time = |span| seconds(span, lang);
    match why {
        Why::OverIn(took) => say!(
            lang,
            "one shot, over in {took}",
            "一発、{took}で終了",
            took = time(took)
        ),
        Why::CutTo(runtime) => say!(
            lang,
            "one shot, {cut} of their {whole}",
            "一発、本来の{whole}を{cut}に短縮",
            cut = time(runtime),
            whole = time(YABS_TIME)
        ),
        Why::OneShot => lang
            .pick("one shot, no interval", "一発、区間なし")
            .to_owned(),
        Why::Zeros => lang
            .pick(
                "zeros through the page cache, one flush",
                "ゼロをページキャッシュ経由、最後に一度フラッシュ",
            )
            .to_owned(),
        Why::Best(runs) => say!(
            lang,
            "best of {runs}, not the middle",
            "{runs} 回の最良値（中央値ではない）"
        ),
        Why::NewFile => lang
            .pick(
                "appends 2300 bytes; ours rewrites 4 KiB",
                "2300 バイトの追記（kurabe は 4 KiB の上書き）",
            )
            .to_owned(),
        Why::OnePass => lang
            .pick("one pass, no interval", "1 巡のみ、区間なし")
            .to_owned(),
    }
}

/// A time of which nobody wants to know more than tenths of seconds.
fn seconds(span: Nanos, lang: Lang) -> String {
    let tenths = format!("{:.1}", span.as_secs_f64());
    let seconds = tenths.trim_end_matches(".0");
    say!(lang, "{seconds} s", "{seconds} 秒")
}
