//! Burst credit: a rate that is sold as a loan.
//!
//! Cloud disks, networks and CPUs often run fast until a bucket of credit is empty and then exactly at a lower rate;
//! at rest the bucket refills. A test that ends before the bucket does reports the loan as the income. Found here is a
//! series with exactly two levels, the second an exact plateau, reached abruptly; thermal throttling and full caches
//! are gradual or saw-toothed. It is called a bucket only after a second series, begun after a rest, has lasted as
//! long as the refill allows: until then it is a step of unknown cause.

use crate::quantile;
use crate::state::PRACTICAL_STEP;
use crate::state::change_points::{self, Segment};
use crate::state::trend;
use crate::within;
use model::num::{count, round_to_usize};

/// Levels are medians of means over this many parts: a limiter makes the sum of the work exact and not every single
/// window, which may hold one of the limiter's time slices more or less.
const PARTS: usize = 10;
/// Such windows make up for each other: neighbours differ in sign (the error of a limiter that counts in slices has
/// -0.5)...
const NEIGHBOURS_MAX: f64 = -0.15;
/// ...and what they are ahead or behind by never runs far, so that the rescaled range of their running sum stays below
/// what independent windows reach; the more clearly neighbours differ, the further it may. Of plateaus of white noise 3 %
/// with 30 windows do so, 0.7 % with 60, 0.1 % with 120.
const RANGE_WITH_NEIGHBOURS_MAX: f64 = 0.4;
/// The least ratio of the first level to the second.
pub(crate) const RATIO_MIN: f64 = 1.15;
/// The largest scatter of an exact plateau, as a share of its level...
const PLATEAU_SCATTER: f64 = 0.01;
/// ...or as a share of the scatter of the burst's windows, where that is larger.
const PLATEAU_SCATTER_OF_BURST: f64 = 1.0 / 3.0;
/// Windows that lie further from the median of so many neighbours on either side...
const STALL_NEIGHBOURS: usize = 5;
/// ...than so many robust standard deviations were stalled by something else than the limiter, where they are few: one
/// stall of a second hides the exactness of two minutes...
const STALL_DEVIATIONS: f64 = 4.0;
/// ...and few are at most this share.
const STALLS_MAX: f64 = 0.02;
/// The largest drift of a plateau, as a share of its level.
const PLATEAU_DRIFT: f64 = 0.02;
/// The most windows between the two levels.
const TRANSITION_MAX: usize = 2;
/// The fewest windows of plateau.
const PLATEAU_MIN: usize = 30;
/// The longest rest before the second series, in seconds.
const REST_MAX: f64 = 120.0;
/// How far the second burst may miss its predicted length, as a share of it, and in windows.
const CONFIRM_SHARE: f64 = 0.25;
const CONFIRM_WINDOWS: f64 = 2.0;

/// What looks like a bucket of credit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Burst {
    /// The rate while credit lasts: the median of the means over its parts, in the unit of the series.
    pub burst_rate: f64,
    /// The rate afterwards, likewise.
    pub sustained_rate: f64,
    /// How long the burst lasted, in seconds.
    pub burst_seconds: f64,
    /// The credit spent: the work above the sustained rate, in the unit of the series times seconds.
    pub credit: f64,
    /// How far the credit may be off: one window of the difference between the rates.
    pub credit_error: f64,
    /// The length of a window in seconds.
    pub window_seconds: f64,
    /// What a CPU second was worth, in the unit of the rates times seconds, where CPU time is what was lent; `None`
    /// where it was work.
    pub per_cpu_second: Option<f64>,
}

/// What is known where no throttle was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NotSeen {
    /// For how long the full rate was used, in seconds.
    pub seconds: f64,
    /// The work done meanwhile: a bucket, if there is any, is larger.
    pub work: f64,
}

/// Whether the second series behaved as a bucket would.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// It burst for as long as the rest had refilled: a token bucket.
    TokenBucket,
    /// It did not: a step whose cause is unknown.
    Unknown,
}

/// Looks for a burst in `series`, rates of windows of `window_seconds` each, begun after a rest.
pub fn find(series: &[f64], window_seconds: f64) -> Option<Burst> {
    let calm = without_stalls(series)?;
    let segments = change_points::find(&calm, PRACTICAL_STEP)?;
    let [burst, plateau] = segments[..] else {
        return None;
    };
    let settled = series.get(plateau.start + TRANSITION_MAX..)?;
    let calm_settled = calm.get(plateau.start + TRANSITION_MAX..)?;
    let exact = plateau.len() >= PLATEAU_MIN
        && burst.level >= RATIO_MIN * plateau.level
        && is_plateau(&calm[..burst.end], calm_settled)?
        && transition(series, &burst, &plateau) <= TRANSITION_MAX;
    if !exact {
        return None;
    }
    let sustained_rate = quantile::median(&parts(settled))?;
    let burst_rate = quantile::median(&parts(&series[..burst.end]))?;
    // The windows of the transition hold the end of the credit: they count as far as they exceed the plateau.
    let spent: f64 = series[..plateau.start + TRANSITION_MAX]
        .iter()
        .map(|rate| rate - sustained_rate)
        .sum();
    Some(Burst {
        burst_rate,
        sustained_rate,
        burst_seconds: spent / (burst_rate - sustained_rate) * window_seconds,
        credit: spent * window_seconds,
        credit_error: (burst_rate - sustained_rate) * window_seconds,
        window_seconds,
        per_cpu_second: None,
    })
}

