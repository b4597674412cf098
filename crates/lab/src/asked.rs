//! What commands of the laboratory take: options that explain themselves, the binary to measure, and kept runs.

use anyhow::{Context, bail, ensure};
use clap::Parser;
use model::record::Run;
use std::path::{Path, PathBuf};
use store::Store;
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

/// All runs of these stores.
pub(crate) fn runs(stores: &[PathBuf]) -> anyhow::Result<Vec<Run>> {
    let mut runs = Vec::new();
    for path in stores {
        let store = Store::open_read_only(path)
            .with_context(|| format!("open the store `{}`", path.display()))?;
        for line in store.list()? {
            runs.push(store.load_to_compare(&line.id)?);
        }
    }
    Ok(runs)
}
