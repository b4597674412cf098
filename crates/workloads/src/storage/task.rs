//! One job of several that run at the same time: what is told of it beside the others, and who ends with whom.
//!
//! The job itself knows when it starts and ends ([`Job::end`](model::job::Job::end)) and what it does. Here it is kept to its CPUs, ends
//! with jobs that take it along, and is told with the counters of the disk below it. A job that fails, be it in its
//! set-up, is told as far as it came, and the others go on.

use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::job::{IoEngine, Mix, Target, Task};
use model::num::approx;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use sys::clock::monotonic;
use sys::io::counters::{self, DeviceIo};
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

/// A job at work.
pub(super) struct Doing {
    task: Task,
    inner: Box<dyn Body>,
    /// Where words are left for other jobs.
    words: Words,
    /// Why it ended before its time.
    failed: Option<WorkError>,
    disk: Option<Disk>,
    /// The monotonic clock at the first batch, and after the last one.
    entered: u64,
    left: u64,
    /// When the job is counted from, as long as it is not.
    counts_from: Option<u64>,
}

impl Doing {
    pub(super) fn new(task: Task, inner: Box<dyn Body>, place: &Place) -> Self {
        let below = match &task.job.target {
            _ if task.job.engine == IoEngine::Null => None,
            Target::TestFile => Some(place.run_dir.as_path()),
            Target::File { path, .. } | Target::Device { path, .. } => Some(path.as_path()),
        };
        let mut disk = below.and_then(Disk::below);
        // Reading counters allocates: where there is no ramp it is done before the gate opens.
        if let Some(disk) = &mut disk {
            disk.begin();
        }
        Self {
            task,
            inner,
            words: Words::new(place),
            failed: None,
            disk,
            entered: 0,
            left: 0,
            counts_from: None,
        }
    }

    /// A job that could not even be made ready.
    pub(super) fn failed(task: Task, error: WorkError, place: &Place) -> Self {
        Self {
            failed: Some(named(&task, error)),
            ..Self::new(task, Box::new(Nothing), place)
        }
    }

    /// A job whose turn does not come.
    pub(super) fn none(task: Task, place: &Place) -> Self {
        Self::new(task, Box::new(Nothing), place)
    }

    /// The first batch.
    fn enter(&mut self) {
        self.entered = monotonic();
        self.left = self.entered;
        let before = self.task.before().0;
        self.counts_from = (before > 0).then(|| self.entered.saturating_add(before));
    }

    fn end(&self) {
        let counts = !self.task.ends_on_error || self.failed.is_some();
        if let Some(word) = self.task.ends.as_ref().filter(|_| counts) {
            // Where it cannot be left, the others end by themselves.
            let _ = File::create(self.words.path(word));
        }
    }
}

/// The word that ends all jobs of the pass, those that have not begun among them.
pub const EVERYTHING: &str = "over-everything";

/// Where jobs leave words for each other: files in a directory of the round, or of the run where they are for later
/// rounds too.
#[derive(Debug)]
pub(super) struct Words {
    of_round: PathBuf,
    of_run: PathBuf,
    round: u32,
}

impl Words {
    pub(super) fn new(place: &Place) -> Self {
        Self {
            of_round: place.shared_dir.clone(),
            of_run: place.run_dir.clone(),
            round: place.round,
        }
    }

    fn path(&self, word: &str) -> PathBuf {
        if word == EVERYTHING {
            // In each pass every case has one round.
            self.of_run.join(format!("{word}-{}", self.round))
        } else {
            self.of_round.join(word)
        }
    }

    /// Whether a job has ended that takes this one with it.
    pub(super) fn end(&self, task: &Task) -> bool {
        let mut words = task.ends_with.iter();
        words.any(|word| self.path(word).exists())
    }
}

/// Nothing is done.
struct Nothing;

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
            self.enter();
        }
        let is_stopped = sys::signal::interrupted().is_some();
        let is_over = self.task.only_prepares || self.failed.is_some();
        if is_over || is_stopped || self.words.end(&self.task) {
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
        }
        Ok(done)
    }

    fn work_per_op(&self) -> f64 {
        self.inner.work_per_op()
    }

    fn batch_target(&self) -> Nanos {
        self.inner.batch_target()
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let disk = self.disk.as_ref().map(Disk::end).unwrap_or_default();
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
        finish.latencies = with_kind(
            std::mem::take(&mut finish.latencies),
            self.task.job.pattern.mix,
        );
        finish.reported.extend(disk);
        report_rates(&mut finish.reported, self.left.saturating_sub(self.entered));
        Ok(finish)
    }
}

/// Rates of each direction over its own time, and the time of the longest; `wall_ns` where the job does not tell.
fn report_rates(reported: &mut BTreeMap<String, f64>, wall_ns: u64) {
    let wall = approx(wall_ns.max(1));
    let amount = |name: &str| reported.get(name).copied();
    let kinds = [("read", "reads"), ("write", "writes"), ("trim", "trims")];
    let times = kinds.map(|(kind, _)| amount(&format!("{kind}_runtime_ns")));
    let longest = times.into_iter().flatten().fold(0.0, f64::max);
    let runtime = if longest > 0.0 { longest } else { wall };
    let iops = [0, 1, 2].map(|kind| {
        let done = amount(kinds[kind].1).unwrap_or(0.0);
        done * 1e9 / times[kind].unwrap_or(runtime).max(1.0)
    });
    let bytes = amount("bytes").unwrap_or(0.0) * 1e9 / runtime;
    // Directions that took turns, as writing and reading back do, have no rates that could be added.
    let done = kinds.iter().filter_map(|(_, done)| amount(done));
    let done = done.fold(0.0, |all, done| all + done);
    for (name, value) in [
        ("iops", done * 1e9 / runtime),
        ("read_iops", iops[0]),
        ("write_iops", iops[1]),
        ("trim_iops", iops[2]),
        ("bw_bytes_per_s", bytes),
        ("runtime_ns", runtime),
    ] {
        reported.insert(name.to_owned(), value);
    }
}

/// Latencies of a job that does one kind of operation have no kind in their name; beside other jobs they need it.
fn with_kind<T>(latencies: BTreeMap<String, T>, mix: Mix) -> BTreeMap<String, T> {
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
        .collect()
}

/// The block device below a job, and its counters when counting began.
#[derive(Debug)]
struct Disk {
    number: String,
    name: String,
    before: Option<DeviceIo>,
}

/// What the names of a disk's counters begin with in what a job reports: `disk/NAME/COUNTER`.
pub const DISK: &str = "disk/";

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

    fn end(&self) -> BTreeMap<String, f64> {
        let now = counters::device(&Tree::real(), &self.number).ok();
        let (Some(then), Some(now)) = (self.before, now) else {
            return BTreeMap::new();
        };
        let ms = |ns: u64| ns / 1_000_000;
        [
            ("reads", now.reads, then.reads),
            ("writes", now.writes, then.writes),
            ("read_bytes", now.read_bytes, then.read_bytes),
            ("write_bytes", now.write_bytes, then.write_bytes),
            ("read_merges", now.read_merges, then.read_merges),
            ("write_merges", now.write_merges, then.write_merges),
            ("read_ms", ms(now.read_time), ms(then.read_time)),
            ("write_ms", ms(now.write_time), ms(then.write_time)),
            ("queue_ms", ms(now.queue_time), ms(then.queue_time)),
            ("busy_ms", ms(now.busy), ms(then.busy)),
        ]
        .into_iter()
        .map(|(counter, now, then)| {
            let key = format!("{DISK}{}/{counter}", self.name);
            (key, approx(now.saturating_sub(then)))
        })
        .collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
