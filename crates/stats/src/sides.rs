//! The two sides of a comparison, how they are held against each other, and a metric on its way through it.

use crate::contrast::{ERROR_RATE, Method};
use crate::looks;
use crate::side::Side;
use crate::verdict::{self, Levels};
use crate::yuen::RatioInterval;
use model::comparison::{MetricComparison, Refusal, Verdict};
use model::plan::{PlannedCase, PlannedMetric};
use model::record::Run;

/// One metric on its way to a comparison.
pub(crate) struct Candidate<'a> {
    /// The case as the base planned it, or as the other side did where the base has none.
    pub(crate) case: &'a PlannedCase,
    /// The metric, likewise.
    pub(crate) metric: &'a PlannedMetric,
    /// True for the case's first, most telling metric.
    pub(crate) leads: bool,
    /// The ratio, turned so that above 1 is better, where it has an interval.
    pub(crate) found: Option<RatioInterval>,
    /// The same of the slow end.
    pub(crate) floor: Option<RatioInterval>,
    /// What will be handed out.
    pub(crate) result: MetricComparison,
}

/// The levels of a duel whose pairs were counted beforehand. At 95 % six pairs call a true difference as large as the
/// margin the same in 3.0 % of cases and not in 2.5 %: trimmed means of a few pairs promise a little too much.
pub(crate) const PLANNED_PAIRS: Levels = Levels {
    difference: ERROR_RATE,
    same: 0.8 * ERROR_RATE,
};

/// The two sides and how they are held against each other.
pub(crate) struct Sides<'a> {
    /// The base.
    pub(crate) base: Side<'a>,
    /// What is compared with it.
    pub(crate) other: Side<'a>,
    /// Where the values come from.
    pub(crate) method: Method,
    /// The shares of false claims that one verdict may take.
    pub(crate) levels: Levels,
}

impl<'a> Sides<'a> {
    /// The two sides, and how they are to be held against each other.
    pub(crate) fn new(base: &[&'a Run], other: &[&'a Run]) -> Self {
        let grouped = base.len() > 1 || other.len() > 1;
        let (base, other) = (Side::new(base, grouped), Side::new(other, grouped));
        let paired = match (base.duel(), other.duel()) {
            (Some(base), Some(other)) => base.id == other.id && base.side != other.side,
            _ => false,
        };
        let method = match (grouped, paired) {
            (true, _) => Method::Runs,
            (false, true) => Method::Pairs,
            (false, false) => Method::Rounds,
        };
        // A duel that ended by its looks had five chances to claim something.
        let mut sides = Self {
            base,
            other,
            method,
            levels: Levels::both(ERROR_RATE),
        };
        if sides.looked() {
            sides.levels = looks::levels(method == Method::Pairs);
        } else if method == Method::Pairs {
            sides.levels = PLANNED_PAIRS;
        }
        sides
    }
}

impl Sides<'_> {
    /// Whether looks at the data decided how many rounds there are, on either side.
    pub(crate) fn looked(&self) -> bool {
        match self.method {
            Method::Pairs => self.base.looked(),
            Method::Rounds => self.base.looked() || self.other.looked(),
            // Runs are not rounds: how many there are is decided by nobody's looks.
            Method::Runs => false,
        }
    }

    /// Which side's rounds are stretches of one series, where one is. In a group a run counts once, whatever its
    /// rounds are.
    pub(crate) fn soak(&self) -> Option<Refusal> {
        let (base, other) = (self.base.has_soak(), self.other.has_soak());
        (self.method != Method::Runs && (base || other)).then_some(Refusal::Soak { base, other })
    }
}

/// The verdict at the levels that a correction leaves: `same` stands, a difference only where it may be claimed.
pub(crate) fn adjusted(
    unadjusted: Verdict,
    found: &RatioInterval,
    levels: Option<Levels>,
    margin: f64,
) -> Verdict {
    match (unadjusted, levels) {
        (Verdict::Same | Verdict::Unclear, _) => unadjusted,
        (_, None) => Verdict::Unclear,
        (_, Some(levels)) => verdict::of_ratio(found, levels, margin),
    }
}
