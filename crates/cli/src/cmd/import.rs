//! `kurabe import FILE...`: keeps runs that another kurabe exported.

use crate::args::ImportArgs;
use crate::context::{Context, read_export};
use crate::exit::Exit;
use crate::output;

pub(crate) fn run(context: &Context, args: &ImportArgs) -> anyhow::Result<Exit> {
    // All files are read before the first is kept: a bad one leaves the store as it was.
    let runs: Vec<_> = args
        .files
        .iter()
        .map(|path| read_export(path))
        .collect::<anyhow::Result<_>>()?;
    let store = context.store()?;
    for run in &runs {
        let news = store.import(run)?;
        let id = &run.meta.id;
        output::say(&if news {
            format!("kept run {id} ({} rounds)", run.rounds.len())
        } else {
            format!("run {id} was kept already")
        });
    }
    Ok(Exit::Ok)
}
