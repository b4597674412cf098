//! Changes of level in a long series of windows that depend on one another.
//!
//! The series is cut where the sum of squares falls by more than a penalty for each cut (optimal partitioning: Jackson
//! et al., IEEE Signal Process. Lett. 12 (2005) 105-108). The penalty uses the long-run variance, because the usual
//! one, made for independent values, takes what merely depends on its past for changes. Cuts that change the level by
//! less than is worth a word are then taken back. The search is quadratic: series of more than about a thousand windows
//! should be thinned by the caller.

use super::PRACTICAL_STEP;
use crate::quantile;
use model::num::count;

/// The fewest windows between two changes: five seconds of one-second windows.
pub const SEGMENT_MIN: usize = 5;

/// The penalty for a cut, in long-run variances times the logarithm of the length.
const PENALTY: f64 = 3.0;

/// The largest lag-1 correlation that is taken at its word.
const CORRELATION_MAX: f64 = 0.95;

/// The least standard deviation assumed, as a share of the median: no clock measures a rate more finely.
const DEVIATION_MIN: f64 = 0.001;

/// A stretch of one level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// The index of its first window.
    pub start: usize,
    /// The index behind its last window.
    pub end: usize,
    /// The median of its windows.
    pub level: f64,
}

impl Segment {
    /// How many windows it has.
    pub const fn len(&self) -> usize {
        self.end - self.start
    }

    /// The same stretch where `windows` more come before it.
    #[must_use]
    pub const fn later_by(self, windows: usize) -> Self {
        Self {
            start: self.start + windows,
            end: self.end + windows,
            level: self.level,
        }
    }

    /// True for a segment without windows; none of [`find`] is.
    pub const fn is_empty(&self) -> bool {
        self.end == self.start
    }
}

/// The segments of `series`, in order; one where the level never changes by at least `step_min` (a share, such as
/// [`PRACTICAL_STEP`] or twice the instrument's own noise). `None` for series that are shorter than two segments or
/// hold a value that is not finite, and for those whose median is not positive.
pub fn find(series: &[f64], step_min: f64) -> Option<Vec<Segment>> {
    if series.len() < 2 * SEGMENT_MIN {
        return None;
    }
    let median = quantile::median(series).filter(|&median| median > 0.0)?;
    let scaled: Vec<f64> = series.iter().map(|x| x / median).collect();
    let penalty = PENALTY * long_run_variance(&scaled)? * count(series.len()).ln();
    let cuts = partition(&scaled, penalty);
    keep_practical(series, cuts, step_min.max(PRACTICAL_STEP))
}

/// The variance that a mean of many values shows, times their number: robust against changes of level, because it is
/// read off differences of neighbours and of values six apart.
fn long_run_variance(scaled: &[f64]) -> Option<f64> {
    let of_lag = |lag: usize| -> Option<f64> {
        let differences: Vec<f64> = scaled
            .iter()
            .skip(lag)
            .zip(scaled)
            .map(|(b, a)| b - a)
            .collect();
        Some(quantile::robust_deviation(&differences)?.powi(2) / 2.0)
    };
    let near = of_lag(1)?;
    let variance = of_lag(6)?.max(near).max(DEVIATION_MIN.powi(2));
    let r = (1.0 - near / variance).clamp(0.0, CORRELATION_MAX);
    Some(variance * (1.0 + r) / (1.0 - r))
}

/// The starts of the segments (the first is 0) that minimise the sum of squares plus the penalties.
fn partition(scaled: &[f64], penalty: f64) -> Vec<usize> {
    let n = scaled.len();
    let (mut sums, mut squares) = (vec![0.0; n + 1], vec![0.0; n + 1]);
    for (i, x) in scaled.iter().enumerate() {
        // Around 1, where the scaled median lies, so that squares do not drown the differences.
        sums[i + 1] = sums[i] + (x - 1.0);
        squares[i + 1] = squares[i] + (x - 1.0).powi(2);
    }
    let cost = |from: usize, to: usize| {
        let sum: f64 = sums[to] - sums[from];
        squares[to] - squares[from] - sum * sum / count(to - from)
    };
    let mut best = vec![f64::INFINITY; n + 1];
    let mut start_of = vec![0; n + 1];
    best[0] = -penalty;
    for end in SEGMENT_MIN..=n {
        for start in 0..=end - SEGMENT_MIN {
            let total = best[start] + cost(start, end) + penalty;
            if total < best[end] {
                best[end] = total;
                start_of[end] = start;
            }
        }
    }
    let mut starts = Vec::new();
    let mut end = n;
    while end > 0 {
        end = start_of[end];
        starts.push(end);
    }
    starts.reverse();
    starts
}

