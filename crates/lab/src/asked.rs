//! What every command of the laboratory takes: options that explain themselves, and the binary to measure.

use anyhow::{Context, bail, ensure};
use clap::Parser;
use std::path::{Path, PathBuf};
use xtask::process::target_dir;

/// The options in `arguments`; `None` where help was asked for, which is then given with `more` behind it.
pub(crate) fn options<T: Parser>(arguments: &[&str], more: &str) -> anyhow::Result<Option<T>> {
    match T::try_parse_from(arguments) {
        Ok(options) => Ok(Some(options)),
        Err(error) if error.use_stderr() => bail!("{}", error.render()),
        Err(help) => {
            say!("{}{more}", help.render());
            Ok(None)
        }
    }
}

/// The binary that was asked for, or the static one, which is what is shipped.
pub(crate) fn binary(root: &Path, asked: Option<&Path>) -> anyhow::Result<PathBuf> {
    let binary = match asked {
        // Rounds have working directories of their own.
        Some(path) => std::path::absolute(path).context("find the binary")?,
        None => target_dir(root).join("dist/kurabe"),
    };
    ensure!(
        binary.is_file(),
        "measure `{}`: it is not there\nhint: `cargo xtask dist` builds it",
        binary.display()
    );
    Ok(binary)
}
