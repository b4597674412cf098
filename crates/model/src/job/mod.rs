//! A storage job: the one description that all of its languages are turned into, and that the engine carries out.
//!
//! The parameters of `storage.io` and the job files of other programs say what is to be done in their own words; here
//! it has one name, one unit and one default for each thing. Sizes and places are settled: nothing is a share of a
//! file that somebody has yet to look at. The defaults are those of `storage.io`: a language with others says so
//! itself.

mod check;
mod definition;
mod geometry;
mod parts;
mod priority;
mod program;
mod report;
mod shared;
mod task;

use crate::order::Order as _;
pub use check::{DEPTH_MAX, HEADER};
pub use definition::{Agreement, BESIDE, Definition};
pub use parts::{
    Batching, Behind, Contents, ContinueOn, End, ErrorNumbers, FileOrder, Files, Flow,
    LatencyTarget, Layout, Log, OrderHint, Pacing, Rate, Redundancy, SteadyQuantity, SteadyState,
    Steps, Verify, VerifyMethod, Zones,
};
pub use priority::{IoPriority, Priorities, PriorityShare, prioritized};
pub use program::Program;
pub use report::{CpuIdle, CpuUse, Depths, DiskUse, Done, Report, Spread, Steadiness};
pub use task::{Language, MemoryMode, MemoryPolicy, Process, Target, Task};

pub use crate::pattern::{Blocks, Direction, Directions, Distribution};

