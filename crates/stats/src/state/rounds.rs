//! The state of a case, from its rounds in the order in which they ran and, where they tell more, from its windows.
//!
//! Rounds are few, so that each test is strict: at six rounds of pure noise a word other than `steady` is given in
//! at most one case of fifty (see the tests). A step and a trend are told apart by which of them leaves less
//! unexplained.

use super::trend::{self, Trend};
use super::two_state::{self, TwoState};
use super::{PRACTICAL_STEP, apart, step};
use crate::quantile;
use crate::thresholds::ROUNDS_MIN;
use model::estimate::State;

/// The chance with which noise alone may be called a step, and a trend: with the other words together 2 %.
const ALPHA: f64 = 0.004;
/// The chance with which noise alone may keep rounds from being called steady: at six rounds a trend with one inversion
/// has 1.7 %, and a ramp with one inversion is plain to see.
const POSSIBLE_ALPHA: f64 = 0.04;

/// The fewest values in which two states are told from scatter.
const WINDOWS_MIN: usize = 60;
/// The same for rounds, which depend less on one another than windows do.
const ROUNDS_FOR_STATES: usize = 20;
/// Two states in fewer than [`WINDOWS_MIN`] values must explain this share of the variance; the usual 80 % would call
/// one flat distribution in seven two-state.
const STRICT_SEPARATION: f64 = 0.92;

/// The widest central half of the rounds, as a share of their median, that one number describes. The steady-state
/// rule of SNIA's Solid State Storage Performance Test Specification 2.0.2 allows 20 % for the whole range of five
/// rounds; the half lets a disturbed round or two of nine be what they are.
const SPREAD_MAX: f64 = 0.20;

/// The state of a case. `rounds` are its values in the order in which they ran; `windows` those of all its rounds, in
/// order, in the same unit, or nothing where there are none or they are too coarse to tell.
pub fn of_case(rounds: &[f64], windows: &[f64]) -> State {
    if crate::rounds::whole(rounds.len()) < ROUNDS_MIN {
        return State::Unknown;
    }
    let Some(logs) = quantile::logs(rounds) else {
        return unstable(rounds)
            .or_else(|| some_zeros(rounds))
            .unwrap_or(State::Steady);
    };
    let (means, group) = super::series::thin(&logs, CHANGE_MAX);
    let trend = trend::of(&means, PRACTICAL_STEP);
    change(&means, group, trend.as_ref())
        .or_else(|| two_states(rounds, windows))
        .or_else(|| unstable(rounds))
        .or_else(|| possible_two_states(&logs))
        .or_else(|| possible_drift(&means, trend.as_ref()))
        .unwrap_or(State::Steady)
}

/// False where a series has no level that one number could stand for: its range is to be shown instead.
pub const fn has_single_number(state: &State) -> bool {
    !matches!(state, State::TwoState { .. } | State::Unstable { .. })
}

/// The most values in which a step or a trend is looked for: both take time with the square of their number. Longer
/// lists are looked at as means of neighbours, in which both show as well.
const CHANGE_MAX: usize = 1000;

/// A trend of practical size that is not sure: that it could not be proven does not make the rounds steady.
fn possible_drift(means: &[f64], trend: Option<&Trend>) -> Option<State> {
    let trend = trend.filter(|trend| trend.p_value < POSSIBLE_ALPHA)?;
    Some(State::PossibleDrift {
        change: trend.change(means.len()),
    })
}

/// Of rounds around a level above 0 those that came to nothing, or less. Where nearly all did, that is the level.
fn some_zeros(rounds: &[f64]) -> Option<State> {
    quantile::median(rounds).filter(|&median| median > 0.0)?;
    let zeros = rounds.iter().filter(|&&round| round <= 0.0).count();
    (zeros > 0).then_some(State::PossibleTwoState {
        apart: u32::try_from(zeros).ok()?,
        change: -1.0,
    })
}

/// Rounds that lie apart from the others, so few that more cannot be said.
fn possible_two_states(logs: &[f64]) -> Option<State> {
    let found = apart::find(logs, ROUNDS_FOR_STATES)?;
    Some(State::PossibleTwoState {
        apart: u32::try_from(found.rounds).ok()?,
        change: found.ln_change.exp_m1(),
    })
}

