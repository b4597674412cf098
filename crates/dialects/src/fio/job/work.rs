//! What a job does to which offsets, and how much of it.

use super::{Blocks, Directions, Distribution, Extent};
use crate::fio::value::KbBase;

/// Reads, writes, trims, or a mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mix {
    /// Reads alone.
    #[default]
    Read,
    /// Writes alone.
    Write,
    /// Trims alone.
    Trim,
    /// Reads and writes.
    ReadWrite,
    /// Every block is trimmed, then written.
    TrimWrite,
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

    /// True where data is discarded.
    pub const fn trims(self) -> bool {
        matches!(self, Self::Trim | Self::TrimWrite)
    }
}

/// In which order offsets come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// One after the other.
    Sequential {
        /// Bytes left out after each operation; negative goes backwards.
        skip_bytes: i64,
    },
    /// Anywhere.
    Random {
        /// Operations in sequence before the next random offset; 1 is purely random.
        ios_per_offset: u64,
    },
}

impl Default for Order {
    fn default() -> Self {
        Self::Sequential { skip_bytes: 0 }
    }
}

/// Which generator orders random offsets. Only its name is kept: offsets come from this program's own permutation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Generator {
    /// fio's default.
    #[default]
    Tausworthe,
    /// With 64 bits.
    Tausworthe64,
    /// A shift register that visits each block once.
    Lfsr,
}

/// What is done to which offsets.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Work {
    /// Reads, writes, trims.
    pub mix: Mix,
    /// Their order.
    pub order: Order,
    /// With `rw_sequencer=identical`, the offset stays until the next step.
    pub repeats_offset: bool,
    /// Operation sizes.
    pub blocks: Directions<Blocks>,
    /// What offsets are multiples of; the block size where not said.
    pub align_bytes: Directions<Option<u64>>,
    /// Sizes need not be multiples of the smallest.
    pub is_unaligned: bool,
    /// Share of reads among reads and writes, in per cent.
    pub read_percent: u8,
    /// Share of operations that are random in a random job, in per cent.
    pub random_percent: Directions<u8>,
    /// Blocks may come again before all were visited (`norandommap`).
    pub may_repeat_blocks: bool,
    /// Every run has the same order.
    pub is_repeatable: bool,
    /// Seed of the order.
    pub seed: u64,
    /// Which generator was asked for.
    pub generator: Generator,
    /// The distribution of random offsets.
    pub distribution: Distribution,
    /// The work moves over the file zone by zone.
    pub zones: Option<Zones>,
}

/// Zones over which the work moves: `size_bytes` of work in each stretch of `range_bytes`, then `skip_bytes` further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Zones {
    /// How much is transferred in a zone before the next comes.
    pub size_bytes: u64,
    /// How long a zone is; the amount where not said.
    pub range_bytes: Option<u64>,
    /// The gap between zones.
    pub skip_bytes: u64,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            mix: Mix::Read,
            order: Order::default(),
            repeats_offset: false,
            blocks: Directions::all(Blocks::Fixed(4096)),
            align_bytes: Directions::default(),
            is_unaligned: false,
            read_percent: 50,
            random_percent: Directions::all(100),
            may_repeat_blocks: false,
            is_repeatable: true,
            seed: 0x89,
            generator: Generator::default(),
            distribution: Distribution::default(),
            zones: None,
        }
    }
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
    /// Ends after so many operations.
    pub ios: Option<u64>,
    /// Writes until the device is full.
    pub fills_device: bool,
    /// How often everything is done.
    pub loops: u64,
    /// What `k` meant.
    pub kb_base: KbBase,
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
            ios: None,
            fills_device: false,
            loops: 1,
            kb_base: KbBase::default(),
        }
    }
}
