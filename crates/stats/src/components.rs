//! Where the noise is: between rounds, or within them.
//!
//! If rounds differ among themselves, longer rounds are wasted; if only windows differ, short rounds are (Cochran,
//! Sampling Techniques, chapter 10; Kalibera and Jones, ISMM 2013). Windows depend on one another, so that their
//! variance counts several times. How long a round is stays the workload's own decision: two runs whose rounds had
//! lengths of their own choice would not have measured the same.

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

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

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
