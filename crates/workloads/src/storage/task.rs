//! One job of several that run at the same time: what is told of it beside the others, and who ends with whom.
//!
//! The job itself knows when it starts and ends ([`model::job::Job::end`]) and what it does. Here it is kept to its
//! CPUs, ends with jobs that take it along, and is told with the counters of the disk below it. A job that fails, be
//! it in its set-up, is told as far as it came, and the others go on.

use super::idle::Cpus;
use super::{burn, exec};
use engine::consent::Permits;
use engine::recorder::{Latencies, Recorder};
use engine::tick::SoFar;
use engine::workload::{Body, Finish, Place, WorkError};
use model::job::{
    Direction, DiskUse, IoEngine, IoPriority, MemoryMode, MemoryPolicy, Mix, Priorities, Process,
    Program, Report, Target, Task,
};
use model::num::approx;
use model::order::Keyed as _;
use model::record::CommandEnd;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use sys::clock::monotonic;
use sys::io::counters::{self, DeviceIo};
use sys::io::flag::SharedFlag;
use sys::memory::numa::{self, Policy};
use sys::priority;
use sys::tree::Tree;

/// An error with the name of the job: of several at the same time one fails first.
fn named(task: &Task, error: WorkError) -> WorkError {
    let with_name = |why: String| format!("job `{}`: {why}", task.name);
    match error {
        WorkError::Unsupported(why) => WorkError::Unsupported(with_name(why)),
        WorkError::Failed(why) => WorkError::Failed(with_name(why)),
        WorkError::Wrong(why) => WorkError::Wrong(with_name(why)),
    }
}

/// Keeps this process on these CPUs; on all where there are none.
pub(super) fn keep_to_cpus(cpus: &[u32]) -> Result<(), WorkError> {
    if cpus.is_empty() {
        return Ok(());
    }
    sys::affinity::keep_to(cpus)
        .map_err(|error| WorkError::Unsupported(format!("keep to CPUs {cpus:?}: {error}")))
}

/// Gives this process the priorities and the memory that a job asks for. Operations that are `apart` may have
/// priorities of their own, of which the kernel would refuse those of realtime one by one.
pub(super) fn ask_for(process: &Process, apart: Option<&Priorities>) -> Result<(), WorkError> {
    let said = |what: String, done: std::io::Result<()>| {
        done.map_err(|error| WorkError::Unsupported(format!("{what}: {error}")))
    };
    let mut shares = apart
        .into_iter()
        .flat_map(|apart| apart.read.iter().chain(&apart.write));
    if let Some(share) = shares.find(|share| share.priority.class == IoPriority::REALTIME) {
        let what = "have operations of the I/O priority class 1 (realtime; `cmdprio_class=2` is best effort)";
        said(
            what.to_owned(),
            priority::may_have_io(share.priority.ioprio()),
        )?;
    }
    if process.nice != 0 {
        let nice = process.nice;
        said(
            format!("have the priority {nice}"),
            priority::set_nice(nice),
        )?;
    }
    if let Some(own @ IoPriority { class, level }) = process.io_priority {
        let what = format!("have the I/O priority {level} of class {class}");
        said(what, priority::set_io(own.ioprio()))?;
    }
    if let Some(MemoryPolicy { mode, nodes }) = &process.memory {
        let from = match mode {
            MemoryMode::Local => Policy::Local,
            MemoryMode::Prefer => Policy::Prefer,
            MemoryMode::Bind => Policy::Bind,
            MemoryMode::Interleave => Policy::Interleave,
        };
        let what = format!("take memory of NUMA nodes {nodes:?}");
        said(what, numa::set_policy(from, nodes))?;
    }
    Ok(())
}

/// A job at work.
pub(super) struct Doing {
    task: Task,
    inner: Box<dyn Body>,
    /// What it says to other jobs, and hears from them.
    words: Words,
    /// Why it ended before its time.
    failed: Option<WorkError>,
    disk: Option<Disk>,
    cpus: Option<Cpus>,
    /// The monotonic clock at the first batch, and after the last one.
    entered: u64,
    left: u64,
    /// When the job is counted from, as long as it is not.
    counts_from: Option<u64>,
    /// Work is bytes, for all jobs of the case, and else operations.
    by_bytes: bool,
    /// What may be executed, and how its program ended, and whether as it should; where it has one.
    permits: Permits,
    program: Option<(CommandEnd, bool)>,
}

