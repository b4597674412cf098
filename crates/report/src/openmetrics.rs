//! A run for Prometheus: `OpenMetrics` 1.0 text.
//!
//! Every family is a gauge, so that what reads the older text format (such as the textfile collector of
//! `node_exporter`) reads the same file. A family has one unit, which ends its name, in the base units of the
//! specification. The labels of figures are few and stay from run to run; what changes with each run stands in
//! `kurabe_run_info`. There is no series without a value.

use crate::json;
use crate::view::RunView;
use dialects::printable::printable;
use model::estimate::Estimate;
use model::order::Order as _;
use model::units::{Unit, UnixNanos};

/// A gauge.
struct Family {
    name: &'static str,
    help: &'static str,
}

const VALUE: Family = Family {
    name: "kurabe_result",
    help: "Median of the rounds.",
};
const LOW: Family = Family {
    name: "kurabe_result_low",
    help: "Lower end of the interval of the median, of 95 % confidence.",
};
const HIGH: Family = Family {
    name: "kurabe_result_high",
    help: "Upper end of the interval of the median, of 95 % confidence.",
};
const FLOOR: Family = Family {
    name: "kurabe_result_floor",
    help: "Slow end: median of the 10th percentile windows of the rounds; of a soak that of all its windows.",
};
const BEST: Family = Family {
    name: "kurabe_result_best",
    help: "Fast end of a soak: the 95th percentile of its windows.",
};
const INDEX: Family = Family {
    name: "kurabe_index",
    help: "Index over several tests.",
};
const INDEX_LOW: Family = Family {
    name: "kurabe_index_low",
    help: "Lower end of its interval.",
};
const INDEX_HIGH: Family = Family {
    name: "kurabe_index_high",
    help: "Upper end of its interval.",
};
const ROUNDS: Family = Family {
    name: "kurabe_result_rounds",
    help: "Rounds behind the median.",
};
const STATE: Family = Family {
    name: "kurabe_result_state",
    help: "What the series of rounds looks like; no single value describes what is unstable or has two states.",
};
const TIMESTAMP: Family = Family {
    name: "kurabe_run_timestamp",
    help: "When the run ended, since 1970.",
};
const INFO: Family = Family {
    name: "kurabe_run_info",
    help: "Which run it is.",
};

/// All of them, in the order in which they are written.
const FAMILIES: [&Family; 12] = [
    &INFO,
    &TIMESTAMP,
    &VALUE,
    &LOW,
    &HIGH,
    &FLOOR,
    &BEST,
    &ROUNDS,
    &STATE,
    &INDEX,
    &INDEX_LOW,
    &INDEX_HIGH,
];

/// One value of a family.
struct Sample {
    family: &'static str,
    unit: &'static str,
    labels: String,
    /// As it is written.
    value: String,
}

/// The run as an exposition.
pub fn openmetrics(view: &RunView<'_>) -> String {
    let samples = samples(view);
    let mut out = Vec::new();
    for Family { name, help } in FAMILIES {
        let of_family = || samples.iter().filter(|sample| sample.family == *name);
        let mut units: Vec<&str> = of_family().map(|sample| sample.unit).collect();
        units.order();
        units.dedup();
        for unit in units {
            let (full, told) = match unit {
                "" => ((*name).to_owned(), String::new()),
                unit => (
                    format!("{name}_{unit}"),
                    format!("# UNIT {name}_{unit} {unit}\n"),
                ),
            };
            out.push(format!("# TYPE {full} gauge\n{told}# HELP {full} {help}\n"));
            let of_unit = of_family().filter(|sample| sample.unit == unit);
            out.extend(of_unit.map(|one| format!("{full}{{{}}} {}\n", one.labels, one.value)));
        }
    }
    out.concat() + "# EOF\n"
}