/// A step or a trend, whichever explains more of the logarithms, of which each of `means` stands for `group`.
fn change(means: &[f64], group: usize, trend: Option<&Trend>) -> Option<State> {
    let step = step::strongest(means, ALPHA, PRACTICAL_STEP);
    let trend = trend.filter(|trend| trend.p_value < ALPHA);
    let drifting = |trend: &Trend| State::Drifting {
        change: trend.change(means.len()),
    };
    match (step, trend) {
        (None, None) => None,
        (None, Some(trend)) => Some(drifting(trend)),
        (Some(step), Some(trend)) if trend.unexplained < step.unexplained => Some(drifting(trend)),
        (Some(step), _) => Some(State::Step {
            after: u32::try_from(step.after.checked_mul(group)?).ok()?,
            change: step.change(),
        }),
    }
}

fn two_states(rounds: &[f64], windows: &[f64]) -> Option<State> {
    let of_windows = windows.len() >= WINDOWS_MIN;
    let found = if of_windows {
        two_state::find(windows)
    } else if rounds.len() >= ROUNDS_FOR_STATES {
        two_state::find(rounds)
            .filter(|found| rounds.len() >= WINDOWS_MIN || found.separation >= STRICT_SEPARATION)
    } else {
        None
    };
    let TwoState {
        low,
        high,
        low_share,
        ..
    } = found.filter(|found| found.changes >= two_state::CHANGES_MIN)?;
    Some(State::TwoState {
        low,
        high,
        low_share,
        of_windows,
    })
}

