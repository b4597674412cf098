//! Tests of comparisons: conclusions, refusals, corrections, categories.

use super::*;
use crate::fixture::{self, noisy};
use model::comparison::Hopeless;
use model::params::Params;
use model::record::Outcome;
use model::units::Unit;

const DEFAULTS: CompareOptions<'static> = CompareOptions {
    margin: None,
    earlier: &[],
    scatter: Some(0.0),
};

fn one(base: Vec<f64>, other: Vec<f64>) -> MetricComparison {
    let base = fixture::run(&[("os.pipe@1", base)]);
    let other = fixture::run(&[("os.pipe@1", other)]);
    compare(&base, &other, &DEFAULTS).metrics.remove(0)
}

#[test]
fn verdicts_follow_ratio_and_scatter() {
    let check = |ratio: f64, deviation: f64, expect: Verdict| {
        let found = one(
            noisy(1, 12, 100.0, deviation),
            noisy(2, 12, 100.0 * ratio, deviation),
        );
        assert_eq!(found.verdict, expect, "{ratio} {deviation}: {found:?}");
        assert_eq!(found.needed.is_none(), verdict::is_final(expect));
        assert_eq!(found.refused, None);
    };
    check(1.0, 0.01, Verdict::Same);
    check(1.2, 0.01, Verdict::Better);
    check(0.8, 0.01, Verdict::Worse);
    // As large as the margin: surely there, and never surely beyond it.
    check(1.05, 0.02, Verdict::BetterMaybe);
    check(1.0 / 1.05, 0.02, Verdict::WorseMaybe);
    check(1.0, 0.30, Verdict::Unclear);
}

#[test]
fn the_stretches_of_a_soak_give_a_ratio_and_no_verdict() {
    let base = fixture::run(&[("os.pipe@1", noisy(1, 12, 100.0, 0.01))]);
    let mut soak = fixture::run(&[("os.pipe@1", noisy(2, 12, 200.0, 0.01))]);
    soak.plan.soak = Some(model::soak::Soak {
        span: model::units::Nanos::from_secs(720),
        every: None,
        opening: model::units::Nanos::from_secs(720),
    });
    let mut short = soak.clone();
    short.rounds.truncate(2);
    let of = |base, other| Refusal::Soak { base, other };
    for (a, b, ratio, refused) in [
        (&base, &soak, 2.0, of(false, true)),
        (&soak, &base, 0.5, of(true, false)),
        (&soak, &soak, 1.0, of(true, true)),
        // Few stretches are no reason to measure more of them.
        (&base, &short, 2.0, of(false, true)),
        (&short, &base, 0.5, of(true, false)),
    ] {
        let found = compare(a, b, &DEFAULTS).metrics.remove(0);
        assert!(
            (found.ratio.unwrap() / ratio - 1.0).abs() < 0.05,
            "{found:?}"
        );
        assert_eq!((found.interval, found.verdict), (None, Verdict::Unclear));
        assert_eq!((found.refused, found.needed), (Some(refused), None));
        let category = compare(a, b, &DEFAULTS).categories.remove(0);
        assert_eq!(
            (category.interval, category.verdict),
            (None, Verdict::Unclear)
        );
    }
}

#[test]
fn above_one_is_better_for_either_direction() {
    let run = |values: Vec<f64>| {
        let mut run = fixture::run(&[("os.pipe@1", values)]);
        run.plan.cases[0].metrics[0] = fixture::metric(
            fixture::QUANTITY,
            Unit::Nanoseconds,
            Better::Lower,
            MetricClass::LatencyTypical,
        );
        run
    };
    let (base, other) = (run(noisy(1, 9, 100.0, 0.01)), run(noisy(2, 9, 50.0, 0.01)));
    let found = compare(&base, &other, &DEFAULTS);
    let metric = &found.metrics[0];
    assert!(
        (metric.ratio.unwrap() - 2.0).abs() < 0.05,
        "{:?}",
        metric.ratio
    );
    assert_eq!(
        (metric.verdict, metric.adjusted),
        (Verdict::Better, Verdict::Better)
    );
    assert!((metric.values.base.unwrap() - 100.0).abs() < 2.0);
    assert!((found.categories[0].ratio - 2.0).abs() < 0.05);
}