/// Joins neighbours, the most alike first, until every change is worth a word.
fn keep_practical(series: &[f64], mut starts: Vec<usize>, step_min: f64) -> Option<Vec<Segment>> {
    loop {
        let segments: Vec<Segment> = starts
            .iter()
            .enumerate()
            .map(|(i, &start)| {
                let end = starts.get(i + 1).copied().unwrap_or(series.len());
                Some(Segment {
                    start,
                    end,
                    level: quantile::median(&series[start..end])?,
                })
            })
            .collect::<Option<_>>()?;
        let smallest = segments
            .windows(2)
            .enumerate()
            .map(|(i, pair)| (i + 1, change(pair[0].level, pair[1].level)))
            .min_by(|a, b| a.1.total_cmp(&b.1));
        match smallest {
            Some((index, change)) if change < step_min => starts.remove(index),
            _ => return Some(segments),
        };
    }
}

/// By how much the level changes, as a share of the old one; infinite from zero to anything else.
fn change(from: f64, to: f64) -> f64 {
    let distance = (to - from).abs();
    if distance > 0.0 {
        distance / from.abs()
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::rng::Rng;

    /// An AR(1) series with standard deviation 2 % around 1.
    fn dependent(rng: &mut Rng, n: usize, phi: f64) -> Vec<f64> {
        let series = crate::fixture::dependent(rng, n, phi);
        series.iter().map(|x| 1.0 + 0.02 * x).collect()
    }

    fn percent(mut hit: impl FnMut() -> bool) -> f64 {
        count((0..1000).filter(|_| hit()).count()) / 10.0
    }

    #[test]
    fn dependence_is_not_taken_for_change() {
        // Published rates of false changes for this rule at 120 windows, with room for the error of both simulations.
        let mut rng = Rng::new(41);
        for (phi, at_most) in [(0.0, 0.5), (0.3, 2.0), (0.6, 3.0), (0.8, 8.0)] {
            let wrong = percent(|| {
                let series = dependent(&mut rng, 120, phi);
                find(&series, PRACTICAL_STEP).unwrap().len() > 1
            });
            assert!(wrong <= at_most, "phi {phi}: {wrong} %");
        }
    }

    #[test]
    fn real_changes_are_found() {
        let mut rng = Rng::new(43);
        for (phi, step, at_least) in [
            (0.0, 0.05, 98.0),
            (0.3, 0.05, 96.0),
            (0.6, 0.05, 84.0),
            (0.6, 0.2, 99.0),
            (0.8, 0.2, 99.0),
        ] {
            let found = percent(|| {
                let mut series = dependent(&mut rng, 120, phi);
                series[60..].iter_mut().for_each(|x| *x *= 1.0 - step);
                find(&series, PRACTICAL_STEP).unwrap().len() > 1
            });
            assert!(found >= at_least, "phi {phi}, step {step}: {found} %");
        }
    }

    #[test]
    fn places_and_levels_are_right() {
        let series: Vec<f64> = (0..90)
            .map(|i| [200.0, 100.0, 150.0][i / 30] + count(i % 3))
            .collect();
        let found = find(&series, PRACTICAL_STEP).unwrap();
        let expect = [(0, 30, 201.0), (30, 60, 101.0), (60, 90, 151.0)];
        assert_eq!(found.len(), 3);
        for (segment, (start, end, level)) in found.iter().zip(expect) {
            assert_eq!(
                (segment.start, segment.end, segment.len()),
                (start, end, 30)
            );
            assert!((segment.level - level).abs() < 1e-9 && !segment.is_empty());
        }
        let series = [vec![200.0; 30], vec![100.0; 30], vec![108.0; 30]].concat();
        assert_eq!(find(&series, PRACTICAL_STEP).unwrap().len(), 3);
        assert_eq!(
            find(&series, 0.2).unwrap().len(),
            2,
            "only larger steps were asked for"
        );
    }

    #[test]
    fn what_has_no_level_has_no_segments() {
        assert_eq!(find(&[1.0; 9], PRACTICAL_STEP), None);
        assert_eq!(find(&[0.0; 20], PRACTICAL_STEP), None);
        assert_eq!(find(&[f64::NAN; 20], PRACTICAL_STEP), None);
        assert_eq!(find(&[5.0; 20], PRACTICAL_STEP).unwrap().len(), 1);
        let stalled = [vec![5.0; 20], vec![0.0; 10], vec![5.0; 20]].concat();
        let levels: Vec<f64> = find(&stalled, PRACTICAL_STEP)
            .unwrap()
            .iter()
            .map(|segment| segment.level)
            .collect();
        assert_eq!(levels, [5.0, 0.0, 5.0], "a standstill is a level");
    }
}
