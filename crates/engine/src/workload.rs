//! What a workload is to the engine: a declaration, a shape, and a body that does operations in batches.
//!
//! A workload is a `static` unit struct in the registry. In the worker process its [`Workload::prepare`] does all
//! set-up and returns a [`Body`]; the engine's measuring loop calls [`Body::batch`] a few hundred times per round,
//! so the one virtual call per batch costs nothing per operation. Inside a batch: no allocation, no lock, no log,
//! no system call but the one that is measured.

use crate::consent::{Permits, Touch};
use crate::recorder::{Latencies, Recorder};
use crate::tick::SoFar;
use model::digest::Digest;
use model::ground::Ground;
use model::headline::Headline;
use model::host::HostFacts;
use model::job::{Report, Task};
use model::named::NamedKind;
use model::params::Params;
use model::plan::{Shape, StorageLoad};
use model::record::{Failure, Series};
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use sys::clock::Clock;
use sys::process::Usage;

/// Code that can do one kind of work, with parameters.
pub trait Workload: Sync {
    /// Its declaration.
    fn spec(&self) -> &'static Spec;

    /// How one round goes with these parameters.
    fn shape(&self, _params: &Params) -> Shape {
        Shape::DEFAULT
    }

    /// The same with so many copies at the same time, where a round takes longer with more of them.
    fn shape_of(&self, params: &Params, _copies: u32) -> Shape {
        self.shape(params)
    }

    /// Whether it takes these values, as far as their declarations cannot tell: the bounds of a size, or what two of
    /// them are together. Asked first when the plan is made: a wrong value is the user's, whatever the machine.
    fn check_params(&self, _params: &Params) -> Result<(), BadValue> {
        Ok(())
    }

    /// Whether this machine can do it at all; the error says why not. Called once, when the plan is made.
    fn supported(&self, _params: &Params, _host: &HostFacts) -> Result<(), String> {
        Ok(())
    }

    /// The same for so many copies at the same time, asked for every concurrency of a plan. What each copy has for
    /// itself, such as memory, may suffice for one of them and not for all.
    fn supported_with(
        &self,
        _params: &Params,
        _host: &HostFacts,
        _copies: u32,
    ) -> Result<(), String> {
        Ok(())
    }

