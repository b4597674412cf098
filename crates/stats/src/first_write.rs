//! What the first touch of a thin or lazily loaded disk costs.
//!
//! The same span is written (or read) twice; each pair is one place. The ratio of the second pass to the first, with
//! its interval, is the penalty. Reads of places that were never written are answered without I/O and must not be
//! among them.

use crate::composite;
use crate::thresholds::CONFIDENCE;
use crate::walsh::{self, PairedRatio};
use crate::yuen::NoInterval;
use schemars::JsonSchema;
use serde::Serialize;

/// How much faster zeros must be written than random data before the storage is said to compress.
pub const COMPRESSES_ABOVE: f64 = 1.2;

/// The penalty: the rate of the second pass over that of the first, place by place. `margin` is a share.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Penalty {
    /// Second over first; above 1 the first touch is slower.
    pub ratio: PairedRatio,
    /// True where the first touch is slower by more than the margin.
    pub present: bool,
}

/// The penalty from the rates of the first and the second pass over the same places; at least six of them.
pub fn penalty(places: &[(f64, f64)], margin: f64) -> Result<Penalty, NoInterval> {
    let ratio = walsh::log_ratio(places, 1.0 - CONFIDENCE)?;
    Ok(Penalty {
        ratio,
        present: ratio.ln_lo > margin.ln_1p(),
    })
}

/// Whether the storage compresses: the rate of writing zeros over that of random data, and whether it is above
/// [`COMPRESSES_ABOVE`]. `None` where a rate is not positive.
pub fn compresses(zeros: &[f64], random: &[f64]) -> Option<(f64, bool)> {
    let ratio = composite::geometric_mean(zeros)? / composite::geometric_mean(random)?;
    Some((ratio, ratio > COMPRESSES_ABOVE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slow_first_pass_is_a_penalty_and_noise_is_not() {
        let places = |factor: f64| -> Vec<(f64, f64)> {
            let noise = crate::fixture::noisy(81, 24, 1.0, 0.05);
            noise
                .chunks_exact(2)
                .map(|pair| (100.0 * pair[0], 100.0 * factor * pair[1]))
                .collect()
        };
        let slow = penalty(&places(3.0), 0.05).unwrap();
        assert!(slow.present && (slow.ratio.ratio() / 3.0 - 1.0).abs() < 0.05);
        assert!(!penalty(&places(1.0), 0.05).unwrap().present);
        assert!(penalty(&places(1.0)[..5], 0.05).is_err());
    }

    #[test]
    fn compression_shows_in_zeros() {
        assert!(matches!(
            compresses(&[300.0, 330.0], &[100.0, 110.0]),
            Some((_, true))
        ));
        assert!(matches!(compresses(&[101.0], &[100.0]), Some((_, false))));
        assert_eq!(compresses(&[], &[100.0]), None);
    }
}
