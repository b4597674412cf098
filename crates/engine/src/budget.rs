//! Time: what a round costs, and how a plan is made to fit.
//!
//! At least six rounds of every case are needed for an interval. Where they do not fit, first the rounds become
//! shorter, then optional tests are left out, and what was left out is said.

use crate::schedule::looks_max;
use model::num::{approx, round_to_u64};
use model::plan::{Dropped, Plan, PlannedCase, Settle, Shape};
use model::units::Nanos;
use stats::ROUNDS_MIN;
use stats::looks::LOOKS;

/// The share of a budget that rounds may be planned into; the rest is for what cannot be planned.
const PLANNED_SHARE: f64 = 0.95;

/// What a round of one copy costs beside warm-up and measured part: processes, sentinel, clean-up. Measured on a small
/// VM at 22 ms; the run corrects it from the first rounds on.
const OVERHEAD: Nanos = Nanos::from_millis(50);

/// What every further copy takes of the CPUs that all of them share: to start, to set itself up, to come to its turn
/// when the round begins and ends, and to end. Measured on a small VM of two CPUs as CPU time beside that of the
/// measured part: 5 ms for each of 100 copies of `os.syscall` and 6 ms for `cpu.sort`, 10 and 8 ms for each of 400, and
/// 11 ms for each of 1000 of `cpu.sort`.
const SHARED_PER_COPY: Nanos = Nanos::from_millis(10);

/// What every further copy takes of the one process that starts them all, however many CPUs there are: fork and exec,
/// measured there at 0.35 ms at the median, to which the directory, the pipes and the order add.
const STARTED_PER_COPY: Nanos = Nanos(500_000);

/// The expected time that all copies of a case but the first take to start and to end, on so many CPUs.
pub(crate) fn starting(case: &PlannedCase, cpus: u32) -> Nanos {
    // Threads are started by the one process that they belong to.
    if case.shape.threads {
        return Nanos::ZERO;
    }
    let further = u64::from(case.id.copies.saturating_sub(1));
    let each = STARTED_PER_COPY.max(Nanos(SHARED_PER_COPY.0 / u64::from(cpus.max(1))));
    Nanos(each.0.saturating_mul(further))
}

/// The expected duration of one round.
pub fn round_cost(case: &PlannedCase) -> Nanos {
    if case.simulated {
        return OVERHEAD.plus(case.shape.setup);
    }
    let settle = match case.shape.settle {
        Settle::None => Nanos::ZERO,
        Settle::Sync => Nanos::from_millis(50),
        Settle::SyncSleep => Nanos::from_secs(3),
    };
    OVERHEAD
        .plus(settle)
        .plus(case.shape.setup)
        .plus(case.shape.warmup)
        .plus(case.shape.measure)
}

/// What making everything is expected to take that rounds of this plan stand on.
pub fn making(plan: &Plan) -> Nanos {
    plan.grounds().map(|ground| ground.expected).sum()
}

/// What a run takes in any case, however short its budget is: what rounds stand on is made, and serves one of them.
pub fn in_any_case(plan: &Plan) -> Nanos {
    let used = plan.cases.iter().filter(|case| case.ground.is_some());
    making(plan).plus(used.map(round_cost).min().unwrap_or_default())
}

/// The rounds of this case that a plan asks for; `None` where the budget decides.
pub fn rounds_wanted(plan: &Plan, case: &PlannedCase) -> Option<u32> {
    case.shape.rounds.or(plan.passes)
}

/// How many rounds a case is to have, or pairs of them, as far as that is known before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounds {
    /// At least, unless somebody interrupts.
    pub least: Option<u32>,
    /// At most.
    pub most: Option<u32>,
}

/// The rounds that a case of this plan is to have; neither bound where time decides.
pub fn rounds(plan: &Plan, case: &PlannedCase) -> Rounds {
    if plan.soak.is_some() {
        return Rounds::default();
    }
    let short = short_of(plan);
    match (looks_max(plan, case), rounds_wanted(plan, case)) {
        (Some(most), _) if most > LOOKS[0] => Rounds {
            least: short.is_none().then_some(LOOKS[0]),
            most: Some(most),
        },
        (Some(most), _) | (None, Some(most)) => Rounds {
            least: short
                .is_none_or(|short| short.passes >= most)
                .then_some(most),
            most: Some(most),
        },
        (None, None) => Rounds::default(),
    }
}

/// The expected duration of the whole run, at most: its budget, or its passes, whichever is over first. Where looks
/// decide, the last look counts.
pub fn expected(plan: &Plan) -> Nanos {
    let passes = plan.cases.iter().try_fold(Nanos::ZERO, |sum, case| {
        let most = rounds_wanted(plan, case).or_else(|| looks_max(plan, case));
        let rounds = u64::from(most?);
        Some(sum.plus(Nanos(round_cost(case).0.saturating_mul(rounds))))
    });
    let passes = passes.map(|passes| passes.plus(making(plan)));
    let budget = plan.budget.map(|budget| budget.max(in_any_case(plan)));
    match (passes, budget) {
        (Some(passes), Some(budget)) => passes.min(budget),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => Nanos::ZERO,
    }
}