    /// The metrics that a round yields with these parameters, the most telling first: all that the spec declares, or
    /// those of them that mean something here.
    fn metrics(&self, _params: &Params) -> Vec<&'static MetricDef> {
        self.spec().metrics.iter().collect()
    }

    /// What its first metric is called on the first page of a run, where it is one of the figures that people quote.
    fn headline(&self, _params: &Params) -> Option<Headline> {
        None
    }

    /// What a case asks of the storage below it, where its figures are to be judged by that.
    fn load(&self, _params: &Params) -> Option<StorageLoad> {
        None
    }

    /// The storage jobs that a case of it does, in the vocabulary of all languages: one where all copies do the same,
    /// or one for each; none where it does something else. Cases whose jobs are the same compare, whatever they are
    /// called.
    fn storage_jobs(&self, _params: &Params) -> Vec<Task> {
        Vec::new()
    }

    /// What it writes to the storage below it, where that is more than small files: told before anything is.
    fn writes(&self, _params: &Params) -> Writes {
        Writes::default()
    }

    /// The parameters with what each of so many copies chooses by itself on this machine, as far as that is known
    /// before: for saying what a round takes and writes. What was asked for stays.
    fn on(&self, params: &Params, _host: &HostFacts, _copies: u32) -> Params {
        params.clone()
    }

    /// Whether the files of so many copies are larger than the memory of this machine, so that rounds wait for memory
    /// whatever else runs.
    fn exceeds_memory(&self, _params: &Params, _host: &HostFacts, _copies: u32) -> bool {
        false
    }

    /// The parameters with what the rounds stand on as large as is made in `time`, where its size was left to the
    /// workload and would take longer. Asked for the only case of a run that has a budget.
    fn made_in(&self, params: &Params, _time: Nanos, _host: &HostFacts) -> Params {
        params.clone()
    }

    /// A test that tells of the same things in a shorter time, for those whom this one takes too long.
    fn shorter(&self, _params: &Params) -> Option<&'static str> {
        None
    }

    /// Whether two processes or threads that nobody pins wake each other in turn.
    fn hands_over(&self) -> bool {
        false
    }

    /// Whether an operation allocates memory by nature. Where it does, allocations are part of what is measured, and no
    /// warning is raised for them.
    fn allocates(&self, _params: &Params) -> bool {
        false
    }

    /// The files and devices that a case works on beside its own directory, with `stand_in` in the place of the run's
    /// own test file. What is not said here cannot be opened later.
    fn touches(&self, _params: &Params, _stand_in: Option<&StandIn>) -> Vec<Touch> {
        Vec::new()
    }

    /// The jobs of a case that execute a program, each with its program. What is not said here is not executed.
    fn programs(&self, _params: &Params) -> Vec<(String, String)> {
        Vec::new()
    }

    /// What its rounds stand on, where that is made once for all of them and not by each, with `stand_in` in the place
    /// of the run's own test file. Asked once, when the plan is made.
    fn ground(
        &self,
        _params: &Params,
        _host: &HostFacts,
        _stand_in: Option<&StandIn>,
    ) -> Option<Ground> {
        None
    }

    /// What differs of a case where `stand_in` is in the place of what it would make itself; `None` where nothing does.
    /// The error says why it cannot be done there. Asked once, when the plan is made.
    fn on_stand_in(
        &self,
        _params: &Params,
        _stand_in: &StandIn,
    ) -> Result<Option<OnStandIn>, String> {
        Ok(None)
    }

    /// Why it cannot be done where nothing stands in, as where it needs a server. Asked once, when the plan is made.
    fn without_stand_in(&self) -> Result<(), String> {
        Ok(())
    }

    /// Directories beside that of the run in which it works. The run makes a marked directory of its own in each of
    /// them, and what is there is not touched: [`Place::run_dir_at`].
    fn anchors(&self, _params: &Params) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Bits per second that so many copies send to a peer, or let it send, where that is known before.
    fn bits_per_s(&self, _params: &Params, _copies: u32) -> Option<u64> {
        None
    }

    /// In how many directions it fills the way to a peer at a time, where nobody knows that rate before.
    fn ways(&self, _params: &Params) -> u32 {
        1
    }

    /// What it takes from another test of the run, which is measured beside it with as many copies, whether it was
    /// asked for or not: [`Place::known`].
    fn needs(&self, _params: &Params) -> Option<Need> {
        None
    }

    /// Does an errand for the ground of these parameters, in a worker process that does nothing else. Whoever makes one
    /// notes last that it is whole, because he may be killed at any time; `tell` takes how much has been made so far.
    fn errand(
        &self,
        errand: ErrandKind,
        _params: &Params,
        _place: &Place,
        _tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let why = format!("{errand:?} a ground of `{}`: it has none", self.spec().name);
        Err(WorkError::Failed(why))
    }

    /// Looks whether what stands in for its own, such as a server, is there at this moment, in a worker process that
    /// does nothing else; asked where a round failed. [`WorkError::Unsupported`] where waiting for it would not help.
    fn reach(&self, _place: &Place) -> Result<(), WorkError> {
        Ok(())
    }

    /// Which code does the work on this machine, where there are several: `SHA-NI`, `portable`... Asked once, when the
    /// plan is made, and kept with the results.
    fn implementation(&self, _params: &Params) -> Option<String> {
        None
    }

    /// Sets up one copy of one round in its worker process. Not timed.
    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError>;
}

/// What a case writes to storage, at most, beside what its rounds stand on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Writes {
    /// In each round of each copy.
    pub per_round: Bytes,
    /// True where rounds write as much as the storage takes while they last.
    pub throughout: bool,
}

/// What a case is where something stands in for what it would make itself, such as a server for its own database.
#[derive(Clone, Debug)]
pub struct OnStandIn {
    /// In the place of the test's own.
    pub title: String,
    /// In the place of [`Workload::headline`].
    pub headline: Option<Headline>,
    /// In the place of [`Workload::metrics`].
    pub metrics: Vec<&'static MetricDef>,
    /// In the place of [`Workload::shape`].
    pub shape: Shape,
    /// In the place of the spec's: whether its figures depend on the disk that the run's directory is on.
    pub on_disk: bool,
    /// In the place of [`Workload::allocates`].
    pub allocates: bool,
    /// In the place of [`Workload::implementation`].
    pub implementation: Option<String>,
    /// Parameters that mean nothing there, and are left out.
    pub without: &'static [&'static str],
}

