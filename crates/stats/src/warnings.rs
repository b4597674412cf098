//! What makes a number doubtful, read off the rounds' noise.
//!
//! The thresholds were fixed before any run was judged by them (docs/method/statistics.md, "Warnings"). A warning
//! never drops or corrects a round. What the kernel does not tell is not counted as quiet: shares are of the rounds
//! for which the figure is known.

use crate::noise::{
    Usual, clock_troubled, held_back, probes, share_of, some, stolen, used_by_others,
};
use crate::rounds::{CaseRounds, RunRounds, whole};
use crate::thresholds::ROUNDS_MIN;
use crate::{apart, failed, shared_core, storage, trust, warming};
use model::estimate::NoiseShares;
use model::host::HostFacts;
use model::noise::{Noise, Sentinel};
use model::plan::PlannedCase;
use model::record::{Measured, Outcome, Run};
use model::warning::{FailedFor, Warning};

/// How far a probe may be from the run's median before the machine is called uneven.
const SENTINEL_OFF_MAX: f64 = 0.03;
/// How many times the run's median a probe's loss in gaps may be.
const GAP_FACTOR: f64 = 3.0;
/// Loss in gaps below which no round is called disturbed, whatever the median: a quiet virtual machine loses about
/// 1 % in gaps that no counter explains.
const GAP_FLOOR: f64 = 0.01;

/// The warnings that concern every metric of a case: of its rounds, their noise, and the machine.
pub(crate) fn of_case(rounds: &CaseRounds<'_>, run: &RunRounds<'_>, usual: &Usual) -> Vec<Warning> {
    let noises = &rounds.noises;
    [
        rounds_failed(rounds),
        steal(noises),
        throttled(noises),
        foreign(noises),
        gaps(noises, usual),
        uneven(noises, usual),
        shared_core::warning(noises, usual),
        clock_trouble(noises),
        in_memory(rounds.case, &run.run.host),
        allocated(rounds),
        warming::warning(rounds),
    ]
    .into_iter()
    .flatten()
    .chain(apart::warnings(rounds, run))
    .chain(storage::remarks(rounds, run.run))
    .collect()
}

/// The share of rounds from which on it is said of a whole run that something took time from it.
pub(crate) const DISTURBED_MIN: f64 = 0.2;

/// What took time from the rounds of these runs, whatever the case, where it did so in at least a fifth of them: stolen
/// time, a quota, other processes.
pub(crate) fn disturbed(runs: &[&Run]) -> Vec<Warning> {
    let all = runs.iter().flat_map(|run| &run.rounds);
    let finished = all.filter(|round| matches!(round.outcome, Outcome::Done(_)));
    let noises: Vec<&Noise> = finished.map(|round| &round.noise).collect();
    [steal(&noises), throttled(&noises), foreign(&noises)]
        .into_iter()
        .flatten()
        .filter(|warning| match warning {
            Warning::Steal { rounds_share, .. }
            | Warning::Throttled { rounds_share }
            | Warning::ForeignCpu { rounds_share, .. } => *rounds_share >= DISTURBED_MIN,
            _ => false,
        })
        .collect()
}

/// In which share of the rounds with these noises each kind was seen.
pub(crate) fn noise_shares(noises: &[&Noise], usual: &Usual) -> NoiseShares {
    let share = |test: fn(&Noise) -> Option<bool>| share_of(noises.iter().map(|noise| test(noise)));
    NoiseShares {
        steal: share(stolen),
        gaps: gap_share(noises, usual),
        foreign_cpu: share(used_by_others),
        throttled: share(held_back),
        clock_trouble: share(clock_troubled),
        uneven_speed: uneven_share(noises, usual),
        shared_core: shared_core::share(noises, usual),
    }
}

/// The warning for a metric with `have` rounds, where that is too few for an interval. A metric without any round has
/// no number to warn about.
pub(crate) fn too_few(have: u32) -> Option<Warning> {
    (have > 0 && have < ROUNDS_MIN).then_some(Warning::TooFewRounds {
        have,
        need: ROUNDS_MIN,
    })
}

