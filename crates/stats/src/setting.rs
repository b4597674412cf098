//! Quantities that describe the set-up of a round, such as the size of an array: what was measured, and no measurement.
//!
//! They have no verdict and are counted nowhere. Where they differ between the sides, that is a difference in set-up,
//! which may be the cause of others, and it is told among those.

use crate::difference::{differs, push_new};
use crate::sides::Sides;
use model::comparison::Difference;
use model::num::round_to_u64;
use model::plan::{CaseId, MetricId, PlannedMetric};
use model::units::{Bytes, Unit};

/// A quantity with its text on both sides, and the cases in which it is so.
type Told<'a> = ((&'a str, String, String), Vec<&'a CaseId>);

/// The settings that differ between the sides: those that differ alike in several cases once, with the first of them.
pub(crate) fn differences(sides: &Sides<'_>) -> Vec<Difference> {
    let mut found: Vec<Told<'_>> = Vec::new();
    for case in sides.base.cases() {
        let there = sides.other.case(&case.id);
        let settings = case.metrics.iter().filter(|metric| metric.is_setting());
        for metric in settings.filter(|_| there.is_some()) {
            let Some((base, other)) = texts(sides, &case.id, metric) else {
                continue;
            };
            let key = (metric.quantity.as_str(), base, other);
            match found.iter_mut().find(|(alike, _)| *alike == key) {
                Some((_, cases)) => cases.push(&case.id),
                None => found.push((key, vec![&case.id])),
            }
        }
    }
    found
        .into_iter()
        .map(|((quantity, base, other), cases)| Difference {
            what: match &cases[..] {
                // In no language: this name stands on pages of all of them.
                [first, _, ..] => format!("{quantity}: {first} (+{})", cases.len() - 1),
                _ => format!("{quantity}: {}", cases[0]),
            },
            base,
            other,
        })
        .collect()
}

/// The values on both sides as text, where they differ; those of several runs of a side one after the other.
fn texts(sides: &Sides<'_>, case: &CaseId, metric: &PlannedMetric) -> Option<(String, String)> {
    let id = MetricId {
        case: case.clone(),
        quantity: metric.quantity.clone(),
    };
    let (base, other) = (sides.base.medians(&id), sides.other.medians(&id));
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for a in &base {
        for b in other.iter().filter(|b| unlike(metric.unit, *a, **b)) {
            push_new(&mut here, shown(metric.unit, *a));
            push_new(&mut there, shown(metric.unit, *b));
        }
    }
    (!here.is_empty()).then(|| (here.join(" / "), there.join(" / ")))
}

/// Sizes are what they are; a share that the kernel grants is never the same to the last page.
fn unlike(unit: Unit, a: f64, b: f64) -> bool {
    if unit == Unit::Share {
        differs(a, b)
    } else {
        a.to_bits() != b.to_bits()
    }
}

fn shown(unit: Unit, value: f64) -> String {
    match unit {
        Unit::Bytes => Bytes(round_to_u64(value)).rounded(),
        Unit::Share => format!("{:.0} %", 100.0 * value),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare, compare_groups};
    use crate::fixture::{self, noisy};
    use model::comparison::Comparison;
    use model::record::{Outcome, Run};
    use model::spec::{Better, How, MetricClass};

    /// A run of two cases with a rate, and with settings that are the same in all rounds.
    fn run(seed: u64, vector: f64, huge: f64) -> Run {
        let mut run = fixture::run(&[
            ("memory.triad@1", noisy(seed, 9, 100.0, 0.01)),
            ("memory.triad@2", noisy(seed + 1, 9, 100.0, 0.01)),
        ]);
        for case in &mut run.plan.cases {
            for (quantity, unit) in [
                ("vector_bytes", Unit::Bytes),
                ("huge_page_share", Unit::Share),
            ] {
                case.metrics.push(PlannedMetric {
                    how: How::Setting,
                    ..fixture::metric(quantity, unit, Better::Higher, MetricClass::Compute)
                });
            }
        }
        for round in &mut run.rounds {
            if let Outcome::Done(done) = &mut round.outcome {
                done.values.insert("vector_bytes".to_owned(), vector);
                done.values.insert("huge_page_share".to_owned(), huge);
            }
        }
        run
    }

    fn told(comparison: &Comparison) -> Vec<(&str, &str, &str)> {
        let all = comparison.differences.iter();
        all.map(|d| (d.what.as_str(), d.base.as_str(), d.other.as_str()))
            .collect()
    }

    #[test]
    fn a_setting_has_no_verdict_and_its_difference_is_one_of_set_up() {
        let options = CompareOptions::default();
        let same = compare(&run(1, 64.0, 1.0), &run(5, 64.0, 0.99), &options);
        assert_eq!(same.metrics.len(), 2, "{:?}", same.metrics);
        assert!(told(&same).is_empty());
        let found = compare(&run(1, 64.0, 1.0), &run(5, 32.0, 0.5), &options);
        assert_eq!(found.metrics.len(), 2);
        let expect = [
            ("vector_bytes: memory.triad@1 (+1)", "64 B", "32 B"),
            ("huge_page_share: memory.triad@1 (+1)", "100 %", "50 %"),
        ];
        assert_eq!(told(&found), expect);
        let mut lone = run(5, 32.0, 1.0);
        lone.plan.cases.truncate(1);
        let found = compare(&run(1, 64.0, 1.0), &lone, &options);
        let expect = [("vector_bytes: memory.triad@1", "64 B", "32 B")];
        assert_eq!(told(&found), expect);
    }

    #[test]
    fn the_settings_of_a_group_are_listed_once_each() {
        let (a, b, c) = (run(1, 64.0, 1.0), run(3, 32.0, 1.0), run(5, 16.0, 1.0));
        let found = compare_groups(&[&a, &a, &b], &[&c, &c], &CompareOptions::default());
        let what = "vector_bytes: memory.triad@1 (+1)";
        assert_eq!(told(&found), [(what, "64 B / 32 B", "16 B")]);
    }
}
