//! How a plan is made to fit its budget: shorter rounds where it is short, longer ones where there is time to spare.

use super::{
    PLANNED_SHARE, Ranks, beside, for_rounds, making, no_time, ranked, round_cost, rounds_wanted,
    sides, with_room_for,
};
use crate::resolve::glob;
use model::num::{approx, round_to_u64};
use model::order::Keyed as _;
use model::plan::{Dropped, Plan, PlannedCase, Shape};
use model::units::Nanos;
use stats::ROUNDS_MIN;
use stats::looks::LOOKS;
use std::collections::{BTreeMap, BTreeSet};

/// The share of its budget that the rounds of a single case are to measure, behind what is made for them. Above the
/// 80 % that a run should come to, because no round costs exactly what was expected of it.
const MEASURED_SHARE: f64 = 0.82;

/// The warm-up of a single case that has the usual one otherwise, where that would take more than a hundredth of the
/// time: rounds follow one another at once, and all but the first find the machine as warm as the last one left it.
/// What a new process lacks beside its set-up takes milliseconds.
const WARMUP_OF_ONE: Nanos = Nanos::from_millis(20);

/// The share of a budget for which the rounds of a single case are planned. More than of many cases, whose expected
/// costs are less well known together.
const PLANNED_SHARE_OF_ONE: f64 = 0.98;

/// More rounds than these tell little more than longer ones do.
const ROUNDS_MOST: u32 = LOOKS[LOOKS.len() - 1];

/// What may be left out of a plan.
#[derive(Clone, Copy)]
pub struct MayGo<'a> {
    /// Patterns of the tests that go first, the least important first.
    pub optional: &'a [String],
    /// Whether a test is there for its own name, and stays.
    pub is_named: &'a dyn Fn(&str) -> bool,
    /// The importance of cases, where a profile says it: then it alone decides what goes.
    pub ranks: &'a Ranks,
}

/// Makes six rounds of every case fit into the plan's budget, if there is one: shorter rounds, then fewer tests. Where
/// there is time to spare, rounds become longer. What cannot be made to fit stays, and the run says that it had too
/// little time.
pub fn fit(plan: &mut Plan, may_go: MayGo<'_>) {
    let Some(budget) = plan.budget else { return };
    let available = for_rounds(plan, budget) / approx(sides(plan));
    let usual: BTreeMap<_, _> = plan
        .cases
        .iter()
        .map(|case| (case.id.clone(), case.shape.measure))
        .into_map();
    shorten(plan, available);
    if !may_go.ranks.is_empty() {
        if needed(plan) > available {
            ranked::fit(plan, may_go.ranks, budget);
            for case in &mut plan.cases {
                case.shape.measure = usual[&case.id];
            }
            shorten(plan, available);
        }
        lengthen(plan, budget);
        return;
    }
    let whole = with_room_for(plan, needed(plan) * approx(sides(plan)));
    let cases = plan.cases.len();
    for pattern in may_go.optional {
        if needed(plan) <= available {
            break;
        }
        let is_meant = |test: &str| glob(pattern, test) && !(may_go.is_named)(test);
        leave_out(plan, pattern.clone(), &is_meant, (budget, whole));
    }
    while needed(plan) > available {
        let Some(tests) = next_to_go(plan, available, may_go.is_named) else {
            break;
        };
        for test in tests {
            leave_out(plan, test.clone(), &|other| other == test, (budget, whole));
        }
    }
    if plan.cases.len() < cases {
        for case in &mut plan.cases {
            case.shape.measure = usual[&case.id];
        }
        shorten(plan, available);
    }
    lengthen(plan, budget);
}

/// Makes the rounds of a plan shorter again where so much of its budget is `spent` before the first one, by waiting,
/// that six of every case would not fit.
pub fn refit(plan: &mut Plan, spent: Nanos) {
    if let Some(budget) = plan.budget {
        let left = approx(budget.since(spent).0) * PLANNED_SHARE;
        shorten(plan, left / approx(sides(plan)));
    }
}

