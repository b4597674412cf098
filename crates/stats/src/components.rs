//! Where the noise is, and how long a round should therefore be.
//!
//! Time is spent on setting a round up and on windows. If rounds differ among themselves, longer rounds are wasted; if
//! only windows differ, short rounds are. The best length follows from both variances and both costs (Cochran,
//! Sampling Techniques, chapter 10; Kalibera and Jones, ISMM 2013). Windows depend on one another, so that their
//! variance counts several times.

use crate::{quantile, within};
use model::num::count;

/// The two sources of noise, as variances of relative deviations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Components {
    /// The variance of a window within its round.
    pub within: f64,
    /// How many times that variance counts because windows depend on one another; 1 where they do not.
    pub dependence: f64,
    /// The variance between rounds beyond what their windows explain; `None` where nothing is left for it.
    pub between: Option<f64>,
}

/// What to do about the length of rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Advice {
    /// A round of this many windows gives the narrowest interval for the time.
    Windows(f64),
    /// Rounds do not differ among themselves: fewer, longer rounds, as far as six remain.
    LongerRounds,
}

/// Splits the noise of `rounds`, each a list of windows in time order; all are cut to the length of the shortest.
/// `None` for fewer than three rounds, rounds of fewer than five windows, or values that are not positive.
pub fn split(rounds: &[Vec<f64>]) -> Option<Components> {
    let windows = rounds.iter().map(Vec::len).min()?;
    if rounds.len() < 3 || windows < 5 {
        return None;
    }
    let logs: Vec<Vec<f64>> = rounds
        .iter()
        .map(|round| quantile::logs(&round[..windows]))
        .collect::<Option<_>>()?;
    let means: Vec<f64> = logs
        .iter()
        .filter_map(|round| quantile::mean(round))
        .collect();
    let variances: Vec<f64> = logs
        .iter()
        .filter_map(|round| quantile::variance(round))
        .collect();
    let correlations: Vec<f64> = logs
        .iter()
        .filter_map(|round| within::autocorrelation(round))
        .collect();
    let within = quantile::mean(&variances)?;
    let r = quantile::mean(&correlations)?.clamp(0.0, 0.95);
    let dependence = (1.0 + r) / (1.0 - r);
    let between = quantile::variance(&means)? - within * dependence / count(windows);
    Some(Components {
        within,
        dependence,
        between: (between > 0.0).then_some(between),
    })
}

/// How long a round should be where setting it up takes `setup_seconds` and a window `window_seconds`.
pub fn best_length(noise: &Components, setup_seconds: f64, window_seconds: f64) -> Advice {
    match noise.between {
        Some(between) => Advice::Windows(
            (setup_seconds / window_seconds * noise.within * noise.dependence / between)
                .sqrt()
                .max(1.0),
        ),
        None => Advice::LongerRounds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    #[test]
    fn the_published_example_is_reproduced() {
        let noise = Components {
            within: 0.03 * 0.03,
            dependence: 2.0,
            between: Some(0.007 * 0.007),
        };
        let Advice::Windows(windows) = best_length(&noise, 2.0, 1.0) else {
            panic!()
        };
        assert!((windows - 8.6).abs() < 0.05, "{windows}");
        let none = Components {
            between: None,
            ..noise
        };
        assert_eq!(best_length(&none, 2.0, 1.0), Advice::LongerRounds);
    }

    #[test]
    fn variances_are_recovered() {
        let mut rng = Rng::new(91);
        let rounds: Vec<Vec<f64>> = (0..200)
            .map(|_| {
                let level = 0.02 * rng.normal();
                (0..50)
                    .map(|_| (level + 0.03 * rng.normal()).exp())
                    .collect()
            })
            .collect();
        let found = split(&rounds).unwrap();
        assert!((found.within.sqrt() - 0.03).abs() < 0.001, "{found:?}");
        assert!(
            (found.between.unwrap().sqrt() - 0.02).abs() < 0.003,
            "{found:?}"
        );
        assert!(found.dependence < 1.1);
        assert_eq!(split(&rounds[..2]), None);
        assert_eq!(split(&[vec![1.0; 4], vec![1.0; 9], vec![1.0; 9]]), None);
        assert_eq!(split(&[vec![0.0; 9], vec![1.0; 9], vec![1.0; 9]]), None);
    }
}
