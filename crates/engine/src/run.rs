//! A run: passes of shuffled rounds until the passes or the budget are used up, or somebody interrupts.

use crate::budget::{self, ROUNDS_MIN};
use crate::noise::Watch;
use crate::round::{self, Bench, Interrupted, Which};
use crate::workdir::{WorkDir, WorkDirError};
use crate::workload::Workload;
use model::host::HostFacts;
use model::num::{approx, round_to_u64};
use model::plan::{CaseId, Plan};
use model::record::{End, Failure, Outcome, Round};
use model::rng::Rng;
use model::spec::How;
use model::units::Nanos;
use model::warning::Warning;
use std::path::Path;
use sys::clock::{Clock, monotonic};

/// Who is told about a run while it goes on.
pub trait Observer {
    /// A round is about to start.
    fn starts(&mut self, progress: &Progress<'_>);

    /// A round has ended; keep it now. An error ends the run: a round that cannot be kept is not worth measuring.
    fn ended(&mut self, round: &Round) -> Result<(), String>;
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The case of the round that starts.
    pub case: &'a CaseId,
    /// Its pass, from 1.
    pub pass: u32,
    /// Time since the run began.
    pub elapsed: Nanos,
    /// The expected duration of the whole run, corrected as rounds end.
    pub expected: Nanos,
}

/// Why a run could not go on.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The work directory cannot be made.
    #[error(transparent)]
    WorkDir(#[from] WorkDirError),
    /// The machine refused something that every run needs.
    #[error("{operation}: {error}")]
    System {
        /// What was tried.
        operation: &'static str,
        /// What the kernel said.
        error: std::io::Error,
    },
    /// A finished round could not be kept.
    #[error("keep round {seq}: {why}")]
    Keep {
        /// The round's position.
        seq: u32,
        /// What the keeper said.
        why: String,
    },
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub struct Ended {
    /// Completely, or interrupted.
    pub end: End,
    /// What was noticed about the run as a whole.
    pub warnings: Vec<Warning>,
}

/// What a run needs beside its plan.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// The run's id, which names the work directory.
    pub run: &'a str,
    /// The directory in which the work directory is made.
    pub dir: &'a Path,
    /// The machine, as it was found.
    pub host: &'a HostFacts,
    /// Looks a workload up.
    pub find: fn(&str) -> Option<&'static dyn Workload>,
    /// The monotonic clock when the user's patience began: the budget counts from here.
    pub began: u64,
}

/// A case that stops failing after this many failures in a row is rare; one that goes on costs the others their time.
const FAILURES_MAX: u32 = 3;

/// One case while the run goes on.
struct Running {
    index: usize,
    rounds: u32,
    wanted: Option<u32>,
    failures_in_a_row: u32,
    given_up: bool,
    cost: Nanos,
    hows: Vec<How>,
}

/// Executes the plan.
pub fn execute(
    plan: &Plan,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Ended, RunError> {
    let system = |operation| move |error| RunError::System { operation, error };
    sys::process::adopt_orphans().map_err(system("adopt orphans of workers"))?;
    let cpus = sys::affinity::allowed_cpus().map_err(system("read the CPU affinity"))?;
    let work_dir = WorkDir::create(setting.dir, setting.run)?;
    let watch = Watch::real();
    let bench = Bench {
        watch: &watch,
        work_dir: work_dir.path(),
        cpus: &cpus,
        ns_per_tick: counter_rate(setting.host),
    };
    let mut runner = Runner {
        plan,
        bench,
        setting,
        observer,
        cases: plan
            .cases
            .iter()
            .enumerate()
            .map(|(i, _)| running(plan, i, setting.find))
            .collect(),
        seq: 0,
    };
    let end = runner.passes()?;
    let short = runner.cases.iter().any(|case| {
        let enough = case.wanted.unwrap_or(ROUNDS_MIN).min(ROUNDS_MIN);
        !case.given_up && case.rounds < enough
    });
    let mut warnings = Vec::new();
    if end == End::Complete && short {
        warnings.push(Warning::BudgetShort);
    }
    work_dir.remove()?;
    Ok(Ended { end, warnings })
}

/// Nanoseconds per tick of the CPU's counter, where the kernel itself relies on it.
fn counter_rate(host: &HostFacts) -> Option<f64> {
    let trusted = host
        .clock
        .source
        .known()
        .is_some_and(|source| source == "tsc")
        && host.clock.tsc_reliable.known() == Some(&true);
    if trusted {
        Clock::calibrate().rate()
    } else {
        None
    }
}

fn running(plan: &Plan, index: usize, find: fn(&str) -> Option<&'static dyn Workload>) -> Running {
    let case = &plan.cases[index];
    let hows = find(&case.workload)
        .map(|workload| {
            workload
                .spec()
                .metrics
                .iter()
                .map(|metric| metric.how)
                .collect()
        })
        .unwrap_or_default();
    Running {
        index,
        rounds: 0,
        wanted: budget::rounds_wanted(plan, case),
        failures_in_a_row: 0,
        given_up: false,
        cost: budget::round_cost(case),
        hows,
    }
}

impl Running {
    fn finished(&self) -> bool {
        self.given_up || self.wanted.is_some_and(|wanted| self.rounds >= wanted)
    }

    /// Takes a finished round into account.
    fn learn(&mut self, round: &Round) {
        self.rounds += 1;
        // Half of the news: a single slow round must not make the plan drop all others.
        self.cost = Nanos(u64::midpoint(self.cost.0, round.took.0));
        match &round.outcome {
            Outcome::Done(_) => self.failures_in_a_row = 0,
            Outcome::Failed(Failure::Unsupported(_)) => self.given_up = true,
            Outcome::Failed(_) => {
                self.failures_in_a_row += 1;
                self.given_up = self.failures_in_a_row >= FAILURES_MAX;
            }
        }
    }
}

struct Runner<'a> {
    plan: &'a Plan,
    bench: Bench<'a>,
    setting: &'a Setting<'a>,
    observer: &'a mut dyn Observer,
    cases: Vec<Running>,
    seq: u32,
}

impl Runner<'_> {
    fn elapsed(&self) -> Nanos {
        Nanos(monotonic() - self.setting.began)
    }