/// Leaves out the tests that are meant, unless that would leave nothing, and notes which budget leaves nothing out.
fn leave_out(
    plan: &mut Plan,
    what: String,
    is_meant: &dyn Fn(&str) -> bool,
    (budget, whole): (Nanos, Nanos),
) {
    let stays = |case: &PlannedCase| !is_meant(&case.id.test);
    let left = plan.cases.iter().filter(|case| stays(case)).count();
    if left == 0 || left == plan.cases.len() {
        return;
    }
    plan.cases.retain(stays);
    let needs = Some(Nanos::from_secs(whole.0.div_ceil(1_000_000_000)));
    plan.dropped.push(Dropped {
        what,
        why: no_time(budget, needs),
        needs,
    });
}

/// The tests that are left out next of those that nobody named: all that stand on what takes more than half of the time
/// to make, or else the one whose rounds take longest, of those without a figure on the first page as long as there are
/// any. `None` where nothing would be left, or nothing may go.
fn next_to_go(plan: &Plan, available: f64, is_named: &dyn Fn(&str) -> bool) -> Option<Vec<String>> {
    let tests = |of: &dyn Fn(&PlannedCase) -> bool| -> BTreeSet<String> {
        let cases = plan.cases.iter().filter(|case| of(case));
        cases.map(|case| case.id.test.clone()).collect()
    };
    let all = tests(&|_| true);
    let on_costly_grounds = plan
        .grounds()
        .filter(|ground| approx(ground.expected.0) > available / 2.0)
        .map(|ground| tests(&|case| case.ground.as_ref() == Some(ground)))
        .find(|on_it| on_it.len() < all.len() && !on_it.iter().any(|test| is_named(test)));
    if let Some(on_it) = on_costly_grounds {
        return Some(on_it.into_iter().collect());
    }
    let cost = |test: &String| -> f64 {
        let cases = plan.cases.iter().filter(|case| case.id.test == *test);
        cases.map(|case| needed_of(plan, case)).sum()
    };
    let headlines = tests(&|case| case.headline.is_some());
    let may_go = all.iter().filter(|test| !is_named(test));
    let longest = may_go.max_by(|a, b| {
        let beside = |test: &String| !headlines.contains(test);
        let order = beside(a).cmp(&beside(b));
        order.then_with(|| cost(a).total_cmp(&cost(b)))
    });
    longest
        .filter(|_| all.len() > 1)
        .map(|test| vec![test.clone()])
}

/// Time that the minimum of rounds needs, with what they stand on, in nanoseconds.
fn needed(plan: &Plan) -> f64 {
    let rounds: f64 = plan.cases.iter().map(|case| needed_of(plan, case)).sum();
    rounds + approx(making(plan).0)
}

/// The part of one case in that.
fn needed_of(plan: &Plan, case: &PlannedCase) -> f64 {
    approx(round_cost(case).0) * f64::from(rounds_needed(plan, case))
}

/// The rounds of this case that must fit: six, or fewer where no more are asked for, or what a method fixes.
fn rounds_needed(plan: &Plan, case: &PlannedCase) -> u32 {
    let asked = rounds_wanted(plan, case).unwrap_or(ROUNDS_MIN);
    asked.min(case.shape.rounds.unwrap_or(ROUNDS_MIN))
}

/// Below which the measured part of this case is not shortened.
pub(crate) fn shortest(case: &PlannedCase) -> Nanos {
    case.shape.measure_min.max(Shape::MEASURE_MIN)
}

/// The parameter that says how long a round of some tests is.
const TIME: &str = "time";

/// Whether rounds of this case may be made shorter, or longer: not where somebody has said how long they are.
pub(crate) fn shortens(case: &PlannedCase) -> bool {
    case.shape.can_shorten() && !case.simulated && !is_set(case)
}

fn is_set(case: &PlannedCase) -> bool {
    case.set_otherwise().any(|(name, ..)| name == TIME)
}

