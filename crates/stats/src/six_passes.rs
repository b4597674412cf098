//! What a run should have been allowed whose time was over before six passes were done.

use crate::quantile;
use crate::thresholds::ROUNDS_MIN;
use model::num::{approx, round_to_u64};
use model::plan::CaseId;
use model::record::Run;
use model::units::Nanos;
use std::collections::HashMap;

/// How much longer than six passes a budget is that has room for them: rounds do not all take what the median does.
const ROOM: f64 = 1.1;

/// A budget is told in steps of so many seconds.
const BUDGET_STEP: f64 = 10.0;

/// What six passes take, by the rounds that were run, and a budget with room for them, which is above the one in which
/// they were not done; `None` where a case has no round. Where the one that was advised before the run has room, it is
/// that one: who follows the advice is told of no other.
pub fn of(run: &Run) -> Option<(Nanos, Nanos)> {
    let mut pass = 0.0;
    let mut took: HashMap<&CaseId, Vec<f64>> = HashMap::new();
    for round in &run.rounds {
        took.entry(&round.case)
            .or_default()
            .push(approx(round.took.0));
    }
    for case in &run.plan.cases {
        pass += quantile::median(took.get(&case.id)?)?;
    }
    if run.plan.duel.is_some() {
        // Both sides share the budget.
        pass *= 2.0;
    }
    let budget = run.plan.budget.unwrap_or_default();
    let take = Nanos(round_to_u64(f64::from(ROUNDS_MIN) * pass));
    let advised = run.plan.room.map(|room| room.0.div_ceil(1_000_000_000));
    let advised = advised.map(Nanos::from_secs);
    if let Some(room) = advised.filter(|room| room.as_secs_f64() >= take.as_secs_f64() * ROOM) {
        return (pass > 0.0).then_some((take, room));
    }
    let steps = (take.max(budget).as_secs_f64() * ROOM / BUDGET_STEP).ceil();
    let room = Nanos::from_secs(round_to_u64(steps * BUDGET_STEP));
    (pass > 0.0).then_some((take, room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_budget_with_room_for_six_passes_is_larger_than_the_one_that_had_none() {
        let run = |seconds: &[u64]| {
            let mut run = fixture::run(&[("os.pipe@1", vec![1.0; seconds.len()])]);
            for (round, seconds) in run.rounds.iter_mut().zip(seconds) {
                round.took = Nanos::from_secs(*seconds);
            }
            run
        };
        // Rounds of so many seconds within a budget, what six of them take, and what is advised.
        let check = |seconds: &[u64], budget: u64, take: u64, room: u64| {
            let mut run = run(seconds);
            run.plan.budget = Some(Nanos::from_secs(budget));
            let (found, advised) = of(&run).unwrap();
            assert_eq!(found, Nanos::from_secs(take), "{seconds:?}");
            assert_eq!(advised, Nanos::from_secs(room), "{seconds:?}");
            assert!(advised > run.plan.budget.unwrap());
        };
        check(&[10, 10, 10], 30, 60, 70);
        check(&[20; 5], 119, 120, 140);
        // One slow round, which the median does not see.
        check(&[10, 10, 10, 10, 90], 120, 60, 140);
        // What was advised before the run is advised again, unless the rounds took longer.
        for (advised, room) in [(66_500, 67), (65_000, 70)] {
            let mut run = run(&[10, 10, 10]);
            run.plan.budget = Some(Nanos::from_secs(30));
            run.plan.room = Some(Nanos::from_millis(advised));
            assert_eq!(of(&run).unwrap().1, Nanos::from_secs(room));
        }
        let mut side = run(&[5]);
        side.plan.duel = Some(model::plan::Duel {
            id: "d".to_owned(),
            side: "a".to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
        assert_eq!(of(&side).unwrap().0, Nanos::from_secs(60), "two sides");
        assert_eq!(of(&run(&[])), None);
    }
}
