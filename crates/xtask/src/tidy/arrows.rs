//! Which crate may use which, and what the layers may not know.
//!
//! Cargo refuses circles; that `stats` knows no database and `report` no engine is ours to check. Development
//! dependencies count too: a test that needs an upper layer belongs into that layer. All tests may use `testkit`, and
//! nothing else may.

use super::source::{self, code_lines};
use super::{File, Finding, Tree};
use toml::{Table, Value};

/// The crates of the workspace by directory, and those that each may use. `None` means all.
const ARROWS: &[(&str, Option<&[&str]>)] = &[
    ("model", Some(&[])),
    ("packed", Some(&[])),
    ("kept", Some(&["model"])),
    ("sys", Some(&["packed"])),
    ("testkit", Some(&["model"])),
    ("stats", Some(&["model", "packed"])),
    ("store", Some(&["kept", "model", "sys"])),
    ("dialects", Some(&["model", "stats"])),
    ("engine", Some(&["model", "sys", "stats"])),
    ("workloads", Some(&["engine", "model", "sys"])),
    (
        "report",
        Some(&["kept", "model", "packed", "stats", "dialects"]),
    ),
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

/// Crates that take workloads by what they declare, and know none of them by name.
const NAME_NO_WORKLOAD: [&str; 3] = ["engine", "stats", "report"];

/// The engine runs whatever the registry holds; what is concluded and shown of it comes from what it declares. A
/// parameter is known by its name on the line on which it is asked for: many are words that mean other things too.
pub(crate) fn declarations_are_asked_and_not_names(tree: &Tree) -> Vec<Finding> {
    let specs = || workloads::ALL.iter().map(|workload| workload.spec());
    let tests = specs().flat_map(|spec| spec.tests).map(|test| test.name);
    let workloads: Vec<&str> = specs().map(|spec| spec.name).chain(tests).collect();
    let params = specs().flat_map(|spec| spec.params);
    let params: Vec<String> = params.map(|param| format!("\"{}\"", param.name)).collect();
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        let name = crate_dir(&file.path);
        if !NAME_NO_WORKLOAD.contains(&name) || source::is_test(tree, &file.path) {
            continue;
        }
        for (line, code) in code_lines(source::without_tests(&file.text)) {
            if let Some(workload) = workloads.iter().find(|name| code.contains(**name)) {
                let words = format!("`{name}` names the workload `{workload}`");
                findings.push(file.finding(line, words));
            }
            let asked = |param: &&String| code.contains("param") && code.contains(param.as_str());
            if let Some(param) = params.iter().find(asked) {
                let words = format!("`{name}` names the parameter {param}");
                findings.push(file.finding(line, words));
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
        for section_name in SECTIONS {
            let Some(Value::Table(section)) = table.get(section_name) else {
                continue;
            };
            for (key, value) in section {
                let renamed = value.get("package").and_then(Value::as_str);
                let name = renamed.unwrap_or(key);
                if (section_name, name) != ("dev-dependencies", "testkit") {
                    names.push(name.to_owned());
                }
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
    fn names_are_found_where_declarations_are_to_be_asked() {
        let spec = workloads::ALL[0].spec();
        let (name, test) = (spec.name, spec.tests[0].name);
        let mut params = workloads::ALL.iter().flat_map(|all| all.spec().params);
        let param = params.next().expect("a workload has parameters").name;
        let code = format!(
            "//! x\n// {name} is fine here\nconst X: &str = \"{name}\";\nconst Y: &str = \"{test}\";\n\
             fn f() {{ params.get(\"{param}\"); other.get(\"{param}\"); }}\nfn g() {{ other(\"{param}\"); }}\n"
        );
        for (path, expect) in [
            ("crates/engine/src/x.rs", &[3, 4, 5][..]),
            ("crates/stats/src/x.rs", &[3, 4, 5]),
            ("crates/report/src/x/y.rs", &[3, 4, 5]),
            ("crates/cli/src/x.rs", &[]),
        ] {
            finds(declarations_are_asked_and_not_names, path, &code, expect);
        }
        let test = format!("//! x\n#[cfg(test)]\nmod tests {{\n\"{name}\"\n}}\n");
        let path = "crates/stats/src/x.rs";
        finds(declarations_are_asked_and_not_names, path, &test, &[]);
    }
}
