//! The last word on a ratio: corrected for how many are judged together, and doubted where what disturbed a machine
//! from inside decides.

use crate::contrast::{ERROR_RATE, Evidence};
use crate::side::Side;
use crate::sides::Sides;
use crate::verdict::{self, Levels};
use model::comparison::{Both, Inside, Verdict};

/// A ratio with an interval, on its way to a verdict.
pub(crate) struct Judged {
    /// The ratio, turned so that above 1 is better.
    pub(crate) evidence: Evidence,
    /// The verdict by itself.
    pub(crate) unadjusted: Verdict,
    /// The levels that the correction leaves, where a difference may be claimed.
    levels: Option<Levels>,
}

/// Gives each member of a family the level at which it may claim a difference, if it may, by a correction such as
/// [`family::holm`](crate::family::holm).
pub(crate) fn correct<'a>(
    family: impl Iterator<Item = &'a mut Judged>,
    correction: fn(&[f64], f64) -> Vec<Option<f64>>,
    sides: &Sides<'_>,
) {
    let family: Vec<&mut Judged> = family.collect();
    let p_values: Vec<f64> = family.iter().map(|one| one.evidence.p_value()).collect();
    for (one, level) in family.into_iter().zip(correction(&p_values, ERROR_RATE)) {
        one.levels = level.map(|level| sides.levels.difference_at_most(level));
    }
}

impl Judged {
    /// What some evidence says at these levels by itself.
    pub(crate) fn of(evidence: Evidence, levels: Levels, margin: f64) -> Self {
        Self {
            unadjusted: verdict::of_ratio(&evidence.interval, levels, margin),
            evidence,
            levels: None,
        }
    }

    /// The verdict. Where `cause` disturbed rounds from inside of a machine, `better` and `worse` stand only where
    /// `quiet`, which is asked of the rounds alone that nothing disturbed, says the same at the same levels; otherwise
    /// the cause is handed out with the doubt.
    pub(crate) fn verdict(
        &self,
        sides: &Sides<'_>,
        margin: f64,
        cause: Option<Inside>,
        quiet: impl FnOnce(&Both<Side<'_>>) -> Option<Evidence>,
    ) -> (Verdict, Option<Inside>) {
        let said = self.says(&self.evidence, self.unadjusted, margin);
        let Some(cause) = cause.filter(|_| matches!(said, Verdict::Better | Verdict::Worse)) else {
            return (said, None);
        };
        let confirmed = quiet(sides.undisturbed())
            .map(|quiet| Self::of(quiet, sides.levels, margin))
            .is_some_and(|quiet| self.says(&quiet.evidence, quiet.unadjusted, margin) == said);
        if confirmed {
            (said, None)
        } else {
            (said.with_doubt(), Some(cause))
        }
    }

    /// What some evidence, which has this verdict by itself, says at the levels that the correction leaves: `same`
    /// stands, a difference only where it may be claimed.
    fn says(&self, found: &Evidence, unadjusted: Verdict, margin: f64) -> Verdict {
        if unadjusted == Verdict::Same {
            return Verdict::Same;
        }
        let Some(levels) = self.levels.filter(|_| unadjusted != Verdict::Unclear) else {
            return Verdict::Unclear;
        };
        match verdict::of_ratio(&found.interval, levels, margin) {
            sure @ (Verdict::Better | Verdict::Worse)
                if !found.is_beyond(margin, levels.difference) =>
            {
                sure.with_doubt()
            }
            other => other,
        }
    }
}
