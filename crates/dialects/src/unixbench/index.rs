//! The index of a run: ten times the geometric mean of score over reference score.
//!
//! Two rules, by the cases' `compat` parameter:
//!
//! - Off: every complete pass (one in which each test has a value) gives one index, and the estimate is the median
//!   of those with its order-statistic interval. Nothing is dropped: a slow pass is a fact about the machine.
//! - A version number: UnixBench's own rule. Per test the passes are ordered by raw count, the lowest third is
//!   dropped, and the score is the geometric mean of what is left; the index comes from those scores. It is one
//!   figure and has no interval.
//!
//! A test whose rounds have no single level is part of the index like any other, and the index names it.
//!
//! A test that never gave a value is not part of the index, which is then marked partial. Tests of one concurrency
//! whose `compat` differs follow the first rule, since no version of UnixBench would have measured them together.

use crate::unixbench::table::{IndexTest, TESTS};
use model::estimate::{Estimate, IndexPart, IndexSummary};
use model::num::{approx, count};
use model::order::{Keyed as _, Order as _};
use model::plan::{CaseId, PlannedCase};
use model::record::{Measured, Outcome, Run};
use std::collections::{BTreeMap, BTreeSet};

/// What UnixBench multiplies the ratio to the reference machine with.
const INDEX_SCALE: f64 = 10.0;

/// The UnixBench-style index of each concurrency at which some of the twelve tests were planned, ascending.
pub fn indexes(run: &Run) -> Vec<IndexSummary> {
    let concurrencies: BTreeSet<u32> = run
        .plan
        .cases
        .iter()
        .filter(|case| crate::unixbench::find(&case.id.test).is_some())
        .map(|case| case.id.copies)
        .collect();
    concurrencies
        .into_iter()
        .map(|copies| index_at(run, copies))
        .collect()
}

/// The indexes that `run` asked for: of each concurrency at which all twelve tests were planned, or left out of the
/// plan because the machine cannot run them, which makes the index partial. A soak asks for none: its stretches are one
/// series, and no passes from which an index has an interval.
pub fn asked(run: &Run) -> Vec<IndexSummary> {
    let plan = &run.plan;
    let asks = |index: &IndexSummary| {
        TESTS.iter().all(|entry| {
            let case = CaseId {
                test: entry.test.to_owned(),
                copies: index.copies,
            };
            let names = [entry.test, &case.to_string()];
            let mut dropped = plan.dropped.iter();
            plan.case(&case).is_some() || dropped.any(|one| names.contains(&one.what.as_str()))
        })
    };
    let mut indexes = indexes(run);
    indexes.retain(|index| plan.soak.is_none() && asks(index));
    indexes
}

/// One test of the index together with what was measured of it at one concurrency.
struct Series<'a> {
    entry: &'static IndexTest,
    case: &'a CaseId,
    samples: Vec<Sample>,
}

/// One round of a test, in UnixBench's terms.
#[derive(Clone, Copy, Debug)]
struct Sample {
    pass: u32,
    /// What UnixBench orders passes by: loops done by all copies, or the rate where the test prints a rate.
    raw_count: f64,
    /// The score as UnixBench computes it from count and time.
    raw_rate: f64,
    /// Our metric's value in UnixBench's unit.
    score: f64,
    /// The mean wall time of the copies.
    seconds: f64,
}

