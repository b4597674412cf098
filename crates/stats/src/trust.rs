//! Whether the figures of a run may be quoted: the first thing that its page says of them.
//!
//! Thresholds are those of the warnings; what the kernel does not tell is not counted as quiet.

use crate::noise::{Usual, clock_troubled, held_back, stolen, used_by_others};
use crate::quantile;
use crate::rounds::whole;
use crate::shared_core;
use crate::thresholds::ROUNDS_MIN;
use crate::warnings::DISTURBED_MIN;
use model::noise::Noise;
use model::num::count;
use model::record::{Outcome, Run};
use model::warning::Warning;
use std::collections::BTreeMap;

/// How far a run is to be trusted.
#[derive(Clone, Debug, PartialEq)]
pub enum Trust {
    /// Nothing was measured.
    Nothing,
    /// Nothing disturbed so many rounds that it must be said first.
    Quiet {
        /// Rounds in which other programs used a CPU; `None` where that is not known.
        others: Option<Rounds>,
        /// The share of the demanded CPU time that the host took, over all rounds; `None` where that is not known.
        stolen: Option<f64>,
    },
    /// A CPU quota held it back: the figures are those of the quota.
    Quota(Rounds),
    /// Something took time from too many rounds.
    Disturbed(Disturber, Rounds),
    /// Measured by a build that is slower than it must be.
    DebugBuild,
    /// Measured by another program, which this names: nothing is known of what went on meanwhile. One figure of each
    /// case has no interval.
    Imported {
        /// The program with its version.
        by: String,
        /// The most figures of a case.
        rounds: u32,
    },
    /// So few rounds of each case that no figure has an interval.
    FewRounds(u32),
}

/// What takes time from rounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Disturber {
    /// Other programs: the one that was most often the busiest, and what all of them used, as a share of one CPU. It is
    /// the median over the rounds concerned.
    Others(Option<String>, f64),
    /// The host, by this share of the demanded time: the median over the rounds concerned.
    Host(f64),
    /// Whoever has the other hardware thread of the core.
    Neighbour,
    /// The clock was set, or the machine suspended.
    Clock,
}

/// So many rounds of those of which it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rounds {
    /// How many.
    pub n: u32,
    /// Of how many.
    pub of: u32,
}

impl Rounds {
    fn share(self) -> f64 {
        f64::from(self.n) / f64::from(self.of.max(1))
    }
}

impl Trust {
    /// What is to be trusted of `run`.
    pub fn of(run: &Run) -> Self {
        let finished = run.rounds.iter().filter_map(|round| match &round.outcome {
            Outcome::Done(_) => Some(&round.noise),
            Outcome::Failed(_) => None,
        });
        let noises: Vec<&Noise> = finished.collect();
        if noises.is_empty() {
            return Self::Nothing;
        }
        let most = crate::rounds_of_each(run).into_iter().max().unwrap_or(0);
        if let Some(origin) = &run.meta.origin {
            return Self::Imported {
                by: origin.who(),
                rounds: most,
            };
        }
        if run.meta.warnings.contains(&Warning::DebugBuild) {
            return Self::DebugBuild;
        }
        if let Some((by, rounds)) = worst(&noises, &Usual::of(run)) {
            return Self::Disturbed(by, rounds);
        }
        if most < ROUNDS_MIN && run.plan.soak.is_none() {
            return Self::FewRounds(most);
        }
        match rounds(&noises, held_back) {
            Some(held) if held.share() >= DISTURBED_MIN => Self::Quota(held),
            _ => Self::Quiet {
                others: rounds(&noises, used_by_others),
                stolen: mean(noises.iter().filter_map(|noise| noise.steal_share)),
            },
        }
    }

    /// Whether the figures may be quoted.
    pub const fn may_be_quoted(&self) -> bool {
        matches!(self, Self::Quiet { .. } | Self::Quota(_))
    }

    /// The words of documents and lists.
    pub const WORDS: [&str; 8] = [
        "quiet",
        "not_known",
        "quota",
        "disturbed",
        "few_rounds",
        "imported",
        "debug",
        "nothing",
    ];