use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// What one job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of whoever describes the job"
)]
pub struct Job {
    /// On what it works.
    pub target: Target,
    /// Reads, writes, or both, and in which order.
    pub pattern: Pattern,
    /// Bytes of one operation.
    pub block_bytes: u64,
    /// Bytes of the file that are used; `None` leaves it to memory and free space.
    pub size: Option<u64>,
    /// How many operations are under way at the same time.
    pub depth: u32,
    /// How operations reach the kernel.
    pub engine: IoEngine,
    /// On which names, where the engine is about names.
    #[serde(default)]
    pub names: Names,
    /// How a CPU is kept busy, where the engine does that.
    #[serde(default, skip_serializing_if = "Burn::is_none")]
    pub burn: Burn,
    /// The program that is executed, where the engine does that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
    /// Past the page cache.
    pub direct: bool,
    /// When a write returns.
    pub sync: SyncOn,
    /// An fsync after every so many writes; 0 for none.
    pub fsync_every: u64,
    /// An fdatasync after every so many writes; 0 for none.
    pub fdatasync_every: u64,
    /// The share of reads where there are both, in per cent.
    pub read_percent: u32,
    /// Any block at any time, instead of every block once before any comes again.
    pub repeat_blocks: bool,
    /// Operations per second that arrive, whatever becomes of them; `None` for as many as possible.
    pub rate_iops: Option<u64>,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// A pause after every [`Self::think_blocks`] operations.
    pub think: Nanos,
    /// Operations between two pauses; at least 1.
    pub think_blocks: u64,
    /// What compression and deduplication could save.
    pub redundancy: Redundancy,
    /// Poll the device for completions, where engine and device can.
    pub poll_device: bool,
    /// A kernel thread polls for submissions (`io_uring`).
    pub poll_submissions: bool,
    /// Register files with the kernel (`io_uring`).
    pub register_files: bool,
    /// Register buffers with the kernel (`io_uring`).
    pub register_buffers: bool,
    /// Sizes of the operations where they are not all [`Self::block_bytes`], which is then the largest.
    pub blocks: Directions<Option<Blocks>>,
    /// Which offsets random operations prefer.
    pub distribution: Distribution,
    /// In which steps offsets go on.
    pub steps: Steps,
    /// Zones over which the work moves.
    pub zones: Option<Zones>,
    /// Where the job's region of the file begins, in bytes.
    pub offset_bytes: u64,
    /// Seeds the order of the offsets, the same in each run; `None` for another order each time.
    pub seed: Option<u64>,
    /// On how many files the work is spread.
    pub files: Files,
    /// How many bytes of each file are used, where that is not the same of all; [`Self::size`] is their sum then.
    pub file_sizes: Vec<u64>,
    /// Where [`Self::target`] is named: the second of them and all further ones.
    pub more_targets: Vec<Target>,
    /// When the job ends by itself.
    pub end: End,
    /// The job waits so long before its first operation.
    pub start_delay: Nanos,
    /// Work before the time and the figures begin, on top of what the engine's own warm-up leaves out.
    pub ramp: Nanos,
    /// How fast it goes, beyond [`Self::rate_iops`] and [`Self::think`].
    pub pacing: Pacing,
    /// How it goes with others beside it.
    #[serde(default, skip_serializing_if = "Flow::is_none")]
    pub flow: Flow,
    /// How operations are handed over and taken back.
    pub batching: Batching,
    /// Which operations have a priority of their own, where any have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priorities: Option<Priorities>,
    /// Threads of one process that each do all of it, with queues of their own; at least 1.
    pub threads: u32,
    /// The largest depth that keeps a latency is searched for, up to [`Self::depth`].
    pub latency_target: Option<LatencyTarget>,
    /// The job ends when it is steady.
    pub steady_state: Option<SteadyState>,
    /// What is written.
    pub contents: Contents,
    /// How what was written is checked.
    pub verify: Option<Verify>,
    /// An fsync when all is written, within the measured time.
    pub fsync_at_end: bool,
    /// An fsync when the file is closed.
    pub fsync_on_close: bool,
    /// Which errors do not end the job.
    pub continue_on: ContinueOn,
    /// The page cache is asked to forget the file first, again each time that the job has gone through it, and before
    /// what was written is read back.
    pub invalidate: bool,
    /// What the kernel is told of the order to come, where the page cache takes part.
    pub order_hint: OrderHint,
    /// The whole file is read first.
    pub pre_read: bool,
    /// Reports depths, times of each direction, and rates over windows of this length.
    pub samples: Option<Nanos>,
    /// What it writes down over its time.
    pub log: Option<Log>,
    /// Whose words are used with whoever described it.
    pub language: Language,
    /// What becomes of its files before it begins.
    #[serde(default, skip_serializing_if = "Layout::is_written")]
    pub layout: Layout,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            target: Target::TestFile,
            pattern: Pattern {
                mix: Mix::Read,
                random: true,
            },
            block_bytes: 4096,
            size: None,
            depth: 1,
            engine: IoEngine::Auto,
            names: Names::default(),
            burn: Burn::default(),
            program: None,
            direct: true,
            sync: SyncOn::None,
            fsync_every: 0,
            fdatasync_every: 0,
            read_percent: 50,
            repeat_blocks: false,
            rate_iops: None,
            arrivals: Arrivals::Linear,
            think: Nanos::ZERO,
            think_blocks: 1,
            redundancy: Redundancy::default(),
            poll_device: false,
            poll_submissions: false,
            register_files: true,
            register_buffers: true,
            blocks: Directions::all(None),
            distribution: Distribution::Uniform,
            steps: Steps::default(),
            zones: None,
            offset_bytes: 0,
            seed: None,
            files: Files::default(),
            file_sizes: Vec::new(),
            more_targets: Vec::new(),
            end: End::default(),
            start_delay: Nanos::ZERO,
            ramp: Nanos::ZERO,
            pacing: Pacing::default(),
            flow: Flow::default(),
            batching: Batching::default(),
            priorities: None,
            threads: 1,
            latency_target: None,
            steady_state: None,
            contents: Contents::Stamped,
            verify: None,
            fsync_at_end: false,
            fsync_on_close: false,
            continue_on: ContinueOn::default(),
            invalidate: false,
            order_hint: OrderHint::None,
            pre_read: false,
            samples: None,
            log: None,
            language: Language::default(),
            layout: Layout::default(),
        }
    }
}

/// Reads, writes, or both, and in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pattern {
    /// What is done.
    pub mix: Mix,
    /// In random order.
    pub random: bool,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    /// Reads only.
    Read,
    /// Writes only.
    Write,
    /// Reads and writes.
    ReadWrite,
    /// Ranges are given back to the file system.
    Trim,
    /// Every block is given back, then written.
    TrimWrite,
}

/// How operations reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IoEngine {
    /// `psync` for one operation at a time, else the first of `io_uring`, `libaio` and `psync` that works here.
    Auto,
    /// `io_uring_enter`.
    IoUring,
    /// `io_submit` and `io_getevents`.
    Libaio,
    /// `pread` and `pwrite`.
    Psync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// The files lie in memory (mmap), and are copied from and to there; syncs are msync.
    Mmap,
    /// In the place of writes, a file gets the length at which each would begin: ftruncate.
    Ftruncate,
    /// Room is made and given back in the place of transfers: fallocate.
    Falloc,
    /// Nothing is done at all: what the program itself costs.
    Null,
    /// Files are opened, and made where they are not there.
    FileCreate,
    /// Files are asked for what is known of them.
    FileStat,
    /// Files are removed.
    FileDelete,
    /// The same with directories.
    DirCreate,
    /// Directories are asked for.
    DirStat,
    /// Empty directories are removed.
    DirDelete,
    /// A CPU is kept busy, and nothing is read or written.
    Cpu,
    /// A program is executed, whatever it does.
    Exec,
    /// In the place of writes, extents of a file of ext4 are exchanged for those of a donor that has its room from the
    /// beginning; the data stays: `EXT4_IOC_MOVE_EXT`.
    Defrag,
    /// The same with a donor that gets room for each operation, and gives it back.
    DefragInPlace,
}

