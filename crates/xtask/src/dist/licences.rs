//! The file that is handed on beside the binary: the licences of all that is linked into it, as it prints them, and the
//! command that links it again, with which compiler and which C library. Without it, or with less in it than is in the
//! binary, nothing is shipped.

use crate::generate::licences::linked;
use crate::process::{command, output, shown};
use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Its name, beside the binary.
const NAME: &str = "kurabe-licences.txt";

/// Where the parts of Rust's standard library are named.
const STANDARD: &str = "\nThe Rust standard library";

/// How glibc begins to name itself, on a line of its own.
const GLIBC: &str = "GNU C Library (";

/// Writes the file beside `binary`, which `build` made; returns its path.
pub(super) fn write(root: &Path, binary: &Path, build: &Command) -> anyhow::Result<PathBuf> {
    let page = output(command(root, binary).arg("licences"))?;
    let missing = missing(&page, &linked(root)?, &standard(root)?);
    ensure!(
        missing.is_empty(),
        "`{} licences` does not name {}\nhint: `cargo xtask gen` for a crate, crates/cli/licences/others.txt for a part \
         of Rust's standard library, and a static C library that names itself (`apt-get install libc6-dev`)",
        binary.display(),
        missing.join(", ")
    );
    let path = binary.with_file_name(NAME);
    let text = format!("{page}\n{}", how_built(root, build)?);
    std::fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))?;
    Ok(path)
}

/// What is in the binary and not on its page.
fn missing(page: &str, crates: &BTreeSet<String>, standard: &BTreeSet<String>) -> Vec<String> {
    // Its parts are named where it is, and words such as `test` stand elsewhere too.
    let (_, about) = page.split_once(STANDARD).unwrap_or_default();
    let (about, _) = about.split_once("\nCRATES\n").unwrap_or((about, ""));
    let words: BTreeSet<&str> = about
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    let crates = crates
        .iter()
        .filter(|name| !page.contains(&format!("\n{name} (")))
        .map(|name| format!("the crate `{name}`"));
    let standard = standard
        .iter()
        .filter(|name| !words.contains(name.as_str()))
        .map(|name| format!("`{name}` of Rust's standard library"));
    let glibc = page
        .lines()
        .any(|line| line.trim().starts_with(GLIBC) && line.contains(" release version "));
    let glibc = (!glibc).then(|| "the C library and its version".to_owned());
    crates.chain(standard).chain(glibc).collect()
}

/// The libraries that this Rust's standard library is made of.
fn standard(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let dir = output(command(root, rustc()).args(["--print", "target-libdir"]))?;
    let entries =
        std::fs::read_dir(dir.trim()).with_context(|| format!("list `{}`", dir.trim()))?;
    let mut names = BTreeSet::new();
    for entry in entries {
        let name = entry
            .with_context(|| format!("list `{}`", dir.trim()))?
            .file_name();
        let name = name.to_string_lossy();
        let library = name
            .strip_suffix(".rlib")
            .and_then(|name| name.strip_prefix("lib"));
        if let Some((library, _)) = library.and_then(|name| name.rsplit_once('-')) {
            names.insert(library.to_owned());
        }
    }
    ensure!(!names.is_empty(), "no libraries in `{}`", dir.trim());
    Ok(names)
}

fn rustc() -> std::ffi::OsString {
    std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into())
}

/// Compiler, linker and source, and the command as one can type it at the top of the source.
fn how_built(root: &Path, build: &Command) -> anyhow::Result<String> {
    let first = |program: &std::ffi::OsStr, argument: &str| {
        let text = output(command(root, program).arg(argument))?;
        anyhow::Ok(text.lines().next().unwrap_or_default().to_owned())
    };
    let what = [
        "describe",
        "--always",
        "--dirty",
        "--abbrev=40",
        "--exclude=*",
    ];
    let commit = output(command(root, "git").args(what))
        .context("ask for the commit\nhint: build from a checkout: the C library's licence asks for the source")?;
    let source = match commit.trim().strip_suffix("-dirty") {
        None => commit.trim().to_owned(),
        Some(commit) => format!("{commit}, with changes that are in no commit"),
    };
    let mut text = String::from("HOW THIS PROGRAM WAS BUILT\n\n");
    writeln!(text, "source    commit {source}")?;
    writeln!(text, "compiler  {}", first(&rustc(), "-V")?)?;
    writeln!(text, "cargo     {}", first(build.get_program(), "-V")?)?;
    writeln!(text, "C         {}", first("cc".as_ref(), "--version")?)?;
    writeln!(text, "\n{}", typed(root, build))?;
    Ok(text)
}

/// The command with its environment, and without a path that is true for one machine only.
fn typed(root: &Path, build: &Command) -> String {
    let lines = super::lines_path(root).display().to_string();
    let root = root.display().to_string();
    let plain = |text: &str| {
        text.replace(&lines, "$PWD/crates/xtask/src/dist/lines.ld")
            .replace(&root, "$PWD")
            .replace(super::BETWEEN, " ")
    };
    let envs = build.get_envs().map(|(name, value)| {
        let name = name.to_string_lossy().replace("CARGO_ENCODED_", "");
        let value = value.unwrap_or_default().to_string_lossy();
        format!("{name}=\"{}\" \\\n", plain(&value))
    });
    envs.chain([plain(&shown(build))]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "C LIBRARY\n\n    GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n\n\
                        \nThe Rust standard library: core, cfg_if.\n\nCRATES\n\naes 0.9.4 (MIT)\n";

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|&name| name.to_owned()).collect()
    }

    #[test]
    fn a_binary_with_more_in_it_than_its_page_names_is_not_shipped() {
        let check = |page: &str, crates: &[&str], standard: &[&str], expect: &[&str]| {
            assert_eq!(missing(page, &set(crates), &set(standard)), expect);
        };
        check(PAGE, &["aes 0.9.4"], &["core", "cfg_if"], &[]);
        check(PAGE, &["aes 0.9.5"], &["core"], &["the crate `aes 0.9.5`"]);
        check(PAGE, &[], &["cor"], &["`cor` of Rust's standard library"]);
        check(PAGE, &[], &["aes"], &["`aes` of Rust's standard library"]);
        let unknown = PAGE.replace("release version", "");
        check(&unknown, &[], &[], &["the C library and its version"]);
    }

    #[test]
    fn every_part_of_this_rusts_standard_library_is_named() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let page = std::fs::read_to_string(root.join("crates/cli/licences/others.txt")).unwrap();
        let expect = ["the C library and its version"];
        assert_eq!(missing(&page, &set(&[]), &standard(&root).unwrap()), expect);
    }

    #[test]
    fn the_command_that_links_again_names_no_directory_of_this_machine() {
        let root = std::env::temp_dir().join(format!("xtask-licences-{}", std::process::id()));
        let build = super::super::building(&root, "build", "x86_64-unknown-linux-gnu").unwrap();
        let typed = typed(&root, &build);
        // CARGO_TARGET_DIR may have named another place for what was made.
        let _ = std::fs::remove_dir_all(&root);
        for needle in [
            "RUSTFLAGS=\"-Ctarget-feature=+crt-static -Crelocation-model=static ",
            " -Clink-arg=-Wl,-T,$PWD/crates/xtask",
            "CFLAGS=\"-falign-functions=64\" \\\n",
            "build --locked --profile dist --target x86_64-unknown-linux-gnu -p kurabe",
        ] {
            assert!(typed.contains(needle), "{needle}: {typed}");
        }
        assert!(!typed.contains(&*root.to_string_lossy()), "{typed}");
    }
}
