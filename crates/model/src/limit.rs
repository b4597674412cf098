//! What else than the storage may have decided a figure.
//!
//! Read off the figures that every round keeps, so that old runs say it too, and said in every language.

use crate::host::IoThrottle;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something other than the storage that may have set the limit. Shares are from 0 to 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "limit", rename_all = "snake_case")]
pub enum Limit {
    /// This program and the kernel on its behalf used so much of the one CPU that a copy can have.
    Cpu {
        /// CPU time over wall time of a copy: the median of the rounds.
        share: f64,
        /// The copies that ran.
        copies: u32,
        /// True where one operation at a time is under way, so that its time is mostly the CPU's and not the device's.
        one_at_a_time: bool,
    },
    /// Operations of a rate started late, because of this program and not of the storage.
    Late {
        /// The program's own lateness over the latency: the median of the rounds.
        share: f64,
    },
    /// Reads came out of a cache of this machine.
    Cached {
        /// The share of bytes read that no device delivered: the median of the rounds.
        share: f64,
        /// True where the test reads past the page cache, so that none should have.
        direct: bool,
    },
    /// The device had nothing to do for part of the time although operations were waiting.
    DeviceIdle {
        /// The share of time in which it had something to do: the median of the rounds.
        busy_share: f64,
    },
    /// A control group lets this process do no more with the device.
    Throttled {
        /// The kernel's name of the device.
        device: String,
        /// What it allows.
        throttle: IoThrottle,
    },
    /// The device is a loop device without direct I/O: its file goes through the page cache of this machine, whatever
    /// the test asks for.
    Buffered {
        /// The kernel's name of the device.
        device: String,
    },
}

impl Limit {
    /// What orders limits of one kind, the worst last.
    pub const fn severity(&self) -> f64 {
        match self {
            Self::Cpu { share, .. } | Self::Late { share } | Self::Cached { share, .. } => *share,
            Self::DeviceIdle { busy_share } => -*busy_share,
            Self::Throttled { .. } | Self::Buffered { .. } => 0.0,
        }
    }
}
