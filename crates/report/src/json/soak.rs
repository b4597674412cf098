//! The part of a run document about a soak.

use super::word::finite;
use crate::lang::Lang;
use crate::number::rfc3339;
use model::num::round_to_u64;
use schemars::JsonSchema;
use serde::Serialize;
use stats::burst::Cause;
use stats::soak::{Finding, Levels, Mark, SoakSummary, Throttle, What};
use stats::state::series::Character;

/// A soak: one case as one long series. Rates are in the unit `unit`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SoakPart {
    /// The time asked for.
    span_ns: u64,
    /// The time between the beginnings of samples; null for load without a pause.
    every_ns: Option<u64>,
    /// The length of a window.
    window_ns: u64,
    /// From the beginning of the first stretch to the end of the last.
    lasted_ns: u64,
    /// The quantity of the windows.
    quantity: String,
    /// The base unit of every rate.
    unit: &'static str,
    /// Windows that count.
    windows: usize,
    /// Windows left out because the clock was set or the machine suspended meanwhile.
    windows_left_out: usize,
    /// What the soak says, in one English sentence.
    sentence: String,
    /// What is said, the most telling first: `too_short`, `burst`, `step`, `ramp`, `two_state`, `periodic`, `unstable`,
    /// `steady`, `possible_ramp`, `disturbed`, `not_seen`, `ended_early`.
    #[schemars(extend("items" = { "type": "string", "enum": [
        "too_short", "burst", "step", "ramp", "two_state", "periodic", "unstable", "steady", "possible_ramp",
        "disturbed", "not_seen", "ended_early"
    ] }))]
    findings: Vec<&'static str>,
    /// What is known about credit.
    throttle: ThrottlePart,
    /// The rate over the hours.
    course: CoursePart,
    /// Something that comes back within minutes; null where nothing does.
    fine_period: Option<PeriodPart>,
    /// Levels of the windows; null where there are too few.
    levels: Option<LevelsPart>,
    /// Why there are no levels; null where there are.
    levels_missing: Option<&'static str>,
    /// Who else took CPU time; null where nobody did, or nothing is known about it. From a share of 0.1 on it is among
    /// the findings.
    disturbed: Option<DisturbedPart>,
    /// What happened to the series, in the order of time.
    marks: Vec<MarkPart>,
}

/// What is known about credit; figures that the state has not are null.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct ThrottlePart {
    /// `token_bucket`, `step` (the refill test was no bucket's), `not_tested`, `not_seen`, `other_change`, `too_short`.
    #[schemars(extend("enum" = [
        "token_bucket", "step", "not_tested", "not_seen", "other_change", "too_short"
    ]))]
    state: &'static str,
    /// The rate while credit lasts.
    burst_rate: Option<f64>,
    /// The rate afterwards.
    sustained_rate: Option<f64>,
    /// How long the burst lasted.
    burst_ns: Option<u64>,
    /// Work above the sustained rate, in operations or bytes.
    credit: Option<f64>,
    /// How far the credit may be off.
    credit_error: Option<f64>,
    /// The credit in CPU seconds, where CPU time is what was lent.
    credit_cpu_seconds: Option<f64>,
    /// When the burst ended.
    ended: Option<String>,
    /// The rest before the refill test.
    rest_ns: Option<u64>,
    /// For how long the full rate was used without a throttle (`not_seen`).
    seen_ns: Option<u64>,
    /// The work done meanwhile, in operations or bytes (`not_seen`): a bucket, if there is any, is larger.
    seen_work: Option<f64>,
}

/// The course; figures that its state has not are null.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct CoursePart {
    /// What it looks like.
    #[schemars(extend("enum" = [
        "unknown", "steady", "possible_ramp", "step", "ramp", "two_state", "periodic", "unstable"
    ]))]
    state: &'static str,
    /// The time from one point to the next.
    point_ns: u64,
    /// The points, in order.
    points: Vec<PointPart>,
    /// New level over old, or last over first, minus 1 (`step`, `ramp`, `possible_ramp`).
    change: Option<f64>,
    /// When the level changed (`step`).
    changed: Option<String>,
    /// The lowest level (`step`, `two_state`, `unstable`).
    low: Option<f64>,
    /// The highest level.
    high: Option<f64>,
    /// Share of the points at the lower level (`two_state`).
    low_share: Option<f64>,
    /// For how long a level is held on average (`two_state`).
    dwell_ns: Option<u64>,
    /// The period (`periodic`).
    period_ns: Option<u64>,
    /// How far the slowest phase lies below the fastest, as a share of the median (`periodic`).
    depth: Option<f64>,
    /// How many levels (`unstable`).
    levels: Option<usize>,
}

