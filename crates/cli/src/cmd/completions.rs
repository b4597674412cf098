//! `kurabe completions SHELL`: a completion script, made from the command line itself.

use crate::context::Context;
use crate::exit::Exit;
use clap_complete::Shell;

pub(crate) fn run(context: &Context, shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "kurabe", &mut script);
    context.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
