//! What the twelve UnixBench tests share: the `compat` parameter and the shapes that follow from it.

use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{ParamDef, ParamKind};
use model::units::Nanos;

/// Which UnixBench a round imitates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compat {
    /// None: short rounds, medians, intervals.
    Off,
    /// Version 5.1.3.
    V513,
    /// Version 6.
    V6,
}

impl Compat {
    /// Reads the parameter [`COMPAT`].
    pub(crate) fn of(params: &Params) -> Self {
        match params.text("compat") {
            "5.1.3" => Self::V513,
            "6" => Self::V6,
            _ => Self::Off,
        }
    }
}

/// The parameter that every one of the twelve has.
pub(crate) const COMPAT: ParamDef = ParamDef {
    name: "compat",
    kind: ParamKind::Choice(&["off", "5.1.3", "6"]),
    default: "off",
    doc: "Imitate this version of UnixBench: its durations, number of passes and pauses, and what its tests do \
          differently from each other. `off` measures the same work in short rounds.",
};

/// How often UnixBench runs a test.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Length {
    /// 10 passes: dhry2reg, whetstone-double, syscall, context1, pipe.
    Long,
    /// 3 passes: spawn, execl, fstime, fsbuffer, fsdisk, shell1, shell8.
    Short,
}

/// The shape of a round: `default` without compat, the original's duration, passes and pauses with it.
pub(crate) fn shape(params: &Params, seconds: u64, length: Length, default: Shape) -> Shape {
    match Compat::of(params) {
        Compat::Off => default,
        Compat::V513 | Compat::V6 => Shape {
            warmup: Nanos::ZERO,
            measure: Nanos::from_secs(seconds),
            rounds: Some(match length {
                Length::Long => 10,
                Length::Short => 3,
            }),
            settle: Settle::SyncSleep,
            shortenable: false,
            ..default
        },
    }
}
