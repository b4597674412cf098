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
}

/// fio's list of percentiles.
pub const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

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
        }
    }
}
