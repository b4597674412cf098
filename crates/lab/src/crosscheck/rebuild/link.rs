//! One build, linked several times with its sections in other orders.
//!
//! The order of linking decides where the rest of the program lies, and its data. Measured code stands together, as the
//! compiler wrote it, in every build (`dist/lines.ld`), and so do its constants: no linker shuffles them. This one
//! shuffles the code where it is asked to, to show what its order is worth.

use anyhow::{Context, ensure};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use xtask::dist::building;
use xtask::process::{command, host_target, output, succeed};

/// Sections of some code that is not measured, of which none belongs to measured code by its name: libraries of the
/// pages, of the command line and of the store, and our statistics.
pub(super) const REST: &[&str] = &[
    ".text.sqlite3*",
    ".text._ZN8rusqlite*",
    ".text._ZN12clap_builder*",
    ".text._ZN4jiff*",
    ".text._ZN11comfy_table*",
    ".text._ZN9indicatif*",
    ".text._ZN5stats*",
];

/// Sections of all code, that which is measured too.
pub(super) const ALL: &[&str] = &[".text*"];

/// Sections of data: all that is written, and constants that have no name or belong to [the rest](REST). Those of
/// measured code have a place as its code has.
const DATA: &[&str] = &[
    ".rodata..Lanon*",
    ".rodata.sqlite3*",
    ".rodata.*clap_builder*",
    ".rodata.*4jiff*",
    ".rodata.*5stats*",
    ".data*",
    ".bss*",
];

/// Builds as `cargo xtask dist` does, with a linker that links once more for each binary.
pub(super) fn build(
    root: &Path,
    dir: &Path,
    binaries: &[PathBuf],
    code: &[&str],
) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir).with_context(|| format!("create `{}`", dir.display()))?;
    let target = host_target(root)?;
    for old in binaries {
        let _ = std::fs::remove_file(old);
    }
    // Under another name in each call: cargo would not link again for a script that says something else.
    let script = dir.join(format!("linker-{}", std::process::id()));
    std::fs::write(&script, linker(&shuffler(root, &target)?, binaries, code))
        .with_context(|| format!("write `{}`", script.display()))?;
    succeed(command(root, "chmod").arg("+x").arg(&script))?;
    let linker = format!("linker={}", script.display());
    let mut build = building(root, "rustc", &target)?;
    build.args(["--bin", "kurabe", "--", "-C", &linker]);
    let built = succeed(&mut build);
    std::fs::remove_file(&script).with_context(|| format!("remove `{}`", script.display()))?;
    built
}

/// What was linked in another order is another file; of two that are the same nothing can be learned.
pub(super) fn all_differ(binaries: &[PathBuf]) -> anyhow::Result<()> {
    let mut seen: Vec<Vec<u8>> = Vec::new();
    for binary in binaries {
        let bytes =
            std::fs::read(binary).with_context(|| format!("read `{}`", binary.display()))?;
        ensure!(
            !seen.contains(&bytes),
            "compare `{}`: another of the binaries is the same",
            binary.display()
        );
        seen.push(bytes);
    }
    Ok(())
}

/// Where the compiler keeps the linker that can shuffle sections.
fn shuffler(root: &Path, target: &str) -> anyhow::Result<PathBuf> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let sysroot = output(command(root, rustc).args(["--print", "sysroot"]))?;
    let dir = Path::new(sysroot.trim())
        .join("lib/rustlib")
        .join(target)
        .join("bin/gcc-ld");
    ensure!(
        dir.join("ld.lld").is_file(),
        "link with lld: this compiler does not come with it (`{}`)",
        dir.display()
    );
    Ok(dir)
}

/// A linker that does what it is asked, and then the same with the sections of `code` and of all data in other orders.
fn linker(lld: &Path, binaries: &[PathBuf], code: &[&str]) -> String {
    let mut script = "#!/bin/sh\nset -e\ncc \"$@\"\n".to_owned();
    for (seed, binary) in (1..).zip(binaries) {
        let shuffles: Vec<String> = [code, DATA]
            .concat()
            .iter()
            .map(|sections| format!("'-Wl,--shuffle-sections={sections}={seed}'"))
            .collect();
        let _ = writeln!(
            script,
            "cc \"$@\" -fuse-ld=lld -B'{}' {} -o '{}'",
            lld.display(),
            shuffles.join(" "),
            binary.display()
        );
    }
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_linker_links_as_asked_and_once_more_for_each_binary() {
        let binaries = ["/out/kurabe-1", "/out/kurabe-2"].map(PathBuf::from);
        let script = linker(Path::new("/lld"), &binaries, ALL);
        let lines: Vec<&str> = script.lines().collect();
        assert_eq!(lines[..3], ["#!/bin/sh", "set -e", "cc \"$@\""]);
        assert_eq!(lines.len(), 5, "{script}");
        for (seed, line) in (1..).zip(&lines[3..]) {
            let expected = format!(
                "cc \"$@\" -fuse-ld=lld -B'/lld' '-Wl,--shuffle-sections=.text*={seed}' \
                 '-Wl,--shuffle-sections=.rodata..Lanon*={seed}' \
                 '-Wl,--shuffle-sections=.rodata.sqlite3*={seed}' \
                 '-Wl,--shuffle-sections=.rodata.*clap_builder*={seed}' \
                 '-Wl,--shuffle-sections=.rodata.*4jiff*={seed}' \
                 '-Wl,--shuffle-sections=.rodata.*5stats*={seed}' '-Wl,--shuffle-sections=.data*={seed}' \
                 '-Wl,--shuffle-sections=.bss*={seed}' -o '/out/kurabe-{seed}'"
            );
            assert_eq!(*line, expected);
        }
    }

    #[test]
    fn binaries_that_are_the_same_are_refused() {
        let root = tempfile::tempdir().unwrap();
        let binaries = ["1", "2", "3"].map(|name| root.path().join(name));
        for (binary, text) in binaries.iter().zip(["a", "b", "a"]) {
            std::fs::write(binary, text).unwrap();
        }
        all_differ(&binaries[..2]).unwrap();
        let error = all_differ(&binaries).unwrap_err().to_string();
        assert!(
            error.contains("another of the binaries is the same"),
            "{error}"
        );
    }
}
