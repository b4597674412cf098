//! One side of a comparison: runs of one machine, whose sample is the round, or runs of instances, whose sample is the
//! run.
//!
//! Several runs of separate instances say what a plan is worth; their rounds must not be thrown together, because
//! rounds of one instance know nothing of the others. Each run then counts once, with its median. Rounds are sorted by
//! case once, so that the work of a comparison grows with the number of rounds and not with its square.

use crate::contrast::{OfRun, Values};
use crate::dependence::Dependence;
use crate::inside::Disturbances;
use crate::noise::{share_of, stolen};
use crate::rounds::{CaseRounds, RunRounds, floor_of, whole};
use crate::thresholds::ROUNDS_MIN;
use crate::{composite, quantile, summarize};
use model::comparison::{Inside, Refusal, RunState};
use model::num::count;
use model::order::Keyed as _;
use model::plan::{CaseId, MetricId, PlannedCase, PlannedMetric};
use model::record::{End, Measured, Round, Run};
use model::spec::Better;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A window is slow below this share of the typical rate.
const SLOW_SHARE: f64 = 0.9;

/// A value and the pass (or, in a group, the run) that it belongs to.
pub(crate) type Point = (u32, f64);

/// One side.
#[derive(Clone)]
pub(crate) struct Side<'a> {
    runs: Vec<Rc<RunRounds<'a>>>,
    /// True where the sample is the run.
    of_instances: bool,
    /// False where rounds that something inside of the machine disturbed are passed over.
    with_disturbed: bool,
}

/// The finished rounds of a case, where the run has it.
fn finished<'a>(
    run: &RunRounds<'a>,
    case: &CaseId,
) -> impl Iterator<Item = (&'a Round, &'a Measured)> {
    run.case(case).into_iter().flat_map(CaseRounds::finished)
}

/// What the rounds of a run look like in this metric, where it has the case.
fn state(run: &RunRounds<'_>, id: &MetricId) -> Option<RunState> {
    Some(RunState {
        run: run.run.meta.id.clone(),
        state: summarize::state_of(run.run, run.case(&id.case)?, &id.quantity)?,
    })
}

/// How many windows there are, and how many of them are slow.
fn slow_windows(run: &RunRounds<'_>, id: &MetricId) -> Option<(usize, usize)> {
    let rounds = run.case(&id.case)?.values(&id.quantity);
    let typical = quantile::median(&rounds.map(|(_, value)| value).collect::<Vec<_>>())?;
    let windows = || finished(run, &id.case).flat_map(|(_, measured)| &measured.windows);
    let slow = windows().filter(|window| **window < SLOW_SHARE * typical);
    Some((windows().count(), slow.count()))
}

impl<'a> Side<'a> {
    /// One side of `runs`, of which there is at least one.
    pub(crate) fn new(runs: &[&'a Run]) -> Self {
        assert!(!runs.is_empty(), "a side has a run");
        let runs = runs.iter().map(|run| Rc::new(RunRounds::of(run)));
        Self {
            runs: runs.collect(),
            of_instances: false,
            with_disturbed: true,
        }
    }

    /// The same with each run to count once, where `of_instances`.
    pub(crate) fn counted(&self, of_instances: bool) -> Self {
        Self {
            of_instances,
            ..self.clone()
        }
    }

    /// The same of the rounds alone that nothing inside of the machine disturbed.
    pub(crate) fn undisturbed(&self) -> Self {
        Self {
            with_disturbed: false,
            ..self.clone()
        }
    }

    /// What disturbed rounds of a case from inside of the machine, where something did.
    pub(crate) fn disturbed_inside(&self, case: &CaseId) -> Option<Inside> {
        let mut runs = self.runs.iter().filter_map(|run| run.case(case));
        runs.find_map(Disturbances::worst)
    }

    /// Every planned case of any of the runs, in the first run's order.
    pub(crate) fn cases(&self) -> Vec<&'a PlannedCase> {
        let of_run = |(number, run): (usize, &Rc<RunRounds<'a>>)| {
            let before = &self.runs[..number];
            let new = |case: &&PlannedCase| before.iter().all(|run| run.case(&case.id).is_none());
            let cases = run.cases().iter().map(|rounds| rounds.case);
            cases.filter(new).collect::<Vec<_>>()
        };
        self.runs.iter().enumerate().flat_map(of_run).collect()
    }