fn samples(view: &RunView<'_>) -> Vec<Sample> {
    let mut all = vec![info(view)];
    all.extend(ended(view).map(|UnixNanos(ns)| Sample {
        family: TIMESTAMP.name,
        unit: "seconds",
        labels: String::new(),
        value: format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000),
    }));
    for metric in &view.metrics {
        let case = &metric.id.case;
        let labels = labels(&[
            ("test", &case.test),
            ("copies", &case.copies.to_string()),
            ("metric", &metric.id.quantity),
        ]);
        let ranged = [&VALUE, &LOW, &HIGH];
        all.extend(estimated(
            ranged,
            metric.metric.unit,
            &labels,
            metric.estimate,
        ));
        let levels = view.soak_levels(metric);
        let floor = metric.floor.map(|floor| floor.value);
        let floor = floor.or(levels.map(|of| of.floor));
        let best = levels.map(|of| of.best);
        all.extend(sample(&FLOOR, metric.metric.unit, &labels, floor));
        all.extend(sample(&BEST, metric.metric.unit, &labels, best));
        if metric.rounds.is_empty() {
            continue;
        }
        let state = json::state_word(&metric.state);
        let of_rounds = [
            (&ROUNDS, labels.clone(), metric.rounds.len()),
            (&STATE, format!("{labels},state=\"{state}\""), 1),
        ];
        all.extend(of_rounds.map(|(family, labels, n)| Sample {
            family: family.name,
            unit: "",
            labels,
            value: n.to_string(),
        }));
    }
    for index in &view.indexes {
        let labels = labels(&[("index", &index.id), ("copies", &index.copies.to_string())]);
        let ranged = [&INDEX, &INDEX_LOW, &INDEX_HIGH];
        all.extend(estimated(ranged, Unit::Number, &labels, index.whole()));
    }
    all
}

/// When the figures were complete; `None` where nobody knows.
pub(crate) fn ended(view: &RunView<'_>) -> Option<UnixNanos> {
    let meta = &view.run.meta;
    match &meta.origin {
        Some(origin) => origin.when.known().copied(),
        None => Some(meta.finished.unwrap_or(meta.started)),
    }
}

fn info(view: &RunView<'_>) -> Sample {
    let meta = &view.run.meta;
    let what = view.run.plan.what.join(" ");
    let mut told = vec![
        ("run", meta.id.as_str()),
        ("what", &what),
        ("version", &meta.binary.version),
    ];
    let source = meta.origin.as_deref().map(model::origin::Origin::who);
    told.extend(source.iter().map(|who| ("source", who.as_str())));
    told.extend(meta.label.iter().map(|label| ("label", label.as_str())));
    Sample {
        family: INFO.name,
        unit: "",
        labels: labels(&told),
        value: "1".to_owned(),
    }
}

fn estimated(
    [value, low, high]: [&'static Family; 3],
    unit: Unit,
    labels: &str,
    estimate: Option<Estimate>,
) -> impl Iterator<Item = Sample> {
    let interval = estimate.and_then(|estimate| estimate.interval);
    let values = [
        sample(value, unit, labels, estimate.map(|estimate| estimate.value)),
        sample(low, unit, labels, interval.map(|interval| interval.lo)),
        sample(high, unit, labels, interval.map(|interval| interval.hi)),
    ];
    values.into_iter().flatten()
}

/// A value in the unit that Prometheus wants; nothing where there is none.
fn sample(family: &'static Family, unit: Unit, labels: &str, value: Option<f64>) -> Option<Sample> {
    let value = value.filter(|value| value.is_finite())?;
    let (unit, value) = match unit {
        Unit::OpsPerSecond => ("operations_per_second", value),
        Unit::BytesPerSecond | Unit::NetBytesPerSecond => ("bytes_per_second", value),
        Unit::Nanoseconds => ("seconds", value / 1e9),
        Unit::Bytes => ("bytes", value),
        Unit::Share => ("ratio", value),
        Unit::Number => ("", value),
    };
    Some(Sample {
        family: family.name,
        unit,
        labels: labels.to_owned(),
        // With a point or an exponent, as a number that is no integer has to be.
        value: format!("{value:?}"),
    })
}

/// Labels in their order, with nothing in them that acts on a terminal.
fn labels(told: &[(&str, &str)]) -> String {
    let label = |(name, value): &(&str, &str)| {
        let value = printable(value).replace('\\', r"\\").replace('"', "\\\"");
        format!("{name}=\"{value}\"")
    };
    told.iter().map(label).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests;
