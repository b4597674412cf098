//! A soak: what it says in one sentence, its course as a line of blocks with its time axis, the levels, the marks.

mod sentence;

use super::block::{Align, Block, Cell, Drawing, Picture, Table, Text};
use super::charts;
use crate::lang::{Lang, say};
use crate::number;
use crate::said;
use crate::view::RunView;
use model::estimate::{MetricSummary, State};
use model::units::Nanos;
use sentence::Figures;
use stats::burst::Cause;
use stats::soak::{Finding, SoakSummary, Throttle, What};

pub(crate) use sentence::{sentence, typical};

/// The widest line of blocks.
const BLOCKS_MAX: usize = 72;

/// A soak that is shorter than what was asked for by no more windows than this lasted as long as was asked for: its
/// last stretch has whole windows.
const SHORTER_WINDOWS: u64 = 2;

/// What stands in the place of a table of metrics; nothing for a run that is no soak.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let Some(soak) = &view.soak else {
        return Vec::new();
    };
    let levels = Table {
        rows: levels(soak, view, lang),
        wrapped: true,
        ..Table::plain([Align::Left, Align::Right, Align::Left])
    };
    let marks = Block::Facts(marks(soak, lang));
    vec![
        Block::Section(None, course(soak, view, lang)),
        Block::section(lang.pick("levels", "水準"), vec![Block::Table(levels)]),
        Block::section(lang.pick("marks", "記録された出来事"), vec![marks]),
    ]
}

/// The course as a line of blocks, what the blocks stand for, and how the soak was spent.
fn course(soak: &SoakSummary, view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if soak.windows == 0 {
        return Vec::new();
    }
    let mut blocks = Vec::new();
    let points = &soak.picture.points;
    if let (Some(first), Some(last)) = (points.first(), points.last()) {
        let values = points.iter().map(|point| point.value).collect();
        let picture = Picture::course(&[values], BLOCKS_MAX);
        let ends = [
            number::instant(first.at),
            number::instant(soak.picture.end_of(last)),
        ];
        let scale = scale_of(&picture, soak, lang);
        blocks.extend([Block::Course(picture, ends), Block::Line(scale)]);
    }
    blocks.push(Block::Line(spent(soak, view, lang)));
    blocks.extend(Block::chart(charts::series(view, soak, lang)));
    let long = charts::long(view, soak).map(Box::new);
    blocks.extend(long.map(Block::Long));
    blocks.extend(Block::chart(charts::latency_over_time(view, soak, lang)));
    blocks
}

/// What the lowest and the highest block stand for.
fn scale_of(picture: &Picture, soak: &SoakSummary, lang: Lang) -> String {
    let (low, high) = match picture.drawing {
        Drawing::Course { low, high, .. } => (low, high),
        Drawing::Distribution(_) => (0.0, 0.0),
    };
    let figures = Figures::of(soak, lang);
    let (low, high) = (figures.rate(low), figures.rate(high));
    say!(
        lang,
        "lowest block {low}, highest {high}",
        "最も低い目盛りは {low}、最も高い目盛りは {high}"
    )
}

/// How the soak was spent, in a few words: what was asked for too, where it was not done in full, and for how long
/// nothing was measured that should have been.
fn spent(soak: &SoakSummary, view: &RunView<'_>, lang: Lang) -> String {
    let (time, window) = (
        number::time(soak.lasted, lang),
        number::time(soak.window, lang),
    );
    let asked = asked(soak, view, lang);
    let load = load(soak, lang);
    let between = soak.between(view.run).map_or_else(String::new, |between| {
        let time = number::time(between, lang);
        say!(
            lang,
            "; starting and ending stretches took {time}",
            "。測定回の開始と終了に {time}"
        )
    });
    // Windows after a rest are not in the picture either.
    let edges = match soak.edges {
        0 => String::new(),
        _ if soak.picture.points.is_empty() || stats::soak::has_refill(view.run) => String::new(),
        n => say!(
            lang,
            "; {n} of them, the ends of stretches, are not in the picture",
            "。うち各測定回の両端の {n} 個は図に含みません"
        ),
    };
    let n = soak.windows;
    let windows = number::counted(n, "window", "windows");
    say!(
        lang,
        "{time}{asked}, {load}: {windows} of {window}{edges}{between}",
        "{time}{asked}、{load}: {window} の区間 {n} 個{edges}{between}"
    )
}

/// What was asked for, where the soak did not last as long, and why that is its end all the same.
fn asked(soak: &SoakSummary, view: &RunView<'_>, lang: Lang) -> String {
    let left = soak.soak.span.since(soak.lasted);
    let shorter = left > Nanos(soak.window.0.saturating_mul(SHORTER_WINDOWS));
    if view.complete() && !shorter {
        return String::new();
    }
    let early = |finding: &Finding| matches!(finding, Finding::EndedEarly { .. });
    let given_up = soak.findings.iter().any(early);
    let no_room = if view.complete() && shorter && !given_up {
        lang.pick(
            " (what is left has no room for another sample)",
            "（残り時間には次の測定が入りません）",
        )
    } else {
        ""
    };
    let time = number::time(soak.soak.span, lang);
    say!(lang, " of {time}{no_room}", "（予定 {time}）{no_room}")
}

/// What kind of load it was, and for how long there was none.
fn load(soak: &SoakSummary, lang: Lang) -> String {
    let load = match soak.soak.every.map(|every| number::time(every, lang)) {
        None => lang
            .pick("load without a pause", "休止なしの負荷")
            .to_owned(),
        Some(every) => say!(lang, "a sample every {every}", "{every} ごとに測定"),
    };
    if soak.missed() == Nanos::ZERO {
        return load;
    }
    let missed = number::time(soak.missed(), lang);
    say!(
        lang,
        "{load} but for {missed} in which nothing was measured",
        "{load}（うち {missed} は測定なし）"
    )
}

