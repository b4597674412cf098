//! A run for `InfluxDB` and what else reads its line protocol: one point for each metric and each index.
//!
//! Tags are what a series is: the test, its copies, the metric, its unit, the label of the run. Values stand in the
//! base units of all our documents; what has no value has no field, and no point without any. The time is that of the
//! run's end, so that old runs may be written later.

use crate::json;
use crate::openmetrics::ended;
use crate::view::RunView;
use dialects::printable::printable;
use model::estimate::Estimate;
use model::record::Run;
use model::units::UnixNanos;

/// Why a run has no point in time, and what helps.
pub(crate) fn undated(run: &Run) -> Option<[&'static str; 2]> {
    let origin = run.meta.origin.as_deref()?;
    origin.when.known().is_none().then_some([
        "it was imported, and nobody knows the date of its figures",
        "`--format json` needs none",
    ])
}

/// The run as points, a line for each.
pub fn influx(view: &RunView<'_>) -> String {
    let Some(at) = ended(view) else {
        return String::new();
    };
    let run = &view.run.meta;
    let label = run.label.as_deref().unwrap_or_default();
    let mut out = Vec::new();
    for metric in &view.metrics {
        let case = &metric.id.case;
        let series = [
            ("copies", case.copies.to_string()),
            ("label", label.to_owned()),
            ("metric", metric.id.quantity.clone()),
            ("test", case.test.clone()),
            ("unit", metric.metric.unit.key().to_owned()),
        ];
        let mut fields = estimated(metric.estimate);
        let levels = view.soak_levels(metric);
        let floor = metric.floor.map(|floor| floor.value);
        fields.extend(float("floor", floor.or(levels.map(|of| of.floor))));
        fields.extend(float("best", levels.map(|of| of.best)));
        if !metric.rounds.is_empty() {
            fields.push(format!("rounds={}i", metric.rounds.len()));
            fields.push(text("state", &json::state_word(&metric.state)));
        }
        out.extend(point("kurabe_result", &series, fields, &run.id, at));
    }
    for index in &view.indexes {
        let series = [
            ("copies", index.copies.to_string()),
            ("index", index.id.clone()),
            ("label", label.to_owned()),
        ];
        let fields = estimated(index.whole());
        out.extend(point("kurabe_index", &series, fields, &run.id, at));
    }
    out.concat()
}

/// A line; `None` where it has no field.
fn point(
    name: &str,
    series: &[(&str, String)],
    mut fields: Vec<String>,
    run: &str,
    UnixNanos(at): UnixNanos,
) -> Option<String> {
    if fields.is_empty() {
        return None;
    }
    fields.push(text("run", run));
    let tags = series.iter().filter(|(_, value)| !value.is_empty());
    let tags = tags.map(|(key, value)| format!("{key}={}", tag(value)));
    let series: Vec<String> = [name.to_owned()].into_iter().chain(tags).collect();
    Some(format!("{} {} {at}\n", series.join(","), fields.join(",")))
}

fn estimated(estimate: Option<Estimate>) -> Vec<String> {
    let interval = estimate.and_then(|estimate| estimate.interval);
    let fields = [
        float("value", estimate.map(|estimate| estimate.value)),
        float("low", interval.map(|interval| interval.lo)),
        float("high", interval.map(|interval| interval.hi)),
    ];
    fields.into_iter().flatten().collect()
}

fn float(key: &str, value: Option<f64>) -> Option<String> {
    let value = value.filter(|value| value.is_finite())?;
    Some(format!("{key}={value:?}"))
}

fn text(key: &str, value: &str) -> String {
    let value = printable(value).replace('\\', r"\\").replace('"', "\\\"");
    format!("{key}=\"{value}\"")
}

/// The value of a tag. No escape stands for a backslash there, and one before what is escaped, or at the end, would be
/// read as part of an escape.
fn tag(value: &str) -> String {
    let mut out = String::new();
    for c in printable(value).replace('\\', "/").chars() {
        if " ,=".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests;
