//! A JSON document: what counts of every run, and its intervals, in base units.

use super::filerows::{Calls, FileRow};
use super::rows::{Moments, Row};
use super::{AnyRow, Execution, Report};
use serde_json::{Map, Value, json};

/// The document, with a line break at its end.
pub fn json(report: &Report<'_>) -> String {
    let runs: Vec<Value> = report.executions.iter().map(execution).collect();
    let document = json!({
        "schema": "kurabe.vdbench/1",
        "version": report.version,
        "runs": runs,
    });
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    crate::printable::json(text) + "\n"
}

fn execution(of: &Execution<'_>) -> Value {
    let run = of.run;
    let loops = run.loops.iter();
    let loops = object(loops.map(|(word, value)| (*word, Value::from(value.as_str()))));
    let intervals = of.intervals.iter().map(|(label, at, row)| {
        let mut one = fields(row);
        one.insert("interval".to_owned(), Value::from(label.to_string()));
        one.insert("ended".to_owned(), Value::from(at.rfc3339()));
        Value::Object(one)
    });
    let average = of.average.as_ref().map(|(label, _, row)| {
        let mut one = fields(row);
        one.insert("intervals".to_owned(), Value::from(label.to_string()));
        Value::Object(one)
    });
    let from_start = of.from_start.as_ref().map(|(mean, p50, p99)| {
        json!({
            "resp_ns_mean": mean.mean_ns,
            "resp_ns_p50": p50,
            "resp_ns_p99": p99,
            "resp_ns_max": mean.spread_ns.map(|(_, longest)| longest),
        })
    });
    json!({
        "rd": run.name,
        "loops": loops,
        "rate": run.rate.in_words(),
        "requested_ops_per_s": of.requested_per_s,
        "began": of.began.rfc3339(),
        "elapsed_s": run.times.elapsed,
        "interval_s": run.times.interval,
        "warmup_s": run.times.warmup,
        "threads": run.threads(),
        "average": average,
        "from_intended_start": from_start,
        "intervals": intervals.collect::<Vec<_>>(),
        "error": of.failed,
    })
}

/// The fields of a row; `null` where there is no value.
fn fields(row: &AnyRow) -> Map<String, Value> {
    match row {
        AnyRow::Raw(row) => raw(row),
        AnyRow::Files(row) => files(row),
    }
}

fn files(row: &FileRow) -> Map<String, Value> {
    let calls = |calls: Calls| json!({"ops_per_s": calls.per_s, "resp_ns_mean": calls.ns_mean});
    let each = row.each.iter();
    let each = object(each.map(|(operation, own)| (operation.word(), calls(*own))));
    let fields = [
        ("ops_per_s", Value::from(row.asked.per_s)),
        (
            "resp_ns_mean",
            row.asked.ns_mean.map_or(Value::Null, Value::from),
        ),
        ("read_bytes_per_s", Value::from(row.bytes_per_s.0)),
        ("write_bytes_per_s", Value::from(row.bytes_per_s.1)),
        (
            "read_share",
            row.reads_share().map_or(Value::Null, Value::from),
        ),
        (
            "cpu_share",
            row.cpu.map_or(Value::Null, |(all, _)| Value::from(all)),
        ),
        ("operations", Value::Object(each)),
    ];
    object(fields)
}

/// One by one: what is collected is sorted first, see `model::order`.
fn object<'a>(fields: impl IntoIterator<Item = (&'a str, Value)>) -> Map<String, Value> {
    let mut object = Map::new();
    for (name, value) in fields {
        object.insert(name.to_owned(), value);
    }
    object
}

fn raw(row: &Row) -> Map<String, Value> {
    let mut all = Map::new();
    let mut put = |name: String, value: Option<f64>| {
        all.insert(name, value.map_or(Value::Null, Value::from));
    };
    put("ops_per_s".to_owned(), Some(row.per_s()));
    put("bytes_per_s".to_owned(), Some(row.bytes_per_s()));
    put("bytes_per_op".to_owned(), row.bytes_per_op());
    put("read_share".to_owned(), row.reads_share());
    put("queue_depth".to_owned(), row.queue_depth());
    put("cpu_share".to_owned(), row.cpu.map(|(all, _)| all));
    put(
        "cpu_system_share".to_owned(),
        row.cpu.map(|(_, system)| system),
    );
    let sides = [
        ("", row.calls()),
        ("read_", row.reads.calls),
        ("write_", row.writes.calls),
    ];
    for (side, calls) in sides {
        let spread = |calls: Option<Moments>| calls.and_then(|calls| calls.spread_ns);
        put(
            format!("{side}resp_ns_mean"),
            calls.map(|calls| calls.mean_ns),
        );
        put(
            format!("{side}resp_ns_max"),
            spread(calls).map(|(_, longest)| longest),
        );
        put(
            format!("{side}resp_ns_stddev"),
            spread(calls).map(|(deviation, _)| deviation),
        );
    }
    all
}
