//! Tests of groups of runs, of slow moments, and of the work that a comparison takes.

use super::*;
use crate::fixture::{self, noisy};
use crate::rounds::work;
use model::comparison::{MarginSource, Place};
use model::host::Fact;
use model::record::{End, Outcome};

const DEFAULTS: CompareOptions<'static> = CompareOptions {
    margin: None,
    earlier: &[],
    scatter: Some(0.0),
};

/// Runs of separate instances at these levels, with nine rounds each.
fn fleet(seed: u64, levels: &[f64]) -> Vec<Run> {
    (0_u64..)
        .zip(levels)
        .map(|(i, &level)| {
            let seed = seed + 10 * i;
            let mut run = fixture::run(&[
                ("os.pipe@1", noisy(seed, 9, level, 0.01)),
                ("os.spawn@1", noisy(seed + 1, 9, level, 0.01)),
            ]);
            run.meta.id = format!("run-{seed}");
            run.host.identity.machine = Fact::Known(format!("{seed:016x}"));
            run
        })
        .collect()
}

fn refs(runs: &[Run]) -> Vec<&Run> {
    runs.iter().collect()
}

fn groups(base: &[Run], other: &[Run]) -> Comparison {
    compare_groups(&refs(base), &refs(other), &DEFAULTS)
}

const FIVE: [f64; 5] = [98.0, 99.0, 100.0, 101.0, 102.0];

#[test]
fn a_run_of_a_group_counts_once_with_its_median() {
    let (base, other) = (fleet(1, &FIVE), fleet(1000, &FIVE.map(|level| 1.2 * level)));
    let found = groups(&base, &other);
    let metric = &found.metrics[0];
    assert_eq!((metric.n, metric.refused.as_ref()), ((5, 5).into(), None));
    assert_eq!(
        (metric.verdict, metric.adjusted),
        (Verdict::Better, Verdict::Better)
    );
    assert!((metric.ratio.unwrap() - 1.2).abs() < 0.01, "{metric:?}");
    // The scatter is that of the instances, some 1.6 %, and not that of 45 rounds.
    let interval = metric.interval.unwrap();
    let half = (interval.hi / interval.lo).ln() / 2.0;
    assert!((0.015..0.04).contains(&half), "{half}");
    assert!(matches!(
        found.scope.place,
        Place::Plan { base: 5, other: 5 }
    ));
    let category = &found.categories[0];
    assert_eq!((category.metrics, category.verdict), (2, Verdict::Better));
    assert!(!found.paired);
}

#[test]
fn too_few_runs_give_a_ratio_and_what_to_run() {
    let check = |n: usize, m: usize| {
        let (base, other) = (fleet(1, &FIVE[..n]), fleet(1000, &FIVE[..m]));
        let found = groups(&base, &other);
        let metric = &found.metrics[0];
        let counted = |n: usize| u32::try_from(n).unwrap();
        let (base, other) = (counted(n), counted(m));
        let refused = Refusal::TooFewRuns {
            base,
            other,
            need: 5,
        };
        assert_eq!(metric.refused, Some(refused));
        assert_eq!((metric.interval, metric.verdict), (None, Verdict::Unclear));
        assert!(metric.ratio.is_some());
        assert_eq!(metric.needed, Some(RoundsNeeded::InstancesAtLeast(5)));
        assert_eq!(found.scope.place, Place::Runs { base, other });
    };
    check(5, 4);
    check(1, 5);
    check(2, 1);
}

#[test]
fn wide_groups_say_how_many_instances_it_would_take() {
    let spread = [80.0, 90.0, 100.0, 110.0, 120.0];
    let found = groups(&fleet(1, &spread), &fleet(1000, &spread));
    let metric = &found.metrics[0];
    assert_eq!(metric.verdict, Verdict::Unclear);
    assert!(
        matches!(
            metric.needed,
            Some(RoundsNeeded::Instances(6..) | RoundsNeeded::NotAtThisNoise)
        ),
        "{metric:?}"
    );
}

#[test]
fn runs_of_one_side_that_did_other_work_are_refused_for_that_metric_alone() {
    let (mut base, mut other) = (fleet(1, &FIVE), fleet(1000, &FIVE));
    base[3].plan.cases[0].workload_version = 2;
    let metrics = groups(&base, &other).metrics;
    let expect = |on_base, run: String| Refusal::GroupDisagrees {
        on_base,
        runs: (if on_base { "run-1" } else { "run-1000" }.to_owned(), run),
        why: Box::new(Refusal::WorkloadVersion { base: 1, other: 2 }),
    };
    assert_eq!(metrics[0].refused, Some(expect(true, "run-31".to_owned())));
    assert_eq!(
        (metrics[0].ratio, metrics[1].refused.as_ref()),
        (None, None)
    );

    base[3].plan.cases[0].workload_version = 1;
    other[4].plan.cases[0].workload_version = 2;
    let metrics = groups(&base, &other).metrics;
    assert_eq!(
        metrics[0].refused,
        Some(expect(false, "run-1040".to_owned()))
    );
}

