//! What a comparison shows, computed once; every format starts from it.

use crate::duel;
use crate::number::{self, NONE};
use crate::text::run_line;
use crate::view::BELOW;
use crate::words::{Counts, Words};
use dialects::printable::printable;
use model::comparison::{CategoryComparison, Comparison, Difference, MetricComparison, Verdict};
use model::estimate::{Estimate, Interval};
use model::plan::{CaseId, MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use stats::verdict::Levels;

pub use stats::CompareOptions;

/// The most lines of a summary.
pub const SUMMARY_LINES_MAX: usize = 5;

/// A base and what was compared with it.
#[derive(Clone, Debug)]
pub struct ComparisonView<'a> {
    /// The base.
    pub base: Party<'a>,
    /// Each other side with the conclusions about it.
    pub others: Vec<(Party<'a>, Comparison)>,
}

/// One side of a comparison: a run, or several runs of a group.
#[derive(Clone, Debug)]
pub struct Party<'a> {
    first: &'a Run,
    rest: Vec<&'a Run>,
}

impl<'a> Party<'a> {
    /// One run.
    pub const fn one(run: &'a Run) -> Self {
        let rest = Vec::new();
        Self { first: run, rest }
    }

    /// A group; `None` for no run at all.
    pub fn group(runs: &'a [Run]) -> Option<Self> {
        let (first, rest) = runs.split_first()?;
        let rest = rest.iter().collect();
        Some(Self { first, rest })
    }

    /// The first run, or the only one.
    pub(crate) const fn first(&self) -> &'a Run {
        self.first
    }

    /// Every run.
    pub(crate) fn runs(&self) -> Vec<&'a Run> {
        std::iter::once(self.first)
            .chain(self.rest.iter().copied())
            .collect()
    }

    /// True for more than one run.
    pub(crate) const fn is_group(&self) -> bool {
        !self.rest.is_empty()
    }
}

/// Compares each of `others` with `base`.
pub fn view<'a>(base: &'a Run, others: &[&'a Run], options: &CompareOptions) -> ComparisonView<'a> {
    let others = others.iter().map(|other| Party::one(other)).collect();
    view_groups(Party::one(base), others, options)
}

/// Compares each of `others`, which may be groups, with `base`.
pub fn view_groups<'a>(
    base: Party<'a>,
    others: Vec<Party<'a>>,
    options: &CompareOptions,
) -> ComparisonView<'a> {
    let runs = base.runs();
    let others = others
        .into_iter()
        .map(|other| {
            let comparison = stats::compare_groups(&runs, &other.runs(), options);
            (other, comparison)
        })
        .collect();
    ComparisonView { base, others }
}

/// What a side is called in sentences: its label, or its id where it has none; a group by its first run.
pub(crate) fn name(party: &Party<'_>, words: &Words) -> String {
    let meta = &party.first.meta;
    named(meta.label.as_deref().unwrap_or(&meta.id), party, words)
}

fn named(first: &str, party: &Party<'_>, words: &Words) -> String {
    let first = printable(first);
    match party.rest.len() {
        0 => first,
        more => (words.comparison.and_more)(&first, more),
    }
}

/// The names of two sides: the letters of a duel's; where labels are the same, the ids tell them apart.
pub(crate) fn names(base: &Party<'_>, other: &Party<'_>, words: &Words) -> (String, String) {
    if let Some([(_, base), (_, other)]) = duel::sides(base, other) {
        return (base.letter(), other.letter());
    }
    let (a, b) = (name(base, words), name(other, words));
    if a == b {
        let id = |party: &Party<'_>| named(&party.first.meta.id, party, words);
        (id(base), id(other))
    } else {
        (a, b)
    }
}

/// What stands above the columns of a table of compared metrics.
pub(crate) fn headings(base: &Party<'_>, other: &Party<'_>, words: &Words) -> [String; 8] {
    let mut headings = words.comparison_headings().map(ToOwned::to_owned);
    if duel::sides(base, other).is_some() {
        (headings[2], headings[3]) = names(base, other, words);
    }
    headings
}

/// A side on top of a page: what it is called there, and its runs, a line for each; below a side of a duel what makes
/// it that.
pub(crate) fn heads(
    base: &Party<'_>,
    other: &Party<'_>,
    words: &Words,
) -> [(String, Vec<String>); 2] {
    let is_duel = duel::sides(base, other).is_some();
    [(base, true), (other, false)].map(|(party, is_base)| {
        let role = if is_base {
            words.comparison.base
        } else {
            words.comparison.other
        };
        let runs = party.runs();
        let mut lines: Vec<String> = runs.iter().map(|run| run_line(run, words)).collect();
        let own = party.first().plan.duel.as_ref().filter(|_| is_duel);
        lines.extend(own.and_then(|_| duel::side_text(party.first(), words)));
        let name = own.map_or_else(
            || role.to_owned(),
            |duel| (words.duel.party)(&duel.letter(), is_base),
        );
        (name, lines)
    })
}

