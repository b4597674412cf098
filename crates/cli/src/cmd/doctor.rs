//! `kurabe doctor`: what is known about this machine, and what is not, with the reason.

use crate::args::DoctorArgs;
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use anyhow::Context as _;

pub(crate) fn run(context: &Context, args: &DoctorArgs) -> anyhow::Result<Exit> {
    let dir = match &args.dir {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().context("find the current directory")?,
    };
    let dir =
        std::fs::canonicalize(&dir).with_context(|| format!("look at `{}`", dir.display()))?;
    let host = crate::directory::host_facts(&dir);
    output::print(&if args.json {
        report::json::host(&host)
    } else {
        report::render::text(
            &report::page::host::page(&host, context.lang),
            context.style,
        )
    })?;
    Ok(Exit::Ok)
}
