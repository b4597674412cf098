//! Storage: for each case its rate over time and its latencies as lines of blocks, and what they mean in sentences.
//!
//! The blocks stand last on their line. Their width is ambiguous in East Asian fonts, so that in Japanese half as many
//! are drawn: where a terminal draws them wide, the line still fits. Where there is no room for a picture it is left
//! out, and the range beside it says the most of it.

use super::block::{Align, Block, Cell, Drawing, Picture, Table, Text};
use super::charts;
use crate::lang::{Lang, say};
use crate::number::{self, about, percent};
use crate::view::RunView;
use model::num::approx;
use model::plan::CaseId;
use model::units::{Bytes, Unit};
use stats::state::gate::Gate;
use stats::storage::{
    Cause, Course, Fall, FirstWrite, LatencyShape, Of, Steady, StorageCase, StorageSummary,
    Together,
};

/// The longest line of blocks.
const BLOCKS_MAX: usize = 44;

/// A part for each storage case, and what is said of all of them.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let Some(storage) = &view.storage else {
        return Vec::new();
    };
    let heading = lang.pick(
        "storage: latency and course",
        "ストレージ: レイテンシーと推移",
    );
    let case = |case: &StorageCase| {
        let pictures = Table {
            rows: pictures(case, lang),
            ..Table::plain([Align::Left; 3])
        };
        let sentences = Block::bullets(sentences(case, true, lang));
        let chart = Block::chart(charts::latency(view, case, lang));
        let parts = [Block::Table(pictures), sentences].into_iter().chain(chart);
        Block::section(Text::name(case.case.to_string()), parts.collect())
    };
    let mut parts: Vec<Block> = storage.cases.iter().map(case).collect();
    parts.extend(about_all(storage, lang).into_iter().map(Block::Line));
    vec![Block::section(heading, parts)]
}

/// What is said below all cases: whether a burst was seen to end, and how to read the pictures.
pub(crate) fn about_all(storage: &StorageSummary, lang: Lang) -> Vec<String> {
    let quiet = storage.cases.iter().all(|case| case.fall.is_none());
    let busiest = storage
        .cases
        .iter()
        .max_by(|a, b| mean(&a.course).total_cmp(&mean(&b.course)));
    let mut lines = Vec::new();
    if let Some(busiest) = busiest.filter(|_| quiet) {
        lines.push(say!(
            lang,
            "no burst was seen to end in {time} of load ({operations} operations): a bucket of credit, if there is any, \
             is larger; `{command}` finds out",
            "{time} の負荷（{operations} 回の操作）の間にバーストの終わりは見られませんでした。クレジットのバケットが\
             あるとすればこれより大きいものです。`{command}` で確かめられます",
            time = number::roughly(storage.load.seconds, lang),
            operations = number::alone(Unit::Number, storage.load.operations),
            command = soak(&busiest.case, "1h")
        ));
    }
    let legend = lang.pick(
        "rate: each block is a mean of windows of 100 ms, a gap lies between two rounds, and the blocks span at least \
         10 % to either side; latency: the axis is logarithmic, from the fastest to the slowest thousandth",
        "速度: 目盛り一つは 100 ms の区間の平均、空白はラウンドの境目で、目盛りの幅は上下に少なくとも 10 % です。\
         レイテンシー: 横軸は対数で、最も速い 0.1 % から最も遅い 0.1 % までです",
    );
    lines.push(legend.to_owned());
    lines
}

