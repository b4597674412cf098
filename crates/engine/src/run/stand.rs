//! What rounds stand on, while a run goes on: seen to before each round, and taken away at the end.

use super::{One, Runner};
use crate::ground::{Preparing, Step};
use crate::round::NotDone;
use model::ground::{Did, Errand, Ground};
use model::plan::Plan;
use model::record::Failure;
use model::rng::Rng;
use model::units::{Bytes, Nanos};
use sys::clock::monotonic;

/// What rounds were to stand on, and the budget had no time to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmade {
    /// What.
    pub ground: Ground,
    /// How long it was tried.
    pub spent: Nanos,
    /// How much was made then.
    pub made: Bytes,
}

impl Unmade {
    /// What making it takes in all at the pace at which it was made; what was expected, where nothing is known of that.
    pub fn whole(&self) -> Nanos {
        let step = Step {
            ground: &self.ground,
            did: Did::Make,
            spent: self.spent,
            made: self.made,
        };
        step.whole()
    }
}

/// How it stands with what a round stands on.
pub(super) enum Stood {
    /// What was done for it, and whether it could be.
    Told(Vec<Errand>, Result<(), Failure>),
    /// The budget has no time for it.
    NoTime,
    /// The user interrupted that.
    Interrupted,
}

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
    /// Sees to it that what the case stands on is there. Where the budget has no time for that, every case that stands
    /// on it is left.
    pub(super) fn stand(&mut self, side: usize, case: usize, one: &One) -> Stood {
        let room = self.room_for_making(side, case);
        let lane = &mut self.lanes[side];
        let planned = &lane.side.plan.cases[case];
        let (begin, observer) = (monotonic(), &mut *self.observer);
        let mut made = Bytes(0);
        let mut tell = |step: Step<'_>| {
            made = step.made;
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
        match grounds.stand(&lane.bench, planned, (seed, room), &mut tell) {
            (_, Err(NotDone::Interrupted)) => Stood::Interrupted,
            (errands, Err(NotDone::Failed(why))) => Stood::Told(errands, Err(why)),
            (errands, Ok(())) => Stood::Told(errands, Ok(())),
            (_, Err(NotDone::NoTime)) => {
                let ground = planned.ground.clone();
                let spent = Nanos(monotonic() - begin);
                self.unmade.extend(ground.map(|ground| Unmade {
                    ground,
                    spent,
                    made,
                }));
                let cases = lane.cases.iter_mut().zip(&lane.side.plan.cases);
                for (case, _) in cases.filter(|(_, other)| other.ground == planned.ground) {
                    case.give_up();
                }
                Stood::NoTime
            }
        }
    }

    /// Takes away what rounds stood on, where it is not what somebody else's stand on by now.
    pub(super) fn clear(&mut self) {
        if let Err(why) = self.observer.holds() {
            self.observer
                .notices(&format!("what rounds stood on stays as it is: {why}"));
            return;
        }
        if let Err(why) = self.observer.spares() {
            self.observer.notices(&why);
        }
        self.take_away();
    }

    /// Takes away what rounds stood on.
    pub(super) fn take_away(&mut self) {
        for lane in &mut self.lanes {
            for why in lane.grounds.remove(&lane.bench, lane.side.plan) {
                self.observer
                    .notices(&format!("what rounds stood on could not be removed: {why}"));
            }
        }
    }
}
