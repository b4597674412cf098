//! Expositions are read back by a strict reader of the grammar.

use super::openmetrics;
use crate::testkit;
use crate::view::view;
use model::host::Fact;
use model::record::Run;
use std::collections::BTreeSet;

/// A sample as a strict reader finds it: name, labels, value.
type Read = (String, Vec<(String, String)>, f64);

/// A strict reader of the grammar of `OpenMetrics` 1.0 as far as gauges go: metadata in its order and once, no family
/// interleaved, units that end names, escapes, no series twice, and the end.
fn read(text: &str) -> Vec<Read> {
    let body = text.strip_suffix("# EOF\n").expect("an end");
    let (mut samples, mut seen, mut families) = (Vec::new(), BTreeSet::new(), BTreeSet::new());
    let (mut family, mut last) = (String::new(), "");
    for line in body.lines() {
        let Some(about) = line.strip_prefix("# ") else {
            let (name, labels, value) = sample(line);
            assert_eq!(name, family, "{line}");
            assert!(seen.insert((name.clone(), labels.clone())), "twice: {line}");
            samples.push((name, labels, value));
            last = "sample";
            continue;
        };
        let mut words = about.splitn(3, ' ');
        let (kind, name, rest) = (words.next(), words.next().unwrap(), words.next().unwrap());
        let of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        assert!(name.chars().all(of_name) && !name.starts_with(|c: char| c.is_ascii_digit()));
        match (kind, last) {
            (Some("TYPE"), "" | "sample") => {
                assert_eq!(rest, "gauge");
                assert!(families.insert(name.to_owned()), "interleaved: {name}");
                (family, last) = (name.to_owned(), "TYPE");
            }
            (Some("UNIT"), "TYPE") => {
                assert!(name.ends_with(&format!("_{rest}")), "{line}");
                last = "UNIT";
            }
            (Some("HELP"), "TYPE" | "UNIT") => {
                assert!(!rest.is_empty() && !rest.contains(['\\', '"']));
                last = "HELP";
            }
            _ => panic!("out of order: {line}"),
        }
        assert_eq!(name, family, "{line}");
    }
    assert_eq!(last, "sample");
    samples
}

