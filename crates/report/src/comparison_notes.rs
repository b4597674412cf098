//! What a comparison says beside its table: runs of one side that are no separate instances, what took time from the
//! rounds, rounds that have no single level or changed it, slow moments that tell another story than the typical rate,
//! why no number of rounds would tell, and margins that were raised.

use crate::comparison::{Party, has_level, metric_name, names};
use crate::number::{self, percent};
use crate::said;
use crate::words::{FloorNote, Words};
use dialects::printable::printable;
use model::comparison::{
    Comparison, FloorComparison, Hopeless, MarginSource, MetricComparison, Repeat, RunState,
    Verdict,
};
use model::estimate::{Interval, State};
use std::collections::BTreeSet;

/// The notes, in the order of the metrics; what concerns the runs comes first.
pub(crate) fn notes(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<String> {
    let says = &words.comparison;
    let mut notes: Vec<String> = comparison
        .repeats
        .iter()
        .map(|repeat| (says.repeat)(repeat.on_base, repeat.sure, &labels(repeat, base, other)))
        .collect();
    let (base_name, other_name) = names(base, other, words);
    let (on_base, on_other) = &comparison.disturbed;
    for (name, warnings) in [(&base_name, on_base), (&other_name, on_other)] {
        let said = |warning| format!("{name}: {}", said::warning(warning, words.lang));
        notes.extend(warnings.iter().map(said));
    }
    notes.extend(levels(base, other, comparison, words));
    for metric in &comparison.metrics {
        let name = metric_name(base, other, &metric.id);
        if let Some(floor) = metric.floor.filter(|floor| differs(floor, metric.adjusted)) {
            let note = slow_moments(&name, &other_name, metric.adjusted, &floor);
            notes.extend(note.map(|note| (says.slow_moments)(&note)));
        }
    }
    for why in Hopeless::ALL {
        let of = comparison
            .metrics
            .iter()
            .filter(|m| m.hopeless == Some(why));
        let of: Vec<String> = of.map(|m| metric_name(base, other, &m.id)).collect();
        if !of.is_empty() {
            notes.push((says.hopeless)(&of.join(", "), why));
        }
    }
    notes.extend(raised_margins(base, other, comparison, words));
    notes
}

/// Of each side, which metrics have no single level, and which changed theirs during the run: what the runs by
/// themselves say.
fn levels(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<String> {
    let says = &words.comparison;
    let names = names(base, other, words);
    let mut notes = Vec::new();
    for (name, party, on_base) in [(names.0, base, true), (names.1, other, false)] {
        let (mut torn, mut changed) = (Vec::new(), Vec::new());
        for metric in comparison.metrics.iter().filter(|m| m.ratio.is_some()) {
            let states = if on_base {
                &metric.states.0
            } else {
                &metric.states.1
            };
            let metric = metric_name(base, other, &metric.id);
            let has_changed =
                |of: &RunState| matches!(of.state, State::Drifting { .. } | State::Step { .. });
            torn.extend(among(&metric, states, party, |of| !has_level(of), words));
            changed.extend(among(&metric, states, party, has_changed, words));
        }
        if !torn.is_empty() {
            notes.push((says.no_level)(
                &name,
                &torn.join(", "),
                comparison.estimator,
            ));
        }
        if !changed.is_empty() {
            notes.push((says.changed)(&name, &changed.join(", ")));
        }
    }
    notes
}

/// The metric, where some of the runs are concerned, with what that one looks like or how many of them are.
fn among(
    metric: &str,
    states: &[RunState],
    party: &Party<'_>,
    concerned: impl Fn(&RunState) -> bool,
    words: &Words,
) -> Option<String> {
    let found: Vec<&RunState> = states.iter().filter(|of| concerned(of)).collect();
    let first = found.first()?;
    let how = if party.is_group() {
        (words.comparison.in_runs)(found.len(), states.len())
    } else {
        said::state(&first.state, words.lang)
    };
    Some((words.comparison.with_remark)(metric, &how))
}

/// One note for all concurrencies of a test, which share a noise floor.
fn raised_margins(
    base: &Party<'_>,
    other: &Party<'_>,
    comparison: &Comparison,
    words: &Words,
) -> Vec<String> {
    let raised = |metric: &MetricComparison| match metric.margin_source {
        MarginSource::NoiseFloor { class, .. } => Some((class, metric.margin)),
        _ => None,
    };
    let of = |metric: &MetricComparison| (metric.id.case.test.clone(), metric.id.quantity.clone());
    let mut said = BTreeSet::new();
    let mut notes = Vec::new();
    for metric in &comparison.metrics {
        let Some((class, margin)) = raised(metric).filter(|_| said.insert(of(metric))) else {
            continue;
        };
        let alike = comparison
            .metrics
            .iter()
            .filter(|other| of(other) == of(metric));
        let names: Vec<String> = alike
            .map(|metric| metric_name(base, other, &metric.id))
            .collect();
        notes.push((words.comparison.margin_raised)(
            &names.join(", "),
            &percent(class),
            &percent(margin),
        ));
    }
    notes
}

/// The labels of runs of one side, or their ids.
fn labels(repeat: &Repeat, base: &Party<'_>, other: &Party<'_>) -> String {
    let runs = if repeat.on_base { base } else { other }.runs();
    let name = |id: &String| {
        let run = runs.iter().find(|run| run.meta.id == *id);
        printable(run.and_then(|run| run.meta.label.as_ref()).unwrap_or(id))
    };
    repeat.runs.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// True where slow moments surely differ, and not in the direction in which the typical rate does.
pub(crate) const fn differs(floor: &FloorComparison, typical: Verdict) -> bool {
    match floor.adjusted {
        Verdict::Better | Verdict::BetterMaybe => {
            !matches!(typical, Verdict::Better | Verdict::BetterMaybe)
        }
        Verdict::Worse | Verdict::WorseMaybe => {
            !matches!(typical, Verdict::Worse | Verdict::WorseMaybe)
        }
        Verdict::Same | Verdict::Unclear => false,
    }
}

fn slow_moments(
    metric: &str,
    other: &str,
    typical: Verdict,
    floor: &FloorComparison,
) -> Option<FloorNote> {
    let (ratio, Interval { lo, hi, .. }) = (floor.ratio?, floor.interval?);
    let faster = ratio > 1.0;
    // The nearer end of the interval first: 15 % .. 25 % slower.
    let (near, far) = if faster { (lo, hi) } else { (hi, lo) };
    let change = |ratio: f64| if faster { ratio - 1.0 } else { 1.0 - ratio };
    Some(FloorNote {
        metric: metric.to_owned(),
        other: other.to_owned(),
        typical,
        faster,
        change: percent(change(ratio)),
        range: format!(
            "{} .. {}",
            number::percent(change(near)),
            number::percent(change(far))
        ),
        slow_shares: match floor.slow_shares {
            (Some(base), Some(other)) => Some((percent(base), percent(other))),
            _ => None,
        },
    })
}
