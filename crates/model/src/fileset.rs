//! File sets and the work on them: the nouns of workloads that make, read, write and remove many files.
//!
//! A set is a tree of directories below an anchor, with files whose number and sizes are known beforehand. Work is a
//! list of tasks that go on at the same time, each with one operation and threads of its own. Sizes and times are
//! settled: what a language says in its own words is turned into these once, and the engine knows no other.
//!
//! An anchor is no consent. Nothing that is there is touched: the run's own marked directory is made inside, the set in
//! that, and both go when the run is over.

mod check;
mod layout;

pub use crate::job::Arrivals;
pub use crate::pattern::Blocks;
pub use check::DEPTH_MAX;

use crate::job::SyncOn;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What one case does: tasks on sets, all at the same time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileWork {
    /// The sets, each at an anchor of its own.
    pub sets: Vec<FileSet>,
    /// The tasks; none where the sets are only made.
    pub tasks: Vec<FileTask>,
    /// What is there when the tasks begin.
    pub format: Format,
    /// How long they go on, after the warm-up.
    pub elapsed: Nanos,
    /// Work before that, which is not counted.
    pub warmup: Nanos,
    /// The length of an interval of the report; 0 for none.
    pub interval: Nanos,
}

/// A tree of directories with files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileSet {
    /// What it is called in errors and results.
    pub name: String,
    /// The directory in which the run's own directory is made; absolute.
    pub anchor: PathBuf,
    /// Levels of directories below the root of the set; at least 1.
    pub depth: u32,
    /// Directories in each directory of a level but the last; at least 1.
    pub width: u32,
    /// Files in each directory that has files.
    pub files: u64,
    /// How large files are.
    pub sizes: FileSizes,
    /// Which directories have files.
    pub spread: FileSpread,
    /// The set ends before the file with which its bytes would be more; `None` for no such end.
    pub total: Option<Bytes>,
    /// Tasks work on the first files of the set that have at least so many bytes; `None` for all.
    pub working_set: Option<Bytes>,
}

/// How large the files of a set are. Which file is how large is the same in every run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSizes {
    /// Bytes, and the share of the files that have them in per cent.
    Split(Vec<(u64, f64)>),
    /// Any size from 1 byte to twice this less 1, all alike often.
    Around(u64),
}

/// Which directories of a set have files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSpread {
    /// Those of the last level.
    #[default]
    Bottom,
    /// All of them.
    All,
}

/// What is there when the tasks of a case begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Format {
    /// Which part of the sets.
    pub before: Before,
    /// Directories alone are made, and no files.
    pub directories_only: bool,
    /// Threads that make it, for each set; at least 1.
    pub threads: u32,
    /// Bytes of a write that fills files.
    pub transfer: u64,
    /// Cases with the same word stand on the same making; another word makes anew. Such as the name of the run
    /// definition and what its loops stand at.
    pub made_for: String,
}

impl Default for Format {
    fn default() -> Self {
        Self {
            before: Before::default(),
            directories_only: false,
            threads: 8,
            transfer: 128 << 10,
            made_for: String::new(),
        }
    }
}

/// Which part of the sets is there when tasks begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Before {
    /// What the cases before have left. Nothing outlives a run: where there was no case before, what the tasks need and
    /// do not make themselves is made, and the round says so.
    #[default]
    Left,
    /// All of it: removed and made anew for the case, and made whole again before each further round of it.
    Anew,
    /// All of it: what is missing is made, or filled, before each round.
    Missing,
    /// Nothing: it is removed before each round.
    Nothing,
}

/// One task on one set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of whoever describes the set"
)]
pub struct FileTask {
    /// What it is called in errors and results.
    pub name: String,
    /// Which of [`FileWork::sets`].
    pub set: u32,
    /// Where copies and moves go; `None` for other files of the same set.
    pub target: Option<u32>,
    /// What it does.
    pub operation: FileOperation,
    /// The share of reads where a file is both read and written, in per cent; `None` where [`Self::operation`] alone
    /// decides. For reads and writes only.
    pub read_percent: Option<u32>,
    /// How it goes through a file.
    pub io: FileIo,
    /// Several threads may work on one file at the same time.
    pub shares_files: bool,
    /// A file that was gone through is deleted. For sequential reads and writes only.
    pub deletes: bool,
    /// Which file comes next.
    pub select: FileSelect,
    /// Bytes of a read or write.
    pub transfer: Blocks,
    /// When a file is closed and the next one chosen; `None` for as many operations as make its size, and for the
    /// whole of a file that is gone through in order.
    pub stop_after: Option<StopAfter>,
    /// Threads; at least 1.
    pub threads: u32,
    /// Operations per second that arrive at this task, all threads together; `None` for as many as possible.
    pub rate: Option<f64>,
    /// When they arrive.
    pub arrivals: Arrivals,
    /// Its share of the operations of all tasks of the case in per cent, where it has no rate; `None` for whatever it
    /// gets.
    pub skew: Option<f64>,
    /// Past the page cache.
    pub direct: bool,
    /// When a write returns.
    pub sync: SyncOn,
    /// What a file holds is on the device when it is closed (fsync(2); its time is the close's).
    pub syncs_on_close: bool,
}

