//! The schedule against a pretended machine: no clock, no processes.

use super::*;
use model::plan::Settle;

fn at(seconds: u64) -> Nanos {
    Nanos::from_secs(seconds)
}

fn shape() -> Shape {
    Shape {
        measure: at(60),
        window: at(1),
        settle: Settle::None,
        ..Shape::DEFAULT
    }
}

fn soak(span: u64, every: Option<u64>, opening: u64) -> Soak {
    Soak {
        span: at(span),
        every: every.map(at),
        opening: at(opening),
    }
}

/// A machine with a bucket of credit, and the soak that runs on it.
struct Machine {
    soak: Soak,
    shape: Shape,
    past: Vec<Past>,
    now: Nanos,
    /// When the process took over that measures now.
    since: Nanos,
    credit: f64,
    limited: bool,
}

impl Machine {
    const BURST: f64 = 200.0;
    const SUSTAINED: f64 = 100.0;

    fn new(soak: Soak, credit: Option<f64>) -> Self {
        Self {
            soak,
            shape: shape(),
            past: Vec::new(),
            now: Nanos::ZERO,
            since: Nanos::ZERO,
            credit: credit.unwrap_or_default(),
            limited: credit.is_some(),
        }
    }

    fn window(&mut self) -> f64 {
        if !self.limited {
            return Self::BURST;
        }
        let rate = Self::BURST.min(Self::SUSTAINED + self.credit);
        self.credit -= rate - Self::SUSTAINED;
        rate
    }

    /// Does what comes next and tells it.
    fn step(&mut self) -> Next {
        let now = Now {
            elapsed: self.now,
            since: self.since,
        };
        let next = next(&self.soak, &self.shape, &self.past, now);
        match next {
            Next::Over => {}
            Next::Rest { until, .. } => {
                self.credit += until.since(self.now).as_secs_f64() * Self::SUSTAINED;
                self.now = until;
            }
            Next::Stretch { kind, measure } => {
                let windows: Vec<f64> = (0..measure.0 / at(1).0).map(|_| self.window()).collect();
                let began = self.now.plus(Nanos::from_millis(50));
                let ended = began.plus(measure).plus(Nanos::from_millis(50));
                self.past.push(Past {
                    kind,
                    started: self.now,
                    began,
                    at: UnixNanos(began.0),
                    ended,
                    step: 1.0,
                    ops: windows.iter().sum(),
                    windows,
                    granted: Vec::new(),
                    left_out: 0,
                    suspended_before: Nanos::ZERO,
                });
                self.now = ended;
            }
        }
        next
    }

    /// Everything until what comes next would be a rest; when it began.
    fn until_rest(&mut self) -> Nanos {
        loop {
            let before = self.now;
            if matches!(self.step(), Next::Rest { .. }) {
                return before;
            }
        }
    }

    /// Killed, and resumed so much later by another process, while the credit grew by so much.
    fn killed(&mut self, for_seconds: u64, credit: f64) {
        self.now = self.now.plus(at(for_seconds));
        self.since = self.now;
        self.credit = (self.credit + credit).min(100.0 * 100.0);
    }

    /// The refill stretch, and what the burst before says about it.
    fn confirmed(&self) -> Option<stats::burst::Cause> {
        let refill = self
            .past
            .iter()
            .position(|past| matches!(past.kind, StretchKind::Refill { .. }))?;
        let StretchKind::Refill { rest } = self.past[refill].kind else {
            return None;
        };
        let burst = settled_burst(&self.past[..refill])?;
        Some(burst.confirm(&self.past[refill].windows, rest.as_secs_f64()))
    }

    /// Everything until the end.
    fn all(mut self) -> (Vec<Next>, Self) {
        let mut list = Vec::new();
        loop {
            let next = self.step();
            if next == Next::Over {
                return (list, self);
            }
            list.push(next);
            assert!(list.len() < 10_000, "it never ends");
        }
    }
}

fn kinds(past: &[Past]) -> String {
    past.iter()
        .map(|past| match past.kind {
            StretchKind::Opening => 'o',
            StretchKind::Refill { .. } => 'r',
            StretchKind::Sample => 's',
        })
        .collect()
}

#[test]
fn without_a_burst_load_goes_on_without_a_pause_to_the_end() {
    let (list, machine) = Machine::new(soak(600, None, 600), None).all();
    assert!(list.iter().all(|next| matches!(next, Next::Stretch { .. })));
    assert_eq!(kinds(&machine.past), "oooooooooo");
    // The last one is cut to what is left.
    assert!(
        machine.now > at(595) && machine.now <= at(601),
        "{:?}",
        machine.now
    );
}

