//! Quantiles of plain lists of numbers.
//!
//! One definition is used everywhere: number 7 of Hyndman and Fan (The American Statistician 50, 1996), linear
//! interpolation between the order statistics around rank `1 + (n - 1) q`. At `q` = 0.5 it is the usual median.
//! Lists that are empty or hold a value that is not finite have no quantile: `None`, never a NaN that travels on.

use model::num::{count, round_to_usize};

/// The values in ascending order.
pub fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    // Of values in this order equal ones are the same, so that nothing is gained by a stable sort.
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// The median: the middle value, or the mean of the two middle ones. `None` for an empty list or a value that is
/// not finite.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The `q`-quantile (`q` from 0 to 1) by linear interpolation. `None` for an empty list, a value that is not finite,
/// or a `q` outside of its range.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let (below, share) = rank(values.len(), q)?;
    let mut values = values.to_vec();
    let (_, &mut low, beyond) = values.select_nth_unstable_by(below, f64::total_cmp);
    let high = beyond.iter().copied().min_by(f64::total_cmp);
    Some(between(low, high, share))
}

/// Like [`quantile`] for values that are finite and already ascending.
pub fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let (below, share) = rank(sorted.len(), q)?;
    Some(between(
        sorted[below],
        sorted.get(below + 1).copied(),
        share,
    ))
}

/// The place of the value below the `q`-quantile of `n` of them, and how far it is from there to the next one.
fn rank(n: usize, q: f64) -> Option<(usize, f64)> {
    let last = n.checked_sub(1)?;
    if !(0.0..=1.0).contains(&q) {
        return None;
    }
    let rank = count(last) * q;
    let below = round_to_usize(rank.floor()).min(last);
    Some((below, rank - count(below)))
}

/// This share of the way from `low` to the next value, where there is one.
fn between(low: f64, high: Option<f64>, share: f64) -> f64 {
    low + share * (high.unwrap_or(low) - low)
}

/// The arithmetic mean; `None` for an empty list.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / count(values.len()))
}

/// The variance of a sample (divided by n - 1); `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| squares / count(values.len() - 1))
}

/// The scatter around the median, scaled so that it is the standard deviation for normal noise: 1.4826 times the
/// median distance from the median. `None` where there is no median.
pub fn robust_deviation(values: &[f64]) -> Option<f64> {
    let middle = median(values)?;
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    Some(NORMAL_MAD * median(&distances)?)
}

/// One over the 75 % quantile of the normal distribution.
const NORMAL_MAD: f64 = 1.482_602_218_505_602;

/// The natural logarithms, or `None` where a value is zero, negative or not finite.
pub fn logs(values: &[f64]) -> Option<Vec<f64>> {
    values
        .iter()
        .map(|&value| (value.is_finite() && value > 0.0).then(|| value.ln()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_follow_definition_seven() {
        let check = |values: &[f64], q: f64, expect: Option<f64>| {
            let found = quantile(values, q);
            match (found, expect) {
                (Some(found), Some(expect)) => assert!((found - expect).abs() < 1e-12, "{found}"),
                other => assert!(other == (None, None), "{values:?} at {q}: {other:?}"),
            }
        };
        check(&[3.0, 1.0, 2.0], 0.5, Some(2.0));
        check(&[4.0, 1.0, 2.0, 3.0], 0.5, Some(2.5));
        // R: quantile(c(10, 20, 30, 40, 50), 0.1) is 14.
        check(&[10.0, 20.0, 30.0, 40.0, 50.0], 0.1, Some(14.0));
        check(&[10.0, 20.0, 30.0, 40.0, 50.0], 0.0, Some(10.0));
        check(&[10.0, 20.0, 30.0, 40.0, 50.0], 1.0, Some(50.0));
        check(&[7.0], 0.9, Some(7.0));
        check(&[], 0.5, None);
        check(&[1.0, f64::NAN], 0.5, None);
        check(&[1.0, f64::INFINITY], 0.5, None);
        check(&[1.0, 2.0], 1.5, None);
        check(&[1.0, 2.0], f64::NAN, None);
    }

    #[test]
    fn lists_in_any_order_have_the_quantiles_of_the_sorted_one() {
        let mut rng = model::rng::Rng::new(5);
        for n in 1..60 {
            let values: Vec<f64> = (0..n).map(|_| (4.0 * rng.normal()).round()).collect();
            for q in [0.0, 0.1, 0.25, 0.5, 0.9, 1.0] {
                assert_eq!(
                    quantile(&values, q),
                    of_sorted(&sorted(&values), q),
                    "{n} {q}"
                );
            }
        }
    }

    #[test]
    fn moments_need_enough_values() {
        assert_eq!(mean(&[]), None);
        assert_eq!(variance(&[1.0]), None);
        assert!((variance(&[1.0, 2.0, 3.0, 4.0]).unwrap() - 5.0 / 3.0).abs() < 1e-12);
        assert_eq!(logs(&[1.0, 0.0]), None);
        assert_eq!(logs(&[1.0, -1.0]), None);
        assert_eq!(logs(&[1.0]), Some(vec![0.0]));
    }

    #[test]
    fn one_outlier_does_not_move_the_robust_deviation() {
        let quiet = robust_deviation(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        let wild = robust_deviation(&[1.0, 2.0, 3.0, 4.0, 5000.0]).unwrap();
        assert!((quiet - wild).abs() < 1e-12);
    }
}
