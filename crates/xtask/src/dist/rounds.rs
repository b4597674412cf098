//! One short round of every workload with the binary that is shipped.
//!
//! A static link may leave out what a dynamic one finds: once it dropped a weak symbol, and only storage tests crashed,
//! long after the binary had printed its version. So all code paths that measure run once before anybody gets it.

use super::gone;
use crate::process::command;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// Files as small as a test needs: bonnie's has twice the memory by default. At least 1 GiB must stay free beside them.
const SETTINGS: [&str; 4] = [
    "storage.*.size=16M",
    "storage.*.direct=no",
    "fs.bonnie.size=16M",
    "fs.fileio-*.size=16M",
];

/// Measures each workload once, and says of how many families.
pub(super) fn run(root: &Path, binary: &Path, dir: &Path) -> anyhow::Result<(usize, usize)> {
    let tests = tests();
    let families: BTreeSet<&str> = tests
        .iter()
        .filter_map(|name| name.split('.').next())
        .collect();
    // A work directory and a store of its own, which go away with it.
    let place = dir.join("dist/rounds");
    gone(&place)?;
    std::fs::create_dir_all(&place).with_context(|| format!("create `{}`", place.display()))?;
    let mut measure = command(root, binary);
    measure
        .arg("run")
        .args(&tests)
        .args([
            "--passes", "1", "--copies", "1", "--quiet", "--json", "--lang", "en", "--dir",
        ])
        .arg(&place)
        .args(SETTINGS.iter().flat_map(|set| ["--set", set]))
        .env("KURABE_STORE", place.join("kurabe.db"));
    let output = measure
        .output()
        .with_context(|| format!("start `{}`", binary.display()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let run: Value = serde_json::from_slice(&output.stdout).with_context(|| {
        format!(
            "read what the static binary measured ({}): {said}",
            output.status
        )
    })?;
    let failed = failed(&run);
    ensure!(
        failed.is_empty(),
        "rounds with the static binary failed: {}",
        failed.join("; ")
    );
    gone(&place)?;
    Ok((tests.len(), families.len()))
}

/// What failed, but for what this machine cannot do: too few huge pages are no fault of the binary.
fn failed(run: &Value) -> Vec<String> {
    let text = |round: &Value, key: &str| round[key].as_str().unwrap_or_default().to_owned();
    let rounds = run["failed_rounds"].as_array();
    let reasons = rounds
        .into_iter()
        .flatten()
        .map(|round| (text(round, "case"), text(round, "reason")));
    reasons
        .filter(|(_, why)| !why.starts_with("cannot be done here"))
        .map(|(case, why)| format!("{case}: {why}"))
        .collect()
}

/// The first test of every workload, and those that take other paths through the kernel. The workload that fails on
/// request is left out, and those that need a server.
fn tests() -> Vec<&'static str> {
    const MORE: [&str; 3] = [
        "storage.randwrite-4k-qd32",
        "storage.fsync-4k",
        "storage.null-qd32",
    ];
    let first = workloads::ALL
        .iter()
        .filter(|workload| workload.without_stand_in().is_ok())
        .map(|workload| workload.spec())
        .filter(|spec| spec.name != "selftest.fault")
        .filter_map(|spec| Some(spec.tests.first()?.name));
    first.chain(MORE).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_crash_is_a_fault_and_what_the_machine_lacks_is_none() {
        let run = serde_json::json!({"failed_rounds": [
            {"case": "memory.levels@1", "reason": "cannot be done here: huge pages"},
            {"case": "storage.null@1", "reason": "worker ended by signal 11"},
        ]});
        assert_eq!(
            super::failed(&run),
            ["storage.null@1: worker ended by signal 11"]
        );
    }

    #[test]
    fn every_family_is_there_and_every_test_exists() {
        let tests = super::tests();
        for family in ["cpu", "fs", "memory", "net", "os", "selftest", "storage"] {
            assert!(
                tests
                    .iter()
                    .any(|name| name.starts_with(&format!("{family}."))),
                "{family}"
            );
        }
        let known: Vec<&str> = workloads::ALL
            .iter()
            .flat_map(|workload| workload.spec().tests)
            .map(|test| test.name)
            .collect();
        for test in tests {
            assert!(known.contains(&test), "{test}");
        }
    }
}
