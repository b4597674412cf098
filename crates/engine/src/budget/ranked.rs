//! A plan whose tests have ranks, in a budget that does not hold all of it: as many figures as there is time for, and
//! intervals for the most important ones.
//!
//! Groups of cases claim time one after the other, the most important first, with rounds as short as they may be: first
//! one round of each group; then what six rounds take, or as many as fit. A group of which one round of all its cases
//! takes more than [`LARGE_SHARE`] of the time comes after all of that: it would take the intervals of the others for
//! one figure of its own. What gets no round is left out, with the budget that has it.

use super::{for_rounds, no_time, round_cost, rounds_wanted, shortens, shortest, sides};
use model::num::{approx, round_to_u64};
use model::order::Keyed as _;
use model::plan::{CaseId, Dropped, Plan, PlannedCase};
use model::units::Nanos;
use stats::ROUNDS_MIN;
use std::collections::BTreeMap;

/// The groups of cases, by their importance: 0 is the most important one. What is in none has its rounds in any case.
pub type Ranks = BTreeMap<CaseId, usize>;

/// Groups that take more than one part in so many of the time for a single round of each of their cases come last.
const LARGE_SHARE: f64 = 20.0;

/// The share of the time that groups claim at the shortest rounds: what is left makes them longer, and gives way where
/// rounds cost more than was expected.
const CLAIMED_SHARE: f64 = 0.85;

/// A budget that has a group is looked for in steps of this share, told in whole minutes, and not beyond a day.
const BUDGET_STEP: f64 = 1.1;
const BUDGET_MAX: Nanos = Nanos::from_secs(24 * 3600);

/// How often each case is measured: those that are left out are not in it.
type Rounds = BTreeMap<CaseId, u32>;

/// Leaves out what has no time, and notes how few rounds those have that have too little for six.
pub(super) fn fit(plan: &mut Plan, ranks: &Ranks, budget: Nanos) {
    let all = plan.clone();
    let rounds = allot(&all, ranks, budget);
    plan.cases.retain(|case| rounds.contains_key(&case.id));
    for case in &mut plan.cases {
        let given = rounds[&case.id];
        if given < wanted(&all, case) {
            case.shape.rounds = Some(given);
        }
    }
    let mut missing: Vec<usize> = all
        .cases
        .iter()
        .filter(|case| !rounds.contains_key(&case.id))
        .filter_map(|case| ranks.get(&case.id).copied())
        .collect();
    missing.sort_unstable();
    missing.dedup();
    let needs = budgets_with(&all, ranks, budget, &missing);
    for group in missing {
        let needs = needs.get(&group).copied();
        let of_group = all
            .cases
            .iter()
            .filter(|case| ranks.get(&case.id) == Some(&group));
        let dropped: Vec<Dropped> = of_group
            .map(|case| Dropped {
                what: what_of(&all, ranks, case),
                why: no_time(budget, needs),
                needs,
            })
            .collect();
        plan.dropped.extend(dropped);
    }
    plan.dropped
        .dedup_by(|a, b| a.what == b.what && a.why == b.why);
}

/// What a case that is left out is called: by its test where all cases of that go with it.
fn what_of(all: &Plan, ranks: &Ranks, case: &PlannedCase) -> String {
    let mut of_test = all
        .cases
        .iter()
        .filter(|other| other.id.test == case.id.test);
    if of_test.all(|other| ranks.get(&other.id) == ranks.get(&case.id)) {
        return case.id.test.clone();
    }
    case.id.to_string()
}

/// The rounds of a case that an interval takes, or fewer where no more are asked for.
fn wanted(plan: &Plan, case: &PlannedCase) -> u32 {
    rounds_wanted(plan, case)
        .unwrap_or(ROUNDS_MIN)
        .min(ROUNDS_MIN)
}

/// The least that one round of it costs.
fn least(case: &PlannedCase) -> f64 {
    let mut shape = case.shape;
    if shortens(case) {
        shape.measure = shape.measure.min(shortest(case));
    }
    let saved = case.shape.measure.since(shape.measure);
    approx(round_cost(case).since(saved).0)
}

/// Time while it is given away, in nanoseconds.
struct Claims<'a> {
    plan: &'a Plan,
    ranks: &'a Ranks,
    available: f64,
    rounds: Rounds,
}

