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
        if !self.is_held() {
            return;
        }
        if let Err(why) = self.observer.spares() {
            self.observer.notices(&why);
        }
        self.take_away();
    }

    /// The same where that it costs others something is told already.
    pub(super) fn clear_what_costs(&mut self) {
        if self.is_held() {
            self.take_away();
        }
    }

    /// Whether what rounds stood on is the run's own still; says so where it is not.
    fn is_held(&mut self) -> bool {
        let held = self.observer.holds();
        if let Err(why) = &held {
            self.observer
                .notices(&format!("what rounds stood on stays as it is: {why}"));
        }
        held.is_ok()
    }

    /// Takes away what rounds stood on.
    fn take_away(&mut self) {
        for lane in &mut self.lanes {
            for why in lane.grounds.remove(&lane.bench, lane.side.plan) {
                self.observer
                    .notices(&format!("what rounds stood on could not be removed: {why}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Observer, Progress, Resting, Setting, moved::Moved};
    use super::*;
    use crate::consent::Permits;
    use model::record::Round;

    /// Says what a run is told.
    struct Asked {
        holds: Result<(), String>,
        said: Vec<String>,
    }

    impl Observer for Asked {
        fn holds(&mut self) -> Result<(), String> {
            self.said.push("asked".to_owned());
            self.holds.clone()
        }

        fn starts(&mut self, _: &Progress<'_>) {}

        fn ended(&mut self, _: usize, _: &Round) -> Result<(), String> {
            Ok(())
        }

        fn prepares(&mut self, _: &Preparing<'_>) {}

        fn rests(&mut self, _: &Resting) {}

        fn notices(&mut self, words: &str) {
            self.said.push(words.to_owned());
        }
    }

    #[test]
    fn what_costs_others_something_is_taken_away_where_it_is_held_alone() {
        let plan = Plan::new(Vec::new(), Vec::new());
        let permits = Permits::default();
        let said = |holds: Result<(), String>| {
            let said = Vec::new();
            let mut asked = Asked { holds, said };
            let mut runner = Runner {
                lanes: Vec::new(),
                setting: Setting {
                    permits: &permits,
                    began: 0,
                    ticks: None,
                },
                observer: &mut asked,
                unmade: Vec::new(),
                spread: None,
                moved: Moved::of(&plan, [].iter()),
            };
            runner.clear_what_costs();
            asked.said
        };
        assert_eq!(said(Ok(())), ["asked"]);
        let stays = "what rounds stood on stays as it is: another has it";
        assert_eq!(said(Err("another has it".to_owned())), ["asked", stays]);
    }
}
