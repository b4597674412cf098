//! On what a job works: the run's own test file, or a file or device that somebody names.
//!
//! A target is no consent. Whether it may be opened, and written to, is decided by `engine::consent` from what the user
//! types, so that a job that comes from a file or a store cannot allow itself anything.

use super::{EngineChoice, JobSpec};
use engine::consent::Touch;
use engine::workload::StandIn;
use model::named::NamedKind;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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

impl JobSpec {
    /// The same job on what stands in for the test file, if anything does.
    #[must_use]
    pub fn on(self, stand_in: Option<&StandIn>) -> Self {
        let target = match (&self.target, stand_in) {
            (Target::TestFile, Some(StandIn { path, kind })) => match kind {
                NamedKind::Device => Target::Device {
                    path: path.clone(),
                    fill: true,
                },
                NamedKind::File => Target::File {
                    path: path.clone(),
                    create: false,
                },
            },
            _ => return self,
        };
        Self { target, ..self }
    }

    /// What the job touches beside the run's own directory.
    pub fn touches(&self) -> Vec<Touch> {
        let touch = |path: &PathBuf, kind, creates| Touch {
            path: path.clone(),
            kind,
            writes: self.writes(),
            creates,
        };
        if self.engine == EngineChoice::Null {
            return Vec::new();
        }
        let of = |target: &Target| match target {
            Target::TestFile => None,
            Target::File { path, create } => Some(touch(path, NamedKind::File, *create)),
            Target::Device { path, .. } => Some(touch(path, NamedKind::Device, false)),
        };
        let all = std::iter::once(&self.target).chain(&self.more_targets);
        all.filter_map(of).collect()
    }
}
