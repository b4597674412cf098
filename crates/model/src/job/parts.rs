//! The parts of a job that most jobs leave as they are: sizes that differ, places that come more often than others, an
//! end of its own, a rate for each direction, checks of what was written. All of it has defaults that ask for nothing.

use crate::pattern::{Directions, Distribution};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};

/// In which steps offsets go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Steps {
    /// Sequential: bytes left out after each operation; negative goes backwards.
    pub skip_bytes: i64,
    /// Random: operations one behind the other before the next random offset; at least 1.
    pub ops_per_offset: u64,
    /// Those operations all go to the same offset.
    pub repeats_offset: bool,
    /// The share of operations of a random job that are random, in per cent; the others follow the one before.
    pub random_percent: Directions<u8>,
    /// What random offsets are multiples of, in bytes; the smallest block where not said.
    pub align_bytes: Directions<Option<u64>>,
    /// Sizes out of a range need not be multiples of the smallest.
    pub is_unaligned: bool,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            skip_bytes: 0,
            ops_per_offset: 1,
            repeats_offset: false,
            random_percent: Directions::all(100),
            align_bytes: Directions::all(None),
            is_unaligned: false,
        }
    }
}

/// Zones over which the work moves: so much in each, then on to the next one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Zones {
    /// Bytes transferred in a zone before the next comes.
    pub work_bytes: u64,
    /// Length of a zone in bytes.
    pub range_bytes: u64,
    /// The gap between two zones in bytes.
    pub skip_bytes: u64,
}

/// When the job ends by itself. By default it does not: whoever measures it ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// After this time, without [`Job::ramp`](super::Job::ramp).
    pub time: Option<Nanos>,
    /// After so many bytes, each time that it is done; the size of its region where not said.
    pub bytes: Option<u64>,
    /// After so many operations, each time that it is done.
    pub ops: Option<u64>,
    /// How often it is done; at least 1.
    pub loops: u64,
    /// It is done again and again until the time is over.
    pub time_based: bool,
    /// What comes behind the end of the region.
    #[serde(default, skip_serializing_if = "Behind::is_default")]
    pub behind: Behind,
}

/// What comes when a job has gone through its region and more bytes are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Behind {
    /// It goes on from the beginning: bytes alone are counted.
    #[default]
    GoesOn,
    /// It is over, for this one of its loops.
    Ends,
    /// The same; and when all loops are over, further ones follow until its bytes are done in all of them together.
    Again,
}

impl Behind {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for End {
    fn default() -> Self {
        Self {
            time: None,
            bytes: None,
            ops: None,
            loops: 1,
            time_based: true,
            behind: Behind::default(),
        }
    }
}

/// How fast one direction goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rate {
    /// Operations per second; not together with bytes.
    pub iops: Option<u64>,
    /// Bytes per second.
    pub bytes_per_s: Option<u64>,
    /// Fewer operations per second over [`Pacing::cycle`] are an error.
    pub min_iops: Option<u64>,
    /// Fewer bytes per second over [`Pacing::cycle`] are an error.
    pub min_bytes_per_s: Option<u64>,
}

/// How fast the job goes, beyond one rate for all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pacing {
    /// Each direction's own rate.
    pub rates: Directions<Rate>,
    /// Over which time a smallest rate must be kept.
    pub cycle: Nanos,
    /// What pauses cost is not made up for.
    pub ignores_think: bool,
    /// The part of each pause that keeps the CPU busy.
    pub think_spin: Nanos,
    /// The operations between two pauses are counted when they begin, not when they end.
    pub think_counts_begun: bool,
    /// Work of this time between two pauses, instead of a number of operations; 0 for none.
    pub think_iotime: Nanos,
    /// A latency from which on an operation is an error.
    pub max_latency: Option<Nanos>,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            rates: Directions::default(),
            cycle: Nanos::from_secs(1),
            ignores_think: false,
            think_spin: Nanos::ZERO,
            think_counts_begun: false,
            think_iotime: Nanos::ZERO,
            max_latency: None,
        }
    }
}

/// The largest depth that keeps a latency is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LatencyTarget {
    /// The latency to keep.
    pub latency: Nanos,
    /// How long each depth is judged.
    pub window: Nanos,
    /// The share of operations that must keep it, in per cent.
    pub percentile: f64,
    /// The search goes on when it has found the depth; otherwise the job ends there.
    pub run: bool,
}

