//! When a job is steady in fio's sense: over so many looks in a row, either no look lies further from their mean than a
//! limit, or the slope of the line through them is below it. The job ends there. This is not the rule of the SNIA.

use model::job::{Steadiness, SteadyQuantity, SteadyState};
use model::num::{approx, count};
use std::collections::VecDeque;

/// The looks.
#[derive(Clone, Debug)]
pub(super) struct Steady {
    rule: SteadyState,
    /// In ticks of the caller's clock.
    interval: u64,
    ramp: u64,
    looks: VecDeque<Look>,
    wanted: usize,
    began: u64,
    /// When looking begins.
    from: u64,
    now: Sums,
    judged: Option<Judged>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    ops: u64,
    bytes: u64,
    lat_ns: f64,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    iops: f64,
    bytes_per_s: f64,
    lat_ns: f64,
}

/// What the looks came to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Judged {
    mean: f64,
    /// The largest distance from the mean.
    deviation: f64,
    /// Per second.
    slope: f64,
    /// What was compared with the limit.
    criterion: f64,
    attained: bool,
}

impl Steady {
    /// `interval` and `ramp` are in ticks.
    pub(super) fn new(rule: &SteadyState, interval: u64, ramp: u64) -> Self {
        let wanted = rule.duration.0 / rule.interval.0.max(1);
        let wanted = usize::try_from(wanted)
            .unwrap_or(usize::MAX)
            .clamp(2, LOOKS_MAX);
        Self {
            rule: *rule,
            interval,
            ramp,
            looks: VecDeque::with_capacity(wanted + 1),
            wanted,
            began: 0,
            from: 0,
            now: Sums::default(),
            judged: None,
        }
    }

    /// The measured time begins; the ramp is left out of it.
    pub(super) fn begin(&mut self, now: u64) {
        self.from = now + self.ramp;
        self.began = self.from;
        self.now = Sums::default();
        self.looks.clear();
        self.judged = None;
    }

    /// Operations are over.
    #[inline]
    pub(super) fn add(&mut self, ops: u64, bytes: u64, lat_ns: u64) {
        self.now.ops += ops;
        self.now.bytes += bytes;
        self.now.lat_ns += approx(lat_ns) * approx(ops);
    }

    /// Looks where it is time to. True where the job ends with that.
    pub(super) fn judge(&mut self, now: u64, seconds: impl Fn(u64) -> f64) -> bool {
        if now <= self.from {
            self.now = Sums::default();
            return false;
        }
        if now - self.began < self.interval {
            return false;
        }
        let time = seconds(now - self.began);
        let sums = std::mem::take(&mut self.now);
        self.began = now;
        if self.looks.len() == self.wanted {
            self.looks.pop_front();
        }
        self.looks.push_back(Look {
            iops: approx(sums.ops) / time,
            bytes_per_s: approx(sums.bytes) / time,
            lat_ns: sums.lat_ns / approx(sums.ops.max(1)),
        });
        if self.looks.len() < self.wanted {
            return false;
        }
        let judged = self.judged_now();
        self.judged = Some(judged);
        judged.attained
    }

    fn judged_now(&self) -> Judged {
        let values = || {
            self.looks.iter().map(|look| match self.rule.quantity {
                SteadyQuantity::Iops => look.iops,
                SteadyQuantity::Bandwidth => look.bytes_per_s,
                SteadyQuantity::Latency => look.lat_ns,
            })
        };
        let n = count(self.looks.len());
        let mean = values().sum::<f64>() / n;
        let deviation = values()
            .map(|value| (value - mean).abs())
            .fold(0.0, f64::max);
        let middle = (n - 1.0) / 2.0;
        let distances = || (0..self.looks.len()).map(|at| count(at) - middle);
        let over: f64 = distances().zip(values()).map(|(x, y)| x * (y - mean)).sum();
        let under: f64 = distances().map(|x| x * x).sum();
        let slope = over / under / self.rule.interval.as_secs_f64();
        let found = if self.rule.by_slope {
            slope.abs()
        } else {
            deviation
        };
        let criterion = if self.rule.is_percent {
            100.0 * found / mean
        } else {
            found
        };
        Judged {
            mean,
            deviation,
            slope,
            criterion,
            attained: criterion <= self.rule.limit,
        }
    }

