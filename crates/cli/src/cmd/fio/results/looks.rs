//! What is told of a job beside its directions: depths of the queue, the search for a depth, the steady state, and
//! errors that were let pass.

use super::{Piece, reported};
use dialects::fio::result::{Depths, LatencyTarget, SteadyResult};
use model::job::{ContinueOn, SteadyQuantity, SteadyState};
use model::num::round_to_u64;
use model::record::{CopyRecord, Failure};
use model::units::Nanos;

/// Shares of the classes of depth, in per cent.
pub(super) fn depths(piece: &Piece<'_>) -> Option<Depths> {
    let shares = |name: &str| -> Option<[f64; 7]> {
        let count = |class: usize| -> f64 {
            let key = format!("{name}_{class}");
            piece.copies.iter().map(|copy| reported(copy, &key)).sum()
        };
        let counts: [f64; 7] = std::array::from_fn(count);
        let all: f64 = counts.iter().sum();
        (all > 0.0).then(|| counts.map(|count| 100.0 * count / all))
    };
    Some(Depths {
        level: shares("depth_level")?,
        submit: shares("depth_submit"),
        complete: shares("depth_complete"),
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
    let found = piece
        .copies
        .iter()
        .filter_map(|copy| copy.reported.get("latency_target_depth"));
    let depth = found.copied().reduce(f64::min).unwrap_or(0.0);
    LatencyTarget {
        depth: u32::try_from(round_to_u64(depth)).unwrap_or(u32::MAX),
        target_ns: asked.latency.0,
        percentile: asked.percentile,
        window_ns: asked.window.0,
    }
}

/// The steady state of the first job: that of several together nobody looked for.
pub(super) fn steady_state(piece: &Piece<'_>) -> Option<SteadyResult> {
    let rule = piece.first().does.steady_state?;
    let copy = piece.copies.first()?;
    let value = |name: &str| reported(copy, &format!("steady_{name}"));
    let unit = if rule.is_percent { "%" } else { "" };
    Some(SteadyResult {
        rule: format!("{}:{:.6}{unit}", word(rule), rule.limit),
        duration_s: rule.duration.0 / 1_000_000_000,
        is_attained: value("attained") > 0.5,
        criterion: format!("{:.6}{unit}", value("criterion")),
        max_deviation: value("deviation"),
        slope: value("slope"),
        bw_bytes_per_s: series(copy, "steady_bw_"),
        iops: series(copy, "steady_iops_"),
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

/// The values of consecutive names, such as `steady_bw_00000` and on.
fn series(copy: &CopyRecord, name: &str) -> Vec<u64> {
    let numbered = |key: &str| {
        let number = key.strip_prefix(name);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let values = copy.reported.iter().filter(|(key, _)| numbered(key));
    values.map(|(_, value)| round_to_u64(*value)).collect()
}

/// The number of the first job that failed; `None` where all did what they were to.
pub(super) fn error(piece: &Piece<'_>) -> Option<i32> {
    let of_copy = |copy: &&CopyRecord| {
        let failure = copy.apart.as_deref()?.failed.as_ref()?;
        // The job knows better than the words that it said.
        let own = copy.reported.get(workloads::storage::ERRNO);
        let own = own.and_then(|errno| i32::try_from(round_to_u64(*errno)).ok());
        Some(own.unwrap_or_else(|| number(failure)))
    };
    piece.copies.iter().find_map(of_copy)
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
    let names = [
        "read_errors",
        "write_errors",
        "trim_errors",
        "verify_errors",
    ];
    let of = |copy: &CopyRecord| -> f64 { names.iter().map(|name| reported(copy, name)).sum() };
    let total: f64 = piece.copies.iter().map(|copy| of(copy)).sum();
    let first = piece
        .copies
        .iter()
        .map(|copy| reported(copy, "first_errno"))
        .find(|number| *number > 0.0);
    let is_wrong = piece
        .copies
        .iter()
        .any(|copy| reported(copy, "verify_errors") > 0.0);
    let first = match first {
        Some(number) => i32::try_from(round_to_u64(number)).unwrap_or(i32::MAX),
        None if is_wrong => WRONG,
        None => 0,
    };
    Some((round_to_u64(total), first))
}