impl Default for FileTask {
    fn default() -> Self {
        Self {
            name: String::new(),
            set: 0,
            target: None,
            operation: FileOperation::Read,
            read_percent: None,
            io: FileIo::Sequential,
            shares_files: false,
            deletes: false,
            select: FileSelect::Random,
            transfer: Blocks::Fixed(4096),
            stop_after: None,
            threads: 1,
            rate: None,
            arrivals: Arrivals::Poisson,
            skew: None,
            direct: false,
            sync: SyncOn::None,
            syncs_on_close: false,
        }
    }
}

/// What is done with files and directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileOperation {
    /// A directory that is missing is made in a parent that is there.
    Mkdir,
    /// A directory with nothing in it is removed.
    Rmdir,
    /// A file that is missing is made in a directory that is there; it has no bytes.
    Create,
    /// A file is removed.
    Delete,
    /// A file is opened, and closed again.
    Open,
    /// The same, where closing is what is asked for.
    Close,
    /// A full file is opened, read and closed.
    Read,
    /// A file is opened, written and closed. Written in order to its end it is full.
    Write,
    /// Whether a file may be read is asked for.
    Access,
    /// What the file system knows of a file is asked for.
    Getattr,
    /// The times of a file are set.
    Setattr,
    /// The bytes of a full file are written to another file.
    Copy,
    /// A file takes the name of another one, which is missing, or which it replaces where none is.
    Move,
}

impl FileTask {
    /// The operations that it does, one for another: those whose latencies it has.
    pub fn operations(&self) -> Vec<FileOperation> {
        use FileOperation::{Close, Copy, Create, Delete, Open, Read, Write};
        let mut all = match self.operation {
            Create => vec![Create, Close],
            Open | Close => vec![Open, Close],
            Read | Write => {
                let share = self.reads_percent();
                let reads = (share > 0).then_some(Read);
                let writes = (share < 100).then_some(Write);
                let both = reads.into_iter().chain(writes);
                [Open, Close].into_iter().chain(both).collect()
            }
            Copy => vec![Create, Open, Close, Read, Write, Copy],
            one => vec![one],
        };
        if self.deletes {
            all.push(Delete);
        }
        all
    }

    /// The share of its reads and writes that are reads, in per cent.
    pub fn reads_percent(&self) -> u32 {
        let alone = if self.operation == FileOperation::Read {
            100
        } else {
            0
        };
        self.read_percent.unwrap_or(alone)
    }
}

impl FileOperation {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 13] = [
        Self::Mkdir,
        Self::Rmdir,
        Self::Create,
        Self::Delete,
        Self::Open,
        Self::Close,
        Self::Read,
        Self::Write,
        Self::Access,
        Self::Getattr,
        Self::Setattr,
        Self::Copy,
        Self::Move,
    ];

    /// Its name, which is that of its latencies and begins those of its metrics.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Mkdir => "mkdir",
            Self::Rmdir => "rmdir",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Open => "open",
            Self::Close => "close",
            Self::Read => "read",
            Self::Write => "write",
            Self::Access => "access",
            Self::Getattr => "getattr",
            Self::Setattr => "setattr",
            Self::Copy => "copy",
            Self::Move => "move",
        }
    }

    /// The operation of this name.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|of| of.word() == word)
    }

    /// Whether it works on bytes of files, a part at a time.
    pub const fn transfers(self) -> bool {
        matches!(self, Self::Read | Self::Write | Self::Copy)
    }
}

/// How a task goes through a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileIo {
    /// From its beginning on.
    Sequential,
    /// In order, from a place other than its beginning.
    SequentialInside,
    /// At random multiples of what is read or written.
    Random,
}

/// Which file of a set comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileSelect {
    /// One after the other, in the order of the set, over and over.
    Sequential,
    /// Any, all alike often.
    Random,
    /// One after the other, each once: then the task is over.
    Once,
    /// Some more often than others: the set in order has four times `midpoint` parts, and the k-th (from 0) is chosen
    /// as often as a Poisson distribution with this mean comes to k.
    Poisson {
        /// At least 1.
        midpoint: u32,
    },
}

/// When a task closes a file and chooses the next one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopAfter {
    /// After so many reads and writes.
    Operations(u64),
    /// After so many reads and writes as make this much of its size, in per cent.
    Percent(f64),
}

#[cfg(test)]
pub(crate) mod tests;
