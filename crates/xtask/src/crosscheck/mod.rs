//! Our figures beside those of the originals, on the same machine at the same time.
//!
//! sysbench, mbw and stress-ng, where they are installed, and a pointer chase in C that is compiled for the purpose.
//! The two sides of a pair run one right after the other, in an order that changes from pair to pair, so that what the
//! machine does meanwhile meets both; the median of the pairs' ratios is what counts, with its spread beside it. It
//! judges nothing: a ratio off 1 has a reason, which docs/method/memory.md gives, or is a bug.
//!
//! Run it on a quiet machine: `cargo xtask crosscheck [PAIRS] [NAME...]`, after `cargo xtask dist`.

mod originals;

use crate::process::{command, output, target_dir};
use anyhow::{Context, bail, ensure};
use originals::{CHECKS, Check, Original};
use serde_json::Value;
use std::path::Path;

/// Pairs where none are asked for: an odd number, so that a median is a pair's own ratio.
const PAIRS: u32 = 7;

/// Measures pairs and prints the page.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let (pairs, names) = match arguments.split_first() {
        Some((first, rest)) if first.parse::<u32>().is_ok() => (first.parse()?, rest),
        _ => (PAIRS, arguments),
    };
    ensure!(pairs > 0, "measure 0 pairs: at least one is needed");
    // The static binary is what is shipped; a release build serves where there is none.
    let built = ["dist/kurabe", "release/kurabe"].map(|name| target_dir(root).join(name));
    let binary = built
        .iter()
        .find(|path| path.is_file())
        .unwrap_or(&built[0]);
    ensure!(
        binary.is_file(),
        "measure `{}`: it is not there\nhint: `cargo xtask dist` builds it",
        binary.display()
    );
    let wanted: Vec<&Check> = CHECKS
        .iter()
        .filter(|check| names.is_empty() || names.iter().any(|name| check.name.contains(name)))
        .collect();
    if wanted.is_empty() {
        let all: Vec<&str> = CHECKS.iter().map(|check| check.name).collect();
        bail!("no check is called so\nhint: there are {}", all.join(", "));
    }
    let dir = target_dir(root).join("crosscheck");
    std::fs::create_dir_all(&dir).with_context(|| format!("create `{}`", dir.display()))?;
    say!("| what | ours | theirs | ratio, median | least | most |\n|---|---|---|---|---|---|");
    for check in wanted {
        match measure(check, pairs, binary, &dir) {
            Ok(line) => say!("{line}"),
            Err(error) => say!("| {} | - | - | skipped: {error:#} | | |", check.name),
        }
    }
    std::fs::remove_dir_all(&dir).with_context(|| format!("remove `{}`", dir.display()))
}

fn measure(check: &Check, pairs: u32, binary: &Path, dir: &Path) -> anyhow::Result<String> {
    let original = check.original.ready(dir)?;
    let (mut ours, mut theirs, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..pairs {
        let (own, other) = if pair % 2 == 0 {
            let own = own_value(check, binary, dir)?;
            (own, theirs_value(&original, dir, pair)?)
        } else {
            let other = theirs_value(&original, dir, pair)?;
            (own_value(check, binary, dir)?, other)
        };
        ratios.push(own / other);
        ours.push(own);
        theirs.push(other);
    }
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let median = |values: &[f64]| stats::quantile::median(values).context("no pairs");
    Ok(format!(
        "| {} | {:.4e} | {:.4e} | {:.3} | {least:.3} | {most:.3} |",
        check.name,
        median(&ours)?,
        median(&theirs)?,
        median(&ratios)?
    ))
}

fn theirs_value(original: &Original, dir: &Path, pair: u32) -> anyhow::Result<f64> {
    let value = original.value(dir, pair)?;
    ensure!(
        value.is_finite() && value > 0.0,
        "the original says {value}"
    );
    Ok(value)
}

/// One round of ours.
fn own_value(check: &Check, binary: &Path, dir: &Path) -> anyhow::Result<f64> {
    let copies = check.copies.to_string();
    let store = dir.join("store.db");
    let mut run = command(dir, binary);
    run.args([
        "run", check.test, "--passes", "1", "--json", "--quiet", "--copies", &copies,
    ])
    .arg("--store")
    .arg(&store);
    for (param, value) in check.set {
        run.arg("--set")
            .arg(format!("{}.{param}={value}", check.test));
    }
    let text = output(&mut run)?;
    // One run per store: what was read needs no keeping.
    let _ = std::fs::remove_file(&store);
    let document: Value = serde_json::from_str(&text).context("read our own document")?;
    let id = format!("{}@{copies}:{}", check.test, check.quantity);
    let metrics = document["metrics"].as_array().context("no metrics")?;
    let metric = metrics.iter().find(|metric| metric["id"] == id.as_str());
    metric
        .and_then(|metric| metric["rounds"][0].as_f64())
        .with_context(|| format!("the round of `{id}` has no value"))
}
