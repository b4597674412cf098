//! From what the copies did to the round's values.

use crate::measure::Window;
use crate::wire::CopyReport;
use model::latency;
use model::num::{approx, count, round_to_u64, round_to_usize};
use model::plan::PlannedCase;
use model::record::{CopyDetail, CopyRecord, Failure, Measured, Outcome};
use model::spec::{How, MetricClass};
use model::units::Nanos;
use std::collections::BTreeMap;

/// The round's outcome, and what its copies did where one of them failed and they are told apart. `hows` tells how each
/// metric comes about, in the order of the case's metrics.
pub(crate) fn outcome(
    case: &PlannedCase,
    hows: &[How],
    reports: Vec<CopyReport>,
) -> (Outcome, Option<Box<Measured>>) {
    let Some(failure) = failure(&reports) else {
        return (Outcome::Done(measured(case, hows, reports)), None);
    };
    let partial = case
        .shape
        .apart
        .then(|| Box::new(measured(case, hows, reports)));
    (Outcome::Failed(failure), partial)
}

/// Why the round has no value: the failure of the first copy that did not do its work.
fn failure(reports: &[CopyReport]) -> Option<Failure> {
    let failed = |report: &CopyReport| {
        let (kind, words) = report.failed.clone()?;
        Some(kind.failure(words))
    };
    let too_long: u64 = reports.iter().map(|report| report.latency_too_long).sum();
    let says_too_long = || {
        let words = format!("record latencies: {too_long} operations took longer than 60 s");
        (too_long > 0).then_some(Failure::Error(words))
    };
    reports.iter().find_map(failed).or_else(says_too_long)
}

fn measured(case: &PlannedCase, hows: &[How], reports: Vec<CopyReport>) -> Measured {
    let mut values = BTreeMap::new();
    let mut missing = BTreeMap::new();
    let latency = latency::merged(reports.iter().map(|report| report.latency.as_slice()));
    let latencies = merged(&reports);
    for (metric, how) in case.metrics.iter().zip(hows) {
        match value(*how, &metric.quantity, &reports, &latency, &latencies) {
            Ok(value) if value.is_finite() => {
                values.insert(metric.quantity.clone(), value);
            }
            Ok(value) => {
                missing.insert(metric.quantity.clone(), format!("the value is {value}"));
            }
            Err(why) => {
                missing.insert(metric.quantity.clone(), why);
            }
        }
    }
    Measured {
        values,
        missing,
        windows: windows(&reports, case.shape.window),
        cpu_windows: if is_cpu_work(case) {
            cpu_windows(&reports, case.shape.window)
        } else {
            Vec::new()
        },
        notes: notes(&reports),
        // The values are computed from all that was recorded; what is kept is for later questions.
        latencies: latencies
            .into_iter()
            .map(|(name, pairs)| (name, latency::coarsened(&pairs)))
            .collect(),
        copies: reports
            .into_iter()
            .map(|report| copy_record(report, case.shape.apart))
            .collect(),
    }
}

fn value(
    how: How,
    quantity: &str,
    reports: &[CopyReport],
    latency: &[(u64, u64)],
    latencies: &Named,
) -> Result<f64, String> {
    let copies = count(reports.len());
    let reported = || -> Result<f64, String> {
        let values: Option<Vec<f64>> = reports
            .iter()
            .map(|report| report.reported.get(quantity).copied())
            .collect();
        values
            .map(|values| values.iter().sum())
            .ok_or_else(|| why_not_reported(quantity, reports))
    };
    match how {
        How::Rate
            if reports
                .iter()
                .all(|report| report.reported.contains_key(quantity)) =>
        {
            reported()
        }
        How::Rate => Ok(reports.iter().map(rate).sum()),
        How::OpsPerSecond => Ok(reports.iter().map(|r| per_second(approx(r.ops), r)).sum()),
        How::ReportedPerSecond(name) => reports
            .iter()
            .map(|r| r.reported.get(name).map(|&amount| per_second(amount, r)))
            .sum::<Option<f64>>()
            .ok_or_else(|| format!("the workload did not report `{name}`")),
        How::CpuPerOp => {
            let sum = |of: fn(&CopyReport) -> u64| approx(reports.iter().map(of).sum());
            if sum(|r| r.ops) > 0.0 {
                Ok(sum(|r| r.user_ns + r.system_ns) / sum(|r| r.ops))
            } else {
                Err("no operation finished".to_owned())
            }
        }
        How::QuantileOf(name, q) => {
            let latency = latencies.get(name).map_or(&[][..], Vec::as_slice);
            latency_quantile(latency, q, BEYOND_MIN, &[])
        }
        How::MeanOf(name) => latencies
            .get(name)
            .and_then(|pairs| latency::mean(pairs))
            .ok_or_else(|| "no latency was recorded".to_owned()),
        How::CpuRate => per_cpu_second(reports, |r| approx(r.ops) * r.work_per_op),
        How::OpsPerCpuSecond => per_cpu_second(reports, |r| approx(r.ops)),
        How::ReportedSum => reported(),
        How::ReportedMean | How::Setting => reported().map(|sum| sum / copies),
        How::WallPerOp => {
            if reports.iter().any(|report| report.ops == 0) {
                return Err("no operation finished".to_owned());
            }
            let sum: f64 = reports
                .iter()
                .map(|r| approx(r.wall_ns) / approx(r.ops))
                .sum();
            Ok(sum / copies)
        }
        How::LatencyQuantile(q) => latency_quantile(latency, q, BEYOND_MIN, reports),
        How::LatencyQuantileOfFew(q) => latency_quantile(latency, q, 1.0, reports),
        How::LatencyMean => latency::mean(latency).ok_or_else(|| why_no_latency(reports)),
    }
}