/// What a series without any change of level says about buckets.
pub fn not_seen(series: &[f64], window_seconds: f64) -> Option<NotSeen> {
    let segments = change_points::find(series, PRACTICAL_STEP)?;
    (segments.len() == 1).then(|| NotSeen {
        seconds: count(series.len()) * window_seconds,
        work: series.iter().sum::<f64>() * window_seconds,
    })
}

impl Burst {
    /// A burst found in CPU seconds a second, in the work that a CPU second is `worth`.
    #[must_use]
    pub(crate) fn priced(self, worth: f64) -> Self {
        Self {
            burst_rate: self.burst_rate * worth,
            sustained_rate: self.sustained_rate * worth,
            credit: self.credit * worth,
            credit_error: self.credit_error * worth,
            per_cpu_second: Some(worth),
            ..self
        }
    }

    /// The credit in CPU seconds, where CPU time is what was lent.
    pub fn credit_cpu_seconds(&self) -> Option<f64> {
        Some(self.credit / self.per_cpu_second?)
    }

    /// How long to rest before the second series: half of what would refill the bucket, at most two minutes.
    pub fn rest_seconds(&self) -> f64 {
        (self.credit / (2.0 * self.sustained_rate)).min(REST_MAX)
    }

    /// How long the second series should burst after a rest of `rest_seconds`: what was refilled, spent at the
    /// difference between the rates.
    pub fn second_burst_seconds(&self, rest_seconds: f64) -> f64 {
        let refilled = (self.sustained_rate * rest_seconds).min(self.credit);
        refilled / (self.burst_rate - self.sustained_rate)
    }

    /// Judges the `second` series, begun after a rest of `rest_seconds`.
    pub fn confirm(&self, second: &[f64], rest_seconds: f64) -> Cause {
        let expect = self.second_burst_seconds(rest_seconds);
        // Counted directly: after a short rest the burst is too short for a change point.
        let middle = f64::midpoint(self.burst_rate, self.sustained_rate);
        let windows = second.iter().take_while(|&&rate| rate > middle).count();
        let found = count(windows) * self.window_seconds;
        let allowed = (CONFIRM_SHARE * expect).max(CONFIRM_WINDOWS * self.window_seconds);
        let settles = second.len() > windows + round_to_usize(CONFIRM_WINDOWS)
            && second[windows + 1..]
                .iter()
                .filter(|&&rate| rate > middle)
                .count()
                * 10
                <= second.len() - windows;
        if windows > 0 && settles && (found - expect).abs() <= allowed {
            Cause::TokenBucket
        } else {
            Cause::Unknown
        }
    }
}

/// True where `rest` is as exact as only a limiter makes it.
fn is_plateau(burst: &[f64], rest: &[f64]) -> Option<bool> {
    let scatter = |part: &[f64]| Some(quantile::robust_deviation(part)? / quantile::median(part)?);
    let allowed = PLATEAU_SCATTER.max(PLATEAU_SCATTER_OF_BURST * scatter(burst)?);
    let drift = trend::theil_sen(rest)? * count(rest.len()) / quantile::median(rest)?;
    let neighbours = within::autocorrelation(rest)?;
    let made_up_for = neighbours <= NEIGHBOURS_MAX
        && within::rescaled_range(rest)? + neighbours <= RANGE_WITH_NEIGHBOURS_MAX;
    Some((scatter(rest)? <= allowed || made_up_for) && drift.abs() <= PLATEAU_DRIFT)
}

/// The series with the median of what is around in the place of its few stalls; as it is where there are many.
/// (Hampel's filter: J. Am. Stat. Assoc. 69 (1974) 383-393.) Only to see the shape: what was done is counted as it was.
fn without_stalls(series: &[f64]) -> Option<Vec<f64>> {
    let around: Vec<f64> = (0..series.len())
        .filter_map(|i| {
            let end = (i + STALL_NEIGHBOURS + 1).min(series.len());
            quantile::median(&series[i.saturating_sub(STALL_NEIGHBOURS)..end])
        })
        .collect();
    let away = |(x, level): (&f64, &f64)| x - level;
    let off: Vec<f64> = series.iter().zip(&around).map(away).collect();
    let usual = STALL_DEVIATIONS * quantile::robust_deviation(&off)?;
    let is_stall = |off: f64| off.abs() > usual;
    let stalls = off.iter().filter(|&&off| is_stall(off)).count();
    let mut calm = series.to_vec();
    if count(stalls) <= STALLS_MAX * count(series.len()) {
        for ((rate, level), off) in calm.iter_mut().zip(&around).zip(&off) {
            if is_stall(*off) {
                *rate = *level;
            }
        }
    }
    Some(calm)
}

/// Means over so many parts of `series`; the values themselves where there are fewer.
fn parts(series: &[f64]) -> Vec<f64> {
    series
        .chunks_exact((series.len() / PARTS).max(1))
        .filter_map(quantile::mean)
        .collect()
}

/// How many windows around the change lie clearly between the levels.
fn transition(series: &[f64], burst: &Segment, plateau: &Segment) -> usize {
    let gap = burst.level - plateau.level;
    let (low, high) = (plateau.level + 0.15 * gap, burst.level - 0.15 * gap);
    let between = |rate: &&f64| **rate > low && **rate < high;
    let before = series[..burst.end].iter().rev().take_while(between).count();
    let behind = series[plateau.start..].iter().take_while(between).count();
    before + behind
}

#[cfg(test)]
mod tests {
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
}