impl IoEngine {
    /// Whether operations are about names and not about data: one for each, in the run's own directory.
    pub const fn is_on_names(self) -> bool {
        matches!(
            self,
            Self::FileCreate
                | Self::FileStat
                | Self::FileDelete
                | Self::DirCreate
                | Self::DirStat
                | Self::DirDelete
        )
    }

    /// Whether operations are on data or room of a file or device.
    pub const fn has_data(self) -> bool {
        !self.is_on_names() && !self.has_no_operations() && !matches!(self, Self::Null)
    }

    /// Whether something else than operations is done: of all that is said of these and of files nothing concerns it.
    pub const fn has_no_operations(self) -> bool {
        matches!(self, Self::Cpu | Self::Exec)
    }

    /// Whether operations exchange extents of files.
    pub const fn moves_extents(self) -> bool {
        matches!(self, Self::Defrag | Self::DefragInPlace)
    }

    /// Whether operations change a file's length or room, and no data.
    pub const fn is_on_room(self) -> bool {
        matches!(self, Self::Ftruncate | Self::Falloc) || self.moves_extents()
    }
}

/// How a CPU is kept busy: again and again for a while, and then it rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Burn {
    /// The share of the time that it is busy, in per cent; 0 where nothing is asked for.
    pub percent: u32,
    /// How long it is busy at a time.
    pub chunk: Nanos,
    /// It sorts numbers meanwhile, instead of waiting for the time to come.
    pub sorts: bool,
}

impl Default for Burn {
    fn default() -> Self {
        Self {
            percent: 0,
            chunk: Nanos::from_millis(50),
            sorts: false,
        }
    }
}

impl Burn {
    /// Whether nothing is asked for.
    pub const fn is_none(&self) -> bool {
        self.percent == 0
    }
}

/// Names on which operations are done that are not about data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Names {
    /// How many there are.
    pub count: u64,
    /// What they begin with, another word for each job.
    pub prefix: String,
    /// Bytes in each file that is there before the work.
    pub bytes: u64,
    /// Asks with statx(2) instead of stat(2).
    pub statx: bool,
}

/// When a write returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncOn {
    /// When the kernel has the data.
    None,
    /// When the data is on the device: `O_DSYNC`.
    Dsync,
    /// When data and attributes are: `O_SYNC`.
    Sync,
}

/// When operations arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Arrivals {
    /// At equal distances.
    Linear,
    /// At random distances, as from many independent users.
    Poisson,
    /// At any distance up to twice the mean, all alike often.
    Uniform,
}

impl Mix {
    /// True where data is read.
    pub const fn reads(self) -> bool {
        matches!(self, Self::Read | Self::ReadWrite)
    }

    /// True where data is written.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::ReadWrite | Self::TrimWrite)
    }

    /// True where ranges are given back.
    pub const fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::TrimWrite)
    }

    /// The values of the directions that it has.
    pub fn used<T>(self, of: &Directions<T>) -> impl Iterator<Item = &T> {
        let read = self.reads().then_some(&of.read);
        let write = self.writes().then_some(&of.write);
        let trim = self.trims().then_some(&of.trim);
        [read, write, trim].into_iter().flatten()
    }
}

impl Pattern {
    /// The pattern that fio calls so.
    pub fn from_word(word: &str) -> Option<Self> {
        let (mix, random) = match word {
            "read" => (Mix::Read, false),
            "write" => (Mix::Write, false),
            "trim" => (Mix::Trim, false),
            "rw" | "readwrite" => (Mix::ReadWrite, false),
            "trimwrite" => (Mix::TrimWrite, false),
            "randread" => (Mix::Read, true),
            "randwrite" => (Mix::Write, true),
            "randtrim" => (Mix::Trim, true),
            "randrw" => (Mix::ReadWrite, true),
            "randtrimwrite" => (Mix::TrimWrite, true),
            _ => return None,
        };
        Some(Self { mix, random })
    }
}

impl Job {
    /// How many bytes of one of its files are used; `None` where memory and free space decide.
    pub fn bytes_of_file(&self, number: u32) -> Option<u64> {
        let own = self.file_sizes.get(usize::try_from(number).ok()?).copied();
        own.or_else(|| Some(self.size? / u64::from(self.files.count.max(1))))
    }

