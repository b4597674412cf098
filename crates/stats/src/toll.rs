//! What took time from rounds, and how much worse each figure is in those rounds than in the others.
//!
//! Rounds of one case are held against one another, so that no machine and no build is in the difference. Nothing says
//! that the cause is what was seen, and not what came with it; therefore it is told of "these rounds". A difference is
//! told where ranks hardly come so by chance: the sum of ranks of Mann and Whitney, normal approximation, one side. The
//! limit is that of about one false figure in 200, because twenty of them are looked at.

use crate::noise::{Usual, held_back, stolen};
use crate::quantile;
use crate::rounds::RunRounds;
use crate::shared_core;
use model::noise::Noise;
use model::num::count;
use model::order::Order as _;
use model::plan::MetricId;
use model::record::Run;
use model::spec::Better;

/// Rounds of either kind that a case must have.
const OF_EACH_MIN: usize = 4;

/// Standard deviations of the sum of ranks: one in 200.
const SURE: f64 = 2.58;

/// What took time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The host gave the CPU to somebody else.
    Steal,
    /// Something ran on the other hardware thread of the core.
    SharedCore,
    /// A CPU quota.
    Quota,
}

/// What a cause came with.
#[derive(Clone, Debug, PartialEq)]
pub struct Toll {
    /// The cause.
    pub cause: Cause,
    /// Rounds in which it was seen.
    pub rounds: usize,
    /// Rounds that tell.
    pub of: usize,
    /// The figures that are worse in these rounds, with the share by which the median is, the worst first.
    pub worse: Vec<(MetricId, f64)>,
}

/// Every cause that was seen in some rounds of `run` and not in others.
pub fn of_run(run: &Run) -> Vec<Toll> {
    let usual = Usual::of(run);
    let rounds = RunRounds::of(run);
    let neighbour = |noise: &Noise| shared_core::shared(noise, &usual);
    let tolls = [
        toll(&rounds, Cause::Steal, &stolen),
        toll(&rounds, Cause::SharedCore, &neighbour),
        toll(&rounds, Cause::Quota, &held_back),
    ];
    tolls
        .into_iter()
        .filter(|toll| 0 < toll.rounds && toll.rounds < toll.of)
        .collect()
}

fn toll(rounds: &RunRounds<'_>, cause: Cause, seen: &dyn Fn(&Noise) -> Option<bool>) -> Toll {
    let mut toll = Toll {
        cause,
        rounds: 0,
        of: 0,
        worse: Vec::new(),
    };
    for of_case in rounds.cases() {
        let told = of_case.noises.iter().filter_map(|noise| seen(noise));
        for is_seen in told {
            toll.of += 1;
            toll.rounds += usize::from(is_seen);
        }
        let Some(metric) = of_case.case.metrics.first() else {
            continue;
        };
        let (mut with, mut without) = (Vec::new(), Vec::new());
        for (round, value) in of_case.values(&metric.quantity) {
            match seen(&round.noise) {
                Some(true) => with.push(value),
                Some(false) => without.push(value),
                None => {}
            }
        }
        if let Some(share) = by_how_much(&with, &without, metric.better) {
            let case = of_case.case.id.clone();
            let quantity = metric.quantity.clone();
            toll.worse.push((MetricId { case, quantity }, share));
        }
    }
    toll.worse.order_by(|a, b| b.1.total_cmp(&a.1));
    toll
}

/// The share by which the median with it is worse than without, where it is beyond chance.
fn by_how_much(with: &[f64], without: &[f64], better: Better) -> Option<f64> {
    if with.len().min(without.len()) < OF_EACH_MIN {
        return None;
    }
    let is_worse = |one: f64, than: f64| match better {
        Better::Higher => one < than,
        Better::Lower => one > than,
    };
    let pairs = with
        .iter()
        .flat_map(|one| without.iter().map(move |than| (*one, *than)));
    let won: f64 = pairs
        .map(
            |(one, than)| match (is_worse(one, than), is_worse(than, one)) {
                (true, _) => 1.0,
                (_, true) => 0.0,
                _ => 0.5,
            },
        )
        .sum();
    let (n, m) = (count(with.len()), count(without.len()));
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let (level, usual) = (quantile::median(with)?, quantile::median(without)?);
    let share = match better {
        Better::Higher => 1.0 - level / usual,
        Better::Lower => level / usual - 1.0,
    };
    let is_sure = (won - n * m / 2.0) / deviation >= SURE;
    (is_sure && share.is_finite() && share > 0.0).then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn a_figure_is_worse_where_ranks_hardly_come_so_by_chance() {
        let check = |with: &[f64], without: &[f64], better, expect: Option<f64>| {
            let found = by_how_much(with, without, better);
            match (found, expect) {
                (Some(found), Some(expect)) => assert!((found - expect).abs() < 1e-9, "{found}"),
                _ => assert_eq!(found, expect, "{with:?} {without:?}"),
            }
        };
        let usual: Vec<f64> = (0..8).map(|at| 100.0 + f64::from(at) / 10.0).collect();
        let usual_median = 100.35;
        check(
            &[90.0; 4],
            &usual,
            Better::Higher,
            Some(1.0 - 90.0 / usual_median),
        );
        check(
            &[110.0; 4],
            &usual,
            Better::Lower,
            Some(110.0 / usual_median - 1.0),
        );
        check(&[110.0; 4], &usual, Better::Higher, None);
        check(&[90.0; 3], &usual, Better::Higher, None);
        check(&usual, &usual, Better::Higher, None);
        check(&[90.0, 101.0, 102.0, 103.0], &usual, Better::Higher, None);
    }

    #[test]
    fn what_the_host_took_is_held_against_the_rounds_in_which_it_took_nothing() {
        let slow = |pass: usize| pass.is_multiple_of(2);
        let series: Vec<f64> = (0..12)
            .map(|pass| if slow(pass) { 80.0 } else { 100.0 } + count(pass) / 100.0)
            .collect();
        let mut run = fixture::run(&[("pipe@1", series), ("copy@1", vec![5.0; 12])]);
        for round in &mut run.rounds {
            let is_slow = round.pass % 2 == 1;
            round.noise.steal_share = Some(if is_slow { 0.2 } else { 0.0 });
        }
        let [toll] = &of_run(&run)[..] else {
            panic!("one cause");
        };
        assert_eq!((toll.cause, toll.rounds, toll.of), (Cause::Steal, 12, 24));
        let [(metric, share)] = &toll.worse[..] else {
            panic!("{toll:?}");
        };
        assert_eq!(metric.case.to_string(), "pipe@1");
        assert!((share - 0.2).abs() < 0.01, "{share}");
    }

    #[test]
    fn what_was_seen_always_or_never_has_nothing_to_be_held_against() {
        let mut run = fixture::run(&[("pipe@1", vec![1.0; 12])]);
        let mut with = |steal| {
            for round in &mut run.rounds {
                round.noise.steal_share = steal;
            }
            of_run(&run)
        };
        assert_eq!(with(Some(0.0)), []);
        assert_eq!(with(Some(0.3)), []);
        assert_eq!(with(None), []);
    }
}