impl Doing {
    pub(super) fn new(task: Task, inner: Box<dyn Body>, words: Words, place: &Place) -> Self {
        let below = match &task.job.target {
            _ if task.job.engine.has_no_operations() || task.job.engine == IoEngine::Null => None,
            Target::TestFile => Some(place.run_dir.as_path()),
            Target::File { path, .. } | Target::Device { path, .. } => Some(path.as_path()),
        };
        let mut disk = below.and_then(Disk::below);
        // Reading counters allocates: where there is no ramp it is done before the gate opens.
        if let Some(disk) = &mut disk {
            disk.begin();
        }
        let cpus = task.looks_at_cpus.then(Cpus::begin);
        let permits = task.job.program.as_ref().map(|_| place.permits.clone());
        let permits = permits.unwrap_or_default();
        Self {
            task,
            inner,
            words,
            failed: None,
            disk,
            cpus,
            entered: 0,
            left: 0,
            counts_from: None,
            by_bytes: false,
            permits,
            program: None,
        }
    }

    /// The same, where the work of all jobs of the case is told in bytes.
    pub(super) fn by_bytes(self, by_bytes: bool) -> Self {
        Self { by_bytes, ..self }
    }

    /// A job that could not even be made ready.
    pub(super) fn failed(task: Task, error: WorkError, words: Words, place: &Place) -> Self {
        Self {
            failed: Some(named(&task, error)),
            ..Self::new(task, Box::new(Nothing), words, place)
        }
    }

    /// A job whose turn does not come.
    pub(super) fn none(task: Task, words: Words, place: &Place) -> Self {
        Self::new(task, Box::new(Nothing), words, place)
    }

    /// The first batch.
    fn enter(&mut self) {
        self.entered = monotonic();
        self.left = self.entered;
        let before = self.task.before().0;
        self.counts_from = (before > 0).then(|| self.entered.saturating_add(before));
    }

    /// Keeps a CPU busy, in the ramp and in the time that counts.
    fn burn(&mut self) {
        let job = &self.task.job;
        let is_over = || self.words.end();
        let counts = self.entered.saturating_add(self.task.before().0);
        let begin = self.entered.saturating_add(job.start_delay.0);
        burn::between(job.burn, begin, counts, is_over);
        if let Some(cpus) = &mut self.cpus {
            cpus.again();
        }
        self.entered = monotonic();
        let time = job.end.time.unwrap_or_default();
        burn::between(job.burn, counts, counts.saturating_add(time.0), is_over);
        self.left = monotonic();
    }

    /// Executes a program, in the ramp and in the time that counts.
    fn execute(&mut self, program: &Program) -> Result<(), WorkError> {
        let Task { name, job, .. } = &self.task;
        let goes_on = || !self.words.end() && sys::signal::interrupted().is_none();
        let counts = self.entered.saturating_add(self.task.before().0);
        burn::rest(self.entered.saturating_add(job.start_delay.0), goes_on);
        let mut running = exec::Running::start(name, program, &self.permits)?;
        let whole = job.end.time_based;
        running.wait(counts, whole, goes_on)?;
        if let Some(cpus) = &mut self.cpus {
            cpus.again();
        }
        self.entered = counts;
        let end = job
            .end
            .time
            .map_or(u64::MAX, |time| counts.saturating_add(time.0));
        running.wait(end, whole, goes_on)?;
        self.program = Some(running.end()?);
        Ok(())
    }

    /// How long it has been at work, up to the last batch that ended.
    const fn wall(&self) -> Nanos {
        Nanos(self.left.saturating_sub(self.entered))
    }

    fn end(&self) {
        if let Some(word) = &self.words.done {
            word.raise();
        }
        let counts = !self.task.ends_on_error || self.failed.is_some();
        if let Some(word) = self.words.ends.as_ref().filter(|_| counts) {
            word.raise();
        }
    }
}

/// The word that ends all jobs of the pass, those that have not begun among them.
pub const EVERYTHING: &str = "over-everything";

/// How often a job that waits for others looks whether they have ended.
const LOOKS_EVERY_NS: u64 = 1_000_000;

