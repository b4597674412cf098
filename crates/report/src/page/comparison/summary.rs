//! What stands out of a comparison, in plain words: the largest gain and the largest loss, what did not compare, and
//! what else may be the cause.

use super::refused;
use super::table::ratio_text;
use crate::comparison::Compared;
use crate::lang::{Lang, say};
use crate::number::counted;
use model::comparison::{Difference, MetricComparison, Verdict};

/// The most lines of a summary.
#[cfg(test)]
pub(super) const LINES_MAX: usize = 4;

/// At most four lines.
pub(super) fn lines(of: Compared<'_>, reasons_below: bool) -> Vec<String> {
    let Compared {
        comparison, lang, ..
    } = of;
    let mut lines = Vec::new();
    let sure = |wanted: [Verdict; 2]| {
        let metrics = comparison.metrics.iter();
        metrics
            .filter(move |metric| wanted.contains(&metric.adjusted))
            .filter_map(|metric| Some((metric.ratio.filter(|ratio| ratio.is_finite())?, metric)))
    };
    if let Some((_, best)) =
        sure([Verdict::Better, Verdict::BetterMaybe]).max_by(|a, b| a.0.total_cmp(&b.0))
    {
        lines.push(largest(best, true, of));
    }
    if let Some((_, worst)) =
        sure([Verdict::Worse, Verdict::WorseMaybe]).min_by(|a, b| a.0.total_cmp(&b.0))
    {
        lines.push(largest(worst, false, of));
    }
    let (without_interval, not_compared) = refused::numbers(comparison);
    if without_interval + not_compared > 0 {
        lines.push(incomplete(
            without_interval,
            not_compared,
            reasons_below,
            lang,
        ));
    }
    if !comparison.differences.is_empty() {
        lines.push(differ(&comparison.differences, lang));
    }
    lines
}

/// Nothing to compare.
pub(super) fn nothing(lang: Lang) -> &'static str {
    lang.pick("there is nothing to compare", "比較できる項目はありません")
}

/// The largest gain or loss.
fn largest(metric: &MetricComparison, gain: bool, of: Compared<'_>) -> String {
    let (ratio, interval) = ratio_text(metric.ratio, metric.interval.as_ref());
    let name = of.sides.metric_name(&metric.id);
    let (en, ja) = if gain {
        ("gain", "向上")
    } else {
        ("loss", "低下")
    };
    say!(
        of.lang,
        "largest {en}: {name}, ratio {ratio} ({interval})",
        "最も{ja}した項目は {name} で、比は {ratio} です（{interval}）"
    )
}

/// How many metrics have a ratio without an interval, and how many have no ratio.
fn incomplete(plain: usize, none: usize, below: bool, lang: Lang) -> String {
    let metrics = |n| counted(n, "metric", "metrics");
    match lang {
        Lang::En => {
            let what = match (plain, none) {
                (plain, 0) => format!("{} without an interval", metrics(plain)),
                (0, none) => format!("{} not compared", metrics(none)),
                (plain, none) => format!(
                    "{} without an interval, {none} not compared",
                    metrics(plain)
                ),
            };
            let place = if below { "are below" } else { "with `--full`" };
            format!("{what}; the reasons {place}")
        }
        Lang::Ja => {
            let what = match (plain, none) {
                (plain, 0) => format!("{plain} 項目には区間がありません"),
                (0, none) => format!("{none} 項目は比較していません"),
                (plain, none) => {
                    format!("{plain} 項目には区間がなく、{none} 項目は比較していません")
                }
            };
            let place = if below {
                "下記のとおりです"
            } else {
                " `--full` で確認できます"
            };
            format!("{what}（理由は{place}）")
        }
    }
}

/// How many differences a summary names.
const DIFFERENCES_NAMED: usize = 3;

/// How many points of the set-up differ, and the first few of them.
fn differ(differences: &[Difference], lang: Lang) -> String {
    let n = differences.len();
    let first = differences.iter().take(DIFFERENCES_NAMED);
    let mut names: Vec<&str> = first.map(|difference| difference.what.as_str()).collect();
    if n > DIFFERENCES_NAMED {
        names.push("...");
    }
    let list = names.join(", ");
    lang.pick(
        format!(
            "the set-ups differ in {} ({list}), which may be the cause",
            counted(n, "point", "points")
        ),
        format!("環境に {n} 点の違いがあり（{list}）、それが原因の可能性があります"),
    )
}
