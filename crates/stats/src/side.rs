//! One side of a comparison: one run, whose sample is the round, or several runs, whose sample is the run.
//!
//! Several runs of separate instances say what a plan is worth; their rounds must not be thrown together, because
//! rounds of one instance know nothing of the others. Each run then counts once, with its median. Rounds are sorted by
//! case once, so that the work of a comparison grows with the number of rounds and not with its square.

use crate::{quantile, rounds, summarize, warnings};
use model::comparison::{Refusal, RunState};
use model::num::count;
use model::plan::{CaseId, Duel, MetricId, PlannedCase, PlannedMetric};
use model::record::{End, Measured, Outcome, Round, Run};
use std::collections::{BTreeMap, HashMap};

/// The quantile of a round's windows that counts as its slow end.
const FLOOR_QUANTILE: f64 = 0.1;

/// A window is slow below this share of the typical rate.
const SLOW_SHARE: f64 = 0.9;

/// A value and the pass (or, in a group, the run) that it belongs to.
pub(crate) type Point = (u32, f64);

/// One side.
pub(crate) struct Side<'a> {
    runs: Vec<Indexed<'a>>,
    /// True where the sample is the run.
    grouped: bool,
}

/// A run with its finished rounds by case.
struct Indexed<'a> {
    run: &'a Run,
    cases: HashMap<&'a CaseId, &'a PlannedCase>,
    rounds: HashMap<&'a CaseId, Vec<(&'a Round, &'a Measured)>>,
}

impl<'a> Indexed<'a> {
    fn new(run: &'a Run) -> Self {
        let mut rounds: HashMap<&CaseId, Vec<(&Round, &Measured)>> = HashMap::new();
        for round in &run.rounds {
            work::visit();
            if let Outcome::Done(measured) = &round.outcome {
                rounds
                    .entry(&round.case)
                    .or_default()
                    .push((round, measured));
            }
        }
        let cases = run.plan.cases.iter().map(|case| (&case.id, case)).collect();
        Self { run, cases, rounds }
    }

    fn done(&self, case: &CaseId) -> impl Iterator<Item = (&'a Round, &'a Measured)> {
        let rounds = self.rounds.get(case).map_or(&[][..], Vec::as_slice);
        rounds.iter().copied().inspect(|_| work::visit())
    }

    fn typical(&self, id: &MetricId) -> Vec<Point> {
        self.done(&id.case)
            .filter_map(|(round, measured)| Some((round.pass, *measured.values.get(&id.quantity)?)))
            .collect()
    }

    fn floors(&self, case: &CaseId) -> Vec<Point> {
        self.done(case)
            .filter_map(|(round, measured)| Some((round.pass, floor_of(measured)?)))
            .collect()
    }

    /// What its rounds look like in this metric, where it has the case.
    fn state(&self, id: &MetricId) -> Option<RunState> {
        let case = self.cases.get(&id.case)?;
        let done: Vec<&Measured> = self.done(&id.case).map(|(_, measured)| measured).collect();
        Some(RunState {
            run: self.run.meta.id.clone(),
            state: summarize::state_of(self.run, case, &id.quantity, &done)?,
        })
    }

    /// How many windows there are, and how many of them are slow.
    fn slow_windows(&self, id: &MetricId) -> Option<(usize, usize)> {
        let typical = quantile::median(&values(&self.typical(id)))?;
        let mut all = 0;
        let mut slow = 0;
        for window in self
            .done(&id.case)
            .flat_map(|(_, measured)| &measured.windows)
        {
            all += 1;
            slow += usize::from(*window < SLOW_SHARE * typical);
        }
        Some((all, slow))
    }
}

