//! Scaling, against laws that are known because the runs are made from them.

use super::*;
use crate::fixture;
use model::host::Fact;
use model::noise::Sentinel;
use model::record::Outcome;
use model::rng::Rng;
use model::spec::MetricClass;
use model::units::{Nanos, Unit};

/// Repetitions of the coverage test.
const TRIES: u32 = 2000;

const LAW: Law = Law {
    one: 1000.0,
    sigma: 0.05,
    kappa: 0.001,
};

/// How a made-up test behaves.
struct Made<'a> {
    copies: &'a [u32],
    /// The rate at so many copies.
    rate: &'a dyn Fn(u32) -> f64,
    /// The share of the time on a CPU at so many copies.
    on_cpu: &'a dyn Fn(u32) -> f64,
    passes: u32,
    /// Scatter of a round, and of a whole pass, as standard deviations of logarithms.
    noise: (f64, f64),
    seed: u64,
}

impl Default for Made<'_> {
    fn default() -> Self {
        Self {
            copies: &[1, 2, 4, 8],
            rate: &|n| LAW.rate(n),
            on_cpu: &|_| 1.0,
            passes: 9,
            noise: (0.002, 0.05),
            seed: 1,
        }
    }
}

fn run(made: &Made<'_>, cpus: u32) -> Run {
    let mut run = fixture::run(&[]);
    run.host.limits.cpus_allowed = Fact::Known(cpus);
    run.host.cpu.online = Fact::Known(cpus);
    let mut rng = Rng::new(made.seed);
    for &copies in made.copies {
        run.plan.cases.push(fixture::case(&format!("t@{copies}")));
    }
    for pass in 1..=made.passes {
        let whole = (made.noise.1 * rng.normal()).exp();
        for &copies in made.copies {
            let rate = (made.rate)(copies) * whole * (made.noise.0 * rng.normal()).exp();
            let case = CaseId {
                test: "t".to_owned(),
                copies,
            };
            let mut round = fixture::done(&case, pass, &[(fixture::QUANTITY, rate)]);
            if let Outcome::Done(measured) = &mut round.outcome {
                let mut copy = measured.copies[0].clone();
                copy.work = rate * copy.wall.as_secs_f64() / f64::from(copies);
                let user = copy.wall.as_secs_f64() * (made.on_cpu)(copies) * 1e9;
                copy.user = Nanos(model::num::round_to_u64(user));
                measured.copies = vec![copy; usize::try_from(copies).unwrap()];
            }
            run.rounds.push(round);
        }
    }
    run
}

