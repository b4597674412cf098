//! When to look at the data, and what to decide then.
//!
//! Whoever tests after every round finds a difference between equal servers in one case of five. Five looks, planned
//! before the first round, at a level that makes them err in 5 % together, cost nothing of that kind (Pocock,
//! Biometrika 64 (1977) 191-199; the level for five looks is 0.0158). Between looks nothing is tested. Time goes
//! first to the cases where it narrows the interval most for each second it costs.

use crate::verdict::{self, Levels};
use crate::yuen::{self, trimmed_each_end};
use crate::{dist, quantile, rounds};
use model::comparison::Verdict;
use model::num::{approx, count};
use model::warning::TargetLimit;

/// The level of each of five looks that together err in 5 % of cases.
pub const ALPHA: f64 = 0.0158;

/// The levels of verdicts where looks decided how many rounds there are: of a duel (`paired`) that ended at the first
/// look that was sure, or of runs of which each ended when its own interval was narrow enough.
///
/// Each look is one more chance to call a true difference as large as the margin the same: five in a duel, ten where
/// either of two runs may have ended at any of its five. The level of `same` shares 3 % out among them (Bonferroni),
/// which holds however the looks depend on one another. At [`ALPHA`] a duel calls it the same in up to 3.4 % of cases,
/// because trimmed means of a few pairs are a little less sure than Student's t promises so far out; at 95 % runs with
/// a target do so in up to 9 %, because a run ends early where its rounds happened to be alike. Differences keep the
/// level of a look: at most 1 % of them are false.
pub fn levels(paired: bool) -> Levels {
    let chances = if paired { LOOKS.len() } else { 2 * LOOKS.len() };
    Levels {
        difference: ALPHA,
        same: 2.0 * SAME_WRONG_MAX / count(chances),
    }
}

/// The most that a true difference as large as the margin may be called the same.
const SAME_WRONG_MAX: f64 = 0.03;

/// The rounds, on each side, after which the data are looked at.
pub const LOOKS: [u32; 5] = [6, 9, 13, 19, 28];

/// The share of the time left that is not committed: rounds take longer than planned more often than shorter.
pub const RESERVE: f64 = 0.05;

/// How many times its target a half-width may stay at the last look that can be afforded before the case is given up.
const HOPELESS_FACTOR: f64 = 2.0;

/// The first look after `rounds` rounds; `None` after the last.
pub fn next(rounds: u32) -> Option<u32> {
    LOOKS.into_iter().find(|&look| look > rounds)
}

/// The last look that `rounds` rounds reach; `None` before the first. A report uses no rounds beyond it to decide.
pub fn reached(rounds: u32) -> Option<u32> {
    LOOKS.into_iter().rev().find(|&look| look <= rounds)
}

/// The verdict of a duel at the last look that its pairs (base, other) reach; `None` before the first look, or where
/// a value has no logarithm. Pairs beyond the look are not used. Above 1 is better for `other` / `base`.
pub fn decide_pairs(pairs: &[(f64, f64)], margin: f64) -> Option<Verdict> {
    let look = reached(rounds::whole(pairs.len()))?;
    let used = &pairs[..model::num::round_to_usize(approx(look.into()))];
    let (base, other): (Vec<f64>, Vec<f64>) = used.iter().copied().unzip();
    let (base, other) = (quantile::logs(&base)?, quantile::logs(&other)?);
    let differences: Vec<f64> = other.iter().zip(&base).map(|(o, b)| o - b).collect();
    let found = yuen::paired(&differences, ALPHA)?;
    Some(verdict::of_ratio(&found, levels(true), margin))
}

/// The half-width to expect after `later` rounds where it is `half_width` after `now` rounds: it shrinks with the
/// root of the number of rounds and with the degrees of freedom. Infinite where `now` is too few to have one.
pub fn predicted_half_width(half_width: f64, now: u32, later: u32) -> f64 {
    let quantile_at = |rounds: u32| {
        let n = usize::try_from(rounds).unwrap_or(usize::MAX);
        let kept = n - 2 * trimmed_each_end(n);
        (kept > 1).then(|| dist::t_quantile(1.0 - ALPHA / 2.0, count(kept - 1)))
    };
    match (quantile_at(now), quantile_at(later)) {
        (Some(now_t), Some(later_t)) => {
            half_width * (f64::from(now) / f64::from(later)).sqrt() * later_t / now_t
        }
        _ => f64::INFINITY,
    }
}

/// A case that competes for time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contender {
    /// Its rounds so far.
    pub rounds: u32,
    /// The relative half-width of its interval at [`ALPHA`]; `None` before the first look.
    pub half_width: Option<f64>,
    /// The half-width at which it is done.
    pub target: f64,
    /// How much it matters against the others; 1 is usual.
    pub weight: f64,
    /// What one round takes, set-up included.
    pub seconds_per_round: f64,
}

