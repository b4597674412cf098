//! What storage tests say beside their metrics, in documents.

use super::metric::{EstimatePart, estimate_part};
use super::word::finite;
use crate::lang::Lang;
use crate::page::storage::{about_all, sentences};
use model::estimate::Estimate;
use schemars::JsonSchema;
use serde::Serialize;
use stats::modes::Mode;
use stats::state::gate::Gate;
use stats::storage::{
    Cause, Fall, FirstWrite, LatencyShape, Of, Steady, StorageCase, StorageSummary, Together,
};

/// What the storage tests of a run say.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StoragePart {
    /// One entry for each storage case with a finished round.
    cases: Vec<StorageCasePart>,
    /// The measured time of all of them together.
    load_seconds: Option<f64>,
    /// Operations in that time: a bucket of credit whose end was not seen holds more.
    load_operations: Option<f64>,
    /// What is said about all of them, in English.
    sentences: Vec<String>,
}

/// One storage case.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct StorageCasePart {
    case: String,
    /// What is said about it, in English.
    sentences: Vec<String>,
    /// The shape of each kind of latency, all rounds together.
    latencies: Vec<LatencyPart>,
    /// Whether it is steady by SNIA's rule; null for cases that do not write a file made before the run.
    steady: Option<SteadyPart>,
    /// A fall that may be the end of a burst; null where there is none.
    fall: Option<FallPart>,
    /// What the first write of a place costs; null for cases that do not measure it.
    first_write: Option<FirstWritePart>,
}

/// The shape of one kind of latency.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct LatencyPart {
    /// Its name, such as `read_clat`.
    name: String,
    /// What the operations are.
    #[schemars(extend("enum" = ["reads", "writes", "trims", "syncs"]))]
    of: &'static str,
    /// True where it is the one that is said of its operations.
    leading: bool,
    operations: u64,
    /// Where most of it lies, the fastest first; empty below 200 operations.
    modes: Vec<ModePart>,
    /// Whether the modes are in the same rounds: `single` for one of them, `same_rounds`, or `other_rounds` where
    /// something changed in between.
    #[schemars(extend("enum" = ["single", "same_rounds", "other_rounds"]))]
    together: &'static str,
    /// The share of bytes that came out of a cache, where that explains the fast mode.
    explained_by_cached_share: Option<f64>,
    /// The distribution in columns; null without operations.
    histogram: Option<HistogramPart>,
}

/// One mode.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ModePart {
    /// The share of the operations, 0 to 1.
    share: Option<f64>,
    /// Where it is highest.
    peak_ns: Option<f64>,
    /// The 10 % quantile of its latencies.
    lo_ns: Option<f64>,
    /// The 90 % quantile of its latencies.
    hi_ns: Option<f64>,
}

/// A distribution in columns of equal width on the logarithm of the latency.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct HistogramPart {
    /// Where the first column begins.
    lo_ns: Option<f64>,
    /// Where the last column ends.
    hi_ns: Option<f64>,
    /// The share of operations in each column.
    shares: Vec<f64>,
}

/// SNIA's rule of the steady state over the rounds.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SteadyPart {
    /// `steady`, or why not: `too_few_rounds`, `not_written`, `ranging`, `sloping`, `no_level`.
    #[schemars(extend("enum" = ["steady", "too_few_rounds", "not_written", "ranging", "sloping", "no_level"]))]
    result: &'static str,
    /// The round from which on it has been met, from 1; null where it is not.
    since_round: Option<u32>,
    /// How far the last five rounds range or slope, as a share of their mean; null for every other result.
    share: Option<f64>,
    /// Written to the file until the last round ended, its making included.
    written_bytes: u64,
    /// What must have been written: twice the file, or twice the largest it may have.
    needed_bytes: u64,
}

/// A fall of the rate that may be the end of a burst: to be confirmed by a soak.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FallPart {
    /// `between_rounds` or `within_rounds`.
    #[schemars(extend("enum" = ["between_rounds", "within_rounds"]))]
    kind: &'static str,
    /// The fast level, in the unit of the case's first metric.
    from: Option<f64>,
    /// The slow level.
    to: Option<f64>,
    /// How many rounds are fast (`between_rounds`).
    fast_rounds: Option<u64>,
    /// For how long a round is fast (`within_rounds`).
    fast_seconds: Option<f64>,
}