/// A budget that is over before the passes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    /// Whole passes that fit.
    pub passes: u32,
    /// Passes that were asked for; where only the budget counts, the six that an interval takes.
    pub wanted: u32,
    /// What those take.
    pub needs: Nanos,
}

impl Short {
    /// A budget that has room for them, where they are those that an interval takes: for more, a larger budget has
    /// longer rounds first.
    pub fn room(self) -> Option<Nanos> {
        let room = Nanos(round_to_u64(approx(self.needs.0) / PLANNED_SHARE));
        (self.wanted <= ROUNDS_MIN).then_some(room)
    }
}

/// About how many passes fit into the budget of `plan`, both sides of a duel together; `None` where it has none.
pub fn passes_that_fit(plan: &Plan) -> Option<u32> {
    let budget = plan.budget?;
    let Nanos(pass) = plan.cases.iter().map(round_cost).sum();
    let making = Nanos(making(plan).0.saturating_mul(sides(plan)));
    let passes = budget
        .since(making)
        .0
        .checked_div(pass.saturating_mul(sides(plan)))?;
    Some(u32::try_from(passes).unwrap_or(u32::MAX))
}

/// What a pass takes is not known better than to one in so many parts: a budget that is less short than that may do.
const KNOWN_TO: u64 = 20;

/// Whether the budget of `plan`, which both sides of a duel share, is over before the passes asked for, or before six.
/// `None` where it is not, or by less than what the estimate may be off, where there is none, or
/// where a method fixes the rounds.
pub fn short_of(plan: &Plan) -> Option<Short> {
    let budget = plan.budget?;
    if plan.cases.iter().any(|case| case.shape.rounds.is_some()) {
        return None;
    }
    let Nanos(pass) = plan.cases.iter().map(round_cost).sum();
    let pass = pass.saturating_mul(sides(plan));
    let wanted = plan.passes.unwrap_or(ROUNDS_MIN);
    let making = Nanos(making(plan).0.saturating_mul(sides(plan)));
    let needs = Nanos(pass.saturating_mul(u64::from(wanted))).plus(making);
    let passes = passes_that_fit(plan)?;
    let may_do = budget.0.saturating_add(budget.0 / KNOWN_TO);
    (needs.0 > may_do).then_some(Short {
        passes,
        wanted,
        needs,
    })
}

/// How many plans live on one budget: both sides of a duel do.
const fn sides(plan: &Plan) -> u64 {
    if plan.duel.is_some() { 2 } else { 1 }
}

/// Makes six rounds of every case fit into the plan's budget, if there is one: shorter rounds, then fewer optional
/// tests. What cannot be made to fit stays, and the run says that it had too little time.
pub fn fit(plan: &mut Plan, optional: &[String]) {
    let Some(budget) = plan.budget else { return };
    let available = approx(budget.0) * PLANNED_SHARE / approx(sides(plan));
    shorten(plan, available);
    let whole = needed(plan) / PLANNED_SHARE * approx(sides(plan));
    let whole = Nanos(round_to_u64(whole)).as_secs_f64().ceil();
    for pattern in optional {
        if needed(plan) <= available {
            return;
        }
        let before = plan.cases.len();
        if plan
            .cases
            .iter()
            .all(|case| crate::resolve::glob(pattern, &case.id.test))
        {
            return;
        }
        plan.cases
            .retain(|case| !crate::resolve::glob(pattern, &case.id.test));
        if plan.cases.len() < before {
            let why = format!(
                "{:.0} s are too few for six rounds of every test; hint: `--budget {whole:.0}s` leaves nothing out",
                budget.as_secs_f64()
            );
            plan.dropped.push(Dropped {
                what: pattern.clone(),
                why,
                needs: Some(Nanos(round_to_u64(whole * 1e9))),
            });
        }
    }
}

/// Time that the minimum of rounds needs, with what they stand on, in nanoseconds.
fn needed(plan: &Plan) -> f64 {
    let of = |case| approx(round_cost(case).0) * f64::from(rounds_needed(plan, case));
    let rounds: f64 = plan.cases.iter().map(of).sum();
    rounds + approx(making(plan).0)
}

/// The rounds of this case that must fit: six, or fewer where no more are asked for, or what a method fixes.
fn rounds_needed(plan: &Plan, case: &PlannedCase) -> u32 {
    let asked = rounds_wanted(plan, case).unwrap_or(ROUNDS_MIN);
    asked.min(case.shape.rounds.unwrap_or(ROUNDS_MIN))
}

/// Below which the measured part of this case is not shortened.
fn shortest(case: &PlannedCase) -> Nanos {
    case.shape.measure_min.max(Shape::MEASURE_MIN)
}

fn shorten(plan: &mut Plan, available: f64) {
    let can = |case: &PlannedCase| {
        case.shape.can_shorten() && !case.simulated && case.shape.measure > shortest(case)
    };
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
