//! Tests of the looks: their error rates by simulation, and the allocation of time. With `--nocapture` the rates are
//! printed; those on the method page come from here. What the commands make of the looks is simulated in `crate::rule`.

use super::*;
use crate::fixture::noises::{BIMODAL, HEAVY, Noise, OUTLIERS, SD_1, SD_2, SD_4, SD_05};
use crate::yuen::{NoInterval, RatioInterval};
use model::rng::Rng;

const MARGIN: f64 = 0.03;
const REPETITIONS: u32 = 2000;

/// What a comparison concludes at its looks.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Decision {
    /// The verdict at the look.
    verdict: Verdict,
    /// The look: rounds on each side.
    look: u32,
    /// True where no further round is needed.
    done: bool,
    /// The interval at the look's level.
    found: RatioInterval,
}

/// Goes through the looks that both sides reach and stops at the first final verdict; without one, the last look
/// counts. `base` and `other` are in the order in which they ran; above 1 is better for `other` / `base`.
fn decide(base: &[f64], other: &[f64], margin: f64) -> Result<Decision, NoInterval> {
    let (Some(base), Some(other)) = (quantile::logs(base), quantile::logs(other)) else {
        return Err(NoInterval::NotPositive);
    };
    let have = base.len().min(other.len());
    let mut last = None;
    for look in LOOKS {
        let Some(n) = usize::try_from(look).ok().filter(|&n| n <= have) else {
            break;
        };
        let (Some(base), Some(other)) = (yuen::side(&base[..n]), yuen::side(&other[..n])) else {
            break;
        };
        let found = yuen::between(base, other, ALPHA);
        let verdict = verdict::of_interval(found.ln_ends(ALPHA), margin);
        let done = verdict::is_final(verdict);
        last = Some(Decision {
            verdict,
            look,
            done,
            found,
        });
        if done {
            break;
        }
    }
    last.ok_or(NoInterval::TooFewRounds)
}

/// What the whole rule of five looks yields, in percent.
#[derive(Debug)]
struct Rates {
    same: f64,
    beyond: f64,
    wrong_way: f64,
    unsure_size: f64,
    unclear: f64,
    rounds: f64,
}

fn simulate(seed: u64, base: Noise, other: Noise, ratio: f64) -> Rates {
    let mut rng = Rng::new(seed);
    let last = 28;
    let mut rates = Rates {
        same: 0.0,
        beyond: 0.0,
        wrong_way: 0.0,
        unsure_size: 0.0,
        unclear: 0.0,
        rounds: 0.0,
    };
    let percent = 100.0 / f64::from(REPETITIONS);
    for _ in 0..REPETITIONS {
        let a: Vec<f64> = (0..last).map(|_| base(&mut rng).exp()).collect();
        let b: Vec<f64> = (0..last).map(|_| ratio * other(&mut rng).exp()).collect();
        let found = decide(&a, &b, MARGIN).unwrap();
        rates.rounds += f64::from(found.look) / f64::from(REPETITIONS);
        *match found.verdict {
            Verdict::Same => &mut rates.same,
            Verdict::Better => &mut rates.beyond,
            Verdict::Worse => &mut rates.wrong_way,
            Verdict::BetterMaybe | Verdict::WorseMaybe => &mut rates.unsure_size,
            Verdict::Unclear => &mut rates.unclear,
        } += percent;
    }
    rates
}

#[test]
fn the_operating_characteristics_agree_with_an_independent_simulation() {
    // Noise of either side, by how much the other is truly slower, then percent of: same, beyond the margin, size
    // unsure, cannot tell; rounds.
    #[rustfmt::skip]
    let table: &[(Noise, Noise, f64, [f64; 4], f64)] = &[
        (SD_05, SD_05, 0.00, [100.0, 0.0, 0.0, 0.0], 6.0),
        (SD_05, SD_05, 0.05, [0.0, 100.0, 0.0, 0.0], 6.1),
        (SD_05, SD_05, 0.10, [0.0, 100.0, 0.0, 0.0], 6.0),
        (SD_1, SD_1, 0.00, [100.0, 0.0, 0.0, 0.0], 7.0),
        (SD_1, SD_1, 0.05, [0.0, 100.0, 0.0, 0.0], 7.9),
        (SD_1, SD_1, 0.10, [0.0, 100.0, 0.0, 0.0], 6.0),
        (SD_2, SD_2, 0.00, [99.5, 0.0, 0.1, 0.4], 15.0),
        (SD_2, SD_2, 0.05, [0.0, 91.9, 8.1, 0.0], 16.0),
        (SD_2, SD_2, 0.10, [0.0, 100.0, 0.0, 0.0], 6.2),
        (SD_4, SD_4, 0.00, [14.7, 0.1, 2.1, 83.0], 28.0),
        (SD_4, SD_4, 0.05, [0.0, 36.0, 60.5, 3.5], 25.0),
        (SD_4, SD_4, 0.10, [0.0, 100.0, 0.0, 0.0], 8.7),
        (SD_05, SD_4, 0.00, [67.7, 0.1, 1.2, 31.0], 24.0),
        (SD_05, SD_4, 0.05, [0.1, 61.0, 38.7, 0.0], 22.0),
        (SD_05, SD_4, 0.10, [0.0, 100.0, 0.0, 0.0], 7.6),
    ];
    for (row, &(base, other, loss, expect, rounds)) in (1..).zip(table) {
        let found = simulate(row, base, other, 1.0 - loss);
        let percent = [
            found.same,
            found.beyond + found.wrong_way,
            found.unsure_size,
            found.unclear,
        ];
        println!("row {row}: {percent:.1?} {:.1}", found.rounds);
        for (found, expect) in percent.into_iter().zip(expect) {
            // Three standard errors of 2,000 repetitions are at most 3.4; the other simulation has an error of its own.
            assert!((found - expect).abs() <= 4.5, "row {row}: {percent:?}");
        }
        assert!(
            (found.rounds - rounds).abs() <= 0.06 * rounds,
            "row {row}: {found:?}"
        );
    }
}

