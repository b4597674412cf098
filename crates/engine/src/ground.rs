//! What rounds stand on: made before the first round that needs it, looked at again where something may have happened
//! to it, and taken away at the end. All of it is done by workers, and told apart from what rounds cost.

use crate::round::{Asked, Bench, NotDone, errand};
use crate::schedule::FAILURES_MAX;
use crate::wire::Sent;
use crate::workload::{ErrandKind, Told};
use model::ground::{Did, Errand, Ground};
use model::order::Keyed as _;
use model::plan::{Plan, PlannedCase};
use model::record::Failure;
use model::units::{Bytes, Nanos};
use std::collections::{BTreeMap, BTreeSet};
use sys::clock::monotonic;

/// Taking a ground away may take this long.
const REMOVE_DEADLINE: Nanos = Nanos::from_secs(60);

/// A ground that is being made or looked at.
#[derive(Clone, Copy, Debug)]
pub struct Preparing<'a> {
    /// Which.
    pub ground: &'a Ground,
    /// What is done for it.
    pub did: Did,
    /// How much has been made so far.
    pub made: Bytes,
    /// Time since the run began.
    pub elapsed: Nanos,
    /// The expected duration of the whole run.
    pub expected: Nanos,
}

/// How a ground stands.
#[derive(Clone, Debug)]
enum Standing {
    /// Nothing of it is there that counts.
    Unmade { failures: u32 },
    /// Something may have happened to it.
    Doubtful,
    /// It is there, in whole.
    Holds,
    /// It cannot be had.
    Lost(Failure),
}

/// The grounds of one side of a run.
#[derive(Debug)]
pub(crate) struct Grounds {
    standing: BTreeMap<String, Standing>,
    /// Those whose making was begun and did not come to its end: parts of them may be there.
    begun: BTreeSet<String>,
    errands: u32,
}

/// How far an errand has come: since when it goes on, and how much is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step<'a> {
    pub(crate) ground: &'a Ground,
    pub(crate) did: Did,
    pub(crate) spent: Nanos,
    pub(crate) made: Bytes,
}

impl Step<'_> {
    /// What the errand takes in all, as far as can be told by now.
    pub(crate) fn whole(self) -> Nanos {
        let expected = self.ground.expected.max(self.spent);
        match self.ground.bytes {
            Some(bytes) if self.made.0 > 0 => {
                let whole = u128::from(self.spent.0) * u128::from(bytes.0.max(self.made.0))
                    / u128::from(self.made.0);
                Nanos(u64::try_from(whole).unwrap_or(u64::MAX))
            }
            _ => expected,
        }
    }
}

impl Grounds {
    /// Before the first round of a run, or of its next part: then something of them `may_be_there`.
    pub(crate) fn new(plan: &Plan, may_be_there: bool) -> Self {
        let standing = if may_be_there {
            Standing::Doubtful
        } else {
            Standing::Unmade { failures: 0 }
        };
        let each = plan.grounds();
        Self {
            standing: each
                .map(|ground| (ground.key.clone(), standing.clone()))
                .into_map(),
            begun: BTreeSet::new(),
            errands: 0,
        }
    }

    /// What making those is expected to take that have to be made.
    pub(crate) fn pending(&self, plan: &Plan) -> Nanos {
        let unmade = plan.grounds().filter(|ground| self.is_unmade(ground));
        unmade.map(|ground| ground.expected).sum()
    }

    /// The same for what one case stands on.
    pub(crate) fn pending_of(&self, case: &PlannedCase) -> Nanos {
        let unmade = case.ground.iter().find(|ground| self.is_unmade(ground));
        unmade.map_or(Nanos::ZERO, |ground| ground.expected)
    }

    fn is_unmade(&self, ground: &Ground) -> bool {
        matches!(
            self.standing.get(&ground.key),
            Some(Standing::Unmade { .. })
        )
    }

    /// A round failed: it may have left anything.
    pub(crate) fn doubt(&mut self, case: &PlannedCase) {
        let key = case.ground.as_ref().map(|ground| &ground.key);
        if let Some(standing) = key.and_then(|key| self.standing.get_mut(key))
            && matches!(standing, Standing::Holds)
        {
            *standing = Standing::Doubtful;
        }
    }