fn one(run: &Run) -> Scaling {
    let mut found = scaling(run);
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn close(found: f64, expect: f64, within: f64) {
    assert!((found - expect).abs() <= within, "{found} for {expect}");
}

#[test]
fn steps_have_speedups_efficiencies_and_the_worth_of_a_cpu_second() {
    let found = one(&run(
        &Made {
            copies: &[4, 1, 2],
            noise: (0.0, 0.05),
            on_cpu: &|n| if n == 4 { 0.5 } else { 1.0 },
            rate: &|n| [0.0, 100.0, 180.0, 0.0, 190.0][usize::try_from(n).unwrap()],
            ..Made::default()
        },
        2,
    ));
    let copies: Vec<u32> = found.steps.iter().map(|step| step.copies).collect();
    assert_eq!(copies, [1, 2, 4], "in order, whatever the plan's");
    let [first, second, third] = &found.steps[..] else {
        panic!()
    };
    let value = |estimate: Option<Estimate>| estimate.unwrap().value;
    close(value(first.speedup), 1.0, 1e-12);
    close(value(second.speedup), 1.8, 1e-9);
    close(value(second.efficiency), 0.9, 1e-9);
    close(value(second.cpu_worth), 0.9, 1e-6);
    // Four copies on two CPUs: held against the CPUs, and each CPU second worth as much as at two copies.
    assert!(third.oversubscribed && !second.oversubscribed);
    close(value(third.efficiency), 0.95, 1e-9);
    close(value(third.cpu_worth), 0.95, 1e-6);
    close(third.on_cpu.unwrap(), 0.5, 1e-9);
    let interval = second.speedup.unwrap().interval.unwrap();
    assert!(
        interval.hi - interval.lo < 1e-9,
        "what a pass shares cancels"
    );
}

#[test]
fn the_law_behind_a_run_is_found() {
    let fit = one(&run(&Made::default(), 8)).fit.unwrap();
    close(fit.sigma.value, LAW.sigma, 0.01);
    close(fit.kappa.value, LAW.kappa, 0.001);
    assert_eq!((fit.up_to, fit.steps, fit.sigma.n), (8, 4, 9));
    let exact = Made {
        noise: (0.0, 0.05),
        ..Made::default()
    };
    let fit = one(&run(&exact, 8)).fit.unwrap();
    close(fit.peak.unwrap(), (0.95_f64 / 0.001).sqrt(), 1e-6);
}

#[test]
fn intervals_cover_the_figures_they_are_of() {
    let (mut sigma, mut kappa) = (0_u32, 0_u32);
    for seed in 0..TRIES {
        let made = Made {
            copies: &[1, 2, 4, 8, 16],
            noise: (0.01, 0.05),
            seed: u64::from(seed),
            ..Made::default()
        };
        let fit = one(&run(&made, 16)).fit.unwrap();
        let covers = |estimate: Estimate, truth: f64| {
            let interval = estimate.interval.unwrap();
            u32::from(interval.lo <= truth && truth <= interval.hi)
        };
        sigma += covers(fit.sigma, LAW.sigma);
        kappa += covers(fit.kappa, LAW.kappa);
    }
    // Nominal at nine passes: 96.1 %.
    for (name, covered) in [("sigma", sigma), ("kappa", kappa)] {
        let share = f64::from(covered) / f64::from(TRIES);
        println!(
            "{name} is within its interval in {:.1} % of {TRIES}",
            100.0 * share
        );
        assert!((0.93..=0.986).contains(&share), "{share}");
    }
}

#[test]
fn what_is_perfect_has_no_serial_share_and_no_peak() {
    for seed in 0..50 {
        let made = Made {
            rate: &|n| 1000.0 * f64::from(n),
            noise: (0.01, 0.05),
            seed,
            ..Made::default()
        };
        let found = one(&run(&made, 8));
        let fit = found.fit.unwrap();
        assert!(fit.sigma.value >= 0.0 && fit.kappa.value >= 0.0 && fit.sigma.value < 0.03);
        assert_eq!(found.finding, Finding::Scales);
    }
}

#[test]
fn a_fit_is_refused_with_the_reason() {
    let check = |made: &Made<'_>, cpus, expected| {
        assert_eq!(one(&run(made, cpus)).fit, Err(expected));
    };
    let two_cpus = Made {
        copies: &[1, 2, 4],
        ..Made::default()
    };
    check(&two_cpus, 2, Refused::TooFewSteps { have: 2 });
    let few = Made {
        passes: 5,
        ..Made::default()
    };
    check(&few, 8, Refused::TooFewPasses { have: 5 });
    let cliff = Made {
        rate: &|n| if n < 8 { 1000.0 * f64::from(n) } else { 3000.0 },
        ..Made::default()
    };
    let refused = one(&run(&cliff, 8)).fit.unwrap_err();
    assert!(matches!(refused, Refused::DoesNotDescribe { off, .. } if off.abs() > DESCRIBES_MAX));
    let faster_than_linear = Made {
        rate: &|n| 1000.0 * f64::from(n).powf(1.3),
        ..Made::default()
    };
    let refused = one(&run(&faster_than_linear, 8)).fit.unwrap_err();
    assert!(matches!(refused, Refused::DoesNotDescribe { .. }));
}

