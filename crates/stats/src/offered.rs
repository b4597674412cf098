//! Latency by offered load: what operations take that arrive by themselves, at shares of the most that another case
//! came to ([`Role::Offered`]).
//!
//! Work that arrives does not wait for what came before it, so that a latency counts from its intended start: near the
//! most that storage can do the queue grows, and with it what everybody waits. How many rounds have a slow tail of
//! their own differs with the rate, which is why the thousandth is that of all rounds together.

use crate::quantile;
use model::estimate::{Interval, MetricSummary};
use model::latency::{self, LAT};
use model::num::approx;
use model::order::Order as _;
use model::plan::{CaseId, MetricId, PlannedCase};
use model::record::{Outcome, Run};
use model::spec::{How, Role, Stat};

/// The share of what arrived that must have been done, or the queue grew. As for the note of the round itself.
const DONE_MIN: f64 = 0.95;

/// Operations that lie beyond a quantile at least, or it is not told.
const BEYOND_MIN: f64 = 10.0;

/// A case's most, and what operations take at shares of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    /// The metric that all rates are shares of.
    pub of: MetricId,
    /// What it came to.
    pub most: f64,
    /// The least load first.
    pub points: Vec<Point>,
}

/// What operations take at a rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The case.
    pub case: CaseId,
    /// Which latency it is, as the rounds keep it.
    pub latency: String,
    /// Operations per second that arrived, for all copies together.
    pub offered: f64,
    /// The same as a share of the most.
    pub share: f64,
    /// Operations per second that were done; `None` where no round tells.
    pub done: Option<f64>,
    /// True where fewer were done than arrived, beyond doubt.
    pub fell_behind: bool,
    /// The median in nanoseconds.
    pub p50: Option<Figure>,
    /// What one of a hundred takes or longer, in nanoseconds.
    pub p99: Option<Figure>,
    /// What one of a thousand takes or longer, of all rounds together, in nanoseconds.
    pub p999: Option<f64>,
}

/// Whether so little of what arrived was done that the queue grew.
fn is_behind(done: f64, offered: f64) -> bool {
    done < DONE_MIN * offered
}

/// Arrivals scatter by the root of their number; nothing is made of less than so many times that.
const DEVIATIONS: f64 = 3.0;

/// The same of a rate of arrivals that came by chance for so many seconds: what is missing must be more than chance.
pub fn is_behind_chance(done: f64, offered: f64, seconds: f64) -> bool {
    let arrived = offered * seconds;
    let missed = arrived * (1.0 - done / offered);
    is_behind(done, offered) && missed > DEVIATIONS * arrived.sqrt()
}

impl Point {
    /// True where what arrived was done, as far as the medians of the rounds tell.
    pub fn kept_up(&self) -> bool {
        self.done.is_some_and(|done| !is_behind(done, self.offered))
    }
}

/// The median of the rounds, with its interval where they have one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figure {
    /// The median.
    pub value: f64,
    /// Its interval.
    pub interval: Option<Interval>,
}

/// The curves of a run, one for each metric that rates are shares of, in the order of the plan.
pub fn curves(run: &Run, metrics: &[MetricSummary]) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    for case in &run.plan.cases {
        let Some((of, most, point)) = point(run, case, metrics) else {
            continue;
        };
        match curves.iter_mut().find(|curve| curve.of == *of) {
            Some(curve) => curve.points.push(point),
            None => curves.push(Curve {
                of: of.clone(),
                most,
                points: vec![point],
            }),
        }
    }
    for curve in &mut curves {
        curve.points.order_by(|a, b| a.share.total_cmp(&b.share));
    }
    curves
}

fn point<'a>(
    run: &Run,
    case: &'a PlannedCase,
    metrics: &[MetricSummary],
) -> Option<(&'a MetricId, f64, Point)> {
    let found = |case: &CaseId, quantity: &str| {
        let mut all = metrics.iter();
        figure(all.find(|metric| metric.id.case == *case && metric.id.quantity == quantity)?)
    };
    let (of, rate) = (case.needs.as_ref()?, case.acting(Role::Offered)?);
    let most = found(&of.case, &of.quantity)?.value;
    let offered = found(&case.id, &rate.quantity)?.value * f64::from(case.id.copies);
    let done = found(&case.id, &of.quantity);
    let most_done = done.and_then(|done| done.interval).map(|ends| ends.hi);
    let latency = latency_of(case)?;
    let of_rounds = |q: f64| {
        let is_it = |how: &How<String>| *how == How::Of(latency.to_owned(), Stat::Quantile(q));
        let metric = case.metrics.iter().find(|metric| is_it(&metric.how))?;
        found(&case.id, &metric.quantity)
    };
    let point = Point {
        case: case.id.clone(),
        latency: latency.to_owned(),
        offered,
        share: offered / most,
        done: done.map(|done| done.value),
        fell_behind: most_done.is_some_and(|most| is_behind(most, offered)),
        p50: of_rounds(0.5),
        p99: of_rounds(0.99),
        p999: rare(&pooled(run, &case.id, latency), 0.999),
    };
    (most > 0.0).then_some((of, most, point))
}

/// The latency that counts from the intended start: of all operations, or of the first kind that the case has.
fn latency_of(case: &PlannedCase) -> Option<&str> {
    let names = case.metrics.iter().filter_map(|metric| match &metric.how {
        How::Of(name, _) => Some(name.as_str()),
        _ => None,
    });
    let mut of_whole = names.filter(|name| name.rsplit('_').next() == Some(LAT));
    of_whole.next()
}

