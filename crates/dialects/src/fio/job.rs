//! A job as fio means it: every option resolved, typed, and with its unit in the name.
//!
//! What the engine does too is [`model::job::Job`], which the options fill directly; beside it stands what only fio
//! has: shares of a file, names that are made, clones, groups, reports. Nothing here depends on a machine: a size of
//! 50 % stays 50 %, and a file without a size stays without one, until [`resolve`](super::resolve::resolve). The
//! defaults are fio's.

use super::error::Place;
use super::value::{self, KbBase};
use model::job::{
    IoEngine, IoPriority, LatencyTarget, Layout, MemoryPolicy, Mix, OrderHint, Pattern,
    VerifyMethod,
};
use model::units::Nanos;
use std::collections::BTreeSet;
use std::sync::Arc;

mod reporting;

pub use model::pattern::{Blocks, Directions, Distribution};
pub use reporting::{Logs, PERCENTILES, Reporting, Unified};

/// An amount of data: bytes, or a share of the file or device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Bytes.
    Bytes(u64),
    /// Whole per cents up to 100, of what is there when the job starts.
    Percent(u8),
}

/// One clone of a section of a job file, ready to be carried out.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// What results are filed under.
    pub name: String,
    /// Free text of the user.
    pub description: Option<String>,
    /// Where the section starts.
    pub place: Place,
    /// Number in the plan, from 0.
    pub number: u32,
    /// Which of the section's clones, from 0.
    pub clone: u32,
    /// How many clones the section has (`numjobs`).
    pub clones: u32,
    /// A thread of one process instead of a process.
    pub is_thread: bool,
    /// The options that were written, as (name, value, place): the section's own behind those of `[global]`. A flag
    /// without a value has none.
    pub settings: Vec<Setting>,
    /// What is done, as far as the options say it by themselves.
    pub does: model::job::Job,
    /// How much of it.
    pub amount: Amount,
    /// On which files.
    pub target: Target,
    /// What is the same in every run.
    pub repeats: Repeats,
    /// Seed of the order.
    pub seed: u64,
    /// The latency that the search for a depth keeps; a latency of 0 is no search.
    pub latency: LatencyTarget,
    /// What is written.
    pub data: Data,
    /// What is checked.
    pub verify: Verify,
    /// When it starts and ends.
    pub life: Life,
    /// What is reported.
    pub reporting: Reporting,
    /// What is executed.
    pub exec: Exec,
}

/// What is executed, as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exec {
    /// The program; empty where none is named.
    pub program: String,
    /// All of its arguments.
    pub arguments: String,
    /// How long it may take to end.
    pub grace: Nanos,
    /// What it writes goes to files.
    pub redirects: bool,
}

/// An option as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The option's main name.
    pub name: &'static str,
    /// Its value; `None` for a flag that has none.
    pub value: Option<Arc<str>>,
    /// Where it stands.
    pub place: Place,
    /// It comes from a `[global]` section.
    pub is_global: bool,
}

/// How much is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Amount {
    /// The region of the job; the whole file or device where not said.
    pub size: Option<Extent>,
    /// How much is transferred; the region once where not said.
    pub io_size: Option<Extent>,
    /// Smallest and largest size of a file in bytes; the region over the number of files where not said.
    pub file_size_bytes: Option<(u64, u64)>,
    /// Where the region starts.
    pub offset: Extent,
    /// What each further clone adds to it.
    pub offset_increment: Extent,
    /// What the start is rounded up to, in bytes; 0 leaves it.
    pub offset_align_bytes: u64,
    /// Writes until the device is full.
    pub fills_device: bool,
    /// What `k` meant.
    pub kb_base: KbBase,
}

/// On which files.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Target {
    /// The paths, with their directory.
    pub files: Vec<String>,
    /// `filename` as written: the user named them, rather than fio's pattern.
    pub filename: Option<String>,
    /// `directory` as written.
    pub directory: Option<String>,
    /// `filename_format` as written.
    pub format: String,
    /// Number of files; counts only where they are not named.
    pub count: u32,
    /// Files may be created.
    pub may_create: bool,
    /// How those are made that the job only writes.
    pub layout: Layout,
    /// They are made when the work opens them.
    pub made_on_open: bool,
    /// They are written before, all the same.
    pub overwrites: bool,
    /// Nothing but laying out.
    pub creates_only: bool,
    /// Files are removed at the end.
    pub unlinks: bool,
    /// Whoever gives extents to its files gets them for each operation.
    pub moves_in_place: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Zeros.
    pub is_zero: bool,
    /// New random data for every operation.
    pub refills: bool,
    /// Every operation changes its buffer a little.
    pub scrambles: bool,
    /// A pattern that repeats.
    pub pattern: Option<Vec<u8>>,
    /// What equal blocks are drawn from.
    pub equal: Equal,
}

