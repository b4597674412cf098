//! `kurabe export RUN`: one run as a file.

use crate::args::ExportArgs;
use crate::context::Context;
use crate::directory;
use crate::exit::{Exit, failure};
use crate::output;
use std::fs::OpenOptions;
use std::io::{Error, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;

pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let run = context.load(&args.run)?;
    let text = dialects::printable::json(store::export::write(&run)?);
    let Some(path) = &args.output else {
        output::print(&text)?;
        return Ok(Exit::Ok);
    };
    let refused = |error: Error, hint| {
        failure(
            Exit::Usage,
            format!("write `{}`: {error}", path.display()),
            hint,
        )
    };
    let place =
        directory::refuse_strangers_to_new(path, "--output FILE", args.others.dir_of_others)?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&place)
        .map_err(|error| {
            let hint = (error.kind() == ErrorKind::AlreadyExists).then_some(
                "kurabe overwrites no files: remove it, or name another with `--output FILE`",
            );
            refused(error, hint)
        })?;
    if let Err(error) = file.write_all(text.as_bytes()) {
        // We made it a moment ago, and half of a run is of no use.
        if let Ok(made) = file.metadata() {
            let _ = sys::io::remove::remove_exactly(&place, made.dev(), made.ino());
        }
        return Err(refused(error, None));
    }
    output::say(&format!("wrote run {} to {}", run.meta.id, path.display()));
    Ok(Exit::Ok)
}
