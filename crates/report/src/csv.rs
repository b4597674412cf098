//! A run for spreadsheets and scripts: one line per metric, or one line per round (RFC 4180, UTF-8, `\n`).
//!
//! Base units and every digit; an empty field is a value that is missing, and the reason is in the `missing` field.
//! Control characters become `?`, as the text may well be shown on a terminal. A text that a spreadsheet would take for
//! a formula has a `'` in front of it; a number is no formula, whatever its sign and whichever column it is in.

use crate::json::metric_part;
use crate::view::RunView;
use dialects::printable::printable;
use model::plan::PlannedCase;
use model::record::Outcome;
use serde::Serialize;
use serde_json::Value;

/// The columns of [`metrics`], in order: keys of a metric in the document of a run, behind the run's own. A new one
/// goes behind the others: scripts count them.
const METRIC_COLUMNS: &str = "run label case test concurrency quantity unit better estimate lo hi confidence n floor \
                              state missing warnings title";

/// The first columns of [`rounds`], in order; those of [`NOISE_COLUMNS`] follow.
const ROUND_COLUMNS: &str = "run case pass seq started took_ns quantity unit value missing";

/// The last columns of [`rounds`]: the noise of a round, by its keys.
const NOISE_COLUMNS: &str = "steal_share off_cpu_share psi_cpu_share psi_io_share psi_memory_share throttled_share \
                             foreign_cpu_share";

/// One line per metric.
pub fn metrics(view: &RunView<'_>) -> String {
    let mut out = line(METRIC_COLUMNS.split(' ').map(str::to_owned));
    for metric in &view.metrics {
        let mut told = tree(&metric_part(metric));
        told["run"] = tree(&view.run.meta.id);
        told["label"] = tree(&view.run.meta.label);
        // A metric that one number cannot describe has rounds all the same.
        if metric.estimate.is_none() {
            told["n"] = metric.rounds.len().into();
        }
        out.push_str(&line(METRIC_COLUMNS.split(' ').map(|key| cell(&told[key]))));
    }
    out
}

fn tree(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("the types have string keys and derived serialization")
}

/// What a document says under a key, in a field: of an estimate its value, of warnings their kinds.
fn cell(told: &Value) -> String {
    match told {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(of) => cell(of.get("kind").unwrap_or(&told["estimate"])),
        Value::Array(list) => list.iter().map(cell).collect::<Vec<_>>().join(" "),
        told => number(told.as_f64()),
    }
}

/// One line per round and metric, in the order in which the rounds ran.
pub fn rounds(view: &RunView<'_>) -> String {
    let headings = ROUND_COLUMNS.split(' ').chain(NOISE_COLUMNS.split(' '));
    let mut out = line(headings.map(str::to_owned));
    for round in &view.run.rounds {
        let planned = view.planned(&round.case);
        let noise = tree(&round.noise);
        for (quantity, unit) in quantities(planned) {
            let (value, missing) = match &round.outcome {
                Outcome::Done(measured) => (
                    measured.values.get(quantity).copied(),
                    measured.missing.get(quantity).cloned(),
                ),
                Outcome::Failed(failure) => (None, Some(failure.to_string())),
            };
            let head = [
                view.run.meta.id.clone(),
                round.case.to_string(),
                round.pass.to_string(),
                round.seq.to_string(),
                round.started.rfc3339(),
                round.took.0.to_string(),
                quantity.to_owned(),
                unit.to_owned(),
                number(value),
                missing.unwrap_or_default(),
            ];
            let noise = NOISE_COLUMNS.split(' ').map(|key| cell(&noise[key]));
            out.push_str(&line(head.into_iter().chain(noise)));
        }
    }
    out
}

/// Quantity and unit of the metrics of a case; one nameless metric for a round whose case the plan does not hold.
fn quantities(planned: Option<&PlannedCase>) -> Vec<(&str, &str)> {
    let Some(case) = planned else {
        return vec![("", "")];
    };
    let metrics = case.metrics.iter();
    metrics
        .map(|metric| (metric.quantity.as_str(), metric.unit.key()))
        .collect()
}

/// Every digit of a finite number; empty otherwise.
fn number(x: Option<f64>) -> String {
    x.filter(|x| x.is_finite())
        .map_or_else(String::new, |x| x.to_string())
}

fn line(fields: impl IntoIterator<Item = String>) -> String {
    let fields: Vec<String> = fields.into_iter().map(|text| field(&text)).collect();
    fields.join(",") + "\n"
}

