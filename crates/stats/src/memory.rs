//! What memory tests find point by point: latency by working set, and round trips by pair of CPUs.
//!
//! Those are too many to be metrics of their own, and each alone is nobody's verdict; together they are a picture. A
//! case declares its pictures ([`Role::Curve`], [`Role::Matrix`]); their points are kept with each round under the name
//! of the picture and where they stand in it (`ns_at_4096`, `ns_0_3`), and read back here.

use crate::quantile;
use crate::rounds::{CaseRounds, RunRounds};
use model::order::{Keyed as _, Order as _};
use model::plan::CaseId;
use model::record::Run;
use model::spec::Role;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Everything that was found point by point.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct MemorySummary {
    /// Latency by working set, one for each case that measured it, in the order of the plan.
    pub curves: Vec<Curve>,
    /// Round trips between CPUs, likewise.
    pub matrices: Vec<Matrix>,
}

/// Latency by working set.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Curve {
    /// The case.
    pub case: CaseId,
    /// Ascending by size.
    pub points: Vec<Point>,
}

/// The latency of one working set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Point {
    /// The working set.
    #[serde(rename = "working_set_bytes")]
    pub bytes: u64,
    /// Nanoseconds per load: the median over the rounds, the mean of the copies in each.
    #[serde(rename = "ns_per_load")]
    pub ns: f64,
    /// The round with the least.
    #[serde(rename = "least_ns")]
    pub least: f64,
    /// The round with the most.
    #[serde(rename = "most_ns")]
    pub most: f64,
}

/// Round trips between CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Matrix {
    /// The case.
    pub case: CaseId,
    /// The CPUs, ascending.
    pub cpus: Vec<u32>,
    /// Nanoseconds of a round trip by pair, the smaller number first: the median over the rounds.
    #[serde(serialize_with = "pairs")]
    #[schemars(with = "Vec<Pair>")]
    pub pairs: BTreeMap<(u32, u32), f64>,
}

/// A pair of CPUs in a document.
#[derive(Serialize, JsonSchema)]
struct Pair {
    a: u32,
    b: u32,
    /// The median over the rounds.
    ns: f64,
}

fn pairs<S: Serializer>(
    pairs: &BTreeMap<(u32, u32), f64>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(pairs.iter().map(|(&(a, b), &ns)| Pair { a, b, ns }))
}

impl Curve {
    /// By how much the latency falls most from a working set to a larger one next to it, as a share; 0 for a curve that
    /// never falls.
    pub fn largest_fall(&self) -> f64 {
        let falls = self
            .points
            .windows(2)
            .map(|pair| 1.0 - pair[1].ns / pair[0].ns);
        falls.fold(0.0, f64::max)
    }
}

/// Reads the points of a run; `None` where it has none.
pub fn summarize(run: &Run) -> Option<MemorySummary> {
    let mut summary = MemorySummary::default();
    for rounds in RunRounds::of(run).cases() {
        for picture in &rounds.case.pictures {
            match picture.role {
                Role::Curve(_) => summary.curves.extend(curve(rounds, &picture.quantity)),
                Role::Matrix => summary.matrices.extend(matrix(rounds, &picture.quantity)),
                _ => {}
            }
        }
    }
    (summary != MemorySummary::default()).then_some(summary)
}

/// Every value of `picture` by its place in it, which `key` reads, as the means of the copies of each round.
fn by_round<K: Ord>(
    rounds: &CaseRounds<'_>,
    picture: &str,
    key: impl Fn(&str) -> Option<K>,
) -> BTreeMap<K, Vec<f64>> {
    let key = |name: &str| key(name.strip_prefix(picture)?.strip_prefix('_')?);
    let mut values: BTreeMap<K, Vec<f64>> = BTreeMap::new();
    for measured in &rounds.done {
        let mut copies: BTreeMap<K, Vec<f64>> = BTreeMap::new();
        for (name, value) in measured.copies.iter().flat_map(|copy| &copy.reported) {
            if let Some(key) = key(name) {
                copies.entry(key).or_default().push(*value);
            }
        }
        for (key, of_copies) in copies {
            values
                .entry(key)
                .or_default()
                .extend(quantile::mean(&of_copies));
        }
    }
    values
}

