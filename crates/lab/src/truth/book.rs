//! What an experiment leaves behind: the program's documents, the samples taken from them, and the command lines.
//!
//! It is written for strangers: names of this machine and places on it are taken out, and so are the long facts about
//! the host, which the README of the results gives once.

use anyhow::Context;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Parts of documents that say nothing about what was measured, or too much about where.
const LEFT_OUT: [&str; 9] = [
    "host",
    "binary",
    "dir",
    "programs",
    "title",
    "tags",
    "confidence",
    "offer",
    "what",
];

/// Command lines that are kept of one experiment: the rest differ in seeds and numbers alone.
const COMMANDS_MAX: usize = 12;

/// Collects from several sessions at once.
#[derive(Debug, Default)]
pub(crate) struct Book {
    pages: Mutex<Pages>,
    /// What is replaced in every text, and by what.
    hidden: Vec<(String, String)>,
}

#[derive(Debug, Default)]
struct Pages {
    documents: Vec<String>,
    samples: Vec<String>,
    header: Option<String>,
    texts: Vec<(String, String)>,
    commands: BTreeSet<String>,
}

impl Book {
    /// An empty book that replaces the first of each pair by the second.
    pub(crate) fn new(hidden: Vec<(String, String)>) -> Self {
        Self {
            pages: Mutex::default(),
            hidden,
        }
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        // A session that panicked leaves whole lines behind.
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn clean(&self, text: &str) -> String {
        let hide = |text: String, (from, to): &(String, String)| text.replace(from, to);
        self.hidden.iter().fold(text.to_owned(), hide)
    }

    /// Keeps a document that the program printed.
    pub(crate) fn document(&self, label: &str, document: &Value) {
        let mut line = Map::new();
        line.insert("session".to_owned(), label.into());
        line.insert("document".to_owned(), pruned(document));
        let text = self.clean(&Value::Object(line).to_string());
        self.pages().documents.push(text);
    }

    /// Keeps one line of figures; `header` names them and is the same in every call.
    pub(crate) fn sample(&self, header: &str, values: &[String]) {
        let mut pages = self.pages();
        pages.header.get_or_insert_with(|| header.to_owned());
        pages.samples.push(values.join(","));
    }

    /// Keeps a text as a file of its own.
    pub(crate) fn text(&self, file: &str, text: &str) {
        let text = self.clean(text);
        self.pages().texts.push((file.to_owned(), text));
    }

    /// Keeps a command line.
    pub(crate) fn command(&self, line: &str) {
        let line = self.clean(line);
        let mut pages = self.pages();
        if pages.commands.len() < COMMANDS_MAX {
            pages.commands.insert(line);
        }
    }

    /// The command lines, sorted.
    pub(crate) fn commands(&self) -> Vec<String> {
        self.pages().commands.iter().cloned().collect()
    }

    /// Writes everything into `dir`, with `name` in front.
    pub(crate) fn write(&self, dir: &Path, name: &str) -> anyhow::Result<()> {
        let pages = self.pages();
        let put = |file: String, text: String| {
            let path = dir.join(file);
            std::fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))
        };
        if !pages.documents.is_empty() {
            put(format!("{name}.jsonl"), pages.documents.join("\n") + "\n")?;
        }
        if let Some(header) = &pages.header {
            let lines = pages.samples.join("\n");
            put(format!("{name}.csv"), format!("{header}\n{lines}\n"))?;
        }
        for (file, text) in &pages.texts {
            put(format!("{name}-{file}"), text.clone())?;
        }
        Ok(())
    }
}

/// The document without what is left out, and without nulls.
fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(
            map.iter()
                .filter(|(key, value)| !LEFT_OUT.contains(&key.as_str()) && !value.is_null())
                .map(|(key, value)| (key.clone(), pruned(value)))
                .collect(),
        ),
        Value::Array(list) => Value::Array(list.iter().map(pruned).collect()),
        Value::Number(number) => rounded(number),
        other => other.clone(),
    }
}

/// A number with seven digits: more than any machine repeats.
fn rounded(number: &serde_json::Number) -> Value {
    let whole = number.is_i64() || number.is_u64();
    let short = number
        .as_f64()
        .filter(|_| !whole)
        .and_then(|x| format!("{x:.6e}").parse::<f64>().ok());
    short.map_or_else(|| Value::Number(number.clone()), Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_kept_without_the_machine() {
        let dir = tempfile::tempdir().unwrap();
        let book = Book::new(vec![("/x/y".to_owned(), "DIR".to_owned())]);
        let document = serde_json::json!({
            "run": {"host": {"hostname": "h"}, "id": "1", "missing": null},
            "at": "/x/y/store", "list": [{"dir": "/"}, 1.234_567_891_2, 3]
        });
        book.document("a", &document);
        book.sample("n,x", &["1".to_owned(), "2".to_owned()]);
        book.command("run --dir /x/y/z");
        book.write(dir.path(), "E9").unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.path().join(name)).unwrap();
        let kept: Value = serde_json::from_str(&read("E9.jsonl")).unwrap();
        let expect = serde_json::json!({
            "session": "a",
            "document": {"run": {"id": "1"}, "at": "DIR/store", "list": [{}, 1.234_568, 3]}
        });
        assert_eq!(kept, expect);
        assert_eq!(read("E9.csv"), "n,x\n1,2\n");
        assert_eq!(book.commands(), ["run --dir DIR/z"]);
    }
}
