//! Rounds as comparisons look at them: without what each copy did, histograms and notes.
//!
//! Most of the time of reading a run goes into turning text into numbers, and two thirds of those numbers no
//! comparison looks at. They are passed over here; the digest covers them all the same. What is left out is empty in
//! the round, as it is in a round that had none; of a copy only the number of its operations is read, which says
//! whether windows are fine enough to tell states apart.

use model::noise::{Noise, Sentinel};
use model::plan::CaseId;
use model::record::{CopyRecord, Failure, Measured, Outcome, Round};
use model::soak::Stretch;
use model::units::{Nanos, UnixNanos};
use serde::Deserialize;
use std::collections::BTreeMap;

/// [`Round`] without what is passed over; further keys of the text are not looked at.
#[derive(Deserialize)]
pub(crate) struct LeanRound {
    case: CaseId,
    pass: u32,
    seq: u32,
    started: UnixNanos,
    took: Nanos,
    layout_seed: u64,
    outcome: LeanOutcome,
    #[serde(default)]
    stretch: Option<Stretch>,
    noise: LeanNoise,
}

impl kept::Read for LeanRound {
    fn read(text: &str) -> serde_json::Result<Self> {
        serde_json::from_str(text)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum LeanOutcome {
    Done(LeanMeasured),
    Failed(Failure),
}

#[derive(Deserialize)]
struct LeanMeasured {
    values: BTreeMap<String, f64>,
    missing: BTreeMap<String, String>,
    windows: Vec<f64>,
    copies: Vec<LeanCopy>,
}

#[derive(Deserialize)]
struct LeanCopy {
    ops: u64,
}

/// What a comparison asks of the noise: who took time, what the probes saw of the core, and whether the clock can be
/// trusted.
#[derive(Deserialize)]
struct LeanNoise {
    steal_share: Option<f64>,
    psi_memory_share: Option<f64>,
    throttled_share: Option<f64>,
    foreign_cpu_share: Option<f64>,
    foreign_top: Option<String>,
    clock_jump: Option<Nanos>,
    suspended: Option<Nanos>,
    before: Option<Sentinel>,
    after: Option<Sentinel>,
}

impl From<LeanRound> for Round {
    fn from(lean: LeanRound) -> Self {
        Self {
            case: lean.case,
            pass: lean.pass,
            seq: lean.seq,
            started: lean.started,
            took: lean.took,
            errands: Vec::new(),
            layout_seed: lean.layout_seed,
            outcome: match lean.outcome {
                LeanOutcome::Done(done) => Outcome::Done(Measured {
                    values: done.values,
                    missing: done.missing,
                    cpu_windows: Vec::new(),
                    windows: done.windows,
                    copies: done
                        .copies
                        .iter()
                        .map(|copy| CopyRecord::of_operations(copy.ops))
                        .collect(),
                    latencies: BTreeMap::new(),
                    series: BTreeMap::new(),
                    notes: Vec::new(),
                }),
                LeanOutcome::Failed(failure) => Outcome::Failed(failure),
            },
            partial: None,
            moved: None,
            stretch: lean.stretch,
            noise: Noise {
                steal_share: lean.noise.steal_share,
                psi_memory_share: lean.noise.psi_memory_share,
                throttled_share: lean.noise.throttled_share,
                foreign_cpu_share: lean.noise.foreign_cpu_share,
                foreign_top: lean.noise.foreign_top,
                clock_jump: lean.noise.clock_jump,
                suspended: lean.noise.suspended,
                before: lean.noise.before,
                after: lean.noise.after,
                ..Noise::default()
            },
        }
    }
}
