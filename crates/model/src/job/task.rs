//! A job among others: on which files, on which CPUs, and who ends with whom.
//!
//! A target is no consent. Whether it may be opened, and written to, is decided from what the user types, so that a job
//! that comes from a file or a store cannot allow itself anything.

use super::{IoPriority, Job};
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// On what a job works.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// A file in the run's own directory, which goes away with it.
    #[default]
    TestFile,
    /// A regular file.
    File {
        /// Absolute.
        path: PathBuf,
        /// A file that is not there is made, with our mark, and stays.
        create: bool,
    },
    /// A block device, but for its first and last MiB.
    Device {
        /// Absolute.
        path: PathBuf,
        /// What the job uses is written once before, where the run may write to the device at all, so that no place is
        /// measured that was never written.
        fill: bool,
    },
}

/// The language in which a job was described.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Language {
    /// The parameters of our tests: `--dir`, `--set`.
    #[default]
    Tests,
    /// fio's options.
    Fio,
    /// The parameter files of vdbench.
    Vdbench,
}

/// What a job asks of the kernel for its process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// CPU priority, from -20, the highest, to 19.
    pub nice: i8,
    /// I/O priority.
    pub io_priority: Option<IoPriority>,
    /// Where its memory comes from; the kernel decides where it is absent.
    pub memory: Option<MemoryPolicy>,
}

impl Process {
    /// Whether it asks for nothing.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

/// From which NUMA nodes memory comes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryPolicy {
    /// How.
    pub mode: MemoryMode,
    /// Which nodes; none with [`MemoryMode::Local`].
    pub nodes: Vec<u32>,
}

/// How nodes are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// The node of the CPU.
    Local,
    /// One node, and others where it is full.
    Prefer,
    /// These nodes and no others.
    Bind,
    /// Page by page in turn.
    Interleave,
}

/// One job of a list.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of whoever describes the job"
)]
pub struct Task {
    /// What it is called in errors and results.
    pub name: String,
    /// What it does.
    pub job: Job,
    /// CPUs on which it may run; all where empty.
    pub cpus: Vec<u32>,
    /// What else its process asks for.
    #[serde(default, skip_serializing_if = "Process::is_plain")]
    pub process: Process,
    /// What ends with it: a word that other jobs listen to.
    pub ends: Option<String>,
    /// It ends others only where it fails.
    pub ends_on_error: bool,
    /// The words that end it.
    pub ends_with: Vec<String>,
    /// A word that it says when it has ended, however it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<String>,
    /// It begins when all of these words have been said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// How long each of its files must be where jobs beside or behind it use more of them than this one does.
    pub file_bytes: Vec<u64>,
    /// Its file is made ready, and nothing is done with it.
    pub only_prepares: bool,
    /// Whether its file is looked at for holes and caches: once for each file is enough.
    pub looks_at_file: bool,
    /// Whether it looks how much of the machine's CPUs nobody uses meanwhile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub looks_at_cpus: bool,
    /// Its files go when the run is over, where they are ours.
    pub unlinks: bool,
    /// The operations that arrive per second, as a share of what the case needs of another one; `None` where the job
    /// says how many, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_share: Option<f64>,
}

impl Task {
    /// The longest that it takes; `None` where its work decides.
    pub fn longest(&self) -> Option<Nanos> {
        if self.only_prepares {
            return Some(Nanos::ZERO);
        }
        let grace = self.job.program.as_ref().map(|program| program.grace);
        let time = self.job.end.time?.plus(self.before());
        Some(time.plus(grace.unwrap_or_default()))
    }

    /// The files that it names, and no devices.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let all = std::iter::once(&self.job.target).chain(&self.job.more_targets);
        let is_real = self.job.engine.has_data();
        all.filter_map(move |target| match target {
            Target::File { path, .. } if is_real => Some(path.as_path()),
            _ => None,
        })
    }

    /// Where its part of each of its files ends, in bytes; 0 where that is not said.
    pub fn ends_in_files(&self) -> Vec<u64> {
        let of_file = |number| {
            let bytes = self.job.bytes_of_file(number);
            bytes.map_or(0, |bytes| bytes.saturating_add(self.job.offset_bytes))
        };
        (0..self.job.files.count.max(1)).map(of_file).collect()
    }

    /// The time before it is counted.
    pub fn before(&self) -> Nanos {
        self.job.start_delay.plus(self.job.ramp)
    }
}
