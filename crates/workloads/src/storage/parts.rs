//! What every engine of a job needs: its files as far as they are used, its buffers, what it watches, and where it
//! works.

use super::body::{Choice, Plain, Queue, Slot, Work, index};
use super::frame::Frame;
use super::job::{asks_for_more, kinds};
use super::offsets::Offsets;
use super::pace::Pace;
use super::records::Records;
use super::taking::Taking;
use super::watch::Watch;
use super::{Fill, buffers, file, full, honest, names, spec};
use engine::workload::{Body, Place, WorkError};
use model::job::{Contents, End, Job, Layout, Redundancy};
use model::num::approx;
use model::rng::Rng;
use std::fs::File;
use std::path::PathBuf;
use sys::clock::Clock;
use sys::io::flow::Member;
use sys::io::{Chosen, Engine, Kind, Psync, Setup, UringOptions};

/// What every engine needs.
pub(super) struct Parts<'a> {
    pub(super) job: &'a Job,
    pub(super) place: &'a Place,
    /// None for engines without data.
    pub(super) files: Vec<file::TestFile>,
    /// Bytes of each file.
    pub(super) sizes: Vec<u64>,
    /// Where each file ends, which may be behind what is used of it.
    pub(super) lengths: Vec<u64>,
    /// A second handle to each file, where the page cache is to forget it once more.
    pub(super) cached: Vec<File>,
    /// Beside which it goes.
    pub(super) flow: Option<Member>,
    pub(super) watch: Watch,
    pub(super) notes: Vec<String>,
}

impl<'a> Parts<'a> {
    pub(super) fn new(job: &'a Job, place: &'a Place, is_alone: bool) -> Result<Self, WorkError> {
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
                flow: flow(job, place)?,
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
            flow: flow(job, place)?,
            watch,
            files,
            notes,
        })
    }

    /// What errors name, for each file: of jobs on names their directory, and a word where there is nothing.
    pub(super) fn paths(&self) -> Vec<PathBuf> {
        if !self.files.is_empty() {
            return self.files.iter().map(|file| file.path.clone()).collect();
        }
        let path = if self.job.engine.is_on_names() {
            self.place.shared_dir.clone()
        } else {
            "null".into()
        };
        vec![path; index(self.job.files.count.max(1))]
    }

    pub(super) fn setup(&self) -> Result<Setup, WorkError> {
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

    pub(super) fn ring_options(&self) -> UringOptions {
        UringOptions {
            poll_device: self.job.poll_device,
            poll_submissions: self.job.poll_submissions,
            register_files: self.job.register_files,
            register_buffers: self.job.register_buffers,
        }
    }

    /// The best engine for many operations at a time.
    pub(super) fn first_that_works(mut self) -> Result<Box<dyn Body>, WorkError> {
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

    pub(super) fn psync(self) -> Result<Box<dyn Body>, WorkError> {
        let engine = Psync::new(self.setup()?).map_err(no_memory)?;
        Ok(self.body(engine))
    }

    pub(super) fn body<E: Engine + 'static>(self, mut engine: E) -> Box<dyn Body> {
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
            path: self.paths().swap_remove(0),
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
    pub(super) fn regions(&self) -> (u64, Vec<u64>) {
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
    pub(super) fn region(&self) -> (u64, u64) {
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
    pub(super) fn seed(&self) -> u64 {
        let own = |seed: u64| Rng::stream(seed, u64::from(self.place.copy)).next();
        self.job.seed.map_or(self.place.seed, own)
    }

    pub(super) fn offsets(&self) -> Offsets {
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

/// The member of those that hold each other back.
fn flow(job: &Job, place: &Place) -> Result<Option<Member>, WorkError> {
    if job.flow.weight == 0 {
        return Ok(None);
    }
    let path = place.shared_dir.join(format!("flow-{}", job.flow.id));
    let member = Member::open(&path, job.flow.weight);
    let member = member.map_err(|error| WorkError::failed("share", path.display(), error))?;
    Ok(Some(member))
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
pub(super) fn files(job: &Job, place: &Place) -> Result<Vec<file::TestFile>, WorkError> {
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

pub(super) fn no_memory(error: std::io::Error) -> WorkError {
    WorkError::failed("get memory for", "I/O buffers", error)
}
