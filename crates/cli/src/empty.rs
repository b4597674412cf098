//! A run that ends before anything is measured is not kept: it would say nothing, and stand in every list.

use crate::exit::{Exit, failure};
use engine::budget;
use engine::run::{Ended, Unmade};
use model::ground::Did;
use model::num::{approx, round_to_u64};
use model::params::budget_text;
use model::record::{End, Run};
use model::units::Nanos;
use report::Lang;
use report::number::{in_seconds, time};
use store::{RunLine, Store, StoreError};

/// How much longer making may take the next time than at the pace that was seen.
const PACE_MAY_FALL: f64 = 1.1;

/// Takes the runs out of the store where none of them has any round: the error that says so. The report of a job
/// is one of nothing too.
pub(crate) fn taken_away(
    store: &Store,
    runs: &[Run],
    ended: &Ended,
) -> Result<Option<anyhow::Error>, StoreError> {
    let lines = runs.iter().map(|run| store.line(&run.meta.id));
    let lines: Vec<RunLine> = lines.collect::<Result<_, _>>()?;
    let has_report = runs.iter().any(|run| run.plan.is_of_a_language());
    if has_report || lines.iter().any(|line| line.rounds > 0) {
        return Ok(None);
    }
    store.remove(&lines)?;
    Ok(Some(nothing(runs, ended)))
}

fn nothing(runs: &[Run], ended: &Ended) -> anyhow::Error {
    if ended.end == End::Interrupted {
        let text = "interrupted: nothing was measured, and no run is kept";
        return failure(Exit::Interrupted, text, None);
    }
    let why = unmade(runs, ended)
        .unwrap_or_else(|| format!("{} is over before the first round ends", whose(runs)));
    let text = format!("{why}: nothing was measured, and no run is kept");
    failure(Exit::Incomplete, text, Some(&hint(runs, ended)))
}

/// Why there was no time for what rounds were to stand on; `None` where there was.
pub(crate) fn unmade(runs: &[Run], ended: &Ended) -> Option<String> {
    let Unmade {
        ground,
        spent,
        made,
    } = ended.unmade.first()?;
    let (making, far) = report::grounds::preparing(ground, Did::Make, *made, Lang::En);
    let spent = time(*spent, Lang::En);
    let budget = whose(runs);
    Some(format!(
        "{budget} has no time for {making}: {far} in {spent}"
    ))
}

fn whose(runs: &[Run]) -> String {
    let budget = runs.first().and_then(|run| run.plan.budget);
    format!("the budget of {}", in_seconds(budget.unwrap_or_default()))
}

/// The least budget that makes sense, as far as that can be told by now.
fn hint(runs: &[Run], ended: &Ended) -> String {
    let least = runs.first().map(|run| {
        let making = budget::making(&run.plan);
        let (seen, expected) = ended.unmade.iter().fold((0, 0), |(seen, expected), one| {
            (seen + one.whole().0, expected + one.ground.expected.0)
        });
        let seen = round_to_u64(approx(seen) * PACE_MAY_FALL);
        budget::least(&run.plan, making.since(Nanos(expected)).plus(Nanos(seen)))
    });
    format!(
        "`--budget {}` has room for six rounds of each case",
        budget_text(least.unwrap_or_default())
    )
}
