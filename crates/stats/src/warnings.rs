//! What makes a number doubtful, read off the rounds' noise.
//!
//! The thresholds were fixed before any run was judged by them (docs/method/statistics.md, "Warnings"). A warning
//! never drops or corrects a round. What the kernel does not tell is not counted as quiet: shares are of the rounds
//! for which the figure is known.

use crate::{ROUNDS_MIN, quantile, rounds, shared_core};
use model::estimate::NoiseShares;
use model::host::HostFacts;
use model::noise::{Noise, Sentinel};
use model::num::count;
use model::plan::PlannedCase;
use model::record::{Failure, Outcome, Round, Run};
use model::units::Nanos;
use model::warning::Warning;
use std::collections::BTreeSet;

/// Stolen time, as a share of demanded time, above which a round is called disturbed by the host.
pub const STEAL_MAX: f64 = 0.02;
/// CPU time of others, as a share of one CPU, above which a round is called disturbed by this machine's own work.
pub const FOREIGN_MAX: f64 = 0.05;
/// Time held back by a quota, as a share of wall time, above which a round is called throttled.
pub const THROTTLED_MAX: f64 = 0.01;
/// How far a probe may be from the run's median before the machine is called uneven.
pub const SENTINEL_OFF_MAX: f64 = 0.03;
/// How many times the run's median a probe's loss in gaps may be.
pub const GAP_FACTOR: f64 = 3.0;
/// Loss in gaps below which no round is called disturbed, whatever the median: a quiet virtual machine loses about
/// 1 % in gaps that no counter explains.
pub const GAP_FLOOR: f64 = 0.01;
/// The wall clock's movement against the monotonic clock above which somebody set it.
pub const CLOCK_JUMP_MAX: Nanos = Nanos::from_millis(1);

/// What is usual in a run: what single probes are held against.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usual {
    /// The median time per dependent addition over all probes, in nanoseconds.
    pub add_ns: Option<f64>,
    /// The median share lost in gaps over all probes, 0 to 1.
    pub gap_share: Option<f64>,
    /// How many independent additions a core does in a cycle at its best.
    pub best_adds_per_cycle: Option<f64>,
}

impl Usual {
    /// Over every probe of `run`.
    pub fn of(run: &Run) -> Self {
        let probes = || run.rounds.iter().flat_map(|round| probes(&round.noise));
        let adds: Vec<f64> = probes().map(|probe| probe.add_ns).collect();
        let gaps: Vec<f64> = probes().map(|probe| probe.gap_share).collect();
        Self {
            add_ns: quantile::median(&adds),
            gap_share: quantile::median(&gaps),
            best_adds_per_cycle: shared_core::best(probes()),
        }
    }
}

/// The warnings that concern every metric of `case`: of its rounds, their noise, and the machine.
pub fn of_case(case: &PlannedCase, run: &Run, usual: &Usual) -> Vec<Warning> {
    let all: Vec<&Round> = run.rounds_of(&case.id).collect();
    let noises = noises_of(&all);
    [
        failed(&all),
        steal(&noises),
        throttled(&noises),
        foreign(&noises),
        gaps(&noises, usual),
        uneven(&noises, usual),
        shared_core::warning(&noises, usual),
        clock_trouble(&noises),
        in_memory(case, &run.host),
        allocated(case, &all),
        crate::warming::warning(case, &all),
    ]
    .into_iter()
    .flatten()
    .chain(crate::apart::warnings(case, run, &noises))
    .chain(crate::storage::remarks(case, run))
    .collect()
}

/// The warnings about `run` as a whole. Earlier versions kept what workloads noted here too, behind it the cases in
/// parentheses; it stands at those cases, and not twice.
pub fn of_run(run: &Run) -> Vec<&Warning> {
    let mut notes: BTreeSet<&str> = BTreeSet::new();
    for round in &run.rounds {
        if let Outcome::Done(measured) = &round.outcome {
            notes.extend(measured.notes.iter().map(String::as_str));
        }
    }
    let of_a_round = |text: &str| {
        let note = text.rsplit_once(" (").map(|(note, _)| note);
        notes.contains(text) || note.is_some_and(|note| notes.contains(note))
    };
    let kept = run.meta.warnings.iter();
    kept.filter(|warning| !matches!(warning, Warning::Other(text) if of_a_round(text)))
        .collect()
}

