//! The time of a run: what is spent, what is left of its budget, and what still fits into it. Everything counts from
//! the moment at which the program was started: looking, waiting, and making what rounds stand on.

use super::{Lane, Runner};
use crate::budget;
use crate::schedule::{self, Running};
use model::num::{approx, round_to_u64};
use model::units::Nanos;
use stats::ROUNDS_MIN;
use sys::clock::monotonic;

/// The share of the time left into which rounds are made to fit: they never take exactly what they are expected to.
const ROOM_USED: f64 = 0.98;

impl Runner<'_> {
    /// Time used so far, by this process and by earlier parts of the run.
    pub(super) fn elapsed(&self) -> Nanos {
        let earlier = self.lanes.iter().flat_map(|lane| lane.side.earlier);
        let earlier = earlier.map(model::record::Round::took_in_all).sum();
        Nanos(monotonic() - self.setting.began).plus(earlier)
    }

    /// Time left of the budget; `None` without one.
    pub(super) fn left(&self) -> Option<Nanos> {
        let budget = self.plan().budget?;
        Some(budget.since(self.elapsed()))
    }

    /// Whether a round fits. What it stands on is made as far as [`Self::room_for_making`] goes.
    pub(super) fn fits(&self, case: usize) -> bool {
        self.left().is_none_or(|left| self.costs(case) <= left)
    }

    /// What a round of this case costs, on every side.
    fn costs(&self, case: usize) -> Nanos {
        self.lanes.iter().map(|lane| lane.cases[case].cost).sum()
    }

    /// How long it may take to make what this case stands on; `None` without a budget. Where the plan has room for six
    /// rounds of every case they keep it, however slow the storage is, and so does what else is to be made; else there
    /// is room for one round of each.
    pub(super) fn room_for_making(&self, side: usize, case: usize) -> Option<Nanos> {
        let left = self.left()?;
        let short = budget::short_of(self.plan()).is_some();
        let least = if short { 1 } else { ROUNDS_MIN };
        let rounds = |lane: &Lane<'_>| -> Nanos {
            let cases = lane.cases.iter();
            cases.map(|case| first_rounds(case, least)).sum()
        };
        let others = |(other, lane): (usize, &Lane<'_>)| {
            let own = &lane.side.plan.cases[case];
            let this = (other == side).then(|| lane.grounds.pending_of(own));
            let pending = lane.grounds.pending(lane.side.plan);
            pending.since(this.unwrap_or_default())
        };
        let rounds = self.lanes.iter().map(rounds);
        let others = self.lanes.iter().enumerate().map(others);
        let others = others.filter(|_| !short);
        let room = left.since(rounds.chain(others).sum());
        // Its own time was planned for it, and is not taken by rounds that cost more than planned: one of each keeps
        // its place.
        let lane = &self.lanes[side];
        let own = lane.grounds.pending_of(&lane.side.plan.cases[case]);
        let ones = self.lanes.iter().map(|lane| -> Nanos {
            let cases = lane.cases.iter();
            cases.map(|case| first_rounds(case, 1)).sum()
        });
        Some(room.max(own.min(left.since(ones.sum()))))
    }

    /// Makes rounds shorter where they cost more than planned, so that six of each case fit all the same.
    pub(super) fn make_six_fit(&mut self) {
        let Some(left) = self.left() else { return };
        let (mut needed, mut flexible) = (0.0, 0.0);
        for lane in &self.lanes {
            for (case, planned) in lane.cases.iter().zip(&lane.side.plan.cases) {
                needed += approx(first_rounds(case, ROUNDS_MIN).0);
                if budget::shortens(planned) {
                    flexible += approx(case.measure.0) * f64::from(missing(case, ROUNDS_MIN));
                }
            }
        }
        let over = needed - approx(left.0) * ROOM_USED;
        if over <= 0.0 || flexible <= 0.0 {
            return;
        }
        let factor = (1.0 - over / flexible).max(0.0);
        for lane in &mut self.lanes {
            for (case, planned) in lane.cases.iter_mut().zip(&lane.side.plan.cases) {
                if budget::shortens(planned) && missing(case, ROUNDS_MIN) > 0 {
                    let measure = Nanos(round_to_u64(approx(case.measure.0) * factor));
                    case.shorten(measure.max(budget::shortest(planned)).min(case.measure));
                }
            }
        }
    }

    /// Makes the rounds of a run's only case longer where what they stand on took less time than was planned for it, or
    /// stood there already: before the first of them, so that all are alike. A run that is resumed goes on as planned.
    pub(super) fn use_what_making_left(&mut self) {
        let Some(left) = self.left() else { return };
        let [lane] = &mut self.lanes[..] else { return };
        if let [case] = &mut lane.cases[..]
            && case.rounds == 0
            && let Some(measure) = budget::measure_of_one(lane.side.plan, left)
        {
            case.lengthen(measure);
        }
    }

    /// The expected duration of the whole run when a round of the case `next` is about to start in this pass, which it
    /// does in any case: what is over, what has to be made, and the rounds still wanted at what they cost.
    pub(super) fn expected(&self, pass: u32, next: usize) -> Nanos {
        if let Some(expected) = self.expected_of_spread(pass) {
            return expected;
        }
        let wanted: Option<Vec<Nanos>> = self
            .lanes
            .iter()
            .map(|lane| schedule::time_wanted(&lane.cases))
            .collect();
        let elapsed = self.elapsed();
        let pending = self.lanes.iter();
        let pending = pending.map(|lane| lane.grounds.pending(lane.side.plan));
        let by_rounds =
            wanted.map(|times| times.into_iter().chain(pending).fold(elapsed, Nanos::plus));
        let at_least = elapsed.plus(self.costs(next));
        match (
            by_rounds,
            self.plan().budget.map(|budget| budget.max(at_least)),
        ) {
            (Some(rounds), Some(budget)) => rounds.min(budget),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => elapsed,
        }
    }
}

/// What the rounds of a case take that it has not had yet of the least that it is to have.
fn first_rounds(case: &Running, least: u32) -> Nanos {
    Nanos(case.cost.0.saturating_mul(u64::from(missing(case, least))))
}

/// How many those are.
fn missing(case: &Running, least: u32) -> u32 {
    if case.given_up() {
        return 0;
    }
    let wanted = case.wanted.unwrap_or(least).min(least);
    wanted.saturating_sub(case.rounds)
}
