//! Who else took CPU time while a soak was measured: no sentence about its rate may be silent about that.
//!
//! Counted are stretches, because the counters are read before and after each of them, by the thresholds of the
//! warnings. Nothing is left out for it: stolen time is part of what is rented. How the windows of disturbed stretches
//! differ from the others is said beside it, so that nobody has to guess whether it mattered.

use super::past::Past;
use crate::noise::{held_back, share_of, stolen, used_by_others};
use crate::quantile;
use model::record::Round;
use model::soak::StretchKind;
use schemars::JsonSchema;
use serde::Serialize;

/// From this share of disturbed stretches on a soak says so in its sentence: the floor, which is the 10th percentile,
/// may then be made of disturbed windows alone. Below it the notes tell.
const SAID_FROM: f64 = 0.10;

/// The fewest windows on either side of which a median is compared: those of one stretch.
const WINDOWS_MIN: usize = 10;

/// What others took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Disturbed {
    /// The share of the stretches in which anybody took time, of those for which it is known; 0 to 1.
    #[serde(rename = "stretches_share")]
    pub share: f64,
    /// In which share the host did (stolen time); `None` where no stretch knows.
    #[serde(rename = "steal_share")]
    pub steal: Option<f64>,
    /// In which share other processes of this machine did.
    #[serde(rename = "foreign_cpu_share")]
    pub foreign_cpu: Option<f64>,
    /// In which share a quota held the work back.
    #[serde(rename = "throttled_share")]
    pub throttled: Option<f64>,
    /// The median window of these stretches over that of the others, minus 1; `None` where either has too few windows.
    pub change: Option<f64>,
}

impl Disturbed {
    /// True where the sentence says it.
    pub fn is_said(&self) -> bool {
        self.share >= SAID_FROM
    }
}

/// What the stretches `all` of `rounds` tell; `None` where none knows, or all were quiet. The refill is no part of the
/// course, and not of this.
pub(super) fn of(rounds: &[&Round], all: &[Past]) -> Option<Disturbed> {
    let counted: Vec<(&Round, &Past)> = rounds
        .iter()
        .copied()
        .zip(all)
        .filter(|(_, past)| {
            !past.windows.is_empty() && !matches!(past.kind, StretchKind::Refill { .. })
        })
        .collect();
    let share = share_of(counted.iter().map(|(round, _)| disturbed(round))).filter(|&x| x > 0.0)?;
    let (mut theirs, mut others) = (Vec::new(), Vec::new());
    for (round, past) in &counted {
        match disturbed(round) {
            Some(true) => theirs.extend_from_slice(&past.windows),
            Some(false) => others.extend_from_slice(&past.windows),
            None => {}
        }
    }
    let of = |test: fn(&model::noise::Noise) -> Option<bool>| {
        share_of(counted.iter().map(|(round, _)| test(&round.noise)))
    };
    Some(Disturbed {
        share,
        steal: of(stolen),
        foreign_cpu: of(used_by_others),
        throttled: of(held_back),
        change: change(&theirs, &others),
    })
}

/// Whether anybody took time from a stretch, where anything about that is known.
fn disturbed(round: &Round) -> Option<bool> {
    [stolen, used_by_others, held_back]
        .iter()
        .filter_map(|test| test(&round.noise))
        .reduce(|a, b| a || b)
}

fn change(theirs: &[f64], others: &[f64]) -> Option<f64> {
    if theirs.len().min(others.len()) < WINDOWS_MIN {
        return None;
    }
    let usual = quantile::median(others).filter(|&median| median > 0.0)?;
    Some(quantile::median(theirs)? / usual - 1.0)
}
