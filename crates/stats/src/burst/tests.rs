//! Buckets that are named with their figures, and what is none.

use super::*;
use model::rng::Rng;

/// A limiter with a bucket: rates of one-second windows.
struct Limiter {
    burst: f64,
    sustained: f64,
    credit: f64,
}

impl Limiter {
    fn run(&mut self, windows: usize, rng: &mut Rng) -> Vec<f64> {
        (0..windows)
            .map(|_| {
                let wish = self.burst * (1.0 + 0.01 * rng.normal());
                let rate = wish.min(self.sustained + self.credit);
                self.credit = (self.credit - (rate - self.sustained)).max(0.0);
                rate * (1.0 + 0.001 * rng.normal())
            })
            .collect()
    }
}

#[test]
fn rates_and_credit_are_recovered_and_confirmed() {
    let mut rng = Rng::new(61);
    for _ in 0..200 {
        let sustained = 50.0 + 100.0 * rng.unit();
        let burst = sustained * (1.5 + 4.0 * rng.unit());
        let seconds = 15.0 + 40.0 * rng.unit();
        let credit = seconds * (burst - sustained);
        let mut limiter = Limiter {
            burst,
            sustained,
            credit,
        };
        let found = find(&limiter.run(150, &mut rng), 1.0).unwrap();
        assert!((found.burst_rate / burst - 1.0).abs() < 0.02, "{found:?}");
        assert!(
            (found.sustained_rate / sustained - 1.0).abs() < 0.02,
            "{found:?}"
        );
        assert!(
            (found.credit / credit - 1.0).abs() < 0.05,
            "{found:?} for {credit}"
        );
        assert!((found.burst_seconds / seconds - 1.0).abs() < 0.06);

        let rest = found.rest_seconds();
        limiter.credit = (sustained * rest).min(credit);
        let second = limiter.run(150, &mut rng);
        assert_eq!(
            found.confirm(&second, rest),
            Cause::TokenBucket,
            "{found:?}"
        );
        let never_refilled = limiter.run(150, &mut rng);
        assert_eq!(found.confirm(&never_refilled, rest), Cause::Unknown);
    }
}

#[test]
fn what_came_back_between_two_stretches_is_no_level_of_its_own() {
    let mut rng = Rng::new(64);
    let seams: Vec<usize> = (1..6).map(|n| 30 * n).collect();
    for _ in 0..100 {
        let cut: Vec<f64> = (0..181).map(|_| 3.0 * rng.unit()).collect();
        let series: Vec<f64> = (0..180)
            .map(|i| {
                let level = if i < 20 { 300.0 } else { 100.0 };
                let back = 20.0 + 70.0 * rng.unit();
                let back = if seams.contains(&i) { back } else { 0.0 };
                level + back + cut[i] - cut[i + 1]
            })
            .collect();
        let found = find_across(&series, 1.0, &seams).expect("a burst");
        assert!(
            (found.sustained_rate / 100.0 - 1.0).abs() < 0.005,
            "{found:?}"
        );
        assert!((found.burst_rate / 300.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.credit / 4_000.0 - 1.0).abs() < 0.03, "{found:?}");
        // Five of 160 windows are too many to be a stall of something else.
        assert_eq!(find(&series, 1.0), None);
    }
}

#[test]
fn a_limiter_that_counts_in_slices_is_exact_all_the_same() {
    let mut rng = Rng::new(63);
    for _ in 0..100 {
        // Work is granted in slices: a window holds its rate, give or take what its two ends cut off.
        let cut: Vec<f64> = (0..151).map(|_| 8.0 * rng.unit()).collect();
        let level = |i: usize| if i < 50 { 300.0 } else { 100.0 };
        let series: Vec<f64> = (0..150).map(|i| level(i) + cut[i] - cut[i + 1]).collect();
        let found = find(&series, 1.0).expect("a burst");
        assert!(
            (found.sustained_rate / 100.0 - 1.0).abs() < 0.01,
            "{found:?}"
        );
        assert!((found.burst_rate / 300.0 - 1.0).abs() < 0.01, "{found:?}");
        assert!((found.credit / 10_000.0 - 1.0).abs() < 0.03, "{found:?}");
    }
}