#[test]
fn steps_above_the_usable_cpus_are_never_fitted() {
    let flat = |n: u32| LAW.rate(n.min(8));
    let made = Made {
        copies: &[1, 2, 4, 8, 16],
        rate: &flat,
        ..Made::default()
    };
    let found = one(&run(&made, 8));
    assert!(found.steps[4].oversubscribed);
    let fit = found.fit.unwrap();
    assert_eq!((fit.up_to, fit.steps), (8, 4));
    close(fit.sigma.value, LAW.sigma, 0.01);
}

/// Four cores with two threads: the second thread adds 20 %.
fn two_threads_a_core() -> Run {
    let made = Made {
        rate: &|n| match n {
            8 => 4800.0,
            n => 1000.0 * f64::from(n),
        },
        ..Made::default()
    };
    let mut run = run(&made, 8);
    run.host.cpu.threads_per_core = Fact::Known(2);
    run.host.cpu.cores = Fact::Known(4);
    run
}

#[test]
fn threads_of_a_core_are_told_from_what_is_shared() {
    let found = one(&two_threads_a_core());
    assert_eq!(found.finding, Finding::SharedCores);
    close(found.second_thread.unwrap().value, 0.2, 0.01);
    let fit = found.fit.unwrap();
    assert_eq!(fit.up_to, 4, "the bend is not the program's");
    assert!(fit.sigma.value < 0.01);

    let mut hidden = two_threads_a_core();
    hidden.host.cpu.threads_per_core = Fact::Known(1);
    let found = one(&hidden);
    let Finding::SharedResource {
        worth,
        of_one_process: false,
    } = found.finding
    else {
        panic!("{:?}", found.finding)
    };
    assert!((0.55..0.65).contains(&worth), "{worth}");
    assert_eq!(found.second_thread, None);
    let mut part = two_threads_a_core();
    part.host.cpu.online = Fact::Known(16);
    assert_eq!(
        one(&part).second_thread,
        None,
        "which cores they are on is not known"
    );
}

/// Makes one record of the copies' records, as threads of one process have it.
fn together(round: &mut model::record::Round) {
    let Outcome::Done(measured) = &mut round.outcome else {
        panic!()
    };
    let sum = |of: fn(&model::record::CopyRecord) -> u64| measured.copies.iter().map(of).sum();
    let (user, system) = (sum(|copy| copy.user.0), sum(|copy| copy.system.0));
    let work = measured.copies.iter().map(|copy| copy.work).sum();
    measured.copies.truncate(1);
    let all = &mut measured.copies[0];
    (all.user, all.system, all.work) = (Nanos(user), Nanos(system), work);
}

#[test]
fn what_costs_the_most_is_named() {
    let half = |n: u32| 1000.0 * f64::from(n) * if n == 1 { 1.0 } else { 0.5 };
    let waiting = Made {
        rate: &half,
        on_cpu: &|n| if n == 1 { 0.9 } else { 0.45 },
        ..Made::default()
    };
    assert!(matches!(one(&run(&waiting, 8)).finding, Finding::Waits { on_cpu } if on_cpu < 0.46));
    let sharing = Made {
        rate: &half,
        ..Made::default()
    };
    assert!(matches!(
        one(&run(&sharing, 8)).finding,
        Finding::SharedResource {
            of_one_process: false,
            ..
        }
    ));
    let threads = as_threads(run(&sharing, 8));
    assert!(matches!(
        one(&threads).finding,
        Finding::SharedResource {
            of_one_process: true,
            ..
        }
    ));

    let noise = |change: fn(&mut Noise)| {
        let mut run = run(&waiting, 8);
        run.rounds
            .iter_mut()
            .for_each(|round| change(&mut round.noise));
        run
    };
    let stolen = noise(|noise| noise.steal_share = Some(0.4));
    assert_eq!(one(&stolen).finding, Finding::Stolen { share: 0.4 });
    let disturbed = noise(|noise| noise.foreign_cpu_share = Some(0.5));
    assert_eq!(one(&disturbed).finding, Finding::Foreign { share: 0.5 });
    let both = noise(|noise| {
        noise.steal_share = Some(0.03);
        noise.foreign_cpu_share = Some(4.0);
    });
    assert_eq!(one(&both).finding, Finding::Foreign { share: 4.0 });
    let mut limited = noise(|noise| noise.throttled_share = Some(0.4));
    limited.host.limits.cpu_quota = Fact::Known(Some(7.5));
    assert_eq!(one(&limited).finding, Finding::Quota { cpus: 7.5 });

    let falling = Made {
        rate: &|n| if n == 8 { 1500.0 } else { 900.0 * f64::from(n) },
        ..Made::default()
    };
    assert_eq!(one(&run(&falling, 8)).finding, Finding::Falls { best: 4 });
    let noisy = Made {
        rate: &|n| 1000.0 * f64::from(n).powf(0.95),
        noise: (0.1, 0.0),
        ..Made::default()
    };
    assert_eq!(one(&run(&noisy, 8)).finding, Finding::Unclear);
}

