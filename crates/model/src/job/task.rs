//! A job among others: on which files, on which CPUs, and who ends with whom.
//!
//! A target is no consent. Whether it may be opened, and written to, is decided from what the user types, so that a job
//! that comes from a file or a store cannot allow itself anything.

use super::{IoEngine, Job};
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
    /// What ends with it: a word that other jobs listen to.
    pub ends: Option<String>,
    /// It ends others only where it fails.
    pub ends_on_error: bool,
    /// The words that end it.
    pub ends_with: Vec<String>,
    /// How long each of its files must be where jobs beside or behind it use more of them than this one does.
    pub file_bytes: Vec<u64>,
    /// Its file is made ready, and nothing is done with it.
    pub only_prepares: bool,
    /// Whether its file is looked at for holes and caches: once for each file is enough.
    pub looks_at_file: bool,
    /// Its files go when the run is over, where they are ours.
    pub unlinks: bool,
}

impl Task {
    /// The longest that it takes; `None` where its work decides.
    pub fn longest(&self) -> Option<Nanos> {
        if self.only_prepares {
            return Some(Nanos::ZERO);
        }
        Some(self.job.end.time?.plus(self.before()))
    }

    /// The files that it names, and no devices.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let all = std::iter::once(&self.job.target).chain(&self.job.more_targets);
        let is_real = self.job.engine != IoEngine::Null;
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
