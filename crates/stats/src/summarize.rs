//! One run's estimates: for each metric of each planned case its value, interval, floor, state and warnings.
//!
//! The rounds are taken as they are. None is dropped, none corrected; a case without a value says why it has none.

use crate::noise::Usual;
use crate::order_effect::{self, PassStarts};
use crate::rounds::{CaseRounds, RunRounds, floor_of};
use crate::thresholds::OPS_PER_WINDOW_MIN;
use crate::{composite, quantile, state, warnings};
use model::estimate::{Estimate, MetricSummary, NoiseShares, State};
use model::num::{approx, count};
use model::plan::{CaseId, MetricId, PlannedMetric};
use model::record::{Measured, Outcome, Run};
use model::warning::Warning;

/// One summary for each metric of each planned case, in the order of the plan.
pub fn summarize(run: &Run) -> Vec<MetricSummary> {
    let usual = Usual::of(run);
    let starts = order_effect::pass_starts(run);
    let rounds = RunRounds::of(run);
    let of_case = |case| summarize_case(case, &rounds, &usual, &starts);
    rounds.cases().iter().flat_map(of_case).collect()
}

fn summarize_case(
    rounds: &CaseRounds<'_>,
    run: &RunRounds<'_>,
    usual: &Usual,
    starts: &PassStarts,
) -> Vec<MetricSummary> {
    let warnings = warnings::of_case(rounds, run, usual);
    let noise = warnings::noise_shares(&rounds.noises, usual);
    let of_metric = |(index, metric): (usize, &PlannedMetric)| {
        if metric.is_setting() {
            return as_setting(summarize_metric(rounds, metric, &[], &[]));
        }
        let windowed = windowed(rounds, index, metric);
        let mut found = summarize_metric(rounds, metric, windowed, &warnings);
        found.noise = noise;
        if run.run.plan.soak.is_some() {
            // How it goes on in time is for the course of the soak to say.
            return as_stretches(found);
        }
        let follows = order_effect::of_metric(rounds, &metric.quantity, starts);
        found.warnings.extend(follows);
        found
    };
    let metrics = rounds.case.metrics.iter().enumerate();
    metrics.map(of_metric).collect()
}

/// The finished rounds of a case where their windows are in the unit of its metric number `index`, as they are in the
/// first one's where that is a rate; otherwise nothing.
fn windowed<'a, 'r>(
    rounds: &'r CaseRounds<'a>,
    index: usize,
    metric: &PlannedMetric,
) -> &'r [&'a Measured] {
    if index == 0 && metric.unit.is_rate() {
        &rounds.done
    } else {
        &[]
    }
}

/// What the finished rounds of a case of `run` look like in one of its metrics, as the run by itself says it.
pub(crate) fn state_of(run: &Run, rounds: &CaseRounds<'_>, quantity: &str) -> Option<State> {
    let mut metrics = rounds.case.metrics.iter().enumerate();
    let (index, metric) = metrics.find(|(_, metric)| metric.quantity == quantity)?;
    if run.plan.soak.is_some() {
        return Some(State::Series);
    }
    Some(state::of_case(
        &finite_values(&rounds.done, quantity),
        &telling_windows(windowed(rounds, index, metric)),
    ))
}

/// Of these metrics the cases whose rounds no single number describes, as the run by itself says it.
pub fn without_single_number<'a>(
    run: &Run,
    metrics: impl IntoIterator<Item = (&'a CaseId, &'a str)>,
) -> Vec<CaseId> {
    let rounds = RunRounds::of(run);
    let state = |case, quantity| state_of(run, rounds.case(case)?, quantity);
    let metrics = metrics.into_iter();
    let concerned = metrics.filter(|&(case, quantity)| {
        state(case, quantity).is_some_and(|state| !state::has_single_number(&state))
    });
    concerned.map(|(case, _)| case.clone()).collect()
}

/// Why the rounds of a case have no value of one of its metrics.
pub(crate) fn why_no_value(rounds: &CaseRounds<'_>, quantity: &str) -> String {
    no_round_reason(rounds).unwrap_or_else(|| no_value_reason(&rounds.done, quantity))
}

fn finite_values(done: &[&Measured], quantity: &str) -> Vec<f64> {
    done.iter()
        .filter_map(|measured| measured.values.get(quantity).copied())
        .filter(|value| value.is_finite())
        .collect()
}

