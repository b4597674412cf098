//! Whether a known latency is measured as what it is: the median and the 99th percentile of sleeps of 4 ms.
//!
//! The sleeps of all rounds are taken together, because one round has too few for its own 99th percentile. What a run
//! keeps of latencies is coarser than what it recorded, by 0.8 % at most (`model::latency`), and a bucket stands at the
//! mean of what is in it: enough for bounds of 2 %.

use super::{Limit, Line, document, export};
use anyhow::{Context, ensure};
use engine::recorder::quantile;
use model::num::approx;
use serde_json::Value;
use std::path::Path;

/// What is allowed around the intended 4 ms, in milliseconds: 2 %.
const WITHIN: Limit = Limit::Within(3.92, 4.08);

/// Rounds of half a second, 125 sleeps each.
const PASSES: &str = "20";

/// Sleeps that must have been recorded; fewer say too little of their 99th percentile.
const SLEEPS_MIN: u64 = 2000;

/// Measures them.
pub(super) fn lines(binary: &Path, dir: &Path) -> anyhow::Result<[Line; 2]> {
    let run = [
        "run",
        "selftest.sleep",
        "--passes",
        PASSES,
        "--quiet",
        "--json",
    ];
    document(binary, dir, &run)?;
    let pairs = latencies(&export(binary, dir)?)?;
    let sleeps: u64 = pairs.iter().map(|(_, count)| count).sum();
    ensure!(
        sleeps >= SLEEPS_MIN,
        "{sleeps} sleeps were recorded in {PASSES} rounds, and {SLEEPS_MIN} are needed\nhint: on a busy machine rounds \
         have fewer; try again when it is quiet"
    );
    let line = |what, share| -> anyhow::Result<Line> {
        Ok(Line {
            what,
            value: approx(quantile(&pairs, share).context("no sleep was recorded")?) / 1e6,
            unit: "ms",
            limit: WITHIN,
        })
    };
    Ok([
        line("sleep of 4 ms, median", 0.5)?,
        line("sleep of 4 ms, 99th percentile", 0.99)?,
    ])
}

/// The latencies of all rounds of an exported run.
fn latencies(export: &Value) -> anyhow::Result<Vec<(u64, u64)>> {
    let rounds = export["run"]["rounds"]
        .as_array()
        .context("the export has no rounds")?;
    let copies = rounds
        .iter()
        .filter_map(|round| round["outcome"]["done"]["copies"].as_array())
        .flatten();
    let mut all = Vec::new();
    for copy in copies {
        let pairs: Vec<(u64, u64)> = serde_json::from_value(copy["latency"].clone())
            .context("read the latencies of a round")?;
        all.extend(pairs);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sleeps_of_all_rounds_count_and_those_of_failed_ones_do_not() {
        let done = |pairs: Value| json!({"outcome": {"done": {"copies": [{"latency": pairs}]}}});
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
        let check = |value: f64, holds: bool| assert_eq!(WITHIN.holds(value), holds, "{value}");
        check(3.91, false);
        check(3.93, true);
        check(4.07, true);
        check(4.09, false);
    }
}
