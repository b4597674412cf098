//! Several metrics as one figure.
//!
//! A geometric mean over metrics is taken within each pass, and the interval over the passes: what slowed the whole
//! machine down during a pass is then one observation and not several. Ratios of metrics with different units may be
//! averaged no other way (Fleming and Wallace, Comm. ACM 29 (1986) 218-221); the mean has no physical meaning, which
//! is why no single number is ever made of all families.

use crate::thresholds::CONFIDENCE;
use crate::{order, quantile};
use model::estimate::Estimate;
use std::collections::BTreeMap;

/// The geometric mean; `None` for an empty list or a value that is zero, negative or not finite.
pub fn geometric_mean(values: &[f64]) -> Option<f64> {
    Some(quantile::mean(&quantile::logs(values)?)?.exp())
}

/// The geometric mean of the parts in each pass in which every part has a positive value, in the order of the passes.
pub fn per_pass(parts: &[BTreeMap<u32, f64>]) -> Vec<(u32, f64)> {
    let Some((first, rest)) = parts.split_first() else {
        return Vec::new();
    };
    first
        .iter()
        .filter_map(|(&pass, &value)| {
            let mut values = vec![value];
            for part in rest {
                values.push(*part.get(&pass)?);
            }
            Some((pass, geometric_mean(&values)?))
        })
        .collect()
}

/// The median of composites or other per-pass values with its order-statistic interval; `None` for an empty list.
pub fn estimate(values: &[f64]) -> Option<Estimate> {
    Some(Estimate {
        value: quantile::median(values)?,
        interval: order::median_interval(values, CONFIDENCE),
        n: u32::try_from(values.len()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_what_their_names_say() {
        let close = |found: Option<f64>, expect: f64| {
            assert!((found.unwrap() - expect).abs() < 1e-12, "{found:?}");
        };
        close(geometric_mean(&[2.0, 8.0]), 4.0);
        close(geometric_mean(&[1e300, 1e-300]), 1.0);
        for bad in [&[][..], &[1.0, 0.0], &[1.0, -1.0], &[f64::INFINITY]] {
            assert_eq!(geometric_mean(bad), None);
        }
    }

    #[test]
    fn only_passes_with_every_part_count() {
        let part = |entries: &[(u32, f64)]| entries.iter().copied().collect::<BTreeMap<_, _>>();
        let parts = [
            part(&[(1, 2.0), (2, 3.0), (3, 4.0)]),
            part(&[(1, 8.0), (3, 9.0), (4, 1.0)]),
        ];
        let found = per_pass(&parts);
        assert_eq!(
            found.iter().map(|&(pass, _)| pass).collect::<Vec<_>>(),
            [1, 3]
        );
        assert!((found[0].1 - 4.0).abs() < 1e-12 && (found[1].1 - 6.0).abs() < 1e-12);
        assert!(per_pass(&[]).is_empty());
        assert!(per_pass(&[part(&[(1, 0.0)])]).is_empty());
    }

    #[test]
    fn noise_common_to_a_pass_does_not_widen_a_ratio_of_parts() {
        let noisy: BTreeMap<u32, f64> = (1..=6).map(|pass| (pass, f64::from(pass))).collect();
        let inverse: BTreeMap<u32, f64> = noisy
            .iter()
            .map(|(&pass, value)| (pass, 4.0 / value))
            .collect();
        let values: Vec<f64> = per_pass(&[noisy, inverse])
            .iter()
            .map(|&(_, v)| v)
            .collect();
        let found = estimate(&values).unwrap();
        let interval = found.interval.unwrap();
        assert!((interval.hi - interval.lo).abs() < 1e-12 && (found.value - 2.0).abs() < 1e-12);
        assert_eq!(estimate(&[]), None);
    }
}