/// Summarizes one metric. `windowed` are the rounds whose windows are in the metric's unit: all or none.
fn summarize_metric(
    rounds: &CaseRounds<'_>,
    metric: &PlannedMetric,
    windowed: &[&Measured],
    shared_warnings: &[Warning],
) -> MetricSummary {
    let case = rounds.case;
    let values = finite_values(&rounds.done, &metric.quantity);
    let estimate = composite::estimate(&values);
    let mut warnings: Vec<Warning> = shared_warnings.to_vec();
    warnings.extend(estimate.and_then(|estimate| warnings::too_few(estimate.n)));
    MetricSummary {
        id: MetricId {
            case: case.id.clone(),
            quantity: metric.quantity.clone(),
        },
        metric: metric.clone(),
        title: case.title.clone(),
        workload_version: case.workload_version,
        missing: match estimate {
            Some(_) => None,
            None => Some(why_no_value(rounds, &metric.quantity)),
        },
        estimate,
        floor: floor(windowed),
        state: state::of_case(&values, &telling_windows(windowed)),
        rounds: values,
        noise: NoiseShares::default(),
        warnings,
    }
}

/// What is left where the rounds are stretches of one series: their median. They depend on one another, so that an
/// interval from their ranks would be too narrow, and how they change is for the course of the soak to say.
fn as_stretches(summary: MetricSummary) -> MetricSummary {
    // Soaks discard no warm-up: how the series begins is for its course to say too.
    let of_rounds = |warning: &Warning| {
        matches!(
            warning,
            Warning::TooFewRounds { .. } | Warning::WarmingUp { .. }
        )
    };
    MetricSummary {
        estimate: summary.estimate.map(|estimate| Estimate {
            interval: None,
            ..estimate
        }),
        floor: None,
        state: State::Series,
        warnings: summary
            .warnings
            .into_iter()
            .filter(|warning| !of_rounds(warning))
            .collect(),
        ..summary
    }
}

/// What is left of a quantity that describes the set-up: its value. An interval, a number of rounds or a warning would
/// make a measurement of it.
fn as_setting(summary: MetricSummary) -> MetricSummary {
    let alike = summary
        .rounds
        .windows(2)
        .all(|pair| pair[0].to_bits() == pair[1].to_bits());
    MetricSummary {
        estimate: summary.estimate.map(|estimate| Estimate {
            interval: None,
            n: 0,
            ..estimate
        }),
        floor: None,
        state: State::Setting { alike },
        warnings: Vec::new(),
        ..summary
    }
}

/// The slow end: the median over rounds of each round's 10th percentile window.
fn floor(windowed: &[&Measured]) -> Option<Estimate> {
    let floors: Vec<f64> = windowed
        .iter()
        .filter_map(|measured| floor_of(measured))
        .collect();
    composite::estimate(&floors)
}

/// How much of the windows' variance their place in the round may explain before they say more about how a round goes
/// than about states of the machine.
const PLACE_EXPLAINS_MAX: f64 = 0.5;

/// The windows of all rounds in order, where they hold enough operations to tell one machine state from another and
/// do not all follow the same course; otherwise nothing.
fn telling_windows(windowed: &[&Measured]) -> Vec<f64> {
    let ops: f64 = windowed
        .iter()
        .flat_map(|measured| &measured.copies)
        .map(|copy| approx(copy.ops))
        .sum();
    let windows: Vec<f64> = windowed
        .iter()
        .flat_map(|measured| measured.windows.iter().copied())
        .collect();
    let too_coarse = ops < OPS_PER_WINDOW_MIN * count(windows.len());
    if too_coarse || place_explains(windowed) > PLACE_EXPLAINS_MAX {
        return Vec::new();
    }
    windows
}

/// The share of the windows' variance that their place in the round explains, 0 to 1; 0 for windows without scatter.
fn place_explains(windowed: &[&Measured]) -> f64 {
    let longest = windowed.iter().map(|round| round.windows.len()).max();
    let at = |place: usize| {
        windowed
            .iter()
            .filter_map(move |round| round.windows.get(place))
    };
    let all: Vec<f64> = windowed
        .iter()
        .flat_map(|round| round.windows.iter().copied())
        .collect();
    let Some(mean) = quantile::mean(&all) else {
        return 0.0;
    };
    let explained: f64 = (0..longest.unwrap_or(0))
        .filter_map(|place| {
            let here: Vec<f64> = at(place).copied().collect();
            Some((quantile::mean(&here)? - mean).powi(2) * count(here.len()))
        })
        .sum();
    let total: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
    if total > 0.0 { explained / total } else { 0.0 }
}