    /// What it came to; nothing but the looks where there were too few of them.
    pub(super) fn told(&self) -> Steadiness {
        // What is in per cent of nothing is no number.
        let number = |value: f64| if value.is_finite() { value } else { 0.0 };
        let of = |value: fn(&Judged) -> f64| {
            self.judged
                .as_ref()
                .map_or(0.0, |judged| number(value(judged)))
        };
        Steadiness {
            attained: self.judged.is_some_and(|judged| judged.attained),
            mean: of(|judged| judged.mean),
            deviation: of(|judged| judged.deviation),
            slope: of(|judged| judged.slope),
            criterion: of(|judged| judged.criterion),
            iops: self.looks.iter().map(|look| look.iops).collect(),
            bytes_per_s: self.looks.iter().map(|look| look.bytes_per_s).collect(),
        }
    }
}

/// A day of seconds: more looks are not kept.
const LOOKS_MAX: usize = 86_400;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Nanos;

    fn rule(quantity: SteadyQuantity, by_slope: bool, limit: f64, is_percent: bool) -> SteadyState {
        SteadyState {
            quantity,
            by_slope,
            limit,
            is_percent,
            duration: Nanos::from_secs(5),
            ramp: Nanos::ZERO,
            interval: Nanos::from_secs(1),
        }
    }

    /// After how many seconds a job with these operations per second is steady.
    fn steady_after(rule: &SteadyState, per_second: impl Fn(u64) -> u64, ramp: u64) -> Option<u64> {
        let mut steady = Steady::new(rule, 1000, ramp * 1000);
        steady.begin(0);
        (1..100).find(|&second| {
            let ops = per_second(second);
            steady.add(ops, ops * 4096, ops);
            steady.judge(second * 1000, |ticks| approx(ticks) / 1000.0)
        })
    }

    #[test]
    fn a_level_is_steady_after_its_duration_and_a_ramp_is_left_out() {
        use SteadyQuantity::{Bandwidth, Iops, Latency};
        for quantity in [Iops, Bandwidth, Latency] {
            for by_slope in [false, true] {
                let rule = rule(quantity, by_slope, 1.0, true);
                assert_eq!(steady_after(&rule, |_| 1000, 0), Some(5), "{rule:?}");
                assert_eq!(steady_after(&rule, |_| 1000, 3), Some(8), "{rule:?}");
                // 2,000 for ten seconds, then 1,000: the last of the window must be gone.
                let step = |second| {
                    if second <= 10 {
                        2000 + 100 * second
                    } else {
                        1000
                    }
                };
                assert_eq!(steady_after(&rule, step, 0), Some(15), "{rule:?}");
                assert_eq!(
                    steady_after(&rule, |second| 1000 + 100 * second * second, 0),
                    None,
                    "{rule:?}"
                );
            }
        }
    }

    #[test]
    fn slope_and_deviation_are_the_published_formulas() {
        let mut steady = Steady::new(&rule(SteadyQuantity::Iops, true, 10.0, false), 1000, 0);
        steady.begin(0);
        for (second, ops) in (1..).zip([100, 110, 120, 130, 140]) {
            steady.add(ops, 0, 0);
            let ended = steady.judge(second * 1000, |ticks| approx(ticks) / 1000.0);
            assert_eq!(ended, second == 5, "a slope of 10 is within a limit of 10");
        }
        let told = steady.told();
        let near = |found: f64, value: f64| assert!((found - value).abs() < 1e-9, "{found}");
        near(told.mean, 120.0);
        near(told.slope, 10.0);
        near(told.deviation, 20.0);
        near(told.criterion, 10.0);
        near(told.iops[4], 140.0);
        assert!(told.attained);
    }
}
