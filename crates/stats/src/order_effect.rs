//! Whether a figure depends on what was measured before it.
//!
//! Passes are shuffled so that neighbours change from pass to pass; if a figure still follows its place, then either an
//! allowance (CPU credits, a disk's burst bucket) is used up or filled by the run itself, or the case is disturbed by
//! what runs before it. Two places are looked at: in the run, and within the pass. Spearman's rank correlation is used
//! at 0.5 % for each, so that noise alone is warned about in at most 1 % of metrics; a change below 1 %, half of the
//! smallest margin, is never worth a warning. Sources: Spearman, Am. J. Psychol. 15 (1904) 72-101; Duplyakin et al.,
//! "Avoiding the Ordering Trap in Systems Performance Measurement", USENIX ATC 2023.

use crate::rounds::CaseRounds;
use crate::{dist, quantile};
use model::num::count;
use model::order::Order as _;
use model::record::Run;
use model::warning::Warning;
use std::collections::BTreeMap;

/// The level for Student's t, which promises more than it keeps for few values: at ten values a correlation that it
/// calls 0.3 % occurs in about 0.5 % of all permutations, and in less from there on.
const LEVEL: f64 = 0.003;

/// The smallest change that is warned about: half of the smallest margin.
const CHANGE_MIN: f64 = 0.01;

/// The smallest |rho| that is significant at 0.5 %, two-sided, for 6, 7, 8 and 9 values, from all permutations; its
/// chance is 0.28, 0.28, 0.46 and 0.45 %. Below six values none is; from ten on Student's t takes over.
const CRITICAL: [f64; 4] = [1.0, 27.0 / 28.0, 19.0 / 21.0, 13.0 / 15.0];

/// The position in the run at which each pass begins.
pub type PassStarts = BTreeMap<u32, u32>;

/// Where each pass of `run` begins.
pub fn pass_starts(run: &Run) -> PassStarts {
    let mut starts = PassStarts::new();
    for round in &run.rounds {
        let start = starts.entry(round.pass).or_insert(round.seq);
        *start = round.seq.min(*start);
    }
    starts
}

/// The warning for a metric whose rounds follow their place.
pub fn of_metric(rounds: &CaseRounds<'_>, quantity: &str, starts: &PassStarts) -> Option<Warning> {
    let mut in_run = Vec::new();
    let mut in_pass = Vec::new();
    for (round, value) in rounds.values(quantity) {
        let start = starts.get(&round.pass).copied().unwrap_or(round.seq);
        in_run.push((f64::from(round.seq), value));
        in_pass.push((f64::from(round.seq - start), value));
    }
    let effect = |points: &[(f64, f64)], within_pass| {
        let change = change_with_place(points)?;
        Some(Warning::OrderEffect {
            within_pass,
            change,
        })
    };
    effect(&in_run, false).or_else(|| effect(&in_pass, true))
}

/// The change from the earlier half of the places to the later one, where values surely follow places.
fn change_with_place(points: &[(f64, f64)]) -> Option<f64> {
    let (places, values): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    if !is_significant(spearman(&places, &values)?, points.len()) {
        return None;
    }
    let mut ordered = points.to_vec();
    ordered.order_by(|a, b| a.0.total_cmp(&b.0));
    let half = ordered.len() / 2;
    let median = |points: &[(f64, f64)]| {
        quantile::median(&points.iter().map(|point| point.1).collect::<Vec<_>>())
    };
    let (early, late) = (
        median(&ordered[..half])?,
        median(&ordered[points.len() - half..])?,
    );
    let change = late / early - 1.0;
    (change.is_finite() && change.abs() >= CHANGE_MIN).then_some(change)
}

fn is_significant(rho: f64, n: usize) -> bool {
    // Ranks are exact in halves, so that equality is hit up to rounding only.
    const ROUNDING: f64 = 1e-9;
    match n {
        0..=5 => false,
        6..=9 => rho.abs() >= CRITICAL[n - 6] - ROUNDING,
        _ => {
            let df = count(n - 2);
            let rest = 1.0 - rho * rho;
            rest <= 0.0 || dist::t_two_sided(rho * (df / rest).sqrt(), df) < LEVEL
        }
    }
}