impl<'a> Side<'a> {
    /// One side of `runs`, of which there is at least one; `grouped` where each run is to count once.
    pub(crate) fn new(runs: &[&'a Run], grouped: bool) -> Self {
        assert!(
            !runs.is_empty() && (grouped || runs.len() == 1),
            "a side is one run or a group"
        );
        Self {
            runs: runs.iter().map(|run| Indexed::new(run)).collect(),
            grouped,
        }
    }

    /// Every planned case of any of the runs, in the first run's order.
    pub(crate) fn cases(&self) -> Vec<&'a PlannedCase> {
        let Some((first, rest)) = self.runs.split_first() else {
            return Vec::new();
        };
        let mut cases: Vec<&PlannedCase> = first.run.plan.cases.iter().collect();
        for (done, indexed) in rest.iter().enumerate() {
            let new = indexed.run.plan.cases.iter().filter(|case| {
                let before = &self.runs[..=done];
                !before.iter().any(|run| run.cases.contains_key(&case.id))
            });
            cases.extend(new);
        }
        cases
    }

    /// The case as the first run that has it planned it.
    pub(crate) fn case(&self, id: &CaseId) -> Option<&'a PlannedCase> {
        self.runs
            .iter()
            .find_map(|indexed| indexed.cases.get(id).copied())
    }

    /// The metric, where any of the runs has it, as the first of them planned it.
    pub(crate) fn metric(&self, case: &CaseId, quantity: &str) -> Option<&'a PlannedMetric> {
        self.runs
            .iter()
            .filter_map(|indexed| indexed.cases.get(case))
            .find_map(|case| metric_of(case, quantity))
    }

    /// Why the runs of this side did not measure the same, where they did not.
    pub(crate) fn disagreement(
        &self,
        id: &CaseId,
        on_base: bool,
        not_alike: impl Fn(&PlannedCase, &PlannedCase) -> Option<Refusal>,
    ) -> Option<Refusal> {
        let mut planned = self
            .runs
            .iter()
            .filter_map(|indexed| Some((indexed.run, *indexed.cases.get(id)?)));
        let (first, case) = planned.next()?;
        planned.find_map(|(run, there)| {
            Some(Refusal::GroupDisagrees {
                on_base,
                runs: (first.meta.id.clone(), run.meta.id.clone()),
                why: Box::new(not_alike(case, there)?),
            })
        })
    }

    /// The metric's value in each sample that has one: rounds in the order in which they ran, or runs. It need not be
    /// finite.
    pub(crate) fn typical(&self, id: &MetricId) -> Vec<Point> {
        self.points(|indexed| indexed.typical(id))
    }

    /// The slow end of each sample, in the unit of the case's first metric.
    pub(crate) fn floors(&self, case: &CaseId) -> Vec<Point> {
        self.points(|indexed| indexed.floors(case))
    }

    /// The median of each run that has the metric.
    pub(crate) fn medians(&self, id: &MetricId) -> Vec<f64> {
        let runs = self.runs.iter();
        runs.filter_map(|run| quantile::median(&values(&run.typical(id))))
            .collect()
    }

    /// What the rounds of each run that has the metric look like.
    pub(crate) fn states(&self, id: &MetricId) -> Vec<RunState> {
        let states = self.runs.iter().filter_map(|run| run.state(id));
        states.collect()
    }

    /// Why a metric of which there is no value has none: what the first run that has the case says.
    pub(crate) fn why_no_value(&self, id: &MetricId) -> Option<String> {
        self.runs.iter().find_map(|indexed| {
            let case = indexed.cases.get(&id.case)?;
            let done: Vec<&Measured> = indexed.done(&id.case).map(|(_, done)| done).collect();
            let why = summarize::why_no_value(indexed.run, case, &id.quantity, &done);
            Some(why)
        })
    }

    /// The share of windows below 90 % of the typical rate of their run, over all runs of the side.
    pub(crate) fn slow_share(&self, id: &MetricId) -> Option<f64> {
        let windows = self.runs.iter().filter_map(|run| run.slow_windows(id));
        let (all, slow) = windows.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
        (all > 0).then(|| count(slow) / count(all))
    }

    /// Pass and windows of each finished round of a case.
    pub(crate) fn windows(&self, case: &CaseId) -> Vec<(u32, &'a [f64])> {
        let rounds = self.runs.iter().flat_map(|indexed| indexed.done(case));
        rounds
            .map(|(round, measured)| (round.pass, measured.windows.as_slice()))
            .collect()
    }

    /// In which share of the finished rounds of a case the host took time away; `None` where no round knows.
    pub(crate) fn steal_share(&self, case: &CaseId) -> Option<f64> {
        let rounds = self.runs.iter().flat_map(|indexed| indexed.done(case));
        warnings::share_of(rounds.map(|(round, _)| warnings::stolen(&round.noise)))
    }

    /// Whether the rounds of a run are stretches of one series.
    pub(crate) fn has_soak(&self) -> bool {
        self.runs
            .iter()
            .any(|indexed| indexed.run.plan.soak.is_some())
    }

    /// The duel that the run is a side of.
    pub(crate) fn duel(&self) -> Option<&'a Duel> {
        match &self.runs[..] {
            [only] if !self.grouped => only.run.plan.duel.as_ref(),
            _ => None,
        }
    }

    /// The id of its one run where that ended before everything was tried, so that it can be gone on with.
    pub(crate) fn unfinished(&self) -> Option<&'a str> {
        match &self.runs[..] {
            [only] if only.run.meta.end != End::Complete => Some(&only.run.meta.id),
            _ => None,
        }
    }

    /// Whether looks at the data decided how many rounds a run has: those of a duel without a number of passes, or of a
    /// run with a target.
    pub(crate) fn looked(&self) -> bool {
        let mut plans = self.runs.iter().map(|indexed| &indexed.run.plan);
        plans.any(|plan| plan.target.is_some() || (plan.duel.is_some() && plan.passes.is_none()))
    }

    fn points(&self, of_run: impl Fn(&Indexed<'a>) -> Vec<Point>) -> Vec<Point> {
        if !self.grouped {
            return self.runs.iter().flat_map(of_run).collect();
        }
        (1..)
            .zip(&self.runs)
            .filter_map(|(number, indexed)| {
                let values = values(&of_run(indexed));
                // What is not finite in one round is not finite in the run, and then has no ratio.
                (!values.is_empty())
                    .then(|| (number, quantile::median(&values).unwrap_or(f64::NAN)))
            })
            .collect()
    }
}