#[test]
fn exchanging_the_runs_reverses_every_conclusion() {
    let cases = ["os.pipe@1", "cpu.prime@1", "cpu.float@1", "fs.copy@1"];
    let run = |seed: u64, step: f64| {
        let series: Vec<(&str, Vec<f64>)> = (0_u32..)
            .zip(cases)
            .map(|(i, id)| {
                let level = 100.0 * (1.0 + step * f64::from(i));
                (id, noisy(seed + u64::from(i), 10, level, 0.02))
            })
            .collect();
        fixture::run(&series)
    };
    let (base, other) = (run(10, 0.0), run(20, 0.08));
    let there = compare(&base, &other, &DEFAULTS);
    let back = compare(&other, &base, &DEFAULTS);
    for (a, b) in there.metrics.iter().zip(&back.metrics) {
        assert!((a.ratio.unwrap() * b.ratio.unwrap() - 1.0).abs() < 1e-12);
        let (ends, mirrored) = (a.interval.unwrap(), b.interval.unwrap());
        assert!((ends.lo * mirrored.hi - 1.0).abs() < 1e-12);
        assert_eq!(a.verdict.reversed(), b.verdict);
        assert_eq!(a.adjusted.reversed(), b.adjusted);
        assert_eq!(a.needed, b.needed);
    }
    assert_eq!(there.categories.len(), 3);
    for (a, b) in there.categories.iter().zip(&back.categories) {
        assert!((a.ratio * b.ratio - 1.0).abs() < 1e-12);
        assert_eq!(a.verdict.reversed(), b.verdict);
    }
}

#[test]
fn a_run_is_the_same_as_itself() {
    let run = fixture::run(&[("os.pipe@1", noisy(1, 10, 7.0, 0.01))]);
    let found = compare(&run, &run, &DEFAULTS);
    assert!((found.metrics[0].ratio.unwrap() - 1.0).abs() < 1e-12);
    assert_eq!(found.metrics[0].verdict, Verdict::Same);
    assert_eq!(found.categories[0].verdict, Verdict::Same);
    assert!(found.differences.is_empty());
}

#[test]
fn too_few_rounds_give_a_ratio_but_no_interval() {
    let found = one(vec![100.0; 5], noisy(1, 9, 200.0, 0.01));
    assert!((found.ratio.unwrap() - 2.0).abs() < 0.05);
    assert_eq!((found.interval, found.verdict), (None, Verdict::Unclear));
    assert_eq!(
        found.refused,
        Some(Refusal::TooFewRounds {
            base: 5,
            other: 9,
            need: 6
        })
    );
    assert_eq!(found.needed, Some(RoundsNeeded::RoundsAtLeast(6)));
}

#[test]
fn a_metric_without_any_value_says_why_it_has_none() {
    let why = |base: &[f64], other: &[f64]| {
        let found = one(base.to_vec(), other.to_vec());
        assert_eq!((found.ratio, found.needed), (None, None));
        found.refused.unwrap()
    };
    let none = |base, other, why: &str| Refusal::NoValue {
        base,
        other,
        why: why.to_owned(),
    };
    let no_round = "no round of it was run";
    assert_eq!(why(&[], &[1.0; 6]), none(true, false, no_round));
    assert_eq!(why(&[1.0; 6], &[]), none(false, true, no_round));
    assert_eq!(why(&[], &[]), none(true, true, no_round));
    // Rounds enough, and none of them has the quantity: more of them would not help.
    let base = fixture::run(&[("os.pipe@1", vec![1.0; 9])]);
    let mut other = base.clone();
    for round in &mut other.rounds {
        if let Outcome::Done(done) = &mut round.outcome {
            done.values.clear();
            let quantity = fixture::QUANTITY.to_owned();
            done.missing
                .insert(quantity, "too few operations".to_owned());
        }
    }
    let found = compare(&base, &other, &DEFAULTS).metrics.remove(0);
    let expect = none(false, true, "too few operations");
    assert_eq!(found.refused, Some(expect));
}