#[test]
fn a_case_that_one_run_lacks_counts_in_the_others() {
    let levels = [98.0, 99.0, 100.0, 101.0, 102.0, 103.0];
    let (mut base, other) = (fleet(1, &levels), fleet(1000, &levels));
    base[0].plan.cases.remove(0);
    base[0].rounds.retain(|round| round.case.test != "os.pipe");
    let metrics = groups(&base, &other).metrics;
    let n = |id: &str| {
        let metric = metrics
            .iter()
            .find(|metric| metric.id.case.test == id)
            .unwrap();
        (metric.n, metric.refused.clone())
    };
    assert_eq!(n("os.pipe"), ((5, 6).into(), None));
    assert_eq!(n("os.spawn"), ((6, 6).into(), None));
    assert_eq!(metrics.len(), 2);
}

#[test]
fn differences_between_groups_name_every_value_once() {
    let (mut base, mut other) = (fleet(1, &FIVE), fleet(1000, &FIVE));
    for run in &mut base {
        run.host.kernel.release = Fact::Known("6.1".to_owned());
    }
    for (i, run) in other.iter_mut().enumerate() {
        let release = if i < 2 { "6.2" } else { "6.3" };
        run.host.kernel.release = Fact::Known(release.to_owned());
    }
    let found = groups(&base, &other).differences;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(
        (found[0].base.as_str(), found[0].other.as_str()),
        ("6.1", "6.2 / 6.3")
    );
}

/// A run whose rounds have ten windows, of which one in `slow_every` is at `slow` of the rate.
fn with_slow_windows(seed: u64, slow_every: usize, slow: f64) -> Run {
    let mut run = fixture::run(&[("os.pipe@1", noisy(seed, 12, 100.0, 0.005))]);
    for round in &mut run.rounds {
        let Outcome::Done(measured) = &mut round.outcome else {
            panic!()
        };
        let rate = measured.values[fixture::QUANTITY];
        measured.windows = (0..10)
            .map(|i| {
                if i % slow_every == 0 {
                    slow * rate
                } else {
                    rate
                }
            })
            .collect();
    }
    run
}

#[test]
fn slow_moments_have_a_verdict_of_their_own() {
    let (base, other) = (with_slow_windows(1, 20, 1.0), with_slow_windows(2, 3, 0.8));
    let metric = compare(&base, &other, &DEFAULTS).metrics.remove(0);
    assert_eq!(metric.adjusted, Verdict::Same);
    let floor = metric.floor.unwrap();
    assert_eq!(
        (floor.verdict, floor.adjusted),
        (Verdict::Worse, Verdict::Worse)
    );
    assert!((floor.ratio.unwrap() - 0.8).abs() < 0.01, "{floor:?}");
    assert_eq!(floor.slow_shares.base, Some(0.0));
    assert!((floor.slow_shares.other.unwrap() - 0.4).abs() < 1e-12);
    let back = compare(&other, &base, &DEFAULTS).metrics[0].floor.unwrap();
    assert_eq!(back.verdict, Verdict::Better);
    assert!((back.ratio.unwrap() * floor.ratio.unwrap() - 1.0).abs() < 1e-12);
}

#[test]
fn a_metric_without_windows_or_with_stalled_ones_has_no_floor_ratio() {
    let bare = |run: &mut Run, windows: Vec<f64>| {
        for round in &mut run.rounds {
            let Outcome::Done(measured) = &mut round.outcome else {
                panic!()
            };
            measured.windows.clone_from(&windows);
        }
    };
    let (mut base, mut other) = (with_slow_windows(1, 3, 0.8), with_slow_windows(2, 3, 0.8));
    bare(&mut base, Vec::new());
    bare(&mut other, Vec::new());
    assert_eq!(compare(&base, &other, &DEFAULTS).metrics[0].floor, None);
    bare(&mut other, vec![0.0, 0.0, 0.0, 100.0]);
    bare(&mut base, vec![100.0; 4]);
    let floor = compare(&base, &other, &DEFAULTS).metrics[0].floor.unwrap();
    assert_eq!((floor.ratio, floor.verdict), (None, Verdict::Unclear));
    assert_eq!((floor.values.other, floor.medians.other), (None, Some(0.0)));
}