fn shorten(plan: &mut Plan, available: f64) {
    let can = |case: &PlannedCase| shortens(case) && case.shape.measure > shortest(case);
    // Where some come to their shortest the others have to give more, once for each that does.
    for _ in 0..=plan.cases.len() {
        let needed = needed(plan);
        let flexible: f64 = plan
            .cases
            .iter()
            .filter(|case| can(case))
            .map(|case| approx(case.shape.measure.0) * f64::from(rounds_needed(plan, case)))
            .sum();
        if needed <= available || flexible <= 0.0 {
            return;
        }
        let factor = ((flexible - (needed - available)) / flexible).max(0.0);
        for case in plan.cases.iter_mut().filter(|case| can(case)) {
            // Rounded down, and a nanosecond less for what arithmetic rounds: all together would else miss by
            // nanoseconds what they were shortened to fit into, and cost an optional test.
            let measure = approx(case.shape.measure.0) * factor;
            let shorter = round_to_u64(measure.floor()).saturating_sub(1);
            case.shape.measure = Nanos(shorter).max(shortest(case));
        }
    }
}

/// How long the rounds of a plan's only case measure where so much time is left for them; `None` where something else
/// decides that.
pub(crate) fn measure_of_one(plan: &Plan, left: Nanos) -> Option<Nanos> {
    let [case] = plan.cases.as_slice() else {
        return None;
    };
    let (available, rounds) = rounds_of_one(case, left, left);
    let each = available / rounds.clamp(ROUNDS_MIN.into(), ROUNDS_MOST.into());
    let around = round_cost(case).since(case.shape.measure);
    let measure = Nanos(round_to_u64(each)).since(around);
    lengthens(plan).then_some(measure)
}

/// The time into which the rounds of the only case are planned, and how many of them leave enough of `all` for
/// measuring, each having its start and its warm-up.
fn rounds_of_one(case: &PlannedCase, left: Nanos, all: Nanos) -> (f64, f64) {
    let available = approx(left.0) * PLANNED_SHARE_OF_ONE;
    let around = round_cost(case).since(case.shape.measure);
    let rounds = (available - approx(all.0) * MEASURED_SHARE) / approx(around.0);
    (available, rounds.floor())
}

/// Whether time alone ends the run, and its rounds may have any length, but for those that somebody has set.
fn lengthens(plan: &Plan) -> bool {
    let by_time_alone = plan.passes.is_none() && plan.target.is_none() && plan.duel.is_none();
    let can = |case: &PlannedCase| shortens(case) && case.shape.rounds.is_none();
    let may = |case: &PlannedCase| can(case) || is_set(case);
    by_time_alone && plan.cases.iter().all(may) && plan.cases.iter().any(can)
}

/// Makes rounds longer, and the warm-up of a single case shorter, where the budget alone ends the run and has time to
/// spare. More than 28 rounds tell little more than longer ones; and of a single case at least six are enough where
/// more of them, each with its start and its warm-up, would leave too little of the time for measuring.
fn lengthen(plan: &mut Plan, budget: Nanos) {
    if !lengthens(plan) {
        return;
    }
    let usual = Shape::DEFAULT.warmup;
    if let [case] = plan.cases.as_mut_slice()
        && case.shape.warmup == usual
        && u64::from(ROUNDS_MOST) * usual.0 > budget.0 / 100
    {
        case.shape.warmup = WARMUP_OF_ONE;
    }
    let spent = beside(plan, budget).plus(making(plan));
    let all = budget.since(making(plan));
    let (available, rounds) = if let [case] = plan.cases.as_slice() {
        rounds_of_one(case, budget.since(spent), all)
    } else {
        (
            for_rounds(plan, budget) - approx(making(plan).0),
            f64::INFINITY,
        )
    };
    let rounds = rounds.clamp(ROUNDS_MIN.into(), ROUNDS_MOST.into());
    let pass: f64 = plan
        .cases
        .iter()
        .map(|case| approx(round_cost(case).0))
        .sum();
    let free = plan.cases.iter().filter(|case| !is_set(case));
    let measured: f64 = free.map(|case| approx(case.shape.measure.0)).sum();
    let longer = (available / rounds - (pass - measured)) / measured;
    if longer > 1.0 {
        for case in plan.cases.iter_mut().filter(|case| !is_set(case)) {
            let measure = approx(case.shape.measure.0) * longer;
            case.shape.measure = Nanos(round_to_u64(measure.floor()));
        }
    }
}