/// The reason of the first copy that has no value and gives one.
fn why_not_reported(quantity: &str, reports: &[CopyReport]) -> String {
    let given = reports
        .iter()
        .filter(|report| !report.reported.contains_key(quantity))
        .find_map(|report| report.missing.get(quantity));
    given.map_or_else(|| "the workload did not report it".to_owned(), Clone::clone)
}

/// Operations that must lie beyond a percentile of a round: with fewer, single accidents decide where it is. Source:
/// the method page, "Percentiles".
const BEYOND_MIN: f64 = 10.0;

/// The quantile, where the round has operations enough that so many of them are expected to lie beyond it. The shortest
/// and the longest are no percentiles beyond which anything could lie: one operation is enough for them.
fn latency_quantile(
    latency: &[(u64, u64)],
    q: f64,
    beyond: f64,
    reports: &[CopyReport],
) -> Result<f64, String> {
    let n = latency::operations(latency);
    let found = latency::quantile(latency, q).ok_or_else(|| why_no_latency(reports))?;
    // 1 - 0.9 is a little less than a tenth.
    let needed = round_to_u64((beyond / (1.0 - q)).round());
    if q > 0.0 && q < 1.0 && n < needed {
        let have = match n {
            1 => "1 operation in the round is".to_owned(),
            n => format!("{n} operations in the round are"),
        };
        return Err(format!(
            "{have} too few for its percentile {}: it takes {needed}",
            percentile(q)
        ));
    }
    Ok(approx(found))
}

/// Why there are no latencies. What is counted may be a part of what is timed: a rate counts those, and a latency is
/// one from the beginning to the end.
fn why_no_latency(reports: &[CopyReport]) -> String {
    if reports.iter().any(|report| report.ops > 0) {
        "no event was timed from its beginning to its end in the round".to_owned()
    } else {
        "no operation ended in the round".to_owned()
    }
}

/// `99.9` of 0.999.
fn percentile(q: f64) -> String {
    let text = format!("{:.6}", 100.0 * q);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Work over wall time, per second.
fn rate(report: &CopyReport) -> f64 {
    per_second(approx(report.ops) * report.work_per_op, report)
}

/// An amount of all copies over the CPU time, user and system, that they used for it together.
fn per_cpu_second(
    reports: &[CopyReport],
    amount: impl Fn(&CopyReport) -> f64,
) -> Result<f64, String> {
    let cpu_ns: u64 = reports.iter().map(|r| r.user_ns + r.system_ns).sum();
    if cpu_ns == 0 {
        return Err("the kernel counted no CPU time".to_owned());
    }
    Ok(reports.iter().map(amount).sum::<f64>() / Nanos(cpu_ns).as_secs_f64())
}

fn per_second(amount: f64, report: &CopyReport) -> f64 {
    amount / Nanos(report.wall_ns.max(1)).as_secs_f64()
}

/// Latencies by name: ascending pairs of nanoseconds and count.
type Named = BTreeMap<String, Vec<(u64, u64)>>;

/// The latencies of all copies together.
fn merged(reports: &[CopyReport]) -> Named {
    let mut lists: BTreeMap<&str, Vec<&[(u64, u64)]>> = BTreeMap::new();
    for (name, pairs) in reports.iter().flat_map(|report| &report.latencies) {
        lists.entry(name).or_default().push(pairs);
    }
    lists
        .into_iter()
        .map(|(name, lists)| (name.to_owned(), latency::merged(lists)))
        .collect()
}

/// What the copies noted, each sentence once.
fn notes(reports: &[CopyReport]) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    for note in reports.iter().flat_map(|report| &report.notes) {
        if !notes.contains(note) {
            notes.push(note.clone());
        }
    }
    notes
}

