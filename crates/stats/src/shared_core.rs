//! Whether something else ran on the core that was measured on, read off what the core did in a cycle.
//!
//! Two hardware threads of one core share its adders and what feeds them. Where the other one is busy, a chain of
//! additions that wait for each other goes on at its rate, and of those that do not wait fewer are done in its
//! cycle. A probe tells how many (`adds_per_cycle`), and here it is held against the best that the run
//! saw. The best, and not the median as for clock rate and gaps, because nothing makes a core do more than it can,
//! and a neighbour may be there for most of the run. It refuses to say that a core was not shared: a neighbour who
//! is busy throughout makes the best low too, one who waits for memory takes little, and what comes and goes
//! between the probes of a round is not seen.
//!
//! Causes have an order: what this machine saw itself goes before what nobody saw. A program of this machine on the
//! other thread slows the core just as another guest does, and the probe cannot tell one from the other. Where other
//! programs of this machine, a quota or stolen time disturbed the round, that is what is said of it, and of anybody
//! outside of the machine nothing is known.

use crate::noise::{Usual, held_back, probes, share_of, some, stolen, used_by_others};
use model::noise::Noise;
use model::warning::Warning;

/// What a core does in a cycle, as a share of its best in the run, below which it was shared. A free core repeats its
/// figure within a few per cent, interrupts and all; a neighbour who computes takes a third to a half.
const SHARED_BELOW: f64 = 0.75;

/// In which share of the rounds a probe found the core shared, of those rounds whose probes tell.
pub(crate) fn share(noises: &[&Noise], usual: &Usual) -> Option<f64> {
    share_of(noises.iter().map(|noise| shared(noise, usual)))
}

/// Whether a probe of this round found the core shared by something outside of this machine, where its probes tell and
/// nothing inside of it can have been the cause.
pub(crate) fn shared(noise: &Noise, usual: &Usual) -> Option<bool> {
    let shared = least(noise)? < usual.best_adds_per_cycle? * SHARED_BELOW;
    (!shared || !has_cause(noise)).then_some(shared)
}

/// Whether something was seen in this round that makes a core look shared: programs of this machine, its quota, or the
/// host that took time away.
fn has_cause(noise: &Noise) -> bool {
    [used_by_others, held_back, stolen]
        .iter()
        .any(|seen| seen(noise) == Some(true))
}

/// The warning about these rounds of a run.
pub(crate) fn warning(noises: &[&Noise], usual: &Usual) -> Option<Warning> {
    let rounds_share = some(share(noises, usual))?;
    let outside = noises
        .iter()
        .filter(|noise| shared(noise, usual) == Some(true));
    let worst = outside.filter_map(|noise| least(noise));
    Some(Warning::SharedCore {
        rounds_share,
        worst_share: 1.0 - worst.fold(f64::INFINITY, f64::min) / usual.best_adds_per_cycle?,
    })
}

/// The lower of the probes before and after a round.
fn least(noise: &Noise) -> Option<f64> {
    probes(noise)
        .filter_map(|probe| probe.adds_per_cycle)
        .min_by(f64::total_cmp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::noise::Sentinel;
    use model::units::Nanos;

    fn probe(adds_per_cycle: Option<f64>) -> Sentinel {
        Sentinel {
            add_ns: 0.4,
            gap_share: 0.0,
            gap_max: Nanos::ZERO,
            adds_per_cycle,
        }
    }

    /// What is said of rounds with these probes before and after them, in hundredths.
    fn check(rounds: &[[Option<f64>; 2]], expect: Option<(i32, i32)>) {
        let noise = |[before, after]: &[Option<f64>; 2]| Noise {
            before: Some(probe(*before)),
            after: Some(probe(*after)),
            ..Noise::default()
        };
        let noises: Vec<Noise> = rounds.iter().map(noise).collect();
        let usual = Usual::over(|| noises.iter().flat_map(probes));
        let noises: Vec<&Noise> = noises.iter().collect();
        let said = warning(&noises, &usual).map(|warning| match warning {
            Warning::SharedCore {
                rounds_share,
                worst_share,
            } => (hundredths(rounds_share), hundredths(worst_share)),
            other => panic!("{other:?}"),
        });
        assert_eq!(said, expect, "{rounds:?}");
    }

    #[expect(clippy::cast_possible_truncation, reason = "shares")]
    fn hundredths(share: f64) -> i32 {
        (share * 100.0).round() as i32
    }

    #[test]
    fn a_core_is_shared_where_a_probe_is_a_quarter_below_the_best_of_the_run() {
        let (free, half) = (Some(4.0), Some(2.0));
        check(&[[free, free]; 4], None);
        check(&[[free, Some(3.0)], [free, free], [free, free]], None);
        check(
            &[[free, Some(2.99)], [free, free], [free, free]],
            Some((33, 25)),
        );
        check(&[[half, free], [free, half], [free, free]], Some((67, 50)));
        // Most of the time, and still seen.
        check(
            &[
                [half, half],
                [half, half],
                [half, half],
                [half, free],
                [free, half],
            ],
            Some((100, 50)),
        );
    }

    #[test]
    fn what_one_probe_saw_alone_is_not_the_best() {
        let mut rounds = [[Some(4.0); 2]; 20];
        rounds[7][0] = Some(7.5);
        check(&rounds, None);
    }

    #[test]
    fn what_this_machine_did_itself_is_no_neighbour() {
        let noise = |adds, change: fn(&mut Noise)| {
            let mut noise = Noise {
                before: Some(probe(Some(adds))),
                foreign_cpu_share: Some(0.01),
                throttled_share: Some(0.0),
                steal_share: Some(0.001),
                ..Noise::default()
            };
            change(&mut noise);
            noise
        };
        let own: [fn(&mut Noise); 3] = [
            |noise| noise.foreign_cpu_share = Some(0.3),
            |noise| noise.throttled_share = Some(0.2),
            |noise| noise.steal_share = Some(0.1),
        ];
        for cause in own {
            let quiet = || noise(4.0, |_| {});
            let check = |last: Noise, expect: Option<(f64, f64)>| {
                let noises = [quiet(), quiet(), noise(1.0, cause), last];
                let usual = Usual::over(|| noises.iter().flat_map(probes));
                let said = warning(&noises.each_ref(), &usual);
                let expect = expect.map(|(rounds_share, worst_share)| Warning::SharedCore {
                    rounds_share,
                    worst_share,
                });
                assert_eq!(said, expect);
            };
            check(quiet(), None);
            // What is seen beside it is said of the rounds that had no such cause, with their own worst.
            check(noise(2.0, |_| {}), Some((1.0 / 3.0, 0.5)));
        }
    }

    #[test]
    fn a_neighbour_who_is_always_there_is_not_seen() {
        check(&[[Some(2.0); 2]; 10], None);
    }

    #[test]
    fn rounds_without_the_figure_are_neither_shared_nor_free() {
        check(&[[None; 2]; 10], None);
        let known = [[Some(4.0), None], [Some(4.0), Some(2.0)]];
        check(&[known[0], known[1], [None; 2]], Some((50, 50)));
        check(&[[Some(0.0); 2]; 3], None);
    }
}
