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
    for case in &view.run.plan.cases {
        let of_case = |metric: &&MetricSummary| metric.id.case == case.id;
        let told: Vec<String> = view
            .metrics
            .iter()
            .filter(of_case)
            .filter_map(|metric| told(metric, lang))
            .collect();
        if told.is_empty() {
            continue;
        }
        let told = told.join(", ");
        match found.iter_mut().find(|(alike, _)| *alike == told) {
            Some((_, cases)) => cases.push(&case.id),
            None => found.push((told, vec![&case.id])),
        }
    }
    let line = |(told, cases): (String, Vec<&CaseId>)| (names(view, &cases), told);
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

/// The tests all of whose cases are among these by their names, other cases by their ids.
fn names(view: &RunView<'_>, cases: &[&CaseId]) -> String {
    let mut names: Vec<String> = Vec::new();
    for case in cases {
        let all = view.run.plan.cases.iter().map(|planned| &planned.id);
        let mut of_test = all.filter(|id| id.test == case.test);
        let name = if of_test.all(|id| cases.contains(&id)) {
            case.test.clone()
        } else {
            case.to_string()
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}
