//! What a comparison has no ratio or no interval for, why, and what to type next.
//!
//! What is refused for the same reason is one line, with a command for all of it: two runs of different profiles would
//! otherwise fill pages with one sentence. What has a ratio and lacks the interval is kept apart from what does not
//! compare at all, so that the summary's counts are those of the lists.

use crate::comparison::{Party, metric_name};
use crate::duel;
use crate::words::{Words, sets_of};
use dialects::printable::{printable, quoted};
use model::comparison::{Comparison, MetricComparison, Refusal};
use model::plan::{CaseId, Plan};
use std::fmt::Write as _;

/// Name and reason of each metric, or of several at once.
pub(crate) type Lines = Vec<(String, String)>;

/// The metrics of a comparison that have a reason beside them.
#[derive(Debug, Default)]
pub(crate) struct Refused {
    /// Those with a ratio and without an interval.
    pub(crate) without_interval: Lines,
    /// Those without a ratio.
    pub(crate) not_compared: Lines,
}

/// How many metrics have a ratio without an interval, and how many have no ratio.
pub(crate) fn numbers(comparison: &Comparison) -> (usize, usize) {
    let refused = comparison.metrics.iter().filter(|m| m.refused.is_some());
    let (with, without): (Vec<_>, Vec<_>) = refused.partition(|metric| metric.ratio.is_some());
    (with.len(), without.len())
}

/// The reasons, each with all metrics that it is true of.
pub(crate) fn refused(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Refused {
    let mut found = Refused::default();
    for (refusal, members) in groups(comparison) {
        let list = if members[0].ratio.is_some() {
            &mut found.without_interval
        } else {
            &mut found.not_compared
        };
        let cases: Vec<&CaseId> = members.iter().map(|metric| &metric.id.case).collect();
        let command = remedy(refusal, &cases, base, other);
        let why = printable(&duel::refusal(base, other, refusal, &command, words));
        let names = names(&members, base, other, comparison);
        let says = &words.comparison;
        let number = || (says.metrics)(u32::try_from(members.len()).unwrap_or(u32::MAX));
        list.push(match &names[..] {
            [only] if members.len() == 1 => (only.clone(), why),
            _ if members.len() == comparison.metrics.len() => {
                ((says.all_metrics)(members.len()), why)
            }
            [only] => ((says.with_remark)(only, &number()), why),
            _ => (number(), (says.these_are)(&why, &names.join(", "))),
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
fn names(
    members: &[&MetricComparison],
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for metric in members {
        let of_case = |of: &&&MetricComparison| of.id.case == metric.id.case;
        let here = members.iter().filter(of_case).count();
        let whole = here == comparison.metrics.iter().filter(|m| of_case(&m)).count();
        let name = if whole {
            printable(&metric.id.case.to_string())
        } else {
            metric_name(base, other, &metric.id)
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The most tests that a command names one by one; beyond it, it names what the run was asked for.
const TESTS_NAMED: usize = 4;

/// The command that measures these cases again, or for the first time.
pub(crate) fn remedy(
    refusal: &Refusal,
    cases: &[&CaseId],
    base: &Party<'_>,
    other: &Party<'_>,
) -> String {
    let plan = match refusal {
        Refusal::OneSideOnly { base_has_it: false } => &other.first().plan,
        _ => &base.first().plan,
    };
    if let Some(arguments) = plan.of_fio() {
        let rest = arguments.iter().filter(|word| !is_passes(word));
        let rest: Vec<String> = rest.map(|word| quoted(word)).collect();
        return format!("`kurabe fio --passes={} {}`", passes(plan), rest.join(" "));
    }
    let sets = match refusal {
        Refusal::Parameters(differences) => sets_of(differences),
        _ => Vec::new(),
    };
    again(cases, &sets, plan)
}

fn again(cases: &[&CaseId], sets: &[(String, String)], plan: &Plan) -> String {
    let mut tests: Vec<&str> = Vec::new();
    let mut copies: Vec<u32> = Vec::new();
    for case in cases {
        if !tests.contains(&case.test.as_str()) {
            tests.push(&case.test);
        }
        if !copies.contains(&case.copies) {
            copies.push(case.copies);
        }
    }
    if tests.len() > TESTS_NAMED && !plan.what.is_empty() {
        let what: Vec<String> = plan.what.iter().map(|word| quoted(word)).collect();
        return format!("`kurabe run {} --passes {}`", what.join(" "), passes(plan));
    }
    copies.sort_unstable();
    let copies: Vec<String> = copies.iter().map(ToString::to_string).collect();
    let mut sets_text = String::new();
    for (name, value) in sets {
        for test in &tests {
            // Writing to a String cannot fail.
            let _ = write!(
                sets_text,
                " --set {}",
                quoted(&format!("{test}.{name}={value}"))
            );
        }
    }
    format!(
        "`kurabe run {} --copies {}{sets_text} --passes {}`",
        tests.join(" "),
        copies.join(","),
        passes(plan)
    )
}

/// As many passes as the plan had, where those are enough for a verdict; those of a run that is told none otherwise.
fn passes(plan: &Plan) -> u32 {
    plan.passes
        .filter(|passes| *passes >= stats::ROUNDS_MIN)
        .unwrap_or(Plan::PASSES_DEFAULT)
}

fn is_passes(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    word.starts_with('-') && (name == "passes" || name.starts_with("passes="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::words::Lang;
    use model::record::Run;

    fn case(text: &str) -> CaseId {
        text.parse().unwrap()
    }

    #[test]
    fn a_command_asks_for_as_many_passes_as_the_run_had_where_they_are_enough() {
        let mut run = testkit::normal();
        let case = run.plan.cases[0].id.clone();
        for (had, asked) in [(None, 9), (Some(2), 9), (Some(6), 6), (Some(20), 20)] {
            run.plan.passes = had;
            let command = again(&[&case], &[], &run.plan);
            assert!(
                command.ends_with(&format!(" --passes {asked}`")),
                "{command}"
            );
        }
    }

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
            let found = refused(&base, &other, &comparison, lang.words());
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
            let found = refused(&base, &other, &comparison, Lang::En.words());
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
        let found = refused(&base, &other, &comparison, Lang::En.words()).not_compared;
        let only_base = found.iter().find(|(_, why)| why.contains("only the base"));
        let (name, why) = only_base.unwrap();
        assert_eq!(name, "3 metrics");
        assert!(why.ends_with("os.t1@1, os.t1@2"), "{why}");
    }

    #[test]
    fn a_job_of_fios_is_measured_again_as_one() {
        let (mut base, other, _) = testkit::comparison();
        base.plan.what = ["fio", "--passes=3", "--name=a b", "job.fio"]
            .map(str::to_owned)
            .to_vec();
        let (base, other) = (Party::one(&base), Party::one(&other));
        let few = Refusal::TooFewRounds {
            base: 1,
            other: 1,
            need: 6,
        };
        let found = remedy(&few, &[&case("a@1")], &base, &other);
        assert_eq!(found, "`kurabe fio --passes=9 '--name=a b' job.fio`");
    }
}
