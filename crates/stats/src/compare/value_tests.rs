//! Tests of what stands beside a ratio: its values, and what the rounds of either side look like.

use super::*;
use crate::fixture::{self, noisy};
use model::record::Outcome;

const DEFAULTS: CompareOptions<'static> = CompareOptions {
    margin: None,
    earlier: &[],
    scatter: Some(0.0),
};

#[test]
fn the_values_beside_a_ratio_point_the_way_it_points() {
    // The medians are 100 and 99, the trimmed means the other way round.
    let base = vec![95.0, 96.0, 97.0, 98.0, 100.0, 100.5, 101.0, 101.0, 101.5];
    let other = vec![98.0, 98.0, 98.5, 98.8, 99.0, 104.0, 105.0, 106.0, 107.0];
    let rates = |values: &[f64]| fixture::run(&[("os.pipe@1", values.to_vec())]);
    let found = compare(&rates(&base), &rates(&other), &DEFAULTS)
        .metrics
        .remove(0);
    let (a, b) = (found.values.base.unwrap(), found.values.other.unwrap());
    assert_eq!(found.medians, (Some(100.0), Some(99.0)).into());
    assert!(found.ratio.unwrap() > 1.0 && b > a, "{found:?}");
    assert!((b / a - found.ratio.unwrap()).abs() < 1e-12);
    // Where less is better, the ratio is the other way up.
    let latency = |values: Vec<f64>| {
        let mut run = fixture::run(&[("os.pipe@1", values)]);
        run.plan.cases[0].metrics[0].better = Better::Lower;
        run
    };
    let found = compare(&latency(base), &latency(other), &DEFAULTS)
        .metrics
        .remove(0);
    let (a, b) = (found.values.base.unwrap(), found.values.other.unwrap());
    assert!(found.ratio.unwrap() < 1.0 && b > a);
    assert!((a / b - found.ratio.unwrap()).abs() < 1e-12);
}

#[test]
fn a_comparison_says_of_each_run_what_the_run_says_of_itself() {
    let cases = |base: &Run, other: &Run| {
        let found = compare(base, other, &DEFAULTS);
        for (run, states) in [
            (base, &found.metrics[0].states.base),
            (other, &found.metrics[0].states.other),
        ] {
            let own = crate::summarize(run).remove(0).state;
            let expect = model::comparison::RunState {
                run: run.meta.id.clone(),
                state: own,
            };
            assert_eq!(states[..], [expect]);
        }
        found.metrics[0].states.clone()
    };
    let steady = fixture::run(&[("os.pipe@1", noisy(1, 12, 100.0, 0.01))]);
    let torn = fixture::run(&[("os.pipe@1", noisy(2, 12, 100.0, 0.6))]);
    let states = cases(&steady, &torn).other;
    assert!(!crate::state::has_single_number(&states[0].state));
    // Two states that only the windows show.
    let mut turns = fixture::run(&[("os.pipe@1", noisy(4, 12, 100.0, 0.002))]);
    for (i, round) in turns.rounds.iter_mut().enumerate() {
        let Outcome::Done(measured) = &mut round.outcome else {
            panic!()
        };
        measured.windows = match i % 3 {
            0 => vec![100.0, 200.0, 100.0, 200.0, 200.0],
            1 => vec![200.0, 200.0, 100.0, 100.0, 200.0],
            _ => vec![200.0, 100.0, 200.0, 200.0, 100.0],
        };
        measured.copies[0].ops = 8000;
    }
    let states = cases(&turns, &steady).base;
    let two = matches!(states[0].state, model::estimate::State::TwoState { .. });
    assert!(two, "{states:?}");
}
