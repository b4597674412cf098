//! `kurabe import FILE...`: keeps runs that another kurabe exported.

use crate::args::ImportArgs;
use crate::context::{Context, read_as};
use crate::exit::Exit;
use crate::output;
use model::record::{End, Run};
use stats::Brief;
use store::export::Export;

pub(crate) fn run(context: &Context, args: &ImportArgs) -> anyhow::Result<Exit> {
    // All files are read before the first is kept: a bad one leaves the store as it was.
    let exports: Vec<_> = args
        .files
        .iter()
        .map(|path| read_as(path, Export::of))
        .collect::<anyhow::Result<_>>()?;
    let store = context.store(args.others.dir_of_others)?;
    for export in &exports {
        let news = store.import_export(export)?;
        let Run { meta, .. } = export.run();
        let id = &meta.id;
        if news && meta.end != End::Open {
            let run = store.load_to_compare(id)?;
            store.note_brief(id, &Brief::of(&run).text())?;
        }
        output::say(&if news {
            format!("kept run {id} ({} rounds)", export.rounds())
        } else {
            format!("run {id} was kept already")
        });
    }
    Ok(Exit::Ok)
}