/// What a case takes from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The other test, which needs nothing itself.
    pub test: String,
    /// A quantity of it.
    pub quantity: &'static str,
    /// The parameter that names the test.
    pub param: &'static str,
}

/// What is to be done for a ground.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ErrandKind {
    /// Make it, whatever is left of an earlier try.
    Make,
    /// Look whether it is there, in whole.
    Check,
    /// Take it away.
    Remove,
}

/// What an errand found or made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    /// Whether the ground is there, in whole.
    pub holds: bool,
    /// How much was written, or is there.
    pub bytes: Option<Bytes>,
}

/// A device or file that stands in for the test file that a run would make itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandIn {
    /// Absolute.
    pub path: PathBuf,
    /// What it is said to be.
    pub kind: NamedKind,
}

/// Which of `all` that the user named stands in for what this workload would make: what it works on, or else the first
/// one, of which it says why it does not.
pub fn its_own<'a>(
    workload: &dyn Workload,
    params: &Params,
    all: &'a [StandIn],
) -> Option<&'a StandIn> {
    let works_on = |own: &&StandIn| {
        let touches = workload.touches(params, Some(own));
        touches.iter().any(|touch| touch.path == own.path)
    };
    all.iter().find(works_on).or_else(|| all.first())
}

/// Where one copy of one round runs. The paths of its directories begin where the worker is, and lead to the same from
/// every directory right inside the round's: names above the work directory, which others may change, are not in them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// A fresh directory of this copy's own, on the file system under test; the current directory of the worker.
    /// The supervisor removes it with everything in it.
    pub dir: PathBuf,
    /// A fresh directory that all copies of this round share.
    pub shared_dir: PathBuf,
    /// A directory that all rounds of this run share, for what is too dear to make anew each time, such as a test
    /// file. A round that crashed may have left anything in it. The supervisor removes it when the run ends.
    pub run_dir: PathBuf,
    /// The same in each of the other directories in which the case works ([`Workload::anchors`]).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub anchors: BTreeMap<PathBuf, PathBuf>,
    /// This copy's number, from 0.
    pub copy: u32,
    /// How many copies run at the same time.
    pub copies: u32,
    /// The round's number within its case, from 1.
    pub round: u32,
    /// Seeds everything that this copy randomises.
    pub seed: u64,
    /// How long the round is to warm up, and to measure: for whom that must be told before.
    pub warmup: Nanos,
    /// See [`Place::warmup`].
    pub measure: Nanos,
    /// Bytes that the round may still move between this machine and a peer; `None` for as many as it moves.
    pub bytes_left: Option<Bytes>,
    /// What the case needs of another one ([`Workload::needs`]): the median over its rounds so far.
    pub known: Option<f64>,
    /// Nanoseconds per tick of the CPU's counter, where it may be used.
    pub ns_per_tick: Option<f64>,
    /// What stands in for the run's own test file.
    pub stand_in: Option<StandIn>,
    /// Everything that may be opened beside these directories.
    pub permits: Permits,
}

impl Place {
    /// What all rounds share at this anchor.
    pub fn run_dir_at(&self, anchor: &Path) -> &Path {
        self.anchors.get(anchor).unwrap_or(&self.run_dir)
    }

    /// For latencies of single operations.
    pub fn clock(&self) -> Clock {
        Clock::with_rate(self.ns_per_tick)
    }
}

/// One copy of one round at work.
pub trait Body {
    /// Does `ops` operations, one after the other, and returns how many it did: `ops`, more where several end together
    /// and were asked to, or fewer where one of them ends the round early. Where [`Recorder::records`] is true it times
    /// each with [`Recorder::time`].
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError>;

    /// The work of one operation in the unit of the spec's first rate: bytes, instructions, or 1; the mean where
    /// [`Body::work`] counts it.
    fn work_per_op(&self) -> f64 {
        1.0
    }

    /// All work done so far, in the same unit, where operations differ in it and the body counts it as they end. Asked
    /// for at the ends of windows; where it falls, counting has begun anew.
    fn work(&self) -> Option<f64> {
        None
    }

    /// Whether [`Body::batch`] is to time single operations with the recorder; what comes of it is the latency
    /// [`model::latency::LAT`].
    fn records_latency(&self) -> bool {
        false
    }

