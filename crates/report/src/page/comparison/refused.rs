//! What a comparison has no ratio or no interval for, why, and what to type next.
//!
//! What is refused for the same reason is one line, with a command for all of it: two runs of different profiles would
//! otherwise fill pages with one sentence. What has a ratio and lacks the interval is kept apart from what does not
//! compare at all.

use super::notes::with_remark;
use super::refusal::sentence;
use super::table::metrics_text;
use crate::comparison::Compared;
use crate::grouped::{grouped, names};
use crate::lang::say;
use crate::page::block::Text;
use crate::page::database;
use crate::party::Party;
use model::comparison::{MetricComparison, Refusal};
use model::plan::CaseId;

/// Name and reason of each metric, or of several at once.
pub(super) type Lines = Vec<(Text, String)>;

/// The metrics of a comparison that have a reason beside them.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// Those with a ratio and without an interval.
    pub(super) without_interval: Lines,
    /// Those without a ratio.
    pub(super) not_compared: Lines,
}

/// The reasons, each with all metrics that it is true of.
pub(super) fn refused(of: Compared<'_>) -> Refused {
    let (lang, metrics) = (of.lang, &of.comparison.metrics);
    let mut found = Refused::default();
    let [base, other] = of.sides.both().map(Party::first);
    // Whatever is set differs between SQLite and a server: that is one reason for all, and no parameter to be changed.
    let apart = database::is_against_server(base, other) && !of.sides.are_of_a_duel();
    let is_apart = |metric: &&MetricComparison| {
        apart && matches!(metric.refused, Some(Refusal::Parameters(_)))
    };
    let of_apart: Vec<&MetricComparison> = metrics.iter().filter(is_apart).collect();
    if let Some(first) = of_apart.first() {
        let n = u32::try_from(of_apart.len()).unwrap_or(u32::MAX);
        let why = database::no_comparison(base, other, &first.id.case.test, lang);
        found
            .not_compared
            .push((Text::name(metrics_text(n, lang)), why));
    }
    let reason = |metric| {
        let told = Some(metric).filter(|metric| !is_apart(metric))?;
        Some((Reason::of(told)?, told))
    };
    for (reason, members) in grouped(metrics.iter().filter_map(reason)) {
        let list = if reason.has_ratio {
            &mut found.without_interval
        } else {
            &mut found.not_compared
        };
        let cases: Vec<&CaseId> = members.iter().map(|metric| &metric.id.case).collect();
        let why = sentence(reason.refusal, &cases, of.sides, lang);
        let parts = members.iter().map(|metric| &metric.id);
        let parts = parts.map(|id| (&id.case, of.sides.metric_name(id)));
        let parts: Vec<_> = parts.collect();
        let names = names(&parts, metrics.iter().map(|metric| &metric.id.case));
        let n = members.len();
        let number = || metrics_text(u32::try_from(n).unwrap_or(u32::MAX), lang);
        let (name, why) = match &names[..] {
            [only] if n == 1 => (only.clone(), why),
            _ if n == metrics.len() => (say!(lang, "all {n} metrics", "全 {n} 項目"), why),
            [only] => (with_remark(only, &number(), lang), why),
            _ => {
                let list = names.join(", ");
                let these = say!(lang, "{why}; these are {list}", "{why}（対象: {list}）");
                (number(), these)
            }
        };
        list.push((Text::name(name), why));
    }
    found
}

/// What metrics on one line have in common.
#[derive(PartialEq)]
struct Reason<'a> {
    refusal: &'a Refusal,
    has_ratio: bool,
    /// Their case, where parameters are why: those are set for each test by itself.
    case: Option<&'a CaseId>,
}

impl<'a> Reason<'a> {
    fn of(metric: &'a MetricComparison) -> Option<Self> {
        let refusal = metric.refused.as_ref()?;
        let of_case = matches!(
            refusal,
            Refusal::Parameters(_) | Refusal::GroupDisagrees { .. }
        );
        Some(Self {
            refusal,
            has_ratio: metric.ratio.is_some(),
            case: of_case.then_some(&metric.id.case),
        })
    }
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
    fn every_metric_that_has_a_reason_stands_in_one_of_the_lists() {
        let (base, other, mut comparison) = testkit::comparison();
        for metric in &mut comparison.metrics {
            if metric.id.case.test == "os.e" {
                metric.ratio = Some(1.5);
            }
        }
        let (base, other) = (Party::one(&base), Party::one(&other));
        let refused_with = |ratio| {
            let refused = comparison.metrics.iter().filter(|m| m.refused.is_some());
            refused.filter(|m| m.ratio.is_some() == ratio).count()
        };
        let (plain, none) = (refused_with(true), refused_with(false));
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
            assert_eq!(found.not_compared[0].0.text, name);
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
        assert_eq!(name.text, "3 metrics");
        assert!(why.ends_with("os.t1@1, os.t1@2"), "{why}");
    }
}