    /// The case as the first run that has it planned it.
    pub(crate) fn case(&self, id: &CaseId) -> Option<&'a PlannedCase> {
        let mut runs = self.runs.iter();
        runs.find_map(|run| Some(run.case(id)?.case))
    }

    /// The metric, where any of the runs has it, as the first of them planned it.
    pub(crate) fn metric(&self, case: &CaseId, quantity: &str) -> Option<&'a PlannedMetric> {
        self.runs
            .iter()
            .filter_map(|run| run.case(case))
            .find_map(|rounds| metric_of(rounds.case, quantity))
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
            .filter_map(|run| Some((run.run, run.case(id)?.case)));
        let (first, case) = planned.next()?;
        planned.find_map(|(run, there)| {
            Some(Refusal::GroupDisagrees {
                on_base,
                runs: (first.meta.id.clone(), run.meta.id.clone()),
                why: Box::new(not_alike(case, there)?),
            })
        })
    }

    /// The metric's values: of each run those of its rounds in the order in which they ran, or of instances the median
    /// of each. They need not be finite.
    pub(crate) fn typical(&self, id: &MetricId) -> Values {
        let quantity = id.quantity.as_str();
        self.values(&id.case, &|_, measured| {
            measured.values.get(quantity).copied()
        })
    }

    /// The slow end of each round, likewise, in the unit of the case's first metric.
    pub(crate) fn floors(&self, case: &CaseId) -> Values {
        self.values(case, &|_, measured| floor_of(measured))
    }

    /// The median of each run that has the metric.
    pub(crate) fn medians(&self, id: &MetricId) -> Vec<f64> {
        let runs = self.of_runs(&id.case, &|_, measured| {
            measured.values.get(&id.quantity).copied()
        });
        let medians = runs
            .iter()
            .map(|run| quantile::median(&values(&run.points)));
        medians.flatten().collect()
    }

    /// What the rounds of each run that has the metric look like.
    pub(crate) fn states(&self, id: &MetricId) -> Vec<RunState> {
        let states = self.runs.iter().filter_map(|run| state(run, id));
        states.collect()
    }

    /// Why a metric of which there is no value has none: what the first run that has the case says.
    pub(crate) fn why_no_value(&self, id: &MetricId) -> Option<String> {
        let mut runs = self.runs.iter();
        runs.find_map(|run| Some(summarize::why_no_value(run.case(&id.case)?, &id.quantity)))
    }

    /// The share of windows below 90 % of the typical rate of their run, over all runs of the side.
    pub(crate) fn slow_share(&self, id: &MetricId) -> Option<f64> {
        let windows = self.runs.iter().filter_map(|run| slow_windows(run, id));
        let (all, slow) = windows.fold((0, 0), |sum, run| (sum.0 + run.0, sum.1 + run.1));
        (all > 0).then(|| count(slow) / count(all))
    }

    /// Pass and windows of each finished round of a case.
    pub(crate) fn windows(&self, case: &CaseId) -> Vec<(u32, &'a [f64])> {
        let rounds = self.runs.iter().flat_map(|run| finished(run, case));
        rounds
            .map(|(round, measured)| (round.pass, measured.windows.as_slice()))
            .collect()
    }

    /// In which share of the finished rounds of a case the host took time away; `None` where no round knows.
    pub(crate) fn steal_share(&self, case: &CaseId) -> Option<f64> {
        let rounds = self.runs.iter().flat_map(|run| finished(run, case));
        share_of(rounds.map(|(round, _)| stolen(&round.noise)))
    }

    /// Whether the rounds of a run are stretches of one series.
    pub(crate) fn has_soak(&self) -> bool {
        self.runs.iter().any(|run| run.run.plan.soak.is_some())
    }

    /// How far the rounds of each run depend on one another.
    pub(crate) fn dependence(&self) -> Vec<f64> {
        self.runs.iter().map(|run| run.dependence().rho()).collect()
    }

    /// The id of its one run where that ended before everything was tried, so that it can be gone on with.
    pub(crate) fn unfinished(&self) -> Option<&'a str> {
        match &self.runs[..] {
            [only] if only.run.meta.end != End::Complete => Some(&only.run.meta.id),
            _ => None,
        }
    }

    /// Whether another program measured one of its runs.
    pub(crate) fn is_imported(&self) -> bool {
        let mut runs = self.runs.iter();
        runs.any(|run| run.run.meta.origin.is_some())
    }

    /// Whether looks at the data decided how many rounds a run has: those of a duel without a number of passes, or of a
    /// run with a target.
    pub(crate) fn looked(&self) -> bool {
        let mut plans = self.runs.iter().map(|run| &run.run.plan);
        plans.any(|plan| plan.target.is_some() || (plan.duel.is_some() && plan.passes.is_none()))
    }

    /// The geometric mean of several metrics in each pass, or of each instance, turned so that more is better.
    pub(crate) fn composites(&self, members: &[(&MetricId, Better)]) -> Values {
        let of_member = |&(id, _): &(&'_ MetricId, Better)| {
            let runs = self.of_runs(&id.case, &|_, measured| {
                measured.values.get(&id.quantity).copied()
            });
            if self.of_instances {
                self.of_sample(runs).runs
            } else {
                runs
            }
        };
        let each: Vec<Vec<OfRun>> = members.iter().map(of_member).collect();
        let runs = each.iter().map(Vec::len).min().unwrap_or_default();
        let composites = (0..runs).map(|run| {
            let parts = each.iter().zip(members);
            let parts: Vec<_> = parts
                .map(|(runs, &(_, better))| turned(&runs[run].points, better))
                .collect();
            OfRun {
                points: composite::per_pass(&parts),
                dependence: if self.of_instances {
                    Dependence::NONE
                } else {
                    self.runs[run].dependence()
                },
                // Its passes are those of every member.
                times: each[0][run].times.clone(),
            }
        });
        let runs = composites.filter(|run| !run.points.is_empty()).collect();
        Values { runs }
    }

    fn values(&self, case: &CaseId, of_round: &dyn Fn(&Round, &Measured) -> Option<f64>) -> Values {
        self.of_sample(self.of_runs(case, of_round))
    }

    /// The value that `of_round` gives of each finished round of a case that counts, run by run.
    fn of_runs(
        &self,
        case: &CaseId,
        of_round: &dyn Fn(&Round, &Measured) -> Option<f64>,
    ) -> Vec<OfRun> {
        let of_runs = self.runs.iter().map(|run| {
            let points = run.case(case).map(|rounds| {
                let quiet = Disturbances::of(rounds);
                let counts =
                    |round: &Round| self.with_disturbed || quiet.in_round(&round.noise).is_none();
                let counting = rounds.finished().filter(|(round, _)| counts(round));
                let values = counting
                    .filter_map(|(round, measured)| Some((round, of_round(round, measured)?)));
                let points = values.map(|(round, value)| ((round.pass, value), round.started.0));
                points.unzip()
            });
            let (points, began): (Vec<Point>, Vec<u64>) = points.unwrap_or_default();
            OfRun {
                points,
                dependence: run.dependence(),
                times: began,
            }
        });
        of_runs.collect()
    }

    /// The same as the samples of this side: the runs that have values, or the median of each as one list.
    fn of_sample(&self, mut runs: Vec<OfRun>) -> Values {
        if !self.of_instances {
            runs.retain(|run| !run.points.is_empty());
            return Values { runs };
        }
        let medians = (1..).zip(&runs).filter_map(|(number, run)| {
            let values = values(&run.points);
            // Of a run that was disturbed six quiet rounds tell, as of a side of rounds.
            let least = if self.with_disturbed { 1 } else { ROUNDS_MIN };
            // What is not finite in one round is not finite in the run, and then has no ratio.
            (whole(values.len()) >= least)
                .then(|| (number, quantile::median(&values).unwrap_or(f64::NAN)))
        });
        let points: Vec<Point> = medians.collect();
        let dependence = Dependence::NONE;
        let times = Vec::new();
        let all = (!points.is_empty()).then_some(OfRun {
            points,
            dependence,
            times,
        });
        Values {
            runs: all.into_iter().collect(),
        }
    }
}

