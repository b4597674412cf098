//! What disturbs rounds from inside of the machine: other programs, a quota that holds back now and then, too little
//! memory. Time that the host takes is no such thing: it is part of what is rented.
//!
//! A verdict that rests on such rounds is one about them. No round is left out of any estimate; a verdict stands only
//! where the other rounds alone would give it too.

use crate::noise::{held_back, used_by_others};
use crate::rounds::CaseRounds;
use crate::thresholds::MEMORY_STALL_MAX;
use model::comparison::Inside;
use model::noise::Noise;
use model::num::count;

/// A quota that holds back in this share of the rounds is no disturbance: it is what the machine has.
const ALWAYS: f64 = 0.8;

/// What disturbed single rounds of a case of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Disturbances {
    quota_counts: bool,
    memory_counts: bool,
}

impl Disturbances {
    /// For the rounds of a case of one run.
    pub(crate) fn of(rounds: &CaseRounds<'_>) -> Self {
        let held = rounds
            .noises
            .iter()
            .filter(|noise| held_back(noise) == Some(true));
        Self {
            quota_counts: count(held.count()) < ALWAYS * count(rounds.noises.len()),
            // Files that are larger than the memory push one another out of it.
            memory_counts: !rounds.case.exceeds_memory,
        }
    }

    /// What disturbed a round, if anything did.
    pub(crate) fn in_round(self, noise: &Noise) -> Option<Inside> {
        if used_by_others(noise) == Some(true) {
            Some(Inside::Others)
        } else if self.memory_counts && stalled(noise) {
            Some(Inside::Memory)
        } else {
            (self.quota_counts && held_back(noise) == Some(true)).then_some(Inside::Quota)
        }
    }

    /// What disturbed the most rounds of the case, if anything did.
    pub(crate) fn worst(rounds: &CaseRounds<'_>) -> Option<Inside> {
        let this = Self::of(rounds);
        let causes = || {
            rounds
                .noises
                .iter()
                .filter_map(|noise| this.in_round(noise))
        };
        let times = |cause| causes().filter(|&seen| seen == cause).count();
        causes().max_by_key(|&cause| times(cause))
    }
}

/// Whether tasks waited for memory in this round.
fn stalled(noise: &Noise) -> bool {
    let share = noise.psi_memory_share;
    share.is_some_and(|share| share > MEMORY_STALL_MAX)
}
