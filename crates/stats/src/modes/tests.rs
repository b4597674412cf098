//! How often the rule is right, on distributions whose humps are known. Seeds are fixed: the rates are exact.

use super::*;
use model::latency::coarsened;
use model::num::round_to_u64;
use model::rng::Rng;
use std::collections::BTreeMap;

/// A part of a mixture: weight, median in nanoseconds, deviation of the logarithm.
type Part = (f64, f64, f64);

/// Latencies drawn one by one, as a round keeps them.
fn drawn(rng: &mut Rng, n: u64, draw: &dyn Fn(&mut Rng) -> f64) -> Vec<(u64, u64)> {
    let mut counts = BTreeMap::new();
    for _ in 0..n {
        *counts.entry(round_to_u64(draw(rng))).or_insert(0_u64) += 1;
    }
    coarsened(&counts.into_iter().collect::<Vec<_>>())
}

fn mixture(parts: &[Part]) -> impl Fn(&mut Rng) -> f64 + '_ {
    move |rng| {
        let mut left = rng.unit();
        let last = parts.len() - 1;
        let chosen = parts[..last].iter().find(|part| {
            left -= part.0;
            left < 0.0
        });
        let (_, median, deviation) = chosen.unwrap_or(&parts[last]);
        median * (deviation * rng.normal()).exp()
    }
}

/// A large sample without drawing it: the counts of a log-normal on the kept grid with the noise of their size.
fn counted(rng: &mut Rng, n: f64, median: f64, deviation: f64) -> Vec<(u64, u64)> {
    let width = 1.0 / 180.0;
    let bins = round_to_u64(10.0 * deviation / width);
    (0..=bins)
        .filter_map(|bin| {
            let x = approx(bin) * width - 5.0 * deviation;
            let expected = n * width * (-0.5 * (x / deviation).powi(2)).exp()
                / (deviation * std::f64::consts::TAU.sqrt());
            // Rare counts are drawn one by one, frequent ones as what they tend to.
            let found = if expected < 30.0 {
                poisson(rng, expected)
            } else {
                round_to_u64(expected + expected.sqrt() * rng.normal())
            };
            (found > 0).then(|| (round_to_u64(median * x.exp()), found))
        })
        .collect()
}

/// Knuth's count of exponential gaps.
fn poisson(rng: &mut Rng, mean: f64) -> u64 {
    let mut time = rng.exponential();
    let mut events = 0;
    while time < mean {
        events += 1;
        time += rng.exponential();
    }
    events
}

/// In how many of `runs` samples not exactly `humps` are found.
fn wrong(runs: u64, humps: usize, sample: impl Fn(&mut Rng) -> Vec<(u64, u64)>) -> usize {
    (0..runs)
        .filter(|&seed| {
            let mut rng = Rng::stream(101, seed);
            find(&sample(&mut rng)).expect("enough operations").len() != humps
        })
        .count()
}

/// One log-normal of every width and size, so many samples of each.
fn check_one_log_normal(runs: u64, drawn_sizes: &[u64], counted_sizes: &[f64]) {
    for deviation in [0.02, 0.1, 0.3, 0.6, 1.0, 2.0] {
        let said = |n: f64, found: usize| {
            println!(
                "one log-normal, deviation {deviation}, {n} operations: {found} of {runs} wrong"
            );
            assert!(
                count(found) <= 0.01 * approx(runs),
                "{deviation} {n}: {found} of {runs}"
            );
        };
        for &n in drawn_sizes {
            let sample = |rng: &mut Rng| drawn(rng, n, &mixture(&[(1.0, 9e4, deviation)]));
            said(approx(n), wrong(runs, 1, sample));
        }
        for &n in counted_sizes {
            said(n, wrong(runs, 1, |rng| counted(rng, n, 9e4, deviation)));
        }
    }
}

/// A shape with one hump and its name.
type Single<'a> = (&'a str, &'a dyn Fn(&mut Rng) -> f64);

/// Other shapes with one hump.
fn check_other_single_humps(runs: u64, sizes: &[u64]) {
    let exponential = |rng: &mut Rng| 1e5 * rng.exponential() + 2e4;
    let uniform = |rng: &mut Rng| 1e5 * (1.0 + 3.0 * rng.unit());
    let heavy = |rng: &mut Rng| 1e5 * rng.unit().max(1e-9).powf(-0.5);
    let exact = |rng: &mut Rng| 4e6 + 100.0 * rng.normal();
    // A clock that counts in steps of 42 ns, and operations of a few of them.
    let comb = |rng: &mut Rng| 41.67 * (2.0 + 4.0 * rng.exponential()).floor();
    // One in fifty is a stall of 40 ms: a tail.
    let stalls = |rng: &mut Rng| {
        if rng.unit() < 0.02 {
            4e7
        } else {
            1e5 * (0.2 * rng.normal()).exp()
        }
    };
    let shapes: [Single<'_>; 6] = [
        ("exponential", &exponential),
        ("uniform", &uniform),
        ("heavy tail", &heavy),
        ("exact", &exact),
        ("clock", &comb),
        ("stalls", &stalls),
    ];
    for (name, draw) in shapes {
        for &n in sizes {
            let found = wrong(runs, 1, |rng| drawn(rng, n, draw));
            println!("{name}, {n} operations: {found} of {runs} wrong");
            assert!(
                count(found) <= 0.01 * approx(runs),
                "{name} {n}: {found} of {runs}"
            );
        }
    }
}