/// The last reason, and those that are others.
fn rounds_failed(rounds: &CaseRounds<'_>) -> Option<Warning> {
    let failures = failed::failures(rounds);
    let last = *failures.last()?;
    let others = failed::reasons(failures.iter().copied()).into_iter();
    let others = others.filter(|(why, _)| failed::kind(why) != failed::kind(last));
    let others = others.map(|(why, n)| FailedFor {
        rounds: whole(n),
        reason: why.to_string(),
    });
    Some(Warning::RoundsFailed {
        failed: whole(failures.len()),
        of: whole(rounds.all.len()),
        reason: last.to_string(),
        others: others.collect(),
    })
}

fn steal(noises: &[&Noise]) -> Option<Warning> {
    let shares = noises.iter().filter_map(|noise| noise.steal_share);
    Some(Warning::Steal {
        rounds_share: some(share_of(noises.iter().map(|noise| stolen(noise))))?,
        worst_share: shares.fold(0.0, f64::max),
    })
}

fn throttled(noises: &[&Noise]) -> Option<Warning> {
    Some(Warning::Throttled {
        rounds_share: some(share_of(noises.iter().map(|noise| held_back(noise))))?,
    })
}

fn foreign(noises: &[&Noise]) -> Option<Warning> {
    Some(Warning::ForeignCpu {
        rounds_share: some(share_of(noises.iter().map(|noise| used_by_others(noise))))?,
        process: trust::busiest(noises, |noise| used_by_others(noise) == Some(true)),
    })
}

fn gap_share(noises: &[&Noise], usual: &Usual) -> Option<f64> {
    let limit = (usual.gap_share? * GAP_FACTOR).max(GAP_FLOOR);
    let over = |noise: &&Noise| any_probe(noise, |probe| probe.gap_share > limit);
    share_of(noises.iter().map(over))
}

fn gaps(noises: &[&Noise], usual: &Usual) -> Option<Warning> {
    Some(Warning::Gaps {
        rounds_share: some(gap_share(noises, usual))?,
    })
}

fn uneven_share(noises: &[&Noise], usual: &Usual) -> Option<f64> {
    let median = usual.add_ns.filter(|&median| median > 0.0)?;
    let off = |probe: &Sentinel| (probe.add_ns / median - 1.0).abs() > SENTINEL_OFF_MAX;
    share_of(noises.iter().map(|noise| any_probe(noise, off)))
}

fn uneven(noises: &[&Noise], usual: &Usual) -> Option<Warning> {
    Some(Warning::UnevenSpeed {
        rounds_share: some(uneven_share(noises, usual))?,
    })
}

/// Whether a probe before or after the round answers yes; `None` where there was no probe.
fn any_probe(noise: &Noise, test: impl Fn(&Sentinel) -> bool) -> Option<bool> {
    probes(noise).next()?;
    Some(probes(noise).any(test))
}

fn clock_trouble(noises: &[&Noise]) -> Option<Warning> {
    Some(Warning::ClockTrouble {
        rounds_share: some(share_of(noises.iter().map(|noise| clock_troubled(noise))))?,
    })
}

fn in_memory(case: &PlannedCase, host: &HostFacts) -> Option<Warning> {
    let file_system = host.storage.file_system.known()?;
    let in_memory = matches!(file_system.as_str(), "tmpfs" | "ramfs");
    (case.on_disk && in_memory).then(|| Warning::WorkDirInMemory {
        file_system: file_system.clone(),
    })
}