/// The slow end of a round: the 10th percentile of its windows. Two windows are the fewest of which one can be slow.
pub(crate) fn floor_of(measured: &Measured) -> Option<f64> {
    (measured.windows.len() >= 2)
        .then(|| quantile::quantile(&measured.windows, FLOOR_QUANTILE))
        .flatten()
}

/// The values alone.
pub(crate) fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|&(_, value)| value).collect()
}

/// The values on both sides in the passes in which both have one, base first. Where a pass holds several rounds of
/// the case, the last one counts.
pub(crate) fn pairs(base: &[Point], other: &[Point]) -> Vec<(f64, f64)> {
    let there: BTreeMap<u32, f64> = other.iter().copied().collect();
    let here: BTreeMap<u32, f64> = base.iter().copied().collect();
    here.into_iter()
        .filter_map(|(pass, value)| Some((value, *there.get(&pass)?)))
        .collect()
}

/// How many points, and their median.
pub(crate) fn described(points: &[Point]) -> (u32, Option<f64>) {
    let values = values(points);
    (rounds::whole(values.len()), quantile::median(&values))
}

fn metric_of<'a>(case: &'a PlannedCase, quantity: &str) -> Option<&'a PlannedMetric> {
    case.metrics
        .iter()
        .find(|metric| metric.quantity == quantity)
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

    /// How many rounds `action` looks at.
    #[cfg(test)]
    pub(crate) fn of(action: impl FnOnce()) -> usize {
        VISITED.set(0);
        action();
        VISITED.get()
    }
}