/// The rates of the copies' windows, summed.
fn windows(reports: &[CopyReport], length: Nanos) -> Vec<f64> {
    let rates = |report: &CopyReport| {
        if report.played_windows.is_empty() {
            on_grid(&report.windows, length, |window| {
                approx(window.ops) * report.work_per_op
            })
        } else {
            report.played_windows.clone()
        }
    };
    summed(&reports.iter().map(rates).collect::<Vec<_>>())
}

/// The CPU time that the copies got a second, window by window, summed; empty where a series was played.
fn cpu_windows(reports: &[CopyReport], length: Nanos) -> Vec<f64> {
    if reports.iter().any(|r| !r.played_windows.is_empty()) {
        return Vec::new();
    }
    let got = |report: &CopyReport| {
        on_grid(&report.windows, length, |window| {
            Nanos(window.cpu_ns).as_secs_f64()
        })
    };
    summed(&reports.iter().map(got).collect::<Vec<_>>())
}

/// Whether CPU time is what the test turns into work.
fn is_cpu_work(case: &PlannedCase) -> bool {
    let first = case.metrics.first();
    first.is_some_and(|metric| metric.class == MetricClass::Compute)
}

/// `amount` a second of each window. One that took the time of several, because a batch did, stands for as many, so
/// that what comes behind it stays in its place; a last one shorter than half of a full one is left out: it holds too
/// few batches to be a rate.
fn on_grid(windows: &[Window], length: Nanos, amount: impl Fn(&Window) -> f64) -> Vec<f64> {
    let of = |window: &Window| {
        let rate = amount(window) / Nanos(window.wall_ns.max(1)).as_secs_f64();
        let stands_for = round_to_usize(approx(window.wall_ns) / approx(length.0.max(1)));
        std::iter::repeat_n(rate, stands_for)
    };
    windows.iter().flat_map(of).collect()
}

/// The copies' series, summed: all start at the gate and keep to one grid, so the same index is the same time within a
/// batch.
fn summed(per_copy: &[Vec<f64>]) -> Vec<f64> {
    let shortest = per_copy.iter().map(Vec::len).min().unwrap_or(0);
    (0..shortest)
        .map(|i| per_copy.iter().map(|windows| windows[i]).sum())
        .collect()
}

