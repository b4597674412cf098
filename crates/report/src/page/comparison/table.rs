//! One line for each metric, and how to read them.

use crate::comparison::{self, Compared, Sides, both_have_level, has_level, role};
use crate::lang::{Lang, say};
use crate::number::{self, NO_LEVEL_MARK, NONE, Scale, counted};
use crate::page::block::{Align, Block, Cell, MARK, Table, Text, Tone};
use crate::page::indexes::copies;
use crate::page::run::Detail;
use model::comparison::{Estimator, Hopeless, MetricComparison, RoundsNeeded, RunState, Verdict};
use model::estimate::{Estimate, Interval};
use model::plan::CaseId;
use model::spec::Better;
use model::units::Unit;

/// `12 metrics`.
pub(super) fn metrics_text(n: u32, lang: Lang) -> String {
    lang.pick(counted(n, "metric", "metrics"), format!("{n} 項目"))
}

/// The word for a verdict.
pub(crate) fn verdict(verdict: Verdict, lang: Lang) -> &'static str {
    let ja = match verdict {
        Verdict::Better => "良い",
        Verdict::Worse => "悪い",
        Verdict::BetterMaybe => "良い?",
        Verdict::WorseMaybe => "悪い?",
        Verdict::Same => "同等",
        Verdict::Unclear => "判定不能",
    };
    lang.pick(verdict.word(), ja)
}

/// The metrics that have a ratio. What it takes to tell stands on the full page, and elsewhere where there is room.
pub(super) fn metrics(of: Compared<'_>, detail: Detail) -> Block {
    let lang = of.lang;
    let [base, other] = if of.sides.are_of_a_duel() {
        of.sides.names(lang)
    } else {
        [true, false].map(|is_base| role(is_base, lang).to_owned())
    };
    let word = |en: &str, ja: &str| lang.pick(en, ja).to_owned();
    let columns = [
        (word("metric", "測定項目"), Align::Left),
        (word("unit", "単位"), Align::Left),
        (base, Align::Marked),
        (other, Align::Marked),
        (word("ratio", "比"), Align::Right),
        (word("95 % interval", "95 % 信頼区間"), Align::Right),
        (word("these minutes", "この時間だけ"), Align::Right),
        (word("verdict", "判定"), Align::Left),
        (word("needs", "必要回数"), Align::Left),
    ];
    let mut above: Option<&CaseId> = None;
    let rows = shown(&of, detail).map(|metric| {
        let again = above.replace(&metric.id.case) == Some(&metric.id.case);
        let mut cells = row(of.sides, metric, lang).map(value);
        if let Cell::Text(name) = &mut cells[0] {
            name.tone = Tone::Name;
            if again && !of.sides.leads(&metric.id) {
                cells[0] = Cell::Below(std::mem::take(name), metric.id.quantity.clone());
            }
        }
        cells.to_vec()
    });
    let mut table = Table {
        rows: rows.collect(),
        ..Table::new(columns)
    };
    let has_minutes = of
        .comparison
        .metrics
        .iter()
        .any(|metric| metric.minutes.is_some());
    if !has_minutes {
        table.leave_out(MINUTES);
    }
    let mut forms = vec![table.clone()];
    if has_minutes {
        table.leave_out(MINUTES);
        forms.push(table.clone());
    }
    if detail != Detail::Full {
        table.leave_out(table.columns.len() - 1);
        forms.push(table);
    }
    let forms = forms.into_iter().map(|table| vec![Block::Table(table)]);
    Block::Fitting(forms.collect())
}

/// UnixBench's index of both sides, where both have one.
pub(super) fn indexes(of: Compared<'_>) -> Block {
    let lang = of.lang;
    let mut table = Table::new([
        ("", Align::Left),
        (role(true, lang), Align::Right),
        (role(false, lang), Align::Right),
        (lang.pick("ratio", "比"), Align::Right),
        (lang.pick("95 % interval", "95 % 信頼区間"), Align::Right),
    ]);
    for pair in comparison::indexes(of.sides) {
        let (ratio, interval) = ratio_text(Some(pair.ratio), pair.interval.as_ref());
        let cells = [
            copies(pair.copies, lang),
            number::index(&pair.index.base).0,
            number::index(&pair.index.other).0,
            ratio,
            interval,
        ];
        table.rows.push(cells.map(Cell::from).to_vec());
    }
    let heading = lang.pick(
        "UnixBench-style index (verdicts are those of its tests)",
        "UnixBench 形式の指数（判定は各テストで行います）",
    );
    Block::section(heading, vec![Block::Table(table)])
}

/// The place of the column of the minutes that were measured: the first one that gives way.
const MINUTES: usize = 6;