/// What a steady state is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SteadyQuantity {
    /// Operations per second.
    Iops,
    /// Bytes per second.
    Bandwidth,
    /// Mean latency in nanoseconds.
    Latency,
}

/// The job ends when it is steady.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// What is looked at.
    pub quantity: SteadyQuantity,
    /// The slope of the least-squares line is judged, per second; otherwise the largest deviation from the mean.
    pub by_slope: bool,
    /// The limit that must not be exceeded.
    pub limit: f64,
    /// It is in per cent of the mean, and not in the quantity's own unit.
    pub is_percent: bool,
    /// How long it must hold.
    pub duration: Nanos,
    /// What is left out before.
    pub ramp: Nanos,
    /// How long one look is.
    pub interval: Nanos,
}

/// How operations are handed over and taken back. By default the queue is kept full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batching {
    /// How many are submitted together at most; `None` for as many as there is room for.
    pub submit: Option<u32>,
    /// How many are waited for; 0 polls.
    pub complete_min: u32,
    /// How many are taken back at most; `None` for few enough to keep the queue full, or as many as are waited for.
    pub complete_max: Option<u32>,
    /// The queue is filled again when no more than so many are under way; `None` at once.
    pub low: Option<u32>,
    /// Operations on bytes that one under way touches wait for it.
    pub serializes_overlap: bool,
}

impl Default for Batching {
    fn default() -> Self {
        Self {
            submit: None,
            complete_min: 1,
            complete_max: None,
            low: None,
            serializes_overlap: false,
        }
    }
}

impl Batching {
    /// So many are waited for, and begun again together; 0 for what keeps the queue full.
    pub fn of(together: u32) -> Self {
        match together {
            0 => Self::default(),
            _ => Self {
                complete_min: together,
                complete_max: Some(together),
                ..Self::default()
            },
        }
    }

    /// Whether it says no more than how many are taken back.
    pub fn only_takes(&self) -> bool {
        let takes = Self {
            complete_min: self.complete_min,
            complete_max: self.complete_max,
            ..Self::default()
        };
        *self == takes && self.complete_min > 0
    }
}

/// What becomes of a file that is made for a job before the job begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// All of it is written, so that no place is measured that was never written.
    #[default]
    Written,
    /// It has its length, and blocks that nobody has written to: the first write of each changes its metadata.
    Reserved,
    /// It has such blocks, and grows as it is written.
    Kept,
    /// It has its length, and no blocks.
    Sparse,
    /// It has neither.
    Empty,
}

impl Layout {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
    pub(super) fn is_written(&self) -> bool {
        *self == Self::Written
    }
}

/// What is written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// Random data, and new numbers in every 512 bytes before each write.
    #[default]
    Stamped,
    /// Random data that stays.
    Constant,
    /// New random data for each write.
    Refilled,
    /// Zeros.
    Zero,
    /// These bytes, repeated.
    Pattern(Vec<u8>),
}

/// How much of the data a storage that compresses or deduplicates could save.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Redundancy {
    /// The share of each 4 KiB that is zeros, in per cent.
    pub compress_percent: u32,
    /// The share of blocks that equal each other, in per cent.
    pub dedupe_percent: u32,
    /// Equal blocks are as many different ones as make this share of what the job works on, in per cent; 0 where all of
    /// them are the same one.
    #[serde(default)]
    pub working_set_percent: u32,
    /// What those blocks come from, where jobs share them; else each job has its own.
    #[serde(default)]
    pub working_set_seed: Option<u64>,
}

/// How blocks are checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerifyMethod {
    /// Whose block it is, and nothing of its bytes.
    Meta,
    /// A CRC of 7 bits, as MMC cards have it.
    Crc7,
    /// A CRC of 16 bits (ARC).
    Crc16,
    /// A CRC of 32 bits (IEEE).
    Crc32,
    /// CRC-32C (Castagnoli), as iSCSI and ext4 use it; computed by the CPU where it can.
    Crc32c,
    /// A CRC of 64 bits (Jones).
    Crc64,
    /// xxHash of 32 bits.
    Xxhash,
    /// MD5: no protection against intent, ample against accident.
    Md5,
    /// SHA-1: the same.
    Sha1,
    /// SHA-256; fio keeps 64 bits of it.
    Sha256,
    /// SHA-512.
    Sha512,
    /// These bytes, repeated; at least one.
    Pattern(Vec<u8>),
    /// What was written is read, and not looked at.
    Nothing,
}

