//! Time: what a round costs, and how a plan is made to fit.
//!
//! A budget is the time of the whole command: what is done before the first round and what rounds stand on are part of
//! it. At least six rounds of every case are needed for an interval. Where they do not fit, first the rounds become
//! shorter, then tests of profiles are left out, and what was left out is said. Where there is time to spare, rounds
//! become longer.

mod fit;
mod ranked;

pub use fit::{MayGo, fit, refit};
pub(crate) use fit::{measure_of_one, shortens, shortest};
pub use ranked::Ranks;

use crate::look;
use crate::schedule::looks_max;
use model::ground::Ground;
use model::num::{approx, round_to_u64};
use model::params::{budget_text, duration_text};
use model::plan::{OwnGround, Plan, PlannedCase, Settle};
use model::units::Nanos;
use stats::ROUNDS_MIN;
use stats::looks::LOOKS;

/// The share of a budget that rounds may be planned into; the rest is for what cannot be planned.
const PLANNED_SHARE: f64 = 0.95;

/// What is done before the first round and after the last one: facts of the machine are found, the store opened, the
/// page made. Measured on a small VM at 0.2 s.
const START: Nanos = Nanos::from_millis(300);

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

/// The share of its budget in which the only case of a run is to make what its rounds stand on.
const MAKING_SHARE: u64 = 10;

/// The time that the only case of a run has to make what its rounds stand on.
pub(crate) const fn for_making(budget: Nanos) -> Nanos {
    Nanos(budget.0 / MAKING_SHARE)
}

/// What a budget has no time for: a test's own ground.
pub(crate) fn not_made(own: &Ground) -> OwnGround {
    OwnGround {
        bytes: own.bytes.unwrap_or_default(),
        budget: Nanos(own.expected.0.saturating_mul(MAKING_SHARE)),
    }
}

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

/// The expected duration of the whole run, at most: its budget, or its passes, whichever is over first, or the time
/// over which those are spread. Where looks decide, the last look counts.
pub fn expected(plan: &Plan) -> Nanos {
    if let Some(spread) = plan.spread {
        return spread;
    }
    match (by_passes(plan), plan.budget) {
        (Some(passes), Some(budget)) => passes.min(budget),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => Nanos::ZERO,
    }
}

/// What the passes take one after the other; `None` where time alone ends them.
pub(crate) fn by_passes(plan: &Plan) -> Option<Nanos> {
    let rounds = plan.cases.iter().try_fold(Nanos::ZERO, |sum, case| {
        let most = rounds_wanted(plan, case).or_else(|| looks_max(plan, case));
        let rounds = u64::from(most?);
        Some(sum.plus(Nanos(round_cost(case).0.saturating_mul(rounds))))
    });
    rounds.map(|rounds| rounds.plus(making(plan)))
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
    /// A budget that has room for them, where they are those that an interval takes: for more, a larger budget has
    /// longer rounds first.
    pub room: Option<Nanos>,
}

/// A budget with room for six rounds of every case of `plan`, or those that it asks for where they are fewer, where
/// making what they stand on takes so long.
pub fn least(plan: &Plan, making: Nanos) -> Nanos {
    let rounds = u64::from(plan.passes.unwrap_or(ROUNDS_MIN).min(ROUNDS_MIN));
    let Nanos(pass) = plan.cases.iter().map(round_cost).sum();
    let each = Nanos(pass.saturating_mul(rounds)).plus(making);
    with_room_for(plan, approx(each.0) * approx(sides(plan)))
}

/// What is done in a budget beside rounds and what they stand on: the start and the end, and the look before the first
/// round. It is not known here whether somebody does without the look, which leaves time for further rounds.
fn beside(plan: &Plan, budget: Nanos) -> Nanos {
    let look = if uses_the_machine(plan) {
        look::within(budget)
    } else {
        Nanos::ZERO
    };
    START.plus(look)
}

fn uses_the_machine(plan: &Plan) -> bool {
    plan.cases.iter().any(|case| !case.simulated)
}

/// The time of a budget that rounds may be planned into, with what they stand on, in nanoseconds.
fn for_rounds(plan: &Plan, budget: Nanos) -> f64 {
    approx(budget.since(beside(plan, budget)).0) * PLANNED_SHARE
}

/// The budget in which so many nanoseconds may be planned: what [`for_rounds`] has of it.
fn with_room_for(plan: &Plan, needed: f64) -> Nanos {
    let rest = START.plus(Nanos(round_to_u64((needed / PLANNED_SHARE).ceil())));
    if uses_the_machine(plan) {
        look::beside(rest)
    } else {
        rest
    }
}

/// About how many passes fit into the budget of `plan`, both sides of a duel together; `None` where it has none. What a
/// method does so many times and no more is no part of each pass, unless there is nothing else.
pub fn passes_that_fit(plan: &Plan) -> Option<u32> {
    let budget = plan.budget?;
    let (times, again): (Vec<&PlannedCase>, Vec<&PlannedCase>) = plan
        .cases
        .iter()
        .partition(|case| case.shape.rounds.is_some());
    let cost = |case: &&PlannedCase| round_cost(case);
    let fixed = |case: &&PlannedCase| {
        let rounds = u64::from(case.shape.rounds.unwrap_or_default());
        Nanos(round_cost(case).0.saturating_mul(rounds))
    };
    let (Nanos(pass), once): (Nanos, Nanos) = if again.is_empty() {
        (times.iter().map(cost).sum(), Nanos::ZERO)
    } else {
        (again.iter().map(cost).sum(), times.iter().map(fixed).sum())
    };
    let once = Nanos(making(plan).plus(once).0.saturating_mul(sides(plan)));
    let passes = budget
        .since(beside(plan, budget))
        .since(once)
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
    let there_is = budget.since(beside(plan, budget)).0;
    (needs.0 > there_is.saturating_add(there_is / KNOWN_TO)).then_some(Short {
        passes,
        wanted,
        needs,
        room: (wanted <= ROUNDS_MIN).then(|| with_room_for(plan, approx(needs.0))),
    })
}

/// Why a test is left out that a budget has no time for, and which one has.
pub(crate) fn no_time(budget: Nanos, needs: Option<Nanos>) -> String {
    let hint = needs.map(|needs| format!("; hint: `--budget {}` has it", budget_text(needs)));
    let (budget, hint) = (duration_text(budget), hint.unwrap_or_default());
    format!("no time within {budget}{hint}")
}

/// How many plans live on one budget: both sides of a duel do.
const fn sides(plan: &Plan) -> u64 {
    if plan.duel.is_some() { 2 } else { 1 }
}