/// The finite ones, turned so that more is better.
fn turned(points: &[Point], better: Better) -> BTreeMap<u32, f64> {
    let turn = |value: f64| match better {
        Better::Higher => value,
        Better::Lower => 1.0 / value,
    };
    let finite = points.iter().filter(|(_, value)| value.is_finite());
    finite.map(|&(pass, value)| (pass, turn(value))).collect()
}

/// The values alone.
pub(crate) fn values(points: &[Point]) -> Vec<f64> {
    points.iter().map(|&(_, value)| value).collect()
}

/// The values on both sides in the passes in which both have one, base first. Where a pass holds several rounds of
/// the case, the last one counts.
pub(crate) fn pairs(base: &[Point], other: &[Point]) -> Vec<(f64, f64)> {
    let there: BTreeMap<u32, f64> = other.iter().copied().into_map();
    let here: BTreeMap<u32, f64> = base.iter().copied().into_map();
    here.into_iter()
        .filter_map(|(pass, value)| Some((value, *there.get(&pass)?)))
        .collect()
}

/// How many points, and their median.
pub(crate) fn described(values: &Values) -> (u32, Option<f64>) {
    let values = values.all();
    (whole(values.len()), quantile::median(&values))
}

fn metric_of<'a>(case: &'a PlannedCase, quantity: &str) -> Option<&'a PlannedMetric> {
    case.metrics
        .iter()
        .find(|metric| metric.quantity == quantity)
}