/// How what was written is checked.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a decision of the user's by itself"
)]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verify {
    /// How blocks can be told from damaged ones.
    pub method: VerifyMethod,
    /// What was written is read back.
    pub reads_back: bool,
    /// Nothing is written: what an earlier job of the same kind wrote is checked.
    pub only_checks: bool,
    /// The first mismatch ends the job; otherwise it goes on to its end and fails there.
    pub is_fatal: bool,
    /// Check after so many writes, and not only when all of it is written.
    pub backlog: Option<u64>,
    /// How many are checked then; all where not said.
    pub backlog_batch: Option<u64>,
    /// Distance of two headers in bytes; the block where not said.
    pub interval_bytes: Option<u64>,
    /// Where in its interval a header stands.
    pub offset_bytes: u64,
    /// Other jobs write to the same places meanwhile: a block of theirs is as right as one of its own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_shared: bool,
}

impl Verify {
    /// Read back at the end, and judged there.
    pub const fn new(method: VerifyMethod) -> Self {
        Self {
            method,
            reads_back: true,
            only_checks: false,
            is_fatal: false,
            backlog: None,
            backlog_batch: None,
            interval_bytes: None,
            offset_bytes: 0,
            is_shared: false,
        }
    }
}

/// Which errors do not end the job; they are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContinueOn {
    /// Those of reads.
    pub read: bool,
    /// Those of writes, trims and syncs.
    pub write: bool,
    /// Mismatches.
    pub verify: bool,
    /// The same by number: where there are numbers, those errors and no others.
    #[serde(default, skip_serializing_if = "ErrorNumbers::is_empty")]
    pub only: ErrorNumbers,
}

/// Error numbers of the kernel, by what failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNumbers {
    /// Of reads.
    pub read: Vec<i32>,
    /// Of writes, trims and syncs.
    pub write: Vec<i32>,
    /// Of checks: 84 (`EILSEQ`) is a mismatch.
    pub verify: Vec<i32>,
}

impl ErrorNumbers {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl ContinueOn {
    /// Whether a read may fail so.
    pub fn read_passes(&self, number: i32) -> bool {
        passes(self.read, &self.only.read, number)
    }

    /// Whether a read may fail in any way.
    pub const fn some_read_passes(&self) -> bool {
        self.read || !self.only.read.is_empty()
    }

    /// Whether a write, trim or sync may.
    pub fn write_passes(&self, number: i32) -> bool {
        passes(self.write, &self.only.write, number)
    }

    /// Whether data may be something else than what was written.
    pub fn mismatch_passes(&self) -> bool {
        /// fio's number for it.
        const EILSEQ: i32 = 84;
        passes(self.verify, &self.only.verify, EILSEQ)
    }
}

fn passes(any: bool, only: &[i32], number: i32) -> bool {
    if only.is_empty() {
        any
    } else {
        only.contains(&number)
    }
}

/// How a job and others hold each other back, so that what they do is as their weights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// Its weight; 0 for a job that does not take part.
    pub weight: u32,
    /// Which of them belong together.
    pub id: u64,
    /// How long it waits before it looks again, where it is ahead.
    pub pause: Nanos,
}

impl Flow {
    pub(super) const fn is_none(&self) -> bool {
        self.weight == 0
    }
}

/// What the kernel is told of the order in which a file is read through the page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OrderHint {
    /// Nothing: it finds out by itself.
    #[default]
    None,
    /// What the job does.
    AsPattern,
    /// Random: nothing is read ahead.
    Random,
    /// Sequential: more is read ahead.
    Sequential,
}

/// Which file comes next.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOrder {
    /// Each in turn.
    #[default]
    RoundRobin,
    /// One until it is done.
    Sequential,
    /// Any.
    Random,
    /// Some more often than others.
    Favours(Distribution),
}

/// What a job writes down of every window of its time, as series: rates of each direction, and latencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    /// The length of a window; above 0.
    pub window: Nanos,
    /// Bytes and operations per second.
    pub rates: bool,
    /// The latencies of the operations that ended in it.
    pub latencies: bool,
    /// Of the latencies the longest, and not their mean.
    pub longest: bool,
}

/// On how many files the work is spread, each of an equal part of the size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// How many there are; at least 1.
    pub count: u32,
    /// Which comes next.
    pub order: FileOrder,
    /// Operations on one before the next comes; at least 1.
    pub ops_per_file: u64,
}

impl Default for Files {
    fn default() -> Self {
        Self {
            count: 1,
            order: FileOrder::default(),
            ops_per_file: 1,
        }
    }
}
