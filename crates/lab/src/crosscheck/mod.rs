//! Our figures beside those of the originals, on the same machine at the same time.
//!
//! sysbench, mbw and stress-ng, where they are installed, and two programs in C that are compiled for the purpose: a
//! pointer chase, and round trips over loopback.
//! The two sides of a pair run one right after the other, in an order that changes from pair to pair, so that what the
//! machine does meanwhile meets both; the median of the pairs' ratios is what counts, with its spread beside it. Our
//! side is the median of three rounds, one with each clone of the loops. Beside each ratio stands what it must be and
//! whether it is, and how far the other program's own figure went from pair to pair, without which no ratio can be
//! judged. Checks of CPU work that say `at once` run both sides at the same time on the same CPUs and compare what they
//! do in a second of CPU time ([`at_once`]). A ratio off 1 has a reason, which docs/method/memory.md gives, or is a
//! bug. With `--out` everything is kept: versions, command lines, and every pair.
//!
//! [`files`] does the same for file systems, beside bonnie++, dbench, sysbench's fileio and fio, [`servers`],
//! [`pgbench`] and [`kv`] for databases, beside sysbench, pgbench and redis-benchmark, [`net`] for networks, beside
//! iperf3, [`udp`] the highest rate of datagrams, and [`pairings`] our client with either server.
//! [`rebuild`] asks another question: whether our own figures stay where they are when the program is linked in another
//! order.
//!
//! Run it on a quiet machine, after `cargo xtask dist`.

mod at_once;
mod bonnie;
mod checks;
mod files;
mod floor;
mod kv;
mod net;
mod originals;
mod pairings;
mod pairs;
mod pgbench;
mod rebuild;
mod relay;
mod replay;
mod servers;
mod table;
mod udp;

use crate::asked;
use anyhow::{Context, bail, ensure};
use at_once::{Program, at_once, kept_to};
use checks::{Check, Figure, Must};
use clap::Parser;
use originals::Ready;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use table::CHECKS;
use xtask::process::{command, output, target_dir};

/// Rounds of ours in a pair: one with each clone.
const ROUNDS: u32 = sys::loops::CLONES;

/// Our figures beside those of sysbench, mbw, stress-ng, and a chase and round trips in C.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "cargo lab crosscheck",
    no_binary_name = true,
    after_help = "`cargo lab crosscheck files` does the same for file systems, `servers`, `pgbench` and `kv` in its \
                  place for databases, `net`, `udp` and `pairings` for networks, and `cargo lab crosscheck rebuild` \
                  asks whether figures move with the order of linking; each has a `--help` of its own."
)]
struct Options {
    #[command(flatten)]
    wanted: Wanted,
    /// Say which checks there are, and measure nothing
    #[arg(long)]
    list: bool,
}

/// What every comparison with originals is asked for.
#[derive(Clone, Debug, clap::Args)]
struct Wanted {
    /// Checks whose name contains one of these [default: all]
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Pairs; an odd number makes the median one pair's own ratio
    #[arg(long, default_value_t = 7)]
    pairs: u32,
    /// Compare this binary [default: the static one]
    #[arg(long, value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Write the page and every pair into this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Wanted {
    /// Whether a check of this name is among them.
    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|part| name.contains(part.as_str()))
    }
}

/// Measures pairs and prints the page; or the rebuilds.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        [rebuild::WORD, rest @ ..] => return rebuild::run(root, rest),
        [files::WORD, rest @ ..] => return files::run(root, rest),
        [kv::WORD, rest @ ..] => return kv::run(root, rest),
        [net::WORD, rest @ ..] => return net::run(root, rest),
        [pairings::WORD, rest @ ..] => return pairings::run(root, rest),
        [udp::WORD, rest @ ..] => return udp::run(root, rest),
        [servers::WORD, rest @ ..] => return servers::run(root, rest),
        [pgbench::WORD, rest @ ..] => return pgbench::run(root, rest),
        [floor::WORD, rest @ ..] => return floor::echo(rest),
        _ => {}
    }
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let wanted = options.wanted;
    let checks = CHECKS.iter();
    let checks: Vec<&Check> = checks.filter(|check| wanted.has(check.name)).collect();
    let all = || CHECKS.iter().map(|check| check.name).collect::<Vec<_>>();
    if options.list {
        say!("{}", all().join("\n"));
        return Ok(());
    }
    ensure!(wanted.pairs > 0, "measure 0 pairs: at least one is needed");
    if checks.is_empty() {
        bail!(
            "no check is called so\nhint: there are `{}`",
            all().join("`, `")
        );
    }
    let binary = asked::binary(root, wanted.binary.as_deref())?;
    let dir = target_dir(root).join("crosscheck");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    let mut page = Page::default();
    page.say(&format!(
        "{}; {} pairs, each with {ROUNDS} rounds of ours, in turn first and second, or at once",
        output(command(&dir, &binary).arg("--version"))?.trim(),
        wanted.pairs
    ));
    page.heads();
    for check in checks {
        match measure(check, wanted.pairs, &binary, &dir) {
            Ok(measured) => {
                page.add(check.name, check.must, &measured);
                page.ran(check.name, &measured);
            }
            Err(error) => page.skipped(check.name, &error),
        }
    }
    say!("{}", page.commands());
    if let Some(out) = &wanted.out {
        page.write(&root.join(out))?;
    }
    std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))
}

