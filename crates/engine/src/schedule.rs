//! Which cases still need rounds, and how many.
//!
//! Without a target every case gets the passes of the plan, or as many as the budget holds. With a target
//! (`--target 2%`) the run looks at its data after 6, 9, 13, 19 and 28 rounds, and only then: a case whose interval is
//! narrow enough is done, one that cannot become narrow enough in the time left is given up, at the second look at the
//! earliest, and what is left of the time goes where it narrows most. Looking more often would make intervals lie; see
//! the method page, "Looks".

use crate::budget;
use model::num::approx;
use model::plan::{Plan, PlannedCase};
use model::record::{Failure, Outcome, Round};
use model::units::Nanos;
use model::warning::Warning;
use stats::looks::{self, Contender, LOOKS};
use std::collections::BTreeMap;

/// A case is given up after this many failed rounds in a row: one that works again after them is rare, and one that
/// goes on failing costs the others their time.
pub const FAILURES_MAX: u32 = 3;

/// One case while the run goes on.
#[derive(Clone, Debug)]
pub(crate) struct Running {
    /// Rounds that ended, whatever came of them.
    pub(crate) rounds: u32,
    /// Rounds after which it is done for now; `None` where only the budget ends it.
    pub(crate) wanted: Option<u32>,
    /// What one round costs, learnt from those that ended.
    pub(crate) cost: Nanos,
    /// How long it measures: as planned, shorter where rounds cost more than planned, or longer where making what they
    /// stand on cost less.
    pub(crate) measure: Nanos,
    /// The most rounds that looking may ask for; `None` where looking does not decide.
    looks_max: Option<u32>,
    /// Pass and first metric's value of every round that has one.
    values: Vec<(u32, f64)>,
    failures_in_a_row: u32,
    /// Whether any round of it was done.
    was_done: bool,
    given_up: bool,
}

impl Running {
    /// A case before its first round.
    pub(crate) fn new(plan: &Plan, index: usize) -> Self {
        let case = &plan.cases[index];
        let looks_max = looks_max(plan, case);
        let wanted = match looks_max {
            Some(most) => Some(LOOKS[0].min(most)),
            None => budget::rounds_wanted(plan, case),
        };
        Self {
            rounds: 0,
            wanted,
            cost: budget::round_cost(case),
            measure: case.shape.measure,
            looks_max,
            values: Vec::new(),
            failures_in_a_row: 0,
            was_done: false,
            given_up: false,
        }
    }

    /// Whether it needs no further round for now.
    pub(crate) fn finished(&self) -> bool {
        self.given_up || self.wanted.is_some_and(|wanted| self.rounds >= wanted)
    }

    /// Whether it failed so often that it is not tried again.
    pub(crate) const fn given_up(&self) -> bool {
        self.given_up
    }

    /// It is not tried again: what it needs is not to be had.
    pub(crate) const fn give_up(&mut self) {
        self.given_up = true;
    }

    /// Further rounds measure for this time, and cost so much less.
    pub(crate) fn shorten(&mut self, measure: Nanos) {
        self.cost = self.cost.since(self.measure.since(measure));
        self.measure = self.measure.min(measure);
    }

    /// Further rounds measure for this time, where it is longer, and cost so much more.
    pub(crate) fn lengthen(&mut self, measure: Nanos) {
        self.cost = self.cost.plus(measure.since(self.measure));
        self.measure = self.measure.max(measure);
    }

    /// Takes a finished round into account.
    pub(crate) fn learn(&mut self, case: &PlannedCase, round: &Round) {
        self.rounds += 1;
        self.cost = if round.took == Nanos::ZERO {
            // It had nothing to stand on, and says nothing of what one costs.
            self.cost
        } else if case.shape.fixed_work && self.rounds == 1 {
            // What was expected of it before was a guess at a machine.
            round.took
        } else {
            // Half of the news: a single slow round must not make the plan drop all others.
            Nanos(u64::midpoint(self.cost.0, round.took.0))
        };
        match &round.outcome {
            Outcome::Done(done) => {
                self.failures_in_a_row = 0;
                self.was_done = true;
                let first = case
                    .metrics
                    .first()
                    .and_then(|metric| done.values.get(&metric.quantity));
                self.values.extend(first.map(|value| (round.pass, *value)));
            }
            Outcome::Failed(failure) => {
                self.failures_in_a_row += 1;
                // What was done before can be done: somebody has taken the memory meanwhile, and may give it back.
                let cannot = matches!(failure, Failure::Unsupported(_)) && !self.was_done;
                self.given_up = cannot || self.failures_in_a_row >= FAILURES_MAX;
            }
        }
    }