/// The mean of all windows where they are operations; cases that count bytes come last.
fn mean(course: &Course) -> f64 {
    let all: Vec<f64> = course.rounds.iter().flatten().copied().collect();
    match course.unit {
        Unit::OpsPerSecond => stats::quantile::mean(&all).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// The rows of a case: what each shows, its range, and the picture.
fn pictures(case: &StorageCase, lang: Lang) -> Vec<Vec<Cell>> {
    let columns = lang.pick(1, 2);
    let course = Picture {
        columns,
        ..Picture::course(&case.course.rounds, BLOCKS_MAX)
    };
    let mut rows = Vec::new();
    if let Some((lo, hi)) = course.range() {
        rows.push(vec![
            lang.pick("rate over time", "速度の推移").into(),
            range(&case.course, lo, hi).into(),
            Cell::Picture(course),
        ]);
    }
    for shape in case.latencies.iter().filter(|shape| shape.leading) {
        let Some(picture) = &shape.picture else {
            continue;
        };
        let of = operations(shape.of, lang);
        let name = say!(lang, "{of} ({name})", "{of}（{name}）", name = shape.name);
        let drawn = Picture {
            drawing: Drawing::Distribution(picture.columns.clone()),
            most: BLOCKS_MAX,
            columns,
        };
        let range = span(picture.lo_ns, picture.hi_ns);
        rows.push(vec![name.into(), range.into(), Cell::Picture(drawn)]);
    }
    rows
}

/// `11.7 .. 12.6 kIOPS`; `603 IOPS .. 3.12 kIOPS` where one scale does not suit both.
fn range(course: &Course, lo: f64, hi: f64) -> String {
    let scale = number::scale(course.unit, &course.quantity, hi);
    if scale.value(lo).starts_with("0.") {
        return format!("{} .. {}", rate(course, lo), rate(course, hi));
    }
    format!("{} .. {} {}", scale.value(lo), scale.value(hi), scale.unit)
}

/// A rate in a scale of its own: 600 IOPS, not 0.600 kIOPS.
fn rate(course: &Course, x: f64) -> String {
    number::of(course.unit, &course.quantity, x)
}

/// `60 us .. 1.2 ms`.
fn span(lo: f64, hi: f64) -> String {
    let about = |ns| about(Unit::Nanoseconds, ns);
    format!("{} .. {}", about(lo), about(hi))
}

pub(crate) fn operations(of: Of, lang: Lang) -> &'static str {
    match of {
        Of::Reads => lang.pick("reads", "読み込み"),
        Of::Writes => lang.pick("writes", "書き込み"),
        Of::Trims => lang.pick("trims", "トリム"),
        Of::Syncs => lang.pick("syncs", "同期"),
    }
}

/// What a case says, one sentence each: all of it, or what the figures in a table do not tell, which are two humps, a
/// rate that fell, and what a first write costs.
pub(crate) fn sentences(case: &StorageCase, all: bool, lang: Lang) -> Vec<String> {
    let shapes = case.latencies.iter().filter(|shape| shape.leading);
    let shapes = shapes.filter(|shape| all || shape.modes.len() > 1);
    let mut lines: Vec<String> = shapes.map(|shape| modes(shape, lang)).collect();
    let first = case.first_write.as_ref();
    lines.extend(first.map(|found| first_write(found, lang)));
    lines.extend(case.fall.as_ref().map(|found| fall(found, case, lang)));
    let rounds = case.course.rounds.len();
    let steadiness = case.steady.as_ref().filter(|_| all);
    lines.extend(steadiness.map(|found| steady(found, rounds, lang)));
    lines
}

/// Where a latency lies.
fn modes(shape: &LatencyShape, lang: Lang) -> String {
    let of = operations(shape.of, lang);
    let share = |mode: &stats::modes::Mode| percent(mode.share);
    let peak = |mode: &stats::modes::Mode| about(Unit::Nanoseconds, mode.peak_ns);
    let text = match &shape.modes[..] {
        [] => say!(
            lang,
            "too few {of} to say where most of them lie",
            "{of}の回数が少なく、分布の中心は分かりません"
        ),
        [one] => say!(
            lang,
            "most {of} take about {peak} (80 % of them {range})",
            "{of}の多くは約 {peak} です（80 % は {range}）",
            peak = peak(one),
            range = span(one.lo_ns, one.hi_ns)
        ),
        [first, rest @ ..] => {
            let about = lang.pick("about", "は約");
            let each = |mode| format!("{} {about} {}", share(mode), peak(mode));
            let rest: Vec<String> = rest.iter().map(each).collect();
            let (share, peak) = (share(first), peak(first));
            let rest = rest.join(lang.pick(", ", "、"));
            say!(
                lang,
                "{share} of {of} take about {peak}, {rest}",
                "{of}の {share} は約 {peak}、{rest} です"
            )
        }
    };
    let cached = shape
        .cause
        .map(|Cause::Cache { cached_share }| percent(cached_share));
    let cached = cached.map_or_else(String::new, |share| {
        say!(
            lang,
            "; {share} of the bytes came out of a cache, which is what the fast ones are",
            "。データの {share} はキャッシュから読まれており、速いほうの山はこれによるものです"
        )
    });
    let apart = match shape.together {
        Together::OtherRounds => lang.pick(
            "; not in the same rounds: something changed between them",
            "。ただし同じラウンドには現れておらず、途中で状態が変わっています",
        ),
        Together::Single | Together::SameRounds => "",
    };
    format!("{text}{cached}{apart}")
}

/// Whether a steady state was reached.
fn steady(steady: &Steady, rounds: usize, lang: Lang) -> String {
    let bytes = |bytes: Bytes| number::alone(Unit::Bytes, approx(bytes.0));
    match (steady.gate, steady.since) {
        (Gate::Open, Some(round)) => say!(
            lang,
            "steady state by SNIA's rule, from round {round} of {rounds} on: the file has been written twice, and the last \
             five rounds neither range nor slope too far",
            "SNIA の基準による定常状態です（{rounds} ラウンド中ラウンド {round} から）。ファイルは 2 回書かれ、最後の 5 ラウンドの幅と傾きは\
             基準内です"
        ),
        (Gate::Open, None) | (Gate::NoLevel, _) => say!(
            lang,
            "steady state unclear: the rate is no positive number",
            "定常状態かどうかは判定不能です。速度が正の数ではありません"
        ),
        (Gate::TooFewRounds, _) => say!(
            lang,
            "steady state unclear: SNIA's rule takes five rounds",
            "定常状態かどうかは判定不能です。SNIA の基準には 5 ラウンドが必要です"
        ),
        (Gate::NotWritten, _) => say!(
            lang,
            "steady state unclear: {written} of the file have been written, its making included, and it takes twice the \
             file, up to {needed}",
            "定常状態かどうかは判定不能です。ファイルの作成を含めて {written} が書かれましたが、ファイルの 2 倍（最大 \
             {needed}）が必要です",
            written = bytes(steady.written),
            needed = bytes(steady.needed)
        ),
        (Gate::Ranging(range), _) => say!(
            lang,
            "no steady state by SNIA's rule: the last five rounds range over {range} of their mean (20 % at most)",
            "SNIA の基準では定常状態ではありません。最後の 5 ラウンドの幅が平均の {range} です（上限 20 %）",
            range = percent(range)
        ),
        (Gate::Sloping(slope), _) => say!(
            lang,
            "no steady state by SNIA's rule: the last five rounds slope by {slope} (10 % at most)",
            "SNIA の基準では定常状態ではありません。最後の 5 ラウンドの傾きが {slope} です（上限 10 %）",
            slope = percent(slope)
        ),
    }
}

/// A fall that may be the end of a burst.
fn fall(fall: &Fall, case: &StorageCase, lang: Lang) -> String {
    let rate = |x: f64| rate(&case.course, x);
    match *fall {
        Fall::Between {
            fast_rounds,
            from,
            to,
        } => {
            let rounds = match fast_rounds {
                1 => "round".to_owned(),
                n => format!("{n} rounds"),
            };
            say!(
                lang,
                "{from} in the first {rounds}, then exactly {to}: perhaps a burst of credit that ran out; `{command}` finds \
                 out",
                "最初の {fast_rounds} ラウンドは {from}、その後は正確に {to} です。クレジットが尽きたバーストかもしれません。\
                 `{command}` で確かめられます",
                from = rate(from),
                to = rate(to),
                command = soak(&case.case, "1h")
            )
        }
        Fall::Within { seconds, from, to } => say!(
            lang,
            "{from} for the first {time} of every round, then exactly {to}: perhaps a small burst of credit, or a \
                     cache; `{command}` finds out",
            "毎ラウンド、最初の {time} は {from}、その後は正確に {to} です。小さなバーストかキャッシュかもしれません。\
                     `{command}` で確かめられます",
            from = rate(from),
            to = rate(to),
            command = soak(&case.case, "10m"),
            time = number::roughly(seconds, lang)
        ),
    }
}

/// The command that watches a case for long enough.
fn soak(case: &CaseId, time: &str) -> String {
    let test = &case.test;
    match case.copies {
        1 => format!("kurabe soak {test} --for {time}"),
        copies => format!("kurabe soak {test} --copies {copies} --for {time}"),
    }
}

/// What the first write of a place costs.
fn first_write(found: &FirstWrite, lang: Lang) -> String {
    let Some(penalty) = &found.penalty else {
        return say!(
            lang,
            "what a first write costs is unclear: {places} places are too few, it takes 6",
            "最初の書き込みのコストは判定不能です。{places} か所しかなく、6 か所が必要です",
            places = found.places
        );
    };
    let interval = penalty.ratio.interval();
    let ratio = format!("{:.2}", penalty.ratio.ratio());
    let range = format!("{:.2} .. {:.2}", interval.lo, interval.hi);
    let first = if penalty.present {
        lang.pick("is slow", "は遅く")
    } else {
        lang.pick("costs nothing that matters", "に目立ったコストはなく")
    };
    say!(
        lang,
        "the first write of a place {first}: writing it again is {ratio} times as fast ({range})",
        "最初の書き込み{first}、同じ場所への再書き込みは {ratio} 倍の速さです（{range}）"
    )
}

#[cfg(test)]
mod tests;
