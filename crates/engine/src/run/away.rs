//! What a side works on and the run has not made, such as a server: after a round that failed it is asked whether it is
//! still there, and waited for where it is not.
//!
//! Who waits is told so, and not for longer than a bound: the cases that need it are given up then, with the reason.
//! What was never there is not waited for: whoever starts a run asks it before the first round, and refuses to begin.
//! So what goes in the first round was there, like what goes in a later one.

use super::soak::sleep_for;
use super::{Lane, Runner};
use crate::round::{Asked, NotDone, errand};
use crate::set_up::is_of_set_up;
use crate::wire::Sent;
use crate::workload::StandIn;
use model::record::{Failure, Round};
use model::units::Nanos;
use sys::clock::monotonic;

/// The longest that it is waited for: a server that was killed goes through its log first, which takes seconds to
/// minutes. A budget or the time of a soak may end it before.
const AWAY_MAX: Nanos = Nanos::from_secs(300);

/// From one try to the next.
const TRY_EVERY: Nanos = Nanos::from_secs(1);

/// A try takes no longer: a name to be asked for, and a host that does not answer, take ten seconds each.
const TRY_MAX: Nanos = Nanos::from_secs(45);

/// And it has this much, however little time is left: one that answers does so much sooner.
const TRY_MIN: Nanos = Nanos::from_secs(2);

/// What is known of what a side works on.
#[derive(Debug, Default)]
pub(super) struct Target {
    /// The case whose round failed since it was there last.
    doubted: Option<usize>,
    /// Where it is waited for.
    waiting: Option<Waiting>,
    /// How often it was asked.
    tries: u32,
    /// Why it is not waited for any longer: that of the round that is next.
    gone: Option<Failure>,
}

/// Since when it is waited for, and until when: monotonic, in nanoseconds.
#[derive(Debug)]
struct Waiting {
    since: u64,
    until: u64,
    /// What the last try met with.
    why: String,
}

impl Target {
    /// Takes a finished round into account.
    pub(super) fn learn(&mut self, case: usize, round: &Round) {
        if round.failure().is_some_and(|why| !is_of_set_up(why)) {
            self.doubted = Some(case);
        }
    }

    /// The next round is none, and there is no other.
    pub(super) fn goes(&mut self, why: Failure) {
        self.gone = Some(why);
    }

    /// Why the next round is none; whoever asks keeps it.
    pub(super) fn take_gone(&mut self) -> Option<Failure> {
        self.gone.take()
    }

    /// Whether the next round is none.
    pub(super) const fn is_gone(&self) -> bool {
        self.gone.is_some()
    }
}

impl Lane<'_> {
    /// Asks once, by a worker for this case, which may take so long.
    fn ask(&mut self, case: usize, room: Nanos) -> Result<(), NotDone> {
        self.target.tries += 1;
        let asked = Asked {
            errand: Sent::Reach,
            case: &self.side.plan.cases[case],
            number: self.target.tries,
            seed: 0,
            at_most: room.min(TRY_MAX).max(TRY_MIN),
        };
        errand(&self.bench, asked, &mut |_| ()).map(drop)
    }

    /// On a server, or with a peer.
    fn is_elsewhere(&self) -> bool {
        self.elsewhere().next().is_some()
    }

    fn elsewhere(&self) -> impl Iterator<Item = &StandIn> {
        let named = self.bench.stand_ins.iter();
        named.filter(|own| own.kind.is_elsewhere())
    }

    /// What a case works on, in words: by its name where there is one.
    fn what_is_there(&self, case: usize) -> String {
        let all: Vec<_> = self.elsewhere().collect();
        match all.as_slice() {
            [one] => format!("`{}`", one.path.display()),
            _ => format!("what `{}` works on", self.side.plan.cases[case].id),
        }
    }
}

