//! `storage.io`: how fast storage reads and writes.
//!
//! A job ([`Job`]) says what is to be done, whoever asked for it; [`open`] makes it ready, and the engine's
//! measuring loop drives it. What the engines are is in `sys::io`.

mod advice;
mod body;
mod broken;
mod buffers;
mod data;
mod familiar;
mod file;
mod frame;
mod full;
mod headline;
mod honest;
pub mod idle;
mod job;
pub mod jobs;
mod names;
mod offsets;
mod pace;
mod records;
mod shots;
pub mod space;
mod spec;
mod taking;
pub mod task;
mod threads;
mod verify;
mod watch;

pub(crate) use data::Fill;

use body::{Choice, Plain, Queue, Slot, Work, index};
use engine::consent::Touch;
use engine::workload::{
    BadValue, Body, ErrandKind, Need, Place, StandIn, Told, WorkError, Workload, Writes,
};
use frame::Frame;
use job::{asks_for_more, from_params, kinds};
use model::ground::Ground;
use model::headline::Headline;
use model::host::HostFacts;
use model::job::{Contents, End, IoEngine, Job, Layout, Redundancy};
use model::num::approx;
use model::params::Params;
use model::plan::{Settle, Shape, StorageLoad};
use model::rng::Rng;
use model::spec::{MetricDef, Spec};
use model::units::{Bytes, Nanos};
use offsets::Offsets;
use pace::Pace;
use records::Records;
use std::fs::File;
use std::path::PathBuf;
use sys::clock::Clock;
use sys::io::{Aio, Chosen, Engine, Kind, Mmap, Null, Psync, Pvsync2, Setup, Uring, UringOptions};
use taking::Taking;
use watch::Watch;

pub(crate) use familiar::FAMILIAR;
pub(crate) use jobs::JOBS;
pub(crate) use spec::{mean, p50, p99, p999};

/// The workload.
pub(crate) static IO: Io = Io;

/// Reads and writes of a test file.
#[derive(Debug)]
pub(crate) struct Io;

/// A round: long enough for a few hundred operations on a slow disk, short enough for six rounds of eighteen tests in
/// five minutes, the making of the test file included.
const SHAPE: Shape = Shape {
    // A device that is given back and filled again by each round: 2 GiB at 4 MB/s take less.
    setup_max: Nanos::from_secs(600),
    warmup: Nanos::from_millis(300),
    measure: Nanos::from_millis(1500),
    ..Shape::DEFAULT
};

impl Workload for Io {
    fn spec(&self) -> &'static Spec {
        &spec::SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        headline::of(&from_params(params))
    }

    fn shape(&self, params: &Params) -> Shape {
        let writes = from_params(params).writes();
        Shape {
            // What an earlier round wrote must not be written back during this one.
            settle: if writes { Settle::Sync } else { Settle::None },
            ..SHAPE
        }
    }

    fn supported(&self, params: &Params, _: &HostFacts) -> Result<(), String> {
        from_params(params).check()
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let job = from_params(params);
        buffers::have_room((0..copies).map(|_| &job), host)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let of_share = params.count("rate_percent") > 0;
        if of_share && params.count("rate_iops") > 0 {
            return Err(BadValue::new("rate_iops", "0 beside `rate_percent`"));
        }
        if of_share != params.text("rate_of").is_empty() {
            return Ok(());
        }
        Err(if of_share {
            BadValue::new("rate_of", "the name of a test beside `rate_percent`")
        } else {
            BadValue::new("rate_percent", "1 to 100 beside `rate_of`")
        })
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let mut metrics = spec::metrics(&from_params(params));
        metrics.retain(|metric| metric.quantity != spec::RATE || self.needs(params).is_some());
        metrics
    }

    fn needs(&self, params: &Params) -> Option<Need> {
        (params.count("rate_percent") > 0).then(|| Need {
            test: params.text("rate_of").to_owned(),
            quantity: "iops",
            param: "rate_of",
        })
    }

    fn load(&self, params: &Params) -> Option<StorageLoad> {
        Some(spec::load(params))
    }

    fn writes(&self, params: &Params) -> Writes {
        let job = from_params(params);
        if !job.engine.has_data() {
            return Writes::default();
        }
        Writes {
            throughout: job.pattern.mix.writes(),
            ..Writes::default()
        }
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        job::touches(&job::on(from_params(params), stand_in))
    }

    fn ground(
        &self,
        params: &Params,
        host: &HostFacts,
        stand_in: Option<&StandIn>,
    ) -> Option<Ground> {
        let free = host.storage.free.known().copied();
        file::ground(&job::on(from_params(params), stand_in), free)
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        let job = job::on(from_params(params), place.stand_in.as_ref());
        job.check().map_err(WorkError::Unsupported)?;
        file::errand(errand, &job, place, tell)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let mut job = job::on(from_params(params), place.stand_in.as_ref());
        if self.needs(params).is_some() {
            job.rate_iops = Some(pace::share(params.count("rate_percent"), place)?);
        }
        open(&job, place)
    }
}