/// What the first write of a place costs.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct FirstWritePart {
    /// The rate of the second write over that of the first, with its interval; null for fewer than six places.
    ratio: Option<EstimatePart>,
    /// True where the first write is surely slower by more than the margin; null without a ratio.
    present: Option<bool>,
    /// How many places.
    places: u64,
}

/// Fills the part.
pub(super) fn storage_part(storage: &StorageSummary) -> StoragePart {
    StoragePart {
        cases: storage.cases.iter().map(case_part).collect(),
        load_seconds: finite(storage.load.seconds),
        load_operations: finite(storage.load.operations),
        sentences: about_all(storage, Lang::En),
    }
}

fn case_part(case: &StorageCase) -> StorageCasePart {
    StorageCasePart {
        case: case.case.to_string(),
        sentences: sentences(case, Lang::En),
        latencies: case.latencies.iter().map(latency_part).collect(),
        steady: case.steady.as_ref().map(steady_part),
        fall: case.fall.as_ref().map(fall_part),
        first_write: case.first_write.as_ref().map(first_write_part),
    }
}

fn latency_part(shape: &LatencyShape) -> LatencyPart {
    LatencyPart {
        name: shape.name.clone(),
        of: match shape.of {
            Of::Reads => "reads",
            Of::Writes => "writes",
            Of::Trims => "trims",
            Of::Syncs => "syncs",
        },
        leading: shape.leading,
        operations: shape.operations,
        modes: shape.modes.iter().map(mode_part).collect(),
        together: match shape.together {
            Together::Single => "single",
            Together::SameRounds => "same_rounds",
            Together::OtherRounds => "other_rounds",
        },
        explained_by_cached_share: shape
            .cause
            .and_then(|Cause::Cache { cached_share }| finite(cached_share)),
        histogram: shape.picture.as_ref().map(|picture| HistogramPart {
            lo_ns: finite(picture.lo_ns),
            hi_ns: finite(picture.hi_ns),
            shares: picture.columns.clone(),
        }),
    }
}

fn mode_part(mode: &Mode) -> ModePart {
    ModePart {
        share: finite(mode.share),
        peak_ns: finite(mode.peak_ns),
        lo_ns: finite(mode.lo_ns),
        hi_ns: finite(mode.hi_ns),
    }
}

fn steady_part(steady: &Steady) -> SteadyPart {
    let (result, share) = match steady.gate {
        Gate::Open => ("steady", None),
        Gate::TooFewRounds => ("too_few_rounds", None),
        Gate::NotWritten => ("not_written", None),
        Gate::Ranging(range) => ("ranging", Some(range)),
        Gate::Sloping(slope) => ("sloping", Some(slope)),
        Gate::NoLevel => ("no_level", None),
    };
    SteadyPart {
        result,
        since_round: steady.since,
        share: share.and_then(finite),
        written_bytes: steady.written.0,
        needed_bytes: steady.needed.0,
    }
}

fn fall_part(fall: &Fall) -> FallPart {
    match *fall {
        Fall::Between {
            fast_rounds,
            from,
            to,
        } => FallPart {
            kind: "between_rounds",
            from: finite(from),
            to: finite(to),
            fast_rounds: Some(fast_rounds as u64),
            fast_seconds: None,
        },
        Fall::Within { seconds, from, to } => FallPart {
            kind: "within_rounds",
            from: finite(from),
            to: finite(to),
            fast_rounds: None,
            fast_seconds: finite(seconds),
        },
    }
}

fn first_write_part(found: &FirstWrite) -> FirstWritePart {
    let ratio = found.penalty.map(|penalty| Estimate {
        value: penalty.ratio.ratio(),
        interval: Some(penalty.ratio.interval()),
        n: u32::try_from(penalty.ratio.n).unwrap_or(u32::MAX),
    });
    FirstWritePart {
        ratio: ratio.as_ref().map(|ratio| estimate_part(Some(ratio))),
        present: found.penalty.map(|penalty| penalty.present),
        places: found.places as u64,
    }
}
