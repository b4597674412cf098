//! What one job does: the one description from which the parameters of `storage.io` and job files of other programs are
//! turned into work.

mod check;
mod parts;
mod target;

pub use target::Target;

pub use model::pattern::{Blocks, Directions, Distribution};
pub use parts::{
    Batching, Contents, ContinueOn, End, FileOrder, Files, LatencyTarget, OrderHint, Pacing, Rate,
    SteadyQuantity, SteadyState, Steps, VerifyJob, Zones,
};

pub(super) use parts::of_kind;

use super::advice::Language;
use super::data::Redundancy;
use model::params::Params;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use sys::io::Kind;

/// What one job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of whoever describes the job"
)]
pub struct JobSpec {
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
    pub engine: EngineChoice,
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
    /// How operations are handed over and taken back.
    pub batching: Batching,
    /// Threads of one process that each do all of it, with queues of their own; at least 1.
    pub threads: u32,
    /// The largest depth that keeps a latency is searched for, up to [`Self::depth`].
    pub latency_target: Option<LatencyTarget>,
    /// The job ends when it is steady.
    pub steady_state: Option<SteadyState>,
    /// What is written.
    pub contents: Contents,
    /// How what was written is checked.
    pub verify: Option<VerifyJob>,
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
    /// Whose words are used with whoever described it; known from where the job comes from, and not kept with it.
    #[serde(skip)]
    pub language: Language,
}

impl Default for JobSpec {
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
            engine: EngineChoice::Auto,
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
            batching: Batching::default(),
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
            language: Language::default(),
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
    /// Both.
    Both,
    /// Ranges are given back to the file system.
    Trim,
    /// Every block is given back, then written.
    TrimWrite,
}

/// How operations reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EngineChoice {
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
    /// Nothing is done at all: what the program itself costs.
    Null,
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
}

/// The words of the parameter `rw`, in the words of fio.
pub(super) const PATTERNS: &[&str] = &[
    "read",
    "write",
    "rw",
    "randread",
    "randwrite",
    "randrw",
    "trim",
    "randtrim",
];

/// The words of the parameter `ioengine`.
pub(super) const ENGINES: &[&str] = &["auto", "io_uring", "libaio", "psync", "pvsync2", "null"];

impl Pattern {
    /// The pattern that fio calls so.
    pub fn from_word(word: &str) -> Option<Self> {
        let (mix, random) = match word {
            "read" => (Mix::Read, false),
            "write" => (Mix::Write, false),
            "rw" | "readwrite" => (Mix::Both, false),
            "randread" => (Mix::Read, true),
            "randwrite" => (Mix::Write, true),
            "randrw" => (Mix::Both, true),
            "trim" => (Mix::Trim, false),
            "randtrim" => (Mix::Trim, true),
            _ => return None,
        };
        Some(Self { mix, random })
    }
}

impl EngineChoice {
    /// The engine of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Some(match word {
            "auto" => Self::Auto,
            "io_uring" => Self::IoUring,
            "libaio" => Self::Libaio,
            "psync" => Self::Psync,
            "pvsync2" => Self::Pvsync2,
            "null" => Self::Null,
            _ => return None,
        })
    }
}

impl JobSpec {
    /// The job that the parameters of `storage.io` describe.
    pub(super) fn from_params(params: &Params) -> Self {
        let positive = |n: u64| (n > 0).then_some(n);
        let small = |name: &str| u32::try_from(params.count(name)).unwrap_or(u32::MAX);
        Self {
            // The choices are the words above.
            pattern: Pattern::from_word(params.text("rw")).unwrap_or(Pattern {
                mix: Mix::Read,
                random: true,
            }),
            block_bytes: params.size("bs").0,
            size: positive(params.size("size").0),
            depth: small("iodepth"),
            engine: EngineChoice::from_word(params.text("ioengine")).unwrap_or(EngineChoice::Auto),
            direct: params.switch("direct"),
            sync: match params.text("sync") {
                "dsync" => SyncOn::Dsync,
                "sync" => SyncOn::Sync,
                _ => SyncOn::None,
            },
            fsync_every: params.count("fsync"),
            fdatasync_every: params.count("fdatasync"),
            read_percent: small("rwmixread"),
            repeat_blocks: params.switch("norandommap"),
            rate_iops: positive(params.count("rate_iops")),
            arrivals: match params.text("rate_process") {
                "poisson" => Arrivals::Poisson,
                _ => Arrivals::Linear,
            },
            think: params.duration("thinktime"),
            think_blocks: params.count("thinktime_blocks"),
            redundancy: Redundancy {
                compress_percent: small("buffer_compress_percentage"),
                dedupe_percent: small("dedupe_percentage"),
            },
            poll_device: params.switch("hipri"),
            poll_submissions: params.switch("sqthread_poll"),
            register_files: params.switch("registerfiles"),
            register_buffers: params.switch("fixedbufs"),
            batching: Batching::of(small("batch")),
            ..Self::default()
        }
    }

