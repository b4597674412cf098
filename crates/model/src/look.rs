//! What was seen of the machine before the first round: the noise of a rest, and what rounds cannot show.
//!
//! It is kept as it was seen. What of it will disturb is concluded from it (`stats::look`), so that other thresholds
//! judge old runs too.

use crate::noise::Noise;
use crate::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A look before the first round of a run, or of the part of it with which it went on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// From its first counter to its last.
    pub took: Nanos,
    /// How long it was waited for quiet before it; 0 where nobody asked for that.
    pub waited: Nanos,
    /// What happened meanwhile. Nothing of ours ran, but for one thread that asked for a CPU at the end.
    pub noise: Noise,
    /// Who used CPUs, the busiest first, at most [`Look::BUSY_MAX`].
    pub busy: Vec<Busy>,
    /// The memory that could be had at its end without anybody swapping: of the machine, or what limits leave of it.
    pub memory_left: Option<Bytes>,
    /// What the run is about to keep in files of its own, and what there is room for; `None` where it keeps nothing,
    /// and where the room is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub space: Option<Space>,
}

impl Look {
    /// As many programs as anybody reads.
    pub const BUSY_MAX: usize = 3;
}

/// All processes of one name together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Busy {
    /// The name, as the kernel cuts it: up to 15 bytes.
    pub name: String,
    /// The CPU time that they used, as a share of one CPU.
    pub cpu_share: f64,
}

/// Files and the room for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// The size of all files that are there at the same time.
    pub needed: Bytes,
    /// How much may be taken of what is free.
    pub room: Bytes,
}
