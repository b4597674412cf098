//! Points are read back by a strict reader of the line protocol.

use super::{influx, tag, undated};
use crate::testkit;
use crate::view::view;
use model::host::Fact;

/// A point as a strict reader finds it.
struct Read {
    name: String,
    tags: Vec<(String, String)>,
    fields: Vec<(String, String)>,
    at: u64,
}

/// The parts of a text between these characters, where they are neither escaped nor, if quotes count, quoted.
fn parts(text: &str, at: char, quotes: bool) -> Vec<String> {
    let (mut parts, mut quoted, mut chars) = (vec![String::new()], false, text.chars());
    while let Some(c) = chars.next() {
        let part = parts.last_mut().unwrap();
        if c == '\\' {
            part.extend([c, chars.next().expect("something to escape")]);
            continue;
        }
        quoted ^= quotes && c == '"';
        if c == at && !quoted {
            parts.push(String::new());
        } else {
            part.push(c);
        }
    }
    assert!(!quoted, "{text}");
    parts
}

fn plain(text: &str) -> String {
    let mut chars = text.chars();
    let next = || match chars.next()? {
        '\\' => chars.next(),
        c => Some(c),
    };
    std::iter::from_fn(next).collect()
}

fn read(text: &str) -> Vec<Read> {
    let pair = |text: &String| {
        let [key, value] = &parts(text, '=', true)[..] else {
            panic!("{text}");
        };
        assert!(!key.is_empty() && !value.is_empty(), "{text}");
        (key.clone(), value.clone())
    };
    let line = |line: &str| {
        let [series, fields, at] = &parts(line, ' ', true)[..] else {
            panic!("{line}");
        };
        let series = parts(series, ',', false);
        let tags: Vec<_> = series[1..].iter().map(pair).collect();
        let tags: Vec<_> = tags
            .into_iter()
            .map(|(key, value)| (key, plain(&value)))
            .collect();
        assert!(tags.is_sorted(), "{line}");
        Read {
            name: series[0].clone(),
            tags,
            fields: parts(fields, ',', true).iter().map(pair).collect(),
            at: at.parse().unwrap(),
        }
    };
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(line).collect()
}

impl Read {
    fn field(&self, key: &str) -> Option<&str> {
        let field = self.fields.iter().find(|(name, _)| name == key);
        field.map(|(_, value)| value.as_str())
    }

    fn tag(&self, key: &str) -> Option<&str> {
        let tag = self.tags.iter().find(|(name, _)| name == key);
        tag.map(|(_, value)| value.as_str())
    }
}

#[test]
fn each_metric_is_a_point_with_its_interval_at_the_end_of_the_run() {
    let run = testkit::normal();
    let (points, view) = (read(&influx(&view(&run))), view(&run));
    assert_eq!(points.len(), view.metrics.len());
    for (point, metric) in points.iter().zip(&view.metrics) {
        let estimate = metric.estimate.unwrap();
        let interval = estimate.interval.unwrap();
        assert_eq!(point.name, "kurabe_result");
        assert_eq!(point.at, run.meta.finished.unwrap().0);
        assert_eq!(point.tag("test"), Some(metric.id.case.test.as_str()));
        assert_eq!(point.tag("unit"), Some(metric.metric.unit.key()));
        assert_eq!(point.tag("label"), Some("vps ssd"));
        let ends = [
            ("value", estimate.value),
            ("low", interval.lo),
            ("high", interval.hi),
        ];
        for (key, expect) in ends {
            let found: f64 = point.field(key).unwrap().parse().unwrap();
            assert_eq!(found.to_bits(), expect.to_bits());
        }
        assert_eq!(point.field("rounds"), Some("6i"));
        assert_eq!(point.field("state"), Some("\"steady\""));
        let id = format!("\"{}\"", run.meta.id);
        assert_eq!(point.field("run"), Some(id.as_str()));
    }
    let index = read(&influx(&crate::view::view(&testkit::unixbench("off", 2.0))));
    let index = index.last().unwrap();
    assert_eq!(index.name, "kurabe_index");
    assert_eq!(index.tag("index"), Some("unixbench"));
}

#[test]
fn what_has_no_value_has_no_field_and_nothing_has_no_point() {
    let run = testkit::with_failures();
    let points = read(&influx(&view(&run)));
    let of = |test: &str| points.iter().find(|point| point.tag("test") == Some(test));
    assert!(of("os.execl").is_none() && of("os.shell-8").is_none());
    assert!(of("os.context").unwrap().field("value").is_some());
}

#[test]
fn no_text_from_outside_breaks_a_point() {
    let check = |text: &str, expect: &str| assert_eq!(tag(text), expect);
    check("a b,c=d", r"a\ b\,c\=d");
    check("\"quoted\"", "\"quoted\"");
    check("two\nlines", r"two\ lines");
    check(r"ends with \", r"ends\ with\ /");
    check("\u{202e}<script>", "?<script>");
    let mut run = testkit::hostile();
    let shown = dialects::printable::printable(run.meta.label.as_deref().unwrap());
    for point in read(&influx(&view(&run))) {
        assert_eq!(point.tag("label"), Some(shown.replace('\\', "/").as_str()));
    }
    run.meta.id = r#"a "b" \"#.to_owned();
    for point in read(&influx(&view(&run))) {
        assert_eq!(point.field("run"), Some(r#""a \"b\" \\""#));
    }
}

#[test]
fn a_point_without_a_date_is_refused() {
    let mut run = testkit::normal();
    assert_eq!(undated(&run), None);
    run.meta.origin = Some(Box::new(model::origin::Origin {
        program: "fio".to_owned(),
        version: None,
        when: Fact::Missing("its output has no date".to_owned()),
        digest: "0".repeat(16),
        file: "x".to_owned(),
    }));
    assert!(undated(&run).unwrap()[0].contains("date"));
    assert_eq!(influx(&view(&run)), "");
}