#[test]
fn a_soak_without_pauses_lasts_as_long_as_was_asked_for_to_half_a_window() {
    // What is left behind the last whole stretch is measured with it, and not dropped.
    for span in (10..=130).chain([599, 600, 601, 655, 3_605]) {
        let soak = soak(span, None, span);
        let shape = Shape {
            measure: at((span / 10).clamp(10, 60)),
            ..shape()
        };
        let mut machine = Machine::new(soak, None);
        machine.shape = shape;
        let (_, machine) = machine.all();
        let off = machine.now.as_secs_f64() - at(span).as_secs_f64();
        assert!(off.abs() <= 0.65, "{span} s: {off} s");
    }
}

#[test]
fn a_bucket_is_rested_for_refilled_and_sampled() {
    let (list, machine) = Machine::new(soak(3600, None, 3600), Some(100.0 * 100.0)).all();
    let kinds = kinds(&machine.past);
    assert!(kinds.starts_with("ooo") && kinds.ends_with("ss"), "{kinds}");
    assert_eq!(kinds.matches('r').count(), 1);
    let rests: Vec<&Next> = list
        .iter()
        .filter(|next| matches!(next, Next::Rest { .. }))
        .collect();
    assert!(matches!(
        rests[..],
        [Next::Rest {
            why: Rest::Refill,
            ..
        }]
    ));
    // A plateau of at least 60 windows is seen before; the credit of 100 s at full speed refills half in 50 s.
    let refill = machine
        .past
        .iter()
        .find(|past| matches!(past.kind, StretchKind::Refill { .. }));
    let refill = refill.unwrap();
    assert!(refill.started >= at(160 + 50), "{:?}", refill.started);
    let StretchKind::Refill { rest } = refill.kind else {
        panic!()
    };
    assert!((rest.as_secs_f64() - 50.0).abs() < 2.0, "{rest:?}");
    assert!(
        (75..=85).contains(&refill.windows.len()),
        "{}",
        refill.windows.len()
    );
}

#[test]
fn samples_come_at_multiples_of_their_time_behind_the_opening() {
    let day = soak(24 * 3600, Some(600), 2400);
    let (_, machine) = Machine::new(day, None).all();
    let samples: Vec<&Past> = machine
        .past
        .iter()
        .filter(|past| past.kind == StretchKind::Sample)
        .collect();
    // 40 minutes of opening, then every ten minutes; at 24 h there is no time for another.
    assert_eq!(samples.len(), 140);
    for (slot, sample) in (4..).zip(&samples) {
        let late = sample.started.since(at(600 * slot));
        assert!(late < at(60), "slot {slot}: {late:?}");
        assert_eq!(sample.windows.len(), 60);
    }
    assert!(
        machine
            .past
            .iter()
            .all(|past| past.kind != StretchKind::Sample || past.started >= at(2400))
    );
}

#[test]
fn short_times_between_samples_make_short_samples() {
    let soak = soak(600, Some(30), 60);
    assert_eq!(sample_length(&soak, &shape()), at(10));
    let (_, machine) = Machine::new(soak, None).all();
    assert!(kinds(&machine.past).starts_with("os"));
    assert_eq!(machine.past.len(), 1 + 18);
}

#[test]
fn a_soak_killed_in_its_opening_starts_the_opening_anew() {
    let mut machine = Machine::new(soak(3600, None, 3600), Some(100.0 * 100.0));
    machine.step();
    // The credit is back, the chain is broken.
    machine.killed(600, 6_000.0);
    let (_, machine) = machine.all();
    let kinds = kinds(&machine.past);
    assert_eq!(kinds.matches('r').count(), 1, "{kinds}");
    let refill = kinds.find('r').unwrap();
    let chain = stats::soak::chain(&machine.past[..refill]);
    assert_eq!(
        chain.len(),
        refill - 1,
        "the first stretch is no part of it"
    );
}

#[test]
fn a_rest_that_was_longer_than_planned_is_taken_as_it_was() {
    let mut machine = Machine::new(soak(3600, None, 3600), Some(100.0 * 100.0));
    let before = machine.until_rest();
    machine.now = before.plus(at(200));
    let next = machine.step();
    let Next::Stretch {
        kind: StretchKind::Refill { rest },
        measure,
    } = next
    else {
        panic!("{next:?}")
    };
    assert!(rest.since(at(199)) < at(2), "{rest:?}");
    // The bucket is full by then, and no fuller: its 100 s are expected, and some plateau.
    assert!((125..=135).contains(&(measure.0 / at(1).0)), "{measure:?}");
}