/// What is said of a case of which no round was run.
pub const NO_ROUND: &str = "no round of it was run";

/// What is said of a metric that rounds were run for, none of which says why it has no value.
pub const NO_VALUE: &str = "no round reported a value";

/// Why no round of the case has any value; `None` where one has.
fn no_round_reason(rounds: &CaseRounds<'_>) -> Option<String> {
    if !rounds.done.is_empty() {
        return None;
    }
    let last = rounds.all.last().map(|round| &round.outcome);
    Some(match last {
        Some(Outcome::Failed(failure)) => failure.to_string(),
        _ => NO_ROUND.to_owned(),
    })
}

/// Why rounds that ended well have no value of `quantity`: the last reason given.
fn no_value_reason(done: &[&Measured], quantity: &str) -> String {
    done.iter()
        .rev()
        .find_map(|measured| measured.missing.get(quantity).cloned())
        .unwrap_or_else(|| NO_VALUE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::record::Failure;
    use model::spec::{Better, How, MetricClass};
    use model::units::{Nanos, Unit};
    use model::warning::FailedFor;

    #[test]
    fn each_metric_of_each_case_has_its_line_in_plan_order() {
        let mut run = fixture::run(&[
            ("os.pipe@2", fixture::noisy(1, 9, 100.0, 0.01)),
            ("os.pipe@1", fixture::noisy(2, 5, 50.0, 0.01)),
        ]);
        run.plan.cases[0].metrics.push(fixture::metric(
            "clat_ns_p99",
            Unit::Nanoseconds,
            Better::Lower,
            MetricClass::LatencyTail,
        ));
        let found = summarize(&run);
        let ids: Vec<String> = found.iter().map(|summary| summary.id.to_string()).collect();
        assert_eq!(
            ids,
            [
                "os.pipe@2:ops_per_s",
                "os.pipe@2:clat_ns_p99",
                "os.pipe@1:ops_per_s"
            ]
        );

        let [full, without, few] = &found[..] else {
            panic!()
        };
        let estimate = full.estimate.unwrap();
        let sorted = quantile::sorted(&full.rounds);
        let interval = estimate.interval.unwrap();
        assert_eq!((estimate.n, estimate.value), (9, sorted[4]));
        assert_eq!(
            (interval.lo, interval.hi),
            (sorted[1], sorted[7]),
            "ranks 2 and 8 of 9"
        );
        assert_eq!((full.state, full.missing.as_deref()), (State::Steady, None));
        assert!(full.warnings.is_empty());

        assert_eq!((without.estimate, without.floor), (None, None));
        assert_eq!(
            without.missing.as_deref(),
            Some("no round reported a value")
        );

        assert_eq!(few.estimate.unwrap().interval, None);
        assert_eq!(few.warnings, [Warning::TooFewRounds { have: 5, need: 6 }]);
        assert_eq!(few.state, State::Unknown);
    }

    #[test]
    fn what_describes_the_set_up_has_a_value_and_nothing_that_a_measurement_has() {
        let mut run = fixture::run(&[("memory.triad@1", fixture::noisy(3, 9, 64.0, 0.01))]);
        run.plan.cases[0].metrics[0].how = How::Setting;
        run.host.storage.file_system = model::host::Fact::Known("tmpfs".to_owned());
        run.plan.cases[0].on_disk = true;
        let of = |run: &Run| summarize(run).remove(0);
        let differing = of(&run);
        let estimate = differing.estimate.unwrap();
        assert_eq!((estimate.interval, estimate.n), (None, 0));
        assert_eq!((differing.floor, differing.warnings.len()), (None, 0));
        assert_eq!(differing.state, State::Setting { alike: false });
        assert_eq!(differing.rounds.len(), 9, "each round's own is kept");
        for round in &mut run.rounds {
            let Outcome::Done(measured) = &mut round.outcome else {
                panic!()
            };
            measured.values.insert(fixture::QUANTITY.to_owned(), 32.0);
        }
        let alike = of(&run);
        assert_eq!(alike.estimate.unwrap().value.to_bits(), 32f64.to_bits());
        assert_eq!(alike.state, State::Setting { alike: true });
        run.plan.soak = Some(model::soak::Soak {
            span: Nanos::from_secs(60),
            every: None,
            opening: Nanos::from_secs(60),
        });
        assert_eq!(
            of(&run).state,
            State::Setting { alike: true },
            "in a soak too"
        );
        run.rounds.clear();
        let none = of(&run);
        assert_eq!(none.estimate, None);
        assert_eq!(none.missing.as_deref(), Some("no round of it was run"));
    }

    #[test]
    fn the_floor_is_the_median_of_slow_windows_of_rates_only() {
        let mut run = fixture::run(&[("os.pipe@1", vec![100.0; 6])]);
        // The windows of each round are 80, 100, 100, 100, 110; their 10 % quantile lies 0.4 of the way to 100.
        let floor = summarize(&run)[0].floor.unwrap();
        assert!((floor.value - 88.0).abs() < 1e-9 && floor.n == 6);
        run.plan.cases[0].metrics[0].unit = Unit::Nanoseconds;
        assert_eq!(summarize(&run)[0].floor, None);
    }

    #[test]
    fn what_is_missing_says_why() {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 2]), ("os.spawn@1", Vec::new())]);
        let hung = Failure::Hung {
            stage: "measuring".to_owned(),
            after: Nanos::from_secs(9),
        };
        let last = &hung.to_string();
        assert!(
            last.starts_with("worker hung: measuring did not end within 9.0 s"),
            "{last}"
        );
        assert!(last.contains("; hint: "), "{last}");
        for (round, failure) in run.rounds.iter_mut().zip([Failure::OutOfMemory, hung]) {
            round.outcome = Outcome::Failed(failure);
        }
        let found = summarize(&run);
        assert_eq!(found[0].missing.as_deref(), Some(last.as_str()));
        assert_eq!(
            found[0].warnings,
            [Warning::RoundsFailed {
                failed: 2,
                of: 2,
                reason: last.to_owned(),
                others: vec![FailedFor {
                    rounds: 1,
                    reason: Failure::OutOfMemory.to_string(),
                }],
            }]
        );
        assert_eq!(found[1].missing.as_deref(), Some("no round of it was run"));
        assert!(found[1].warnings.is_empty());
    }

    #[test]
    fn a_value_missing_in_one_round_has_its_reason_and_counts_nowhere() {
        let mut run = fixture::run(&[("os.pipe@1", vec![5.0])]);
        let Outcome::Done(measured) = &mut run.rounds[0].outcome else {
            panic!()
        };
        measured.values.clear();
        measured.missing.insert(
            fixture::QUANTITY.to_owned(),
            "too few operations".to_owned(),
        );
        let found = summarize(&run);
        assert_eq!(found[0].missing.as_deref(), Some("too few operations"));
        assert!(found[0].rounds.is_empty());

        let Outcome::Done(measured) = &mut run.rounds[0].outcome else {
            panic!()
        };
        measured
            .values
            .insert(fixture::QUANTITY.to_owned(), f64::NAN);
        assert_eq!(summarize(&run)[0].estimate, None, "a NaN is no value");
    }

    /// The state where the windows of round `i` of twelve are `windows(i)`, each of so many operations.
    fn state_with(windows: impl Fn(usize) -> [f64; 5], ops_per_round: u64) -> State {
        let mut run = fixture::run(&[("os.shell@1", fixture::noisy(4, 12, 100.0, 0.002))]);
        for (i, round) in run.rounds.iter_mut().enumerate() {
            let Outcome::Done(measured) = &mut round.outcome else {
                panic!()
            };
            measured.windows = windows(i).to_vec();
            measured.copies[0].ops = ops_per_round;
        }
        summarize(&run)[0].state
    }

    #[test]
    fn windows_of_few_operations_do_not_make_two_states() {
        let in_turn = |i: usize| match i % 3 {
            0 => [10.0, 20.0, 10.0, 20.0, 20.0],
            1 => [20.0, 20.0, 10.0, 10.0, 20.0],
            _ => [20.0, 10.0, 20.0, 20.0, 10.0],
        };
        assert_eq!(state_with(in_turn, 8), State::Steady);
        assert!(matches!(state_with(in_turn, 8000), State::TwoState { .. }));
    }

    #[test]
    fn the_usual_course_of_a_round_is_no_state_of_the_machine() {
        let slow_start = |i: usize| {
            let wobble = count(i % 4) / 10.0;
            [60.0, 100.0, 100.0 + wobble, 101.0, 100.0 - wobble]
        };
        assert_eq!(state_with(slow_start, 8000), State::Steady);
    }
}
