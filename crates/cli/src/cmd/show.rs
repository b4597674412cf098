//! `kurabe show [RUN]`: a kept run in any format. Nothing is measured again.

use crate::args::{ShowArgs, ShowFormat, Shown};
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use model::plan::PlannedCase;
use model::record::{End, Outcome, Run};

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

/// Shows a run that has just been measured, and says how it went.
pub(crate) fn measured(context: &Context, run: &Run, shown: Shown) -> anyhow::Result<Exit> {
    let format = if shown.json {
        ShowFormat::Json
    } else {
        ShowFormat::Text
    };
    output::print(&render(context, run, format))?;
    Ok(exit(run))
}

/// How a measured run went: whether it was interrupted, and whether every case has a round.
pub(crate) fn exit(run: &Run) -> Exit {
    if run.meta.end == End::Interrupted {
        return Exit::Interrupted;
    }
    let measured = |case: &PlannedCase| {
        run.rounds_of(&case.id)
            .any(|round| matches!(round.outcome, Outcome::Done(_)))
    };
    if run.plan.cases.iter().all(measured) {
        Exit::Ok
    } else {
        Exit::Incomplete
    }
}

/// The run in this format.
fn render(context: &Context, run: &Run, format: ShowFormat) -> String {
    let view = report::view::view(run);
    match format {
        ShowFormat::Text => {
            context.showable(report::text::text(&view, context.style, context.lang))
        }
        ShowFormat::Json => report::json::run(&view),
        ShowFormat::Markdown => report::markdown::markdown(&view, context.lang),
        ShowFormat::Csv => report::csv::metrics(&view),
        ShowFormat::CsvRounds => report::csv::rounds(&view),
        ShowFormat::Unixbench => report::unixbench(&view),
    }
}
