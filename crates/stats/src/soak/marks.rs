//! What happened to a soak's series: marked with its time, not averaged over.

use super::past::{CHAIN_GAP, Past};
use crate::noise::clock_troubled;
use crate::thresholds::CLOCK_JUMP_MAX;
use model::record::{Failure, Outcome, Round, Run};
use model::soak::StretchKind;
use model::units::{Nanos, UnixNanos};

/// With pauses, a gap of more than this share of the usual one means that samples are missing.
const GAP_OF_EVERY: (u64, u64) = (3, 2);

/// How far the wall clock must move between two stretches to be marked. Within a stretch a millisecond counts; between
/// two, the clocks may have been read by different processes, one after the other.
const JUMP_BETWEEN_MAX: Nanos = Nanos::from_millis(100);

/// Something that happened to the series.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// When, as the wall clock told it.
    pub at: UnixNanos,
    /// When, counted from the beginning of the soak.
    pub elapsed: Nanos,
    /// What.
    pub what: What,
}

/// What can happen to a series.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// Somebody set the wall clock, by so much.
    ClockJump(Nanos),
    /// The machine was suspended for so long while it was measured.
    Suspended(Nanos),
    /// The machine was suspended for so long while it rested, before the stretch at this time.
    SuspendedAtRest(Nanos),
    /// A stretch failed, with its reason.
    Failed(Failure),
    /// Nothing was measured for so long: the soak was killed and resumed, or a sample came too late.
    Gap(Nanos),
}

/// The marks of a soak, in the order of time. `past` are its rounds as stretches.
pub(super) fn of(run: &Run, past: &[Past], every: Option<Nanos>) -> Vec<Mark> {
    let mut marks = Vec::new();
    let rounds: Vec<&Round> = run
        .rounds
        .iter()
        .filter(|round| round.stretch.is_some())
        .collect();
    for (i, (round, stretch)) in rounds.iter().zip(past).enumerate() {
        let mark = |what| Mark {
            at: stretch.at,
            elapsed: stretch.began,
            what,
        };
        let before = i.checked_sub(1).map(|j| (&past[j], rounds[j]));
        if let Some((earlier, earlier_round)) = before {
            let slept = Some(stretch.suspended_before).filter(|&time| time > Nanos::ZERO);
            marks.extend(slept.map(|time| mark(What::SuspendedAtRest(time))));
            marks.extend(gap(earlier, stretch, every).map(|time| mark(What::Gap(time))));
            marks.extend(
                jump_between((earlier_round, earlier), (round, stretch))
                    .map(|by| mark(What::ClockJump(by))),
            );
        }
        let noise = &round.noise;
        let jump = noise.clock_jump.filter(|&jump| jump > CLOCK_JUMP_MAX);
        let suspended = noise.suspended.filter(|&time| time > Nanos::ZERO);
        marks.extend(suspended.map(|time| mark(What::Suspended(time))));
        marks.extend(jump.map(|by| mark(What::ClockJump(by))));
        if let Outcome::Failed(failure) = &round.outcome {
            marks.push(mark(What::Failed(failure.clone())));
        }
    }
    marks
}

/// How long nothing was measured between two stretches, where that was not meant.
fn gap(earlier: &Past, later: &Past, every: Option<Nanos>) -> Option<Nanos> {
    // A suspended machine has a mark of its own.
    let time = later
        .started
        .since(earlier.ended.plus(later.suspended_before));
    let allowed = match (later.kind, every) {
        // A rest is meant, whatever its length.
        (StretchKind::Refill { .. }, _) => return None,
        (StretchKind::Sample, Some(every)) => {
            let (over, under) = GAP_OF_EVERY;
            Nanos(every.0 / under * over)
        }
        _ => CHAIN_GAP,
    };
    (time > allowed).then_some(time)
}

/// By how much the wall clock was set between two stretches. Those that had trouble themselves are no measure of it.
fn jump_between(
    (earlier_round, earlier): (&Round, &Past),
    (later_round, later): (&Round, &Past),
) -> Option<Nanos> {
    let quiet = |round: &Round| clock_troubled(&round.noise) != Some(true);
    if !quiet(earlier_round) || !quiet(later_round) {
        return None;
    }
    let by_wall = i128::from(later.at.0) - i128::from(earlier.at.0);
    let by_boot = i128::from(later.began.0) - i128::from(earlier.began.0);
    let apart = Nanos(u64::try_from((by_wall - by_boot).unsigned_abs()).unwrap_or(u64::MAX));
    (apart > JUMP_BETWEEN_MAX).then_some(apart)
}
