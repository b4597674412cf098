//! Whether something else ran on the core that was measured on, read off what the core did in a cycle.
//!
//! Two hardware threads of one core share its adders and what feeds them. Where the other one is busy, a chain of
//! additions that wait for each other goes on at its rate, and of those that do not wait fewer are done in its
//! cycle. A probe tells how many (`adds_per_cycle`), and here it is held against the best that the run
//! saw. The best, and not the median as for clock rate and gaps, because nothing makes a core do more than it can,
//! and a neighbour may be there for most of the run. It refuses to say that a core was not shared: a neighbour who
//! is busy throughout makes the best low too, one who waits for memory takes little, and what comes and goes
//! between the probes of a round is not seen.

use crate::noise::{Usual, probes, share_of, some};
use model::noise::Noise;
use model::warning::Warning;

/// What a core does in a cycle, as a share of its best in the run, below which it was shared. A free core repeats its
/// figure within a few per cent, interrupts and all; a neighbour who computes takes a third to a half.
const SHARED_BELOW: f64 = 0.75;

/// In which share of the rounds a probe found the core shared, of those rounds whose probes tell.
pub(crate) fn share(noises: &[&Noise], usual: &Usual) -> Option<f64> {
    share_of(noises.iter().map(|noise| shared(noise, usual)))
}

/// Whether a probe of this round found the core shared, where its probes tell.
pub(crate) fn shared(noise: &Noise, usual: &Usual) -> Option<bool> {
    Some(least(noise)? < usual.best_adds_per_cycle? * SHARED_BELOW)
}

/// The warning about these rounds of a run.
pub(crate) fn warning(noises: &[&Noise], usual: &Usual) -> Option<Warning> {
    let rounds_share = some(share(noises, usual))?;
    let worst = noises.iter().filter_map(|noise| least(noise));
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
