//! What a conclusion is about: which machines, and for how long they were watched.
//!
//! A verdict from twelve minutes of one instance says nothing about another day or another instance of the same plan,
//! so that every verdict carries the label of what was watched. A plan is claimed only for five instances a side that
//! are surely separate. Time is counted from round to round, because a wall clock that is set within a run would
//! stretch or shrink the difference of two times of day. Time between two runs, when nobody measured, is no part of it.

use crate::contrast::Method;
use crate::rounds::whole;
use crate::thresholds::CLOCK_JUMP_MAX;
use crate::thresholds::RUNS_MIN;
use model::comparison::{Place, Repeat, Scope, Watched};
use model::host::{Fact, HostFacts};
use model::order::Order as _;
use model::record::Run;
use model::units::{Nanos, UnixNanos};
use std::collections::BTreeMap;

/// Whether two runs come from the same instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kinship {
    Same,
    Separate,
    Unknown,
}

/// What a single run is about.
pub fn of_run(run: &Run) -> Scope {
    Scope {
        place: Place::OneInstance,
        watched: match run.meta.origin {
            None => Watched::Once { span: span(run) },
            Some(_) => Watched::NotKnown {},
        },
    }
}

/// From the start of the run to its end, or to that of its last round where it has none: what the run is said to have
/// taken. Where the wall clock was set during a round, the rest until the next round counts nothing; time between an
/// interruption and its resumption counts. Nothing where no round ended.
pub fn span(run: &Run) -> Nanos {
    let Some(first) = run.rounds.first() else {
        return Nanos::ZERO;
    };
    let before = first.started.0.saturating_sub(run.meta.started.0);
    let measured: Nanos = run.rounds.iter().map(|round| round.took).sum();
    let starts = run.rounds.iter().skip(1).map(|next| Some(next.started));
    let rests = starts.chain([run.meta.finished]);
    let between = run.rounds.iter().zip(rests).map(|(round, next)| {
        let set = round
            .noise
            .clock_jump
            .is_some_and(|jump| jump > CLOCK_JUMP_MAX);
        let ended = round.started.0.saturating_add(round.took.0);
        match next {
            Some(next) if !set => Nanos(next.0.saturating_sub(ended)),
            _ => Nanos::ZERO,
        }
    });
    Nanos(before).plus(measured).plus(between.sum())
}

/// Two runs: at one time where they overlap, otherwise at two.
fn of_two(base: &Run, other: &Run) -> Watched {
    let (a, b) = (base.meta.started.0, other.meta.started.0);
    let (base, other) = (span(base), span(other));
    let (end_a, end_b) = (a.saturating_add(base.0), b.saturating_add(other.0));
    if a < end_b && b < end_a {
        Watched::Once {
            span: Nanos(end_a.max(end_b) - a.min(b)),
        }
    } else {
        Watched::Twice {
            base,
            other,
            apart: Nanos(a.abs_diff(b)),
        }
    }
}

/// What the comparison of `base` and `other` is about.
pub(crate) fn of_comparison(base: &[&Run], other: &[&Run], method: Method) -> Scope {
    let place = match (method, base, other) {
        (Method::Pairs, ..) => Place::OneInstance,
        (Method::Rounds, [base], [other]) => match kinship(base, other) {
            Kinship::Same => Place::OneInstance,
            Kinship::Separate => Place::TwoInstances,
            Kinship::Unknown => Place::TwoRuns,
        },
        _ => of_groups(base, other),
    };
    let imported = |run: &&Run| run.meta.origin.is_some();
    let watched = if base.iter().chain(other).any(imported) {
        Watched::NotKnown {}
    } else if let ([base], [other]) = (base, other) {
        of_two(base, other)
    } else {
        let spans = base.iter().chain(other).map(|run| span(run));
        Watched::Once {
            span: spans.min().unwrap_or(Nanos::ZERO),
        }
    };
    Scope { place, watched }
}

fn of_groups(base: &[&Run], other: &[&Run]) -> Place {
    let (n, m) = (whole(base.len()), whole(other.len()));
    let separate = repeats(base, other).is_empty();
    if separate && n.min(m) >= RUNS_MIN {
        Place::Plan { base: n, other: m }
    } else {
        Place::Runs { base: n, other: m }
    }
}

/// Runs of one side that come, or may come, from the same instance.
pub(crate) fn repeats(base: &[&Run], other: &[&Run]) -> Vec<Repeat> {
    let mut found = Vec::new();
    for (side, on_base) in [(base, true), (other, false)] {
        for wanted in [Kinship::Same, Kinship::Unknown] {
            let mut told: Vec<usize> = Vec::new();
            for (i, run) in side.iter().enumerate() {
                let kin: Vec<usize> = (i + 1..side.len())
                    .filter(|j| !told.contains(j))
                    .filter(|&j| kinship(run, side[j]) == wanted)
                    .collect();
                if kin.is_empty() || told.contains(&i) {
                    continue;
                }
                let ids = std::iter::once(i).chain(kin.iter().copied());
                found.push(Repeat {
                    on_base,
                    sure: wanted == Kinship::Same,
                    runs: ids.map(|j| side[j].meta.id.clone()).collect(),
                });
                told.extend(kin);
            }
        }
    }
    found
}

