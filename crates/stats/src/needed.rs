//! How many rounds it would take to tell.
//!
//! The scatter seen so far may have been lucky, so that its upper 80 % bound is planned with, and the level is at most
//! that of a look (0.0158), because whoever adds rounds looks again. The answer is a plan, not a promise.

use crate::looks::ALPHA;
use crate::verdict::Levels;
use crate::yuen::{Part, RatioInterval, Side, trimmed_each_end};
use crate::{dist, rounds, yuen};
use model::comparison::RoundsNeeded;
use model::num::{count, round_to_usize};

/// Nobody runs more rounds than this; beyond it the answer is "not at this noise level".
pub const ROUNDS_MAX: u32 = 200;

/// The chance that the true scatter is below the bound planned with.
const SCATTER_BOUND: f64 = 0.8;

/// The number of rounds on each side after which the interval would lie wholly on one side of the margin, if the
/// ratio stays where it is; `levels` are those of the verdict. At least one more than there are now.
pub fn rounds_needed(found: &RatioInterval, margin: f64, levels: Levels) -> RoundsNeeded {
    let within = margin.ln_1p();
    let distance = (within - found.ln_ratio.abs()).abs();
    let levels = levels.difference_at_most(ALPHA);
    let alpha = if found.ln_ratio.abs() < within {
        levels.same
    } else {
        levels.difference
    };
    let variances = (
        planned_variance(&found.base),
        planned_variance(&found.other),
    );
    let have = found.base.n.max(found.other.n);
    let first = have.max(fewest(variances, found.between, distance, alpha)) + 1;
    (first..=usize::try_from(ROUNDS_MAX).unwrap_or(usize::MAX))
        .find(|&rounds| planned_half_width(variances, found.between, rounds, alpha) <= distance)
        .map_or(RoundsNeeded::NotAtThisNoise, |rounds| {
            RoundsNeeded::Rounds(rounds::whole(rounds))
        })
}

/// A number of rounds that is certainly too small: Student's quantiles are all larger than the normal one.
fn fewest((base, other): (f64, f64), between: Part, distance: f64, alpha: f64) -> usize {
    let z = dist::normal_quantile(1.0 - alpha / 2.0);
    // What the scatter between runs leaves to the rounds.
    let left = (distance / z).powi(2) - between.0;
    let most = usize::try_from(ROUNDS_MAX).unwrap_or(usize::MAX);
    if left <= 0.0 {
        return most;
    }
    round_to_usize(((base + other) / left).floor() - 1.0).min(most)
}

/// The upper bound of the variance of one round's logarithm.
fn planned_variance(side: &Side) -> f64 {
    if side.n < 2 {
        return f64::INFINITY;
    }
    let df = count(side.n - 1);
    side.deviation().powi(2) * df / dist::chi2_quantile(1.0 - SCATTER_BOUND, df)
}

/// The half-width of the interval with `rounds` on each side, of which the scatter between runs keeps a part.
fn planned_half_width((base, other): (f64, f64), between: Part, rounds: usize, alpha: f64) -> f64 {
    let kept = rounds - 2 * trimmed_each_end(rounds);
    if kept < 2 || !(base + other).is_finite() {
        return f64::INFINITY;
    }
    let own = |variance: f64| (variance / count(rounds), count(kept - 1));
    let (variance, df) = yuen::together(&[own(base), own(other), between]);
    dist::t_quantile(1.0 - alpha / 2.0, df) * variance.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yuen;

    /// A side of `n` rounds whose logarithms scatter by `deviation` around `mean`.
    fn side(n: usize, mean: f64, deviation: f64) -> Side {
        Side {
            n,
            mean,
            se_squared: deviation * deviation / count(n),
            df: count(n - 2 * trimmed_each_end(n)) - 1.0,
        }
    }

    #[test]
    fn the_scatter_is_bounded_as_published() {
        // Statistics page: the factor on the standard deviation is 1.46 at six rounds and 1.2 at fifteen.
        let factor = |n| (planned_variance(&side(n, 0.0, 1.0))).sqrt();
        assert!((factor(6) - 1.46).abs() < 0.005, "{}", factor(6));
        assert!((factor(15) - 1.2).abs() < 0.02, "{}", factor(15));
    }

    #[test]
    fn noise_and_closeness_to_the_margin_cost_rounds() {
        let at = |levels: Levels, ratio: f64, deviation| {
            let found = yuen::between(
                side(6, 0.0, deviation),
                side(6, ratio.ln(), deviation),
                0.05,
            );
            match rounds_needed(&found, 0.05, levels) {
                RoundsNeeded::Rounds(rounds) => rounds,
                RoundsNeeded::NotAtThisNoise => u32::MAX,
                other => panic!("rounds were asked for: {other:?}"),
            }
        };
        let needed = |ratio, deviation| at(Levels::both(0.05), ratio, deviation);
        assert!(needed(1.0, 0.02) < needed(1.0, 0.04));
        assert!(needed(1.0, 0.04) < needed(1.03, 0.04));
        assert!(needed(1.2, 0.04) < needed(1.08, 0.04));
        assert_eq!(
            needed(1.05, 0.02),
            u32::MAX,
            "on the margin nothing ever tells"
        );
        assert_eq!(needed(1.0, 0.5), u32::MAX, "too noisy");
        assert_eq!(needed(1.0, 0.0), 7, "at least one more");
        let careful = Levels {
            difference: ALPHA,
            same: 0.001,
        };
        assert!(at(careful, 1.0, 0.04) > needed(1.0, 0.04));
        assert_eq!(at(careful, 1.2, 0.04), needed(1.2, 0.04));
    }
}
