//! Test: what measured crates are built with is what docs/method/cpu.md says, in every build of the program.
//!
//! Cargo switches a crate's features on for all who use it in a build, so that another crate's wish can change what is
//! measured without a line in `workloads`. The page's table is what was chosen. Cargo is asked for `workloads`, which
//! has to choose all of it, for the program alone, as `cargo xtask dist` builds it, and for the whole workspace.
//!
//! And these crates are compiled as our own code is, in `release` as in `dist`: in one unit, so that what is inlined
//! within them does not depend on how they were cut.

use crate::process::{cargo_offline, host_target, output};
use std::collections::BTreeMap;
use std::path::Path;

const PAGE: &str = include_str!("../../../docs/method/cpu.md");

/// Crates with their features, sorted; a feature may stand there once.
type Features = BTreeMap<String, Vec<String>>;

/// The rows of the page's table.
fn said(page: &str) -> Features {
    let rows = page
        .lines()
        .skip_while(|line| *line != "| crate | features |");
    let rows = rows.skip(2).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| {
        let mut words = row.split('`').skip(1).step_by(2).map(str::to_owned);
        Some((
            words.next()?,
            words.filter(|feature| feature != "default").collect(),
        ))
    })
    .collect()
}

/// What cargo printed as `name vVERSION ...|feature,feature`.
fn resolved(tree: &str) -> Features {
    let lines = tree.lines().filter_map(|line| {
        let (package, features) = line.split_once('|')?;
        let features = features.trim_end_matches(" (*)").split(',');
        // `default` is a name for others, which cargo prints too.
        let features = features.filter(|feature| !["", "default"].contains(feature));
        let name = package.split_whitespace().next()?;
        Some((name.to_owned(), features.map(str::to_owned).collect()))
    });
    lines.collect()
}

/// The crates of `said` that `resolved` does not have just so.
fn different(said: &Features, resolved: &Features) -> Vec<String> {
    let differ = said
        .iter()
        .filter(|(name, features)| resolved.get(*name) != Some(features));
    differ
        .map(|(name, _)| format!("{name}: {:?}", resolved.get(name)))
        .collect()
}

#[test]
fn measured_crates_have_the_features_that_the_page_says_in_every_build() {
    check(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
}

/// Asserts it of the workspace at `root`.
pub(crate) fn check(root: &Path) {
    let target = host_target(root).unwrap();
    let said = said(PAGE);
    for build in [
        &["-p", "workloads"][..],
        &["-p", "kurabe"],
        &["--workspace"],
    ] {
        let what = ["tree", "-e", "normal", "--target", &target];
        let format = ["--prefix", "none", "--format", "{p}|{f}"];
        let mut tree = cargo_offline(root, &what).unwrap();
        let tree = output(tree.args(build).args(format)).unwrap();
        let none: [String; 0] = [];
        assert_eq!(different(&said, &resolved(&tree)), none, "{build:?}");
    }
}

#[test]
fn a_feature_more_or_less_and_a_crate_that_is_gone_are_found() {
    let said = said(
        "# A\n| crate | features |\n|---|---|\n| `a` | none |\n| `b` | `x`, `y` |\n\n| `c` | `z` |\n",
    );
    assert_eq!(said.len(), 2);
    let check = |tree: &str, expect: &[&str]| {
        assert_eq!(different(&said, &resolved(tree)), expect, "{tree}");
    };
    check(
        "a v1.0.0|\nb v2.0.0|x,y\nb v2.0.0|x,y (*)\nd v1.0.0|w\n",
        &[],
    );
    check("a v1.0.0|w\nb v2.0.0|x,y\n", &["a: Some([\"w\"])"]);
    check("a v1.0.0|\nb v2.0.0|x\n", &["b: Some([\"x\"])"]);
    check("b v2.0.0|x,y\n", &["a: None"]);
}

/// Libraries of measured code that do not run in it, and why.
const NOT_MEASURED: &[(&str, &str)] = &[
    ("libc", "declarations alone"),
    (
        "libsqlite3-sys",
        "declarations alone: SQLite itself is C, in one unit",
    ),
    (
        "ring",
        "its assembly, in none but connections that show whose they are",
    ),
    (
        "rustls",
        "what is around the assembly of `ring`, over TLS alone",
    ),
    ("serde_derive", "runs in the compiler"),
    ("thiserror", "words of errors"),
];

/// The crates of others that measured code is made of: those of the page, and what `workloads` and `sys` name.
fn measured() -> Vec<String> {
    let manifests = [
        include_str!("../../workloads/Cargo.toml"),
        include_str!("../../sys/Cargo.toml"),
    ];
    let ours = ["engine", "model", "packed", "sys"];
    let named = manifests.into_iter().flat_map(|manifest| {
        let manifest: toml::Table = manifest.parse().unwrap();
        let names: Vec<String> = manifest["dependencies"]
            .as_table()
            .unwrap()
            .keys()
            .cloned()
            .collect();
        names
    });
    let mut all: Vec<String> = said(PAGE).into_keys().chain(named).collect();
    all.retain(|name| {
        let is_left_out = NOT_MEASURED.iter().any(|(left_out, _)| left_out == name);
        !is_left_out && !ours.contains(&name.as_str())
    });
    all.sort();
    all.dedup();
    all
}

#[test]
fn measured_crates_are_compiled_in_one_unit_in_every_profile() {
    let workspace: toml::Table = include_str!("../../../Cargo.toml").parse().unwrap();
    let units = |table: &toml::Value| table.get("codegen-units").and_then(toml::Value::as_integer);
    let release = &workspace["profile"]["release"];
    assert_eq!(units(release), Some(1), "our own code");
    // What is made small for shipping is measured by nothing.
    let small = workspace["profile"]["dist"]["package"].as_table().unwrap();
    assert!(measured().iter().all(|name| !small.contains_key(name)));
    let of = |name: &str| release["package"].get(name).and_then(units);
    let cut: Vec<String> = measured()
        .into_iter()
        .filter(|name| of(name) != Some(1))
        .collect();
    assert!(cut.is_empty(), "in several units: {cut:?}");
}
