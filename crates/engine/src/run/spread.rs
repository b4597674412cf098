//! Passes that are spread over a time: each has a part of it to itself, at whose beginning it starts.
//!
//! When the next one starts is known from the rounds that are kept and the wall clock alone, so that a run that was
//! killed goes on as it was planned, also after the machine was started anew.

use super::soak::Resting;
use super::{RunError, Runner};
use crate::soak::Rest;
use model::plan::Plan;
use model::record::Round;
use model::units::{Nanos, UnixNanos};
use sys::clock::{monotonic, wall};

/// When passes of a run began.
pub(super) struct Spread {
    /// From the beginning of a pass to that of the next.
    interval: Nanos,
    /// How many there are.
    passes: u32,
    /// The last pass that began, and when; `None` before the first one.
    last: Option<(u32, UnixNanos)>,
}

impl Spread {
    /// As an earlier part of the run left it; `None` where its passes are not spread.
    pub(super) fn of(plan: &Plan, earlier: &[Round]) -> Option<Self> {
        let (interval, passes) = (plan.interval()?, plan.passes?);
        let last = earlier.iter().map(|round| round.pass).max();
        let began = |pass| {
            let rounds = earlier.iter().filter(|round| round.pass == pass);
            rounds.map(|round| round.started).min()
        };
        Some(Self {
            interval,
            passes,
            last: last.and_then(|pass| Some((pass, began(pass)?))),
        })
    }

    /// How long to rest at `now` before this pass: never longer than from one pass to the next, whatever was done to
    /// the clock, and not at all within a pass.
    fn rest(&self, pass: u32, now: UnixNanos) -> Nanos {
        match self.last {
            Some((last, began)) if last != pass => {
                let due = began.0.saturating_add(self.interval.0);
                Nanos(due.saturating_sub(now.0)).min(self.interval)
            }
            _ => Nanos::ZERO,
        }
    }

    /// How long passes take from `pass` on.
    fn from(&self, pass: u32) -> Nanos {
        let left = u64::from((self.passes + 1).saturating_sub(pass));
        Nanos(self.interval.0.saturating_mul(left))
    }
}

impl Runner<'_> {
    /// Rests until this pass is to begin.
    pub(super) fn rest_before(&mut self, pass: u32) -> Result<(), RunError> {
        let Some(spread) = &self.spread else {
            return Ok(());
        };
        let rest = spread.rest(pass, UnixNanos(wall()));
        if rest > Nanos::ZERO {
            let elapsed = self.elapsed();
            let until = elapsed.plus(rest);
            self.observer.rests(&Resting {
                elapsed,
                until,
                expected: until.plus(spread.from(pass)),
                why: Rest::NextPass,
            });
            let end = monotonic().saturating_add(rest.0);
            self.sleep(|| Nanos(end.saturating_sub(monotonic())))?;
        }
        if let Some(spread) = &mut self.spread
            && spread.last.is_none_or(|(last, _)| last != pass)
        {
            spread.last = Some((pass, UnixNanos(wall())));
        }
        Ok(())
    }

    /// What is expected of a run whose passes are spread, when a round of this pass is about to start.
    pub(super) fn expected_of_spread(&self, pass: u32) -> Option<Nanos> {
        let spread = self.spread.as_ref()?;
        let (last, began) = spread.last?;
        let over = Nanos(wall().saturating_sub(began.0)).min(spread.interval);
        let left = spread.from(pass.max(last)).since(over);
        Some(self.elapsed().plus(left))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_begins_an_interval_after_the_last_one_and_never_much_later() {
        let spread = |last| Spread {
            interval: Nanos(100),
            passes: 9,
            last,
        };
        let check = |last: Option<(u32, u64)>, pass, now, expect| {
            let spread = spread(last.map(|(pass, began)| (pass, UnixNanos(began))));
            assert_eq!(spread.rest(pass, UnixNanos(now)), Nanos(expect));
        };
        check(None, 1, 5000, 0);
        check(Some((1, 5000)), 2, 5030, 70);
        check(Some((1, 5000)), 2, 5100, 0);
        check(Some((1, 5000)), 2, 9000, 0);
        // The rest of a pass that was interrupted goes on at once.
        check(Some((2, 5000)), 2, 5030, 0);
        // A clock that was set back keeps nobody waiting.
        check(Some((1, 5000)), 2, 10, 100);
        assert_eq!(spread(None).from(7), Nanos(300));
    }
}
