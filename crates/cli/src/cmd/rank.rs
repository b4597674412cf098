//! `kurabe rank [METRIC...] RUN...`: many runs in one order, each with the ranks that it may have.

use crate::args::RankArgs;
use crate::catalogue;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::joined;
use crate::known::Known;
use crate::output;
use model::figure::FigureName;
use model::record::Run;
use report::formats::Shown;

pub(crate) fn run(context: &Context, args: &RankArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen();
    let catalogue = catalogue::read(args.catalogue.file())?;
    let reader = context.reader();
    let figures = args.what.iter().filter_map(|word| figure(word));
    let whole = figures
        .into_iter()
        .any(|name| catalogue::takes_latencies(name.quantity.as_ref()));
    let (mut names, mut runs): (Vec<FigureName>, Vec<Run>) = (Vec::new(), Vec::new());
    for word in &args.what {
        // A label may look like a figure, and is then the run of that name.
        match (reader.load_in_full(word, whole), figure(word)) {
            (Ok(run), _) => no_run_twice(&mut runs, run, word)?,
            (Err(_), Some(name)) => names.push(name),
            (Err(error), None) => return Err(error),
        }
    }
    if runs.is_empty() {
        return Err(failure(
            Exit::Usage,
            "rank: no run is named",
            Some("`kurabe list` shows what is kept; behind the figures stand the runs"),
        ));
    }
    joined::under_asked_names(&mut runs, names.iter());
    Known::of(&runs).check("rank", &names)?;
    let view = report::ranking::view(&runs.iter().collect::<Vec<_>>(), &names, catalogue.as_ref());
    output::print(&format.draw(context, Shown::Ranking(&view))?)?;
    let most = view.tables.iter().map(|table| table.rows.len()).max();
    match most.unwrap_or_default() {
        0 => output::say("nothing could be ranked: no run has such a figure"),
        1 if runs.len() > 1 => {
            output::say("nothing could be ranked: no two of these runs have a figure in common");
        }
        _ => return Ok(Exit::Ok),
    }
    Ok(Exit::Incomplete)
}

/// A run that is named twice would stand in two rows.
fn no_run_twice(runs: &mut Vec<Run>, run: Run, word: &str) -> anyhow::Result<()> {
    if runs.iter().any(|other| other.meta.id == run.meta.id) {
        let why = format!(
            "rank: `{word}` names the run `{}` a second time",
            run.meta.id
        );
        let hint = "a label means the latest run of that name; name older ones by their ids";
        return Err(failure(Exit::Usage, why, Some(hint)));
    }
    runs.push(run);
    Ok(())
}

/// The figure that a word names, if it looks like one and not like a run.
fn figure(word: &str) -> Option<FigureName> {
    let name: FigureName = word.parse().ok()?;
    (name.copies.is_some() || name.quantity.is_some()).then_some(name)
}