    fn contender(&self, target: f64) -> Contender {
        let values: Vec<f64> = self.values.iter().map(|(_, value)| *value).collect();
        looks::contender(&values, target, self.cost.as_secs_f64().max(1e-9))
    }
}

/// The most rounds that looking may ask for; `None` where the plan has no target or the method fixes the rounds.
pub(crate) fn looks_max(plan: &Plan, case: &PlannedCase) -> Option<u32> {
    // A duel looks at its verdicts, unless the user says how many pairs it is to have.
    let duel = plan.duel.is_some() && plan.passes.is_none();
    if plan.target.is_none() && !duel {
        return None;
    }
    match case.shape.rounds {
        Some(_) => None,
        None => Some(plan.passes.unwrap_or(u32::MAX).min(LOOKS[LOOKS.len() - 1])),
    }
}

/// Looks at the data: raises [`Running::wanted`] where further rounds are worth their time. True where any was raised.
pub(crate) fn look(cases: &mut [Running], target: f64, left: Option<Nanos>) -> bool {
    let open: Vec<usize> = (0..cases.len())
        .filter(|&i| !cases[i].given_up && cases[i].looks_max.is_some())
        .collect();
    let contenders: Vec<Contender> = open.iter().map(|&i| cases[i].contender(target)).collect();
    let seconds = left.map_or(f64::INFINITY, Nanos::as_secs_f64);
    let mut raised = false;
    for (&i, rounds) in open.iter().zip(looks::allocate(&contenders, seconds)) {
        let case = &mut cases[i];
        // Failed rounds count as rounds here but not there; nobody gets fewer rounds than it had.
        let failed = case.rounds.saturating_sub(contenders_rounds(case));
        let rounds = rounds
            .saturating_add(failed)
            .min(case.looks_max.unwrap_or(rounds));
        if case.wanted.is_some_and(|wanted| rounds > wanted) {
            case.wanted = Some(rounds);
            raised = true;
        }
    }
    raised
}

/// Looks at the verdicts of a duel: asks for more pairs where one is not final yet and the time allows the next look.
/// True where any case gets more.
pub(crate) fn look_at_pairs(
    plan: &Plan,
    a: &mut [Running],
    b: &mut [Running],
    left: Option<Nanos>,
) -> bool {
    let mut left = left.unwrap_or(Nanos(u64::MAX));
    let mut raised = false;
    for ((a, b), case) in a.iter_mut().zip(b).zip(&plan.cases) {
        let (Some(most), Some(metric)) = (a.looks_max, case.metrics.first()) else {
            continue;
        };
        let there: BTreeMap<u32, f64> = b.values.iter().copied().collect();
        let pairs: Vec<(f64, f64)> = a
            .values
            .iter()
            .filter_map(|(pass, value)| Some((*value, *there.get(pass)?)))
            .collect();
        // The margin that the comparison will have: a verdict is final where the user will see it so.
        let verdict = looks::decide_pairs(&pairs, metric.class.margin());
        let have = u32::try_from(pairs.len()).unwrap_or(u32::MAX);
        let Some(next) = looks::next(have).filter(|next| *next <= most) else {
            continue;
        };
        let more = next - have;
        let cost = Nanos(a.cost.plus(b.cost).0.saturating_mul(u64::from(more)));
        let done = verdict.is_some_and(stats::verdict::is_final) || a.given_up || b.given_up;
        if done || cost > left {
            continue;
        }
        left = left.since(cost);
        a.wanted = Some(a.rounds + more);
        b.wanted = Some(b.rounds + more);
        raised = true;
    }
    raised
}

fn contenders_rounds(case: &Running) -> u32 {
    u32::try_from(case.values.len()).unwrap_or(u32::MAX)
}