/// Makes one copy of a job ready: its file, its engine, its buffers.
pub fn open(job: &Job, place: &Place) -> Result<Box<dyn Body>, WorkError> {
    job.check().map_err(WorkError::Unsupported)?;
    if job.threads > 1 {
        return threads::open(job, place);
    }
    open_one(job, place, true)
}

/// The same without threads of its own. Alone in its process it watches what the process does.
fn open_one(job: &Job, place: &Place, is_alone: bool) -> Result<Box<dyn Body>, WorkError> {
    let mut parts = Parts::new(job, place, is_alone)?;
    match job.engine {
        IoEngine::Auto if job.depth == 1 => parts.psync(),
        IoEngine::Auto => parts.first_that_works(),
        IoEngine::IoUring => {
            let engine = Uring::new(parts.setup()?, parts.ring_options()).map_err(|error| {
                let why = sys::io::why_no_ring(&error);
                WorkError::Unsupported(format!("io_uring does not work here: {why}"))
            })?;
            parts.notes.extend_from_slice(engine.notes());
            Ok(parts.body(engine))
        }
        IoEngine::Libaio => {
            let engine = Aio::new(parts.setup()?).map_err(|error| {
                let why = sys::io::why_no_context(&error);
                WorkError::Unsupported(format!("libaio does not work here: {why}"))
            })?;
            Ok(parts.body(engine))
        }
        IoEngine::Psync => parts.psync(),
        IoEngine::Pvsync2 => {
            let engine = Pvsync2::new(parts.setup()?, job.poll_device).map_err(no_memory)?;
            Ok(parts.body(engine))
        }
        IoEngine::Mmap => {
            let order = file::order(job);
            let engine = Mmap::new(parts.setup()?, job.writes(), order)
                .map_err(|error| WorkError::failed("map", parts.first_path(), error))?;
            Ok(parts.body(engine))
        }
        IoEngine::Null => {
            let engine = Null::new(parts.setup()?).map_err(no_memory)?;
            Ok(parts.body(engine))
        }
        IoEngine::FileCreate
        | IoEngine::FileStat
        | IoEngine::FileDelete
        | IoEngine::DirCreate
        | IoEngine::DirStat
        | IoEngine::DirDelete => {
            let names = names::made(job, place)?;
            let setup = parts.setup()?;
            let engine = sys::io::names::Names::new(setup, names, names::act(job));
            Ok(parts.body(engine.map_err(no_memory)?))
        }
    }
}

fn no_memory(error: std::io::Error) -> WorkError {
    WorkError::failed("get memory for", "I/O buffers", error)
}

/// What every engine needs.
struct Parts<'a> {
    job: &'a Job,
    place: &'a Place,
    /// None for engines without data.
    files: Vec<file::TestFile>,
    /// Bytes of each file.
    sizes: Vec<u64>,
    /// Where each file ends, which may be behind what is used of it.
    lengths: Vec<u64>,
    /// A second handle to each file, where the page cache is to forget it once more.
    cached: Vec<File>,
    watch: Watch,
    notes: Vec<String>,
}