#[test]
fn a_neighbour_that_takes_time_for_a_while_does_not_hide_a_plateau() {
    let mut rng = Rng::new(66);
    let mut found = |dips: &[(usize, usize)]| {
        (0..50)
            .filter(|_| {
                let cut: Vec<f64> = (0..301).map(|_| 8.0 * rng.unit()).collect();
                let level = |i: usize| if i < 40 { 300.0 } else { 100.0 };
                let mut series: Vec<f64> =
                    (0..300).map(|i| level(i) + cut[i] - cut[i + 1]).collect();
                for &(start, end) in dips {
                    series[start..end].iter_mut().for_each(|x| *x *= 0.8);
                }
                let right = |found: Burst| (found.credit / 8_000.0 - 1.0).abs() < 0.03;
                find(&series, 1.0).is_some_and(right)
            })
            .count()
    };
    assert_eq!(found(&[]), 50);
    let one = found(&[(60, 68)]);
    assert!(one >= 48, "{one}");
    assert_eq!(found(&[(60, 75)]), 0, "longer than a dip");
    assert_eq!(
        found(&[(60, 70), (120, 130), (200, 210)]),
        0,
        "more than a twentieth"
    );
    assert_eq!(found(&[(290, 300)]), 0, "nobody knows whether it passes");
}

#[test]
fn a_limiter_whose_slices_seldom_fall_into_the_next_window_is_exact_too() {
    let mut rng = Rng::new(65);
    // A slice of a sixth of a window's due falls into the window that it belongs to, or into the one behind.
    let series = |rng: &mut Rng| -> Vec<f64> {
        let mut late = || {
            if rng.unit() < 0.2 {
                17.0
            } else {
                7.0 * rng.unit()
            }
        };
        let cut: Vec<f64> = (0..301).map(|_| late()).collect();
        let windows = cut.windows(2).enumerate();
        windows
            .map(|(i, cut)| {
                if i < 40 {
                    280.0 + 0.1 * cut[0]
                } else {
                    100.0 + cut[0] - cut[1]
                }
            })
            .collect()
    };
    let found = (0..100)
        .filter_map(|_| find(&series(&mut rng), 1.0))
        .filter(|found| (found.sustained_rate / 100.0 - 1.0).abs() < 0.01)
        .count();
    assert!(found >= 95, "{found}");
    // The same windows in another order make up for nothing.
    let shuffled = (0..100)
        .filter(|_| {
            let mut series = series(&mut rng);
            rng.shuffle(&mut series[40..]);
            find(&series, 1.0).is_some()
        })
        .count();
    assert!(shuffled <= 1, "{shuffled}");
}

#[test]
fn a_stall_does_not_hide_a_plateau_and_many_stalls_are_none() {
    let mut rng = Rng::new(64);
    let mut found = |stalls: &[usize]| {
        (0..50)
            .filter(|_| {
                let cut: Vec<f64> = (0..201).map(|_| 8.0 * rng.unit()).collect();
                let level = |i: usize| if i < 50 { 300.0 } else { 100.0 };
                let mut series: Vec<f64> =
                    (0..200).map(|i| level(i) + cut[i] - cut[i + 1]).collect();
                for &stall in stalls {
                    series[stall] *= 0.1;
                }
                find(&series, 1.0).is_some()
            })
            .count()
    };
    assert_eq!(found(&[]), 50);
    let one = found(&[120]);
    assert!(one >= 48, "{one}");
    let two = found(&[90, 150]);
    assert!(two >= 48, "{two}");
    let many: Vec<usize> = (60..200).step_by(9).collect();
    assert_eq!(found(&many), 0, "a machine that stalls every so often");
}

#[test]
fn a_plain_step_is_not_confirmed_when_the_fast_state_comes_back_for_long() {
    let mut rng = Rng::new(67);
    let mut limiter = Limiter {
        burst: 160.0,
        sustained: 40.0,
        credit: 120.0 * 20.0,
    };
    let found = find(&limiter.run(150, &mut rng), 1.0).unwrap();
    let fast = Limiter {
        burst: 160.0,
        sustained: 40.0,
        credit: 1e9,
    }
    .run(150, &mut rng);
    assert_eq!(found.confirm(&fast, found.rest_seconds()), Cause::Unknown);
    assert_eq!(found.confirm(&[], 10.0), Cause::Unknown);
}