/// A compared metric as text.
pub(crate) struct Row {
    pub(crate) metric: String,
    /// The name where the row stands below another one of its case.
    pub(crate) below: Option<String>,
    pub(crate) unit: String,
    pub(crate) base: String,
    pub(crate) other: String,
    pub(crate) ratio: String,
    pub(crate) interval: String,
    pub(crate) verdict: String,
    pub(crate) needed: String,
}

/// What marks the better of two values; a sign and not a colour.
const BETTER_MARK: &str = "*";

/// The metrics that have a ratio, in order.
pub(crate) fn rows(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<Row> {
    let mut above: Option<&CaseId> = None;
    let shown = comparison.metrics.iter().filter(|m| m.ratio.is_some());
    shown
        .map(|metric| {
            let again = above == Some(&metric.id.case);
            above = Some(&metric.id.case);
            let mut row = row(base, other, metric, words);
            row.below = (again && row.metric != metric.id.case.to_string())
                .then(|| format!("{BELOW}{}", printable(&metric.id.quantity)));
            row
        })
        .collect()
}

fn row(base: &Party<'_>, other: &Party<'_>, metric: &MetricComparison, words: &Words) -> Row {
    let declared = declared(base, &metric.id).or_else(|| declared(other, &metric.id));
    let values = [metric.values.0, metric.values.1];
    let largest = values
        .iter()
        .flatten()
        .fold(0.0, |a: f64, b| a.max(b.abs()));
    let scale = declared.map_or_else(
        || number::scale(model::units::Unit::Number, "", largest),
        |declared| number::scale(declared.unit, &declared.quantity, largest),
    );
    let show = |value: Option<f64>, better: bool| {
        let mark = if better { BETTER_MARK } else { " " };
        value.map_or_else(
            || NONE.to_owned(),
            |value| {
                format!("{} {mark}", scale.value(value))
                    .trim_end()
                    .to_owned()
            },
        )
    };
    let (base_better, other_better) = better_side(metric.adjusted);
    let (ratio, interval) = ratio_text(metric.ratio, metric.interval.as_ref());
    Row {
        metric: metric_name(base, other, &metric.id),
        below: None,
        unit: scale.unit.clone(),
        base: show(metric.values.0, base_better),
        other: show(metric.values.1, other_better),
        ratio,
        interval,
        verdict: (words.verdict)(metric.adjusted).to_owned(),
        needed: metric
            .needed
            .map(words.comparison.rounds_needed)
            .unwrap_or_default(),
    }
}

/// The metric's name: the case alone for the first metric of a case, the full id for further ones.
pub(crate) fn metric_name(base: &Party<'_>, other: &Party<'_>, id: &MetricId) -> String {
    let leads = [base, other].iter().any(|party| {
        planned(party, id)
            .and_then(|case| case.metrics.first())
            .is_some_and(|first| first.quantity == id.quantity)
    });
    printable(&if leads {
        id.case.to_string()
    } else {
        id.to_string()
    })
}

fn planned<'a>(party: &Party<'a>, id: &MetricId) -> Option<&'a PlannedCase> {
    party
        .runs()
        .into_iter()
        .find_map(|run| run.plan.cases.iter().find(|case| case.id == id.case))
}

/// How the side declared the metric.
pub(crate) fn declared<'a>(party: &Party<'a>, id: &MetricId) -> Option<&'a PlannedMetric> {
    planned(party, id)?
        .metrics
        .iter()
        .find(|metric| metric.quantity == id.quantity)
}

