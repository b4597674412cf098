//! `kurabe export RUN`: one run as a file; or every run, each as one in a directory.

use crate::args::ExportArgs;
use crate::context::Context;
use crate::directory;
use crate::exit::{Exit, failure};
use crate::output;
use model::bounds;
use model::record::Run;
use report::number::counted;
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// What the user names the place with.
const OPTION: &str = "--output FILE";

pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let of_others = args.others.dir_of_others;
    match &args.output {
        Some(dir) if args.all => all(context, dir, of_others)?,
        Some(path) => {
            let run = context.load(&args.run)?;
            let place = directory::refuse_strangers_to_new(path, OPTION, of_others)?;
            write(&run, path, &place)?;
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
        std::fs::create_dir(&place).map_err(|error| refused(dir, &error))?;
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
        if place.symlink_metadata().is_ok() {
            return Err(refused(&path, &ErrorKind::AlreadyExists.into()));
        }
        Ok([path, place])
    };
    let files = runs.iter().map(|run| named(&run.id));
    let files: Vec<[PathBuf; 2]> = files.collect::<anyhow::Result<_>>()?;
    for (run, [path, place]) in runs.iter().zip(&files) {
        write(&store.load(&run.id)?, path, place)?;
    }
    let runs = counted(runs.len(), "run", "runs");
    output::say(&format!("wrote {runs} to {}", dir.display()));
    Ok(())
}

fn text(run: &Run) -> anyhow::Result<String> {
    Ok(dialects::printable::json(store::export::write(run)?))
}

/// Writes a run to a new file, whole or not at all.
fn write(run: &Run, path: &Path, place: &Path) -> anyhow::Result<()> {
    let text = text(run)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(place)
        .map_err(|error| refused(path, &error))?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // We made it a moment ago, and half of a run is of no use.
        if let Ok(made) = file.metadata() {
            let _ = sys::io::remove::remove_exactly(place, made.dev(), made.ino());
        }
        return Err(refused(path, &error));
    }
    Ok(())
}

fn refused(path: &Path, error: &Error) -> anyhow::Error {
    let hint = (error.kind() == ErrorKind::AlreadyExists)
        .then_some("kurabe overwrites no files: remove it, or name another with `--output FILE`");
    let what = format!("write `{}`: {error}", path.display());
    failure(Exit::Usage, what, hint)
}
