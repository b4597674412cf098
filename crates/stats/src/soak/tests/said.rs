//! What must be said beside a rate: who disturbed it, how sure it is that it is one, and how much of it there is.

use super::*;
use model::record::End;

/// A soak without pauses of one stretch of `n` windows.
fn short(n: usize, seed: u64, shape: impl Fn(usize) -> f64, noise: f64) -> Maker {
    let mut rng = Rng::new(seed);
    let mut maker = Maker::new(0.1, None);
    let windows = (0..n)
        .map(|i| 1000.0 * shape(i) * (1.0 + noise * rng.normal()))
        .collect();
    maker.stretch(StretchKind::Opening, windows);
    maker.over()
}

#[test]
fn a_soak_that_others_disturbed_says_so_and_how_much_it_mattered() {
    let disturbed_in = |stretches: usize, slower: f64| {
        let mut maker = soak(1.0, 21, |_| 1.0);
        for (i, round) in maker.run.rounds.iter_mut().enumerate() {
            let disturbed = i % 7 == 3 && i / 7 < stretches;
            round.noise = Noise {
                steal_share: Some(if disturbed { 0.05 } else { 0.0 }),
                foreign_cpu_share: Some(if disturbed && i < 20 { 0.2 } else { 0.0 }),
                ..Noise::default()
            };
            if let (true, Outcome::Done(done)) = (disturbed, &mut round.outcome) {
                for window in &mut done.windows {
                    *window *= slower;
                }
            }
        }
        maker.summary()
    };
    let found = disturbed_in(8, 0.985);
    let [
        Finding::Steady { .. },
        Finding::Disturbed(said),
        Finding::NotSeen(_),
    ] = &found.findings[..]
    else {
        panic!("{:?}", found.findings)
    };
    assert_eq!(found.disturbed, Some(*said));
    let stretches = 60.0;
    assert!((said.share - 8.0 / stretches).abs() < 0.005, "{said:?}");
    assert_eq!(said.steal, Some(said.share));
    assert!(
        (said.foreign_cpu.unwrap() - 3.0 / stretches).abs() < 0.005,
        "{said:?}"
    );
    assert_eq!(said.throttled, None, "no stretch knows");
    assert!((said.change.unwrap() + 0.015).abs() < 0.005, "{said:?}");
    // One of sixty is for the notes.
    let found = disturbed_in(1, 1.0);
    assert!(found.disturbed.is_some_and(|few| !few.is_said()));
    assert_eq!(found.findings.len(), 2, "{:?}", found.findings);
    assert_eq!(disturbed_in(0, 1.0).disturbed, None, "all were quiet");
    assert_eq!(
        soak(1.0, 21, |_| 1.0).summary().disturbed,
        None,
        "nobody knows"
    );
}

#[test]
fn what_is_called_steady_is_the_typical_window_and_its_slow_windows_are_said() {
    let found = short(300, 22, |_| 1.0, 0.1).summary();
    let Finding::Steady { level, slow_share } = found.findings[0] else {
        panic!("{:?}", found.findings)
    };
    let levels = found.levels.unwrap();
    assert_eq!(level.to_bits(), levels.typical.to_bits());
    assert_eq!(slow_share, Some(levels.slow_share));
    assert!((0.1..0.25).contains(&levels.slow_share), "{levels:?}");
    let quiet = short(300, 22, |_| 1.0, 0.01).summary();
    assert!(
        matches!(
            quiet.findings[0],
            Finding::Steady {
                slow_share: None,
                ..
            }
        ),
        "{:?}",
        quiet.findings
    );
}