/// The share of rounds from which on it is said of a whole run that something took time from it.
const DISTURBED_MIN: f64 = 0.2;

/// What took time from the rounds of these runs, whatever the case, where it did so in at least a fifth of them: stolen
/// time, a quota, other processes.
pub(crate) fn disturbed(runs: &[&Run]) -> Vec<Warning> {
    let all: Vec<&Round> = runs.iter().flat_map(|run| &run.rounds).collect();
    let noises = noises_of(&all);
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

/// In which share of the rounds of `case` each kind of noise was seen.
pub fn noise_shares(case: &PlannedCase, run: &Run, usual: &Usual) -> NoiseShares {
    let all: Vec<&Round> = run.rounds_of(&case.id).collect();
    let noises = noises_of(&all);
    NoiseShares {
        steal: share_of(noises.iter().map(|noise| stolen(noise))),
        gaps: gap_share(&noises, usual),
        foreign_cpu: share_of(noises.iter().map(|noise| used_by_others(noise))),
        throttled: share_of(noises.iter().map(|noise| held_back(noise))),
        clock_trouble: share_of(noises.iter().map(|noise| clock_troubled(noise))),
        uneven_speed: uneven_share(&noises, usual),
        shared_core: shared_core::share(&noises, usual),
    }
}

/// The noise of the rounds that ended well.
fn noises_of<'a>(all: &[&'a Round]) -> Vec<&'a Noise> {
    all.iter()
        .filter(|round| matches!(round.outcome, Outcome::Done(_)))
        .map(|round| &round.noise)
        .collect()
}

/// The warning for a metric with `have` rounds, where that is too few for an interval. A metric without any round has
/// no number to warn about.
pub fn too_few(have: u32) -> Option<Warning> {
    (have > 0 && have < ROUNDS_MIN).then_some(Warning::TooFewRounds {
        have,
        need: ROUNDS_MIN,
    })
}

pub(crate) fn probes(noise: &Noise) -> impl Iterator<Item = &Sentinel> {
    noise.before.iter().chain(&noise.after)
}

/// What the machine cannot do at all did not fail: the reason stands where the value would. What it did in one round
/// and could not do in another did.
fn failed(all: &[&Round]) -> Option<Warning> {
    let was_done = all
        .iter()
        .any(|round| matches!(round.outcome, Outcome::Done(_)));
    let failures: Vec<&Failure> = all
        .iter()
        .filter_map(|round| match &round.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Done(_) => None,
        })
        .filter(|failure| was_done || !matches!(failure, Failure::Unsupported(_)))
        .collect();
    Some(Warning::RoundsFailed {
        failed: rounds::whole(failures.len()),
        of: rounds::whole(all.len()),
        reason: failures.last()?.to_string(),
    })
}

/// The share of the known answers that is `true`; `None` where no answer is known.
pub(crate) fn share_of(answers: impl Iterator<Item = Option<bool>>) -> Option<f64> {
    let known: Vec<bool> = answers.flatten().collect();
    let concerned = known.iter().filter(|&&concerned| concerned).count();
    (!known.is_empty()).then(|| count(concerned) / count(known.len()))
}

/// A share that is worth a warning: some rounds are concerned.
pub(crate) fn some(share: Option<f64>) -> Option<f64> {
    share.filter(|share| *share > 0.0)
}

/// Whether the host took more of the demanded time than counts as quiet, where that is known.
pub(crate) fn stolen(noise: &Noise) -> Option<bool> {
    Some(noise.steal_share? > STEAL_MAX)
}

fn steal(noises: &[&Noise]) -> Option<Warning> {
    let shares = noises.iter().filter_map(|noise| noise.steal_share);
    Some(Warning::Steal {
        rounds_share: some(share_of(noises.iter().map(|noise| stolen(noise))))?,
        worst_share: shares.fold(0.0, f64::max),
    })
}

