//! What runs of one machine differ by, and rounds that something inside of it disturbed.

use super::{CompareOptions, compare, compare_each, compare_groups};
use crate::fixture::{self, noisy};
use crate::scatter::{self, OfSide, Spread};
use crate::visits::Visits;
use crate::yuen;
use model::comparison::{Inside, MetricComparison, ScatterSource, Verdict};
use model::host::Fact;
use model::record::Run;
use model::spec::Nature;

/// A run of a machine, of nine rounds around this level.
fn run(machine: &str, id: &str, seed: u64, level: f64) -> Run {
    let mut run = fixture::run(&[("os.pipe@1", noisy(seed, 9, level, 0.003))]);
    run.meta.id = id.to_owned();
    run.host.identity.machine = Fact::Known(machine.to_owned());
    run.host.hostname = Fact::Known(machine.to_owned());
    run
}

/// The same, begun so many minutes later, or earlier.
fn later(mut run: Run, minutes: i64) -> Run {
    let shift = minutes * 60_000_000_000;
    let began = std::iter::once(&mut run.meta.started);
    for at in began.chain(run.rounds.iter_mut().map(|round| &mut round.started)) {
        at.0 = at.0.saturating_add_signed(shift);
    }
    run
}

/// The only metric of a comparison.
fn only(base: &[&Run], other: &[&Run], options: &CompareOptions<'_>) -> MetricComparison {
    compare_groups(base, other, options).metrics.remove(0)
}

const NOBODY: CompareOptions<'static> = CompareOptions {
    margin: Some(0.02),
    earlier: &[],
    scatter: None,
};

#[test]
fn the_interval_of_single_runs_holds_what_runs_of_a_machine_differ_by() {
    let (a, b) = (run("a", "a", 1, 100.0), run("b", "b", 2, 105.0));
    let found = only(&[&a], &[&b], &NOBODY);
    let (server, minutes) = (found.interval.unwrap(), found.minutes.unwrap());
    assert!(
        server.lo < minutes.lo && minutes.hi < server.hi,
        "{found:?}"
    );
    assert!(found.scatter.base.unwrap().deviation > 0.0);
    // What is said of these minutes alone is no verdict about the servers.
    let alone = CompareOptions {
        scatter: Some(0.0),
        ..NOBODY
    };
    assert_eq!(only(&[&a], &[&b], &alone).adjusted, Verdict::Better);
    assert_eq!(
        only(&[&a], &[&b], &alone).scatter.base.unwrap().source,
        ScatterSource::Asked
    );
    let wide = CompareOptions {
        scatter: Some(0.03),
        ..NOBODY
    };
    assert_eq!(only(&[&a], &[&b], &wide).adjusted, Verdict::Unclear);
}

#[test]
fn earlier_runs_of_the_machine_say_more_than_what_is_shipped_and_strangers_say_nothing() {
    let (a, b) = (run("a", "a", 1, 100.0), run("b", "b", 2, 105.0));
    let past = |machine: &str, spread: f64| -> Vec<Run> {
        let levels = [-2.0, -1.0, 0.0, 1.0, 2.0, 0.5].into_iter();
        (10_u64..)
            .zip(levels)
            .zip((1..).map(|hours| -60 * hours))
            .map(|((seed, at), minutes)| {
                let level = 100.0 * (spread * at).exp();
                later(
                    run(machine, &format!("{machine}{seed}"), seed, level),
                    minutes,
                )
            })
            .collect()
    };
    let quiet = [past("a", 0.0005), past("b", 0.0005)].concat();
    let found = only(
        &[&a],
        &[&b],
        &CompareOptions {
            earlier: &quiet,
            ..NOBODY
        },
    );
    let source = ScatterSource::Earlier { runs: 6 };
    assert_eq!(found.scatter.base.unwrap().source, source);
    assert_eq!(found.adjusted, Verdict::Better, "{found:?}");
    let wild = [past("a", 0.03), past("b", 0.03)].concat();
    let found = only(
        &[&a],
        &[&b],
        &CompareOptions {
            earlier: &wild,
            ..NOBODY
        },
    );
    assert!(found.scatter.other.unwrap().deviation > 0.03);
    assert_eq!(found.adjusted, Verdict::Unclear, "{found:?}");
    let strangers = past("c", 0.0005);
    let found = compare(
        &a,
        &b,
        &CompareOptions {
            earlier: &strangers,
            ..NOBODY
        },
    );
    assert_ne!(found.metrics[0].scatter.base.unwrap().source, source);
    assert!(found.earlier.base.is_empty());
    // A clone shares the identifier, and neither boot nor name.
    let mut clones = past("a", 0.0005);
    for clone in &mut clones {
        clone.host.hostname = Fact::Known("clone".to_owned());
    }
    let found = compare(
        &a,
        &b,
        &CompareOptions {
            earlier: &clones,
            ..NOBODY
        },
    );
    assert!(found.earlier.base.is_empty());
}

