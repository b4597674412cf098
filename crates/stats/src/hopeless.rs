//! Why no number of rounds would tell: where the scatter of the noisier side comes from.
//!
//! "Not at this noise level" by itself helps nobody. Time that the host takes away calls for another hour or another
//! host; rounds that differ among themselves call for passes spread over more time; windows that scatter call for
//! longer rounds. What is seen is said and nothing is guessed: a metric without windows has no such split.

use crate::components;
use crate::contrast::Method;
use crate::sides::{Candidate, Sides};
use model::comparison::{Hopeless, RoundsNeeded};
use model::num::count;
use model::order::Keyed as _;
use std::collections::BTreeMap;

/// A ratio nearer to its margin than this share of it stays there, whatever the noise.
const ON_THE_MARGIN: f64 = 0.1;

/// The share of rounds with stolen time from which on it is the cause.
const STEAL_ROUNDS: f64 = 0.5;

/// The reason, where no number of rounds would do.
pub(crate) fn of(sides: &Sides<'_>, candidate: &Candidate<'_>) -> Option<Hopeless> {
    if candidate.result.needed != Some(RoundsNeeded::NotAtThisNoise) {
        return None;
    }
    let found = &candidate.found.as_ref()?.evidence.interval;
    let margin = candidate.result.margin.ln_1p();
    if (margin - found.ln_ratio.abs()).abs() < ON_THE_MARGIN * margin {
        return Some(Hopeless::OnTheMargin);
    }
    if sides.method == Method::Runs {
        return Some(Hopeless::BetweenInstances);
    }
    if found.between.0 > found.se.powi(2) / 2.0 {
        return Some(Hopeless::BetweenRuns);
    }
    let side = if found.base.deviation() > found.other.deviation() {
        &sides.base
    } else {
        &sides.other
    };
    let case = &candidate.case.id;
    if side
        .steal_share(case)
        .is_some_and(|share| share >= STEAL_ROUNDS)
    {
        return Some(Hopeless::Steal);
    }
    if !candidate.leads || !candidate.metric.unit.is_rate() {
        return Some(Hopeless::Unseen);
    }
    Some(source(&match sides.method {
        Method::Pairs => ratios(&sides.base.windows(case), &sides.other.windows(case)),
        Method::Rounds | Method::Runs => {
            let windows = side.windows(case).into_iter();
            windows.map(|(_, windows)| windows.to_vec()).collect()
        }
    }))
}

/// The windows of each pair of rounds, one over the other: what both rounds share drops out of these too.
fn ratios(base: &[(u32, &[f64])], other: &[(u32, &[f64])]) -> Vec<Vec<f64>> {
    let there: BTreeMap<u32, &[f64]> = other.iter().copied().into_map();
    let pairs = base
        .iter()
        .filter_map(|(pass, a)| Some((a, there.get(pass)?)));
    pairs
        .map(|(a, b)| a.iter().zip(*b).map(|(a, b)| b / a).collect())
        .collect()
}

/// Whether rounds or their windows scatter more.
fn source(rounds: &[Vec<f64>]) -> Hopeless {
    let Some(noise) = components::split(rounds) else {
        return Hopeless::Unseen;
    };
    let windows = rounds.iter().map(Vec::len).min().unwrap_or_default();
    // What the windows of a round leave in its mean.
    let explained = noise.within * noise.dependence / count(windows);
    match noise.between {
        Some(between) if between >= explained => Hopeless::BetweenRounds,
        _ => Hopeless::WithinRounds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    #[test]
    fn the_larger_of_two_sources_is_named() {
        let mut rng = Rng::new(17);
        let mut rounds = |between: f64, within: f64| -> Vec<Vec<f64>> {
            (0..12)
                .map(|_| {
                    let level = between * rng.normal();
                    (0..10)
                        .map(|_| (level + within * rng.normal()).exp())
                        .collect()
                })
                .collect()
        };
        assert_eq!(source(&rounds(0.2, 0.02)), Hopeless::BetweenRounds);
        assert_eq!(source(&rounds(0.001, 0.4)), Hopeless::WithinRounds);
        assert_eq!(source(&[]), Hopeless::Unseen);
        assert_eq!(source(&vec![vec![1.0; 4]; 9]), Hopeless::Unseen);
    }

    #[test]
    fn what_both_rounds_of_a_pair_share_is_no_scatter_of_a_duel() {
        let mut rng = Rng::new(19);
        let mut sides = [Vec::new(), Vec::new()];
        for pass in 0..12_u32 {
            let weather = 0.5 * rng.normal();
            for side in &mut sides {
                let windows: Vec<f64> = (0..10)
                    .map(|_| (weather + 0.2 * rng.normal()).exp())
                    .collect();
                side.push((pass, windows));
            }
        }
        let borrowed = |side: &[(u32, Vec<f64>)]| -> Vec<Vec<f64>> {
            side.iter().map(|(_, windows)| windows.clone()).collect()
        };
        assert_eq!(source(&borrowed(&sides[0])), Hopeless::BetweenRounds);
        let [a, b] = sides.each_ref().map(|side| -> Vec<(u32, &[f64])> {
            let slices = side
                .iter()
                .map(|(pass, windows)| (*pass, windows.as_slice()));
            slices.collect()
        });
        assert_eq!(source(&ratios(&a, &b)), Hopeless::WithinRounds);
        assert_eq!(ratios(&a[..3], &b[2..]).len(), 1);
    }
}
