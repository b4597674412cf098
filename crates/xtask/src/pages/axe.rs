//! axe-core, which looks for what people with a keyboard, a screen reader or weak eyes would stumble over.
//!
//! Its licence (MPL-2.0) keeps it out of this repository and of everything that we ship: it is fetched from its package
//! into the build products, and what was fetched must have the digest that stands here. Where it cannot be had the step
//! says so.

use crate::process::{command, succeed, succeeds, target_dir};
use anyhow::{Context, ensure};
use sha2::{Digest, Sha512};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const VERSION: &str = "4.14.1";

/// SHA-512 of its package, as the registry tells it for this version.
const DIGEST: &str = "1477dafa598d8d065f273d6af302aa203c02e83131707b7fa648cd41bd3d6b73\
                      4f8c22a0dab86ee6a6f64b8afbe804b214d36db85a2826965edfb3a0b9d546b5";

/// The rules of WCAG 2.2, levels A and AA, run in both themes and both languages of the page.
pub(super) const PROBE: &str = include_str!("axe.js");

/// Its text, fetched where it is not there yet; or why there is none.
pub(super) fn text(root: &Path) -> Result<String, String> {
    let dir = target_dir(root).join("axe-core");
    fetched(root, &dir).map_err(|why| format!("axe-core {VERSION} is skipped: {why:#}"))
}

fn fetched(root: &Path, dir: &Path) -> anyhow::Result<String> {
    let package: PathBuf = dir.join(format!("axe-core-{VERSION}.tgz"));
    if !package.exists() {
        ensure!(
            succeeds(command(root, "npm").arg("--version")),
            "npm is missing, which fetches it; `apt install npm` installs it"
        );
        fs::create_dir_all(dir).with_context(|| format!("make `{}`", dir.display()))?;
        let what = format!("axe-core@{VERSION}");
        let mut pack = command(dir, "npm");
        let fetch = ["--fetch-timeout=20000", "--fetch-retries=1"];
        pack.args(["pack", &what]).args(fetch);
        ensure!(succeeds(&mut pack), "npm cannot fetch `{what}`");
    }
    let bytes = fs::read(&package).with_context(|| format!("read `{}`", package.display()))?;
    ensure!(
        digest(&bytes) == DIGEST,
        "`{}` is not the package that is known: remove it",
        package.display()
    );
    let inside = "package/axe.min.js";
    succeed(command(dir, "tar").arg("-xzf").arg(&package).arg(inside))?;
    let script = dir.join(inside);
    fs::read_to_string(&script).with_context(|| format!("read `{}`", script.display()))
}

fn digest(bytes: &[u8]) -> String {
    let digest = Sha512::digest(bytes);
    digest.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_another_one_is_not_used() {
        // FIPS 180-4, of nothing.
        assert!(digest(b"").starts_with("cf83e1357eefb8bdf1542850d66d8007"));
        let dir = tempfile::tempdir().unwrap();
        let package = dir.path().join(format!("axe-core-{VERSION}.tgz"));
        fs::write(package, "something else").unwrap();
        let why = fetched(dir.path(), dir.path()).unwrap_err().to_string();
        assert!(why.contains("is not the package that is known"), "{why}");
    }
}
