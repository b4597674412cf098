//! The project's own tasks, called as `cargo xtask COMMAND`.
//!
//! They are a Rust program so that they run wherever the project builds, read the same registry and command line as
//! the program itself, and are linted and tested like everything else. None of it is part of what is shipped.

/// Says a line to the person or the log that called a task; nothing here is shipped. Whoever closed the other end
/// (`| head`) has seen enough: the task goes on to its end, where it undoes what it did to the machine.
macro_rules! say {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($arg)*);
    }};
}

mod advisories;
mod ci;
mod comparison;
mod crosscheck;
mod dist;
mod elf;
#[cfg(test)]
mod features;
mod generate;
mod guest;
mod overhead;
mod process;
mod tidy;
mod truth;

use anyhow::{Context, bail};
use std::path::PathBuf;
use std::process::ExitCode;

/// Every command with what it does.
pub(crate) const COMMANDS: &[(&str, &str)] = &[
    (
        "ci",
        "everything that a change must pass, in order; stops at the first failure",
    ),
    (
        "tidy",
        "the project's own rules: layers, files, words, links",
    ),
    (
        "gen",
        "write the generated files anew; `gen --check` only says which differ",
    ),
    (
        "advisories",
        "whether a dependency has a known weakness, by a list from the network; to be run every month",
    ),
    (
        "dist",
        "build the static release binary into target/dist and check it",
    ),
    (
        "crosscheck",
        "our figures beside those of sysbench, mbw, stress-ng and a chase in C; `crosscheck rebuild` links in other orders",
    ),
    (
        "overhead",
        "measure what the static binary itself costs, and beside fio, against the project's limits; `overhead --help`",
    ),
    (
        "comparison",
        "how long `kurabe compare` takes for 100 metrics, wall and CPU; `comparison BINARY...` takes turns",
    ),
    (
        "truth",
        "ground-truth experiments on the real machine; `truth --help` lists them",
    ),
    (
        "guest",
        "the same, devices in use, and memory tests on rare machines, on a kernel of Debian's in an emulator; `guest --help`",
    ),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["ci"] => ci::run(&root()?),
        ["tidy"] => tidy::run(&root()?),
        ["gen"] => generate::write(&root()?),
        ["gen", "--check"] => generate::check(&root()?),
        ["advisories"] => advisories::run(&root()?),
        ["dist"] => dist::run(&root()?),
        ["crosscheck", arguments @ ..] => crosscheck::run(&root()?, arguments),
        ["overhead", arguments @ ..] => overhead::run(&root()?, arguments),
        ["comparison", binaries @ ..] => comparison::run(&root()?, binaries),
        ["truth", rest @ ..] => truth::run(&root()?, rest),
        ["guest", rest @ ..] => guest::run(&root()?, rest),
        [truth::helper::WORD, rest @ ..] => truth::helper::run(rest),
        [] | ["help" | "--help" | "-h"] => {
            for (name, what) in COMMANDS {
                say!("cargo xtask {name:<10} {what}");
            }
            Ok(())
        }
        other => bail!(
            "no such task: `{}`\nhint: `cargo xtask help` shows them all",
            other.join(" ")
        ),
    }
}

/// The top of the workspace. Cargo says at run time where this crate is, so a moved checkout needs no rebuild.
fn root() -> anyhow::Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set\nhint: start tasks with `cargo xtask`")?;
    PathBuf::from(here)
        .join("../..")
        .canonicalize()
        .context("find the top of the workspace")
}
