//! The project's own tasks, called as `cargo xtask TASK`, and what they share with the laboratory, `cargo lab NAME`.
//!
//! They are a Rust program so that they run wherever the project builds, read the same registry and command line as
//! the program itself, and are linted and tested like everything else. None of it is part of what is shipped.

/// Says a line to the person or the log that called a task; nothing here is shipped. Whoever closed the other end
/// (`| head`) has seen enough: the task goes on to its end, where it undoes what it did to the machine.
#[macro_export]
macro_rules! say {
    ($($arg:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stdout(), $($arg)*);
    }};
}

mod advisories;
mod ci;
pub mod dist;
mod elf;
#[cfg(test)]
mod features;
mod generate;
pub mod pages;
pub mod process;
mod tidy;

use anyhow::{Context, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Something that can be asked for by name.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The name.
    pub name: &'static str,
    /// What it does, for the list of all tasks; one without is not listed.
    pub what: &'static str,
    /// Does it, given the top of the workspace and what stands behind the name.
    pub run: fn(&Path, &[&str]) -> anyhow::Result<()>,
}

/// Every task of `cargo xtask`.
pub const TASKS: &[Task] = &[
    Task {
        name: "ci",
        what: "everything that a change must pass, in order; stops at the first failure",
        run: |root, arguments| alone(arguments).and_then(|()| ci::run(root)),
    },
    Task {
        name: "tidy",
        what: "the project's own rules: layers, files, words, links",
        run: |root, arguments| alone(arguments).and_then(|()| tidy::run(root)),
    },
    Task {
        name: "gen",
        what: "write the generated files anew; `gen --check` only says which differ",
        run: |root, arguments| match arguments {
            ["--check"] => generate::check(root),
            _ => alone(arguments).and_then(|()| generate::write(root)),
        },
    },
    Task {
        name: "advisories",
        what: "whether a dependency has a known weakness, by a list from the network; to be run every month",
        run: |root, arguments| alone(arguments).and_then(|()| advisories::run(root)),
    },
    Task {
        name: "pages",
        what: "open published pages in a browser, as `ci` does; their pictures stay in target/report-shots",
        run: |root, arguments| {
            alone(arguments)?;
            let browser = pages::browser(root).context(pages::INSTALL)?;
            if let Some(why) = pages::check(root, browser)? {
                say!("{why}");
            }
            Ok(())
        },
    },
    Task {
        name: "dist",
        what: "build the static release binary into target/dist and check it",
        run: |root, arguments| alone(arguments).and_then(|()| dist::run(root)),
    },
];

/// Does what the command line asks of `tasks`, which cargo calls `name`.
pub fn main(name: &str, tasks: &[Task]) -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match dispatch(name, tasks, &arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(name: &str, tasks: &[Task], arguments: &[&str]) -> anyhow::Result<()> {
    let (word, rest) = match arguments {
        [] | ["help" | "--help" | "-h"] => {
            for task in tasks.iter().filter(|task| !task.what.is_empty()) {
                say!("cargo {name} {:<10} {}", task.name, task.what);
            }
            return Ok(());
        }
        [word, rest @ ..] => (word, rest),
    };
    let Some(task) = tasks.iter().find(|task| task.name == *word) else {
        bail!("no such task: `{word}`\nhint: `cargo {name} help` shows them all");
    };
    (task.run)(&root()?, rest)
}

/// Refuses words behind the name of a task that takes none.
fn alone(arguments: &[&str]) -> anyhow::Result<()> {
    ensure!(
        arguments.is_empty(),
        "`{}` stands behind a task that takes nothing more",
        arguments.join(" ")
    );
    Ok(())
}

/// The top of the workspace. Cargo says at run time where the crate of a task is, so a moved checkout needs no rebuild.
pub fn root() -> anyhow::Result<PathBuf> {
    let here = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set\nhint: start tasks with `cargo`")?;
    PathBuf::from(here)
        .join("../..")
        .canonicalize()
        .context("find the top of the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_found_by_name_and_refuse_what_they_do_not_take() {
        const DONE: &[Task] = &[Task {
            name: "do",
            what: "",
            run: |root, arguments| {
                assert!(root.join("Cargo.lock").exists());
                alone(arguments)
            },
        }];
        let check = |arguments: &[&str], expect: &str| {
            let error = dispatch("lab", DONE, arguments).err();
            let text = error.map_or(String::new(), |error| error.to_string());
            assert_eq!(text, expect, "{arguments:?}");
        };
        check(&["do"], "");
        check(&[], "");
        check(&["--help"], "");
        check(
            &["do", "it"],
            "`it` stands behind a task that takes nothing more",
        );
        check(
            &["fly"],
            "no such task: `fly`\nhint: `cargo lab help` shows them all",
        );
    }
}