/// The pairs of one check.
#[derive(Clone, Debug, Default)]
struct Measured {
    /// Ours and theirs.
    pairs: Vec<(f64, f64)>,
    /// The other program and its version.
    version: String,
    /// Command lines of both sides.
    ours: Vec<String>,
    theirs: Vec<String>,
}

impl Measured {
    fn ratios(&self) -> Vec<f64> {
        self.pairs
            .iter()
            .map(|(ours, theirs)| ours / theirs)
            .collect()
    }

    /// The line of the page.
    fn line(&self, name: &str, must: Must) -> String {
        let median = |values: &[f64]| stats::quantile::median(values).unwrap_or(f64::NAN);
        let (ours, theirs): (Vec<f64>, Vec<f64>) = self.pairs.iter().copied().unzip();
        let ratios = self.ratios();
        let (least, most) = range(&ratios);
        let usual = median(&theirs);
        let (lowest, highest) = range(&theirs);
        format!(
            "| {name} | {:.4e} | {usual:.4e} | {:.3} | {least:.3} | {most:.3} | {must} | {} | {:.2} to {:.2} |",
            median(&ours),
            median(&ratios),
            must.judge(&ratios),
            lowest / usual,
            highest / usual,
        )
    }
}

/// The least and the most.
fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), value| (least.min(*value), most.max(*value)),
    )
}

fn measure(check: &Check, pairs: u32, binary: &Path, dir: &Path) -> anyhow::Result<Measured> {
    let mut original = Ready::new(check.original, dir)?;
    let mut measured = Measured {
        version: original.version().to_owned(),
        ..Measured::default()
    };
    for pair in 0..pairs {
        let mut ours = || own_value(check, binary, dir, &mut measured.ours);
        let values = if check.at_once() {
            let cpus = cpus_of(check.copies, pair)?;
            let sides: Vec<Program<'_, f64>> =
                vec![Box::new(ours), Box::new(|| original.value(pair))];
            let said = at_once(&cpus, sides)?;
            (said[0], said[1])
        } else {
            let mut in_turn = || -> anyhow::Result<(f64, f64)> {
                if pair % 2 == 0 {
                    return Ok((ours()?, original.value(pair)?));
                }
                let other = original.value(pair)?;
                Ok((ours()?, other))
            };
            if check.on_one_cpu() {
                kept_to(&cpus_of(checks::Copies::Exactly(1), pair)?, in_turn)?
            } else {
                in_turn()?
            }
        };
        ensure!(
            values.1.is_finite() && values.1 > 0.0,
            "the original says {}",
            values.1
        );
        measured.pairs.push(values);
    }
    measured.theirs = original.commands();
    Ok(measured)
}

/// As many CPUs as there are threads on each side, another one from pair to pair where some are left.
fn cpus_of(copies: checks::Copies, pair: u32) -> anyhow::Result<Vec<u32>> {
    let mut cpus = sys::affinity::allowed_cpus().context("read the CPUs allowed")?;
    let wanted = usize::try_from(copies.number()).unwrap_or(usize::MAX);
    let first = usize::try_from(pair).unwrap_or(0) % cpus.len().max(1);
    cpus.rotate_left(first);
    cpus.truncate(wanted);
    Ok(cpus)
}

/// Our side: the best of the check's tests, each the median of its rounds.
fn own_value(
    check: &Check,
    binary: &Path,
    dir: &Path,
    commands: &mut Vec<String>,
) -> anyhow::Result<f64> {
    let copies = check.copies.number().to_string();
    let store = dir.join("store.db");
    let rounds = ROUNDS.to_string();
    let mut run = command(dir, binary);
    run.arg("run").args(check.tests).args([
        "--passes", &rounds, "--json", "--quiet", "--copies", &copies,
    ]);
    originals::note(commands, &run);
    run.arg("--store").arg(&store);
    let text = output(&mut run)?;
    // One run per store: what was read needs no keeping.
    let _ = std::fs::remove_file(&store);
    let document: Value = serde_json::from_str(&text).context("read our own document")?;
    let values = check.tests.iter().map(|test| {
        let id = format!("{test}@{copies}:{}", check.quantity);
        median_of(&document, &id)
    });
    let values = values.collect::<anyhow::Result<Vec<f64>>>()?;
    let better = match check.figure() {
        Figure::Rate => f64::max,
        Figure::Time => f64::min,
    };
    values
        .into_iter()
        .reduce(better)
        .context("a check has no test")
}

