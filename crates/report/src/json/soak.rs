//! The part of a run document about a soak.

use crate::lang::Lang;
use model::plan::Plan;
use model::soak::Soak;
use model::units::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use stats::soak::{Mark, SoakSummary, What};

/// A soak: one case as one long series. Rates are in the unit `unit`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SoakPart<'a> {
    #[serde(flatten)]
    asked: AskedPart,
    /// What the soak says, in one English sentence.
    sentence: String,
    #[serde(flatten)]
    summary: &'a SoakSummary,
    /// Why there are no levels; null where there are.
    levels_missing: Option<&'static str>,
    /// What happened to the series, in the order of time.
    marks: Vec<MarkPart>,
}

/// How a soak is spread over its time.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(
    clippy::struct_field_names,
    reason = "keys of documents end in their unit"
)]
pub(super) struct AskedPart {
    /// The whole time that was asked for, rests included.
    span_ns: Nanos,
    /// From the beginning of one sample to that of the next; null for load without a pause.
    every_ns: Option<Nanos>,
    /// The longest that the load without a pause at the beginning may last.
    opening_ns: Nanos,
    /// The length of a window.
    window_ns: Option<Nanos>,
}

/// Something that happened to the series.
#[derive(Debug, Serialize, JsonSchema)]
struct MarkPart {
    at: String,
    /// The same, counted from the beginning of the soak.
    elapsed_ns: Nanos,
    #[schemars(extend("enum" = ["clock_jump", "suspended", "suspended_at_rest", "failed", "gap"]))]
    kind: &'static str,
    /// By how much or for how long; null for `failed`.
    time_ns: Option<Nanos>,
    /// Why (`failed`).
    reason: Option<String>,
}

impl<'a> SoakPart<'a> {
    /// The part of a run of this plan.
    pub(super) fn of(plan: &Plan, summary: &'a SoakSummary) -> Self {
        let without = summary.levels.is_none();
        Self {
            asked: AskedPart::of(plan, &summary.soak),
            sentence: crate::page::soak::sentence(summary, Lang::En),
            summary,
            levels_missing: without.then_some("fewer than two windows count"),
            marks: summary.marks.iter().map(mark_part).collect(),
        }
    }
}

impl AskedPart {
    /// The soak of a plan.
    pub(super) fn of(plan: &Plan, soak: &Soak) -> Self {
        Self {
            span_ns: soak.span,
            every_ns: soak.every,
            opening_ns: soak.opening,
            window_ns: plan.cases.first().map(|case| case.shape.window),
        }
    }
}

fn mark_part(mark: &Mark) -> MarkPart {
    let (kind, time_ns, reason) = match &mark.what {
        What::ClockJump(by) => ("clock_jump", Some(*by), None),
        What::Suspended(time) => ("suspended", Some(*time), None),
        What::SuspendedAtRest(time) => ("suspended_at_rest", Some(*time), None),
        What::Gap(time) => ("gap", Some(*time), None),
        What::Failed(failure) => ("failed", None, Some(failure.to_string())),
    };
    MarkPart {
        at: mark.at.rfc3339(),
        elapsed_ns: mark.elapsed,
        kind,
        time_ns,
        reason,
    }
}