fn sample(line: &str) -> Read {
    let (name, mut rest) = line.split_once('{').expect(line);
    let mut labels = Vec::new();
    while !rest.starts_with('}') {
        let (key, quoted) = rest.split_once("=\"").expect(line);
        assert!(key.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
        let (mut value, mut chars) = (String::new(), quoted.chars());
        loop {
            match chars.next().expect(line) {
                '\\' => value.push(match chars.next().expect(line) {
                    'n' => '\n',
                    c @ ('"' | '\\') => c,
                    c => panic!("\\{c} is no escape: {line}"),
                }),
                '"' => break,
                c => value.push(c),
            }
        }
        labels.push((key.to_owned(), value));
        rest = chars.as_str();
        assert!(rest.starts_with([',', '}']), "{line}");
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    let number = rest.strip_prefix("} ").expect(line);
    let value: f64 = number.parse().unwrap();
    assert!(value.is_finite(), "{line}");
    (name.to_owned(), labels, value)
}

fn samples(run: &Run) -> Vec<Read> {
    read(&openmetrics(&view(run)))
}

/// The value of the family with these labels, in their order.
fn value(samples: &[Read], family: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let same = |found: &[(String, String)]| {
        let found = found
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        found.eq(labels.iter().copied())
    };
    let found = samples
        .iter()
        .find(|(name, of, _)| name == family && same(of));
    found.map(|(.., value)| *value)
}

#[test]
fn a_figure_and_the_ends_of_its_interval_are_series_in_the_units_of_prometheus() {
    let run = testkit::normal();
    let (samples, view) = (samples(&run), view(&run));
    for metric in &view.metrics {
        let copies = metric.id.case.copies.to_string();
        let labels = [
            ("test", metric.id.case.test.as_str()),
            ("copies", &copies),
            ("metric", &metric.id.quantity),
        ];
        let estimate = metric.estimate.unwrap();
        let interval = estimate.interval.unwrap();
        let (unit, scale) = match metric.metric.unit.key() {
            "ops_per_s" => ("operations_per_second", 1.0),
            "bytes_per_s" => ("bytes_per_second", 1.0),
            _ => ("seconds", 1e-9),
        };
        let ends = [
            ("", estimate.value),
            ("_low", interval.lo),
            ("_high", interval.hi),
        ];
        for (end, expect) in ends {
            let found = value(&samples, &format!("kurabe_result{end}_{unit}"), &labels);
            assert!((found.unwrap() / scale / expect - 1.0).abs() < 1e-12);
        }
        let steady = [&labels[..], &[("state", "steady")]].concat();
        assert_eq!(value(&samples, "kurabe_result_state", &steady), Some(1.0));
        assert_eq!(value(&samples, "kurabe_result_rounds", &labels), Some(6.0));
    }
    let ended = value(&samples, "kurabe_run_timestamp_seconds", &[]);
    assert_eq!(ended, Some(1_795_221_973.0));
    let info = [
        ("run", "20261121-004311-9f3c"),
        ("what", "quick"),
        ("version", "0.1.0"),
        ("label", "vps ssd"),
    ];
    assert_eq!(value(&samples, "kurabe_run_info", &info), Some(1.0));
}

#[test]
fn what_has_no_value_has_no_series() {
    let mut run = testkit::with_failures();
    let case = testkit::add_case(&mut run, "os.wild", 1, "off", &[testkit::OPS]);
    for (pass, level) in (1..).zip([1.0, 900.0, 30.0, 7000.0, 2.0, 400.0]) {
        testkit::add_round(&mut run, &case, pass, Ok(&[("ops_per_s", level)]));
    }
    let samples = samples(&run);
    let of = |test: &str| -> Vec<&str> {
        let of_test = |(_, labels, _): &&Read| labels.iter().any(|(_, value)| value == test);
        samples
            .iter()
            .filter(of_test)
            .map(|(name, ..)| name.as_str())
            .collect()
    };
    assert_eq!(of("os.execl"), [""; 0]);
    // The slow end has a value where the median has none.
    let told = [
        "kurabe_result_floor_operations_per_second",
        "kurabe_result_rounds",
        "kurabe_result_state",
    ];
    assert_eq!(of("os.wild"), told);
    assert!(of("os.context").contains(&"kurabe_result_operations_per_second"));
    assert_eq!(samples_of_imported(), 0);
}

/// How many times a run tells of which nobody knows when it was.
fn samples_of_imported() -> usize {
    let mut run = testkit::normal();
    run.meta.origin = Some(Box::new(model::origin::Origin {
        program: "fio".to_owned(),
        version: Some("3.36".to_owned()),
        when: Fact::Missing("its output has no date".to_owned()),
        digest: "0".repeat(16),
        file: "x".to_owned(),
    }));
    let samples = samples(&run);
    let info = samples.iter().find(|(name, ..)| name == "kurabe_run_info");
    let source = ("source".to_owned(), "fio 3.36".to_owned());
    assert!(info.unwrap().1.contains(&source));
    let times = samples
        .iter()
        .filter(|(name, ..)| name.contains("timestamp"));
    times.count()
}

#[test]
fn an_index_has_its_own_series() {
    let samples = samples(&testkit::unixbench("off", 2.0));
    let labels = [("index", "unixbench"), ("copies", "1")];
    let [value, low, high] = ["", "_low", "_high"]
        .map(|end| value(&samples, &format!("kurabe_index{end}"), &labels).unwrap());
    assert!(low < value && value < high && (value - 20.0).abs() < 0.1);
}

#[test]
fn no_text_from_outside_breaks_a_line_or_a_label() {
    let mut run = testkit::hostile();
    let nasty = run.meta.label.clone().unwrap();
    let samples = samples(&run);
    let info = samples.iter().find(|(name, ..)| name == "kurabe_run_info");
    let labels = &info.unwrap().1;
    let shown = dialects::printable::printable(&nasty);
    assert!(shown.contains("<script>") && !shown.contains(['\n', '\u{202e}']));
    assert_eq!(labels[3], ("label".to_owned(), shown.clone()));
    assert_eq!(labels[1], ("what".to_owned(), shown));
    run.meta.label = Some("ends with \\".to_owned());
    let text = openmetrics(&view(&run));
    assert!(text.contains(r#"label="ends with \\"} 1"#), "{text}");
    read(&text);
}

#[test]
fn an_exposition_reads_as_expected() {
    insta::assert_snapshot!("run_openmetrics", openmetrics(&view(&testkit::normal())));
}