/// Whether a quota held a round back for longer than counts as quiet, where that is known.
pub(crate) fn held_back(noise: &Noise) -> Option<bool> {
    Some(noise.throttled_share? > THROTTLED_MAX)
}

fn throttled(noises: &[&Noise]) -> Option<Warning> {
    Some(Warning::Throttled {
        rounds_share: some(share_of(noises.iter().map(|noise| held_back(noise))))?,
    })
}

/// Whether other processes used more of a CPU than counts as quiet, where that is known.
pub(crate) fn used_by_others(noise: &Noise) -> Option<bool> {
    Some(noise.foreign_cpu_share? > FOREIGN_MAX)
}

fn foreign(noises: &[&Noise]) -> Option<Warning> {
    let busiest = noises
        .iter()
        .filter_map(|noise| Some((noise.foreign_cpu_share?, &noise.foreign_top)))
        .max_by(|a, b| a.0.total_cmp(&b.0));
    Some(Warning::ForeignCpu {
        rounds_share: some(share_of(noises.iter().map(|noise| used_by_others(noise))))?,
        process: busiest.and_then(|(_, process)| process.clone()),
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

/// Whether the clock was set or the machine suspended during a round, where that is known.
pub(crate) fn clock_troubled(noise: &Noise) -> Option<bool> {
    let jumped = noise.clock_jump.map(|jump| jump > CLOCK_JUMP_MAX);
    let suspended = noise.suspended.map(|time| time > Nanos::ZERO);
    match (jumped, suspended) {
        (None, None) => None,
        (jumped, suspended) => Some(jumped.unwrap_or(false) || suspended.unwrap_or(false)),
    }
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

fn allocated(case: &PlannedCase, all: &[&Round]) -> Option<Warning> {
    if case.allocates {
        return None;
    }
    let allocations = all
        .iter()
        .filter_map(|round| match &round.outcome {
            Outcome::Done(measured) => Some(&measured.copies),
            Outcome::Failed(_) => None,
        })
        .map(|copies| copies.iter().map(|copy| copy.allocations).sum())
        .max()?;
    (allocations > 0).then_some(Warning::Allocated { allocations })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

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
        assert_eq!(of_case(&run.plan.cases[0], &run, &Usual::of(&run)), expect);
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
        let found = of_case(&run.plan.cases[0], &run, &Usual::of(&run));
        assert_eq!(
            found,
            [Warning::Steal {
                rounds_share: 1.0,
                worst_share: 0.5
            }]
        );
    }

    #[test]
    fn shares_of_noise_tell_quiet_from_unknown() {
        let mut run = fixture::run(&[("os.pipe@1", vec![1.0; 10])]);
        let shares = |run: &Run| noise_shares(&run.plan.cases[0], run, &Usual::of(run));
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
        let warnings = |run: &Run| of_case(&run.plan.cases[0], run, &Usual::of(run));
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
        let warnings = |run: &Run| of_case(&run.plan.cases[0], run, &Usual::of(run));
        let unsupported = Failure::Unsupported("no io_uring".to_owned());
        let one_failed = |why: &Failure| {
            [Warning::RoundsFailed {
                failed: 1,
                of: 2,
                reason: why.to_string(),
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
    fn what_a_round_noted_is_not_said_of_the_run_too() {
        let mut run = fixture::run(&[("storage.x@1", vec![1.0; 2])]);
        let other = |text: &str| Warning::Other(text.to_owned());
        run.meta.warnings = vec![
            other("io_uring does not work here: ENOSYS (storage.x@1, storage.y@1)"),
            other("half came from a cache (metric cached_share) (storage.x@1)"),
            other("nobody noted this (storage.x@1)"),
            Warning::DebugBuild,
        ];
        let Outcome::Done(measured) = &mut run.rounds[1].outcome else {
            panic!()
        };
        measured.notes = vec![
            "io_uring does not work here: ENOSYS".to_owned(),
            "half came from a cache (metric cached_share)".to_owned(),
        ];
        assert_eq!(
            of_run(&run),
            [
                &other("nobody noted this (storage.x@1)"),
                &Warning::DebugBuild
            ]
        );
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