    /// Its word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Quiet {
                others: None,
                stolen: None,
            } => "not_known",
            Self::Quiet { .. } => "quiet",
            Self::Quota(_) => "quota",
            Self::Disturbed(..) => "disturbed",
            Self::DebugBuild => "debug",
            Self::Imported { .. } => "imported",
            Self::FewRounds(_) => "few_rounds",
        }
    }
}

/// What disturbed the most rounds, where these are a fifth or more.
fn worst(noises: &[&Noise], usual: &Usual) -> Option<(Disturber, Rounds)> {
    let others = |noise: &Noise| used_by_others(noise) == Some(true);
    let by_host = |noise: &Noise| stolen(noise) == Some(true);
    let found = [
        (
            Disturber::Others(
                busiest(noises, others),
                median(noises, others, |noise| noise.foreign_cpu_share),
            ),
            rounds(noises, used_by_others),
        ),
        (
            Disturber::Host(median(noises, by_host, |noise| noise.steal_share)),
            rounds(noises, stolen),
        ),
        (
            Disturber::Neighbour,
            rounds(noises, |noise| shared_core::shared(noise, usual)),
        ),
        (Disturber::Clock, rounds(noises, clock_troubled)),
    ];
    let known = found
        .into_iter()
        .filter_map(|(by, found)| Some((by, found?)));
    known
        .filter(|(_, found)| found.share() >= DISTURBED_MIN)
        // Of equals the first: what somebody on this machine can do something about.
        .reduce(|worst, next| {
            if next.1.share() > worst.1.share() {
                next
            } else {
                worst
            }
        })
}

fn rounds(noises: &[&Noise], test: impl Fn(&Noise) -> Option<bool>) -> Option<Rounds> {
    let known: Vec<bool> = noises.iter().filter_map(|noise| test(noise)).collect();
    (!known.is_empty()).then(|| Rounds {
        n: whole(known.iter().filter(|&&concerned| concerned).count()),
        of: whole(known.len()),
    })
}

/// The median of a figure over the rounds concerned.
fn median(
    noises: &[&Noise],
    concerned: fn(&Noise) -> bool,
    figure: fn(&Noise) -> Option<f64>,
) -> f64 {
    let concerned = noises.iter().filter(|noise| concerned(noise));
    let figures: Vec<f64> = concerned.filter_map(|noise| figure(noise)).collect();
    quantile::median(&figures).unwrap_or(0.0)
}

/// The program that was the busiest one in most of the rounds concerned.
pub(crate) fn busiest(noises: &[&Noise], concerned: fn(&Noise) -> bool) -> Option<String> {
    let mut often: BTreeMap<&str, usize> = BTreeMap::new();
    let concerned = noises.iter().filter(|noise| concerned(noise));
    for name in concerned.filter_map(|noise| noise.foreign_top.as_deref()) {
        *often.entry(name).or_default() += 1;
    }
    let most = often.into_iter().max_by_key(|&(_, times)| times);
    most.map(|(name, _)| name.to_owned())
}

