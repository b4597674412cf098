//! Test: a crate that is measured does not change without the version of its workload.
//!
//! The list below says what each version of each workload is made of. `cargo update` moves only what Cargo.toml
//! allows, but the crates behind a pinned crate are not pinned by it: this list holds them too, as Cargo.lock has
//! them. When the test fails: raise the `version` in the workload's `Spec` and add a line here; never change a line
//! that was published.

use super::{AES_GCM, BLAKE3, JSON, MATMUL, SHA256, SORT, ZSTD};
use engine::workload::Workload;
use std::collections::BTreeSet;

/// Workload, its version, and the crates that do its work at that version.
const HISTORY: &[(&str, u32, &[&str])] = &[
    (
        "cpu.aes-gcm",
        1,
        &[
            "aes 0.9.4",
            "aes-gcm 0.11.1",
            "ctr 0.10.1",
            "ghash 0.6.0",
            "polyval 0.7.3",
        ],
    ),
    ("cpu.blake3", 1, &["blake3 1.8.7"]),
    (
        "cpu.json",
        1,
        &[
            "itoa 1.0.18",
            "memchr 2.8.3",
            "serde_core 1.0.229",
            "serde_derive 1.0.229",
            "serde_json 1.0.154",
            "zmij 1.0.23",
        ],
    ),
    ("cpu.matmul", 1, &[]),
    // The same work, at three places in memory in turn.
    ("cpu.matmul", 2, &[]),
    ("cpu.sha256", 1, &["digest 0.11.3", "sha2 0.11.1"]),
    ("cpu.sort", 1, &[]),
    // The same work, at three places in memory in turn.
    ("cpu.sort", 2, &[]),
    (
        "cpu.zstd",
        1,
        &[
            "zstd 0.14.3",
            "zstd-safe 8.2.0",
            "zstd-sys 2.1.2+zstd.1.5.7",
        ],
    ),
];

/// `name version` of every package in a Cargo.lock.
fn packages(lock: &str) -> BTreeSet<String> {
    let value = |line: &str, key: &str| {
        let rest = line.strip_prefix(key)?.strip_prefix(" = \"")?;
        Some(rest.strip_suffix('"')?.to_owned())
    };
    let lines: Vec<&str> = lock.lines().collect();
    lines
        .windows(2)
        .filter_map(|pair| {
            let (name, version) = (value(pair[0], "name")?, value(pair[1], "version")?);
            Some(format!("{name} {version}"))
        })
        .collect()
}

fn lock() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock");
    std::fs::read_to_string(path).unwrap()
}

/// The crates of `history` at `version` that `lock` does not have exactly so; `None` where no line is about it.
fn moved(workload: &str, version: u32, lock: &str) -> Option<Vec<&'static str>> {
    let locked = packages(lock);
    let (_, _, crates) = HISTORY
        .iter()
        .find(|(name, at, _)| (*name, *at) == (workload, version))?;
    let absent = crates.iter().copied().filter(|name| {
        let (own, _) = name.split_once(' ').unwrap();
        let own = format!("{own} ");
        let same_crate = || locked.iter().filter(|other| other.starts_with(&own));
        !locked.contains(*name) || same_crate().count() != 1
    });
    Some(absent.collect())
}

#[test]
fn a_measured_crate_moves_only_with_the_version_of_its_workload() {
    let kernels: [&dyn Workload; 7] = [&AES_GCM, &BLAKE3, &JSON, &MATMUL, &SHA256, &SORT, &ZSTD];
    for workload in kernels {
        let spec = workload.spec();
        let none: Vec<&str> = Vec::new();
        assert_eq!(
            moved(spec.name, spec.version, &lock()),
            Some(none),
            "`{}`: raise its version and add a line to HISTORY",
            spec.name
        );
    }
}

/// What it is built with is on the page too; `xtask` holds that against what cargo resolves.
#[test]
fn the_features_of_every_measured_crate_are_on_the_page() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/method/cpu.md");
    let page = std::fs::read_to_string(page).unwrap();
    let table = page.split("| crate | features |").nth(1).unwrap();
    for (workload, _, crates) in HISTORY {
        for name in crates.iter().filter_map(|name| name.split(' ').next()) {
            assert!(
                table.contains(&format!("\n| `{name}` | ")),
                "{workload}: {name}"
            );
        }
    }
}

#[test]
fn a_moved_doubled_or_unlisted_crate_is_found_out() {
    let other = lock().replace(
        "name = \"sha2\"\nversion = \"0.11.1\"",
        "name = \"sha2\"\nversion = \"0.11.2\"",
    );
    assert_eq!(moved("cpu.sha256", 1, &other), Some(vec!["sha2 0.11.1"]));
    let doubled = lock() + "\n[[package]]\nname = \"aes\"\nversion = \"0.8.0\"\n";
    assert_eq!(moved("cpu.aes-gcm", 1, &doubled), Some(vec!["aes 0.9.4"]));
    assert_eq!(moved("cpu.sha256", 99, &lock()), None);
}

#[test]
fn what_is_measured_is_pinned_exactly() {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let manifest = std::fs::read_to_string(manifest).unwrap();
    for name in ["aes-gcm", "blake3", "serde_json", "sha2", "zstd"] {
        let line = manifest
            .lines()
            .find(|line| line.starts_with(&format!("{name} = ")))
            .unwrap();
        assert!(line.contains("\"="), "{line}");
    }
}