#[test]
fn values_without_a_logarithm_have_no_ratio() {
    let check = |base: Vec<f64>, other: Vec<f64>, base_is_zero, other_is_zero| {
        let found = one(base, other);
        let expect = Refusal::NoRatio {
            base_is_zero,
            other_is_zero,
        };
        assert_eq!((found.ratio, found.refused), (None, Some(expect)));
        assert_eq!(found.verdict, Verdict::Unclear);
    };
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut values = vec![1.0; 7];
        values[3] = bad;
        check(values, vec![1.0; 7], false, false);
    }
    check(vec![0.0; 7], vec![1.0; 7], true, false);
    check(vec![1.0; 7], vec![-0.0; 7], false, true);
    check(vec![0.0; 7], vec![0.0; 9], true, true);
}

#[test]
fn what_is_not_the_same_measurement_does_not_compare() {
    let base = fixture::run(&[("os.pipe@1", vec![1.0; 6])]);
    let mut other = base.clone();
    other.plan.cases[0].workload_version = 2;
    let refusal = |base: &Run, other: &Run| {
        let found = compare(base, other, &DEFAULTS);
        assert_eq!(found.metrics[0].ratio, None);
        assert!(found.categories.is_empty());
        found.metrics[0].refused.clone().unwrap()
    };
    assert_eq!(
        refusal(&base, &other),
        Refusal::WorkloadVersion { base: 1, other: 2 }
    );

    let spec = model::spec::Spec {
        name: "os.pipe",
        version: 1,
        nature: model::spec::Nature::System,
        title: "",
        doc: "",
        params: &[model::spec::ParamDef {
            name: "size",
            kind: model::spec::ParamKind::Count { min: 1, max: 9999 },
            default: "512",
            doc: "",
        }],
        metrics: &[],
        tests: &[],
        simulated: false,
        on_disk: false,
    };
    let mut base = base;
    let mut other = base.clone();
    base.plan.cases[0].params = Params::resolve(&spec, []).unwrap();
    other.plan.cases[0].params = Params::resolve(&spec, [("size", "4096")]).unwrap();
    let (name, a, b) = ("size".to_owned(), "512".to_owned(), "4096".to_owned());
    assert_eq!(
        refusal(&base, &other),
        Refusal::Parameters(vec![(name.clone(), a.clone(), b)])
    );
    other.plan.cases[0].params = Params::default();
    let unset = "not set".to_owned();
    assert_eq!(
        refusal(&base, &other),
        Refusal::Parameters(vec![(name.clone(), a.clone(), unset.clone())])
    );
    assert_eq!(
        refusal(&other, &base),
        Refusal::Parameters(vec![(name, unset, a)])
    );

    other = base.clone();
    other.plan.cases[0].workload = "os.fifo".to_owned();
    assert!(matches!(refusal(&base, &other), Refusal::Parameters(_)));
}

#[test]
fn one_sided_metrics_come_last_and_keep_their_value() {
    let base = fixture::run(&[("os.pipe@1", vec![2.0; 6]), ("os.only@1", vec![3.0; 6])]);
    let mut other = fixture::run(&[("cpu.new@1", vec![4.0; 6]), ("os.pipe@1", vec![2.0; 6])]);
    other.plan.cases[1].metrics.push(fixture::metric(
        "clat_ns_p50",
        Unit::Nanoseconds,
        Better::Lower,
        MetricClass::LatencyTypical,
    ));
    let found = compare(&base, &other, &DEFAULTS);
    let only = |base_has_it| Some(Refusal::OneSideOnly { base_has_it });
    let expect = [
        ("os.pipe@1:ops_per_s", None, (Some(2.0), Some(2.0))),
        ("os.only@1:ops_per_s", only(true), (Some(3.0), None)),
        ("cpu.new@1:ops_per_s", only(false), (None, Some(4.0))),
        ("os.pipe@1:clat_ns_p50", only(false), (None, None)),
    ];
    assert_eq!(found.metrics.len(), expect.len());
    for (metric, (id, refused, values)) in found.metrics.iter().zip(expect) {
        assert_eq!(metric.id.to_string(), id);
        assert_eq!((&metric.refused, metric.values), (&refused, values.into()));
    }
}