impl Claims<'_> {
    fn group(&self, group: usize) -> impl Iterator<Item = &PlannedCase> {
        let cases = self.plan.cases.iter();
        cases.filter(move |case| self.ranks.get(&case.id) == Some(&group))
    }

    /// What everything takes that was given so far, with what it stands on.
    fn taken(&self, rounds: &Rounds) -> f64 {
        let cases = self.plan.cases.iter();
        let given = cases.filter_map(|case| Some((case, *rounds.get(&case.id)?)));
        let mut grounds: BTreeMap<&str, Nanos> = BTreeMap::new();
        let mut taken = 0.0;
        for (case, rounds) in given {
            taken += least(case) * f64::from(rounds);
            let ground = case.ground.as_ref();
            grounds.extend(ground.map(|ground| (ground.key.as_str(), ground.expected)));
        }
        taken + approx(grounds.values().copied().sum::<Nanos>().0)
    }

    /// Gives each case of the group so many rounds, or as many as are wanted, if that fits.
    fn give(&mut self, group: usize, rounds: u32) -> bool {
        let mut with = self.rounds.clone();
        for case in self.group(group) {
            let most = wanted(self.plan, case);
            let given = with.entry(case.id.clone()).or_default();
            *given = (*given).max(rounds.min(most));
        }
        let fits = self.taken(&with) <= self.available;
        if fits {
            self.rounds = with;
        }
        fits
    }

    /// Gives more rounds to those of the groups that have one, as many as fit.
    fn raise(&mut self, groups: &[usize]) {
        for &group in groups {
            let has = self
                .group(group)
                .any(|case| self.rounds.contains_key(&case.id));
            if has {
                let _ = (2..=ROUNDS_MIN)
                    .rev()
                    .any(|rounds| self.give(group, rounds));
            }
        }
    }

    fn is_large(&self, group: usize) -> bool {
        let once: f64 = self.group(group).map(least).sum();
        once * LARGE_SHARE > self.available
    }
}

/// How often each case is measured in this budget.
fn allot(plan: &Plan, ranks: &Ranks, budget: Nanos) -> Rounds {
    let unranked = plan
        .cases
        .iter()
        .filter(|case| !ranks.contains_key(&case.id));
    let mut claims = Claims {
        plan,
        ranks,
        available: CLAIMED_SHARE * for_rounds(plan, budget) / approx(sides(plan)),
        rounds: unranked
            .map(|case| (case.id.clone(), wanted(plan, case)))
            .into_map(),
    };
    let mut groups: Vec<usize> = plan
        .cases
        .iter()
        .filter_map(|case| ranks.get(&case.id).copied())
        .collect();
    groups.sort_unstable();
    groups.dedup();
    let (large, usual): (Vec<usize>, Vec<usize>) =
        groups.iter().partition(|group| claims.is_large(**group));
    for groups in [usual, large] {
        for &group in &groups {
            claims.give(group, 1);
        }
        claims.raise(&groups);
    }
    // A budget without room for anything has one round of what is most important.
    if claims.rounds.is_empty()
        && let Some(&first) = groups.first()
    {
        let first = claims.group(first).map(|case| (case.id.clone(), 1));
        claims.rounds = first.into_map();
    }
    claims.rounds
}

/// The budgets in which these groups have rounds, as far as there are any.
fn budgets_with(
    plan: &Plan,
    ranks: &Ranks,
    budget: Nanos,
    groups: &[usize],
) -> BTreeMap<usize, Nanos> {
    let mut found = BTreeMap::new();
    let mut seconds = budget.as_secs_f64();
    while found.len() < groups.len() {
        let minutes = (seconds * BUDGET_STEP / 60.0).ceil();
        let longer = Nanos::from_secs(60 * round_to_u64(minutes));
        if longer > BUDGET_MAX {
            break;
        }
        seconds = longer.as_secs_f64();
        let rounds = allot(plan, ranks, longer);
        for &group in groups
            .iter()
            .filter(|&group| !found.contains_key(group))
            .collect::<Vec<_>>()
        {
            let mut cases = plan.cases.iter();
            let has = |case: &PlannedCase| {
                ranks.get(&case.id) == Some(&group) && rounds.contains_key(&case.id)
            };
            if cases.any(has) {
                found.insert(group, longer);
            }
        }
    }
    found
}
