//! A run: passes of shuffled rounds until the passes or the budget are used up, or somebody interrupts.
//!
//! A duel is the same with two sides: every pass has one round of each side for every case, next to each other, the
//! order decided by a coin, so that what the machine does meanwhile happens to both. A soak is one case, stretch after
//! stretch.

mod away;
mod known;
mod moved;
mod places;
mod soak;
mod spread;
mod stand;
mod time;

pub use places::{Places, work_dirs};
pub use soak::Resting;
pub use stand::Unmade;

use crate::consent::Permits;
use crate::counter::Counter;
use crate::ground::{Grounds, Preparing};
use crate::noise::Watch;
use crate::round::{self, Bench, Which};
use crate::schedule::{self, Running};
use crate::set_up::{SetUp, is_of_set_up};
use crate::soak::Stretching;
use crate::tick::Ticks;
use crate::workdir::WorkDirError;
use away::Target;
use known::Found;
use model::host::HostFacts;
use model::plan::{CaseId, Duel, Plan};
use model::record::{End, Outcome, Round};
use model::rng::Rng;
use model::units::Nanos;
use model::warning::Warning;
use moved::Moved;
use spread::Spread;
use stand::Stood;
use stats::ROUNDS_MIN;
use std::path::Path;

/// Who is told about a run while it goes on.
pub trait Observer {
    /// Asked before each round and what it stands on, and before that is taken away: whether what the run has to itself
    /// still is its own. An error ends the run.
    fn holds(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// Asked before each round, each second of a rest, and before what rounds stand on is taken away: whether what the
    /// run has made still costs others nothing of theirs. An error ends the run, and what was made is taken away.
    fn spares(&mut self) -> Result<(), String> {
        Ok(())
    }

    /// A round is about to start.
    fn starts(&mut self, progress: &Progress<'_>);

    /// A round of this side (0, or 1 in a duel) has ended; keep it now. An error ends the run: a round that cannot be
    /// kept is not worth measuring.
    fn ended(&mut self, side: usize, round: &Round) -> Result<(), String>;

    /// How far a round of this side is, where [`Setting::ticks`] asks for it: what it would be if it had ended now, as
    /// far as its test can tell that. Nothing to be kept.
    fn ticks(&mut self, _side: usize, _so_far: &Round) {}

    /// What rounds stand on is made or looked at; told at its beginning, and as it goes on.
    fn prepares(&mut self, preparing: &Preparing<'_>);

    /// A soak, or a run that is spread over a time, is about to rest.
    fn rests(&mut self, resting: &Resting);

    /// Something that the user should know while the run goes on, in words.
    fn notices(&mut self, words: &str);
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The case of the round that starts.
    pub case: &'a CaseId,
    /// Its pass, from 1.
    pub pass: u32,
    /// True in a soak, where it is a stretch of one series and no pass.
    pub is_stretch: bool,
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
    /// What the run had to itself is somebody else's.
    #[error("{0}")]
    NotHeld(String),
    /// What the run has made costs others something of theirs, and is taken away.
    #[error("{0}")]
    Costs(String),
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
    /// What rounds were to stand on and the budget had no time to make; their cases were left.
    pub unmade: Vec<Unmade>,
}

/// What is measured: a plan and where it runs. A run has one side; a duel has two, with the same cases.
#[derive(Clone, Copy)]
pub struct Side<'a> {
    /// The run's id, which names the work directory.
    pub run: &'a str,
    /// The plan.
    pub plan: &'a Plan,
    /// The directory in which the work directory is made; the plan may ask for further ones ([`Plan::anchors`]).
    pub dir: &'a Path,
    /// The machine, as it was found.
    pub host: &'a HostFacts,
    /// The rounds of an earlier part of the run that this one goes on with; empty for a new run.
    pub earlier: &'a [Round],
}

/// What all sides share.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What may be opened beside the work directories.
    pub permits: &'a Permits,
    /// The monotonic clock when the user's patience began: the budget counts from here, and ticks.
    pub began: u64,
    /// How often it is to be told how far a round is; `None` for not at all.
    pub ticks: Option<Nanos>,
}

/// Executes the plan of one side, or those of two sides in pairs of rounds, each pair in an order of its own, in their
/// `places`, which are empty in the end. Order, budget and passes are those of the first side.
pub fn execute(
    sides: &[Side<'_>],
    places: &Places,
    setting: Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<Ended, RunError> {
    let system = |operation| move |error| RunError::System { operation, error };
    sys::process::adopt_orphans().map_err(system("adopt orphans of workers"))?;
    sys::limits::raise_open_files().map_err(system("raise the limit of open files"))?;
    let cpus = sys::affinity::allowed_cpus().map_err(system("read the CPU affinity"))?;
    for dir in places.all().filter(|dir| !dir.is_locked()) {
        observer.notices(&format!(
            "the file system of `{}` has no locks: if this run is killed, `kurabe clean` cannot tell that it is over",
            dir.path().display()
        ));
    }
    let watch = Watch::real();
    let lanes = sides
        .iter()
        .zip(&places.0)
        .map(|(side, stands)| {
            let bench = Bench {
                watch: &watch,
                work_dir: stands.own(),
                anchors: stands.further(),
                cpus: &cpus,
                counter: Counter::of(side.host),
                set_up: SetUp::of(side.plan),
                stand_ins: crate::consent::stand_ins(side.plan),
                permits: setting.permits,
                ticks: setting.ticks.map(|every| Ticks::new(setting.began, every)),
            };
            let other = sides.iter().find(|other| other.run != side.run);
            Lane::new(*side, bench, other.map(|other| other.earlier))
        })
        .collect();
    let spread = Spread::of(sides[0].plan, sides[0].earlier);
    let earlier = sides.iter().flat_map(|side| side.earlier);
    let moved = Moved::of(sides[0].plan, earlier);
    let mut runner = Runner {
        lanes,
        setting,
        observer,
        unmade: Vec::new(),
        spread,
        moved,
    };
    let end = match &runner.plan().soak {
        Some(soak) => runner.soak(soak),
        None => runner.passes(),
    };
    if matches!(end, Err(RunError::Costs(_))) {
        runner.clear_what_costs();
    }
    let end = end?;
    let mut warnings = if end == End::Complete && runner.plan().soak.is_none() {
        runner.warnings()
    } else {
        Vec::new()
    };
    runner.clear();
    let unmade = runner.unmade;
    warnings.extend(watch.warning());
    places.empty();
    Ok(Ended {
        end,
        warnings,
        unmade,
    })
}

/// One side while the run goes on.
struct Lane<'a> {
    side: Side<'a>,
    bench: Bench<'a>,
    cases: Vec<Running>,
    grounds: Grounds,
    found: Found,
    seq: u32,
    /// Rounds at the end that failed because the side could not be set up.
    not_set_up: u32,
    target: Target,
}

impl<'a> Lane<'a> {
    /// Before the first round, or where an earlier part of the run left off. In a duel a round of this side counts only
    /// where the other side has its half of the pair in `other`.
    fn new(side: Side<'a>, bench: Bench<'a>, other: Option<&[Round]>) -> Self {
        let whole = |round: &Round| {
            let half = |there: &Round| there.pass == round.pass && there.case == round.case;
            other.is_none_or(|other| other.iter().any(half))
        };
        let plan = side.plan;
        let mut cases: Vec<Running> = (0..plan.cases.len())
            .map(|i| Running::new(plan, i))
            .collect();
        let mut found = Found::new(plan);
        for (case, planned) in cases.iter_mut().zip(&plan.cases) {
            let own = side.earlier.iter().filter(|round| round.case == planned.id);
            for round in own.filter(|round| whole(round)) {
                case.learn(planned, round);
                found.learn(round);
            }
        }
        let seq = side
            .earlier
            .iter()
            .map(|round| round.seq)
            .max()
            .unwrap_or(0);
        Self {
            grounds: Grounds::new(plan, bench.is_taken_up()),
            side,
            bench,
            cases,
            found,
            seq,
            not_set_up: 0,
            target: Target::default(),
        }
    }

    /// Takes a finished round into account.
    fn learn(&mut self, case: usize, round: &Round) {
        let planned = &self.side.plan.cases[case];
        self.cases[case].learn(planned, round);
        self.found.learn(round);
        self.target.learn(case, round);
        if matches!(round.outcome, Outcome::Failed(_)) {
            self.grounds.doubt(planned);
        }
        self.not_set_up = match &round.outcome {
            Outcome::Failed(failure) if is_of_set_up(failure) => self.not_set_up + 1,
            _ => 0,
        };
        if self.not_set_up >= Duel::SET_UP_FAILURES_MAX {
            self.cases.iter_mut().for_each(Running::give_up);
        }
    }

    /// Whether an earlier part of the run already had this case in this pass.
    fn was_in(&self, pass: u32, case: usize) -> bool {
        let id = &self.side.plan.cases[case].id;
        let mut earlier = self.side.earlier.iter();
        earlier.any(|round| round.pass == pass && round.case == *id)
    }
}

/// One round that is about to start.
#[derive(Clone, Copy)]
struct One {
    side: usize,
    pass: u32,
    case: usize,
    layout_seed: u64,
    elapsed: Nanos,
    expected: Nanos,
    stretching: Option<Stretching>,
}

/// What became of a round that was to be.
enum Came {
    Ended(Box<Round>),
    /// The budget has no time for what it stands on, and its case is left.
    NoTime,
    Interrupted,
}

struct Runner<'a> {
    /// One lane, or two in a duel.
    lanes: Vec<Lane<'a>>,
    setting: Setting<'a>,
    observer: &'a mut dyn Observer,
    unmade: Vec<Unmade>,
    /// Where its passes are spread over a time.
    spread: Option<Spread>,
    moved: Moved,
}

impl<'a> Runner<'a> {
    fn plan(&self) -> &'a Plan {
        self.lanes[0].side.plan
    }

