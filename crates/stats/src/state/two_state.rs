//! Two levels taken in turn, as on hosts that move a guest between fast and slow cores.
//!
//! The split that explains most of the variance of the logarithms (Otsu, IEEE Trans. Syst. Man Cybern. 9 (1979)
//! 62-66) counts only if it explains nearly all of it, both levels are held often enough, and hardly a value lies
//! between them. Noise of one level, however skewed or dependent, then passes in less than one case of a hundred at 60
//! values.

use crate::quantile;
use model::num::count;

/// The share of the variance that the two levels must explain.
const SEPARATION_MIN: f64 = 0.80;
/// The least share, and the least number, of values at each level.
const SHARE_MIN: f64 = 0.10;
const POINTS_MIN: usize = 3;
/// The largest share of values in the middle third between the levels.
const BETWEEN_MAX: f64 = 0.05;
/// The fewest changes between the levels; one change is a step.
pub const CHANGES_MIN: usize = 3;

/// Two levels and how they are held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoState {
    /// The median at the lower level.
    pub low: f64,
    /// The median at the upper level.
    pub high: f64,
    /// The share of values at the lower level.
    pub low_share: f64,
    /// The share of the variance of the logarithms that the levels explain.
    pub separation: f64,
    /// How often the level changes.
    pub changes: usize,
    /// How many values in a row a level is held, on average.
    pub dwell: f64,
}

/// The two levels of `values` in their order, or `None` where they have one level, or a value is not positive.
pub fn find(values: &[f64]) -> Option<TwoState> {
    let logs = quantile::sorted(&quantile::logs(values)?);
    let n = logs.len();
    let (cut, separation) = best_cut(&logs)?;
    let fewest = POINTS_MIN.max(model::num::round_to_usize((SHARE_MIN * count(n)).ceil()));
    let (low, high) = logs.split_at(cut);
    if low.len().min(high.len()) < fewest || separation < SEPARATION_MIN {
        return None;
    }
    let (low_mean, high_mean) = (quantile::mean(low)?, quantile::mean(high)?);
    let gap = high_mean - low_mean;
    let third = gap / 3.0;
    let between = logs
        .iter()
        .filter(|&&x| x > low_mean + third && x < high_mean - third)
        .count();
    if gap < super::PRACTICAL_STEP.ln_1p() || count(between) > BETWEEN_MAX * count(n) {
        return None;
    }
    let border = f64::midpoint(low[low.len() - 1], high[0]).exp();
    let changes = values
        .windows(2)
        .filter(|pair| (pair[0] < border) != (pair[1] < border))
        .count();
    Some(TwoState {
        low: quantile::of_sorted(low, 0.5)?.exp(),
        high: quantile::of_sorted(high, 0.5)?.exp(),
        low_share: count(low.len()) / count(n),
        separation,
        changes,
        dwell: count(n) / count(changes + 1),
    })
}

/// How many of the ascending values belong to the lower level, and the share of the variance that this explains.
pub(super) fn best_cut(sorted: &[f64]) -> Option<(usize, f64)> {
    let n = count(sorted.len());
    let total: f64 = sorted.iter().sum();
    let mean = quantile::mean(sorted)?;
    let variance: f64 = sorted.iter().map(|x| (x - mean).powi(2)).sum();
    let mut below = 0.0;
    let mut best = None;
    for (index, value) in sorted.iter().enumerate().take(sorted.len() - 1) {
        below += value;
        let low = count(index + 1);
        let distance = below / low - (total - below) / (n - low);
        let explained = low * (n - low) / n * distance * distance;
        if best.is_none_or(|(_, most)| explained > most) {
            best = Some((index + 1, explained));
        }
    }
    best.filter(|_| variance > 0.0)
        .map(|(cut, explained)| (cut, explained / variance))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    #[test]
    fn levels_shares_and_dwell_are_read_off() {
        let values: Vec<f64> = (0..90)
            .map(|i| if i % 9 < 3 { 50.0 } else { 100.0 } + f64::from(i % 2))
            .collect();
        let found = find(&values).unwrap();
        assert!((found.low - 50.5).abs() < 0.51 && (found.high - 100.5).abs() < 0.51);
        assert!((found.low_share - 1.0 / 3.0).abs() < 1e-12);
        assert_eq!(found.changes, 19);
        assert!((found.dwell - 4.5).abs() < 1e-12);
    }

    #[test]
    fn one_level_is_not_two() {
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[5.0; 80]), None, "no scatter at all");
        assert_eq!(find(&[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]), None, "no logarithm");
        let narrow: Vec<f64> = (0..80).map(|i| 100.0 + 2.0 * f64::from(i % 2)).collect();
        assert_eq!(find(&narrow), None, "2 % apart is not worth a word");
    }

    #[test]
    fn noise_of_one_level_passes() {
        type Draw = fn(&mut Rng) -> f64;
        let draws: [(&str, Draw); 3] = [
            ("normal", Rng::normal),
            ("skewed", Rng::exponential),
            ("heavy", |rng| {
                rng.normal() / (rng.exponential() / 1.5).sqrt()
            }),
        ];
        let mut rng = Rng::new(17);
        for (name, draw) in draws {
            let wrong = (0..1000)
                .filter(|_| {
                    let values: Vec<f64> = (0..60).map(|_| (0.05 * draw(&mut rng)).exp()).collect();
                    find(&values).is_some()
                })
                .count();
            // In 40,000 repetitions the worst of them is 0.46 %.
            assert!(wrong <= 10, "{name}: {wrong} of 1000");
        }
    }

    #[test]
    fn two_levels_far_apart_are_found() {
        let mut rng = Rng::new(19);
        let found = (0..500)
            .filter(|_| {
                let values: Vec<f64> = (0..60)
                    .map(|_| {
                        let level = if rng.unit() < 0.3 { -0.2 } else { 0.0 };
                        (level + 0.02 * rng.normal()).exp()
                    })
                    .collect();
                find(&values).is_some()
            })
            .count();
        assert!(found >= 485, "{found} of 500");
    }
}
