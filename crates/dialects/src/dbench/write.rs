//! A run in dbench's own lines: for each number of clients the table of operations and the `Throughput` line.
//!
//! Counts are of all measured rounds together, averages are over all of their operations, and the longest is the
//! longest of them all; the throughput is the run's estimate. Our own reader finds the same figures in it.

use model::latency::{LAT, mean, merged, operations};
use model::plan::PlannedCase;
use model::record::{Measured, Outcome, Run};
use std::fmt::Write as _;

/// The workload whose cases are shown.
const WORKLOAD: &str = "fs.dbench";

/// The operations as dbench calls them, in its order.
const OPERATIONS: [&str; 17] = [
    "NTCreateX",
    "Close",
    "Rename",
    "Unlink",
    "Deltree",
    "Mkdir",
    "Rmdir",
    "Qpathinfo",
    "Qfileinfo",
    "Qfsinfo",
    "Sfileinfo",
    "Find",
    "WriteX",
    "ReadX",
    "LockX",
    "UnlockX",
    "Flush",
];

/// Whether a run has something to show so.
pub fn has_report(run: &Run) -> bool {
    run.plan.cases.iter().any(|case| case.workload == WORKLOAD)
}

/// The run in dbench's lines.
pub fn report_text(run: &Run) -> String {
    let summaries = stats::summarize(run);
    let mut out = String::new();
    let version = crate::printable::printable(&run.meta.binary.version);
    // A line that is dbench's would say that dbench measured.
    let _ = writeln!(out, "measured by kurabe {version}, in dbench's layout");
    for case in run
        .plan
        .cases
        .iter()
        .filter(|case| case.workload == WORKLOAD)
    {
        let rounds = run
            .rounds_of(&case.id)
            .filter_map(|round| match &round.outcome {
                Outcome::Done(measured) => Some(measured),
                Outcome::Failed(_) => None,
            });
        let rounds: Vec<&Measured> = rounds.collect();
        let rate = summaries
            .iter()
            .find(|one| (&one.id.case, one.id.quantity.as_str()) == (&case.id, "bytes_per_s"));
        let rate = rate.and_then(|one| one.estimate.as_ref());
        let clients = case.id.copies;
        match rate {
            Some(rate) if !rounds.is_empty() => {
                heading(&mut out, case, rounds.len());
                table(&mut out, &rounds);
                let longest = pairs(&rounds, LAT)
                    .last()
                    .map_or(0.0, |last| ms(model::num::approx(last.0)));
                let _ = writeln!(
                    out,
                    "\nThroughput {} MB/sec  {clients} clients  {clients} procs  max_latency={longest:.3} ms",
                    significant(rate.value / 1e6),
                );
            }
            _ => {
                let _ = writeln!(out, "\n{clients} clients: nothing was measured");
            }
        }
    }
    out
}

fn heading(out: &mut String, case: &PlannedCase, rounds: usize) {
    let load = case.params.get("load").map(ToString::to_string);
    let load = match load.as_deref() {
        None | Some("own") => "kurabe".to_owned(),
        Some(super::CLIENT_TXT) => "client.txt".to_owned(),
        Some(digest) => crate::printable::printable(digest).replace('\'', "?"),
    };
    let (time, warmup) = (case.shape.measure.0, case.shape.warmup.0);
    let seconds = |nanos: u64| nanos.div_ceil(1_000_000_000);
    let _ = writeln!(
        out,
        "\nrounds: {rounds}; Running for {} seconds with load '{load}' and minimum warmup {} secs",
        seconds(time),
        seconds(warmup)
    );
}

fn table(out: &mut String, rounds: &[&Measured]) {
    let _ = writeln!(out, "\n Operation      Count    AvgLat    MaxLat");
    let _ = writeln!(out, " ----------------------------------------");
    for operation in OPERATIONS {
        let pairs = pairs(rounds, &operation.to_ascii_lowercase());
        let (Some(mean), Some(&(longest, _))) = (mean(&pairs), pairs.last()) else {
            continue;
        };
        let (count, longest) = (operations(&pairs), model::num::approx(longest));
        let _ = writeln!(
            out,
            " {operation:<11} {count:>8} {:>9.3} {:>9.3}",
            ms(mean),
            ms(longest)
        );
    }
}

/// The latencies of one name, of all rounds.
fn pairs(rounds: &[&Measured], name: &str) -> Vec<(u64, u64)> {
    let lists = rounds.iter().filter_map(|round| round.latencies.get(name));
    merged(lists.map(Vec::as_slice))
}

fn ms(nanos: f64) -> f64 {
    nanos / 1e6
}

/// With six digits, as C's `%g` writes what is neither huge nor tiny.
pub(super) fn significant(value: f64) -> String {
    let whole = format!("{:.0}", value.abs().floor());
    let before = if whole == "0" { 0 } else { whole.len() };
    let digits = format!("{value:.*}", 6_usize.saturating_sub(before));
    if digits.contains('.') {
        digits
            .trim_end_matches('0')
            .trim_end_matches('.')
            .to_owned()
    } else {
        digits
    }
}
