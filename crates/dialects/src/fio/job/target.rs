//! The files of a job and how they come to be.

use super::Distribution;

/// How space is reserved for a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallocate {
    /// Not at all.
    None,
    /// `fallocate` where the file system has it.
    #[default]
    Native,
    /// `posix_fallocate`.
    Posix,
    /// `fallocate` that leaves the file's length.
    Keep,
    /// `ftruncate`.
    Truncate,
}

/// What the kernel is told of the order to come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Advice {
    /// Nothing.
    None,
    /// What the job does.
    #[default]
    AsPattern,
    /// Random.
    Random,
    /// Sequential.
    Sequential,
}

/// Which file comes next.
#[derive(Clone, Debug, Default, PartialEq)]
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

/// On which files.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Target {
    /// The paths, with their directory.
    pub files: Vec<String>,
    /// The user named them, rather than fio's pattern.
    pub is_named: bool,
    /// `filename` as written.
    pub filename: Option<String>,
    /// `directory` as written.
    pub directory: Option<String>,
    /// `filename_format` as written.
    pub format: String,
    /// Number of files; counts only where they are not named.
    pub count: u32,
    /// How many are open at a time; all where not said.
    pub open: Option<u32>,
    /// Which comes next.
    pub order: FileOrder,
    /// Operations on a file before the next comes.
    pub ios_per_file: u64,
    /// How space is reserved.
    pub fallocate: Fallocate,
    /// What the kernel is told.
    pub advice: Advice,
    /// Files may be created.
    pub may_create: bool,
    /// Files are laid out one job after the other.
    pub creates_in_turn: bool,
    /// A laid out file is synced.
    pub syncs_layout: bool,
    /// Files are created when they are opened for the work, not before.
    pub creates_on_open: bool,
    /// Nothing but laying out.
    pub creates_only: bool,
    /// A file is written whole before the work overwrites it.
    pub overwrites: bool,
    /// Writes go behind the file's end.
    pub appends: bool,
    /// Cached pages are dropped first.
    pub invalidates: bool,
    /// Files are read whole first.
    pub pre_reads: bool,
    /// Files are removed at the end.
    pub unlinks: bool,
    /// Files are removed after each loop.
    pub unlinks_each_loop: bool,
    /// Writing to a mounted device was allowed; this program still refuses.
    pub allows_mounted: bool,
}

impl Default for Target {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            is_named: false,
            filename: None,
            directory: None,
            format: "$jobname.$jobnum.$filenum".to_owned(),
            count: 1,
            open: None,
            order: FileOrder::default(),
            ios_per_file: 1,
            fallocate: Fallocate::default(),
            advice: Advice::default(),
            may_create: true,
            creates_in_turn: true,
            syncs_layout: true,
            creates_on_open: false,
            creates_only: false,
            overwrites: false,
            appends: false,
            invalidates: true,
            pre_reads: false,
            unlinks: false,
            unlinks_each_loop: false,
            allows_mounted: false,
        }
    }
}