impl<'a> Parts<'a> {
    fn new(job: &'a Job, place: &'a Place, is_alone: bool) -> Result<Self, WorkError> {
        if !job.engine.has_data() {
            let whole = (1 << 30) / u64::from(job.files.count.max(1));
            let of_file = |number| job.offset_bytes + job.bytes_of_file(number).unwrap_or(whole);
            let sizes: Vec<u64> = (0..job.files.count.max(1)).map(of_file).collect();
            return Ok(Self {
                job,
                place,
                files: Vec::new(),
                lengths: sizes.clone(),
                sizes,
                cached: Vec::new(),
                watch: Watch::new(None),
                notes: Vec::new(),
            });
        }
        let files = files(job, place)?;
        let first = &files[0];
        let opened = file::open(job, first, place)?;
        for bytes in job.grains() {
            let sized = Job {
                block_bytes: bytes,
                ..job.clone()
            };
            file::check_alignment(&sized, first, &opened)?;
        }
        prepare_cache(job, &files)?;
        let mut watch = Watch::new(is_alone.then_some(&opened));
        let mut notes = Vec::new();
        // What was never written is meant to be so.
        let is_written = job.layout == Layout::Written;
        if place.copy == 0 && !job.pattern.mix.trims() && is_written {
            notes.extend(honest::never_written(&opened, first.size));
            if first.is_unknown {
                notes.extend(honest::looked(job, honest::mostly_zeros(first))?);
            }
            if job.direct {
                let found = honest::direct_reads(opened, &first.path, first.size);
                notes.extend(honest::looked(job, found)?);
            }
        }
        // What those looks read is not the job's: it would hide as much that a cache answers.
        watch.begin();
        Ok(Self {
            job,
            place,
            sizes: sizes(job, &files),
            lengths: files.iter().map(file::TestFile::length).collect(),
            cached: file::to_forget(job, &files, place)?,
            watch,
            files,
            notes,
        })
    }