/// The set that blocks are drawn from which are to equal others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    /// There is one; otherwise they are all the same.
    pub is_set: bool,
    /// The share of the file that it is, in per cent.
    pub percent: u32,
    /// All jobs have the same.
    pub is_shared: bool,
}

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verify {
    /// Anything is.
    pub is_on: bool,
    /// How, but for the pattern.
    pub how: model::job::Verify,
    /// The pattern.
    pub pattern: Option<Vec<u8>>,
}

/// Which jobs end with the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitWhat {
    /// Those of the reporting group.
    #[default]
    Group,
    /// Those that run; the next ones start.
    Stonewall,
    /// All.
    All,
}

/// When it starts and ends, beside its own time and amount.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Life {
    /// Smallest and largest time until the start.
    pub start_delay_ns: (u64, u64),
    /// Waits until all jobs before it have ended.
    pub is_stonewalled: bool,
    /// Starts a new reporting group.
    pub is_new_group: bool,
    /// Waits until the job of this name has ended.
    pub waits_for: Option<String>,
    /// Other jobs end with it.
    pub ends_all: bool,
    /// Other jobs end with it where it fails.
    pub ends_all_on_error: bool,
    /// Which.
    pub exit_what: ExitWhat,
    /// CPUs on which it may run; all where empty.
    pub cpus: BTreeSet<u32>,
    /// Each clone has one of them.
    pub splits_cpus: bool,
    /// NUMA nodes on whose CPUs alone it may run.
    pub cpu_nodes: Option<CpuNodes>,
    /// Where its memory comes from; where the kernel likes in the absence of a policy.
    pub memory: Option<MemoryPolicy>,
    /// CPU priority, from -20, the highest, to 19.
    pub nice: i8,
    /// Class of I/O priority: 1 realtime, 2 best-effort, 3 idle; 0 is none.
    pub io_class: Option<u8>,
    /// Level of I/O priority, 0 the highest.
    pub io_level: Option<u8>,
    /// The scheduler of the device below.
    pub scheduler: Option<String>,
}

impl Life {
    /// The I/O priority of its process, where one is asked for.
    pub fn io_priority(&self) -> Option<IoPriority> {
        let is_asked = self.io_class.is_some() || self.io_level.is_some();
        let of = IoPriority::of(self.io_class.unwrap_or(0), self.io_level.unwrap_or(0));
        is_asked.then_some(of)
    }
}

/// NUMA nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuNodes {
    /// All that there are.
    All,
    /// Those of these numbers.
    Some(BTreeSet<u32>),
}

impl Default for Job {
    fn default() -> Self {
        Self {
            name: String::new(),
            description: None,
            place: Place::default(),
            number: 0,
            clone: 0,
            clones: 1,
            is_thread: false,
            settings: Vec::new(),
            does: model::job::Job {
                pattern: Pattern {
                    mix: Mix::Read,
                    random: false,
                },
                blocks: Directions::all(Some(Blocks::Fixed(4096))),
                engine: IoEngine::Psync,
                direct: false,
                register_files: false,
                register_buffers: false,
                end: model::job::End {
                    time_based: false,
                    ..model::job::End::default()
                },
                invalidate: true,
                order_hint: OrderHint::AsPattern,
                language: model::job::Language::Fio,
                ..model::job::Job::default()
            },
            amount: Amount::default(),
            target: Target::default(),
            repeats: Repeats::default(),
            seed: 0x89,
            latency: LatencyTarget {
                latency: Nanos::ZERO,
                window: Nanos::ZERO,
                percentile: 100.0,
                run: false,
            },
            data: Data {
                is_zero: false,
                refills: false,
                scrambles: true,
                pattern: None,
                equal: Equal {
                    is_set: false,
                    percent: 5,
                    is_shared: false,
                },
            },
            verify: Verify {
                is_on: false,
                how: model::job::Verify::new(VerifyMethod::Crc32c),
                pattern: None,
            },
            life: Life::default(),
            reporting: Reporting::default(),
            exec: Exec {
                program: String::new(),
                arguments: String::new(),
                grace: Nanos::from_secs(1),
                redirects: true,
            },
        }
    }
}