/// Rounds of which the central half is far from one value. Where that value is 0, all of them are held against the
/// mean of what they come to.
fn unstable(rounds: &[f64]) -> Option<State> {
    let sorted = quantile::sorted(rounds);
    let at = |q| quantile::of_sorted(&sorted, q);
    let size = match at(0.5)?.abs() {
        median if median > 0.0 => median,
        _ => quantile::mean(&rounds.iter().map(|round| round.abs()).collect::<Vec<f64>>())?,
    };
    let is_wide = at(0.75)? - at(0.25)? > SPREAD_MAX * size;
    is_wide.then_some(State::Unstable {
        spread: (at(1.0)? - at(0.0)?) / size,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::num::count;
    use model::rng::Rng;

    fn noise(rng: &mut Rng, n: usize, deviation: f64) -> Vec<f64> {
        (0..n)
            .map(|_| 100.0 * (deviation * rng.normal()).exp())
            .collect()
    }

    #[test]
    fn shapes_are_called_by_their_names() {
        let mut rng = Rng::new(3);
        let base = noise(&mut rng, 28, 0.01);
        let shaped = |n: usize, shape: &dyn Fn(usize) -> f64| -> State {
            let values: Vec<f64> = (0..n).map(|i| base[i] * shape(i)).collect();
            of_case(&values, &[])
        };
        assert_eq!(shaped(5, &|_| 1.0), State::Unknown);
        for n in [6, 9, 13, 28] {
            assert_eq!(shaped(n, &|_| 1.0), State::Steady, "{n}");
            let drift = shaped(n, &|i| 1.0 - 0.2 * count(i) / count(n));
            assert!(
                matches!(drift, State::Drifting { change } if change < -0.1),
                "{drift:?}"
            );
        }
        let step = shaped(12, &|i| if i < 5 { 1.0 } else { 0.7 });
        assert!(
            matches!(step, State::Step { after: 5, change } if (change + 0.3).abs() < 0.03),
            "{step:?}"
        );
        let two = shaped(28, &|i| if i % 3 == 0 { 0.7 } else { 1.0 });
        let State::TwoState {
            low,
            high,
            low_share,
            of_windows: false,
        } = two
        else {
            panic!("{two:?}")
        };
        assert!((low - 70.0).abs() < 2.0 && (high - 100.0).abs() < 2.0);
        assert!((low_share - 10.0 / 28.0).abs() < 1e-9);
        let wild = shaped(12, &|i| 1.0 + 0.15 * count(i * 7 % 5));
        assert!(
            matches!(wild, State::Unstable { spread } if spread > 0.3),
            "{wild:?}"
        );
        assert_eq!(
            of_case(&[0.0; 12], &[]),
            State::Steady,
            "a count of 0 throughout"
        );
        assert_eq!(of_case(&[5.0; 12], &[]), State::Steady, "without scatter");
        let nearly = [0.0, -0.0, 0.0, 1e-5, 0.0, -0.0];
        assert_eq!(of_case(&nearly, &[]), State::Steady, "of either sign");
        let sometimes: Vec<f64> = (0..12).map(|i| f64::from(i % 2)).collect();
        let spread = 2.0;
        assert_eq!(of_case(&sometimes, &[]), State::Unstable { spread });
        // None in most of the rounds, and something in the others.
        let seldom = [0.0, 0.0, 3.0, 0.0, 0.0, 5.0, 0.0, 0.0, 9.0, 7.0];
        let spread = 9.0 / 2.4;
        assert_eq!(of_case(&seldom, &[]), State::Unstable { spread });
        let once = [100.0, 101.0, 0.0, 99.0, 100.0, 100.5];
        let (apart, change) = (1, -1.0);
        let outlier = State::PossibleTwoState { apart, change };
        assert_eq!(of_case(&once, &[]), outlier);
        let negative = [-5.0, -5.1, -4.9, -5.0, -5.05, -4.95];
        assert_eq!(of_case(&negative, &[]), State::Steady);
    }

    #[test]
    fn thousands_of_rounds_are_looked_at_as_means_of_neighbours() {
        let mut rng = Rng::new(13);
        let step: Vec<f64> = noise(&mut rng, 20_000, 0.02)
            .iter()
            .enumerate()
            .map(|(i, value)| if i < 8_000 { *value } else { value * 0.9 })
            .collect();
        let found = of_case(&step, &[]);
        assert!(
            matches!(found, State::Step { after: 7_980..=8_020, change } if (change + 0.1).abs() < 0.005),
            "{found:?}"
        );
        let drift: Vec<f64> = (0_u32..)
            .zip(noise(&mut rng, 20_000, 0.02))
            .map(|(i, value)| value * (1.0 + f64::from(i) / 200_000.0))
            .collect();
        let found = of_case(&drift, &[]);
        assert!(
            matches!(found, State::Drifting { change } if (change - 0.1).abs() < 0.01),
            "{found:?}"
        );
        assert_eq!(of_case(&noise(&mut rng, 20_000, 0.02), &[]), State::Steady);
    }

    #[test]
    fn windows_show_two_states_that_rounds_average_away() {
        let mut rng = Rng::new(5);
        let rounds = noise(&mut rng, 12, 0.01);
        let windows: Vec<f64> = noise(&mut rng, 72, 0.01)
            .iter()
            .enumerate()
            .map(|(i, value)| if i % 4 == 0 { value * 0.6 } else { *value })
            .collect();
        let found = of_case(&rounds, &windows);
        assert!(
            matches!(found, State::TwoState { of_windows, .. } if of_windows),
            "{found:?}"
        );
        assert_eq!(of_case(&rounds, &windows[..50]), State::Steady);
    }

    #[test]
    fn rounds_from_250_to_3111_are_not_steady_whatever_lies_between() {
        let mut rng = Rng::new(31);
        for n in [6, 9, 13, 28, 60] {
            for _ in 0..200 {
                let level = 250.0 + 2861.0 * rng.unit();
                let near = |rng: &mut Rng| level * (0.02 * rng.normal()).exp();
                let mut rounds: Vec<f64> = (0..n).map(|_| near(&mut rng)).collect();
                rounds[..2].copy_from_slice(&[250.0, 3111.0]);
                rng.shuffle(&mut rounds);
                assert_ne!(of_case(&rounds, &[]), State::Steady, "{rounds:?}");
            }
        }
    }

    #[test]
    fn a_ramp_that_is_plain_to_see_is_not_called_steady() {
        // Six rounds can prove a trend only where none of them is out of order.
        let check = |rounds: &[f64], expect: fn(&State) -> bool| {
            let found = of_case(rounds, &[]);
            assert!(expect(&found), "{rounds:?}: {found:?}");
        };
        check(
            &[100.0, 102.0, 104.0, 105.5, 105.0, 108.0],
            |found| matches!(found, State::PossibleDrift { change } if (0.06..0.09).contains(change)),
        );
        check(
            &[108.0, 105.0, 105.5, 104.0, 102.0, 100.0],
            |found| matches!(found, State::PossibleDrift { change } if *change < -0.05),
        );
        check(&[100.0, 102.0, 104.0, 105.0, 106.0, 108.0], |found| {
            matches!(found, State::Drifting { .. })
        });
        // The same course, too small to matter.
        check(&[100.0, 100.5, 101.0, 101.4, 101.3, 102.0], |found| {
            *found == State::Steady
        });
        let mut rng = Rng::new(17);
        let steady = (0..200)
            .filter(|_| {
                let rounds: Vec<f64> = noise(&mut rng, 9, 0.01)
                    .iter()
                    .enumerate()
                    .map(|(i, value)| value * (1.0 + 0.01 * count(i)))
                    .collect();
                of_case(&rounds, &[]) == State::Steady
            })
            .count();
        assert!(
            steady <= 4,
            "{steady} of 200 ramps of 8 % are called steady"
        );
    }

    #[test]
    fn only_one_level_has_a_single_number() {
        assert!(has_single_number(&State::Steady));
        assert!(has_single_number(&State::Unknown));
        assert!(!has_single_number(&State::Unstable { spread: 1.0 }));
    }
}