    /// Sees to it that what the case stands on is there: what was done for that, and whether it could be. It is looked
    /// at only where something may have happened to it, and made only as long as there is `room` for that.
    pub(crate) fn stand(
        &mut self,
        bench: &Bench<'_>,
        case: &PlannedCase,
        (seed, room): (u64, Option<Nanos>),
        tell: &mut dyn FnMut(Step<'_>),
    ) -> (Vec<Errand>, Result<(), NotDone>) {
        let mut done = Vec::new();
        let Some(ground) = &case.ground else {
            return (done, Ok(()));
        };
        let began = monotonic();
        loop {
            let standing = self.standing.get(&ground.key);
            let (did, failures) = match standing {
                None | Some(Standing::Holds) => return (done, Ok(())),
                Some(Standing::Lost(why)) => return (done, Err(NotDone::Failed(why.clone()))),
                Some(Standing::Doubtful) => (Did::Check, 0),
                Some(Standing::Unmade { failures }) => (Did::Make, *failures),
            };
            let left = room.map(|room| room.since(Nanos(monotonic() - began)));
            let at_most = left.map_or(ground.at_most, |left| left.min(ground.at_most));
            let (errand, told) = self.send(bench, case, ground, (did, at_most), seed, tell);
            if did == Did::Make && may_leave_parts(&told) {
                self.begun.insert(ground.key.clone());
            }
            let next = match (did, &told) {
                (_, Err(NotDone::Interrupted)) => return (done, told.map(|_| ())),
                (_, Ok(told)) if told.holds => Standing::Holds,
                (Did::Make, Err(NotDone::Failed(Failure::Hung { .. })))
                    if at_most < ground.at_most =>
                {
                    return (done, Err(NotDone::NoTime));
                }
                // Whatever kept it from being looked at, it can be made again.
                (Did::Check, _) => Standing::Unmade { failures: 0 },
                (Did::Make, told) => {
                    let why = match told {
                        Err(NotDone::Failed(why)) => why.clone(),
                        _ => Failure::WrongResult("what was made does not hold".to_owned()),
                    };
                    let cannot = matches!(why, Failure::Unsupported(_));
                    let standing = if cannot || failures + 1 >= FAILURES_MAX {
                        Standing::Lost(why.clone())
                    } else {
                        Standing::Unmade {
                            failures: failures + 1,
                        }
                    };
                    self.standing.insert(ground.key.clone(), standing);
                    done.push(errand);
                    return (done, Err(NotDone::Failed(why)));
                }
            };
            self.standing.insert(ground.key.clone(), next);
            done.push(errand);
        }
    }

    fn send(
        &mut self,
        bench: &Bench<'_>,
        case: &PlannedCase,
        ground: &Ground,
        (did, at_most): (Did, Nanos),
        seed: u64,
        tell: &mut dyn FnMut(Step<'_>),
    ) -> (Errand, Result<Told, NotDone>) {
        self.errands += 1;
        let asked = Asked {
            errand: Sent::For(match did {
                Did::Make => ErrandKind::Make,
                Did::Check => ErrandKind::Check,
            }),
            case,
            number: self.errands,
            seed,
            at_most,
        };
        let begin = monotonic();
        let mut step = |made| {
            tell(Step {
                ground,
                did,
                spent: Nanos(monotonic() - begin),
                made,
            });
        };
        step(Bytes(0));
        let told = errand(bench, asked, &mut step);
        let known = told.as_ref().ok();
        let errand = Errand {
            ground: ground.key.clone(),
            kind: ground.kind,
            did,
            holds: known.is_some_and(|told| told.holds),
            took: Nanos(monotonic() - begin),
            bytes: known.and_then(|told| told.bytes),
        };
        (errand, told)
    }

    /// Takes away what is there, also after an interruption, and what may be there in part. Gives what could not be.
    pub(crate) fn remove(&mut self, bench: &Bench<'_>, plan: &Plan) -> Vec<Failure> {
        let mut failures = Vec::new();
        for ground in plan.grounds() {
            let standing = self.standing.remove(&ground.key);
            let of = |case: &&PlannedCase| case.ground.as_ref() == Some(ground);
            let is_there = matches!(standing, Some(Standing::Holds | Standing::Doubtful));
            let is_there = self.begun.remove(&ground.key) || is_there;
            let Some(case) = plan.cases.iter().find(of).filter(|_| is_there) else {
                continue;
            };
            self.errands += 1;
            let asked = Asked {
                errand: Sent::For(ErrandKind::Remove),
                case,
                number: self.errands,
                seed: 0,
                at_most: REMOVE_DEADLINE,
            };
            if let Err(NotDone::Failed(why)) = errand(bench, asked, &mut |_| ()) {
                failures.push(why);
            }
        }
        failures
    }
}

/// Whether making ended in such a way that parts of what was made may be there. What cannot be made here at all was
/// refused, and a workload that finds so leaves none.
const fn may_leave_parts(told: &Result<Told, NotDone>) -> bool {
    match told {
        Ok(told) => !told.holds,
        Err(NotDone::Failed(why)) => !matches!(why, Failure::Unsupported(_)),
        Err(NotDone::Interrupted | NotDone::NoTime) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ground::GroundKind;

    #[test]
    fn what_was_refused_alone_leaves_no_parts() {
        let failed = |why| Err(NotDone::Failed(why));
        for (told, expected) in [
            (Ok(Told::default()), true),
            (Err(NotDone::Interrupted), true),
            (Err(NotDone::NoTime), true),
            (failed(Failure::Error("full".to_owned())), true),
            (failed(Failure::OutOfMemory), true),
            (failed(Failure::Unsupported("others".to_owned())), false),
        ] {
            assert_eq!(may_leave_parts(&told), expected, "{told:?}");
        }
    }

    #[test]
    fn what_making_takes_is_told_by_what_is_made() {
        let ground = Ground {
            key: "k".to_owned(),
            kind: GroundKind::File,
            bytes: Some(Bytes(100)),
            expected: Nanos(50),
            at_most: Nanos(1000),
        };
        let step = |spent: u64, made: u64| Step {
            ground: &ground,
            did: Did::Make,
            spent: Nanos(spent),
            made: Bytes(made),
        };
        for (spent, made, whole) in [(0, 0, 50), (70, 0, 70), (10, 10, 100), (90, 100, 90)] {
            assert_eq!(step(spent, made).whole(), Nanos(whole), "{spent} {made}");
        }
    }
}
