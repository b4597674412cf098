//! The binary that is shipped: one static file, checked before anybody gets it.
//!
//! `--target` is given although it is the host's own, because without it cargo would build procedural macros
//! statically too, which cannot work. The code is not position-independent: measured against a static
//! position-independent build it is 2 % smaller and starts in 0.57 instead of 0.70 ms (medians of 301 starts), for
//! there are no relocations to apply. Stack, heap and mappings are still placed at random by the kernel.

mod alone;
mod clones;
mod licences;
mod rounds;

use crate::elf;
use crate::generate;
use crate::process::{cargo, command, host_target, output, succeed, succeeds, target_dir};
use anyhow::{Context, bail, ensure};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the compiler is asked for it.
const FLAGS: &[&str] = &[
    "-Ctarget-feature=+crt-static",
    "-Crelocation-model=static",
    // The profile asks for it too, which does not reach a static link.
    "-Clink-arg=-Wl,--strip-all",
    // Without tables for unwinding nobody may ask the unwinder for a backtrace: `sys::trace` answers.
    "-Clink-arg=-Wl,--wrap=_Unwind_Backtrace",
];

/// The linker is asked to begin every function that may be measured on a cache line, and to keep measured code
/// together. Not the compiler: it would also move the functions of clones, which lie at offsets of their own within
/// their sections.
const LINES: &str = include_str!("dist/lines.ld");

/// The same within what is compiled from C, where a section may have several functions.
const C_FLAGS: &str = "-falign-functions=64";

/// Between flags, in the variable in which a flag may hold spaces.
const BETWEEN: &str = "\x1f";

/// The largest file that still downloads in seconds on a slow server: a promise of the project.
const SIZE_MAX_BYTES: u64 = 20_000_000;

/// Starts from which the median is taken: odd, and enough to let caches warm.
const STARTS: usize = 21;

/// cargo's `word` (`build`, `rustc`) for the binary that is shipped.
pub fn building(root: &Path, word: &str, target: &str) -> anyhow::Result<Command> {
    let what = [
        word,
        "--locked",
        "--profile",
        "dist",
        "--target",
        target,
        "-p",
        "kurabe",
    ];
    let lines = format!("-Clink-arg=-Wl,-T,{}", lines(root)?.display());
    let flags = [FLAGS, &[lines.as_str()]].concat().join(BETWEEN);
    let mut build = cargo(root, &what);
    build
        .env("CARGO_ENCODED_RUSTFLAGS", flags)
        .env("CFLAGS", C_FLAGS)
        .arg("--target-dir")
        .arg(target_dir(root));
    Ok(build)
}

/// A file with [`LINES`], under a name of its own for each text: cargo knows the name and not what is in it, and would
/// not link again for another text.
fn lines(root: &Path) -> anyhow::Result<PathBuf> {
    let path = lines_path(root);
    std::fs::create_dir_all(target_dir(root)).context("create the target directory")?;
    std::fs::write(&path, LINES).with_context(|| format!("write `{}`", path.display()))?;
    Ok(path)
}

fn lines_path(root: &Path) -> PathBuf {
    let mut hasher = DefaultHasher::new();
    LINES.hash(&mut hasher);
    target_dir(root).join(format!("lines-{:x}.ld", hasher.finish()))
}

/// Builds, copies to `target/dist/kurabe`, checks and describes the binary, and writes its licences beside it.
pub fn run(root: &Path) -> anyhow::Result<()> {
    generate::licences::check(root)?;
    let target = host_target(root)?;
    let target_dir = target_dir(root);
    let mut build = building(root, "build", &target)?;
    succeed(&mut build)?;

    let built = target_dir.join(&target).join("dist/kurabe");
    let dist = target_dir.join("dist/kurabe");
    std::fs::create_dir_all(target_dir.join("dist"))
        .context("create the directory for the binary")?;
    std::fs::copy(&built, &dist)
        .with_context(|| format!("copy `{}` to `{}`", built.display(), dist.display()))?;

    let bytes = std::fs::read(&dist).with_context(|| format!("read `{}`", dist.display()))?;
    if let Some(loader) = elf::interpreter(&bytes)? {
        bail!("the binary is not static: it asks for `{loader}`");
    }
    clones::check(&bytes).with_context(|| format!("check `{}`", dist.display()))?;
    let size = bytes.len() as u64;
    ensure!(
        size <= SIZE_MAX_BYTES,
        "the binary has {size} bytes, more than {SIZE_MAX_BYTES}\nhint: `cargo tree -p kurabe -e normal` shows what is in it"
    );
    survives_backtrace(root, &dist)?;
    let licences = licences::write(root, &dist, &build)?;
    let start_ms = start_ms(root, &dist)?;
    let (tests, families) = rounds::run(root, &dist, &target_dir)?;
    let names = alone::run(root, &dist, &target_dir)?;

    say!("binary   {}", dist.display());
    say!("licences {}", licences.display());
    say!("linked   statically, {target}");
    say!("size     {size} bytes (limit {SIZE_MAX_BYTES})");
    say!("start    {start_ms:.2} ms, median of {STARTS} (`kurabe --version`, with fork and exec)");
    say!("rounds   {tests} tests of {families} families measured one round each");
    let names =
        names.unwrap_or_else(|| "not looked up: a root directory of its own takes root".to_owned());
    say!("names    {names}");
    match output(command(root, "sha256sum").arg(&dist)) {
        Ok(line) => say!(
            "sha256   {}",
            line.split_whitespace().next().unwrap_or(&line)
        ),
        Err(_) => {
            say!("sha256   not known: `sha256sum` is missing (`apt-get install coreutils`)");
        }
    }
    Ok(())
}

/// Removes what an earlier check left, or this one.
fn gone(place: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(place) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("remove `{}`", place.display()))
        }
        _ => Ok(()),
    }
}

/// Somebody may have asked for backtraces, and an error takes one then. There are no tables for more than an empty one
/// here, and the program must find that out without a crash.
fn survives_backtrace(root: &Path, binary: &Path) -> anyhow::Result<()> {
    let mut refused = command(root, binary);
    refused
        .args(["show", "--store", "no-such-directory/runs.db"])
        .env("RUST_BACKTRACE", "1");
    let status = refused.output().context("run the binary")?.status;
    ensure!(
        status.code().is_some(),
        "an error with RUST_BACKTRACE=1 ended the binary by a signal: {status}"
    );
    Ok(())
}

/// The time of a start in milliseconds, fork and exec included: the median of several.
pub fn start_ms(root: &Path, binary: &Path) -> anyhow::Result<f64> {
    let mut starts = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let start = sys::clock::monotonic();
        ensure!(
            succeeds(command(root, binary).arg("--version")),
            "`{} --version` failed",
            binary.display()
        );
        starts.push(sys::clock::monotonic() - start);
    }
    starts.sort_unstable();
    Ok(model::num::approx(starts[STARTS / 2]) / 1e6)
}