fn copy_record(report: CopyReport, apart: bool) -> CopyRecord {
    let detail = || CopyDetail {
        latencies: report.latencies.clone(),
        voluntary_switches: report.voluntary,
        involuntary_switches: report.involuntary,
        major_faults: report.major_faults,
        minor_faults: report.minor_faults,
        failed: report
            .failed
            .clone()
            .map(|(kind, words)| kind.failure(words)),
    };
    CopyRecord {
        apart: apart.then(|| Box::new(detail())),
        ops: report.ops,
        work: approx(report.ops) * report.work_per_op,
        wall: Nanos(report.wall_ns),
        user: Nanos(report.user_ns),
        system: Nanos(report.system_ns),
        digest: report.digest,
        allocations: report.allocations,
        cpu: report.cpu,
        latency: latency::coarsened(&report.latency),
        reported: report.reported,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::digest::Digest;

    fn window(wall_ns: u64, ops: u64, cpu_ns: u64) -> Window {
        Window {
            wall_ns,
            ops,
            cpu_ns,
        }
    }

    fn report(ops: u64, wall_ns: u64) -> CopyReport {
        CopyReport {
            ops,
            work_per_op: 2.0,
            wall_ns,
            windows: vec![
                window(100_000_000, ops, 75_000_000),
                window(10_000_000, 7, 1),
            ],
            user_ns: 1,
            system_ns: 2,
            voluntary: 0,
            involuntary: 0,
            major_faults: 0,
            minor_faults: 0,
            allocations: 0,
            digest: Digest::EMPTY,
            cpu: None,
            latency: vec![(10, 1), (20, 1)],
            latency_too_long: 0,
            latencies: BTreeMap::from([("clat".to_owned(), vec![(10, 3), (20, 7)])]),
            notes: vec!["said once".to_owned()],
            reported: BTreeMap::from([("own".to_owned(), 3.0)]),
            missing: BTreeMap::new(),
            played_windows: Vec::new(),
            failed: None,
        }
    }

    #[test]
    fn operations_and_work_of_a_round_have_one_wall_time() {
        for (ops, wall_ns, work_per_op) in [(3, 7, 8.0), (1_234_567, 987_654_321, 1024.0)] {
            let mut report = report(ops, wall_ns);
            report.work_per_op = work_per_op;
            let reports = [report];
            let of = |how| value(how, "x", &reports, &[], &Named::new()).unwrap();
            let (ops_per_s, work_per_s) = (of(How::OpsPerSecond), of(How::Rate));
            let ratio = work_per_s / work_per_op / ops_per_s;
            assert!((ratio - 1.0).abs() < 1e-12, "{ops} {wall_ns}: {ratio}");
        }
    }

    #[test]
    fn values_follow_their_definition() {
        let reports = [report(100, 1_000_000_000), report(100, 500_000_000)];
        let latency = [(10, 2), (20, 2)];
        let check = |how, quantity, expected: Result<f64, &str>| {
            let value = value(how, quantity, &reports, &latency, &merged(&reports));
            assert_eq!(
                value.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|e| *e)
            );
        };
        check(How::Rate, "x", Ok(600.0));
        check(How::Rate, "own", Ok(6.0));
        check(How::ReportedSum, "own", Ok(6.0));
        check(How::ReportedMean, "own", Ok(3.0));
        check(How::Setting, "own", Ok(3.0));
        check(How::ReportedSum, "x", Err("the workload did not report it"));
        check(How::WallPerOp, "x", Ok(7_500_000.0));
        check(
            How::LatencyQuantile(0.5),
            "x",
            Err("4 operations in the round are too few for its percentile 50: it takes 20"),
        );
        check(
            How::LatencyQuantileOfFew(0.95),
            "x",
            Err("4 operations in the round are too few for its percentile 95: it takes 20"),
        );
        check(How::LatencyQuantileOfFew(0.75), "x", Ok(20.0));
        check(How::LatencyQuantile(0.0), "x", Ok(10.0));
        check(How::LatencyQuantile(1.0), "x", Ok(20.0));
        check(How::LatencyMean, "x", Ok(15.0));
        check(How::OpsPerSecond, "x", Ok(300.0));
        check(How::ReportedPerSecond("own"), "x", Ok(9.0));
        check(
            How::ReportedPerSecond("x"),
            "x",
            Err("the workload did not report `x`"),
        );
        check(How::CpuPerOp, "x", Ok(0.03));
        check(How::QuantileOf("clat", 0.3), "x", Ok(10.0));
        check(How::QuantileOf("clat", 0.5), "x", Ok(20.0));
        check(
            How::QuantileOf("clat", 0.99),
            "x",
            Err("20 operations in the round are too few for its percentile 99: it takes 1000"),
        );
        check(How::MeanOf("clat"), "x", Ok(17.0));
        check(How::MeanOf("x"), "x", Err("no latency was recorded"));
        assert_eq!(notes(&reports), ["said once"]);
        assert_eq!(
            windows(&reports, Nanos::from_millis(100)),
            [4000.0],
            "the short last window is left out"
        );
        let stalled = CopyReport {
            windows: vec![
                window(100_000_000, 400, 20_000_000),
                window(250_000_000, 250, 250_000_000),
                window(125_000_000, 500, 25_000_000),
            ],
            ..report(0, 1)
        };
        let rates = windows(&[stalled], Nanos::from_millis(100));
        assert_eq!(
            rates,
            [8000.0, 2000.0, 2000.0, 2000.0, 8000.0],
            "a window that took the time of three stands for three"
        );
    }

    #[test]
    fn a_value_that_is_not_reported_has_the_reason_of_the_copy_that_lacks_it() {
        let mut lacks = report(1, 1);
        lacks.reported.clear();
        lacks.missing = BTreeMap::from([("own".to_owned(), "no such level".to_owned())]);
        let mut has = report(1, 1);
        has.missing = BTreeMap::from([("own".to_owned(), "not asked".to_owned())]);
        let value =
            |reports: &[CopyReport]| value(How::ReportedMean, "own", reports, &[], &Named::new());
        assert_eq!(value(&[has, lacks]), Err("no such level".to_owned()));
        let mut silent = report(1, 1);
        silent.reported.clear();
        let none = "the workload did not report it".to_owned();
        assert_eq!(value(&[silent]), Err(none));
    }

    #[test]
    fn cpu_time_is_kept_window_by_window_where_it_is_what_becomes_work() {
        let reports = [report(100, 1_000_000_000), report(100, 500_000_000)];
        let window = Nanos::from_millis(100);
        let [both] = cpu_windows(&reports, window)[..] else {
            panic!("the short last window is left out");
        };
        assert!((both - 1.5).abs() < 1e-9, "two copies, 75 ms each: {both}");
        let played = CopyReport {
            played_windows: vec![1.0],
            ..report(100, 1)
        };
        assert!(cpu_windows(&[played], window).is_empty());
    }

    #[test]
    fn events_of_which_a_round_holds_only_parts_are_not_said_not_to_be() {
        let none = "no event was timed from its beginning to its end in the round";
        let check = |how, ops, latency: &[(u64, u64)], expected: &str| {
            let found = value(how, "x", &[report(ops, 1)], latency, &Named::new());
            assert_eq!(found, Err(expected.to_owned()));
        };
        check(How::LatencyMean, 7, &[], none);
        check(How::LatencyQuantile(1.0), 7, &[], none);
        check(How::LatencyQuantileOfFew(0.95), 7, &[], none);
        check(How::LatencyMean, 0, &[], "no operation ended in the round");
        // What is recorded under a name of its own is no part of what the rate counts.
        check(
            How::QuantileOf("y", 0.5),
            7,
            &[],
            "no operation ended in the round",
        );
        let one = "1 operation in the round is too few for its percentile 95: it takes 20";
        check(How::LatencyQuantileOfFew(0.95), 7, &[(10, 1)], one);
    }

    #[test]
    fn a_percentile_needs_ten_operations_beyond_it() {
        let check = |n: u64, q: f64, ok: bool| {
            let found = value(
                How::LatencyQuantile(q),
                "x",
                &[report(n, 1)],
                &[(10, n)],
                &Named::new(),
            );
            assert_eq!(found.is_ok(), ok, "{n} {q}: {found:?}");
        };
        check(19, 0.5, false);
        check(20, 0.5, true);
        check(99, 0.9, false);
        check(100, 0.9, true);
        check(999, 0.99, false);
        check(1000, 0.99, true);
        check(9_999, 0.999, false);
        check(10_000, 0.999, true);
        check(0, 0.0, false);
        check(1, 0.0, true);
        check(0, 1.0, false);
        check(1, 1.0, true);
        let few = value(
            How::LatencyQuantile(0.999),
            "x",
            &[report(1, 1)],
            &[(10, 42)],
            &Named::new(),
        );
        let why = "42 operations in the round are too few for its percentile 99.9: it takes 10000";
        assert_eq!(few, Err(why.to_owned()));
    }

    #[test]
    fn the_rate_per_cpu_second_does_not_grow_with_copies_or_shrink_with_waiting() {
        let with = |wall_ns, user_ns, system_ns| CopyReport {
            user_ns,
            system_ns,
            ..report(100, wall_ns)
        };
        // 100 operations of 2 units in half a second of CPU time each, whatever the wall time.
        for reports in [
            vec![with(500_000_000, 400_000_000, 100_000_000)],
            vec![
                with(500_000_000, 500_000_000, 0),
                with(1_000_000_000, 0, 500_000_000),
            ],
        ] {
            let value = |how| value(how, "x", &reports, &[], &Named::new());
            assert_eq!(value(How::CpuRate), Ok(400.0));
            assert_eq!(value(How::OpsPerCpuSecond), Ok(200.0));
        }
        for how in [How::CpuRate, How::OpsPerCpuSecond] {
            let uncounted = value(how, "x", &[with(1, 0, 0)], &[], &Named::new());
            assert_eq!(uncounted, Err("the kernel counted no CPU time".to_owned()));
        }
    }

    #[test]
    fn copies_are_kept_apart_only_where_they_do_different_things() {
        let kept = |apart| copy_record(report(100, 1), apart).apart;
        assert_eq!(kept(false), None);
        let detail = kept(true).unwrap();
        assert_eq!(detail.latencies["clat"], [(10, 3), (20, 7)]);
    }

    #[test]
    fn no_operation_is_a_reason_not_a_zero() {
        let value = value(How::WallPerOp, "x", &[report(0, 1)], &[], &Named::new());
        assert_eq!(value, Err("no operation finished".to_owned()));
    }
}
