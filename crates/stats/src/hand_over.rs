//! Why many copies of processes that wake each other are faster than their CPUs explain.
//!
//! Two processes that take turns on one CPU hand over by a switch. On two CPUs each has to wake the other one's CPU,
//! which takes many times as long where that has gone to sleep. One copy on a machine with idle CPUs is spread over two
//! of them; as many copies as CPUs leave none idle, and the scheduler keeps each pair together. Nothing is pinned, and
//! no round keeps on which CPUs its processes stood. What tells is CPU time: of two on one CPU one always runs, so that
//! together they use all of it.

use crate::quantile;
use model::estimate::MetricSummary;
use model::plan::{CaseId, PlannedCase};
use model::record::{Measured, Outcome, Run};

/// How many times as much as CPUs explain is beyond noise and clock rates.
const BEYOND: f64 = 1.5;

/// Two on one CPU use less of it than this only where something else takes it.
const ONE_CPU_MIN: f64 = 0.85;

/// A test whose copies help each other.
#[derive(Clone, Debug, PartialEq)]
pub struct HandOver {
    /// One copy.
    pub one: CaseId,
    /// The most copies.
    pub many: CaseId,
    /// How many times as much they do together.
    pub times: f64,
    /// The CPUs that they may use.
    pub cpus: u32,
    /// What the processes of the one copy used together, in CPUs, where that is less than one at work all the time.
    pub used: Option<f64>,
}

/// The tests of the run of which many copies do more than their CPUs explain.
pub fn of_run(run: &Run, metrics: &[MetricSummary]) -> Vec<HandOver> {
    let cases = run.plan.cases.iter().filter(|case| case.hands_over);
    let ones = cases.clone().filter(|case| case.id.copies == 1);
    let pairs = ones.filter_map(|one| {
        let of_test = cases.clone().filter(|many| many.id.test == one.id.test);
        Some((one, of_test.max_by_key(|many| many.id.copies)?))
    });
    pairs
        .filter_map(|(one, many)| pair(run, one, many, metrics))
        .collect()
}

fn pair(
    run: &Run,
    one: &PlannedCase,
    many: &PlannedCase,
    metrics: &[MetricSummary],
) -> Option<HandOver> {
    let level = |case: &PlannedCase| {
        let quantity = &case.metrics.first()?.quantity;
        let mut all = metrics.iter();
        let found = all.find(|of| of.id.case == case.id && of.id.quantity == *quantity)?;
        let estimate = found.estimate.map(|estimate| estimate.value);
        estimate.or_else(|| quantile::median(&found.rounds))
    };
    let allowed = run.host.limits.cpus_allowed.known().copied();
    let cpus = many.id.copies.min(allowed.unwrap_or(many.id.copies));
    let times = level(many)? / level(one)?;
    let used = quantile::median(&used(run, &one.id));
    (times > BEYOND * f64::from(cpus)).then(|| HandOver {
        one: one.id.clone(),
        many: many.id.clone(),
        times,
        cpus,
        used: used.filter(|used| *used < ONE_CPU_MIN),
    })
}

/// The CPUs that each round used, its children included.
fn used(run: &Run, case: &CaseId) -> Vec<f64> {
    let of = |done: &Measured| {
        let copy = done.copies.first()?;
        let wall = copy.wall.as_secs_f64();
        let cpu = copy.user.as_secs_f64() + copy.system.as_secs_f64();
        (wall > 0.0 && cpu > 0.0).then_some(cpu / wall)
    };
    let rounds = run
        .rounds_of(case)
        .filter_map(|round| match &round.outcome {
            Outcome::Done(done) => of(done),
            Outcome::Failed(_) => None,
        });
    rounds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fixture, summarize};
    use model::host::Fact;
    use model::units::Nanos;

    /// One copy and two of it, on so many CPUs, and the share of a CPU that one copy used.
    fn found(one: f64, many: f64, cpus: u32, used: f64) -> Option<(f64, Option<f64>)> {
        let series = [("switch@1", vec![one; 7]), ("switch@2", vec![many; 7])];
        let mut run = fixture::run(&series);
        run.host.limits.cpus_allowed = Fact::Known(cpus);
        for case in &mut run.plan.cases {
            case.hands_over = true;
        }
        for round in &mut run.rounds {
            let Outcome::Done(done) = &mut round.outcome else {
                panic!()
            };
            done.copies[0].wall = Nanos::from_millis(1000);
            done.copies[0].user = Nanos(model::num::round_to_u64(used * 4e8));
            done.copies[0].system = Nanos(model::num::round_to_u64(used * 6e8));
        }
        let all = of_run(&run, &summarize(&run));
        all.first().map(|found| (found.times, found.used))
    }

    #[test]
    fn more_than_the_cpus_explain_is_told_with_what_one_copy_used() {
        let check = |one, many, cpus, used, expect: Option<(f64, Option<f64>)>| {
            assert_eq!(found(one, many, cpus, used), expect, "{one} {many} {cpus}");
        };
        check(100.0, 2000.0, 2, 0.5, Some((20.0, Some(0.5))));
        check(100.0, 2000.0, 2, 1.0, Some((20.0, None)));
        check(100.0, 200.0, 2, 0.5, None);
        check(100.0, 290.0, 2, 0.5, None);
        check(100.0, 180.0, 1, 0.5, Some((1.8, Some(0.5))));
    }

    #[test]
    fn other_tests_have_nothing_to_hand_over() {
        let run = fixture::run(&[("pipe@1", vec![1.0; 7]), ("pipe@2", vec![20.0; 7])]);
        assert_eq!(of_run(&run, &summarize(&run)), []);
    }
}
