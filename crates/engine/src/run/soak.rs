//! A soak as it happens: stretch after stretch, with rests that a signal ends at once.

use super::stand::Stood;
use super::{One, RunError, Runner};
use crate::soak::{self, Asleep, Next, Now, Rest, SoakClock, Stretching};
use model::record::End;
use model::soak::Soak;
use model::units::{Bytes, Nanos};
use stats::soak::Past;

/// A rest is slept in pieces of this length, so that a signal between check and sleep is not missed for long.
const NAP_NS: u64 = 1_000_000_000;

/// A rest of a soak, or between two passes, as it begins.
#[derive(Clone, Copy, Debug)]
pub struct Resting {
    /// The time of the soak or run now.
    pub elapsed: Nanos,
    /// That at which the rest ends.
    pub until: Nanos,
    /// The whole time.
    pub expected: Nanos,
    /// What for.
    pub why: Rest,
}

impl Runner<'_> {
    /// Stretch after stretch, until the time is over.
    pub(super) fn soak(&mut self, plan: &Soak) -> Result<End, RunError> {
        let side = self.lanes[0].side;
        let shape = side.plan.cases[0].shape;
        // What the stretches stand on is no part of the soak's time. Where it fails, the first stretch says so.
        let stood = self.stand(0, 0, &One::before_all(side.plan));
        if matches!(stood, Stood::Interrupted) {
            return Ok(End::Interrupted);
        }
        let clock = SoakClock::start(side.earlier);
        let since = clock.elapsed();
        let mut asleep: Option<Asleep> = None;
        let mut past: Vec<Past> = side.earlier.iter().filter_map(Past::of).collect();
        let mut pass = side
            .earlier
            .iter()
            .map(|round| round.pass)
            .max()
            .unwrap_or(0);
        loop {
            if sys::signal::interrupted().is_some() {
                return Ok(End::Interrupted);
            }
            if self.lanes[0].cases[0].given_up() {
                return Ok(End::Complete);
            }
            if !self.reach(0, Some(plan.span.since(clock.elapsed()))) {
                return Ok(End::Interrupted);
            }
            // Stretches differ in length: what one moved says nothing of the next, which ends at the bound.
            if self.moved.left() == Some(Bytes(0)) {
                self.look_at_what_moved(0);
            }
            let now = Now {
                elapsed: clock.elapsed(),
                since,
            };
            match soak::next(plan, &shape, &past, now) {
                Next::Over => return Ok(End::Complete),
                Next::Rest { until, why } => self.rest(plan, clock, until, why)?,
                Next::Stretch { kind, measure } => {
                    pass += 1;
                    let stretching = Stretching {
                        kind,
                        measure,
                        clock,
                        suspended_before: asleep.map(|then| Asleep::now().since(then)),
                    };
                    let Some(round) = self.stretch(pass, stretching)? else {
                        return Ok(End::Interrupted);
                    };
                    asleep = Some(Asleep::now());
                    past.extend(Past::of(&round));
                }
            }
        }
    }

    /// Sleeps until the soak's time is `until`, or a signal comes.
    fn rest(
        &mut self,
        plan: &Soak,
        clock: SoakClock,
        until: Nanos,
        why: Rest,
    ) -> Result<(), RunError> {
        self.observer.rests(&Resting {
            elapsed: clock.elapsed(),
            until,
            expected: plan.span,
            why,
        });
        self.sleep(|| until.since(clock.elapsed()))
    }

    /// Sleeps until no time is left, a signal comes, or what was made costs others something: an error then.
    pub(super) fn sleep(&mut self, left: impl Fn() -> Nanos) -> Result<(), RunError> {
        while nap(&left) {
            self.observer.spares().map_err(RunError::Costs)?;
        }
        Ok(())
    }
}

/// Sleeps until no time is left, or a signal comes.
pub(super) fn sleep_for(left: impl Fn() -> Nanos) {
    while nap(&left) {}
}

/// Sleeps for a second, or for what is left; false where nothing is, or a signal came.
fn nap(left: &impl Fn() -> Nanos) -> bool {
    if sys::signal::interrupted().is_some() {
        return false;
    }
    let Nanos(left @ 1..) = left() else {
        return false;
    };
    sys::clock::sleep(left.min(NAP_NS));
    true
}