    fn first_path(&self) -> std::path::Display<'_> {
        let path = self.files.first().map(|found| found.path.as_path());
        path.unwrap_or(std::path::Path::new("")).display()
    }

    fn setup(&self) -> Result<Setup, WorkError> {
        let files: Result<Vec<File>, WorkError> = if self.files.is_empty() {
            (0..self.job.files.count).map(|_| null_file()).collect()
        } else {
            let open = |found: &file::TestFile| file::open_for_work(self.job, found, self.place);
            self.files.iter().map(open).collect()
        };
        Ok(Setup {
            files: files?,
            slots: self.job.depth,
            slot_bytes: usize::try_from(buffers::of_slot(self.job)).unwrap_or(usize::MAX),
        })
    }

    fn ring_options(&self) -> UringOptions {
        UringOptions {
            poll_device: self.job.poll_device,
            poll_submissions: self.job.poll_submissions,
            register_files: self.job.register_files,
            register_buffers: self.job.register_buffers,
        }
    }

    /// The best engine for many operations at a time.
    fn first_that_works(mut self) -> Result<Box<dyn Body>, WorkError> {
        let setup = || self.setup().map_err(std::io::Error::other);
        let (queue, notes) = sys::io::first_that_works(setup, self.ring_options())
            .map_err(|error| WorkError::Failed(error.to_string()))?;
        self.notes.extend(notes);
        Ok(match queue {
            Chosen::Uring(engine) => self.body(engine),
            Chosen::Aio(engine) => self.body(engine),
            Chosen::Psync(engine) => self.body(engine),
        })
    }

    fn psync(self) -> Result<Box<dyn Body>, WorkError> {
        let engine = Psync::new(self.setup()?).map_err(no_memory)?;
        Ok(self.body(engine))
    }

    fn body<E: Engine + 'static>(self, mut engine: E) -> Box<dyn Body> {
        let (job, place) = (self.job, self.place);
        self.fill_buffers(&mut engine);
        if job.is_paced() {
            sys::clock::sleep_exactly();
        }
        if asks_for_more(job) {
            return Box::new(full::full(self, engine));
        }
        let kinds = kinds(job);
        let sync_every = match (job.fsync_every, job.fdatasync_every) {
            (0, 0) => None,
            (0, every) => Some((every, Kind::DataSync)),
            (every, _) => Some((every, Kind::Sync)),
        };
        // Intended starts are times of the kernel's clock.
        let clock = if job.is_paced() {
            Clock::Kernel
        } else {
            place.clock()
        };
        let block = u32::try_from(job.block_bytes).unwrap_or(u32::MAX);
        Box::new(Plain {
            work: Work {
                block,
                offsets: self.offsets(),
                mix: match *kinds {
                    [only] => Choice::Always(only),
                    _ => Choice::ReadsIn((u64::from(job.read_percent) << 32) / 100),
                },
                rng: Rng::stream(place.seed, 5),
                sync_every,
                writes_since_sync: 0,
                redundancy: job.redundancy,
                turns: buffers::turns(self.job),
                written: Rng::stream(place.seed, 6).next(),
            },
            queue: Queue::new(engine.slots(), Slot::FREE),
            records: Records::new(
                kinds,
                E::SYNCHRONOUS,
                job.rate_iops.is_some(),
                sync_every.is_some(),
            ),
            pace: job.is_paced().then(|| Pace::new(job, place.seed)),
            taking: Taking::new(job),
            frame: Frame::new(job, self.region().1, clock).map(Box::new),
            clock,
            path: match self.files.into_iter().next() {
                Some(found) => found.path,
                None if job.engine.is_on_names() => place.shared_dir.clone(),
                None => PathBuf::new(),
            },
            word: names::word(job),
            watch: self.watch,
            work_per_op: if spec::leads_with_bandwidth(job) {
                approx(job.block_bytes)
            } else {
                1.0
            },
            notes: self.notes,
            broken: None,
            engine,
        })
    }

    /// Fills what is written with data of this copy's own, or what the job asks for.
    fn fill_buffers<E: Engine>(&self, engine: &mut E) {
        let (job, redundancy) = (self.job, self.job.redundancy);
        if !job.writes() {
            return;
        }
        let seed = self.place.seed;
        let of_file = self.files.first().map_or(seed, |found| found.seed);
        let largest = job.size_range().1;
        let variety = index(buffers::turns(self.job)) * usize::try_from(largest).unwrap_or(0);
        for slot in 0..engine.slots() {
            let buffer = engine.buffer(slot);
            let (varied, same) = buffer.split_at_mut(variety.min(buffer.len()));
            match &job.contents {
                Contents::Zero => varied.fill(0),
                Contents::Pattern(pattern) => full::repeat(pattern, varied),
                Contents::Stamped | Contents::Constant | Contents::Refilled => Redundancy {
                    dedupe_percent: 0,
                    ..redundancy
                }
                .fill(seed, u64::from(slot) << 40, varied),
            }
            redundancy.fill_same(of_file, same);
        }
    }

    /// The first byte of each file that may be used.
    fn start(&self) -> u64 {
        self.files.first().map_or(0, |found| found.start)
    }

    /// What of a file lies behind the offset, in whole blocks.
    fn whole_of(&self, file: usize) -> u64 {
        let smallest = self.job.size_range().0.max(1);
        let bytes = self.sizes.get(file).copied().unwrap_or(0);
        bytes.saturating_sub(self.job.offset_bytes) / smallest * smallest
    }

    /// Where the job works in its files: the first byte, and how many in each.
    fn regions(&self) -> (u64, Vec<u64>) {
        let (first, bytes) = self.region();
        let of_file = |file| {
            if self.job.file_sizes.is_empty() {
                bytes
            } else {
                self.whole_of(file)
            }
        };
        (first, (0..self.sizes.len()).map(of_file).collect())
    }

    /// Where the job works in its first file, and in all where they are alike: the first byte, and how many.
    fn region(&self) -> (u64, u64) {
        let (job, place) = (self.job, self.place);
        let smallest = job.size_range().0.max(1);
        let whole = self.whole_of(0);
        let first = self.start() + job.offset_bytes;
        if job.pattern.random || job.end != End::default() || job.samples.is_some() {
            return (first, whole);
        }
        // Each copy of a test that goes on for ever has a part of its own, as in the plain loop.
        let part = whole / smallest / u64::from(place.copies.max(1));
        let part = part.max(1) * smallest;
        (first + u64::from(place.copy) * part % whole.max(1), part)
    }

    /// Seeds the order of what is done.
    fn seed(&self) -> u64 {
        let own = |seed: u64| Rng::stream(seed, u64::from(self.place.copy)).next();
        self.job.seed.map_or(self.place.seed, own)
    }

    fn offsets(&self) -> Offsets {
        let (job, seed) = (self.job, self.seed());
        let (first, bytes) = self.region();
        let (first, blocks) = (first / job.block_bytes, (bytes / job.block_bytes).max(1));
        if !job.pattern.random {
            return Offsets::sequential(first, blocks);
        }
        if job.repeat_blocks {
            Offsets::repeating(first, blocks, seed)
        } else {
            Offsets::once_per_cycle(first, blocks, seed)
        }
    }
}