#[test]
fn one_cpu_and_a_quota_below_it_are_said() {
    let made = Made {
        copies: &[1, 2],
        rate: &|_| 1000.0,
        ..Made::default()
    };
    let mut run = run(&made, 1);
    assert_eq!(one(&run).finding, Finding::OneCpu);
    assert!(one(&run).steps[1].oversubscribed);
    run.host.limits.cpu_quota = Fact::Known(Some(0.5));
    assert_eq!(one(&run).finding, Finding::Quota { cpus: 0.5 });
}

#[test]
fn an_ordinary_run_does_not_ask_how_it_scales() {
    let with = |copies, cpus| {
        let made = Made {
            copies,
            ..Made::default()
        };
        scaling(&run(&made, cpus)).len()
    };
    assert_eq!(with(&[1, 2], 2), 0);
    assert_eq!(with(&[2, 4, 8], 8), 0, "nothing to hold it against");
    assert_eq!(with(&[1, 2], 1), 1);
    assert_eq!(with(&[1, 2, 4], 8), 1);
    assert!(scaling(&fixture::run(&[])).is_empty());
    let mut failed = run(&Made::default(), 8);
    failed.rounds.clear();
    let found = one(&failed);
    assert!(found.steps.iter().all(|step| step.speedup.is_none()));
    assert_eq!(found.finding, Finding::Unclear);
}

/// As one worker with threads reports: one record, the CPU time of all of them over the wall time of one.
fn as_threads(mut run: Run) -> Run {
    for case in &mut run.plan.cases {
        case.shape.threads = true;
    }
    run.rounds.iter_mut().for_each(together);
    run
}

#[test]
fn threads_of_one_worker_are_on_a_cpu_as_much_as_as_many_processes() {
    let half = |n: u32| 1000.0 * f64::from(n) * if n == 1 { 1.0 } else { 0.5 };
    let waiting = Made {
        rate: &half,
        on_cpu: &|n| if n == 1 { 1.0 } else { 0.5 },
        noise: (0.0, 0.05),
        ..Made::default()
    };
    let (processes, threads) = (run(&waiting, 8), as_threads(run(&waiting, 8)));
    let found = one(&threads);
    for step in &found.steps[1..] {
        close(step.on_cpu.unwrap(), 0.5, 1e-6);
        close(step.cpu_worth.unwrap().value, 1.0, 1e-6);
    }
    assert!(
        matches!(found.finding, Finding::Waits { on_cpu } if (on_cpu - 0.5).abs() < 1e-6),
        "{:?}",
        found.finding
    );
    assert_eq!(found.finding, one(&processes).finding);
}