/// Which side is better, base and other; neither where that is not known.
const fn better_side(verdict: Verdict) -> (bool, bool) {
    match verdict {
        Verdict::Better | Verdict::BetterMaybe => (false, true),
        Verdict::Worse | Verdict::WorseMaybe => (true, false),
        Verdict::Same | Verdict::Unclear => (false, false),
    }
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

/// Metrics that were not compared, or without an interval, with the reason.
pub(crate) fn refusals(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<(String, String)> {
    comparison
        .metrics
        .iter()
        .filter_map(|metric| {
            let refusal = metric.refused.as_ref()?;
            Some((
                metric_name(base, other, &metric.id),
                printable(&duel::refusal(base, other, refusal, &metric.id.case, words)),
            ))
        })
        .collect()
}

/// One line per category: name, figures, verdict, how many metrics.
pub(crate) fn category_row(category: &CategoryComparison, words: &Words) -> [String; 5] {
    let (ratio, interval) = ratio_text(Some(category.ratio), category.interval.as_ref());
    [
        printable(&category.category),
        ratio,
        interval,
        (words.verdict)(category.verdict).to_owned(),
        (words.comparison.metrics)(category.metrics),
    ]
}

/// How the rounds were measured and are compared, where that is in pairs or in as many rounds as it took; and what must
/// be known of a duel.
pub(crate) fn pairing(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<String> {
    let says = &words.comparison;
    let mut lines = Vec::new();
    if comparison.paired {
        lines.push(says.paired.to_owned());
    }
    if comparison.looked {
        let confidence = |level: f64| format!("{:.1} %", 100.0 * (1.0 - level));
        let Levels { difference, same } = stats::looks::levels(comparison.paired);
        lines.push((says.looked)(&confidence(difference), &confidence(same)));
    }
    lines.extend(duel::about(base, other, words));
    lines
}

/// The comparison in plain words: at most [`SUMMARY_LINES_MAX`] lines.
pub(crate) fn summary(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<String> {
    let says = &words.comparison;
    let mut lines = Vec::new();
    let counts = counts(base, other, comparison, words);
    if counts.compared == 0 {
        lines.push(says.nothing.to_owned());
    } else {
        lines.push((says.counts)(&counts));
    }
    let sure = |wanted: [Verdict; 2]| {
        comparison
            .metrics
            .iter()
            .filter(move |metric| wanted.contains(&metric.adjusted))
            .filter(|metric| metric.ratio.is_some_and(f64::is_finite))
    };
    let by_ratio = |a: &&MetricComparison, b: &&MetricComparison| {
        a.ratio.unwrap_or(1.0).total_cmp(&b.ratio.unwrap_or(1.0))
    };
    let line = |metric: &MetricComparison, say: fn(&str, &str, &str) -> String| {
        let (ratio, interval) = ratio_text(metric.ratio, metric.interval.as_ref());
        say(&metric_name(base, other, &metric.id), &ratio, &interval)
    };
    if let Some(best) = sure([Verdict::Better, Verdict::BetterMaybe]).max_by(by_ratio) {
        lines.push(line(best, says.gain));
    }
    if let Some(worst) = sure([Verdict::Worse, Verdict::WorseMaybe]).min_by(by_ratio) {
        lines.push(line(worst, says.loss));
    }
    let refused = comparison
        .metrics
        .iter()
        .filter(|metric| metric.ratio.is_none())
        .count();
    if refused > 0 && counts.compared > 0 {
        lines.push((says.not_compared)(refused));
    }
    if !comparison.differences.is_empty() {
        let list = first_few(&comparison.differences);
        lines.push((says.setup_differs)(comparison.differences.len(), &list));
    }
    lines
}

/// How many differences a summary names.
const DIFFERENCES_NAMED: usize = 3;

/// What the first differences are about, and dots where there are more.
fn first_few(differences: &[Difference]) -> String {
    let mut names: Vec<String> = differences
        .iter()
        .take(DIFFERENCES_NAMED)
        .map(|difference| printable(&difference.what))
        .collect();
    if differences.len() > DIFFERENCES_NAMED {
        names.push("...".to_owned());
    }
    names.join(", ")
}

fn counts(base: &Party<'_>, other: &Party<'_>, comparison: &Comparison, words: &Words) -> Counts {
    let (base, other) = names(base, other, words);
    let mut counts = Counts {
        other,
        base,
        ..Counts::default()
    };
    for metric in comparison
        .metrics
        .iter()
        .filter(|metric| metric.ratio.is_some())
    {
        counts.compared += 1;
        match metric.adjusted {
            Verdict::Better | Verdict::BetterMaybe => counts.better += 1,
            Verdict::Worse | Verdict::WorseMaybe => counts.worse += 1,
            Verdict::Same => counts.same += 1,
            Verdict::Unclear => counts.unclear += 1,
        }
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::words::Lang;

    #[test]
    fn the_better_side_is_marked_and_no_other() {
        let (base, other, comparison) = testkit::comparison();
        let words = Lang::En.words();
        for (row, metric) in rows(&Party::one(&base), &Party::one(&other), &comparison, words)
            .iter()
            .zip(
                comparison
                    .metrics
                    .iter()
                    .filter(|metric| metric.ratio.is_some()),
            )
        {
            let marks = (row.base.ends_with('*'), row.other.ends_with('*'));
            assert_eq!(marks, better_side(metric.adjusted), "{}", row.metric);
        }
    }

    #[test]
    fn a_summary_has_at_most_five_lines_and_counts_every_metric() {
        let (base, other, comparison) = testkit::comparison();
        for lang in Lang::ALL {
            let lines = summary(
                &Party::one(&base),
                &Party::one(&other),
                &comparison,
                lang.words(),
            );
            assert!(lines.len() <= SUMMARY_LINES_MAX, "{lines:?}");
            assert!(!lines.is_empty());
        }
        let counts = counts(
            &Party::one(&base),
            &Party::one(&other),
            &comparison,
            Lang::En.words(),
        );
        let sum = counts.better + counts.worse + counts.same + counts.unclear;
        assert_eq!(sum, counts.compared);
        assert!(counts.compared > 3);
    }

    #[test]
    fn runs_of_the_same_label_are_told_apart_by_id() {
        let (mut base, mut other, _) = testkit::comparison();
        base.meta.label = Some("web".to_owned());
        other.meta.label = Some("web".to_owned());
        let (a, b) = names(&Party::one(&base), &Party::one(&other), Lang::En.words());
        assert_ne!(a, b);
    }
}
