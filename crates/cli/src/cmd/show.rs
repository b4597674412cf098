//! `kurabe show [RUN]`: a kept run in any format. Nothing is measured again.

use crate::args::{ShowArgs, ShowFormat};
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use model::record::Run;

pub(crate) fn run(context: &Context, args: &ShowArgs) -> anyhow::Result<Exit> {
    let run = context.load(&args.run)?;
    let format = if args.json {
        ShowFormat::Json
    } else {
        args.format
    };
    output::print(&render(context, &run, format))?;
    Ok(Exit::Ok)
}

/// The run in this format.
pub(crate) fn render(context: &Context, run: &Run, format: ShowFormat) -> String {
    let view = report::view::view(run);
    match format {
        ShowFormat::Text => report::text::text(&view, context.style, context.lang),
        ShowFormat::Json => report::json::run(&view),
        ShowFormat::Markdown => report::markdown::markdown(&view, context.lang),
        ShowFormat::Csv => report::csv::metrics(&view),
        ShowFormat::CsvRounds => report::csv::rounds(&view),
        ShowFormat::Unixbench => report::unixbench(&view),
    }
}
