//! `kurabe export RUN`: one run as a file; or every run, each as one in a directory.

use crate::args::ExportArgs;
use crate::context::Context;
use crate::directory;
use crate::exit::{Exit, failure};
use crate::new_file::{self, OPTION, check_free, refused};
use crate::output;
use model::bounds;
use model::record::Run;
use report::number::counted;
use std::path::{Path, PathBuf};

pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let of_others = args.others.dir_of_others;
    match &args.output {
        Some(dir) if args.all => all(context, dir, of_others)?,
        Some(path) => {
            let run = context.load(&args.run)?;
            let place = new_file::place(path, of_others)?;
            new_file::write(path, &place, text(&run)?.as_bytes())?;
            output::say(&format!("wrote run {} to {}", run.meta.id, path.display()));
        }
        None => output::print(&text(&context.load(&args.run)?)?)?,
    }
    Ok(Exit::Ok)
}

/// Every run of the store. What is in the way is found before anything is written.
fn all(context: &Context, dir: &Path, of_others: bool) -> anyhow::Result<()> {
    let store = context.store_to_read()?;
    let runs = store.list()?;
    if runs.is_empty() {
        return Err(failure(
            Exit::Usage,
            format!(
                "export every run: none is kept in `{}`",
                context.store_path()?.display()
            ),
            Some("`kurabe run` makes one; `--store FILE` names another store"),
        ));
    }
    let place = directory::refuse_strangers_to_new(dir, OPTION, of_others)?;
    if !place.is_dir() {
        let hint = "name a directory, or a new one in a directory in which you may write";
        std::fs::create_dir(&place).map_err(|error| refused(dir, &error, Some(hint)))?;
    }
    let named = |id: &str| -> anyhow::Result<[PathBuf; 2]> {
        // A store that was changed by hand may have anything.
        if !bounds::is_id(id) {
            let why = format!("export every run: the id `{id}` is no name for a file");
            let hint = "`kurabe export RUN --output FILE` writes that run";
            return Err(failure(Exit::Usage, why, Some(hint)));
        }
        let name = format!("{id}.json");
        let [path, place] = [dir, &place].map(|dir| dir.join(&name));
        check_free(&path, &place)?;
        Ok([path, place])
    };
    let files = runs.iter().map(|run| named(&run.id));
    let files: Vec<[PathBuf; 2]> = files.collect::<anyhow::Result<_>>()?;
    for (run, [path, place]) in runs.iter().zip(&files) {
        new_file::write(path, place, text(&store.load(&run.id)?)?.as_bytes())?;
    }
    let runs = counted(runs.len(), "run", "runs");
    output::say(&format!("wrote {runs} to {}", dir.display()));
    Ok(())
}

fn text(run: &Run) -> anyhow::Result<String> {
    Ok(dialects::printable::json(store::export::write(run)?))
}
