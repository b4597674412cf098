//! From what the copies did to the round's values.

mod over_time;

use crate::wire::CopyReport;
use model::latency;
use model::num::{approx, count, round_to_u64};
use model::order::Keyed as _;
use model::plan::PlannedCase;
use model::record::{CopyRecord, Failure, Measured, Outcome};
use model::spec::{Amount, Fold, How, MetricClass, Stat, Time};
use model::units::Nanos;
use over_time::{cpu_windows, series, windows};
use std::collections::BTreeMap;

/// The round's outcome, and what its copies did where one of them failed: where they are told apart, or it says what it
/// did until then.
pub(crate) fn outcome(
    case: &PlannedCase,
    reports: Vec<CopyReport>,
) -> (Outcome, Option<Box<Measured>>) {
    let Some(failure) = failure(&reports) else {
        return (Outcome::Done(measured(case, reports)), None);
    };
    let says = |report: &CopyReport| report.detail.failed.is_some();
    let is_kept = case.shape.apart || reports.iter().any(says);
    let partial = is_kept.then(|| Box::new(measured(case, reports)));
    (Outcome::Failed(failure), partial)
}

/// The outcome of a round that goes on, if it had ended now.
pub(crate) fn so_far(case: &PlannedCase, reports: Vec<CopyReport>) -> Outcome {
    Outcome::Done(measured(case, reports))
}

/// Why the round has no value: the failure of the first copy that did not do its work.
fn failure(reports: &[CopyReport]) -> Option<Failure> {
    let too_long: u64 = reports.iter().map(|report| report.too_long).sum();
    let says_too_long = || {
        let words = format!("record latencies: {too_long} operations took longer than 60 s");
        (too_long > 0).then_some(Failure::Error(words))
    };
    let mut failures = reports.iter().filter_map(|r| r.detail.failed.clone());
    failures.next().or_else(says_too_long)
}

