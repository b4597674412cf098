//! The machine's own programs that shell tests run: where they are, and which implementation.
//!
//! GNU, `BusyBox` and uutils programs differ in speed by factors, so a result is only comparable with the versions next
//! to it. Programs are looked up in the search path like a shell does; links are followed, because the name behind
//! `sh` is what matters.

use super::Probes;
use model::host::Fact;
use model::order::Keyed as _;
use std::collections::BTreeMap;
use std::path::Path;
use sys::tree::Tree;

/// The programs whose versions are recorded: those of a UnixBench-like shell script.
pub const SHELL_PROGRAMS: [&str; 8] = ["sh", "sort", "od", "grep", "tee", "wc", "rm", "expr"];

/// Shells that know no `--version`, by the name of their file.
const NO_VERSION: [&str; 6] = ["dash", "ash", "mksh", "ksh", "posh", "yash"];

pub(super) fn facts(tree: &Tree, probes: &Probes) -> BTreeMap<String, Fact<String>> {
    SHELL_PROGRAMS
        .iter()
        .map(|name| ((*name).to_owned(), program(tree, probes, name)))
        .into_map()
}

/// `/usr/bin/sort (sort (GNU coreutils) 9.1)`, or `/usr/bin/sh -> /usr/bin/dash (no version told)`.
fn program(tree: &Tree, probes: &Probes, name: &str) -> Fact<String> {
    let Some((path, resolved)) = find(tree, &probes.path, name) else {
        return Fact::Missing(format!("no `{name}` in the search path `{}`", probes.path));
    };
    let version = version(probes, &resolved);
    let place = if path == resolved {
        path
    } else {
        format!("{path} -> {resolved}")
    };
    Fact::Known(format!("{place} ({version})"))
}

/// The first executable of that name in the search path, as found and with links followed.
fn find(tree: &Tree, search: &str, name: &str) -> Option<(String, String)> {
    search
        .split(':')
        // An empty or relative entry means the current directory, where no test looks for programs.
        .filter(|dir| dir.starts_with('/'))
        .find_map(|dir| {
            let path = format!("{}/{name}", dir.trim_end_matches('/'));
            let resolved = tree.resolve(&path).ok()?;
            tree.executable(&resolved).then_some((path, resolved))
        })
}

fn version(probes: &Probes, resolved: &str) -> String {
    let program = Path::new(resolved);
    let file = resolved.rsplit('/').next().unwrap_or(resolved);
    if NO_VERSION.contains(&file) {
        return "no version told".to_owned();
    }
    // BusyBox takes its first argument for the name of a tool, unless it is --help.
    let argument = if file.starts_with("busybox") {
        "--help"
    } else {
        "--version"
    };
    match (probes.version)(program, argument) {
        Fact::Known(line) => recognise(&line),
        Fact::Missing(why) => why,
    }
}

/// The version line, or that there is none where the program only complained about being asked.
fn recognise(line: &str) -> String {
    let line = line.trim();
    if let Some(version) = line.strip_prefix("BusyBox ") {
        // `BusyBox v1.36.1 (2023-11-07 18:53:09 UTC) multi-call binary.`
        let number = version.split_ascii_whitespace().next().unwrap_or_default();
        return format!("BusyBox {number}");
    }
    let complains = [
        "unrecognized",
        "illegal",
        "unknown option",
        "invalid option",
    ];
    let lower = line.to_ascii_lowercase();
    if line.is_empty() || complains.iter().any(|word| lower.contains(word)) {
        return "no version told".to_owned();
    }
    line.chars().filter(|c| !c.is_control()).take(120).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_lines_are_recognised_and_complaints_are_not_versions() {
        let check = |line: &str, expect: &str| assert_eq!(recognise(line), expect);
        check("sort (GNU coreutils) 9.1\n", "sort (GNU coreutils) 9.1");
        check(
            "sort (uutils coreutils) 0.0.27",
            "sort (uutils coreutils) 0.0.27",
        );
        check(
            "BusyBox v1.36.1 (2023-11-07 18:53:09 UTC) multi-call binary.",
            "BusyBox v1.36.1",
        );
        check("sh: 0: Illegal option --", "no version told");
        check("sort: unrecognized option '--version'", "no version told");
        check("", "no version told");
    }
}
