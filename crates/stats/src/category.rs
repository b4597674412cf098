//! Families of tests as one figure each: the headline of a comparison.
//!
//! A category is the part of a test's name before the first dot. Its figure is the geometric mean of at most five
//! leading metrics, of different workloads as far as possible, because metrics of one workload tell the same story
//! twice. It is formed within each pass and compared over the passes; in a duel the two sides of a pass are a pair, and
//! where groups of runs are compared it is formed within each run. A category of one metric has that metric's verdict.
//! A rate that somebody set is no result, and in no category.

use crate::contrast::Contrast;
use crate::judged::{self, Judged};
use crate::scatter::Spread;
use crate::side::Side;
use crate::sides::{Candidate, Sides};
use crate::{composite, family, rounds};
use model::comparison::{Both, CategoryComparison, Verdict};
use model::order::Order as _;
use model::plan::{CaseId, MetricId};
use model::spec::Better;
use std::collections::BTreeMap;

/// The most metrics in a category; more would weigh what is measured most often, not what matters most.
const METRICS_MAX: usize = 5;

/// One entry for each category that has a ratio, in the order of the candidates.
pub(crate) fn compare(sides: &Sides<'_>, candidates: &[Candidate<'_>]) -> Vec<CategoryComparison> {
    let mut names: Vec<&str> = Vec::new();
    let taking_part = || candidates.iter().filter(|one| takes_part(sides, one));
    for candidate in taking_part() {
        let name = category_of(&candidate.result.id.case.test);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let groups = names.into_iter().map(|name| {
        let members = taking_part().filter(|one| category_of(&one.result.id.case.test) == name);
        Group::of(name, members.collect())
    });
    let mut found: Vec<Found<'_, '_>> = groups
        .filter_map(|group| compare_one(sides, group))
        .collect();
    correct(&mut found, sides);
    found.into_iter().map(|found| found.category).collect()
}

/// The metrics that a category is made of.
struct Group<'a, 'b> {
    name: &'b str,
    members: Vec<&'b Candidate<'a>>,
    /// What runs of either machine differ by in their mean.
    spread: Both<Spread>,
}

/// A category on its way to its verdict.
struct Found<'a, 'b> {
    group: Group<'a, 'b>,
    category: CategoryComparison,
    judged: Option<Judged>,
}

impl<'a, 'b> Group<'a, 'b> {
    fn of(name: &'b str, members: Vec<&'b Candidate<'a>>) -> Self {
        let members = chosen(members);
        let spread = |of: fn(&Candidate<'_>) -> Spread| {
            let all: Vec<Spread> = members.iter().map(|member| of(member)).collect();
            Spread::mean_of(&all)
        };
        Self {
            name,
            spread: (
                spread(|one| one.spread.base),
                spread(|one| one.spread.other),
            )
                .into(),
            members,
        }
    }

    /// What these rounds say of the category.
    fn contrast(&self, sides: &Sides<'_>, base: &Side<'_>, other: &Side<'_>) -> Contrast {
        let parts = self.members.iter();
        let parts: Vec<(&MetricId, Better)> = parts
            .map(|member| (&member.result.id, member.metric.better))
            .collect();
        let (base, other) = (base.composites(&parts), other.composites(&parts));
        sides.contrast(&base, &other, &self.spread)
    }
}

/// The category that a test belongs to.
pub fn category_of(test: &str) -> &str {
    test.split('.').next().unwrap_or(test)
}

/// The cases that would be in a category if nobody had set the rate of their work.
pub(crate) fn left_out(sides: &Sides<'_>, candidates: &[Candidate<'_>]) -> Vec<CaseId> {
    let could = candidates
        .iter()
        .filter(|candidate| could_take_part(candidate));
    let set = could.filter(|candidate| has_set_rate(sides, candidate));
    set.map(|candidate| candidate.case.id.clone()).collect()
}