/// Where a case stands after a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its interval is as narrow as asked for.
    Done,
    /// It is to run until it has this many rounds.
    Until(u32),
    /// All looks are behind it.
    Exhausted,
    /// The first look says that it is hopeless, and six rounds, all of one minute, are too few to believe that: it is
    /// to have this many rounds first, of the time that no other case needs.
    Doubtful(u32),
    /// Even the last look that the time allows would leave it twice as wide as asked for.
    Hopeless,
}

/// Where a case stands when `seconds` are left for it alone.
pub fn progress(case: &Contender, seconds: f64) -> Progress {
    let Some(next_look) = next(case.rounds) else {
        return Progress::Exhausted;
    };
    let Some(half_width) = case.half_width else {
        return Progress::Until(next_look);
    };
    if half_width <= case.target {
        return Progress::Done;
    }
    let affordable = LOOKS
        .into_iter()
        .filter(|&look| look > case.rounds && seconds_until(case, look) <= seconds)
        .max();
    let best = affordable.map(|look| predicted_half_width(half_width, case.rounds, look));
    match best {
        Some(best) if best <= HOPELESS_FACTOR * case.target => Progress::Until(next_look),
        Some(_) if reached(case.rounds) == Some(LOOKS[0]) => Progress::Doubtful(next_look),
        Some(_) => Progress::Hopeless,
        None => Progress::Exhausted,
    }
}

/// What keeps a case that is wider than its target from getting there, when nothing more is measured; `most` is the
/// number of rounds that it may have.
pub fn limit(case: &Contender, most: u32) -> TargetLimit {
    let last = LOOKS[LOOKS.len() - 1];
    // The half-width is that of the last look reached; rounds behind it are not in it.
    let seen = reached(case.rounds).unwrap_or(case.rounds);
    let at_last = case
        .half_width
        .map(|now| predicted_half_width(now, seen, last.max(seen)));
    let looked_twice = seen > LOOKS[0];
    let lost = at_last.is_some_and(|width| width > HOPELESS_FACTOR * case.target);
    if lost && looked_twice {
        TargetLimit::Scatter(last)
    } else if case.rounds >= most.min(last) {
        TargetLimit::Rounds(most.min(last))
    } else {
        TargetLimit::Time
    }
}

/// How many rounds in all each case should reach within `seconds`, a reserve set aside. First every case gets its
/// first look, in the given order; then the step to a next look with the best gain for its cost is granted until
/// nothing affordable is left. The gain is the fall of the squared logarithm of half-width over target. What is left
/// then goes to cases that only one look calls hopeless.
pub fn allocate(cases: &[Contender], seconds: f64) -> Vec<u32> {
    let mut left = seconds * (1.0 - RESERVE);
    let mut plan: Vec<Contender> = cases.to_vec();
    for case in plan.iter_mut().filter(|case| case.rounds < LOOKS[0]) {
        let cost = seconds_until(case, LOOKS[0]);
        if cost <= left {
            left -= cost;
            case.rounds = LOOKS[0];
            // Nothing is known of its scatter yet; the next look decides.
            case.half_width = None;
        }
    }
    loop {
        let best = plan
            .iter()
            .enumerate()
            .filter_map(|(index, case)| {
                let step = step_of(case, left)?;
                Some((index, step))
            })
            .max_by(|a, b| (a.1.gain / a.1.cost).total_cmp(&(b.1.gain / b.1.cost)));
        let Some((index, step)) = best else { break };
        left -= step.cost;
        plan[index].rounds = step.look;
        plan[index].half_width = Some(step.half_width);
    }
    for case in &mut plan {
        if let Progress::Doubtful(look) = progress(case, left) {
            // Affordable: a case that cannot have its next look is exhausted.
            left -= seconds_until(case, look);
            case.rounds = look;
        }
    }
    plan.iter().map(|case| case.rounds).collect()
}

/// The step to a case's next look.
struct Step {
    look: u32,
    half_width: f64,
    cost: f64,
    gain: f64,
}

/// The next step, where there is one that is affordable, gains something, and does not lead nowhere.
fn step_of(case: &Contender, left: f64) -> Option<Step> {
    let now = case.half_width?;
    let Progress::Until(look) = progress(case, left) else {
        return None;
    };
    let half_width = predicted_half_width(now, case.rounds, look);
    let cost = seconds_until(case, look);
    let distance = |width: f64| (width / case.target).ln().max(0.0).powi(2);
    let gain = case.weight * (distance(now) - distance(half_width));
    (cost <= left && cost > 0.0 && gain > 0.0).then_some(Step {
        look,
        half_width,
        cost,
        gain,
    })
}

fn seconds_until(case: &Contender, look: u32) -> f64 {
    f64::from(look.saturating_sub(case.rounds)) * case.seconds_per_round
}

/// The contender that a case's values so far make; values beyond the last look reached are not used.
pub fn contender(values: &[f64], target: f64, seconds_per_round: f64) -> Contender {
    let rounds = rounds::whole(values.len());
    let look = reached(rounds).map_or(0, |look| model::num::round_to_usize(approx(look.into())));
    Contender {
        rounds,
        half_width: yuen::one_sample_half_width(&values[..look], ALPHA),
        target,
        weight: 1.0,
        seconds_per_round,
    }
}

#[cfg(test)]
mod tests;
