//! The rounds of a run by case, sorted out once.
//!
//! Everything that is concluded from a run is concluded case by case. Looking for the rounds of a case among all of
//! them each time would make the work grow with the square of the cases.

use crate::dependence::Dependence;
use crate::quantile;
use model::noise::Noise;
use model::order::Keyed as _;
use model::plan::{CaseId, MetricId, PlannedCase};
use model::record::{Measured, Outcome, Round, Run};
use std::cell::OnceCell;
use std::collections::{BTreeMap, HashMap};

/// The quantile of a round's windows that counts as its slow end.
const FLOOR_QUANTILE: f64 = 0.1;

/// A run with its rounds by case.
#[derive(Clone, Debug)]
pub struct RunRounds<'a> {
    /// The run.
    pub run: &'a Run,
    cases: Vec<CaseRounds<'a>>,
    /// Where in `cases` a case stands.
    places: HashMap<&'a CaseId, usize>,
    /// How far its rounds depend on one another, once somebody asked.
    dependence: OnceCell<Dependence>,
}

/// A case with its rounds, in the order in which they ran.
#[derive(Clone, Debug)]
pub struct CaseRounds<'a> {
    /// The case as it was planned.
    pub case: &'a PlannedCase,
    /// Every round.
    pub all: Vec<&'a Round>,
    /// What the finished ones measured.
    pub done: Vec<&'a Measured>,
    /// The noise of the finished ones.
    pub noises: Vec<&'a Noise>,
}

impl<'a> RunRounds<'a> {
    /// Sorts the rounds of `run` out.
    pub fn of(run: &'a Run) -> Self {
        let mut rounds: HashMap<&CaseId, Vec<&Round>> = HashMap::new();
        for round in &run.rounds {
            work::visit();
            rounds.entry(&round.case).or_default().push(round);
        }
        let cases: Vec<CaseRounds<'_>> = run
            .plan
            .cases
            .iter()
            .map(|case| CaseRounds::of(case, rounds.get(&case.id).cloned().unwrap_or_default()))
            .collect();
        let places = cases.iter().enumerate();
        let places = places.map(|(place, case)| (&case.case.id, place));
        Self {
            run,
            places: places.collect(),
            cases,
            dependence: OnceCell::new(),
        }
    }

    /// How far neighbouring rounds depend on one another, by the first metric of each case.
    pub(crate) fn dependence(&self) -> Dependence {
        let series = self.cases.iter().filter_map(|rounds| {
            let leading = rounds.case.metrics.first()?;
            let values = rounds.values(&leading.quantity).map(|(_, value)| value);
            quantile::logs(&values.collect::<Vec<_>>())
        });
        let found = || Dependence::of(&series.collect::<Vec<_>>());
        *self.dependence.get_or_init(found)
    }

    /// Every planned case, in the order of the plan.
    pub fn cases(&self) -> &[CaseRounds<'a>] {
        &self.cases
    }

    /// The case of this id; `None` where the plan has none.
    pub fn case(&self, id: &CaseId) -> Option<&CaseRounds<'a>> {
        self.places.get(id).map(|&place| &self.cases[place])
    }
}

impl<'a> CaseRounds<'a> {
    /// `case` with `all` its rounds.
    pub(crate) fn of(case: &'a PlannedCase, all: Vec<&'a Round>) -> Self {
        let finished = || all.iter().filter_map(|round| finished(round));
        Self {
            case,
            done: finished().map(|(_, measured)| measured).collect(),
            noises: finished().map(|(round, _)| &round.noise).collect(),
            all,
        }
    }

    /// The finished rounds with what they measured.
    pub fn finished(&self) -> impl Iterator<Item = (&'a Round, &'a Measured)> {
        let all = self.all.iter().inspect(|_| work::visit());
        all.filter_map(|round| finished(round))
    }

    /// The value of `quantity` in each finished round that has one, with its round; it need not be finite.
    pub fn values(&self, quantity: &str) -> impl Iterator<Item = (&'a Round, f64)> {
        self.finished()
            .filter_map(move |(round, measured)| Some((round, *measured.values.get(quantity)?)))
    }

    /// The value of `quantity` in each pass that has one. Where a pass holds several rounds, the last one that has a
    /// value counts.
    pub fn pass_values(&self, quantity: &str) -> BTreeMap<u32, f64> {
        self.values(quantity)
            .filter(|(_, value)| value.is_finite())
            .map(|(round, value)| (round.pass, value))
            .into_map()
    }
}

fn finished(round: &Round) -> Option<(&Round, &Measured)> {
    match &round.outcome {
        Outcome::Done(measured) => Some((round, measured)),
        Outcome::Failed(_) => None,
    }
}

/// The metric's value in each finished round that has one, in the order in which they ran; it need not be finite.
pub fn values(run: &Run, id: &MetricId) -> Vec<f64> {
    let rounds = run.rounds_of(&id.case).filter_map(finished);
    rounds
        .filter_map(|(_, measured)| measured.values.get(&id.quantity).copied())
        .collect()
}

/// The slow end of a round: the 10th percentile of its windows. Two windows are the fewest of which one can be slow.
pub(crate) fn floor_of(measured: &Measured) -> Option<f64> {
    (measured.windows.len() >= 2)
        .then(|| quantile::quantile(&measured.windows, FLOOR_QUANTILE))
        .flatten()
}

/// A number of rounds as the model counts them.
pub(crate) fn whole(n: usize) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// Counts in tests how many rounds are looked at; does nothing elsewhere.
pub(crate) mod work {
    #[cfg(test)]
    thread_local! {
        static VISITED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }

    /// One more round was looked at.
    #[cfg(test)]
    pub(crate) fn visit() {
        VISITED.set(VISITED.get() + 1);
    }

    /// One more round was looked at.
    #[cfg(not(test))]
    pub(crate) const fn visit() {}

    /// So many more rounds were looked at.
    #[cfg(test)]
    pub(crate) fn visit_all(rounds: usize) {
        VISITED.set(VISITED.get() + rounds);
    }

    /// So many more rounds were looked at.
    #[cfg(not(test))]
    pub(crate) const fn visit_all(_: usize) {}

    /// How many rounds `action` looks at.
    #[cfg(test)]
    pub(crate) fn of(action: impl FnOnce()) -> usize {
        VISITED.set(0);
        action();
        VISITED.get()
    }
}