/// What of each file is used: the same of all, or as much as the job says.
fn sizes(job: &Job, files: &[file::TestFile]) -> Vec<u64> {
    let shortest = files.iter().map(|file| file.size).min().unwrap_or(0);
    let of_file = |file: &file::TestFile| {
        if job.file_sizes.is_empty() {
            shortest
        } else {
            file.size
        }
    };
    files.iter().map(of_file).collect()
}

/// The files of a job, written now where no round before has done so.
fn files(job: &Job, place: &Place) -> Result<Vec<file::TestFile>, WorkError> {
    let count = job.files.count.max(1);
    let (smallest, _) = job.size_range();
    let of_number = |number: u32| {
        let each = Job {
            block_bytes: smallest,
            size: job
                .bytes_of_file(number)
                .map(|bytes| bytes + job.offset_bytes),
            file_sizes: Vec::new(),
            ..job.clone()
        };
        let mut place = place.clone();
        if number > 0 {
            place.run_dir.push(format!("file-{number}"));
            std::fs::create_dir_all(&place.run_dir)
                .map_err(|error| WorkError::failed("create", place.run_dir.display(), error))?;
        }
        let found = match index(number)
            .checked_sub(1)
            .and_then(|at| job.more_targets.get(at))
        {
            None => file::ensure(&each, &place)?,
            Some(target) => {
                let target = target.clone();
                file::ensure(&Job { target, ..each }, &place)?
            }
        };
        if found.size < job.offset_bytes + smallest {
            return Err(WorkError::Unsupported(format!(
                "`{}` has {} bytes: no block of {smallest} bytes begins at offset {}",
                found.path.display(),
                found.size,
                job.offset_bytes
            )));
        }
        Ok(found)
    };
    let found: Vec<file::TestFile> = (0..count).map(of_number).collect::<Result<_, _>>()?;
    if found.iter().any(|file| file.start != found[0].start) {
        return Err(WorkError::Unsupported(
            "files and devices do not go together in one job".to_owned(),
        ));
    }
    Ok(found)
}

/// Makes what the job works on ready, and does nothing with it.
pub(crate) fn make_ready(job: &Job, place: &Place) -> Result<(), WorkError> {
    if !job.engine.has_data() {
        return Ok(());
    }
    files(job, place).map(drop)
}

/// What the page cache is to hold of the files: nothing, or all that fits.
fn prepare_cache(job: &Job, files: &[file::TestFile]) -> Result<(), WorkError> {
    for found in files.iter().filter(|_| job.invalidate || job.pre_read) {
        let failed = |operation| {
            move |error: std::io::Error| WorkError::failed(operation, found.path.display(), error)
        };
        let mut plain = File::open(&found.path).map_err(failed("open"))?;
        if job.invalidate {
            sys::io::file::drop_cache(&plain).map_err(failed("drop the cached pages of"))?;
        }
        if job.pre_read {
            std::io::copy(&mut plain, &mut std::io::sink()).map_err(failed("read"))?;
        }
    }
    Ok(())
}

/// A descriptor for an engine that never uses it.
fn null_file() -> Result<File, WorkError> {
    File::open("/dev/null").map_err(|error| WorkError::failed("open", "/dev/null", error))
}

#[cfg(test)]
mod tests;
