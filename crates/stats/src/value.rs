//! What differences are worth: a job mix, arbitrary tastes, money.
//!
//! There is no single score. A job mix with stated shares of time has a physical meaning: it takes so much less time.
//! Whoever weighs otherwise learns how far the winner depends on the weights. A plan is called dominated only where
//! nobody could want it: another one costs no more, is proven not worse anywhere and better somewhere.

use crate::quantile;
use model::comparison::Verdict;
use model::num::count;
use model::rng::Rng;

/// One kind of work in a job mix.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// The share of the mix's time that it takes on the base, as a weight; weights need not add up to 1.
    pub time_weight: f64,
    /// How many times faster it runs on the other server.
    pub ratio: f64,
}

/// How many times faster the whole mix runs on the other server: the harmonic mean of the ratios, weighted with time on
/// the base. `None` without parts or where a weight or ratio is not positive.
pub fn mix_ratio(parts: &[Part]) -> Option<f64> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    if parts
        .iter()
        .any(|part| !usable(part.time_weight) || !usable(part.ratio))
    {
        return None;
    }
    let total: f64 = parts.iter().map(|part| part.time_weight).sum();
    let time: f64 = parts.iter().map(|part| part.time_weight / part.ratio).sum();
    (!parts.is_empty()).then(|| total / time)
}

/// How far a comparison depends on what one cares about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Robustness {
    /// The share of weightings, drawn evenly from all there are, under which the other server is better, 0 to 1.
    pub wins: f64,
    /// The least favourable category: its index and its ratio.
    pub worst: (usize, f64),
}

/// The draws of weights; the share is then known within one percent.
const DRAWS: usize = 10_000;
/// The seed of the draws; any constant would do, but it must never change.
const SEED: u64 = 0x7765_6967_6874;

/// Robustness of the categories' `ratios` (other over base, above 1 is better). `None` for an empty list or ratios that
/// are not positive.
pub fn robustness(ratios: &[f64]) -> Option<Robustness> {
    let logs = quantile::logs(ratios)?;
    let (index, worst) = ratios
        .iter()
        .copied()
        .enumerate()
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let mut rng = Rng::new(SEED);
    // Exponential weights divided by their sum are even over all weightings; the sum does not change the sign.
    let wins = (0..DRAWS)
        .filter(|_| logs.iter().map(|ln| rng.exponential() * ln).sum::<f64>() > 0.0)
        .count();
    Some(Robustness {
        wins: count(wins) / count(DRAWS),
        worst: (index, worst),
    })
}

/// Where a plan stands among all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No other plan is proven to make it pointless.
    Frontier,
    /// The plan with this index costs no more and is proven not worse anywhere and better somewhere.
    DominatedBy(usize),
}

/// The standing of each plan. `prices` are in one currency for one period; `verdicts(a, b)` are the adjusted verdicts
/// of plan `b` against plan `a`, one for each category; an empty list means that they were not compared.
pub fn standings(prices: &[f64], verdicts: impl Fn(usize, usize) -> Vec<Verdict>) -> Vec<Standing> {
    let dominates = |b: usize, a: usize| {
        let found = verdicts(a, b);
        let never_worse = |verdict: &Verdict| {
            matches!(
                verdict,
                Verdict::Same | Verdict::Better | Verdict::BetterMaybe
            )
        };
        prices[b] <= prices[a] && found.iter().all(never_worse) && found.contains(&Verdict::Better)
    };
    let plans = 0..prices.len();
    plans
        .clone()
        .map(|a| {
            let by = plans.clone().find(|&b| b != a && dominates(b, a));
            by.map_or(Standing::Frontier, Standing::DominatedBy)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mix_is_as_fast_as_its_time() {
        let part = |time_weight, ratio| Part { time_weight, ratio };
        // Half of the time twice as fast, half of it unchanged: three quarters of the time.
        let found = mix_ratio(&[part(1.0, 2.0), part(1.0, 1.0)]).unwrap();
        assert!((found - 4.0 / 3.0).abs() < 1e-12);
        assert_eq!(mix_ratio(&[]), None);
        assert_eq!(mix_ratio(&[part(1.0, 0.0)]), None);
        assert_eq!(mix_ratio(&[part(-1.0, 1.0)]), None);
    }

    #[test]
    fn robustness_is_the_share_of_tastes() {
        let all = robustness(&[1.1, 1.2, 1.01]).unwrap();
        assert!(all.wins >= 1.0 && all.worst.0 == 2);
        assert!(robustness(&[0.9, 0.8]).unwrap().wins <= 0.0);
        let even = robustness(&[2.0, 0.5]).unwrap();
        assert!((even.wins - 0.5).abs() < 0.02 && even.worst == (1, 0.5));
        assert_eq!(robustness(&[]), None);
    }

    #[test]
    fn only_proof_dominates() {
        use Verdict::{Better, BetterMaybe, Same, Unclear, WorseMaybe};
        let check = |prices: [f64; 2], verdict: [Verdict; 2], expect| {
            let found = standings(&prices, |a, b| {
                if (a, b) == (0, 1) {
                    verdict.to_vec()
                } else {
                    verdict.map(Verdict::reversed).to_vec()
                }
            });
            assert_eq!(found[0], expect, "{prices:?} {verdict:?}");
        };
        check([10.0, 10.0], [Better, Same], Standing::DominatedBy(1));
        check([10.0, 9.0], [Better, BetterMaybe], Standing::DominatedBy(1));
        check([10.0, 11.0], [Better, Better], Standing::Frontier);
        check([10.0, 9.0], [Same, Same], Standing::Frontier);
        check([10.0, 9.0], [Better, Unclear], Standing::Frontier);
        check([10.0, 9.0], [Better, WorseMaybe], Standing::Frontier);
        assert_eq!(
            standings(&[1.0, 1.0], |_, _| Vec::new()),
            [Standing::Frontier; 2]
        );
    }
}
