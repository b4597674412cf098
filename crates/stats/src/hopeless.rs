//! Why no number of rounds would tell: where the scatter of the noisier side comes from.
//!
//! "Not at this noise level" by itself helps nobody. Time that the host takes away calls for another hour or another
//! host; rounds that differ among themselves call for passes spread over more time; windows that scatter call for
//! longer rounds. What is seen is said and nothing is guessed: a metric without windows has no such split.

use crate::compare::{Candidate, Sides};
use crate::components;
use crate::contrast::Method;
use crate::summarize::is_rate;
use model::comparison::{Hopeless, RoundsNeeded};
use model::num::count;

/// A ratio nearer to its margin than this share of it stays there, whatever the noise.
const ON_THE_MARGIN: f64 = 0.1;

/// The share of rounds with stolen time from which on it is the cause.
const STEAL_ROUNDS: f64 = 0.5;

/// The reason, where no number of rounds would do.
pub(crate) fn of(sides: &Sides<'_>, candidate: &Candidate<'_>) -> Option<Hopeless> {
    if candidate.result.needed != Some(RoundsNeeded::NotAtThisNoise) {
        return None;
    }
    let found = candidate.found?;
    let margin = candidate.result.margin.ln_1p();
    if (margin - found.ln_ratio.abs()).abs() < ON_THE_MARGIN * margin {
        return Some(Hopeless::OnTheMargin);
    }
    if sides.method == Method::Runs {
        return Some(Hopeless::BetweenInstances);
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
    let windows = if candidate.leads && is_rate(candidate.metric.unit) {
        side.windows(case)
    } else {
        Vec::new()
    };
    Some(source(&windows))
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
}
