//! Everything that a change must pass, the same on a desk and in CI.
//!
//! The order is from cheap to dear where it can be: a person waits seconds for a wrong format. Tools that only some
//! machines have are named with the command that installs them; where one is missing, its step falls back or says
//! that it was skipped, never that it passed.

use crate::process::{cargo, cargo_offline, host_target, output, succeed, succeeds, target_dir};
use crate::{generate, pages, tidy};
use anyhow::Context;
use std::path::{Path, PathBuf};

const INSTALL_NEXTEST: &str = "cargo install cargo-nextest --locked";
pub(crate) const INSTALL_DENY: &str = "cargo install cargo-deny --locked";

/// Names a directory with the files of other people that some tests read, which cannot be part of this repository.
const CORPUS: &str = "KURABE_CORPUS";

/// How a step that did not fail ended.
enum Ended {
    Passed,
    /// It passed without a part of it, and why.
    PassedBut(String),
    /// It could not be done here, and why.
    Skipped(String),
}

struct Step {
    name: &'static str,
    /// What helps when it fails.
    fix: &'static str,
    run: fn(&Path) -> anyhow::Result<Ended>,
}

const STEPS: &[Step] = &[
    Step {
        name: "fmt",
        fix: "`cargo fmt --all` mends the format",
        run: |root| pass(root, &["fmt", "--all", "--check"]),
    },
    Step {
        name: "clippy",
        fix: "mend the code; a lint that is wrong here takes `#[expect(lint, reason = \"...\")]`",
        run: |root| {
            let what = ["clippy", "--locked", "--workspace", "--all-targets"];
            pass(root, &[&what[..], &["--", "-D", "warnings"]].concat())
        },
    },
    Step {
        name: "tests",
        fix: "run one alone with `cargo test -p CRATE NAME`",
        run: tests,
    },
    Step {
        name: "pages",
        fix: "the pages and their pictures are in target/report-shots",
        run: |root| match pages::browser(root) {
            Some(browser) => pages::check(root, browser).map(|left_out| match left_out {
                None => Ended::Passed,
                Some(why) => Ended::PassedBut(why),
            }),
            None => Ok(Ended::Skipped(format!(
                "a browser is missing; `{}` installs it",
                pages::INSTALL
            ))),
        },
    },
    Step {
        name: "deny",
        fix: "see deny.toml for what is allowed, and why",
        run: deny,
    },
    Step {
        name: "tidy",
        fix: "`cargo xtask tidy` repeats this step alone",
        run: |root| tidy::run(root).map(|()| Ended::Passed),
    },
    Step {
        name: "gen",
        fix: "`cargo xtask gen` writes the generated files; commit them with the change",
        run: |root| generate::check(root).map(|()| Ended::Passed),
    },
];

/// Runs every step in order.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut lines = Vec::new();
    for step in STEPS {
        say!("\n==> {}", step.name);
        let start = sys::clock::monotonic();
        let ended = (step.run)(root)
            .with_context(|| format!("step `{}` failed\nhint: {}\ncause", step.name, step.fix))?;
        let seconds = model::num::approx(sys::clock::monotonic() - start) / 1e9;
        let word = match ended {
            Ended::Passed => "passed".to_owned(),
            Ended::PassedBut(why) => format!("passed, but {why}"),
            Ended::Skipped(why) => format!("skipped: {why}"),
        };
        let line = format!("{:<8}{seconds:>8.1} s  {word}", step.name);
        say!("<== {line}");
        lines.push(line);
    }
    say!("\nci: every step is done\n  {}", lines.join("\n  "));
    Ok(())
}

fn pass(root: &Path, arguments: &[&str]) -> anyhow::Result<Ended> {
    succeed(&mut cargo(root, arguments))?;
    Ok(Ended::Passed)
}