/// The rows of the levels: name, value with unit, remark.
fn levels(soak: &SoakSummary, view: &RunView<'_>, lang: Lang) -> Vec<Vec<Cell>> {
    let figures = Figures::of(soak, lang);
    let plain = |en: &'static str, ja, x| (lang.pick(en, ja), figures.rate(x), String::new());
    let mut told = Vec::new();
    if let Throttle::Seen { burst, cause, .. } = &soak.throttle {
        told.push(plain("burst rate", "バースト時の速度", burst.burst_rate));
        told.push(plain("sustained rate", "持続速度", burst.sustained_rate));
        if *cause == Some(Cause::TokenBucket) {
            let time = number::seconds(burst.burst_seconds, lang);
            let remark = say!(lang, "or {time} at full speed", "全速で {time} に相当");
            let name = lang.pick("bucket", "バケットの容量");
            told.push((name, figures.credit(burst), remark));
        }
    }
    if let Some(levels) = &soak.levels {
        let typical = "typical (median window)";
        told.push(plain(typical, "代表値（区間の中央値）", levels.typical));
        let floor = "floor (10 % of windows are slower)";
        told.push(plain(
            floor,
            "下限（10 % の区間はこれより遅い）",
            levels.floor,
        ));
        let best = "best (5 % of windows are faster)";
        told.push(plain(best, "最良（5 % の区間はこれより速い）", levels.best));
        let slow = "windows below 90 % of typical";
        let slow = lang.pick(slow, "代表値の 90 % を下回る区間の割合");
        told.push((slow, number::percent(levels.slow_share), String::new()));
        let within = levels.within.map_or_else(String::new, |interval| {
            let scale = figures.scale_of(levels.mean);
            let (lo, hi) = (scale.value(interval.lo), scale.value(interval.hi));
            say!(
                lang,
                "{lo} .. {hi} within this run; not to be compared",
                "{lo} .. {hi}（この測定内の区間であり、比較には使えません）"
            )
        });
        let mean = lang.pick("mean", "平均");
        told.push((mean, figures.rate(levels.mean), within));
    }
    let row = |(name, value, remark): (&str, String, String)| -> Vec<Cell> {
        vec![name.into(), value.into(), remark.into()]
    };
    let mut rows: Vec<Vec<Cell>> = told.into_iter().map(row).collect();
    rows.extend(other_metrics(soak, view, lang));
    rows
}

/// The metrics beside the rate of the windows.
fn other_metrics(soak: &SoakSummary, view: &RunView<'_>, lang: Lang) -> Vec<Vec<Cell>> {
    let other = view.metrics.iter();
    let other = other.filter(|metric| metric.id.quantity != soak.quantity);
    let row = |metric: &MetricSummary| {
        let value = metric.estimate?.value;
        let (quantity, unit) = (&metric.id.quantity, metric.metric.unit);
        if let State::Setting { .. } = metric.state {
            let text = number::alone_exact(unit, value);
            let state = said::state(&metric.state, lang);
            return Some([quantity.clone(), text, state]);
        }
        let name = say!(
            lang,
            "{quantity} (median of the stretches)",
            "{quantity}（各回の中央値）"
        );
        Some([name, number::alone(unit, value), String::new()])
    };
    let rows = other.filter_map(row);
    rows.map(|row| row.map(Cell::from).to_vec()).collect()
}

/// Time and words of everything that happened to the series.
fn marks(soak: &SoakSummary, lang: Lang) -> Vec<(Text, Text)> {
    let told = |mark: &stats::soak::Mark| {
        let text = happened(&mark.what, lang);
        (number::instant(mark.at).into(), text.into())
    };
    let mut list: Vec<(Text, Text)> = soak.marks.iter().map(told).collect();
    if soak.left_out > 0 {
        list.push((Text::sign("!"), left_out(soak.left_out, lang).into()));
    }
    list
}

fn happened(what: &What, lang: Lang) -> String {
    let time = |span: &Nanos| number::time(*span, lang);
    match what {
        What::ClockJump(by) => {
            let by = time(by);
            say!(
                lang,
                "the clock was set by {by}",
                "時計が {by} 変更されました"
            )
        }
        What::Suspended(span) => say!(
            lang,
            "the machine was suspended for {time}",
            "マシンが {time} 停止していました",
            time = time(span)
        ),
        What::SuspendedAtRest(span) => say!(
            lang,
            "the machine was suspended for {time} while it rested before this",
            "この前の休止中に、マシンが {time} 停止していました",
            time = time(span)
        ),
        What::Gap(span) => say!(
            lang,
            "nothing was measured for {time} before this",
            "この前の {time} は測定されていません",
            time = time(span)
        ),
        What::Failed(why) => {
            let why = said::failure(why, lang);
            say!(lang, "a stretch failed: {why}", "測定に失敗しました: {why}")
        }
    }
}

/// How many windows are left out because of the clock.
fn left_out(n: usize, lang: Lang) -> String {
    let windows = number::counted(n, "window is", "windows are");
    say!(
        lang,
        "{windows} left out of every level: the clock was set or the machine suspended meanwhile",
        "時計の変更またはマシンの停止があったため、{n} 個の区間をすべての水準から除いています"
    )
}

#[cfg(test)]
pub(crate) mod tests;