/// One point of a course.
#[derive(Debug, Serialize, JsonSchema)]
struct PointPart {
    /// When it began.
    at: String,
    /// The same, counted from the beginning of the soak.
    elapsed_ns: u64,
    value: Option<f64>,
}

/// A period within minutes.
#[derive(Debug, Serialize, JsonSchema)]
struct PeriodPart {
    period_ns: u64,
    /// How far the slowest phase lies below the fastest, as a share of the median.
    depth: Option<f64>,
    /// Pieces of the series that show it.
    pieces: usize,
    /// Pieces looked at.
    of: usize,
}

/// Levels of the windows of the course; behind the burst where there was one.
#[derive(Debug, Serialize, JsonSchema)]
struct LevelsPart {
    /// The median window.
    typical: Option<f64>,
    /// The 10th percentile.
    floor: Option<f64>,
    /// The 95th percentile: what it can do at its best.
    best: Option<f64>,
    /// The share of windows below 90 % of the typical one.
    slow_share: Option<f64>,
    /// The mean.
    mean: Option<f64>,
    /// The interval of the mean within this run, at 95 %; never to be compared. Null below 20 windows.
    mean_lo: Option<f64>,
    /// Its upper end.
    mean_hi: Option<f64>,
    /// How many windows.
    windows: usize,
}

/// Who else took CPU time, in shares of the stretches for which it is known.
#[derive(Debug, Serialize, JsonSchema)]
struct DisturbedPart {
    /// The share in which anybody did.
    stretches_share: Option<f64>,
    /// The share in which the host did (stolen time); null where no stretch knows.
    steal_share: Option<f64>,
    /// The share in which other processes did.
    foreign_cpu_share: Option<f64>,
    /// The share in which a CPU quota held the work back.
    throttled_share: Option<f64>,
    /// The median window of these stretches over that of the others, minus 1; null where either has fewer than ten.
    change: Option<f64>,
}

/// Something that happened to the series.
#[derive(Debug, Serialize, JsonSchema)]
struct MarkPart {
    at: String,
    /// The same, counted from the beginning of the soak.
    elapsed_ns: u64,
    #[schemars(extend("enum" = ["clock_jump", "suspended", "suspended_at_rest", "failed", "gap"]))]
    kind: &'static str,
    /// By how much or for how long; null for `failed`.
    time_ns: Option<u64>,
    /// Why (`failed`).
    reason: Option<String>,
}

/// Fills the part.
pub(super) fn soak_part(soak: &SoakSummary) -> SoakPart {
    SoakPart {
        span_ns: soak.soak.span.0,
        every_ns: soak.soak.every.map(|every| every.0),
        window_ns: soak.window.0,
        lasted_ns: soak.lasted.0,
        quantity: soak.quantity.clone(),
        unit: soak.unit.key(),
        windows: soak.windows,
        windows_left_out: soak.left_out,
        sentence: crate::page::soak::sentence(soak, Lang::En),
        findings: soak.findings.iter().map(finding_word).collect(),
        throttle: throttle_part(&soak.throttle),
        course: course_part(soak),
        fine_period: soak.fine.map(|fine| PeriodPart {
            period_ns: nanos(fine.seconds),
            depth: finite(fine.depth),
            pieces: fine.pieces,
            of: fine.of,
        }),
        levels: soak.levels.as_ref().map(levels_part),
        levels_missing: soak
            .levels
            .is_none()
            .then_some("fewer than two windows count"),
        disturbed: soak.disturbed.map(|disturbed| DisturbedPart {
            stretches_share: finite(disturbed.share),
            steal_share: disturbed.steal.and_then(finite),
            foreign_cpu_share: disturbed.foreign_cpu.and_then(finite),
            throttled_share: disturbed.throttled.and_then(finite),
            change: disturbed.change.and_then(finite),
        }),
        marks: soak.marks.iter().map(mark_part).collect(),
    }
}

const fn finding_word(finding: &Finding) -> &'static str {
    match finding {
        Finding::TooShort { .. } => "too_short",
        Finding::Burst { .. } => "burst",
        Finding::Step { .. } => "step",
        Finding::Ramp { .. } => "ramp",
        Finding::TwoState { .. } => "two_state",
        Finding::Periodic { .. } => "periodic",
        Finding::Unstable { .. } => "unstable",
        Finding::Steady { .. } => "steady",
        Finding::PossibleRamp { .. } => "possible_ramp",
        Finding::Disturbed(_) => "disturbed",
        Finding::EndedEarly { .. } => "ended_early",
        Finding::NotSeen(_) => "not_seen",
    }
}

