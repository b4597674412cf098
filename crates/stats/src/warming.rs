//! Whether the fixed warm-up of a case was long enough: rounds that still warm up while they are measured.
//!
//! A round must not choose its own cut. All rounds of a case together may say that theirs is too short: the median of
//! their courses is cut where MSER cuts (the rounds take the place of the five windows that are averaged elsewhere),
//! and the start is named only where it surely changes what each round measured. Nothing is cut off for it. Sources:
//! White, Simulation 69 (1997) 323-334; averaging over replications: Hoad, Robinson and Davies, J. Oper. Res. Soc. 61
//! (2010) 1389-1403.

use crate::rounds::CaseRounds;
use crate::state::warmup::surest_cut;
use crate::thresholds::{OPS_PER_WINDOW_MIN, ROUNDS_MIN};
use crate::{quantile, yuen};
use model::num::{approx, count};
use model::record::Measured;
use model::units::Nanos;
use model::warning::Warning;

/// The fewest windows of a round in which a start can be told from a rest.
const WINDOWS_MIN: usize = 4;

/// The smallest effect on a value that is warned about: half of the smallest margin.
const EFFECT_MIN: f64 = 0.01;

/// The level at which the effect must not be 0: low, because the cut was chosen where the start differs most.
const LEVEL: f64 = 0.001;

/// The warning for a case whose rounds were still warming up.
pub(crate) fn warning(rounds: &CaseRounds<'_>) -> Option<Warning> {
    let case = rounds.case;
    let first = case.metrics.first();
    if !first.is_some_and(|first| first.unit.is_rate())
        || rounds.all.iter().any(|round| round.stretch.is_some())
    {
        return None;
    }
    let fine = rounds.done.iter().filter(|measured| is_fine(measured));
    let courses: Vec<&[f64]> = fine.map(|measured| measured.windows.as_slice()).collect();
    let (cut, effect) = start(&courses)?;
    Some(Warning::WarmingUp {
        discarded: case.shape.warmup,
        longer: Nanos(case.shape.window.0.saturating_mul(cut)),
        effect,
    })
}

/// Whether windows hold enough operations: otherwise the first ones are low because nothing can have ended by then.
fn is_fine(measured: &Measured) -> bool {
    let ops: f64 = measured.copies.iter().map(|copy| approx(copy.ops)).sum();
    ops >= OPS_PER_WINDOW_MIN * count(measured.windows.len())
}

