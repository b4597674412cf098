//! `kurabe completions SHELL`: a completion script, made from the command line itself.

use crate::exit::Exit;
use crate::output;
use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut crate::command(), "kurabe", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
