//! What the noise of single rounds says, and what is usual in a run.
//!
//! What the kernel does not tell is not counted as quiet: shares are of the rounds for which the figure is known.

use crate::quantile;
use crate::thresholds::{CLOCK_JUMP_MAX, FOREIGN_MAX, MEMORY_WAIT_MAX, STEAL_MAX, THROTTLED_MAX};
use model::noise::{Noise, Sentinel};
use model::num::count;
use model::record::Run;
use model::units::Nanos;

/// The quantile of all probes that is the best a core does: as for the clock rate the outermost twentieth is left out,
/// because a probe that was interrupted all the time may have seen anything.
const BEST_AT: f64 = 0.95;

/// What is usual in a run: what single probes are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Usual {
    /// The median time per dependent addition over all probes, in nanoseconds.
    pub(crate) add_ns: Option<f64>,
    /// The median share lost in gaps over all probes, 0 to 1.
    pub(crate) gap_share: Option<f64>,
    /// How many independent additions a core does in a cycle at its best: the core is the same whatever the case, and
    /// few rounds of one case may all have been shared. `None` where no probe tells.
    pub(crate) best_adds_per_cycle: Option<f64>,
}

impl Usual {
    /// Over every probe of `run`.
    pub(crate) fn of(run: &Run) -> Self {
        Self::over(|| run.rounds.iter().flat_map(|round| probes(&round.noise)))
    }

    /// Over these probes.
    pub(crate) fn over<'a, I: Iterator<Item = &'a Sentinel>>(probes: impl Fn() -> I) -> Self {
        let adds: Vec<f64> = probes().map(|probe| probe.add_ns).collect();
        let gaps: Vec<f64> = probes().map(|probe| probe.gap_share).collect();
        let per_cycle: Vec<f64> = probes().filter_map(|probe| probe.adds_per_cycle).collect();
        Self {
            add_ns: quantile::median(&adds),
            gap_share: quantile::median(&gaps),
            best_adds_per_cycle: quantile::quantile(&per_cycle, BEST_AT).filter(|&best| best > 0.0),
        }
    }
}

/// The probes before and after a round.
pub(crate) fn probes(noise: &Noise) -> impl Iterator<Item = &Sentinel> {
    noise.before.iter().chain(&noise.after)
}

/// The share of the known answers that is `true`; `None` where no answer is known.
pub(crate) fn share_of(answers: impl Iterator<Item = Option<bool>>) -> Option<f64> {
    let known: Vec<bool> = answers.flatten().collect();
    let concerned = known.iter().filter(|&&concerned| concerned).count();
    (!known.is_empty()).then(|| count(concerned) / count(known.len()))
}

/// A share that is worth a warning: some rounds are concerned.
pub(crate) fn some(share: Option<f64>) -> Option<f64> {
    share.filter(|share| *share > 0.0)
}

/// Whether the host took more of the demanded time than counts as quiet, where that is known.
pub(crate) fn stolen(noise: &Noise) -> Option<bool> {
    Some(noise.steal_share? > STEAL_MAX)
}

/// Whether a quota held a round back for longer than counts as quiet, where that is known.
pub(crate) fn held_back(noise: &Noise) -> Option<bool> {
    Some(noise.throttled_share? > THROTTLED_MAX)
}

/// Whether other processes used more of a CPU than counts as quiet, where that is known.
pub(crate) fn used_by_others(noise: &Noise) -> Option<bool> {
    Some(noise.foreign_cpu_share? > FOREIGN_MAX)
}

/// Whether tasks waited for memory for longer than counts as quiet, where that is known.
pub(crate) fn waited_for_memory(noise: &Noise) -> Option<bool> {
    Some(noise.psi_memory_share? > MEMORY_WAIT_MAX)
}

/// Whether the clock was set or the machine suspended during a round, where that is known.
pub(crate) fn clock_troubled(noise: &Noise) -> Option<bool> {
    let jumped = noise.clock_jump.map(|jump| jump > CLOCK_JUMP_MAX);
    let suspended = noise.suspended.map(|time| time > Nanos::ZERO);
    match (jumped, suspended) {
        (None, None) => None,
        (jumped, suspended) => Some(jumped.unwrap_or(false) || suspended.unwrap_or(false)),
    }
}
