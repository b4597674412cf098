//! Which crate may use which, and what the layers may not know.
//!
//! Cargo refuses circles; that `stats` knows no database and `report` no engine is ours to check. Development
//! dependencies count too: a test that needs an upper layer belongs into that layer.

use super::source::{self, code_lines};
use super::{File, Finding, Tree};
use toml::{Table, Value};

/// The crates of the workspace by directory, and those that each may use. `None` means all.
const ARROWS: &[(&str, Option<&[&str]>)] = &[
    ("model", Some(&[])),
    ("sys", Some(&[])),
    ("stats", Some(&["model"])),
    ("store", Some(&["model"])),
    ("dialects", Some(&["model", "stats"])),
    ("engine", Some(&["model", "sys", "stats"])),
    ("workloads", Some(&["engine", "model", "sys"])),
    ("report", Some(&["model", "stats", "dialects"])),
    ("cli", None),
    ("xtask", None),
    ("lab", None),
];

/// The package in `crates/cli` is named after the program.
const BINARY_PACKAGE: &str = "kurabe";

const SECTIONS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

/// Every crate uses only the crates below it.
pub(crate) fn arrows(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in manifests(tree) {
        let name = crate_dir(&file.path);
        let Some((_, allowed)) = ARROWS.iter().find(|(known, _)| *known == name) else {
            findings.push(file.finding(0, format!("crate `{name}` has no place among the layers")));
            continue;
        };
        let used = match dependencies(file) {
            Ok(used) => used,
            Err(finding) => {
                findings.push(finding);
                continue;
            }
        };
        for used in used {
            let ours = used == BINARY_PACKAGE || ARROWS.iter().any(|(known, _)| *known == used);
            let fine = allowed.is_none_or(|allowed| allowed.contains(&used.as_str()));
            if ours && !fine {
                findings.push(file.finding(0, format!("`{name}` may not use `{used}`")));
            }
        }
    }
    findings
}

/// Only `sys` speaks to the C library.
pub(crate) fn kernel_is_alone(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in manifests(tree).filter(|file| crate_dir(&file.path) != "sys") {
        let used = dependencies(file).unwrap_or_default();
        if used.iter().any(|used| used == "libc") {
            findings.push(file.finding(0, "only `sys` may use `libc`"));
        }
    }
    let call = concat!("lib", "c::");
    let outside = |file: &&File| !file.path.starts_with("crates/sys/");
    for file in tree.with_extension("rs").filter(outside) {
        for (line, code) in code_lines(&file.text) {
            if code.contains(call) {
                findings.push(file.finding(line, "only `sys` may use `libc`"));
            }
        }
    }
    findings
}

/// The engine runs whatever the registry holds, and knows none of it by name.
pub(crate) fn engine_names_no_workload(tree: &Tree) -> Vec<Finding> {
    let mut names: Vec<&str> = Vec::new();
    for workload in workloads::ALL {
        let spec = workload.spec();
        names.push(spec.name);
        names.extend(spec.tests.iter().map(|test| test.name));
    }
    let mut findings = Vec::new();
    let engine = |file: &&File| {
        file.path.starts_with("crates/engine/src/") && !source::is_test(tree, &file.path)
    };
    for file in tree.with_extension("rs").filter(engine) {
        for (line, code) in code_lines(source::without_tests(&file.text)) {
            if let Some(name) = names.iter().find(|name| code.contains(**name)) {
                findings
                    .push(file.finding(line, format!("the engine names the workload `{name}`")));
            }
        }
    }
    findings
}

fn manifests(tree: &Tree) -> impl Iterator<Item = &File> {
    tree.files.iter().filter(|file| {
        file.path.starts_with("crates/")
            && file.path.ends_with("/Cargo.toml")
            && file.path.matches('/').count() == 2
    })
}

fn crate_dir(path: &str) -> &str {
    path.split('/').nth(1).unwrap_or(path)
}

/// The names of all dependencies of a manifest, those for single targets included.
fn dependencies(file: &File) -> Result<Vec<String>, Finding> {
    let manifest: Table = file
        .text
        .parse()
        .map_err(|error: toml::de::Error| file.finding(0, error.message().to_owned()))?;
    let mut tables = vec![&manifest];
    if let Some(Value::Table(targets)) = manifest.get("target") {
        tables.extend(targets.values().filter_map(Value::as_table));
    }
    let mut names = Vec::new();
    for table in tables {
        for section in SECTIONS {
            let Some(Value::Table(section)) = table.get(section) else {
                continue;
            };
            for (key, value) in section {
                let renamed = value.get("package").and_then(Value::as_str);
                names.push(renamed.unwrap_or(key).to_owned());
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{finds, tree};
    use super::*;

    fn check(path: &str, manifest: &str, expect: &[&str]) {
        let found: Vec<String> = arrows(&tree(&[(path, manifest)]))
            .into_iter()
            .map(|finding| finding.what)
            .collect();
        assert_eq!(found, expect, "{manifest}");
    }

    #[test]
    fn an_arrow_that_points_up_is_found_wherever_it_hides() {
        let stats = "crates/stats/Cargo.toml";
        check(
            stats,
            "[dependencies]\nmodel.workspace = true\nserde = '1'",
            &[],
        );
        check(
            stats,
            "[dependencies]\nsys.workspace = true",
            &["`stats` may not use `sys`"],
        );
        check(
            stats,
            "[dev-dependencies]\nstore = {}",
            &["`stats` may not use `store`"],
        );
        check(
            stats,
            "[target.'cfg(unix)'.build-dependencies]\nengine = {}",
            &["`stats` may not use `engine`"],
        );
        check(
            stats,
            "[dependencies]\nrenamed = { package = 'report' }",
            &["`stats` may not use `report`"],
        );
        check(
            stats,
            "[dependencies]\nkurabe = {}",
            &["`stats` may not use `kurabe`"],
        );
        check(
            "crates/cli/Cargo.toml",
            "[dependencies]\nsys = {}\nstore = {}",
            &[],
        );
        check(
            "crates/new/Cargo.toml",
            "",
            &["crate `new` has no place among the layers"],
        );
    }

    #[test]
    fn the_c_library_is_found_outside_of_sys() {
        let manifest = "[dependencies]\nlibc.workspace = true";
        assert_eq!(
            kernel_is_alone(&tree(&[("crates/sys/Cargo.toml", manifest)])),
            []
        );
        finds(kernel_is_alone, "crates/cli/Cargo.toml", manifest, &[0]);
        let call = concat!("//! x\nfn f() { lib", "c::getpid(); }\n");
        finds(kernel_is_alone, "crates/cli/src/main.rs", call, &[2]);
        finds(kernel_is_alone, "crates/sys/src/lib.rs", call, &[]);
    }

    #[test]
    fn a_workload_named_in_the_engine_is_found() {
        let name = workloads::ALL[0].spec().name;
        let code = format!("//! x\n// {name} is fine here\nconst X: &str = \"{name}\";\n");
        finds(
            engine_names_no_workload,
            "crates/engine/src/x.rs",
            &code,
            &[3],
        );
        finds(
            engine_names_no_workload,
            "crates/report/src/x.rs",
            &code,
            &[],
        );
        let test = format!("//! x\n#[cfg(test)]\nmod tests {{\n\"{name}\"\n}}\n");
        finds(
            engine_names_no_workload,
            "crates/engine/src/x.rs",
            &test,
            &[],
        );
    }
}
