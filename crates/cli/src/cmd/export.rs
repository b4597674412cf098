//! `kurabe export RUN`: one run as a file.

use crate::args::ExportArgs;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};

pub(crate) fn run(context: &Context, args: &ExportArgs) -> anyhow::Result<Exit> {
    let run = context.load(&args.run)?;
    let text = store::export::write(&run)?;
    let Some(path) = &args.output else {
        output::print(&text)?;
        return Ok(Exit::Ok);
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| {
        let hint = (error.kind() == ErrorKind::AlreadyExists).then_some(
            "kurabe overwrites no files: remove it, or name another with `--output FILE`",
        );
        failure(
            Exit::Usage,
            format!("write `{}`: {error}", path.display()),
            hint,
        )
    })?;
    output::say(&format!("wrote run {} to {}", run.meta.id, path.display()));
    Ok(Exit::Ok)
}
