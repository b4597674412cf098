//! What a job writes, when it is durable, and how it is checked.

/// When a write is durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncMode {
    /// When the device likes.
    #[default]
    None,
    /// With its metadata, on return (`O_SYNC`).
    Sync,
    /// Its data, on return (`O_DSYNC`).
    Dsync,
}

/// When data is forced to the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Durability {
    /// How files are opened.
    pub sync: SyncMode,
    /// An fsync after every so many writes; 0 for none.
    pub fsync_every: u64,
    /// An fdatasync after every so many writes; 0 for none.
    pub fdatasync_every: u64,
    /// An fsync at the end of the work, inside the measured time.
    pub fsyncs_at_end: bool,
    /// An fsync when a file is closed.
    pub fsyncs_on_close: bool,
}

/// What is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Zeros.
    pub is_zero: bool,
    /// New random data for every operation.
    pub refills: bool,
    /// Every operation changes its buffer a little.
    pub scrambles: bool,
    /// A pattern that repeats.
    pub pattern: Option<Vec<u8>>,
    /// How much of a buffer compresses away, in per cent.
    pub compress_percent: Option<u8>,
    /// Over which stretch.
    pub compress_chunk_bytes: u64,
    /// The share of buffers that are copies of an earlier one, in per cent.
    pub dedupe_percent: Option<u8>,
}

impl Default for Data {
    fn default() -> Self {
        Self {
            is_zero: false,
            refills: false,
            scrambles: true,
            pattern: None,
            compress_percent: None,
            compress_chunk_bytes: 512,
            dedupe_percent: None,
        }
    }
}

/// How written data is recognised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerifyMethod {
    /// CRC-32C, in hardware where there is.
    Crc32c,
    /// MD5.
    Md5,
    /// SHA-256.
    Sha256,
    /// The pattern and nothing else.
    Pattern,
}

/// What is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Verify {
    /// How; not at all where not said.
    pub method: Option<VerifyMethod>,
    /// Data is read back after it was written.
    pub reads_back: bool,
    /// Nothing is written; what an earlier run wrote is checked.
    pub only_checks: bool,
    /// The first mismatch ends the job.
    pub is_fatal: bool,
    /// Both versions of a bad block are kept.
    pub dumps: bool,
    /// Check after so many written blocks instead of at the end.
    pub backlog: Option<u64>,
    /// How many are checked then; the backlog where not said.
    pub backlog_batch: Option<u64>,
    /// Distance of two headers in bytes; the block where not said.
    pub interval_bytes: Option<u64>,
    /// Where in an interval the header stands.
    pub offset_bytes: u64,
    /// The pattern.
    pub pattern: Option<Vec<u8>>,
    /// State is kept for a later check.
    pub saves_state: bool,
}

impl Default for Verify {
    fn default() -> Self {
        Self {
            method: None,
            reads_back: true,
            only_checks: false,
            is_fatal: false,
            dumps: false,
            backlog: None,
            backlog_batch: None,
            interval_bytes: None,
            offset_bytes: 0,
            pattern: None,
            saves_state: true,
        }
    }
}
