//! Simulation of how often the intervals hold the truth, for the kinds of noise that servers have. With `--nocapture`
//! the rates are printed; those on the method page come from here.

use crate::contrast::{Method, Values, contrast};
use crate::scatter::Spread;
use crate::{order, quantile, walsh, yuen};
use model::comparison::Both;
use model::estimate::Interval;
use model::rng::Rng;

const REPETITIONS: u32 = 2000;

/// What a nominal 95 % interval may cover: the acceptance range of the method page.
const ACCEPTED: std::ops::RangeInclusive<f64> = 93.0..=98.6;

/// The logarithm of one round; the median over many is 0.
type Noise = fn(&mut Rng) -> f64;

const NORMAL: Noise = |rng| 0.02 * rng.normal();
const QUIET: Noise = |rng| 0.005 * rng.normal();
const WILD: Noise = |rng| 0.04 * rng.normal();
const OUTLIERS: Noise = |rng| {
    let stall = if rng.unit() < 0.15 {
        0.3 * rng.exponential()
    } else {
        0.0
    };
    0.02 * rng.normal() - stall
};
const HEAVY: Noise = |rng| {
    let squares: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
    0.02 * rng.normal() / (squares / 3.0).sqrt()
};
/// The same, a quarter as wide.
const HEAVY_QUIET: Noise = |rng| HEAVY(rng) / 4.0;
/// One instance in seven is slower, by 10 % on average.
const BAD: Noise = |rng| {
    let slower = if rng.unit() < 0.15 {
        0.1 * rng.exponential()
    } else {
        0.0
    };
    0.02 * rng.normal() - slower
};
const TWO_HOSTS: Noise = |rng| {
    let host = if rng.unit() < 0.5 { -0.1 } else { 0.1 };
    host + 0.01 * rng.normal()
};

fn draw(rng: &mut Rng, n: usize, noise: Noise) -> Vec<f64> {
    (0..n).map(|_| noise(rng).exp()).collect()
}

/// The interval by this method, without scatter between runs.
fn interval(method: Method, a: &[f64], b: &[f64]) -> Interval {
    let none = Both {
        base: Spread::NONE,
        other: Spread::NONE,
    };
    let found = contrast(method, &Values::of_one(a), &Values::of_one(b), &none, false);
    found.found().unwrap().interval.interval()
}

fn percent(mut hit: impl FnMut() -> bool) -> f64 {
    let hits = (0..REPETITIONS).filter(|_| hit()).count();
    100.0 * model::num::count(hits) / f64::from(REPETITIONS)
}

#[test]
fn the_ratio_of_two_servers_is_covered() {
    let cases: [(&str, Noise, usize, Noise, usize); 14] = [
        ("normal, 6", NORMAL, 6, NORMAL, 6),
        ("normal, 10", NORMAL, 10, NORMAL, 10),
        ("normal, 28", NORMAL, 28, NORMAL, 28),
        ("spread 8, 6", QUIET, 6, WILD, 6),
        ("spread 8, 10", QUIET, 10, WILD, 10),
        ("spread 8, 20 and 8", QUIET, 20, WILD, 8),
        ("outliers, 10", OUTLIERS, 10, OUTLIERS, 10),
        ("outliers, 20", OUTLIERS, 20, OUTLIERS, 20),
        ("outliers, 20 and 8", OUTLIERS, 20, OUTLIERS, 8),
        ("heavy tails, 6", HEAVY, 6, HEAVY, 6),
        ("heavy tails, 10", HEAVY, 10, HEAVY, 10),
        ("heavy tails, 20 and 8", HEAVY, 20, HEAVY, 8),
        ("heavy tails, spread 4, 10", HEAVY_QUIET, 10, HEAVY, 10),
        ("heavy tails, spread 4, 20 and 8", HEAVY_QUIET, 20, HEAVY, 8),
    ];
    let mut rng = Rng::new(101);
    for (name, base, n, other, m) in cases {
        let covered = percent(|| {
            let (a, b) = (draw(&mut rng, n, base), draw(&mut rng, m, other));
            let found = yuen::log_ratio(&a, &b, 0.05).unwrap().interval();
            found.lo <= 1.0 && 1.0 <= found.hi
        });
        println!("ratio, {name}: {covered:.1} %");
        assert!(ACCEPTED.contains(&covered), "{name}: {covered} %");
    }
}

#[test]
fn the_median_of_one_server_is_covered() {
    let mut rng = Rng::new(103);
    // At 7 and 8 rounds the exact coverage is 98.4 and 99.2 %: ranks come in steps.
    for n in [6, 9, 12, 20, 28] {
        for (name, noise) in [("normal", NORMAL), ("heavy", HEAVY), ("outliers", OUTLIERS)] {
            let median = quantile::median(&draw(&mut rng, 400_001, noise)).unwrap();
            let covered = percent(|| {
                let found = order::median_interval(&draw(&mut rng, n, noise), 0.95).unwrap();
                found.lo <= median && median <= found.hi
            });
            println!("median, {name}, {n}: {covered:.1} %");
            assert!(ACCEPTED.contains(&covered), "{name}, {n}: {covered} %");
        }
    }
}

