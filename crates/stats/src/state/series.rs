//! The character of one long series of windows: what may be said about it in one word.
//!
//! The order of the questions matters. A burst comes first, because a rule for warm-up would cut it off. Two states and
//! periods come before "unstable", because both look like many changes of level. A ramp is told from steps by what a
//! straight line explains. Only a steady series may be called by one number.

use super::change_points::{self, Segment};
use super::drift::{self, Drift};
use super::periodic::{self, Period};
use super::two_state::{self, TwoState};
use super::warmup::{self, WarmUp};
use super::{PRACTICAL_STEP, trend};
use crate::burst::{self, Burst};
use crate::quantile;

/// The word for a series.
#[derive(Clone, Debug, PartialEq)]
pub enum Character {
    /// Too short to say, or without positive values.
    Unknown,
    /// Nothing but scatter around one level: its median.
    Steady {
        /// The median of the windows behind the warm-up.
        level: f64,
        /// Windows cut off at the start.
        warm_up: usize,
    },
    /// One change of level.
    Step {
        /// The stretch before it and the stretch behind it.
        segments: [Segment; 2],
    },
    /// A fast start and then an exact plateau.
    Burst(Burst),
    /// A trend over the whole length.
    Ramp(Drift),
    /// Two levels taken in turn.
    TwoState(TwoState),
    /// Something that comes back.
    Periodic(Period),
    /// More changes of level than one number can stand for.
    Unstable {
        /// The stretches.
        segments: Vec<Segment>,
    },
}

/// The fewest windows in which two states are told from scatter.
const STATES_MIN: usize = 60;

/// How much more than the pieces a straight line may leave unexplained and still be preferred: pieces fit better by
/// having more of them.
const LINE_PREFERRED: f64 = 1.1;

/// The character of `series`, rates of windows of `window_seconds` each in time order.
pub fn of(series: &[f64], window_seconds: f64) -> Character {
    let Some(segments) = change_points::find(series, PRACTICAL_STEP) else {
        return Character::Unknown;
    };
    if let Some(burst) = burst::find(series, window_seconds) {
        return Character::Burst(burst);
    }
    let warm_up = warm_up(series, &segments);
    let settled = &series[warm_up..];
    let segments = match change_points::find(settled, PRACTICAL_STEP) {
        Some(found) if warm_up > 0 => found,
        _ => segments,
    };
    let two_state = (settled.len() >= STATES_MIN)
        .then(|| two_state::find(settled))
        .flatten()
        .filter(|found| found.changes >= two_state::CHANGES_MIN);
    if let Some(found) = two_state {
        return Character::TwoState(found);
    }
    if let Some(period) = periodic::find(settled).filter(|found| found.depth >= PRACTICAL_STEP) {
        return Character::Periodic(period);
    }
    let ramp = drift::of(settled).filter(Drift::is_real);
    if let Some(drift) = ramp.filter(|_| is_line(settled, &segments)) {
        return Character::Ramp(drift);
    }
    match segments[..] {
        [_] => Character::Steady {
            level: segments[0].level,
            warm_up,
        },
        [before, behind] => Character::Step {
            segments: [before, behind],
        },
        _ => Character::Unstable { segments },
    }
}

/// The windows to cut off at the start: at most what comes before the first change of level, so that a change is
/// reported and not cut away, and nothing where the series has only one level.
fn warm_up(series: &[f64], segments: &[Segment]) -> usize {
    match (warmup::find(series), segments) {
        // A first stretch of a tenth is a start; a longer one is a state of its own.
        (Some(WarmUp::Cut(cut)), [first, _, ..]) if first.end * 10 <= series.len() => {
            cut.max(first.end)
        }
        _ => 0,
    }
}

/// True where a straight line explains about as much as the stretches do, and these go one way.
fn is_line(series: &[f64], segments: &[Segment]) -> bool {
    let rises = segments
        .windows(2)
        .filter(|pair| pair[1].level > pair[0].level)
        .count();
    let one_way = rises == 0 || rises + 1 == segments.len();
    let pieces: f64 = segments
        .iter()
        .filter_map(|segment| {
            let part = series.get(segment.start..segment.end)?;
            let mean = quantile::mean(part)?;
            Some(part.iter().map(|x| (x - mean).powi(2)).sum::<f64>())
        })
        .sum();
    one_way && trend::line_residual(series).is_some_and(|line| line <= LINE_PREFERRED * pieces)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use model::num::count;

    fn noisy(rng: &mut Rng, n: usize, shape: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n)
            .map(|i| 100.0 * shape(i) * (1.0 + 0.01 * rng.normal()))
            .collect()
    }

    /// How many of a hundred series of `shape` have the character that `expect` accepts.
    fn check(shape: impl Fn(usize) -> f64, at_least: usize, expect: impl Fn(&Character) -> bool) {
        let mut rng = Rng::new(97);
        let mut others = Vec::new();
        for _ in 0..100 {
            let found = of(&noisy(&mut rng, 240, &shape), 1.0);
            if !expect(&found) {
                others.push(found);
            }
        }
        assert!(
            100 - others.len() >= at_least,
            "{} others: {:?}",
            others.len(),
            others.first()
        );
    }

    #[test]
    fn shapes_are_called_by_their_names() {
        check(
            |_| 1.0,
            97,
            |found| matches!(found, Character::Steady { level, warm_up: 0 } if (level - 100.0).abs() < 1.0),
        );
        check(
            |i| if i < 120 { 1.0 } else { 0.8 },
            97,
            |found| matches!(found, Character::Step { segments: [a, b] } if a.level > b.level),
        );
        check(
            |i| 1.0 - 0.3 * count(i) / 240.0,
            97,
            |found| matches!(found, Character::Ramp(drift) if drift.change < -0.2),
        );
        check(
            |i| if i * i / 7 % 5 < 2 { 0.7 } else { 1.0 },
            97,
            |found| matches!(found, Character::TwoState(_)),
        );
        check(
            |i| if i % 12 == 0 { 0.93 } else { 1.0 },
            95,
            |found| matches!(found, Character::Periodic(found) if (found.windows - 12.0).abs() < 0.5),
        );
        check(
            |i| [1.0, 1.6, 0.8, 1.3, 0.5, 1.1][i / 40],
            97,
            |found| matches!(found, Character::Unstable { segments } if segments.len() >= 4),
        );
    }

    #[test]
    fn a_bucket_and_a_warm_up_are_not_confused() {
        let mut rng = Rng::new(99);
        let bucket: Vec<f64> = (0..240)
            .map(|i| {
                if i < 60 {
                    300.0 + 3.0 * rng.normal()
                } else {
                    100.0 + 0.1 * rng.normal()
                }
            })
            .collect();
        assert!(
            matches!(of(&bucket, 1.0), Character::Burst(found) if (found.credit - 12_000.0).abs() < 300.0)
        );
        let cold = noisy(&mut rng, 240, |i| if i < 12 { 0.5 } else { 1.0 });
        let found = of(&cold, 1.0);
        assert!(
            matches!(found, Character::Steady { warm_up, .. } if (10..=30).contains(&warm_up)),
            "{found:?}"
        );
        assert_eq!(of(&[1.0; 5], 1.0), Character::Unknown);
        assert_eq!(of(&[0.0; 100], 1.0), Character::Unknown);
    }
}
