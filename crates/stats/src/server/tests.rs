//! What may be said of a server, of a plan, and of neither.

use super::*;
use crate::figure::Figures;
use crate::fixture;
use model::host::Fact;
use model::rng::Rng;

const MINUTE: u64 = 60_000_000_000;

/// A run of nine rounds around this level, begun so many minutes after the first.
fn run(machine: &str, seed: u64, level: f64, minutes: u64) -> Run {
    let mut run = fixture::run(&[("a.b@1", fixture::noisy(seed, 9, level, 0.003))]);
    run.meta.id = format!("{machine}-{seed}");
    run.host.identity.machine = Fact::Known(machine.to_owned());
    run.host.hostname = Fact::Known(machine.to_owned());
    run.meta.started.0 += minutes * MINUTE;
    for round in &mut run.rounds {
        round.started.0 += minutes * MINUTE;
    }
    run
}

fn of(runs: &[Run]) -> Standing {
    let name = "a.b".parse().unwrap();
    let figures: Vec<Figure<'_>> = runs
        .iter()
        .map(|run| Figures::of(run).find(&name).unwrap())
        .collect();
    standing(&figures.iter().collect::<Vec<_>>())
}

fn judged(standing: &Standing, bound: Bound, level: &str) -> Judged {
    standing.judged(bound, &level.parse().unwrap())
}

fn at_least(standing: &Standing, level: &str) -> Held {
    judged(standing, Bound::AtLeast, level).verdict
}

/// Runs of one instance, an hour apart.
fn visits(levels: &[f64]) -> Vec<Run> {
    let levels = (1..).zip(levels);
    levels
        .map(|(hour, level)| run("a", hour, *level, 60 * hour))
        .collect()
}

#[test]
fn one_run_decides_nothing_however_far_the_level_is() {
    let found = of(&visits(&[100.0]));
    assert_eq!(found.undecided, Some(Undecided::OneRun));
    let far = judged(&found, Bound::AtLeast, "10");
    assert_eq!((far.verdict, far.minutes_told), (Held::Unclear, true));
    assert!(matches!(far.needed, Some(Needed::Runs(2..=3))), "{far:?}");
    let (minutes, server) = (found.minutes.unwrap(), found.interval.unwrap());
    assert!(
        server.lo < minutes.lo && minutes.hi < server.hi,
        "{found:?}"
    );
    // A second run of the same hour is no second visit.
    let same_hour = [run("a", 1, 100.0, 0), run("a", 2, 100.0, 5)];
    assert_eq!(of(&same_hour).undecided, Some(Undecided::OneVisit));
    assert_eq!(of(&same_hour).scope, About::ThisInstance);
}

#[test]
fn several_visits_decide_by_what_they_differ_by() {
    let found = of(&visits(&[100.0, 102.0, 98.0, 101.0]));
    assert_eq!((found.undecided, found.visits, found.runs), (None, 4, 4));
    assert_eq!(at_least(&found, "90"), Held::Met);
    assert_eq!(at_least(&found, "110"), Held::Missed);
    assert_eq!(judged(&found, Bound::AtMost, "110").verdict, Held::Met);
    assert_eq!(judged(&found, Bound::AtMost, "90").verdict, Held::Missed);
    // The minutes lie above, the server may not.
    let near = judged(&found, Bound::AtLeast, "99.5");
    assert_eq!(
        (near.verdict, near.minutes_told),
        (Held::Unclear, true),
        "{found:?}"
    );
    let Some(Needed::Runs(runs)) = near.needed else {
        panic!("{near:?}");
    };
    assert!(runs > 4 && runs <= ROUNDS_MAX, "{runs}");
    let same = judged(&found, Bound::AtLeast, &found.value.to_string()[..9]);
    assert_eq!(
        (same.verdict, same.needed),
        (Held::Unclear, Some(Needed::NotAtThisNoise))
    );
}

#[test]
fn a_plan_takes_five_instances() {
    let instances = |n: u64| -> Vec<Run> {
        let each = (0..n).map(|i| run(&format!("m{i}"), i, 100.0 + approx(i), 0));
        each.collect()
    };
    let few = of(&instances(4));
    assert_eq!(few.scope, About::TheseInstances { instances: 4 });
    assert_eq!(few.undecided, Some(Undecided::FewInstances));
    let far = judged(&few, Bound::AtLeast, "10");
    assert_eq!(
        (far.verdict, far.needed),
        (Held::Unclear, Some(Needed::Instances(5)))
    );
    let plan = of(&instances(5));
    assert_eq!(plan.scope, About::ThisPlan { instances: 5 });
    assert_eq!(at_least(&plan, "90"), Held::Met);
    // Several runs of one instance count as one.
    let mut repeated = instances(5);
    repeated.extend((0..3).map(|i| run("m0", 50 + i, 100.0, 60 * i)));
    assert_eq!(of(&repeated).scope, About::ThisPlan { instances: 5 });
    assert_eq!(of(&repeated).runs, 8);
}

#[test]
fn what_others_measured_once_and_who_is_not_known_decides_nothing() {
    let mut imported = visits(&[100.0, 101.0, 102.0]);
    for run in &mut imported {
        run.meta.origin = Some(Box::new(testkit::origin()));
    }
    let found = of(&imported);
    assert_eq!(found.undecided, Some(Undecided::Imported));
    assert_eq!(
        (at_least(&found, "1"), found.interval),
        (Held::Unclear, None)
    );
    // Beside what was measured here they do not count.
    let own = visits(&[100.0, 102.0, 98.0]);
    let both: Vec<Run> = imported.into_iter().chain(own).collect();
    assert_eq!((of(&both).undecided, of(&both).runs), (None, 3));
    let mut hidden = visits(&[100.0, 101.0, 102.0]);
    for run in &mut hidden {
        run.host.identity.machine = Fact::Missing("hidden".to_owned());
        run.host.identity.boot = Fact::Missing("hidden".to_owned());
    }
    assert_eq!(of(&hidden).undecided, Some(Undecided::UnknownInstances));
}

#[test]
fn values_without_logarithms_decide_nothing() {
    let zeros = [fixture::run(&[("a.b@1", vec![0.0; 9])])];
    let found = of(&zeros);
    assert_eq!(found.undecided, Some(Undecided::NoLogarithm));
    assert_eq!(judged(&found, Bound::AtLeast, "1").needed, None);
}

/// The claim is true, and exactly so: the provider delivers what it says on the average of its hours.
#[test]
fn a_claim_on_the_level_is_judged_wrongly_in_at_most_one_case_of_twenty() {
    let mut rng = Rng::new(5);
    let trials = 400;
    let wrong = (0..trials).filter(|trial| {
        let levels: Vec<f64> = (0..4)
            .map(|_| 100.0 * (0.05 * rng.normal()).exp())
            .collect();
        let runs: Vec<Run> = (0..4)
            .zip(levels)
            .map(|(hour, level)| run("a", trial * 10 + hour, level, 60 * hour))
            .collect();
        at_least(&of(&runs), "100") != Held::Unclear
    });
    let wrong = wrong.count();
    assert!(wrong <= 32, "{wrong} of {trials}");
}