/// The median of a metric's rounds in a document of ours.
fn median_of(document: &Value, id: &str) -> anyhow::Result<f64> {
    let metrics = document["metrics"].as_array().context("no metrics")?;
    let metric = metrics.iter().find(|metric| metric["id"] == id);
    let rounds = metric.and_then(|metric| metric["rounds"].as_array());
    let rounds: Vec<f64> = rounds
        .into_iter()
        .flatten()
        .filter_map(Value::as_f64)
        .collect();
    stats::quantile::median(&rounds).with_context(|| format!("no round of `{id}` has a value"))
}

/// What is printed and kept.
#[derive(Debug, Default)]
struct Page {
    text: String,
    csv: String,
    commands: String,
}

impl Page {
    fn say(&mut self, line: &str) {
        say!("{line}");
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn heads(&mut self) {
        self.say(
            "\n| what | ours | theirs | ratio, median | least | most | must be | is | theirs over its median |\n\
             |---|---|---|---|---|---|---|---|---|",
        );
    }

    fn skipped(&mut self, name: &str, error: &anyhow::Error) {
        self.say(&format!(
            "| {name} | - | - | skipped: {error:#} | | | | - | |"
        ));
    }

    fn add(&mut self, name: &str, must: Must, measured: &Measured) {
        self.say(&measured.line(name, must));
        for ((pair, (ours, theirs)), ratio) in (1..).zip(&measured.pairs).zip(measured.ratios()) {
            let first = if pair % 2 == 1 { "ours" } else { "theirs" };
            let _ = writeln!(
                self.csv,
                "\"{name}\",{pair},{first},{ours},{theirs},{ratio}"
            );
        }
    }

    /// Notes the command lines of both sides.
    fn ran(&mut self, name: &str, measured: &Measured) {
        let lines = |out: &mut String, commands: &[String]| {
            for line in commands {
                let _ = writeln!(out, "  - `{line}`");
            }
        };
        let _ = writeln!(self.commands, "- {name} ({})", measured.version);
        lines(&mut self.commands, &measured.ours);
        lines(&mut self.commands, &measured.theirs);
    }

    fn commands(&self) -> String {
        format!("\nWhat ran, ours first:\n\n{}", self.commands)
    }

    fn write(&self, out: &Path) -> anyhow::Result<()> {
        std::fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
        let csv = format!("check,pair,first,ours,theirs,ratio\n{}", self.csv);
        let text = format!("{}{}\n", self.text, self.commands());
        for (name, text) in [("crosscheck.md", &text), ("crosscheck.csv", &csv)] {
            let path = out.join(name);
            std::fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_become_a_line_a_table_of_their_own_and_the_commands() {
        let measured = Measured {
            pairs: vec![(10.0, 10.0), (12.0, 10.0), (9.0, 10.0)],
            version: "sysbench 9".to_owned(),
            ours: vec!["kurabe run x".to_owned()],
            theirs: vec!["sysbench cpu run".to_owned()],
        };
        let mut page = Page::default();
        page.add("x", Must::Within(0.05), &measured);
        page.ran("x", &measured);
        assert!(
            page.text
                .ends_with("| 1.0000e1 | 1.0000e1 | 1.000 | 0.900 | 1.200 | within 5 % | met | 1.00 to 1.00 |\n"),
            "{}",
            page.text
        );
        let second = page.csv.lines().nth(1).unwrap();
        assert!(second.ends_with(",2,theirs,12,10,1.2"), "{second}");
        assert!(
            page.commands()
                .contains("(sysbench 9)\n  - `kurabe run x`\n  - `sysbench cpu run`")
        );
        let root = tempfile::tempdir().unwrap();
        page.write(root.path()).unwrap();
        let csv = std::fs::read_to_string(root.path().join("crosscheck.csv")).unwrap();
        assert_eq!(csv.lines().count(), 4);
    }

    #[test]
    fn a_metric_is_the_median_of_its_rounds() {
        let document = serde_json::json!({"metrics": [
            {"id": "a@1:x", "rounds": [3.0, 1.0, 2.0]}, {"id": "b@1:x", "rounds": []}
        ]});
        assert!((median_of(&document, "a@1:x").unwrap() - 2.0).abs() < 1e-12);
        assert!(median_of(&document, "b@1:x").is_err());
        assert!(median_of(&document, "c@1:x").is_err());
    }
}
