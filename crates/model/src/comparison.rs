//! What is concluded from two runs.

use crate::estimate::Interval;
use crate::plan::MetricId;

/// The conclusion about one metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// Better; by how much is not sure.
    BetterMaybe,
    /// Worse; by how much is not sure.
    WorseMaybe,
    /// No difference beyond the margin.
    Same,
    /// Cannot tell.
    Unclear,
}

impl Verdict {
    /// The word in output: `better`, `worse`, `better?`, `worse?`, `same`, `unclear`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::BetterMaybe => "better?",
            Self::WorseMaybe => "worse?",
            Self::Same => "same",
            Self::Unclear => "unclear",
        }
    }

    /// The same conclusion seen from the other side.
    #[must_use]
    pub const fn reversed(self) -> Self {
        match self {
            Self::Better => Self::Worse,
            Self::Worse => Self::Better,
            Self::BetterMaybe => Self::WorseMaybe,
            Self::WorseMaybe => Self::BetterMaybe,
            same => same,
        }
    }
}

/// What it would take to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoundsNeeded {
    /// About this many rounds on each side in all.
    Rounds(u32),
    /// More than 200: not at this noise level.
    NotAtThisNoise,
}

/// Two runs' values of one metric, and the conclusion.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricComparison {
    /// Which metric.
    pub id: MetricId,
    /// The case's title.
    pub title: String,
    /// Other over base, turned so that above 1 is better; `None` with the reason in `refused`.
    pub ratio: Option<f64>,
    /// Its 95 % interval, unadjusted.
    pub interval: Option<Interval>,
    /// The margin within which values count as the same, as a share.
    pub margin: f64,
    /// The conclusion from the unadjusted interval.
    pub verdict: Verdict,
    /// The conclusion after correcting for the number of metrics compared.
    pub adjusted: Verdict,
    /// What it would take, where the verdict is not final.
    pub needed: Option<RoundsNeeded>,
    /// Why there is no ratio or no interval.
    pub refused: Option<Refusal>,
    /// Rounds on the base side and on the other side.
    pub n: (u32, u32),
    /// Median of the rounds on the base side and on the other side, in the metric's unit.
    pub values: (Option<f64>, Option<f64>),
}

/// Why two values do not compare.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Only one of the runs has the case.
    OneSideOnly {
        /// True where it is the base that has it.
        base_has_it: bool,
    },
    /// The workload's version differs.
    WorkloadVersion {
        /// The version in the base.
        base: u32,
        /// The version in the other run.
        other: u32,
    },
    /// Parameters differ: name, value in the base, value in the other run.
    Parameters(Vec<(String, String, String)>),
    /// One side has fewer rounds than an interval needs.
    TooFewRounds {
        /// Rounds on the base side.
        base: u32,
        /// Rounds on the other side.
        other: u32,
        /// Rounds needed on each side.
        need: u32,
    },
    /// A value is zero, negative or not finite, so there is no ratio.
    NoRatio,
}

/// A family of metrics as one figure.
#[derive(Clone, Debug, PartialEq)]
pub struct CategoryComparison {
    /// The family: `cpu`, `os`, `fs`...
    pub category: String,
    /// Geometric mean of the ratios; above 1 is better.
    pub ratio: f64,
    /// Its 95 % interval.
    pub interval: Option<Interval>,
    /// The margin: the widest of its metrics' margins.
    pub margin: f64,
    /// The conclusion, corrected (Holm) over the categories.
    pub verdict: Verdict,
    /// How many metrics are in it.
    pub metrics: u32,
}

/// One run against the base.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// One entry for each metric of either run, in the base's order.
    pub metrics: Vec<MetricComparison>,
    /// One entry for each family that has at least one ratio.
    pub categories: Vec<CategoryComparison>,
    /// What differs in the set-up.
    pub differences: Vec<Difference>,
    /// True where the rounds were measured in pairs (a duel) and compared as pairs.
    pub paired: bool,
}

/// Something about the machines or programs that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What: `kernel`, `mitigations: spectre_v2`, `binary`...
    pub what: String,
    /// Its value in the base.
    pub base: String,
    /// Its value in the other run.
    pub other: String,
}
