//! How a soak spent its time.

use super::{Course, Point, SoakSummary, What};
use model::num::{approx, count, round_to_u64};
use model::record::Run;
use model::soak::StretchKind;
use model::units::{Nanos, UnixNanos};

/// Whether part of it was measured after a rest, to see what had come back.
pub fn has_refill(run: &Run) -> bool {
    let mut stretches = run.rounds.iter().filter_map(|round| round.stretch);
    stretches.any(|stretch| matches!(stretch.kind, StretchKind::Refill { .. }))
}

impl SoakSummary {
    /// For how long nothing was measured that should have been.
    pub fn missed(&self) -> Nanos {
        let gap = |what: &What| match what {
            What::Gap(time) => *time,
            _ => Nanos::ZERO,
        };
        self.marks.iter().map(|mark| gap(&mark.what)).sum()
    }

    /// What of a load without a pause is in no window, where that is a window or more: stretches begin and end. Only of
    /// a soak to which nothing else happened, which would be part of it.
    pub fn between(&self, run: &Run) -> Option<Nanos> {
        let disturbed = !self.marks.is_empty() || self.left_out > 0;
        if self.soak.every.is_some() || disturbed || has_refill(run) {
            return None;
        }
        let in_windows = count(self.windows) * approx(self.window.0);
        let between = self.lasted.since(Nanos(round_to_u64(in_windows)));
        (self.windows > 0 && between >= self.window).then_some(between)
    }
}

impl Course {
    /// When one of its points ends.
    pub fn end_of(&self, point: &Point) -> UnixNanos {
        let length = round_to_u64(self.point_seconds * 1e9);
        UnixNanos(point.at.0.saturating_add(length))
    }
}
