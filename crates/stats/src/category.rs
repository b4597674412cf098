//! Families of tests as one figure each: the headline of a comparison.
//!
//! A category is the part of a test's name before the first dot. Its figure is the geometric mean of at most five
//! leading metrics, of different workloads as far as possible, because metrics of one workload tell the same story
//! twice. It is formed within each pass and compared over the passes; in a duel the two sides of a pass are a pair, and
//! where groups of runs are compared it is formed within each run. A category of one metric has that metric's verdict.

use crate::contrast::{ERROR_RATE, contrast};
use crate::side::{Point, Side};
use crate::sides::{Candidate, Sides, adjusted};
use crate::verdict::{self, Levels};
use crate::yuen::RatioInterval;
use crate::{composite, family, rounds};
use model::comparison::{CategoryComparison, Verdict};
use model::spec::Better;
use std::collections::BTreeMap;

/// The most metrics in a category; more would weigh what is measured most often, not what matters most.
const METRICS_MAX: usize = 5;

/// One entry for each category that has a ratio, in the order of the candidates.
pub(crate) fn compare(sides: &Sides<'_>, candidates: &[Candidate<'_>]) -> Vec<CategoryComparison> {
    let mut names: Vec<&str> = Vec::new();
    for candidate in candidates.iter().filter(|candidate| takes_part(candidate)) {
        let name = category_of(&candidate.result.id.case.test);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let chosen: Vec<_> = names.iter().map(|name| chosen(name, candidates)).collect();
    let each = names.iter().zip(&chosen);
    let mut found: Vec<(CategoryComparison, Option<RatioInterval>)> = each
        .filter_map(|(name, members)| compare_one(sides, name, members))
        .collect();
    correct(&mut found, sides.levels);
    let mut categories: Vec<CategoryComparison> =
        found.into_iter().map(|(category, _)| category).collect();
    // A category of one metric is that metric, and says nothing else.
    for lone in chosen.iter().filter_map(|members| match members[..] {
        [lone] => Some(lone),
        _ => None,
    }) {
        let name = category_of(&lone.result.id.case.test);
        let its = categories.iter_mut().filter(|one| one.category == name);
        its.for_each(|one| one.verdict = lone.result.adjusted);
    }
    categories
}

/// The category that a test belongs to.
pub fn category_of(test: &str) -> &str {
    test.split('.').next().unwrap_or(test)
}

fn takes_part(candidate: &Candidate<'_>) -> bool {
    candidate.leads && candidate.result.ratio.is_some()
}

/// The candidates of a category: the first of each workload, then the second of each, until there are enough. One with
/// too few rounds would leave the whole category without an interval, so that it stays out as long as others have one.
fn chosen<'a, 'b>(name: &str, candidates: &'b [Candidate<'a>]) -> Vec<&'b Candidate<'a>> {
    let members: Vec<&Candidate<'_>> = candidates
        .iter()
        .filter(|candidate| takes_part(candidate))
        .filter(|candidate| category_of(&candidate.result.id.case.test) == name)
        .collect();
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
    ranked.sort_by_key(|&(rank, _)| rank);
    ranked
        .into_iter()
        .take(METRICS_MAX)
        .map(|(_, candidate)| candidate)
        .collect()
}

/// The composite's comparison, still without a correction for the number of categories.
fn compare_one(
    sides: &Sides<'_>,
    name: &str,
    members: &[&Candidate<'_>],
) -> Option<(CategoryComparison, Option<RatioInterval>)> {
    let ratios: Vec<f64> = members
        .iter()
        .filter_map(|member| member.result.ratio)
        .collect();
    let margin = members
        .iter()
        .map(|member| member.result.margin)
        .fold(0.0, f64::max);
    let contrast = contrast(
        sides.method,
        &composites(&sides.base, members),
        &composites(&sides.other, members),
    );
    // Members that have no verdict, such as those of a soak, give none together either.
    let any_interval = members.iter().any(|member| member.found.is_some());
    let found = contrast.found().filter(|_| any_interval);
    let verdict = found.map_or(Verdict::Unclear, |found| {
        verdict::of_ratio(&found, sides.levels, margin)
    });
    let category = CategoryComparison {
        category: name.to_owned(),
        ratio: match &found {
            Some(found) => found.ratio(),
            None => composite::geometric_mean(&ratios)?,
        },
        interval: found.map(|found| found.interval()),
        margin,
        verdict,
        metrics: rounds::whole(members.len()),
    };
    Some((category, found))
}

/// The composite of each pass (or run), turned so that more is better.
fn composites(side: &Side<'_>, members: &[&Candidate<'_>]) -> Vec<Point> {
    let parts: Vec<BTreeMap<u32, f64>> = members
        .iter()
        .map(|member| turned(&side.typical(&member.result.id), member.metric.better))
        .collect();
    composite::per_pass(&parts)
}

fn turned(points: &[Point], better: Better) -> BTreeMap<u32, f64> {
    let turn = |value: f64| match better {
        Better::Higher => value,
        Better::Lower => 1.0 / value,
    };
    points
        .iter()
        .filter(|(_, value)| value.is_finite())
        .map(|&(pass, value)| (pass, turn(value)))
        .collect()
}

/// Holm's correction over the categories that have an interval.
fn correct(found: &mut [(CategoryComparison, Option<RatioInterval>)], at: Levels) {
    let members: Vec<(usize, RatioInterval)> = found
        .iter()
        .enumerate()
        .filter_map(|(index, (_, interval))| Some((index, (*interval)?)))
        .collect();
    let p_values: Vec<f64> = members.iter().map(|(_, found)| found.p_value()).collect();
    let levels = family::holm(&p_values, ERROR_RATE);
    for ((index, interval), level) in members.into_iter().zip(levels) {
        let category = &mut found[index].0;
        let levels = level.map(|level| at.difference_at_most(level));
        category.verdict = adjusted(category.verdict, &interval, levels, category.margin);
    }
}