    /// How long a batch should take; the engine chooses its size accordingly. Longer batches cost less, shorter ones
    /// end the round more exactly.
    fn batch_target(&self) -> Nanos {
        Nanos::from_millis(5)
    }

    /// Called between warm-up and measured part: forget what was counted so far.
    fn measured_part_begins(&mut self) {}

    /// What processes that the body started and has not waited for yet have used until now, together with their own
    /// children. Called when the measured part begins: what is counted for them at the end holds the warm-up as well.
    fn living_children(&mut self) -> Result<Usage, WorkError> {
        Ok(Usage::default())
    }

    /// Between two batches, where somebody asks how far the work is: gives away what was recorded since the last time,
    /// in little time and without a system call, and says what else it did so far. Nothing that was given away is
    /// handed over again in the end. Also called once before the first batch.
    fn tick(&mut self, _so_far: &mut SoFar) {}

    /// Bytes that went to a peer and came from there so far, warm-up included and headers not; `None` where none do.
    /// Asked when the round is over, however it ended.
    fn moved(&self) -> Option<Bytes> {
        None
    }

    /// Ends the copy's work, checks its results and hands over what only the body knows. Not timed.
    fn finish(&mut self) -> Result<Finish, WorkError>;
}

/// What a body hands over at the end.
#[derive(Clone, Debug, Default)]
pub struct Finish {
    /// The digest of the results, which the body has checked.
    pub digest: Digest,
    /// Values of metrics whose [`model::spec::How`] says that the body reports them. A value under the quantity of
    /// a rate replaces work over wall time.
    pub reported: BTreeMap<String, f64>,
    /// Why a metric that the body reports has no value this time, by quantity; without it nobody knows more than that
    /// it was not reported.
    pub missing: BTreeMap<String, String>,
    /// Replaces the rates of the measured windows; only for workloads that play a known series.
    pub windows: Vec<f64>,
    /// Latencies that the body took by itself, by name, for the metrics that are figures of them.
    pub latencies: BTreeMap<String, Latencies>,
    /// Series by the quantity of their declaration ([`model::spec::Role::Series`]), made at the ends of windows or
    /// outside the measured thread. A value that is not finite counts as none.
    pub series: BTreeMap<String, Series>,
    /// What the reader must know to read the figures rightly: a sentence in English for each.
    pub notes: Vec<String>,
    /// The process on this machine whose children, and itself, work for the test and are none of ours, such as a
    /// server: they disturb nobody.
    pub party: Option<u32>,
    /// What a storage job did, where that is more than the metrics tell.
    pub job: Option<Box<Report>>,
    /// Why the copy did not do all of its work, where it did not; everything else is what it did until then.
    pub failed: Option<WorkError>,
}

/// A parameter does not take its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("parameter `{param}` takes {expected}")]
pub struct BadValue {
    /// Which.
    pub param: &'static str,
    /// What it takes.
    pub expected: String,
}

impl BadValue {
    /// `param` takes `expected`.
    pub fn new(param: &'static str, expected: impl Into<String>) -> Self {
        Self {
            param,
            expected: expected.into(),
        }
    }
}

impl From<BadValue> for WorkError {
    /// Where a plan was not made of the user's words, and nobody asked before: no round can be done.
    fn from(bad: BadValue) -> Self {
        Self::Unsupported(bad.to_string())
    }
}

/// Why a copy could not do its work.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WorkError {
    /// The machine cannot do it; another round will not help.
    #[error("{0}")]
    Unsupported(String),
    /// An operation failed: what was done, to what, and the error.
    #[error("{0}")]
    Failed(String),
    /// The work was done and its result is wrong.
    #[error("{0}")]
    Wrong(String),
}

impl WorkError {
    /// As a run keeps it.
    pub(crate) fn failure(&self) -> Failure {
        let words = self.to_string();
        match self {
            Self::Unsupported(_) => Failure::Unsupported(words),
            Self::Failed(_) => Failure::Error(words),
            Self::Wrong(_) => Failure::WrongResult(words),
        }
    }

    /// An operation on an object failed: ``write `original`: No space left on device``.
    pub fn failed(
        operation: &str,
        object: impl std::fmt::Display,
        error: impl std::fmt::Display,
    ) -> Self {
        Self::Failed(format!("{operation} `{object}`: {error}"))
    }
}
