//! The project's own rules, each as a function from the tree to findings.
//!
//! What rustfmt, clippy and cargo check is theirs. Here is what only this project knows: which layer may use which,
//! where `unsafe` may be, how long a file may get, that links and commands in documents are true. Every rule has a
//! test that breaks it; words that a rule forbids are written in two halves, so that the rules do not find themselves.

mod arrows;
mod docs;
mod guides;
mod source;
mod words;

use anyhow::{Context, bail};
use std::path::Path;

/// Every rule.
const RULES: &[fn(&Tree) -> Vec<Finding>] = &[
    arrows::arrows,
    arrows::kernel_is_alone,
    arrows::declarations_are_asked_and_not_names,
    source::begins_with_its_purpose,
    source::is_not_too_long,
    source::lines_are_not_too_wide,
    source::is_safe_outside_of_sys,
    source::prints_in_the_binary_alone,
    source::tests_of_a_corpus_are_found_by_name,
    words::leaves_nothing_undone,
    words::names_no_machine,
    words::names_no_private_host,
    docs::links_lead_somewhere,
    docs::changelog_has_a_place_for_the_next_release,
    docs::commands_are_what_the_program_takes,
    docs::readme_says_how_to_start,
    docs::rows_name_the_tests_that_show_them,
    docs::measured_sections_have_their_data,
    docs::results_say_how_they_were_made,
    docs::transcripts_are_kept,
    guides::what_is_read_first_is_short,
    guides::commands_in_sentences_are_commands,
];

/// A text file of the project.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// From the top of the workspace, with `/` between names.
    pub(crate) path: String,
    pub(crate) text: String,
}

/// All files of the project, by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<File>,
}

/// A rule that is broken somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) path: String,
    /// From 1; 0 for the file as a whole.
    pub(crate) line: usize,
    pub(crate) what: String,
}

impl Tree {
    /// Every file under `root` but build products and version control, which is a file in a worktree.
    pub(crate) fn read(root: &Path) -> anyhow::Result<Self> {
        let mut tree = Self::default();
        collect(root, "", &mut tree.files)?;
        tree.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(tree)
    }

    /// The file at `path`.
    pub(crate) fn get(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// The files whose names end in `.extension`.
    pub(crate) fn with_extension(&self, extension: &str) -> impl Iterator<Item = &File> {
        let ending = format!(".{extension}");
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(&ending))
    }

    /// True where there is such a file, or a directory with a file in it.
    pub(crate) fn has(&self, path: &str) -> bool {
        let inside = format!("{path}/");
        self.files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&inside))
    }
}

impl File {
    pub(crate) fn finding(&self, line: usize, what: impl Into<String>) -> Finding {
        Finding {
            path: self.path.clone(),
            line,
            what: what.into(),
        }
    }
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

/// Checks the project against every rule.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let tree = Tree::read(root)?;
    for notice in source::notices(&tree) {
        say!("notice: {notice}");
    }
    let findings = findings(&tree);
    if findings.is_empty() {
        say!(
            "tidy: {} files keep {} rules",
            tree.files.len(),
            RULES.len()
        );
        return Ok(());
    }
    let lines: Vec<String> = findings.iter().map(ToString::to_string).collect();
    bail!("{}\n{} findings", lines.join("\n"), lines.len())
}

fn findings(tree: &Tree) -> Vec<Finding> {
    RULES.iter().flat_map(|rule| rule(tree)).collect()
}

fn collect(root: &Path, inside: &str, files: &mut Vec<File>) -> anyhow::Result<()> {
    let dir = root.join(inside);
    let entries = std::fs::read_dir(&dir).with_context(|| format!("list `{}`", dir.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("list `{}`", dir.display()))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if inside.is_empty() {
            name.clone()
        } else {
            format!("{inside}/{name}")
        };
        if name == "target" || name == ".git" {
            continue;
        }
        let kind = entry
            .file_type()
            .with_context(|| format!("look at `{path}`"))?;
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if kind.is_file() && !name.ends_with(".snap.new") {
            let bytes = std::fs::read(entry.path()).with_context(|| format!("read `{path}`"))?;
            // What is no text is in the tree with its name alone: links may lead to it.
            let text = String::from_utf8(bytes).unwrap_or_default();
            files.push(File { path, text });
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod testkit {
    //! Small trees for the tests of the rules.

    use super::{File, Finding, Tree};

    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        Tree {
            files: files
                .iter()
                .map(|(path, text)| File {
                    path: (*path).to_owned(),
                    text: (*text).to_owned(),
                })
                .collect(),
        }
    }

    /// Checks which lines `rule` complains about when `text` is at `path`.
    pub(crate) fn finds(rule: fn(&Tree) -> Vec<Finding>, path: &str, text: &str, expect: &[usize]) {
        let found: Vec<usize> = rule(&tree(&[(path, text)]))
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(found, expect, "{text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_keeps_its_own_rules() {
        let tree = Tree::read(&crate::root().unwrap()).unwrap();
        assert!(
            tree.has("crates/xtask/src/tidy/mod.rs"),
            "this is the project"
        );
        let lines: Vec<String> = findings(&tree).iter().map(ToString::to_string).collect();
        assert!(lines.is_empty(), "\n{}", lines.join("\n"));
    }
}
