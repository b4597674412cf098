//! What is reported of a job.

/// Whether directions are reported apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unified {
    /// Apart.
    #[default]
    Apart,
    /// Together.
    Mixed,
    /// Apart and together.
    Both,
}

/// What is reported.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent switch of the language"
)]
pub struct Reporting {
    /// The jobs of the group are reported as one.
    pub by_group: bool,
    /// Whether directions are reported apart.
    pub unified: Unified,
    /// Percentiles of completion latency.
    pub clat_percentiles: bool,
    /// Percentiles of total latency, instead of those of completion.
    pub lat_percentiles: bool,
    /// Percentiles of submission latency.
    pub slat_percentiles: bool,
    /// Which percentiles.
    pub percentiles: Vec<f64>,
    /// No total latency.
    pub no_lat: bool,
    /// No completion latency.
    pub no_clat: bool,
    /// No submission latency.
    pub no_slat: bool,
    /// No bandwidth over time.
    pub no_bw: bool,
    /// Window of the bandwidth's minimum and maximum.
    pub bw_window_ns: u64,
    /// Window of the rate's minimum and maximum.
    pub iops_window_ns: u64,
    /// Bits instead of bytes in text.
    pub in_bits: bool,
    /// Logs over time.
    pub logs: Logs,
}

/// Logs over time. Names are as written; an empty one is the job's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logs {
    /// Of bandwidth.
    pub bw: Option<String>,
    /// Of latencies.
    pub lat: Option<String>,
    /// Of operations per second.
    pub iops: Option<String>,
    /// Milliseconds of a window; 0 for a line for each operation.
    pub window_ms: u64,
    /// Of the latencies of a window the longest, and not their mean.
    pub longest: bool,
    /// The files of jobs have no number in their names.
    pub together: bool,
    /// With a column for offsets.
    pub offset: bool,
}

impl Logs {
    /// The window where a line for each operation is asked for: millions of them would be kept with the run.
    pub const WINDOW_MS: u64 = 100;

    /// Whether anything is logged.
    pub fn any(&self) -> bool {
        self.bw.is_some() || self.lat.is_some() || self.iops.is_some()
    }

    /// The length of a window, in milliseconds.
    pub const fn window_ms(&self) -> u64 {
        match self.window_ms {
            0 => Self::WINDOW_MS,
            ms => ms,
        }
    }
}

/// fio's list of percentiles.
pub const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

impl Reporting {
    /// Whether what operations of each priority took is told of the whole, and not of completion. As in fio that is so
    /// with its percentiles, unless there are no such latencies.
    pub const fn tells_whole(&self) -> bool {
        self.lat_percentiles && !self.no_lat
    }
}

impl Default for Reporting {
    fn default() -> Self {
        Self {
            by_group: false,
            unified: Unified::default(),
            clat_percentiles: true,
            lat_percentiles: false,
            slat_percentiles: false,
            percentiles: PERCENTILES.to_vec(),
            no_lat: false,
            no_clat: false,
            no_slat: false,
            no_bw: false,
            bw_window_ns: 500_000_000,
            iops_window_ns: 500_000_000,
            in_bits: false,
            logs: Logs::default(),
        }
    }
}