#[test]
fn the_margin_can_be_given_and_is_by_class_otherwise() {
    let base = fixture::run(&[("os.pipe@1", noisy(1, 12, 100.0, 0.002))]);
    let other = fixture::run(&[("os.pipe@1", noisy(2, 12, 103.0, 0.002))]);
    let verdict = |margin| {
        let found = compare(&base, &other, &CompareOptions { margin, ..DEFAULTS });
        (
            found.metrics[0].verdict,
            found.categories[0].verdict,
            found.metrics[0].margin,
        )
    };
    assert_eq!(verdict(None), (Verdict::Same, Verdict::Same, 0.05));
    assert_eq!(
        verdict(Some(0.01)),
        (Verdict::Better, Verdict::Better, 0.01)
    );
}

#[test]
fn a_lone_small_difference_among_many_metrics_is_withdrawn() {
    let ids: Vec<String> = (0..40).map(|i| format!("os.t{i}@1")).collect();
    let run = |seed: u64, first: f64| {
        let series: Vec<(&str, Vec<f64>)> = (0_u64..)
            .zip(&ids)
            .map(|(i, id)| {
                // The first metric has the same scatter in both runs, so that its ratio is exact.
                let (seed, level) = if i == 0 {
                    (1, first)
                } else {
                    (seed + i, 100.0)
                };
                (id.as_str(), noisy(seed, 8, level, 0.03))
            })
            .collect();
        fixture::run(&series)
    };
    let base = run(1000, 100.0);
    let small = compare(&base, &run(2000, 105.6), &DEFAULTS)
        .metrics
        .remove(0);
    assert_eq!(small.verdict, Verdict::BetterMaybe, "{small:?}");
    assert_eq!(small.adjusted, Verdict::Unclear);
    let large = compare(&base, &run(2000, 150.0), &DEFAULTS)
        .metrics
        .remove(0);
    assert_eq!(
        (large.verdict, large.adjusted),
        (Verdict::Better, Verdict::Better)
    );
}

#[test]
fn a_category_takes_each_workload_before_it_takes_one_twice() {
    let ids = [
        "os.a@1", "os.a@2", "os.a@4", "os.b@1", "os.b@2", "os.c@1", "os.d@1",
    ];
    let run = |factor: &dyn Fn(&str) -> f64| {
        let series: Vec<(&str, Vec<f64>)> =
            ids.iter().map(|&id| (id, vec![factor(id); 6])).collect();
        fixture::run(&series)
    };
    let base = run(&|_| 1.0);
    // Chosen: a@1, b@1, c@1, d@1, then a@2.
    let other = run(&|id| {
        if id == "os.a@4" || id == "os.b@2" {
            100.0
        } else {
            2.0
        }
    });
    let found = compare(&base, &other, &DEFAULTS).categories;
    assert_eq!((found.len(), found[0].metrics), (1, 5));
    assert!((found[0].ratio - 2.0).abs() < 1e-12);
}

#[test]
fn a_rate_that_somebody_set_is_in_no_category() {
    let set = |run: &mut Run, case: usize, name: &str, value: ParamValue| {
        let params = [(name.to_owned(), value)].into_iter().collect();
        run.plan.cases[case].params = params;
    };
    let run = |level: f64| {
        let all = ["net.tcp@1", "net.udp@1", "net.rr@1", "net.low@1"];
        fixture::run(&all.map(|id| (id, vec![if id == "net.tcp@1" { level } else { 9.0 }; 8])))
    };
    let (mut base, mut other) = (run(1.0), run(2.0));
    let plain = compare(&base, &other, &DEFAULTS);
    assert_eq!((plain.categories[0].metrics, plain.left_out.len()), (4, 0));
    for run in [&mut base, &mut other] {
        set(run, 1, "rate", ParamValue::Text("100M".to_owned()));
        set(run, 2, "rate", ParamValue::Count(1000));
        // None is asked for.
        set(run, 0, "rate", ParamValue::Count(0));
        // What comes of it is no rate.
        set(run, 3, "rate_iops", ParamValue::Count(50));
        run.plan.cases[3].metrics[0].unit = Unit::Nanoseconds;
    }
    let found = compare(&base, &other, &DEFAULTS);
    let ids: Vec<String> = found.left_out.iter().map(ToString::to_string).collect();
    assert_eq!(ids, ["net.udp@1", "net.rr@1"]);
    assert_eq!(found.categories[0].metrics, 2);
    assert!((found.categories[0].ratio - 2.0_f64.sqrt()).abs() < 1e-9);
    assert_eq!(found.metrics.len(), 4);
    // A category that has nothing else has no ratio.
    set(&mut other, 0, "rate", ParamValue::Count(5));
    set(&mut base, 0, "rate", ParamValue::Count(5));
    for run in [&mut base, &mut other] {
        run.plan.cases[3].metrics[0].unit = Unit::OpsPerSecond;
    }
    let none = compare(&base, &other, &DEFAULTS);
    assert_eq!((none.categories.len(), none.left_out.len()), (0, 4));
}