    /// How many bytes of one of its files are used; `None` where memory and free space decide.
    pub(super) fn bytes_of_file(&self, number: u32) -> Option<u64> {
        let own = self.file_sizes.get(usize::try_from(number).ok()?).copied();
        own.or_else(|| Some(self.size? / u64::from(self.files.count.max(1))))
    }

    /// Whether operations wait for a time of their own.
    pub(super) fn is_paced(&self) -> bool {
        self.is_rated() || self.think > Nanos::ZERO || self.pacing.think_iotime > Nanos::ZERO
    }

    /// Whether operations have a time at which they are meant to begin.
    pub(super) fn is_rated(&self) -> bool {
        let has_rate = |rate: &Rate| rate.iops.is_some() || rate.bytes_per_s.is_some();
        self.rate_iops.is_some() || self.pacing.rates.iter().any(has_rate)
    }

    /// The kinds of operations that it is made of.
    pub(super) const fn kinds(&self) -> &'static [Kind] {
        match self.pattern.mix {
            Mix::Read => &[Kind::Read],
            Mix::Write => &[Kind::Write],
            Mix::Both => &[Kind::Read, Kind::Write],
            Mix::Trim => &[Kind::Trim],
            Mix::TrimWrite => &[Kind::Trim, Kind::Write],
        }
    }

    /// Whether it asks for more than the plain loop does.
    pub(super) fn asks_for_more(&self) -> bool {
        let plain = Self::default();
        let has_places_apart = self.pattern.mix == Mix::Both && !self.pattern.random;
        let syncs = self.fsync_every > 0 || self.fdatasync_every > 0;
        let ends = self.end != plain.end || self.samples.is_some() || self.ramp > Nanos::ZERO;
        let differs = [
            self.blocks != plain.blocks,
            self.distribution != plain.distribution,
            self.steps != plain.steps,
            self.zones != plain.zones,
            !self.offset_bytes.is_multiple_of(self.block_bytes.max(1)),
            self.files != plain.files,
            self.pacing != plain.pacing,
            !self.batching.only_takes(),
            self.latency_target != plain.latency_target,
            self.steady_state != plain.steady_state,
            self.contents != plain.contents,
            self.verify != plain.verify,
            self.fsync_at_end || self.fsync_on_close,
            self.continue_on != plain.continue_on,
            self.forgets_again(),
        ];
        has_places_apart
            || self.pattern.mix == Mix::TrimWrite
            || (self.fsync_every > 0 && self.fdatasync_every > 0)
            || (syncs && ends)
            || differs.contains(&true)
    }

    /// Whether the page cache is to forget a file after each time that the job has gone through it. Where blocks come
    /// at any time and time ends the job, it never has.
    pub(super) fn forgets_again(&self) -> bool {
        let end = self.end;
        let goes_on = end.time_based
            || end.loops > 1
            || end
                .bytes
                .is_some_and(|bytes| self.size.is_none_or(|size| bytes > size));
        self.forgets() && goes_on && (!end.time_based || self.comes_round())
    }

    /// Whether it reads through a page cache that is not to help it.
    pub(super) fn forgets(&self) -> bool {
        self.invalidate && !self.direct && self.engine != EngineChoice::Null
    }

    /// Whether every block comes before any comes again.
    fn comes_round(&self) -> bool {
        let aligned = self.steps.align_bytes.iter().any(Option::is_some);
        let once = !self.repeat_blocks && !self.steps.is_unaligned && !aligned;
        !self.pattern.random || (once && self.distribution == Distribution::Uniform)
    }

    /// Whether it gives ranges back.
    pub(super) const fn trims(&self) -> bool {
        matches!(self.pattern.mix, Mix::Trim | Mix::TrimWrite)
    }

    /// Everything that lengths and offsets are made of, in bytes: what direct I/O must be able to transfer.
    pub(super) fn grains(&self) -> Vec<u64> {
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
        let used = self
            .kinds()
            .iter()
            .flat_map(|kind| of_sizes(of_kind(&self.blocks, *kind)));
        let moved = [self.offset_bytes, self.steps.skip_bytes.unsigned_abs()];
        let mut all: Vec<u64> = used
            .chain(aligns)
            .chain(zones)
            .chain(moved)
            .filter(|&bytes| bytes > 0)
            .collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    pub(super) fn reads(&self) -> bool {
        matches!(self.pattern.mix, Mix::Read | Mix::Both)
    }

    /// Whether it changes what it works on.
    pub(super) fn writes(&self) -> bool {
        let only_checks = self.verify.as_ref().is_some_and(|how| how.only_checks);
        self.pattern.mix != Mix::Read && !(only_checks && self.pattern.mix == Mix::Write)
    }

    /// Whether the engine, as far as it is known beforehand, does one operation per system call and waits for it.
    pub(super) fn is_synchronous(&self) -> bool {
        match self.engine {
            EngineChoice::Auto => self.depth == 1,
            EngineChoice::Psync | EngineChoice::Pvsync2 => true,
            EngineChoice::IoUring | EngineChoice::Libaio | EngineChoice::Null => false,
        }
    }
}

/// The deepest queue: what `io_uring` takes at most (`IORING_MAX_ENTRIES`).
pub(super) const DEPTH_MAX: u32 = 32_768;
