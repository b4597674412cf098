//! `crates/cli/licences/crates.txt`: what the crates that are linked into the program ask to be said of them where it
//! is handed on, in their own words.
//!
//! The words are the files that each crate ships (licence, copyright, notice, authors), read where cargo unpacked it,
//! so that no text is a template that somebody else filled in, and a crate without any stops the task; but one that may
//! be taken under the Apache licence, which names nobody, is, in the words of another crate. That needs no
//! tool and no network, so that `gen --check` looks at every word wherever the program builds; cargo-about would need
//! the crates of all systems, and minutes to be built. Where a crate may be taken under one of several licences it is
//! taken under the first of [`ALTERNATIVES`]; what the others say is left out. Texts that differ only in who is named
//! and how lines are broken stand there once.

use super::Files;
use crate::process::{cargo_offline, host_target, output};
use anyhow::{Context, ensure};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

/// The file.
pub(crate) const PATH: &str = "crates/cli/licences/crates.txt";

/// How the names of files begin that say under what terms a crate may be handed on, and whose it is.
const FILES: &[&str] = &[
    "LICENSE",
    "LICENCE",
    "UNLICENSE",
    "COPYING",
    "COPYRIGHT",
    "NOTICE",
    "AUTHORS",
];

/// What the name of the file has in it that holds one licence of several, the one that is taken first.
const ALTERNATIVES: &[&str] = &["MIT", "APACHE", "A2", "CC0", "UNLICENSE", "COPYING"];

/// The same of the Apache licence.
const APACHE: &str = "APACHE";

/// The beginning of the MIT licence behind its title and the names, which are what its texts differ in.
const MIT: &str =
    "Permission is hereby granted, free of charge, to any person obtaining a copy of this software";

/// Titles of that licence; what else stands before its beginning says whose the crate is.
const MIT_TITLES: &[&str] = &["mit license", "the mit license", "the mit license (mit)"];

const RULE: &str = "------------------------------------------------------------------------";

/// A crate and the files that say whose it is.
struct Crate {
    name: String,
    /// The licences, as its manifest has them.
    expression: String,
    files: Vec<(String, String)>,
}

impl Crate {
    /// Takes it under the Apache licence, in these words, where it ships none of its own and may be taken so.
    fn take(&mut self, apache: Option<&(String, String)>) {
        if self.files.is_empty() && self.expression.contains("Apache-2.0") {
            self.files.extend(apache.cloned());
        }
    }
}

/// Adds the file.
pub(crate) fn add(files: &mut Files, root: &Path) -> anyhow::Result<()> {
    files.insert(PATH.to_owned(), page(&crates(root)?)?);
    Ok(())
}

/// Fails where the file is not as it should be.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let there = std::fs::read_to_string(root.join(PATH)).unwrap_or_default();
    ensure!(
        there == page(&crates(root)?)?,
        "`{PATH}` is missing or says something else than the crates do\nhint: `cargo xtask gen` writes it"
    );
    Ok(())
}

/// `name version` of every crate of others that is linked into the program on this machine, or whose macros write code
/// of it.
pub(crate) fn linked(root: &Path) -> anyhow::Result<BTreeSet<String>> {
    let target = host_target(root)?;
    let what = ["tree", "-p", "kurabe", "-e", "normal", "--target", &target];
    let format = ["--prefix", "none", "--format", "{p}"];
    Ok(packages(&output(cargo_offline(root, &what)?.args(format))?))
}

/// The packages of a list of `name vVERSION (PATH)`, one a line, without those of this workspace, which have a path.
fn packages(tree: &str) -> BTreeSet<String> {
    tree.lines()
        .filter(|line| !line.contains(" (/"))
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let (name, version) = (words.next()?, words.next()?);
            Some(format!("{name} {}", version.strip_prefix('v')?))
        })
        .collect()
}