fn allocated(rounds: &CaseRounds<'_>) -> Option<Warning> {
    if rounds.case.allocates {
        return None;
    }
    let of_round = |measured: &&Measured| measured.copies.iter().map(|copy| copy.allocations).sum();
    let allocations = rounds.done.iter().map(of_round).max()?;
    (allocations > 0).then_some(Warning::Allocated { allocations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::record::Failure;
    use model::units::Nanos;

    /// The warnings of a case with ten quiet rounds of which `disturb` has changed the first two.
    fn check(disturb: impl Fn(&mut Noise), expect: &[Warning]) {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 10])]);
        let probe = Sentinel {
            add_ns: 0.25,
            gap_share: 0.002,
            gap_max: Nanos(9_000),
            adds_per_cycle: Some(4.0),
        };
        for round in &mut run.rounds {
            round.noise = Noise {
                steal_share: Some(0.001),
                throttled_share: Some(0.0),
                foreign_cpu_share: Some(0.01),
                foreign_top: Some("sshd".to_owned()),
                clock_jump: Some(Nanos(100)),
                suspended: Some(Nanos::ZERO),
                before: Some(probe),
                after: Some(probe),
                ..Noise::default()
            };
        }
        run.rounds[..2]
            .iter_mut()
            .for_each(|round| disturb(&mut round.noise));
        assert_eq!(warnings(&run), expect);
    }

    /// The warnings of the first case.
    fn warnings(run: &Run) -> Vec<Warning> {
        let rounds = RunRounds::of(run);
        of_case(&rounds.cases()[0], &rounds, &Usual::of(run))
    }

    fn probe(noise: &mut Noise) -> &mut Sentinel {
        noise.after.as_mut().unwrap()
    }

    #[test]
    fn each_threshold_has_its_warning() {
        let rounds_share = 0.2;
        check(|_| (), &[]);
        check(|noise| noise.steal_share = Some(0.02), &[]);
        check(
            |noise| noise.steal_share = Some(0.3),
            &[Warning::Steal {
                rounds_share,
                worst_share: 0.3,
            }],
        );
        check(
            |noise| noise.throttled_share = Some(0.02),
            &[Warning::Throttled { rounds_share }],
        );
        check(
            |noise| {
                noise.foreign_cpu_share = Some(0.06);
                noise.foreign_top = Some("apt".to_owned());
            },
            &[Warning::ForeignCpu {
                rounds_share,
                process: Some("apt".to_owned()),
            }],
        );
        check(|noise| probe(noise).gap_share = 0.0099, &[]);
        check(
            |noise| probe(noise).gap_share = 0.013,
            &[Warning::Gaps { rounds_share }],
        );
        check(|noise| probe(noise).add_ns = 0.257, &[]);
        check(
            |noise| probe(noise).add_ns = 0.258,
            &[Warning::UnevenSpeed { rounds_share }],
        );
        check(
            |noise| probe(noise).add_ns = 0.242,
            &[Warning::UnevenSpeed { rounds_share }],
        );
        check(|noise| probe(noise).adds_per_cycle = Some(3.0), &[]);
        check(
            |noise| probe(noise).adds_per_cycle = Some(2.0),
            &[Warning::SharedCore {
                rounds_share,
                worst_share: 0.5,
            }],
        );
        check(|noise| noise.clock_jump = Some(Nanos::from_millis(1)), &[]);
        check(
            |noise| noise.clock_jump = Some(Nanos(1_000_001)),
            &[Warning::ClockTrouble { rounds_share }],
        );
        check(
            |noise| noise.suspended = Some(Nanos(1)),
            &[Warning::ClockTrouble { rounds_share }],
        );
    }

    #[test]
    fn gaps_are_held_against_what_is_usual_in_the_run() {
        let noise = Noise {
            before: Some(Sentinel {
                add_ns: 0.25,
                gap_share: 0.05,
                gap_max: Nanos(9_000),
                adds_per_cycle: None,
            }),
            ..Noise::default()
        };
        let with_usual = |gap_share| {
            let usual = Usual {
                gap_share,
                ..Usual::default()
            };
            gaps(&[&noise], &usual).is_some()
        };
        assert!(with_usual(Some(0.016)));
        assert!(!with_usual(Some(0.017)), "less than three times the usual");
        assert!(!with_usual(None));
    }

    #[test]
    fn unknown_is_neither_quiet_nor_disturbed() {
        check(|noise| *noise = Noise::default(), &[]);
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 10])]);
        run.rounds[0].noise.steal_share = Some(0.5);
        assert_eq!(
            warnings(&run),
            [Warning::Steal {
                rounds_share: 1.0,
                worst_share: 0.5
            }]
        );
    }

    #[test]
    fn shares_of_noise_tell_quiet_from_unknown() {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 10])]);
        let shares = |run: &Run| {
            let rounds = RunRounds::of(run);
            noise_shares(&rounds.cases()[0].noises, &Usual::of(run))
        };
        assert_eq!(shares(&run), NoiseShares::default());
        for (i, round) in run.rounds.iter_mut().enumerate() {
            round.noise.steal_share = Some(if i < 3 { 0.5 } else { 0.0 });
            round.noise.throttled_share = Some(0.0);
            round.noise.clock_jump =
                (i < 4).then_some(Nanos::from_millis(if i < 1 { 2 } else { 0 }));
        }
        let expect = NoiseShares {
            steal: Some(0.3),
            throttled: Some(0.0),
            clock_trouble: Some(0.25),
            ..NoiseShares::default()
        };
        assert_eq!(shares(&run), expect);
    }

    #[test]
    fn the_machine_and_the_workload_are_judged_too() {
        let mut run = fixture::run(&[("fs.copy@1", vec![1.0; 6])]);
        run.host.storage.file_system = model::host::Fact::Known("tmpfs".to_owned());
        assert!(warnings(&run).is_empty());
        run.plan.cases[0].on_disk = true;
        let file_system = "tmpfs".to_owned();
        assert_eq!(warnings(&run), [Warning::WorkDirInMemory { file_system }]);

        run.plan.cases[0].on_disk = false;
        let Outcome::Done(measured) = &mut run.rounds[3].outcome else {
            panic!()
        };
        let mut copy = measured.copies[0].clone();
        copy.allocations = 4;
        measured.copies = vec![copy.clone(), copy];
        assert_eq!(warnings(&run), [Warning::Allocated { allocations: 8 }]);
        run.plan.cases[0].allocates = true;
        assert!(warnings(&run).is_empty(), "it is part of the work");
    }

    #[test]
    fn what_the_machine_cannot_do_has_not_failed() {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 2])]);
        let unsupported = Failure::Unsupported("no io_uring".to_owned());
        let one_failed = |why: &Failure| {
            [Warning::RoundsFailed {
                failed: 1,
                of: 2,
                reason: why.to_string(),
                others: Vec::new(),
            }]
        };
        run.rounds[0].outcome = Outcome::Failed(unsupported.clone());
        let lost = warnings(&run);
        assert_eq!(lost, one_failed(&unsupported), "it did the other round");
        run.rounds[1].outcome = Outcome::Failed(Failure::OutOfMemory);
        assert_eq!(warnings(&run), one_failed(&Failure::OutOfMemory));
        run.rounds[1].outcome = Outcome::Failed(unsupported);
        assert!(warnings(&run).is_empty());
    }

    #[test]
    fn a_run_is_disturbed_where_a_fifth_of_its_rounds_are() {
        let mut run = fixture::run(&[("a@1", vec![1.0; 5]), ("b@1", vec![1.0; 5])]);
        assert!(disturbed(&[&run]).is_empty());
        for round in &mut run.rounds[..2] {
            round.noise.throttled_share = Some(0.5);
        }
        for round in &mut run.rounds {
            round.noise.steal_share = Some(if round.seq < 2 { 0.5 } else { 0.0 });
            round.noise.throttled_share = round.noise.throttled_share.or(Some(0.0));
        }
        run.rounds[0].noise.foreign_cpu_share = Some(0.5);
        run.rounds[1].noise.foreign_cpu_share = Some(0.0);
        let quiet = fixture::run(&[("a@1", vec![1.0; 5])]);
        let rounds_share = 0.2;
        let expect = [
            Warning::Steal {
                rounds_share,
                worst_share: 0.5,
            },
            Warning::Throttled { rounds_share },
            Warning::ForeignCpu {
                rounds_share: 0.5,
                process: None,
            },
        ];
        assert_eq!(disturbed(&[&run]), expect);
        // What is not known counts on neither side of the share.
        assert_eq!(disturbed(&[&run, &quiet]), expect);
        run.rounds[1].noise.throttled_share = Some(0.0);
        assert!(!disturbed(&[&run]).contains(&expect[1]));
    }

    #[test]
    fn too_few_needs_at_least_one() {
        assert_eq!(too_few(0), None);
        assert_eq!(too_few(1), Some(Warning::TooFewRounds { have: 1, need: 6 }));
        assert_eq!(too_few(6), None);
    }
}