/// How many windows at the start of each round differ from the rest, and by which share they change its value; `None`
/// where they do not, or where there is too little to tell.
fn start(courses: &[&[f64]]) -> Option<(u64, f64)> {
    let windows = courses.iter().map(|course| course.len()).min()?;
    if windows < WINDOWS_MIN || crate::rounds::whole(courses.len()) < ROUNDS_MIN {
        return None;
    }
    // Relative to its own round, so that rounds may differ in their levels.
    let relative: Vec<Vec<f64>> = courses
        .iter()
        .map(|course| {
            let mean = quantile::mean(&course[..windows]).filter(|mean| *mean > 0.0)?;
            Some(course[..windows].iter().map(|x| x / mean).collect())
        })
        .collect::<Option<_>>()?;
    let course: Vec<f64> = (0..windows)
        .map(|at| quantile::median(&relative.iter().map(|round| round[at]).collect::<Vec<_>>()))
        .collect::<Option<_>>()?;
    let cut = surest_cut(&course, windows.div_ceil(2)).filter(|cut| *cut > 0)?;
    let effects = relative.iter().map(|round| {
        Some(
            -quantile::mean(&round[cut..])
                .filter(|rest| *rest > 0.0)?
                .ln(),
        )
    });
    let found = yuen::paired(&effects.collect::<Option<Vec<f64>>>()?, LEVEL)?;
    let (lo, hi) = found.ln_ends(LEVEL);
    let effect = found.ratio() - 1.0;
    let sure = lo > 0.0 || hi < 0.0;
    (sure && effect.abs() >= EFFECT_MIN).then_some((u64::try_from(cut).ok()?, effect))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::rounds::RunRounds;
    use model::record::Outcome;
    use model::rng::Rng;
    use model::units::Unit;

    /// Rounds of `windows` windows, of levels of their own, whose windows scatter by `deviation`, neighbours correlated
    /// by `phi`, and whose start is a slow one: `depth` at first, a third of it after every `pace` windows.
    fn rounds(
        rng: &mut Rng,
        (rounds, windows): (usize, usize),
        (deviation, phi): (f64, f64),
        (depth, pace): (f64, f64),
    ) -> Vec<Vec<f64>> {
        (0..rounds)
            .map(|_| {
                let level = 100.0 * (0.03 * rng.normal()).exp();
                let noise = fixture::dependent(rng, windows, phi);
                let slow = |i: usize| 1.0 - depth * 3.0_f64.powf(-count(i) / pace);
                (0..windows)
                    .map(|i| level * slow(i) * (deviation * noise[i]).exp())
                    .collect()
            })
            .collect()
    }

    fn found(rounds: &[Vec<f64>]) -> Option<(u64, f64)> {
        start(&rounds.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn noise_is_hardly_ever_taken_for_a_warm_up() {
        let mut rng = Rng::new(211);
        let repetitions = 1000;
        for shape in [(6, 5), (9, 5), (9, 20), (28, 50)] {
            for noise in [(0.02, 0.0), (0.05, 0.6), (0.2, 0.0), (0.2, 0.8)] {
                let warned = (0..repetitions)
                    .filter(|_| found(&rounds(&mut rng, shape, noise, (0.0, 1.0))).is_some())
                    .count();
                println!("{shape:?} {noise:?}: {warned} of {repetitions}");
                assert!(warned <= repetitions / 100, "{shape:?} {noise:?}: {warned}");
            }
        }
    }

    #[test]
    fn a_slow_start_is_found_with_its_length_and_its_effect() {
        let mut rng = Rng::new(223);
        for (shape, pace) in [((9, 5), 0.5), ((9, 50), 4.0), ((6, 20), 2.0)] {
            let rounds = rounds(&mut rng, shape, (0.01, 0.3), (0.4, pace));
            let (cut, effect) = found(&rounds).unwrap();
            let least = if shape.1 == 5 { 1 } else { 2 };
            assert!((least..=18).contains(&cut), "{shape:?}: {cut}");
            // What the start takes, by the sum over it.
            let lost: f64 = (0..shape.1)
                .map(|i| 0.4 * 3.0_f64.powf(-count(i) / pace) / count(shape.1))
                .sum();
            assert!(
                (effect + lost).abs() < 0.4 * lost,
                "{shape:?}: {effect} {lost}"
            );
        }
    }

    #[test]
    fn what_has_too_little_to_tell_is_not_judged() {
        let slow = vec![50.0, 100.0, 100.0, 101.0, 100.0];
        let expect = found(&vec![slow.clone(); 6]);
        assert!(matches!(expect, Some((1, effect)) if (-0.2..-0.05).contains(&effect)));
        assert_eq!(found(&vec![slow.clone(); 5]), None);
        assert_eq!(found(&vec![slow[..3].to_vec(); 6]), None);
        assert_eq!(found(&vec![vec![0.0; 5]; 6]), None);
        assert_eq!(found(&vec![vec![100.0, 100.0, 99.0, 100.0]; 6]), None);
    }

    #[test]
    fn the_warning_names_what_was_discarded_and_how_much_longer_it_takes() {
        let mut run = fixture::run(&[("os.pipe@1", vec![100.0; 6])]);
        let change = |run: &mut model::record::Run, windows: [f64; 5], ops| {
            for round in &mut run.rounds {
                let Outcome::Done(measured) = &mut round.outcome else {
                    panic!()
                };
                measured.windows = windows.to_vec();
                measured.copies[0].ops = ops;
            }
        };
        let said = |run: &model::record::Run| {
            let rounds = RunRounds::of(run);
            warning(&rounds.cases()[0])
        };
        assert_eq!(said(&run), None);
        change(&mut run, [60.0, 100.0, 100.0, 100.0, 100.0], 1000);
        let Some(Warning::WarmingUp {
            discarded,
            longer,
            effect,
        }) = said(&run)
        else {
            panic!()
        };
        assert_eq!(
            (discarded, longer),
            (Nanos::from_millis(100), Nanos::from_millis(100))
        );
        assert!((effect + 0.08).abs() < 1e-9, "{effect}");
        let mut latency = run.clone();
        latency.plan.cases[0].metrics[0].unit = Unit::Nanoseconds;
        assert_eq!(said(&latency), None, "its windows are not of its unit");
        change(&mut run, [60.0, 100.0, 100.0, 100.0, 100.0], 499);
        assert_eq!(said(&run), None, "whole operations decide");
    }
}
