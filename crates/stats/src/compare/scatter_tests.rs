//! What runs of one machine differ by, and rounds that something inside of it disturbed.

use super::{CompareOptions, compare, compare_groups};
use crate::fixture::{self, noisy};
use model::comparison::{Inside, MetricComparison, ScatterSource, Verdict};
use model::host::Fact;
use model::record::Run;

/// A run of a machine, of nine rounds around this level.
fn run(machine: &str, id: &str, seed: u64, level: f64) -> Run {
    let mut run = fixture::run(&[("os.pipe@1", noisy(seed, 9, level, 0.003))]);
    run.meta.id = id.to_owned();
    run.host.identity.machine = Fact::Known(machine.to_owned());
    run.host.hostname = Fact::Known(machine.to_owned());
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
            .map(|(seed, at)| {
                run(
                    machine,
                    &format!("{machine}{seed}"),
                    seed,
                    100.0 * (spread * at).exp(),
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
fn three_runs_of_one_machine_are_a_side_that_shows_its_own_scatter() {
    let side = |machine: &str, seed: u64, level: f64| -> Vec<Run> {
        [0.997, 1.0, 1.004]
            .into_iter()
            .zip(seed..)
            .map(|(shift, seed)| run(machine, &format!("{machine}{seed}"), seed, level * shift))
            .collect()
    };
    let (a, b) = (side("a", 1, 100.0), side("b", 11, 105.0));
    let refer = |runs: &'static [Run]| runs.iter().collect::<Vec<_>>();
    let (a, b) = (refer(Box::leak(a.into())), refer(Box::leak(b.into())));
    let found = only(&a, &b, &NOBODY);
    assert_eq!(found.scatter.base.unwrap().source, ScatterSource::Given);
    assert_eq!(found.adjusted, Verdict::Better, "{found:?}");
    assert_eq!(found.n, (27, 27).into());
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
