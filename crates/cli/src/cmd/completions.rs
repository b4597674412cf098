//! `kurabe completions SHELL`: a script by which a shell asks this program how a word may go on.

use crate::complete;
use crate::exit::Exit;
use crate::output;
use anyhow::Context as _;
use clap_complete::Shell;

pub(crate) fn run(shell: Shell) -> anyhow::Result<Exit> {
    let script = complete::script(shell).with_context(|| format!("write a script for {shell}"))?;
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