#[test]
fn what_is_no_bucket_is_not_claimed() {
    let mut rng = Rng::new(71);
    for _ in 0..100 {
        let noise: Vec<f64> = (0..150)
            .map(|_| 100.0 * (1.0 + 0.02 * rng.normal()))
            .collect();
        assert_eq!(find(&noise, 1.0), None);
        let seen = not_seen(&noise, 1.0).unwrap();
        assert!((seen.work / 15_000.0 - 1.0).abs() < 0.02 && seen.seconds > 149.0);

        // A slow state of another kind: noisy after the step, or gradual.
        let noisy: Vec<f64> = (0..150)
            .map(|i| if i < 50 { 200.0 } else { 100.0 } * (1.0 + 0.03 * rng.normal()))
            .collect();
        assert_eq!(find(&noisy, 1.0), None);
        assert_eq!(not_seen(&noisy, 1.0), None);
        let gradual: Vec<f64> = (0..150)
            .map(|i| 100.0 + 100.0 / (1.0 + ((f64::from(i) - 50.0) / 4.0).exp()))
            .map(|rate| rate * (1.0 + 0.002 * rng.normal()))
            .collect();
        assert_eq!(find(&gradual, 1.0), None);
    }
    let short = [vec![200.0; 40], vec![100.0; 20]].concat();
    assert_eq!(
        find(&short, 1.0),
        None,
        "the plateau must be seen for a while"
    );
    let rising = [vec![100.0; 40], vec![200.0; 80]].concat();
    assert_eq!(find(&rising, 1.0), None);
}

#[test]
fn a_burst_that_others_disturb_is_one_burst_and_stairs_are_none() {
    let mut rng = Rng::new(68);
    let mut found = |levels: &[f64]| {
        (0..50)
            .filter(|_| {
                let mut series: Vec<f64> = levels
                    .iter()
                    .flat_map(|&level| [level; 12])
                    .map(|level| level * (1.0 + 0.01 * rng.normal()))
                    .collect();
                let cut: Vec<f64> = (0..201).map(|_| 8.0 * rng.unit()).collect();
                series.extend((0..200).map(|i| 100.0 + cut[i] - cut[i + 1]));
                find(&series, 1.0).is_some()
            })
            .count()
    };
    assert_eq!(found(&[300.0, 300.0, 300.0]), 50);
    let disturbed = found(&[300.0, 285.0, 310.0, 295.0]);
    assert!(disturbed >= 48, "{disturbed}");
    assert_eq!(found(&[300.0, 250.0, 200.0, 150.0]), 0);
    assert_eq!(found(&[300.0, 300.0, 200.0]), 0);
}

/// What groups with a bucket got, as it was measured.
const QUOTAS: &str = include_str!("quotas.txt");

#[test]
fn buckets_that_were_measured_are_named_with_their_figures() {
    let mut buckets = 0;
    for line in QUOTAS.lines().filter(|line| !line.starts_with('#')) {
        let (truth, windows) = line.split_once(" : ").unwrap();
        let numbers = |text: &str| -> Vec<f64> {
            let words = text.split(' ');
            words.map(|word| word.parse().unwrap()).collect()
        };
        let found = find(&numbers(windows), 0.5).unwrap_or_else(|| panic!("{truth}: not found"));
        let figures = [found.burst_rate, found.sustained_rate, found.credit];
        let errors = figures
            .iter()
            .zip(numbers(truth))
            .map(|(x, truth)| x / truth - 1.0);
        let errors: Vec<f64> = errors.collect();
        let within = [0.02, 0.02, 0.05];
        let right = errors
            .iter()
            .zip(within)
            .all(|(error, within)| error.abs() <= within);
        assert!(right, "{truth}: {errors:?}");
        buckets += 1;
    }
    assert_eq!(buckets, 8);
}

#[test]
fn white_noise_seldom_makes_up_for_itself() {
    let mut rng = Rng::new(67);
    for (windows, most) in [(30, 4.0), (60, 1.5), (120, 0.5)] {
        let mut noise = || -> Vec<f64> { (0..windows).map(|_| 100.0 + rng.normal()).collect() };
        let exact =
            |series: Vec<f64>| make_up_for_each_other(&series, NEIGHBOURS_MAX) == Some(true);
        let found = (0..4000).filter(|_| exact(noise())).count();
        let share = 100.0 * count(found) / 4000.0;
        println!("white noise of {windows} windows: {share:.2} % make up for each other");
        assert!(share <= most, "{windows}: {share} %");
    }
}