#[test]
fn the_category_of_a_duel_is_paired_by_pass() {
    let weather = [100.0, 140.0, 60.0, 130.0, 80.0, 120.0, 90.0];
    let side = |name: &str, seed: u64, factor: f64| {
        let series = |seed| -> Vec<f64> {
            let own = noisy(seed, weather.len(), factor, 0.004);
            weather.iter().zip(own).map(|(a, b)| a * b).collect()
        };
        let mut run = fixture::run(&[("os.a@1", series(seed)), ("os.b@1", series(seed + 1))]);
        run.plan.duel = Some(model::plan::Duel {
            id: "d".to_owned(),
            side: name.to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
        run
    };
    let (a, b) = (side("a", 1, 1.0), side("b", 50, 1.1));
    let found = compare(&a, &b, &DEFAULTS);
    assert!(found.paired);
    assert_eq!(found.scope.place, Place::OneInstance);
    let category = &found.categories[0];
    assert_eq!((category.metrics, category.verdict), (2, Verdict::Better));
    let interval = category.interval.unwrap();
    assert!(
        (interval.hi / interval.lo).ln() < 0.03,
        "the weather drops out: {interval:?}"
    );
    let mut apart = b;
    apart.plan.duel = None;
    let unpaired = compare(&a, &apart, &DEFAULTS).categories.remove(0);
    assert_eq!(unpaired.verdict, Verdict::Unclear);
}

#[test]
fn a_short_duel_counts_its_pairs_and_names_the_run_to_go_on_with() {
    let side = |name: &str, values: &[f64], end| {
        let mut run = fixture::run(&[("os.a@1", values.to_vec())]);
        run.meta.id = format!("d{name}");
        run.meta.end = end;
        run.plan.duel = Some(model::plan::Duel {
            id: "d".to_owned(),
            side: name.to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
        run
    };
    for (end, resume) in [
        (End::Complete, None),
        (End::Interrupted, Some("da")),
        (End::Open, Some("da")),
    ] {
        let a = side("a", &[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], end);
        let mut b = side("b", &[1.0, 1.1, 1.2, 1.3, 1.4, 1.5], end);
        // Six rounds on either side, but only five passes that both have.
        b.rounds[5].pass = 7;
        let metric = compare(&a, &b, &DEFAULTS).metrics.remove(0);
        let refused = Refusal::TooFewPairs {
            pairs: 5,
            need: 6,
            resume: resume.map(ToOwned::to_owned),
        };
        assert_eq!(metric.refused, Some(refused));
        assert_eq!(metric.needed, Some(RoundsNeeded::PairsAtLeast(6)));
        assert_eq!(metric.interval, None);
    }
    let a = side("a", &[1.0; 6], End::Complete);
    let b = side("b", &[1.0, 1.05, 0.99, 1.06, 1.01, 1.04], End::Complete);
    let needed = compare(&a, &b, &DEFAULTS).metrics.remove(0).needed;
    assert!(
        matches!(needed, Some(RoundsNeeded::Pairs(7..))),
        "{needed:?}"
    );
}

#[test]
fn margins_say_where_they_come_from() {
    let run = fixture::run(&[("os.pipe@1", vec![1.0; 6])]);
    let source = |margin| {
        let options = CompareOptions { margin, ..DEFAULTS };
        compare(&run, &run, &options).metrics[0].margin_source
    };
    assert_eq!(source(Some(0.03)), MarginSource::Given);
    assert_eq!(source(None), MarginSource::Class);
}

#[test]
fn the_work_grows_with_the_rounds_and_not_with_their_square() {
    let run = |cases: usize, seed: u64| {
        let ids: Vec<String> = (0..cases).map(|i| format!("f{}.t{i}@1", i % 8)).collect();
        let series: Vec<(&str, Vec<f64>)> = (0_u64..)
            .zip(&ids)
            .map(|(i, id)| (id.as_str(), noisy(seed + i, 28, 100.0, 0.02)))
            .collect();
        fixture::run(&series)
    };
    let comparing = |cases: usize| {
        let (base, other) = (run(cases, 1), run(cases, 5000));
        work::of(|| {
            compare(&base, &other, &DEFAULTS);
        })
    };
    let summing_up = |cases: usize| {
        let run = run(cases, 1);
        work::of(|| {
            crate::summarize(&run);
            crate::scaling::scaling(&run);
            crate::storage::summarize(&run);
            crate::memory::summarize(&run);
        })
    };
    let check = |visits: &dyn Fn(usize) -> usize, rounds: usize| {
        let (hundred, four_hundred) = (visits(100), visits(400));
        assert!(hundred <= 8 * rounds, "{hundred} visits to {rounds} rounds");
        assert!(four_hundred <= 5 * hundred, "{hundred} and {four_hundred}");
    };
    check(&comparing, 2 * 100 * 28);
    check(&summing_up, 100 * 28);
}