#[test]
fn a_soak_killed_and_resumed_within_its_rest_goes_on_resting() {
    let mut machine = Machine::new(soak(3600, None, 3600), Some(100.0 * 100.0));
    machine.now = machine.until_rest();
    machine.credit = 0.0;
    machine.killed(20, 2_000.0);
    assert!(matches!(
        machine.step(),
        Next::Rest {
            why: Rest::Refill,
            ..
        }
    ));
    let (_, machine) = machine.all();
    assert_eq!(kinds(&machine.past).matches('r').count(), 1);
    assert_eq!(machine.confirmed(), Some(stats::burst::Cause::TokenBucket));
}

#[test]
fn a_refill_that_was_killed_is_done_again_after_the_bucket_is_empty_again() {
    // Killed after 5 s, 25 s and 60 s of a burst of 50 s, resumed at once or after minutes.
    for (into, away) in [(5_u16, 0), (25, 3), (25, 400), (60, 0)] {
        let mut machine = Machine::new(soak(3600, None, 3600), Some(100.0 * 100.0));
        machine.until_rest();
        let before = machine.past.len();
        for _ in 0..into {
            machine.window();
        }
        machine.now = machine.now.plus(at(into.into()));
        machine.killed(away, 100.0 * f64::from(u32::try_from(away).unwrap()));
        let (list, machine) = machine.all();
        let done = kinds(&machine.past);
        assert!(done[before..].starts_with('o'), "{done}");
        assert_eq!(done.matches('r').count(), 1, "{done}");
        let rests = |next: &&Next| matches!(next, Next::Rest { .. });
        assert_eq!(list.iter().filter(rests).count(), 1);
        assert_eq!(
            machine.confirmed(),
            Some(stats::burst::Cause::TokenBucket),
            "{into} {away}"
        );
    }
}

#[test]
fn a_killed_refill_that_no_time_is_left_for_is_left_alone() {
    let mut machine = Machine::new(soak(340, None, 340), Some(100.0 * 100.0));
    machine.until_rest();
    machine.killed(20, 2_000.0);
    let (list, machine) = machine.all();
    let done = kinds(&machine.past);
    assert!(done.ends_with('s') && !done.contains('r'), "{done}");
    assert!(!list.iter().any(|next| matches!(next, Next::Rest { .. })));
}

#[test]
fn suspended_time_counts_and_a_sample_missed_is_not_made_up_for() {
    let mut machine = Machine::new(soak(24 * 3600, Some(600), 2400), None);
    while machine.now < at(5000) {
        machine.step();
    }
    let before = machine.past.len();
    // Suspended from 5400 s, the next sample's time, to 8500 s.
    machine.now = at(8500);
    let next = machine.step();
    assert_eq!(
        next,
        Next::Rest {
            until: at(9000),
            why: Rest::Sample
        }
    );
    machine.step();
    assert_eq!(machine.past.len(), before + 1);
    assert!(machine.past[before].started.since(at(9000)) < at(1));
}

#[test]
fn a_stretch_with_trouble_breaks_the_opening() {
    let mut machine = Machine::new(soak(3600, Some(600), 300), None);
    machine.step();
    machine.step();
    machine.past[1].windows.clear();
    assert!(matches!(
        machine.step(),
        Next::Stretch {
            kind: StretchKind::Opening,
            ..
        }
    ));
    assert_eq!(stats::soak::chain(&machine.past).len(), 1);
}

#[test]
fn a_bucket_at_the_end_of_the_time_is_not_tested() {
    let (list, machine) = Machine::new(soak(170, None, 170), Some(100.0 * 100.0)).all();
    assert!(!kinds(&machine.past).contains('r'));
    assert!(!list.iter().any(|next| matches!(next, Next::Rest { .. })));
}

#[test]
fn what_is_over_stays_over() {
    let soak = soak(600, None, 600);
    for elapsed in [at(595), at(9_999)] {
        let since = Nanos::ZERO;
        assert_eq!(
            next(&soak, &shape(), &[], Now { elapsed, since }),
            Next::Over
        );
    }
}

#[test]
fn moments_keep_their_two_clocks_together() {
    let clock = SoakClock::start(&[]);
    let (wall, elapsed) = clock.tell(Moment::now().later(at(5)));
    let (wall_now, elapsed_now) = clock.tell(Moment::now());
    assert!(elapsed > elapsed_now && elapsed.since(elapsed_now) <= at(5));
    assert!(wall.0 > wall_now.0);
}

#[test]
fn a_machine_that_was_awake_was_not_suspended() {
    let then = Asleep::now();
    clock::sleep(20_000_000);
    assert_eq!(Asleep::now().since(then), Nanos::ZERO);
    assert_eq!(
        Asleep(at(9)).since(Asleep(at(2))),
        at(7),
        "what lies between the clocks is the time asleep"
    );
}
