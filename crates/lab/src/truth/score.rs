//! The arithmetic of scoring: shares with their uncertainty, and what simpler readers would have concluded.
//!
//! The simpler readers are how figures are read every day: one run of each side and a difference of more than 3 %, the
//! mean of several, and UnixBench's rule, which drops the worst third before it takes the mean. They are scored on the
//! same rounds as the program, so that only the rule differs.

use super::check::percent;
use model::num::count;
use stats::quantile;

/// The difference that people call a difference.
pub(crate) const RULE: f64 = 0.03;

/// 95 % of a normal distribution lie within so many standard deviations.
const Z: f64 = 1.96;

/// `hits` of `of` as text, with the interval of the share.
pub(crate) fn rate(hits: usize, of: usize) -> String {
    match wilson(hits, of) {
        None => format!("{hits} of {of}"),
        Some((lo, hi)) => format!(
            "{hits} of {of} ({:.1} %, 95 % interval {:.1} to {:.1} %)",
            100.0 * count(hits) / count(of),
            100.0 * lo,
            100.0 * hi
        ),
    }
}

/// The 95 % interval of a share: `hits` of `of`; `None` of nothing. Source: Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
pub(crate) fn wilson(hits: usize, of: usize) -> Option<(f64, f64)> {
    if of == 0 {
        return None;
    }
    let (n, p) = (count(of), count(hits) / count(of));
    let spread = Z * Z / n;
    let middle = (p + spread / 2.0) / (1.0 + spread);
    let half = Z * (p * (1.0 - p) / n + spread / (4.0 * n)).sqrt() / (1.0 + spread);
    Some(((middle - half).max(0.0), (middle + half).min(1.0)))
}

/// Whether somebody who calls a difference of more than 3 % a difference would do so.
pub(crate) fn differs(a: f64, b: f64) -> bool {
    (b / a - 1.0).abs() > RULE
}

/// The mean of `values`, where higher is better, after UnixBench's rule: the worst third goes, and what is left is
/// averaged on logarithms. `None` where nothing is left or a value has no logarithm.
pub(crate) fn without_worst_third(values: &[f64]) -> Option<f64> {
    let sorted = quantile::sorted(values);
    let kept = &sorted[sorted.len() / 3..];
    Some(quantile::mean(&quantile::logs(kept)?)?.exp())
}

/// Whether somebody would do so who goes by UnixBench's rule.
pub(crate) fn by_unixbench(a: &[f64], b: &[f64]) -> bool {
    let means = [a, b].map(without_worst_third);
    matches!(means, [Some(a), Some(b)] if differs(a, b))
}

/// Whether somebody would do so who goes by the mean of all rounds.
pub(crate) fn by_mean(a: &[f64], b: &[f64]) -> bool {
    matches!([a, b].map(quantile::mean), [Some(a), Some(b)] if differs(a, b))
}

/// The standard deviation of a round as the differences of pairs show it: what a pair shares drops out.
pub(crate) fn pair_deviation(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (quantile::logs(a)?, quantile::logs(b)?);
    let differences: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b - a).collect();
    Some((quantile::variance(&differences)? / 2.0).sqrt())
}

/// Median and largest of the absolute values, for shares of error.
pub(crate) fn typical_and_worst(errors: &[f64]) -> Option<(f64, f64)> {
    let sorted = quantile::sorted(&errors.iter().map(|error| error.abs()).collect::<Vec<_>>());
    Some((quantile::median(&sorted)?, *sorted.last()?))
}

/// The same as text; `-` where there are none.
pub(crate) fn errors(errors: &[f64]) -> String {
    typical_and_worst(errors).map_or("-".to_owned(), |(typical, worst)| {
        format!("{} and {}", percent(typical), percent(worst))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        // Worked by hand from the formula: 1 of 20 and 0 of 20.
        let check = |hits, of, lo: f64, hi: f64| {
            let found = wilson(hits, of).unwrap();
            let near = (found.0 - lo).abs() < 5e-4 && (found.1 - hi).abs() < 5e-4;
            assert!(near, "{hits} of {of}: {found:?}");
        };
        check(1, 20, 0.0089, 0.2361);
        check(0, 20, 0.0, 0.1611);
        check(20, 20, 0.8389, 1.0);
        assert!(wilson(0, 0).is_none());
        assert!(rate(0, 0) == "0 of 0" && rate(1, 20).starts_with("1 of 20 (5.0 %"));
    }

    #[test]
    fn peers_read_what_they_read() {
        assert!(differs(100.0, 103.1) && !differs(100.0, 102.9) && differs(100.0, 96.9));
        let six = [10.0, 1.0, 10.0, 2.0, 10.0, 10.0];
        assert!((without_worst_third(&six).unwrap() - 10.0).abs() < 1e-9);
        let three = [4.0, 1.0, 9.0];
        assert!((without_worst_third(&three).unwrap() - 6.0).abs() < 1e-9);
        assert!(without_worst_third(&[]).is_none());
    }

    #[test]
    fn pairs_show_no_noise_that_they_share() {
        let a = [100.0, 120.0, 90.0, 110.0];
        let b = a.map(|x| x * 0.5);
        assert!(pair_deviation(&a, &b).unwrap() < 1e-9);
        let other = [100.0, 90.0, 120.0, 80.0];
        assert!(pair_deviation(&a, &other).unwrap() > 0.1);
        assert!(pair_deviation(&a[..1], &b[..1]).is_none());
    }
}
