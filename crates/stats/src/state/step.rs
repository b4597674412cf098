//! One change of level in a short, independent series.
//!
//! Every place is tried, and the largest t statistic is held against a level divided by the number of places
//! (Worsley, J. Am. Statist. Assoc. 74 (1979) 365-367). Long series of windows, which depend on one another, are for
//! change points instead.

use crate::dist;
use model::num::count;

/// The fewest values on either side of a step: two can be outliers.
pub const SIDE_MIN: usize = 3;

/// A change of level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How many values come before it.
    pub after: usize,
    /// The mean of the logarithms behind it minus that before it.
    pub ln_change: f64,
    /// The sum of squares that the two levels leave unexplained.
    pub unexplained: f64,
}

impl Step {
    /// The new level over the old, minus 1.
    pub fn change(&self) -> f64 {
        self.ln_change.exp_m1()
    }
}

/// The strongest step in `logs`, where it changes the level by the share `least` at least, and noise alone would show
/// one so strong with a chance of at most `alpha`.
pub fn strongest(logs: &[f64], alpha: f64, least: f64) -> Option<Step> {
    let n = logs.len();
    if n < 2 * SIDE_MIN {
        return None;
    }
    let places = SIDE_MIN..=n - SIDE_MIN;
    let tried = count(n - 2 * SIDE_MIN + 1);
    let best = places
        .map(|after| split(logs, after))
        .min_by(|a, b| a.unexplained.total_cmp(&b.unexplained))
        .filter(|best| best.change().abs() >= least)?;
    let df = count(n - 2);
    let (before, behind) = (count(best.after), count(n - best.after));
    let se = (best.unexplained / df * (1.0 / before + 1.0 / behind)).sqrt();
    let critical = dist::t_quantile(1.0 - alpha / tried / 2.0, df);
    (best.ln_change.abs() > critical * se).then_some(best)
}

fn split(logs: &[f64], after: usize) -> Step {
    let (before, behind) = logs.split_at(after);
    let mean = |part: &[f64]| part.iter().sum::<f64>() / count(part.len());
    let squares = |part: &[f64]| {
        let mean = mean(part);
        part.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    Step {
        after,
        ln_change: mean(behind) - mean(before),
        unexplained: squares(before) + squares(behind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_place_and_ignores_outliers_at_the_end() {
        let step = strongest(&[0.0, 0.01, -0.01, 0.0, 0.5, 0.51, 0.5, 0.49], 0.01, 0.03).unwrap();
        assert_eq!(step.after, 4);
        assert!((step.ln_change - 0.5).abs() < 1e-12);
        assert_eq!(
            strongest(&[0.0, 0.01, -0.01, 0.0, 0.01, 0.0, 0.5, 0.5], 0.001, 0.03),
            None
        );
        assert_eq!(strongest(&[0.0, 0.0, 1.0, 1.0, 1.0], 0.01, 0.03), None);
        let small = [0.0, 0.001, -0.001, 0.0, 0.02, 0.021, 0.02, 0.019];
        assert_eq!(
            strongest(&small, 0.01, 0.03),
            None,
            "smaller than asked for"
        );
        assert!(strongest(&small, 0.01, 0.01).is_some());
        assert_eq!(
            strongest(&[0.0; 10], 0.01, 0.0),
            None,
            "no step where nothing moves"
        );
    }
}
