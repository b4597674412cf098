//! Whether a known latency is measured as what it is: the median and the 99th percentile of sleeps of 4 ms.
//!
//! A sleeper is woken up when the machine gets round to it, which on a virtual one is a tenth of a millisecond late now
//! and then. The median is held against the 4 ms that were asked for; the 99th percentile against sleeps that a bare
//! loop makes in turn with the runs and times by itself, or the lateness of the host would be blamed on the program.
//!
//! The sleeps of all rounds are taken together, because one round has too few for its own 99th percentile. What a run
//! keeps of latencies is coarser than what it recorded, by 0.8 % at most (`model::latency`), and a bucket stands at the
//! mean of what is in it: enough for bounds of 2 %.

use super::{Limit, Line, document, export};
use anyhow::{Context, anyhow, ensure};
use model::latency::{merged, quantile};
use model::num::approx;
use serde_json::Value;
use std::path::Path;
use sys::clock;

/// How long a sleep is, in nanoseconds.
const SLEEP_NS: u64 = 4_000_000;

/// What a figure may be off, as a share of what it is held against.
const OFF_MAX: f64 = 0.02;

/// The program and the bare loop take turns this often.
const TURNS: usize = 4;

/// Rounds of a turn, of half a second and 125 sleeps each.
const PASSES: &str = "5";

/// Sleeps of the bare loop in a turn: as many as the program makes.
const BARE_SLEEPS: usize = 625;

/// Sleeps that must have been recorded; fewer say too little of their 99th percentile.
const SLEEPS_MIN: u64 = 2000;

/// Measures them.
pub(super) fn lines(binary: &Path, dir: &Path) -> anyhow::Result<[Line; 3]> {
    let run = [
        "run",
        "selftest.sleep",
        "--passes",
        PASSES,
        "--quiet",
        "--json",
    ];
    let (mut recorded, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        document(binary, dir, &run)?;
        recorded.extend(latencies(&export(binary, dir)?)?);
        bare.extend(bare_sleeps()?);
    }
    // Pairs of a value and how often it was, in the order of the values.
    recorded.sort_unstable();
    bare.sort_unstable();
    let sleeps: u64 = recorded.iter().map(|(_, count)| count).sum();
    ensure!(
        sleeps >= SLEEPS_MIN,
        "{sleeps} sleeps were recorded in {TURNS} times {PASSES} rounds, and {SLEEPS_MIN} are needed\nhint: on a busy \
         machine rounds have fewer; try again when it is quiet"
    );
    let millis = |pairs: &[(u64, u64)], share| -> anyhow::Result<f64> {
        Ok(approx(quantile(pairs, share).context("nothing slept")?) / 1e6)
    };
    let line = |what, value, limit| Line {
        what,
        value,
        unit: "ms",
        limit,
    };
    let tail = millis(&bare, 0.99)?;
    Ok([
        line(
            "sleep of 4 ms, median",
            millis(&recorded, 0.5)?,
            around(approx(SLEEP_NS) / 1e6),
        ),
        line(
            "the same in a bare loop, 99th percentile",
            tail,
            Limit::None,
        ),
        line(
            "sleep of 4 ms, 99th percentile",
            millis(&recorded, 0.99)?,
            around(tail),
        ),
    ])
}

fn around(value: f64) -> Limit {
    Limit::Within(value * (1.0 - OFF_MAX), value * (1.0 + OFF_MAX))
}

/// How long sleeps took that nothing of the program had to do with, each with the count of 1. In a thread of their own:
/// programs inherit how exactly the thread sleeps that starts them.
fn bare_sleeps() -> anyhow::Result<Vec<(u64, u64)>> {
    let sleep = |_| {
        let before = clock::monotonic();
        clock::sleep_until(before + SLEEP_NS);
        (clock::monotonic() - before, 1)
    };
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            clock::sleep_exactly();
            (0..BARE_SLEEPS).map(sleep).collect()
        });
        sleeper.join()
    })
    .map_err(|_| anyhow!("the bare loop of sleeps failed"))
}

/// The latencies of all rounds of an exported run, ascending.
fn latencies(export: &Value) -> anyhow::Result<Vec<(u64, u64)>> {
    let rounds = export["run"]["rounds"]
        .as_array()
        .context("the export has no rounds")?;
    let done = rounds.iter().map(|round| &round["outcome"]["done"]);
    let mut all = Vec::new();
    for done in done.filter(|done| done.is_object()) {
        let pairs: Vec<(u64, u64)> = serde_json::from_value(done["latencies"]["lat"].clone())
            .context("read the latencies of a round")?;
        all.push(pairs);
    }
    Ok(merged(all.iter().map(Vec::as_slice)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sleeps_of_all_rounds_count_and_those_of_failed_ones_do_not() {
        let done = |pairs: Value| json!({"outcome": {"done": {"latencies": {"lat": pairs}}}});
        let export = json!({"run": {"rounds": [
            done(json!([[4_000_000, 98], [9_000_000, 1]])),
            {"outcome": {"failed": "killed"}},
            done(json!([[4_010_000, 101]])),
        ]}});
        let pairs = latencies(&export).unwrap();
        assert_eq!(quantile(&pairs, 0.5), Some(4_010_000));
        assert_eq!(quantile(&pairs, 0.995), Some(4_010_000));
        assert_eq!(quantile(&pairs, 1.0), Some(9_000_000));
        assert!(latencies(&json!({})).is_err());
    }

    #[test]
    fn both_ends_of_the_bounds_count() {
        let within = around(4.0);
        let check = |value: f64, holds: bool| assert_eq!(within.holds(value), holds, "{value}");
        check(3.91, false);
        check(3.93, true);
        check(4.07, true);
        check(4.09, false);
    }

    #[test]
    fn a_bare_sleep_is_no_shorter_than_was_asked_for() {
        let all = bare_sleeps().unwrap();
        assert_eq!(all.len(), BARE_SLEEPS);
        assert!(all.iter().all(|&(ns, count)| ns >= SLEEP_NS && count == 1));
    }
}