#[test]
fn a_member_with_too_few_rounds_does_not_cost_the_category_its_interval() {
    let base = fixture::run(&[("os.a@1", vec![1.0; 8]), ("os.b@1", vec![1.0; 3])]);
    let other = fixture::run(&[("os.a@1", vec![2.0; 8]), ("os.b@1", vec![8.0; 8])]);
    let category = compare(&base, &other, &DEFAULTS).categories.remove(0);
    assert_eq!((category.metrics, category.verdict), (1, Verdict::Better));
    assert!((category.ratio - 2.0).abs() < 1e-12);
    let few = compare(&base, &base, &DEFAULTS).categories;
    assert_eq!(few[0].metrics, 1);
    let mut short = base.clone();
    short.rounds.retain(|round| round.pass <= 3);
    let category = compare(&short, &other, &DEFAULTS).categories.remove(0);
    assert_eq!((category.metrics, category.interval), (2, None));
    assert!((category.ratio - 4.0).abs() < 1e-12);
}

#[test]
fn a_category_of_one_metric_says_what_that_metric_says() {
    let mut taken_back = 0;
    for percent in 0..12_u32 {
        let run = |seed: u64, ratio: f64| {
            let many = (0..60).map(|i| (format!("f.t{i}@1"), noisy(seed + i, 6, 100.0, 0.02)));
            let lone = (
                "os.a@1".to_owned(),
                noisy(seed + 99, 6, 100.0 * ratio, 0.02),
            );
            let series: Vec<(String, Vec<f64>)> = many.chain([lone]).collect();
            let named: Vec<(&str, Vec<f64>)> = series
                .iter()
                .map(|(id, of)| (id.as_str(), of.clone()))
                .collect();
            fixture::run(&named)
        };
        let ratio = 1.0 + f64::from(percent) / 100.0;
        let found = compare(&run(1, 1.0), &run(1001, ratio), &DEFAULTS);
        let metric = found.metrics.last().unwrap();
        let category = found.categories.iter().find(|one| one.category == "os");
        assert_eq!(category.unwrap().verdict, metric.adjusted, "{ratio}");
        taken_back += u32::from(metric.adjusted != metric.verdict);
    }
    assert!(taken_back > 0, "no correction was ever needed here");
}

#[test]
fn a_category_without_six_common_passes_has_no_interval() {
    let base = fixture::run(&[("os.a@1", vec![1.0; 8]), ("os.b@1", vec![1.0; 8])]);
    let mut other = fixture::run(&[("os.a@1", vec![2.0; 8]), ("os.b@1", vec![8.0; 8])]);
    // Six rounds each, but only four passes that have both.
    other.rounds.retain(|round| match round.case.test.as_str() {
        "os.a" => round.pass <= 6,
        _ => round.pass > 2,
    });
    let found = compare(&base, &other, &DEFAULTS);
    assert!(found.metrics.iter().all(|metric| metric.interval.is_some()));
    let category = &found.categories[0];
    assert_eq!(
        (category.interval, category.verdict),
        (None, Verdict::Unclear)
    );
    assert!((category.ratio - 4.0).abs() < 1e-12);
}

