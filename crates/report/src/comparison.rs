//! What a comparison shows, computed once; every format starts from it.

use crate::comparison_refused;
use crate::duel;
use crate::number::{self, NO_LEVEL_MARK, NONE};
use crate::page::title;
use crate::set_otherwise;
use crate::view::BELOW;
use crate::words::{Counts, Words};
use dialects::printable::printable;
use model::comparison::{
    CategoryComparison, Comparison, Difference, Estimator, MetricComparison, RunState, Verdict,
};
use model::estimate::{Estimate, Interval};
use model::plan::{CaseId, MetricId, PlannedCase, PlannedMetric};
use model::record::Run;
use model::spec::Better;
use stats::verdict::Levels;

pub use crate::party::{LatestOf, Party};
pub use stats::CompareOptions;

/// The most lines of a summary.
pub const SUMMARY_LINES_MAX: usize = 6;

/// A base and what was compared with it.
#[derive(Clone, Debug)]
pub struct ComparisonView<'a> {
    /// The base.
    pub base: Party<'a>,
    /// Each other side with the conclusions about it.
    pub others: Vec<(Party<'a>, Comparison)>,
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

/// A line for each run of a side: which it is, and whether its label would mean others too.
fn run_lines(party: &Party<'_>, words: &Words) -> Vec<String> {
    let line = |run: &'_ Run| {
        let line = title::line(run, words.lang);
        match party.latest_of().iter().find(|of| of.run == run.meta.id) {
            Some(of) => format!("{line}; {}", (words.comparison.latest_of)(of.runs)),
            None => line,
        }
    };
    party.runs().into_iter().map(line).collect()
}

/// What a side is called in sentences: its label, or its id where it has none; a group by its first run.
pub(crate) fn name(party: &Party<'_>, words: &Words) -> String {
    let meta = &party.first().meta;
    named(meta.label.as_deref().unwrap_or(&meta.id), party, words)
}

fn named(first: &str, party: &Party<'_>, words: &Words) -> String {
    let first = printable(first);
    match party.runs().len() - 1 {
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
        let id = |party: &Party<'_>| named(&party.first().meta.id, party, words);
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
        let mut lines = run_lines(party, words);
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
    let show = |value: Option<f64>, better: bool, states: &[RunState]| {
        let mark = if better { BETTER_MARK } else { " " };
        let level = if states.iter().all(has_level) {
            ""
        } else {
            NO_LEVEL_MARK
        };
        value.map_or_else(
            || NONE.to_owned(),
            |value| {
                format!("{level}{} {mark}", scale.value(value))
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
        unit: match declared {
            Some(declared) if declared.better == Better::Lower => {
                format!("{} {}", scale.unit, words.comparison.lower)
            }
            _ => scale.unit.clone(),
        },
        base: show(metric.values.0, base_better, &metric.states.0),
        other: show(metric.values.1, other_better, &metric.states.1),
        ratio,
        interval,
        verdict: (words.verdict)(metric.adjusted).to_owned(),
        needed: metric
            .needed
            .map(words.comparison.rounds_needed)
            .unwrap_or_default(),
    }
}

/// True where the rounds of a run have a level that one number stands for.
pub(crate) const fn has_level(of: &RunState) -> bool {
    stats::state::has_single_number(&of.state)
}

/// The same of all runs of both sides.
fn both_have_level(metric: &MetricComparison) -> bool {
    let (base, other) = &metric.states;
    base.iter().chain(other).all(has_level)
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
        .find_map(|run| run.plan.case(&id.case))
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
    lines.extend(set_otherwise::of_sides(base, other, words));
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
    let (without_interval, not_compared) = comparison_refused::numbers(comparison);
    if without_interval + not_compared > 0 && counts.compared > 0 {
        lines.push((says.incomplete)(without_interval, not_compared));
    }
    lines.extend(crate::comparison_disturbed::line(
        base, other, comparison, words,
    ));
    if !comparison.differences.is_empty() {
        let list = first_few(&comparison.differences);
        lines.push((says.setup_differs)(comparison.differences.len(), &list));
    }
    lines
}

/// How to read the tables of a page.
pub(crate) fn legend(view: &ComparisonView<'_>, words: &Words) -> Vec<&'static str> {
    let says = &words.comparison;
    let shown = || {
        view.others.iter().flat_map(|(other, comparison)| {
            let with_ratio = comparison.metrics.iter().filter(|m| m.ratio.is_some());
            with_ratio.map(move |metric| (other, metric))
        })
    };
    let is_lower = |party: &Party<'_>, metric: &MetricComparison| {
        declared(party, &metric.id).is_some_and(|declared| declared.better == Better::Lower)
    };
    let any_lower = shown().any(|(other, m)| is_lower(&view.base, m) || is_lower(other, m));
    let any_torn = shown().any(|(_, metric)| !both_have_level(metric));
    if shown().next().is_none() {
        // No table, and nothing in it to be read.
        return Vec::new();
    }
    let mut lines = Vec::new();
    for estimator in Estimator::ALL {
        let uses = |(_, comparison): &(_, Comparison)| comparison.estimator == estimator;
        if view.others.iter().any(uses) {
            lines.push((says.values_are)(estimator));
        }
    }
    lines.extend(any_torn.then_some(says.no_level_legend));
    lines.extend(says.legend.first());
    lines.extend(any_lower.then_some(says.lower_legend));
    lines.extend(says.legend.iter().skip(1));
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
    fn a_summary_is_short_and_counts_every_metric() {
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
    fn no_row_shows_a_value_on_the_wrong_side_of_its_ratio() {
        // Rates whose medians are 100 and 99, while the ratio of the trimmed means is above 1; latencies likewise.
        let sides = [
            [95.0, 96.0, 97.0, 98.0, 100.0, 100.5, 101.0, 101.0, 101.5],
            [98.0, 98.0, 98.5, 98.8, 99.0, 104.0, 105.0, 106.0, 107.0],
        ];
        let [base, other] = sides.map(|values| {
            let mut run = testkit::empty();
            let quantities = [testkit::OPS, testkit::P99];
            let id = testkit::add_case(&mut run, "os.pipe", 1, "off", &quantities);
            for (pass, value) in (1..).zip(values) {
                let both = [("ops_per_s", value), ("clat_ns_p99", value)];
                testkit::add_round(&mut run, &id, pass, Ok(&both));
            }
            run
        });
        for lang in Lang::ALL {
            let words = lang.words();
            let view = view(&base, &[&other], &CompareOptions::default());
            let (party, comparison) = &view.others[0];
            let rows = rows(&view.base, party, comparison, words);
            let number = |text: &str| text.trim_end_matches(" *").parse::<f64>().unwrap();
            let [rate, latency] = &rows[..] else {
                panic!("{} rows", rows.len())
            };
            for row in &rows {
                assert!(number(&row.base) < number(&row.other));
            }
            assert!(number(&rate.ratio) > 1.0 && number(&latency.ratio) < 1.0);
            // Where the larger value is the worse one, the row says that lower is better.
            assert!(latency.unit.ends_with(words.comparison.lower));
            assert!(!rate.unit.contains(words.comparison.lower));
            assert!(legend(&view, words).contains(&words.comparison.lower_legend));
        }
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
