//! `kurabe iperf3 --help`, from the table that the reader uses.

use dialects::iperf3::arguments::{OPTIONS, OptionDef};
use report::page::{Block, list};
use report::{Style, render};

/// Columns of the help: those of the smallest terminal.
const WIDTH: usize = 80;

pub(super) fn page() -> String {
    let (others, taken): (Vec<_>, Vec<_>) = OPTIONS.iter().partition(|def| def.is_refused());
    let options = |whose: &str, all: Vec<&OptionDef>| {
        let rows = all.into_iter().map(row).collect();
        Block::section(whose, vec![list::described(rows)])
    };
    let examples = crate::args::help::of("iperf3");
    let examples = examples.map(|&(line, what)| (line.to_owned(), what.to_owned()));
    let blocks = [
        Block::Line("Usage: kurabe iperf3 -c HOST [OPTIONS]".to_owned()),
        Block::Line(
            "A client for a server of iperf3 3.1 to 3.21, which prints what iperf3 3.12 prints. Nothing is kept."
                .to_owned(),
        ),
        options("Options of iperf3:", taken),
        options("Options of iperf3 that are refused:", others),
        Block::section("Examples:", vec![Block::Commands(examples.collect())]),
    ];
    let style = Style {
        width: WIDTH,
        ..Style::PLAIN
    };
    render::text(&blocks, style)
}

fn row(def: &OptionDef) -> Vec<String> {
    let value = def
        .value
        .map_or_else(String::new, |value| format!(" {value}"));
    vec![format!("{}{value}", def.shown()), def.doc()]
}