    /// What was noticed about the run as a whole.
    fn warnings(&self) -> Vec<Warning> {
        let is_short = |case: &Running| {
            let enough = case.wanted.unwrap_or(ROUNDS_MIN).min(ROUNDS_MIN);
            case.rounds < enough
        };
        // What one side gave up ended for the other too, and not for want of time.
        let short = (0..self.plan().cases.len()).any(|case| {
            let mut both = self.lanes.iter().map(|lane| &lane.cases[case]);
            let any_given_up = both.clone().any(Running::given_up);
            !any_given_up && both.any(is_short)
        });
        let mut warnings = Vec::new();
        if short || !self.unmade.is_empty() {
            warnings.push(Warning::BudgetShort);
        }
        if let Some(target) = self.plan().target {
            warnings.extend(schedule::missed(self.plan(), &self.lanes[0].cases, target));
        }
        warnings
    }

    fn finished(&self, case: usize) -> bool {
        self.lanes.iter().any(|lane| lane.cases[case].finished())
    }

    /// Whether an earlier part of the run already had this case in this pass. Half of a pair is not made whole later,
    /// when the weather is another.
    fn was_in(&self, pass: u32, case: usize) -> bool {
        self.lanes.iter().any(|lane| lane.was_in(pass, case))
    }

    /// Pass after pass, each in a freshly shuffled order, until nothing is left to do or fits.
    fn passes(&mut self) -> Result<End, RunError> {
        let earlier = self.lanes.iter().flat_map(|lane| lane.side.earlier);
        let first = earlier.map(|round| round.pass).max().unwrap_or(1);
        for pass in first.. {
            let mut order: Vec<usize> = (0..self.plan().cases.len())
                .filter(|&case| !self.finished(case) && !self.was_in(pass, case))
                .collect();
            if !self.plan().ordered {
                Rng::stream(self.plan().seed, u64::from(pass)).shuffle(&mut order);
            }
            known::needed_first(self.plan(), &mut order);
            let mut did_something = false;
            if !order.is_empty() {
                self.rest_before(pass)?;
                if sys::signal::interrupted().is_some() {
                    return Ok(End::Interrupted);
                }
            }
            for case in order {
                // A side that cannot be set up gives up every case, those of this pass too.
                if self.finished(case) {
                    continue;
                }
                if !self.reach(case, self.left()) {
                    return Ok(End::Interrupted);
                }
                self.look_at_what_moved(case);
                self.make_six_fit();
                // What is given up takes no time.
                let is_gone = self.lanes.iter().any(|lane| lane.target.is_gone());
                if !is_gone && !self.fits(case) {
                    continue;
                }
                did_something = true;
                if self.one_of_each(pass, case)?.is_none() {
                    return Ok(End::Interrupted);
                }
            }
            if !did_something && pass > first && !self.look() {
                break;
            }
        }
        Ok(End::Complete)
    }