/// Spearman's rank correlation, ties sharing their mean rank; `None` where one side does not vary or is not finite.
pub fn spearman(a: &[f64], b: &[f64]) -> Option<f64> {
    let (a, b) = (ranks(a)?, ranks(b)?);
    let (mean_a, mean_b) = (quantile::mean(&a)?, quantile::mean(&b)?);
    let moment = |x: &[f64], mean_x: f64, y: &[f64], mean_y: f64| -> f64 {
        let terms = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y));
        terms.sum()
    };
    let (own, other) = (
        moment(&a, mean_a, &a, mean_a),
        moment(&b, mean_b, &b, mean_b),
    );
    (own > 0.0 && other > 0.0).then(|| moment(&a, mean_a, &b, mean_b) / (own * other).sqrt())
}

/// The rank of each value from 0, ties sharing their mean rank; `None` where one is not finite.
fn ranks(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| !value.is_finite()) {
        return None;
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.order_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    // Ascending, so that what is no smaller than the one before is its equal; the two zeros are.
    for equal in order.chunk_by(|&a, &b| values[a] >= values[b]) {
        for &index in equal {
            ranks[index] = count(below) + count(equal.len() - 1) / 2.0;
        }
        below += equal.len();
    }
    Some(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{self, noisy};
    use crate::rounds::RunRounds;
    use model::rng::Rng;

    #[test]
    fn ranks_are_how_many_are_smaller_and_ties_share_theirs() {
        let mut rng = Rng::new(11);
        let mut values: Vec<f64> = (0..300).map(|_| count(rng.index(40)) - 20.0).collect();
        values.extend([-0.0, 0.0, 0.5]);
        let counted = |value: &f64| {
            let below = values.iter().filter(|other| *other < value).count();
            let equal = values.iter().filter(|other| *other <= value).count() - below;
            count(below) + (count(equal) - 1.0) / 2.0
        };
        assert_eq!(
            ranks(&values).unwrap(),
            values.iter().map(counted).collect::<Vec<_>>()
        );
        assert_eq!(ranks(&[1.0, f64::NAN]), None);
    }

    /// A million rounds are ranked by sorting them. Counting the smaller ones for each takes a quarter of an hour.
    #[test]
    fn a_million_rounds_are_ranked_without_looking_at_all_for_each() {
        let mut rng = Rng::new(12);
        let values: Vec<f64> = (0..1 << 20).map(|_| rng.normal()).collect();
        let places: Vec<f64> = (0..values.len()).map(count).collect();
        let rho = spearman(&places, &values).unwrap();
        assert!(rho.abs() < 0.01, "{rho}");
    }

    #[test]
    fn agrees_with_a_published_example() {
        // The example of the article on Wikipedia: IQ and hours of television; rho = -29/165.
        let iq = [
            106.0, 100.0, 86.0, 101.0, 99.0, 103.0, 97.0, 113.0, 112.0, 110.0,
        ];
        let tv = [7.0, 27.0, 2.0, 50.0, 28.0, 29.0, 20.0, 12.0, 6.0, 17.0];
        assert!((spearman(&iq, &tv).unwrap() + 29.0 / 165.0).abs() < 1e-12);
        assert_eq!(spearman(&[1.0, 1.0], &[1.0, 2.0]), None);
        assert_eq!(spearman(&[1.0, f64::NAN], &[1.0, 2.0]), None);
        assert!(
            (spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 2.0, 3.0]).unwrap() - 1.0).abs() < 1e-12
        );
    }

    /// Rounds of two cases in passes of shuffled order, with values by `value(seq, place in pass)`.
    fn shuffled(
        rng: &mut Rng,
        passes: u32,
        mut value: impl FnMut(&mut Rng, u32, u32) -> f64,
    ) -> Run {
        let cases = ["os.pipe@1", "os.spawn@1", "os.exec@1", "fs.copy@1"];
        let mut run = fixture::run(&cases.map(|case| (case, Vec::new())));
        for pass in 1..=passes {
            let mut order: Vec<usize> = (0..cases.len()).collect();
            rng.shuffle(&mut order);
            for (place, case) in (0..).zip(order) {
                let seq = (pass - 1) * 4 + place + 1;
                let id = run.plan.cases[case].id.clone();
                let found = value(rng, seq, place);
                let mut round = fixture::done(&id, pass, &[(fixture::QUANTITY, found)]);
                round.seq = seq;
                run.rounds.push(round);
            }
        }
        run
    }

    fn effects(run: &Run) -> Vec<Option<Warning>> {
        let starts = pass_starts(run);
        let rounds = RunRounds::of(run);
        let cases = rounds.cases().iter();
        cases
            .map(|case| of_metric(case, fixture::QUANTITY, &starts))
            .collect()
    }

    #[test]
    fn a_figure_that_follows_its_place_is_found() {
        let mut rng = Rng::new(5);
        let draining = shuffled(&mut rng, 12, |rng, seq, _| {
            1000.0 - 5.0 * f64::from(seq) + rng.normal()
        });
        for found in effects(&draining) {
            let Some(Warning::OrderEffect {
                within_pass: false,
                change,
            }) = found
            else {
                panic!("{found:?}")
            };
            assert!((-0.16..-0.10).contains(&change), "{change}");
        }
        let placed = shuffled(&mut rng, 20, |rng, _, place| {
            1000.0 + 50.0 * f64::from(place) + rng.normal()
        });
        for found in effects(&placed) {
            assert!(
                matches!(found, Some(Warning::OrderEffect { within_pass: true, change }) if change > 0.03),
                "{found:?}"
            );
        }
        // As sure, and as small as half a margin: not worth a word.
        let slight = shuffled(&mut rng, 12, |_, seq, _| 1000.0 - 0.1 * f64::from(seq));
        assert!(effects(&slight).iter().all(Option::is_none));
    }

    #[test]
    fn noise_is_warned_about_in_at_most_one_percent() {
        let mut rng = Rng::new(6);
        for passes in [5, 6, 7, 8, 9, 10, 13, 28] {
            let runs = 1500;
            let mut warned = 0;
            for _ in 0..runs {
                let run = shuffled(&mut rng, passes, |rng, _, _| (0.2 * rng.normal()).exp());
                warned += effects(&run).iter().flatten().count();
            }
            let share = count(warned) / (4.0 * f64::from(runs));
            println!(
                "order effect, noise, {passes} rounds: {:.2} %",
                100.0 * share
            );
            // One percent of 6000 is 60, with a standard error of 8.
            assert!(share <= 0.0125, "{passes}: {share}");
        }
    }

    #[test]
    fn the_table_is_what_all_permutations_say() {
        for (n, critical) in (6_usize..).zip(CRITICAL).take(3) {
            let places: Vec<f64> = (0..n).map(count).collect();
            let (mut all, mut at, mut next) = (0_u32, 0_u32, f64::MIN);
            permutations(&mut places.clone(), n, &mut |values| {
                let rho = spearman(&places, values).unwrap().abs();
                all += 1;
                at += u32::from(rho >= critical - 1e-9);
                if rho < critical - 1e-9 {
                    next = next.max(rho);
                }
            });
            let chance = f64::from(at) / f64::from(all);
            assert!(chance <= 0.005, "{n}: {chance}");
            let mut with_next = 0_u32;
            permutations(&mut places.clone(), n, &mut |values| {
                let rho = spearman(&places, values).unwrap().abs();
                with_next += u32::from(rho >= next - 1e-9);
            });
            assert!(
                f64::from(with_next) / f64::from(all) > 0.005,
                "{n}: too strict"
            );
        }
    }

    fn permutations(values: &mut Vec<f64>, k: usize, visit: &mut dyn FnMut(&[f64])) {
        if k <= 1 {
            visit(values);
            return;
        }
        for i in 0..k {
            values.swap(i, k - 1);
            permutations(values, k - 1, visit);
            values.swap(i, k - 1);
        }
    }

    #[test]
    fn fewer_than_six_rounds_and_one_case_alone_have_no_order() {
        let run = fixture::run(&[("os.pipe@1", vec![1.0, 2.0, 3.0, 4.0, 5.0])]);
        assert_eq!(effects(&run), [None]);
        let run = fixture::run(&[("os.pipe@1", noisy(3, 12, 1.0, 0.1))]);
        assert_eq!(effects(&run), [None]);
    }
}