/// The tests, with those that need root where we are root.
fn tests(root: &Path) -> anyhow::Result<Ended> {
    let all = sys::probe::is_root();
    if !all {
        say!("not root: tests marked `ignore = \"root: ...\"` are skipped");
    }
    let corpus = std::env::var_os(CORPUS).is_some();
    if all && !corpus {
        say!("{CORPUS} is not set: tests marked `ignore = \"corpus: ...\"` are skipped");
    }
    if has(root, "nextest") {
        // Most of their time they wait: for servers, deadlines, disks.
        let cpus = std::thread::available_parallelism().context("count the CPUs")?;
        let at_once = (2 * cpus.get()).to_string();
        let mut arguments = vec!["nextest", "run", "--locked", "--workspace"];
        arguments.extend(["--no-fail-fast", "--test-threads", &at_once]);
        if all {
            arguments.extend(["--run-ignored", "all"]);
        }
        if !corpus {
            arguments.extend(["-E", "not test(/corpus::/)"]);
        }
        pass(root, &arguments)?;
        let path = target_dir(root).join("nextest/default/junit.xml");
        let report = std::fs::read_to_string(&path)
            .with_context(|| format!("read what the tests said: `{}`", path.display()))?;
        let skipped = skipped(&report);
        return Ok(if skipped.is_empty() {
            Ended::Passed
        } else {
            Ended::PassedBut(format!(
                "{} said that they, or a part of them, were skipped:\n{}",
                skipped.len(),
                skipped.join("\n")
            ))
        });
    }
    say!("cargo-nextest is missing, so `cargo test` runs; `{INSTALL_NEXTEST}` installs it");
    let mut arguments = vec!["test", "--locked", "--workspace", "--no-fail-fast"];
    if all {
        arguments.extend(["--", "--include-ignored"]);
        if !corpus {
            arguments.extend(["--skip", "corpus::"]);
        }
    }
    pass(root, &arguments)
}

/// Each test that says that it did nothing, by its name and with its words: of the report that nextest writes in
/// `JUnit`'s format.
fn skipped(report: &str) -> Vec<String> {
    let mut test = "";
    let mut found = Vec::new();
    for line in report.lines() {
        if let Some((_, rest)) = line.split_once("<testcase name=\"") {
            test = rest.split('"').next().unwrap_or("");
        }
        let said = line.rsplit('>').next().unwrap_or(line);
        if said.starts_with("skipped") {
            found.push(format!("    {test}: {said}"));
        }
    }
    found
}

/// Licences, sources and duplicates of dependencies. Advisories need a list from the network, so they are not part of
/// what a change must pass: `crate::advisories`.
fn deny(root: &Path) -> anyhow::Result<Ended> {
    if !has(root, "deny") {
        return Ok(Ended::Skipped(format!(
            "cargo-deny is missing; `{INSTALL_DENY}` installs it"
        )));
    }
    let path = metadata(root)?;
    // It tries the download all the same, and says so as an error in its log that changes nothing: no log.
    let mut deny = cargo(root, &["deny", "-L", "off", "--offline", "--metadata-path"]);
    deny.arg(&path);
    deny.args(["check", "bans", "licenses", "sources"]);
    succeed(&mut deny)?;
    Ok(Ended::Passed)
}

/// A file with what cargo knows of the dependencies.
pub(crate) fn metadata(root: &Path) -> anyhow::Result<PathBuf> {
    // Left alone, cargo-deny asks for the dependencies of every system, also those that nobody here ever downloads.
    let target = host_target(root)?;
    let what = [
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        &target,
    ];
    let metadata = output(&mut cargo_offline(root, &what)?)?;
    let path = target_dir(root).join("deny-metadata.json");
    std::fs::write(&path, metadata).with_context(|| format!("write `{}`", path.display()))?;
    Ok(path)
}

/// Whether cargo has this subcommand.
pub(crate) fn has(root: &Path, subcommand: &str) -> bool {
    succeeds(&mut cargo(root, &[subcommand, "--version"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_were_skipped_are_named() {
        let report = r#"
        <testcase name="redis::rates" classname="kurabe::it" time="0.1">
            <system-out>running 1 test</system-out>
            <system-err>skipped: redis::rates: no Redis
</system-err>
        </testcase>
        <testcase name="fio::names" classname="kurabe::it" time="0.1">
            <system-err>first
skipped beside fio: it is not installed
</system-err>
        </testcase>
        <testcase name="quick" classname="kurabe::it" time="0.1">
            <system-err>nothing was skipped</system-err>
        </testcase>"#;
        assert_eq!(
            skipped(report),
            [
                "    redis::rates: skipped: redis::rates: no Redis",
                "    fio::names: skipped beside fio: it is not installed"
            ]
        );
    }
}
