//! What a comparison has no ratio or no interval for, why, and what to type next.
//!
//! What is refused for the same reason is one line, with a command for all of it: two runs of different profiles would
//! otherwise fill pages with one sentence. What has a ratio and lacks the interval is kept apart from what does not
//! compare at all, so that the summary's counts are those of the lists.

use super::notes::with_remark;
use super::refusal::sentence;
use super::table::metrics_text;
use crate::comparison::Compared;
use crate::lang::say;
use model::comparison::{Comparison, MetricComparison, Refusal};
use model::plan::CaseId;
use std::collections::{HashMap, HashSet};

/// Name and reason of each metric, or of several at once.
pub(super) type Lines = Vec<(String, String)>;

/// The metrics of a comparison that have a reason beside them.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Those with a ratio and without an interval.
    pub(super) without_interval: Lines,
    /// Those without a ratio.
    pub(super) not_compared: Lines,
}

/// How many metrics have a ratio without an interval, and how many have no ratio.
pub(super) fn numbers(comparison: &Comparison) -> (usize, usize) {
    let refused = comparison.metrics.iter().filter(|m| m.refused.is_some());
    let (with, without): (Vec<_>, Vec<_>) = refused.partition(|metric| metric.ratio.is_some());
    (with.len(), without.len())
}

/// The reasons, each with all metrics that it is true of.
pub(super) fn refused(of: Compared<'_>) -> Refused {
    let Compared {
        sides,
        comparison,
        lang,
    } = of;
    let mut found = Refused::default();
    for (refusal, members) in groups(comparison) {
        let list = if members[0].ratio.is_some() {
            &mut found.without_interval
        } else {
            &mut found.not_compared
        };
        let cases: Vec<&CaseId> = members.iter().map(|metric| &metric.id.case).collect();
        let why = sentence(refusal, &cases, sides, lang);
        let names = names(&members, of);
        let n = members.len();
        let number = || metrics_text(u32::try_from(n).unwrap_or(u32::MAX), lang);
        list.push(match &names[..] {
            [only] if n == 1 => (only.clone(), why),
            _ if n == comparison.metrics.len() => {
                let all = say!(lang, "all {n} metrics", "全 {n} 項目");
                (all, why)
            }
            [only] => (with_remark(only, &number(), lang), why),
            _ => {
                let list = names.join(", ");
                let these = say!(lang, "{why}; these are {list}", "{why}（対象: {list}）");
                (number(), these)
            }
        });
    }
    found
}

/// The metrics by reason, in the order of the first of each.
fn groups(comparison: &Comparison) -> Vec<(&Refusal, Vec<&MetricComparison>)> {
    let mut groups: Vec<(&Refusal, Vec<&MetricComparison>)> = Vec::new();
    for metric in &comparison.metrics {
        let Some(refusal) = &metric.refused else {
            continue;
        };
        let fits = |(why, members): &&mut (&Refusal, Vec<&MetricComparison>)| {
            let first = members[0];
            *why == refusal
                && first.ratio.is_some() == metric.ratio.is_some()
                // Parameters are set for each test by itself.
                && (first.id.case == metric.id.case || !is_of_one_case(refusal))
        };
        match groups.iter_mut().find(fits) {
            Some((_, members)) => members.push(metric),
            None => groups.push((refusal, vec![metric])),
        }
    }
    groups
}

const fn is_of_one_case(refusal: &Refusal) -> bool {
    matches!(
        refusal,
        Refusal::Parameters(_) | Refusal::GroupDisagrees { .. }
    )
}

/// The metrics by name; a case whose metrics are all there by its own.
fn names(members: &[&MetricComparison], of: Compared<'_>) -> Vec<String> {
    let here = of_cases(members.iter().copied());
    let all = of_cases(&of.comparison.metrics);
    let mut named: HashSet<String> = HashSet::new();
    let names = members.iter().map(|metric| {
        let case = &metric.id.case;
        if here.get(case) == all.get(case) {
            case.to_string()
        } else {
            of.sides.metric_name(&metric.id)
        }
    });
    names.filter(|name| named.insert(name.clone())).collect()
}

/// How many of these metrics each case has.
fn of_cases<'a>(
    metrics: impl IntoIterator<Item = &'a MetricComparison>,
) -> HashMap<&'a CaseId, usize> {
    let mut of_cases = HashMap::new();
    for metric in metrics {
        *of_cases.entry(&metric.id.case).or_default() += 1;
    }
    of_cases
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::Party;
    use crate::lang::Lang;
    use crate::page::comparison::tests::compared;
    use crate::testkit;
    use model::record::Run;

    #[test]
    fn the_numbers_of_the_summary_are_those_of_the_lists() {
        let (base, other, mut comparison) = testkit::comparison();
        for metric in &mut comparison.metrics {
            if metric.id.case.test == "os.e" {
                metric.ratio = Some(1.5);
            }
        }
        let (base, other) = (Party::one(&base), Party::one(&other));
        let (plain, none) = numbers(&comparison);
        for lang in Lang::ALL {
            let found = refused(compared(&base, &other, &comparison, lang));
            let counted = (found.without_interval.len(), found.not_compared.len());
            assert_eq!(counted, (plain, none), "{found:?}");
        }
        assert_eq!((plain, none), (1, testkit::all_refusals().len() - 1));
    }

    #[test]
    fn what_is_refused_for_one_reason_is_one_line_with_one_command() {
        let run = |tests: usize| -> Run {
            let mut run = testkit::empty();
            for i in 0..tests {
                let test = format!("os.t{i}");
                testkit::add_case(&mut run, &test, 1, "off", &[testkit::OPS, testkit::P99]);
                testkit::add_case(&mut run, &test, 2, "off", &[testkit::OPS]);
            }
            run
        };
        let check = |tests: usize, name: &str, expect: &[&str]| {
            let (base, mut other) = (run(tests), run(1));
            other.plan.cases.clear();
            let comparison = stats::compare(&base, &other, &stats::CompareOptions::default());
            let (base, other) = (Party::one(&base), Party::one(&other));
            let found = refused(compared(&base, &other, &comparison, Lang::En));
            assert_eq!(found.not_compared.len(), 1, "{found:?}");
            assert_eq!(found.not_compared[0].0, name);
            for part in expect {
                assert!(found.not_compared[0].1.contains(part), "{found:?}");
            }
        };
        check(
            1,
            "all 3 metrics",
            &["`kurabe run os.t0 --copies 1,2 --passes 9`"],
        );
        check(5, "all 15 metrics", &["`kurabe run quick --passes 9`"]);
        // Where others compare, what does not is listed.
        let (base, mut other) = (run(2), run(2));
        other.plan.cases.truncate(2);
        let comparison = stats::compare(&base, &other, &stats::CompareOptions::default());
        let (base, other) = (Party::one(&base), Party::one(&other));
        let found = refused(compared(&base, &other, &comparison, Lang::En)).not_compared;
        let only_base = found.iter().find(|(_, why)| why.contains("only the base"));
        let (name, why) = only_base.unwrap();
        assert_eq!(name, "3 metrics");
        assert!(why.ends_with("os.t1@1, os.t1@2"), "{why}");
    }
}