/// The cases of `plan` that end wider than `target`, as the last look left them: one warning for each thing that kept
/// them from it. A case that failed has a reason of its own.
pub(crate) fn missed(plan: &Plan, cases: &[Running], target: f64) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for (case, planned) in cases.iter().zip(&plan.cases) {
        let Some(most) = case.looks_max.filter(|_| !case.given_up) else {
            continue;
        };
        let contender = case.contender(target);
        if contender.half_width.is_some_and(|width| width <= target) {
            continue;
        }
        // Failed rounds are among the most that it may have, as in [`look`], and have no value.
        let failed = case.rounds.saturating_sub(contenders_rounds(case));
        let limit = looks::limit(&contender, most.saturating_sub(failed));
        let same = warnings.iter_mut().find_map(|warning| match warning {
            Warning::TargetMissed {
                cases,
                which,
                limit: of,
                ..
            } if *of == limit => Some((cases, which)),
            _ => None,
        });
        if let Some((cases, which)) = same {
            *cases += 1;
            which.push(planned.id.clone());
        } else {
            warnings.push(Warning::TargetMissed {
                cases: 1,
                target,
                limit,
                which: vec![planned.id.clone()],
            });
        }
    }
    warnings
}

/// Time that the rounds still wanted will take; `None` where only the budget ends the run.
pub(crate) fn time_wanted(cases: &[Running]) -> Option<Nanos> {
    let times = cases.iter().filter(|case| !case.given_up).map(|case| {
        Some(f64::from(case.wanted?.saturating_sub(case.rounds)) * approx(case.cost.0))
    });
    times
        .sum::<Option<f64>>()
        .map(|ns| Nanos(model::num::round_to_u64(ns)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::spec::Better;
    use model::units::Unit;

    fn plan(target: Option<f64>, passes: Option<u32>, rounds: Option<u32>) -> Plan {
        let metric = testkit::metric("q", Unit::OpsPerSecond, Better::Higher);
        let mut case = testkit::case("t@1", vec![metric]);
        case.shape.rounds = rounds;
        Plan {
            passes,
            target,
            ..testkit::plan(vec![case])
        }
    }

    #[test]
    fn what_fixed_work_takes_is_learnt_from_its_first_round_on() {
        let check = |fixed_work: bool, secs: &[u64], expect: u64| {
            let mut plan = plan(None, Some(9), None);
            let case = &mut plan.cases[0];
            case.shape.fixed_work = fixed_work;
            case.shape.measure = Nanos::from_secs(1000);
            let mut running = Running::new(&plan, 0);
            for &secs in secs {
                let mut round = round(&plan.cases[0], Some(1.0));
                round.took = Nanos::from_secs(secs);
                running.learn(&plan.cases[0], &round);
            }
            assert_eq!(running.cost.0 / 1_000_000_000, expect, "{secs:?}");
        };
        check(true, &[], 1000);
        check(true, &[2], 2);
        check(true, &[2, 4], 3);
        check(false, &[2], 501);
    }

    fn round(case: &PlannedCase, value: Option<f64>) -> Round {
        let outcome = match value {
            None => Outcome::Failed(Failure::OutOfMemory),
            Some(value) => Outcome::Done(testkit::measured(&[("q", value)])),
        };
        testkit::round(&case.id, 1, outcome)
    }

    /// The rounds that a case gets in the end when its values are `value(n)` for n = 1, 2...
    fn rounds_until_done(plan: &Plan, value: impl Fn(u32) -> Option<f64>) -> u32 {
        let mut cases = vec![Running::new(plan, 0)];
        loop {
            while !cases[0].finished() {
                let value = value(cases[0].rounds + 1);
                cases[0].learn(&plan.cases[0], &round(&plan.cases[0], value));
            }
            match plan.target {
                Some(target) if look(&mut cases, target, None) => {}
                _ => return cases[0].rounds,
            }
        }
    }

    /// Alternates around 100 by `percent`, without repeating itself exactly.
    fn wobble(percent: f64) -> impl Fn(u32) -> Option<f64> {
        move |n| {
            let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
            Some(100.0 + sign * percent * (1.0 + f64::from(n % 5) / 5.0))
        }
    }

    #[test]
    fn a_quiet_case_is_done_at_the_first_look_and_a_noisy_one_goes_on() {
        let plan = plan(Some(0.02), None, None);
        assert_eq!(rounds_until_done(&plan, wobble(0.1)), 6);
        let noisy = rounds_until_done(&plan, wobble(3.0));
        assert!(LOOKS.contains(&noisy) && noisy > 6, "{noisy}");
    }

    #[test]
    fn a_hopeless_case_is_given_up_at_the_second_look_and_not_before() {
        let plan = plan(Some(0.001), None, None);
        assert_eq!(rounds_until_done(&plan, wobble(30.0)), 9);
        // The first two rounds met a storm that is over: what six seemed to say has vanished at nine.
        let storm = |n| if n <= 2 { Some(89.0) } else { wobble(0.01)(n) };
        let plan = self::plan(Some(0.02), None, None);
        assert!(rounds_until_done(&plan, storm) > 9);
    }

    #[test]
    fn what_misses_its_target_is_named_with_what_kept_it_from_it() {
        use model::warning::TargetLimit::{Rounds, Scatter, Time};
        let missed_by = |passes, values: &dyn Fn(u32) -> Option<f64>, rounds: u32| {
            let plan = plan(Some(0.02), passes, None);
            let mut case = Running::new(&plan, 0);
            for n in 1..=rounds {
                case.learn(&plan.cases[0], &round(&plan.cases[0], values(n)));
            }
            let warnings = missed(&plan, &[case], 0.02);
            assert!(warnings.len() <= 1, "{warnings:?}");
            warnings.into_iter().next().map(|warning| match warning {
                Warning::TargetMissed {
                    cases,
                    target,
                    limit,
                    which,
                } => {
                    assert_eq!((cases, which), (1, vec![plan.cases[0].id.clone()]));
                    assert!((target - 0.02).abs() < 1e-12);
                    limit
                }
                other => panic!("{other:?}"),
            })
        };
        assert_eq!(missed_by(None, &wobble(0.1), 6), None);
        assert_eq!(missed_by(None, &wobble(3.0), 6), Some(Time));
        assert_eq!(missed_by(None, &wobble(3.0), 4), Some(Time));
        assert_eq!(missed_by(None, &wobble(30.0), 9), Some(Scatter(28)));
        assert_eq!(missed_by(Some(4), &wobble(0.1), 4), Some(Rounds(4)));
        assert_eq!(missed_by(None, &|_| None, 3), None, "it failed");
    }

    #[test]
    fn passes_bound_the_looks_and_fixed_rounds_are_left_alone() {
        assert!(rounds_until_done(&plan(Some(0.02), Some(9), None), wobble(3.0)) <= 9);
        assert_eq!(
            rounds_until_done(&plan(Some(0.02), Some(4), None), wobble(3.0)),
            4
        );
        assert_eq!(
            rounds_until_done(&plan(Some(0.02), None, Some(3)), wobble(30.0)),
            3
        );
        assert_eq!(
            rounds_until_done(&plan(None, Some(7), None), wobble(30.0)),
            7
        );
    }

    #[test]
    fn what_was_done_before_is_not_given_up_at_the_first_round_that_is_not_supported() {
        let plan = plan(None, Some(9), None);
        let rounds = |outcomes: &[bool]| {
            let mut case = Running::new(&plan, 0);
            for done in outcomes {
                assert!(!case.finished(), "{outcomes:?}");
                let mut round = round(&plan.cases[0], Some(100.0));
                if !done {
                    let why = "too little memory".to_owned();
                    round.outcome = Outcome::Failed(Failure::Unsupported(why));
                }
                case.learn(&plan.cases[0], &round);
            }
            case.given_up()
        };
        assert!(rounds(&[false]), "never done: it cannot be");
        assert!(!rounds(&[true, false]));
        assert!(!rounds(&[true, false, false, true, false, false, true]));
        assert!(rounds(&[true, false, false, false]));
    }

    #[test]
    fn a_failed_round_is_made_up_for_and_three_in_a_row_end_the_case() {
        let plan = plan(Some(0.02), None, None);
        let one_fails = |n| if n == 2 { None } else { wobble(0.1)(n) };
        assert_eq!(rounds_until_done(&plan, one_fails), 7);
        assert_eq!(rounds_until_done(&plan, |_| None), 3);
    }
}
