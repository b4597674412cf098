//! What is told of a job beside its directions: depths of the queue, the search for a depth, the steady state, and
//! errors that were let pass.

use super::Piece;
use dialects::fio::result::{Depths, LatencyTarget, SteadyResult};
use model::job::{self, ContinueOn, SteadyQuantity, SteadyState};
use model::num::{approx, round_to_u64};
use model::record::Failure;
use model::units::Nanos;

/// Shares of the classes of depth, in per cent.
pub(super) fn depths(piece: &Piece<'_>) -> Option<Depths> {
    let mut seen = job::Depths::default();
    let looks = piece.told().filter_map(|told| told.depths.as_ref());
    looks.for_each(|depths| seen.add(depths));
    let shares = |counts: [u64; 7]| -> Option<[f64; 7]> {
        let all: u64 = counts.iter().sum();
        (all > 0).then(|| counts.map(|count| 100.0 * approx(count) / approx(all)))
    };
    Some(Depths {
        level: shares(seen.level)?,
        submit: shares(seen.submit),
        complete: shares(seen.complete),
    })
}

/// The latency to keep, and the depth that keeps it: the smallest of several jobs'. Depth 0 is none found; where none
/// is looked for, it is the one that was asked for.
pub(super) fn target(piece: &Piece<'_>) -> LatencyTarget {
    let asked = piece.first().latency;
    if asked.latency == Nanos::ZERO {
        return LatencyTarget {
            depth: piece.first().does.depth,
            target_ns: 0,
            percentile: asked.percentile,
            window_ns: 0,
        };
    }
    let found = piece.told().filter_map(|told| told.latency_depth);
    LatencyTarget {
        depth: found.min().unwrap_or(0),
        target_ns: asked.latency.0,
        percentile: asked.percentile,
        window_ns: asked.window.0,
    }
}

/// The steady state of the first job: that of several together nobody looked for.
pub(super) fn steady_state(piece: &Piece<'_>) -> Option<SteadyResult> {
    let rule = piece.first().does.steady_state?;
    let found = piece.told().next()?.steady.clone().unwrap_or_default();
    let whole = |series: &[f64]| series.iter().map(|value| round_to_u64(*value)).collect();
    let unit = if rule.is_percent { "%" } else { "" };
    Some(SteadyResult {
        rule: format!("{}:{:.6}{unit}", word(rule), rule.limit),
        duration_s: rule.duration.0 / 1_000_000_000,
        is_attained: found.attained,
        criterion: format!("{:.6}{unit}", found.criterion),
        max_deviation: found.deviation,
        slope: found.slope,
        bw_bytes_per_s: whole(&found.bytes_per_s),
        iops: whole(&found.iops),
    })
}

/// fio's word for what is judged.
const fn word(rule: SteadyState) -> &'static str {
    match (rule.quantity, rule.by_slope) {
        (SteadyQuantity::Iops, false) => "iops",
        (SteadyQuantity::Iops, true) => "iops_slope",
        (SteadyQuantity::Bandwidth, false) => "bw",
        (SteadyQuantity::Bandwidth, true) => "bw_slope",
        (SteadyQuantity::Latency, false) => "lat",
        (SteadyQuantity::Latency, true) => "lat_slope",
    }
}

/// The number of the first job that failed; `None` where all did what they were to.
pub(super) fn error(piece: &Piece<'_>) -> Option<i32> {
    piece.parts.iter().find_map(|part| {
        let failure = part.copy.apart.as_deref()?.failed.as_ref()?;
        // The job knows better than the words that it said.
        Some(part.told.errno.unwrap_or_else(|| number(failure)))
    })
}

/// The number of a failure.
pub(super) fn number(failure: &Failure) -> i32 {
    match failure {
        Failure::WrongResult(_) => WRONG,
        other => errno(&other.to_string()),
    }
}

/// The number of the error, where its words name one: `... (os error 28)`; else 1, as fio has it for what is no error
/// of the kernel.
pub(super) fn errno(words: &str) -> i32 {
    let number = words
        .rsplit_once("(os error ")
        .and_then(|(_, rest)| rest.split_once(')'));
    number
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(1)
}

/// EILSEQ: what fio has for data that is not what was written.
const WRONG: i32 = 84;

/// Errors that were let pass: how many, and the number of the first. `None` where none may be.
pub(super) fn let_pass(piece: &Piece<'_>) -> Option<(u64, i32)> {
    if piece.first().does.continue_on == ContinueOn::default() {
        return None;
    }
    let mismatches: u64 = piece.told().map(|told| told.verify_errors).sum();
    let of_kinds = |told: &job::Report| -> u64 { told.done.iter().map(|done| done.errors).sum() };
    let failed: u64 = piece.told().map(of_kinds).sum();
    let first = piece.told().find_map(|told| told.first_errno);
    let first = first.unwrap_or(if mismatches > 0 { WRONG } else { 0 });
    Some((failed + mismatches, first))
}
