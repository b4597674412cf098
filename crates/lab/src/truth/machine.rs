//! The machine as strangers may know it: its class, and the page that explains the results.

use super::check::{self, Check};
use super::throttle::Layout;
use anyhow::Context;
use model::num::approx;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::Path;
use xtask::process::{command, output};

/// What is said of the machine and the program.
#[derive(Debug)]
pub(crate) struct Machine {
    class: String,
    date: String,
    lines: Vec<String>,
    /// What it is called on its network.
    name: Option<String>,
}

impl Machine {
    /// Asks the program, which asks the machine.
    pub(crate) fn ask(dir: &Path, binary: &Path, layout: Option<&Layout>) -> anyhow::Result<Self> {
        let text = output(command(dir, binary).args(["doctor", "--json"]))?;
        let facts: Value = serde_json::from_str(&text).context("read what `doctor` printed")?;
        let version = output(command(dir, binary).arg("--version"))?;
        let fact = |path: &str| facts.pointer(&format!("/{path}/value"));
        let text = |path: &str| {
            let known = fact(path).and_then(Value::as_str);
            known.unwrap_or("not known").to_owned()
        };
        let cpus = fact("cpu/online")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let memory = fact("memory/total_bytes").and_then(Value::as_f64);
        let kind = fact("platform/virtualization").and_then(Value::as_str);
        let groups = layout.map_or("none that can throttle", Layout::version);
        let gib = memory.map_or("not known".to_owned(), |bytes| {
            format!("{:.1} GiB", bytes / approx(1 << 30))
        });
        let date = jiff::Timestamp::from_nanosecond(i128::from(sys::clock::wall()))
            .context("read the clock")?;
        Ok(Self {
            class: format!("{}-{cpus}cpu", kind.unwrap_or("metal")),
            date: date.strftime("%Y-%m-%d").to_string(),
            lines: vec![
                format!("CPUs: {cpus} of {}", text("cpu/model")),
                format!("memory: {gib}"),
                format!("virtualisation: {}", kind.unwrap_or("none")),
                format!("kernel: {}", release(&text("kernel/release"))),
                format!("system: {}", text("kernel/distribution")),
                format!(
                    "file system below the disks: {}",
                    text("storage/file_system")
                ),
                format!("control groups: {groups}"),
                format!("program: {}", version.trim()),
            ],
            name: fact("hostname").and_then(Value::as_str).map(str::to_owned),
        })
    }

    /// What is said of machine and program, line by line, where nothing is throttled.
    pub(crate) fn facts(&self) -> Vec<String> {
        let about_groups = |line: &&String| line.starts_with("control groups");
        let lines = self.lines.iter().filter(|line| !about_groups(line));
        lines.cloned().collect()
    }

    /// The day.
    pub(crate) fn date(&self) -> &str {
        &self.date
    }

    /// The name of the directory of results.
    pub(crate) fn directory(&self) -> String {
        format!("{}-truth-{}", self.date, self.class)
    }

    /// What must not stand in results, and what stands there instead; longest paths first.
    pub(crate) fn hidden(&self, places: &[&Path], own: &str) -> Vec<(String, String)> {
        let mut hidden: Vec<(String, String)> = places
            .iter()
            .map(|place| (place.display().to_string(), "DIR".to_owned()))
            .collect();
        hidden.push((own.to_owned(), "kurabe-truth".to_owned()));
        let name = self.name.iter().filter(|name| name.len() > 3);
        hidden.extend(name.map(|name| (name.clone(), "HOST".to_owned())));
        hidden
    }

    /// Writes the page of results.
    pub(crate) fn write(
        &self,
        dir: &Path,
        arguments: &[&str],
        results: &[(&str, Vec<Check>)],
        commands: &[(&str, Vec<String>)],
    ) -> anyhow::Result<()> {
        let path = dir.join("README.md");
        std::fs::write(&path, self.page(arguments, results, commands))
            .with_context(|| format!("write `{}`", path.display()))
    }

    fn page(
        &self,
        arguments: &[&str],
        results: &[(&str, Vec<Check>)],
        commands: &[(&str, Vec<String>)],
    ) -> String {
        let mut page = format!("# Ground truth, {}, {}\n\n", self.class, self.date);
        for line in &self.lines {
            // Writing to a string cannot fail.
            let _ = writeln!(page, "- {line}");
        }
        let _ = write!(
            page,
            "\nMade by `cargo lab truth{}`; what is done and why is in docs/method/truth.md. Files `E*.jsonl` hold the \
             program's documents without the facts about the host, `E*.csv` the figures taken from them.\n\n{}",
            shown(arguments),
            check::table(results)
        );
        page.push_str(
            "\n## Command lines\n\nSeeds and numbers of sessions aside, these were all:\n",
        );
        for (name, lines) in commands.iter().filter(|(_, lines)| !lines.is_empty()) {
            let _ = write!(page, "\n{name}\n\n```text\n{}\n```\n", lines.join("\n"));
        }
        page
    }
}

/// The arguments without those that name places of this machine.
fn shown(arguments: &[&str]) -> String {
    let mut text = String::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        if ["--binary", "--out", "--scratch"].contains(argument) {
            rest.next();
        } else if !argument.contains('/') {
            text.push(' ');
            text.push_str(argument);
        }
    }
    text
}

/// The version of a kernel; what follows it names whoever built it.
fn release(text: &str) -> &str {
    text.split('-').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_names_no_place() {
        let machine = Machine {
            class: "kvm-2cpu".to_owned(),
            date: "2026-01-02".to_owned(),
            lines: vec!["memory: 1.0 GiB".to_owned()],
            name: Some("secret".to_owned()),
        };
        let arguments = [
            "E3",
            "--binary",
            "/home/me/kurabe",
            "--out=/home/me/x",
            "--rounds",
            "6",
        ];
        let results = [("E3", vec![Check::bound("speed", "1", "1", true)])];
        let page = machine.page(
            &arguments,
            &results,
            &[("E3", vec!["kurabe run".to_owned()])],
        );
        assert!(page.contains("`cargo lab truth E3 --rounds 6`"), "{page}");
        assert!(page.contains("| E3 | speed | 1 | 1 | pass |") && page.contains("kurabe run"));
        assert!(!page.contains("/home") && !page.contains("secret"));
        assert_eq!(machine.directory(), "2026-01-02-truth-kvm-2cpu");
        let hidden = machine.hidden(&[Path::new("/home/me")], "own");
        assert_eq!(
            hidden.last().unwrap(),
            &("secret".to_owned(), "HOST".to_owned())
        );
        assert_eq!(release("6.18.44-builder-v4"), "6.18.44");
    }
}
