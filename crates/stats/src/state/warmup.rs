//! How much of the start of a series is warm-up.
//!
//! MSER-5: the cut after which the mean of what is left is surest, on means of five windows (White, Simulation 69
//! (1997) 323-334). It is meant for one long series. Rounds have a fixed warm-up instead, because a round that chose
//! its own cut would choose the one that suits its noise; whether it was long enough is asked of all rounds together,
//! in [`crate::warming`].

use crate::quantile;
use model::num::count;

/// The windows averaged before the rule is applied.
const BATCH: usize = 5;
/// The fewest batches in which a start can be told from a rest.
const BATCHES_MIN: usize = 6;
/// The fewest batches that may be left: fewer agree by chance, and a steady series then looks as if only its end were
/// steady (in two of five series of 120 windows with 2, in one of eight with 5). Source: Hoad, Robinson and Davies,
/// J. Oper. Res. Soc. 61 (2010) 1389-1403, who leave out the last five.
const LEFT_MIN: usize = 5;

/// What was found about the start of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarmUp {
    /// This many windows at the start are not to be used; 0 where all are good.
    Cut(usize),
    /// The best cut lies in the second half: the series never settled.
    NeverSettled,
}

/// The cut for `series`; `None` for fewer than 30 windows or a value that is not finite.
pub fn find(series: &[f64]) -> Option<WarmUp> {
    let means: Vec<f64> = series
        .chunks_exact(BATCH)
        .filter_map(quantile::mean)
        .collect();
    if means.len() < BATCHES_MIN || series.iter().any(|x| !x.is_finite()) {
        return None;
    }
    let cut = surest_cut(&means, LEFT_MIN)?;
    Some(if 2 * cut > means.len() {
        WarmUp::NeverSettled
    } else {
        WarmUp::Cut(cut * BATCH)
    })
}

/// How many of `means` to leave out at the start so that the mean of the others is surest; at least `left_min` (which
/// is above 0) stay. `None` where there are fewer.
pub(crate) fn surest_cut(means: &[f64], left_min: usize) -> Option<usize> {
    let uncertainty = |cut: usize| {
        let rest = &means[cut..];
        let mean = rest.iter().sum::<f64>() / count(rest.len());
        rest.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count(rest.len()).powi(2)
    };
    let most = means.len().checked_sub(left_min)?;
    (0..=most).min_by(|&a, &b| uncertainty(a).total_cmp(&uncertainty(b)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::noisy;

    #[test]
    fn the_start_is_cut_and_only_the_start() {
        let (mut right, mut spared) = (0, 0);
        for seed in 0..200 {
            let steady = noisy(seed, 240, 100.0, 0.01);
            spared += usize::from(matches!(find(&steady), Some(WarmUp::Cut(cut)) if cut <= 60));
            let mut slow_start = steady;
            for (i, x) in slow_start.iter_mut().enumerate().take(40) {
                *x *= 1.0 - 0.5 * (-count(i) / 6.0).exp();
            }
            let cut = find(&slow_start);
            right += usize::from(matches!(cut, Some(WarmUp::Cut(15..=45))));
        }
        // 94 and 84 % of 1500 repetitions, less three standard errors of 200.
        assert!(spared >= 178 && right >= 152, "{spared} {right}");
        assert_eq!(find(&[4.0; 60]), Some(WarmUp::Cut(0)));
    }

    #[test]
    fn what_never_settles_is_said_so() {
        let ramp: Vec<f64> = (0..100).map(|i| f64::from(i) * f64::from(i)).collect();
        assert!(matches!(
            find(&ramp),
            Some(WarmUp::NeverSettled | WarmUp::Cut(0))
        ));
        let late: Vec<f64> = (0..100)
            .map(|i| {
                if i < 70 {
                    f64::from(i % 7) * 10.0
                } else {
                    500.0
                }
            })
            .collect();
        assert_eq!(find(&late), Some(WarmUp::NeverSettled));
        assert_eq!(find(&[1.0; 29]), None);
        assert_eq!(find(&[f64::NAN; 60]), None);
    }
}