    /// Time left of the budget; `None` without one.
    fn left(&self) -> Option<Nanos> {
        self.plan.budget.map(|budget| budget.since(self.elapsed()))
    }

    fn fits(&self, case: usize) -> bool {
        self.left().is_none_or(|left| self.cases[case].cost <= left)
    }

    /// Pass after pass, each in a freshly shuffled order, until nothing is left to do or fits.
    fn passes(&mut self) -> Result<End, RunError> {
        for pass in 1.. {
            let mut order: Vec<usize> = (0..self.cases.len())
                .filter(|&case| !self.cases[case].finished())
                .collect();
            Rng::stream(self.plan.seed, u64::from(pass)).shuffle(&mut order);
            let mut did_something = false;
            for case in order {
                if !self.fits(case) {
                    continue;
                }
                did_something = true;
                if self.one(pass, case)?.is_none() {
                    return Ok(End::Interrupted);
                }
            }
            if !did_something {
                break;
            }
        }
        Ok(End::Complete)
    }

    /// One round of one case; `None` where the user interrupted it.
    fn one(&mut self, pass: u32, case: usize) -> Result<Option<()>, RunError> {
        let planned = &self.plan.cases[self.cases[case].index];
        self.seq += 1;
        let progress = Progress {
            case: &planned.id,
            pass,
            elapsed: self.elapsed(),
            expected: self.expected(),
        };
        self.observer.starts(&progress);
        let which = Which {
            pass,
            seq: self.seq,
            number: self.cases[case].rounds + 1,
            layout_seed: Rng::stream(self.plan.seed, u64::from(self.seq) << 32).next(),
        };
        let round = match round::execute(&self.bench, planned, &self.cases[case].hows, which) {
            Ok(round) => round,
            Err(Interrupted) => return Ok(None),
        };
        self.cases[case].learn(&round);
        self.observer
            .ended(&round)
            .map_err(|why| RunError::Keep { seq: self.seq, why })?;
        Ok(sys::signal::interrupted().is_none().then_some(()))
    }

    /// The expected duration of the whole run: what is over, and the rounds still wanted at what they cost.
    fn expected(&self) -> Nanos {
        let wanted: Option<f64> = self
            .cases
            .iter()
            .filter(|case| !case.given_up)
            .map(|case| {
                Some(f64::from(case.wanted?.saturating_sub(case.rounds)) * approx(case.cost.0))
            })
            .sum();
        let by_passes = wanted.map(|ns| self.elapsed().plus(Nanos(round_to_u64(ns))));
        match (by_passes, self.plan.budget) {
            (Some(passes), Some(budget)) => passes.min(budget),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => self.elapsed(),
        }
    }
}
