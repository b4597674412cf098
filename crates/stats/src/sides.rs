//! The two sides of a comparison, how they are held against each other, and a metric on its way through it.

use crate::contrast::{Contrast, ERROR_RATE, Method, Values, contrast};
use crate::history::{Kept, Past};
use crate::judged::Judged;
use crate::scatter::{self, Spread};
use crate::side::Side;
use crate::verdict::Levels;
use crate::{looks, scope};
use model::comparison::{Both, Inside, MetricComparison, Refusal};
use model::plan::{CaseId, PlannedCase, PlannedMetric};
use model::record::Run;
use std::cell::OnceCell;

/// One metric on its way to a comparison.
pub(crate) struct Candidate<'a> {
    /// The case as the base planned it, or as the other side did where the base has none.
    pub(crate) case: &'a PlannedCase,
    /// The metric, likewise.
    pub(crate) metric: &'a PlannedMetric,
    /// True for the case's first, most telling metric.
    pub(crate) leads: bool,
    /// The ratio, where it has an interval.
    pub(crate) found: Option<Judged>,
    /// The same of the slow end.
    pub(crate) floor: Option<Judged>,
    /// What runs of either machine differ by.
    pub(crate) spread: Both<Spread>,
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
    /// Earlier runs of either machine, where rounds are compared with rounds.
    past: Option<Both<Past<'a>>>,
    /// The rounds alone that nothing disturbed from inside, where somebody asks.
    undisturbed: OnceCell<Both<Side<'a>>>,
}

impl<'a> Sides<'a> {
    /// The two sides, and how they are to be held against each other; `earlier` are runs of whichever machine.
    /// `base_side` is that of `base`, which many others may be held against.
    pub(crate) fn new(
        (base, base_side): (&[&'a Run], &Side<'a>),
        other: &[&'a Run],
        earlier: &Kept<'a>,
    ) -> Self {
        let grouped = base.len() > 1 || other.len() > 1;
        let of_one_machine = scope::of_one_machine(base) && scope::of_one_machine(other);
        let paired = match (base, other) {
            ([base], [other]) => base.is_against(other),
            _ => false,
        };
        let method = match (grouped && !of_one_machine, paired) {
            (true, _) => Method::Runs,
            (false, true) => Method::Pairs,
            (false, false) => Method::Rounds,
        };
        let began = base.iter().chain(other).map(|run| run.meta.started);
        let first = began.min().unwrap_or_default();
        let past = (method == Method::Rounds)
            .then(|| Past::of_sides(base[0], other[0], earlier, first).into());
        let of_instances = method == Method::Runs;
        let mut sides = Self {
            past,
            base: base_side.counted(of_instances),
            other: Side::new(other).counted(of_instances),
            method,
            levels: Levels::both(ERROR_RATE),
            undisturbed: OnceCell::new(),
        };
        if sides.looked() {
            sides.levels = looks::levels(method == Method::Pairs);
        } else if method == Method::Pairs {
            sides.levels = PLANNED_PAIRS;
        }
        sides
    }

    /// The rounds alone that nothing inside of the machines disturbed.
    pub(crate) fn undisturbed(&self) -> &Both<Side<'a>> {
        let both = || (self.base.undisturbed(), self.other.undisturbed()).into();
        self.undisturbed.get_or_init(both)
    }

    /// What disturbed rounds of a case from inside of either machine; `None` where nothing did, and in pairs, which
    /// share what disturbs them.
    pub(crate) fn disturbed_inside(&self, case: &CaseId) -> Option<Inside> {
        let on_base = self.base.disturbed_inside(case);
        let cause = on_base.or_else(|| self.other.disturbed_inside(case));
        cause.filter(|_| self.method != Method::Pairs)
    }

    /// What runs of either machine differ by in a metric; nothing for pairs, which share their minutes, and for
    /// instances, which are compared as runs.
    pub(crate) fn spread(
        &self,
        case: &PlannedCase,
        metric: &PlannedMetric,
        alike: impl Fn(&PlannedCase) -> bool + Copy,
    ) -> Both<Spread> {
        // What plays a known result is the same everywhere and always.
        let Some(past) = self.past.as_ref().filter(|_| !case.simulated) else {
            return (Spread::NONE, Spread::NONE).into();
        };
        let of = |past: &Past<'_>| scatter::of_machine(past, (case, metric), alike);
        let of_base = of(&past.base);
        let of_other = if past.other.is(&past.base) {
            of_base
        } else {
            of(&past.other)
        };
        (of_base, of_other).into()
    }

    /// The same where somebody says what runs differ by, as a share.
    pub(crate) fn spread_asked(&self, asked: f64) -> Both<Spread> {
        let spread = if self.past.is_some() {
            Spread::asked(asked)
        } else {
            Spread::NONE
        };
        (spread, spread).into()
    }

    /// The earlier runs of either machine, by id.
    pub(crate) fn earlier(&self) -> Both<Vec<String>> {
        let Some(past) = &self.past else {
            return Both::default();
        };
        let ids = |past: &Past<'_>, side: &Side<'_>| {
            let cases: Vec<&CaseId> = side.cases().into_iter().map(|case| &case.id).collect();
            past.ids(&cases)
        };
        (ids(&past.base, &self.base), ids(&past.other, &self.other)).into()
    }

    /// Holds these values against each other.
    pub(crate) fn contrast(
        &self,
        base: &Values,
        other: &Values,
        spread: &Both<Spread>,
    ) -> Contrast {
        contrast(self.method, base, other, spread, self.looked())
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
