//! Pairs beside a program that works on a database server: both sides of a load, in turn first and second.

use super::checks::Must;
use super::{Measured, Page, Wanted, median_of, originals};
use crate::asked;
use crate::cable::behind;
use anyhow::{Context, ensure};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use workloads::db::address::{Address, Defaults};
use xtask::process::{command, output, target_dir};

/// What is compared, and what its ratio must be.
pub(super) type Line = (String, Must);

/// What an operation takes of its client: beside it what the kernel takes of any client that sends the same messages.
const TAKES: &str = "\n| what | ours, CPU us | theirs | the same messages to an echo | as busy as the server | and as \
                     slow | ours over that | the same messages to the server itself | ours over that | that over \
                     theirs | ours, share of the mean time |\n|---|---|---|---|---|---|---|---|---|---|---|";

/// A load that both sides do.
pub(super) trait Load {
    fn name(&self) -> String;
}

/// Both sides: each does a load once and says its figures, in the order of the lines.
pub(super) trait Sides<L> {
    /// What is compared.
    fn lines(&self, load: &L) -> Vec<Line>;

    fn ours(&self, load: &L, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>>;

    fn theirs(&self, load: &L, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>>;

    /// A line of [`TAKES`], where a load has one.
    fn takes(&self, _load: &L, _measured: &[(Line, Measured)]) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    /// The other program and its version.
    fn version(&self) -> String;
}

/// Our binary, and where both sides work.
pub(super) struct Own {
    pub(super) binary: PathBuf,
    pub(super) dir: PathBuf,
    /// Words that put our side somewhere else, such as into a network namespace.
    pub(super) enter: Vec<String>,
}

impl Own {
    /// The binary that is wanted, and a directory for `word`.
    pub(super) fn new(root: &Path, wanted: &Wanted, word: &str) -> anyhow::Result<Self> {
        let dir = target_dir(root).join(format!("crosscheck-{word}"));
        fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
        Ok(Self {
            binary: asked::binary(root, wanted.binary.as_deref())?,
            dir,
            enter: Vec::new(),
        })
    }

    /// One round of a test with so many copies on the server that these words name.
    pub(super) fn round(
        &self,
        (test, copies, server): (&str, u32, &[&str]),
        sets: &[(&str, String)],
        commands: &mut Vec<String>,
    ) -> anyhow::Result<Round> {
        let mut run = command(&self.dir, &self.binary);
        run.args(["run", test, "--copies", &copies.to_string()]);
        run.args(server);
        for (name, value) in sets {
            run.args(["--set", &format!("{test}.{name}={value}")]);
        }
        run.args(["--passes", "1", "--json", "--quiet", "--store", "ours.db"]);
        originals::note(commands, &run);
        let text = output(&mut behind(&self.enter, &run))?;
        for end in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(self.dir.join(format!("ours.db{end}")));
        }
        Ok(Round {
            case: format!("{test}@{copies}"),
            document: serde_json::from_str(&text).context("read our own document")?,
        })
    }

    /// What another program says, and below it the CPU time that the shell has seen it use.
    pub(super) fn timed(&self, line: &str) -> anyhow::Result<String> {
        let line = format!("{line} && times");
        output(command(&self.dir, "bash").args(["-c", &line]))
    }
}

/// One round of ours.
pub(super) struct Round {
    case: String,
    document: Value,
}

impl Round {
    /// A figure of it.
    pub(super) fn of(&self, quantity: &str) -> anyhow::Result<f64> {
        median_of(&self.document, &format!("{}:{quantity}", self.case))
    }
}

/// The address behind `option`, of a server that asks for no password.
pub(super) fn address(url: &str, option: &str) -> anyhow::Result<Address> {
    let typed = Address::read(url, &Defaults::default());
    let typed = typed.with_context(|| format!("read the address behind `{option}`"))?;
    ensure!(typed.password.is_none(), "the server must ask for none");
    Ok(typed.address)
}

/// Measures the loads that are wanted, prints their lines, and keeps them where that was asked for.
pub(super) fn all<L: Load>(
    root: &Path,
    wanted: &Wanted,
    (own, about): (&Own, &str),
    loads: &[L],
    sides: &impl Sides<L>,
) -> anyhow::Result<()> {
    let loads: Vec<&L> = loads
        .iter()
        .filter(|load| wanted.has(&load.name()))
        .collect();
    ensure!(!loads.is_empty(), "no load is called so");
    let mut page = Page::default();
    let version = output(command(&own.dir, &own.binary).arg("--version"))?;
    page.say(&format!(
        "{}; {} pairs, in turn first and second; {about}",
        version.trim(),
        wanted.pairs
    ));
    page.heads();
    let mut takes = Vec::new();
    for load in loads {
        let measured = of(load, wanted.pairs, sides)?;
        for (line, measured) in &measured {
            page.add(&line.0, line.1, measured);
        }
        // The pairs are worth their time without it.
        takes.extend(match sides.takes(load, &measured) {
            Ok(line) => line,
            Err(why) => Some(format!("| {} | missing: {why:#} |", load.name())),
        });
        if let Some((_, first)) = measured.first() {
            page.ran(&load.name(), first);
        }
        if let Some(out) = &wanted.out {
            page.write(&root.join(out))?;
        }
    }
    if !takes.is_empty() {
        page.say(TAKES);
        for line in &takes {
            page.say(line);
        }
    }
    if let Some(out) = &wanted.out {
        page.write(&root.join(out))?;
    }
    say!("{}", page.commands());
    fs::remove_dir_all(&own.dir).with_context(|| format!("remove `{}`", own.dir.display()))
}

/// The pairs of one load, line by line.
fn of<L>(load: &L, pairs: u32, sides: &impl Sides<L>) -> anyhow::Result<Vec<(Line, Measured)>> {
    let lines = sides.lines(load).into_iter();
    let mut all: Vec<(Line, Measured)> = lines.map(|line| (line, Measured::default())).collect();
    let [mut own, mut other] = [Vec::new(), Vec::new()];
    for pair in 0..pairs {
        let (ours, theirs) = if pair % 2 == 0 {
            let ours = sides.ours(load, &mut own)?;
            (ours, sides.theirs(load, &mut other)?)
        } else {
            let theirs = sides.theirs(load, &mut other)?;
            (sides.ours(load, &mut own)?, theirs)
        };
        ensure!(
            ours.len() == all.len() && theirs.len() == all.len(),
            "{} lines of {} and {} figures",
            all.len(),
            ours.len(),
            theirs.len()
        );
        for ((_, measured), values) in all.iter_mut().zip(ours.into_iter().zip(theirs)) {
            measured.pairs.push(values);
        }
    }
    for (_, measured) in &mut all {
        measured.version = sides.version();
        (measured.ours, measured.theirs) = (own.clone(), other.clone());
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// Sides that say in which order they were asked.
    #[derive(Default)]
    struct Said(RefCell<String>);

    impl Sides<u32> for Said {
        fn lines(&self, _: &u32) -> Vec<Line> {
            vec![("rate".to_owned(), Must::Nothing)]
        }

        fn ours(&self, load: &u32, commands: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
            self.0.borrow_mut().push('o');
            commands.push("ours".to_owned());
            Ok(vec![f64::from(*load)])
        }

        fn theirs(&self, _: &u32, _: &mut Vec<String>) -> anyhow::Result<Vec<f64>> {
            self.0.borrow_mut().push('t');
            Ok(vec![2.0])
        }

        fn version(&self) -> String {
            "other 1.0".to_owned()
        }
    }

    #[test]
    fn sides_take_turns_at_being_first() {
        let sides = Said::default();
        let measured = of(&4, 3, &sides).unwrap();
        assert_eq!(*sides.0.borrow(), "ottoot");
        let (_, first) = &measured[0];
        assert_eq!(first.pairs, [(4.0, 2.0); 3]);
        assert_eq!((first.ours.len(), first.version.as_str()), (3, "other 1.0"));
    }
}