#[test]
fn a_hundred_metrics_of_equal_machines_yield_hardly_a_claim() {
    let ids: Vec<String> = (0..100).map(|i| format!("f{}.t{i}@1", i % 8)).collect();
    let run = |seed: u64| {
        let series: Vec<(&str, Vec<f64>)> = (0_u64..)
            .zip(&ids)
            .map(|(i, id)| (id.as_str(), noisy(seed + i, 30, 100.0, 0.02)))
            .collect();
        fixture::run(&series)
    };
    let found = compare(&run(1), &run(500), &DEFAULTS);
    assert_eq!((found.metrics.len(), found.categories.len()), (100, 8));
    // Two identical machines: at most a stray claim survives the correction.
    let claims = |adjusted: Verdict| !matches!(adjusted, Verdict::Same | Verdict::Unclear);
    let stray = found
        .metrics
        .iter()
        .filter(|metric| claims(metric.adjusted))
        .count();
    assert!(stray <= 1, "{stray}");
}

#[test]
fn what_the_correction_takes_away_comes_with_the_rounds_that_would_give_it_back() {
    let names: Vec<String> = (0..40).map(|i| format!("os.t{i}@1")).collect();
    let side = |seed: u64, ratio: &dyn Fn(u32) -> f64| {
        let cases: Vec<(&str, Vec<f64>)> = (0_u32..)
            .zip(&names)
            .map(|(i, name)| {
                let seed = seed + u64::from(i);
                (name.as_str(), noisy(seed, 12, 100.0 * ratio(i), 0.02))
            })
            .collect();
        fixture::run(&cases)
    };
    // Ten ratios from 1.050 to 1.095, so that some are better by a hair's breadth; the rest are equal.
    let ratio = |i: u32| {
        if i < 10 {
            1.05 + 0.005 * f64::from(i)
        } else {
            1.0
        }
    };
    let found = compare(&side(1, &|_| 1.0), &side(1000, &ratio), &DEFAULTS);
    for metric in &found.metrics {
        let final_both = verdict::is_final(metric.verdict) && verdict::is_final(metric.adjusted);
        assert_eq!(metric.needed.is_none(), final_both, "{metric:?}");
    }
    let taken = found
        .metrics
        .iter()
        .any(|metric| verdict::is_final(metric.verdict) && !verdict::is_final(metric.adjusted));
    assert!(taken, "no verdict was corrected, so nothing was tested");
}

#[test]
fn where_no_number_of_rounds_would_do_it_says_why() {
    // On average equal, so that the ratio lies within the margin.
    let run = |deviation: f64| {
        let scatter = [-0.9, -0.5, -0.1, 0.1, 0.5, 0.9, -0.7, 0.7, 0.0];
        let values = scatter.map(|x: f64| 100.0 * (deviation * x).exp());
        fixture::run(&[("os.pipe@1", values.to_vec())])
    };
    let why = |base: &Run, other: &Run| compare(base, other, &DEFAULTS).metrics[0].hopeless;
    let (quiet, noisy) = (run(0.01), run(1.0));
    assert_eq!(why(&quiet, &quiet), None);
    assert_eq!(why(&quiet, &noisy), Some(Hopeless::BetweenRounds));
    // The noisier side tells, whichever it is.
    assert_eq!(why(&noisy, &quiet), Some(Hopeless::BetweenRounds));
    let mut stolen = noisy.clone();
    for round in &mut stolen.rounds[..6] {
        round.noise.steal_share = Some(0.3);
    }
    for round in &mut stolen.rounds[6..] {
        round.noise.steal_share = Some(0.0);
    }
    assert_eq!(why(&quiet, &stolen), Some(Hopeless::Steal));
    let mut windowless = noisy.clone();
    for round in &mut windowless.rounds {
        if let Outcome::Done(done) = &mut round.outcome {
            done.windows.clear();
        }
    }
    assert_eq!(why(&quiet, &windowless), Some(Hopeless::Unseen));
    let at = |level: f64| {
        let values = [1.0, 1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999].map(|x| level * x);
        fixture::run(&[("os.pipe@1", values.to_vec())])
    };
    assert_eq!(why(&at(100.0), &at(105.0)), Some(Hopeless::OnTheMargin));
}
