//! What earlier cases of a run found, for those that need it.

use model::order::Keyed as _;
use model::plan::{MetricId, Plan, PlannedCase};
use model::record::{Failure, Outcome, Round};
use std::collections::BTreeMap;

/// The values of every metric that some case needs, of the rounds so far.
#[derive(Debug, Default)]
pub(super) struct Found(BTreeMap<MetricId, Vec<f64>>);

impl Found {
    /// Before the first round.
    pub(super) fn new(plan: &Plan) -> Self {
        let needs = plan.cases.iter().filter_map(|case| case.needs.clone());
        Self(needs.map(|metric| (metric, Vec::new())).into_map())
    }

    /// Takes a finished round into account, be it of an earlier part of the run.
    pub(super) fn learn(&mut self, round: &Round) {
        let Outcome::Done(done) = &round.outcome else {
            return;
        };
        for (metric, values) in &mut self.0 {
            if metric.case == round.case {
                values.extend(done.values.get(&metric.quantity));
            }
        }
    }

    /// What this case needs, where it needs anything: the median so far.
    pub(super) fn known(&self, case: &PlannedCase) -> Result<Option<f64>, Failure> {
        let Some(metric) = &case.needs else {
            return Ok(None);
        };
        let values = self.0.get(metric).map_or(&[][..], Vec::as_slice);
        let why = || format!("take a share of `{metric}`: no round of it has a value");
        let median = stats::quantile::median(values);
        median.map(Some).ok_or_else(|| Failure::Error(why()))
    }
}

/// Puts each case that another one needs before that, and leaves the rest of the order as it is.
pub(super) fn needed_first(plan: &Plan, order: &mut Vec<usize>) {
    let mut at = 0;
    while at < order.len() {
        let need = plan.cases[order[at]].needs.as_ref();
        let is_needed = |case: usize| need.is_some_and(|need| need.case == plan.cases[case].id);
        match (at..order.len()).find(|&later| is_needed(order[later])) {
            Some(later) => {
                let needed = order.remove(later);
                order.insert(at, needed);
                // What is needed needs nothing, and both are in their places.
                at += 2;
            }
            None => at += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        let mut plan = testkit::plan(Vec::new());
        plan.cases = ["a@1", "b@1", "c@1", "d@1"]
            .map(|id| testkit::case(id, Vec::new()))
            .into();
        for case in [0, 2] {
            plan.cases[case].needs = Some("d@1:iops".to_owned().try_into().unwrap());
        }
        plan
    }

    #[test]
    fn what_is_needed_comes_first_and_nothing_else_moves() {
        for (order, expect) in [
            (vec![0, 1, 2, 3], vec![3, 0, 1, 2]),
            (vec![1, 2, 3, 0], vec![1, 3, 2, 0]),
            (vec![3, 2, 1, 0], vec![3, 2, 1, 0]),
            // This time the other one has no turn.
            (vec![2, 0, 1], vec![2, 0, 1]),
        ] {
            let mut found = order.clone();
            needed_first(&plan(), &mut found);
            assert_eq!(found, expect, "{order:?}");
        }
    }

    #[test]
    fn what_is_known_is_the_median_of_the_rounds_that_have_a_value() {
        let plan = plan();
        let mut found = Found::new(&plan);
        assert_eq!(found.known(&plan.cases[1]), Ok(None), "it needs nothing");
        let why = found.known(&plan.cases[0]).unwrap_err().to_string();
        assert!(
            why.contains("`d@1:iops`") && why.contains("no round"),
            "{why}"
        );
        let case = plan.cases[3].id.clone();
        let done = |value| Outcome::Done(testkit::measured(&[("iops", value)]));
        let broken = Outcome::Failed(Failure::OutOfMemory);
        for outcome in [done(10.0), done(30.0), broken, done(14.0)] {
            found.learn(&testkit::round(&case, 1, outcome));
        }
        let of_another = testkit::round(&plan.cases[1].id, 1, done(1e9));
        found.learn(&of_another);
        assert_eq!(found.known(&plan.cases[2]), Ok(Some(14.0)));
    }
}
