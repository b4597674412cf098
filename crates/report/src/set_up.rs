//! What tests were set up with, such as the size of an array or of the pages, in one line for all cases that have the
//! same.
//!
//! It is told and not measured. In the table of metrics it would take most of the room of tests of memory, with
//! columns that have nothing to say of it.

use crate::number;
use crate::style::Style;
use crate::table::{Grid, indent, wrapped};
use crate::text::pairs;
use crate::view::RunView;
use crate::words::Words;
use dialects::printable::printable;
use model::estimate::{MetricSummary, State};
use model::plan::CaseId;

/// The lines on a terminal: beside the names of the cases where these leave half of the line, below them otherwise.
/// Beside a long list of names there is room for a word or two a line.
pub(crate) fn block(view: &RunView<'_>, style: Style, words: &Words) -> String {
    let mut lines = lines(view, words);
    for (_, told) in &mut lines {
        // A quantity and its value stay together.
        *told = told.replace(' ', "\u{a0}").replace(",\u{a0}", ", ");
    }
    let width = style.columns() - 2;
    let mut names = Grid::new(1);
    for (cases, _) in &lines {
        names.row(vec![cases.clone()]);
    }
    if names.width() <= width / 2 {
        return pairs(&lines, style);
    }
    lines
        .iter()
        .map(|(cases, told)| wrapped(cases, width) + &indent(&wrapped(told, width - 2)))
        .collect()
}

/// The cases that were set up alike, and with what: `memory.triad` and `array_bytes 32 MiB, page_bytes 4 KiB`. Empty
/// where no test tells.
pub(crate) fn lines(view: &RunView<'_>, words: &Words) -> Vec<(String, String)> {
    let mut found: Vec<(String, Vec<&CaseId>)> = Vec::new();
    for case in &view.run.plan.cases {
        let of_case = |metric: &&MetricSummary| metric.id.case == case.id;
        let told: Vec<String> = view
            .metrics
            .iter()
            .filter(of_case)
            .filter_map(|metric| told(metric, words))
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
    let line = |(told, cases): (String, Vec<&CaseId>)| (names(view, &cases), printable(&told));
    found.into_iter().map(line).collect()
}

/// A quantity with its value; `None` for what was measured, and where no round has a value.
fn told(metric: &MetricSummary, words: &Words) -> Option<String> {
    let State::Setting { alike } = metric.state else {
        return None;
    };
    let value = number::alone_exact(metric.metric.unit, metric.estimate?.value);
    let quantity = &metric.id.quantity;
    Some(if alike {
        format!("{quantity} {value}")
    } else {
        format!("{quantity} {value} ({})", (words.state)(&metric.state))
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
    printable(&names.join(", "))
}