/// The words of one job: flags that it shares with the others, in a directory of the round, or of the run where they
/// are for later rounds too.
#[derive(Debug)]
pub(super) struct Words {
    ends: Option<SharedFlag>,
    ends_with: Vec<SharedFlag>,
    done: Option<SharedFlag>,
    waits_for: Vec<SharedFlag>,
}

impl Words {
    pub(super) fn open(task: &Task, place: &Place) -> Result<Self, WorkError> {
        let open = |word: &String| {
            let path = if word == EVERYTHING {
                // In each pass every case has one round.
                place.run_dir.join(format!("{word}-{}", place.round))
            } else {
                place.shared_dir.join(word)
            };
            SharedFlag::open(&path)
                .map_err(|error| WorkError::failed("share", path.display(), error))
        };
        Ok(Self {
            ends: task.ends.as_ref().map(open).transpose()?,
            ends_with: task.ends_with.iter().map(open).collect::<Result<_, _>>()?,
            done: task.done.as_ref().map(open).transpose()?,
            waits_for: task.waits_for.iter().map(open).collect::<Result<_, _>>()?,
        })
    }

    /// Waits until all have ended that come before this job, or something ends it.
    fn wait(&self) {
        let may_go = || self.waits_for.iter().all(SharedFlag::is_raised);
        while !may_go() && !self.end() && sys::signal::interrupted().is_none() {
            sys::clock::sleep(LOOKS_EVERY_NS);
        }
    }

    /// Whether a job has ended that takes this one with it.
    pub(super) fn end(&self) -> bool {
        self.ends_with.iter().any(SharedFlag::is_raised)
    }
}

/// Nothing is done.
pub(super) struct Nothing;

impl Body for Nothing {
    fn batch(&mut self, _: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        Ok(0)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        Ok(Finish::default())
    }
}

impl Body for Doing {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        if self.entered == 0 {
            if self.failed.is_none() {
                self.words.wait();
            }
            self.enter();
        }
        let is_stopped = sys::signal::interrupted().is_some();
        let is_over = self.task.only_prepares || self.failed.is_some();
        if is_over || is_stopped || self.words.end() {
            self.end();
            return Ok(0);
        }
        if let Some(program) = self.task.job.program.clone() {
            let done = self.execute(&program);
            self.failed = done.err().map(|error| named(&self.task, error));
            self.left = monotonic();
            self.end();
            return Ok(0);
        }
        if self.task.job.engine == IoEngine::Cpu {
            self.burn();
            self.end();
            return Ok(0);
        }
        let done = self.inner.batch(ops, recorder).unwrap_or_else(|error| {
            self.failed = Some(named(&self.task, error));
            0
        });
        self.left = monotonic();
        if done < ops {
            self.end();
        } else if self.counts_from.is_some_and(|from| self.left >= from) {
            self.counts_from = None;
            self.entered = self.left;
            if let Some(disk) = &mut self.disk {
                disk.begin();
            }
            if let Some(cpus) = &mut self.cpus {
                cpus.again();
            }
        }
        Ok(done)
    }

    fn work_per_op(&self) -> f64 {
        if self.by_bytes {
            self.inner.work_per_op()
        } else {
            1.0
        }
    }

    fn work(&self) -> Option<f64> {
        self.inner.work().filter(|_| self.by_bytes)
    }

    fn batch_target(&self) -> Nanos {
        self.inner.batch_target()
    }

    fn tick(&mut self, so_far: &mut SoFar) {
        self.inner.tick(so_far);
        so_far.wall = self.wall();
        let mix = self.task.job.pattern.mix;
        so_far.make(move |finish, wall| beside_others(finish, mix, wall));
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let disk = self.disk.as_ref().and_then(Disk::end);
        let idle = self.cpus.as_ref().and_then(Cpus::end);
        let finish = self.inner.finish();
        let mut finish = finish.unwrap_or_else(|error| Finish {
            failed: Some(error),
            ..Finish::default()
        });
        // What it was to do in the end can fail too.
        let in_the_end = finish.failed.take().map(|error| named(&self.task, error));
        if self.failed.is_none() && in_the_end.is_some() {
            self.failed = in_the_end;
            self.end();
        }
        finish.failed.clone_from(&self.failed);
        let ended = self.program.take().zip(self.task.job.program.as_ref());
        if let Some(((end, false), program)) = &ended {
            let said = exec::told(&self.task.name, &program.name, end);
            finish.notes.push(said);
        }
        let told = finish.job.get_or_insert_default();
        told.disk = disk;
        told.idle = idle;
        told.program = ended.map(|((end, _), _)| end);
        beside_others(&mut finish, self.task.job.pattern.mix, self.wall());
        Ok(finish)
    }
}