    /// Whether operations wait for a time of their own.
    pub fn is_paced(&self) -> bool {
        let pauses = self.think > Nanos::ZERO || self.pacing.think_iotime > Nanos::ZERO;
        self.is_rated() || pauses || self.flow.weight > 0
    }

    /// Whether operations have a time at which they are meant to begin.
    pub fn is_rated(&self) -> bool {
        let has_rate = |rate: &Rate| rate.iops.is_some() || rate.bytes_per_s.is_some();
        self.rate_iops.is_some() || self.pacing.rates.iter().any(has_rate)
    }

    /// Whether the page cache is to forget a file after each time that the job has gone through it. Where blocks come
    /// at any time and time ends the job, it never has.
    pub fn forgets_again(&self) -> bool {
        let end = self.end;
        let goes_on = end.time_based
            || end.loops > 1
            || end
                .bytes
                .is_some_and(|bytes| self.size.is_none_or(|size| bytes > size));
        self.forgets() && goes_on && (!end.time_based || self.comes_round())
    }

    /// Whether it reads through a page cache that is not to help it.
    pub fn forgets(&self) -> bool {
        self.invalidate && !self.direct && self.engine.has_data()
    }

    /// Whether every block comes before any comes again.
    pub fn comes_round(&self) -> bool {
        let aligned = self.steps.align_bytes.iter().any(Option::is_some);
        let once = !self.repeat_blocks && !self.steps.is_unaligned && !aligned;
        !self.pattern.random || (once && self.distribution == Distribution::Uniform)
    }

    /// Whether it goes through its region in sequence and may leave it before all of its bytes are done: with gaps, or
    /// with a place for reads and one for writes, of which one comes to the end first.
    pub fn leaves_in_sequence(&self) -> bool {
        let apart = self.pattern.mix == Mix::ReadWrite;
        let in_gaps = self.steps.skip_bytes > 0 && self.zones.is_none();
        self.end.behind != Behind::GoesOn && !self.pattern.random && (apart || in_gaps)
    }

    /// The smallest and the largest of its operations, in bytes.
    pub fn size_range(&self) -> (u64, u64) {
        let sizes = |blocks: &Option<Blocks>| match blocks {
            None => (self.block_bytes, self.block_bytes),
            Some(blocks) => (blocks.min_bytes(), blocks.max_bytes()),
        };
        let used = self.pattern.mix.used(&self.blocks).map(sizes);
        used.reduce(|all, one| (all.0.min(one.0), all.1.max(one.1)))
            .unwrap_or((0, 0))
    }

    /// Everything that lengths and offsets are made of, in bytes: what direct I/O must be able to transfer.
    pub fn grains(&self) -> Vec<u64> {
        let of_sizes = |blocks: &Option<Blocks>| match blocks {
            None => vec![self.block_bytes],
            Some(Blocks::Fixed(bytes)) => vec![*bytes],
            Some(Blocks::Range { min_bytes, .. }) => {
                vec![if self.steps.is_unaligned {
                    1
                } else {
                    *min_bytes
                }]
            }
            Some(Blocks::Split(parts)) => parts.iter().map(|(bytes, _)| *bytes).collect(),
        };
        let aligns = self.steps.align_bytes.iter().copied().flatten();
        let zones = self
            .zones
            .iter()
            .flat_map(|zones| [zones.range_bytes, zones.skip_bytes]);
        let used = self.pattern.mix.used(&self.blocks).flat_map(of_sizes);
        let moved = [self.offset_bytes, self.steps.skip_bytes.unsigned_abs()];
        let mut all: Vec<u64> = used
            .chain(aligns)
            .chain(zones)
            .chain(moved)
            .filter(|&bytes| bytes > 0)
            .collect();
        all.order();
        all.dedup();
        all
    }

    /// Whether it changes what it works on.
    pub fn writes(&self) -> bool {
        let changes = self.pattern.mix != Mix::Read || self.engine == IoEngine::Falloc;
        // A check that would trim is refused.
        changes && (!self.only_checks() || self.pattern.mix.trims())
    }

    /// Whether the engine, as far as it is known beforehand, does one operation per system call and waits for it.
    pub fn is_synchronous(&self) -> bool {
        match self.engine {
            IoEngine::Auto => self.depth == 1,
            IoEngine::Psync | IoEngine::Pvsync2 | IoEngine::Mmap => true,
            engine if engine.is_on_names() || engine.is_on_room() => true,
            engine if engine.has_no_operations() => true,
            _ => false,
        }
    }
}
