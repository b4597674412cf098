//! Many runs in one order, and how far that order is known.
//!
//! Between two runs of two hundred the order by value is mostly chance. Each row therefore has the ranks that it may
//! have: from 1 + the runs proven better, to all less the runs proven worse. A proof is that of a comparison of the
//! two: rounds against rounds with the scatter between runs, pairs against pairs where they are two sides of a duel.
//! It is corrected over all pairs of runs (Holm), so that the chance of any false rank in a table is at most 5 %.
//! Exchanges of rounds are not asked: six rounds a side can never be as sure as a table of a hundred runs needs, and
//! what scatters between runs, which exchanges do not know, is most of the doubt there.

use crate::contrast::{Contrast, ERROR_RATE, Method, Values, contrast};
use crate::family;
use crate::figure::Figure;
use crate::looks;
use crate::rounds::whole;
use crate::scatter::Spread;
use model::comparison::Both;
use model::estimate::Interval;
use model::spec::Better;
use schemars::JsonSchema;
use serde::Serialize;

/// The ranks that a run may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ranks {
    /// 1 + the runs that are proven better.
    pub best: u32,
    /// All runs less those that are proven worse.
    pub worst: u32,
}

/// The ranks of these figures, which are all of one kind, in their order.
pub fn ranks(figures: &[&Figure<'_>]) -> Vec<Ranks> {
    let values: Vec<Values> = figures.iter().map(|one| one.as_side()).collect();
    let spread = figures.first().map_or(Spread::NONE, |one| one.spread());
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut p_values: Vec<f64> = Vec::new();
    for here in 0..figures.len() {
        for there in here + 1..figures.len() {
            let Some((ln_ratio, p_value)) = told((here, there), figures, &values, spread) else {
                continue;
            };
            let better = match figures[here].what.better {
                Better::Higher => ln_ratio > 0.0,
                Better::Lower => ln_ratio < 0.0,
            };
            // The better one stands first.
            pairs.push(if better { (there, here) } else { (here, there) });
            p_values.push(p_value);
        }
    }
    let mut all = vec![
        Ranks {
            best: 1,
            worst: whole(figures.len()),
        };
        figures.len()
    ];
    let proven = family::holm(&p_values, ERROR_RATE);
    for ((better, worse), level) in pairs.into_iter().zip(proven) {
        if level.is_some() {
            all[worse].best += 1;
            all[better].worst -= 1;
        }
    }
    all
}

/// The ratio of two of them as a logarithm, the second over the first, and how likely chance alone makes one as far
/// from 1; `None` where nothing is told.
fn told(
    (here, there): (usize, usize),
    figures: &[&Figure<'_>],
    values: &[Values],
    spread: Spread,
) -> Option<(f64, f64)> {
    let (one, other) = (figures[here], figures[there]);
    if !one.is_of_rounds() || !other.is_of_rounds() {
        return None;
    }
    let paired = one.run.is_against(other.run);
    let is_looked = is_looked(one, other);
    let found = against((one, other), &values[here], &values[there], spread).found()?;
    let p_value = found.interval.p_value();
    // A look that ended a run may have come at a lucky moment.
    let level = looks::levels(paired).difference;
    let p_value = if is_looked {
        (p_value * ERROR_RATE / level).min(1.0)
    } else {
        p_value
    };
    Some((found.interval.ln_ratio, p_value))
}

/// Whether the figures themselves decided how many rounds there are.
fn is_looked(one: &Figure<'_>, other: &Figure<'_>) -> bool {
    let looked = |figure: &Figure<'_>| figure.run.plan.target.is_some();
    let paired = one.run.is_against(other.run);
    looked(one) || looked(other) || paired && one.run.plan.passes.is_none()
}

fn against(
    (one, other): (&Figure<'_>, &Figure<'_>),
    here: &Values,
    there: &Values,
    spread: Spread,
) -> Contrast {
    let method = if one.run.is_against(other.run) {
        Method::Pairs
    } else {
        Method::Rounds
    };
    let both = Both {
        base: spread,
        other: spread,
    };
    contrast(method, here, there, &both, is_looked(one, other))
}

/// The ratio of two figures of one kind, the second over the first, with its 95 % interval where rounds of kurabe's own
/// tell one. It is not corrected for how many are asked for.
pub fn ratio(one: &Figure<'_>, other: &Figure<'_>) -> (f64, Option<Interval>) {
    let own = one.is_of_rounds() && other.is_of_rounds();
    let values = (one.as_side(), other.as_side());
    let found = || against((one, other), &values.0, &values.1, one.spread()).found();
    match own.then(found).flatten() {
        Some(found) => (found.interval.ratio(), Some(found.interval.interval())),
        None => (other.median() / one.median(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::Figures;
    use crate::fixture;
    use model::record::Run;

    fn ranked(runs: &[Run]) -> Vec<(u32, u32)> {
        let name = "a.b:ops_per_s".parse().unwrap();
        let figures: Vec<Figure<'_>> = runs
            .iter()
            .map(|run| Figures::of(run).find(&name).unwrap())
            .collect();
        let ranks = ranks(&figures.iter().collect::<Vec<_>>());
        ranks.iter().map(|one| (one.best, one.worst)).collect()
    }

    fn run(level: f64, seed: u64) -> Run {
        fixture::run(&[("a.b@1", fixture::noisy(seed, 9, level, 0.01))])
    }

    #[test]
    fn a_rank_is_as_wide_as_what_is_proven_leaves_it() {
        let far = [run(100.0, 1), run(1000.0, 2), run(10_000.0, 3)];
        assert_eq!(ranked(&far), [(3, 3), (2, 2), (1, 1)]);
        let near = [run(100.0, 1), run(101.0, 2), run(10_000.0, 3)];
        assert_eq!(ranked(&near), [(2, 3), (2, 3), (1, 1)]);
        assert_eq!(ranked(&far[..1]), [(1, 1)]);
        assert_eq!(ranked(&[]), []);
    }

    #[test]
    fn fewer_rounds_than_an_interval_needs_and_soaks_have_every_rank() {
        let short = fixture::run(&[("a.b@1", vec![1.0; 5])]);
        assert_eq!(ranked(&[run(100.0, 1), short]), [(1, 2), (1, 2)]);
        let mut imported = run(1.0, 4);
        imported.meta.origin = Some(Box::new(testkit::origin()));
        assert_eq!(ranked(&[run(100.0, 1), imported]), [(1, 2), (1, 2)]);
    }

    #[test]
    fn runs_of_one_level_are_hardly_ever_put_in_an_order() {
        let claims = (0..40_u64).filter(|trial| {
            let runs: Vec<Run> = (0..10).map(|i| run(100.0, 100 * trial + i)).collect();
            ranked(&runs).iter().any(|ranks| *ranks != (1, 10))
        });
        assert!(claims.count() <= 2);
    }

    #[test]
    fn a_hundred_runs_are_ranked_at_once() {
        let levels = (0..100).map(|place| 3.0_f64.powi(place));
        let runs: Vec<Run> = (1..)
            .zip(levels)
            .map(|(seed, level)| run(level, seed))
            .collect();
        let expect: Vec<(u32, u32)> = (1..=100).rev().map(|rank| (rank, rank)).collect();
        assert_eq!(ranked(&runs), expect);
    }
}
