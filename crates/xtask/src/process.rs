//! The one place where tasks start other programs.

use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program about to be started in `dir`.
#[expect(
    clippy::disallowed_methods,
    reason = "a task's children are cargo and its like: they measure nothing and end by themselves"
)]
pub fn command(dir: &Path, program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(dir);
    command
}

/// The cargo that started us.
pub fn cargo(dir: &Path, arguments: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = command(dir, cargo);
    command.args(arguments);
    command
}

/// cargo asked about the packages of the lock file, such as `metadata` or `tree`: fetched first, as far as this
/// machine's system needs them, so that an empty cargo home is enough; then without the network, so that the answer is
/// about the locked packages alone.
pub fn cargo_offline(dir: &Path, arguments: &[&str]) -> anyhow::Result<Command> {
    let target = host_target(dir)?;
    let fetch = ["fetch", "--locked", "--quiet", "--target", &target];
    succeed(&mut cargo(dir, &fetch))
        .context("fetch the packages of `Cargo.lock`\nhint: once, this needs the network")?;
    let mut command = cargo(dir, arguments);
    command.args(["--locked", "--offline"]);
    Ok(command)
}

/// Runs `command` to its end, its output going where ours goes; anything but success is an error.
pub fn succeed(command: &mut Command) -> anyhow::Result<()> {
    let shown = shown(command);
    let status = command
        .status()
        .with_context(|| format!("start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed: {status}");
    }
    Ok(())
}

/// True where `command` can be started and succeeds; its output is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// What `command` printed on standard output.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let shown = shown(command);
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("start `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("read what `{shown}` printed"))
}

/// The triple that this machine's compiler builds for by default.
pub fn host_target(root: &Path) -> anyhow::Result<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = output(command(root, rustc).arg("-vV"))?;
    version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .context("`rustc -vV` names no host")
}

/// Where build products go.
pub fn target_dir(root: &Path) -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        Some(dir) => root.join(dir),
        None => root.join("target"),
    }
}

/// The command as a person would type it.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut words = vec![program.file_name().unwrap_or(program.as_os_str())];
    words.extend(command.get_args());
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()
            .unwrap()
    }

    /// Set in the child process whose cargo home was empty when it began.
    const CHILD: &str = "KURABE_TEST_EMPTY_CARGO_HOME";

    /// As on a fresh machine: a child of this test asks all that tasks ask of the packages (`gen`, `dist`, `ci`'s deny
    /// and tests, `advisories`), with a cargo home that has nothing but the registry's settings.
    #[test]
    fn every_question_about_packages_is_answered_with_an_empty_cargo_home() {
        if std::env::var_os(CHILD).is_some() {
            crate::generate::licences::check(&root()).unwrap();
            crate::ci::metadata(&root()).unwrap();
            crate::features::check(&root());
            return;
        }
        let (home, target) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let own = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let own = own.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
        let settings = own.map(|own| own.join("config.toml"));
        if let Some(settings) = settings.filter(|settings| settings.exists()) {
            std::fs::copy(settings, home.path().join("config.toml")).unwrap();
        }
        let mut child = command(&root(), std::env::current_exe().unwrap());
        child
            .args(["--exact", "--nocapture"])
            .arg("process::tests::every_question_about_packages_is_answered_with_an_empty_cargo_home")
            .env(CHILD, "1")
            .env("CARGO_HOME", home.path())
            .env("CARGO_TARGET_DIR", target.path());
        let done = child.output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
        let fetched = home.path().join("registry/cache");
        assert!(fetched.exists(), "the child fetched nothing: {said}");
    }

    /// A question without the network that does not go through [`cargo_offline`] fails on a fresh machine alone.
    #[test]
    fn what_is_asked_offline_is_fetched_before() {
        let asks = |line: &str| line.contains("\"--offline\"") && !line.contains("\"deny\"");
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found = Vec::new();
        let mut dirs = vec![here];
        while let Some(dir) = dirs.pop() {
            for entry in std::fs::read_dir(&dir).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    dirs.push(path);
                } else if !path.ends_with("process.rs") {
                    let text = std::fs::read_to_string(&path).unwrap();
                    found.extend(text.lines().filter(|line| asks(line)).map(str::to_owned));
                }
            }
        }
        // `cargo deny` is given the packages of `ci::metadata`.
        found.retain(|line| !line.contains("advisories"));
        assert_eq!(found, [""; 0]);
    }
}