fn value(text: String) -> Cell {
    let tone = if text.ends_with(MARK) {
        Tone::Best
    } else {
        Tone::Plain
    };
    Text::with(tone, text).into()
}

/// The metrics that a page shows: all that have a ratio, or those of them that lead.
fn shown<'a>(of: &Compared<'a>, detail: Detail) -> impl Iterator<Item = &'a MetricComparison> {
    let (sides, all) = (of.sides, detail == Detail::Full);
    let metrics = of.comparison.metrics.iter();
    metrics.filter(move |one| one.ratio.is_some() && (all || sides.leads(&one.id)))
}

/// The texts of a metric, one for each column.
pub(super) fn row(sides: Sides<'_>, metric: &MetricComparison, lang: Lang) -> [String; 9] {
    let declared = sides.declared(&metric.id);
    let values = [metric.values.base, metric.values.other]
        .into_iter()
        .flatten();
    let largest = values.fold(0.0, |a: f64, b| a.max(b.abs()));
    let (unit, quantity) = declared.map_or((Unit::Number, ""), |of| (of.unit, &of.quantity));
    let scale = number::scale(unit, quantity, largest);
    let show = |value: Option<f64>, better: bool, states: &[RunState]| {
        let mark = if better { MARK } else { "" };
        let value = value.map(|value| value_of_side(value, states, &scale) + mark);
        value.unwrap_or_else(|| NONE.to_owned())
    };
    let (base_better, other_better) = better_side(metric.adjusted);
    let (ratio, interval) = ratio_text(metric.ratio, metric.interval.as_ref());
    let (_, minutes) = ratio_text(metric.ratio, metric.minutes.as_ref());
    let lower = declared.filter(|declared| declared.better == Better::Lower);
    let needed = match metric.hopeless {
        Some(Hopeless::OnTheMargin) => Some(lang.pick("another margin", "別の許容差").to_owned()),
        _ => metric.needed.map(|needed| rounds_needed(needed, lang)),
    };
    [
        sides.metric_name(&metric.id),
        match lower {
            Some(_) => format!("{} {}", scale.unit, self::lower(lang)),
            None => scale.unit.clone(),
        },
        show(metric.values.base, base_better, &metric.states.base),
        show(metric.values.other, other_better, &metric.states.other),
        ratio,
        interval,
        minutes,
        verdict(metric.adjusted, lang).to_owned(),
        needed.unwrap_or_default(),
    ]
}

/// A side's value, with a mark before it where no single level is behind its own runs.
pub(crate) fn value_of_side(value: f64, states: &[RunState], scale: &Scale) -> String {
    let level = if states.iter().all(has_level) {
        ""
    } else {
        NO_LEVEL_MARK
    };
    level.to_owned() + &scale.value(value)
}

/// Behind the unit of a metric of which less is better.
pub(super) fn lower(lang: Lang) -> &'static str {
    lang.pick("(lower)", "（小）")
}

/// Which side is better, base and other; neither where that is not known.
pub(super) fn better_side(verdict: Verdict) -> (bool, bool) {
    let verdict = verdict.without_doubt();
    (verdict == Verdict::Worse, verdict == Verdict::Better)
}

/// A ratio and its interval with the digits that the interval allows.
pub(crate) fn ratio_text(ratio: Option<f64>, interval: Option<&Interval>) -> (String, String) {
    let Some(value) = ratio else {
        return (NONE.to_owned(), NONE.to_owned());
    };
    let (value, ends) = number::plain(&Estimate {
        value,
        interval: interval.copied(),
        n: 0,
    });
    (value, number::range(ends.as_ref()))
}

/// What it would take to tell.
pub(super) fn rounds_needed(needed: RoundsNeeded, lang: Lang) -> String {
    match needed {
        RoundsNeeded::Rounds(n) => lang.pick(
            format!("about {} a side", counted(n, "round", "rounds")),
            format!("各 {n} 回程度"),
        ),
        RoundsNeeded::RoundsAtLeast(n) => say!(lang, "at least {n} rounds a side", "各 {n} 回以上"),
        RoundsNeeded::Pairs(n) => lang.pick(
            format!("about {}", counted(n, "pair", "pairs")),
            format!("{n} 組程度"),
        ),
        RoundsNeeded::PairsAtLeast(n) => {
            say!(lang, "at least {n} pairs", "{n} 組以上")
        }
        RoundsNeeded::Instances(n) => lang.pick(
            format!("about {} a side", counted(n, "instance", "instances")),
            format!("各 {n} 台程度"),
        ),
        RoundsNeeded::InstancesAtLeast(n) => {
            say!(lang, "at least {n} instances a side", "各 {n} 台以上")
        }
        RoundsNeeded::NotAtThisNoise => lang.pick("less noise", "ばらつき大のため困難").to_owned(),
    }
}

