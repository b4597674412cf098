//! When a device counts as preconditioned: the steady-state rule of SNIA's Solid State Storage Performance Test
//! Specification 2.0.2, with one condition more.
//!
//! Over five rounds in a row the largest and the smallest value lie within 20 % of the average, and the best line
//! through them moves by no more than 10 % of it. On slow cliffs that is met before the device has seen its whole span
//! once, so that the gate stays shut until as much has been written as there is to write.

use crate::quantile;
use model::num::count;
use model::units::Bytes;
use schemars::JsonSchema;
use serde::Serialize;

/// The rounds looked at.
pub const ROUNDS: usize = 5;
/// The largest allowed range, as a share of the average.
const RANGE_MAX: f64 = 0.20;
/// The largest allowed movement of the line from the first round to the last, as a share of the average.
const SLOPE_MAX: f64 = 0.10;

/// Why the gate is shut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// Steady: measuring may begin.
    #[serde(rename = "steady")]
    Open,
    /// Fewer than five rounds.
    TooFewRounds,
    /// Less has been written than the span under test.
    NotWritten,
    /// The values of the last five rounds range this far, as a share of their average.
    Ranging(f64),
    /// The line through the last five rounds moves this far, as a share of their average.
    Sloping(f64),
    /// The values have no average to hold a range against.
    NoLevel,
}

/// The gate after `rounds` (in order), of which the last five count, when `written` of a span of `span` is done.
pub fn of(rounds: &[f64], written: Bytes, span: Bytes) -> Gate {
    let Some(first) = rounds.len().checked_sub(ROUNDS) else {
        return Gate::TooFewRounds;
    };
    if written < span {
        return Gate::NotWritten;
    }
    let last = &rounds[first..];
    let sorted = quantile::sorted(last);
    let Some(average) = quantile::mean(last).filter(|mean| mean.is_finite() && *mean > 0.0) else {
        return Gate::NoLevel;
    };
    let range = (sorted[ROUNDS - 1] - sorted[0]) / average;
    if range > RANGE_MAX {
        return Gate::Ranging(range);
    }
    let movement = (least_squares_slope(last) * count(ROUNDS - 1) / average).abs();
    if movement > SLOPE_MAX {
        return Gate::Sloping(movement);
    }
    Gate::Open
}

/// The slope of the best line through values at 0, 1, 2...
fn least_squares_slope(values: &[f64]) -> f64 {
    let middle = count(values.len() - 1) / 2.0;
    let (mut xy, mut xx) = (0.0, 0.0);
    for (i, value) in values.iter().enumerate() {
        xy += (count(i) - middle) * value;
        xx += (count(i) - middle).powi(2);
    }
    xy / xx
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_condition_shuts_the_gate() {
        let gib = |n: u64| Bytes(n << 30);
        let check = |rounds: &[f64], written, expect: fn(Gate) -> bool| {
            let found = of(rounds, written, gib(10));
            assert!(expect(found), "{rounds:?}: {found:?}");
        };
        let open: fn(Gate) -> bool = |gate| gate == Gate::Open;
        check(&[100.0, 101.0, 99.0, 100.0, 100.0], gib(10), open);
        check(&[900.0, 100.0, 101.0, 99.0, 100.0, 100.0], gib(10), open);
        check(&[100.0; 4], gib(10), |gate| gate == Gate::TooFewRounds);
        check(&[100.0; 5], gib(9), |gate| gate == Gate::NotWritten);
        check(&[100.0, 100.0, 125.0, 100.0, 100.0], gib(10), |gate| {
            matches!(gate, Gate::Ranging(_))
        });
        check(&[107.0, 104.0, 100.0, 96.0, 93.0], gib(10), |gate| {
            matches!(gate, Gate::Sloping(_))
        });
        check(&[0.0; 5], gib(10), |gate| gate == Gate::NoLevel);
        check(&[f64::NAN; 5], gib(10), |gate| gate == Gate::NoLevel);
    }
}