/// What a job of this kind hands over, as it is told beside jobs of other kinds: with its rates, and names of latencies
/// that say the kind.
fn beside_others(finish: &mut Finish, mix: Mix, wall: Nanos) {
    let latencies = std::mem::take(&mut finish.latencies);
    finish.latencies = with_kind(latencies, mix);
    if let Some(report) = &mut finish.job {
        finish.reported.extend(rates(report, wall));
    }
}

/// Rates of each direction over its own time, and the time of the longest; `wall` where the job does not tell.
fn rates(report: &mut Report, wall: Nanos) -> [(String, f64); 5] {
    let times = report.done.map(|done| done.runtime);
    let longest = times.iter().copied().flatten().max();
    report.runtime = longest
        .filter(|time| *time > Nanos::ZERO)
        .unwrap_or(wall.max(Nanos(1)));
    let per_s = |amount: u64, time: Nanos| approx(amount) * 1e9 / approx(time.0.max(1));
    let of = |direction| {
        let own = times.of(direction).unwrap_or(report.runtime);
        per_s(report.done.of(direction).ops, own)
    };
    // Directions that took turns, as writing and reading back do, have no rates that could be added.
    let ops = report.done.iter().map(|done| done.ops).sum();
    let bytes = report.done.iter().map(|done| done.bytes).sum();
    [
        ("iops", per_s(ops, report.runtime)),
        ("read_iops", of(Direction::Read)),
        ("write_iops", of(Direction::Write)),
        ("trim_iops", of(Direction::Trim)),
        ("bw_bytes_per_s", per_s(bytes, report.runtime)),
    ]
    .map(|(name, value)| (name.to_owned(), value))
}

/// Latencies of a job that does one kind of operation have no kind in their name; beside other jobs they need it.
fn with_kind(latencies: BTreeMap<String, Latencies>, mix: Mix) -> BTreeMap<String, Latencies> {
    let kind = match mix {
        Mix::Read => "read_",
        Mix::Write => "write_",
        Mix::Trim => "trim_",
        Mix::ReadWrite | Mix::TrimWrite => return latencies,
    };
    let named = |name: String| match name.as_str() {
        "clat" | "slat" | "lat" => format!("{kind}{name}"),
        _ => name,
    };
    latencies
        .into_iter()
        .map(|(name, value)| (named(name), value))
        .into_map()
}

/// The block device below a job, and its counters when counting began.
#[derive(Debug)]
struct Disk {
    number: String,
    name: String,
    before: Option<DeviceIo>,
}

impl Disk {
    fn below(path: &Path) -> Option<Self> {
        let file = File::open(path).ok()?;
        let number = counters::device_of(&file)?;
        let name = counters::device_name(&Tree::real(), &number).ok()?;
        Some(Self {
            number,
            name,
            before: None,
        })
    }

    fn begin(&mut self) {
        self.before = counters::device(&Tree::real(), &self.number).ok();
    }

    fn end(&self) -> Option<DiskUse> {
        let then = self.before?;
        let now = counters::device(&Tree::real(), &self.number).ok()?;
        let count = |of: fn(&DeviceIo) -> u64| of(&now).saturating_sub(of(&then));
        let time = |of: fn(&DeviceIo) -> u64| Nanos(count(of));
        Some(DiskUse {
            name: self.name.clone(),
            ops: (count(|io| io.reads), count(|io| io.writes)),
            bytes: (count(|io| io.read_bytes), count(|io| io.write_bytes)),
            merges: (count(|io| io.read_merges), count(|io| io.write_merges)),
            took: (time(|io| io.read_time), time(|io| io.write_time)),
            queued: time(|io| io.queue_time),
            busy: time(|io| io.busy),
        })
    }
}

#[cfg(test)]
pub(super) mod tests;