/// What is drawn in the same way in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats {
    /// `randrepeat`.
    pub order: bool,
    /// `allrandrepeat`.
    pub all: bool,
}

impl Default for Repeats {
    fn default() -> Self {
        Self {
            order: true,
            all: false,
        }
    }
}

impl Default for Amount {
    fn default() -> Self {
        Self {
            size: None,
            io_size: None,
            file_size_bytes: None,
            offset: Extent::Bytes(0),
            offset_increment: Extent::Bytes(0),
            offset_align_bytes: 0,
            fills_device: false,
            kb_base: KbBase::default(),
        }
    }
}

impl Default for Target {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            filename: None,
            directory: None,
            format: "$jobname.$jobnum.$filenum".to_owned(),
            count: 1,
            may_create: true,
            layout: Layout::Reserved,
            made_on_open: false,
            overwrites: false,
            creates_only: false,
            unlinks: false,
            moves_in_place: false,
        }
    }
}

impl Job {
    /// The option as the user wrote it, in the section or in a `[global]` before it.
    pub fn setting(&self, option: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.name == option)
    }

    /// True where the user wrote the option.
    pub fn has(&self, option: &str) -> bool {
        self.setting(option).is_some()
    }

    /// The value that the user wrote, where the option has one.
    pub fn written(&self, option: &str) -> Option<&str> {
        self.setting(option)?.value.as_deref()
    }

    /// The number that the user wrote; 1 for a flag that stands alone.
    pub fn number(&self, option: &str) -> Option<u64> {
        let text = self.setting(option)?.value.as_deref().unwrap_or("1");
        value::size(text, self.amount.kb_base).map(|read| read.value)
    }

    /// fio's word for the interface of the kernel.
    pub fn engine_word(&self) -> &str {
        match self.written("ioengine") {
            None => "psync",
            Some("aio" | "linuxaio") => "libaio",
            Some(word) => word,
        }
    }

    /// Whether what is drawn is the same in every run. As in fio 3.33 a seed that is given makes it so too.
    pub fn is_repeatable(&self) -> bool {
        self.repeats.order || self.repeats.all || self.has("randseed")
    }

    /// Whether it writes nothing and judges what an earlier one wrote.
    pub fn only_checks(&self) -> bool {
        self.verify.is_on && (self.verify.how.only_checks || self.does.pattern.mix == Mix::Read)
    }

    /// Whether its clones can be threads of one process with one result: they are told as one, work on the same part of
    /// the same named file with nothing of their own, and none of them ends the others.
    pub fn shares_process(&self) -> bool {
        self.is_thread
            && self.clones > 1
            && self.reporting.by_group
            && self.target.filename.is_some()
            && self.amount.offset_increment == Extent::Bytes(0)
            && self
                .amount
                .file_size_bytes
                .is_none_or(|(low, high)| low == high)
            && !self.life.splits_cpus
            && !self.does.engine.has_no_operations()
            && self.life.start_delay_ns.0 == self.life.start_delay_ns.1
            && self.latency.latency == Nanos::ZERO
            && self.does.steady_state.is_none()
            // Each has a log of its own.
            && !self.reporting.logs.any()
            && !self.verify.is_on
            && !self.life.ends_all
            && !self.life.ends_all_on_error
    }

    /// Whether its files may have places that nobody has written to when it begins: it writes them itself.
    pub fn leaves_unwritten(&self) -> bool {
        self.does.pattern.mix == Mix::Write
            && !self.only_checks()
            && !matches!(self.does.engine, IoEngine::Mmap | IoEngine::Null)
            && !self.does.engine.moves_extents()
            && !self.target.overwrites
    }

    /// What becomes of its files before it begins, as in fio.
    pub fn layout(&self) -> Layout {
        if !self.leaves_unwritten() {
            return Layout::Written;
        }
        if self.target.made_on_open {
            Layout::Empty
        } else {
            self.target.layout
        }
    }

    /// How many of fio's jobs one copy of it stands for: all clones where they are threads of one process.
    pub fn members(&self) -> u32 {
        if self.shares_process() {
            self.clones
        } else {
            1
        }
    }
}