#[test]
fn a_ramp_of_practical_size_is_never_called_steady() {
    // Sixteen minutes of rate that wanders: what is sure and what is not are both possible, and both are said.
    let (mut sure, mut unsure, mut steady) = (0, 0, 0);
    for seed in 0..200 {
        let n = 100;
        let ramp = |i: usize| 1.0 + 0.06 * count(i) / count(n);
        let found = short(n, 3000 + seed, ramp, 0.06).summary();
        let values: Vec<f64> = found
            .course
            .points
            .iter()
            .map(|point| point.value)
            .collect();
        let drift = crate::state::drift::of(&values).unwrap();
        match found.findings[0] {
            Finding::Steady { .. } => {
                steady += 1;
                assert!(
                    drift.change.abs() <= 0.03,
                    "{drift:?}: {:?}",
                    found.findings
                );
            }
            Finding::PossibleRamp {
                change,
                interval,
                level,
                ..
            } => {
                unsure += 1;
                let (lo, hi) = interval;
                assert!(change.abs() > 0.03 && lo <= 0.0 && hi >= 0.0, "{drift:?}");
                assert_eq!(level.to_bits(), found.levels.unwrap().typical.to_bits());
            }
            Finding::Ramp { .. } => sure += 1,
            _ => {}
        }
    }
    assert!(
        unsure >= 40,
        "{sure} sure, {unsure} unsure, {steady} steady"
    );
    assert!(
        steady <= 60,
        "{sure} sure, {unsure} unsure, {steady} steady"
    );
}

#[test]
fn fewer_windows_than_a_drift_needs_are_not_called_steady() {
    for n in [12, 40, STEADY_MIN - 1] {
        let found = short(n, 23, |_| 1.0, 0.01).summary();
        assert_eq!(found.findings[0], Finding::TooShort { windows: n });
        assert!(found.levels.is_some(), "the levels are shown all the same");
    }
    let found = short(STEADY_MIN, 23, |_| 1.0, 0.01).summary();
    assert!(matches!(found.findings[0], Finding::Steady { .. }));
    // What is found is said, however short it was.
    let found = short(40, 23, |i| if i < 20 { 1.0 } else { 0.7 }, 0.01).summary();
    assert!(
        !matches!(
            found.findings[0],
            Finding::TooShort { .. } | Finding::Steady { .. }
        ),
        "{:?}",
        found.findings
    );
}

#[test]
fn a_soak_that_lasted_less_than_was_asked_for_says_why() {
    let early = |change: &dyn Fn(&mut Run)| {
        let mut maker = soak(1.0, 24, |_| 1.0);
        change(&mut maker.run);
        match maker.summary().findings.pop() {
            Some(Finding::EndedEarly { lasted, of, why }) => {
                Some((lasted.as_secs_f64().round(), of, why))
            }
            _ => None,
        }
    };
    let hour = Nanos::from_secs(3600);
    assert_eq!(early(&|_| ()), None);
    let cut = |end| {
        move |run: &mut Run| {
            run.rounds.truncate(10);
            run.meta.end = end;
        }
    };
    assert_eq!(
        early(&cut(End::Open)),
        Some((601.0, hour, Early::Unfinished))
    );
    assert_eq!(
        early(&cut(End::Interrupted)),
        Some((601.0, hour, Early::Interrupted))
    );
    // Killed, and resumed when its time was over.
    assert!(matches!(
        early(&cut(End::Complete)),
        Some((_, _, Early::Lapsed))
    ));
    // With pauses the last sample may leave no room for another, which is no early end.
    let sampled = |every: u64| {
        early(&|run| {
            cut(End::Complete)(run);
            run.plan.soak.as_mut().unwrap().every = Some(Nanos::from_secs(every));
        })
    };
    assert_eq!(sampled(3000), None);
    assert!(matches!(sampled(2900), Some((_, _, Early::Lapsed))));
    let failing = early(&|run| {
        cut(End::Complete)(run);
        run.rounds[9].outcome = Outcome::Failed(Failure::OutOfMemory);
    });
    assert!(
        matches!(failing, Some((_, _, Early::Failed))),
        "{failing:?}"
    );
    let none = early(&|run| {
        run.rounds.clear();
        run.meta.end = End::Open;
    });
    assert_eq!(none, Some((0.0, hour, Early::Unfinished)));
}
