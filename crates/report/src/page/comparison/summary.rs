//! What stands out of a comparison, in plain words: the largest gain and the largest loss, and what else
//! may be the cause.

use super::table::ratio_text;
use crate::comparison::Compared;
use crate::lang::{Lang, say};
use crate::number::counted;
use model::comparison::{Difference, MetricComparison, Verdict};

/// The most lines of a summary.
#[cfg(test)]
pub(super) const LINES_MAX: usize = 3;

/// At most three lines.
pub(super) fn lines(of: Compared<'_>) -> Vec<String> {
    let sure = |wanted: [Verdict; 2]| {
        let metrics = of.comparison.metrics.iter();
        metrics
            .filter(move |metric| wanted.contains(&metric.adjusted))
            .filter_map(|metric| Some((metric.ratio.filter(|ratio| ratio.is_finite())?, metric)))
    };
    let best = sure([Verdict::Better, Verdict::BetterMaybe]).max_by(|a, b| a.0.total_cmp(&b.0));
    let worst = sure([Verdict::Worse, Verdict::WorseMaybe]).min_by(|a, b| a.0.total_cmp(&b.0));
    let best = best.map(|(_, metric)| largest(metric, true, of));
    let worst = worst.map(|(_, metric)| largest(metric, false, of));
    best.into_iter()
        .chain(worst)
        .chain(differ(&of.comparison.differences, of.lang))
        .collect()
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

/// How many differences a summary names.
const DIFFERENCES_NAMED: usize = 3;

/// How many points of the set-up differ, and the first few of them.
fn differ(differences: &[Difference], lang: Lang) -> Option<String> {
    let n = differences.len();
    let first = differences.iter().take(DIFFERENCES_NAMED);
    let mut names: Vec<&str> = first.map(|difference| difference.what.as_str()).collect();
    if n > DIFFERENCES_NAMED {
        names.push("...");
    }
    let (list, points) = (names.join(", "), counted(n, "point", "points"));
    let said = say!(
        lang,
        "the set-ups differ in {points} ({list}), which may be the cause",
        "環境に {n} 点の違いがあり（{list}）、それが原因の可能性があります"
    );
    (n > 0).then_some(said)
}