fn takes_part(sides: &Sides<'_>, candidate: &Candidate<'_>) -> bool {
    could_take_part(candidate) && !has_set_rate(sides, candidate)
}

fn could_take_part(candidate: &Candidate<'_>) -> bool {
    candidate.leads && candidate.result.ratio.is_some()
}

/// Whether the metric is a rate that a parameter gives, on either side: in a duel the other one may have it alone.
fn has_set_rate(sides: &Sides<'_>, candidate: &Candidate<'_>) -> bool {
    let there = sides.other.case(&candidate.case.id);
    let mut both = std::iter::once(candidate.case).chain(there);
    candidate.metric.unit.is_rate() && both.any(|case| case.params.give_rate())
}

/// Those of a category that are in it: the first of each workload, then the second of each, until there are enough. One
/// with too few rounds would leave the whole category without an interval, so that it stays out as long as others have
/// one.
fn chosen<'a, 'b>(members: Vec<&'b Candidate<'a>>) -> Vec<&'b Candidate<'a>> {
    let any_interval = members.iter().any(|member| member.found.is_some());
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    let mut ranked: Vec<(usize, &Candidate<'_>)> = members
        .into_iter()
        .filter(|member| member.found.is_some() || !any_interval)
        .map(|candidate| {
            let rank = seen.entry(candidate.case.workload.as_str()).or_default();
            *rank += 1;
            (*rank, candidate)
        })
        .collect();
    // Stable: among equals the order of the plan stays.
    ranked.order_by_key(|&(rank, _)| rank);
    ranked
        .into_iter()
        .take(METRICS_MAX)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The composite's comparison, still without a correction for the number of categories.
fn compare_one<'a, 'b>(sides: &Sides<'_>, group: Group<'a, 'b>) -> Option<Found<'a, 'b>> {
    let members = || group.members.iter();
    let ratios: Vec<f64> = members().filter_map(|member| member.result.ratio).collect();
    let margin = members().map(|member| member.result.margin);
    let margin = margin.fold(0.0, f64::max);
    let contrast = group.contrast(sides, &sides.base, &sides.other);
    // Members that have no verdict, such as those of a soak, give none together either.
    let any_interval = members().any(|member| member.found.is_some());
    let found = contrast.found().filter(|_| any_interval);
    let judged = found.map(|found| Judged::of(found, sides.levels, margin));
    let evidence = judged.as_ref().map(|judged| &judged.evidence);
    let category = CategoryComparison {
        category: group.name.to_owned(),
        ratio: match evidence {
            Some(found) => found.interval.ratio(),
            None => composite::geometric_mean(&ratios)?,
        },
        interval: evidence.map(|found| found.interval.interval()),
        margin,
        verdict: judged
            .as_ref()
            .map_or(Verdict::Unclear, |judged| judged.unadjusted),
        doubt: None,
        metrics: rounds::whole(group.members.len()),
    };
    Some(Found {
        group,
        category,
        judged,
    })
}

/// Holm's correction over the categories that have an interval. A category of one metric is that metric, and says
/// nothing else.
fn correct(found: &mut [Found<'_, '_>], sides: &Sides<'_>) {
    let family = found.iter_mut().filter_map(|one| one.judged.as_mut());
    judged::correct(family, family::holm, sides);
    for one in found {
        let (category, group) = (&mut one.category, &one.group);
        if let Some(judged) = &one.judged {
            let mut cases = group.members.iter().map(|member| &member.case.id);
            let cause = cases.find_map(|case| sides.disturbed_inside(case));
            let quiet = |quiet: &Both<Side<'_>>| {
                let contrast = group.contrast(sides, &quiet.base, &quiet.other);
                contrast.found()
            };
            (category.verdict, category.doubt) =
                judged.verdict(sides, category.margin, cause, quiet);
        }
        if let [lone] = group.members[..] {
            (category.verdict, category.doubt) = (lone.result.adjusted, lone.result.doubt);
        }
    }
}
