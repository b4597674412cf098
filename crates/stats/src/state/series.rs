//! The character of one long series of windows: what may be said about it in one word.
//!
//! The order of the questions matters. A burst comes first, because a rule for warm-up would cut it off. Two states and
//! periods come before "unstable", because both look like many changes of level. A ramp is told from steps by what a
//! straight line explains, and comes before periods, because the stairs that stand for a ramp come back. Only a steady
//! series may be called by one number.

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
    /// A fast start and then an exact plateau: what a bucket of credit looks like. Only a second series tells whether
    /// it is one ([`Burst::confirm`]).
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

/// A first stretch of up to a tenth of the series is a start; a longer one is a state of its own.
const START_OF: usize = 10;

/// How much more than the pieces a straight line may leave unexplained and still be preferred: pieces fit better by
/// having more of them.
const LINE_PREFERRED: f64 = 1.1;

/// The character of `series`, rates of windows of `window_seconds` each in time order. Made for up to about a thousand
/// windows; [`thin`] longer ones first.
pub fn of(series: &[f64], window_seconds: f64) -> Character {
    match burst::find(series, window_seconds) {
        Some(burst) => Character::Burst(burst),
        None => without_burst(series, series.len()),
    }
}

/// The character of `series` where a burst is none of the answers, and no more than `start_max` windows count as a
/// start. In a soak of a day a slow first hour is not a warm-up.
pub fn without_burst(series: &[f64], start_max: usize) -> Character {
    let Some(segments) = change_points::find(series, PRACTICAL_STEP) else {
        return Character::Unknown;
    };
    let start = segments[0].end;
    let warm_up = if start > start_max {
        0
    } else {
        warm_up(series, &segments)
    };
    let settled = &series[warm_up..];
    let Some(segments) = change_points::find(settled, PRACTICAL_STEP) else {
        return Character::Unknown;
    };
    let two_state = (settled.len() >= STATES_MIN)
        .then(|| two_state::find(settled))
        .flatten()
        .filter(|found| found.changes >= two_state::CHANGES_MIN);
    if let Some(found) = two_state {
        return Character::TwoState(found);
    }
    let ramp = drift::of(settled).filter(Drift::is_real);
    if let Some(drift) = ramp.filter(|_| is_line(settled, &segments)) {
        return Character::Ramp(drift);
    }
    let level = levelled(settled, &segments);
    if let Some(period) = periodic::find(&level).filter(|found| found.depth >= PRACTICAL_STEP) {
        return Character::Periodic(period);
    }
    match segments[..] {
        [_] => Character::Steady {
            level: segments[0].level,
            warm_up,
        },
        [before, behind] => Character::Step {
            segments: [before, behind].map(|segment| segment.later_by(warm_up)),
        },
        _ => Character::Unstable {
            segments: segments
                .iter()
                .map(|segment| segment.later_by(warm_up))
                .collect(),
        },
    }
}

/// The series as means of so many neighbours each that at most `windows_max` are left, and how many that are: the
/// searches here take time with the square of the length. What does not fill a group at the end is left out.
pub fn thin(series: &[f64], windows_max: usize) -> (Vec<f64>, usize) {
    let group = series.len().div_ceil(windows_max.max(1)).max(1);
    let means = series
        .chunks_exact(group)
        .filter_map(quantile::mean)
        .collect();
    (means, group)
}

/// The windows to cut off at the start: nothing where the series has only one level, nothing where its first stretch
/// is too long to be a start, and nothing where that is as much faster as a burst is, which is no warming up: so that a
/// change of level is reported and not cut away.
fn warm_up(series: &[f64], segments: &[Segment]) -> usize {
    let [first, second, ..] = segments else {
        return 0;
    };
    if first.end * START_OF > series.len() || first.level >= burst::RATIO_MIN * second.level {
        return 0;
    }
    match warmup::find(series) {
        Some(WarmUp::Cut(cut)) => cut.max(first.end),
        // What comes later does not settle either, and is called by what it is.
        Some(WarmUp::NeverSettled) | None => first.end,
    }
}

/// The series with every stretch at one level; `None` where it is too short or has no level.
pub(crate) fn level(series: &[f64]) -> Option<Vec<f64>> {
    let segments = change_points::find(series, PRACTICAL_STEP)?;
    Some(levelled(series, &segments))
}

/// The series with every stretch at the level of the first: changes of level would otherwise be taken for a strong
/// dependence of each window on the one before, and what is left of the noise for a period.
fn levelled(series: &[f64], segments: &[Segment]) -> Vec<f64> {
    let mut level = series.to_vec();
    for segment in segments {
        if segment.level <= 0.0 {
            continue;
        }
        for x in &mut level[segment.start..segment.end] {
            *x *= segments[0].level / segment.level;
        }
    }
    level
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
    use model::num::count;
    use model::rng::Rng;
    use proptest::prelude::*;

    fn noisy(rng: &mut Rng, n: usize, shape: impl Fn(usize) -> f64) -> Vec<f64> {
        (0..n)
            .map(|i| 100.0 * shape(i) * (1.0 + 0.02 * rng.normal()))
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
            |i| if i % 12 == 0 { 0.88 } else { 1.0 },
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
            matches!(found, Character::Steady { warm_up, .. } if (10..=60).contains(&warm_up)),
            "{found:?}"
        );
        assert_eq!(of(&[1.0; 5], 1.0), Character::Unknown);
        assert_eq!(of(&[0.0; 100], 1.0), Character::Unknown);
    }

    #[test]
    fn a_fast_start_is_no_warm_up() {
        // What was lent at the start is gone, and one number for what is left would be silent about it.
        check(
            |i| if i < 16 { 2.5 } else { 1.0 },
            97,
            |found| matches!(found, Character::Step { segments: [a, b] } if a.level > 2.0 * b.level),
        );
        check(
            |i| if i < 16 { 1.06 } else { 1.0 },
            90,
            |found| matches!(found, Character::Steady { .. }),
        );
    }

    #[test]
    fn a_change_behind_a_warm_up_is_counted_from_the_start() {
        let mut rng = Rng::new(103);
        let series = noisy(&mut rng, 240, |i| match i {
            0..12 => 0.4,
            12..130 => 0.8,
            _ => 1.0,
        });
        let Character::Step {
            segments: [before, behind],
        } = of(&series, 1.0)
        else {
            panic!("{:?}", of(&series, 1.0))
        };
        assert!((10..=30).contains(&before.start) && behind.end == 240);
        assert!((126..=134).contains(&behind.start), "{behind:?}");
    }

    #[test]
    fn thinning_keeps_the_level() {
        let series: Vec<f64> = (0..1001).map(|i| f64::from(i % 2)).collect();
        let (thin, group) = thin(&series, 100);
        assert_eq!((thin.len(), group), (91, 11));
        assert!((quantile::mean(&thin).unwrap() - 0.5).abs() < 0.01);
        assert_eq!(super::thin(&[1.0], 0), (vec![1.0], 1));
        assert_eq!(super::thin(&[], 9), (vec![], 1));
    }

    proptest! {
        #[test]
        fn no_series_is_refused_with_a_panic(
            series in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..2.0_f64, Just(-1.0)], 0..200),
        ) {
            let found = of(&series, 1.0);
            prop_assert!(series.len() >= 10 || found == Character::Unknown);
        }
    }
}
