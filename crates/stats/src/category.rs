//! Families of tests as one figure each: the headline of a comparison.
//!
//! A category is the part of a test's name before the first dot. Its figure is the geometric mean of at most five
//! leading metrics, of different workloads as far as possible, because metrics of one workload tell the same story
//! twice. It is formed within each pass and compared over the passes; in a duel the two sides of a pass are a pair, and
//! where groups of runs are compared it is formed within each run. A category of one metric has that metric's verdict.

use crate::contrast::{ERROR_RATE, Evidence};
use crate::scatter::Spread;
use crate::sides::{Candidate, Sides, adjusted};
use crate::verdict::{self, Levels};
use crate::{composite, family, quantile, rounds};
use model::comparison::{Both, CategoryComparison, Verdict};
use model::plan::MetricId;
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
    let mut found: Vec<(CategoryComparison, Option<Evidence>)> = each
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
) -> Option<(CategoryComparison, Option<Evidence>)> {
    let ratios: Vec<f64> = members
        .iter()
        .filter_map(|member| member.result.ratio)
        .collect();
    let margin = members
        .iter()
        .map(|member| member.result.margin)
        .fold(0.0, f64::max);
    let parts: Vec<(&MetricId, Better)> = members
        .iter()
        .map(|member| (&member.result.id, member.metric.better))
        .collect();
    let spread = Both {
        base: together(members.iter().map(|member| member.spread.base)),
        other: together(members.iter().map(|member| member.spread.other)),
    };
    let contrast = sides.contrast(
        &sides.base.composites(&parts),
        &sides.other.composites(&parts),
        &spread,
    );
    // Members that have no verdict, such as those of a soak, give none together either.
    let any_interval = members.iter().any(|member| member.found.is_some());
    let found = contrast.found().filter(|_| any_interval);
    let verdict = found.as_ref().map_or(Verdict::Unclear, |found| {
        verdict::of_ratio(&found.interval, sides.levels, margin)
    });
    let category = CategoryComparison {
        category: name.to_owned(),
        ratio: match &found {
            Some(found) => found.interval.ratio(),
            None => composite::geometric_mean(&ratios)?,
        },
        interval: found.as_ref().map(|found| sides.printed(&found.interval)),
        margin,
        verdict,
        metrics: rounds::whole(members.len()),
    };
    Some((category, found))
}

/// The scatter of a composite: the mean of its members', as if an hour that is bad for one were bad for all.
fn together(members: impl Iterator<Item = Spread>) -> Spread {
    let members: Vec<Spread> = members.collect();
    let mut known: Vec<(f64, f64)> = Vec::new();
    for member in &members {
        match *member {
            Spread::OfTheRuns => return Spread::OfTheRuns,
            Spread::Known { deviation, df } => known.push((deviation, df)),
        }
    }
    let deviations: Vec<f64> = known.iter().map(|(deviation, _)| *deviation).collect();
    Spread::Known {
        deviation: quantile::mean(&deviations).unwrap_or_default(),
        df: known
            .iter()
            .map(|(_, df)| *df)
            .fold(f64::INFINITY, f64::min),
    }
}

/// Holm's correction over the categories that have an interval.
fn correct(found: &mut [(CategoryComparison, Option<Evidence>)], at: Levels) {
    let members: Vec<(usize, Evidence)> = found
        .iter()
        .enumerate()
        .filter_map(|(index, (_, found))| Some((index, found.clone()?)))
        .collect();
    let p_values: Vec<f64> = members.iter().map(|(_, found)| found.p_value()).collect();
    let levels = family::holm(&p_values, ERROR_RATE);
    for ((index, evidence), level) in members.into_iter().zip(levels) {
        let category = &mut found[index].0;
        let levels = level.map(|level| at.difference_at_most(level));
        category.verdict = adjusted(category.verdict, &evidence, levels, category.margin);
    }
}
