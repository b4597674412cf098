//! `kurabe compare BASE OTHER...`: reads the runs and calls one pure function for each pair.

use crate::args::{CompareArgs, CompareFormat, FailIf};
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use model::comparison::Verdict;
use model::record::Run;
use report::comparison::{self, CompareOptions};

pub(crate) fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<Exit> {
    let base = context.load(&args.base)?;
    let others: Vec<Run> = args
        .others
        .iter()
        .map(|other| context.load(other))
        .collect::<anyhow::Result<_>>()?;
    let options = CompareOptions {
        margin: args.margin,
    };
    let view = comparison::view(&base, &others.iter().collect::<Vec<_>>(), &options);
    output::print(&match args.format {
        CompareFormat::Text => report::comparison_text::text(&view, context.style, context.lang),
        CompareFormat::Markdown => report::comparison_markdown::markdown(&view, context.lang),
        CompareFormat::Json => report::json::comparison(&view),
    })?;
    let compared = view.others.iter().all(|(_, comparison)| {
        comparison
            .metrics
            .iter()
            .any(|metric| metric.interval.is_some())
    });
    let worse = view
        .others
        .iter()
        .flat_map(|(_, comparison)| &comparison.metrics)
        .any(|metric| metric.adjusted == Verdict::Worse);
    Ok(match args.fail_if {
        Some(FailIf::Worse) if worse => Exit::GateFailed,
        // A gate that compared nothing has not been passed.
        Some(FailIf::Worse) if !compared => Exit::Incomplete,
        _ => Exit::Ok,
    })
}
