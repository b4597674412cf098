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
use schemars::JsonSchema;
use serde::Serialize;

/// Levels are medians of means over this many parts: a limiter makes the sum of the work exact and not every single
/// window, which may hold one of the limiter's time slices more or less.
const PARTS: usize = 10;
/// Such windows make up for each other: neighbours differ in sign (the error of a limiter that counts in slices has
/// -0.5)...
const NEIGHBOURS_MAX: f64 = -0.15;
/// ...and what they are ahead or behind by never runs far, so that the rescaled range of their running sum stays below
/// what independent windows reach; the more clearly neighbours differ, the further it may. Of plateaus of white noise
/// 3 % with 30 windows do so, 0.7 % with 60, 0.1 % with 120.
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
/// A stretch behind the burst that passes, with the same level before it and after, was taken by something else than
/// the limiter if it is no longer than so many windows...
const DIP_MAX: usize = 10;
/// ...and all of them together are at most this share of what is behind the burst.
const DIPS_MAX: f64 = 0.05;
/// The later half of a plateau shows its exactness too where it has so many windows, and neighbours differ clearly:
/// what disturbed the first half is over.
const HALF_MIN: usize = 60;
const NEIGHBOURS_OF_HALF_MAX: f64 = -0.25;
/// The largest drift of a plateau, as a share of its level.
const PLATEAU_DRIFT: f64 = 0.02;
/// What is further from both levels than this share of their distance lies between them.
const BETWEEN: f64 = 0.15;
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
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
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct NotSeen {
    /// For how long the full rate was used, in seconds.
    pub seconds: f64,
    /// The work done meanwhile: a bucket, if there is any, is larger.
    pub work: f64,
}

/// Whether the second series behaved as a bucket would.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// It burst for as long as the rest had refilled: a token bucket.
    TokenBucket,
    /// It did not: a step whose cause is unknown.
    Unknown,
}

/// Looks for a burst in `series`, rates of windows of `window_seconds` each, begun after a rest.
pub fn find(series: &[f64], window_seconds: f64) -> Option<Burst> {
    find_across(series, window_seconds, &[])
}

/// The same in a series of several stretches, of which all but the first begin at the windows `seams`. Between two of
/// them nothing is asked for, and what comes back meanwhile is lent at once: the first window is above the plateau, and
/// belongs to it all the same.
pub(crate) fn find_across(series: &[f64], window_seconds: f64, seams: &[usize]) -> Option<Burst> {
    let mut calm = without_stalls(series, seams)?;
    let segments = change_points::find(&calm, PRACTICAL_STEP)?;
    let (burst, plateau) = two_levels(&mut calm, &segments)?;
    let sustained = plateau.start + TRANSITION_MAX..series.len();
    let settled = sustained.filter(|i| !seams.contains(i));
    let settled: Vec<f64> = settled.map(|i| series[i]).collect();
    let calm_settled = calm.get(plateau.start + TRANSITION_MAX..)?;
    let exact = plateau.len() >= PLATEAU_MIN
        && burst.level >= RATIO_MIN * plateau.level
        && is_plateau(&calm[..burst.end], calm_settled)?
        && transition(series, &burst, &plateau) <= TRANSITION_MAX;
    if !exact {
        return None;
    }
    let sustained_rate = quantile::median(&parts(&settled))?;
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
    let later = &rest[rest.len() / 2..];
    let exact = scatter(rest)? <= allowed
        || make_up_for_each_other(rest, NEIGHBOURS_MAX)?
        || later.len() >= HALF_MIN && make_up_for_each_other(later, NEIGHBOURS_OF_HALF_MAX)?;
    Some(exact && drift.abs() <= PLATEAU_DRIFT)
}

fn make_up_for_each_other(windows: &[f64], neighbours_max: f64) -> Option<bool> {
    let neighbours = within::autocorrelation(windows)?;
    let range = within::rescaled_range(windows)?;
    Some(neighbours <= neighbours_max && range + neighbours <= RANGE_WITH_NEIGHBOURS_MAX)
}

/// The burst and the one plateau behind the largest fall; short stretches in which something else took time away are
/// levelled in `calm` and belong to the plateau, and what they took of the burst, which a limiter does not make exact,
/// belongs to that. `None` where there are more levels, or fewer.
fn two_levels(calm: &mut [f64], segments: &[Segment]) -> Option<(Segment, Segment)> {
    let fall = |i: &usize| segments[i - 1].level - segments[*i].level;
    let split = (1..segments.len()).max_by(|a, b| fall(a).total_cmp(&fall(b)))?;
    let (fast, behind) = segments.split_at(split);
    let end = behind.first()?.start;
    let burst = Segment {
        start: 0,
        end,
        level: quantile::median(&calm[..end])?,
    };
    let plateau = Segment {
        start: end,
        end: calm.len(),
        level: behind.iter().max_by_key(|segment| segment.len())?.level,
    };
    let near = BETWEEN * (burst.level - plateau.level);
    if fast
        .iter()
        .any(|part| (part.level - burst.level).abs() > near)
    {
        return None;
    }
    let differs =
        |segment: &&Segment| (segment.level - plateau.level).abs() > PRACTICAL_STEP * plateau.level;
    let dips = || behind.iter().filter(differs);
    let passing = |dip: &Segment| dip.len() <= DIP_MAX && dip.end < calm.len();
    let all: usize = dips().map(Segment::len).sum();
    if !dips().all(passing) || count(all) > DIPS_MAX * count(plateau.len()) {
        return None;
    }
    for dip in dips() {
        calm[dip.start..dip.end].fill(plateau.level);
    }
    Some((burst, plateau))
}

/// The series with the median of what is around in the place of its few stalls; as it is where there are many.
/// (Hampel's filter: J. Am. Stat. Assoc. 69 (1974) 383-393.) What is above that at one of the `seams` is as well.
/// Only to see the shape: what was done is counted as it was.
fn without_stalls(series: &[f64], seams: &[usize]) -> Option<Vec<f64>> {
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
    for (i, rate) in calm.iter_mut().enumerate() {
        if seams.contains(&i) && off[i] > 0.0 {
            *rate = around[i];
        }
    }
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
    let (low, high) = (plateau.level + BETWEEN * gap, burst.level - BETWEEN * gap);
    let between = |rate: &&f64| **rate > low && **rate < high;
    let before = series[..burst.end].iter().rev().take_while(between).count();
    let behind = series[plateau.start..].iter().take_while(between).count();
    before + behind
}

#[cfg(test)]
mod tests;
