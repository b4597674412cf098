//! The files that are made from the program itself, so that they cannot say anything else.
//!
//! They are kept in the repository because people read them there; CI refuses a difference. Everything is a function
//! from the program and the crates behind it to a list of files, so that checking and writing cannot disagree.

mod command_line;
mod fio_page;
pub(crate) mod licences;
mod tests_page;
mod vdbench_page;

use anyhow::{Context, bail};
use report::json::schema;
use std::collections::BTreeMap;
use std::path::Path;

/// Directories in which every file is generated: one that no longer is gets removed.
const OWNED: &[&str] = &["docs/schema", "docs/man", "docs/completions"];

/// The files, by their path from the top of the workspace.
type Files = BTreeMap<String, String>;

/// Adds `text` to a page.
fn push(page: &mut String, text: &str) {
    page.push_str(text);
}

/// Writes every generated file that differs, and removes those that are no longer made.
pub(crate) fn write(root: &Path) -> anyhow::Result<()> {
    let files = files(root)?;
    for (path, difference) in differences(root, &files)? {
        let full = root.join(&path);
        match files.get(&path) {
            Some(text) => {
                if let Some(parent) = full.parent() {
                    std::fs::create_dir_all(parent)
                        .with_context(|| format!("create `{}`", parent.display()))?;
                }
                std::fs::write(&full, text).with_context(|| format!("write `{path}`"))?;
            }
            None => std::fs::remove_file(&full).with_context(|| format!("remove `{path}`"))?,
        }
        say!("{path}: {difference}");
    }
    say!("gen: {} files are up to date", files.len());
    Ok(())
}

/// Fails where a generated file differs from what would be written.
pub(crate) fn check(root: &Path) -> anyhow::Result<()> {
    let files = files(root)?;
    let differences = differences(root, &files)?;
    if differences.is_empty() {
        say!("gen: {} files are up to date", files.len());
        return Ok(());
    }
    let lines: Vec<String> = differences
        .iter()
        .map(|(path, difference)| format!("{path}: {difference}"))
        .collect();
    bail!("{}\nhint: `cargo xtask gen` writes them", lines.join("\n"))
}

fn files(root: &Path) -> anyhow::Result<Files> {
    let mut files = Files::new();
    files.insert("docs/tests.md".to_owned(), tests_page::page(workloads::ALL));
    files.insert("docs/fio.md".to_owned(), fio_page::page());
    files.insert("docs/vdbench.md".to_owned(), vdbench_page::page());
    for (name, schema) in schema::files() {
        files.insert(format!("docs/schema/{name}"), schema);
    }
    command_line::add(&mut files)?;
    licences::add(&mut files, root)?;
    Ok(files)
}

/// What of the files on disk is not as it should be: path and difference, by path.
fn differences(root: &Path, files: &Files) -> anyhow::Result<Vec<(String, &'static str)>> {
    let mut found = Vec::new();
    for (path, text) in files {
        match std::fs::read_to_string(root.join(path)) {
            Ok(there) if there == *text => {}
            Ok(_) => found.push((path.clone(), "differs")),
            Err(_) => found.push((path.clone(), "is missing")),
        }
    }
    for dir in OWNED {
        // A directory that is not there holds nothing stale.
        let Ok(entries) = std::fs::read_dir(root.join(dir)) else {
            continue;
        };
        for entry in entries {
            let name = entry.with_context(|| format!("list `{dir}`"))?.file_name();
            let path = format!("{dir}/{}", name.to_string_lossy());
            if !files.contains_key(&path) {
                found.push((path, "is no longer generated"));
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_found() {
        let root = std::env::temp_dir().join(format!("xtask-generate-{}", std::process::id()));
        let put = |path: &str, text: &str| {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("docs/same.md", "a");
        put("docs/other.md", "b");
        put("docs/man/stale.1", "c");
        put("docs/mine.md", "not generated, and in no owned directory");
        let files = ["docs/same.md", "docs/other.md", "docs/man/new.1"]
            .map(|path| (path.to_owned(), "a".to_owned()));
        let found = differences(&root, &Files::from(files)).unwrap();
        std::fs::remove_dir_all(&root).unwrap();
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(path, what)| (path.as_str(), *what))
            .collect();
        assert_eq!(
            found,
            [
                ("docs/man/new.1", "is missing"),
                ("docs/man/stale.1", "is no longer generated"),
                ("docs/other.md", "differs"),
            ]
        );
    }

    #[test]
    fn generating_twice_yields_the_same_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        assert_eq!(files(&root).unwrap(), files(&root).unwrap());
    }
}