/// The estimate, or the median of rounds that one number does not describe.
fn figure(metric: &MetricSummary) -> Option<Figure> {
    let estimate = metric.estimate.map(|estimate| Figure {
        value: estimate.value,
        interval: estimate.interval,
    });
    estimate.or_else(|| {
        Some(Figure {
            value: quantile::median(&metric.rounds)?,
            interval: None,
        })
    })
}

/// The latencies of all rounds of a case together, ascending, with how many there are of each.
pub fn pooled(run: &Run, case: &CaseId, name: &str) -> Vec<(u64, u64)> {
    let lists = run
        .rounds_of(case)
        .filter_map(|round| match &round.outcome {
            Outcome::Done(measured) => Some(measured.latencies.get(name)?.as_slice()),
            Outcome::Failed(_) => None,
        });
    latency::merged(lists)
}

/// A quantile, where enough operations lie beyond it.
pub fn rare(pairs: &[(u64, u64)], q: f64) -> Option<f64> {
    let beyond = (1.0 - q) * approx(latency::operations(pairs));
    let found = latency::quantile(pairs, q).map(approx);
    // What rounding takes from a share is no operation.
    found.filter(|_| beyond >= BEYOND_MIN * (1.0 - 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summarize;
    use model::plan::PlannedMetric;
    use model::spec::Better;
    use model::units::Unit;

    /// A case that does `most`, and one on which `offered` arrive and `done` are done, with latencies of 1 ms but for
    /// one in 500.
    fn run(most: f64, offered: f64, done: f64) -> Run {
        let rate = |quantity: &str| testkit::metric(quantity, Unit::OpsPerSecond, Better::Higher);
        let time = |quantity: &str, q| PlannedMetric {
            how: How::Of(LAT.to_owned(), Stat::Quantile(q)),
            ..testkit::metric(quantity, Unit::Nanoseconds, Better::Lower)
        };
        let arriving = PlannedMetric {
            how: How::Setting,
            role: Role::Offered,
            ..rate("arriving")
        };
        let metrics = vec![rate("iops"), time("p50", 0.5), time("p99", 0.99), arriving];
        let loaded = PlannedCase {
            needs: "most@2:iops".to_owned().try_into().ok(),
            ..testkit::case("load@2", metrics)
        };
        let mut run = testkit::run(vec![testkit::case("most@2", vec![rate("iops")]), loaded]);
        let ids: Vec<CaseId> = run.plan.cases.iter().map(|case| case.id.clone()).collect();
        for (pass, wobble) in (1..).zip([1.0, 1.01, 0.99, 1.005, 0.995, 1.0, 1.002]) {
            let most = testkit::measured(&[("iops", most * wobble)]);
            let mut loaded = testkit::measured(&[
                ("iops", done * wobble),
                ("p50", 1e6),
                ("p99", 2e6 * wobble),
                ("arriving", offered),
            ]);
            let list = vec![(1_000_000, 1996), (9_000_000, 4)];
            loaded.latencies = [(LAT.to_owned(), list)].into();
            run.rounds
                .push(testkit::round(&ids[0], pass, Outcome::Done(most)));
            run.rounds
                .push(testkit::round(&ids[1], pass, Outcome::Done(loaded)));
        }
        run
    }

    fn only(run: &Run) -> Point {
        let [curve] = &curves(run, &summarize(run))[..] else {
            panic!("one curve");
        };
        assert_eq!(curve.of.to_string(), "most@2:iops");
        curve.points[0].clone()
    }

    #[test]
    fn a_point_is_a_share_of_the_most_with_what_operations_take() {
        let point = only(&run(10_000.0, 2_500.0, 5_000.0));
        assert!((point.share - 0.5).abs() < 1e-9, "{point:?}");
        assert_eq!(point.p50.map(|figure| figure.value), Some(1e6));
        let p99 = point.p99.unwrap();
        assert!(p99.interval.is_some() && p99.value > 1.9e6, "{p99:?}");
        assert_eq!(point.p999, Some(9e6));
    }

    #[test]
    fn what_was_not_done_is_said_where_the_whole_interval_lies_below() {
        let behind = |done| only(&run(10_000.0, 4_500.0, done)).fell_behind;
        assert_eq!(
            [9_000.0, 8_600.0, 8_400.0].map(behind),
            [false, false, true]
        );
        let kept_up = |done| only(&run(10_000.0, 4_500.0, done)).kept_up();
        assert_eq!(
            [9_000.0, 8_600.0, 8_400.0].map(kept_up),
            [true, true, false]
        );
    }

    #[test]
    fn a_quantile_needs_ten_operations_beyond_it() {
        let pairs = |n: u64| [(1, n - 10), (7, 10)];
        assert_eq!(rare(&pairs(10_000), 0.999), Some(1.0));
        assert_eq!(rare(&pairs(9_999), 0.999), None);
        assert_eq!(rare(&[], 0.5), None);
    }

    #[test]
    fn without_the_most_there_is_no_share() {
        let mut run = run(10_000.0, 1_000.0, 2_000.0);
        run.rounds.retain(|round| round.case.test != "most");
        assert_eq!(curves(&run, &summarize(&run)), []);
    }
}
