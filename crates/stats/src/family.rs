//! Many comparisons at once.
//!
//! Sixty metrics that are all the same yield three false differences on average at 5 % each. In tables the share of
//! false claims among all claims is held at 5 % (Benjamini and Hochberg, J. R. Statist. Soc. B 57 (1995) 289-300),
//! and the interval of a claim is widened to match (Benjamini and Yekutieli, J. Am. Statist. Assoc. 100 (2005)
//! 71-81). In the headline, where each claim stands alone, the chance of any false claim is held at 5 % (Holm, Scand.
//! J. Statist. 6 (1979) 65-70). `same` needs no correction: it is claimed only for what it was proven for.

use model::num::count;
use model::order::Order as _;

/// For each p-value the level at which its interval must be taken, or `None` where no difference may be claimed:
/// the false discovery rate is at most `q`.
pub fn benjamini_hochberg(p_values: &[f64], q: f64) -> Vec<Option<f64>> {
    let all = count(p_values.len());
    let order = ascending(p_values);
    let claims = order
        .iter()
        .enumerate()
        .filter(|&(rank, &index)| p_values[index] <= q * count(rank + 1) / all)
        .map(|(rank, _)| rank + 1)
        .max()
        .unwrap_or(0);
    let level = q * count(claims) / all;
    let mut levels = vec![None; p_values.len()];
    for &index in &order[..claims] {
        levels[index] = Some(level);
    }
    levels
}

/// For each p-value the level at which its interval must be taken, or `None` where no difference may be claimed:
/// the chance of any false claim is at most `alpha`.
pub fn holm(p_values: &[f64], alpha: f64) -> Vec<Option<f64>> {
    let mut levels = vec![None; p_values.len()];
    for (rank, &index) in ascending(p_values).iter().enumerate() {
        let level = alpha / count(p_values.len() - rank);
        if p_values[index] > level {
            break;
        }
        levels[index] = Some(level);
    }
    levels
}

fn ascending(p_values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.order_by(|&a, &b| p_values[a].total_cmp(&p_values[b]));
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    fn claims(levels: &[Option<f64>]) -> Vec<bool> {
        levels.iter().map(Option::is_some).collect()
    }

    #[test]
    fn agrees_with_the_published_example() {
        // Benjamini and Hochberg 1995, section 3.2: 15 p-values; their procedure claims four, Bonferroni-like ones
        // three.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262,
            0.5719, 0.6528, 0.7590, 1.0,
        ];
        let found = benjamini_hochberg(&p, 0.05);
        assert_eq!(found.iter().flatten().count(), 4);
        assert!((found[0].unwrap() - 0.05 * 4.0 / 15.0).abs() < 1e-15);
        assert_eq!(holm(&p, 0.05).iter().flatten().count(), 3);
    }

    #[test]
    fn order_does_not_matter_and_nothing_is_no_error() {
        assert_eq!(
            claims(&benjamini_hochberg(&[0.9, 0.001, 0.02], 0.05)),
            [false, true, true]
        );
        assert_eq!(
            claims(&holm(&[0.9, 0.001, 0.024], 0.05)),
            [false, true, true]
        );
        assert_eq!(
            claims(&holm(&[0.9, 0.001, 0.026], 0.05)),
            [false, true, false]
        );
        assert!(benjamini_hochberg(&[], 0.05).is_empty());
        assert!(holm(&[], 0.05).is_empty());
    }

    #[test]
    fn sixty_equal_metrics_rarely_yield_a_claim() {
        let mut rng = Rng::new(1);
        let (mut bh, mut sequential) = (0, 0);
        let repetitions = 4000;
        for _ in 0..repetitions {
            let p: Vec<f64> = (0..60).map(|_| rng.unit()).collect();
            bh += usize::from(benjamini_hochberg(&p, 0.05).iter().any(Option::is_some));
            sequential += usize::from(holm(&p, 0.05).iter().any(Option::is_some));
        }
        // 5 % of 4000 is 200 with a standard error of 14.
        assert!((150..=250).contains(&bh), "{bh}");
        assert!((145..=245).contains(&sequential), "{sequential}");
    }
}