    /// Where every case has the rounds it wanted: is any worth more? While something does not fit, nothing is.
    fn look(&mut self) -> bool {
        if (0..self.plan().cases.len()).any(|case| !self.finished(case)) {
            return false;
        }
        let (plan, left) = (self.plan(), self.left());
        match (self.lanes.as_mut_slice(), plan.target) {
            ([lane], Some(target)) => schedule::look(&mut lane.cases, target, left),
            ([a, b], _) => schedule::look_at_pairs(plan, &mut a.cases, &mut b.cases, left),
            _ => false,
        }
    }

    /// Gives a case up where a round of it could move more than the user allows.
    fn look_at_what_moved(&mut self, case: usize) {
        let id = &self.plan().cases[case].id;
        if let Some(why) = self.moved.none_left(id, self.lanes.len()) {
            self.lanes[0].target.goes(why);
        }
    }

    /// One round of one case on every side, in an order that a coin decides; `None` where the user interrupted it.
    fn one_of_each(&mut self, pass: u32, case: usize) -> Result<Option<()>, RunError> {
        // The layout is the pair's: what a start CPU or an offset does, it does to both sides.
        let mut rng = Rng::stream(self.plan().seed, u64::from(pass) << 32 | (case as u64 + 1));
        let layout_seed = rng.next();
        let mut sides: Vec<usize> = (0..self.lanes.len()).collect();
        rng.shuffle(&mut sides);
        // A pair of which one half is given up has no other half either.
        if self.lanes.iter().any(|lane| lane.target.is_gone()) {
            sides.retain(|side| self.lanes[*side].target.is_gone());
        }
        for side in sides {
            let (elapsed, expected) = (self.elapsed(), self.expected(pass, case));
            let one = One {
                side,
                pass,
                case,
                layout_seed,
                elapsed,
                expected,
                stretching: None,
            };
            match self.one(one)? {
                Came::Ended(_) => {}
                // Without one side there is no pair.
                Came::NoTime => break,
                Came::Interrupted => return Ok(None),
            }
            if sys::signal::interrupted().is_some() {
                return Ok(None);
            }
        }
        Ok(Some(()))
    }

