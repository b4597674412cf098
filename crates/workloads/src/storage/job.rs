//! What one job does: the one description from which the parameters of `storage.io` and job files of other programs are
//! turned into work.

use super::data::Redundancy;
use model::params::Params;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// What one job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of whoever describes the job"
)]
pub struct JobSpec {
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
        }
    }

    /// Whether operations wait for a time of their own.
    pub(super) fn is_paced(&self) -> bool {
        self.rate_iops.is_some() || self.think > Nanos::ZERO
    }

    pub(super) fn reads(&self) -> bool {
        matches!(self.pattern.mix, Mix::Read | Mix::Both)
    }

    pub(super) fn writes(&self) -> bool {
        !matches!(self.pattern.mix, Mix::Read)
    }

    /// Whether the engine, as far as it is known beforehand, does one operation per system call and waits for it.
    pub(super) fn is_synchronous(&self) -> bool {
        match self.engine {
            EngineChoice::Auto => self.depth == 1,
            EngineChoice::Psync | EngineChoice::Pvsync2 => true,
            EngineChoice::IoUring | EngineChoice::Libaio | EngineChoice::Null => false,
        }
    }

    /// What is wrong with it, where something is.
    pub fn check(&self) -> Result<(), String> {
        let block = self.block_bytes;
        if block == 0 || block > BLOCK_MAX {
            return Err(format!(
                "a block of {block} bytes is not from 1 to {BLOCK_MAX}"
            ));
        }
        if let Some(size) = self.size.filter(|&size| size < block) {
            return Err(format!(
                "{size} bytes of file hold no block of {block} bytes"
            ));
        }
        if self.depth == 0 || self.depth > DEPTH_MAX {
            return Err(format!(
                "an iodepth of {} is not from 1 to {DEPTH_MAX}",
                self.depth
            ));
        }
        if self.depth > 1 && matches!(self.engine, EngineChoice::Psync | EngineChoice::Pvsync2) {
            return Err(format!(
                "an iodepth of {} needs io_uring or libaio: psync and pvsync2 do one operation at a time",
                self.depth
            ));
        }
        let buffers = block.saturating_mul(u64::from(self.depth));
        if buffers > BUFFERS_MAX {
            return Err(format!(
                "{} buffers of {block} bytes need more than {BUFFERS_MAX} bytes of memory",
                self.depth
            ));
        }
        Ok(())
    }
}

/// The largest block: what fits into the kernel's 31 bits of result, less a page.
const BLOCK_MAX: u64 = 1 << 30;
/// The deepest queue: what `io_uring` takes at most (`IORING_MAX_ENTRIES`).
pub(super) const DEPTH_MAX: u32 = 32_768;
/// Buffers in all, per copy.
const BUFFERS_MAX: u64 = 4 << 30;
