//! What rounds stand on, while a run goes on: seen to before each round, and taken away at the end.

use super::{One, Runner};
use crate::ground::{Preparing, Step};
use crate::round::NotDone;
use model::ground::Errand;
use model::plan::Plan;
use model::record::Failure;
use model::rng::Rng;
use model::units::Nanos;
use sys::clock::monotonic;

impl One {
    /// Before the first stretch of a soak.
    pub(super) fn before_all(plan: &Plan) -> Self {
        let making = plan.grounds().map(|ground| ground.expected);
        Self {
            side: 0,
            pass: 0,
            case: 0,
            layout_seed: plan.seed,
            elapsed: Nanos::ZERO,
            expected: making.sum(),
            stretching: None,
        }
    }
}

impl Runner<'_> {
    /// Sees to it that what the case stands on is there: what was done for it, and whether it could be; `None` where
    /// the user interrupted that.
    pub(super) fn stand(
        &mut self,
        side: usize,
        case: usize,
        one: &One,
    ) -> Option<(Vec<Errand>, Result<(), Failure>)> {
        let lane = &mut self.lanes[side];
        let planned = &lane.side.plan.cases[case];
        let (begin, observer) = (monotonic(), &mut *self.observer);
        let mut tell = |step: Step<'_>| {
            let elapsed = one.elapsed.plus(Nanos(monotonic() - begin));
            let rest = one.expected.since(step.ground.expected);
            observer.prepares(&Preparing {
                ground: step.ground,
                did: step.did,
                made: step.made,
                elapsed,
                expected: rest.plus(step.whole()).max(elapsed),
            });
        };
        let seed = Rng::stream(one.layout_seed, 1).next();
        let grounds = &mut lane.grounds;
        match grounds.stand(&lane.bench, planned, seed, &mut tell) {
            (_, Err(NotDone::Interrupted)) => None,
            (errands, Err(NotDone::Failed(why))) => Some((errands, Err(why))),
            (errands, Ok(())) => Some((errands, Ok(()))),
        }
    }

    /// Takes away what rounds stood on.
    pub(super) fn clear(&mut self) {
        for lane in &mut self.lanes {
            for why in lane.grounds.remove(&lane.bench, lane.side.plan) {
                self.observer
                    .notices(&format!("what rounds stood on could not be removed: {why}"));
            }
        }
    }
}