#[test]
fn what_one_copy_does_not_do_is_not_asked_how_it_scales() {
    let load = "load_bytes_per_s";
    let made = |alone: &[f64]| {
        let mut run = run(&Made::default(), 8);
        for case in &mut run.plan.cases {
            let (unit, class) = (Unit::BytesPerSecond, MetricClass::Compute);
            let metric = fixture::metric(load, unit, Better::Higher, class);
            case.metrics.insert(0, metric);
        }
        for round in &mut run.rounds {
            let value = match round.case.copies {
                1 => alone.get(usize::try_from(round.pass).unwrap()).copied(),
                copies => Some(1e9 * f64::from(copies)),
            };
            if let (Outcome::Done(measured), Some(value)) = (&mut round.outcome, value) {
                measured.values.insert(load.to_owned(), value);
            }
        }
        run
    };
    // A chain alone has no load beside it; the next rate of the test is asked in its place.
    for alone in [&[0.0; 10][..], &[]] {
        let mut run = made(alone);
        assert_eq!(one(&run).metric.quantity, fixture::QUANTITY);
        for case in &mut run.plan.cases {
            case.metrics.truncate(1);
        }
        assert!(scaling(&run).is_empty());
    }
    assert_eq!(one(&made(&[1e9; 10])).metric.quantity, load);
}

#[test]
fn connections_that_leave_out_the_usable_cpus_say_nothing_of_them() {
    let of = |copies: &[u32], cpus: u32| {
        let made = Made {
            copies,
            ..Made::default()
        };
        let found = scaling(&run(&made, cpus));
        found.first().map(|found| found.finding)
    };
    for copies in [&[1, 16, 50][..], &[1, 16]] {
        assert_eq!(of(copies, 2), None, "{copies:?}");
        assert_eq!(of(copies, 1), Some(Finding::OneCpu), "{copies:?}");
        assert!(of(copies, 16).is_none_or(|finding| finding != Finding::OneCpu));
    }
    assert!(of(&[1, 2, 50], 2).is_some_and(|finding| finding != Finding::OneCpu));
}

#[test]
fn the_times_of_events_are_the_medians_of_the_rounds() {
    let mut run = run(&Made::default(), 8);
    assert!(
        one(&run)
            .steps
            .iter()
            .all(|step| step.event_mean.is_none() && step.event_p95.is_none())
    );
    for round in &mut run.rounds {
        if let Outcome::Done(measured) = &mut round.outcome {
            let (copies, pass) = (f64::from(round.case.copies), f64::from(round.pass));
            measured
                .values
                .insert(EVENT_MEAN.to_owned(), 100.0 * copies + pass);
            if round.case.copies > 1 {
                measured
                    .values
                    .insert(EVENT_P95.to_owned(), 200.0 * copies + pass);
            }
        }
    }
    let found = one(&run);
    for (step, copies) in found.steps.iter().zip([1.0, 2.0, 4.0, 8.0]) {
        // Nine passes: the fifth.
        close(step.event_mean.unwrap().value, 100.0 * copies + 5.0, 1e-9);
        assert!(step.event_mean.unwrap().interval.is_some());
        let p95 = step.event_p95.map(|p95| p95.value);
        assert_eq!(p95, (copies > 1.0).then_some(200.0 * copies + 5.0));
    }
}

#[test]
fn the_clock_rate_is_what_most_probes_saw() {
    let mut run = run(&Made::default(), 8);
    assert_eq!(clock_rate(&run), None);
    for (i, round) in run.rounds.iter_mut().enumerate() {
        let probe = |add_ns| {
            Some(Sentinel {
                add_ns,
                gap_share: 0.0,
                gap_max: Nanos::ZERO,
                adds_per_cycle: None,
            })
        };
        // One interrupted probe among 36 rounds.
        round.noise.before = probe(if i == 5 { 40.0 } else { 0.5 });
        round.noise.after = probe(0.4);
    }
    let rate = clock_rate(&run).unwrap();
    close(rate.lo, 2.0e9, 1.0);
    close(rate.hi, 2.5e9, 1.0);
    assert_eq!(rate.probes, 72);
}