#[test]
fn the_ratio_of_pairs_is_covered_under_drift() {
    let mut rng = Rng::new(107);
    let noises = [
        ("normal", NORMAL, NORMAL),
        ("spread 8", QUIET, WILD),
        ("outliers", OUTLIERS, OUTLIERS),
        ("heavy", HEAVY, HEAVY),
    ];
    for n in [6_u32, 9, 13, 28] {
        for (name, first, second) in noises {
            let covered = percent(|| {
                let mut pair = |i: u32| {
                    let level = 1.0 + 0.02 * f64::from(i);
                    (
                        level * first(&mut rng).exp(),
                        level * second(&mut rng).exp(),
                    )
                };
                let pairs: Vec<(f64, f64)> = (0..n).map(&mut pair).collect();
                let found = walsh::log_ratio(&pairs, 0.05).unwrap().interval();
                found.lo <= 1.0 && 1.0 <= found.hi
            });
            println!("pairs, {name}, {n}: {covered:.1} %");
            assert!(ACCEPTED.contains(&covered), "{name}, {n}: {covered} %");
        }
    }
}

/// What a duel shows: pairs as `compare` reads them.
#[test]
fn the_ratio_of_a_duel_is_covered_whatever_happens_to_both_sides() {
    let mut rng = Rng::new(127);
    let noises: [(&str, Noise, Noise); 4] = [
        ("normal", NORMAL, NORMAL),
        ("spread 8", QUIET, WILD),
        ("outliers", OUTLIERS, OUTLIERS),
        ("heavy tails", HEAVY, HEAVY),
    ];
    for n in [6_u32, 9, 13, 28] {
        for (name, base, other) in noises {
            let covered = percent(|| {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                for pass in 0..n {
                    // The weather of a pass, and a drift of 2 % a pass.
                    let both = 0.1 * rng.normal() + 0.02 * f64::from(pass);
                    a.push((both + base(&mut rng)).exp());
                    b.push((both + other(&mut rng)).exp());
                }
                let found = interval(Method::Pairs, &a, &b);
                found.lo <= 1.0 && 1.0 <= found.hi
            });
            println!("duel, {name}, {n}: {covered:.1} %");
            assert!(ACCEPTED.contains(&covered), "{name}, {n}: {covered} %");
        }
    }
}

#[test]
fn single_runs_would_be_wrong_as_often_as_published() {
    // Two equal servers, one run each: how often do they differ by more than 3 %?
    let mut rng = Rng::new(109);
    for (deviation, expect) in [(0.01, 3.6), (0.02, 30.0), (0.04, 60.0)] {
        let wrong = percent(|| {
            let ratio = (deviation * (rng.normal() - rng.normal())).exp();
            (ratio - 1.0).abs() > 0.03
        });
        assert!((wrong - expect).abs() < 3.0, "{deviation}: {wrong} %");
    }
}

/// What the method page says of the usual shortcuts, for equal servers that are called different instead of 5 %.
#[test]
fn shortcuts_would_be_wrong_as_often_as_published() {
    let mut rng = Rng::new(131);
    let differ = |a: &[f64], b: &[f64]| {
        let found = yuen::log_ratio(a, b, 0.05).unwrap().interval();
        found.lo > 1.0 || found.hi < 1.0
    };
    // Windows thrown together: nine rounds of five, which share what is common to their round.
    for (of_round, bounds) in [(0.01, 10.0..17.0), (0.02, 21.0..28.0), (0.04, 28.0..36.0)] {
        let wrong = percent(|| {
            let mut pooled = || -> Vec<f64> {
                let rounds: Vec<f64> = (0..9).map(|_| of_round * rng.normal()).collect();
                let windows = rounds.iter().flat_map(|round| [*round; 5]);
                windows
                    .map(|round| (round + 0.02 * rng.normal()).exp())
                    .collect()
            };
            let (a, b) = (pooled(), pooled());
            differ(&a, &b)
        });
        println!(
            "windows of 2 % in rounds of {of_round}, thrown together: {wrong:.1} % called different"
        );
        assert!(bounds.contains(&wrong), "{of_round}: {wrong} %");
    }
    for (name, noise) in [("normal", NORMAL), ("heavy tails", HEAVY)] {
        let wrong = percent(|| {
            let (a, b) = (draw(&mut rng, 28, noise), draw(&mut rng, 28, noise));
            (6..=28).any(|n| differ(&a[..n], &b[..n]))
        });
        println!("looked at after every round, {name}: {wrong:.1} % called different");
        assert!((18.0..25.0).contains(&wrong), "{name}: {wrong} %");
    }
}

#[test]
fn the_ratio_of_two_plans_is_covered() {
    let cases: [(&str, Noise, Noise); 6] = [
        ("normal", NORMAL, NORMAL),
        ("spread 8", QUIET, WILD),
        ("spread 1/8", WILD, QUIET),
        ("bad instances", BAD, BAD),
        ("heavy tails", HEAVY, HEAVY),
        ("two kinds of host", TWO_HOSTS, TWO_HOSTS),
    ];
    let mut rng = Rng::new(113);
    for (n, m) in [(5, 5), (5, 8), (8, 8)] {
        for (name, base, other) in cases {
            let covered = percent(|| {
                let (a, b) = (draw(&mut rng, n, base), draw(&mut rng, m, other));
                let found = interval(Method::Runs, &a, &b);
                found.lo <= 1.0 && 1.0 <= found.hi
            });
            println!("plans, {name}, {n} and {m}: {covered:.1} %");
            assert!(ACCEPTED.contains(&covered), "{name}, {n} {m}: {covered} %");
        }
    }
}