fn crates(root: &Path) -> anyhow::Result<Vec<Crate>> {
    let target = host_target(root)?;
    let what = [
        "metadata",
        "--format-version",
        "1",
        "--filter-platform",
        &target,
    ];
    let metadata = output(&mut cargo_offline(root, &what)?)?;
    let metadata: serde_json::Value =
        serde_json::from_str(&metadata).context("read what `cargo metadata` printed")?;
    let packages = metadata["packages"].as_array();
    let packages = packages.context("`cargo metadata` printed no packages")?;
    let text = |package: &serde_json::Value, key: &str| {
        package[key].as_str().unwrap_or_default().to_owned()
    };
    let mut linked = linked(root)?;
    let (mut crates, mut apache) = (Vec::new(), BTreeMap::new());
    for package in packages {
        let name = format!("{} {}", text(package, "name"), text(package, "version"));
        if linked.remove(&name) {
            let manifest = text(package, "manifest_path");
            let dir = Path::new(&manifest).parent().unwrap_or(root);
            let files = shipped(dir)?;
            let is_apache = |(file, _): &&(String, String)| file.to_uppercase().contains(APACHE);
            if let Some(found) = files.iter().find(is_apache) {
                apache.insert(name.clone(), found.clone());
            }
            crates.push(Crate {
                files: chosen(files),
                expression: text(package, "license"),
                name,
            });
        }
    }
    ensure!(linked.is_empty(), "no package for {linked:?}");
    crates.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let apache = apache.into_values().next();
    for one in &mut crates {
        one.take(apache.as_ref());
    }
    Ok(crates)
}

