//! The slope of a long series, with an interval that allows for dependence.
//!
//! The series is cut into ten blocks; the slope is Theil's and Sen's over the blocks' medians, and its interval comes
//! from drawing the blocks' residuals anew. Blocks that are long against the memory of the noise are independent of
//! one another, single windows are not (Künsch, Ann. Statist. 17 (1989) 1217-1241).

use super::{PRACTICAL_STEP, trend};
use crate::quantile;
use model::num::count;
use model::rng::Rng;

/// The number of blocks.
const BLOCKS: usize = 10;
/// The fewest windows: three in each block, so that a block has a median that one window does not decide.
const WINDOWS_MIN: usize = 3 * BLOCKS;
/// How often residuals are drawn.
const DRAWS: usize = 999;
/// The seed of the draws; any constant would do, but it must never change.
const SEED: u64 = 0x6472_6966_7421;
/// The share of slopes left out at either end of the interval.
const TAIL: f64 = 0.005;

/// The drift of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The change from the first window to the last, as a share of the median.
    pub change: f64,
    /// The lower end of its 99 % interval.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

impl Drift {
    /// True where the drift is worth a word and not due to noise.
    pub fn is_real(&self) -> bool {
        self.is_practical() && (self.lo > 0.0 || self.hi < 0.0)
    }

    /// True where the drift is worth a word, should it be no noise.
    pub fn is_practical(&self) -> bool {
        self.change.abs() > PRACTICAL_STEP
    }
}

/// The drift of `series`; `None` for fewer than 30 windows, a value that is not finite, or a median that is not
/// positive.
pub fn of(series: &[f64]) -> Option<Drift> {
    if series.len() < WINDOWS_MIN {
        return None;
    }
    let median = quantile::median(series).filter(|&median| median > 0.0)?;
    let border = |block: usize| block * series.len() / BLOCKS;
    let medians: Vec<f64> = (0..BLOCKS)
        .map(|block| quantile::median(&series[border(block)..border(block + 1)]))
        .collect::<Option<_>>()?;
    let slope = trend::theil_sen(&medians)?;
    let level: Vec<f64> = (0..BLOCKS).map(|i| medians[i] - slope * count(i)).collect();
    let middle = quantile::median(&level)?;
    // Two parameters were fitted to ten blocks: their residuals are too small by this factor.
    let inflate = (count(BLOCKS) / count(BLOCKS - 2)).sqrt();
    let residuals: Vec<f64> = level.iter().map(|x| (x - middle) * inflate).collect();
    let mut rng = Rng::new(SEED);
    let mut slopes = Vec::with_capacity(DRAWS);
    for _ in 0..DRAWS {
        let drawn: Vec<f64> = (0..BLOCKS)
            .map(|i| slope * count(i) + residuals[rng.index(BLOCKS)])
            .collect();
        slopes.push(trend::theil_sen(&drawn)?);
    }
    // Nine steps from the first block to the last cover nine tenths of the series.
    let to_change = count(BLOCKS) / median;
    let slopes = quantile::sorted(&slopes);
    Some(Drift {
        change: slope * to_change,
        lo: quantile::of_sorted(&slopes, TAIL)? * to_change,
        hi: quantile::of_sorted(&slopes, 1.0 - TAIL)? * to_change,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dependent(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
        let series = crate::fixture::dependent(rng, n, phi);
        series.iter().map(|x| 100.0 + 2.0 * x).collect()
    }

    fn count_real(seed: u64, phi: f64, change: f64) -> usize {
        let mut rng = Rng::new(seed);
        (0..150)
            .filter(|_| {
                let mut series = dependent(&mut rng, 120, phi);
                for (i, x) in series.iter_mut().enumerate() {
                    *x += 100.0 * change * count(i) / 119.0;
                }
                of(&series).unwrap().is_real()
            })
            .count()
    }

    #[test]
    fn noise_does_not_drift_and_drift_is_seen() {
        assert!(count_real(51, 0.0, 0.0) <= 2);
        assert!(count_real(52, 0.5, 0.0) <= 4);
        assert!(count_real(53, 0.0, 0.08) >= 147);
        assert!(count_real(54, 0.5, -0.15) >= 145);
    }

    #[test]
    fn a_straight_line_has_its_own_slope() {
        let series: Vec<f64> = (0..100).map(|i| 100.0 - 0.2 * f64::from(i)).collect();
        let found = of(&series).unwrap();
        assert!((found.change + 20.0 / 90.1).abs() < 0.005, "{found:?}");
        assert!(found.is_real() && found.lo <= found.change && found.change <= found.hi);
        assert_eq!(found, of(&series).unwrap(), "the draws are seeded");
        assert_eq!(of(&[1.0; 29]), None);
        assert_eq!(of(&[0.0; 50]), None);
        assert!(!of(&[7.0; 50]).unwrap().is_real());
    }
}