impl Runner<'_> {
    /// Before a round of this case, where an earlier one failed: asks whether what the sides work on is there, and
    /// waits for it as long as there is time `left`. False where the user interrupted that.
    pub(super) fn reach(&mut self, case: usize, left: Option<Nanos>) -> bool {
        (0..self.lanes.len()).all(|side| self.reach_on(side, case, left))
    }

    fn reach_on(&mut self, side: usize, case: usize, left: Option<Nanos>) -> bool {
        let lane = &mut self.lanes[side];
        let Some(failed) = lane.target.doubted.filter(|_| lane.is_elsewhere()) else {
            return true;
        };
        let most = left.map_or(AWAY_MAX, |left| left.min(AWAY_MAX));
        // No time is left to wait in, nor for the round.
        if most == Nanos::ZERO && lane.target.waiting.is_none() {
            return true;
        }
        loop {
            let now = monotonic();
            let room = match &lane.target.waiting {
                Some(waiting) if now >= waiting.until => {
                    let cases = &lane.side.plan.cases;
                    if cases[case].workload == cases[failed].workload {
                        let (why, waited) = (&waiting.why, in_seconds(now - waiting.since));
                        let words = format!("{why}\nit was waited for {waited} s, and is given up");
                        lane.target.gone = Some(Failure::Error(words));
                    }
                    return true;
                }
                Some(waiting) => Nanos(waiting.until - now),
                None => most,
            };
            let why = match lane.ask(failed, room) {
                Err(NotDone::Interrupted) => return false,
                // A round says what else is wrong with it.
                Ok(()) | Err(NotDone::NoTime | NotDone::Failed(Failure::Unsupported(_))) => break,
                Err(NotDone::Failed(Failure::Hung { after, .. })) => {
                    let (what, seconds) = (lane.what_is_there(failed), in_seconds(after.0));
                    format!("reach {what}: no answer within {seconds} s")
                }
                Err(NotDone::Failed(why)) => why.to_string(),
            };
            let now = monotonic();
            let until = if let Some(waiting) = &mut lane.target.waiting {
                waiting.why = why;
                waiting.until
            } else {
                let first = why.lines().next().unwrap_or_default();
                self.observer.notices(&format!(
                    "{first}: waiting for up to {} s until it is there again",
                    most.0 / 1_000_000_000
                ));
                let until = now.saturating_add(most.0);
                lane.target.waiting = Some(Waiting {
                    since: now,
                    until,
                    why,
                });
                until
            };
            let next = until.min(now + TRY_EVERY.0);
            sleep_for(|| Nanos(next.saturating_sub(monotonic())));
        }
        lane.target.doubted = None;
        if let Some(waiting) = lane.target.waiting.take() {
            let waited = in_seconds(monotonic() - waiting.since);
            let what = lane.what_is_there(failed);
            let words = format!("{what} is there again after {waited} s");
            self.observer.notices(&words);
        }
        true
    }
}

/// Whole seconds.
const fn in_seconds(nanos: u64) -> u64 {
    nanos.div_ceil(1_000_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::{CommandEnd, Outcome};

    #[test]
    fn what_goes_in_the_first_round_is_asked_for_like_what_goes_later() {
        let doubted = |failures: &[Option<Failure>]| {
            let mut target = Target::default();
            for (pass, failure) in (1..).zip(failures) {
                let outcome = match failure {
                    Some(why) => Outcome::Failed(why.clone()),
                    None => Outcome::Done(testkit::measured(&[("ops_per_s", 1.0)])),
                };
                let case = "net.tcp@1".parse().unwrap();
                target.learn(7, &testkit::round(&case, pass, outcome));
            }
            target.doubted
        };
        let gone = || Some(Failure::Error("nothing came back".to_owned()));
        assert_eq!(doubted(&[None, gone()]), Some(7));
        assert_eq!(doubted(&[gone()]), Some(7));
        assert_eq!(doubted(&[None]), None);
        // The command that sets a side up is this machine's.
        let set_up = Failure::SetUp {
            command: "false".to_owned(),
            end: CommandEnd::Exited(1),
            said: String::new(),
        };
        assert_eq!(doubted(&[Some(set_up)]), None);
    }
}
