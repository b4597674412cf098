//! A run: passes of shuffled rounds until the passes or the budget are used up, or somebody interrupts.

use crate::budget::ROUNDS_MIN;
use crate::noise::Watch;
use crate::round::{self, Bench, Interrupted, Which};
use crate::schedule::{self, Running};
use crate::workdir::{WorkDir, WorkDirError};
use crate::workload::Workload;
use model::host::HostFacts;
use model::plan::{CaseId, Plan};
use model::record::{End, Round};
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
#[derive(Debug)]
pub struct Ended {
    /// Completely, or interrupted.
    pub end: End,
    /// What was noticed about the run as a whole.
    pub warnings: Vec<Warning>,
    /// Why the work directory could not be removed; `None` where it is gone.
    pub left_behind: Option<WorkDirError>,
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
    /// The rounds of an earlier part of the run that this one goes on with; empty for a new run.
    pub earlier: &'a [Round],
}

/// Executes the plan.
pub fn execute(
    plan: &Plan,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Ended, RunError> {
    let system = |operation| move |error| RunError::System { operation, error };
    sys::process::adopt_orphans().map_err(system("adopt orphans of workers"))?;
    sys::process::raise_open_files().map_err(system("raise the limit of open files"))?;
    let cpus = sys::affinity::allowed_cpus().map_err(system("read the CPU affinity"))?;
    let work_dir = WorkDir::create(setting.dir, setting.run)?;
    let watch = Watch::real();
    let bench = Bench {
        watch: &watch,
        work_dir: work_dir.path(),
        cpus: &cpus,
        ns_per_tick: counter_rate(setting.host),
    };
    let mut runner = Runner::new(plan, bench, setting, observer);
    let end = runner.passes()?;
    let warnings = if end == End::Complete {
        runner.warnings()
    } else {
        Vec::new()
    };
    let left_behind = work_dir.remove().err();
    Ok(Ended {
        end,
        warnings,
        left_behind,
    })
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

/// How the metrics of a case come about, in the plan's order.
fn hows(workload: &str, find: fn(&str) -> Option<&'static dyn Workload>) -> Vec<How> {
    let metrics = find(workload).map_or(&[][..], |workload| workload.spec().metrics);
    metrics.iter().map(|metric| metric.how).collect()
}

struct Runner<'a> {
    plan: &'a Plan,
    bench: Bench<'a>,
    setting: &'a Setting<'a>,
    observer: &'a mut dyn Observer,
    cases: Vec<Running>,
    seq: u32,
}

impl<'a> Runner<'a> {
    /// Before the first round, or where an earlier part of the run left off.
    fn new(
        plan: &'a Plan,
        bench: Bench<'a>,
        setting: &'a Setting<'a>,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let mut cases: Vec<Running> = (0..plan.cases.len())
            .map(|i| Running::new(plan, i, hows(&plan.cases[i].workload, setting.find)))
            .collect();
        for (case, planned) in cases.iter_mut().zip(&plan.cases) {
            for round in setting
                .earlier
                .iter()
                .filter(|round| round.case == planned.id)
            {
                case.learn(planned, round);
            }
        }
        let seq = setting
            .earlier
            .iter()
            .map(|round| round.seq)
            .max()
            .unwrap_or(0);
        Self {
            plan,
            bench,
            setting,
            observer,
            cases,
            seq,
        }
    }

    /// What was noticed about the run as a whole.
    fn warnings(&self) -> Vec<Warning> {
        let short = self.cases.iter().any(|case| {
            let enough = case.wanted.unwrap_or(ROUNDS_MIN).min(ROUNDS_MIN);
            !case.given_up() && case.rounds < enough
        });
        let wide = self
            .plan
            .target
            .map_or(0, |target| schedule::wide(&self.cases, target));
        let mut warnings = Vec::new();
        if short {
            warnings.push(Warning::BudgetShort);
        }
        if let (Some(target), 1..) = (self.plan.target, wide) {
            warnings.push(Warning::TargetMissed {
                cases: wide,
                target,
            });
        }
        warnings
    }

    /// Time used so far, by this process and by earlier parts of the run.
    fn elapsed(&self) -> Nanos {
        let earlier = self.setting.earlier.iter().map(|round| round.took.0).sum();
        Nanos(monotonic() - self.setting.began).plus(Nanos(earlier))
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
        let first = self
            .setting
            .earlier
            .iter()
            .map(|round| round.pass)
            .max()
            .unwrap_or(1);
        for pass in first.. {
            let mut order: Vec<usize> = (0..self.cases.len())
                .filter(|&case| !self.cases[case].finished() && !self.was_in(pass, case))
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
            if !did_something && pass > first && !self.look() {
                break;
            }
        }
        Ok(End::Complete)
    }

    /// Whether an earlier part of the run already had this case in this pass.
    fn was_in(&self, pass: u32, case: usize) -> bool {
        let id = &self.plan.cases[case].id;
        self.setting
            .earlier
            .iter()
            .any(|round| round.pass == pass && round.case == *id)
    }

    /// Where every case has the rounds it wanted: is any worth more? Without a target, or while something does not
    /// fit, nothing is.
    fn look(&mut self) -> bool {
        let waiting = self.cases.iter().any(|case| !case.finished());
        let left = self.left();
        match self.plan.target {
            Some(target) if !waiting => schedule::look(&mut self.cases, target, left),
            _ => false,
        }
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
        self.cases[case].learn(planned, &round);
        self.observer
            .ended(&round)
            .map_err(|why| RunError::Keep { seq: self.seq, why })?;
        Ok(sys::signal::interrupted().is_none().then_some(()))
    }

    /// The expected duration of the whole run: what is over, and the rounds still wanted at what they cost.
    fn expected(&self) -> Nanos {
        let by_rounds = schedule::time_wanted(&self.cases).map(|time| self.elapsed().plus(time));
        match (by_rounds, self.plan.budget) {
            (Some(rounds), Some(budget)) => rounds.min(budget),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => self.elapsed(),
        }
    }
}