fn mean(figures: impl Iterator<Item = f64>) -> Option<f64> {
    let figures: Vec<f64> = figures.collect();
    (!figures.is_empty()).then(|| figures.iter().sum::<f64>() / count(figures.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::noise::Sentinel;
    use model::units::Nanos;

    /// Ten rounds of a case, of which the first `n` have this noise and the others are quiet.
    fn run(n: usize, noise: &Noise) -> Run {
        let mut run = fixture::run(&[("x.a@1", vec![1.0; 10])]);
        for round in &mut run.rounds {
            round.noise = quiet();
        }
        for round in &mut run.rounds[..n] {
            round.noise = noise.clone();
        }
        run
    }

    fn quiet() -> Noise {
        Noise {
            steal_share: Some(0.001),
            throttled_share: Some(0.0),
            foreign_cpu_share: Some(0.01),
            ..Noise::default()
        }
    }

    fn others(share: f64, top: &str) -> Noise {
        Noise {
            foreign_cpu_share: Some(share),
            foreign_top: Some(top.to_owned()),
            ..quiet()
        }
    }

    #[test]
    fn a_run_that_nothing_disturbed_is_quiet_and_says_what_is_known() {
        let trust = Trust::of(&run(0, &quiet()));
        assert!(trust.may_be_quoted());
        let Trust::Quiet { others, stolen } = trust else {
            panic!("{trust:?}");
        };
        assert_eq!(others, Some(Rounds { n: 0, of: 10 }));
        assert!((stolen.unwrap() - 0.001).abs() < 1e-12);
        let unknown = Trust::of(&fixture::run(&[("x.a@1", vec![1.0; 10])]));
        let expected = Trust::Quiet {
            others: None,
            stolen: None,
        };
        assert_eq!(unknown, expected);
        // What the kernel does not tell is not quiet in a list either.
        assert_eq!([unknown.word(), trust.word()], ["not_known", "quiet"]);
    }

    #[test]
    fn a_fifth_of_the_rounds_is_enough_to_be_disturbed() {
        let backup = others(0.31, "backup");
        let one = Trust::of(&run(1, &backup));
        assert!(
            matches!(
                one,
                Trust::Quiet {
                    others: Some(Rounds { n: 1, of: 10 }),
                    ..
                }
            ),
            "{one:?}"
        );
        let two = Trust::of(&run(2, &backup));
        let by = Disturber::Others(Some("backup".to_owned()), 0.31);
        assert_eq!(two, Trust::Disturbed(by, Rounds { n: 2, of: 10 }));
        assert!(!two.may_be_quoted());
    }

    #[test]
    fn the_cause_is_what_disturbed_the_most_rounds_and_the_program_the_one_seen_most_often() {
        let mut run = run(5, &others(0.2, "backup"));
        run.rounds[0].noise = others(0.9, "apt");
        for round in &mut run.rounds[6..] {
            round.noise.steal_share = Some(0.1);
        }
        let by = Disturber::Others(Some("backup".to_owned()), 0.2);
        assert_eq!(
            Trust::of(&run),
            Trust::Disturbed(by, Rounds { n: 5, of: 10 })
        );
        run.rounds[5].noise.steal_share = Some(0.3);
        run.rounds[4].noise.steal_share = Some(0.3);
        let by = Disturber::Host(0.1);
        assert_eq!(
            Trust::of(&run),
            Trust::Disturbed(by, Rounds { n: 6, of: 10 })
        );
    }

    #[test]
    fn a_neighbour_on_the_core_and_a_clock_that_jumps_disturb_too() {
        let probe = |adds_per_cycle| {
            Some(Sentinel {
                add_ns: 0.25,
                gap_share: 0.0,
                gap_max: Nanos(0),
                adds_per_cycle: Some(adds_per_cycle),
            })
        };
        let shared = Noise {
            before: probe(2.0),
            after: probe(2.0),
            ..quiet()
        };
        let mut both = run(4, &shared);
        for round in &mut both.rounds[4..] {
            round.noise.before = probe(4.0);
        }
        let trust = Trust::of(&both);
        assert_eq!(
            trust,
            Trust::Disturbed(Disturber::Neighbour, Rounds { n: 4, of: 10 })
        );
        let jumped = Noise {
            clock_jump: Some(Nanos::from_secs(1)),
            ..quiet()
        };
        let trust = Trust::of(&run(10, &jumped));
        assert_eq!(
            trust,
            Trust::Disturbed(Disturber::Clock, Rounds { n: 10, of: 10 })
        );
    }

    #[test]
    fn a_quota_is_no_disturbance() {
        let held = Noise {
            throttled_share: Some(0.4),
            ..quiet()
        };
        let trust = Trust::of(&run(10, &held));
        assert_eq!(trust, Trust::Quota(Rounds { n: 10, of: 10 }));
        assert!(trust.may_be_quoted());
    }

    #[test]
    fn a_debug_build_few_rounds_and_none_are_not_to_be_quoted() {
        let mut debug = run(0, &quiet());
        debug.meta.warnings.push(Warning::DebugBuild);
        let few = fixture::run(&[("x.a@1", vec![1.0; 5])]);
        let none = fixture::run(&[("x.a@1", vec![])]);
        let found = [&debug, &few, &none].map(Trust::of);
        assert_eq!(
            found,
            [Trust::DebugBuild, Trust::FewRounds(5), Trust::Nothing]
        );
        assert!(found.iter().all(|trust| !trust.may_be_quoted()));
    }
}