/// How to read the tables of a page: what its signs mean, and on a full one what its figures are.
pub(super) fn legend(all: &[Compared<'_>], detail: Detail) -> Vec<String> {
    let shown = || {
        all.iter()
            .flat_map(|of| shown(of, detail).map(move |metric| (of, metric)))
    };
    let Some((Compared { lang, .. }, _)) = shown().next() else {
        // No table, and nothing in it to be read.
        return Vec::new();
    };
    let any_lower = shown().any(|(of, metric)| {
        let declared = of.sides.declared(&metric.id);
        declared.is_some_and(|declared| declared.better == Better::Lower)
    });
    let any_better = shown().any(|(_, metric)| better_side(metric.adjusted) != (false, false));
    let tells = |verdict, interval: Option<&Interval>| {
        verdict == Verdict::Unclear && interval.is_some_and(|of| of.lo > 1.0 || of.hi < 1.0)
    };
    let categories = all.iter().flat_map(|of| &of.comparison.categories);
    let any_corrected = shown().any(|(_, one)| tells(one.adjusted, one.interval.as_ref()))
        || categories
            .into_iter()
            .any(|one| tells(one.verdict, one.interval.as_ref()));
    let any_torn = shown().any(|(_, metric)| !both_have_level(metric));
    let any_minutes = shown().any(|(_, metric)| metric.minutes.is_some());
    let is_full = detail == Detail::Full;
    let used = |estimator: &Estimator| all.iter().any(|of| of.comparison.estimator == *estimator);
    let estimators = Estimator::ALL.into_iter();
    let estimators = estimators.filter(|estimator| is_full && used(estimator));
    let signs = [
        (any_torn && is_full, lang.pick(
            "~ stands before the mean of rounds that have no single level: see the notes",
            "~ の付いた値は、一つの水準に落ち着いていないラウンドの平均です（注を参照）",
        )),
        (any_torn && !is_full, lang.pick(
            "~ stands before the mean of rounds that have no single level: see `--full`",
            "~ の付いた値は、一つの水準に落ち着いていないラウンドの平均です（`--full` を参照）",
        )),
        (true, lang.pick(
            "ratio: other over base, turned so that above 1 is better",
            "比は「比較対象 ÷ 基準」で、1 より大きいほど良くなるように向きをそろえています",
        )),
        (any_minutes, lang.pick(
            "intervals hold for these servers, not for these minutes alone",
            "区間は測定した時間だけでなく、サーバーそのものについてのものです",
        )),
        (any_better, lang.pick("* marks the better side", "* は良い側を示します")),
        (any_lower, lang.pick(
            "(lower) behind a unit: lower is better, and the ratio is base over other",
            "単位の後の（小）は小さいほど良い項目で、比は「基準 ÷ 比較対象」です",
        )),
        (is_full || any_corrected, lang.pick(
            "intervals are at 95 % for each metric by itself; verdicts are corrected for the number of metrics",
            "区間は項目ごとの 95 % 信頼区間です。判定は項目数に応じて補正しています",
        )),
        (is_full, lang.pick(
            "better?, worse?: the direction is sure, the size is not; same: no difference beyond the margin; unclear: these rounds do not tell",
            "良い?・悪い?: 方向は確実ですが大きさは不確実です。同等: 許容差を超える違いはありません。判定不能: この回数では決まりません",
        )),
    ];
    let signs = signs.into_iter().filter(|(stands, _)| *stands);
    estimators
        .map(|estimator| values_are(estimator, *lang))
        .chain(signs.map(|(_, said)| said.to_owned()))
        .collect()
}

/// How to read the values.
fn values_are(estimator: Estimator, lang: Lang) -> String {
    let over = match estimator {
        Estimator::Rounds => "",
        Estimator::Pairs => lang.pick(" over pairs", "組ごとの"),
        Estimator::Runs => {
            return say!(
                lang,
                "base, other: the geometric means of the runs' medians, which the ratio is made of; each run counts once",
                "基準・比較対象の値は、比のもとになる「各測定の中央値」の幾何平均です。どの測定も 1 件として数えます"
            );
        }
    };
    say!(
        lang,
        "base, other: the trimmed means{over} (on a logarithmic scale) that the ratio is made of; `kurabe show` gives medians, which may differ a little",
        "基準・比較対象の値は、比のもとになる{over}トリム平均（対数で計算）です。`kurabe show` の値は中央値のため、少し異なることがあります"
    )
}