#[test]
fn earlier_runs_on_another_database_server_say_nothing_of_this_one() {
    let on = |mut run: Run, server: &str| {
        run.plan.cases[0].nature = Nature::Database;
        let address = format!("postgres://bob@{server}:5432/shop");
        run.plan.named = vec![testkit::server(&address)];
        run
    };
    let source = |server: &str| {
        let earlier: Vec<Run> = (1..7)
            .map(|hours: i64| {
                let seed = hours.unsigned_abs();
                let run = run("a", &format!("r{hours}"), seed, 100.0);
                later(on(run, server), -60 * hours)
            })
            .collect();
        let [a, b] = [("x", 11), ("y", 12)].map(|(id, seed)| on(run("a", id, seed, 100.0), "db"));
        let options = CompareOptions {
            earlier: &earlier,
            ..NOBODY
        };
        only(&[&a], &[&b], &options).scatter.base.unwrap().source
    };
    assert_eq!(source("db"), ScatterSource::Earlier { runs: 6 });
    assert_eq!(source("other"), ScatterSource::Class);
}

#[test]
fn each_of_many_is_compared_as_it_is_alone() {
    let nights: Vec<Run> = (0_u8..12)
        .map(|night| {
            let level = 100.0 + f64::from(night % 4);
            let run = run("a", &format!("a{night}"), u64::from(night), level);
            later(run, 60 * i64::from(night))
        })
        .collect();
    let stranger = run("b", "b", 40, 103.0);
    let options = CompareOptions {
        earlier: &nights,
        ..NOBODY
    };
    let base = [&nights[11]];
    let (last, group) = (&nights[10], nights[6..9].iter().collect());
    let others = [vec![last], group, vec![&stranger], vec![&nights[9]]];
    let found = compare_each(&base, &others, &options);
    for (other, found) in others.iter().zip(&found) {
        assert_eq!(*found, compare_groups(&base, other, &options));
    }
    assert_eq!(found[0].earlier.base.len(), 10);
    assert_eq!(found[1].earlier.base.len(), 6);
}

#[test]
fn three_runs_of_one_machine_are_a_side_that_shows_its_own_scatter() {
    let side = |machine: &str, seed: u64, level: f64| -> Vec<Run> {
        [0.997, 1.0, 1.004]
            .into_iter()
            .zip(seed..)
            .map(|(shift, seed)| run(machine, &format!("{machine}{seed}"), seed, level * shift))
            .zip([0, 60, 120])
            .map(|(run, minutes)| later(run, minutes))
            .collect()
    };
    let (a, b) = (side("a", 1, 100.0), side("b", 11, 105.0));
    let refer = |runs: &'static [Run]| runs.iter().collect::<Vec<_>>();
    let (a, b) = (refer(Box::leak(a.into())), refer(Box::leak(b.into())));
    let found = only(&a, &b, &NOBODY);
    let shown = found.scatter.base.unwrap();
    assert_eq!(shown.source, ScatterSource::Given);
    assert!((0.002..0.006).contains(&shown.deviation), "{shown:?}");
    assert_eq!(found.adjusted, Verdict::Better, "{found:?}");
    assert_eq!(found.n, (27, 27).into());
    // Three runs in a row show what no other hour does.
    let in_a_row = |side: &[&Run]| -> Vec<Run> {
        let runs = (0_i64..).zip(side);
        runs.map(|(at, run)| later((*run).clone(), at - 60 * at))
            .collect()
    };
    let (here, there) = (in_a_row(&a), in_a_row(&b));
    let found = only(
        &here.iter().collect::<Vec<_>>(),
        &there.iter().collect::<Vec<_>>(),
        &NOBODY,
    );
    assert_ne!(found.scatter.base.unwrap().source, ScatterSource::Given);
    assert_ne!(found.adjusted, Verdict::Better);
    // Of separate instances five are needed.
    let mut strangers: Vec<Run> = b.iter().map(|run| (*run).clone()).collect();
    for (number, run) in strangers.iter_mut().enumerate() {
        run.host.identity.machine = Fact::Known(format!("machine {number}"));
    }
    let strangers: Vec<&Run> = strangers.iter().collect();
    assert!(only(&a, &strangers, &NOBODY).interval.is_none());
}

