//! Runs that nobody measured, of which pages are made: what one pass of a profile gave, in so many rounds that scatter,
//! so that pages are as long as those of a whole run.

use model::host::Fact;
use model::record::{Outcome, Run};
use model::rng::Rng;

/// Rounds of each case: enough for intervals.
const ROUNDS: u32 = 8;

/// How far rounds lie apart.
const SCATTER: f64 = 0.02;

/// A run of this machine, so many times as much in everything.
pub(super) fn run(once: &Run, machine: &str, times: f64) -> Run {
    let mut rng = Rng::new(times.to_bits());
    let mut run = once.clone();
    run.meta.id = format!("20261101-000000-{machine}");
    run.meta.label = Some(machine.to_owned());
    run.meta.offer = Some(machine.to_owned());
    run.host.identity.machine = Fact::Known(machine.to_owned());
    run.plan.passes = Some(ROUNDS);
    run.rounds.clear();
    for pass in 1..=ROUNDS {
        for round in &once.rounds {
            let mut round = round.clone();
            round.pass = pass;
            round.seq = u32::try_from(run.rounds.len() + 1).unwrap_or(u32::MAX);
            if let Outcome::Done(done) = &mut round.outcome {
                // Shares have a whole that is no more than 1.
                for value in done.values.values_mut().filter(|value| **value > 1.0) {
                    *value *= times * (SCATTER * rng.normal()).exp();
                }
            }
            run.rounds.push(round);
        }
    }
    run
}
