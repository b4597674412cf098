//! Ratios of a comparison: a dot with its interval for each metric, on an axis of factors, with the margin and the
//! verdict; what is surest and largest first.

use crate::comparison::Compared;
use crate::lang::say;
use crate::page::block::{Align, Chart, Table, Text, Tone};
use crate::page::chart::{Axis, Figure, Row, Rows};
use crate::page::comparison::{ratio_text, verdict};
use model::comparison::{MetricComparison, Verdict};
use model::order::Order as _;

/// More rows than this nobody reads: what leads its case, the surest and largest.
const ROWS_MAX: usize = 40;

/// The room beside the outermost dot, as a factor.
const BESIDE: f64 = 1.04;

/// The chart of the metrics that lead their cases; `None` where none has a ratio.
pub(crate) fn ratios(of: Compared<'_>) -> Option<Chart> {
    let lang = of.lang;
    let has_ratio = |one: &&MetricComparison| one.ratio.is_some_and(|x| x > 0.0 && x.is_finite());
    let leads = of
        .comparison
        .metrics
        .iter()
        .filter(|one| of.sides.leads(&one.id));
    let mut metrics: Vec<&MetricComparison> = leads.filter(has_ratio).collect();
    let away = |one: &MetricComparison| one.ratio.map_or(0.0, |ratio| ratio.ln().abs());
    metrics.order_by(|a, b| rank(a).cmp(&rank(b)).then(away(b).total_cmp(&away(a))));
    metrics.truncate(ROWS_MAX);
    let rows: Vec<Row> = metrics.iter().map(|one| row(of, one)).collect();
    if rows.is_empty() {
        return None;
    }
    let all = || {
        let ends = rows.iter().filter_map(|row| row.interval);
        let ends = ends.flat_map(|(low, high)| [low, high]);
        ends.chain(rows.iter().map(|row| row.at))
            .filter(|x| *x > 0.0 && x.is_finite())
    };
    // One interval that spans everything would leave the others no room.
    let low = all().fold(1.0, f64::min).max(0.02) / BESIDE;
    let high = all().fold(1.0, f64::max).min(50.0) * BESIDE;
    let [base, other] = of.sides.names(lang);
    let label = say!(
        lang,
        "times as good as {base} (above 1: {other} is better)",
        "{base} に対する比（1 より大きければ {other} が優れる）"
    );
    let mut table = Table::new([
        (lang.pick("metric", "測定項目"), Align::Left),
        (lang.pick("ratio", "比"), Align::Right),
        (lang.pick("95 % interval", "95 % 信頼区間"), Align::Right),
        (lang.pick("margin", "許容差"), Align::Right),
        (lang.pick("verdict", "判定"), Align::Left),
    ]);
    for (one, row) in metrics.iter().zip(&rows) {
        let (ratio, interval) = ratio_text(one.ratio, one.interval.as_ref());
        table.rows.push(vec![
            Text::name(row.name.clone()).into(),
            ratio.into(),
            interval.into(),
            crate::number::percent(one.margin).into(),
            verdict(one.adjusted, lang).into(),
        ]);
    }
    Some(Chart {
        title: say!(lang, "{other} against {base}", "{other} 対 {base}（基準）"),
        finding: finding(of, &metrics),
        drawing: Figure::Rows(Rows {
            axis: Axis::ratios(&label, low, high),
            line: Some(1.0),
            rows,
        }),
        table,
    })
}

/// What is sure comes before what may be, and that before what nobody knows.
const fn rank(one: &MetricComparison) -> u8 {
    match one.adjusted {
        Verdict::Better => 0,
        Verdict::BetterMaybe => 1,
        Verdict::Worse => 2,
        Verdict::WorseMaybe => 3,
        Verdict::Same => 4,
        Verdict::Unclear => 5,
    }
}

fn row(of: Compared<'_>, one: &MetricComparison) -> Row {
    let word = verdict(one.adjusted, of.lang);
    let said = match one.adjusted {
        Verdict::Better | Verdict::BetterMaybe => {
            Text::with(Tone::Best, format!("\u{25b2} {word}"))
        }
        Verdict::Worse | Verdict::WorseMaybe => Text::with(Tone::Worse, format!("\u{25bc} {word}")),
        Verdict::Same | Verdict::Unclear => word.into(),
    };
    Row {
        name: of.sides.metric_name(&one.id),
        at: one.ratio.unwrap_or(1.0),
        interval: one.interval.as_ref().map(|ends| (ends.lo, ends.hi)),
        band: Some((1.0 / (1.0 + one.margin), 1.0 + one.margin)),
        said,
    }
}

/// How many are what, and the ends.
fn finding(of: Compared<'_>, metrics: &[&MetricComparison]) -> String {
    let lang = of.lang;
    let n = |wanted: &[Verdict]| {
        let of = metrics.iter().filter(|one| wanted.contains(&one.adjusted));
        of.count()
    };
    let with_maybe = |sure, maybe| match n(&[maybe]) {
        0 => n(&[sure]).to_string(),
        doubted => say!(
            lang,
            "{sure} ({doubted} more with ?)",
            "{sure}（ほかに ? 付き {doubted}）",
            sure = n(&[sure])
        ),
    };
    let better = with_maybe(Verdict::Better, Verdict::BetterMaybe);
    let worse = with_maybe(Verdict::Worse, Verdict::WorseMaybe);
    let (same, unclear) = (n(&[Verdict::Same]), n(&[Verdict::Unclear]));
    let [_, other] = of.sides.names(lang);
    say!(
        lang,
        "{other} is better in {better}, worse in {worse}, the same in {same}, unclear in {unclear}; a dot is the ratio, \
         the line its 95 % interval, the shaded band counts as the same",
        "{other} は {better} 項目で良く、{worse} 項目で悪く、{same} 項目で同等、{unclear} 項目は判定不能です。点は比、線は \
         95 % 信頼区間、網掛けは同等とみなす範囲です"
    )
}