fn throttle_part(throttle: &Throttle) -> ThrottlePart {
    let only = |state| ThrottlePart {
        state,
        ..ThrottlePart::default()
    };
    match throttle {
        Throttle::TooShort => only("too_short"),
        Throttle::OtherChange => only("other_change"),
        Throttle::NotSeen(seen) => ThrottlePart {
            seen_ns: Some(nanos(seen.seconds)),
            seen_work: finite(seen.work),
            ..only("not_seen")
        },
        Throttle::Seen {
            burst,
            cause,
            rest_seconds,
            at,
        } => ThrottlePart {
            state: match cause {
                Some(Cause::TokenBucket) => "token_bucket",
                Some(Cause::Unknown) => "step",
                None => "not_tested",
            },
            burst_rate: finite(burst.burst_rate),
            sustained_rate: finite(burst.sustained_rate),
            burst_ns: Some(nanos(burst.burst_seconds)),
            credit: finite(burst.credit),
            credit_error: finite(burst.credit_error),
            credit_cpu_seconds: burst.credit_cpu_seconds().and_then(finite),
            ended: Some(rfc3339(*at)),
            rest_ns: rest_seconds.map(nanos),
            ..ThrottlePart::default()
        },
    }
}

fn course_part(soak: &SoakSummary) -> CoursePart {
    let course = &soak.course;
    let point_ns = |points: f64| Some(nanos(points * course.point_seconds));
    let base = CoursePart {
        point_ns: nanos(course.point_seconds),
        points: course
            .points
            .iter()
            .map(|point| PointPart {
                at: rfc3339(point.at),
                elapsed_ns: point.elapsed.0,
                value: finite(point.value),
            })
            .collect(),
        ..CoursePart::default()
    };
    match &course.character {
        Character::Unknown | Character::Burst(_) => CoursePart {
            state: "unknown",
            ..base
        },
        Character::Steady { .. } => match course.possible_ramp {
            Some(drift) => CoursePart {
                state: "possible_ramp",
                change: finite(drift.change),
                ..base
            },
            None => CoursePart {
                state: "steady",
                ..base
            },
        },
        Character::Step {
            segments: [before, behind],
        } => CoursePart {
            state: "step",
            change: finite(behind.level / before.level - 1.0),
            changed: course
                .points
                .get(behind.start)
                .map(|point| rfc3339(point.at)),
            low: finite(before.level.min(behind.level)),
            high: finite(before.level.max(behind.level)),
            ..base
        },
        Character::Ramp(drift) => CoursePart {
            state: "ramp",
            change: finite(drift.change),
            ..base
        },
        Character::TwoState(found) => CoursePart {
            state: "two_state",
            low: finite(found.low),
            high: finite(found.high),
            low_share: finite(found.low_share),
            dwell_ns: point_ns(found.dwell),
            ..base
        },
        Character::Periodic(period) => CoursePart {
            state: "periodic",
            period_ns: point_ns(period.windows),
            depth: finite(period.depth),
            ..base
        },
        Character::Unstable { segments } => {
            let levels = || segments.iter().map(|segment| segment.level);
            CoursePart {
                state: "unstable",
                levels: Some(segments.len()),
                low: levels().reduce(f64::min).and_then(finite),
                high: levels().reduce(f64::max).and_then(finite),
                ..base
            }
        }
    }
}

fn levels_part(levels: &Levels) -> LevelsPart {
    LevelsPart {
        typical: finite(levels.typical),
        floor: finite(levels.floor),
        best: finite(levels.best),
        slow_share: finite(levels.slow_share),
        mean: finite(levels.mean),
        mean_lo: levels.within.and_then(|interval| finite(interval.lo)),
        mean_hi: levels.within.and_then(|interval| finite(interval.hi)),
        windows: levels.windows,
    }
}

fn mark_part(mark: &Mark) -> MarkPart {
    let (kind, time, reason) = match &mark.what {
        What::ClockJump(by) => ("clock_jump", Some(by.0), None),
        What::Suspended(time) => ("suspended", Some(time.0), None),
        What::SuspendedAtRest(time) => ("suspended_at_rest", Some(time.0), None),
        What::Gap(time) => ("gap", Some(time.0), None),
        What::Failed(failure) => ("failed", None, Some(failure.to_string())),
    };
    MarkPart {
        at: rfc3339(mark.at),
        elapsed_ns: mark.elapsed.0,
        kind,
        time_ns: time,
        reason,
    }
}

fn nanos(seconds: f64) -> u64 {
    round_to_u64(seconds * 1e9)
}
