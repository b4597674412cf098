//! What tests were set up with, such as the size of an array or of the pages, in one line for all cases that have the
//! same.
//!
//! It is told and not measured. In the table of metrics it would take most of the room of tests of memory, with
//! columns that have nothing to say of it.

use super::block::{Align, Block, Table, Text};
use crate::grouped::{grouped, names};
use crate::lang::Lang;
use crate::number;
use crate::said;
use crate::view::RunView;
use model::estimate::{MetricSummary, State};

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
    let rows = lines.iter().cloned();
    let table = Table {
        rows: rows
            .map(|(cases, told)| vec![cases.into(), told.into()])
            .collect(),
        wrapped: true,
        ..Table::plain([Align::Left; 2])
    };
    let forms = vec![vec![Block::Facts(lines)], vec![Block::Table(table)]];
    let heading = lang.pick("set-up", "測定条件");
    vec![Block::section(heading, vec![Block::Fitting(forms)])]
}

/// The cases that were set up alike, and with what: `memory.triad` and `array_bytes 32 MiB, page_bytes 4 KiB`. Empty
/// where no test tells.
pub(crate) fn lines(view: &RunView<'_>, lang: Lang) -> Vec<(String, String)> {
    let cases = || view.run.plan.cases.iter().map(|case| &case.id);
    let told = cases().map(|case| {
        let told = view.metrics_of(case);
        let told: Vec<String> = told.filter_map(|metric| told_of(metric, lang)).collect();
        (told.join(", "), (case.test.as_str(), case.to_string()))
    });
    let alike = grouped(told.filter(|(told, _)| !told.is_empty())).into_iter();
    let tests = || cases().map(|case| case.test.as_str());
    alike
        .map(|(told, cases)| (names(&cases, tests()).join(", "), told))
        .collect()
}

/// A quantity with its value; `None` for what was measured, and where no round has a value.
fn told_of(metric: &MetricSummary, lang: Lang) -> Option<String> {
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