#[test]
fn a_difference_that_only_disturbed_rounds_show_is_doubted() {
    let (a, mut b) = (run("a", "a", 1, 100.0), run("b", "b", 3, 80.0));
    let exact = CompareOptions {
        scatter: Some(0.0),
        ..NOBODY
    };
    let disturb = |run: &mut Run, rounds: std::ops::Range<usize>| {
        for round in &mut run.rounds[rounds] {
            round.noise.foreign_cpu_share = Some(0.6);
        }
    };
    let plain = only(&[&a], &[&b], &exact);
    assert_eq!((plain.adjusted, plain.doubt), (Verdict::Worse, None));
    // Three rounds are left that nobody disturbed: too few to say so of the server.
    disturb(&mut b, 0..6);
    let doubted = only(&[&a], &[&b], &exact);
    assert_eq!(
        (doubted.adjusted, doubted.doubt),
        (Verdict::WorseMaybe, Some(Inside::Others))
    );
    assert_eq!(
        doubted.ratio, plain.ratio,
        "no round is left out of an estimate"
    );
    // Six of them say the same.
    let mut less = run("b", "b", 3, 80.0);
    disturb(&mut less, 0..3);
    let sure = only(&[&a], &[&less], &exact);
    assert_eq!((sure.adjusted, sure.doubt), (Verdict::Worse, None));
    // A quota in every round is what the machine has; in some of them it is a disturbance.
    let held = |rounds: usize| {
        let mut run = run("b", "b", 3, 80.0);
        for round in &mut run.rounds[..rounds] {
            round.noise.throttled_share = Some(0.3);
        }
        only(&[&a], &[&run], &exact).doubt
    };
    assert_eq!((held(9), held(6)), (None, Some(Inside::Quota)));
}

#[test]
fn what_the_sides_declare_otherwise_does_not_compare() {
    let (a, mut b) = (run("a", "a", 1, 100.0), run("b", "b", 2, 105.0));
    b.plan.cases[0].metrics[0].better = model::spec::Better::Lower;
    let found = only(&[&a], &[&b], &NOBODY);
    assert!(
        matches!(
            found.refused,
            Some(model::comparison::Refusal::Declared(..))
        ),
        "{found:?}"
    );
    assert_eq!((found.ratio, found.adjusted), (None, Verdict::Unclear));
}

#[test]
fn a_run_that_saw_the_machine_at_several_times_leaves_less_between_runs() {
    let width = |minutes: u64| {
        let [a, b] = [("a", 1), ("b", 2)].map(|(machine, seed)| {
            let mut run = run(machine, machine, seed, 100.0);
            for (place, round) in (0..).zip(&mut run.rounds) {
                round.started.0 += place * minutes * 60_000_000_000;
            }
            run
        });
        let found = only(&[&a], &[&b], &NOBODY);
        let interval = found.interval.unwrap();
        (
            interval.hi.ln() - interval.lo.ln(),
            found.scatter.base.unwrap(),
        )
    };
    let ((short, scatter), (spread, of_spread), (hardly, _)) = (width(0), width(20), width(2));
    assert!(
        spread < 0.6 * short && hardly > 0.99 * short,
        "{short} {spread} {hardly}"
    );
    // What runs of the machine differ by is the same.
    assert_eq!(scatter, of_spread);
}

