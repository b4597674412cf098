//! `kurabe compare BASE OTHER...`: reads the runs and calls one pure function for each pair of sides.

use crate::args::{CompareArgs, CompareFormat, FailIf};
use crate::context::{Context, Reader};
use crate::exit::{Exit, failure};
use crate::output;
use model::comparison::Verdict;
use model::record::Run;
use report::comparison::{self, CompareOptions, Party};

pub(crate) fn run(context: &Context, args: &CompareArgs) -> anyhow::Result<Exit> {
    let reader = context.reader();
    let base = side(&reader, &args.base)?;
    let others: Vec<Vec<Run>> = args
        .others
        .iter()
        .map(|other| side(&reader, other))
        .collect::<anyhow::Result<_>>()?;
    let options = CompareOptions {
        margin: args.margin,
    };
    let view = comparison::view_groups(
        party(&base),
        others.iter().map(|other| party(other)).collect(),
        &options,
    );
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

/// The runs of one side: one, or a list with commas. What is a run's name as a whole is no list: labels and paths may
/// hold commas.
fn side(reader: &Reader<'_>, text: &str) -> anyhow::Result<Vec<Run>> {
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if parts.len() == 1 {
        return Ok(vec![reader.load_to_compare(text)?]);
    }
    if let Ok(run) = reader.load_to_compare(text) {
        return Ok(vec![run]);
    }
    let runs: Vec<Run> = parts
        .into_iter()
        .filter(|part| !part.is_empty())
        .map(|part| reader.load_to_compare(part))
        .collect::<anyhow::Result<_>>()?;
    no_run_twice(text, &runs)?;
    Ok(runs)
}

/// A run that is named twice would count as two instances.
fn no_run_twice(text: &str, runs: &[Run]) -> anyhow::Result<()> {
    let mut ids: Vec<&str> = runs.iter().map(|run| run.meta.id.as_str()).collect();
    ids.sort_unstable();
    let twice = ids.windows(2).find(|pair| pair[0] == pair[1]);
    match (twice, runs.is_empty()) {
        (Some(pair), _) => {
            let why = format!("compare: `{text}` names the run `{}` twice", pair[0]);
            Err(failure(Exit::Usage, why, None))
        }
        (None, true) => {
            let why = format!("compare: `{text}` names no run");
            Err(failure(Exit::Usage, why, Some("see `kurabe list`")))
        }
        (None, false) => Ok(()),
    }
}

fn party(runs: &[Run]) -> Party<'_> {
    Party::group(runs).expect("a side has been read with at least one run")
}