fn curve(rounds: &CaseRounds<'_>, picture: &str) -> Option<Curve> {
    let values = by_round(rounds, picture, |at| at.parse::<u64>().ok());
    let points = values.into_iter().filter_map(|(bytes, rounds)| {
        Some(Point {
            bytes,
            ns: quantile::median(&rounds)?,
            least: rounds.iter().copied().fold(f64::INFINITY, f64::min),
            most: rounds.iter().copied().fold(0.0, f64::max),
        })
    });
    let points: Vec<Point> = points.collect();
    (!points.is_empty()).then(|| Curve {
        case: rounds.case.id.clone(),
        points,
    })
}

fn matrix(rounds: &CaseRounds<'_>, picture: &str) -> Option<Matrix> {
    let values = by_round(rounds, picture, |pair| {
        let (a, b) = pair.split_once('_')?;
        Some((a.parse::<u32>().ok()?, b.parse::<u32>().ok()?))
    });
    let pairs: BTreeMap<(u32, u32), f64> = values
        .into_iter()
        .filter_map(|(pair, rounds)| Some((pair, quantile::median(&rounds)?)))
        .into_map();
    let mut cpus: Vec<u32> = pairs.keys().flat_map(|&(a, b)| [a, b]).collect();
    cpus.order();
    cpus.dedup();
    (!pairs.is_empty()).then(|| Matrix {
        case: rounds.case.id.clone(),
        cpus,
        pairs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use model::plan::PlannedMetric;
    use model::record::Outcome;
    use model::spec::{Better, MetricClass};
    use model::units::Unit;

    const LATENCY: MetricClass = MetricClass::LatencyTypical;

    fn with(values: &[&[(&str, f64)]]) -> Run {
        let mut run = fixture::run(&[("memory.levels@1", vec![1.0; values.len()])]);
        run.plan.cases[0].pictures = [("ns_at", Role::Curve(Unit::Bytes)), ("ns", Role::Matrix)]
            .map(|(quantity, role)| PlannedMetric {
                role,
                ..fixture::metric(quantity, Unit::Nanoseconds, Better::Lower, LATENCY)
            })
            .into();
        for (round, values) in run.rounds.iter_mut().zip(values) {
            if let Outcome::Done(measured) = &mut round.outcome {
                let values = values
                    .iter()
                    .map(|(name, value)| ((*name).to_owned(), *value));
                measured.copies[0].reported = values.collect();
            }
        }
        run
    }

    #[test]
    fn points_are_medians_over_the_rounds_and_other_values_are_no_points() {
        let run = with(&[
            &[("ns_at_4096", 1.0), ("ns_at_16384", 4.0), ("l1_ns", 9.0)],
            &[("ns_at_4096", 2.0), ("ns_at_16384", 3.0)],
            &[("ns_at_4096", 1.5), ("ns_at_16384", 1.2)],
        ]);
        let found = summarize(&run).unwrap();
        let curve = &found.curves[0];
        let points: Vec<_> = curve
            .points
            .iter()
            .map(|p| (p.bytes, p.ns, p.least, p.most))
            .collect();
        assert_eq!(points, [(4096, 1.5, 1.0, 2.0), (16_384, 3.0, 1.2, 4.0)]);
        assert_eq!(found.matrices.len(), 0);
        assert!(curve.largest_fall() <= 0.0, "{curve:?}");
    }

    #[test]
    fn a_curve_that_falls_says_by_how_much() {
        let run = with(&[&[("ns_at_64", 4.0), ("ns_at_128", 3.0), ("ns_at_256", 5.0)]]);
        let fall = summarize(&run).unwrap().curves[0].largest_fall();
        assert!((fall - 0.25).abs() < 1e-12, "{fall}");
    }

    #[test]
    fn pairs_become_a_matrix_and_a_run_without_either_has_nothing() {
        let run = with(&[&[
            ("ns_0_1", 50.0),
            ("ns_0_3", 90.0),
            ("ns_1_3", 95.0),
            ("ns_x_1", 1.0),
        ]]);
        let found = summarize(&run).unwrap();
        assert_eq!(found.matrices[0].cpus, [0, 1, 3]);
        assert_eq!(
            found.matrices[0].pairs[&(0, 3)].to_bits(),
            90.0_f64.to_bits()
        );
        assert_eq!(summarize(&with(&[&[("l1_ns", 1.0)]])), None);
    }
}