fn index_at(run: &Run, copies: u32) -> IndexSummary {
    let planned: Vec<(&'static IndexTest, &PlannedCase)> = TESTS
        .iter()
        .filter_map(|entry| {
            run.plan
                .cases
                .iter()
                .find(|case| case.id.test == entry.test && case.id.copies == copies)
                .map(|case| (entry, case))
        })
        .collect();
    let compat = common_compat(&planned);
    let series: Vec<Series<'_>> = planned
        .iter()
        .map(|(entry, case)| Series {
            entry,
            case: &case.id,
            samples: samples(run, entry, &case.id),
        })
        .filter(|series| !series.samples.is_empty())
        .collect();

    let mut summary = IndexSummary {
        id: crate::unixbench::INDEX_ID.to_owned(),
        copies,
        estimate: None,
        missing: None,
        parts: Vec::new(),
        partial: series.len() < TESTS.len(),
        without_single_number: stats::without_single_number(
            run,
            series.iter().map(|one| (one.case, one.entry.quantity)),
        ),
        compat,
    };
    if series.is_empty() {
        summary.missing = Some("no test of the index has a value".to_owned());
        return summary;
    }
    if summary.compat.is_some() {
        by_the_original_rule(&series, &mut summary);
    } else {
        by_passes(&series, &mut summary);
    }
    summary
}

/// The `compat` parameter, where it is the same version for every case.
fn common_compat(planned: &[(&'static IndexTest, &PlannedCase)]) -> Option<String> {
    let version = |case: &PlannedCase| {
        case.params
            .get("compat")
            .map(ToString::to_string)
            .filter(|text| text != "off")
    };
    let (_, first) = planned.first()?;
    let compat = version(first)?;
    planned
        .iter()
        .all(|(_, case)| version(case).as_deref() == Some(compat.as_str()))
        .then_some(compat)
}

/// The finished rounds with a usable value, in the order in which they ran. UnixBench, too, leaves out counts that
/// are not positive: their logarithm has no meaning.
fn samples(run: &Run, entry: &IndexTest, case: &CaseId) -> Vec<Sample> {
    run.rounds_of(case)
        .filter_map(|round| match &round.outcome {
            Outcome::Done(measured) => sample(round.pass, entry, measured),
            Outcome::Failed(_) => None,
        })
        .collect()
}

fn sample(pass: u32, entry: &IndexTest, measured: &Measured) -> Option<Sample> {
    let usable = |x: f64| x.is_finite() && x > 0.0;
    let score = measured.values.get(entry.quantity)? * entry.scale;
    let ops: f64 = measured.copies.iter().map(|copy| approx(copy.ops)).sum();
    let wall: f64 = measured
        .copies
        .iter()
        .map(|copy| copy.wall.as_secs_f64())
        .sum();
    let seconds = wall / count(measured.copies.len()).max(1.0);
    // A round without records of its copies has nothing but its rate to be ordered by.
    let (raw_count, raw_rate) = match entry.timebase {
        Some(timebase) if usable(ops) && usable(seconds) => (ops, ops / (seconds / timebase)),
        _ => (score, score),
    };
    (usable(score) && usable(raw_rate)).then_some(Sample {
        pass,
        raw_count,
        raw_rate,
        score,
        seconds,
    })
}

fn by_passes(series: &[Series<'_>], summary: &mut IndexSummary) {
    summary.parts = series
        .iter()
        .filter_map(|series| {
            let scores: Vec<f64> = series.samples.iter().map(|sample| sample.score).collect();
            let score = stats::quantile::median(&scores)?;
            Some(part(series, score, &series.samples))
        })
        .collect();

    let per_pass = index_of_passes(series);
    let per_pass: Vec<f64> = per_pass.into_iter().map(|(_, index)| index).collect();
    summary.estimate = stats::composite::estimate(&per_pass);
    if summary.estimate.is_none() {
        summary.missing =
            Some("there is no pass in which every test of the index has a value".to_owned());
    }
}

/// The index of each pass in which every test has a value.
fn index_of_passes(series: &[Series<'_>]) -> Vec<(u32, f64)> {
    let ratios: Vec<BTreeMap<u32, f64>> = series.iter().map(ratios_by_pass).collect();
    let per_pass = stats::composite::per_pass(&ratios).into_iter();
    per_pass
        .map(|(pass, mean)| (pass, INDEX_SCALE * mean))
        .collect()
}

/// The cases that an index is made of, and its value in each pass.
pub type ByPass<'a> = (Vec<&'a PlannedCase>, Vec<(u32, f64)>);

/// The index of each pass at so many copies, and the cases that it is made of; of a compat mode the one figure that it
/// computes, as if of the first pass. `None` where the run has not all of its tests with a value.
pub fn by_pass(run: &Run, copies: u32) -> Option<ByPass<'_>> {
    let of = |entry: &'static IndexTest| {
        let mut cases = run.plan.cases.iter();
        let case = cases.find(|case| case.id.test == entry.test && case.id.copies == copies)?;
        let samples = samples(run, entry, &case.id);
        let series = Series {
            entry,
            case: &case.id,
            samples,
        };
        (!series.samples.is_empty()).then_some((case, series))
    };
    let found: Option<Vec<(&PlannedCase, Series<'_>)>> = TESTS.iter().map(of).collect();
    let (cases, series): (Vec<_>, Vec<_>) = found?.into_iter().unzip();
    let planned: Vec<(&'static IndexTest, &PlannedCase)> =
        TESTS.iter().zip(cases.iter().copied()).collect();
    let passes = if common_compat(&planned).is_some() {
        let summary = index_at(run, copies);
        vec![(1, summary.estimate?.value)]
    } else {
        index_of_passes(&series)
    };
    (!passes.is_empty()).then_some((cases, passes))
}

/// Score over reference score of each pass; where a pass holds several rounds of the test, the last one counts.
fn ratios_by_pass(series: &Series<'_>) -> BTreeMap<u32, f64> {
    series
        .samples
        .iter()
        .map(|sample| (sample.pass, sample.score / series.entry.baseline))
        .into_map()
}

fn by_the_original_rule(series: &[Series<'_>], summary: &mut IndexSummary) {
    summary.parts = series
        .iter()
        .filter_map(|series| {
            let kept = without_the_worst_third(&series.samples);
            let rates: Vec<f64> = kept.iter().map(|sample| sample.raw_rate).collect();
            let score = stats::composite::geometric_mean(&rates)?;
            Some(part(series, score, &kept))
        })
        .collect();
    let ratios: Vec<f64> = summary
        .parts
        .iter()
        .map(|part| part.score / part.baseline)
        .collect();
    match stats::composite::geometric_mean(&ratios) {
        Some(mean) => {
            summary.estimate = Some(Estimate {
                value: INDEX_SCALE * mean,
                interval: None,
                n: 1,
            });
        }
        None => summary.missing = Some("no test of the index has a score".to_owned()),
    }
}

/// Half a unit of the last digit of a score in a report.
const HALF_DIGIT: f64 = 0.05;

/// Between what an index lies whose scores were read off a report, where they stand rounded: its last digit may be
/// another one than the report's.
pub fn printable_ends(index: &IndexSummary) -> [f64; 2] {
    [-HALF_DIGIT, HALF_DIGIT].map(|off| {
        let parts = index.parts.iter();
        let ratios: Vec<f64> = parts
            .map(|part| (part.score + off) / part.baseline)
            .collect();
        INDEX_SCALE * stats::composite::geometric_mean(&ratios).unwrap_or(0.0)
    })
}

/// The samples that UnixBench keeps: ordered by raw count, without the `n / 3` lowest (rounded down).
fn without_the_worst_third(samples: &[Sample]) -> Vec<Sample> {
    let mut ordered = samples.to_vec();
    ordered.order_by(|a, b| a.raw_count.total_cmp(&b.raw_count));
    ordered.split_off(ordered.len() / 3)
}

fn part(series: &Series<'_>, score: f64, behind: &[Sample]) -> IndexPart {
    let seconds: f64 = behind.iter().map(|sample| sample.seconds).sum();
    IndexPart {
        case: series.case.clone(),
        title: series.entry.title.to_owned(),
        score,
        unit: series.entry.unit.to_owned(),
        baseline: series.entry.baseline,
        index: INDEX_SCALE * score / series.entry.baseline,
        seconds: seconds / count(behind.len()).max(1.0),
        samples: u32::try_from(behind.len()).unwrap_or(u32::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unixbench::testkit::{Kit, fail, ops};

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs()
    }

    #[test]
    fn the_reference_machine_has_an_index_of_ten() {
        let run = Kit::new("off").all_at(1).passes(6, |_, _| 1.0).run();
        let all = indexes(&run);
        assert_eq!(all.len(), 1);
        let index = &all[0];
        let estimate = index.estimate.unwrap();
        assert!(close(estimate.value, 10.0), "{}", estimate.value);
        assert_eq!(
            (estimate.n, index.partial, index.parts.len()),
            (6, false, 12)
        );
        assert!(index.parts.iter().all(|part| close(part.index, 10.0)));
        assert!(estimate.interval.is_some());
    }

    #[test]
    fn the_index_of_each_pass_has_the_median_that_is_shown() {
        let speed = |_: &CaseId, pass| f64::from(pass);
        let run = Kit::new("off").all_at(2).passes(7, speed).run();
        let (cases, passes) = by_pass(&run, 2).unwrap();
        assert_eq!((cases.len(), passes.len()), (12, 7));
        let values: Vec<f64> = passes.iter().map(|&(_, index)| index).collect();
        let shown = indexes(&run)[0].estimate.unwrap().value;
        assert!(close(stats::quantile::median(&values).unwrap(), shown));
        assert!(by_pass(&run, 1).is_none());
        let original = Kit::new("6").all_at(1).passes(6, |_, _| 1.0).run();
        assert_eq!(by_pass(&original, 1).unwrap().1.len(), 1);
    }

    #[test]
    fn scores_that_were_printed_leave_the_last_digit_of_an_index_open() {
        let run = Kit::new("5.1.3").all_at(1).passes(1, |_, _| 11.085).run();
        let [low, high] = printable_ends(&indexes(&run)[0]);
        assert!(low < 110.85 && 110.85 < high, "{low} .. {high}");
        assert!(high - low < 0.2);
    }

    #[test]
    fn each_concurrency_has_its_own_index_in_ascending_order() {
        let run = Kit::new("off")
            .all_at(4)
            .all_at(1)
            .passes(6, |case, _| f64::from(case.copies))
            .run();
        let all = indexes(&run);
        let figures: Vec<(u32, u64)> = all
            .iter()
            .map(|index| {
                let value = index.estimate.unwrap().value;
                (index.copies, model::num::round_to_u64(value))
            })
            .collect();
        assert_eq!(figures, [(1, 10), (4, 40)]);
    }

    #[test]
    fn tests_that_no_single_number_describes_are_named() {
        let spread = |case: &CaseId, pass| match case.test.as_str() {
            "os.pipe" => [1.0, 1.5, 2.0][pass as usize % 3],
            _ => 1.0,
        };
        for compat in ["off", "6"] {
            let run = Kit::new(compat).all_at(1).all_at(2).passes(9, spread).run();
            let named = |index: &IndexSummary| -> Vec<String> {
                let cases = index.without_single_number.iter();
                cases.map(ToString::to_string).collect()
            };
            let found: Vec<Vec<String>> = indexes(&run).iter().map(named).collect();
            assert_eq!(found, [["os.pipe@1"], ["os.pipe@2"]]);
            assert!(indexes(&run).iter().all(|index| index.parts.len() == 12));
        }
        let steady = Kit::new("off").all_at(1).passes(9, |_, _| 1.0).run();
        assert_eq!(indexes(&steady)[0].without_single_number, []);
    }

    #[test]
    fn passes_with_a_failed_test_are_left_out() {
        let mut run = Kit::new("off")
            .all_at(1)
            .passes(7, |_, pass| f64::from(pass))
            .run();
        fail(&mut run, "os.spawn", 7);
        let index = &indexes(&run)[0];
        let estimate = index.estimate.unwrap();
        assert_eq!(estimate.n, 6);
        assert!(close(estimate.value, 35.0), "{}", estimate.value);
        assert!(!index.partial);
    }

    #[test]
    fn no_complete_pass_is_no_index_but_a_reason() {
        let mut run = Kit::new("off").all_at(1).passes(2, |_, _| 1.0).run();
        fail(&mut run, "os.spawn", 1);
        fail(&mut run, "os.pipe", 2);
        let index = &indexes(&run)[0];
        assert_eq!(index.estimate, None);
        assert!(index.missing.as_deref().unwrap().contains("no pass"));
        assert_eq!(index.parts.len(), 12);
    }

    #[test]
    fn a_test_that_never_worked_makes_the_index_partial() {
        let mut run = Kit::new("off").all_at(1).passes(6, |_, _| 3.0).run();
        for pass in 1..=6 {
            fail(&mut run, "os.execl", pass);
        }
        let index = &indexes(&run)[0];
        assert!(index.partial);
        assert_eq!(index.parts.len(), 11);
        assert!(close(index.estimate.unwrap().value, 30.0));
    }

    #[test]
    fn a_run_without_values_has_a_reason_and_no_parts() {
        let run = Kit::new("off").all_at(1).run();
        let index = &indexes(&run)[0];
        assert_eq!((index.estimate, index.parts.len()), (None, 0));
        assert!(index.missing.is_some());
    }

    #[test]
    fn tests_outside_the_index_make_no_index() {
        let run = Kit::new("off")
            .case("cpu.prime", 1)
            .passes(6, |_, _| 1.0)
            .run();
        assert_eq!(indexes(&run), []);
    }

    #[test]
    fn compat_drops_the_worst_third_by_count_and_takes_the_geometric_mean() {
        // Ten passes at 1..=10 times the reference: the three lowest go, the rest is 4..=10.
        let run = Kit::new("6")
            .all_at(2)
            .passes(10, |_, pass| f64::from(pass))
            .run();
        let index = &indexes(&run)[0];
        // 4 * 5 * ... * 10 = 604800. Loops are whole numbers, hence the tolerance.
        let expect = 10.0 * 604_800.0_f64.powf(1.0 / 7.0);
        let estimate = index.estimate.unwrap();
        assert!(
            (estimate.value / expect - 1.0).abs() < 1e-6,
            "{} {expect}",
            estimate.value
        );
        assert_eq!((estimate.interval, estimate.n), (None, 1));
        assert_eq!(index.compat.as_deref(), Some("6"));
        assert!(index.parts.iter().all(|part| part.samples == 7));
    }

    #[test]
    fn compat_orders_by_count_even_where_the_rate_says_otherwise() {
        // The pass with the most loops took the longest: by rate it is the worst, by count it stays.
        let mut run = Kit::new("5.1.3").case("os.shell-1", 1).run();
        for (pass, (loops, seconds)) in [(60, 60), (61, 60), (70, 120)].into_iter().enumerate() {
            ops(
                &mut run,
                "os.shell-1",
                u32::try_from(pass).unwrap() + 1,
                loops,
                seconds,
            );
        }
        let part = &indexes(&run)[0].parts[0];
        let expect = (61.0_f64 * 35.0).sqrt();
        assert!(close(part.score, expect), "{} {expect}", part.score);
        assert_eq!(part.samples, 2);
    }

    #[test]
    fn mixed_compat_follows_the_rule_of_passes() {
        let mut run = Kit::new("6").all_at(1).passes(6, |_, _| 2.0).run();
        let off = Kit::new("off").all_at(1).run();
        run.plan.cases[0].params = off.plan.cases[0].params.clone();
        let index = &indexes(&run)[0];
        assert_eq!(index.compat, None);
        assert_eq!(index.estimate.unwrap().n, 6);
    }
}
