//! What the copies did over time as what the round did: their windows, and their series.

use crate::measure::Window;
use crate::wire::CopyReport;
use model::num::{approx, count, round_to_usize};
use model::order::Keyed as _;
use model::plan::PlannedCase;
use model::record::Series;
use model::spec::{Fold, How, Role};
use model::units::Nanos;
use std::collections::BTreeMap;

/// The rates of the copies' windows, summed.
pub(super) fn windows(reports: &[CopyReport], length: Nanos) -> Vec<f64> {
    let rates = |report: &CopyReport| {
        if report.played_windows.is_empty() {
            on_grid(&report.windows, length, |window| {
                let usual = || approx(window.ops) * report.work_per_op;
                window.work.unwrap_or_else(usual)
            })
        } else {
            report.played_windows.clone()
        }
    };
    summed(&reports.iter().map(rates).collect::<Vec<_>>())
}

/// The CPU time that the copies got a second, window by window, summed; empty where a series was played.
pub(super) fn cpu_windows(reports: &[CopyReport], length: Nanos) -> Vec<f64> {
    if reports.iter().any(|r| !r.played_windows.is_empty()) {
        return Vec::new();
    }
    let got = |report: &CopyReport| {
        on_grid(&report.windows, length, |window| {
            Nanos(window.cpu_ns).as_secs_f64()
        })
    };
    summed(&reports.iter().map(got).collect::<Vec<_>>())
}

/// `amount` a second of each window. One that took the time of several, because a batch did, stands for as many, so
/// that what comes behind it stays in its place; a last one shorter than half of a full one is left out: it holds too
/// few batches to be a rate.
fn on_grid(windows: &[Window], length: Nanos, amount: impl Fn(&Window) -> f64) -> Vec<f64> {
    let of = |window: &Window| {
        let rate = amount(window) / Nanos(window.wall_ns.max(1)).as_secs_f64();
        let stands_for = round_to_usize(approx(window.wall_ns) / approx(length.0.max(1)));
        std::iter::repeat_n(rate, stands_for)
    };
    windows.iter().flat_map(of).collect()
}

/// The copies' series, summed: all start at the gate and keep to one grid, so the same index is the same time within a
/// batch.
fn summed(per_copy: &[Vec<f64>]) -> Vec<f64> {
    let shortest = per_copy.iter().map(Vec::len).min().unwrap_or(0);
    (0..shortest)
        .map(|i| per_copy.iter().map(|windows| windows[i]).sum())
        .collect()
}

/// The series of all copies together, by the rule of their declaration. Copies that do different things, each in its
/// own time, have none together.
pub(super) fn series(case: &PlannedCase, reports: &[CopyReport]) -> BTreeMap<String, Series> {
    if case.shape.apart {
        return BTreeMap::new();
    }
    let declared = case.pictures.iter().filter(|def| def.role == Role::Series);
    let together = declared.filter_map(|def| {
        let How::Reported(fold) = def.how else {
            return None;
        };
        let of_copies = reports.iter().map(|r| r.detail.series.get(&def.quantity));
        let one = folded(&of_copies.collect::<Option<Vec<_>>>()?, fold)?;
        Some((def.quantity.clone(), one))
    });
    together.into_map()
}

/// The copies' series as one, as long as the shortest; `None` where their steps differ. A sum lacks what any of them
/// lacks, a mean is that of those that have a value.
fn folded(copies: &[&Series], fold: Fold) -> Option<Series> {
    let step = copies.first()?.step;
    if copies.iter().any(|copy| copy.step != step) {
        return None;
    }
    let shortest = copies.iter().map(|copy| copy.values.len()).min()?;
    let at = |i: usize| {
        let values = copies.iter().map(|copy| copy.values[i]);
        match fold {
            Fold::Sum => values.sum(),
            Fold::Mean => {
                let there: Vec<f64> = values.flatten().collect();
                (!there.is_empty()).then(|| there.iter().sum::<f64>() / count(there.len()))
            }
        }
    };
    let values = (0..shortest).map(at).collect();
    Some(Series { step, values })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_become_one_by_their_rule_and_only_where_their_steps_agree() {
        let series = |step, values: &[Option<f64>]| Series {
            step: Nanos(step),
            values: values.to_vec(),
        };
        let one = series(10, &[Some(1.0), Some(2.0), None, Some(4.0)]);
        let two = series(10, &[Some(5.0), None, None]);
        let check = |fold, expected: Option<&[Option<f64>]>| {
            let found = folded(&[&one, &two], fold);
            assert_eq!(found, expected.map(|values| series(10, values)), "{fold:?}");
        };
        check(Fold::Sum, Some(&[Some(6.0), None, None]));
        check(Fold::Mean, Some(&[Some(3.0), Some(2.0), None]));
        let other = series(20, &[Some(1.0)]);
        assert_eq!(folded(&[&one, &other], Fold::Sum), None);
        assert_eq!(folded(&[], Fold::Sum), None);
    }
}