/// Whether all of these come from one instance; a run by itself does.
pub fn of_one_machine(runs: &[&Run]) -> bool {
    let mut others = runs.iter().skip(1);
    let kin = |first: &&Run| others.all(|run| kinship(first, run) == Kinship::Same);
    runs.first().is_some_and(kin) && !boots_overlap(runs.iter().copied())
}

/// Which of these runs come from one instance; `None` where it is not known of two whether they do.
pub(crate) fn instances(runs: &[&Run]) -> Option<Vec<Vec<usize>>> {
    let mut instances: Vec<Vec<usize>> = Vec::new();
    for (place, run) in runs.iter().enumerate() {
        let mut found = None;
        for (number, instance) in instances.iter().enumerate() {
            for &there in instance {
                match kinship(runs[there], run) {
                    Kinship::Same => found = Some(number),
                    Kinship::Separate => {}
                    Kinship::Unknown => return None,
                }
            }
        }
        match found {
            Some(number) => instances[number].push(place),
            None => instances.push(vec![place]),
        }
    }
    Some(instances)
}

/// Whether runs of two boots overlap or alternate in time, so that they cannot be of one machine.
pub(crate) fn boots_overlap<'a>(runs: impl IntoIterator<Item = &'a Run>) -> bool {
    let mut spans: BTreeMap<&str, (UnixNanos, UnixNanos)> = BTreeMap::new();
    for run in runs {
        if let Some(boot) = run.host.identity.boot.known() {
            let began = run.meta.started;
            let ended = run.meta.finished.unwrap_or(began).max(began);
            let (first, last) = spans.entry(boot).or_insert((began, ended));
            (*first, *last) = ((*first).min(began), (*last).max(ended));
        }
    }
    let mut spans: Vec<_> = spans.into_values().collect();
    spans.order();
    spans.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// Installations that differ are separate instances. The same installation on the same boot is the same instance, and
/// likewise after a reboot as long as it keeps its name: with another name it may be a copy of an image, and a copy it
/// is where both boots ran at one time.
fn kinship(a: &Run, b: &Run) -> Kinship {
    let same = |fact: fn(&HostFacts) -> &Fact<String>| {
        Some(fact(&a.host).known()? == fact(&b.host).known()?)
    };
    let machine = same(|host| &host.identity.machine);
    let boot = same(|host| &host.identity.boot);
    let name = same(|host| &host.hostname);
    match (machine, boot, name) {
        (Some(false), ..) => Kinship::Separate,
        (_, Some(false), _) if boots_overlap([a, b]) => Kinship::Separate,
        (_, Some(true), _) | (Some(true), _, Some(true)) => Kinship::Same,
        (Some(true) | None, ..) => Kinship::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    const MINUTE: u64 = 60_000_000_000;

    fn on(machine: &str, boot: &str, name: &str) -> Run {
        let fact = |text: &str| match text {
            "" => Fact::default(),
            text => Fact::Known(text.to_owned()),
        };
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 6])]);
        run.meta.id = format!("{machine}-{boot}-{name}");
        run.host.identity.machine = fact(machine);
        run.host.identity.boot = fact(boot);
        run.host.hostname = fact(name);
        run
    }

    #[test]
    fn two_runs_come_from_one_instance_only_where_that_is_known() {
        let check = |a: [&str; 3], b: [&str; 3], expect: Place| {
            let (a, mut b) = (on(a[0], a[1], a[2]), on(b[0], b[1], b[2]));
            b.meta.started = UnixNanos(a.meta.started.0 + 60 * MINUTE);
            let found = of_comparison(&[&a], &[&b], Method::Rounds).place;
            assert_eq!(found, expect, "{} {}", a.meta.id, b.meta.id);
            let back = of_comparison(&[&b], &[&a], Method::Rounds).place;
            assert_eq!(back, expect);
        };
        check(["m", "x", "h"], ["m", "x", "h"], Place::OneInstance);
        check(["m", "x", "h"], ["m", "y", "h"], Place::OneInstance);
        check(["m", "x", "h"], ["m", "y", "other"], Place::TwoRuns);
        check(["m", "x", "h"], ["n", "y", "h"], Place::TwoInstances);
        check(["m", "x", "h"], ["", "", "h"], Place::TwoRuns);
        check(["", "x", "h"], ["", "x", "h"], Place::OneInstance);
        check(["", "", "h"], ["", "", "g"], Place::TwoRuns);
        // Of two boots one after the other there was a reboot; alternately there were two machines all along.
        let at = |boot: &str, minute: u64| {
            let mut run = on("m", boot, "h");
            let began = UnixNanos(minute * MINUTE);
            (run.meta.started, run.meta.finished) = (began, Some(UnixNanos(began.0 + MINUTE)));
            run
        };
        let one_machine = |boots: [&str; 3]| {
            let runs: Vec<Run> = (0..)
                .step_by(10)
                .zip(boots)
                .map(|(at_minute, boot)| at(boot, at_minute))
                .collect();
            of_one_machine(&runs.iter().collect::<Vec<_>>())
        };
        assert!(one_machine(["x", "x", "y"]) && !one_machine(["x", "y", "x"]));
        let at_once = of_comparison(&[&at("x", 0)], &[&at("y", 0)], Method::Rounds).place;
        assert_eq!(at_once, Place::TwoInstances);
        let pair = (on("", "", "h"), on("", "", "g"));
        let duel = of_comparison(&[&pair.0], &[&pair.1], Method::Pairs).place;
        assert_eq!(duel, Place::OneInstance, "a duel has one machine");
    }

    #[test]
    fn a_plan_is_claimed_for_five_separate_instances_a_side() {
        let fleet = |names: &[&str]| -> Vec<Run> {
            names.iter().map(|name| on(name, name, name)).collect()
        };
        let check = |base: &[&str], other: &[&str], plan: bool, repeats_expected: usize| {
            let (base, other) = (fleet(base), fleet(other));
            let (base, other): (Vec<&Run>, Vec<&Run>) =
                (base.iter().collect(), other.iter().collect());
            let place = of_comparison(&base, &other, Method::Runs).place;
            assert_eq!(matches!(place, Place::Plan { .. }), plan, "{place:?}");
            assert_eq!(repeats(&base, &other).len(), repeats_expected);
        };
        let five = ["a", "b", "c", "d", "e"];
        check(&five, &["f", "g", "h", "i", "j", "k"], true, 0);
        check(&five, &five, true, 0);
        check(&five, &["f", "g", "h", "i"], false, 0);
        check(&five, &["f", "g", "h", "i", "i"], false, 1);
        check(&["a", "a", "a", "b", "b"], &five, false, 2);
        let unknown = ["", "", "", "", ""];
        check(&five, &unknown, false, 1);
    }

    #[test]
    fn the_span_counts_rounds_and_pauses_and_no_set_clock() {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 3])]);
        (run.meta.started, run.meta.finished) = (UnixNanos(0), None);
        for (round, started) in run.rounds.iter_mut().zip([0, 2, 5]) {
            round.started = UnixNanos(started * MINUTE);
            round.took = Nanos(MINUTE);
        }
        assert_eq!(span(&run), Nanos(6 * MINUTE));
        run.rounds[0].started = UnixNanos(90 * MINUTE);
        run.meta.started = UnixNanos(90 * MINUTE);
        assert_eq!(span(&run), Nanos(5 * MINUTE), "the clock went back");
        run.rounds[0].started = UnixNanos(0);
        run.meta.started = UnixNanos(0);
        run.rounds[2].started = UnixNanos(900 * MINUTE);
        assert_eq!(span(&run), Nanos(901 * MINUTE), "resumed after a night");
        run.rounds[1].noise.clock_jump = Some(Nanos(800 * MINUTE));
        assert_eq!(span(&run), Nanos(4 * MINUTE), "the clock was set");
        run.rounds.clear();
        assert_eq!(span(&run), Nanos::ZERO);
    }

    /// A run of one round of a minute that begins at this minute, a minute of set-up before it and one of clean-up.
    fn three_minutes(begin: u64) -> Run {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0])]);
        run.meta.started = UnixNanos(begin * MINUTE);
        run.rounds[0].started = UnixNanos((begin + 1) * MINUTE);
        run.rounds[0].took = Nanos(MINUTE);
        run.meta.finished = Some(UnixNanos((begin + 3) * MINUTE));
        run
    }

    #[test]
    fn the_span_of_a_run_is_what_it_is_said_to_have_taken() {
        let run = three_minutes(7);
        assert_eq!(span(&run), Nanos(3 * MINUTE));
        let one = of_run(&run).watched;
        assert_eq!(
            one,
            Watched::Once {
                span: Nanos(3 * MINUTE)
            }
        );
    }

    #[test]
    fn runs_apart_are_watched_twice_and_the_time_between_them_not_at_all() {
        let check = |a: u64, b: u64, expect: Watched| {
            let (a, b) = (three_minutes(a), three_minutes(b));
            for (base, other) in [(&a, &b), (&b, &a)] {
                let found = of_comparison(&[base], &[other], Method::Rounds).watched;
                assert_eq!(found, expect);
            }
        };
        let each = Nanos(3 * MINUTE);
        let twice = |minutes| Watched::Twice {
            base: each,
            other: each,
            apart: Nanos(minutes * MINUTE),
        };
        let once = |minutes| Watched::Once {
            span: Nanos(minutes * MINUTE),
        };
        check(10, 10, once(3));
        check(10, 12, once(5));
        check(10, 13, twice(3));
        check(10, 10 + 3 * 24 * 60, twice(3 * 24 * 60));
        let (a, b) = (three_minutes(1), three_minutes(90));
        let group = of_comparison(&[&a, &b], &[&b], Method::Runs).watched;
        assert_eq!(group, once(3));
    }
}
