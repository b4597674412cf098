//! Through which interface of the kernel a job works.

/// The interface of the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// `read` and `write` behind `lseek`.
    Sync,
    /// `pread` and `pwrite`.
    #[default]
    Psync,
    /// `readv` and `writev` of adjacent operations.
    Vsync,
    /// `preadv` and `pwritev`.
    Pvsync,
    /// `preadv2` and `pwritev2`.
    Pvsync2,
    /// `io_submit` and `io_getevents`.
    Libaio,
    /// `io_uring_enter`.
    IoUring,
    /// Nothing is transferred.
    Null,
}

impl EngineKind {
    /// True where one operation at a time is all that the interface does.
    pub const fn is_synchronous(self) -> bool {
        matches!(
            self,
            Self::Sync | Self::Psync | Self::Vsync | Self::Pvsync | Self::Pvsync2
        )
    }

    /// fio's word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sync => "sync",
            Self::Psync => "psync",
            Self::Vsync => "vsync",
            Self::Pvsync => "pvsync",
            Self::Pvsync2 => "pvsync2",
            Self::Libaio => "libaio",
            Self::IoUring => "io_uring",
            Self::Null => "null",
        }
    }
}

/// Through which interface, how deep.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Engine {
    /// The interface.
    pub kind: EngineKind,
    /// Operations under way at most.
    pub depth: u32,
    /// Operations submitted together; 0 means up to the depth.
    pub batch_submit: u32,
    /// Completions waited for; 0 polls.
    pub batch_complete_min: u32,
    /// Completions taken at most; the minimum where not said.
    pub batch_complete_max: Option<u32>,
    /// The queue is filled again when it is this low; the depth where not said.
    pub depth_low: Option<u32>,
    /// Operations on the same blocks wait for each other.
    pub serializes_overlap: bool,
    /// Other threads submit, so that a blocked submission does not delay arrivals.
    pub offloads: bool,
    /// Past the page cache.
    pub is_direct: bool,
    /// Polled completions (`hipri`).
    pub polls: bool,
    /// Buffers are registered with the kernel.
    pub fixed_buffers: bool,
    /// Files are registered with the kernel.
    pub registers_files: bool,
    /// A kernel thread polls for submissions.
    pub polls_submissions: bool,
    /// The CPU of that thread.
    pub polls_submissions_cpu: Option<u32>,
    /// One buffer per operation instead of a vector of one.
    pub is_nonvectored: bool,
}

impl Default for Engine {
    fn default() -> Self {
        Self {
            kind: EngineKind::default(),
            depth: 1,
            batch_submit: 0,
            batch_complete_min: 1,
            batch_complete_max: None,
            depth_low: None,
            serializes_overlap: false,
            offloads: false,
            is_direct: false,
            polls: false,
            fixed_buffers: false,
            registers_files: false,
            polls_submissions: false,
            polls_submissions_cpu: None,
            is_nonvectored: true,
        }
    }
}