    /// One stretch of a soak; `None` where the user interrupted it.
    fn stretch(&mut self, pass: u32, stretching: Stretching) -> Result<Option<Round>, RunError> {
        let plan = self.plan();
        let came = self.one(One {
            side: 0,
            pass,
            case: 0,
            layout_seed: Rng::stream(plan.seed, u64::from(pass) << 32 | 1).next(),
            elapsed: stretching.clock.elapsed(),
            expected: plan.soak.map_or(Nanos::ZERO, |soak| soak.span),
            stretching: Some(stretching),
        })?;
        Ok(match came {
            Came::Ended(round) => Some(*round),
            // A soak has no budget.
            Came::NoTime | Came::Interrupted => None,
        })
    }

    /// One round of one case on one side.
    fn one(&mut self, one: One) -> Result<Came, RunError> {
        let One { pass, case, .. } = one;
        self.observer.holds().map_err(RunError::NotHeld)?;
        self.observer.spares().map_err(RunError::Costs)?;
        let gone = self.lanes[one.side].target.take_gone();
        let is_gone = gone.is_some();
        let stood = match gone {
            Some(why) => Stood::Told(Vec::new(), Err(why)),
            None => self.stand(one.side, case, &one),
        };
        let (errands, stands) = match stood {
            Stood::Told(errands, stands) => (errands, stands),
            Stood::NoTime => return Ok(Came::NoTime),
            Stood::Interrupted => return Ok(Came::Interrupted),
        };
        // What was made has taken its time.
        let (elapsed, expected) = if errands.is_empty() || one.stretching.is_some() {
            (one.elapsed, one.expected)
        } else {
            self.use_what_making_left();
            (self.elapsed(), self.expected(pass, case))
        };
        let lane = &mut self.lanes[one.side];
        let planned = &lane.side.plan.cases[case];
        lane.seq += 1;
        self.observer.starts(&Progress {
            case: &planned.id,
            pass,
            is_stretch: one.stretching.is_some(),
            elapsed,
            expected,
        });
        let known = lane.found.known(planned);
        let which = Which {
            pass,
            seq: lane.seq,
            number: lane.cases[case].rounds + 1,
            layout_seed: one.layout_seed,
            known: known.as_ref().ok().copied().flatten(),
            bytes_left: self.moved.left(),
            stretch: one.stretching,
        };
        let mut long = planned.clone();
        let stretching = one.stretching;
        long.shape.measure =
            stretching.map_or(lane.cases[case].measure, |stretching| stretching.measure);
        let observer = &mut *self.observer;
        let mut tick = |so_far: &Round| observer.ticks(one.side, so_far);
        let round = match stands.and(known) {
            Ok(_) => round::execute(&lane.bench, &long, which, &mut tick),
            Err(why) => Ok(round::not_begun(planned, which, why)),
        };
        let Ok(round) = round.map(|round| Round { errands, ..round }) else {
            return Ok(Came::Interrupted);
        };
        lane.learn(case, &round);
        self.moved.learn(&round);
        if is_gone {
            lane.cases[case].give_up();
        }
        self.observer
            .ended(one.side, &round)
            .map_err(|why| RunError::Keep {
                seq: which.seq,
                why,
            })?;
        Ok(Came::Ended(Box::new(round)))
    }
}