#[test]
fn what_is_looked_for_is_no_scatter_and_neither_are_duels() {
    // A regression between the sixth night and the seventh.
    let nights = |minutes: i64| -> Vec<Run> {
        (1..=12)
            .map(|night: u64| {
                let level = if night < 7 { 100.0 } else { 95.0 };
                let run = run("a", &format!("night {night}"), night, level);
                later(run, minutes * i64::try_from(night).unwrap())
            })
            .collect()
    };
    let compared = |nights: &[Run]| {
        let options = CompareOptions {
            earlier: nights,
            ..NOBODY
        };
        only(&[&nights[5]], &[&nights[11]], &options)
    };
    let found = compared(&nights(24 * 60));
    let source = ScatterSource::Earlier { runs: 5 };
    assert_eq!(found.scatter.base.unwrap().source, source);
    assert_eq!(found.adjusted, Verdict::Worse, "{found:?}");
    // Runs of one evening say nothing of nights.
    let evening = compared(&nights(2));
    assert_ne!(evening.scatter.base.unwrap().source, source);
    let mut duels = nights(24 * 60);
    for run in &mut duels[..5] {
        run.plan.duel = Some(model::plan::Duel {
            id: "d".to_owned(),
            side: "a".to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
    }
    assert_ne!(compared(&duels).scatter.base.unwrap().source, source);
    // Two boots that alternate are two copies of one image.
    let mut clones = nights(24 * 60);
    for (place, run) in clones.iter_mut().enumerate() {
        run.host.identity.boot = Fact::Known(format!("boot {}", place % 2));
    }
    assert_ne!(compared(&clones).scatter.base.unwrap().source, source);
}

#[test]
fn one_estimate_for_both_sides_is_one() {
    let asked = |base: Spread, other: Spread| {
        let mean = |mean| yuen::Side {
            n: 9,
            mean,
            se_squared: 1e-8,
            df: 8.0,
        };
        let (base_mean, other_mean) = (mean(0.0), mean(0.05));
        let side = |mean| OfSide {
            mean,
            runs: &[],
            visits: Visits::of(&[&[0]]),
        };
        let parts = scatter::parts(&(base, other).into(), &side(base_mean), &side(other_mean));
        yuen::between(base_mean, other_mean, 0.05).with_scatter(&parts.all, &parts.between)
    };
    let one = Spread::of(0.01, 4.0, ScatterSource::Class);
    let same = asked(one, one);
    let apart = asked(one, Spread::of(0.01 + 1e-12, 4.0, ScatterSource::Class));
    assert!((same.se - apart.se).abs() < 1e-9);
    assert!((same.df - 4.0).abs() < 0.1 && (apart.df - 8.0).abs() < 0.1);
    // What was asked for counts, however alike the rounds are.
    let exact = asked(
        Spread::asked(0.03_f64.exp_m1()),
        Spread::asked(0.03_f64.exp_m1()),
    );
    assert!((exact.se - 0.03 * 2_f64.sqrt()).abs() < 1e-5 && exact.df > 1e6);
    assert!((exact.half_width(0.05) / exact.se - 1.959_964).abs() < 1e-4);
}

#[test]
fn a_category_stands_on_no_single_run_and_is_doubted_with_its_metrics() {
    let two = |machine: &str, seed: u64, level: f64| {
        let cases = [
            ("os.a@1", noisy(seed, 9, level, 0.01)),
            ("os.b@1", noisy(seed + 50, 9, level, 0.01)),
        ];
        let mut run = fixture::run(&cases);
        run.meta.id = format!("{machine}{seed}");
        run.host.identity.machine = Fact::Known(machine.to_owned());
        run.host.hostname = Fact::Known(machine.to_owned());
        run
    };
    // Of three runs of a side only the first has both tests.
    let side = |machine: &str, seed: u64, level: f64| -> Vec<Run> {
        let mut runs: Vec<Run> = (0..3)
            .map(|at: u64| {
                later(
                    two(machine, seed + at, level),
                    60 * i64::try_from(at).unwrap(),
                )
            })
            .collect();
        for run in &mut runs[1..] {
            run.plan.cases.truncate(1);
            run.rounds.retain(|round| round.case.test == "os.a");
        }
        runs
    };
    let (a, b) = (side("a", 1, 100.0), side("b", 11, 103.0));
    let (a, b): (Vec<&Run>, Vec<&Run>) = (a.iter().collect(), b.iter().collect());
    let found = compare_groups(&a, &b, &NOBODY);
    let interval = found.categories[0].interval.unwrap();
    assert!(interval.hi / interval.lo > 1.02, "{interval:?}");

    let exact = CompareOptions {
        scatter: Some(0.0),
        ..NOBODY
    };
    let (a, mut b) = (two("a", 1, 100.0), two("b", 3, 80.0));
    assert_eq!(
        compare(&a, &b, &exact).categories[0].verdict,
        Verdict::Worse
    );
    for round in &mut b.rounds {
        round.noise.foreign_cpu_share = Some(0.6);
    }
    let found = compare(&a, &b, &exact);
    let category = &found.categories[0];
    assert_eq!(
        (category.verdict, category.doubt),
        (Verdict::WorseMaybe, Some(Inside::Others))
    );
    assert_eq!(
        found.doubts().count(),
        5,
        "twice a metric and its slow moments"
    );
}

#[test]
fn slow_moments_that_only_disturbed_rounds_show_are_doubted() {
    let (mut a, mut b) = (run("a", "a", 1, 100.0), run("b", "b", 3, 100.0));
    for round in &mut b.rounds {
        let model::record::Outcome::Done(measured) = &mut round.outcome else {
            panic!()
        };
        measured.windows[2] *= 0.7;
    }
    let exact = CompareOptions {
        scatter: Some(0.0),
        ..NOBODY
    };
    let slow = |a: &Run, b: &Run| {
        let found = compare(a, b, &exact);
        let doubts = found.doubts().count();
        let floor = found.metrics[0].floor.unwrap();
        assert_eq!(found.metrics[0].doubt, None);
        (floor.adjusted, floor.doubt, doubts)
    };
    assert_eq!(slow(&a, &b), (Verdict::Worse, None, 0));
    for round in &mut b.rounds {
        round.noise.psi_memory_share = Some(0.2);
    }
    assert_eq!(slow(&a, &b), (Verdict::WorseMaybe, Some(Inside::Memory), 1));
    // Where the files are larger than the memory, rounds wait for it whatever else runs.
    for run in [&mut a, &mut b] {
        run.plan.cases[0].exceeds_memory = true;
    }
    assert_eq!(slow(&a, &b), (Verdict::Worse, None, 0));
}

#[test]
fn what_waits_for_memory_by_itself_shows_its_scatter_and_others_do_not() {
    let seen = |exceeds_memory: bool, stalled: bool| {
        let mut runs: Vec<Run> = (1..8)
            .map(|at| {
                later(
                    run("m", &format!("r{at}"), at, 100.0),
                    120 * i64::try_from(at).unwrap(),
                )
            })
            .collect();
        for run in &mut runs {
            run.plan.cases[0].exceeds_memory = exceeds_memory;
            for round in &mut run.rounds {
                round.noise.psi_memory_share = Some(if stalled { 0.2 } else { 0.0 });
            }
        }
        let of_machine: Vec<&Run> = runs.iter().collect();
        scatter::observed(&[of_machine]).len()
    };
    let all = seen(false, false);
    assert!(all > 0);
    assert_eq!(seen(false, true), 0);
    assert_eq!(seen(true, true), all);
}

#[test]
fn runs_of_one_visit_are_one_time_that_a_machine_was_seen() {
    let means: Vec<yuen::Side> = (0..9_u32)
        .map(|at| yuen::Side {
            n: 9,
            mean: 0.01 * f64::from(at % 3),
            se_squared: 1e-8,
            df: 8.0,
        })
        .collect();
    let shown = |visit: fn(u64) -> u64| {
        let times: Vec<[u64; 1]> = (0..9).map(|at| [visit(at) * 3_600_000_000_000]).collect();
        let times: Vec<&[u64]> = times.iter().map(|time| &time[..]).collect();
        let side = || OfSide {
            mean: means[0],
            runs: &means,
            visits: Visits::of(&times),
        };
        let spread = Spread::of(0.01, 4.0, ScatterSource::Class);
        let parts = scatter::parts(&(spread, spread).into(), &side(), &side());
        (parts.all[0].0, parts.all[0].1, parts.shown.base.unwrap())
    };
    // Three good, three middling, and three bad hours; and three of each kind within each of three hours.
    let (apart, hours, minutes) = (shown(|at| at), shown(|at| at % 3), shown(|at| at / 3));
    assert!((apart.1 - 8.0).abs() < 1e-9 && (hours.1 - 2.0).abs() < 1e-9);
    let about = |found: f64, expected: f64| {
        assert!(
            (found / expected - 1.0).abs() < 1e-9,
            "{found}, not {expected}"
        );
    };
    about(apart.0, 7.5e-5 / 9.0);
    about(hours.0, 1e-4 / 3.0);
    about(hours.2, 0.01);
    // Runs of one hour differ: of a run that is so, and the mean of all is known by its rounds.
    about(minutes.0, 1e-8);
    about(minutes.2, (2.0 / 3.0 * 1e-4_f64).sqrt());
}