#[test]
fn equal_servers_are_hardly_ever_called_better_or_worse() {
    let noises = [SD_1, SD_2, SD_4, OUTLIERS, BIMODAL, HEAVY];
    for (index, noise) in (50..).zip(noises) {
        let found = simulate(index, noise, noise, 1.0);
        println!("noise {index}: {found:.2?}");
        assert!(
            found.beyond + found.wrong_way <= 1.0,
            "noise {index}: {found:?}"
        );
    }
    let found = simulate(60, SD_05, SD_4, 1.0);
    assert!(found.beyond + found.wrong_way <= 1.0, "{found:?}");
}

/// 40,000 repetitions give at most 2.63 %; three standard errors of 2,000 come on top.
const SAME_MAX: f64 = 3.7;

#[test]
fn a_difference_as_large_as_the_margin_is_hardly_ever_called_same() {
    let noises = [SD_05, SD_1, SD_2, SD_4, OUTLIERS, BIMODAL, HEAVY];
    for (index, noise) in (70..).zip(noises) {
        let found = simulate(index, noise, noise, 1.0 + MARGIN);
        assert!(found.same <= SAME_MAX, "noise {index}: {found:?}");
        assert!(found.wrong_way <= 0.2, "noise {index}: {found:?}");
    }
    let found = simulate(80, SD_05, SD_4, 1.0 + MARGIN);
    assert!(found.same <= SAME_MAX, "{found:?}");
}

#[test]
fn looks_follow_one_another() {
    let check = |rounds, expect_next, expect_reached| {
        assert_eq!(
            (next(rounds), reached(rounds)),
            (expect_next, expect_reached),
            "{rounds}"
        );
    };
    check(0, Some(6), None);
    check(5, Some(6), None);
    check(6, Some(9), Some(6));
    check(12, Some(13), Some(9));
    check(28, None, Some(28));
    check(99, None, Some(28));
}

#[test]
fn decisions_use_whole_looks_only() {
    let a = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 50.0, 60.0];
    let b = [1.2, 1.21, 1.19, 1.2, 1.22, 1.18, 0.1, 0.1];
    let found = decide(&a, &b, MARGIN).unwrap();
    assert_eq!(
        (found.verdict, found.look, found.done),
        (Verdict::Better, 6, true)
    );
    assert_eq!(decide(&a[..5], &b, MARGIN), Err(NoInterval::TooFewRounds));
    assert_eq!(decide(&[0.0; 6], &b, MARGIN), Err(NoInterval::NotPositive));
}

#[test]
fn the_prediction_agrees_with_what_happens() {
    let mut rng = Rng::new(5);
    let (mut first, mut last) = (0.0, 0.0);
    for _ in 0..500 {
        let values: Vec<f64> = (0..28).map(|_| SD_2(&mut rng).exp()).collect();
        first += yuen::one_sample_half_width(&values[..6], ALPHA).unwrap();
        last += yuen::one_sample_half_width(&values, ALPHA).unwrap();
    }
    let predicted = predicted_half_width(first, 6, 28);
    assert!(
        (predicted / last).ln().abs() < 0.15,
        "{predicted} for {last}"
    );
    assert!((predicted_half_width(0.3, 9, 9) - 0.3).abs() < 1e-12);
    assert!(predicted_half_width(0.3, 1, 9).is_infinite());
}

fn case(rounds: u32, half_width: f64) -> Contender {
    Contender {
        rounds,
        half_width: Some(half_width),
        target: 0.02,
        weight: 1.0,
        seconds_per_round: 1.0,
    }
}

