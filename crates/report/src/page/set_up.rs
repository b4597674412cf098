//! What tests were set up with, such as the size of an array or of the pages, in one line for all cases that have the
//! same.
//!
//! It is told and not measured. In the table of metrics it would take most of the room of tests of memory, with
//! columns that have nothing to say of it.

use super::block::{Block, Text};
use crate::lang::Lang;
use crate::number;
use crate::said;
use crate::view::RunView;
use model::estimate::{MetricSummary, State};
use model::plan::CaseId;
use std::collections::{HashMap, HashSet};

/// A line for all cases that were set up alike: beside their names where these leave half of the line, below them
/// otherwise, since beside a long list of names there is room for a word or two a line.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    if view.soak.is_some() {
        return Vec::new();
    }
    let line = |(cases, told): (String, String)| {
        // A quantity and its value stay together.
        let told = told.replace(' ', "\u{a0}").replace(",\u{a0}", ", ");
        (Text::name(cases), told.into())
    };
    let lines: Vec<(Text, Text)> = lines(view, lang).into_iter().map(line).collect();
    let forms = vec![
        vec![Block::Facts(lines.clone())],
        vec![Block::Entries(lines)],
    ];
    let heading = lang.pick("set-up", "測定条件");
    vec![Block::section(heading, vec![Block::Fitting(forms)])]
}

/// The cases that were set up alike, and with what: `memory.triad` and `array_bytes 32 MiB, page_bytes 4 KiB`. Empty
/// where no test tells.
pub(crate) fn lines(view: &RunView<'_>, lang: Lang) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<&CaseId>)> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for case in &view.run.plan.cases {
        let metrics = view.metrics_of(&case.id);
        let told: Vec<String> = metrics.filter_map(|metric| told(metric, lang)).collect();
        if told.is_empty() {
            continue;
        }
        let told = told.join(", ");
        let place = *places.entry(told.clone()).or_insert(found.len());
        match found.get_mut(place) {
            Some((_, cases)) => cases.push(&case.id),
            None => found.push((told, vec![&case.id])),
        }
    }
    let mut planned: HashMap<&str, usize> = HashMap::new();
    for case in &view.run.plan.cases {
        *planned.entry(&case.id.test).or_default() += 1;
    }
    let line = |(told, cases): (String, Vec<&CaseId>)| (names(&planned, &cases), told);
    found.into_iter().map(line).collect()
}

/// A quantity with its value; `None` for what was measured, and where no round has a value.
fn told(metric: &MetricSummary, lang: Lang) -> Option<String> {
    let State::Setting { alike } = metric.state else {
        return None;
    };
    let value = number::alone_exact(metric.metric.unit, metric.estimate?.value);
    let quantity = &metric.id.quantity;
    Some(if alike {
        format!("{quantity} {value}")
    } else {
        format!("{quantity} {value} ({})", said::state(&metric.state, lang))
    })
}

/// The tests all of whose cases are among these by their names, other cases by their ids. `planned` says how many cases
/// a test has.
fn names(planned: &HashMap<&str, usize>, cases: &[&CaseId]) -> String {
    let mut here: HashMap<&str, usize> = HashMap::new();
    for case in cases {
        *here.entry(&case.test).or_default() += 1;
    }
    let mut named: HashSet<&str> = HashSet::new();
    let names = cases.iter().filter_map(|case| {
        let test = case.test.as_str();
        if here.get(test) != planned.get(test) {
            return Some(case.to_string());
        }
        named.insert(test).then(|| test.to_owned())
    });
    names.collect::<Vec<_>>().join(", ")
}