/// Two log-normals a factor apart, whose widths and sizes and the share of samples that may be missed are given.
fn check_two_humps(runs: u64, factor: f64, cases: &[(f64, u64, f64)]) {
    for &(deviation, n, allowed) in cases {
        for share in [0.2, 0.5, 0.8] {
            let parts = [
                (share, 9e4, deviation),
                (1.0 - share, factor * 9e4, deviation),
            ];
            let found = wrong(runs, 2, |rng| drawn(rng, n, &mixture(&parts)));
            println!(
                "{share} and the rest, {factor} times apart, deviation {deviation}, {n} operations: {found} of {runs} missed"
            );
            assert!(
                count(found) <= allowed * approx(runs),
                "{share} {deviation} {n}: {found} of {runs}"
            );
        }
    }
}

#[test]
fn one_hump_is_one_whatever_its_shape() {
    check_one_log_normal(50, &[200, 1_000], &[1e5, 1e6]);
    check_other_single_humps(50, &[1_000]);
}

#[test]
fn two_humps_a_factor_of_three_apart_are_two() {
    check_two_humps(50, 3.0, &[(0.1, 1_000, 0.0), (0.2, 1_000, 0.0)]);
}

mod slow {
    use super::*;

    #[test]
    #[ignore = "slow: minutes of simulation"]
    fn one_hump_is_called_several_in_at_most_one_percent() {
        check_one_log_normal(1_000, &[200, 1_000, 3_000, 10_000], &[1e5, 1e6]);
        check_other_single_humps(200, &[1_000, 20_000]);
    }

    #[test]
    #[ignore = "slow: minutes of simulation"]
    fn two_humps_are_missed_where_they_melt_into_one() {
        check_two_humps(
            200,
            3.0,
            &[(0.05, 1_000, 0.0), (0.2, 1_000, 0.0), (0.2, 100_000, 0.0)],
        );
        check_two_humps(
            200,
            3.0,
            &[(0.25, 1_000, 0.6), (0.25, 10_000, 0.0), (0.3, 10_000, 1.0)],
        );
        check_two_humps(
            200,
            2.0,
            &[(0.1, 1_000, 0.0), (0.15, 10_000, 0.05), (0.2, 10_000, 1.0)],
        );
    }
}

#[test]
fn humps_have_their_shares_places_and_ranges() {
    let parts = [(0.7, 9e4, 0.15), (0.3, 1.2e6, 0.2)];
    let mut rng = Rng::new(7);
    let pairs = drawn(&mut rng, 20_000, &mixture(&parts));
    let found = find(&pairs).unwrap();
    let [fast, slow] = &found[..] else {
        panic!("{found:?}")
    };
    let near = |a: f64, b: f64, share: f64| assert!((a / b - 1.0).abs() < share, "{a} {b}");
    near(fast.share, 0.7, 0.02);
    near(slow.share, 0.3, 0.04);
    near(fast.peak_ns, 9e4, 0.06);
    near(slow.peak_ns, 1.2e6, 0.06);
    // The 10 % quantile of a normal lies 1.2816 deviations below its middle.
    near(fast.lo_ns, 9e4 * (-1.2816_f64 * 0.15).exp(), 0.03);
    near(slow.hi_ns, 1.2e6 * (1.2816_f64 * 0.2).exp(), 0.03);
    let shares = shares(&found, &pairs);
    assert!(
        (shares[0] - fast.share).abs() < 1e-12 && (shares.iter().sum::<f64>() - 1.0).abs() < 1e-12
    );
}

#[test]
fn three_humps_are_three_and_a_small_one_is_none() {
    let three = [(0.5, 2e3, 0.1), (0.3, 1e5, 0.2), (0.2, 8e6, 0.3)];
    assert_eq!(wrong(100, 3, |rng| drawn(rng, 5_000, &mixture(&three))), 0);
    let small = [(0.97, 1e5, 0.2), (0.03, 8e6, 0.3)];
    assert_eq!(wrong(100, 1, |rng| drawn(rng, 5_000, &mixture(&small))), 0);
}

#[test]
fn too_few_operations_have_no_shape_and_any_pairs_are_survived() {
    assert_eq!(find(&[(1_000, OPERATIONS_MIN - 1)]), None);
    assert_eq!(find(&[]), None);
    let ends = [(0, 500), (60_000_000_000, 500), (u64::MAX, 1), (5, 0)];
    let found = find(&ends).unwrap();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found
            .iter()
            .all(|mode| mode.peak_ns.is_finite() && mode.peak_ns >= 0.0)
    );
    assert!(shares(&found, &[]).is_empty());
    assert_eq!(find(&[(7, 1_000)]).unwrap().len(), 1);
}

#[test]
fn whatever_the_pairs_shares_make_one_and_humps_ascend() {
    for seed in 0..300 {
        let mut rng = Rng::stream(977, seed);
        let pairs: Vec<(u64, u64)> = (0..=rng.below(60))
            .map(|_| (rng.next() >> rng.below(64), rng.below(500)))
            .collect();
        let Some(found) = find(&pairs) else {
            let operations: u64 = pairs.iter().map(|pair| pair.1).sum();
            assert!(operations < OPERATIONS_MIN);
            continue;
        };
        let sum: f64 = found.iter().map(|mode| mode.share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{seed}: {found:?}");
        assert!(
            found
                .iter()
                .all(|mode| mode.share > 0.0 && mode.lo_ns <= mode.hi_ns)
        );
        assert!(
            found.windows(2).all(|pair| pair[0].hi_ns <= pair[1].lo_ns),
            "{seed}: {found:?}"
        );
        for (mode, share) in found.iter().zip(shares(&found, &pairs)) {
            assert!((mode.share - share).abs() < 1e-9);
        }
    }
}