#[test]
fn progress_says_when_to_stop() {
    let check = |case: Contender, seconds, expect| assert_eq!(progress(&case, seconds), expect);
    check(case(6, 0.01), 100.0, Progress::Done);
    check(case(6, 0.03), 100.0, Progress::Until(9));
    // Six rounds are too few to give a case up.
    check(case(6, 1.00), 100.0, Progress::Doubtful(9));
    check(case(9, 1.00), 100.0, Progress::Hopeless);
    check(case(28, 0.03), 100.0, Progress::Exhausted);
    check(case(6, 0.03), 2.0, Progress::Exhausted);
    // What 28 rounds would reach and 9 would not is hopeless only where 28 are not affordable.
    check(case(6, 0.09), 22.0, Progress::Until(9));
    check(case(6, 0.09), 3.0, Progress::Doubtful(9));
    check(case(9, 0.09), 4.0, Progress::Hopeless);
    let fresh = Contender {
        half_width: None,
        rounds: 0,
        ..case(0, 0.0)
    };
    check(fresh, 1.0, Progress::Until(6));
}

#[test]
fn time_goes_where_it_narrows_most() {
    let quiet = case(6, 0.015);
    let near = case(6, 0.024);
    let wide = case(6, 0.06);
    let lost = case(6, 5.0);
    let dear = Contender {
        seconds_per_round: 1000.0,
        ..wide
    };
    assert_eq!(
        allocate(&[quiet, near, wide, lost, dear], 1000.0),
        [6, 9, 19, 9, 6],
        "what looks lost at the first look has a second one"
    );
    assert_eq!(
        allocate(&[lost, near], 4.0),
        [6, 9],
        "of the time that others leave"
    );
    let lost_twice = case(9, 5.0);
    assert_eq!(allocate(&[lost_twice], 1000.0), [9]);
    let found = allocate(&[wide, near], 10.0);
    assert_eq!(
        found,
        [13, 6],
        "the gain for each second is largest where the distance is"
    );
    assert_eq!(allocate(&[wide, near], 0.0), [6, 6]);
    let fresh = Contender {
        half_width: None,
        rounds: 2,
        ..wide
    };
    assert_eq!(
        allocate(&[fresh, fresh], 5.0),
        [6, 2],
        "first looks come first"
    );
    assert_eq!(allocate(&[], 5.0), [] as [u32; 0]);
}

#[test]
fn what_keeps_a_case_from_its_target_is_told_apart() {
    let check = |case: Contender, most, expect| assert_eq!(limit(&case, most), expect, "{case:?}");
    check(case(6, 0.03), 28, TargetLimit::Time);
    check(case(9, 0.5), 28, TargetLimit::Scatter(28));
    check(case(28, 0.05), 28, TargetLimit::Scatter(28));
    check(case(28, 0.03), 28, TargetLimit::Rounds(28));
    check(case(9, 0.03), 9, TargetLimit::Rounds(9));
    check(case(9, 0.5), 9, TargetLimit::Scatter(28));
    // One look is not enough to say that nothing helps.
    check(case(6, 0.5), 28, TargetLimit::Time);
    let fresh = Contender {
        half_width: None,
        ..case(4, 0.0)
    };
    check(fresh, 28, TargetLimit::Time);
    check(fresh, 4, TargetLimit::Rounds(4));
    // Between two looks the half-width is that of the one behind: it is no more hopeless at twelve rounds than at nine.
    let widest = (1..4000)
        .map(|width| f64::from(width) / 10_000.0)
        .rfind(|&width| progress(&case(9, width), f64::INFINITY) == Progress::Until(13))
        .unwrap();
    check(case(12, widest), 28, TargetLimit::Time);
}

#[test]
fn the_allocation_never_exceeds_what_is_left() {
    let mut rng = Rng::new(9);
    for _ in 0..300 {
        let cases: Vec<Contender> = (0..12)
            .map(|_| Contender {
                half_width: Some(0.01 + 0.1 * rng.unit()),
                rounds: LOOKS[rng.index(5)],
                target: 0.02,
                weight: 1.0,
                seconds_per_round: 0.2 + 5.0 * rng.unit(),
            })
            .collect();
        let seconds = 200.0 * rng.unit();
        let cost: f64 = allocate(&cases, seconds)
            .iter()
            .zip(&cases)
            .map(|(&rounds, case)| f64::from(rounds - case.rounds) * case.seconds_per_round)
            .sum();
        assert!(cost <= seconds * (1.0 - RESERVE) + 1e-9);
    }
}

#[test]
fn contenders_know_only_what_a_look_has_shown() {
    let values = crate::fixture::noisy(3, 8, 100.0, 0.02);
    let found = contender(&values, 0.02, 1.5);
    let at_six = yuen::one_sample_half_width(&values[..6], ALPHA);
    assert_eq!((found.rounds, found.half_width), (8, at_six));
    assert_eq!(contender(&values[..4], 0.02, 1.5).half_width, None);
}