fn measured(case: &PlannedCase, reports: Vec<CopyReport>) -> Measured {
    let mut values = BTreeMap::new();
    let mut missing = BTreeMap::new();
    let latencies = merged(&reports);
    for metric in &case.metrics {
        match value(&metric.how, &metric.quantity, &reports, &latencies) {
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
        series: series(case, &reports),
        notes: notes(&reports),
        // The values are computed from all that was recorded; what is kept is for later questions.
        latencies: latencies
            .into_iter()
            .map(|(name, pairs)| (name, latency::coarsened(&pairs)))
            .into_map(),
        copies: reports
            .into_iter()
            .map(|report| copy_record(report, case.shape.apart))
            .collect(),
    }
}

fn value(
    how: &How<String>,
    quantity: &str,
    reports: &[CopyReport],
    latencies: &Named,
) -> Result<f64, String> {
    match how {
        // What a body reports in the place of its rate is its rate.
        How::Per(Amount::Work, Time::Wall) if reported(quantity, reports).is_ok() => {
            reported(quantity, reports)
        }
        How::Per(amount, Time::Wall) => {
            let amounts = amounts(amount, reports)?.into_iter().zip(reports);
            let rates =
                amounts.map(|(amount, r)| amount / Nanos(r.record.wall.0.max(1)).as_secs_f64());
            Ok(rates.sum())
        }
        How::Per(amount, Time::Cpu) => match cpu_ns(reports) {
            0 => Err("the kernel counted no CPU time".to_owned()),
            ns => {
                let amounts = amounts(amount, reports)?;
                Ok(amounts.iter().sum::<f64>() / Nanos(ns).as_secs_f64())
            }
        },
        How::TimePerOp(Time::Wall) => {
            if reports.iter().any(|report| report.record.ops == 0) {
                return Err("no operation finished".to_owned());
            }
            let records = reports.iter().map(|report| &report.record);
            let each = records.map(|record| approx(record.wall.0) / approx(record.ops));
            Ok(each.sum::<f64>() / count(reports.len()))
        }
        How::TimePerOp(Time::Cpu) => match reports.iter().map(|report| report.record.ops).sum() {
            0 => Err("no operation finished".to_owned()),
            ops => Ok(approx(cpu_ns(reports)) / approx(ops)),
        },
        How::Of(name, stat) => {
            let pairs = latencies.get(name).map_or(&[][..], Vec::as_slice);
            figure(pairs, *stat).unwrap_or_else(|| Err(why_no_latency(name, reports)))
        }
        How::Reported(Fold::Sum) => reported(quantity, reports),
        How::Reported(Fold::Mean) | How::Setting => {
            Ok(reported(quantity, reports)? / count(reports.len()))
        }
    }
}

/// The sum over the copies of what they report under the metric's quantity.
fn reported(quantity: &str, reports: &[CopyReport]) -> Result<f64, String> {
    let each = reports
        .iter()
        .map(|copy| copy.record.reported.get(quantity));
    each.sum::<Option<f64>>()
        .ok_or_else(|| why_not_reported(quantity, reports))
}

/// What is counted, of each copy.
fn amounts(amount: &Amount<String>, reports: &[CopyReport]) -> Result<Vec<f64>, String> {
    let of_copy = |report: &CopyReport| match amount {
        Amount::Work => Ok(report.record.work),
        Amount::Operations => Ok(approx(report.record.ops)),
        Amount::Reported(name) => {
            let amount = report.record.reported.get(name).copied();
            amount.ok_or_else(|| format!("the workload did not report `{name}`"))
        }
    };
    reports.iter().map(of_copy).collect()
}

fn cpu_ns(reports: &[CopyReport]) -> u64 {
    let records = reports.iter().map(|report| &report.record);
    records.map(|copy| copy.user.0 + copy.system.0).sum()
}

/// The reason of the first copy that has no value and gives one.
fn why_not_reported(quantity: &str, reports: &[CopyReport]) -> String {
    let given = reports
        .iter()
        .filter(|report| !report.record.reported.contains_key(quantity))
        .find_map(|report| report.missing.get(quantity));
    given.map_or_else(|| "the workload did not report it".to_owned(), Clone::clone)
}

/// Operations that must lie beyond a percentile of a round: with fewer, single accidents decide where it is. Source:
/// the method page, "Percentiles".
const BEYOND_MIN: f64 = 10.0;

/// The figure of ascending pairs; `None` where there are none, and an error where there are too few. The shortest and
/// the longest are no percentiles beyond which anything could lie: one operation is enough for them.
fn figure(pairs: &[(u64, u64)], stat: Stat) -> Option<Result<f64, String>> {
    let (q, beyond) = match stat {
        Stat::Shortest => return Some(Ok(approx(pairs.first()?.0))),
        Stat::Longest => return Some(Ok(approx(pairs.last()?.0))),
        Stat::Mean => return latency::mean(pairs).map(Ok),
        Stat::Deviation => return latency::deviation(pairs).map(Ok),
        Stat::Quantile(q) => (q, BEYOND_MIN),
        Stat::QuantileOfFew(q) => (q, 1.0),
    };
    let found = latency::quantile(pairs, q)?;
    let have = latency::operations(pairs);
    // 1 - 0.9 is a little less than a tenth.
    let needed = round_to_u64((beyond / (1.0 - q)).round());
    if have >= needed {
        return Some(Ok(approx(found)));
    }
    let have = match have {
        1 => "1 operation in the round is".to_owned(),
        n => format!("{n} operations in the round are"),
    };
    let percentile = percentile(q);
    Some(Err(format!(
        "{have} too few for its percentile {percentile}: it takes {needed}"
    )))
}

/// Why there are no latencies of this name. What is counted may be a part of what is timed: a rate counts those, and a
/// latency of whole operations is one from the beginning to the end.
fn why_no_latency(name: &str, reports: &[CopyReport]) -> String {
    if name == latency::LAT && reports.iter().any(|report| report.record.ops > 0) {
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

/// Latencies by name: ascending pairs of nanoseconds and count.
type Named = BTreeMap<String, Vec<(u64, u64)>>;

/// The latencies of all copies together.
fn merged(reports: &[CopyReport]) -> Named {
    let mut lists: BTreeMap<&str, Vec<&[(u64, u64)]>> = BTreeMap::new();
    for (name, pairs) in reports.iter().flat_map(|report| &report.detail.latencies) {
        lists.entry(name).or_default().push(pairs);
    }
    lists
        .into_iter()
        .map(|(name, lists)| (name.to_owned(), latency::merged(lists)))
        .into_map()
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

/// Whether CPU time is what the test turns into work.
fn is_cpu_work(case: &PlannedCase) -> bool {
    let first = case.metrics.first();
    first.is_some_and(|metric| metric.class == MetricClass::Compute)
}

fn copy_record(report: CopyReport, apart: bool) -> CopyRecord {
    CopyRecord {
        apart: apart.then(|| Box::new(report.detail)),
        ..report.record
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Window;
    use model::record::CopyDetail;

    fn window(wall_ns: u64, ops: u64, cpu_ns: u64) -> Window {
        Window {
            wall_ns,
            ops,
            work: None,
            cpu_ns,
        }
    }

    /// A copy with latencies of four operations and of twenty.
    fn report(ops: u64, wall_ns: u64) -> CopyReport {
        let latencies = [
            ("lat", vec![(10, 1), (20, 1)]),
            ("clat", vec![(10, 3), (20, 7)]),
        ];
        CopyReport {
            moved: None,
            record: CopyRecord {
                work: 2.0 * approx(ops),
                wall: Nanos(wall_ns),
                user: Nanos(1),
                system: Nanos(2),
                reported: BTreeMap::from([("own".to_owned(), 3.0)]),
                ..CopyRecord::of_operations(ops)
            },
            detail: CopyDetail {
                latencies: latencies
                    .map(|(name, pairs)| (name.to_owned(), pairs))
                    .into(),
                ..CopyDetail::default()
            },
            work_per_op: 2.0,
            windows: vec![
                window(100_000_000, ops, 75_000_000),
                window(10_000_000, 7, 1),
            ],
            played_windows: Vec::new(),
            too_long: 0,
            party: None,
            notes: vec!["said once".to_owned()],
            missing: BTreeMap::new(),
        }
    }

    /// The value under `quantity` that comes about like this.
    fn found(how: How, quantity: &str, reports: &[CopyReport]) -> Result<f64, String> {
        value(&how.planned(), quantity, reports, &merged(reports))
    }

    const RATE: How = How::Per(Amount::Work, Time::Wall);

    #[test]
    fn operations_and_work_of_a_round_have_one_wall_time() {
        for (ops, wall_ns, work_per_op) in [(3, 7, 8.0), (1_234_567, 987_654_321, 1024.0)] {
            let mut report = report(ops, wall_ns);
            report.record.work = approx(ops) * work_per_op;
            let reports = [report];
            let of = |how| found(how, "x", &reports).unwrap();
            let ops_per_s = of(How::Per(Amount::Operations, Time::Wall));
            let ratio = of(RATE) / work_per_op / ops_per_s;
            assert!((ratio - 1.0).abs() < 1e-12, "{ops} {wall_ns}: {ratio}");
        }
    }

    #[test]
    fn values_follow_their_definition() {
        let reports = [report(100, 1_000_000_000), report(100, 500_000_000)];
        let check = |how, quantity, expected: Result<f64, &str>| {
            let value = found(how, quantity, &reports);
            assert_eq!(
                value.as_ref().map_err(String::as_str),
                expected.as_ref().map_err(|e| *e)
            );
        };
        check(RATE, "x", Ok(600.0));
        check(RATE, "own", Ok(6.0));
        check(How::Reported(Fold::Sum), "own", Ok(6.0));
        check(How::Reported(Fold::Mean), "own", Ok(3.0));
        check(How::Setting, "own", Ok(3.0));
        let none = Err("the workload did not report it");
        check(How::Reported(Fold::Sum), "x", none);
        check(How::TimePerOp(Time::Wall), "x", Ok(7_500_000.0));
        check(How::TimePerOp(Time::Cpu), "x", Ok(0.03));
        let per_s = |amount| How::Per(amount, Time::Wall);
        check(per_s(Amount::Operations), "x", Ok(300.0));
        check(per_s(Amount::Reported("own")), "x", Ok(9.0));
        let none = Err("the workload did not report `x`");
        check(per_s(Amount::Reported("x")), "x", none);
    }

    #[test]
    fn figures_of_latencies_are_of_all_copies_together() {
        let reports = [report(100, 1), report(100, 1)];
        let check = |name, stat, expected: Result<f64, &str>| {
            let value = found(How::Of(name, stat), "x", &reports);
            assert_eq!(value, expected.map_err(str::to_owned), "{name} {stat:?}");
        };
        let few = |percentile, have, needed| {
            format!(
                "{have} operations in the round are too few for its percentile {percentile}: it takes {needed}"
            )
        };
        check("lat", Stat::Quantile(0.5), Err(&few(50, 4, 20)));
        check("lat", Stat::QuantileOfFew(0.95), Err(&few(95, 4, 20)));
        check("lat", Stat::QuantileOfFew(0.75), Ok(20.0));
        check("lat", Stat::Shortest, Ok(10.0));
        check("lat", Stat::Longest, Ok(20.0));
        check("lat", Stat::Mean, Ok(15.0));
        check("lat", Stat::Deviation, Ok(5.0));
        check("clat", Stat::Quantile(0.3), Ok(10.0));
        check("clat", Stat::Quantile(0.5), Ok(20.0));
        check("clat", Stat::Quantile(0.99), Err(&few(99, 20, 1000)));
        check("clat", Stat::Mean, Ok(17.0));
        check("x", Stat::Mean, Err("no operation ended in the round"));
    }

    #[test]
    fn notes_are_said_once_and_windows_keep_to_their_grid() {
        let reports = [report(100, 1_000_000_000), report(100, 500_000_000)];
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
        // A body that counts work is asked, and no operation is taken for the mean one.
        let mut counted = report(100, 1_000_000_000);
        counted.windows[0].work = Some(50.0);
        assert_eq!(windows(&[counted], Nanos::from_millis(100)), [500.0]);
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
        lacks.record.reported.clear();
        lacks.missing = BTreeMap::from([("own".to_owned(), "no such level".to_owned())]);
        let mut has = report(1, 1);
        has.missing = BTreeMap::from([("own".to_owned(), "not asked".to_owned())]);
        let value = |reports: &[CopyReport]| found(How::Reported(Fold::Mean), "own", reports);
        assert_eq!(value(&[has, lacks]), Err("no such level".to_owned()));
        let mut silent = report(1, 1);
        silent.record.reported.clear();
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

    /// A copy that did so many operations and recorded these latencies of them.
    fn with_lat(ops: u64, lat: &[(u64, u64)]) -> CopyReport {
        let mut report = report(ops, 1);
        report.detail.latencies = BTreeMap::from([("lat".to_owned(), lat.to_vec())]);
        report
    }

    #[test]
    fn events_of_which_a_round_holds_only_parts_are_not_said_not_to_be() {
        let none = "no event was timed from its beginning to its end in the round";
        let check = |name, stat, ops, latency: &[(u64, u64)], expected: &str| {
            let found = found(How::Of(name, stat), "x", &[with_lat(ops, latency)]);
            assert_eq!(found, Err(expected.to_owned()));
        };
        check("lat", Stat::Mean, 7, &[], none);
        check("lat", Stat::Longest, 7, &[], none);
        check("lat", Stat::QuantileOfFew(0.95), 7, &[], none);
        let ended = "no operation ended in the round";
        check("lat", Stat::Mean, 0, &[], ended);
        // What is recorded under a name of its own is no part of what the rate counts.
        check("y", Stat::Quantile(0.5), 7, &[], ended);
        let one = "1 operation in the round is too few for its percentile 95: it takes 20";
        check("lat", Stat::QuantileOfFew(0.95), 7, &[(10, 1)], one);
    }

    #[test]
    fn a_percentile_needs_ten_operations_beyond_it() {
        let of = |n: u64, stat| found(How::Of("lat", stat), "x", &[with_lat(n, &[(10, n)])]);
        let check = |n: u64, q: f64, ok: bool| {
            let found = of(n, Stat::Quantile(q));
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
        assert!(of(1, Stat::Shortest).is_ok() && of(1, Stat::Longest).is_ok());
        let why = "42 operations in the round are too few for its percentile 99.9: it takes 10000";
        assert_eq!(of(42, Stat::Quantile(0.999)), Err(why.to_owned()));
    }

    #[test]
    fn the_rate_per_cpu_second_does_not_grow_with_copies_or_shrink_with_waiting() {
        let with = |wall_ns, user_ns, system_ns| {
            let mut report = report(100, wall_ns);
            (report.record.user, report.record.system) = (Nanos(user_ns), Nanos(system_ns));
            report
        };
        let per_cpu_s = |amount| How::Per(amount, Time::Cpu);
        // 100 operations of 2 units in half a second of CPU time each, whatever the wall time.
        for reports in [
            vec![with(500_000_000, 400_000_000, 100_000_000)],
            vec![
                with(500_000_000, 500_000_000, 0),
                with(1_000_000_000, 0, 500_000_000),
            ],
        ] {
            let value = |amount| found(per_cpu_s(amount), "x", &reports);
            assert_eq!(value(Amount::Work), Ok(400.0));
            assert_eq!(value(Amount::Operations), Ok(200.0));
        }
        for amount in [Amount::Work, Amount::Operations] {
            let uncounted = found(per_cpu_s(amount), "x", &[with(1, 0, 0)]);
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
        for time in [Time::Wall, Time::Cpu] {
            let value = found(How::TimePerOp(time), "x", &[report(0, 1)]);
            assert_eq!(value, Err("no operation finished".to_owned()));
        }
    }
}