/// Whether a spreadsheet computes this text: it begins with one of four signs or its full-width twin (OWASP, "CSV
/// Injection"), maybe behind blanks, which tabs and line breaks became, and is no plain number.
fn is_formula(text: &str) -> bool {
    let is_number = text.parse::<f64>().is_ok() && !text.contains(['n', 'N', 'i', 'I']);
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    text.trim_start().starts_with(signs) && !is_number
}

/// A field, without effect in a spreadsheet, in quotes where it holds a comma or a quote.
fn field(text: &str) -> String {
    let mut text = printable(text);
    if is_formula(&text) {
        text.insert(0, '\'');
    }
    if text.contains([',', '"']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use crate::view::view;

    /// A strict reader of RFC 4180 without line breaks inside fields.
    fn read(text: &str) -> Vec<Vec<String>> {
        text.lines().map(read_line).collect()
    }

    fn read_line(line: &str) -> Vec<String> {
        let mut fields = vec![String::new()];
        let mut quoted = false;
        let mut chars = line.chars().peekable();
        while let Some(c) = chars.next() {
            let field = fields.last_mut().unwrap();
            match c {
                '"' if quoted && chars.peek() == Some(&'"') => {
                    field.push('"');
                    chars.next();
                }
                '"' => quoted = !quoted,
                ',' if !quoted => fields.push(String::new()),
                c => field.push(c),
            }
        }
        assert!(!quoted, "unterminated quote: {line}");
        fields
    }

    #[test]
    fn no_text_is_a_formula_and_every_number_a_number() {
        let check = |text: &str, expect: &str| assert_eq!(field(text), expect, "{text:?}");
        check("=1+1", "'=1+1");
        check("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0");
        check("=HYPERLINK(\"x\",1)", "\"'=HYPERLINK(\"\"x\"\",1)\"");
        check("@SUM(A1)", "'@SUM(A1)");
        check("+1+1", "'+1+1");
        check("-2-3", "'-2-3");
        check("\t=1+1", "' =1+1");
        check("\r\n=1+1", "'  =1+1");
        check(" -x", "' -x");
        check("-inf", "'-inf");
        check("-", "'-");
        check("＝1+1", "'＝1+1");
        check("＋1+1", "'＋1+1");
        check("－2-3", "'－2-3");
        check(" ＠SUM(A1)", "' ＠SUM(A1)");
        for number in ["-1.5", "+3", "-1e-300", "1e21", "0", "-0", "1.5"] {
            check(number, number);
        }
        for plain in ["", "a=b", "os.pipe@1", "a-b", "'quoted'"] {
            check(plain, plain);
        }
    }

    #[test]
    fn one_line_per_metric() {
        let run = testkit::with_failures();
        insta::assert_snapshot!("run_csv", metrics(&view(&run)));
    }

    #[test]
    fn every_column_is_a_key_of_the_document_or_of_the_run() {
        let run = testkit::normal();
        let told = tree(&metric_part(&view(&run).metrics[0]));
        for key in METRIC_COLUMNS.split(' ') {
            assert!(
                ["run", "label"].contains(&key) || told.get(key).is_some(),
                "{key}"
            );
        }
        let noise = tree(&run.rounds[0].noise);
        for key in NOISE_COLUMNS.split(' ') {
            assert!(noise.get(key).is_some(), "{key}");
        }
    }

    #[test]
    fn every_line_has_every_column_whatever_the_names_are() {
        let run = testkit::hostile();
        let view = view(&run);
        for row in read(&metrics(&view)) {
            assert_eq!(row.len(), METRIC_COLUMNS.split(' ').count(), "{row:?}");
        }
        for row in read(&rounds(&view)) {
            assert_eq!(
                row.len(),
                ROUND_COLUMNS
                    .split(' ')
                    .chain(NOISE_COLUMNS.split(' '))
                    .count(),
                "{row:?}"
            );
        }
        let label = &read(&metrics(&view))[1][1];
        assert_eq!(*label, printable(run.meta.label.as_deref().unwrap()));
    }

    #[test]
    fn rounds_keep_every_digit_and_the_reason_of_a_failure() {
        let run = testkit::with_failures();
        let table = read(&rounds(&view(&run)));
        assert_eq!(table.len() - 1, testkit::round_metrics(&run));
        let mut values = 0;
        for row in &table[1..] {
            assert!(row[8].is_empty() != row[9].is_empty(), "{row:?}");
            if let Ok(value) = row[8].parse::<f64>() {
                let exact = run.rounds.iter().any(|round| match &round.outcome {
                    Outcome::Done(measured) => measured
                        .values
                        .values()
                        .any(|kept| kept.to_bits() == value.to_bits()),
                    Outcome::Failed(_) => false,
                });
                assert!(exact, "{row:?}");
                values += 1;
            }
        }
        assert!(values > 10);
    }
}