/// The files in `dir` that say whose a crate is, by name.
fn shipped(dir: &Path) -> anyhow::Result<Vec<(String, String)>> {
    let failed = || format!("read the licences in `{}`", dir.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(dir).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let upper = name.to_uppercase();
        if path.is_file() && FILES.iter().any(|start| upper.starts_with(start)) {
            let text = std::fs::read_to_string(&path).with_context(failed)?;
            files.push((name.into_owned(), text));
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Of several licences to choose from the first of [`ALTERNATIVES`]; and whatever is no alternative.
fn chosen(files: Vec<(String, String)>) -> Vec<(String, String)> {
    let has = |name: &str, word: &str| name.to_uppercase().contains(word);
    let taken = ALTERNATIVES.iter().find_map(|word| {
        let (name, _) = files.iter().find(|(name, _)| has(name, word))?;
        Some(name.clone())
    });
    let mut files = files;
    files.retain(|(name, _)| {
        taken.as_ref() == Some(name) || !ALTERNATIVES.iter().any(|word| has(name, word))
    });
    files
}

/// What a text says of its crate alone, and what it has in common with others.
fn split(text: &str) -> (Vec<&str>, &str) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let Some(at) = text.find("Permission is hereby granted") else {
        return (Vec::new(), text);
    };
    if !words(&text[at..]).starts_with(MIT) {
        return (Vec::new(), text);
    }
    let own = text[..at].lines().map(str::trim);
    let own =
        own.filter(|line| !line.is_empty() && !MIT_TITLES.contains(&line.to_lowercase().as_str()));
    (own.collect(), &text[at..])
}

/// The page: each text once, below the crates that it is about and what each of them says of itself.
fn page(crates: &[Crate]) -> anyhow::Result<String> {
    // By the words of the text: its first form, and the lines about the crates.
    let mut texts: BTreeMap<String, (&str, String)> = BTreeMap::new();
    for one in crates {
        ensure!(
            !one.files.is_empty(),
            "`{}` ships no licence\nhint: ask its authors, or do without it",
            one.name
        );
        for (_, text) in &one.files {
            let (own, common) = split(text);
            let words: Vec<&str> = common.split_whitespace().collect();
            let (_, about) = texts
                .entry(words.join(" "))
                .or_insert((common, String::new()));
            writeln!(about, "{} ({})", one.name, one.expression)?;
            for line in own {
                writeln!(about, "    {line}")?;
            }
        }
    }
    // The text that most of them share comes first.
    let mut texts: Vec<(&str, String)> = texts.into_values().collect();
    texts.sort_by_key(|(_, about)| std::cmp::Reverse(about.lines().count()));
    let mut page = String::new();
    for (text, about) in texts {
        writeln!(page, "{RULE}\n{about}\n{}\n", trimmed(text))?;
    }
    Ok(page)
}

/// A text without empty lines around it and blanks at the ends of its lines.
fn trimmed(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    fn file(name: &str, text: &str) -> (String, String) {
        (name.to_owned(), text.to_owned())
    }

    fn one(name: &str, text: &str) -> Crate {
        Crate {
            name: name.to_owned(),
            expression: "MIT".to_owned(),
            files: vec![file("LICENSE", text)],
        }
    }

    #[test]
    fn every_crate_that_is_linked_is_on_the_page_by_name_and_version() {
        let there = std::fs::read_to_string(root().join(PATH)).unwrap();
        let linked = linked(&root()).unwrap();
        assert!(linked.len() > 50, "{linked:?}");
        for name in linked {
            let line = format!("\n{name} (");
            assert!(there.contains(&line), "{name}: `cargo xtask gen` adds it");
        }
    }

    #[test]
    fn crates_of_this_workspace_and_marks_of_the_tree_are_left_out() {
        let tree = "kurabe v0.1.0 (/tmp/x/crates/cli)\naes v0.9.4\nserde_derive v1.0.2 (proc-macro)\naes v0.9.4 (*)\n";
        let expect = ["aes 0.9.4", "serde_derive 1.0.2"].map(str::to_owned);
        assert_eq!(packages(tree), BTreeSet::from(expect));
    }

    #[test]
    fn one_licence_is_taken_of_several_and_what_is_no_licence_stays() {
        let check = |names: &[&str], expect: &[&str]| {
            let files = names.iter().map(|name| file(name, "")).collect();
            let kept: Vec<String> = chosen(files).into_iter().map(|(name, _)| name).collect();
            assert_eq!(kept, expect, "{names:?}");
        };
        check(&["LICENSE-APACHE", "LICENSE-MIT"], &["LICENSE-MIT"]);
        check(&["COPYING", "LICENSE-MIT", "UNLICENSE"], &["LICENSE-MIT"]);
        check(
            &["LICENSE_A2", "LICENSE_A2LLVM", "LICENSE_CC0"],
            &["LICENSE_A2"],
        );
        check(&["COPYRIGHT", "LICENSE-MIT"], &["COPYRIGHT", "LICENSE-MIT"]);
        check(&["LICENSE", "LICENSE.BSD"], &["LICENSE", "LICENSE.BSD"]);
        check(
            &["LICENSE-MIT", "LICENSE-UNICODE"],
            &["LICENSE-MIT", "LICENSE-UNICODE"],
        );
        check(&["NOTICE"], &["NOTICE"]);
    }

    #[test]
    fn a_text_stands_once_and_every_name_on_it_stays() {
        let text = |head: &str, end: &str| format!("{head}\n\n{MIT}, and{end}more.\n");
        let crates = [
            one("a 1.0.0", &text("MIT License\n\nCopyright (c) 2014 A", " ")),
            one(
                "b 2.0.0",
                &text("Copyright (c) 2015 B\nderived from C", "\n"),
            ),
            one("c 3.0.0", "Copyright (c) 2016 D\nAs you like."),
        ];
        let page = page(&crates).unwrap();
        assert_eq!(
            page,
            format!(
                "{RULE}\na 1.0.0 (MIT)\n    Copyright (c) 2014 A\nb 2.0.0 (MIT)\n    Copyright (c) 2015 B\n    \
                 derived from C\n\n{MIT}, and more.\n\n{RULE}\nc 3.0.0 (MIT)\n\nCopyright (c) 2016 D\nAs you like.\n\n"
            )
        );
    }

    #[test]
    fn a_crate_without_a_licence_stops_the_task() {
        let bare = Crate {
            files: Vec::new(),
            ..one("a 1.0.0", "")
        };
        let error = page(std::slice::from_ref(&bare)).unwrap_err().to_string();
        assert!(error.starts_with("`a 1.0.0` ships no licence"), "{error}");
        let check = |expression: &str, files: usize| {
            let mut bare = Crate {
                files: Vec::new(),
                expression: expression.to_owned(),
                ..one("a 1.0.0", "")
            };
            bare.take(Some(&("LICENSE-APACHE".to_owned(), "Apache".to_owned())));
            assert_eq!(bare.files.len(), files, "{expression}");
        };
        check("MIT OR Apache-2.0", 1);
        check("MIT", 0);
    }
}
