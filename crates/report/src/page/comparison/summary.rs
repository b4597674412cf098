//! The comparison in plain words: how many metrics are better, the largest gain and the largest loss, and what else may
//! be the cause.

use super::refused;
use super::table::ratio_text;
use crate::comparison::{Compared, both_have_level};
use crate::lang::{Lang, say};
use crate::number::counted;
use model::comparison::{Difference, MetricComparison, Verdict};
use model::warning::Warning;

/// The most lines of a summary.
#[cfg(test)]
pub(super) const LINES_MAX: usize = 6;

/// At most six lines.
pub(super) fn lines(of: Compared<'_>) -> Vec<String> {
    let Compared {
        comparison, lang, ..
    } = of;
    let mut lines = Vec::new();
    let counts = counts(of);
    if counts.compared == 0 {
        lines.push(nothing(lang).to_owned());
    } else {
        lines.push(told(&counts, of));
    }
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
    if without_interval + not_compared > 0 && counts.compared > 0 {
        lines.push(incomplete(without_interval, not_compared, lang));
    }
    lines.extend(disturbed(of));
    if !comparison.differences.is_empty() {
        lines.push(differ(&comparison.differences, lang));
    }
    lines
}

/// Nothing to compare.
pub(super) fn nothing(lang: Lang) -> &'static str {
    lang.pick("there is nothing to compare", "比較できる項目はありません")
}

/// How many metrics got which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Metrics with a verdict or at least a ratio.
    pub(super) compared: usize,
    /// Better, by more than the margin or by an unsure amount.
    pub(super) better: usize,
    /// Worse, likewise.
    pub(super) worse: usize,
    /// The same within the margin.
    pub(super) same: usize,
    /// Cannot tell.
    pub(super) unclear: usize,
    /// Of all these, how many have no single level on a side.
    pub(super) no_level: usize,
}

pub(super) fn counts(of: Compared<'_>) -> Counts {
    let mut counts = Counts::default();
    let metrics = of.comparison.metrics.iter();
    for metric in metrics.filter(|metric| metric.ratio.is_some()) {
        counts.compared += 1;
        counts.no_level += usize::from(!both_have_level(metric));
        match metric.adjusted {
            Verdict::Better | Verdict::BetterMaybe => counts.better += 1,
            Verdict::Worse | Verdict::WorseMaybe => counts.worse += 1,
            Verdict::Same => counts.same += 1,
            Verdict::Unclear => counts.unclear += 1,
        }
    }
    counts
}

fn told(counts: &Counts, of: Compared<'_>) -> String {
    let Counts {
        compared,
        better,
        worse,
        same,
        unclear,
        no_level,
    } = *counts;
    let [base, other] = of.sides.names(of.lang);
    match of.lang {
        Lang::En => {
            let metrics = counted(compared, "metric", "metrics");
            let no_level = match no_level {
                0 => String::new(),
                1 => "; 1 of all these has no single level (~)".to_owned(),
                n => format!("; {n} of all these have no single level (~)"),
            };
            format!(
                "of {metrics}, {other} is better than {base} in {better}, worse in {worse}, the same in {same}; {unclear} cannot be told{no_level}"
            )
        }
        Lang::Ja => {
            let no_level = match no_level {
                0 => String::new(),
                n => format!("（うち {n} 項目は一つの水準に落ち着いていません: ~）"),
            };
            format!(
                "{compared} 項目のうち、{other} が {base} より良いもの {better}、悪いもの {worse}、同等 {same}、判定不能 {unclear} です{no_level}"
            )
        }
    }
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
fn incomplete(plain: usize, none: usize, lang: Lang) -> String {
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
            format!("{what}; the reasons are below")
        }
        Lang::Ja => {
            let what = match (plain, none) {
                (plain, 0) => format!("{plain} 項目には区間がありません"),
                (0, none) => format!("{none} 項目は比較していません"),
                (plain, none) => {
                    format!("{plain} 項目には区間がなく、{none} 項目は比較していません")
                }
            };
            format!("{what}（理由は下記のとおりです）")
        }
    }
}

/// The share of a side's rounds from which on the summary says that something else took time from it.
const MOST_ROUNDS: f64 = 0.5;

/// That most rounds of a side were disturbed; and of the other one with it, where the notes tell as much of that: a
/// difference may then be one of the hour and not of the machine, however sure it is. What disturbs the pairs of a duel
/// disturbs both of each.
fn disturbed(of: Compared<'_>) -> Option<String> {
    let comparison = of.comparison;
    let any_change = comparison.metrics.iter().any(|m| m.ratio.is_some());
    if comparison.paired || !any_change {
        return None;
    }
    let most = |warnings: &[Warning]| {
        let shares = warnings.iter().filter_map(rounds_share);
        shares.reduce(f64::max)
    };
    let (on_base, on_other) = &comparison.disturbed;
    let shares = (most(on_base), most(on_other));
    if shares.0.unwrap_or(0.0).max(shares.1.unwrap_or(0.0)) < MOST_ROUNDS {
        return None;
    }
    let [base, other] = of.sides.names(of.lang);
    let one = |name: &str| {
        say!(
            of.lang,
            "{name} was disturbed while it was measured (notes), which may be the cause: measure it again when it is quiet",
            "{name} は測定中に妨害を受けており（注を参照）、それが原因の可能性があります。静かなときに測り直してください"
        )
    };
    Some(match shares {
        (Some(_), Some(_)) => of
            .lang
            .pick(
                "both were disturbed while they were measured (notes), which may be the cause: measure both again when it is quiet",
                "測定中に両方とも妨害を受けており（注を参照）、それが原因の可能性があります。静かなときに両方を測り直してください",
            )
            .to_owned(),
        (Some(_), None) => one(&base),
        (None, _) => one(&other),
    })
}

/// In which share of the rounds something took time that may be quiet another time, which a quota never is.
const fn rounds_share(warning: &Warning) -> Option<f64> {
    match warning {
        Warning::Steal { rounds_share, .. } | Warning::ForeignCpu { rounds_share, .. } => {
            Some(*rounds_share)
        }
        _ => None,
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
